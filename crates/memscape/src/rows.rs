//! What of a table a figure draws: its rows, where they stand, and in which unit.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use memscape_explore::{Column, Table};
use memscape_papers::Error;
use serde_json::Value;

use crate::drawing::{Drawing, Kind};
use crate::labels::{Prefix, prefix};
use crate::presets::leaves;

/// The rows of a table that have all that is drawn.
pub struct Rows {
    pub all: Vec<Row>,
    /// Where rows stand, also those that lack a value.
    pub places: Vec<Place>,
    /// Which lines of the table have no place, since they lack `x`: once for each column up.
    pub nowhere: Vec<usize>,
    /// Whether `x` holds numbers.
    pub numeric: bool,
    /// How they are drawn.
    pub kind: Kind,
    /// What is written across is this many of the column's.
    pub across: Prefix,
    /// What is written up is this many of the columns'.
    pub up: Prefix,
}

/// Where a row stands.
pub struct Place {
    /// Which of the table.
    pub line: usize,
    /// As of a [`Row`].
    pub x: f64,
    pub group: String,
    pub series: String,
    /// The number that `series` is, if it holds numbers and there is one `y`.
    pub rank: f64,
    pub facet: String,
    /// Whether it has a value.
    pub known: bool,
}

pub struct Row {
    /// Which of the table.
    pub line: usize,
    /// The column of `y`.
    pub column: String,
    /// From where to where `y` may be.
    pub ends: Option<(f64, f64)>,
    /// Its place, if `x` holds numbers.
    pub x: f64,
    /// The value of `x` as text.
    pub group: String,
    pub y: f64,
    pub series: String,
    pub facet: String,
    /// The number that `facet` is, if it holds numbers.
    pub facet_rank: f64,
}

impl Rows {
    /// How many of a series stand in the panel that has most of them: it looks alike in all.
    pub fn most_of(&self, series: &str) -> usize {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for it in self.all.iter().filter(|it| it.series == series) {
            *counts.entry(&it.facet).or_default() += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }

    /// Where rows of a panel stand.
    pub fn places<'a>(&'a self, facet: &str) -> impl Iterator<Item = &'a Place> {
        self.places.iter().filter(move |it| it.facet == facet)
    }

    pub fn of(drawing: &Drawing, table: &Table) -> Result<Self, Error> {
        let texts = |column: &Option<String>| match column {
            Some(name) => told(table, name).map(Some),
            None => Ok(None),
        };
        let (series, facet) = (texts(&drawing.series)?, texts(&drawing.facet)?);
        let groups = told(table, &drawing.x)?;
        let numbers = table.f64(&drawing.x).ok();
        let ranks = drawing.series.as_ref().filter(|_| drawing.y.len() == 1).map(|it| table.f64(it).ok());
        let ranks = ranks.flatten();
        let facet_ranks = drawing.facet.as_ref().and_then(|it| table.f64(it).ok());
        // A number alone does not say what it is; down a heat map stands the column's name.
        let counted =
            drawing.series.as_ref().filter(|it| drawing.kind != Some(Kind::Heatmap) && is_numeric(table, it));
        let of_row = |texts: &Option<Vec<Option<String>>>, row: usize| {
            texts.as_ref().map(|it| it[row].clone().unwrap_or_else(|| "null".to_owned()))
        };
        let ends = match &drawing.band {
            Some([low, high]) => {
                table.f64(low)?.into_iter().zip(table.f64(high)?).map(|(a, b)| a.zip(b)).collect()
            }
            None => vec![None; table.height()],
        };
        let (mut all, mut places, mut nowhere) = (Vec::new(), Vec::new(), Vec::new());
        for y in &drawing.y {
            for (row, value) in table.f64(y)?.into_iter().enumerate() {
                let Some(group) = groups[row].clone() else {
                    nowhere.push(row);
                    continue;
                };
                let named = of_row(&series, row).map(|it| match counted {
                    Some(column) => drawing.counted(column, &it),
                    None => it,
                });
                let series = match (named, drawing.y.len()) {
                    (Some(name), 1) => name,
                    (Some(name), _) => format!("{name}, {}", drawing.short(y)),
                    (None, 1) => String::new(),
                    (None, _) => drawing.short(y),
                };
                let number = |of: &Option<Vec<Option<f64>>>| of.as_ref().and_then(|it| it[row]);
                let (x, rank) = (number(&numbers).unwrap_or(f64::NAN), number(&ranks).unwrap_or(f64::NAN));
                let facet = of_row(&facet, row).unwrap_or_default();
                let facet_rank = number(&facet_ranks).unwrap_or(f64::NAN);
                places.push(Place {
                    line: row,
                    x,
                    group: group.clone(),
                    series: series.clone(),
                    rank,
                    facet: facet.clone(),
                    known: value.is_some(),
                });
                let Some(value) = value else { continue };
                let (column, ends) = (y.clone(), ends[row]);
                all.push(Row { line: row, column, ends, x, group, y: value, series, facet, facet_rank });
            }
        }
        if all.is_empty() {
            if table.height() == 0 {
                return Err(Error::BadChart("the table is empty; was it filtered?".to_owned()));
            }
            return Err(Error::BadChart(format!(
                "no row of the table's {} has a value of `{}` and `{}`; look at its column `error`",
                table.height(),
                drawing.x,
                drawing.y.join("`, `")
            )));
        }
        let numeric = is_numeric(table, &drawing.x);
        for row in &all {
            check(&row.column, row.line, row.y, drawing.log.y)?;
            if numeric {
                check(&drawing.x, row.line, row.x, drawing.log.x)?;
            }
        }
        // Whoever names a column says its unit.
        let suits = |columns: &[String], of: fn(&Row) -> f64| {
            let own = columns.iter().any(|it| drawing.labels.contains_key(it));
            if own { Prefix::default() } else { prefix(columns, all.iter().map(of)) }
        };
        let of = drawing.subject(table);
        let up = suits(of.as_ref().map_or(&drawing.y[..], std::slice::from_ref), |it| it.y);
        let across = std::slice::from_ref(&drawing.x);
        let across = suits(if numeric { across } else { &[] }, |it| it.x);
        for place in &mut places {
            place.x *= across.factor;
        }
        for row in &mut all {
            row.x *= across.factor;
            row.y *= up.factor;
            row.ends = row.ends.map(|(low, high)| (low * up.factor, high * up.factor));
        }
        let kind = drawing.kind.unwrap_or(if numeric { Kind::Lines } else { Kind::Bars });
        Ok(Self { all, places, nowhere, numeric, kind, across, up })
    }
}

