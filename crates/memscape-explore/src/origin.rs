//! Where a table on disk comes from: the question that it answers, kept with it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::control::Control;
use crate::digest::digest;
use crate::edition::Edition;
use crate::error::Error;
use crate::lock::Lock;
use crate::parameters::Parameters;
use crate::persistence::persistently;
use crate::question::Question;
use crate::registry::Row;
use crate::table::Table;

/// The question that a table answers: in the metadata of Parquet, in `<table>.json` beside
/// CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Who answered: the study, and versions of program, model and data.
    #[serde(flatten)]
    pub edition: Edition,
    /// The question's identity: see [`Question::id`].
    pub id: String,
    /// Parameters that stay the same, later ones over earlier.
    pub base: Vec<Parameters>,
    /// Columns that are parameters.
    pub axes: Vec<String>,
    /// The whole question, axes with their values; null in a store's shards, beside which it
    /// stands.
    #[serde(default)]
    pub asked: Value,
}

/// A column in which a kept answer is not that of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The column of the kept table.
    pub column: String,
    /// What is kept; none where there is no answer.
    pub kept: Option<String>,
    /// What the study says now.
    pub now: Option<String>,
}

impl Origin {
    /// What a question's answer says of itself.
    #[must_use]
    pub fn of(question: &Question) -> Self {
        Self { asked: question.asked().clone(), ..Self::brief(question) }
    }

    /// The same without the values of axes, which can be many.
    pub(crate) fn brief(question: &Question) -> Self {
        Self {
            edition: question.edition().clone(),
            id: question.id().to_owned(),
            base: serde_json::from_value(question.asked()["base"].clone()).unwrap_or_default(),
            axes: question.axes().to_vec(),
            asked: Value::Null,
        }
    }

