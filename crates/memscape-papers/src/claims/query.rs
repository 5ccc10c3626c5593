//! Where in an experiment's table a claim's number is.

use std::collections::BTreeMap;

use memscape_explore::{Column, Table};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// A number from an experiment's table: rows where columns have given values, one
/// column, each group's mean, an aggregate over groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The experiment's id.
    pub experiment: String,
    /// Column values that rows must have.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub filter: BTreeMap<String, Value>,
    /// Divide by the same column of these rows: group by group, or aggregate by
    /// aggregate where there are no groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<BTreeMap<String, Value>>,
    /// Divide by what another claim prints: another's measurement, which a claim is relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_claim: Option<String>,
    /// The column.
    pub column: String,
    /// Columns that form groups, whose means are aggregated; without, each row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// What is made of all groups.
    pub aggregate: Aggregate,
    /// What is made of the result.
    #[serde(default)]
    pub transform: Transform,
    /// The claim's unit in the column's, for example 100 for percent of shares.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
}

const fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, clippy::float_cmp, reason = "as serde calls it; exactly one")]
fn is_one(scale: &f64) -> bool {
    *scale == 1.0
}

/// What is made of several numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// There is only one.
    Only,
    /// Arithmetic mean.
    Mean,
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// Their sum.
    Sum,
    /// How far the smallest is below the largest, as a share of the largest.
    Spread,
}

/// What is made of the aggregate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// Nothing.
    #[default]
    None,
    /// `1 - x`: a drop.
    OneMinus,
    /// `x - 1`: a gain.
    MinusOne,
}

/// The number that a claim's query finds.
///
/// * `printed`: what other claims print
pub(crate) fn ask_beside(
    id: &str,
    query: &Query,
    table: &Table,
    printed: &dyn Fn(&str) -> Option<f64>,
) -> Result<f64, Error> {
    let Some(other) = &query.over_claim else { return ask(id, query, table, 1.0) };
    let bad = || Error::BadQuery { id: id.to_owned(), problem: format!("there is no claim `{other}`") };
    ask(id, query, table, printed(other).ok_or_else(bad)?)
}

fn ask(id: &str, query: &Query, table: &Table, unit: f64) -> Result<f64, Error> {
    let bad = |problem: String| Error::BadQuery { id: id.to_owned(), problem };
    let groups = |filter| groups(query, table, filter).map_err(|it| bad(it.to_string()));
    let own = groups(&query.filter)?;
    let aggregate = match &query.over {
        None => aggregate(query.aggregate, own.into_iter().map(|it| it.1)).map_err(bad)?,
        Some(over) => {
            let mut filter = query.filter.clone();
            filter.extend(over.clone());
            let other = groups(&filter)?;
            if query.by.is_empty() {
                let one =
                    |it: Vec<(Vec<String>, f64)>| aggregate(query.aggregate, it.into_iter().map(|it| it.1));
                one(own).map_err(bad)? / one(other).map_err(bad)?
            } else {
                let denominators: BTreeMap<_, _> = other.into_iter().collect();
                let ratio = |(group, number): (Vec<String>, f64)| match denominators.get(&group) {
                    Some(denominator) => Ok(number / denominator),
                    None => Err(bad(format!(
                        "`over` has no group `{}`; `where` and `over` must meet the same groups",
                        group.join(", ")
                    ))),
                };
                let ratios = own.into_iter().map(ratio).collect::<Result<Vec<_>, _>>()?;
                aggregate(query.aggregate, ratios.into_iter()).map_err(bad)?
            }
        }
    };
    let aggregate = aggregate / unit;
    let result = query.scale
        * match query.transform {
            Transform::None => aggregate,
            Transform::OneMinus => 1.0 - aggregate,
            Transform::MinusOne => aggregate - 1.0,
        };
    if result.is_finite() { Ok(result) } else { Err(bad(format!("the result is {result}"))) }
}

