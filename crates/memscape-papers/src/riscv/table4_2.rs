//! Table 4.2: the matrix products of a run of Llama 2 7B.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_plot::{Figure, TextTable};
use memscape_riscv::CensusStudy;
use memscape_riscv::census::{Census, Shape};

use super::common::of_run;
use crate::error::Error;

#[expect(clippy::cast_precision_loss, reason = "counts of a short run")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let own = changed.iter().filter(|(path, _)| path.contains(':'));
    let own = own.map(|(path, value)| (path.clone(), value.clone())).collect();
    let study: CensusStudy = read(&of_run(&own, "table4_2"))?;
    let census = Census::of(&study.model, study.projections, &study.run());
    let rows = census.by_shape();
    let ints = |pick: fn(&Shape) -> u64| {
        Column::Int(rows.iter().map(|it| i64::try_from(pick(&it.0)).ok()).collect())
    };
    let share = |count: u64| Some(100.0 * count as f64 / census.total() as f64);
    Ok(Table::from_columns([
        ("shape", Column::Text(rows.iter().map(|it| Some(it.0.to_string())).collect())),
        ("shared", ints(|it| it.shared)),
        ("dst0", ints(|it| it.dst0)),
        ("dst1", ints(|it| it.dst1)),
        ("count", Column::Int(rows.iter().map(|it| i64::try_from(it.1).ok()).collect())),
        ("share_percent", Column::Float(rows.iter().map(|it| share(it.1)).collect())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (shapes, counts) = (table.text("shape")?, table.text("count")?);
    let percent = table.f64("share_percent")?;
    let header = ["Dimensions (shared × dst0 × dst1)", "Count", "Share"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let part = format!("{:.1} %", percent[row].unwrap_or_default());
        let shape = shapes[row].clone().unwrap_or_default().replace('x', "×");
        text.row([shape, counts[row].clone().unwrap_or_default(), part])
    });
    Ok(Figure::one_column().panel("", text))
}
