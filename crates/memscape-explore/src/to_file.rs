//! Sweeps that go to a file, and go on after an interruption.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::error::Error;
use crate::origin::Origin;
use crate::partial::{Lock, Partial};
use crate::persistence::{CHECKPOINT, Watch, persistently};
use crate::question::Question;
use crate::registry::DynStudy;
use crate::study_file::StudyFile;
use crate::sweep::Sweep;
use crate::table::Table;

/// Answers a study file's question into a Parquet file, or CSV if `path` ends
/// in `.csv`.
///
/// Every 20 seconds, and when cancelled, what is done goes to `<path>.partial`, with
/// the question's identity and a checksum; with `resume`, work goes on after it. A
/// checkpoint that fails is told to `control` and tried again later. The file at `path`
/// appears when all is done. The table is not complete if the sweep was cancelled.
///
/// # Errors
/// [`Error`] if the question is wrong, the output cannot be written or another process
/// is writing it, or if there is a partial result and `resume` is not given, or it is
/// damaged or answers another question. Nothing is touched then.
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
    check_place(path)?;
    let sweep = file.sweep(study)?;
    // Nothing is touched before it is sure that there is something to do.
    study.sweep(&sweep, &Stopped)?;
    let _lock = Lock::of(path)?;
    let question = Question::of(study, &sweep)?;
    let partial = Partial::of(path);
    let mut done = earlier(&partial, study, &sweep, &question, resume)?;
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
            finish(&table, path, &partial, &question, control)?;
            return Ok(table);
        }
        let start = Instant::now();
        if control.cancelled() {
            persistently(control, || partial.write(&question, &table))?;
            return Ok(table);
        }
        if let Err(error) = partial.write(&question, &table) {
            control.warned(&format!("not saved yet, will be tried again: {error}"));
        }
        // Saving a long table takes a while; most of the time is for work.
        pause = pause.max(start.elapsed() * 10);
        done = Some(table);
    }
}

/// The rows of an earlier run, if they are to be gone on with.
fn earlier(
    partial: &Partial,
    study: &dyn DynStudy,
    sweep: &Sweep,
    question: &Question,
    resume: bool,
) -> Result<Option<Table>, Error> {
    if !resume {
        let problem = "an interrupted run left its rows here; go on with them by resuming (`--resume`), or \
                       remove the file to start over";
        return if partial.path().exists() { Err(Error::file(partial.path(), &problem)) } else { Ok(None) };
    }
    let Some(rows) = partial.read(question)? else { return Ok(None) };
    let axes = study.axes(sweep, rows.height())?;
    if rows.select(&axes.column_names())? != axes {
        let problem = "its axes are not those of the question; remove it to start over";
        return Err(Error::file(partial.path(), &problem));
    }
    Ok(Some(rows))
}

/// Writes the whole table, or saves it as a partial one if that cannot be.
fn finish(
    table: &Table,
    path: &Path,
    partial: &Partial,
    question: &Question,
    control: &dyn Control,
) -> Result<(), Error> {
    let origin = Origin::of(question);
    let Err(error) = persistently(control, || origin.write(table, path)) else { return partial.remove() };
    partial.write(question, table)?;
    let saved = partial.path().display();
    Err(Error::file(path, &format!("{error}; all rows are in {saved}, and resuming writes them")))
}

