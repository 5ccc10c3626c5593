//! Sweeps that go to a file, and go on after an interruption.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::error::Error;
use crate::registry::DynStudy;
use crate::study_file::StudyFile;
use crate::sweep::{Control, Sweep};
use crate::table::Table;
use crate::whole::write_atomically;

/// How long to work at least before saving what is done.
const CHECKPOINT: Duration = Duration::from_secs(20);

/// Answers a study file's question into a Parquet file, or CSV if `path` ends
/// in `.csv`.
///
/// Every 20 seconds, and when cancelled, what is done goes to `<path>.partial`,
/// with the question in `<path>.partial.json`; with `resume`, work goes on
/// after it. The file at `path` appears when all is done. The table is not
/// complete if the sweep was cancelled.
///
/// # Errors
/// [`Error`] if the question is wrong, a file cannot be written, or `resume`
/// finds the partial answer to another question.
pub fn sweep_to_file(
    study: &dyn DynStudy,
    file: &StudyFile,
    path: &Path,
    resume: bool,
    control: &dyn Control,
) -> Result<Table, Error> {
    save_every(CHECKPOINT, study, file, path, resume, control)
}

fn save_every(
    pause: Duration,
    study: &dyn DynStudy,
    file: &StudyFile,
    path: &Path,
    resume: bool,
    control: &dyn Control,
) -> Result<Table, Error> {
    if !matches!(extension(path), Some("parquet" | "csv")) {
        return Err(Error::File {
            path: path.to_owned(),
            problem: "the name must end in .parquet or .csv".to_owned(),
        });
    }
    let sweep = file.sweep(study)?;
    // Nothing is touched before it is sure that there is something to do.
    study.sweep(&sweep, &Stopped)?;
    check_folder(path)?;
    let question = question(study, &sweep)?;
    let (partial, spec) = (beside(path, ".partial"), beside(path, ".partial.json"));
    let mut done = if resume { saved(&partial, &spec, &question)? } else { None };
    if done.is_none() {
        remove(&partial)?;
        write_atomically(&spec, |out| out.write_all(question.as_bytes()))
            .map_err(|it| Error::file(&spec, &it))?;
    }
    let mut pause = pause;
    loop {
        let first = done.as_ref().map_or(0, |it| it.height() as u64);
        let watch = Watch { control, since: Instant::now(), pause };
        let part = study.sweep_from(first, &sweep, &watch)?;
        let complete = part.is_complete();
        let table = match done {
            Some(done) => done.concat(&part)?,
            None => part,
        };
        if complete {
            table.write(path)?;
            remove(&partial)?;
            remove(&spec)?;
            return Ok(table);
        }
        let start = Instant::now();
        table.write_parquet(&partial)?;
        if control.cancelled() {
            return Ok(table);
        }
        // Saving a long table takes a while; most of the time is for work.
        pause = pause.max(start.elapsed() * 10);
        done = Some(table);
    }
}

fn check_folder(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => Err(Error::File {
            path: path.to_owned(),
            problem: format!("there is no folder `{}`; make it first", folder.display()),
        }),
        _ => Ok(()),
    }
}

/// A sweep that is cancelled before it begins is only checked.
struct Stopped;

impl Control for Stopped {
    fn cancelled(&self) -> bool {
        true
    }
}

/// Stops a sweep when it is time to save.
struct Watch<'a> {
    control: &'a dyn Control,
    since: Instant,
    pause: Duration,
}

impl Control for Watch<'_> {
    fn advanced(&self, done: u64, total: u64) {
        self.control.advanced(done, total);
    }

    fn cancelled(&self) -> bool {
        self.since.elapsed() >= self.pause || self.control.cancelled()
    }
}

/// What a partial answer is the answer to. Another version may answer
/// otherwise.
fn question(study: &dyn DynStudy, sweep: &Sweep) -> Result<String, Error> {
    let content = study.identity(sweep)?;
    let question = json!({
        "memscape": env!("CARGO_PKG_VERSION"), "study": study.name(), "sweep": sweep, "content": content,
    });
    serde_json::to_string_pretty(&question).map_err(|it| Error::Internal(it.to_string()))
}

