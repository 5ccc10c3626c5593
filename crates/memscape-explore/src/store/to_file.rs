//! Sweeps that go to a file, and go on after an interruption.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use super::block::Cut;
use super::fill::{Filler, Written, check_finished};
use super::store::Store;
use crate::control::Control;
use crate::error::Error;
use crate::lock::{Lock, beside};
use crate::persistence::{CHECKPOINT, persistently};
use crate::registry::DynStudy;
use crate::study_file::StudyFile;
use crate::table_writer::check_place;

/// Answers a study file's question into a Parquet file, or CSV if `path` ends
/// in `.csv`, block by block, so that memory is for a few blocks only.
///
/// What is done goes to a [`Store`] in the folder `<path>.partial` every 20 seconds, or a
/// few hundred million bytes, and when cancelled; with `resume`, work goes on from it. A
/// checkpoint that fails is told to `control` and tried again later. The file at `path`
/// appears when all is done, and the folder goes. It is not complete if it was cancelled.
///
/// # Errors
/// [`Error`] if the question is wrong, the output cannot be written or another process
/// is writing it, if there is a partial result and `resume` is not given, or if `path` holds
/// something else than this question's answer and `overwrite` is not. Nothing is touched then.
pub fn sweep_to_file(
    study: &dyn DynStudy,
    file: &StudyFile,
    path: &Path,
    onto: Onto,
    control: &dyn Control,
) -> Result<Written, Error> {
    save_every(CHECKPOINT, study, file, path, onto, control)
}

/// What of earlier results may be used, and lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Onto {
    /// Work goes on from what an interrupted sweep left.
    pub resume: bool,
    /// A finished file is replaced, whatever it holds.
    pub overwrite: bool,
}

