//! What an experiment is.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use crate::colours::paint;
use crate::error::Error;
use crate::sets::{Sets, recorded};

/// One figure or table of a paper.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Paper and figure, for example `pimnast.fig10`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    about: &'static str,
    table: fn(&Parameters) -> Result<Table, Error>,
    plot: fn(&Table) -> Result<Figure, Error>,
}

impl Experiment {
    /// `about` says in one line of whom the figure is: model, batch, lengths, machine.
    pub(crate) const fn new(
        id: &'static str,
        title: &'static str,
        about: &'static str,
        table: fn(&Parameters) -> Result<Table, Error>,
        plot: fn(&Table) -> Result<Figure, Error>,
    ) -> Self {
        Self { id, title, about, table, plot }
    }

    /// The paper's part of the id.
    #[must_use]
    pub fn paper(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// Where the paper has it, such as `Fig. 10` or `Sec. 5.3.1`; empty for what is not in it.
    #[must_use]
    pub fn place(&self) -> String {
        let name = self.id.split_once('.').map_or("", |it| it.1);
        let kinds = [("fig", "Fig."), ("table", "Table"), ("sec", "Sec.")];
        let found = kinds.iter().find_map(|(kind, word)| Some((word, name.strip_prefix(kind)?)));
        let Some((word, number)) = found else { return String::new() };
        // What follows the number says what it is about.
        let number: Vec<&str> =
            number.split('_').take_while(|it| it.starts_with(|it: char| it.is_ascii_digit())).collect();
        let number = match number.as_slice() {
            [] => return String::new(),
            [digits] if digits.len() == 3 && digits.bytes().all(|it| it.is_ascii_digit()) => {
                digits.chars().map(String::from).collect::<Vec<_>>().join(".")
            }
            parts => parts.join("."),
        };
        format!("{word} {number}")
    }

    /// Where the paper has it, and of whom it is: model, batch, lengths, machine.
    #[must_use]
    pub fn about(&self) -> String {
        let (place, about) = (self.place(), self.about);
        if place.is_empty() { about.to_owned() } else { format!("{place}. {about}") }
    }

    /// Runs the experiment on the paper's hardware.
    ///
    /// # Errors
    /// [`Error`] if a point has no answer.
    pub fn table(&self) -> Result<Table, Error> {
        self.table_with(&Parameters::new())
    }

    /// Runs the experiment with parameters changed, as far as it asks them: what it sets itself
    /// stays as it is.
    ///
    /// # Errors
    /// [`Error`] if a parameter does not exist or a point has no answer.
    pub fn table_with(&self, changed: &Parameters) -> Result<Table, Error> {
        kept(self.id, changed, self.table)
    }

    /// Runs the experiment with parameters changed, each of which must count.
    ///
    /// # Errors
    /// [`Error::Unheeded`] for a parameter that the experiment sets itself or does not depend
    /// on; else as [`Experiment::table_with`].
    pub fn table_of(&self, changed: &Parameters) -> Result<Table, Error> {
        let (table, sets) = recorded(|| self.table_with(changed));
        if let Some(path) = changed.keys().find(|it| sets.holds(it)) {
            return Err(self.unheeded(path, &sets));
        }
        let table = table?;
        match changed.keys().find(|it| self.is_deaf_to(it, &table)) {
            Some(path) => Err(self.unheeded(path, &sets)),
            None => Ok(table),
        }
    }

    /// Whether nothing asks a parameter: even what no parameter can be costs no row its answer.
    fn is_deaf_to(&self, path: &str, table: &Table) -> bool {
        let without_answer = |it: &Table| it.text("error").map_or(0, |it| it.iter().flatten().count());
        let nonsense = Parameters::from_iter([(path.to_owned(), json!([{ "no such thing": true }]))]);
        self.table_with(&nonsense).is_ok_and(|it| without_answer(&it) <= without_answer(table))
    }

    fn unheeded(&self, path: &str, sets: &Sets) -> Error {
        Error::Unheeded {
            id: self.id,
            path: path.to_owned(),
            is_set: sets.holds(path),
            sets: sets.to_string(),
        }
    }

    /// Draws the experiment's table.
    ///
    /// # Errors
    /// [`Error`] if the table lacks a column or cannot be drawn.
    pub fn plot(&self, table: &Table) -> Result<Figure, Error> {
        let mut figure = self.sketch(table)?;
        paint(&mut figure);
        if figure.title.is_empty() {
            self.title.clone_into(&mut figure.title);
        }
        let about = self.about();
        let caption = format!("{about} {}", figure.caption);
        caption.trim().clone_into(&mut figure.caption);
        Ok(figure)
    }

    /// The figure without what all figures have.
    pub(crate) fn sketch(&self, table: &Table) -> Result<Figure, Error> {
        if table.height() == 0 {
            return Err(Error::NoRows { id: self.id });
        }
        (self.plot)(table)
    }
}

/// An experiment's table, run once as long as nothing is changed: figures, claims and other
/// experiments ask for the same. Two that do so at the same time both run it: who waits on
/// one of rayon's threads may wait for itself.
pub(crate) fn kept(
    id: &'static str,
    changed: &Parameters,
    table: fn(&Parameters) -> Result<Table, Error>,
) -> Result<Table, Error> {
    static KEPT: Mutex<BTreeMap<&str, Table>> = Mutex::new(BTreeMap::new());
    if !changed.is_empty() {
        return table(changed);
    }
    let all = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = all().get(id) {
        return Ok(found.clone());
    }
    let found = table(changed)?;
    all().insert(id, found.clone());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::papers::experiments;

    #[test]
    fn places_are_those_of_the_papers() {
        let place = |id: &str| experiments().find(|it| it.id == id).map(super::Experiment::place);
        for (id, expected) in [
            ("pimnast.fig10", "Fig. 10"),
            ("hermes.fig12a", "Fig. 12a"),
            ("riscv-sg2042.fig5_11", "Fig. 5.11"),
            ("npu-gemm.sec531_reconfiguration", "Sec. 5.3.1"),
            ("pimnast.sec2_bandwidth", "Sec. 2"),
            ("riscv-sg2042.table5_4", "Table 5.4"),
            ("pimnast.regret", ""),
        ] {
            assert_eq!(place(id).as_deref(), Some(expected), "{id}");
        }
    }

    #[test]
    fn every_figure_says_of_whom_it_is() {
        for it in experiments() {
            let about = it.about();
            assert!(about.ends_with('.') && about.len() < 170, "{}: {about}", it.id);
        }
    }
}
