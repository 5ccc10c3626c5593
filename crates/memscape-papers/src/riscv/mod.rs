//! llama.cpp on the SG2042: the tables and figures of the thesis' chapters 4 and 5.

mod common;
mod compilers;
mod fig4_4;
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
    Experiment::new(
        "riscv-sg2042.setup",
        "The evaluated machine",
        "SG2042, 64 cores, DDR4-3200.",
        setup::table,
        quantities::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig4_4",
        "Cores of the NUMA nodes",
        "Numbers as the system gives them; SG2042, four nodes of 16 cores.",
        fig4_4::table,
        fig4_4::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table4_1",
        "Distances between nodes",
        "Distances of the firmware; SG2042, four nodes of 16 cores.",
        table4_1::table,
        table4_1::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table4_2",
        "Matrix products of a run",
        "Llama 2 7B, batch 1, counted on llama.cpp's graph.",
        table4_2::table,
        table4_2::plot,
    ),
    Experiment::new(
        "riscv-sg2042.sec5_1",
        "Products by columns, and why BLAS does not get them",
        "Llama 2 7B and Phi-3 mini, batch 1, counted on llama.cpp's graph.",
        sec5_1::table,
        sec5_1::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table5_1",
        "Time of one token by operation",
        "Llama 2 7B, Q4_K_M, batch 1, prompt 10, 64 threads, interleaved pages; SG2042, 64 cores, DDR4-3200.",
        table5_1::table,
        table5_1::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_1",
        "SGEMM over matrix size by LMUL",
        "Square f32 products on one core; SG2042.",
        fig5_1::table,
        fig5_1::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_2",
        "SGEMM over threads",
        "f32, 4096 × 4096 × 4096; SG2042, 64 cores, DDR4-3200.",
        fig5_2::table,
        fig5_2::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_3",
        "Products over the number of columns",
        "4096 × 4096 weights on one core; SG2042.",
        fig5_3::table,
        fig5_3::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table5_2",
        "OpenBLAS with quantised weights",
        "4096 × 4096 weights times 128 columns on one core; SG2042.",
        table5_2::table,
        table5_2::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_4",
        "Matrix-vector products over size",
        "Square weights times one column on one core; SG2042.",
        fig5_4::table,
        fig5_4::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_5",
        "Token generation on one core",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, one core; SG2042.",
        fig5_5::table,
        fig5_5::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_6",
        "Prompt processing on one core",
        "Llama 2 7B, Q4_0, batch 1, one core; SG2042.",
        fig5_6::table,
        fig5_6::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_7",
        "Prompt processing over threads by compiler",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, policy base; SG2042, 64 cores, DDR4-3200.",
        compilers::table,
        compilers::plot_prompt,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_8",
        "Token generation over threads by compiler",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, policy base; SG2042, 64 cores, DDR4-3200.",
        compilers::table,
        compilers::plot_generation,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_9",
        "Token generation over threads",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, SG2042, 64 cores, DDR4-3200.",
        fig5_9::table,
        fig5_9::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_10",
        "Prompt processing over threads",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, SG2042, 64 cores, DDR4-3200.",
        fig5_10::table,
        fig5_10::plot,
    ),
    Experiment::new(
        "riscv-sg2042.fig5_11",
        "Five NUMA strategies on 32 threads",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, 32 threads; SG2042, 64 cores, DDR4-3200.",
        fig5_11::table,
        fig5_11::plot,
    ),
    Experiment::new(
        "riscv-sg2042.table5_4",
        "Counters of the five strategies",
        "Llama 2 7B, Q4_0, batch 1, prompt 10, 32 threads; SG2042, 64 cores, DDR4-3200.",
        table5_4::table,
        table5_4::plot,
    ),
];
