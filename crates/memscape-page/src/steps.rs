//! Where the sliders of a form stop, and what curves are drawn over.

use memscape_explore::{Parameter, Values};
use serde::Serialize;
use serde_json::{Value, json};

/// How a parameter is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Control {
    /// A slider and a number.
    Number,
    /// A list.
    Choice,
    /// A list of names, or a path or table.
    Preset,
    /// A tick.
    Flag,
    /// What is typed.
    Text,
}

impl Control {
    pub(crate) fn of(values: &Values) -> Self {
        match values {
            Values::Number { .. } => Self::Number,
            Values::OneOf(_) => Self::Choice,
            Values::Description(_) => Self::Preset,
            Values::Flag => Self::Flag,
            Values::Other => Self::Text,
        }
    }
}

/// How far a slider goes to both sides of a default, as a factor: what a machine of the
/// same kind may be. What is farther is typed.
const REACH: f64 = 64.0;

/// Steps of a slider on which equal distances are equal differences.
const EVEN_STEPS: u32 = 100;

/// Steps to each doubling of what is not whole.
const STEPS_PER_OCTAVE: f64 = 4.0;

/// More than this between two whole ends, and not each number is a step.
const EACH: u32 = 64;

/// The largest step of a whole number that is null unless given.
const MOST_FROM_NULL: f64 = 65536.0;

/// The values at which a parameter's slider or list stops, from less to more; none of what
/// is typed. Null comes first where it is allowed.
pub(crate) fn steps(parameter: &Parameter) -> Vec<Value> {
    let mut steps: Vec<Value> = match &parameter.values {
        Values::Number { whole, min, max } => {
            let range = Range { whole: *whole, min: *min, max: *max };
            let numbers = range.steps(parameter.default.as_f64());
            numbers.into_iter().map(|it| range.value(it)).collect()
        }
        Values::OneOf(all) => all.clone(),
        Values::Description(names) => names.iter().map(|it| json!(it)).collect(),
        Values::Flag => vec![json!(false), json!(true)],
        Values::Other => return Vec::new(),
    };
    if parameter.nullable {
        steps.insert(0, Value::Null);
    }
    steps
}

struct Range {
    whole: bool,
    min: Option<f64>,
    max: Option<f64>,
}

impl Range {
    fn steps(&self, default: Option<f64>) -> Vec<f64> {
        let low = self.min.unwrap_or(f64::NEG_INFINITY);
        let high = self.max.unwrap_or(f64::INFINITY);
        let mut steps: Vec<f64> = match default {
            _ if self.whole && high - low <= f64::from(EACH) => {
                (0..=EACH).map(|it| low + f64::from(it)).filter(|it| *it <= high).collect()
            }
            // A share, or an exponent: its range is what it means.
            _ if self.is_narrow(default) => self.even(),
            Some(it) if it > 0.0 => self.doubling(it / REACH, it * REACH),
            Some(it) if it < 0.0 => (-8_i32..=8).map(|step| it + it.abs() * f64::from(step) / 4.0).collect(),
            Some(_) => {
                let mut steps = self.doubling(if self.whole { 1.0 } else { 1.0 / REACH }, REACH);
                steps.insert(0, 0.0);
                steps
            }
            None if self.whole => self.doubling(1.0, MOST_FROM_NULL),
            None => self.doubling(1.0 / REACH, REACH),
        };
        steps.extend(default);
        steps.retain(|it| low <= *it && *it <= high);
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        steps
    }

    /// Whether both ends are given and not far apart, seen from the default.
    fn is_narrow(&self, default: Option<f64>) -> bool {
        match (self.min, self.max) {
            (Some(low), Some(high)) if !self.whole => {
                high - low <= 100.0 && default.is_none_or(|it| it <= 0.0 || high <= it * 100.0)
            }
            _ => false,
        }
    }

    fn even(&self) -> Vec<f64> {
        let (low, high) = (self.min.unwrap_or(0.0), self.max.unwrap_or(1.0));
        let step = |it: u32| low + (high - low) * f64::from(it) / f64::from(EVEN_STEPS);
        (0..=EVEN_STEPS).map(|it| rounded(step(it))).collect()
    }

