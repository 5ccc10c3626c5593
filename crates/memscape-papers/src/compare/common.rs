//! What the comparisons share.

use memscape_explore::Table;
use memscape_plot::Lines;
use memscape_plot::style::{Colour, DISTINCT, distinct};
use memscape_study::Preset;
use memscape_systems::compare::{Workload, compare, platforms};
use memscape_systems::platform::Platform;
use rayon::prelude::*;

use crate::error::Error;
use crate::sweeps::concat;

/// The model of all figures but the one over models: small enough for phones.
pub const MODEL: &str = "llama-3.2-3b";

/// The columns that figures and readers need; what a row takes for granted is the platforms'.
const SHOWN: [&str; 17] = [
    "platform",
    "machine",
    "variant",
    "model",
    "format",
    "prompt_tokens",
    "generated_tokens",
    "batch",
    "ttft_s",
    "token_ns",
    "generation_tokens_per_s",
    "total_s",
    "tokens_per_s",
    "memory_bytes",
    "memory_limit_bytes",
    "bound_by",
    "error",
];

/// Asks every platform each of these, on all cores. Rows come in the order of the questions;
/// what a platform cannot run is a row whose `error` says why.
pub fn ask(questions: &[Workload]) -> Result<Table, Error> {
    let platforms = platforms();
    let each: Vec<_> =
        questions.iter().flat_map(|question| platforms.iter().map(move |it| (question, it))).collect();
    let tables: Vec<_> = each
        .into_par_iter()
        .with_max_len(1)
        .map(|(question, it)| compare(question, std::slice::from_ref(it), &()))
        .collect();
    concat(tables.into_iter().map(|it| Ok(it?)))
}

/// The same, less the columns that only one figure needs.
pub fn ask_shown(questions: &[Workload]) -> Result<Table, Error> {
    Ok(ask(questions)?.select(&SHOWN)?)
}

/// The platforms in panels of no more than there are colours, in the catalog's order: those of
/// one machine stay together.
pub fn panels() -> Vec<Vec<String>> {
    let mut panels: Vec<Vec<String>> = Vec::new();
    for machine in machines() {
        let names: Vec<String> = machine.into_iter().map(|it| it.name).collect();
        match panels.last_mut() {
            Some(last) if last.len() + names.len() <= DISTINCT.len() => last.extend(names),
            _ => panels.push(names),
        }
    }
    panels
}

/// The colour of a platform in all figures: by its place in its panel.
pub fn colour(platform: &str) -> Colour {
    let place = panels().iter().find_map(|panel| panel.iter().position(|it| it == platform));
    distinct(place.unwrap_or_default())
}

/// The platforms machine by machine.
pub fn machines() -> Vec<Vec<Preset<Platform>>> {
    let mut machines: Vec<Vec<Preset<Platform>>> = Vec::new();
    for it in platforms() {
        match machines.iter_mut().find(|of| of[0].parameters.machine == it.parameters.machine) {
            Some(of) => of.push(it),
            None => machines.push(vec![it]),
        }
    }
    machines
}

/// A curve for each of these platforms, also for one that runs nothing: the others keep their
/// colours. Without names, the legend is another panel's.
pub fn curves(
    table: &Table,
    platforms: &[String],
    named: bool,
    (x, y): (&str, &str),
    lines: Lines,
) -> Result<Lines, Error> {
    platforms.iter().try_fold(lines, |lines, platform| {
        let rows = table.filter("platform", platform.as_str())?;
        let points = rows.f64(x)?.into_iter().zip(rows.f64(y)?).filter_map(|(x, y)| Some((x?, y)));
        let name = if named { platform.as_str() } else { "" };
        Ok(lines.curve(name, points))
    })
}

/// From the least to the greatest number of a column.
pub fn extent(table: &Table, column: &str) -> Result<Option<(f64, f64)>, Error> {
    let values = table.f64(column)?;
    let known = values.iter().flatten().copied();
    Ok(known.map(|it| (it, it)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))))
}
