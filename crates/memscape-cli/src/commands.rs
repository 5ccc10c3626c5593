//! What each command does: ask the library, print the answer.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Error, Onto, TableForm, Uncertainty};
use memscape::prelude::{DynStudy, Parameters, studies, study};
use serde_json::Value;

use crate::args::{Bench, Cli, Command};
use crate::create::create;
use crate::failure::Failure;
use crate::progress::catch_interrupts;
use crate::read::read;
use crate::{
    bench, calibrate, claims, compare, describe, explore, front, laws, mcp, measure, origin, parameters,
    plot, predictions, reproduce, search, sensitivity, store, sweep, trace_stats, uncertainty,
};

/// Runs one command.
pub fn dispatch(cli: Cli, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Failure> {
    let quiet = cli.quiet;
    catch_interrupts();
    match cli.command {
        Command::Reproduce { selectors, out: folder, formats, style, no_published, claims } => {
            let look = reproduce::Look { formats: &formats, style: &style, without_published: no_published };
            reproduce::reproduce(&selectors, folder.as_deref(), &look, quiet, out)?;
            if claims { claims::report(None, false, quiet, out) } else { Ok(()) }
        }
        Command::Claims { source: Some(paper), uncertainty: Some(draws), json, .. } => {
            claims::coverage(&paper, draws, json, quiet, out)
        }
        Command::Claims { source, blind: true, json, .. } => {
            claims::blind(source.as_deref(), json, quiet, out)
        }
        Command::Claims { source, blind: false, json, .. } => {
            claims::report(source.as_deref(), json, quiet, out)
        }
        Command::Predictions { measured: Some(file), json, .. } => predictions::hold(&file, json, out),
        Command::Predictions { say: Some(file), date, .. } => {
            predictions::say(&file, date.as_deref().unwrap_or_default(), quiet, err)
        }
        Command::Predictions { json, .. } => predictions::list(json, quiet, out),
        Command::Calibrate { paper, covariance: true, .. } => calibrate::covariance(&paper, out),
        Command::Calibrate { paper, leave_one_out: true, near, out: file, .. } => {
            calibrate::leave_one_out(&paper, near, file.as_deref(), quiet, out)
        }
        Command::Calibrate { paper, .. } => calibrate::calibrate(&paper, quiet, out),
        Command::Studies => list(out),
        Command::Describe { name, diff: None } => describe::describe(&name, out),
        Command::Describe { name, diff: Some(other) } => describe::diff(&name, &other, out),
        Command::Run { study, overrides, row, json } => {
            run(&study, &overrides.parameters, row, json, out, err)
        }
        Command::Show { table, json } => origin::show(&table, json, out),
        Command::Sweep { file, out: table, overwrite, store: Some(folder), .. } => {
            sweep::into_store(&file, &folder, table.as_deref(), overwrite, quiet, err)
        }
        Command::Sweep { file, out: table, resume, overwrite, store: None } => {
            let onto = Onto { resume, overwrite };
            sweep::into_file(&file, table.as_deref(), onto, quiet, err)
        }
        Command::Store { what } => store::store(&what, quiet, out, err),
        Command::Search { file, sought, method, budget, seed, kept } => {
            let given = search::Given { sought, method, budget, seed };
            search::search(&file, given, &kept, quiet, out, err)
        }
        Command::Front { source, sought, kept } => front::front(&source, sought, &kept, quiet, out, err),
        Command::Sensitivity { file, of, method, samples, seed, out: table } => {
            let given = sensitivity::Given { of, method, samples, seed };
            sensitivity::sensitivity(&file, given, table.as_deref(), quiet, out, err)
        }
        Command::Uncertainty { source, overrides, of, draws, seed, out: table } => {
            let asked = Uncertainty { of, draws, seed };
            uncertainty::uncertainty(
                &source,
                &overrides.parameters,
                &asked,
                table.as_deref(),
                quiet,
                out,
                err,
            )
        }
        Command::Compare { platforms, workload, operators, out: table } => {
            compare::compare(&platforms, workload, operators, table.as_deref(), quiet, out, err)
        }
        Command::Plot(asked) => plot::plot(asked),
        Command::Explore(asked) => explore::explore(&asked, quiet, out, err),
        Command::Bench { what: Bench::Front { systems, budgets, seeds, out: table } } => {
            let asked = bench::Asked { systems: &systems, budgets: &budgets, seeds };
            bench::front(&asked, table.as_deref(), quiet, out, err)
        }
        Command::TraceStats { traces, profile, dimms, json } => {
            trace_stats::report(&traces, profile.as_deref(), dimms, json, out)
        }
        Command::Laws { study, overrides, hardware, points, seed, out: table } => {
            let asked = laws::Asked {
                study: study.as_deref(),
                parameters: &overrides.parameters,
                hardware: hardware.as_deref(),
                points,
                seed,
            };
            laws::examine(&asked, table.as_deref(), quiet, out, err)
        }
        Command::Mcp { folder, most_points } => {
            let place = mcp::Place::new(&folder)?;
            place.confine()?;
            mcp::serve(std::io::stdin(), out, &mcp::Tools::new(place, most_points))
        }
        Command::Measure { what } => measure::measure(&what, quiet, out, err),
        Command::Presets { kind } => describe::list_presets(kind.as_deref(), out),
        Command::Schema { kind } => describe::schema(&kind, out),
        Command::Trace { study, overrides, format, out: file } => {
            trace(&study, &overrides.parameters, format, file.as_deref(), out)
        }
    }
}

fn list(out: &mut dyn Write) -> Result<(), Failure> {
    let width = studies().map(|it| it.name().len()).max().unwrap_or_default();
    for study in studies() {
        writeln!(out, "{:<width$}  {}", study.name(), study.summary())?;
    }
    Ok(())
}

fn run(
    name: &str,
    overrides: &[String],
    row: Option<usize>,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    let kept = row.map(|row| origin::Asked::of(Path::new(name), row)).transpose()?;
    let (study, layers) = match &kept {
        Some(kept) => {
            (kept.study, kept.layers.iter().cloned().chain([parameters::parse(overrides)?]).collect())
        }
        None => question(name, overrides)?,
    };
    let now = study.run_layers(&layers.iter().collect::<Vec<_>>());
    // With something else asked it may well be another.
    let same = kept.filter(|_| overrides.is_empty());
    if let Some(column) = same.and_then(|it| it.changed(&now)) {
        writeln!(
            err,
            "`{column}` is another in the table: a description that it names has changed since, or the model"
        )?;
    }
    let row = now.map_err(Failure::of)?;
    if json {
        let row: Parameters = row.into_iter().collect();
        return Ok(writeln!(out, "{}", Value::Object(row))?);
    }
    let width = row.iter().map(|(column, _)| column.len()).max().unwrap_or_default();
    for (column, value) in row {
        match value {
            Value::String(text) => writeln!(out, "{column:<width$}  {text}")?,
            value => writeln!(out, "{column:<width$}  {value}")?,
        }
    }
    Ok(())
}

/// A study by name or of a study file, and its parameters: the file's, then those of
/// the command line.
fn question(name: &str, overrides: &[String]) -> Result<(&'static dyn DynStudy, Vec<Parameters>), Failure> {
    let overrides = parameters::parse(overrides)?;
    match Path::new(name).extension().and_then(|it| it.to_str()) {
        Some("toml") => {}
        _ if TableForm::of(Path::new(name)).is_some() => {
            return Err(Failure::BadInput(format!("`{name}` is a table; say which row of it: --row 0")));
        }
        _ => return Ok((study(name).map_err(Failure::of)?, vec![overrides])),
    }
    let file = read(Path::new(name))?;
    if file.has_axes() {
        return Err(Failure::BadInput(format!(
            "`{name}` describes a sweep, not one point; use `memscape sweep {name} -o table.parquet`"
        )));
    }
    let study = study(&file.study).map_err(Failure::of)?;
    Ok((study, vec![file.parameters(study), overrides]))
}

/// Writes what happens when; the file's ending says in which form, if nothing does.
fn trace(
    asked: &str,
    overrides: &[String],
    format: Option<String>,
    file: Option<&Path>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (study, layers) = question(asked, overrides)?;
    let layers: Vec<&Parameters> = layers.iter().collect();
    let is_json = file.is_some_and(|it| it.extension().is_some_and(|it| it == "json"));
    let usual = if is_json { "perfetto" } else { "csv" };
    let format = format.unwrap_or_else(|| {
        let forms: Vec<&str> = study.traces().into_iter().map(|it| it.0).collect();
        let first = forms.first().filter(|_| !is_json && !forms.contains(&usual));
        first.copied().unwrap_or(usual).to_owned()
    });
    let trace = |out: &mut dyn Write| {
        study.trace(&layers, &format, out).map_err(|error| match error {
            // A reader that leaves is no error.
            Error::Write(error) => error.into(),
            error => Failure::of(error),
        })
    };
    match file {
        None => trace(out),
        Some(path) if is_same(path, Path::new(asked)) => Err(Failure::BadInput(format!(
            "`{}` is the study file that is asked; name another file",
            path.display()
        ))),
        Some(path) => create(path, trace),
    }
}

/// Whether both are one file, whatever each is called.
fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}
