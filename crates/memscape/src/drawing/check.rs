//! What no figure can show, told before it is drawn.

use memscape_explore::Table;
use memscape_papers::Error;

use super::drawing::{Drawing, Kind, OF};
use super::labels::unit;
use super::rows::apart;
use super::values::distinct;

/// More cannot be seen.
pub const MOST_PANELS: usize = 24;

impl Drawing {
    /// That columns which share an axis have one unit, unless whoever asks has named them.
    pub(super) fn check_units(&self, table: &Table) -> Result<(), Error> {
        // Panels of several columns have axes of their own, and so have ends of a parameter.
        let apart = self.facet.as_deref() == Some(OF) || self.kind == Some(Kind::Tornado);
        let subjects = if apart { Vec::new() } else { self.subjects(table, 0..table.height()) };
        let columns = if subjects.is_empty() { &self.y } else { &subjects };
        let units: Vec<_> =
            columns.iter().filter(|it| !self.labels.contains_key(*it)).map(|it| (it, unit(it))).collect();
        let Some((one, other)) = units.first().zip(units.iter().find(|it| it.1 != units[0].1)) else {
            return Ok(());
        };
        let said = |(column, unit): &(&String, String)| match unit.as_str() {
            "" => format!("`{column}` has no unit"),
            unit => format!("`{column}` is in {unit}"),
        };
        let remedy = if subjects.is_empty() {
            "draw a figure of each, or name both by `labels`"
        } else {
            "give each a panel (`facet` is `of`), or filter the table"
        };
        Err(Error::BadChart(format!(
            "{}, and {}: one axis cannot show both; {remedy}",
            said(one),
            said(other)
        )))
    }

    /// That nothing is asked for that such a figure does not have.
    pub(super) fn check_used(&self, kind: Kind) -> Result<(), Error> {
        let level = matches!(kind, Kind::Bars | Kind::Stacked | Kind::Heatmap | Kind::Tornado);
        let unused = [
            (
                "reference",
                !self.reference.is_empty(),
                matches!(kind, Kind::Stacked | Kind::Heatmap | Kind::Tornado),
            ),
            ("log` of `x", self.log.x, level),
            ("log` of `y", self.log.y, matches!(kind, Kind::Stacked | Kind::Tornado)),
            ("maximize", !self.maximize.is_empty(), kind != Kind::Front),
        ];
        match unused.into_iter().find(|it| it.1 && it.2) {
            Some((what, ..)) => Err(Error::BadChart(format!(
                "a figure of kind `{}` has no `{what}`; leave it out, or draw another kind",
                kind.name()
            ))),
            None => Ok(()),
        }
    }

    /// That the columns of the band are there, and that what is drawn has a place for it.
    pub(super) fn check_band(&self, table: &Table) -> Result<(), Error> {
        let Some(columns) = &self.band else { return Ok(()) };
        let [least, greatest] = columns;
        let ends = table.f64(least)?.into_iter().zip(table.f64(greatest)?);
        let swapped = ends.enumerate().find_map(|(row, it)| match it {
            (Some(low), Some(high)) if low > high => Some((row, low, high)),
            _ => None,
        });
        if let Some((row, low, high)) = swapped {
            return Err(Error::BadChart(format!(
                "`band`: in row {row}, `{least}` = {low} is above `{greatest}` = {high}; give the column of the lower ends \
                 first, or leave such rows out"
            )));
        }
        if self.y.len() > 1 || !matches!(self.kind, None | Some(Kind::Bars | Kind::Lines | Kind::Points)) {
            return Err(Error::BadChart(
                "`band` belongs to bars, lines or points of one column `y`; leave it out, or draw one of these".to_owned(),
            ));
        }
        let own = unit(&self.y[0]);
        let other = columns.iter().map(|it| (it, unit(it))).find(|it| !it.1.is_empty() && it.1 != own);
        match other.filter(|_| !own.is_empty()) {
            Some((other, its)) => Err(Error::BadChart(format!(
                "`band`: `{}` is in {own}, and `{other}` is in {its}; give columns of the same",
                self.y[0]
            ))),
            None => Ok(()),
        }
    }

    /// Several rows in one place, and columns that may tell them apart.
    pub(super) fn ambiguous(&self, table: &Table, line: usize, series: &str) -> Error {
        let used = |it: &&str| {
            *it != self.x
                && !self.y.iter().any(|y| y == it)
                && self.series.as_deref() != Some(it)
                && self.facet.as_deref() != Some(it)
        };
        let varied = table.column_names().into_iter().filter(used).filter(|it| {
            let values = table.text(it).unwrap_or_default();
            let complete = values.iter().all(Option::is_some);
            complete && (2..=MOST_PANELS).contains(&distinct(values.into_iter().flatten()).len())
        });
        // Axes stand before the answer.
        let asked = [Some(&self.x), self.series.as_ref(), self.facet.as_ref()];
        let columns = apart(table, asked.into_iter().flatten().map(String::as_str), varied.take(4));
        let varied: Vec<String> = columns.iter().map(|it| format!("`{it}`")).collect();
        // As the table has it, not in the figure's unit: whoever filters by it finds it.
        let group = table.text(&self.x).ok().and_then(|it| it[line].clone()).unwrap_or_default();
        let place = match series {
            "" => format!("`{}` = {group}", self.x),
            name => format!("`{}` = {group} of {name}", self.x),
        };
        let remedy = match &varied[..] {
            [] => "filter the table".to_owned(),
            some => format!(
                "tell them apart by `series` or `facet` (perhaps {}), or filter the table",
                some.join(", ")
            ),
        };
        Error::BadChart(format!("several rows have {place}; {remedy}"))
    }
}

pub fn too_many(what: &str, there_are: usize, most: usize, column: &str) -> Error {
    Error::BadChart(format!(
        "`{column}` makes {there_are} {what}, and a figure has at most {most}; filter the table, or draw another column"
    ))
}
