//! A question written down: a study's name, a base, and axes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::given::read_text;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::schema::join;
use crate::search::Search;
use crate::sensitivity::Sensitivity;
use crate::space::{Sample, Space};
use crate::sweep::Sweep;

/// A study file. TOML has no null: the text `"null"` stands for it.
///
/// ```
/// use memscape_explore::StudyFile;
///
/// let file = StudyFile::parse(r#"
///     study = "pim.gemv"
///     [base]
///     hardware = "lpddr5x-7500-pim"
///     memory.trcd_ns = 18
///     [axes]
///     "memory.banks_per_channel" = [8, 16, 32]
///     "pim.registers" = { from = 8, to = 32, step = 8 }
///     "memory.trp_ns" = { from = 10, to = 40, count = 3, log = true }
///     [[zip]]
///     "shape.m" = [768, 1024]
///     "shape.k" = [768, 4096]
/// "#)?;
/// assert_eq!(file.axes.len(), 3);
/// # Ok::<(), memscape_explore::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// The study's name.
    pub study: String,
    /// Where a sweep's table goes unless told otherwise, seen from the folder
    /// in which the command is given: `.parquet` or `.csv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Parameters that are the same for all points.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub base: Parameters,
    /// By path: a list of values, or `{ from, to, step }`, or `{ from, to, count, log
    /// }`, or a range, `{ from, to, log, integer }`; with `when`, a formula over axes
    /// before it, it exists only where that holds. All combinations, the last axis
    /// fastest. `min` and `max` mean the same as `from` and `to`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub axes: Parameters,
    /// Axes that move together; each group is faster than what stands before. Its key
    /// `when` is a condition on all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zip: Vec<Parameters>,
    /// What must hold at every point: formulas over parameters and columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::texts::one_or_many")]
    pub constraints: Vec<String>,
    /// What a search or a front of it looks for, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Which of its axes matter, and to what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// Points drawn from ranges, faster than all axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Where the file is: paths in it are seen from there.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl StudyFile {
    /// Reads TOML.
    ///
    /// # Errors
    /// [`Error::BadStudyFile`] with line and column, or the path of a number
    /// that is not finite.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |error: toml::de::Error| Error::BadStudyFile(error.to_string().trim_end().to_owned());
        let table: toml::Table = toml::from_str(text).map_err(bad)?;
        check_values("", &toml::Value::Table(table))?;
        let mut file: Self = toml::from_str(text).map_err(bad)?;
        let tables = [&mut file.base, &mut file.axes].into_iter().chain(&mut file.zip);
        tables.flat_map(Map::values_mut).for_each(nulls);
        Ok(file)
    }

    /// Reads a TOML file.
    ///
    /// # Errors
    /// [`Error::File`] if there is none, else as [`StudyFile::parse`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path).map_err(|it| Error::file(path, &it))?;
        let mut file = Self::parse(&text).map_err(|it| Error::file(path, &it))?;
        path.parent().unwrap_or(Path::new("")).clone_into(&mut file.folder);
        Ok(file)
    }

    /// The base, with paths in it seen from the working folder.
    #[must_use]
    pub fn parameters(&self, study: &dyn DynStudy) -> Parameters {
        study.anchored(&self.base, &self.folder)
    }

    /// Its axes and constraints, with paths in values seen from the working folder.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names the axis that has none of the forms.
    pub fn space(&self, study: &dyn DynStudy) -> Result<Space, Error> {
        let mut space = Space::read(&self.axes, &self.zip, &self.constraints)?;
        space.change_values(|path, values| *values = study.anchored_axis(path, values, &self.folder));
        Ok(space)
    }

    /// Whether it asks for more than one point.
    #[must_use]
    pub fn has_axes(&self) -> bool {
        !self.axes.is_empty() || !self.zip.is_empty() || self.sample.is_some()
    }

    /// The points it asks for.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names the axis that is neither a list nor steps.
    pub fn sweep(&self, study: &dyn DynStudy) -> Result<Sweep, Error> {
        let sweep = Sweep::of(self.parameters(study)).through(self.space(study)?);
        let Some(mut sample) = self.sample.clone() else { return Ok(sweep) };
        for (path, range) in &mut sample.ranges {
            if let Value::Array(choices) = range {
                *choices = study.anchored_axis(path, choices, &self.folder);
            }
        }
        Ok(sweep.sample(sample))
    }
}