/// What a column's values are called: numbers with no more digits than tell them apart.
fn told(table: &Table, column: &str) -> Result<Vec<Option<String>>, Error> {
    let texts = table.text(column)?;
    match table.column(column)? {
        Column::Float(values) => Ok(rounded(&values, texts)),
        _ => Ok(named(texts)),
    }
}

/// Numbers to as many decimals as tell them apart and are right to half a thousandth, where some are long:
/// thirds are.
fn rounded(values: &[Option<f64>], texts: Vec<Option<String>>) -> Vec<Option<String>> {
    /// Letters that have room under a bar.
    const ROOM: usize = 8;
    const MOST_DECIMALS: usize = 12;
    let longest = |texts: &[Option<String>]| texts.iter().flatten().map(String::len).max().unwrap_or(0);
    if longest(&texts) <= ROOM {
        return texts;
    }
    let apart = distinct(texts.iter().flatten().cloned()).len();
    for decimals in 0..=MOST_DECIMALS {
        let short = |value: f64| {
            let text = format!("{value:.decimals$}");
            let right = text.parse().is_ok_and(|it: f64| (it - value).abs() <= 5e-4 * value.abs());
            let bare = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            right.then(|| bare.to_owned())
        };
        let all: Option<Vec<_>> =
            values.iter().map(|it| it.map_or(Some(None), |it| short(it).map(Some))).collect();
        if let Some(all) = all.filter(|all| distinct(all.iter().flatten().cloned()).len() == apart) {
            return if longest(&all) < longest(&texts) { all } else { texts };
        }
    }
    texts
}

/// A column's texts with short names for descriptions of one's own, which stand in a table so that they are
/// found again: as an absolute path, or whole. Where two would be called alike, all stay as they are.
fn named(texts: Vec<Option<String>>) -> Vec<Option<String>> {
    /// More changes are no name, unless nothing else tells descriptions apart.
    const MOST: [usize; 2] = [2, 12];
    let all = distinct(texts.iter().flatten().cloned());
    for most in MOST {
        let short: HashMap<&str, String> = all.iter().map(|it| (it.as_str(), name_of(it, most))).collect();
        if distinct(short.values().cloned()).len() == all.len() {
            return texts.iter().map(|it| it.as_deref().map(|it| short[it].clone())).collect();
        }
    }
    texts
}

/// `gpu.toml` of a path to it; `rtx-4090, memory_gb = 48` of a description that changes one.
fn name_of(text: &str, most: usize) -> String {
    if Path::new(text).is_absolute() {
        let file = Path::new(text).file_name().map(|it| it.to_string_lossy().into_owned());
        return file.unwrap_or_else(|| text.to_owned());
    }
    let table = if text.starts_with('{') { serde_json::from_str::<Value>(text).ok() } else { None };
    let Some((base, own)) =
        table.as_ref().and_then(|it| Some((it["base"].as_str()?, leaves(&it["parameters"]))))
    else {
        return text.to_owned();
    };
    let mut parts = vec![name_of(base, most)];
    if own.len() <= most {
        parts.extend(own.iter().map(|(path, value)| format!("{path} = {value}")));
    } else {
        parts.push("changed".to_owned());
    }
    parts.join(", ")
}

