//! Table 5.4: processor time and page faults of the five strategies on 32 threads.
//! Context switches and migrations are the scheduler's and not modelled.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, TextTable};

use super::common::strategies;
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let table = strategies(changed)?;
    Ok(table.select(&["series", "threads", "task_clock_ms", "page_faults", "token_ns", "ttft_s"])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (names, faults) = (table.text("series")?, table.text("page_faults")?);
    let clock = table.f64("task_clock_ms")?;
    let header = ["Strategy", "Task clock (ms)", "Page faults, at least"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let time = format!("{:.0}", clock[row].unwrap_or_default());
        text.row([names[row].clone().unwrap_or_default(), time, faults[row].clone().unwrap_or_default()])
    });
    let caption = "Context switches and migrations are the scheduler's and not modelled.";
    Ok(Figure::two_columns().panel("", text).caption(caption))
}
