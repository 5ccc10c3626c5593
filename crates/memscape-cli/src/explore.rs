//! `memscape explore`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Table, TableForm};
use memscape::page::{Explorer, Grid, Server, TableView, View, document};
use memscape::prelude::{Parameters, study};

use crate::args::Explore;
use crate::create::create;
use crate::failure::Failure;
use crate::parameters;
use crate::progress::Progress;
use crate::read::read;

/// Serves a page until Ctrl-C, or writes one.
pub fn explore(
    asked: &Explore,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(file) = &asked.page {
        if file.extension().is_none_or(|it| it != "html") {
            return Err(Failure::BadInput(format!("{}: the name must end in .html", file.display())));
        }
        let view = view(asked, quiet)?;
        return create(file, |out| Ok(out.write_all(document(&view).as_bytes())?));
    }
    let view = view(asked, quiet)?;
    let server = Server::start(view, asked.port).map_err(Failure::of)?;
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    if !quiet {
        writeln!(err, "open this link in a browser on this machine; Ctrl-C ends it")?;
    }
    server.wait();
    Ok(())
}

fn view(asked: &Explore, quiet: bool) -> Result<View, Failure> {
    let Explore { what, overrides, page, .. } = asked;
    let path = Path::new(what);
    let overrides = parameters::parse(&overrides.parameters)?;
    match path.extension().and_then(|it| it.to_str()) {
        Some("toml") => of_file(path, &overrides, page.is_some(), quiet),
        _ if TableForm::of(path).is_some() => of_table(path, &overrides),
        _ if page.is_some() => Err(Failure::BadInput(format!(
            "a page by itself holds a grid of points; write the axes into a study file of `{what}`, and give that"
        ))),
        _ => {
            let study = study(what).map_err(Failure::of)?;
            Ok(Explorer::new(study, &[&overrides]).map_err(Failure::of)?.into())
        }
    }
}

fn of_table(path: &Path, overrides: &Parameters) -> Result<View, Failure> {
    if let Some((given, _)) = overrides.iter().next() {
        return Err(Failure::BadInput(format!(
            "`{given}` cannot be given to a table, whose rows are answered already; explore the study"
        )));
    }
    let table = Table::read(path).map_err(Failure::of)?;
    Ok(TableView::new(&table).map_err(Failure::of)?.into())
}

/// A study file: the point that it begins at, or its axes if the page is to hold every answer.
fn of_file(path: &Path, overrides: &Parameters, whole: bool, quiet: bool) -> Result<View, Failure> {
    let file = read(path)?;
    let study = study(&file.study).map_err(Failure::of)?;
    let base = file.parameters(study);
    let sweep = file.sweep(study).map_err(Failure::of)?.over(overrides.clone());
    if whole {
        let progress = Progress::new(study.name(), quiet);
        return Ok(Grid::new(study, &[&base, overrides], &sweep, &progress).map_err(Failure::of)?.into());
    }
    let explorer = Explorer::new(study, &[&base, overrides]).map_err(Failure::of)?;
    Ok(match sweep.axes().into_iter().next() {
        Some(axis) => explorer.over(axis).into(),
        None => explorer.into(),
    })
}