/// The rows of an earlier run, if there are any.
fn saved(partial: &Path, spec: &Path, question: &str) -> Result<Option<Table>, Error> {
    if !partial.exists() {
        return Ok(None);
    }
    let problem = match std::fs::read_to_string(spec) {
        Ok(text) if text == question => return Table::read_parquet(partial).map(Some),
        Ok(_) => {
            "it answers another question (study, base, axes, a description that they name, or version differ)"
                .to_owned()
        }
        Err(error) => format!("what it answers is unknown: {}: {error}", spec.display()),
    };
    Err(Error::File {
        path: partial.to_owned(),
        problem: format!("{problem}; remove it, or start over without resuming"),
    })
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::File { path: path.to_owned(), problem: error.to_string() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::toy;

    const FILE: &str = r#"
        study = "toy.read"
        [axes]
        "memory.banks" = { from = 0, to = 63, step = 1 }
        "memory.trcd_ns" = { from = 10, to = 20, count = 40 }
        "#;

    /// Cancels after so many looks.
    struct After(AtomicU64);

    impl Control for After {
        fn cancelled(&self) -> bool {
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1)).is_err()
        }
    }

    #[test]
    fn a_resumed_sweep_is_the_uninterrupted_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = StudyFile::parse(FILE).unwrap();
        for extension in ["parquet", "csv"] {
            let whole = folder.path().join(format!("whole.{extension}"));
            let table = sweep_to_file(&toy::READ, &file, &whole, false, &()).unwrap();
            assert!(table.is_complete() && table.height() == 64 * 40);

            let parts = folder.path().join(format!("parts.{extension}"));
            let mut runs = 0;
            loop {
                let control = After(AtomicU64::new(2));
                let table = sweep_to_file(&toy::READ, &file, &parts, true, &control).unwrap();
                runs += 1;
                if table.is_complete() {
                    break;
                }
                assert!(!parts.exists() && beside(&parts, ".partial").exists());
            }
            assert!(runs > 3, "it was interrupted");
            assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap());
        }
        // Nothing but the two answers of each kind is left.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn saving_often_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = StudyFile::parse(FILE).unwrap();
        let (one, other) = (folder.path().join("one.parquet"), folder.path().join("other.parquet"));
        sweep_to_file(&toy::READ, &file, &one, false, &()).unwrap();
        save_every(Duration::from_micros(1), &toy::READ, &file, &other, false, &()).unwrap();
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    }

    #[test]
    fn another_question_is_not_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(FILE).unwrap();
        let cancel = || After(AtomicU64::new(2));
        assert!(!sweep_to_file(&toy::READ, &file, &path, false, &cancel()).unwrap().is_complete());

        let other = StudyFile::parse(&FILE.replace("= 40", "= 41")).unwrap();
        let error = sweep_to_file(&toy::READ, &other, &path, true, &()).unwrap_err().to_string();
        assert!(error.contains("it answers another question"), "{error}");
        // Without resuming, it starts over.
        assert_eq!(sweep_to_file(&toy::READ, &other, &path, false, &()).unwrap().height(), 64 * 41);
    }

    #[test]
    fn a_refused_sweep_touches_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let earlier = beside(&path, ".partial");
        std::fs::write(&earlier, "hours of work").unwrap();
        for wrong in [FILE.replace("memory.banks", "memory.bank"), format!("{FILE}[base]\nrows = 0")] {
            let file = StudyFile::parse(&wrong).unwrap();
            assert!(sweep_to_file(&toy::READ, &file, &path, false, &()).is_err());
            assert_eq!(std::fs::read_to_string(&earlier).unwrap(), "hours of work");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        let missing = folder.path().join("missing");
        let path = missing.join("out.parquet");
        let error = sweep_to_file(&toy::READ, &StudyFile::parse(FILE).unwrap(), &path, false, &());
        let (path, missing) = (path.display(), missing.display());
        let expected = format!("{path}: there is no folder `{missing}`; make it first");
        assert_eq!(error.unwrap_err().to_string(), expected);
    }

    #[test]
    fn the_kind_of_file_must_be_known() {
        let file = StudyFile::parse(FILE).unwrap();
        let error = sweep_to_file(&toy::READ, &file, Path::new("out.xlsx"), false, &()).unwrap_err();
        assert_eq!(error.to_string(), "out.xlsx: the name must end in .parquet or .csv");
    }
}
