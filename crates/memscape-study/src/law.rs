//! What must hold of a study's answers on any machine, as data beside the study.
//!
//! A law says what more of a parameter does to the column that matters. `describe`
//! shows it; a checker in the crates above draws random machines and holds the
//! study to it.
//!
//! ```
//! use memscape_study::{Aim, Effect, Laws, When, either, faster, neutral, slower, unused};
//!
//! /// What several studies say of a link.
//! const LINK: &[Effect] = &[
//!     faster("link.lanes"),
//!     slower("link.latency_ns").only(&[When::is("engine", &["events"])]),
//!     unused("link.price_usd", "no column is a price"),
//! ];
//! const LAWS: Laws = Laws {
//!     aim: Some(Aim::less("total_ns")),
//!     effects: &[
//!         LINK,
//!         &[
//!             either("tile.rows", "a taller tile reads less and leaves more cores without one"),
//!             neutral("seed"),
//!         ],
//!     ],
//!     ..Laws::NONE
//! };
//! assert_eq!(LAWS.effect_on("link.lanes").unwrap().path, "link.lanes");
//! assert!(LAWS.effect_on("host.cores").is_none());
//! ```

use std::fmt;

/// What a study promises of its answers.
#[derive(Debug, Clone, Copy)]
pub struct Laws {
    /// The column that matters and which way is better.
    pub aim: Option<Aim>,
    /// What more of each numeric parameter does to it, in lists that studies may share; a later one may say
    /// otherwise of the same path.
    pub effects: &'static [&'static [Effect]],
    /// What more of a parameter does to other columns, in such lists.
    pub trends: &'static [&'static [Trend]],
    /// How far its two engines may be apart.
    pub engines: Option<Engines>,
    /// What remains when a resource has no end.
    pub limits: &'static [Limit],
    /// Whether an answer takes milliseconds, so that fewer points must do.
    pub slow: bool,
}

impl Laws {
    /// Nothing promised.
    pub const NONE: Self =
        Self { aim: None, effects: &[], trends: &[], engines: None, limits: &[], slow: false };

    /// What is said of a parameter: the longest of the paths that cover it, and of equal ones the last.
    #[must_use]
    pub fn effect_on(&self, path: &str) -> Option<&'static Effect> {
        let covering = self.effects().filter(|it| covers(it.path, path));
        covering.max_by_key(|it| (!it.path.ends_with('*'), it.path.len()))
    }

    /// Whether nothing in the study depends on a parameter, so that it is none of its own.
    #[must_use]
    pub fn is_unused(&self, path: &str) -> bool {
        self.effect_on(path).is_some_and(|it| matches!(it.more, More::Unused(_)))
    }

    /// What is said of parameters, list after list.
    pub fn effects(&self) -> impl Iterator<Item = &'static Effect> + use<> {
        self.effects.iter().copied().flatten()
    }

    /// What is said of other columns, list after list.
    pub fn trends(&self) -> impl Iterator<Item = &'static Trend> + use<> {
        self.trends.iter().copied().flatten()
    }

    /// The columns that must not move the other way with a parameter.
    pub fn trends_of<'a>(&self, path: &'a str) -> impl Iterator<Item = &'static Trend> + use<'a> {
        self.trends().filter(move |it| covers(it.path, path))
    }
}

/// Whether a path is the one of a law, or begins as one that ends in `*`.
fn covers(law: &str, path: &str) -> bool {
    match law.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => law == path,
    }
}

/// What more of a parameter never does to a column, wherever both are numbers.
///
/// ```
/// use memscape_study::{Laws, lowers, raises};
///
/// const LAWS: Laws = Laws {
///     trends: &[&[raises("memory.energy.*", "energy_j"), lowers("memory.trefi_ns", "energy_refresh_j")]],
///     ..Laws::NONE
/// };
/// assert_eq!(LAWS.trends_of("memory.trefi_ns").count(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The parameter's dotted path; all that begin so if it ends in `*`.
    pub path: &'static str,
    /// The column.
    pub column: &'static str,
    /// Whether more of the parameter is never less of the column, rather than never more.
    pub rises: bool,
    /// Where it is said: all of these hold.
    pub only: &'static [When],
}

impl Trend {
    /// The same, said of points alone at which all of these hold.
    #[must_use]
    pub const fn only(self, only: &'static [When]) -> Self {
        Self { only, ..self }
    }
}

/// More of the parameter is never less of the column.
#[must_use]
pub const fn raises(path: &'static str, column: &'static str) -> Trend {
    Trend { path, column, rises: true, only: &[] }
}

