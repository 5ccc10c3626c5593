//! Fig. 13: what each step of the scheduler does to the feed-forward blocks,
//! by the law for the paper's models, and walked on a recording.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, GroupedBars};
use serde_json::{Value, json};

use super::common::{MODELS, RECORDING, axis, derive, inference, series, short};
use crate::error::Error;
use crate::sweeps::{Variant, distinct, variant};

/// Strategies as the paper calls them.
const STRATEGIES: [(&str, &str); 7] = [
    ("random", "Random"),
    ("partition", "Partition"),
    ("token", "Token adjustment"),
    ("layer", "Layer adjustment"),
    ("adjustment", "Adjustment"),
    ("full", "Hermes"),
    ("oracle", "Oracle"),
];

/// Beyond the paper: an exchange that stops when GPU and DIMMs are level.
pub fn table_exchange(changed: &Parameters) -> Result<Table, Error> {
    let variants = [
        variant("Partition", [("strategy", json!("partition"))]),
        variant("Exchange, as printed", [("strategy", json!("full")), ("exchange", json!("unchecked"))]),
        variant("Exchange until level", [("strategy", json!("full")), ("exchange", json!("until-level"))]),
    ];
    inference(changed, &variants, &[axis("model", MODELS)])
}

pub fn plot_exchange(table: &Table) -> Result<Figure, Error> {
    let mut bars = GroupedBars::new("Throughput (tokens/s)", MODELS.map(short));
    for name in distinct(table, "series")? {
        bars = bars.series(name.clone(), series(table, &name, "tokens_per_s")?);
    }
    Ok(Figure::two_columns().panel("", bars))
}

/// The GPU holds what fits: how much is worth loading after a prompt is another
/// question.
fn variants() -> [Variant; 7] {
    STRATEGIES
        .map(|(strategy, name)| variant(name, [("strategy", json!(strategy)), ("prompt", json!("pinned"))]))
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let law = inference(changed, &variants(), &[axis("model", MODELS)])?;
    // A small model: without the time of launching and synchronising, which
    // would be all there is, and with a GPU that holds a tenth of it.
    let mut small = changed.clone();
    for (path, value) in [
        ("trace", json!(RECORDING)),
        ("engine", json!("events")),
        ("hot_share", json!(0.1)),
        ("overhead.sync_us", json!(0.0)),
        ("overhead.launch_us", json!(0.0)),
    ] {
        small.insert(path.to_owned(), value);
    }
    let recorded = inference(&small, &variants(), &[axis("model", [Value::Null])])?;
    let recorded = derive(recorded.clone(), "model", "series", |_| RECORDING.to_owned())?;
    let columns = law.column_names();
    let table = law.concat(&recorded.select(&columns)?)?;
    derive(table, "activity", "model", |it| if it == RECORDING { "recorded" } else { "law" }.to_owned())
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let chart = |activity: &str| -> Result<GroupedBars, Error> {
        let rows = table.filter("activity", activity)?;
        let models: Vec<String> = distinct(&rows, "model")?;
        let random = series(&rows, "Random", "mlp_ns")?;
        let mut bars = GroupedBars::new("Feed-forward time / random", models.iter().map(|it| short(it)));
        for (_, name) in STRATEGIES {
            let times = series(&rows, name, "mlp_ns")?;
            let ratios = times.iter().zip(&random).map(|(time, random)| Some((*time)? / (*random)?));
            bars = bars.series(name, ratios);
        }
        let bars = if models.len() > 1 { bars.with_average("Average") } else { bars };
        Ok(bars.decimals(2))
    };
    Ok(Figure::two_columns()
        .columns(1)
        .plot_height_in(1.0)
        .panel("(a) By the activity law", chart("law")?)
        .panel("(b) Walked on a recording of a small model", chart("recorded")?))
}
