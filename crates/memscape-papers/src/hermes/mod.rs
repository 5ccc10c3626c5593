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
    Experiment::new("hermes.activity", "Activity of neurons", activity::table, activity::plot),
    Experiment::new(
        "hermes.fig4a",
        "Similarity of tokens over their distance",
        activity::table4a,
        activity::plot4a,
    ),
    Experiment::new(
        "hermes.fig4b",
        "Neurons of two layers that are active together",
        activity::table4b,
        activity::plot4b,
    ),
    Experiment::new("hermes.fig9", "Hermes and systems that offload weights", rates::table9, rates::plot9),
    Experiment::new(
        "hermes.fig10",
        "Hermes without sparsity, and without NDP",
        rates::table10,
        rates::plot10,
    ),
    Experiment::new("hermes.fig11", "Throughput over the batch", batches::table11, batches::plot11),
    Experiment::new("hermes.fig12a", "Where Deja Vu's time goes", breakdown::table12a, breakdown::plot12a),
    Experiment::new(
        "hermes.fig12b",
        "Where the time of Hermes goes",
        breakdown::table12b,
        breakdown::plot12b,
    ),
    Experiment::new(
        "hermes.fig13",
        "What each step of the scheduler does",
        strategies::table,
        strategies::plot,
    ),
    Experiment::new("hermes.fig14", "Throughput over the DIMMs", design::table14, design::plot14),
    Experiment::new("hermes.fig15", "Throughput with three GPUs", design::table15, design::plot15),
    Experiment::new(
        "hermes.fig16",
        "Speedup over the multipliers of a DIMM",
        design::table16,
        design::plot16,
    ),
    Experiment::new("hermes.fig17", "Hermes and TensorRT-LLM", batches::table17, batches::plot17),
    Experiment::new("hermes.online", "Prediction and migration, walked", online::table, online::plot),
    Experiment::new(
        "hermes.derived",
        "Numbers that the text draws from these",
        derived::table,
        quantities::plot,
    ),
    Experiment::new(
        "hermes.exchange",
        "Where the exchange of neurons stops",
        strategies::table_exchange,
        strategies::plot_exchange,
    ),
    Experiment::new(
        "hermes.tokens_per_dollar",
        "Throughput for a thousand dollars",
        design::table_dollar,
        design::plot_dollar,
    ),
];
