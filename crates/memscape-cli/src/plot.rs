//! `memscape plot`.

use std::collections::BTreeMap;

use memscape::drawing::{Drawing, Kind, Line, Log};
use memscape::explore::Table;
use memscape::export::{format_of, style_named};

use crate::args::Plot;
use crate::create::create;
use crate::failure::Failure;

/// Draws a table into a file.
pub fn plot(asked: Plot) -> Result<(), Failure> {
    let Plot {
        table,
        x,
        y,
        series,
        facet,
        own_axes,
        kind,
        log,
        reference,
        band,
        maximize,
        label,
        title,
        caption,
        wide,
        style,
        out,
    } = asked;
    let format = format_of(&out).map_err(Failure::of)?;
    let drawing = Drawing {
        x,
        y,
        series,
        facet,
        own_axes,
        kind: kind.as_deref().map(Kind::named).transpose().map_err(Failure::of)?,
        log: Log::named(&log).map_err(Failure::of)?,
        reference: reference.iter().map(|it| named(it)).collect::<Result<_, _>>()?,
        band: band.as_deref().map(two_columns).transpose()?,
        maximize,
        labels: labels(&label)?,
        title,
        caption,
        wide,
        style: style_named(&style).map_err(Failure::of)?,
    };
    let table = Table::read(&table).map_err(Failure::of)?;
    let figure = drawing.draw(&table).map_err(Failure::of)?;
    let bytes = figure.file(format).map_err(Failure::of)?;
    create(&out, |file| Ok(file.write_all(&bytes)?))
}

/// What columns are called, each once.
fn labels(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut labels = BTreeMap::new();
    for (column, text) in given.iter().map(|it| called(it)).collect::<Result<Vec<_>, _>>()? {
        if let Some(first) = labels.insert(column.clone(), text.clone()) {
            return Err(Failure::BadInput(format!(
                "--label: `{column}` is given twice, as {first} and {text}; leave out one"
            )));
        }
    }
    Ok(labels)
}

/// `column=text`.
fn called(text: &str) -> Result<(String, String), Failure> {
    let found = text.split_once('=').map(|(column, text)| (column.to_owned(), text.to_owned()));
    found.ok_or_else(|| {
        Failure::BadInput(format!(
            "--label {text}: expected a column and a text, such as token_ns=Time per token (ns)"
        ))
    })
}

/// `least,greatest`.
fn two_columns(text: &str) -> Result<[String; 2], Failure> {
    let columns: Vec<String> = text.split(',').map(|it| it.trim().to_owned()).collect();
    <[String; 2]>::try_from(columns).map_err(|_| {
        Failure::BadInput(format!(
            "--band {text}: expected two columns with a comma between, such as low,high"
        ))
    })
}

/// `name=value`, or `name=from..to`.
fn named(text: &str) -> Result<(String, Line), Failure> {
    let line = |value: &str| match value.split_once("..") {
        Some((from, to)) => Some(Line::Band(from.parse().ok()?, to.parse().ok()?)),
        None => Some(Line::At(value.parse().ok()?)),
    };
    let found = text.rsplit_once('=').and_then(|(name, value)| Some((name.to_owned(), line(value)?)));
    found.ok_or_else(|| {
        Failure::BadInput(format!(
            "--reference {text}: expected a name and a number, such as peak=51.2, or two, such as phones=8..12"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::two_columns;

    #[test]
    fn a_band_is_of_two_columns() {
        assert_eq!(two_columns("low, high").ok(), Some(["low".to_owned(), "high".to_owned()]));
        assert!(two_columns("low").is_err() && two_columns("low,high,low,high").is_err());
    }
}
