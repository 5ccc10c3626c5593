//! The claims report.

use std::io::Write;

use memscape::papers::claims::{self, Verdict};

use crate::failure::Failure;
use crate::progress::Progress;

/// What a claim may be off by before it counts as a miss.
const TOLERANCE: f64 = 0.10;

/// Prints published beside computed, worst last, and fails if one is a miss.
pub fn report(source: Option<&str>, json: bool, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let claims = claims::select(source).map_err(Failure::of)?;
    let progress = Progress::new("claims", quiet);
    let verdicts = claims::evaluate(&claims).map_err(Failure::of)?;
    drop(progress);
    if json {
        print_json(&verdicts, out)?
    } else {
        print_table(&verdicts, out)?
    }
    if verdicts.iter().any(is_miss) { Err(Failure::Short) } else { Ok(()) }
}

fn is_miss(verdict: &Verdict) -> bool {
    verdict.relative_error.is_none_or(|it| it.abs() > TOLERANCE)
}

fn print_json(verdicts: &[Verdict], out: &mut dyn Write) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(verdicts).map_err(Failure::of)?;
    Ok(writeln!(out, "{text}")?)
}

fn print_table(verdicts: &[Verdict], out: &mut dyn Write) -> Result<(), Failure> {
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    let size = |it: &Verdict| it.relative_error.map_or(f64::INFINITY, f64::abs);
    sorted.sort_by(|a, b| size(a).total_cmp(&size(b)).then_with(|| a.id.cmp(&b.id)));
    let width = verdicts.iter().map(|it| it.id.len()).max().unwrap_or_default().max("claim".len());
    writeln!(
        out,
        "{:<width$}  {:<9}  {:>10}  {:>10}  {:>7}  unit",
        "claim", "role", "published", "computed", "error"
    )?;
    for it in sorted {
        let computed = it.computed.map_or("-".to_owned(), |it| format!("{it:.4}"));
        let error = it.relative_error.map_or("-".to_owned(), |it| format!("{:+.1} %", it * 100.0));
        writeln!(
            out,
            "{:<width$}  {:<9}  {:>10}  {computed:>10}  {error:>7}  {}",
            it.id, it.role, it.published, it.unit
        )?;
        if is_miss(it) && !it.note.is_empty() {
            writeln!(out, "{:<width$}  {}", "", it.note)?;
        }
    }
    writeln!(out)?;
    for role in ["input", "calibrate", "predict"] {
        let of_role: Vec<&Verdict> = verdicts.iter().filter(|it| it.role.to_string() == role).collect();
        if of_role.is_empty() {
            continue;
        }
        let within = |limit: f64| of_role.iter().filter(|it| size(it) <= limit).count();
        let all = of_role.len();
        let percent = |count: usize| 100 * count / all;
        let (close, near) = (within(0.05), within(TOLERANCE));
        writeln!(
            out,
            "{role:<9}  {all:>3} claims, {close} within 5 % ({} %), {near} within 10 % ({} %)",
            percent(close),
            percent(near)
        )?;
    }
    Ok(())
}
