//! `memscape bench`: how good the program itself is.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use memscape::explore::{Column, Contest, Origin, Table, contest};
use memscape::prelude::{Control, StudyFile, study};
use serde_json::json;

use crate::failure::Failure;
use crate::keep::keep;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::check_table;

/// What is measured.
pub struct Asked<'a> {
    /// All if none.
    pub systems: &'a [String],
    pub budgets: &'a [u64],
    pub seeds: u64,
}

/// A space of each system, with objectives.
const SPACES: &[(&str, &str)] = &[
    ("pim", include_str!("../../../data/spaces/pim.toml")),
    ("ondevice", include_str!("../../../data/spaces/ondevice.toml")),
    ("ndp", include_str!("../../../data/spaces/ndp.toml")),
    ("npu", include_str!("../../../data/spaces/npu.toml")),
    ("riscv", include_str!("../../../data/spaces/riscv.toml")),
    ("cxl", include_str!("../../../data/spaces/cxl.toml")),
];

/// Prints the true front's size and time, and each method's medians.
pub fn front(
    asked: &Asked<'_>,
    table: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(table, "bench front")?;
    let names: Vec<&str> = SPACES.iter().map(|it| it.0).collect();
    if let Some(unknown) = asked.systems.iter().find(|it| !names.contains(&it.as_str())) {
        let unknown = memscape::study::Unknown::new("space of a system", unknown, names);
        return Err(Failure::of(unknown));
    }
    if asked.budgets.is_empty() || asked.budgets.contains(&0) || asked.seeds == 0 {
        return Err(Failure::BadInput(
            "give at least one budget, of one evaluation or more, and one seed".to_owned(),
        ));
    }
    save_when_interrupted();
    let mut all: Option<Table> = None;
    let mut cancelled = false;
    for (system, text) in
        SPACES.iter().filter(|it| asked.systems.is_empty() || asked.systems.iter().any(|name| name == it.0))
    {
        let file = StudyFile::parse(text).map_err(Failure::of)?;
        let done = one(system, &file, asked, quiet, out)?;
        all = Some(match all {
            None => done.0,
            Some(before) => before.concat(&done.0).map_err(Failure::of)?,
        });
        cancelled = done.1;
        if cancelled {
            break;
        }
    }
    if let (Some(path), Some(all)) = (table, all) {
        let all = if cancelled { all.interrupted() } else { all };
        let Asked { systems, budgets, seeds } = asked;
        let told = json!({ "systems": systems, "budgets": budgets, "seeds": seeds });
        keep(&all, &Origin::of_command("bench front", told), path, quiet, err)?;
    }
    if cancelled { Err(Failure::Interrupted) } else { Ok(()) }
}

fn one(
    system: &str,
    file: &StudyFile,
    asked: &Asked<'_>,
    quiet: bool,
    out: &mut dyn Write,
) -> Result<(Table, bool), Failure> {
    let study = study(&file.study).map_err(Failure::of)?;
    let space = file.space(study).map_err(Failure::of)?;
    let question = file.search.clone().unwrap_or_default();
    let progress = Progress::new(system, quiet);
    let start = Instant::now();
    let base = [file.parameters(study)];
    let done = contest(study, &base, &space, &question, asked.budgets, asked.seeds, &progress);
    let cancelled = progress.cancelled();
    drop(progress);
    let Contest { truth, searches, truth_s } = done.map_err(Failure::of)?;
    writeln!(
        out,
        "{system}: {} of {} points allowed, {} feasible, {} on the front; exhausted in {truth_s:.1} s, all in {:.0} s",
        truth.allowed,
        truth.points,
        truth.feasible,
        truth.table.height(),
        start.elapsed().as_secs_f64()
    )?;
    print(&searches, asked.budgets, out)?;
    let system = Column::Text(vec![Some(system.to_owned()); searches.height()]);
    let with = Table::from_columns([("system", system)]).map_err(Failure::of)?;
    let mut with = with;
    for name in searches.column_names() {
        with = with.with_column(name, searches.column(name).map_err(Failure::of)?).map_err(Failure::of)?;
    }
    Ok((with, cancelled))
}

/// A line for each method: regret and hypervolume by budget.
fn print(searches: &Table, budgets: &[u64], out: &mut dyn Write) -> Result<(), Failure> {
    let methods = searches.text("method").map_err(Failure::of)?;
    let mut names: Vec<String> = Vec::new();
    for it in methods.into_iter().flatten() {
        if !names.contains(&it) {
            names.push(it);
        }
    }
    let heads: Vec<String> = budgets.iter().map(|it| format!("{it:>8} {:>8}", "")).collect();
    writeln!(out, "  {:<12}{}", "evaluations", heads.join("  "))?;
    let heads: Vec<String> = budgets.iter().map(|_| format!("{:>8} {:>8}", "regret", "volume")).collect();
    writeln!(out, "  {:<12}{}", "", heads.join("  "))?;
    for name in names {
        let own = searches.filter("method", name.as_str()).map_err(Failure::of)?;
        let mut cells = Vec::new();
        for budget in budgets {
            let of = own.filter("budget", *budget).map_err(Failure::of)?;
            let regret = median(&of.f64("regret").map_err(Failure::of)?);
            let volume = median(&of.f64("hypervolume").map_err(Failure::of)?);
            let regret = regret.map_or_else(|| "none".to_owned(), |it| format!("{:.2} %", it * 100.0));
            let volume = volume.map_or_else(|| "none".to_owned(), |it| format!("{:.1} %", it * 100.0));
            cells.push(format!("{regret:>8} {volume:>8}"));
        }
        writeln!(out, "  {name:<12}{}", cells.join("  "))?;
    }
    Ok(())
}

/// A search that found nothing counts as the worst.
fn median(values: &[Option<f64>]) -> Option<f64> {
    let mut all = values.to_vec();
    all.sort_by(|one, other| match (one, other) {
        (Some(one), Some(other)) => one.total_cmp(other),
        _ => other.is_some().cmp(&one.is_some()),
    });
    let middle = all.len().checked_sub(1)? / 2;
    match (all[middle], all[all.len() / 2]) {
        (Some(one), Some(other)) => Some(f64::midpoint(one, other)),
        _ => None,
    }
}
