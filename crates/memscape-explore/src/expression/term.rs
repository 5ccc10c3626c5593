//! A formula as a tree: what sort of value it has, and which.

use std::cmp::Ordering;
use std::iter;

use super::datum::{Datum, Sort};
use super::token::fault;
use crate::error::Error;

/// A part of a formula and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) at: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    Bool(bool),
    Text(String),
    Null,
    /// Its place among the formula's names.
    Name(usize),
    Negative(Box<Term>),
    Arithmetic(Operator, Box<Term>, Box<Term>),
    Call(Function, Vec<Term>),
    /// `1 <= x < 8`: each neighbours' comparison holds.
    Compare(Box<Term>, Vec<(Comparison, Term)>),
    /// `x in [1, 2]`, and whether it is `not in`.
    Among(Box<Term>, Vec<Term>, bool),
    Not(Box<Term>),
    /// `and`, or else `or`.
    Logic(bool, Vec<Term>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideFloor,
    Remainder,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Min,
    Max,
    Abs,
    Sqrt,
    Log2,
    Log10,
    Floor,
    Ceil,
    Round,
}

impl Function {
    pub(crate) const ALL: [(&'static str, Self); 9] = [
        ("min", Self::Min),
        ("max", Self::Max),
        ("abs", Self::Abs),
        ("sqrt", Self::Sqrt),
        ("log2", Self::Log2),
        ("log10", Self::Log10),
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
        ("round", Self::Round),
    ];

    /// Whether it takes several values.
    pub(crate) fn takes_several(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }
}

impl Comparison {
    fn holds(self, one: Datum<'_>, other: Datum<'_>) -> Option<bool> {
        let order = || one.order(other);
        match self {
            Self::Equal => one.equals(other),
            Self::NotEqual => one.equals(other).map(|it| !it),
            Self::Less => order().map(Ordering::is_lt),
            Self::LessOrEqual => order().map(Ordering::is_le),
            Self::Greater => order().map(Ordering::is_gt),
            Self::GreaterOrEqual => order().map(Ordering::is_ge),
        }
    }

    fn is_order(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }
}

impl Term {
    /// Which names are held against which texts, and where these stand.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<(usize, &'a str, usize)>) {
        let mut pair = |one: &Self, other: &'a Self| {
            if let (Kind::Name(name), Kind::Text(text)) = (&one.kind, &other.kind) {
                found.push((*name, text, other.at));
            }
        };
        let parts: Vec<&'a Self> = match &self.kind {
            Kind::Number(_) | Kind::Bool(_) | Kind::Text(_) | Kind::Null | Kind::Name(_) => Vec::new(),
            Kind::Negative(it) | Kind::Not(it) => vec![it],
            Kind::Arithmetic(_, one, other) => vec![one, other],
            Kind::Call(_, all) | Kind::Logic(_, all) => all.iter().collect(),
            Kind::Among(one, all, _) => {
                for it in all {
                    pair(one, it);
                }
                vec![one]
            }
            Kind::Compare(first, rest) => {
                let all: Vec<&'a Self> = iter::once(&**first).chain(rest.iter().map(|it| &it.1)).collect();
                for two in all.windows(2) {
                    pair(two[0], two[1]);
                    pair(two[1], two[0]);
                }
                all
            }
        };
        for it in parts {
            it.texts(found);
        }
    }

    /// The value, where the names stand for `data`.
    pub(crate) fn value<'a>(&'a self, data: &[Datum<'a>]) -> Datum<'a> {
        match &self.kind {
            Kind::Number(it) => Datum::Number(*it),
            Kind::Bool(it) => Datum::Bool(*it),
            Kind::Text(it) => Datum::Text(it),
            Kind::Null => Datum::Null,
            Kind::Name(index) => data[*index],
            Kind::Negative(it) => match it.value(data) {
                Datum::Number(it) => Datum::Number(-it),
                _ => Datum::Null,
            },
            Kind::Arithmetic(operator, one, other) => match (one.value(data), other.value(data)) {
                (Datum::Number(one), Datum::Number(other)) => Datum::Number(operator.apply(one, other)),
                _ => Datum::Null,
            },
            Kind::Call(function, given) => function.apply(given, data),
            Kind::Compare(first, rest) => {
                let mut before = first.value(data);
                let holds = rest.iter().map(|(comparison, term)| {
                    let next = term.value(data);
                    let holds = match (&first.kind, &term.kind) {
                        // Whether there is a value at all can be asked.
                        (_, Kind::Null) | (Kind::Null, _) if !comparison.is_order() => {
                            Some((before == next) == (*comparison == Comparison::Equal))
                        }
                        _ => comparison.holds(before, next),
                    };
                    before = next;
                    holds
                });
                all(holds).into()
            }
            Kind::Among(term, given, negated) => {
                let value = term.value(data);
                let found = any(given.iter().map(|it| value.equals(it.value(data))));
                found.map(|it| it != *negated).into()
            }
            Kind::Not(term) => term.value(data).truth().map(|it| !it).into(),
            Kind::Logic(true, terms) => all(terms.iter().map(|it| it.value(data).truth())).into(),
            Kind::Logic(false, terms) => any(terms.iter().map(|it| it.value(data).truth())).into(),
        }
    }

    /// The sort of its value, `None` if only a point will tell, where the names are
    /// of these sorts.
    pub(crate) fn sort(&self, text: &str, names: &[Option<Sort>]) -> Result<Option<Sort>, Error> {
        let want = |term: &Term, wanted: Sort, what: &str| term.expect(text, names, wanted, what);
        Ok(match &self.kind {
            Kind::Number(_) => Some(Sort::Number),
            Kind::Bool(_) => Some(Sort::Bool),
            Kind::Text(_) => Some(Sort::Text),
            Kind::Null => None,
            Kind::Name(index) => names[*index],
            Kind::Negative(it) => want(it, Sort::Number, "`-` takes")?,
            Kind::Arithmetic(_, one, other) => {
                want(one, Sort::Number, "arithmetic takes")?;
                want(other, Sort::Number, "arithmetic takes")?
            }
            Kind::Call(_, given) => {
                for it in given {
                    want(it, Sort::Number, "a function takes")?;
                }
                Some(Sort::Number)
            }
            Kind::Compare(first, rest) => {
                let mut before = first.sort(text, names)?;
                for (comparison, term) in rest {
                    let next = term.sort(text, names)?;
                    check_comparable(text, term.at, *comparison, before, next)?;
                    before = next;
                }
                Some(Sort::Bool)
            }
            Kind::Among(term, given, _) => {
                let sort = term.sort(text, names)?;
                for it in given {
                    check_comparable(text, it.at, Comparison::Equal, sort, it.sort(text, names)?)?;
                }
                Some(Sort::Bool)
            }
            Kind::Not(it) => want(it, Sort::Bool, "`not` takes")?,
            Kind::Logic(and, terms) => {
                for it in terms {
                    want(it, Sort::Bool, if *and { "`and` takes" } else { "`or` takes" })?;
                }
                Some(Sort::Bool)
            }
        })
    }

    /// That it can be of the wanted sort.
    pub(crate) fn expect(
        &self,
        text: &str,
        names: &[Option<Sort>],
        wanted: Sort,
        what: &str,
    ) -> Result<Option<Sort>, Error> {
        match self.sort(text, names)? {
            Some(it) if it != wanted => {
                let problem = format!("{what} {}, and this is {}", wanted.described(), it.described());
                Err(fault(text, self.at, problem))
            }
            _ => Ok(Some(wanted)),
        }
    }
}

