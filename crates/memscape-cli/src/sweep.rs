//! `memscape sweep`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Filled, Onto, Store, Written, sweep_to_file};
use memscape::prelude::study;

use crate::failure::Failure;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::read;
use crate::store;

/// Answers a study file's question into a store, and into a table if one is named.
pub fn into_store(
    file: &Path,
    folder: &Path,
    table: Option<&Path>,
    overwrite: bool,
    quiet: bool,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let spec = read(file)?;
    let study = study(&spec.study).map_err(Failure::of)?;
    let sweep = spec.sweep(study).map_err(Failure::of)?;
    let store = Store::open(folder).map_err(Failure::of)?;
    save_when_interrupted();
    let progress = Progress::new(&spec.study, quiet);
    let done = match table.or(spec.output.as_deref()) {
        Some(table) => store.sweep_to_file(study, &sweep, table, overwrite, &progress),
        None => store.fill(study, &sweep, &progress).map(|it| Written { filled: it, ..Written::default() }),
    };
    let done = done.map_err(Failure::of)?;
    drop(progress);
    if !quiet {
        store::remark(&done.filled, err)?;
    }
    if !done.filled.complete {
        return Err(Failure::Interrupted);
    }
    remark(&done, quiet, err)
}

/// Answers a study file's question into a table.
pub fn into_file(
    file: &Path,
    table: Option<&Path>,
    onto: Onto,
    quiet: bool,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let spec = read(file)?;
    let Some(table) = table.or(spec.output.as_deref()) else {
        return Err(Failure::BadInput(format!(
            "`{}` does not say where the table goes; add `output = \"table.parquet\"` to it, or give -o table.parquet",
            file.display()
        )));
    };
    let study = study(&spec.study).map_err(Failure::of)?;
    save_when_interrupted();
    let progress = Progress::new(&spec.study, quiet);
    let done = sweep_to_file(study, &spec, table, onto, &progress).map_err(Failure::of)?;
    drop(progress);
    let Filled { found, computed, complete, .. } = done.filled;
    if !complete {
        if !quiet {
            let saved = found + computed;
            writeln!(err, "interrupted: {saved} rows are saved; `--resume` goes on after them")?;
        }
        return Err(Failure::Interrupted);
    }
    remark(&done, quiet, err)
}

/// Rows without an answer, and whose fault they are.
fn remark(done: &Written, quiet: bool, err: &mut dyn Write) -> Result<(), Failure> {
    let Written { filled, unanswered, faults } = done;
    if *unanswered > 0 && !quiet {
        writeln!(err, "{unanswered} of {} rows have no answer; their `error` says why", filled.rows)?;
    }
    if *faults > 0 {
        writeln!(err, "{faults} of them are faults of memscape; please report them")?;
    }
    Ok(())
}
