//! What a claim is: one printed number, and what it is to the model.

use serde::{Deserialize, Serialize};

use super::printed::Printed;
use super::query::Query;

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
    pub value: Printed,
    /// Its unit.
    pub unit: String,
    /// How far the printed number may be from what it rounds, where its digits do not
    /// tell: 1 for "about 15".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
    /// Whether the number is only a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// What it is to the model.
    pub role: Role,
    /// Why no number is fitted to it, though the model is calibrated to it: it chose a reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfitted: Option<String>,
    /// Claims that give it by arithmetic, such as a rate by its time: a prediction that bars have
    /// counted, or that a number was fitted to, is not counted again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows_from: Vec<String>,
    /// What it takes to say it.
    #[serde(default)]
    pub sort: Sort,
    /// What version 0.1 said before anybody who worked on it had seen the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind: Option<f64>,
    /// How the model's number is found; a fact that the model does not use has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Query>,
    /// Where else a figure has a place for it: in another table than the query's, or beside a
    /// number that the model does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Query>,
    /// Why the model misses it, or how it is read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Claim {
    /// How far the printed number may be from what it rounds: by its digits, or as
    /// given.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        self.rounding.unwrap_or_else(|| self.value.rounding())
    }

    /// A model's number over the printed one less 1; the difference itself where 0 is
    /// printed; 0 on the right side of a limit.
    #[must_use]
    pub fn relative_error(&self, said: f64) -> f64 {
        let printed = self.value.number();
        match self.bound {
            // The limit's sign must not turn its sides.
            Some(Bound::Upper) if said <= printed => 0.0,
            Some(Bound::Lower) if printed <= said => 0.0,
            _ if printed == 0.0 => said,
            _ => said / printed - 1.0,
        }
    }

    /// Whether a model's number, rounded, has the printed digits.
    #[must_use]
    pub fn is_exact(&self, said: f64) -> bool {
        match self.bound {
            Some(_) => self.relative_error(said) == 0.0,
            // A hair beyond half a digit: sums of floats may fall on either side.
            None => (said - self.value.number()).abs() <= self.rounding() * (1.0 + 1e-9),
        }
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
    /// Fixed a free parameter, or chose a reading.
    Calibrate,
    /// The model should yield it.
    Predict,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Input, Self::Calibrate, Self::Predict];

    /// As in a claims file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Calibrate => "calibrate",
            Self::Predict => "predict",
        }
    }
}

/// What it takes to say a claim's number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Counting, capacity, or arithmetic on descriptions: no free parameter moves it.
    /// Met, it says that definitions are read right, and no more.
    Fact,
    /// A model of time or of activity.
    #[default]
    Performance,
}

impl Sort {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Fact, Self::Performance];

    /// As in a claims file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Performance => "performance",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(value: &str, extra: &str) -> Claim {
        let text =
            format!("id = 'a.b'\nwhere = ''\nsays = ''\nunit = ''\nrole = 'predict'\nvalue = {value}\n");
        toml::from_str(&format!("{text}{extra}")).unwrap()
    }

    #[test]
    fn digits_say_how_far_a_number_may_be_off() {
        let exact = |value: &str, said: f64| claim(value, "").is_exact(said);
        assert!(exact("'1.0'", 0.95) && exact("'1.0'", 1.05) && !exact("'1.0'", 1.06));
        assert!(exact("'1'", 0.5) && exact("'1'", 1.5) && !exact("'1'", 1.6));
        assert!(exact("'-6.80'", -6.804) && !exact("'-6.80'", -6.806));
        assert!(claim("'15'", "rounding = 1").is_exact(15.9));
    }

    #[test]
    fn a_number_without_its_digits_is_refused() {
        let refused = |value: &str| {
            let text =
                format!("id = 'a.b'\nwhere = ''\nsays = ''\nunit = ''\nrole = 'predict'\nvalue = {value}");
            toml::from_str::<Claim>(&text).unwrap_err().to_string()
        };
        assert!(refused("1.0").contains("expected the printed digits as text, such as \"1.0\""));
        for value in ["'nan'", "'1e3'", "''", "'about 15'"] {
            assert!(refused(value).contains("is no printed number"), "{value}");
        }
    }

    #[test]
    fn limits_are_met_on_their_side() {
        let error = |bound: &str, said: f64| claim("'62.0'", bound).relative_error(said);
        let of_zero = claim("'0.0'", "").relative_error(0.25);
        assert_eq!(
            (error("bound = 'upper'", 31.0), error("bound = 'lower'", 31.0), of_zero),
            (0.0, -0.5, 0.25)
        );
        assert!(claim("'62.0'", "bound = 'upper'").is_exact(31.0));
        assert!(!claim("'62.0'", "bound = 'lower'").is_exact(61.99));
    }
}
