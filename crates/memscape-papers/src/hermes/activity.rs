//! Fig. 4 and section III: which neurons are active, and when.

use memscape_explore::{Column, Parameters, Sweep, Table};
use memscape_ndp::activity::{BlockKind, Source, Synthetic};
use memscape_ndp::{ActivityStudy, InferenceStudy};
use memscape_plot::{Axis, Figure, HeatMap, Lines, TextTable};
use memscape_systems::study;
use serde_json::{Value, json};

use super::common::{RECORDING, short};
use crate::error::Error;
use crate::sweeps::{concat, distinct, with_first_column};

const MODELS: [&str; 4] = ["llama-2-13b", "llama-2-70b", "falcon-40b", "opt-13b"];
/// Distances of the statistics, and of Fig. 4a.
const DISTANCES: [u32; 2] = [1, 10];
const DISTANCES_4A: [u32; 10] = [1, 2, 3, 5, 7, 10, 15, 25, 35, 50];
/// Layers and neurons of Fig. 4b.
const LAYERS_4B: [usize; 2] = [30, 31];
const NEURONS_4B: usize = 8;

/// What of the changed parameters the activity law knows.
fn own(changed: &Parameters) -> Parameters {
    let known = |path: &str| path.starts_with("activity") || ["density", "seed"].contains(&path);
    changed.iter().filter(|it| known(it.0)).map(|it| (it.0.clone(), it.1.clone())).collect()
}

fn sweep(base: Parameters, models: &[Value], distances: &[u32]) -> Result<Table, Error> {
    let sweep =
        Sweep::of(base).axis("model", models.iter().cloned()).axis("distance", distances.iter().copied());
    Ok(study("ndp.activity")?.sweep(&sweep, &())?.without_errors()?)
}

/// The statistics of section III, by the law.
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    sweep(own(changed), &MODELS.map(Value::from), &DISTANCES)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let near = table.filter("distance", json!(1))?;
    let far = table.filter("distance", json!(10))?;
    let columns = [
        ("Density (%)", near.f64("density")?, 100.0),
        ("Overlap at 1 (%)", near.f64("overlap")?, 100.0),
        ("at 10 (%)", far.f64("overlap")?, 100.0),
        ("Top 20 % do (%)", near.f64("top_share")?, 100.0),
        ("Hot ones varied (%)", near.f64("hot_varied")?, 100.0),
        ("Child | parents (%)", near.f64("child_given_parents")?, 100.0),
        ("Imbalance, least", near.f64("least_imbalance")?, 1.0),
        ("most", near.f64("most_imbalance")?, 1.0),
    ];
    let header = std::iter::once("Model").chain(columns.iter().map(|it| it.0));
    let text =
        near.text("model")?.into_iter().enumerate().fold(TextTable::new(header), |text, (row, model)| {
            let cells = columns
                .iter()
                .map(|it| it.1[row].map_or_else(String::new, |value| format!("{:.2}", value * it.2)));
            text.row(std::iter::once(short(&model.unwrap_or_default())).chain(cells))
        });
    Ok(Figure::two_columns().panel("", text))
}

/// Overlap over distance, by the law.
pub fn similarity(changed: &Parameters, model: &str) -> Result<Table, Error> {
    sweep(own(changed), &[Value::from(model)], &DISTANCES_4A)
}

/// Fig. 4a: by the law, and of a recording's two blocks.
pub fn table4a(changed: &Parameters) -> Result<Table, Error> {
    let law = |model: &str, name: &str| with_first_column(similarity(changed, model)?, "series", name);
    let recorded = |block: &str, name: &str| {
        let mut base = own(changed);
        for (path, value) in
            [("trace", json!(RECORDING)), ("engine", json!("events")), ("block", json!(block))]
        {
            base.insert(path.to_owned(), value);
        }
        with_first_column(sweep(base, &[Value::Null], &DISTANCES_4A)?, "series", name)
    };
    let columns = ["series", "distance", "overlap"];
    let tables = [
        law("llama-2-13b", "Llama-2-13B, Falcon-40B")?,
        law("opt-13b", "OPT-13B")?,
        recorded("mlp", "Recording, feed-forward")?,
        recorded("qkv", "Recording, QKV inputs")?,
    ];
    concat(tables.iter().map(|it| Ok(it.select(&columns)?)))
}

pub fn plot4a(table: &Table) -> Result<Figure, Error> {
    let mut lines = Lines::new(
        Axis::linear("Distance (tokens)"),
        Axis::linear("Overlap of active neurons (%)").range(0.0, 100.0),
    );
    for name in distinct(table, "series")? {
        let rows = table.filter("series", name.as_str())?;
        let points = rows.f64("distance")?.into_iter().zip(rows.f64("overlap")?);
        lines = lines.curve(name, points.map(|(x, y)| (x.unwrap_or_default(), y.map(|it| it * 100.0))));
    }
    Ok(Figure::one_column().panel("", lines))
}

/// Fig. 4b: how often a neuron of layer 31 is active when one of layer 30 is.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens")]
pub fn table4b(changed: &Parameters) -> Result<Table, Error> {
    let activity: ActivityStudy = memscape_explore::read(&own(changed))?;
    let base = InferenceStudy {
        activity: activity.activity,
        density: activity.density,
        ..InferenceStudy::default()
    };
    let law = base.activity.at(base.activity.relufied_density.as_f64()).map_err(Error::no_answer)?;
    let source =
        Synthetic { law, layers: 40, neurons: [5120, 13824], prefill: 1, decode: 1024, seed: activity.seed };
    let bits = LAYERS_4B.map(|it| source.bits(BlockKind::Mlp, it, 0));
    let parents = Source::Law(source).parents(BlockKind::Mlp, LAYERS_4B[1]).unwrap_or_default();
    // Neurons that are neither always nor hardly ever active.
    let often = |it: &usize| (100..900).contains(&(0..1025).filter(|token| bits[1].get(*token, *it)).count());
    let children: Vec<usize> = (0..bits[1].neurons).filter(often).take(NEURONS_4B).collect();
    let (mut rows, mut columns, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for (row, child) in children.iter().enumerate() {
        let parent = parents[*child][0] as usize;
        for (column, other) in children.iter().enumerate() {
            let active: Vec<usize> = (0..1025).filter(|token| bits[0].get(*token, parent)).collect();
            let both = active.iter().filter(|token| bits[1].get(**token, *other)).count();
            rows.push(i64::try_from(row).ok());
            columns.push(i64::try_from(column).ok());
            shares.push((!active.is_empty()).then(|| both as f64 / active.len() as f64));
        }
    }
    Ok(Table::from_columns([
        ("neuron_of_layer_30", Column::Int(rows)),
        ("neuron_of_layer_31", Column::Int(columns)),
        ("probability", Column::Float(shares)),
    ])?)
}

pub fn plot4b(table: &Table) -> Result<Figure, Error> {
    let values = table.f64("probability")?.chunks(NEURONS_4B).map(<[_]>::to_vec).collect();
    let names = || (0..NEURONS_4B).map(|it| it.to_string()).collect();
    Ok(Figure::one_column().panel(
        "",
        HeatMap {
            rows: names(),
            columns: names(),
            values,
            row_label: "Active neuron of layer 30".to_owned(),
            column_label: "Neuron of layer 31".to_owned(),
            value_label: "Probability of being active".to_owned(),
            decimals: Some(2),
            ..HeatMap::default()
        },
    ))
}