/// Puts null where the text `"null"` stands.
fn nulls(value: &mut Value) {
    match value {
        Value::String(text) if text == "null" => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(nulls),
        Value::Object(table) => table.values_mut().for_each(nulls),
        _ => {}
    }
}

/// Numbers that are not finite would silently become null, dates a table.
fn check_values(path: &str, value: &toml::Value) -> Result<(), Error> {
    let bad = |problem: &str| Err(Error::BadStudyFile(format!("`{path}` = {value}: {problem}")));
    match value {
        toml::Value::Float(it) if !it.is_finite() => bad("expected a finite number"),
        toml::Value::Datetime(_) => bad("expected a number, text, list or table, not a date"),
        toml::Value::Array(items) => items.iter().try_for_each(|it| check_values(path, it)),
        toml::Value::Table(table) => {
            table.iter().try_for_each(|(key, it)| check_values(&join(path, key), it))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::StudyFile;
    use crate::toy::READ;

    #[test]
    fn null_is_written_as_text() {
        let text = "study = \"toy\"\n[base]\na = \"null\"\n[axes]\nb.c = [\"null\", 1]\n";
        let file = StudyFile::parse(text).unwrap();
        assert_eq!(file.base["a"], json!(null));
        assert_eq!(file.axes["b"]["c"], json!([null, 1]));
    }

    fn error(text: &str) -> String {
        StudyFile::parse(text).and_then(|it| it.sweep(&READ)).unwrap_err().to_string()
    }

    #[test]
    fn a_broken_file_is_told_by_line() {
        insta::assert_snapshot!(error("study = \"toy\"\n[base]\nmodel = \"opt-"), @r#"
        cannot read the study file: TOML parse error at line 3, column 14
          |
        3 | model = "opt-
          |              ^
        invalid basic string, expected `"`
        "#);
        insta::assert_snapshot!(error("study = \"toy\"\n[axis]\nx = [1]"), @"
        cannot read the study file: TOML parse error at line 2, column 2
          |
        2 | [axis]
          |  ^^^^
        unknown field `axis`, expected one of `study`, `output`, `base`, `axes`, `zip`, `constraints`, `search`, `sensitivity`, `sample`
        ");
        insta::assert_snapshot!(error("study = \"toy\"\n[base.memory]\ntrcd_ns = nan"), @"cannot read the study file: `base.memory.trcd_ns` = nan: expected a finite number");
        insta::assert_snapshot!(error("study = \"toy\"\n[axes]\nx = [1.0, inf]"), @"cannot read the study file: `axes.x` = inf: expected a finite number");
        insta::assert_snapshot!(error("study = \"toy\"\n[axes]\nx = 8"), @"axis `x` = 8: expected a list such as [8], or { from, to, step }");
        insta::assert_snapshot!(error("study = \"toy\"\n[axes]\nx = { from = 1 }"), @r#"axis `x` = {"from":1}: give both ends, `from` and `to`"#);
    }

    #[test]
    fn a_text_is_a_list_of_one() {
        let file = |constraints: &str, of: &str| {
            let text = format!(
                "study = \"toy\"\nconstraints = {constraints}\n[search]\nminimize = {of}\n[sensitivity]\nof = {of}\n"
            );
            StudyFile::parse(&text)
                .map(|it| (it.constraints, it.search.map(|it| it.minimize), it.sensitivity.map(|it| it.of)))
        };
        let lists = file("[\"rows < 9\"]", "[\"time_ns\"]").unwrap();
        assert_eq!(file("\"rows < 9\"", "\"time_ns\"").unwrap(), lists);
        let error = file("3", "[]").unwrap_err().to_string();
        assert!(error.ends_with("invalid type: integer `3`, expected a text or a list of texts"), "{error}");
    }

    #[test]
    fn the_output_can_be_named() {
        let file = StudyFile::parse("study = \"toy\"\noutput = \"tables/toy.csv\"").unwrap();
        assert_eq!(file.output.as_deref(), Some(std::path::Path::new("tables/toy.csv")));
        assert_eq!(StudyFile::parse("study = \"toy\"").unwrap().output, None);
    }

    #[test]
    fn bare_dotted_keys_are_paths_too() {
        let quoted = StudyFile::parse("study = \"toy\"\n[axes]\n\"memory.banks\" = [1, 2]").unwrap();
        let bare = StudyFile::parse("study = \"toy\"\n[axes]\nmemory.banks = [1, 2]").unwrap();
        assert_eq!(quoted.sweep(&READ).unwrap(), bare.sweep(&READ).unwrap());
    }
}
