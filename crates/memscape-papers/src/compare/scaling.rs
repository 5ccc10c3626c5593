//! Tokens per second of a reply, and the time to its first token, over one thing that is asked.

use std::collections::BTreeMap;

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Axis, Figure, HeatMap, Lines, Scale};
use memscape_systems::compare::Workload;
use memscape_workload::{Format, Model};

use super::common::{Class, MODEL, answered, ask_shown, classes, curves, extent, question};
use crate::error::Error;

/// One family, so that size is all that differs.
const MODELS: [&str; 7] =
    ["qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-3b", "qwen2.5-7b", "qwen2.5-14b", "qwen2.5-32b", "qwen2.5-72b"];
const PROMPTS: [u64; 8] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const BATCHES: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// From wide to narrow; those of the same width are written differently.
const FORMATS: [&str; 8] = ["fp16", "bf16", "q8_0", "int8", "mx-int8-b32", "q4_0", "mx-int4-b32", "int4"];
/// Of all figures here that do not vary it.
const PROMPT: u64 = 512;

/// The question of all figures here, but for what they vary and what is changed.
fn around(own: &str, changed: &Parameters) -> Result<Workload, Error> {
    question(Workload { prompt_tokens: PROMPT, ..Workload::of(MODEL) }, changed, &[own])
}

pub fn models(changed: &Parameters) -> Result<Table, Error> {
    let around = around("model", changed)?;
    let table = ask_shown(&MODELS.map(|it| Workload { model: it.into(), ..around.clone() }))?;
    let sizes: BTreeMap<&str, f64> = MODELS
        .iter()
        .map(|it| Ok((*it, billions(&Model::named(it)?))))
        .collect::<Result<_, memscape_study::Unknown>>()?;
    let column = table.text("model")?.into_iter().map(|it| sizes.get(it?.as_str()).copied());
    Ok(table.with_column("billion_parameters", Column::Float(column.collect()))?)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn billions(model: &Model) -> f64 {
    model.parameters() as f64 * 1e-9
}

pub fn context(changed: &Parameters) -> Result<Table, Error> {
    let around = around("prompt_tokens", changed)?;
    ask_shown(&PROMPTS.map(|prompt_tokens| Workload { prompt_tokens, ..around.clone() }))
}

pub fn batch(changed: &Parameters) -> Result<Table, Error> {
    let around = around("batch", changed)?;
    ask_shown(&BATCHES.map(|batch| Workload { batch, ..around.clone() }))
}

pub fn formats(changed: &Parameters) -> Result<Table, Error> {
    let around = around("format", changed)?;
    let table = ask_shown(&FORMATS.map(|it| Workload { formats: vec![it.to_owned()], ..around.clone() }))?;
    let bits = |it: Option<String>| it?.parse().ok().map(Format::bits_per_element);
    let column = table.text("format")?.into_iter().map(bits);
    Ok(table.with_column("bits_per_weight", Column::Float(column.collect()))?)
}

pub fn plot_models(table: &Table) -> Result<Figure, Error> {
    let axis = Axis::log10("Parameters (billions)").marks([0.5, 1.5, 3.0, 7.0, 14.0, 32.0, 72.0]);
    plot(table, "billion_parameters", &axis)
}

#[expect(clippy::cast_precision_loss, reason = "prompts stay far below 2^53")]
pub fn plot_context(table: &Table) -> Result<Figure, Error> {
    plot(table, "prompt_tokens", &Axis::log2("Prompt (tokens)").marks(PROMPTS.map(|it| it as f64)))
}

#[expect(clippy::cast_precision_loss, reason = "batches stay far below 2^53")]
pub fn plot_batch(table: &Table) -> Result<Figure, Error> {
    plot(table, "batch", &Axis::log2("Batch").marks(BATCHES.map(|it| it as f64)))
}

/// Reply above, prompt below; a column of panels for each class of machines.
fn plot(table: &Table, x: &str, axis: &Axis) -> Result<Figure, Error> {
    let mut shown = Vec::new();
    for it in classes() {
        if answered(table, "generation_tokens_per_s", &it.platforms)? {
            shown.push(it);
        }
    }
    let rows =
        [("generation_tokens_per_s", "Reply (tokens/s)", true), ("ttft_s", "First token after (s)", false)];
    let mut figure = Figure::two_columns().columns(shown.len().max(1)).plot_height_in(1.5);
    for (column, label, named) in rows {
        let across = Axis { reach: extent(table, x)?, ..axis.clone() };
        let up = Axis { reach: extent(table, column)?, ..Axis::log10(label) };
        for (Class { name, platforms }, letter) in shown.iter().zip('a'..) {
            let lines = curves(table, platforms, named, (x, column), Lines::new(across.clone(), up.clone()))?;
            figure = figure.panel(if named { format!("({letter}) {name}") } else { String::new() }, lines);
        }
    }
    Ok(figure.caption(format!("Where lines coincide, the last of the legend is seen. {}", gaps(table)?)))
}

/// How many questions have no answer, for the caption.
fn gaps(table: &Table) -> Result<String, Error> {
    let refused = table.text("error")?.iter().flatten().count();
    let of = table.height();
    Ok(match refused {
        0 => String::new(),
        _ => format!("{refused} of {of} questions cannot be run; the table's `error` says why."),
    })
}

/// Platforms as rows: a format is no number, and two may be equally wide.
pub fn plot_formats(table: &Table) -> Result<Figure, Error> {
    let names: Vec<String> = classes().into_iter().flat_map(|it| it.platforms).collect();
    let map = |column: &str, label: &str| -> Result<HeatMap, Error> {
        let row = |platform: &String| -> Result<Vec<Option<f64>>, Error> {
            let rows = table.filter("platform", platform.as_str())?;
            let (formats, values) = (rows.text("format")?, rows.f64(column)?);
            let of = |format: &&str| {
                let at = formats.iter().position(|it| it.as_deref() == Some(*format));
                at.and_then(|it| values[it])
            };
            Ok(FORMATS.iter().map(of).collect())
        };
        Ok(HeatMap {
            values: names.iter().map(row).collect::<Result<_, _>>()?,
            rows: names.clone(),
            columns: FORMATS.map(str::to_owned).to_vec(),
            value_label: label.to_owned(),
            scale: Scale::Log10,
            ..HeatMap::default()
        })
    };
    Ok(Figure::two_columns()
        .panel("(a) Reply", map("generation_tokens_per_s", "Tokens/s")?)
        .panel("(b) Prompt", map("ttft_s", "First token after (s)")?)
        .caption(gaps(table)?))
}
