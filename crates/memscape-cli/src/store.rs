//! `memscape store`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Changed, Filled, Run, Store};
use memscape::is_stale;
use memscape::prelude::study;
use serde_json::{Value, json};

use crate::args;
use crate::failure::Failure;
use crate::origin::tell;
use crate::progress::Progress;
use crate::read::check_place;

/// How much of a question's name tells it from others at a glance.
const DIGITS: usize = 12;

/// Says how much of a question was there.
pub fn remark(filled: &Filled, err: &mut dyn Write) -> std::io::Result<()> {
    let Filled { question, rows, found, computed, complete } = filled;
    let (what, name) = (if *complete { "" } else { "interrupted: " }, &question[..DIGITS]);
    writeln!(err, "{what}question {name}: of {rows} rows {found} were there, {computed} are computed")
}

/// Does one of the things that a store is for.
pub fn store(
    what: &args::Store,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let open = |folder: &Path| Store::existing(folder).map_err(Failure::of);
    match what {
        args::Store::Ls { store, json } => list(&open(store)?, *json, out),
        args::Store::Show { store, question, json } => {
            let run = open(store)?.run(question).map_err(Failure::of)?;
            show(&run, *json, out)
        }
        args::Store::Verify { store, ask } => verify(&open(store)?, *ask, quiet, out),
        args::Store::Gc { store, stale, question } => gc(&open(store)?, *stale, question, out),
        args::Store::Export { store, question, out: table } => {
            check_place(table)?;
            let store = open(store)?;
            let run = store.run(question).map_err(Failure::of)?;
            let progress = Progress::new("export", quiet);
            store.export(&run, table, &progress).map_err(Failure::of)?;
            drop(progress);
            if !quiet {
                writeln!(err, "{} rows written", run.manifest.rows)?;
            }
            Ok(())
        }
    }
}

fn list(store: &Store, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let runs = store.runs().map_err(Failure::of)?;
    if json {
        let all: Vec<Value> = runs.iter().map(summary).collect();
        return Ok(writeln!(out, "{}", Value::Array(all))?);
    }
    let rows: Vec<[String; 8]> = runs.iter().map(line).collect();
    let head = ["question", "study", "rows", "blocks", "size", "asked", "host", "version"].map(str::to_owned);
    let all = || std::iter::once(&head).chain(&rows);
    let widths: Vec<usize> = (0..head.len())
        .map(|it| all().map(|row| row[it].chars().count()).max().unwrap_or_default())
        .collect();
    for row in all() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    for (path, problem) in store.unreadable().map_err(Failure::of)? {
        writeln!(out, "damaged   {}: {problem}; asking its question again makes it anew", path.display())?;
    }
    Ok(())
}

fn line(run: &Run) -> [String; 8] {
    let manifest = &run.manifest;
    [
        run.id()[..DIGITS].to_owned(),
        manifest.origin.edition.study.clone(),
        manifest.rows.to_string(),
        format!("{} of {}", run.blocks, run.blocks_in_all()),
        size(run.bytes),
        date(manifest.started),
        manifest.host.clone(),
        format!("{}{}", manifest.origin.edition.memscape, if is_stale(run) { " (stale)" } else { "" }),
    ]
}

fn summary(run: &Run) -> Value {
    let mut all = json!(run.manifest);
    if let Some(all) = all.as_object_mut() {
        all.remove("blocks");
        all.remove("asked");
        all.insert("blocks_there".to_owned(), run.blocks.into());
        all.insert("blocks_in_all".to_owned(), run.blocks_in_all().into());
        all.insert("bytes".to_owned(), run.bytes.into());
        all.insert("stale".to_owned(), is_stale(run).into());
    }
    all
}

fn show(run: &Run, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        return Ok(writeln!(out, "{}", json!(run.manifest))?);
    }
    let manifest = &run.manifest;
    tell(&manifest.origin, out)?;
    writeln!(out, "rows      {}", manifest.rows)?;
    writeln!(out, "blocks    {} of {}, {} rows each", run.blocks, run.blocks_in_all(), manifest.block)?;
    writeln!(out, "asked     {} on {}", date(manifest.started), manifest.host)?;
    if let Some(finished) = manifest.finished {
        writeln!(out, "done      {}", date(finished))?;
    }
    writeln!(out, "folder    {}", run.folder.display())?;
    Ok(())
}

fn verify(store: &Store, ask: usize, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let progress = Progress::new("verify", quiet);
    let seen = store.verify(&progress).map_err(Failure::of)?;
    drop(progress);
    for path in &seen.damaged {
        writeln!(out, "damaged   {}", path.display())?;
    }
    writeln!(out, "{} files of {} are as they were written", seen.files, size(seen.bytes))?;
    if !seen.damaged.is_empty() {
        let count = seen.damaged.len();
        writeln!(out, "{count} damaged, set aside; the sweeps that want them compute them again")?;
    }
    let differing = if ask > 0 { ask_again(store, ask, quiet, out)? } else { 0 };
    match (seen.damaged.len() + differing, seen.complete) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Interrupted),
        _ => Err(Failure::Short),
    }
}

/// Asks points of every question again that this program would answer from the store, and says how many
/// answers differ.
fn ask_again(store: &Store, points: usize, quiet: bool, out: &mut dyn Write) -> Result<usize, Failure> {
    let (mut asked, mut renamed, mut all) = (0, 0, Vec::new());
    for run in store.runs().map_err(Failure::of)?.iter().filter(|it| !is_stale(it)) {
        let name = &run.manifest.origin.edition.study;
        let progress = Progress::new(name, quiet);
        let study = study(name).map_err(Failure::of)?;
        let again = store.ask_again(study, run, points, &progress).map_err(Failure::of)?;
        asked += again.points;
        renamed += again.renamed;
        all.extend(again.differing);
    }
    for it in &all {
        let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
        let Changed { column, kept, now } = &it.changed;
        let (kept, now) = (told(kept), told(now));
        writeln!(out, "differs   {} row {}: {column} is {now}, kept is {kept}", it.file.display(), it.row)?;
    }
    writeln!(out, "{asked} points asked again, {} answers differ", all.len())?;
    if renamed > 0 {
        writeln!(out, "{renamed} are of a description that has changed since, and stay what they were")?;
    }
    Ok(all.len())
}

fn gc(store: &Store, stale: bool, questions: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    let named = questions.iter().map(|it| store.named(it).map(|it| it.id().to_owned()));
    let named = named.collect::<Result<Vec<_>, _>>().map_err(Failure::of)?;
    let unwanted = |it: &Run| (stale && is_stale(it)) || named.iter().any(|name| name == it.id());
    let freed = store.tidy(unwanted).map_err(Failure::of)?;
    Ok(writeln!(out, "{} files removed, {} freed", freed.files, size(freed.bytes))?)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Seconds since 1970 as day and minute, UTC: the calendar of Howard Hinnant's
/// `civil_from_days`.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + later;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_305_600), "2026-11-22 00:00 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
