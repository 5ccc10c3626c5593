//! What the figures and tables of this paper share.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};

use crate::error::Error;
use crate::sweeps::{Variant, distinct, sweep_variants};

/// The models of section VI-A2.
pub const SUITE: [&str; 7] =
    ["opt-125m", "opt-350m", "opt-1.3b", "opt-2.7b", "opt-6.7b", "opt-13b", "opt-30b"];

/// The four weight GEMVs of a layer.
pub const GEMVS: [&str; 4] = ["qkv", "out", "fc1", "fc2"];

/// What is changed, over the algorithms as they are printed: the studies' own default is the best placement, and
/// charges the processor for the sums of split-K.
pub fn as_printed(changed: &Parameters) -> Parameters {
    let mut all = Parameters::new();
    all.insert("placement".to_owned(), "pimnast".into());
    all.insert("charge_reduction".to_owned(), false.into());
    all.extend(changed.iter().map(|(key, value)| (key.clone(), value.clone())));
    all
}

/// `pim.gemv` over the four GEMVs of every model, per variant.
pub fn suite(changed: &Parameters, variants: &[Variant]) -> Result<Table, Error> {
    sweep_variants("pim.gemv", &as_printed(changed), variants, &[("model", &SUITE), ("gemv", &GEMVS)])
}

/// `opt-6.7b` as the figures print it.
pub fn short(model: &str) -> String {
    model.trim_start_matches("opt-").to_uppercase()
}

/// Bars per model and series: the mean of `value` over a model's GEMVs.
pub fn bars_per_model(table: &Table, value: &str, label: &str) -> Result<GroupedBars, Error> {
    let models = distinct(table, "model")?;
    let mut bars = GroupedBars::new(label, models.iter().map(|it| short(it)));
    for series in distinct(table, "series")? {
        let means = table.filter("series", series.as_str())?.group_mean(&["model"], value)?;
        bars = bars.series(series, means.f64(value)?);
    }
    Ok(bars.with_average("Average"))
}

/// The roofline of the table's one machine.
pub fn roofline(table: &Table) -> Result<f64, Error> {
    Ok(table.f64("roofline_speedup")?.into_iter().flatten().next().unwrap_or_default())
}

/// The usual figure: speedup per model and series, under the roofline.
pub fn speedup_figure(table: &Table) -> Result<Figure, Error> {
    let bars = bars_per_model(table, "speedup", "Speedup over SoC (×)")?;
    let bars = bars.reference("Roofline", roofline(table)?);
    Ok(Figure::two_columns().panel("", bars))
}
