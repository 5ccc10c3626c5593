//! Tables that come back from files; columns of CSV say by their texts what they hold.

use std::io::Read;
use std::path::Path;

use crate::error::Error;
use crate::given::open_plain;
use crate::table::{Column, Table, TableForm};

impl Table {
    /// Reads a file as its ending, `.csv` or `.parquet`, says.
    ///
    /// # Errors
    /// [`Error::File`] for another ending, or what is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        match TableForm::named(path)? {
            TableForm::Csv => {
                let file = open_plain(path).map_err(|it| Error::file(path, &it))?;
                read_csv(file).map_err(|it| Error::file(path, &it))
            }
            TableForm::Parquet => Self::read_parquet(path),
        }
    }
}

/// Reads a header and rows. A column is whole numbers, numbers, truth values or texts, whichever all of its
/// cells are first; an empty cell is null.
fn read_csv(from: impl Read) -> Result<Table, String> {
    let told = |it: csv::Error| format!("it is no CSV of one table: {it}");
    let mut reader = csv::Reader::from_reader(from);
    let names: Vec<String> = reader.headers().map_err(told)?.iter().map(str::to_owned).collect();
    if names.is_empty() {
        return Err("it is empty; a table begins with the names of its columns".to_owned());
    }
    let mut cells: Vec<Vec<Option<String>>> = vec![Vec::new(); names.len()];
    for record in reader.records() {
        for (column, cell) in cells.iter_mut().zip(record.map_err(told)?.iter()) {
            column.push((!cell.is_empty()).then(|| cell.to_owned()));
        }
    }
    Table::from_columns(names.into_iter().zip(cells.into_iter().map(column))).map_err(|it| it.to_string())
}

fn column(cells: Vec<Option<String>>) -> Column {
    // `inf` and `nan` are names, but among numbers.
    let numbers = all(&cells, |it| it.parse().ok())
        .filter(|all: &Vec<Option<f64>>| all.iter().flatten().any(|it| it.is_finite()));
    all(&cells, |it| it.parse().ok())
        .map(Column::Int)
        .or_else(|| numbers.map(Column::Float))
        .or_else(|| all(&cells, |it| it.parse().ok()).map(Column::Bool))
        .unwrap_or(Column::Text(cells))
}

/// All cells read the same way, if all can be and one is there.
fn all<T>(cells: &[Option<String>], read: impl Fn(&str) -> Option<T>) -> Option<Vec<Option<T>>> {
    cells.iter().any(Option::is_some).then_some(())?;
    cells.iter().map(|it| it.as_deref().map_or(Some(None), |it| read(it).map(Some))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_what_all_of_its_cells_are() {
        let text = "whole,real,yes,name,none\n1,0.5,true,int8,\n,2,,q4_0,\n-3,1e3,false,1,\n";
        let table = read_csv(text.as_bytes()).unwrap();
        assert_eq!(table.column("whole").unwrap(), Column::Int(vec![Some(1), None, Some(-3)]));
        assert_eq!(table.column("real").unwrap(), Column::Float(vec![Some(0.5), Some(2.0), Some(1000.0)]));
        assert_eq!(table.column("yes").unwrap(), Column::Bool(vec![Some(true), None, Some(false)]));
        assert_eq!(table.text("name").unwrap(), ["int8", "q4_0", "1"].map(|it| Some(it.to_owned())));
        assert_eq!(table.column("none").unwrap(), Column::Text(vec![None; 3]));
        let table = read_csv("name\ninf\nnan\n".as_bytes()).unwrap();
        assert_eq!(table.text("name").unwrap(), ["inf", "nan"].map(|it| Some(it.to_owned())));
        let told = |text: &str| read_csv(text.as_bytes()).unwrap_err();
        assert!(told("a,b\n1,2\n3\n").contains("line: 3"), "cut off");
        assert!(told("").contains("names of its columns") && told("a,a\n1,2\n").contains("two of this name"));
        assert!(told("a\n1\nNaN\n").contains("row 1 is NaN"), "a number that is none");
    }
}
