//! Numbers that anyone with a machine can measure and no paper prints, said before they
//! were: with an interval, and dated.
//!
//! A file of `data/predictions` says what is asked of the model and what its answer
//! depends on that nobody knows well. What the model said is kept beside it, as it was
//! said, in `said.csv`: a later model may say something else, but not have said it.

use std::collections::{BTreeMap, HashSet};

use memscape_explore::{Method, Parameters, Sample, Sweep, Table};
use memscape_study::node::value_at;
use memscape_systems::study;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

/// What is asked of one machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    machine: String,
    /// The paper whose machine it is.
    paper: String,
    /// Nine of ten predictions of the paper's performance are within this factor.
    spread: f64,
    #[serde(default)]
    uncertain: Vec<Uncertain>,
    ask: Vec<Ask>,
}

/// A parameter that nobody knows well.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Uncertain {
    path: String,
    low: f64,
    high: f64,
    /// Whether these are times what the description has.
    #[serde(default)]
    relative: bool,
    /// Why it is not known better.
    #[expect(dead_code, reason = "for the reader of the file")]
    source: String,
}

/// A family of predictions: one for each combination of `over`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// With `{path}` where a value of `over` goes.
    id: String,
    what: String,
    unit: String,
    study: String,
    column: String,
    #[serde(default)]
    given: Map<String, Value>,
    over: Map<String, Value>,
    /// What goes together: one prediction for each of these and each combination of `over`.
    #[serde(default)]
    cases: Vec<Case>,
    /// What the answer says of its own ends, where it does: columns.
    ends: Option<[String; 2]>,
    /// What whoever measures may choose: the greatest over all of these counts.
    #[serde(default)]
    best: Map<String, Value>,
    /// Readings that are as likely as each other; the first of each is the one that is given
    /// as the value.
    #[serde(default)]
    readings: Map<String, Value>,
}

/// Parameters that belong together, and what the id calls them, in place of `{case}`.
#[derive(Debug, Clone, Deserialize)]
struct Case {
    id: String,
    #[serde(flatten)]
    given: Map<String, Value>,
}

impl Ask {
    /// What is asked of each prediction beyond what is given to all, with its id.
    fn each(&self) -> Result<Vec<(String, Parameters)>, Error> {
        let combinations = combinations(&self.over)?;
        let named = |id: &str, at: &Parameters| {
            at.iter()
                .fold(id.to_owned(), |id, (path, value)| id.replace(&format!("{{{path}}}"), &plain(value)))
        };
        if self.cases.is_empty() {
            return Ok(combinations.into_iter().map(|at| (named(&self.id, &at), at)).collect());
        }
        let of_case = |case: &Case| {
            let id = self.id.replace("{case}", &case.id);
            let with = |at: &Parameters| at.clone().into_iter().chain(case.given.clone()).collect();
            combinations.iter().map(|at| (named(&id, at), with(at))).collect::<Vec<_>>()
        };
        Ok(self.cases.iter().flat_map(of_case).collect())
    }
}

/// One number, with the question that it answers.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// What it is called, for example `xdna2.llama-3.2-3b.decode.4096`.
    pub id: String,
    /// What is predicted.
    pub what: String,
    /// Of the value.
    pub unit: String,
    /// The machine and its software.
    pub machine: String,
    /// The paper whose machine it is.
    pub paper: String,
    ask: Ask,
    /// The values of `over`, and of the case.
    at: Parameters,
    spread: f64,
    uncertain: Vec<Uncertain>,
}

/// A value, and the interval in which it is expected nine times of ten.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// By the descriptions as they are.
    pub value: f64,
    /// Nine of ten are above this or the other end.
    pub low: f64,
    /// The other end.
    pub high: f64,
}

/// What was said, when.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Said {
    /// The prediction.
    pub id: String,
    /// What was said.
    #[serde(flatten)]
    pub interval: Interval,
    /// The version that said it.
    pub version: String,
    /// The day.
    pub date: String,
}

/// A prediction with what was said of it last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// What is predicted.
    pub what: String,
    /// Of the value.
    pub unit: String,
    /// The machine and its software.
    pub machine: String,
    /// What was said.
    #[serde(flatten)]
    pub said: Said,
}

/// A measurement against what was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// What was said.
    #[serde(flatten)]
    pub said: Said,
    /// What was measured.
    pub measured: f64,
    /// What was said over it, less 1.
    pub error: f64,
    /// Whether it is inside the interval.
    pub inside: bool,
}

/// A file of measurements: `[[measured]]` with `id`, `value` and `source`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Submitted {
    measured: Vec<Measured>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    id: String,
    value: f64,
    /// Who measured it, on what.
    #[expect(dead_code, reason = "asked for, so that it is written down")]
    source: String,
}

