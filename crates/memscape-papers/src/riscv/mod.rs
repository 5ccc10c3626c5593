//! llama.cpp on the SG2042: the tables and figures of the thesis' chapters 4 and 5.

mod common;
mod compilers;
mod fig5_1;
mod fig5_10;
mod fig5_11;
mod fig5_2;
mod fig5_3;
mod fig5_4;
mod fig5_5;
mod fig5_6;
mod fig5_9;
mod sec5_1;
mod setup;
mod table4_1;
mod table4_2;
mod table5_1;
mod table5_2;
mod table5_4;

use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;

pub const PAPER: Paper = Paper {
    id: "riscv-sg2042",
    experiments: EXPERIMENTS,
    published: include_str!("../../../../data/published/riscv-sg2042.toml"),
};

/// In the thesis' order.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::new("riscv-sg2042.setup", "The evaluated machine", setup::table, quantities::plot),
    Experiment::new("riscv-sg2042.table4_1", "Distances between nodes", table4_1::table, table4_1::plot),
    Experiment::new("riscv-sg2042.table4_2", "Matrix products of a run", table4_2::table, table4_2::plot),
    Experiment::new(
        "riscv-sg2042.sec5_1",
        "Products by columns, and why BLAS does not get them",
        sec5_1::table,
        sec5_1::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table5_1",
        "Time of one token by operation",
        table5_1::table,
        table5_1::plot,
    ),
    Experiment::new("riscv-sg2042.fig5_1", "SGEMM over matrix size by LMUL", fig5_1::table, fig5_1::plot),
    Experiment::new("riscv-sg2042.fig5_2", "SGEMM over threads", fig5_2::table, fig5_2::plot),
    Experiment::new(
        "riscv-sg2042.fig5_3",
        "Products over the number of columns",
        fig5_3::table,
        fig5_3::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table5_2",
        "OpenBLAS with quantised weights",
        table5_2::table,
        table5_2::plot,
    ),
    Experiment::new("riscv-sg2042.fig5_4", "Matrix-vector products over size", fig5_4::table, fig5_4::plot),
    Experiment::new("riscv-sg2042.fig5_5", "Token generation on one core", fig5_5::table, fig5_5::plot),
    Experiment::new("riscv-sg2042.fig5_6", "Prompt processing on one core", fig5_6::table, fig5_6::plot),
    Experiment::new(
        "riscv-sg2042.fig5_7",
        "Prompt processing over threads by compiler",
        compilers::table,
        compilers::plot_prompt,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_8",
        "Token generation over threads by compiler",
        compilers::table,
        compilers::plot_generation,
    ),
    Experiment::new("riscv-sg2042.fig5_9", "Token generation over threads", fig5_9::table, fig5_9::plot),
    Experiment::new("riscv-sg2042.fig5_10", "Prompt processing over threads", fig5_10::table, fig5_10::plot),
    Experiment::new(
        "riscv-sg2042.fig5_11",
        "Five NUMA strategies on 32 threads",
        fig5_11::table,
        fig5_11::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table5_4",
        "Counters of the five strategies",
        table5_4::table,
        table5_4::plot,
    ),
];
