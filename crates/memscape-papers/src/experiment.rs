//! What an experiment is.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;

use crate::error::Error;

/// One figure or table of a paper.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Paper and figure, for example `pimnast.fig10`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    table: fn(&Parameters) -> Result<Table, Error>,
    plot: fn(&Table) -> Result<Figure, Error>,
}

impl Experiment {
    pub(crate) const fn new(
        id: &'static str,
        title: &'static str,
        table: fn(&Parameters) -> Result<Table, Error>,
        plot: fn(&Table) -> Result<Figure, Error>,
    ) -> Self {
        Self { id, title, table, plot }
    }

    /// The paper's part of the id.
    #[must_use]
    pub fn paper(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// Runs the experiment on the paper's hardware.
    ///
    /// # Errors
    /// [`Error`] if a point has no answer.
    pub fn table(&self) -> Result<Table, Error> {
        self.table_with(&Parameters::new())
    }

    /// Runs the experiment with parameters changed, for example other timings.
    /// What the experiment itself varies stays as it is.
    ///
    /// # Errors
    /// [`Error`] if a parameter does not exist or a point has no answer.
    pub fn table_with(&self, changed: &Parameters) -> Result<Table, Error> {
        (self.table)(changed)
    }

    /// Draws the experiment's table.
    ///
    /// # Errors
    /// [`Error`] if the table lacks a column or cannot be drawn.
    pub fn plot(&self, table: &Table) -> Result<Figure, Error> {
        if table.height() == 0 {
            return Err(Error::NoRows { id: self.id });
        }
        (self.plot)(table)
    }
}
