//! What a formula computes with.

use std::cmp::Ordering;

/// One value. `Null` is a value that is not there: what is computed from it is null
/// too, so that nothing holds of it by accident.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Datum<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(&'a str),
}

/// What kind of value a name stands for, where that is known in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Bool,
    Number,
    Text,
}

impl Sort {
    /// As it is called in messages.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
        }
    }
}

impl Datum<'_> {
    /// The number, if it is one and finite.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Self::Number(it) if it.is_finite() => Some(it),
            _ => None,
        }
    }

    /// The truth value; null if it is none.
    pub(crate) fn truth(self) -> Option<bool> {
        match self {
            Self::Bool(it) => Some(it),
            _ => None,
        }
    }

    /// Null where either is null, false where they are of different sorts.
    pub(crate) fn equals(self, other: Self) -> Option<bool> {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => None,
            (one, other) => Some(one == other),
        }
    }

    /// Which comes first; null unless both are numbers or both are texts.
    pub(crate) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.partial_cmp(&other),
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }
}

impl From<Option<bool>> for Datum<'_> {
    fn from(truth: Option<bool>) -> Self {
        truth.map_or(Self::Null, Self::Bool)
    }
}
