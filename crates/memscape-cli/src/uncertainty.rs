//! `memscape uncertainty`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Origin, Question, Space, Uncertainty};
use memscape::prelude::study;

use crate::failure::Failure;
use crate::keep::keep;
use crate::parameters;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::{check_table, read};
use crate::show::show;

/// Prints and writes what answers may be.
pub fn uncertainty(
    source: &str,
    overrides: &[String],
    asked: &Uncertainty,
    table: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(table, "uncertainty")?;
    let overrides = parameters::parse(overrides)?;
    let is_file = Path::new(source).extension().is_some_and(|it| it == "toml");
    let (study, base, space) = if is_file {
        let spec = read(Path::new(source))?;
        let study = study(&spec.study).map_err(Failure::of)?;
        let space = spec.space(study).map_err(Failure::of)?;
        (study, vec![spec.parameters(study), overrides], space)
    } else {
        (study(source).map_err(Failure::of)?, vec![overrides], Space::default())
    };
    save_when_interrupted();
    let progress = Progress::new(study.name(), quiet);
    let found = memscape::explore::uncertainty(study, &base, &space, asked, &progress);
    drop(progress);
    let found = found.map_err(Failure::of)?;
    if let Some(path) = table {
        let asked = Question::about(study, &base, &space, ("uncertainty", asked), asked.draws);
        keep(&found, &Origin::of(&asked.map_err(Failure::of)?), path, quiet, err)?;
    }
    if found.height() > 0 {
        let refused = found.text("error").is_ok_and(|it| it.iter().any(Option::is_some));
        let columns: Vec<&str> =
            found.column_names().into_iter().filter(|it| refused || *it != "error").collect();
        show(&found, &columns, found.height(), out)?;
    }
    if found.is_complete() { Ok(()) } else { Err(Failure::Interrupted) }
}
