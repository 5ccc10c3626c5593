//! One random point held to the laws of its study.

use memscape_study::node::value_at;
use memscape_study::{Effect, Laws, Limited, More, Trend, When, sums_off};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::draw::{fitting, grown};
use crate::control::Control;
use crate::describe::{Description, Parameter, Values};
use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::{DynStudy, Row};
use crate::units::{power_of_time, unit_of};

/// What can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Every number is declared, and every declaration is of one.
    Declared,
    /// More of a parameter moves the aim as declared.
    Monotone,
    /// Every parameter moves something.
    Alive,
    /// Where a parameter is declared to have no effect, it has none.
    Inert,
    /// Numbers are finite, quantities not negative, and no study panics.
    Sane,
    /// What is taken is there.
    Fits,
    /// Parts sum to the whole.
    Sums,
    /// No column passes its bound.
    Bounds,
    /// Both engines answer the same.
    Engines,
    /// A resource without end leaves the others' bound.
    Limits,
    /// All times twice as long and all rates half as high make an answer twice as slow, and nothing else of it
    /// different: no time hides in the model.
    Clock,
}

impl Rule {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 11] = [
        Self::Declared,
        Self::Monotone,
        Self::Alive,
        Self::Inert,
        Self::Sane,
        Self::Fits,
        Self::Sums,
        Self::Bounds,
        Self::Engines,
        Self::Limits,
        Self::Clock,
    ];

    /// As in a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Monotone => "monotone",
            Self::Alive => "alive",
            Self::Inert => "inert",
            Self::Sane => "sane",
            Self::Fits => "fits",
            Self::Sums => "sums",
            Self::Bounds => "bounds",
            Self::Engines => "engines",
            Self::Limits => "limits",
            Self::Clock => "clock",
        }
    }
}

/// A law that does not hold at a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) rule: Rule,
    /// What was varied; empty if nothing.
    pub(super) parameter: String,
    pub(super) told: String,
    /// What was changed of the point, for each answer that shows it.
    pub(super) changes: Vec<Parameters>,
}

/// What came of looking at one point.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) found: Vec<Found>,
    /// How often each rule was asked.
    pub(super) asked: Vec<Rule>,
    /// Pairs of answers of the varied parameter that were compared, and whether any
    /// two differ.
    pub(super) pairs: u64,
    pub(super) moved: bool,
    /// Pairs that a declared exception covers.
    pub(super) exempt: u64,
}

/// Rounding to whole picoseconds, and sums of floats in another order.
const ROUNDING: f64 = 1e-6;

/// How many times slower the two machines are whose answers are compared: a time that hides in a model is 4 % of
/// the rest or more where it shows.
const SLOWED: [f64; 2] = [4.0, 256.0];

/// What whole picoseconds do to the faster of the two.
const CLOCK_ROUNDING: f64 = 0.01;

/// A study and what there is to know about it.
pub(super) struct Court<'a> {
    pub(super) study: &'a dyn DynStudy,
    pub(super) description: &'a Description,
    pub(super) laws: &'static Laws,
    /// What the user holds fast.
    pub(super) fixed: &'a Parameters,
    /// Who may ask to stop.
    pub(super) control: &'a dyn Control,
}

