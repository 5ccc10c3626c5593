//! Fits to published numbers.

use std::io::Write;
use std::path::Path;

use memscape::papers::calibrate::{LeftOut, covariance_of};
use memscape::prelude::{Column, Control, FitMethod, Table, calibrate as fit, leave_one_out as leave};

use crate::failure::Failure;
use crate::progress::Progress;

/// Prints the free parameters as the fit has them, beside the stored.
pub fn calibrate(paper: &str, quiet: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let progress = Progress::new("calibrate", quiet);
    let fit = fit(paper).map_err(Failure::of)?;
    drop(progress);
    let width = fit.parameters.iter().map(|it| it.path.len()).max().unwrap_or_default();
    for it in &fit.parameters {
        let (path, fitted, stored) = (&it.path, it.fitted, it.stored);
        writeln!(out, "{path:<width$}  {fitted} {}  (stored: {stored})  {}", it.unit, it.meaning)?;
    }
    let (claims, percent) = (fit.verdicts.len(), 100.0 * fit.rms_error);
    if claims == 0 {
        return nothing(paper, out);
    }
    Ok(writeln!(out, "root mean square error of {claims} claims: {percent:.2} %")?)
}

/// Rather than an error of 0 % over no numbers.
fn nothing(paper: &str, out: &mut dyn Write) -> Result<(), Failure> {
    Ok(writeln!(out, "nothing is fitted: no number of `{paper}` calibrates its model")?)
}

/// Prints the covariance of the stored parameters: a row for each, as its file holds it.
pub fn covariance(paper: &str, out: &mut dyn Write) -> Result<(), Failure> {
    for row in covariance_of(paper).map_err(Failure::of)? {
        let row: Vec<String> = row.iter().map(|it| format!("{it:.3e}")).collect();
        writeln!(out, "covariance = [{}]", row.join(", "))?;
    }
    Ok(())
}

/// Prints each claim as the fit to the others predicts it, or writes it as a table.
pub fn leave_one_out(
    paper: &str,
    near: bool,
    file: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let progress = Progress::new("calibrate", quiet);
    let method = if near { FitMethod::NEAR } else { FitMethod::PRINTED };
    let told = |done, of| progress.advanced(done as u64, of as u64);
    let rows = leave(paper, &method, told).map_err(Failure::of)?;
    drop(progress);
    match file {
        Some(path) => table(&rows)?.write_csv(path).map_err(Failure::of),
        None if rows.is_empty() => nothing(paper, out),
        None => print(&rows, out),
    }
}

fn print(rows: &[LeftOut], out: &mut dyn Write) -> Result<(), Failure> {
    let width = rows.iter().map(|it| it.id.len()).max().unwrap_or_default();
    writeln!(
        out,
        "{:<width$}  {:>10}  {:>10}  {:>10}  {:>7}  unit",
        "claim", "published", "fitted", "left out", "error"
    )?;
    for it in rows {
        let predicted = it.predicted.map_or("-".to_owned(), |it| format!("{it:.4}"));
        let error = it.relative_error.map_or("-".to_owned(), |it| format!("{:+.1} %", it * 100.0));
        let open = if it.open.is_empty() {
            String::new()
        } else {
            format!("  without it open: {}", it.open.join(", "))
        };
        writeln!(
            out,
            "{:<width$}  {:>10}  {:>10.4}  {predicted:>10}  {error:>7}  {}{open}",
            it.id, it.published, it.computed, it.unit
        )?;
    }
    Ok(())
}

fn table(rows: &[LeftOut]) -> Result<Table, Failure> {
    let texts = |of: fn(&LeftOut) -> String| Column::Text(rows.iter().map(|it| Some(of(it))).collect());
    let numbers = |of: fn(&LeftOut) -> Option<f64>| Column::Float(rows.iter().map(of).collect());
    Table::from_columns([
        ("claim", texts(|it| it.id.clone())),
        ("published", texts(|it| it.published.to_string())),
        ("unit", texts(|it| it.unit.clone())),
        ("fitted", numbers(|it| Some(it.computed))),
        ("left_out", numbers(|it| it.predicted)),
        ("relative_error", numbers(|it| it.relative_error)),
        ("open", texts(|it| it.open.join(" "))),
    ])
    .map_err(Failure::of)
}
