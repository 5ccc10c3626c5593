//! `memscape search`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{
    Objective, Origin, Search, Strategy, Table, ended_early, not_compared, nothing_found, once_each,
};
use memscape::prelude::study;

use crate::args::{Kept, Sought};
use crate::failure::Failure;
use crate::keep::{answered, keep};
use crate::read::{check_table, read};
use crate::show::{short, show};

/// What the command line says over the study file.
pub struct Given {
    pub sought: Sought,
    pub method: Option<String>,
    pub budget: Option<u64>,
    pub seed: Option<u64>,
}

/// Rows that a terminal shows.
const ROWS: usize = 20;

/// Searches, prints the best and writes all points.
pub fn search(
    file: &Path,
    given: Given,
    kept: &Kept,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(kept.out.as_deref(), "search")?;
    let spec = read(file)?;
    let study = study(&spec.study).map_err(Failure::of)?;
    let mut question: Search = spec.search.clone().unwrap_or_default();
    let Sought { minimize, maximize, constraints } = given.sought;
    if !minimize.is_empty() || !maximize.is_empty() {
        (question.minimize, question.maximize) = (minimize, maximize);
    }
    if let Some(method) = given.method {
        question.method = Some(Strategy::named(&method).map_err(Failure::of)?);
    }
    question.budget = given.budget.unwrap_or(question.budget);
    question.seed = given.seed.unwrap_or(question.seed);
    let space = spec.space(study).map_err(Failure::of)?;
    let space = constraints.into_iter().fold(space, memscape::explore::Space::constraint);
    let base = [spec.parameters(study)];
    let found = answered(
        study.name(),
        kept.store.as_deref(),
        quiet,
        err,
        |control| memscape::explore::search(study, &base, &space, &question, control),
        |store, control| store.search(study, &base, &space, &question, control),
    )?;
    if let Some(early) = ended_early(&found, &space, &question).filter(|_| !quiet) {
        writeln!(err, "{early}")?;
    }
    if let Some(left) = not_compared(&found, &question).map_err(Failure::of)?.filter(|_| !quiet) {
        writeln!(err, "{left}")?;
    }
    // What a full disk does not take is seen all the same.
    let shown = print(&found, &space.paths().collect::<Vec<_>>(), &question, out);
    if let Some(path) = &kept.out {
        let asked = question.question(study, &base, &space).map_err(Failure::of)?;
        keep(&found, &Origin::of(&asked), path, quiet, err)?;
    }
    if found.is_complete() {
        return shown;
    }
    if !quiet {
        writeln!(err, "interrupted: {} of {} evaluations are done", found.height(), question.budget)?;
    }
    Err(Failure::Interrupted)
}

fn print(found: &Table, axes: &[&str], question: &Search, out: &mut dyn Write) -> Result<(), Failure> {
    let best = found.filter("on_front", true).map_err(Failure::of)?;
    let all = Objective::all(&question.minimize, &question.maximize).map_err(Failure::of)?;
    // What differs in an axis that no objective feels is one line.
    let lines = once_each(&best, &all).map_err(Failure::of)?;
    let strategy = question.strategy().map_err(Failure::of)?;
    let evaluations = found.height();
    let goals: Vec<&str> = question.minimize.iter().chain(&question.maximize).map(String::as_str).collect();
    if let Some(problem) = nothing_found(found, question).map_err(Failure::of)? {
        return Err(Failure::BadInput(problem));
    }
    if let [goal] = goals[..] {
        let value =
            best.f64("best_so_far").map_err(Failure::of)?.into_iter().flatten().last().unwrap_or(f64::NAN);
        let first =
            best.f64("evaluation").map_err(Failure::of)?.into_iter().flatten().next().unwrap_or_default();
        writeln!(
            out,
            "best {goal} of {evaluations} evaluations ({}): {}, first at {first}",
            strategy.name(),
            short(value)
        )?;
    } else {
        writeln!(
            out,
            "front of {evaluations} evaluations ({}): {} points, {} of them unlike in an objective",
            strategy.name(),
            best.height(),
            lines.height()
        )?;
    }
    let mut columns = axes.to_vec();
    columns.extend(goals.iter().filter(|it| !axes.contains(it)));
    columns.push("designs");
    show(&lines, &columns, ROWS, out)
}