const FILES: [&str; 2] = [
    include_str!("../../../data/predictions/sg2042.toml"),
    include_str!("../../../data/predictions/xdna2.toml"),
];

const SAID: &str = include_str!("../../../data/predictions/said.csv");

/// The texts of `data/predictions`: what is asked of each machine, then what was said.
pub const TEXTS: [&str; 3] = [FILES[0], FILES[1], SAID];

/// Draws of what is not known well.
const DRAWS: u64 = 200;

/// All predictions, machine by machine.
///
/// # Errors
/// [`Error::BadPrediction`] if a file of them is none.
pub fn predictions() -> Result<Vec<Prediction>, Error> {
    let mut all = Vec::new();
    for text in FILES {
        let File { machine, paper, spread, uncertain, ask } =
            toml::from_str(text).map_err(|it| Error::BadPrediction(it.to_string()))?;
        for ask in ask {
            for (id, at) in ask.each()? {
                all.push(Prediction {
                    id,
                    what: ask.what.clone(),
                    unit: ask.unit.clone(),
                    machine: machine.clone(),
                    paper: paper.clone(),
                    ask: ask.clone(),
                    at,
                    spread,
                    uncertain: uncertain.clone(),
                });
            }
        }
    }
    Ok(all)
}

/// The factor within which nine of ten predictions of a paper's performance are said to be.
///
/// # Errors
/// As [`predictions`].
pub fn spreads() -> Result<BTreeMap<String, f64>, Error> {
    Ok(predictions()?.into_iter().map(|it| (it.paper, it.spread)).collect())
}

/// What was said, in the order of [`predictions`].
///
/// # Errors
/// [`Error::BadPrediction`] if the record is none.
pub fn said() -> Result<Vec<Said>, Error> {
    let bad = |line: &str| Error::BadPrediction(format!("said.csv: `{line}`"));
    let line = |line: &str| {
        let [id, value, low, high, version, date] =
            line.split(',').collect::<Vec<_>>().try_into().map_err(|_| bad(line))?;
        let [value, low, high] = [value, low, high].map(|it: &str| it.parse::<f64>().map_err(|_| bad(line)));
        let interval = Interval { value: value?, low: low?, high: high? };
        let [id, version, date] = [id, version, date].map(str::to_owned);
        Ok(Said { id, interval, version, date })
    };
    SAID.lines().skip(1).map(line).collect()
}

/// All predictions of which something was said.
///
/// # Errors
/// As [`predictions`] and [`said`].
pub fn record() -> Result<Vec<Record>, Error> {
    let said = said()?;
    let of = |it: Prediction| {
        let said = said.iter().rfind(|said| said.id == it.id)?.clone();
        Some(Record { what: it.what, unit: it.unit, machine: it.machine, said })
    };
    Ok(predictions()?.into_iter().filter_map(of).collect())
}

/// Measurements in TOML against what was said of them, in their order.
///
/// # Errors
/// [`Error::BadPrediction`] if the text is none, has no measurement or two of one prediction, or
/// [`Error::Unknown`] for an id that is not predicted.
pub fn score(text: &str) -> Result<Vec<Score>, Error> {
    let Submitted { measured } = toml::from_str(text).map_err(|it| Error::BadPrediction(it.to_string()))?;
    if measured.is_empty() {
        return Err(Error::BadPrediction("`measured` is empty; give at least one measurement".to_owned()));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = measured.iter().find(|it| !seen.insert(&it.id)) {
        let problem = format!("`{}` is measured twice; give one value, such as the mean", twice.id);
        return Err(Error::BadPrediction(problem));
    }
    let said = said()?;
    let one = |it: Measured| {
        let Measured { id, value, .. } = it;
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::BadPrediction(format!("`{id}` = {value}: a measurement is above 0")));
        }
        let unknown =
            || memscape_study::Unknown::new("prediction", &id, said.iter().map(|it| it.id.as_str()));
        let said = said.iter().rfind(|it| it.id == id).ok_or_else(unknown)?.clone();
        let Interval { value: expected, low, high } = said.interval;
        Ok(Score {
            said,
            measured: value,
            error: expected / value - 1.0,
            inside: low <= value && value <= high,
        })
    };
    measured.into_iter().map(one).collect()
}

impl Prediction {
    /// The parameters in which it differs from others of its family.
    #[must_use]
    pub const fn at(&self) -> &Parameters {
        &self.at
    }

