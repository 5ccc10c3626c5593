//! Fig. 12: where the time goes, as shares.

use memscape_explore::{Column, Parameters, Table};
use memscape_ndp::study::System;
use memscape_plot::{Figure, StackedBars};

use super::common::{MODELS, OPT, axis, inference, short, systems};
use crate::error::Error;

const BATCHES: [u32; 3] = [1, 4, 16];

/// Parts of a run: their name, and whether they are a step's or the prompt's.
const PARTS: [(&str, &str); 5] = [
    ("fc_share", "FC"),
    ("attention_share", "Attention"),
    ("communication_share", "Communication"),
    ("predictor_share", "Predictor"),
    ("prompt_share", "Prompt"),
];

pub fn table12a(changed: &Parameters) -> Result<Table, Error> {
    with_shares(inference(
        changed,
        &systems([System::DejaVu]),
        &[axis("model", OPT), axis("batch", BATCHES)],
    )?)
}

pub fn table12b(changed: &Parameters) -> Result<Table, Error> {
    let series = systems([System::HermesBase, System::Hermes]);
    with_shares(inference(changed, &series, &[axis("model", MODELS), axis("batch", BATCHES)])?)
}

/// Adds each part's share of prompt and reply.
fn with_shares(mut table: Table) -> Result<Table, Error> {
    let (total, prompt, step) = (table.f64("total_s")?, table.f64("ttft_s")?, table.f64("token_ns")?);
    for (column, _) in PARTS {
        let shares = if column == "prompt_share" {
            prompt.iter().zip(&total).map(|(part, total)| Some((*part)? / (*total)?)).collect()
        } else {
            let parts = table.f64(&column.replace("_share", "_ns"))?;
            let share = |row: usize| Some(parts[row]? / step[row]? * (1.0 - prompt[row]? / total[row]?));
            (0..parts.len()).map(share).collect()
        };
        table = table.with_column(column, Column::Float(shares))?;
    }
    Ok(table)
}

pub fn plot12a(table: &Table) -> Result<Figure, Error> {
    let caption = "At batches of 4 and 16 the sequences together ask for all neurons, so Deja Vu streams what FlexGen \
                   does.";
    Ok(Figure::one_column().panel("", shares(table, &OPT)?).caption(caption))
}

pub fn plot12b(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(1).plot_height_in(1.0);
    let panels = [("a", "Hermes-base"), ("b", "Hermes")];
    for (letter, name) in panels {
        let rows = table.filter("series", name)?;
        figure = figure.panel(format!("({letter}) {name}, shares"), shares(&rows, &MODELS)?);
    }
    for (letter, name) in ["c", "d"].into_iter().zip(panels.map(|it| it.1)) {
        let rows = table.filter("series", name)?;
        figure = figure.panel(format!("({letter}) {name}, time"), times(&rows, &MODELS)?);
    }
    Ok(figure)
}

fn shares(table: &Table, models: &[&str]) -> Result<StackedBars, Error> {
    let part = |column: &str| -> Result<Vec<Option<f64>>, Error> {
        Ok(table.f64(column)?.into_iter().map(|it| it.map(|it| it * 100.0)).collect())
    };
    Ok(bars(table, models, "Share of the run (%)", part)?.shares())
}

/// The same in seconds.
fn times(table: &Table, models: &[&str]) -> Result<StackedBars, Error> {
    let total = table.f64("total_s")?;
    let part = |column: &str| -> Result<Vec<Option<f64>>, Error> {
        Ok(table
            .f64(column)?
            .into_iter()
            .zip(&total)
            .map(|(share, total)| Some(share? * (*total)?))
            .collect())
    };
    Ok(bars(table, models, "Time of the run (s)", part)?.totals())
}

fn bars(
    table: &Table,
    models: &[&str],
    label: &str,
    part: impl Fn(&str) -> Result<Vec<Option<f64>>, Error>,
) -> Result<StackedBars, Error> {
    let batches = table.text("batch")?.into_iter().flatten();
    let mut bars = StackedBars::new(label, batches).x_label("Batch");
    for (column, name) in PARTS {
        bars = bars.part(name, part(column)?);
    }
    Ok(models.iter().fold(bars, |bars, model| bars.cluster(short(model), BATCHES.len())))
}
