//! What the figures and tables of this paper share.

use memscape_explore::{Column, Parameters, Sweep, Table};
use memscape_ndp::study::System;
use memscape_systems::study;
use serde_json::{Value, json};

use crate::error::Error;
use crate::sets::note;
use crate::sweeps::{Variant, concat, variant, with_first_column};

/// The models of Fig. 9, which every baseline supports.
pub const OPT: [&str; 3] = ["opt-13b", "opt-30b", "opt-66b"];
/// All models of section V-A3.
pub const MODELS: [&str; 6] = ["opt-13b", "opt-30b", "opt-66b", "llama-2-13b", "falcon-40b", "llama-2-70b"];
/// The recording of a small ReLU transformer.
pub const RECORDING: &str = memscape_ndp::activity::SAMPLE;

/// A model's name as the figures print it.
pub fn short(model: &str) -> String {
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
pub const fn printed(system: System) -> &'static str {
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
pub fn systems<const N: usize>(systems: [System; N]) -> [Variant; N] {
    systems.map(|system| {
        // The host has Hermes' offline partition only, as printed.
        let host = [("strategy", json!("partition")), ("exchange", json!("unchecked"))];
        let mut it = variant(printed(system), [("system", json!(system))]);
        if system == System::HermesHost {
            it.parameters.extend(host);
        }
        it
    })
}

/// An axis of a sweep.
pub type Axis<'a> = (&'a str, Vec<Value>);

pub fn axis<V: Into<Value>>(name: &str, values: impl IntoIterator<Item = V>) -> Axis<'_> {
    (name, values.into_iter().map(Into::into).collect())
}

/// Sweeps `ndp.inference` once per variant; what a system cannot run is a row
/// without numbers, which the paper prints as N.P. As in the paper's workflow, all
/// weights are streamed for a prompt, and hot neurons are loaded after it.
pub fn inference(changed: &Parameters, variants: &[Variant], axes: &[Axis]) -> Result<Table, Error> {
    concat(variants.iter().map(|variant| {
        let mut base = Parameters::from_iter([("prompt".to_owned(), json!("reload"))]);
        base.extend(changed.clone());
        note(axes.iter().map(|it| it.0));
        let sweep = axes
            .iter()
            .fold(Sweep::of(variant.of(&base)), |it, (path, values)| it.axis(*path, values.iter().cloned()));
        let table = study("ndp.inference")?.sweep(&sweep, &())?;
        with_first_column(table, "series", &variant.name)
    }))
}

/// The table with a text column that follows from another.
pub fn derive(table: Table, name: &str, from: &str, of: impl Fn(&str) -> String) -> Result<Table, Error> {
    let texts = table.text(from)?.into_iter().map(|it| it.map(|it| of(&it))).collect();
    Ok(table.with_column(name, Column::Text(texts))?)
}

/// Which models FlexGen and Deja Vu support.
pub fn with_family(table: Table) -> Result<Table, Error> {
    derive(table, "family", "model", |it| it.split('-').next().unwrap_or(it).to_owned())
}

/// One series of a column.
pub fn series(table: &Table, name: &str, column: &str) -> Result<Vec<Option<f64>>, Error> {
    Ok(table.filter("series", name)?.f64(column)?)
}
