//! Figures of experiments as they are shown.

use std::collections::HashSet;

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, Style};

use crate::claims::{Published, published};
use crate::error::Error;
use crate::experiment::Experiment;
use crate::overlay::with_published;

/// How a figure is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// Where.
    pub style: Style,
    /// Whether the paper's printed numbers are left out. Those of a figure with changed
    /// parameters always are: the paper prints none of them.
    pub without_published: bool,
    /// Parameters that are changed, which the figure then says.
    pub changed: Parameters,
}

/// Draws an experiment's table with title and caption, and with what the paper prints.
///
/// # Errors
/// [`Error`] if the table lacks a column, has several rows for one mark, or cannot be drawn.
pub fn draw(experiment: &Experiment, table: &Table, look: &Look) -> Result<Figure, Error> {
    // Another table is neither what the paper prints nor what the parameters make.
    let made = experiment.table_of(&look.changed).ok();
    let own = made.as_ref() == Some(table);
    if let Some(made) = made.filter(|_| !own) {
        check_rows(experiment, &made, table)?;
    }
    let mut figure = experiment.plot(table)?;
    if own && look.changed.is_empty() && !look.without_published {
        let claims = published(Some(experiment.paper()))?;
        let claims: Vec<_> = claims.into_iter().flat_map(|it: Published| it.claims).collect();
        figure = with_published(experiment, table, &claims, figure)?;
    }
    if !look.changed.is_empty() {
        let all = look.changed.iter().map(|(path, value)| match value.as_str() {
            Some(text) => format!("{path} = {text}"),
            None => format!("{path} = {value}"),
        });
        let all: Vec<String> = all.collect();
        figure.caption = format!("{} Changed: {}.", figure.caption, all.join(", "));
    }
    if !own {
        figure.caption = format!("{} Drawn of a table that was changed.", figure.caption);
    }
    Ok(figure.style(look.style))
}

/// That no two rows of `given` stand where one of the experiment's own does: its first columns tell its rows apart.
fn check_rows(experiment: &Experiment, own: &Table, given: &Table) -> Result<(), Error> {
    let mut keys: Vec<&str> = Vec::new();
    for column in own.column_names() {
        keys.push(column);
        if repeated(own, &keys)?.is_none() {
            break;
        }
    }
    if keys.iter().any(|it| given.column(it).is_err()) {
        return Ok(());
    }
    match repeated(given, &keys)? {
        Some(row) if repeated(own, &keys)?.is_none() => Err(Error::BadChart(format!(
            "several rows have {row}, and `{}` has a mark for one; draw one table of it at a time, or both by `plot` with a \
             column that tells them apart",
            experiment.id
        ))),
        _ => Ok(()),
    }
}

/// The first row that these columns do not tell apart from one before it.
fn repeated(table: &Table, columns: &[&str]) -> Result<Option<String>, Error> {
    let texts = columns.iter().map(|it| table.text(it)).collect::<Result<Vec<_>, _>>()?;
    let mut seen = HashSet::new();
    Ok((0..table.height()).find_map(|row| {
        let named = columns.iter().zip(&texts);
        let row: Vec<String> =
            named.map(|(name, it)| format!("`{name}` = {}", it[row].as_deref().unwrap_or("null"))).collect();
        let row = row.join(", ");
        (!seen.insert(row.clone())).then_some(row)
    }))
}
