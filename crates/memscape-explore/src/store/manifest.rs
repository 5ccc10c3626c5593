//! Who asked a question of a store, when and where.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::digest::digest;
use crate::error::Error;
use crate::origin::Origin;
use crate::whole::write_atomically;

/// What a store says of a question. Its seed stands in `asked`, if points are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Who answers, and the question.
    #[serde(flatten)]
    pub origin: Origin,
    /// How many rows the answer has.
    pub rows: u64,
    /// How many rows a block has, the last one aside.
    pub block: u64,
    /// The address of each block, in the order of the rows; empty until all are there.
    pub blocks: Vec<String>,
    /// The machine that asked last.
    pub host: String,
    /// When it was first asked, in seconds since 1970.
    pub started: u64,
    /// When it was done.
    pub finished: Option<u64>,
    /// Of all of this, so that a change is seen.
    #[serde(default)]
    pub checksum: String,
}

/// Where it stands in the question's folder.
pub(crate) const NAME: &str = "question.json";

/// More than any question's axes take.
const MOST_BYTES: u64 = 1 << 30;

impl Manifest {
    /// What a folder's question is. A damaged one counts as none: asking the question makes it anew, and
    /// its rows know by themselves what they are.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, Error> {
        Ok(Self::look(folder)?.and_then(Result::ok))
    }

    /// The same, with what is wrong with a damaged one. What the system does not let us read is an error.
    pub(crate) fn look(folder: &Path) -> Result<Option<Result<Self, String>>, Error> {
        let path = folder.join(NAME);
        let bytes = match fs::metadata(&path) {
            Ok(about) if !about.is_file() => return Ok(Some(Err("it is no plain file".to_owned()))),
            Ok(about) if about.len() > MOST_BYTES => {
                return Ok(Some(Err("it is too long to be one".to_owned())));
            }
            Ok(_) => fs::read(&path),
            Err(error) => Err(error),
        };
        match bytes {
            Ok(bytes) => Ok(Some(Self::whole(&bytes))),
            // Another process may have set it aside.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file(&path, &error)),
        }
    }

    fn whole(bytes: &[u8]) -> Result<Self, String> {
        let found: Self = serde_json::from_slice(bytes).map_err(|it| it.to_string())?;
        if found.block == 0 || found.content().map_err(|it| it.to_string())? != found.checksum {
            return Err("its checksum does not fit".to_owned());
        }
        Ok(found)
    }

    /// What the checksum is of.
    fn content(&self) -> Result<String, Error> {
        let plain = Self { checksum: String::new(), ..self.clone() };
        let text = serde_json::to_string(&plain).map_err(|it| Error::Internal(it.to_string()))?;
        Ok(digest(text.as_bytes()))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(NAME);
        let whole = Self { checksum: self.content()?, ..self.clone() };
        let text = serde_json::to_string_pretty(&whole).map_err(|it| Error::Internal(it.to_string()))?;
        write_atomically(&path, |out| out.write_all(text.as_bytes()))
            .map_err(|it: std::io::Error| Error::file(&path, &it))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

/// What this machine is called, as far as it says.
pub(crate) fn host() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    told.map_or_else(|| "unknown".to_owned(), |it| it.trim().to_owned())
}