/// More of the parameter is never more of the column.
#[must_use]
pub const fn lowers(path: &'static str, column: &'static str) -> Trend {
    Trend { path, column, rises: false, only: &[] }
}

/// The column that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aim {
    /// Its name.
    pub column: &'static str,
    /// Whether a higher value is better.
    pub more_is_better: bool,
}

impl Aim {
    /// A time, for example.
    #[must_use]
    pub const fn less(column: &'static str) -> Self {
        Self { column, more_is_better: false }
    }

    /// A rate, for example.
    #[must_use]
    pub const fn more(column: &'static str) -> Self {
        Self { column, more_is_better: true }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.more_is_better { "more" } else { "less" }, self.column)
    }
}

/// What more of a parameter does.
#[derive(Debug, Clone, Copy)]
pub struct Effect {
    /// The parameter's dotted path; all that begin so if it ends in `*`.
    pub path: &'static str,
    /// Which way the aim goes.
    pub more: More,
    /// Where it has any effect, if not everywhere: all of these hold.
    pub only: &'static [When],
    /// Where the law does not hold, and why.
    pub except: &'static [Exception],
}

/// Which way the aim goes with more of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Never worse.
    Better,
    /// Never better.
    Worse,
    /// The aim stays; other columns move.
    Neutral,
    /// Either way, for a reason.
    Either(&'static str),
    /// The answer cannot depend on it, for a reason: it is part of a description
    /// that other studies use, and no parameter of this one.
    Unused(&'static str),
}

/// A case in which a law is broken, as where a paper's algorithm is kept as printed.
#[derive(Debug, Clone, Copy)]
pub struct Exception {
    /// Where.
    pub when: When,
    /// Why it stays.
    pub reason: &'static str,
}

/// A condition on one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct When {
    /// Its dotted path.
    pub path: &'static str,
    /// What is asked of it.
    pub test: Test,
}

/// What is asked of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Test {
    /// One of these; `null` and truth values as words.
    Is(&'static [&'static str]),
    /// None of these.
    IsNot(&'static [&'static str]),
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
}

impl When {
    /// The parameter is one of these.
    #[must_use]
    pub const fn is(path: &'static str, values: &'static [&'static str]) -> Self {
        Self { path, test: Test::Is(values) }
    }

    /// The parameter is none of these.
    #[must_use]
    pub const fn is_not(path: &'static str, values: &'static [&'static str]) -> Self {
        Self { path, test: Test::IsNot(values) }
    }

    /// The parameter is more than this.
    #[must_use]
    pub const fn above(path: &'static str, limit: f64) -> Self {
        Self { path, test: Test::Above(limit) }
    }

    /// The parameter is less than this.
    #[must_use]
    pub const fn below(path: &'static str, limit: f64) -> Self {
        Self { path, test: Test::Below(limit) }
    }

    /// Whether a value passes.
    #[must_use]
    pub fn holds(&self, value: &serde_json::Value) -> bool {
        let among = |all: &[&str]| match value {
            serde_json::Value::String(text) => all.contains(&text.as_str()),
            other => all.contains(&other.to_string().as_str()),
        };
        match self.test {
            Test::Is(values) => among(values),
            Test::IsNot(values) => !among(values),
            Test::Above(limit) => value.as_f64().is_some_and(|it| it > limit),
            Test::Below(limit) => value.as_f64().is_some_and(|it| it < limit),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, test } = self;
        match test {
            Test::Is(values) => write!(f, "{path} is {}", values.join(" or ")),
            Test::IsNot(values) => write!(f, "{path} is not {}", values.join(" or ")),
            Test::Above(limit) => write!(f, "{path} > {limit}"),
            Test::Below(limit) => write!(f, "{path} < {limit}"),
        }
    }
}

/// More of it is never worse.
#[must_use]
pub const fn faster(path: &'static str) -> Effect {
    Effect { path, more: More::Better, only: &[], except: &[] }
}

/// More of it is never better.
#[must_use]
pub const fn slower(path: &'static str) -> Effect {
    Effect { path, more: More::Worse, only: &[], except: &[] }
}

/// More of it leaves the aim as it is.
#[must_use]
pub const fn neutral(path: &'static str) -> Effect {
    Effect { path, more: More::Neutral, only: &[], except: &[] }
}

/// More of it may help or hurt, and why.
#[must_use]
pub const fn either(path: &'static str, reason: &'static str) -> Effect {
    Effect { path, more: More::Either(reason), only: &[], except: &[] }
}

/// Nothing here depends on it, and why: it is refused as a parameter.
#[must_use]
pub const fn unused(path: &'static str, reason: &'static str) -> Effect {
    Effect { path, more: More::Unused(reason), only: &[], except: &[] }
}

impl Effect {
    /// The parameter acts only where all of these hold.
    #[must_use]
    pub const fn only(mut self, when: &'static [When]) -> Self {
        self.only = when;
        self
    }

    /// The law does not hold in these cases.
    #[must_use]
    pub const fn except(mut self, cases: &'static [Exception]) -> Self {
        self.except = cases;
        self
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.more {
            More::Better => f.write_str("faster")?,
            More::Worse => f.write_str("slower")?,
            More::Neutral => f.write_str("neutral")?,
            More::Either(reason) => write!(f, "either: {reason}")?,
            More::Unused(reason) => write!(f, "unused: {reason}")?,
        }
        for (n, when) in self.only.iter().enumerate() {
            write!(f, "{}{when}", if n == 0 { "; only where " } else { " and " })?;
        }
        for it in self.except {
            write!(f, "; not where {}: {}", it.when, it.reason)?;
        }
        Ok(())
    }
}

/// Two engines that answer the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Engines {
    /// The parameter that chooses.
    pub parameter: &'static str,
    /// The two values.
    pub values: [&'static str; 2],
    /// How far the aim may be apart, of itself: 0 where both are exact.
    pub within: f64,
}

impl Engines {
    /// `engine = "closed"` and `"events"`.
    #[must_use]
    pub const fn closed_and_events(within: f64) -> Self {
        Self { parameter: "engine", values: ["closed", "events"], within }
    }
}

/// A resource without end: what it bounds goes to nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The parameters that grow, each by this factor (below one for a delay), or as far as its range goes if that
    /// is by two thousand at least.
    pub grow: &'static [(&'static str, f64)],
    /// The columns that go below a thousandth of what they were.
    pub vanish: &'static [&'static str],
}

