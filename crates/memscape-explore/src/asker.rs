//! A study as it is asked by who does not know its type.

use memscape_study::Study;
use memscape_study::node::Node;
use serde_json::Value;

use crate::columns::Columns;
use crate::error::Error;
use crate::guard::{guarded, quietly};
use crate::parameters::{Anatomy, Parameters};
use crate::space::{Change, Cursor, Plan, Space};

/// How a study is asked by who does not know its type.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub(crate) anatomy: &'a Anatomy,
    /// Adds a row: the answer where a cursor stands, or why there is none.
    push: fn(&mut Cursor<'_>, &mut Columns),
    /// Whether a tree is a question at all.
    read: fn(&Anatomy, &mut Node) -> Result<(), Error>,
}

impl<'a> Asker<'a> {
    pub(crate) fn of<S: Study>(anatomy: &'a Anatomy) -> Self {
        Self {
            anatomy,
            push: |cursor, columns| columns.push(cursor.study::<S>().and_then(|it| ask(&it))),
            read: |anatomy, tree| anatomy.read::<S>(tree).map(drop),
        }
    }

    /// A space of the study. A base that no axis mends is refused at once.
    ///
    /// # Errors
    /// [`Error`] names the parameter, axis or constraint at fault.
    pub(crate) fn plan(&self, base: &[Parameters], space: &Space) -> Result<Plan<'a>, Error> {
        let plan = Plan::new(self.anatomy, base, space, None)?;
        self.check_base(&plan)?;
        Ok(plan)
    }

    /// A fault of the base, in a parameter that no axis changes, would be the
    /// same in each row, so it is reported at once.
    pub(crate) fn check_base(&self, plan: &Plan<'_>) -> Result<(), Error> {
        let mut tree = self.anatomy.expand(&plan.base)?;
        match (self.read)(self.anatomy, &mut tree) {
            Err(Error::BadParameter { path, given, problem })
                if !path.is_empty()
                    && !plan.axes().any(|it| {
                        it.path == path
                            || path.starts_with(&format!("{}.", it.path))
                            || matches!(it.change, Change::Tree { .. })
                    }) =>
            {
                Err(Error::BadParameter { path, given, problem })
            }
            _ => Ok(()),
        }
    }

    /// Answers where a cursor stands. A model that panics has no answer there.
    pub(crate) fn push(&self, cursor: &mut Cursor<'_>, columns: &mut Columns) {
        if let Err(error) = quietly(|| (self.push)(cursor, columns)) {
            columns.push_error(&error);
        }
    }

    /// No rows yet.
    pub(crate) fn empty(&self) -> Columns {
        self.anatomy.columns.clone()
    }
}

fn ask<S: Study>(study: &S) -> Result<S::Answer, Error> {
    study.answer().map_err(|it| Error::NoAnswer(it.to_string()))
}

/// Answers one point.
pub(crate) fn answer<S: Study>(
    anatomy: &Anatomy,
    layers: &[&Parameters],
) -> Result<Vec<(String, Value)>, Error> {
    guarded(|| {
        let mut tree = anatomy.expand(&anatomy.flatten_layers(layers)?)?;
        let answer = ask(&anatomy.read::<S>(&mut tree)?)?;
        let mut columns = anatomy.columns.clone();
        columns.push(Ok(answer));
        columns.into_row().map_err(Error::NotAnAnswer)
    })
}
