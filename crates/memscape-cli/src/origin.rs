//! `memscape show`, and `memscape run TABLE --row N`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Error, Origin, Row, Table, TableForm};
use memscape::prelude::{DynStudy, Parameters, study};

use crate::failure::Failure;

/// Prints which question a table answers.
pub fn show(path: &Path, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let origin = Origin::read(path).map_err(Failure::of)?;
    if json {
        return Ok(writeln!(out, "{}", serde_json::json!(origin))?);
    }
    tell(&origin, out)
}

/// What an answer says of itself, line by line.
pub fn tell(origin: &Origin, out: &mut dyn Write) -> Result<(), Failure> {
    let edition = &origin.edition;
    writeln!(out, "study     {}", edition.study)?;
    match &edition.commit {
        Some(commit) => writeln!(out, "memscape  {} ({commit})", edition.memscape)?,
        None => writeln!(out, "memscape  {}", edition.memscape)?,
    }
    // What is no study has none.
    if !edition.data.is_empty() {
        writeln!(out, "model     {}", edition.model)?;
        writeln!(out, "data      {}", edition.data)?;
    }
    writeln!(out, "question  {}", origin.id)?;
    for (path, value) in origin.base.iter().flatten() {
        writeln!(out, "base      {path} = {value}")?;
    }
    for path in &origin.axes {
        writeln!(out, "axis      {path}")?;
    }
    let asked = origin.asked.as_object().into_iter().flatten();
    for (key, part) in asked.filter(|it| it.0 != "base" && !it.1.is_null()) {
        writeln!(out, "{key:<9} {part}")?;
    }
    Ok(())
}

/// A row of a table, to be asked again.
pub struct Asked {
    pub study: &'static dyn DynStudy,
    pub layers: Vec<Parameters>,
    origin: Origin,
    table: Table,
    row: usize,
}

impl Asked {
    /// What the table says of it; other parameters may be over its own.
    pub fn of(path: &Path, row: usize) -> Result<Self, Failure> {
        let origin = Origin::read(path).map_err(Failure::of)?;
        if TableForm::of(path) != Some(TableForm::Parquet) {
            return Err(Failure::BadInput(format!(
                "{}: rows are asked again from a .parquet table",
                path.display()
            )));
        }
        let table = Table::read_parquet(path).map_err(Failure::of)?;
        let layers = origin.point(&table, row).map_err(Failure::of)?;
        Ok(Self { study: study(&origin.edition.study).map_err(Failure::of)?, layers, origin, table, row })
    }

    /// In which column the answer of now differs from that in the table.
    pub fn changed(&self, now: &Result<Row, Error>) -> Option<String> {
        self.origin.changed(&self.table, self.row, now).map(|it| it.column)
    }
}