impl Court<'_> {
    fn run(&self, point: &Parameters, change: &Parameters) -> Result<Row, Error> {
        // A point has several answers, of a second each where they are walked.
        if self.control.cancelled() {
            return Err(Error::NoAnswer("interrupted".to_owned()));
        }
        self.study.run_layers(&[point, self.fixed, change])
    }

    /// The answer, if the point can exist.
    pub(super) fn answer(&self, point: &Parameters) -> Result<Row, Error> {
        self.run(point, &Map::new())
    }

    /// Everything about a point that needs no second answer but its own.
    pub(super) fn look(&self, point: &Parameters, row: &Row, seen: &mut Seen) {
        self.sane(row, seen);
        fits(row, seen);
        self.sums(row, seen);
        self.bounds(point, row, seen);
        self.engines(point, seen);
        self.limits(point, row, seen);
        self.clock(point, seen);
    }

    fn sane(&self, row: &Row, seen: &mut Seen) {
        seen.asked.push(Rule::Sane);
        for (name, value) in row {
            let is_quantity =
                || self.description.columns.iter().any(|it| it.name == *name && it.unit.is_some());
            if value.as_f64().is_some_and(|it| it < 0.0) && is_quantity() {
                seen.found.push(Found::at_point(Rule::Sane, format!("`{name}` is {value}")));
            }
        }
    }

    fn sums(&self, row: &Row, seen: &mut Seen) {
        let sums = self.study.sums();
        let asked = sums.iter().filter(|(whole, _)| number(row, whole).is_some());
        seen.asked.extend(asked.map(|_| Rule::Sums));
        let off = sums_off(sums, ROUNDING, |it| number(row, it));
        seen.found.extend(off.into_iter().map(|it| Found::at_point(Rule::Sums, it)));
    }

    fn bounds(&self, point: &Parameters, row: &Row, seen: &mut Seen) {
        let bounds = match self.study.bounds(&[point, self.fixed]) {
            Ok(bounds) => bounds,
            Err(error) => {
                seen.found.push(Found::at_point(Rule::Bounds, format!("no bounds: {error}")));
                return;
            }
        };
        for it in bounds {
            seen.asked.push(Rule::Bounds);
            let Some(value) = number(row, it.column) else {
                // Null: the answer has no such part at this point.
                if !row.iter().any(|(name, _)| name == it.column) {
                    let told = format!("there is no column `{}` to hold to {}", it.column, it.why);
                    seen.found.push(Found::at_point(Rule::Bounds, told));
                }
                continue;
            };
            let (broken, side, limit) = match it.limit {
                Limited::AtLeast(least) => (value < least * (1.0 - ROUNDING), "below", least),
                Limited::AtMost(most) => (value > most * (1.0 + ROUNDING), "above", most),
            };
            if broken || !limit.is_finite() {
                let told = format!("`{}` is {value}, {side} {limit}: {}", it.column, it.why);
                seen.found.push(Found::at_point(Rule::Bounds, told));
            }
        }
    }

    fn engines(&self, point: &Parameters, seen: &mut Seen) {
        let (Some(engines), Some(aim)) = (self.laws.engines, self.laws.aim) else { return };
        // What is given stays as it is.
        if self.fixed.contains_key(engines.parameter) {
            return;
        }
        let changes = engines.values.map(|value| single(engines.parameter, json!(value)));
        let answers = changes.each_ref().map(|change| self.run(point, change));
        let [Ok(first), Ok(second)] = answers else { return };
        let (Some(a), Some(b)) = (number(&first, aim.column), number(&second, aim.column)) else { return };
        seen.asked.push(Rule::Engines);
        let apart = (a - b).abs() / a.abs().min(b.abs()).max(f64::MIN_POSITIVE);
        if apart > engines.within.max(ROUNDING) {
            let [one, other] = engines.values;
            let told = format!(
                "`{}` is {a} by {one} and {b} by {other}: {:.3} % apart, {:.3} % allowed",
                aim.column,
                apart * 100.0,
                engines.within * 100.0
            );
            let parameter = engines.parameter.to_owned();
            seen.found.push(Found { rule: Rule::Engines, parameter, told, changes: changes.into() });
        }
    }

    fn limits(&self, point: &Parameters, row: &Row, seen: &mut Seen) {
        let Ok(tree) = self.study.tree(&[point, self.fixed]) else { return };
        for limit in self.laws.limits {
            let grown: Option<Parameters> = limit
                .grow
                .iter()
                .map(|(path, factor)| {
                    let parameter = self.description.parameters.iter().find(|it| it.path == *path)?;
                    let value = grown(&parameter.values, value_at(&tree, path)?.as_f64()?, *factor)?;
                    Some(((*path).to_owned(), value))
                })
                .collect();
            let Some(grown) = grown else { continue };
            let Ok(after) = self.run(point, &grown) else { continue };
            for column in limit.vanish {
                let (Some(before), Some(left)) = (number(row, column), number(&after, column)) else {
                    continue;
                };
                seen.asked.push(Rule::Limits);
                if left > before / 1000.0 {
                    let all: Vec<String> =
                        grown.iter().map(|(path, it)| format!("`{path}` = {it}")).collect();
                    let told = format!("with {} `{column}` is {left}, from {before}", all.join(" and "));
                    let parameter = limit.grow.first().map_or("", |it| it.0).to_owned();
                    let changes = vec![Map::new(), grown.clone()];
                    seen.found.push(Found { rule: Rule::Limits, parameter, told, changes });
                }
            }
        }
    }

    /// Asks the same machine, slowed down little and much: no unit is the model's own.
    fn clock(&self, point: &Parameters, seen: &mut Seen) {
        let Ok(tree) = self.study.tree(&[point, self.fixed]) else { return };
        let changes = SLOWED.map(|by| self.slowed(&tree, by));
        let [Some(little), Some(much)] = &changes else { return };
        let (Ok(little), Ok(much)) = (self.run(point, little), self.run(point, much)) else { return };
        seen.asked.push(Rule::Clock);
        // Where rounding decides between two mappings of nearly the same cost, their parts may differ.
        let is_same = |it: &(String, Value)| it.1.is_f64() || much.iter().any(|of| of == it);
        let same_mapping = little.iter().all(is_same);
        for column in &self.description.columns {
            let is_aim = self.laws.aim.is_some_and(|it| it.column == column.name);
            // Over how many years a price is spread is the owner's.
            let is_physical = |unit: &&str| !unit.ends_with("/USD");
            let unit = column.unit.as_deref().filter(|_| is_aim || same_mapping).filter(is_physical);
            let Some(unit) = unit else { continue };
            let power = power_of_time(unit);
            // As it would be of the machine itself.
            let own = |row: &Row, by: f64| Some(number(row, &column.name)? / by.powi(power));
            let [by_little, by_much] = SLOWED;
            let (Some(a), Some(b)) = (own(&little, by_little), own(&much, by_much)) else { continue };
            let apart = (b - a).abs() / a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
            if apart <= CLOCK_ROUNDING || !self.fades(point, &tree, power, own, [a, b]) {
                continue;
            }
            let told = format!(
                "`{}` is {a} {unit} times the slowing of a machine {by_little} times slower, and {b} of one {by_much} times slower",
                column.name
            );
            let changes = changes.into_iter().flatten().collect();
            seen.found.push(Found { rule: Rule::Clock, parameter: String::new(), told, changes });
            return;
        }
    }

    /// Whether what two answers are apart halves where the faster machine is half as fast, as the share of a
    /// constant time does. What a picosecond turns is there or is not.
    fn fades(
        &self,
        point: &Parameters,
        tree: &Value,
        power: i32,
        own: impl Fn(&Row, f64) -> Option<f64>,
        [little, much]: [f64; 2],
    ) -> bool {
        let by = 2.0 * SLOWED[0];
        let between = self.slowed(tree, by).and_then(|it| self.run(point, &it).ok());
        let Some(between) = between.and_then(|it| own(&it, by)) else { return false };
        // A constant adds to a time, not to a rate.
        let as_time = |it: f64| if power < 0 { it.recip() } else { it };
        let [little, between, much] = [little, between, much].map(as_time);
        (0.2..0.8).contains(&((between - much) / (little - much)))
    }

    /// Every time of the machine so many times as long, every rate that much lower.
    fn slowed(&self, tree: &Value, by: f64) -> Option<Parameters> {
        let mut changed = Parameters::new();
        for it in &self.description.parameters {
            // The fields of a description are parameters of their own.
            if matches!(it.values, Values::Description(_)) {
                continue;
            }
            if let Some(table) = value_at(tree, &it.path).and_then(Value::as_object) {
                // What is null unless a machine has it.
                let numbers = table.iter().filter_map(|(name, value)| Some((name, value.as_f64()?)));
                changed.extend(numbers.filter_map(|(name, now)| {
                    let power = power_of_time(&unit_of(name)?);
                    (power != 0).then(|| (format!("{}.{name}", it.path), json!(now * by.powi(power))))
                }));
                continue;
            }
            let power = it.unit.as_deref().map_or(0, power_of_time);
            if power == 0 {
                continue;
            }
            let Some(now) = value_at(tree, &it.path).and_then(Value::as_f64) else { continue };
            let slowed = now * by.powi(power);
            // A whole number may have no half.
            let value = fitting(&it.values, slowed).filter(|it| it.as_f64() == Some(slowed))?;
            changed.insert(it.path.clone(), value);
        }
        (!changed.is_empty()).then_some(changed)
    }

    /// More and less of one parameter.
    pub(super) fn vary(&self, point: &Parameters, parameter: &Parameter, seen: &mut Seen) {
        let Ok(tree) = self.study.tree(&[point, self.fixed]) else { return };
        let Some(values) = steps(parameter, value_at(&tree, &parameter.path).unwrap_or(&Value::Null)) else {
            return;
        };
        let effect = self.laws.effect_on(&parameter.path);
        let holds = |it: &When| value_at(&tree, it.path).is_some_and(|value| it.holds(value));
        let acts = effect.is_none_or(|it| it.only.iter().all(holds));
        let exempt = effect.is_some_and(|it| it.except.iter().any(|it| holds(&it.when)));
        let mut answers: Vec<(Parameters, Row)> = Vec::new();
        for value in values {
            let change = single(&parameter.path, value);
            match self.run(point, &change) {
                Ok(row) => answers.push((change, row)),
                Err(Error::Internal(told) | Error::NotAnAnswer(told)) => {
                    let parameter = parameter.path.clone();
                    seen.found.push(Found { rule: Rule::Sane, parameter, told, changes: vec![change] });
                }
                Err(_) => {}
            }
        }
        let own = parameter.path.rsplit('.').next().unwrap_or_default();
        for pair in answers.windows(2) {
            let [(before, less), (after, more)] = pair else { continue };
            seen.pairs += 1;
            let moved = less.iter().zip(more).find(|(a, b)| a != b && a.0 != own);
            seen.moved |= moved.is_some() && acts;
            let found = |rule, told| Found {
                rule,
                parameter: parameter.path.clone(),
                told,
                changes: vec![before.clone(), after.clone()],
            };
            if !acts {
                seen.asked.push(Rule::Inert);
                if let Some((a, b)) = moved {
                    let told = format!(
                        "declared to have no effect here, but `{}` goes from {} to {}",
                        a.0, a.1, b.1
                    );
                    seen.found.push(found(Rule::Inert, told));
                }
                continue;
            }
            if exempt {
                seen.exempt += 1;
                continue;
            }
            for trend in self.laws.trends_of(&parameter.path).filter(|it| it.only.iter().all(holds)) {
                seen.asked.push(Rule::Monotone);
                seen.found.extend(against(trend, less, more).map(|told| found(Rule::Monotone, told)));
            }
            if let Some(effect) = effect {
                seen.asked.push(Rule::Monotone);
                seen.found.extend(self.wrong_way(effect, less, more).map(|told| found(Rule::Monotone, told)));
            }
        }
    }

    /// What is wrong with the way that the aim goes.
    fn wrong_way(&self, effect: &Effect, less: &Row, more: &Row) -> Option<String> {
        let aim = self.laws.aim?;
        let (before, after) = (number(less, aim.column)?, number(more, aim.column)?);
        let by = (after - before) / before.abs().max(after.abs()).max(f64::MIN_POSITIVE);
        let better = if aim.more_is_better { by } else { -by };
        let wrong = match effect.more {
            More::Better => better < -ROUNDING,
            More::Worse => better > ROUNDING,
            More::Neutral => better.abs() > ROUNDING,
            More::Either(_) | More::Unused(_) => false,
        };
        wrong.then(|| format!("declared {effect}, but `{}` goes from {before} to {after}", aim.column))
    }
}