/// The rows whose numbers a query is about: those of the group that is largest or smallest, or
/// all that pass; of those that pass, those with a number, if there are any.
pub(crate) fn cells(id: &str, query: &Query, table: &Table) -> Result<Vec<usize>, Error> {
    /// No column of a study begins with a space.
    const ROW: &str = " row";
    let bad = |it: memscape_explore::Error| Error::BadQuery { id: id.to_owned(), problem: it.to_string() };
    let numbers = Column::Int((0..table.height()).map(|it| i64::try_from(it).ok()).collect());
    let mut rows = table.clone().with_column(ROW, numbers).map_err(bad)?;
    for (column, value) in &query.filter {
        rows = rows.filter(column, value.clone()).map_err(bad)?;
    }
    let groups = groups(query, table, &query.filter).map_err(bad)?;
    let largest = |a: &&(Vec<String>, f64), b: &&(Vec<String>, f64)| a.1.total_cmp(&b.1);
    let chosen = match query.aggregate {
        Aggregate::Max => groups.iter().max_by(largest),
        Aggregate::Min => groups.iter().min_by(largest),
        _ => None,
    };
    let (places, values) = (rows.text(ROW).map_err(bad)?, rows.f64(&query.column).map_err(bad)?);
    let keys = query.by.iter().map(|it| rows.text(it)).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let is_chosen = |row: usize| match chosen {
        None => true,
        Some((_, value)) if query.by.is_empty() => values[row].is_some_and(|it| it.total_cmp(value).is_eq()),
        Some((group, _)) => {
            keys.iter().zip(group).all(|(key, it)| key[row].as_deref().unwrap_or_default() == it)
        }
    };
    let known: Vec<usize> = (0..rows.height()).filter(|it| values[*it].is_some() && is_chosen(*it)).collect();
    let found = if known.is_empty() { (0..rows.height()).collect() } else { known };
    Ok(found.into_iter().filter_map(|it| places[it].as_ref()?.parse().ok()).collect())
}

fn aggregate(how: Aggregate, numbers: impl ExactSizeIterator<Item = f64> + Clone) -> Result<f64, String> {
    #[expect(clippy::cast_precision_loss, reason = "a few groups")]
    let count = numbers.len() as f64;
    let largest = numbers.clone().fold(f64::NEG_INFINITY, f64::max);
    let smallest = numbers.clone().fold(f64::INFINITY, f64::min);
    match how {
        _ if numbers.len() == 0 => Err("no row meets `where`".to_owned()),
        Aggregate::Only if numbers.len() > 1 => {
            Err(format!("{count} rows or groups, but `aggregate` is `only`; narrow `where`"))
        }
        Aggregate::Only | Aggregate::Max => Ok(largest),
        Aggregate::Mean => Ok(numbers.sum::<f64>() / count),
        Aggregate::Min => Ok(smallest),
        Aggregate::Sum => Ok(numbers.sum()),
        Aggregate::Spread => Ok(1.0 - smallest / largest),
    }
}

