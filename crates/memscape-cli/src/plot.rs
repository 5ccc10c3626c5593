//! `memscape plot`.

use std::path::Path;

use memscape::chart::{Drawing, Kind, Log};
use memscape::explore::Table;

use crate::args::Plot;
use crate::create::create;
use crate::failure::Failure;

/// Draws a table into a file.
pub fn plot(asked: Plot) -> Result<(), Failure> {
    let Plot { table, x, y, series, facet, kind, log, reference, maximize, title, caption, wide, out } =
        asked;
    let form = Form::of(&out)?;
    let drawing = Drawing {
        x,
        y,
        series,
        facet,
        kind: kind.as_deref().map(Kind::named).transpose().map_err(Failure::of)?,
        log: Log::named(&log).map_err(Failure::of)?,
        reference: reference.iter().map(|it| named(it)).collect::<Result<_, _>>()?,
        maximize,
        title,
        caption,
        wide,
    };
    let table = Table::read_parquet(&table).map_err(Failure::of)?;
    let figure = drawing.draw(&table).map_err(Failure::of)?;
    let bytes = match form {
        Form::Svg => figure.svg().map(String::into_bytes),
        Form::Png => figure.png(),
    };
    let bytes = bytes.map_err(Failure::of)?;
    create(&out, |file| Ok(file.write_all(&bytes)?))
}

enum Form {
    Svg,
    Png,
}

impl Form {
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|it| it.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(Failure::BadInput(format!("{}: the name must end in .svg or .png", path.display()))),
        }
    }
}

/// `name=value`.
fn named(text: &str) -> Result<(String, f64), Failure> {
    let found = text.rsplit_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    found.ok_or_else(|| {
        Failure::BadInput(format!("--reference {text}: expected a name and a number, such as peak=51.2"))
    })
}
