//! One file of rows and their points' keys: `<address>-<checksum>.parquet`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use polars::prelude::{Column, IntoColumn, UInt64Chunked};

use crate::digest::digest;
use crate::error::Error;
use crate::space::Key;
use crate::table::Table;
use crate::whole::write_atomically;

/// The columns of a point's key.
const KEYS: [&str; 2] = ["key.high", "key.low"];

/// What the name of rows ends in that are less than a block.
const PART: &str = ".part";

/// How many hexadecimal digits an address and a checksum have.
const DIGITS: usize = 32;

/// A file of rows, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) path: PathBuf,
    /// What its points are, by content.
    pub(crate) address: String,
    /// Of all its bytes.
    checksum: String,
    /// Whether it is less than a block, saved before the block was done.
    pub(crate) part: bool,
}

/// What is in a folder, by name; nothing if there is no such folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file(folder, &error)),
    };
    let paths = entries.map(|it| it.map(|it| it.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(|it| Error::file(folder, &it))?;
    paths.sort_unstable();
    Ok(paths)
}

/// Why a shard is not read.
pub(crate) enum Unread {
    /// Another process has removed it.
    Gone,
    /// Its bytes are not those that were written.
    Damaged,
    Failed(Error),
}

impl Shard {
    /// All in a folder, by name; none if there is no such folder.
    pub(crate) fn all(folder: &Path) -> Result<Vec<Self>, Error> {
        Ok(entries(folder)?.into_iter().filter_map(Self::of).collect())
    }

    /// The shard that a file's name says it is.
    pub(crate) fn of(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".parquet")?;
        let (name, part) = name.strip_suffix(PART).map_or((name, false), |it| (it, true));
        let (address, checksum) = name.split_once('-')?;
        let is_digest = |it: &str| it.len() == DIGITS && it.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_digest(address) || !is_digest(checksum) {
            return None;
        }
        let (address, checksum) = (address.to_owned(), checksum.to_owned());
        Some(Self { path, address, checksum, part })
    }

    /// Writes rows and their keys; the file appears when it is whole.
    pub(crate) fn write(
        folder: &Path,
        address: &str,
        part: bool,
        table: &Table,
        keys: &[Key],
        note: &str,
    ) -> Result<Self, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let halves: [Vec<u64>; 2] =
            [keys.iter().map(|it| (it >> 64) as u64).collect(), keys.iter().map(|it| *it as u64).collect()];
        let columns: Vec<Column> = KEYS
            .iter()
            .zip(halves)
            .map(|(name, half)| UInt64Chunked::from_vec((*name).into(), half).into_column())
            .collect();
        let mut bytes = Vec::new();
        Table::from_frame(table.frame().hstack(&columns)?)
            .encode_parquet(&mut bytes, Some(note.to_owned()))?;
        let checksum = digest(&bytes);
        let path = folder.join(format!("{address}-{checksum}{}.parquet", if part { PART } else { "" }));
        write_atomically(&path, |out| out.write_all(&bytes))
            .map_err(|it: io::Error| Error::file(&path, &it))?;
        Ok(Self { path, address: address.to_owned(), checksum, part })
    }

    /// Its rows, without their keys.
    pub(crate) fn table(&self) -> Result<Table, Unread> {
        let table = self.decode(None)?;
        let names: Vec<&str> = table.column_names().into_iter().filter(|it| !KEYS.contains(it)).collect();
        table.select(&names).map_err(|_| Unread::Damaged)
    }

    /// The keys of its rows.
    pub(crate) fn keys(&self) -> Result<Vec<Key>, Unread> {
        let table = self.decode(Some(&KEYS))?;
        let half = |name: &str| -> Result<Vec<u64>, Unread> {
            let column = table.frame().column(name).map_err(|_| Unread::Damaged)?;
            let column = column.as_materialized_series().u64().map_err(|_| Unread::Damaged)?.rechunk();
            column.cont_slice().map(<[u64]>::to_vec).map_err(|_| Unread::Damaged)
        };
        let (high, low) = (half(KEYS[0])?, half(KEYS[1])?);
        Ok(high.into_iter().zip(low).map(|(high, low)| (Key::from(high) << 64) | Key::from(low)).collect())
    }

    /// That its bytes are those that were written.
    pub(crate) fn check(&self) -> Result<u64, Unread> {
        self.bytes().map(|it| it.len() as u64)
    }

    fn decode(&self, columns: Option<&[&str]>) -> Result<Table, Unread> {
        let bytes = self.bytes()?;
        Table::decode_parquet(io::Cursor::new(&bytes[..]), columns).map_err(|_| Unread::Damaged)
    }

    fn bytes(&self) -> Result<Vec<u8>, Unread> {
        // A pipe would wait for who writes it.
        if fs::metadata(&self.path).is_ok_and(|it| !it.is_file()) {
            return Err(Unread::Damaged);
        }
        let bytes = fs::read(&self.path).map_err(|it| match it.kind() {
            ErrorKind::NotFound => Unread::Gone,
            _ => Unread::Failed(Error::file(&self.path, &it)),
        })?;
        if digest(&bytes) == self.checksum { Ok(bytes) } else { Err(Unread::Damaged) }
    }

    pub(crate) fn remove(&self) -> Result<(), Error> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(&self.path, &error)),
            _ => Ok(()),
        }
    }
}
