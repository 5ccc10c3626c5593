//! What experiments of any paper do with sweeps.

use memscape_explore::{Column, Parameters, Sweep, Table};
use memscape_systems::study;
use serde_json::Value;

use crate::error::Error;
use crate::sets::note;

/// A series of a figure: its name, and the parameters in which it differs.
pub struct Variant {
    pub name: String,
    pub parameters: Vec<(&'static str, Value)>,
}

/// Names a variant of the baseline.
pub fn variant<const N: usize>(name: impl Into<String>, parameters: [(&'static str, Value); N]) -> Variant {
    // Here already: another variant, which does not set it, may have no answer to what is changed.
    note(parameters.iter().map(|it| it.0));
    Variant { name: name.into(), parameters: parameters.into() }
}

impl Variant {
    /// What is changed, with what the variant sets on top.
    pub fn of(&self, changed: &Parameters) -> Parameters {
        with(changed, self.parameters.iter().cloned())
    }
}

/// What is changed, with these set on top.
pub fn with<'a>(changed: &Parameters, set: impl IntoIterator<Item = (&'a str, Value)>) -> Parameters {
    let mut all = changed.clone();
    all.extend(set.into_iter().map(|(path, value)| (path.to_owned(), value)));
    all
}

/// Sweeps a study over `axes` once per variant. The table's first column, `series`,
/// names the variant; one column per parameter that variants differ in follows the
/// answer.
pub fn sweep_variants(
    study_name: &str,
    changed: &Parameters,
    variants: &[Variant],
    axes: &[(&str, &[&str])],
) -> Result<Table, Error> {
    let tables = variants.iter().map(|variant| {
        note(axes.iter().map(|it| it.0));
        let base = variant.of(changed);
        let sweep =
            axes.iter().fold(Sweep::of(base), |it, (path, values)| it.axis(*path, values.iter().copied()));
        let table = study(study_name)?.sweep(&sweep, &())?.without_errors()?;
        with_first_column(table, "series", &variant.name)
    });
    concat(tables)
}

/// The table with a column before all others that says the same in every row.
pub fn with_first_column(table: Table, name: &str, text: &str) -> Result<Table, Error> {
    let column = Column::Text(vec![Some(text.to_owned()); table.height()]);
    let names: Vec<String> = table.column_names().into_iter().map(str::to_owned).collect();
    let table = table.with_column(name, column)?;
    let order: Vec<&str> = std::iter::once(name).chain(names.iter().map(String::as_str)).collect();
    Ok(table.select(&order)?)
}

/// Tables of the same columns, one under the other.
pub fn concat(tables: impl IntoIterator<Item = Result<Table, Error>>) -> Result<Table, Error> {
    let mut all: Option<Table> = None;
    for table in tables {
        let table = table?;
        all = Some(match all {
            Some(all) => all.concat(&table)?,
            None => table,
        });
    }
    all.ok_or_else(|| memscape_explore::Error::BadSweep("there is nothing to sweep".to_owned()).into())
}

/// What is changed for one preset, such as one of two devices: a key that starts
/// with the preset's name and a colon counts for it alone, one with another's not
/// at all.
pub fn for_preset(changed: &Parameters, preset: &str) -> Parameters {
    let own = |(key, value): (&String, &Value)| match key.split_once(':') {
        Some((name, path)) => (name == preset).then(|| (path.to_owned(), value.clone())),
        None => Some((key.clone(), value.clone())),
    };
    changed.iter().filter_map(own).collect()
}

/// What is changed for one of several studies of an experiment: without what the
/// study is described with but does not depend on.
pub fn for_study(study_name: &str, changed: &Parameters) -> Result<Parameters, Error> {
    let laws = study(study_name)?.laws();
    let counts = |path: &str| !laws.is_unused(path);
    let kept = changed.iter().filter(|(path, _)| counts(path));
    Ok(kept.map(|(path, value)| (path.clone(), value.clone())).collect())
}

/// The distinct texts of a column, in order.
pub fn distinct(table: &Table, column: &str) -> Result<Vec<String>, Error> {
    let mut seen: Vec<String> = Vec::new();
    for text in table.text(column)?.into_iter().flatten() {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    Ok(seen)
}
