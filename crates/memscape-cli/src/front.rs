//! `memscape front`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Objective, Table, front as front_of_table, front_of};
use memscape::prelude::study;

use crate::args::Objectives;
use crate::failure::Failure;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::{check_table, read};
use crate::show::show;

/// Rows that a terminal shows.
const ROWS: usize = 40;

/// Prints the front of a study file's space, or of a table.
pub fn front(
    source: &Path,
    objectives: Objectives,
    constraints: Vec<String>,
    table: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(table)?;
    let found = match source.extension().and_then(|it| it.to_str()) {
        Some("toml") => of_space(source, objectives, constraints, quiet, out)?,
        Some("parquet") => of_table(source, &objectives, &constraints, out)?,
        _ => {
            return Err(Failure::BadInput(format!(
                "`{}` is neither a study file (.toml) nor a table (.parquet)",
                source.display()
            )));
        }
    };
    if let Some(path) = table {
        found.write(path).map_err(Failure::of)?;
    }
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
    objectives: Objectives,
    constraints: Vec<String>,
    quiet: bool,
    out: &mut dyn Write,
) -> Result<Table, Failure> {
    let spec = read(source)?;
    let study = study(&spec.study).map_err(Failure::of)?;
    let Objectives { mut minimize, mut maximize } = objectives;
    if let (true, Some(search)) = (minimize.is_empty() && maximize.is_empty(), &spec.search) {
        (minimize, maximize) = (search.minimize.clone(), search.maximize.clone());
    }
    let goals = Objective::all(&minimize, &maximize).map_err(Failure::of)?;
    let space = spec.space(study).map_err(Failure::of)?;
    let space = constraints.into_iter().fold(space, memscape::explore::Space::constraint);
    save_when_interrupted();
    let progress = Progress::new(study.name(), quiet);
    let found = front_of(study, &[spec.parameters(study)], &space, &goals, &progress);
    drop(progress);
    let found = found.map_err(Failure::of)?;
    writeln!(
        out,
        "{} points, {} allowed, {} with an answer, {} feasible; {} on the front",
        found.points,
        found.allowed,
        found.answered,
        found.feasible,
        found.table.height()
    )?;
    let mut columns: Vec<&str> = space.paths().collect();
    let names: Vec<&str> =
        goals.iter().map(|it| it.formula.as_str()).filter(|it| !columns.contains(it)).collect();
    columns.extend(names);
    columns.push("designs");
    show(&found.table, &columns, ROWS, out)?;
    Ok(found.table)
}

fn of_table(
    source: &Path,
    objectives: &Objectives,
    constraints: &[String],
    out: &mut dyn Write,
) -> Result<Table, Failure> {
    let all = Table::read_parquet(source).map_err(Failure::of)?;
    let goals = Objective::all(&objectives.minimize, &objectives.maximize).map_err(Failure::of)?;
    let found = front_of_table(&all, &goals, constraints).map_err(Failure::of)?;
    writeln!(out, "{} rows, {} on the front", all.height(), found.height())?;
    show(&found, &found.column_names(), ROWS, out)?;
    Ok(found)
}
