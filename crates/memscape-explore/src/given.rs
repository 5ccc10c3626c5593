//! Files that somebody names: what is read of them has an end.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::Error;

/// No text that a person writes for us is longer.
const MOST_TEXT: u64 = 1 << 24;

/// The only folder below which files are read, if there is one.
static ONLY_BELOW: OnceLock<PathBuf> = OnceLock::new();

/// From now on no file that somebody names is read in this process but below this folder, whatever
/// names it, links followed: for who answers questions of others.
///
/// # Errors
/// [`Error::File`] if there is no such folder, or another one was given before.
pub fn read_only_below(folder: &Path) -> Result<(), Error> {
    let folder = folder.canonicalize().map_err(|it| Error::file(folder, &it))?;
    let held = ONLY_BELOW.get_or_init(|| folder.clone());
    if *held == folder {
        return Ok(());
    }
    Err(Error::file(&folder, &format!("files are read below `{}` only, for good", held.display())))
}

/// Opens a plain file: a pipe, a device or a folder is none, and may never end. Looked at before it is
/// opened, since a pipe would wait for who writes it.
///
/// # Errors
/// Says what stands there instead, or what the system says.
pub fn open_plain(path: &Path) -> Result<File, String> {
    if let Some(root) = ONLY_BELOW.get()
        && !path.canonicalize().is_ok_and(|it| it.starts_with(root))
    {
        return Err(format!("there is no such file below `{}`, and no other may be read", root.display()));
    }
    let about = fs::metadata(path).map_err(|it| match it.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => it.to_string(),
    })?;
    if about.is_dir() {
        return Err("it is a folder; give a file".to_owned());
    }
    if !about.is_file() {
        return Err("it is no plain file".to_owned());
    }
    File::open(path).map_err(|it| it.to_string())
}

/// The bytes of a plain file, of which there are at most so many.
///
/// # Errors
/// As [`open_plain`], or that there are more.
pub fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // What the system says of the length of its own files is not true of all.
    let read = open_plain(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|it| it.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {most} bytes, and no more are read"));
    }
    Ok(bytes)
}

/// The text of a plain file, such as a study file or measurements: at most 16 MiB of UTF-8.
///
/// # Errors
/// As [`read_bytes`], or that it is no text.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("study.toml");
/// std::fs::write(&path, "study = \"pim.gemv\"")?;
/// assert_eq!(memscape_explore::read_text(&path).as_deref(), Ok("study = \"pim.gemv\""));
/// let problem = memscape_explore::read_text(folder.path()).unwrap_err();
/// assert_eq!(problem, "it is a folder; give a file");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_bytes(path, MOST_TEXT)?;
    String::from_utf8(bytes).map_err(|it| format!("it is no text in UTF-8 ({it})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_beyond_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_bytes(&path, 100).unwrap().len(), 100);
        assert_eq!(read_bytes(&path, 99).unwrap_err(), "it has more than 99 bytes, and no more are read");
        assert_eq!(read_bytes(&folder.path().join("none"), 9).unwrap_err(), "there is no such file");
        fs::write(&path, [0xFF]).unwrap();
        assert!(read_text(&path).unwrap_err().starts_with("it is no text in UTF-8"));
        // Sparse, so that it is there at once.
        File::create(&path).unwrap().set_len(MOST_TEXT + 1).unwrap();
        assert!(read_text(&path).unwrap_err().starts_with("it has more than 16777216 bytes"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_never_ends_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [Path::new("/dev/zero"), &pipe] {
            assert_eq!(read_text(path).unwrap_err(), "it is no plain file", "{}", path.display());
        }
    }
}
