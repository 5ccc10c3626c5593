//! One writer for each output.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Holds an output for this process, until dropped; the system lets go of it if the
/// process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _held: File,
}

impl Lock {
    /// # Errors
    /// [`Error::File`] if another process holds it, or none can be made here.
    pub(crate) fn of(output: &Path) -> Result<Self, Error> {
        let path = beside(output, ".lock");
        loop {
            let file = File::options().create(true).append(true).open(&path);
            let file =
                file.map_err(|it| Error::file(output, &format!("nothing can be written here: {it}")))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let problem = "another process is writing it; wait for it, or choose another name";
                    return Err(Error::file(output, &problem));
                }
                Err(TryLockError::Error(error)) => return Err(Error::file(&path, &error)),
            }
            // Who held it before removed the file: this one may no longer be the one
            // that others find.
            if is_same(&file, &path) {
                return Ok(Self { path, _held: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If it stays, the next run takes it over.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let node = |it: fs::Metadata| (it.dev(), it.ino());
    matches!((file.metadata().map(node), fs::metadata(path).map(node)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}

/// A name that stands beside another.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
