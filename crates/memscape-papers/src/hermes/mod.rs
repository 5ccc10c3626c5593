//! Hermes: the figures of sections III and V, one module each.

mod activity;
mod batches;
mod breakdown;
mod derived;
mod design;
mod online;
mod rates;
mod strategies;

use memscape_explore::{Column, Parameters, Sweep, Table, study};
use memscape_ndp::study::System;
use serde_json::{Value, json};

use crate::error::Error;
use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;
use crate::sweeps::{Variant, concat, variant, with_first_column};

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

/// The models of Fig. 9, which every baseline supports.
const OPT: [&str; 3] = ["opt-13b", "opt-30b", "opt-66b"];
/// All models of section V-A3.
const MODELS: [&str; 6] = ["opt-13b", "opt-30b", "opt-66b", "llama-2-13b", "falcon-40b", "llama-2-70b"];
/// The recording of a small ReLU transformer.
const RECORDING: &str = memscape_ndp::activity::SAMPLE;

/// A model's name as the figures print it.
fn short(model: &str) -> String {
    match model {
        RECORDING => "recording".to_owned(),
        _ => model
            .replace("opt-", "OPT-")
            .replace("llama-2-", "Llama-2-")
            .replace("falcon-", "Falcon-")
            .replace('b', "B"),
    }
}

/// A system's name as the paper prints it.
const fn printed(system: System) -> &'static str {
    match system {
        System::Hermes => "Hermes",
        System::HermesHost => "Hermes-host",
        System::HermesBase => "Hermes-base",
        System::Accelerate => "Accelerate",
        System::Flexgen => "FlexGen",
        System::DejaVu => "Deja Vu",
        System::TensorrtLlm => "TensorRT-LLM",
    }
}

/// The systems of Figs. 9 to 11 and 17, as series.
fn systems<const N: usize>(systems: [System; N]) -> [Variant; N] {
    systems.map(|system| {
        // The host has an offline partition only, as the system that it follows.
        let strategy = if system == System::HermesHost { "partition" } else { "full" };
        variant(printed(system), [("system", json!(system)), ("strategy", json!(strategy))])
    })
}

/// An axis of a sweep.
type Axis<'a> = (&'a str, Vec<Value>);

fn axis<V: Into<Value>>(name: &str, values: impl IntoIterator<Item = V>) -> Axis<'_> {
    (name, values.into_iter().map(Into::into).collect())
}

/// Sweeps `ndp.inference` once per variant; what a system cannot run is a row
/// without numbers, which the paper prints as N.P.
fn inference(changed: &Parameters, variants: &[Variant], axes: &[Axis]) -> Result<Table, Error> {
    concat(variants.iter().map(|variant| {
        let mut base = changed.clone();
        base.extend(variant.parameters.iter().map(|(path, value)| ((*path).to_owned(), value.clone())));
        let sweep =
            axes.iter().fold(Sweep::of(base), |it, (path, values)| it.axis(*path, values.iter().cloned()));
        let table = study("ndp.inference")?.sweep(&sweep, &())?;
        with_first_column(table, "series", &variant.name)
    }))
}

/// The table with a text column that follows from another.
fn derive(table: Table, name: &str, from: &str, of: impl Fn(&str) -> String) -> Result<Table, Error> {
    let texts = table.text(from)?.into_iter().map(|it| it.map(|it| of(&it))).collect();
    Ok(table.with_column(name, Column::Text(texts))?)
}

/// Which models FlexGen and Deja Vu support.
fn with_family(table: Table) -> Result<Table, Error> {
    derive(table, "family", "model", |it| it.split('-').next().unwrap_or(it).to_owned())
}

/// One series of a column.
fn series(table: &Table, name: &str, column: &str) -> Result<Vec<Option<f64>>, Error> {
    Ok(table.filter("series", name)?.f64(column)?)
}
