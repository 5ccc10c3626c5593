//! Tables as a program reads them.

use memscape::explore::{Column, Table};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// The first rows, an object each; what is null is left out.
pub fn head(table: &Table, most: usize) -> Result<Value, Failure> {
    let names = table.column_names();
    let columns = names.iter().map(|it| table.column(it)).collect::<Result<Vec<_>, _>>();
    let columns = columns.map_err(Failure::of)?;
    let row = |row: usize| -> Value {
        let cells = names.iter().zip(&columns).map(|(name, column)| ((*name).to_owned(), cell(column, row)));
        Value::Object(cells.filter(|it| !it.1.is_null()).collect::<Map<_, _>>())
    };
    Ok((0..table.height().min(most)).map(row).collect())
}

/// Names of the columns, how many rows there are, and the first of them.
pub fn summary(table: &Table, most: usize) -> Result<Map<String, Value>, Failure> {
    let mut all = Map::new();
    all.insert("columns".to_owned(), json!(table.column_names()));
    all.insert("rows".to_owned(), json!(table.height()));
    all.insert("head".to_owned(), head(table, most)?);
    if !table.is_complete() {
        all.insert("complete".to_owned(), json!(false));
    }
    Ok(all)
}

fn cell(column: &Column, row: usize) -> Value {
    match column {
        Column::Float(it) => json!(it[row]),
        Column::Int(it) => json!(it[row]),
        Column::Bool(it) => json!(it[row]),
        Column::Text(it) => json!(it[row]),
    }
}
