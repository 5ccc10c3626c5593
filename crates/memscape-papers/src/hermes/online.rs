//! What only a walk over tokens and neurons can tell: how good predictions are,
//! how even the DIMMs, what migration costs.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, TextTable};
use serde_json::{Value, json};

use super::common::{RECORDING, axis, derive, inference, short};
use crate::error::Error;
use crate::sweeps::variant;

const COLUMNS: [(&str, &str, f64); 6] = [
    ("prediction_accuracy", "Accuracy (%)", 100.0),
    ("prediction_recall", "Recall (%)", 100.0),
    ("window_imbalance", "Fullest DIMM / mean", 1.0),
    ("link_migration_share", "Migration, links (%)", 100.0),
    ("host_migration_share", "Migration, host (%)", 100.0),
    ("gpu_read_share", "Read by the GPU (%)", 100.0),
];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let walked = variant("law", [("engine", json!("events"))]);
    let law = inference(changed, &[walked], &[axis("model", ["llama-2-13b", "opt-66b"])])?;
    let small = variant(
        "recording",
        [
            ("engine", json!("events")),
            ("trace", json!(RECORDING)),
            ("hot_share", json!(0.1)),
            ("overhead.sync_us", json!(0.0)),
            ("overhead.launch_us", json!(0.0)),
        ],
    );
    let recorded = inference(changed, &[small], &[axis("model", [Value::Null])])?;
    let recorded = derive(recorded, "model", "series", |_| RECORDING.to_owned())?;
    let columns = law.column_names();
    Ok(law.concat(&recorded.select(&columns)?)?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let models = table.text("model")?;
    let columns = COLUMNS.iter().map(|it| Ok(table.f64(it.0)?)).collect::<Result<Vec<_>, Error>>()?;
    let header = std::iter::once("Model").chain(COLUMNS.iter().map(|it| it.1));
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let cell = |(values, (_, _, scale)): (&Vec<Option<f64>>, &(&str, &str, f64))| {
            values[row].map_or_else(String::new, |it| format!("{:.2}", it * scale))
        };
        let cells = columns.iter().zip(&COLUMNS).map(cell);
        text.row(std::iter::once(short(models[row].as_deref().unwrap_or_default())).chain(cells))
    });
    Ok(Figure::two_columns().panel("", text))
}
