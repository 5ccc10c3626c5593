//! The claims report.

use std::collections::BTreeSet;
use std::io::Write;

use memscape::papers::PAPERS;
use memscape::papers::claims::{Bound, bars, builtin};
use memscape::prelude::{Role, Verdict, claims, evaluate};

use crate::failure::Failure;
use crate::progress::Progress;

/// What a claim may be off by before it counts as a miss.
const TOLERANCE: f64 = 0.10;

/// Prints published beside computed, worst last, and fails if one is a miss.
pub fn report(source: Option<&str>, json: bool, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let claims = claims(source).map_err(Failure::of)?;
    let progress = Progress::new("claims", quiet);
    let verdicts = evaluate(&claims).map_err(Failure::of)?;
    drop(progress);
    let printed = if json { print_json(&verdicts, out) } else { print_table(&verdicts, out) };
    printed?;
    if verdicts.iter().all(|it| it.is_within(TOLERANCE)) { Ok(()) } else { Err(Failure::Short) }
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
            it.id,
            name(it.role),
            published(it),
            it.unit
        )?;
        if !it.is_within(TOLERANCE) && !it.note.is_empty() {
            writeln!(out, "{:<width$}  {}", "", it.note)?;
        }
    }
    writeln!(out)?;
    for role in [Role::Input, Role::Calibrate, Role::Predict] {
        let of_role = || verdicts.iter().filter(|it| it.role == role);
        let errors: Vec<f64> = of_role().filter_map(|it| it.relative_error).map(f64::abs).collect();
        if of_role().count() == 0 {
            continue;
        }
        let within = |limit: f64| {
            let count = errors.iter().filter(|it| **it <= limit).count();
            format!("{count} within {:.0} % ({:.0} %)", 100.0 * limit, share(count, errors.len()))
        };
        let (role, claims) = (name(role), of_role().count());
        write!(out, "{role:<9}  {claims:>3} claims, {} of them computed", errors.len())?;
        match errors.len() {
            0 => writeln!(out)?,
            _ => writeln!(out, ": {}, {}", within(0.05), within(TOLERANCE))?,
        }
    }
    print_bars(verdicts, out)
}

/// What each paper's model is held to, and whether it is met.
fn print_bars(verdicts: &[Verdict], out: &mut dyn Write) -> Result<(), Failure> {
    for paper in PAPERS {
        let ids: BTreeSet<String> =
            builtin(Some(paper.id)).map_err(Failure::of)?.into_iter().map(|it| it.id).collect();
        let of_paper: Vec<Verdict> = verdicts.iter().filter(|it| ids.contains(&it.id)).cloned().collect();
        for bar in bars(paper) {
            let (met, of) = bar.count(&of_paper);
            if of == 0 {
                continue;
            }
            let tolerance = bar
                .tolerance
                .map_or("to the printed digits".to_owned(), |it| format!("within {:.0} %", 100.0 * it));
            let verdict = if bar.is_met((met, of)) { "met" } else { "missed" };
            let (share, wanted) = (share(met, of), 100.0 * bar.share);
            writeln!(
                out,
                "{}: {}: {met} of {of} {tolerance} ({share:.0} %; {wanted:.0} % asked for: {verdict})",
                paper.id, bar.says
            )?;
        }
    }
    Ok(())
}

/// The number, marked if it is only a limit.
fn published(it: &Verdict) -> String {
    match it.bound {
        Some(Bound::Upper) => format!("<= {}", it.published),
        Some(Bound::Lower) => format!(">= {}", it.published),
        None => it.published.to_string(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "some hundred claims")]
fn share(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all as f64
}

/// As in a claims file.
const fn name(role: Role) -> &'static str {
    match role {
        Role::Input => "input",
        Role::Calibrate => "calibrate",
        Role::Predict => "predict",
    }
}