/// That a value has a place on its axis.
fn check(column: &str, row: usize, value: f64, log: bool) -> Result<(), Error> {
    let problem = if !value.is_finite() {
        "leave such rows out, or make them null"
    } else if log && value <= 0.0 {
        "a logarithmic axis has no place for it: leave such rows out, or leave out `log`"
    } else {
        return Ok(());
    };
    Err(Error::BadChart(format!("`{column}` is {value} in row {row}; {problem}")))
}

/// Whether a column holds numbers.
pub fn is_numeric(table: &Table, column: &str) -> bool {
    matches!(table.column(column), Ok(Column::Int(_) | Column::Float(_)))
}

/// Each once, in the order in which they come.
pub fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    all.filter(|it| seen.insert(it.clone())).collect()
}

/// The same, numbers by their size: those of a search or of joined tables come in no order.
pub fn in_order(all: impl Iterator<Item = (String, f64)>) -> Vec<String> {
    let mut all: Vec<(String, f64)> = all.collect();
    if all.iter().all(|it| !it.1.is_nan()) {
        all.sort_by(|one, other| one.1.total_cmp(&other.1));
    }
    distinct(all.into_iter().map(|it| it.0))
}

/// As many columns of `candidates`, in their order, as tell all rows of a table apart beside those `asked`
/// about; all of them if they do not.
pub fn apart<'a, 'b>(
    table: &Table,
    asked: impl Iterator<Item = &'b str>,
    candidates: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let mut keys = vec![String::new(); table.height()];
    let mut tells = |column: &str| {
        for (key, value) in keys.iter_mut().zip(table.text(column).unwrap_or_default()) {
            key.push('\n');
            key.push_str(value.as_deref().unwrap_or_default());
        }
        distinct(keys.iter().cloned()).len() == keys.len()
    };
    let mut enough = asked.fold(false, |_, it| tells(it));
    let mut columns = Vec::new();
    for column in candidates {
        if enough {
            break;
        }
        columns.push(column);
        enough = tells(column);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::{named, rounded};

    #[test]
    fn long_numbers_have_the_digits_that_tell_them_apart() {
        let told = |values: &[f64]| -> Vec<String> {
            let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            let texts = values.iter().map(|it| it.map(|it| it.to_string())).collect();
            rounded(&values, texts).into_iter().flatten().collect()
        };
        assert_eq!(told(&[10.0, 10.0 + 1.0 / 3.0, 10.0 + 2.0 / 3.0]), ["10", "10.33", "10.67"]);
        assert_eq!(told(&[14.0, 14.100_000_000_000_001]), ["14", "14.1"]);
        assert_eq!(told(&[0.5, 0.25]), ["0.5", "0.25"], "short ones stay as they are");
        assert_eq!(told(&[1.000_000_01, 1.000_000_02]), ["1.00000001", "1.00000002"]);
        assert_eq!(told(&[1e-9, 1.0 / 3.0]), ["0.000000001", "0.333333333"]);
    }

    #[test]
    fn descriptions_of_one_s_own_have_short_names_if_these_tell_them_apart() {
        let short = |all: &[&str]| -> Vec<String> {
            named(all.iter().map(|it| Some((*it).to_owned())).collect()).into_iter().flatten().collect()
        };
        let own = r#"{"base":"rtx-4090","parameters":{"memory_gb":48}}"#;
        let file = std::env::temp_dir().join("gpu.toml").to_string_lossy().into_owned();
        assert_eq!(short(&["rtx-4090", own, &file]), ["rtx-4090", "rtx-4090, memory_gb = 48", "gpu.toml"]);
        // Two that change much are told apart by all that they change.
        let much = |layers: u32| {
            let parameters = format!(r#"{{"layers":{layers},"heads":8,"ffn_size":64}}"#);
            format!(r#"{{"base":"llama-3.2-1b","parameters":{parameters}}}"#)
        };
        assert_eq!(short(&[&much(1), "opt-125m"]), ["llama-3.2-1b, changed", "opt-125m"]);
        assert_eq!(short(&[&much(1), &much(2)])[1], "llama-3.2-1b, layers = 2, heads = 8, ffn_size = 64");
        let other = std::env::temp_dir().join("other").join("gpu.toml").to_string_lossy().into_owned();
        assert_eq!(short(&[&file, &other]), [file.as_str(), &other]);
    }
}
