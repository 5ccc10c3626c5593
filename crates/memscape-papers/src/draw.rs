//! Figures of experiments as they are shown.

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
/// [`Error`] if the table lacks a column or cannot be drawn.
pub fn draw(experiment: &Experiment, table: &Table, look: &Look) -> Result<Figure, Error> {
    let mut figure = experiment.plot(table)?;
    // Another table is not what the paper prints.
    let own = look.changed.is_empty() && experiment.table().is_ok_and(|it| it == *table);
    if look.changed.is_empty() && !own {
        figure.caption = format!("{} Drawn of a table that was changed.", figure.caption);
    }
    if own && !look.without_published {
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
    Ok(figure.style(look.style))
}
