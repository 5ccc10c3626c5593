//! The claims report.

use std::io::Write;

use memscape::papers::claims::{Blind, Bound, Held, Total};
use memscape::prelude::{Control, Report, Sort, Verdict, report as ask};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::show::short;

/// From here on the report says why a claim is missed.
const TOLERANCE: f64 = 0.10;

/// Prints published beside computed, and fails if a model is not as good as it is held
/// to be.
pub fn report(source: Option<&str>, json: bool, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let report = asked(source, quiet)?;
    if json {
        print_json(&report, out)?;
    } else if report.claims.is_empty() {
        writeln!(
            out,
            "no claims: nothing published is held against a model in `{}`",
            source.unwrap_or("all")
        )?;
    } else {
        print_claims(&report.claims, out)?;
        print_totals(&report.totals, out)?;
        report.bars.iter().try_for_each(|it| print_bar(it, out))?;
    }
    if report.is_met() { Ok(()) } else { Err(Failure::Short) }
}

/// Prints what was said before the numbers were seen, and what is said now.
pub fn blind(source: Option<&str>, json: bool, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let mut report = asked(source, quiet)?;
    report.claims.retain(|it| it.blind.is_some());
    if json {
        return print_json(&report, out);
    }
    print_blind(&report.claims, out)?;
    report.blind.iter().try_for_each(|it| print_median(it, out))
}

/// Prints a paper's predictions with what the model says that they may be.
pub fn coverage(
    paper: &str,
    draws: u64,
    json: bool,
    quiet: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if std::path::Path::new(paper).is_file() {
        return Err(Failure::BadInput(format!(
            "{paper}: only a paper's claims have intervals, which its model's own doubts make; leave out \
             `--uncertainty`, or name a paper"
        )));
    }
    let progress = Progress::new("claims", quiet);
    let told = |done, of| progress.advanced(done, of);
    let all = memscape::papers::coverage(paper, draws, 0, told).map_err(Failure::of)?;
    drop(progress);
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&all).map_err(Failure::of)?)?);
    }
    let width = width(all.iter().map(|it| it.id.as_str()));
    writeln!(
        out,
        "{:<width$}  {:>10}  {:>10}  {:>10}  {:>10}  inside  unit",
        "claim", "published", "computed", "low", "high"
    )?;
    for it in &all {
        let [published, computed, low, high] = [it.published, it.computed, it.low, it.high].map(short);
        let inside = if it.inside { "yes" } else { "no" };
        writeln!(
            out,
            "{:<width$}  {published:>10}  {computed:>10}  {low:>10}  {high:>10}  {inside:<6}  {}",
            it.id, it.unit
        )?;
    }
    let inside = all.iter().filter(|it| it.inside).count();
    Ok(writeln!(
        out,
        "{inside} of {} predictions of performance lie where the model says that they may",
        all.len()
    )?)
}

fn asked(source: Option<&str>, quiet: bool) -> Result<Report, Failure> {
    let _progress = Progress::new("claims", quiet);
    ask(source).map_err(Failure::of)
}

fn print_json(report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(report).map_err(Failure::of)?;
    Ok(writeln!(out, "{text}")?)
}

/// Worst last.
fn print_claims(verdicts: &[Verdict], out: &mut dyn Write) -> Result<(), Failure> {
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    let size = |it: &Verdict| it.relative_error.map_or(f64::INFINITY, f64::abs);
    sorted.sort_by(|a, b| size(a).total_cmp(&size(b)).then_with(|| a.id.cmp(&b.id)));
    let width = width(verdicts.iter().map(|it| it.id.as_str()));
    writeln!(
        out,
        "{:<width$}  {:<9}  {:<11}  {:>10}  {:>10}  {:>7}  unit",
        "claim", "role", "sort", "published", "computed", "error"
    )?;
    for it in sorted {
        let computed = it.computed.map_or("-".to_owned(), |it| format!("{it:.4}"));
        writeln!(
            out,
            "{:<width$}  {:<9}  {:<11}  {:>10}  {computed:>10}  {:>7}  {}",
            it.id,
            it.role.name(),
            it.sort.name(),
            published(it),
            percent(it.relative_error),
            it.unit
        )?;
        if !it.follows_from.is_empty() {
            let from = it.follows_from.join("` and `");
            writeln!(out, "{:<width$}  not counted: follows from `{from}`", "")?;
        }
        if !it.is_within(TOLERANCE) && !it.note.is_empty() {
            writeln!(out, "{:<width$}  {}", "", it.note)?;
        }
    }
    Ok(writeln!(out)?)
}