    /// The column of the study's answer that it is.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.ask.column
    }

    /// What the model says now.
    ///
    /// Parameters that nobody knows well are drawn between their ends, readings from those
    /// there are; a twentieth of the answers is left out on either side. What the answer says
    /// of its own ends, and what the model itself may be wrong by, are added: independent, so
    /// that logarithms add as squares.
    ///
    /// # Errors
    /// [`Error`] if the study refuses a question.
    pub fn now(&self) -> Result<Interval, Error> {
        let value = self.best_of(None)?[0];
        let mut drawn = self.drawn()?;
        drawn.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of a count"
            )]
            let place = ((drawn.len() - 1) as f64 * share).round() as usize;
            drawn[place]
        };
        let [least, most] = self.own_ends()?.unwrap_or([value, value]);
        let far =
            |drawn: f64, own: f64| (drawn / value).ln().hypot((own / value).ln()).hypot(self.spread.ln());
        let low = far(quantile(0.05).min(value), least.min(value));
        let high = far(quantile(0.95).max(value), most.max(value));
        Ok(Interval { value, low: value * (-low).exp(), high: value * high.exp() })
    }

    /// What the answer says of its own ends.
    fn own_ends(&self) -> Result<Option<[f64; 2]>, Error> {
        let Some(columns) = &self.ask.ends else { return Ok(None) };
        let row = study(&self.ask.study)?.run(&self.base())?;
        let end = |column: &String| {
            let found = row.iter().find(|it| it.0 == *column).and_then(|it| it.1.as_f64());
            found.ok_or_else(|| Error::BadPrediction(format!("`{}`: `{column}` is no number", self.id)))
        };
        Ok(Some([end(&columns[0])?, end(&columns[1])?]))
    }

    fn drawn(&self) -> Result<Vec<f64>, Error> {
        let mut ranges = Map::new();
        for it in &self.uncertain {
            let nominal = if it.relative { self.nominal(&it.path)? } else { Some(1.0) };
            // What the study does not have, it does not depend on.
            let Some(nominal) = nominal else { continue };
            let range = serde_json::json!({ "min": it.low * nominal, "max": it.high * nominal });
            ranges.insert(it.path.clone(), range);
        }
        ranges.extend(self.ask.readings.clone());
        if ranges.is_empty() {
            return self.best_of(None);
        }
        let sample = Sample { method: Method::Latin, count: DRAWS, seed: 0, ranges };
        self.best_of(Some(sample))
    }

    /// What the description has at a path.
    fn nominal(&self, path: &str) -> Result<Option<f64>, Error> {
        let tree = study(&self.ask.study)?.tree(&[&self.base()])?;
        Ok(value_at(&tree, path).and_then(Value::as_f64))
    }

    fn base(&self) -> Parameters {
        let first = |(path, values): (&String, &Value)| Some((path.clone(), values.get(0)?.clone()));
        let readings = self.ask.readings.iter().filter_map(first);
        let all = self.ask.given.clone().into_iter().chain(readings).chain(self.at.clone());
        all.map(|(path, value)| (path, if value == "null" { Value::Null } else { value })).collect()
    }

    /// The best answer of each draw, or of the base alone.
    fn best_of(&self, sample: Option<Sample>) -> Result<Vec<f64>, Error> {
        let mut sweep = Sweep::of(self.base());
        for (path, values) in &self.ask.best {
            sweep = sweep.axis(path.as_str(), list(path, values)?);
        }
        let draws = sample.as_ref().map_or(1, |it| it.count);
        if let Some(sample) = sample {
            sweep = sweep.sample(sample);
        }
        let table: Table = study(&self.ask.study)?.sweep(&sweep, &())?;
        let answers = table.f64(&self.ask.column)?;
        let draws = usize::try_from(draws).unwrap_or(usize::MAX);
        let best = |draw: usize| {
            answers.iter().skip(draw).step_by(draws).flatten().copied().fold(f64::NAN, f64::max)
        };
        let best: Vec<f64> = (0..draws).map(best).filter(|it| it.is_finite()).collect();
        if best.is_empty() {
            let why = table.text("error")?.into_iter().flatten().next().unwrap_or_default();
            return Err(Error::BadPrediction(format!("`{}` has no answer: {why}", self.id)));
        }
        Ok(best)
    }
}

/// Every combination of lists, the last fastest.
fn combinations(over: &Map<String, Value>) -> Result<Vec<Parameters>, Error> {
    let mut all = vec![Parameters::new()];
    for (path, values) in over {
        let values = list(path, values)?;
        let with = |at: &Parameters| {
            let one = |value: &Value| {
                let mut at = at.clone();
                at.insert(path.clone(), value.clone());
                at
            };
            values.iter().map(one).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

fn list(path: &str, values: &Value) -> Result<Vec<Value>, Error> {
    let found = values.as_array().cloned();
    found.ok_or_else(|| Error::BadPrediction(format!("`{path}` = {values}: expected a list")))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
