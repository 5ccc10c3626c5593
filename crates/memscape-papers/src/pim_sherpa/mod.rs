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
    Experiment::new(
        "pim-sherpa.setup",
        "The evaluated phone",
        "Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        setup::table,
        quantities::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig3",
        "Host-friendly and PIM-aware places of one matrix",
        "One channel, one rank, four banks, one row of three columns.",
        fig3::table,
        fig3::plot,
    ),
    Experiment::new(
        "pim-sherpa.table1",
        "What ways of keeping weights resolve",
        "By what the schemes are, without a machine.",
        table1::table,
        table1::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig4",
        "DRAM with and without weight duplication",
        "BF16 weights; phone with PIM at each bank of LPDDR5X-8533.",
        fig4::table,
        fig4::plot,
    ),
    Experiment::new(
        "pim-sherpa.table2",
        "Rearrangement beside GEMM at peak rates",
        "Peak rates of the Galaxy S24+.",
        table2::table,
        table2::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig7",
        "Threads in one layer, online rearrangement",
        "Llama 3.2 1B, BF16, 128 tokens; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig7::table,
        fig7::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig9",
        "DRAM by scheme",
        "BF16 weights; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig9::table,
        fig9::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig10a",
        "Time to first token, Llama 3.2 1B",
        "Llama 3.2 1B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig10::table_1b,
        fig10::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig10b",
        "Time to first token, Llama 3.2 3B",
        "Llama 3.2 3B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig10::table_3b,
        fig10::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig11a",
        "Threads in one layer, 64 tokens",
        "Llama 3.2 1B, BF16, 64 tokens; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig11::table_64,
        fig11::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig11b",
        "Threads in one layer, 128 tokens",
        "Llama 3.2 1B, BF16, 128 tokens; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig11::table_128,
        fig11::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig12a",
        "End-to-end speedup of FACIL-O",
        "Llama 3.2 1B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig12::table_facil,
        fig12::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig12b",
        "End-to-end speedup of S-DDB",
        "Llama 3.2 1B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig12::table_ddb,
        fig12::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig12c",
        "End-to-end speedup of S-OWR",
        "Llama 3.2 1B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig12::table_owr,
        fig12::plot,
    ),
    Experiment::new(
        "pim-sherpa.fig13",
        "Time to first token with one copy of the weights",
        "Llama 3.2 3B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        fig13::table,
        fig13::plot,
    ),
    Experiment::new(
        "pim-sherpa.table4",
        "Commands of HBM-PIM's GEMVs",
        "Commands of one pseudo channel of HBM2 with HBM-PIM, FP16.",
        table4::table,
        table4::plot,
    ),
    Experiment::new(
        "pim-sherpa.text",
        "Numbers that the text prints",
        "Llama 3.2 1B and 3B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        text::table,
        text::plot,
    ),
    Experiment::new(
        "pim-sherpa.sec7_flop_per_byte",
        "Rearrangement on faster hosts",
        "Peak rates of four hosts, prompts of 8 to 131072 tokens.",
        sec7::table,
        sec7::plot,
    ),
    Experiment::new(
        "pim-sherpa.crossover",
        "Prompts at which DDB and OWR meet weight duplication",
        "Llama 3.2 1B, BF16, batch 1; the Galaxy S24+.",
        crossover::table,
        crossover::plot,
    ),
    Experiment::new(
        "pim-sherpa.ff0_split",
        "FF0 divided by compute time",
        "Llama 3.2 1B, BF16, batch 1; Galaxy S24+ with PIM at each bank of LPDDR5X-8533.",
        ff0_split::table,
        ff0_split::plot,
    ),
];
