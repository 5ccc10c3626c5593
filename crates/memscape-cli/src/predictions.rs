//! `memscape predictions`.

use std::io::Write;
use std::path::Path;

use memscape::papers::predictions::{Interval, Said, predictions, said, score};
use memscape::prelude::Control;

use crate::create::{check_own, create};
use crate::failure::Failure;
use crate::progress::{Progress, save_when_interrupted};
use crate::show::short;

/// Prints what was said, and what the model says now.
pub fn list(json: bool, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let rows = now(quiet)?;
    let said = said().map_err(Failure::of)?;
    let then = |id: &str| said.iter().rfind(|it| it.id == id);
    if json {
        let row = |(id, unit, what, now): &(String, String, String, Interval)| serde_json::json!({ "id": id, "what": what, "unit": unit, "said": then(id), "now": now });
        return Ok(writeln!(out, "{}", serde_json::Value::Array(rows.iter().map(row).collect()))?);
    }
    let width = rows.iter().map(|it| it.0.len()).max().unwrap_or_default();
    writeln!(
        out,
        "{:<width$}  {:>9}  {:>9}  {:>9}  {:<8}  {:<7}  {:<10}  now",
        "id", "value", "low", "high", "unit", "version", "date"
    )?;
    for (id, unit, _, now) in &rows {
        let Some(Said { interval, version, date, .. }) = then(id) else {
            writeln!(out, "{id:<width$}  not said yet; now {}", short(now.value))?;
            continue;
        };
        let [value, low, high, now] = [interval.value, interval.low, interval.high, now.value].map(three);
        writeln!(
            out,
            "{id:<width$}  {value:>9}  {low:>9}  {high:>9}  {unit:<8}  {version:<7}  {date:<10}  {now}"
        )?;
    }
    Ok(())
}

/// Writes what was said, and after it what the model says now of all else, as a record of this
/// version and a day.
pub fn say(file: &Path, date: &str, quiet: bool, err: &mut dyn Write) -> Result<(), Failure> {
    check_own(file, HEADER)?;
    let mut lines = vec![HEADER.to_owned()];
    let before = said().map_err(Failure::of)?;
    for Said { id, interval: Interval { value, low, high }, version, date } in &before {
        lines.push(format!("{id},{value},{low},{high},{version},{date}"));
    }
    for (id, _, _, it) in now(quiet)? {
        if before.iter().any(|said| said.id == id) {
            continue;
        }
        let [value, low, high] =
            [it.value, it.low, it.high].map(|it| format!("{it:.4e}").parse().unwrap_or(it));
        lines.push(format!("{id},{value},{low},{high},{},{date}", env!("CARGO_PKG_VERSION")));
    }
    create(file, |out| Ok(writeln!(out, "{}", lines.join("\n"))?))?;
    if !quiet {
        let (stay, new) = (before.len(), lines.len() - 1 - before.len());
        writeln!(err, "{stay} of before stay as they were said; {new} are new")?;
    }
    Ok(())
}

/// What a record begins with.
const HEADER: &str = "id,value,low,high,version,date";

/// Prints how measurements compare with what was said.
pub fn hold(file: &Path, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let bad = |it: &dyn ToString| Failure::BadInput(format!("{}: {}", file.display(), it.to_string()));
    let text = memscape::explore::read_text(file).map_err(|it| bad(&it))?;
    let scores = score(&text).map_err(|it| bad(&it))?;
    if json {
        return Ok(writeln!(out, "{}", serde_json::json!(scores))?);
    }
    let width = scores.iter().map(|it| it.said.id.len()).max().unwrap_or_default();
    for it in &scores {
        let Interval { value, low, high } = it.said.interval;
        let place = if it.inside { "inside" } else { "outside" };
        let [measured, value, low, high] = [it.measured, value, low, high].map(three);
        writeln!(
            out,
            "{:<width$}  measured {measured}, said {value} ({:+.1} %), {place} {low} to {high}",
            it.said.id,
            100.0 * it.error
        )?;
    }
    let inside = scores.iter().filter(|it| it.inside).count();
    Ok(writeln!(out, "{inside} of {} inside the interval", scores.len())?)
}

/// Each prediction's id, unit and question, with what the model says now.
fn now(quiet: bool) -> Result<Vec<(String, String, String, Interval)>, Failure> {
    let all = predictions().map_err(Failure::of)?;
    save_when_interrupted();
    let progress = Progress::new("predictions", quiet);
    let mut rows = Vec::new();
    for (done, it) in all.iter().enumerate() {
        progress.advanced(done as u64, all.len() as u64);
        if progress.cancelled() {
            return Err(Failure::Interrupted);
        }
        rows.push((it.id.clone(), it.unit.clone(), it.what.clone(), it.now().map_err(Failure::of)?));
    }
    Ok(rows)
}

/// A number to three digits.
fn three(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    format!("{rounded}")
}