/// What a column cannot pass, found from the description alone: bytes over the
/// bandwidth of what moves them, operations over a rate, a capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The column.
    pub column: &'static str,
    /// What it is held against.
    pub limit: Limited,
    /// For people: `weights over the channels' peak`.
    pub why: String,
}

/// Which side of a column is closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limited {
    /// Nothing below.
    AtLeast(f64),
    /// Nothing above.
    AtMost(f64),
}

impl Bound {
    /// Nothing below: a time.
    #[must_use]
    pub fn at_least(column: &'static str, least: f64, why: impl Into<String>) -> Self {
        Self { column, limit: Limited::AtLeast(least), why: why.into() }
    }

    /// Nothing above: what must fit.
    #[must_use]
    pub fn at_most(column: &'static str, most: f64, why: impl Into<String>) -> Self {
        Self { column, limit: Limited::AtMost(most), why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LAWS: Laws = Laws {
        effects: &[&[faster("memory.*"), slower("memory.trcd_ns"), neutral("memory.t*")]],
        ..Laws::NONE
    };

    #[test]
    fn the_longest_path_decides() {
        let of = |path| LAWS.effect_on(path).map(|it| it.more);
        assert_eq!(of("memory.channels"), Some(More::Better));
        assert_eq!(of("memory.trcd_ns"), Some(More::Worse));
        assert_eq!(of("memory.trp_ns"), Some(More::Neutral));
        assert_eq!(of("memory"), None);
    }

    #[test]
    fn conditions_read_texts_words_and_numbers() {
        assert!(When::is("engine", &["events"]).holds(&json!("events")));
        assert!(When::is("cap", &["null"]).holds(&json!(null)));
        assert!(When::is_not("on", &["true"]).holds(&json!(false)));
        assert!(When::above("n", 1.0).holds(&json!(2)) && !When::above("n", 1.0).holds(&json!(null)));
        assert!(When::below("n", 1.0).holds(&json!(0.5)));
    }

    #[test]
    fn an_effect_reads_as_a_sentence() {
        const CASES: &[Exception] = &[Exception { when: When::is("policy", &["printed"]), reason: "kept" }];
        const ONLY: &[When] = &[When::is("engine", &["events"]), When::above("n", 0.0)];
        let it = slower("a").only(ONLY).except(CASES);
        let text = "slower; only where engine is events and n > 0; not where policy is printed: kept";
        assert_eq!(it.to_string(), text);
    }
}