pub(crate) fn check_place(path: &Path) -> Result<(), Error> {
    let bad = |problem: String| Err(Error::file(path, &problem));
    if !matches!(path.extension().and_then(|it| it.to_str()), Some("parquet" | "csv")) {
        return bad("the name must end in .parquet or .csv".to_owned());
    }
    if path.is_dir() {
        return bad("it is a folder; give a file's name".to_owned());
    }
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            bad(format!("there is no folder `{}`; make it first", folder.display()))
        }
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
                assert!(!parts.exists() && Partial::of(&parts).path().exists());
            }
            assert!(runs > 3, "it was interrupted");
            assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap());
        }
        // Nothing but the two answers of each kind, and what those in CSV answer, is left.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6);
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
        // Nor is it forgotten.
        let error = sweep_to_file(&toy::READ, &other, &path, false, &()).unwrap_err().to_string();
        assert!(error.contains("an interrupted run left its rows here"), "{error}");
        std::fs::remove_file(Partial::of(&path).path()).unwrap();
        assert_eq!(sweep_to_file(&toy::READ, &other, &path, false, &()).unwrap().height(), 64 * 41);
    }

    #[test]
    fn another_base_is_another_question() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let with = |rows: u32| StudyFile::parse(&format!("{FILE}[base]\nrows = {rows}")).unwrap();
        let cancel = After(AtomicU64::new(2));
        assert!(!sweep_to_file(&toy::READ, &with(64), &path, false, &cancel).unwrap().is_complete());
        let error = sweep_to_file(&toy::READ, &with(65), &path, true, &()).unwrap_err().to_string();
        assert!(error.contains("it answers another question"), "{error}");
        assert!(sweep_to_file(&toy::READ, &with(64), &path, true, &()).unwrap().is_complete());
    }

    /// Every single bit of a partial result counts.
    #[test]
    fn a_changed_partial_result_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(FILE).unwrap();
        let cancel = After(AtomicU64::new(2));
        assert!(!sweep_to_file(&toy::READ, &file, &path, false, &cancel).unwrap().is_complete());
        let partial = Partial::of(&path);
        let whole = std::fs::read(partial.path()).unwrap();
        let key = memscape_study::random::Key::new(5);
        for trial in 0..200 {
            let mut bytes = whole.clone();
            let at = usize::try_from(key.bits(trial)).unwrap() % bytes.len();
            bytes[at] ^= 1 << (trial % 8);
            std::fs::write(partial.path(), &bytes).unwrap();
            let error = sweep_to_file(&toy::READ, &file, &path, true, &()).unwrap_err().to_string();
            assert!(error.contains("damaged"), "bit {} of byte {at}: {error}", trial % 8);
        }
        std::fs::write(partial.path(), &whole[..whole.len() - 1]).unwrap();
        assert!(sweep_to_file(&toy::READ, &file, &path, true, &()).is_err());
        std::fs::write(partial.path(), &whole).unwrap();
        assert!(sweep_to_file(&toy::READ, &file, &path, true, &()).unwrap().is_complete());
    }

    /// Rows of the right number and checksum, but of other points.
    #[test]
    fn rows_of_other_points_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(FILE).unwrap();
        let sweep = file.sweep(&toy::READ).unwrap();
        let question = Question::of(&toy::READ, &sweep).unwrap();
        let rows = toy::READ.sweep(&sweep, &()).unwrap();
        let later = rows.filter("memory.banks", 5).unwrap();
        Partial::of(&path).write(&question, &later).unwrap();
        let error = sweep_to_file(&toy::READ, &file, &path, true, &()).unwrap_err().to_string();
        assert!(error.contains("its axes are not those of the question"), "{error}");
    }

    #[test]
    fn an_output_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(FILE).unwrap();
        let held = Lock::of(&path).unwrap();
        let error = sweep_to_file(&toy::READ, &file, &path, false, &()).unwrap_err().to_string();
        assert!(error.contains("another process is writing it"), "{error}");
        drop(held);
        assert!(sweep_to_file(&toy::READ, &file, &path, false, &()).unwrap().is_complete());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no lock is left");
    }

    /// What stands in the way of a checkpoint goes away after some time.
    #[test]
    fn a_failed_checkpoint_does_not_end_the_work() {
        /// Puts a folder where the checkpoint is to be, until told twice.
        struct Blocked {
            at: std::path::PathBuf,
            warned: AtomicU64,
        }
        impl Control for Blocked {
            fn advanced(&self, _: u64, _: u64) {
                if self.warned.load(Ordering::Relaxed) == 0 {
                    let _ = std::fs::create_dir(&self.at);
                }
            }
            fn warned(&self, remark: &str) {
                assert!(remark.starts_with("not saved yet"), "{remark}");
                if self.warned.fetch_add(1, Ordering::Relaxed) == 1 {
                    std::fs::remove_dir(&self.at).unwrap();
                }
            }
        }
        // 20 ms a row, so that there are many checkpoints.
        let file = "study = \"toy.read\"\nbase = { \"memory.banks\" = 98 }\n[axes]\n\
                    \"memory.trcd_ns\" = { from = 10, to = 20, count = 60 }\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(file).unwrap();
        let sweep = |control: &dyn Control| {
            save_every(Duration::from_millis(1), &toy::READ, &file, &path, false, control).unwrap()
        };
        let whole = sweep(&());
        std::fs::remove_file(&path).unwrap();
        let blocked = Blocked { at: Partial::of(&path).path().to_owned(), warned: AtomicU64::new(0) };
        assert_eq!(sweep(&blocked), whole);
        assert!(blocked.warned.load(Ordering::Relaxed) >= 2);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_refused_sweep_touches_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let earlier = Partial::of(&path).path().to_owned();
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
