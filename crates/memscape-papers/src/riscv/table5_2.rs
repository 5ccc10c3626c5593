//! Table 5.2: OpenBLAS, 4096 x 4096 times 128 columns on one core, by stored type.

use memscape_explore::Sweep;
use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, TextTable};
use memscape_systems::study;

use super::common::of_gemm;
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let sweep = Sweep::of(of_gemm(changed)?).axis("format", ["q4_0", "q8_0", "fp32"]);
    Ok(study("riscv.gemm")?.sweep(&sweep, &())?.without_errors()?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let names = table.text("format")?;
    let (gops, time, dequantise) = (table.f64("gops")?, table.f64("time_ns")?, table.f64("dequantise_ns")?);
    let header = ["Weights", "Performance (GOPS)", "Time (ms)", "Dequantising (ms)"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let number = |it: &[Option<f64>], scale: f64, decimals: usize| {
            format!("{:.decimals$}", it[row].unwrap_or_default() * scale)
        };
        let name = names[row].clone().unwrap_or_default().to_uppercase();
        text.row([name, number(&gops, 1.0, 2), number(&time, 1e-6, 1), number(&dequantise, 1e-6, 1)])
    });
    Ok(Figure::one_column().panel("", text))
}
