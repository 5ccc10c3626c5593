//! Table 4: the commands that Algorithm 1 makes of the eight GEMVs, and their time
//! on HBM2.
//!
//! The table's relative times compare two machines, real HBM-PIM and its emulation
//! on plain HBM; no model can tell them apart, and they stand among the claims alone.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_plot::{Figure, TextTable};
use memscape_systems::study;
use serde_json::json;

use crate::error::Error;

const OUTPUTS: [u32; 2] = [4096, 8192];
const INPUTS: [u32; 4] = [2048, 4096, 8192, 16384];

pub fn table(_: &Parameters) -> Result<Table, Error> {
    // HBM-PIM: two banks share a block.
    let base = [("memory", json!("hbm2-2000")), ("pim.banks_per_block", json!(2)), ("format", json!("fp16"))];
    let base: Parameters = base.into_iter().map(|(path, value)| (path.to_owned(), value)).collect();
    let sweep = Sweep::of(base).axis("m", OUTPUTS).axis("k", INPUTS);
    Ok(study("ondevice.gemv")?.sweep(&sweep, &())?.without_errors()?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let whole = ["m", "k", "output_tiles", "input_tiles", "input_writes", "macs", "drains", "sum_writes"];
    let whole = whole.iter().map(|it| Ok(table.text(it)?)).collect::<Result<Vec<_>, Error>>()?;
    let time = table.f64("time_ns")?;
    let header = [
        "Outputs",
        "Inputs",
        "Output tiles",
        "Input tiles",
        "Register writes",
        "Weight reads",
        "Drain reads",
        "Sum writes",
        "Time (µs)",
    ];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let mut cells: Vec<_> = whole.iter().map(|it| it[row].clone().unwrap_or_default()).collect();
        cells.push(time[row].map(|it| format!("{:.1}", it * 1e-3)).unwrap_or_default());
        text.row(cells)
    });
    Ok(Figure::two_columns().panel("", text))
}
