//! What the five have in common: a row for each case, and how losses are spread.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Axis, Figure, GroupedBars, Lines};
use serde_json::Value;

use crate::error::Error;
use crate::sets::note;
use crate::sweeps::{distinct, with};

/// A machine: the paper's, with what is changed of it.
pub struct Machine {
    pub name: &'static str,
    pub changed: Vec<(&'static str, Value)>,
}

/// Names a machine.
pub fn machine<const N: usize>(name: &'static str, changed: [(&'static str, Value); N]) -> Machine {
    Machine { name, changed: changed.into() }
}

impl Machine {
    /// What is changed of the paper's machine, with what makes it this one on top.
    pub fn of(&self, changed: &Parameters) -> Parameters {
        note(self.changed.iter().map(|it| it.0));
        with(changed, self.changed.iter().cloned())
    }
}

/// One choice: what the heuristic takes, and what the best does.
pub struct Case {
    pub machine: &'static str,
    pub model: String,
    /// What is chosen for: a matrix, a prompt, a precision.
    pub of: String,
    /// The heuristic's choice.
    pub chosen: String,
    /// The best one.
    pub best: String,
    pub chosen_ns: f64,
    pub best_ns: f64,
}

/// A row for each case; `of` names the column of what is chosen for.
pub fn table(of: &str, cases: &[Case]) -> Result<Table, Error> {
    let text =
        |pick: fn(&Case) -> &str| Column::Text(cases.iter().map(|it| Some(pick(it).to_owned())).collect());
    let number = |pick: fn(&Case) -> f64| Column::Float(cases.iter().map(|it| Some(pick(it))).collect());
    Ok(Table::from_columns([
        ("machine", text(|it| it.machine)),
        ("model", text(|it| &it.model)),
        (of, text(|it| &it.of)),
        ("chosen", text(|it| &it.chosen)),
        ("best", text(|it| &it.best)),
        ("chosen_ns", number(|it| it.chosen_ns)),
        ("best_ns", number(|it| it.best_ns)),
        ("loss_percent", number(|it| 100.0 * (it.chosen_ns / it.best_ns - 1.0))),
    ])?)
}

/// Losses of a machine from least to most.
fn sorted(table: &Table, machine: &str) -> Result<Vec<f64>, Error> {
    let mut losses: Vec<f64> =
        table.filter("machine", machine)?.f64("loss_percent")?.into_iter().flatten().collect();
    losses.sort_by(f64::total_cmp);
    Ok(losses)
}

/// The least loss that so many of a hundred cases do not pass.
fn quantile(losses: &[f64], percent: usize) -> Option<f64> {
    let rank = (losses.len() * percent).div_ceil(100).max(1);
    losses.get(rank - 1).copied()
}

/// Parts of the cases of which the bars say the loss.
const QUANTILES: [(usize, &str); 3] = [(50, "Median"), (90, "9 of 10 lose no more"), (100, "Worst")];

/// How losses are spread on each machine: all of them, and three of them as bars.
#[expect(clippy::cast_precision_loss, reason = "some hundred cases")]
pub fn spread(table: &Table) -> Result<Figure, Error> {
    let machines = distinct(table, "machine")?;
    let mut lines = Lines::new(
        Axis::linear("Cases, from least to most (%)").range(0.0, 100.0),
        Axis::linear("Loss against the best (%)"),
    );
    let mut bars = GroupedBars::new("Loss against the best (%)", machines.clone());
    let all: Vec<Vec<f64>> = machines.iter().map(|it| sorted(table, it)).collect::<Result<_, _>>()?;
    for (machine, losses) in machines.iter().zip(&all) {
        let share = |rank: usize| 100.0 * (rank + 1) as f64 / losses.len() as f64;
        let points = losses.iter().enumerate().map(|(rank, loss)| (share(rank), *loss));
        lines = lines.marked(memscape_plot::Mark::Line, machine.as_str(), points);
    }
    for (percent, name) in QUANTILES {
        bars = bars.series(name, all.iter().map(|it| quantile(it, percent)));
    }
    Ok(Figure::two_columns()
        .columns(1)
        .plot_height_in(1.3)
        .panel("(a) All cases", lines)
        .panel("(b) Median, nine of ten, worst", bars.graded().decimals(1)))
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_losses_that_occur() {
        let losses = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(quantile(&losses, 50), Some(1.0));
        assert_eq!(quantile(&losses, 90), Some(3.0));
        assert_eq!((quantile(&losses, 100), quantile(&[], 50)), (Some(3.0), None));
    }
}
