//! Where a table on disk comes from: the question that it answers, kept with it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::parameters::Parameters;
use crate::question::Question;
use crate::table::{Column, Table};

/// The question that a table answers: in the metadata of Parquet, in `<table>.json` beside
/// CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The version that answered.
    pub memscape: String,
    /// The question's identity: see [`Question::id`].
    pub id: String,
    /// The study.
    pub study: String,
    /// Parameters that stay the same, later ones over earlier.
    pub base: Vec<Parameters>,
    /// Columns that are parameters.
    pub axes: Vec<String>,
    /// The whole question, axes with their values.
    pub asked: Value,
}

impl Origin {
    /// What a question's answer says of itself.
    pub(crate) fn of(question: &Question, study: &str) -> Self {
        let sweep = &question.asked()["sweep"];
        let base = serde_json::from_value(sweep["base"].clone()).unwrap_or_default();
        Self {
            memscape: env!("CARGO_PKG_VERSION").to_owned(),
            id: question.id().to_owned(),
            study: study.to_owned(),
            base,
            axes: question.axes().to_vec(),
            asked: sweep.clone(),
        }
    }

    /// Of a table on disk.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, or does not say.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |problem: &dyn ToString| Error::file(path, &problem.to_string());
        let text = Table::note(path)?.ok_or_else(|| {
            bad(&"it does not say which question it answers: another program, or an earlier version, wrote it")
        })?;
        serde_json::from_str(&text)
            .map_err(|it| bad(&format!("what it says of its question cannot be read: {it}")))
    }

    /// Writes a table together with it.
    ///
    /// # Errors
    /// As [`Table::write`].
    pub fn write(&self, table: &Table, path: &Path) -> Result<(), Error> {
        let note = serde_json::to_string(self).map_err(|it| Error::Internal(it.to_string()))?;
        table.write_with(path, &note)
    }

    /// The parameters of one row, later ones over earlier.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if the table is shorter, [`Error::UnknownColumn`] if an axis'
    /// column was left out.
    pub fn point(&self, table: &Table, row: usize) -> Result<Vec<Parameters>, Error> {
        if row >= table.height() {
            return Err(Error::BadSweep(format!(
                "there is no row {row}; the table has rows 0 to {}",
                table.height().saturating_sub(1)
            )));
        }
        let mut own = Parameters::new();
        for path in &self.axes {
            let value: Value = match table.column(path)? {
                Column::Float(it) => it[row].into(),
                Column::Int(it) => it[row].into(),
                Column::Text(it) => it[row].clone().map_or(Value::Null, read_back),
                Column::Bool(it) => it[row].into(),
            };
            // Null where the axis does not exist, or its parameter is null by default.
            if value != Value::Null {
                own.insert(path.clone(), value);
            }
        }
        Ok(self.base.iter().cloned().chain([own]).collect())
    }
}

/// Tables and lists stand in their column as JSON.
fn read_back(text: String) -> Value {
    let found = if text.starts_with(['{', '[']) { serde_json::from_str(&text).ok() } else { None };
    found.unwrap_or(Value::String(text))
}
