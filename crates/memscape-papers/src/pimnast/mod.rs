//! PIMnast: the evaluation of section VI, one module per figure or table.

mod causes;
mod common;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig6;
mod fig8;
mod fig9a;
mod fig9b;
mod interleaving;
mod regret;
mod sec2;
mod setup;
mod table1;

use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;

pub const PAPER: Paper = Paper {
    id: "pimnast",
    experiments: EXPERIMENTS,
    published: include_str!("../../../../data/published/pimnast.toml"),
};

/// In the paper's order.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "pimnast.sec2_bandwidth",
        "Bandwidth that ten tokens per second ask for",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1.",
        sec2::table,
        sec2::plot,
    ),
    Experiment::new(
        "pimnast.setup",
        "The evaluated machine",
        "LPDDR5X-7500 with PIM beside a laptop's SoC.",
        setup::table,
        quantities::plot,
    ),
    Experiment::new(
        "pimnast.fig6",
        "Nine placements of one matrix",
        "A matrix of 8 × 8 in tiles of four elements over two banks.",
        fig6::table,
        fig6::plot,
    ),
    Experiment::new(
        "pimnast.table1",
        "Page sizes that keep rows together",
        "LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        table1::table,
        table1::plot,
    ),
    Experiment::new(
        "pimnast.fig8",
        "GEMV speedup over input registers",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig8::table,
        common::speedup_figure,
    ),
    Experiment::new(
        "pimnast.fig9a",
        "GEMV speedup with the largest CR degree",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig9a::table,
        common::speedup_figure,
    ),
    Experiment::new(
        "pimnast.fig9b",
        "Tile shapes and CR degrees chosen",
        "The four GEMVs of OPT-125M to OPT-30B, 8-bit weights; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig9b::table,
        fig9b::plot,
    ),
    Experiment::new(
        "pimnast.fig10",
        "GEMV speedup over banks",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels with PIM.",
        fig10::table,
        fig10::plot,
    ),
    Experiment::new(
        "pimnast.interleaving",
        "GEMV speedup over the interleaving unit",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        interleaving::table,
        interleaving::plot,
    ),
    Experiment::new(
        "pimnast.fig11",
        "GEMV speedup over data formats",
        "OPT-125M to OPT-30B, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig11::table,
        common::speedup_figure,
    ),
    Experiment::new(
        "pimnast.fig12",
        "GEMV speedup with scale factors",
        "OPT-125M to OPT-30B, weights in scaled blocks, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig12::table,
        fig12::plot,
    ),
    Experiment::new(
        "pimnast.fig13",
        "GEMV speedup over registers",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig13::table,
        fig13::plot,
    ),
    Experiment::new(
        "pimnast.fig14",
        "Per-token and end-to-end speedup",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1, prompt 1920, reply 128; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig14::table,
        fig14::plot,
    ),
    Experiment::new(
        "pimnast.fig15",
        "Cross-lane hardware and split-K for OPT-125M",
        "OPT-125M, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        fig15::table,
        fig15::plot,
    ),
    Experiment::new(
        "pimnast.causes",
        "Where the time of GEMVs goes",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        causes::table,
        causes::plot,
    ),
    Experiment::new(
        "pimnast.regret",
        "PIMnast's placement beside the best",
        "OPT-125M to OPT-30B, 8-bit weights, batch 1; LPDDR5X-7500, 8 channels × 16 banks with PIM.",
        regret::table,
        regret::plot,
    ),
];
