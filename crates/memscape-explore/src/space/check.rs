//! A formula whose names are found.

use memscape_study::node::Node;

use crate::error::Error;
use crate::expression::{Datum, Expression};

/// A formula whose names are found.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) expression: Expression,
    sources: Vec<Source>,
    /// The fastest dimension that a parameter in it depends on.
    pub(crate) deepest: Option<usize>,
}

/// Where a name's value is.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// At the end of a route that every tree has.
    Leaf(Vec<usize>),
    /// At a path, if the tree has it.
    Path(String),
    /// What an axis says at the point.
    Axis { dimension: usize, axis: usize },
    /// The same at every point.
    Given(Node),
    /// A column of the answer.
    Column(usize),
}

/// More names in one formula are more likely a mistake; as many stand on the stack.
const MOST_NAMES: usize = 16;

impl Check {
    pub(crate) fn new(
        expression: Expression,
        sources: Vec<Source>,
        deepest: Option<usize>,
    ) -> Result<Self, Error> {
        if sources.len() > MOST_NAMES {
            let problem = format!("more than {MOST_NAMES} names in one formula; give several");
            return Err(expression.fault_at(MOST_NAMES, problem));
        }
        Ok(Self { expression, sources, deepest })
    }

    pub(crate) fn needs_answer(&self) -> bool {
        self.sources.iter().any(|it| matches!(it, Source::Column(_)))
    }

    /// The column that it is, if it is nothing else.
    pub(crate) fn is_column(&self) -> Option<usize> {
        match self.sources[..] {
            [Source::Column(index)] if self.expression.names().next() == Some(self.expression.text()) => {
                Some(index)
            }
            _ => None,
        }
    }

    /// The value, and whether it is true, where `find` says what the names are.
    #[inline]
    pub(crate) fn value<'a, T>(
        &'a self,
        find: impl Fn(&'a Source) -> Datum<'a>,
        take: impl FnOnce(Datum<'a>) -> T,
    ) -> T {
        let mut data = [Datum::Null; MOST_NAMES];
        for (place, source) in data.iter_mut().zip(&self.sources) {
            *place = find(source);
        }
        take(self.expression.value(&data))
    }

    /// Whether it is true; what is null is not.
    #[inline]
    pub(crate) fn holds<'a>(&'a self, find: impl Fn(&'a Source) -> Datum<'a>) -> bool {
        self.value(find, |it| it == Datum::Bool(true))
    }
}
