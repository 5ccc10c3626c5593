//! What a page shows.

use serde_json::Value;

use crate::error::Error;
use crate::explorer::Explorer;
use crate::grid::Grid;
use crate::table::TableView;

/// A study that is asked, answers that are there, or a table.
pub enum View {
    /// A study behind a form.
    Study(Explorer),
    /// A study's answers over a grid.
    Grid(Grid),
    /// A table to look through.
    Table(TableView),
}

impl View {
    /// What the module draws from.
    #[must_use]
    pub fn spec(&self) -> Value {
        match self {
            Self::Study(it) => it.spec(),
            Self::Grid(it) => it.spec().clone(),
            Self::Table(it) => it.spec().clone(),
        }
    }

    /// A table's values; nothing of a study.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Table(it) => it.bytes(),
            Self::Study(_) | Self::Grid(_) => &[],
        }
    }

    /// What a page's title says.
    #[must_use]
    pub fn title(&self) -> String {
        self.spec()["study"].as_str().map_or_else(|| "table".to_owned(), str::to_owned)
    }

    /// Answers what the module asks.
    ///
    /// # Errors
    /// As [`Explorer::ask`]; of what holds its answers, nothing is asked.
    pub fn ask(&self, question: Value) -> Result<Value, Error> {
        match self {
            Self::Study(it) => it.ask(question),
            Self::Grid(_) | Self::Table(_) => {
                Err(Error::BadQuestion("this page holds what it shows, and asks no study".to_owned()))
            }
        }
    }
}

impl From<Explorer> for View {
    fn from(it: Explorer) -> Self {
        Self::Study(it)
    }
}

impl From<Grid> for View {
    fn from(it: Grid) -> Self {
        Self::Grid(it)
    }
}

impl From<TableView> for View {
    fn from(it: TableView) -> Self {
        Self::Table(it)
    }
}
