//! Published numbers as data, and what the model says to each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use memscape_explore::{Parameters, Table};
use memscape_study::Unknown;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::paper::Paper;
use crate::papers::{PAPERS, experiments, paper, select};

/// One printed number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Paper, place and quantity, for example `pimnast.fig9.opt.avg`.
    pub id: String,
    /// Where it is printed.
    #[serde(rename = "where")]
    pub place: String,
    /// What it says.
    pub says: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// How far the printed number may be from what it rounds, where its digits do not
    /// tell: 0.05 for `62.0`, 1 for "about 15".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
    /// Whether the number is only a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// What it is to the model.
    pub role: Role,
    /// How the model's number is found; a fact that the model does not use has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Query>,
    /// Why the model misses it, or how it is read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Claim {
    /// What a computed number says to it.
    fn verdict(&self, computed: Option<f64>) -> Verdict {
        let error = |it: f64| {
            let error = if self.value == 0.0 { it } else { it / self.value - 1.0 };
            match self.bound {
                // The limit's sign must not turn its sides.
                Some(Bound::Upper) if it <= self.value => 0.0,
                Some(Bound::Lower) if self.value <= it => 0.0,
                _ => error,
            }
        };
        let exact = |it: f64| match self.bound {
            Some(_) => error(it) == 0.0,
            // A hair beyond half a digit: sums of floats may fall on either side.
            None => (it - self.value).abs() <= self.rounding() * (1.0 + 1e-9),
        };
        Verdict {
            id: self.id.clone(),
            published: self.value,
            computed,
            relative_error: computed.map(error),
            exact: computed.map(exact),
            bound: self.bound,
            role: self.role,
            unit: self.unit.clone(),
            note: self.note.clone(),
        }
    }

    /// How far the printed number may be from what it rounds: half a unit of its last
    /// digit, so that 0.03 may be anything from 0.025 to 0.035, or as given.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        let decimals = self.value.to_string().split_once('.').map_or(0, |(_, it)| it.len());
        self.rounding.unwrap_or_else(|| 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0)))
    }
}

/// Which side of a printed limit the model's number must be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// At most the number.
    Upper,
    /// At least the number.
    Lower,
}

/// What a claim is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A fact that the model takes.
    Input,
    /// Fixes a free parameter.
    Calibrate,
    /// The model should yield it.
    Predict,
}

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

/// What the model says to a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The claim's id.
    pub id: String,
    /// The printed number.
    pub published: f64,
    /// The model's; none if the claim has no query.
    pub computed: Option<f64>,
    /// Computed over published less 1; the difference itself where 0 is published;
    /// 0 on the right side of a limit.
    pub relative_error: Option<f64>,
    /// Whether the model's number, rounded, has the printed digits.
    pub exact: Option<bool>,
    /// Whether the printed number is only a limit.
    pub bound: Option<Bound>,
    /// What the claim is to the model.
    pub role: Role,
    /// Its unit.
    pub unit: String,
    /// Why it is missed, or how it is read.
    pub note: String,
}

impl Verdict {
    /// Whether the model's number is within `tolerance` of the printed one; true
    /// if there is nothing to compare.
    #[must_use]
    pub fn is_within(&self, tolerance: f64) -> bool {
        self.relative_error.is_none_or(|it| it.abs() <= tolerance)
    }
}

/// How well a paper's model is to do: of the claims of role `predict` whose ids
/// match, a share is within a tolerance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// What the claims are about.
    pub says: String,
    /// Their ids, `*` standing for anything; all if none are given.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Ids left out of those.
    #[serde(default)]
    pub except: Vec<String>,
    /// The largest relative error; if missing, the printed digits.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// The least share of the claims, from 0 to 1.
    pub share: f64,
}

impl Bar {
    /// How many of the verdicts meet it, and of how many.
    #[must_use]
    pub fn count(&self, verdicts: &[Verdict]) -> (usize, usize) {
        let named = |patterns: &[String], id: &str| patterns.iter().any(|it| matches(it, id));
        let of = verdicts.iter().filter(|it| {
            it.role == Role::Predict
                && it.computed.is_some()
                && (self.claims.is_empty() || named(&self.claims, &it.id))
                && !named(&self.except, &it.id)
        });
        let met = of.clone().filter(|it| match self.tolerance {
            Some(tolerance) => it.is_within(tolerance),
            None => it.exact == Some(true),
        });
        (met.count(), of.count())
    }

    /// Whether so many of so many are enough.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "some hundred claims")]
    pub fn is_met(&self, (met, of): (usize, usize)) -> bool {
        0 < of && self.share * of as f64 <= met as f64
    }
}

/// Whether `text` is `pattern`, each `*` standing for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).any(|it| tail.is_char_boundary(it) && matches(rest, &tail[it..]))
        }),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsFile {
    #[serde(default)]
    bar: Vec<Bar>,
    #[serde(default)]
    claim: Vec<Claim>,
}

/// The claims of one paper, or of all.
///
/// # Errors
/// [`Error::Unknown`] if there is no such paper.
///
/// # Panics
/// Never: the built-in files are checked by tests.
pub fn builtin(of: Option<&str>) -> Result<Vec<Claim>, Error> {
    let papers = match of {
        Some(id) => std::slice::from_ref(paper(id)?),
        None => PAPERS,
    };
    Ok(papers.iter().flat_map(|it| builtin_file(it).claim).collect())
}

