//! PIM-SHERPA: sections 2 to 7, one module per figure or table.

mod common;
mod crossover;
mod ff0_split;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig3;
mod fig4;
mod fig7;
mod fig9;
mod layer;
mod sec7;
mod setup;
mod table1;
mod table2;
mod table4;
mod text;

use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;

pub const PAPER: Paper = Paper {
    id: "pim-sherpa",
    experiments: EXPERIMENTS,
    published: include_str!("../../../../data/published/pim-sherpa.toml"),
};

/// In the paper's order.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::new("pim-sherpa.setup", "The evaluated phone", setup::table, quantities::plot),
    Experiment::new(
        "pim-sherpa.fig3",
        "Host-friendly and PIM-aware places of one matrix",
        fig3::table,
        fig3::plot,
    ),
    Experiment::new("pim-sherpa.table1", "What ways of keeping weights resolve", table1::table, table1::plot),
    Experiment::new("pim-sherpa.fig4", "DRAM with and without weight duplication", fig4::table, fig4::plot),
    Experiment::new(
        "pim-sherpa.table2",
        "Rearrangement beside GEMM at peak rates",
        table2::table,
        table2::plot,
    ),
    Experiment::new("pim-sherpa.fig7", "Threads in one layer, online rearrangement", fig7::table, fig7::plot),
    Experiment::new("pim-sherpa.fig9", "DRAM by scheme", fig9::table, fig9::plot),
    Experiment::new("pim-sherpa.fig10a", "Time to first token, Llama 3.2 1B", fig10::table_1b, fig10::plot),
    Experiment::new("pim-sherpa.fig10b", "Time to first token, Llama 3.2 3B", fig10::table_3b, fig10::plot),
    Experiment::new("pim-sherpa.fig11a", "Threads in one layer, 64 tokens", fig11::table_64, fig11::plot),
    Experiment::new("pim-sherpa.fig11b", "Threads in one layer, 128 tokens", fig11::table_128, fig11::plot),
    Experiment::new("pim-sherpa.fig12a", "End-to-end speedup of FACIL-O", fig12::table_facil, fig12::plot),
    Experiment::new("pim-sherpa.fig12b", "End-to-end speedup of S-DDB", fig12::table_ddb, fig12::plot),
    Experiment::new("pim-sherpa.fig12c", "End-to-end speedup of S-OWR", fig12::table_owr, fig12::plot),
    Experiment::new(
        "pim-sherpa.fig13",
        "Time to first token with one copy of the weights",
        fig13::table,
        fig13::plot,
    ),
    Experiment::new("pim-sherpa.table4", "Commands of HBM-PIM's GEMVs", table4::table, table4::plot),
    Experiment::new("pim-sherpa.text", "Numbers that the text prints", text::table, text::plot),
    Experiment::new(
        "pim-sherpa.sec7_flop_per_byte",
        "Rearrangement on faster hosts",
        sec7::table,
        sec7::plot,
    ),
    Experiment::new(
        "pim-sherpa.crossover",
        "Prompts at which DDB and OWR meet weight duplication",
        crossover::table,
        crossover::plot,
    ),
    Experiment::new("pim-sherpa.ff0_split", "FF0 divided by compute time", ff0_split::table, ff0_split::plot),
];