fn print_totals(totals: &[Total], out: &mut dyn Write) -> Result<(), Failure> {
    let width = width(totals.iter().map(|it| it.source.as_str()));
    writeln!(
        out,
        "{:<width$}  {:<11}  {:<9}  claims  computed  exact  within 5 %     10 %     20 %",
        "", "sort", "role"
    )?;
    for it in totals {
        writeln!(
            out,
            "{:<width$}  {:<11}  {:<9}  {:>6}  {:>8}  {:>5}  {:>10}  {:>7}  {:>7}",
            it.source,
            it.sort.name(),
            it.role.name(),
            it.claims,
            it.computed,
            it.exact,
            it.within_5_percent,
            it.within_10_percent,
            it.within_20_percent
        )?;
    }
    Ok(writeln!(out)?)
}

fn print_bar(it: &Held, out: &mut dyn Write) -> Result<(), Failure> {
    let verdict = if it.is_met { "met" } else { "missed" };
    let (within, wanted) = (100.0 * it.within, 100.0 * it.share);
    Ok(writeln!(
        out,
        "{}: {} of {} predictions of performance within {within:.0} % ({:.0} %; {wanted:.0} % asked for: {verdict})",
        it.source,
        it.met,
        it.of,
        share(it.met, it.of),
    )?)
}

/// In the order of the papers.
fn print_blind(verdicts: &[Verdict], out: &mut dyn Write) -> Result<(), Failure> {
    let width = width(verdicts.iter().map(|it| it.id.as_str()));
    writeln!(
        out,
        "{:<width$}  {:<11}  {:>10}  {:>11}  {:>7}  {:>11}  {:>7}  unit",
        "claim", "sort", "published", "0.1 said", "error", "says now", "error"
    )?;
    let number = |it: Option<f64>| it.map_or("-".to_owned(), |it| format!("{it:.4}"));
    for it in verdicts {
        writeln!(
            out,
            "{:<width$}  {:<11}  {:>10}  {:>11}  {:>7}  {:>11}  {:>7}  {}",
            it.id,
            it.sort.name(),
            published(it),
            number(it.blind),
            percent(it.blind_error),
            number(it.computed),
            percent(it.relative_error),
            it.unit
        )?;
    }
    Ok(writeln!(out)?)
}

fn print_median(it: &Blind, out: &mut dyn Write) -> Result<(), Failure> {
    let Blind { source, claims, exact_then, exact_now, .. } = it;
    match it.sort {
        Sort::Fact => writeln!(out, "{source}: of {claims} facts, {exact_then} exact then, {exact_now} now")?,
        Sort::Performance => {
            let (then, now) = (100.0 * it.median_error_then, 100.0 * it.median_error_now);
            writeln!(out, "{source}: {claims} performances, median error {then:.1} % then, {now:.1} % now")?;
        }
    }
    Ok(())
}

/// The digits, marked if they are only a limit.
fn published(it: &Verdict) -> String {
    match it.bound {
        Some(Bound::Upper) => format!("<= {}", it.printed),
        Some(Bound::Lower) => format!(">= {}", it.printed),
        None => it.printed.to_string(),
    }
}

fn percent(error: Option<f64>) -> String {
    error.map_or("-".to_owned(), |it| format!("{:+.1} %", it * 100.0))
}

/// Of the first column.
fn width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(str::len).max().unwrap_or_default().max("claim".len())
}

#[expect(clippy::cast_precision_loss, reason = "some hundred claims")]
fn share(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all as f64
}