/// What a paper's model is held to.
///
/// # Panics
/// Never: the built-in files are checked by tests.
#[must_use]
pub fn bars(paper: &Paper) -> Vec<Bar> {
    builtin_file(paper).bar
}

fn builtin_file(paper: &Paper) -> ClaimsFile {
    parse(paper.published).expect("built-in claims are checked by tests")
}

/// The claims of a file.
///
/// # Errors
/// [`Error::File`] if it cannot be read, [`Error::BadClaims`] with line and key
/// if it is no claims file.
pub fn read(path: &Path) -> Result<Vec<Claim>, Error> {
    let text = std::fs::read_to_string(path).map_err(|it| Error::file(path, &it))?;
    Ok(parse(&text).map_err(|it| Error::file(path, &it))?.claim)
}

fn parse(text: &str) -> Result<ClaimsFile, Error> {
    let file: ClaimsFile = toml::from_str(text).map_err(|it| Error::BadClaims(it.to_string()))?;
    match file.claim.iter().find(|it| !it.value.is_finite()) {
        Some(claim) => {
            Err(Error::BadClaims(format!("claim `{}`: `value` is {}, not a number", claim.id, claim.value)))
        }
        None => Ok(file),
    }
}

/// Asks the model for each claim's number.
///
/// # Errors
/// [`Error::BadQuery`] if a query does not give one number, [`Error`] if an
/// experiment has no table.
pub fn evaluate(claims: &[Claim]) -> Result<Vec<Verdict>, Error> {
    evaluate_with(claims, &Parameters::new())
}

/// As [`evaluate`], with parameters of all experiments changed.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_with(claims: &[Claim], changed: &Parameters) -> Result<Vec<Verdict>, Error> {
    let asked: BTreeSet<_> =
        claims.iter().filter_map(|it| it.query.as_ref()).map(|it| &it.experiment).collect();
    let known: Vec<_> = experiments().map(|it| it.id).collect();
    if let Some(unknown) = asked.iter().find(|it| !known.contains(&it.as_str())) {
        return Err(Unknown::new("experiment", unknown.as_str(), known.iter().copied()).into());
    }
    let table = |id: &String| Ok((id.clone(), select(&[id])?[0].table_with(changed)?));
    let tables: BTreeMap<String, Table> =
        asked.into_iter().collect::<Vec<_>>().into_par_iter().map(table).collect::<Result<_, Error>>()?;
    claims
        .iter()
        .map(|claim| {
            let computed = match &claim.query {
                Some(query) => Some(ask(&claim.id, query, &tables[&query.experiment])?),
                None => None,
            };
            Ok(claim.verdict(computed))
        })
        .collect()
}

fn ask(id: &str, query: &Query, table: &Table) -> Result<f64, Error> {
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
    let result = query.scale
        * match query.transform {
            Transform::None => aggregate,
            Transform::OneMinus => 1.0 - aggregate,
            Transform::MinusOne => aggregate - 1.0,
        };
    if result.is_finite() { Ok(result) } else { Err(bad(format!("the result is {result}"))) }
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
    use memscape_explore::Column;

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
        let found = ask("toy", &query, &table()).map_err(|it| it.to_string());
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
    fn a_ratio_without_groups_is_one_of_aggregates() {
        let ratio = "experiment = 'e'\ncolumn = 'x'\nwhere = { series = 'b' }\nover = { series = 'a' }\n";
        check(&format!("{ratio}aggregate = 'max'\ntransform = 'minus-one'\nscale = 100"), Ok(100.0));
        check("experiment = 'e'\ncolumn = 'x'\nwhere = { series = 'b' }\naggregate = 'spread'", Ok(0.9));
    }

    #[test]
    fn limits_are_met_on_their_side_and_digits_as_printed() {
        let claim = |extra: &str| -> Claim {
            let text = "id = 'a.b'\nwhere = ''\nsays = ''\nvalue = 62.0\nunit = ''\nrole = 'predict'\n";
            toml::from_str(&format!("{text}{extra}")).unwrap()
        };
        let says = |extra: &str, computed: f64| {
            let it = claim(extra).verdict(Some(computed));
            (it.relative_error.unwrap(), it.exact.unwrap())
        };
        assert_eq!(says("bound = 'upper'", 31.0), (0.0, true));
        assert_eq!(says("bound = 'lower'", 31.0), (-0.5, false));
        assert!(says("", 62.4).1 && !says("rounding = 0.05", 62.4).1 && says("rounding = 0.05", 62.05).1);
        assert!(matches("a.*.c*", "a.b.cd") && !matches("a.*.c", "a.b.cd"));
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

    #[test]
    fn built_in_claims_are_unique_and_every_query_answers() {
        let claims = builtin(None).unwrap();
        let verdicts = evaluate(&claims).unwrap();
        let mut ids: Vec<_> = claims.iter().map(|it| &it.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), verdicts.len());
        for paper in PAPERS {
            let of_paper = evaluate(&builtin(Some(paper.id)).unwrap()).unwrap();
            for bar in bars(paper) {
                let count = bar.count(&of_paper);
                assert!(bar.is_met(count), "{}: {}: {count:?}", paper.id, bar.says);
            }
        }
        // A claim that is missed by over 10 % says why.
        let silent: Vec<_> =
            verdicts.iter().filter(|it| !it.is_within(0.1) && it.note.is_empty()).map(|it| &it.id).collect();
        assert!(silent.is_empty(), "{silent:?}");
    }
}
