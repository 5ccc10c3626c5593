//! Hermes: the figures of sections III and V, one module each.

mod activity;
mod batches;
mod breakdown;
mod common;
mod derived;
mod design;
mod online;
mod rates;
mod strategies;
mod walkthrough;

use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;

pub const PAPER: Paper = Paper {
    id: "hermes",
    experiments: EXPERIMENTS,
    published: include_str!("../../../../data/published/hermes.toml"),
};

/// In the paper's order.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "hermes.activity",
        "Activity of neurons",
        "ReLU models, 1024 tokens, by the activity law.",
        activity::table,
        activity::plot,
    ),
    Experiment::new(
        "hermes.fig4a",
        "Similarity of tokens over their distance",
        "Feed-forward neurons, batch 1.",
        activity::table4a,
        activity::plot4a,
    ),
    Experiment::new(
        "hermes.fig4b",
        "Neurons of two layers that are active together",
        "Llama 2 13B, by the activity law.",
        activity::table4b,
        activity::plot4b,
    ),
    Experiment::new(
        "hermes.fig7",
        "Ten neurons and their predictor",
        "Llama-2-13B by the activity law, layer 31, after a prompt of 128.",
        walkthrough::table7,
        walkthrough::plot7,
    ),
    Experiment::new(
        "hermes.fig8",
        "Ten neurons between GPU and DIMMs",
        "Llama-2-13B by the activity law, layer 31, after a prompt of 128.",
        walkthrough::table8,
        walkthrough::plot8,
    ),
    Experiment::new(
        "hermes.fig9",
        "Hermes and systems that offload weights",
        "Batch 1, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        rates::table9,
        rates::plot9,
    ),
    Experiment::new(
        "hermes.fig10",
        "Hermes without sparsity, and without NDP",
        "Batch 1, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        rates::table10,
        rates::plot10,
    ),
    Experiment::new(
        "hermes.fig11",
        "Throughput over the batch",
        "Prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        batches::table11,
        batches::plot11,
    ),
    Experiment::new(
        "hermes.fig12a",
        "Where Deja Vu's time goes",
        "Prompt 128, reply 128; RTX 4090.",
        breakdown::table12a,
        breakdown::plot12a,
    ),
    Experiment::new(
        "hermes.fig12b",
        "Where the time of Hermes goes",
        "Prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        breakdown::table12b,
        breakdown::plot12b,
    ),
    Experiment::new(
        "hermes.fig13",
        "What each step of the scheduler does",
        "Batch 1, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        strategies::table,
        strategies::plot,
    ),
    Experiment::new(
        "hermes.fig14",
        "Throughput over the DIMMs",
        "Batch 1, prompt 128, reply 128; RTX 4090.",
        design::table14,
        design::plot14,
    ),
    Experiment::new(
        "hermes.fig15",
        "Throughput with three GPUs",
        "Batch 1, prompt 128, reply 128; 8 NDP-DIMMs.",
        design::table15,
        design::plot15,
    ),
    Experiment::new(
        "hermes.fig16",
        "Speedup over the multipliers of a DIMM",
        "OPT-13B, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        design::table16,
        design::plot16,
    ),
    Experiment::new(
        "hermes.fig17",
        "Hermes and TensorRT-LLM",
        "Llama-2-70B, prompt 128, reply 128.",
        batches::table17,
        batches::plot17,
    ),
    Experiment::new(
        "hermes.online",
        "Prediction and migration, walked",
        "Batch 1, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        online::table,
        online::plot,
    ),
    Experiment::new(
        "hermes.derived",
        "Numbers that the text draws from these",
        "RTX 4090, 8 NDP-DIMMs.",
        derived::table,
        quantities::plot,
    ),
    Experiment::new(
        "hermes.exchange",
        "Where the exchange of neurons stops",
        "Batch 1, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs.",
        strategies::table_exchange,
        strategies::plot_exchange,
    ),
    Experiment::new(
        "hermes.tokens_per_dollar",
        "Throughput for a thousand dollars",
        "Batch 1, prompt 128, reply 128; RTX 4090, 8 NDP-DIMMs; five A100-40GB.",
        design::table_dollar,
        design::plot_dollar,
    ),
];
