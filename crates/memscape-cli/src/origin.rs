//! `memscape show`, and `memscape run TABLE --row N`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Column, Origin, Table};
use memscape::prelude::{DynStudy, Parameters, study};

use serde_json::Value;

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
    /// What it was answered, by column; none if something is changed now.
    kept: Option<(Table, usize)>,
}

impl Asked {
    /// In which column the answer of now differs from that in the table.
    pub fn difference(&self, now: &[(String, Value)]) -> Option<String> {
        let (kept, row) = self.kept.as_ref()?;
        let differs = |(name, value): &&(String, Value)| match kept.column(name).ok()? {
            Column::Float(it) => Some(it[*row] != value.as_f64()),
            Column::Int(it) => Some(it[*row] != value.as_i64()),
            Column::Text(it) => Some(it[*row].as_deref() != value.as_str()),
            Column::Bool(it) => Some(it[*row] != value.as_bool()),
        };
        now.iter().find(|it| differs(it) == Some(true)).map(|it| it.0.clone())
    }
}

/// One row of a table, with the study and the parameters that it is the answer of.
pub fn point(path: &Path, row: usize, overrides: &Parameters) -> Result<Asked, Failure> {
    let origin = Origin::read(path).map_err(Failure::of)?;
    if path.extension().is_none_or(|it| it != "parquet") {
        return Err(Failure::BadInput(format!(
            "{}: rows are asked again from a .parquet table",
            path.display()
        )));
    }
    let table = Table::read_parquet(path).map_err(Failure::of)?;
    let mut layers = origin.point(&table, row).map_err(Failure::of)?;
    layers.push(overrides.clone());
    // A column that an axis has pushed aside is the axis.
    let answers: Vec<&str> =
        table.column_names().into_iter().filter(|it| !origin.axes.iter().any(|axis| axis == it)).collect();
    let kept =
        if overrides.is_empty() { Some((table.select(&answers).map_err(Failure::of)?, row)) } else { None };
    Ok(Asked { study: study(&origin.edition.study).map_err(Failure::of)?, layers, kept })
}
