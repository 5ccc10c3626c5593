//! What of a table a figure draws: its rows, where they stand, and in which unit.

use std::collections::HashMap;

use memscape_explore::{Column, Table};
use memscape_papers::Error;

use super::drawing::{Drawing, Kind};
use super::labels::{Prefix, prefix};
use super::values::{distinct, told};

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
    /// What is written up in a panel is this many of the columns': in all of them, or by name if each is of another unit.
    ups: Vec<(Option<String>, Prefix)>,
}

/// What one panel draws.
pub struct Panel<'a> {
    pub table: &'a Table,
    /// Those of all panels.
    pub rows: &'a Rows,
    /// Its own.
    pub here: Vec<&'a Row>,
    /// Its series, and what they look like.
    pub own: Vec<(&'a str, usize)>,
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

    /// What is written up in a panel is this many of the columns'.
    pub fn up(&self, facet: &str) -> Prefix {
        let own = self.ups.iter().find(|it| it.0.as_deref().is_none_or(|it| it == facet));
        own.map_or_else(Prefix::default, |it| it.1)
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
        let ups = drawing.ups(table, &all);
        let across = std::slice::from_ref(&drawing.x);
        let of_x = drawing.subject_of(across, table);
        let across = of_x.as_ref().map_or(across, std::slice::from_ref);
        let across = drawing.suits(if numeric { across } else { &[] }, all.iter().map(|it| it.x));
        for place in &mut places {
            place.x *= across.factor;
        }
        let kind = drawing.kind.unwrap_or(if numeric { Kind::Lines } else { Kind::Bars });
        let mut rows = Self { all: Vec::new(), places, nowhere, numeric, kind, across, ups };
        for row in &mut all {
            let factor = rows.up(&row.facet).factor;
            row.x *= across.factor;
            row.y *= factor;
            row.ends = row.ends.map(|(low, high)| (low * factor, high * factor));
        }
        rows.all = all;
        Ok(rows)
    }
}

impl Drawing {
    /// What is written up, by panel where each is of another unit.
    fn ups(&self, table: &Table, all: &[Row]) -> Vec<(Option<String>, Prefix)> {
        if self.is_of_several_units(table) {
            let of = |facet: String| {
                let own = all.iter().filter(|it| it.facet == facet).map(|it| it.y);
                let up = self.suits(std::slice::from_ref(&facet), own);
                (Some(facet), up)
            };
            return distinct(all.iter().map(|it| it.facet.clone())).into_iter().map(of).collect();
        }
        let of = self.subjects(table, 0..table.height());
        let columns = if of.is_empty() { &self.y } else { &of };
        vec![(None, self.suits(columns, all.iter().map(|it| it.y)))]
    }

    /// The prefix of what columns hold. Whoever names a column says its unit.
    fn suits(&self, columns: &[String], values: impl Iterator<Item = f64>) -> Prefix {
        let named = columns.iter().any(|it| self.labels.contains_key(it));
        if named { Prefix::default() } else { prefix(columns, values) }
    }
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

/// Each once: numbers by their size, since those of a search or of joined tables come in no order, others as they
/// come.
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
