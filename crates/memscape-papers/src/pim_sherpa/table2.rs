//! Table 2: GEMM and online rearrangement at peak rates, in units of the time that
//! reading the weights once takes.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_plot::{Figure, TextTable};
use memscape_systems::study;
use serde_json::json;

use super::common::at_printed_peaks;
use crate::error::Error;
use crate::sweeps::with;

/// The first row of the table stands for 1 to 4.
const TOKENS: [u32; 7] = [4, 8, 16, 32, 64, 128, 192];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let base = with(&at_printed_peaks(changed), [("host", json!("galaxy-s24-plus-cpu"))]);
    let sweep = Sweep::of(base).axis("prompt_tokens", TOKENS);
    Ok(study("ondevice.roofline")?.sweep(&sweep, &())?.without_errors()?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let tokens = table.text("prompt_tokens")?;
    let columns = ["gemm_t", "online_t", "serial_t", "serial_percent", "overlapped_t", "overlapped_percent"];
    let columns = columns.iter().map(|it| Ok(table.f64(it)?)).collect::<Result<Vec<_>, Error>>()?;
    let header = ["Tokens", "GEMM", "Online", "Sum", "Sum over GEMM", "Max", "Max over GEMM"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let cell = |it: usize| columns[it][row].unwrap_or_default();
        let t = |it: usize| format!("{} t", cell(it));
        let percent = |it: usize| format!("{:.0} %", (cell(it) + 1e-9).round());
        text.row([tokens[row].clone().unwrap_or_default(), t(0), t(1), t(2), percent(3), t(4), percent(5)])
    });
    Ok(Figure::one_column().panel("", text).caption("4 FLOP per byte; t reads the weights once."))
}
