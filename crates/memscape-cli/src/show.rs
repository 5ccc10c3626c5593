//! Tables on a terminal.

use std::io::Write;

use memscape::explore::{Column, Table};

use crate::failure::Failure;

/// Prints some columns of the first rows, as wide as they need be. Floats have five
/// digits; the rest is in the file.
pub fn show(table: &Table, columns: &[&str], most: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let rows = table.height().min(most);
    let mut cells: Vec<Vec<String>> = Vec::new();
    for name in columns {
        let column = table.column(table.column_of(name)).map_err(Failure::of)?;
        cells
            .push(std::iter::once((*name).to_owned()).chain((0..rows).map(|it| cell(&column, it))).collect());
    }
    let widths: Vec<usize> =
        cells.iter().map(|it| it.iter().map(|it| it.chars().count()).max().unwrap_or_default()).collect();
    for row in 0..=rows {
        let line: Vec<String> =
            cells.iter().zip(&widths).map(|(column, width)| format!("{:<width$}", column[row])).collect();
        writeln!(out, "{}", line.join("  ").trim_end())?;
    }
    if table.height() > rows {
        writeln!(out, "... {} more rows; write the table with -o", table.height() - rows)?;
    }
    Ok(())
}

fn cell(column: &Column, row: usize) -> String {
    match column {
        Column::Float(it) => it[row].map_or_else(String::new, short),
        Column::Int(it) => it[row].map_or_else(String::new, |it| it.to_string()),
        Column::Bool(it) => it[row].map_or_else(String::new, |it| it.to_string()),
        Column::Text(it) => it[row].clone().unwrap_or_default(),
    }
}

/// A number to five digits.
pub fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    format!("{rounded}")
}