/// The column's mean in each group of the rows that pass, or the rows themselves,
/// each with the group's values of `by`.
fn groups(
    query: &Query,
    table: &Table,
    filter: &BTreeMap<String, Value>,
) -> Result<Vec<(Vec<String>, f64)>, memscape_explore::Error> {
    let mut rows = table.clone();
    for (column, value) in filter {
        rows = rows.filter(column, value.clone())?;
    }
    if !query.by.is_empty() {
        let by: Vec<_> = query.by.iter().map(String::as_str).collect();
        rows = rows.group_mean(&by, &query.column)?;
    }
    let keys = query.by.iter().map(|it| rows.text(it)).collect::<Result<Vec<_>, _>>()?;
    let key = |row: usize| keys.iter().map(|it| it[row].clone().unwrap_or_default()).collect();
    let values = rows.f64(&query.column)?.into_iter().enumerate();
    Ok(values.filter_map(|(row, value)| Some((key(row), value?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let text = |values: &[&str]| Column::Text(values.iter().map(|it| Some((*it).to_owned())).collect());
        let x = Column::Float([1.0, 3.0, 10.0, 2.0, 4.0, 20.0].map(Some).to_vec());
        Table::from_columns([
            ("series", text(&["a", "a", "a", "b", "b", "b"])),
            ("model", text(&["s", "s", "l", "s", "s", "l"])),
            ("x", x),
        ])
        .unwrap()
    }

    fn check(query: &str, expected: Result<f64, &str>) {
        let query: Query = toml::from_str(query).unwrap();
        let printed = |id: &str| (id == "toy.other").then_some(4.0);
        let found = ask_beside("toy", &query, &table(), &printed).map_err(|it| it.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn queries_take_means_of_groups_and_ratios_of_means() {
        let base = "experiment = 'e'\ncolumn = 'x'\n";
        check(&format!("{base}aggregate = 'max'\nwhere = {{ series = 'a' }}"), Ok(10.0));
        check(&format!("{base}aggregate = 'mean'\nby = ['model']\nwhere = {{ series = 'a' }}"), Ok(6.0));
        let ratio = "by = ['model']\nwhere = { series = 'b' }\nover = { series = 'a' }";
        check(&format!("{base}aggregate = 'min'\n{ratio}"), Ok(1.5));
        check(&format!("{base}aggregate = 'min'\ntransform = 'one-minus'\n{ratio}"), Ok(-0.5));
    }

    #[test]
    fn a_query_knows_its_rows() {
        let rows = |query: &str| {
            let query: Query = toml::from_str(&format!("experiment = 'e'\ncolumn = 'x'\n{query}")).unwrap();
            cells("toy", &query, &table()).unwrap()
        };
        assert_eq!(rows("aggregate = 'mean'\nwhere = { series = 'b' }"), [3, 4, 5]);
        assert_eq!(rows("aggregate = 'max'\nwhere = { series = 'a' }"), [2]);
        assert_eq!(rows("aggregate = 'min'\nby = ['model']\nwhere = { series = 'a' }"), [0, 1]);
    }

    #[test]
    fn a_ratio_without_groups_is_one_of_aggregates() {
        let ratio = "experiment = 'e'\ncolumn = 'x'\nwhere = { series = 'b' }\nover = { series = 'a' }\n";
        check(&format!("{ratio}aggregate = 'max'\ntransform = 'minus-one'\nscale = 100"), Ok(100.0));
        check("experiment = 'e'\ncolumn = 'x'\nwhere = { series = 'b' }\naggregate = 'spread'", Ok(0.9));
    }

    #[test]
    fn a_gain_is_over_what_another_claim_prints() {
        let base =
            "experiment = 'e'\ncolumn = 'x'\naggregate = 'max'\ntransform = 'minus-one'\nscale = 100\n";
        check(&format!("{base}over_claim = 'toy.other'"), Ok(400.0));
        check(&format!("{base}over_claim = 'toy.none'"), Err("claim `toy`: there is no claim `toy.none`"));
    }

    #[test]
    fn queries_that_give_no_single_number_are_errors() {
        let base = "experiment = 'e'\ncolumn = 'x'\naggregate = 'only'\n";
        check(base, Err("claim `toy`: 6 rows or groups, but `aggregate` is `only`; narrow `where`"));
        check(&format!("{base}where = {{ model = 'm' }}"), Err("claim `toy`: no row meets `where`"));
        let ratio = "by = ['model']\nwhere = { model = 's' }\nover = { model = 'l' }";
        let problem = "claim `toy`: `over` has no group `s`; `where` and `over` must meet the same groups";
        check(&format!("{base}{ratio}"), Err(problem));
        let error = "claim `toy`: the table has no column `y`; did you mean `x`?";
        check("experiment = 'e'\ncolumn = 'y'\naggregate = 'max'", Err(error));
    }
}
