//! `memscape front`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{
    Objective, Origin, Question, Table, TableForm, front as front_of_table, front_of, once_each,
};
use memscape::prelude::study;

use crate::args::{Kept, Sought};
use crate::failure::Failure;
use crate::keep::{answered, keep};
use crate::read::{check_table, read};
use crate::show::show;

/// Rows that a terminal shows.
const ROWS: usize = 40;

/// Prints the front of a study file's space, or of a table.
pub fn front(
    source: &Path,
    sought: Sought,
    kept: &Kept,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(kept.out.as_deref(), "front")?;
    // What a reader who has left does not take is written to the table all the same.
    let mut said = Vec::new();
    let (found, origin) = match source.extension().and_then(|it| it.to_str()) {
        Some("toml") => of_space(source, sought, kept.store.as_deref(), quiet, &mut said, err)?,
        _ if TableForm::of(source).is_none() => {
            return Err(Failure::BadInput(format!(
                "`{}` is neither a study file (.toml) nor a table (.parquet, .csv)",
                source.display()
            )));
        }
        _ if kept.store.is_some() => {
            let problem = "a table is not asked, so that nothing goes to a store; leave out `--store`";
            return Err(Failure::BadInput(problem.to_owned()));
        }
        _ => of_table(source, &sought, &mut said)?,
    };
    if let Some(path) = &kept.out {
        keep(&found, &origin, path, quiet, err)?;
    }
    out.write_all(&said)?;
    if found.is_complete() {
        return Ok(());
    }
    if !quiet {
        writeln!(err, "interrupted: the front is that of the points looked at until then")?;
    }
    Err(Failure::Interrupted)
}

fn of_space(
    source: &Path,
    sought: Sought,
    store: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(Table, Origin), Failure> {
    let spec = read(source)?;
    let study = study(&spec.study).map_err(Failure::of)?;
    let Sought { mut minimize, mut maximize, constraints } = sought;
    if let (true, Some(search)) = (minimize.is_empty() && maximize.is_empty(), &spec.search) {
        (minimize, maximize) = (search.minimize.clone(), search.maximize.clone());
    }
    let goals = Objective::all(&minimize, &maximize).map_err(Failure::of)?;
    let space = spec.space(study).map_err(Failure::of)?;
    let space = constraints.into_iter().fold(space, memscape::explore::Space::constraint);
    let base = [spec.parameters(study)];
    let found = answered(
        study.name(),
        store,
        quiet,
        err,
        |control| front_of(study, &base, &space, &goals, control),
        |store, control| store.front(study, &base, &space, &goals, control),
    )?;
    let asked =
        Question::about(study, &base, &space, ("front", &goals), found.points).map_err(Failure::of)?;
    writeln!(
        out,
        "{} points, {} {}, {} with an answer, {} feasible; {} on the front",
        found.points,
        found.allowed,
        // Of an interrupted front, those that were looked at.
        if found.table.is_complete() { "allowed" } else { "looked at and allowed" },
        found.answered,
        found.feasible,
        found.table.height()
    )?;
    for it in found.unanswered.iter().filter(|_| !quiet) {
        writeln!(err, "{it}")?;
    }
    let mut columns: Vec<&str> = space.paths().collect();
    let names: Vec<&str> =
        goals.iter().map(|it| it.formula.as_str()).filter(|it| !columns.contains(it)).collect();
    columns.extend(names);
    columns.push("designs");
    show(&found.table, &columns, ROWS, out)?;
    Ok((found.table, Origin::of(&asked)))
}

fn of_table(source: &Path, sought: &Sought, out: &mut dyn Write) -> Result<(Table, Origin), Failure> {
    let all = Table::read(source).map_err(Failure::of)?;
    let goals = Objective::all(&sought.minimize, &sought.maximize).map_err(Failure::of)?;
    let found = front_of_table(&all, &goals, &sought.constraints).map_err(Failure::of)?;
    // A search's word on its own front would pass for one on this.
    let kept: Vec<&str> =
        found.column_names().into_iter().filter(|it| !["on_front", "best_so_far"].contains(it)).collect();
    let found = found.select(&kept).map_err(Failure::of)?;
    // Its rows are points of what the whole table answers, if that says so.
    let told = serde_json::json!({ "of": goals, "where": sought.constraints });
    let origin = match Origin::read(source) {
        Ok(whole) => whole.chosen("front", &told),
        Err(_) => Origin::of_command("front", told),
    };
    let lines = once_each(&found, &goals).map_err(Failure::of)?;
    writeln!(
        out,
        "{} rows, {} on the front, {} of them unlike in an objective",
        all.height(),
        found.height(),
        lines.height()
    )?;
    let own: Vec<&str> = origin.axes.iter().map(String::as_str).filter(|it| kept.contains(it)).collect();
    // Any column may be one.
    let axes = if own.is_empty() { kept.into_iter().filter(|it| *it != "designs").collect() } else { own };
    let names = goals.iter().map(|it| it.formula.as_str()).filter(|it| !axes.contains(it));
    let columns: Vec<&str> = axes.iter().copied().chain(names).chain(["designs"]).collect();
    show(&lines, &columns, ROWS, out)?;
    Ok((found, origin))
}
