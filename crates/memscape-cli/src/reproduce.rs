//! `memscape reproduce`.

use std::io::Write;
use std::path::Path;

use memscape::export::{format_named, style_named};
use memscape::papers;
use memscape::prelude::Control;

use crate::failure::Failure;
use crate::parameters;
use crate::progress::Progress;

/// How figures are to look.
pub struct Look<'a> {
    /// What they are written as.
    pub formats: &'a [String],
    /// Where they are shown.
    pub style: &'a str,
    /// Whether what the papers print is left out.
    pub without_published: bool,
}

/// Redraws papers or figures; what has a `=` is a parameter to change.
pub fn reproduce(
    given: &[String],
    folder: Option<&Path>,
    look: &Look,
    quiet: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (changes, selectors): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|it| it.contains('='));
    let formats = look.formats.iter().map(|it| format_named(it)).collect::<Result<Vec<_>, _>>();
    let formats = formats.map_err(Failure::of)?;
    let selectors: Vec<&str> = selectors.iter().map(String::as_str).collect();
    let experiments = papers::select(&selectors).map_err(Failure::of)?;
    let look = papers::Look {
        style: style_named(look.style).map_err(Failure::of)?,
        without_published: look.without_published,
        changed: parameters::parse(&changes)?,
    };
    // What the papers' machines say is not written over by what others do.
    let folder = folder.unwrap_or(Path::new(if changes.is_empty() { "figures" } else { "changed" }));
    let progress = Progress::new("reproduce", quiet);
    progress.advanced(0, experiments.len() as u64);
    let outcomes = papers::reproduce(&experiments, folder, &formats, &look, |experiment, done| {
        progress.at(experiment.id, done, experiments.len());
    });
    drop(progress);
    for (experiment, outcome) in experiments.iter().zip(outcomes) {
        outcome.map_err(Failure::of)?;
        if !quiet {
            writeln!(out, "{:<18} {}", experiment.id, experiment.title)?;
        }
    }
    Ok(())
}