    /// For the metadata of a table.
    pub(crate) fn note(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|it| Error::Internal(it.to_string()))
    }

    /// Of a table on disk.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, or does not say.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |problem: &dyn ToString| Error::file(path, &problem.to_string());
        let text = Table::note(path)?.ok_or_else(|| {
            bad(&"it does not say which question it answers: other programs and earlier versions do not write that")
        })?;
        serde_json::from_str(&text)
            .map_err(|it| bad(&format!("what it says of its question cannot be read: {it}")))
    }

    /// What the answer of something else than a study says of itself, such as of a comparison.
    #[must_use]
    pub fn of_command(name: &str, asked: Value) -> Self {
        let edition = Edition::of_command(name);
        let id = digest(json!([edition.id(), asked]).to_string().as_bytes());
        Self { edition, id, base: Vec::new(), axes: Vec::new(), asked }
    }

    /// Of some of a table's rows, chosen by something that was asked about them: they are still points of its question,
    /// but no answer to it.
    #[must_use]
    pub fn chosen(self, by: &str, asked: &Value) -> Self {
        let mut whole = if self.asked.is_object() { self.asked } else { json!({}) };
        whole[by] = asked.clone();
        let id = digest(json!([self.id, by, asked]).to_string().as_bytes());
        Self { id, asked: whole, ..self }
    }

    /// Which command wrote the table.
    #[must_use]
    pub fn command(&self) -> &str {
        /// Those that ask a study about a space, rather than at all of its points.
        const ABOUT: [&str; 4] = ["front", "search", "uncertainty", "sensitivity"];
        let about = ABOUT.into_iter().find(|it| self.asked.get(it).is_some());
        about.unwrap_or(if self.edition.study.contains('.') { "sweep" } else { &self.edition.study })
    }

    /// Whether a file may be replaced by what a command writes: it is none yet, or what the same command wrote.
    ///
    /// # Errors
    /// [`Error::File`] says what it holds.
    pub fn check_replaced(path: &Path, command: &str) -> Result<(), Error> {
        // A pipe, such as `/dev/stdout`, holds nothing.
        if !path.is_file() {
            return Ok(());
        }
        let holds = match Self::read(path) {
            Ok(it) if it.command() == command => return Ok(()),
            Ok(it) => format!("what `{}` answered (`{}`)", it.edition.study, it.command()),
            Err(_) => "something else than an answer".to_owned(),
        };
        Err(Error::file(
            path,
            &format!("it holds {holds}, which would be lost; name another file, or remove it"),
        ))
    }

    /// Writes a table together with it. What cannot be written is tried again for a while: somebody
    /// may make room on a full disk.
    ///
    /// # Errors
    /// As [`Table::write`].
    pub fn write(&self, table: &Table, path: &Path, control: &dyn Control) -> Result<(), Error> {
        let note = self.note()?;
        let _lock = Lock::of(path)?;
        persistently(control, || table.write_with(path, &note))
    }

    /// As [`Origin::write`], but only once, and with nobody else at it.
    ///
    /// # Errors
    /// As [`Table::write`].
    pub fn write_once(&self, table: &Table, path: &Path) -> Result<(), Error> {
        table.write_with(path, &self.note()?)
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
            let value = match table.column(path)?.value(row) {
                Value::String(text) => read_back(text),
                value => value,
            };
            // Null where the axis does not exist; else it is a value, over what the base has.
            if value != Value::Null || !self.may_be_missing(path) {
                own.insert(path.clone(), value);
            }
        }
        Ok(self.base.iter().cloned().chain([own]).collect())
    }

    /// The first column in which a row is not what the study says now. Columns that were left out of the
    /// table are not compared.
    #[must_use]
    pub fn changed(&self, kept: &Table, row: usize, now: &Result<Row, Error>) -> Option<Changed> {
        let differs = |column: String, now: Value| {
            let kept = kept.column(&column).ok()?.value(row);
            (!is_same(&kept, &now)).then(|| Changed { column, kept: told(kept), now: told(now) })
        };
        match now {
            Ok(now) => now.iter().find_map(|(column, now)| {
                // An axis of the same name has pushed it aside.
                let aside = self.axes.contains(column);
                differs(if aside { format!("answer.{column}") } else { column.clone() }, now.clone())
            }),
            Err(error) => differs("error".to_owned(), error.to_string().into()),
        }
    }

    /// Whether an axis exists at some points only. A shard does not say: there it may.
    fn may_be_missing(&self, path: &str) -> bool {
        let is_of = |axes: &Value| {
            let named = |it: &Value| it == path || it[0] == path;
            axes.as_array().is_some_and(|it| it.iter().any(named))
        };
        let dimensions = self.asked["space"]["dimensions"].as_array();
        dimensions.is_none_or(|all| all.iter().any(|it| !it["when"].is_null() && is_of(&it["axes"])))
    }
}

/// Tables and lists stand in their column as JSON.
fn read_back(text: String) -> Value {
    let found = if text.starts_with(['{', '[']) { serde_json::from_str(&text).ok() } else { None };
    found.unwrap_or(Value::String(text))
}

/// 8 is 8.0: a column has one type, of all its rows.
fn is_same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
}

fn told(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        value => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;
    use crate::sweep::Sweep;
    use crate::table::Column;

    #[test]
    fn null_on_an_axis_is_a_value_unless_the_axis_is_missing_there() {
        let space = Space::default().axis("tile", [json!(2), Value::Null]).axis("mode", ["a"]);
        let point = |space: &Space| {
            let asked = json!(Sweep::default().through(space.clone()));
            let axes = vec!["tile".to_owned(), "mode".to_owned()];
            let base = vec![Parameters::from_iter([("tile".to_owned(), json!(4))])];
            let origin = Origin { base, axes, asked, ..Origin::of_command("", Value::Null) };
            let table = Table::from_columns([
                ("tile", Column::Int(vec![Some(2), None])),
                ("mode", Column::Text(vec![Some("a".to_owned()); 2])),
            ]);
            json!(origin.point(&table.unwrap(), 1).unwrap())
        };
        assert_eq!(point(&space), json!([{ "tile": 4 }, { "tile": null, "mode": "a" }]));
        let elsewhere =
            Space::default().axis("mode", ["a"]).axis("tile", [json!(2), Value::Null]).when("mode == 'b'");
        assert_eq!(point(&elsewhere), json!([{ "tile": 4 }, { "mode": "a" }]));
    }
}
