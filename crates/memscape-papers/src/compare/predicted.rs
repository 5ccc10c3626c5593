//! What was said of machines before anybody measured it, with its intervals.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};
use memscape_workload::Model;
use serde_json::Value;

use crate::error::Error;
use crate::predictions::{predictions, said};

/// One row per prediction of `data/predictions`, as it was said.
pub fn table(_: &Parameters) -> Result<Table, Error> {
    let said = said()?;
    let all: Vec<_> = predictions()?
        .into_iter()
        .filter_map(|it| Some((said.iter().rfind(|said| said.id == it.id)?, it)))
        .collect();
    let text = |of: &dyn Fn(usize) -> Option<String>| Column::Text((0..all.len()).map(of).collect());
    let number = |of: &dyn Fn(usize) -> f64| Column::Float((0..all.len()).map(|it| Some(of(it))).collect());
    let given = |row: usize, path: &str| all[row].1.at().get(path).cloned();
    let model = |row: usize| given(row, "model").and_then(|it| it.as_str().map(str::to_owned));
    let length = |row: usize| given(row, "prompt_tokens").as_ref().and_then(Value::as_i64);
    Ok(Table::from_columns([
        ("id", text(&|it| Some(all[it].1.id.clone()))),
        ("machine", text(&|it| Some(all[it].1.machine.clone()))),
        ("what", text(&|it| Some(all[it].1.what.clone()))),
        ("column", text(&|it| Some(all[it].1.column().to_owned()))),
        ("model", text(&model)),
        ("prompt_tokens", Column::Int((0..all.len()).map(length).collect())),
        ("value", number(&|it| all[it].0.interval.value)),
        ("low", number(&|it| all[it].0.interval.low)),
        ("high", number(&|it| all[it].0.interval.high)),
        ("unit", text(&|it| Some(all[it].1.unit.clone()))),
        ("version", text(&|it| Some(all[it].0.version.clone()))),
        ("date", text(&|it| Some(all[it].0.date.clone()))),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let npu = table.filter("machine", machine_of(table, "xdna2.")?.as_str())?;
    let over_length = |column: &str, label: &str| -> Result<Lines, Error> {
        let rows = npu.filter("column", column)?;
        let mut lines = Lines::new(Axis::log2(label), Axis::log10("Tokens/s"));
        for model in names(&rows)? {
            let rows = rows.filter("model", model.as_str())?;
            let lengths = rows.f64("prompt_tokens")?.into_iter().map(Option::unwrap_or_default);
            lines = lines.curve(model.as_str(), lengths.zip(rows.f64("value")?)).band(ends(&rows)?);
        }
        Ok(lines)
    };
    let riscv = table.filter("machine", machine_of(table, "sg2042.")?.as_str())?;
    let marks = riscv.text("model")?.into_iter().flatten().map(|it| billions(&it));
    let marks = marks.map(|it| Ok((it? * 10.0).round() / 10.0)).collect::<Result<Vec<_>, Error>>()?;
    let axis = Axis::log10("Parameters (billions)").marks(marks);
    let mut sizes = Lines::new(axis, Axis::log10("Tokens/s"));
    for (column, name) in [("prompt_tokens_per_s", "prompt"), ("generation_tokens_per_s", "reply")] {
        let rows = riscv.filter("column", column)?;
        let billions = rows.text("model")?.into_iter().flatten().map(|it| billions(&it));
        let billions = billions.collect::<Result<Vec<f64>, Error>>()?;
        sizes = sizes.points(name, billions.into_iter().zip(rows.f64("value")?)).spread(ends(&rows)?);
    }
    Ok(Figure::two_columns()
        .panel("(a) XDNA2, reply", over_length("generation_tokens_per_s", "Context (tokens)")?)
        .panel("(b) XDNA2, prompt", over_length("prompt_tokens_per_s", "Prompt (tokens)")?)
        .panel("(c) SG2042", sizes))
}

fn names(table: &Table) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = table.text("model")?.into_iter().flatten().collect();
    names.dedup();
    Ok(names)
}

fn machine_of(table: &Table, id: &str) -> Result<String, Error> {
    let mut rows = table.text("id")?.into_iter().zip(table.text("machine")?);
    let found = rows.find(|it| it.0.as_deref().is_some_and(|it| it.starts_with(id))).and_then(|it| it.1);
    found.ok_or_else(|| Error::BadPrediction(format!("nothing is predicted of `{id}`")))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn billions(model: &str) -> Result<f64, Error> {
    Ok(Model::named(model)?.parameters() as f64 * 1e-9)
}

/// From where to where nine of ten are.
fn ends(table: &Table) -> Result<Vec<Option<(f64, f64)>>, Error> {
    Ok(table.f64("low")?.into_iter().zip(table.f64("high")?).map(|(low, high)| low.zip(high)).collect())
}
