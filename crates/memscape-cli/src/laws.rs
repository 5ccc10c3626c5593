//! Studies held to their laws.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Examination, Origin, Table, examine as examine_one};
use memscape::prelude::{Control, DynStudy, Parameters, studies, study};
use serde_json::json;

use crate::failure::Failure;
use crate::keep::keep;
use crate::parameters;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::check_table;

/// What is held to its laws.
pub struct Asked<'a> {
    /// One study; all if `None`.
    pub study: Option<&'a str>,
    /// What stays as it is.
    pub parameters: &'a [String],
    /// A machine for every study that takes one.
    pub hardware: Option<&'a str>,
    /// Points of each study.
    pub points: u64,
    /// Which points.
    pub seed: u64,
}

/// Prints a line for each study and each broken law, and fails if there is one.
pub fn examine(
    asked: &Asked<'_>,
    table: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(table, "laws")?;
    let given = parameters::parse(asked.parameters)?;
    let all: Vec<&dyn DynStudy> = match asked.study {
        Some(name) => vec![study(name).map_err(Failure::of)?],
        None => studies().collect(),
    };
    save_when_interrupted();
    let mut done: Vec<Examination> = Vec::new();
    let takes_hardware = |it: &dyn DynStudy| it.slots().iter().any(|slot| slot.path == "hardware");
    for study in all.into_iter().filter(|it| asked.hardware.is_none() || takes_hardware(*it)) {
        let mut fixed: Parameters = given.clone();
        if let Some(hardware) = asked.hardware {
            fixed.insert("hardware".to_owned(), hardware.into());
        }
        let progress = Progress::new(study.name(), quiet);
        let looked = examine_one(study, &fixed, asked.points, asked.seed, &progress);
        let cancelled = progress.cancelled();
        drop(progress);
        match looked {
            Ok(it) => {
                writeln!(out, "{it}")?;
                done.push(it);
            }
            // Another system's machine.
            Err(_) if asked.study.is_none() && asked.hardware.is_some() => {}
            Err(error) => return Err(Failure::of(error)),
        }
        if cancelled {
            break;
        }
    }
    if done.is_empty() {
        return Err(Failure::BadInput("no study takes this machine; name the study to see why".to_owned()));
    }
    if let Some(path) = table {
        let all = done.iter().map(Examination::table).reduce(|a, b| a?.concat(&b?));
        let all: Table = all.unwrap_or_else(|| Table::from_columns::<String>([])).map_err(Failure::of)?;
        let all = if done.iter().all(|it| it.complete) { all } else { all.interrupted() };
        let Asked { study, parameters, hardware, points, seed } = asked;
        let told = json!({
            "study": study, "parameters": parameters, "hardware": hardware, "points": points, "seed": seed,
        });
        keep(&all, &Origin::of_command("laws", told), path, quiet, err)?;
    }
    match (done.iter().all(|it| it.complete), done.iter().all(|it| it.broken.is_empty())) {
        (false, _) => Err(Failure::Interrupted),
        (true, true) => Ok(()),
        (true, false) => Err(Failure::Short),
    }
}
