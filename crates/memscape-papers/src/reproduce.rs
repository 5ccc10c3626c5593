//! Experiments as files.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use memscape_explore::{Origin, write_atomically};
use memscape_plot::Format;
use rayon::prelude::*;
use serde_json::json;

use crate::draw::{Look, draw};
use crate::error::Error;
use crate::experiment::Experiment;

/// Runs experiments on all cores and writes `<out>/<paper>/<figure>` of each, as `.csv`, with what
/// it answers beside it, and in these formats, every file when it is whole.
///
/// `finished` hears of each experiment as it ends, with how many have. What became
/// of them is told in their order; one that fails stops no other.
pub fn reproduce(
    experiments: &[&Experiment],
    out: &Path,
    formats: &[Format],
    look: &Look,
    finished: impl Fn(&Experiment, usize) + Sync,
) -> Vec<Result<(), Error>> {
    let done = AtomicUsize::new(0);
    let run = |experiment: &&Experiment| {
        let outcome = write(experiment, out, formats, look);
        finished(experiment, done.fetch_add(1, Ordering::Relaxed) + 1);
        outcome
    };
    // One by one: some take a second, some a millisecond.
    experiments.par_iter().with_max_len(1).map(run).collect()
}

fn write(experiment: &Experiment, out: &Path, formats: &[Format], look: &Look) -> Result<(), Error> {
    let figure_name = experiment.id.split_once('.').map_or(experiment.id, |(_, it)| it);
    let table = experiment.table_of(&look.changed)?;
    let figure = draw(experiment, &table, look)?;
    let folder = out.join(experiment.paper());
    std::fs::create_dir_all(&folder).map_err(|it| Error::file(&folder, &it))?;
    let path = |extension: &str| folder.join(format!("{figure_name}.{extension}"));
    let asked = json!({ "experiment": experiment.id, "changed": look.changed });
    Origin::of_command("reproduce", asked).write_once(&table, &path("csv"))?;
    for format in formats {
        let (path, bytes) = (path(format.name()), figure.file(*format)?);
        write_atomically(&path, |out| out.write_all(&bytes)).map_err(|it| Error::file(&path, &it))?;
    }
    Ok(())
}