fn check_comparable(
    text: &str,
    at: usize,
    comparison: Comparison,
    one: Option<Sort>,
    other: Option<Sort>,
) -> Result<(), Error> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => {
            let problem = format!("{} cannot be compared with {}", one.described(), other.described());
            Err(fault(text, at, problem))
        }
        (Some(Sort::Bool), _) | (_, Some(Sort::Bool)) if comparison.is_order() => {
            Err(fault(text, at, "true and false have no order; use `==`, `not`, `and`, `or`"))
        }
        _ => Ok(()),
    }
}

/// False if one is, else null if one is.
fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = true;
    for it in truths {
        match it {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

/// True if one is, else null if one is.
fn any(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(truths.map(|it| it.map(|it| !it))).map(|it| !it)
}

impl Operator {
    fn apply(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Add => one + other,
            Self::Subtract => one - other,
            Self::Multiply => one * other,
            Self::Divide => one / other,
            Self::DivideFloor => divided(one, other).0,
            Self::Remainder => divided(one, other).1,
            Self::Power => one.powf(other),
        }
    }
}

/// Quotient and remainder as of Python's floats: the remainder is exact and of the divisor's sign, and the
/// quotient is the whole number that belongs to it, which a rounded `one / other` may exceed.
fn divided(one: f64, other: f64) -> (f64, f64) {
    let rest = one % other;
    if other == 0.0 || !rest.is_finite() || other.is_infinite() {
        return ((one / other).floor(), one - other * (one / other).floor());
    }
    let is_below = rest != 0.0 && (rest < 0.0) != (other < 0.0);
    let rest = if is_below { rest + other } else { rest };
    (((one - rest) / other).round(), if rest == 0.0 { 0.0_f64.copysign(other) } else { rest })
}

impl Function {
    fn apply<'a>(self, given: &'a [Term], data: &[Datum<'a>]) -> Datum<'a> {
        let mut numbers = given.iter().map(|it| match it.value(data) {
            Datum::Number(it) => Some(it),
            _ => None,
        });
        let fold = |numbers: &mut dyn Iterator<Item = Option<f64>>, pick: fn(f64, f64) -> f64| {
            numbers.reduce(|one, other| Some(pick(one?, other?))).flatten()
        };
        let result = match self {
            Self::Min => fold(&mut numbers, f64::min),
            Self::Max => fold(&mut numbers, f64::max),
            _ => numbers.next().flatten().map(|it| match self {
                Self::Abs => it.abs(),
                Self::Sqrt => it.sqrt(),
                Self::Log2 => it.log2(),
                Self::Log10 => it.log10(),
                Self::Floor => it.floor(),
                Self::Ceil => it.ceil(),
                _ => it.round(),
            }),
        };
        result.map_or(Datum::Null, Datum::Number)
    }
}