/// What is wrong with the way that a column goes.
fn against(trend: &Trend, less: &Row, more: &Row) -> Option<String> {
    let (before, after) = (number(less, trend.column)?, number(more, trend.column)?);
    let by = (after - before) / before.abs().max(after.abs()).max(f64::MIN_POSITIVE);
    let (wrong, declared) =
        if trend.rises { (by < -ROUNDING, "never less") } else { (by > ROUNDING, "never more") };
    let Trend { column, .. } = trend;
    wrong.then(|| format!("more of it is {declared} `{column}`, which goes from {before} to {after}"))
}

impl Found {
    fn at_point(rule: Rule, told: String) -> Self {
        Self { rule, parameter: String::new(), told, changes: vec![Map::new()] }
    }
}

fn fits(row: &Row, seen: &mut Seen) {
    let (Some(taken), Some(limit)) = (number(row, "memory_bytes"), number(row, "memory_limit_bytes")) else {
        return;
    };
    seen.asked.push(Rule::Fits);
    if limit < taken {
        let told = format!("`memory_bytes` is {taken}, but there are {limit}");
        seen.found.push(Found::at_point(Rule::Fits, told));
    }
}

fn single(path: &str, value: Value) -> Parameters {
    Map::from_iter([(path.to_owned(), value)])
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row.iter().find(|(name, _)| name == column)?.1.as_f64()
}

/// Half, itself, double and fourfold, as far as they are in range; a few small
/// numbers from nothing.
fn steps(parameter: &Parameter, now: &Value) -> Option<Vec<Value>> {
    let Values::Number { .. } = parameter.values else { return None };
    let numbers = match now.as_f64() {
        None | Some(0.0) => [0.0, 1.0, 2.0, 4.0],
        Some(now) => [0.5, 1.0, 2.0, 4.0].map(|factor| factor * now),
    };
    let mut values: Vec<Value> = numbers.iter().filter_map(|it| fitting(&parameter.values, *it)).collect();
    values.dedup();
    Some(values)
}
