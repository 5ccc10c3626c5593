//! PIMnast: the evaluation of section VI, one module per figure or table.

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

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};

use crate::error::Error;
use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;
use crate::sweeps::{Variant, distinct, sweep_variants, variant};

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
        sec2::table,
        sec2::plot,
    ),
    Experiment::new("pimnast.setup", "The evaluated machine", setup::table, quantities::plot),
    Experiment::new("pimnast.fig6", "Nine placements of one matrix", fig6::table, fig6::plot),
    Experiment::new("pimnast.table1", "Page sizes that keep rows together", table1::table, table1::plot),
    Experiment::new("pimnast.fig8", "GEMV speedup over input registers", fig8::table, fig8::plot),
    Experiment::new("pimnast.fig9a", "GEMV speedup with the largest CR degree", fig9a::table, fig9a::plot),
    Experiment::new("pimnast.fig9b", "Tile shapes and CR degrees chosen", fig9b::table, fig9b::plot),
    Experiment::new("pimnast.fig10", "GEMV speedup over banks", fig10::table, fig10::plot),
    Experiment::new(
        "pimnast.interleaving",
        "GEMV speedup over the interleaving unit",
        interleaving::table,
        interleaving::plot,
    ),
    Experiment::new("pimnast.fig11", "GEMV speedup over data formats", fig11::table, fig11::plot),
    Experiment::new("pimnast.fig12", "GEMV speedup with scale factors", fig12::table, fig12::plot),
    Experiment::new("pimnast.fig13", "GEMV speedup over registers", fig13::table, fig13::plot),
    Experiment::new("pimnast.fig14", "Per-token and end-to-end speedup", fig14::table, fig14::plot),
    Experiment::new(
        "pimnast.fig15",
        "Cross-lane hardware and split-K for OPT-125M",
        fig15::table,
        fig15::plot,
    ),
    Experiment::new("pimnast.regret", "PIMnast's placement beside the best", regret::table, regret::plot),
];

/// The models of section VI-A2.
const SUITE: [&str; 7] = ["opt-125m", "opt-350m", "opt-1.3b", "opt-2.7b", "opt-6.7b", "opt-13b", "opt-30b"];

/// The four weight GEMVs of a layer.
const GEMVS: [&str; 4] = ["qkv", "out", "fc1", "fc2"];

/// `pim.gemv` over the four GEMVs of every model, per variant.
fn suite(changed: &Parameters, variants: &[Variant]) -> Result<Table, Error> {
    sweep_variants("pim.gemv", changed, variants, &[("model", &SUITE), ("gemv", &GEMVS)])
}

/// `opt-6.7b` as the figures print it.
fn short(model: &str) -> String {
    model.trim_start_matches("opt-").to_uppercase()
}

/// Bars per model and series: the mean of `value` over a model's GEMVs.
fn bars_per_model(table: &Table, value: &str, label: &str) -> Result<GroupedBars, Error> {
    let models = distinct(table, "model")?;
    let mut bars = GroupedBars::new(label, models.iter().map(|it| short(it)));
    for series in distinct(table, "series")? {
        let means = table.filter("series", series.as_str())?.group_mean(&["model"], value)?;
        bars = bars.series(series, means.f64(value)?);
    }
    Ok(bars.with_average("Average"))
}

/// The roofline of the table's one machine.
fn roofline(table: &Table) -> Result<f64, Error> {
    Ok(table.f64("roofline_speedup")?.into_iter().flatten().next().unwrap_or_default())
}

/// The usual figure: speedup per model and series, under the roofline.
fn speedup_figure(table: &Table) -> Result<Figure, Error> {
    let bars = bars_per_model(table, "speedup", "Speedup over SoC (×)")?;
    let bars = bars.reference("Roofline", roofline(table)?);
    Ok(Figure::two_columns().panel("", bars))
}