    /// Equal factors: powers of two and what is half way between them for whole numbers,
    /// which is where machines are built.
    fn doubling(&self, from: f64, to: f64) -> Vec<f64> {
        if self.whole {
            let powers = (0..50).map(|it| 2_f64.powi(it));
            let steps = powers.flat_map(|it| [it, 1.5 * it]).filter(|it| it.fract() == 0.0);
            return steps.filter(|it| from <= *it && *it <= to).collect();
        }
        let count = (STEPS_PER_OCTAVE * (to / from).log2()).round();
        let mut steps = Vec::new();
        let mut at = 0.0;
        while at <= count {
            steps.push(rounded(from * 2_f64.powf(at / STEPS_PER_OCTAVE)));
            at += 1.0;
        }
        steps
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole steps stay below 2^53")]
    fn value(&self, number: f64) -> Value {
        if self.whole && number.abs() < 9.0e15 { json!(number as i64) } else { json!(number) }
    }
}

/// Three digits, which is what a slider can tell apart.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

/// The same value, whether or not it is written as a whole number.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

/// At most `most` of the steps, in order, the ends and `here` among them. What is null is
/// no place on a curve of numbers.
pub(crate) fn thinned(steps: &[Value], here: Option<&Value>, most: usize) -> Vec<Value> {
    let numeric = steps.iter().any(Value::is_number);
    let mut all: Vec<Value> = steps.iter().filter(|it| !(numeric && it.is_null())).cloned().collect();
    let stride = all.len().saturating_sub(1).div_ceil(most.saturating_sub(1).max(1)).max(1);
    let last = all.len().saturating_sub(1);
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        (at - 1) % stride == 0 || at - 1 == last
    });
    let Some(here) = here else { return all };
    match here.as_f64() {
        _ if all.iter().any(|it| same(it, here)) => {}
        Some(number) if numeric => {
            let place = all.iter().position(|it| it.as_f64() > Some(number)).unwrap_or(all.len());
            all.insert(place, here.clone());
        }
        None if !numeric && !here.is_null() => all.push(here.clone()),
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(whole: bool, min: Option<f64>, max: Option<f64>, default: Value) -> Parameter {
        Parameter {
            path: "p".to_owned(),
            meaning: String::new(),
            unit: None,
            nullable: default.is_null(),
            default,
            allowed: String::new(),
            values: Values::Number { whole, min, max },
            more: None,
            source: String::new(),
        }
    }

    fn numbers(it: &Parameter) -> Vec<f64> {
        steps(it).iter().filter_map(Value::as_f64).collect()
    }

    #[test]
    fn counts_stop_where_machines_are_built() {
        let banks = numbers(&number(true, Some(1.0), None, json!(16)));
        assert_eq!(banks[..6], [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]);
        assert_eq!(banks.last(), Some(&1024.0));
        assert!(steps(&number(true, Some(1.0), None, json!(16))).iter().all(Value::is_i64));
        let odd = numbers(&number(true, Some(1.0), Some(4096.0), json!(1920)));
        assert!(odd.contains(&1920.0) && odd.iter().all(|it| (30.0..=4096.0).contains(it)), "{odd:?}");
    }

    #[test]
    fn a_short_range_has_a_step_for_each() {
        assert_eq!(numbers(&number(true, Some(0.0), Some(15.0), json!(4))).len(), 16);
    }

    #[test]
    fn what_is_not_whole_goes_by_factors_and_stops_at_its_default() {
        let delay = numbers(&number(false, Some(0.0), Some(1e9), json!(18.37)));
        assert!(delay.contains(&18.37));
        assert!(delay[0] < 0.3 && *delay.last().unwrap() > 1170.0, "{delay:?}");
        assert!(delay.windows(2).all(|it| it[0] < it[1]), "in order: {delay:?}");
    }

    #[test]
    fn shares_go_evenly_from_end_to_end() {
        let share = numbers(&number(false, Some(0.0), Some(1.0), json!(0.7018)));
        assert_eq!((share.len(), share[0], share[1], share[101]), (102, 0.0, 0.01, 1.0));
        assert!(share.contains(&0.7018));
        assert_eq!(numbers(&number(false, Some(0.0), Some(1.0), Value::Null)).len(), 101);
    }

    #[test]
    fn null_and_nothing_are_steps_too() {
        let none = steps(&number(true, Some(1.0), None, Value::Null));
        assert_eq!(none[..3], [Value::Null, json!(1), json!(2)]);
        assert_eq!(steps(&number(true, Some(0.0), None, json!(0)))[..3], [json!(0), json!(1), json!(2)]);
        let below = numbers(&number(false, None, None, json!(-4.0)));
        assert!(below.contains(&-4.0) && below.windows(2).all(|it| it[0] < it[1]));
    }

    #[test]
    fn curves_keep_ends_and_here() {
        let all: Vec<Value> = (0..100).map(|it| json!(it)).collect();
        let some = thinned(&all, Some(&json!(42.5)), 10);
        assert!(some.len() <= 12 && some[0] == json!(0) && some.last() == Some(&json!(99)));
        assert!(some.contains(&json!(42.5)));
        let numbers: Vec<f64> = some.iter().filter_map(Value::as_f64).collect();
        assert!(numbers.is_sorted());
        assert_eq!(thinned(&[Value::Null, json!(1)], Some(&Value::Null), 10), [json!(1)]);
        assert_eq!(thinned(&[json!("a")], Some(&json!("b.toml")), 10), [json!("a"), json!("b.toml")]);
    }
}
