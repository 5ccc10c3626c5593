//! The rows of a sweep that is not done yet, in a file that says what they answer.
//!
//! ```text
//! memscape-partial <checksum of all that follows>\n
//! { question, rows, points, what was asked }\n
//! Parquet
//! ```
//!
//! One file, so that rows and question cannot come from two runs.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Cursor, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::digest;
use crate::error::Error;
use crate::question::Question;
use crate::table::Table;
use crate::whole::write_atomically;

/// What the file begins with.
const MAGIC: &str = "memscape-partial ";

/// What stands before the rows.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// [`Question::id`].
    question: String,
    rows: usize,
    points: u64,
    /// For people who look into the file.
    asked: Value,
}

/// The place of a partial result, `<output>.partial`.
pub(crate) struct Partial {
    path: PathBuf,
}

impl Partial {
    pub(crate) fn of(output: &Path) -> Self {
        Self { path: beside(output, ".partial") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Saves rows; the file of before stays if that fails.
    pub(crate) fn write(&self, question: &Question, rows: &Table) -> Result<(), Error> {
        let header = Header {
            question: question.id().to_owned(),
            rows: rows.height(),
            points: question.points(),
            asked: json!({ "edition": question.edition(), "sweep": question.asked() }),
        };
        let mut content = serde_json::to_vec(&header).map_err(|it| Error::Internal(it.to_string()))?;
        content.push(b'\n');
        rows.encode_parquet(&mut content, None)?;
        write_atomically(&self.path, |out| {
            writeln!(out, "{MAGIC}{}", digest(&content))?;
            out.write_all(&content)
        })
        .map_err(|it| Error::file(&self.path, &it))
    }

    /// What an earlier run left, if anything.
    ///
    /// # Errors
    /// [`Error::File`] if it is damaged, or answers another question.
    pub(crate) fn read(&self, question: &Question) -> Result<Option<Table>, Error> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file(&self.path, &error)),
        };
        let bad = |problem: &str| Error::file(&self.path, &format!("{problem}; remove it to start over"));
        let damaged = || bad("it is no partial result, or a damaged one (its checksum does not fit)");
        let content = checked(&bytes).ok_or_else(damaged)?;
        let end = content.iter().position(|it| *it == b'\n').ok_or_else(damaged)?;
        let header: Header = serde_json::from_slice(&content[..end]).map_err(|_| damaged())?;
        if header.question != question.id() {
            return Err(bad(
                "it answers another question (study, base, axes, a description that they name, or version \
                 differ)",
            ));
        }
        let rows = Table::decode_parquet(Cursor::new(&content[end + 1..]), None).map_err(|_| damaged())?;
        if rows.height() != header.rows || question.points() < rows.height() as u64 {
            return Err(damaged());
        }
        Ok(Some(rows))
    }

    pub(crate) fn remove(&self) -> Result<(), Error> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&self.path, &error)),
            _ => Ok(()),
        }
    }
}

/// What follows the checksum, if it fits.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let end = rest.iter().position(|it| *it == b'\n')?;
    let (checksum, content) = (&rest[..end], &rest[end + 1..]);
    (checksum == digest(content).as_bytes()).then_some(content)
}

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

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
