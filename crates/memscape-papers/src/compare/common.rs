//! What the comparisons share.

use memscape_explore::{Parameters, Table};
use memscape_plot::Lines;
use memscape_plot::style::{Colour, DISTINCT};
use memscape_study::Preset;
use memscape_systems::compare::{Workload, compare, platforms};
use memscape_systems::platform::Platform;
use rayon::prelude::*;

use crate::colours::colours;
use crate::error::Error;
use crate::sets::note;
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

/// A figure's question with what is changed of it, but for what the figure sets itself.
pub fn question(asked: Workload, changed: &Parameters, own: &[&str]) -> Result<Workload, Error> {
    note(own.iter().copied());
    let changed = changed.iter().filter(|it| !own.contains(&it.0.as_str()));
    Ok(changed.into_iter().try_fold(asked, |asked, (path, value)| asked.with(path, value))?)
}

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

/// Platforms that share a panel, of one class of machines.
pub struct Class {
    pub name: String,
    pub platforms: Vec<String>,
}

/// The platforms by class, in the catalog's order; no more in one than there are colours.
pub fn classes() -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for it in platforms() {
        let Platform { class, machine, .. } = it.parameters;
        let class = if class.is_empty() { machine } else { class };
        let room = |of: &&mut Class| of.name == class && of.platforms.len() < DISTINCT.len();
        match classes.iter_mut().find(room) {
            Some(of) => of.platforms.push(it.name),
            None => classes.push(Class { name: class, platforms: vec![it.name] }),
        }
    }
    classes
}

/// The colour of a platform in all figures: that of its scheme, else one that its class leaves.
pub fn colour(platform: &str) -> Option<Colour> {
    let of_class = |it: &Class| {
        let place = it.platforms.iter().position(|it| it == platform)?;
        Some(colours(&it.platforms)[place])
    };
    classes().iter().find_map(of_class)
}

/// The platforms machine by machine.
fn machines() -> Vec<Vec<Preset<Platform>>> {
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
        let mut lines = lines.curve(name, points);
        lines.curves.iter_mut().rev().take(1).for_each(|it| it.colour = colour(platform));
        Ok(lines)
    })
}

/// Whether any of these platforms has a number in a column.
pub fn answered(table: &Table, column: &str, platforms: &[String]) -> Result<bool, Error> {
    let (names, values) = (table.text("platform")?, table.f64(column)?);
    let is_one = |name: &Option<String>| name.as_ref().is_some_and(|it| platforms.contains(it));
    Ok(names.iter().zip(&values).any(|(name, value)| is_one(name) && value.is_some()))
}

/// The machines of which at least one platform has a number in a column.
pub fn machines_with(table: &Table, column: &str) -> Result<Vec<Vec<Preset<Platform>>>, Error> {
    let mut shown = Vec::new();
    for machine in machines() {
        let names: Vec<String> = machine.iter().map(|it| it.name.clone()).collect();
        if answered(table, column, &names)? {
            shown.push(machine);
        }
    }
    Ok(shown)
}

/// From the least to the greatest number of a column.
pub fn extent(table: &Table, column: &str) -> Result<Option<(f64, f64)>, Error> {
    let values = table.f64(column)?;
    let known = values.iter().flatten().copied();
    Ok(known.map(|it| (it, it)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))))
}
