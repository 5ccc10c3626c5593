//! How well a number is known.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a description knows a number: the word before the first colon of its source.
///
/// Ordered: what follows from several numbers is known as the last of their grades.
///
/// ```
/// use memscape_study::Grade;
///
/// assert_eq!(Grade::of("prior: launch of a kernel"), Some(Grade::Prior));
/// assert_eq!(Grade::of("somebody said so"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Grade {
    /// A publication about the thing itself says so, or its own definition.
    Printed,
    /// A standard, a maker's document, or a public simulator's preset made from these.
    Datasheet,
    /// Somebody measured it on the thing itself.
    Measured,
    /// It follows from others by arithmetic.
    Derived,
    /// Nobody can know it otherwise: it is what is asked.
    Choice,
    /// A text leaves it open, and this is how it is read here.
    Reading,
    /// What is usual; it may be otherwise.
    Prior,
    /// Chosen so that a model says what was printed.
    Calibrated,
}

impl Grade {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Printed,
        Self::Datasheet,
        Self::Measured,
        Self::Derived,
        Self::Choice,
        Self::Reading,
        Self::Prior,
        Self::Calibrated,
    ];

    /// What it is called in sources.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Datasheet => "datasheet",
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Choice => "choice",
            Self::Reading => "reading",
            Self::Prior => "prior",
            Self::Calibrated => "calibrated",
        }
    }

    /// The grade that a source begins with, if it does.
    #[must_use]
    pub fn of(source: &str) -> Option<Self> {
        let word = source.split_once(':')?.0;
        Self::ALL.into_iter().find(|it| it.name() == word)
    }

    /// Whether the number may well be another, so that it must be said which.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Reading | Self::Prior)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What else a parameter could be.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// Any number between two.
    Between(f64, f64),
    /// One of several values.
    OneOf(Vec<Value>),
}

impl Spread {
    /// An entry of `[intervals]`: two numbers, or what a reading may be.
    ///
    /// # Errors
    /// What is wrong with it, if it does not hold `value`.
    pub(crate) fn read(entry: &[Value], reading: bool, value: &Value) -> Result<Self, String> {
        if reading {
            let same = |it: &Value| it == value || it.as_f64().is_some_and(|it| Some(it) == value.as_f64());
            return if entry.iter().any(same) && entry.len() > 1 {
                Ok(Self::OneOf(entry.to_vec()))
            } else {
                Err(format!("expected {value} and at least one other value"))
            };
        }
        let [low, high] = entry else {
            return Err(format!("expected two numbers, not {}", entry.len()));
        };
        match (low.as_f64(), value.as_f64(), high.as_f64()) {
            (Some(low), Some(value), Some(high)) if low <= value && value <= high && low < high => {
                Ok(Self::Between(low, high))
            }
            _ => Err(format!("expected a number below and one above {value}, not {low} and {high}")),
        }
    }

    /// The value at a place from 0 to 1, all as likely as each other: numbers above 0 by
    /// their ratios. Whole numbers where `nominal` is one.
    #[must_use]
    pub fn at(&self, place: f64, nominal: &Value) -> Value {
        match self {
            Self::OneOf(all) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss,
                    reason = "an index"
                )]
                let index = (place * all.len() as f64) as usize;
                all[index.min(all.len() - 1)].clone()
            }
            Self::Between(low, high) => {
                // Each whole number has a stretch of its own.
                let whole = nominal.is_u64() || nominal.is_i64();
                let (low, high) = if whole { (low - 0.499, high + 0.499) } else { (*low, *high) };
                let value =
                    if low > 0.0 { low * (high / low).powf(place) } else { low + (high - low) * place };
                #[expect(clippy::cast_possible_truncation, reason = "between two numbers of a description")]
                if whole { (value.round() as i64).into() } else { value.into() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_grade_is_read_as_it_is_called() {
        for it in Grade::ALL {
            assert_eq!(Grade::of(&format!("{it}: because")), Some(it));
        }
    }

    #[test]
    fn values_lie_where_they_may() {
        let between = Spread::read(&[json!(2), json!(20)], false, &json!(5.0)).unwrap();
        assert_eq!(between.at(0.0, &json!(5.0)), json!(2.0));
        assert!((between.at(0.5, &json!(5.0)).as_f64().unwrap() - 40_f64.sqrt()).abs() < 1e-9);
        let whole: Vec<Value> = (0..100).map(|it| between.at(f64::from(it) / 99.0, &json!(5))).collect();
        assert_eq!((&whole[0], &whole[99]), (&json!(2), &json!(20)));
        let linear = Spread::read(&[json!(0), json!(2)], false, &json!(1.0)).unwrap();
        assert_eq!(linear.at(0.25, &json!(1.0)), json!(0.5));
        let one_of = Spread::read(&[json!("a"), json!("b")], true, &json!("a")).unwrap();
        assert_eq!([0.0, 0.49, 0.5, 1.0].map(|it| one_of.at(it, &json!("a"))), ["a", "a", "b", "b"]);
    }

    #[test]
    fn what_does_not_hold_the_value_is_refused() {
        let read = |entry: &[Value], reading, value: Value| Spread::read(entry, reading, &value).unwrap_err();
        assert_eq!(
            read(&[json!(6), json!(7)], false, json!(5)),
            "expected a number below and one above 5, not 6 and 7"
        );
        assert_eq!(read(&[json!(6)], false, json!(5)), "expected two numbers, not 1");
        assert_eq!(read(&[json!("a")], true, json!("a")), "expected \"a\" and at least one other value");
    }
}
