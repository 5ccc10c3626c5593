//! A store checked, and freed of what nobody wants.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::manifest::Manifest;
use super::shard::{Shard, entries};
use super::store::{DAMAGED, Run, Store};
use crate::control::Control;
use crate::error::Error;

/// What a check has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Files whose every byte is as it was written.
    pub files: u64,
    /// What they take.
    pub bytes: u64,
    /// Files that were damaged, where they were; they are set aside now.
    pub damaged: Vec<PathBuf>,
    /// Whether all files were looked at.
    pub complete: bool,
}

/// What a tidying has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Freed {
    /// Files.
    pub files: u64,
    /// What they took.
    pub bytes: u64,
}

/// What a process that died has left is as old; one that lives renames sooner.
const LEFT: Duration = Duration::from_hours(1);

impl Store {
    /// Reads every file and holds it against its checksum. Damaged ones are set aside, and
    /// their points are asked again where they are wanted.
    ///
    /// # Errors
    /// [`Error::File`] if the store cannot be read.
    pub fn verify(&self, control: &dyn Control) -> Result<Verified, Error> {
        let folders = self.questions()?;
        let shards = folders.iter().map(|it| Shard::all(it)).collect::<Result<Vec<_>, _>>()?.concat();
        let mut seen = Verified::default();
        for (done, shard) in (0..).zip(&shards) {
            if control.cancelled() {
                return Ok(seen);
            }
            control.advanced(done, shards.len() as u64);
            match self.read(shard, Shard::check, control)? {
                Some(bytes) => {
                    seen.files += 1;
                    seen.bytes += bytes;
                }
                None => seen.damaged.push(shard.path.clone()),
            }
        }
        for (path, problem) in self.unreadable()? {
            let aside = self.set_aside(&path)?;
            control.warned(&format!(
                "{}: damaged ({problem}), set aside as {}; asking its question again makes it anew",
                path.display(),
                aside.display()
            ));
            seen.damaged.push(path);
        }
        seen.complete = true;
        Ok(seen)
    }

    /// Removes what was left behind: damaged files, temporary ones that are an hour old, parts
    /// of blocks that are whole by now, and second copies of blocks; and all of the questions
    /// for which `stale` says so.
    ///
    /// # Errors
    /// [`Error::File`] if something cannot be removed.
    pub fn tidy(&self, stale: impl Fn(&Run) -> bool) -> Result<Freed, Error> {
        let mut freed = Freed::default();
        for run in self.runs()?.iter().filter(|it| stale(it)) {
            remove_folder(&run.folder, &mut freed)?;
        }
        remove_folder(&self.folder().join(DAMAGED), &mut freed)?;
        for folder in self.questions()? {
            let complete = Manifest::read(&folder)?.is_some_and(|it| it.finished.is_some());
            let mut seen = HashSet::new();
            for shard in Shard::all(&folder)? {
                let twice = !shard.part && !seen.insert(shard.address.clone());
                if twice || (shard.part && complete) {
                    remove_file(&shard.path, &mut freed)?;
                }
            }
            for path in entries(&folder)? {
                let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
                if name.starts_with(".memscape-") && is_left(&path) {
                    remove_file(&path, &mut freed)?;
                }
            }
        }
        Ok(freed)
    }
}

fn is_left(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|it| it.modified());
    changed.is_ok_and(|it| SystemTime::now().duration_since(it).is_ok_and(|it| it > LEFT))
}

/// A folder that has files only.
fn remove_folder(folder: &Path, freed: &mut Freed) -> Result<(), Error> {
    let all = entries(folder)?;
    if !folder.is_dir() {
        return Ok(());
    }
    all.iter().try_for_each(|it| remove_file(it, freed))?;
    fs::remove_dir(folder).map_err(|it| Error::file(folder, &it))
}

fn remove_file(path: &Path, freed: &mut Freed) -> Result<(), Error> {
    let bytes = fs::metadata(path).map_or(0, |it| it.len());
    match fs::remove_file(path) {
        Ok(()) => {
            freed.files += 1;
            freed.bytes += bytes;
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::file(path, &error)),
    }
}
