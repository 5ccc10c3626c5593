//! Table 5.4: processor time and page faults of the five strategies on 32 threads.
//! Context switches and migrations are the scheduler's and not modelled.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, TextTable};

use super::common::{NOTHING, strategies};
use crate::error::Error;

/// Columns of the paper, and what they are called.
const COLUMNS: [(&str, &str); 4] = [
    ("task_clock_ms", "Task clock (ms)"),
    ("context_switches", "Context switches"),
    ("migrations", "CPU migrations"),
    ("page_faults", "Page faults, at least"),
];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let table = strategies(changed)?;
    let unknown = || Column::Int(vec![None; table.height()]);
    let table = table
        .select(&["series", "threads", "task_clock_ms", "page_faults", "token_ns", "ttft_s"])?
        .with_column("context_switches", unknown())?
        .with_column("migrations", unknown())?;
    Ok(table)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let names = table.text("series")?;
    let columns = COLUMNS.iter().map(|it| Ok(table.f64(it.0)?)).collect::<Result<Vec<_>, Error>>()?;
    let header = std::iter::once("Strategy").chain(COLUMNS.iter().map(|it| it.1));
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let cell =
            |it: &Vec<Option<f64>>| it[row].map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.0}"));
        text.row(std::iter::once(names[row].clone().unwrap_or_default()).chain(columns.iter().map(cell)))
    });
    let caption = "Context switches and migrations are the scheduler's and not modelled.";
    Ok(Figure::two_columns().panel("", text).caption(caption))
}
