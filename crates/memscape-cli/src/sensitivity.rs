//! `memscape sensitivity`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Origin, Question, SensitivityMethod};
use memscape::prelude::study;

use crate::failure::Failure;
use crate::keep::keep;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::{check_table, read};
use crate::show::show;

/// What the command line says over the study file.
pub struct Given {
    pub of: Vec<String>,
    pub method: Option<String>,
    pub samples: Option<u64>,
    pub seed: Option<u64>,
}

/// Prints and writes how much each axis matters.
pub fn sensitivity(
    file: &Path,
    given: Given,
    table: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(table, "sensitivity")?;
    let spec = read(file)?;
    let study = study(&spec.study).map_err(Failure::of)?;
    let mut question = spec.sensitivity.clone().unwrap_or_default();
    if !given.of.is_empty() {
        question.of = given.of;
    }
    if let Some(method) = given.method {
        question.method = SensitivityMethod::named(&method).map_err(Failure::of)?;
    }
    question.samples = given.samples.unwrap_or(question.samples);
    question.seed = given.seed.unwrap_or(question.seed);
    let space = spec.space(study).map_err(Failure::of)?;
    save_when_interrupted();
    let progress = Progress::new(study.name(), quiet);
    let base = [spec.parameters(study)];
    let found = memscape::explore::sensitivity(study, &base, &space, &question, &progress);
    drop(progress);
    let found = found.map_err(Failure::of)?;
    if let Some(path) = table {
        let asked = Question::about(study, &base, &space, ("sensitivity", &question), question.samples);
        keep(&found, &Origin::of(&asked.map_err(Failure::of)?), path, quiet, err)?;
    }
    if found.height() > 0 {
        show(&found, &found.column_names(), found.height(), out)?;
    }
    if found.is_complete() { Ok(()) } else { Err(Failure::Interrupted) }
}
