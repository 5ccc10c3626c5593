//! A question written down: a study's name, a base, and axes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::sample::Sample;
use crate::schema::join;
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
    /// By path: a list of values, or `{ from, to, step }`, or `{ from, to,
    /// count, log }`. All combinations, the last axis fastest.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub axes: Parameters,
    /// Axes that move together; each group is faster than what stands before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zip: Vec<Parameters>,
    /// Points drawn from ranges, faster than all axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Where the file is: paths in it are seen from there.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// `{ from, to, step }` or `{ from, to, count, log }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    from: f64,
    to: f64,
    step: Option<f64>,
    count: Option<u32>,
    #[serde(default)]
    log: bool,
}

/// More values on one axis are more likely a mistake than a question.
const MOST_STEPS: f64 = 1e7;

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
        let text = std::fs::read_to_string(path)
            .map_err(|it| Error::File { path: path.to_owned(), problem: it.to_string() })?;
        let bad = |it: Error| Error::File { path: path.to_owned(), problem: it.to_string() };
        let mut file = Self::parse(&text).map_err(bad)?;
        path.parent().unwrap_or(Path::new("")).clone_into(&mut file.folder);
        Ok(file)
    }

    /// The base, with paths in it seen from the working folder.
    #[must_use]
    pub fn parameters(&self, study: &dyn DynStudy) -> Parameters {
        study.anchored(&self.base, &self.folder)
    }

    /// The points it asks for.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names the axis that is neither a list nor steps.
    pub fn sweep(&self, study: &dyn DynStudy) -> Result<Sweep, Error> {
        let anchored = |axes: &Parameters| {
            let mut all = Vec::new();
            collect_axes("", axes, &mut all)?;
            for (path, values) in &mut all {
                *values = study.anchored_axis(path, values, &self.folder);
            }
            Ok::<_, Error>(all)
        };
        let mut sweep = Sweep::of(self.parameters(study));
        for (path, values) in anchored(&self.axes)? {
            sweep = sweep.axis(path, values);
        }
        for group in &self.zip {
            sweep = sweep.zip(anchored(group)?);
        }
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

/// Keys may be dotted, quoted or not: a table that is not steps is a prefix.
fn collect_axes(prefix: &str, axes: &Parameters, out: &mut Vec<(String, Vec<Value>)>) -> Result<(), Error> {
    for (key, value) in axes {
        let path = join(prefix, key);
        match value {
            Value::Array(values) => out.push((path, values.clone())),
            Value::Object(table) if table.contains_key("from") || table.contains_key("to") => {
                let values = steps(value)
                    .map_err(|problem| Error::BadSweep(format!("axis `{path}` = {value}: {problem}")))?;
                out.push((path, values));
            }
            Value::Object(table) => collect_axes(&path, table, out)?,
            other => {
                return Err(Error::BadSweep(format!(
                    "axis `{path}` = {other}: expected a list such as [{other}], or {{ from, to, step }}"
                )));
            }
        }
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked against MOST_STEPS, and to be whole"
)]
fn steps(value: &Value) -> Result<Vec<Value>, String> {
    let Steps { from, to, step, count, log } =
        serde_json::from_value(value.clone()).map_err(|it| it.to_string())?;
    let values: Vec<f64> = match (step, count) {
        (Some(_), None) if log => return Err("`log` goes with `count`, not with `step`".to_owned()),
        (Some(step), None) => {
            let steps = (to - from) / step;
            if !(0.0..MOST_STEPS).contains(&steps) {
                return Err("`step` must lead from `from` to `to` in less than 10 million steps".to_owned());
            }
            // A hair more, so that 0.1 * 3 reaches 0.3.
            (0..=(steps + 1e-9) as u32).map(|i| from + f64::from(i) * step).collect()
        }
        (None, Some(0)) => return Err("`count` must be at least 1".to_owned()),
        (None, Some(1)) => vec![from],
        (None, Some(count)) if f64::from(count) <= MOST_STEPS => {
            if log && !(from > 0.0 && to > 0.0) {
                return Err("`log` needs ends above 0".to_owned());
            }
            let place = |i: u32| f64::from(i) / f64::from(count - 1);
            let value = |i: u32| match i {
                0 => from,
                i if i == count - 1 => to,
                i if log => from * (to / from).powf(place(i)),
                i => from + (to - from) * place(i),
            };
            (0..count).map(value).collect()
        }
        (None, Some(_)) => return Err("`count` must be at most 10 million".to_owned()),
        _ => return Err("give `step` or `count`, one of them".to_owned()),
    };
    // From whole ends, what is whole but for rounding is meant to be whole.
    let whole_ends = from.fract() == 0.0 && to.fract() == 0.0;
    let value = |it: f64| {
        let near = (it - it.round()).abs() <= 1e-9 * it.abs();
        if whole_ends && near && it.abs() < 9.0e15 { Value::from(it.round() as i64) } else { Value::from(it) }
    };
    Ok(values.into_iter().map(value).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{StudyFile, steps};
    use crate::toy::READ;

    #[test]
    fn null_is_written_as_text() {
        let text = "study = \"toy\"\n[base]\na = \"null\"\n[axes]\nb.c = [\"null\", 1]\n";
        let file = StudyFile::parse(text).unwrap();
        assert_eq!(file.base["a"], json!(null));
        assert_eq!(file.axes["b"]["c"], json!([null, 1]));
    }

    #[test]
    fn steps_include_both_ends() {
        let steps = |value| serde_json::Value::from(steps(&value).unwrap());
        assert_eq!(steps(json!({ "from": 1, "to": 8, "step": 3 })), json!([1, 4, 7]));
        assert_eq!(steps(json!({ "from": 8, "to": 2, "step": -3 })), json!([8, 5, 2]));
        assert_eq!(steps(json!({ "from": 0, "to": 1, "count": 3 })), json!([0, 0.5, 1]));
        assert_eq!(steps(json!({ "from": 1, "to": 64, "count": 4, "log": true })), json!([1, 4, 16, 64]));
        assert_eq!(steps(json!({ "from": 0.5, "to": 0.5, "count": 1 })), json!([0.5]));
        assert_eq!(steps(json!({ "from": 0, "to": 0.3, "step": 0.1 })).as_array().unwrap().len(), 4);
    }

    #[test]
    fn steps_that_lead_nowhere_are_refused() {
        for bad in [
            json!({ "from": 1, "to": 8 }),
            json!({ "from": 1, "to": 8, "step": 0 }),
            json!({ "from": 1, "to": 8, "step": -1 }),
            json!({ "from": 1, "to": 8, "step": 1e-9 }),
            json!({ "from": 1, "to": 8, "count": 0 }),
            json!({ "from": 0, "to": 8, "count": 3, "log": true }),
            json!({ "from": 1, "to": 8, "step": 1, "log": true }),
            json!({ "from": 1, "to": 8, "stop": 1 }),
        ] {
            assert!(steps(&bad).is_err(), "{bad}");
        }
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
        unknown field `axis`, expected one of `study`, `output`, `base`, `axes`, `zip`, `sample`
        ");
        insta::assert_snapshot!(error("study = \"toy\"\n[base.memory]\ntrcd_ns = nan"), @"cannot read the study file: `base.memory.trcd_ns` = nan: expected a finite number");
        insta::assert_snapshot!(error("study = \"toy\"\n[axes]\nx = [1.0, inf]"), @"cannot read the study file: `axes.x` = inf: expected a finite number");
        insta::assert_snapshot!(error("study = \"toy\"\n[axes]\nx = 8"), @"axis `x` = 8: expected a list such as [8], or { from, to, step }");
        insta::assert_snapshot!(error("study = \"toy\"\n[axes]\nx = { from = 1, to = 2 }"), @r#"axis `x` = {"from":1,"to":2}: give `step` or `count`, one of them"#);
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