fn save_every(
    pause: Duration,
    study: &dyn DynStudy,
    file: &StudyFile,
    path: &Path,
    Onto { resume, overwrite }: Onto,
    control: &dyn Control,
) -> Result<Written, Error> {
    check_place(path)?;
    let sweep = file.sweep(study)?;
    // Nothing is touched before it is sure that there is something to do.
    let cut = Cut::of(study, &sweep)?;
    let _lock = Lock::of(path)?;
    if !overwrite {
        check_finished(path, &cut.question, None)?;
    }
    let folder = beside(path, ".partial");
    if !resume && folder.exists() {
        let problem = "an interrupted run left its rows here; go on with them by resuming (`--resume`), or \
                       remove it to start over";
        return Err(Error::file(&folder, &problem));
    }
    let store = if folder.exists() { Store::open(&folder)? } else { Store::later(&folder) };
    if folder.exists() && !store.questions()?.contains(&store.shelf(&cut.question)) {
        control.warned(&format!(
            "{} holds rows of another question, which stay; those of this one are found there only where both ask the \
             same",
            folder.display()
        ));
    }
    let filler = Filler::late(&cut, &store, control, pause)?;
    // Somebody may make room on a full disk: what is kept is not computed again, and what is not took
    // no longer than a pause between two checkpoints.
    let began = Instant::now();
    let written = match filler.write(path) {
        Err(Error::File { .. }) if folder.exists() || began.elapsed() < pause => {
            persistently(control, || filler.write(path))
        }
        written => written,
    };
    let written = written.map_err(|error| {
        if !folder.exists() {
            return error;
        }
        let problem =
            format!("{error}; what is done is in {}, and resuming goes on from there", folder.display());
        Error::file(path, &problem)
    })?;
    if written.filled.complete && folder.exists() {
        let own = store.shelf(&cut.question);
        let is_only = store.questions()?.iter().all(|it| *it == own);
        let done = if is_only { &folder } else { &own };
        match fs::remove_dir_all(done) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file(done, &error)),
            _ => {}
        }
        if !is_only {
            control.warned(&format!(
                "{} holds rows of another question, and stays; go on with that by resuming, or remove it",
                folder.display()
            ));
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::table::Table;
    use crate::toy::READ;

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

    fn partial(path: &Path) -> PathBuf {
        beside(path, ".partial")
    }

    fn sweep(file: &StudyFile, path: &Path, resume: bool, control: &dyn Control) -> Result<Written, Error> {
        sweep_to_file(&READ, file, path, Onto { resume, overwrite: false }, control)
    }

    #[test]
    fn a_resumed_sweep_is_the_uninterrupted_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = StudyFile::parse(FILE).unwrap();
        for extension in ["parquet", "csv"] {
            let whole = folder.path().join(format!("whole.{extension}"));
            let done = sweep(&file, &whole, false, &()).unwrap();
            // No bank, or one.
            assert!(done.filled.complete && done.filled.rows == 64 * 40 && done.unanswered == 80);
            assert!(!partial(&whole).exists());

            let parts = folder.path().join(format!("parts.{extension}"));
            let (mut runs, mut saved) = (0, 0);
            loop {
                let done = sweep(&file, &parts, true, &After(AtomicU64::new(5))).unwrap();
                runs += 1;
                assert_eq!(done.filled.found, saved, "what was saved is not computed again");
                saved += done.filled.computed;
                if done.filled.complete {
                    break;
                }
                assert!(!parts.exists() && partial(&parts).exists());
            }
            assert!(runs > 1 && saved == 64 * 40, "it was interrupted");
            assert_eq!(fs::read(&whole).unwrap(), fs::read(&parts).unwrap());
        }
        let table = Table::read_parquet(&folder.path().join("whole.parquet")).unwrap();
        assert_eq!(table, crate::DynStudy::sweep(&READ, &file.sweep(&READ).unwrap(), &()).unwrap());
        // Nothing but the two answers of each kind, and what those in CSV answer, is left.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
    }

    #[test]
    fn saving_often_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = StudyFile::parse(FILE).unwrap();
        let (one, other) = (folder.path().join("one.parquet"), folder.path().join("other.parquet"));
        sweep(&file, &one, false, &()).unwrap();
        save_every(Duration::from_micros(1), &READ, &file, &other, Onto::default(), &()).unwrap();
        assert_eq!(fs::read(one).unwrap(), fs::read(other).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_was_done_is_never_lost_nor_taken_for_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(FILE).unwrap();
        let first = sweep(&file, &path, false, &After(AtomicU64::new(5))).unwrap().filled;
        assert!(!first.complete && first.computed > 0);
        let error = sweep(&file, &path, false, &()).unwrap_err().to_string();
        assert!(error.contains("an interrupted run left its rows here"), "{error}");
        // Another base has no points in common.
        let other = StudyFile::parse(&format!("{FILE}[base]\nrows = 65")).unwrap();
        let second = sweep(&other, &path, true, &After(AtomicU64::new(5))).unwrap().filled;
        assert!(second.found == 0 && !second.complete);
        // The same points and more of them do.
        let more = StudyFile::parse(&FILE.replace("to = 63", "to = 64")).unwrap();
        let third = sweep(&more, &path, true, &()).unwrap().filled;
        assert_eq!((third.found, third.complete), (first.computed, true));
        assert_eq!(Table::read_parquet(&path).unwrap().height(), 65 * 40);
        // A finished table is lost to no other question unless that is said.
        let error = sweep(&other, &path, true, &()).unwrap_err().to_string();
        assert!(error.contains("another question of `toy.read`") && error.contains("`overwrite`"), "{error}");
        assert_eq!(Table::read_parquet(&path).unwrap().height(), 65 * 40);
        assert!(sweep(&more, &path, false, &()).is_err(), "the other's rows are in the folder");
        // The other question's rows are still there.
        let over = Onto { resume: true, overwrite: true };
        let fourth = sweep_to_file(&READ, &other, &path, over, &()).unwrap().filled;
        assert_eq!((fourth.found, fourth.complete), (second.computed, true));
    }

    /// Every single bit of what was saved counts.
    #[test]
    fn a_changed_partial_result_is_told_and_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, expected) = (folder.path().join("out.parquet"), folder.path().join("expected.parquet"));
        let file = StudyFile::parse(FILE).unwrap();
        sweep(&file, &expected, false, &()).unwrap();
        let key = memscape_study::random::Key::new(5);
        for trial in 0..20 {
            sweep(&file, &path, false, &After(AtomicU64::new(5))).unwrap();
            let store = Store::existing(partial(&path)).unwrap();
            let run = store.run("").unwrap();
            let entries = fs::read_dir(&run.folder).unwrap().map(|it| it.unwrap().path());
            let shard = entries.filter(|it| it.extension().is_some_and(|it| it == "parquet")).min().unwrap();
            let mut bytes = fs::read(&shard).unwrap();
            let at = usize::try_from(key.bits(trial)).unwrap() % bytes.len();
            bytes[at] ^= 1 << (trial % 8);
            fs::write(&shard, &bytes).unwrap();
            let done = sweep(&file, &path, true, &()).unwrap().filled;
            assert!(done.complete && done.found == 0, "bit {} of byte {at}: {done:?}", trial % 8);
            assert_eq!(fs::read(&path).unwrap(), fs::read(&expected).unwrap());
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn an_output_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(FILE).unwrap();
        let held = Lock::of(&path).unwrap();
        let error = sweep(&file, &path, false, &()).unwrap_err().to_string();
        assert!(error.contains("another process is writing it"), "{error}");
        drop(held);
        assert!(sweep(&file, &path, false, &()).unwrap().filled.complete);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no lock is left");
    }

    /// What stands in the way of a checkpoint goes away after some time.
    #[test]
    fn a_failed_checkpoint_does_not_end_the_work() {
        /// Puts a file where the folder is to be, until told twice.
        struct Blocked {
            at: PathBuf,
            warned: AtomicU64,
        }
        impl Control for Blocked {
            fn advanced(&self, _: u64, _: u64) {
                if self.warned.load(Ordering::Relaxed) == 0 {
                    let _ = fs::write(&self.at, "in the way");
                }
            }
            fn warned(&self, remark: &str) {
                assert!(remark.starts_with("not saved yet"), "{remark}");
                if self.warned.fetch_add(1, Ordering::Relaxed) == 1 {
                    fs::remove_file(&self.at).unwrap();
                }
            }
        }
        // 20 ms a row, so that there are many checkpoints.
        let file = "study = \"toy.read\"\nbase = { \"memory.banks\" = 98 }\n[axes]\n\
                    \"memory.trcd_ns\" = { from = 10, to = 20, count = 60 }\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let file = StudyFile::parse(file).unwrap();
        let table = |control: &dyn Control| {
            let done =
                save_every(Duration::from_millis(1), &READ, &file, &path, Onto::default(), control).unwrap();
            assert!(done.filled.complete && done.filled.rows == 60);
            Table::read_parquet(&path).unwrap()
        };
        let whole = table(&());
        fs::remove_file(&path).unwrap();
        let blocked = Blocked { at: partial(&path), warned: AtomicU64::new(0) };
        assert_eq!(table(&blocked), whole);
        assert!(blocked.warned.load(Ordering::Relaxed) >= 2);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_refused_sweep_touches_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let earlier = partial(&path);
        fs::write(&earlier, "hours of work").unwrap();
        for wrong in [FILE.replace("memory.banks", "memory.bank"), format!("{FILE}[base]\nrows = 0")] {
            let file = StudyFile::parse(&wrong).unwrap();
            assert!(sweep(&file, &path, false, &()).is_err());
            assert_eq!(fs::read_to_string(&earlier).unwrap(), "hours of work");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        let missing = folder.path().join("missing");
        let path = missing.join("out.parquet");
        let error = sweep(&StudyFile::parse(FILE).unwrap(), &path, false, &()).unwrap_err();
        let (path, missing) = (path.display(), missing.display());
        assert_eq!(error.to_string(), format!("{path}: there is no folder `{missing}`; make it first"));
    }

    #[test]
    fn the_kind_of_file_must_be_known() {
        let file = StudyFile::parse(FILE).unwrap();
        let error = sweep(&file, Path::new("out.xlsx"), false, &()).unwrap_err();
        assert_eq!(error.to_string(), "out.xlsx: the name must end in .parquet or .csv");
    }
}
