//! Files that are there when they are whole.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How the names of files begin that are not whole yet.
pub(crate) const UNFINISHED: &str = ".memscape-";

/// Writes a file next to where it belongs and moves it there when it is whole: who
/// looks meanwhile sees the file of before, or none. Its permissions are those of any
/// new file.
///
/// # Errors
/// What `write` says, or what the system does.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answer.txt");
/// memscape_explore::write_atomically(&path, |out| writeln!(out, "42"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "42\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    // Instead of for the owner's eyes only; the system takes off what the umask says.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The error as it is would name the temporary file.
    let mut file = builder.tempfile_in(folder).map_err(|it| io::Error::from(it.kind()))?;
    let _listed = Listed::new(file.path());
    let mut out = BufWriter::new(file.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    // What is renamed before it is on the disk can be empty after a crash.
    file.as_file().sync_all()?;
    file.persist(path).map_err(|it| it.error)?;
    sync_folder(folder);
    Ok(())
}

/// Why a file cannot be written, and what to do.
#[must_use]
pub fn unwritable(path: &Path, error: &io::Error) -> String {
    let told = match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => error.to_string(),
    };
    format!("cannot write `{}`: {told}; choose another file", path.display())
}

/// Puts a rename on the disk, where the system can. If not, the file of before may be
/// seen after a crash, which is whole, too.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = std::fs::File::open(folder).and_then(|it| it.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

/// What the system said of a write, where who writes says something else, as Parquet's writer does.
#[derive(Default)]
pub(crate) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    /// Writes to `out`, and keeps what the system says.
    pub(crate) fn remembering<W: Write>(&self, out: W) -> impl Write + use<W> {
        Remembering { out, failure: Arc::clone(&self.0) }
    }

    pub(crate) fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct Remembering<W> {
    out: W,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl<W> Remembering<W> {
    fn keep<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| {
            let same = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            if error.kind() != io::ErrorKind::Interrupted {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(same);
            }
        })
    }
}

impl<W: Write> Write for Remembering<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.keep(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.keep(done)
    }
}

/// Files being written.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that [`remove_temporary_files`] removes as long as this lives.
struct Listed(PathBuf);

impl Listed {
    fn new(path: &Path) -> Self {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes what is half written, for who is about to end the process at once.
pub fn remove_temporary_files() {
    for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // There is nobody left to tell.
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_failure_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, |out| out.write_all(b"before")).unwrap();
        let error = write_atomically(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let error = write_atomically(&folder.path().join("b/c"), |_| Ok::<_, io::Error>(()));
        assert_eq!(error.unwrap_err().to_string(), "entity not found");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_a_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        fs::write(folder.path().join("plain"), "").unwrap();
        write_atomically(&folder.path().join("whole"), |_| Ok::<_, io::Error>(())).unwrap();
        assert_eq!(mode("whole"), mode("plain"));
    }
}
