//! The folder that a store is.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use memscape_study::Unknown;
use serde::{Deserialize, Serialize};

use super::manifest::{self, Manifest};
use super::shard::{Shard, Unread, entries};
use crate::control::Control;
use crate::error::Error;
use crate::given::read_text;
use crate::question::Question;
use crate::whole::{UNFINISHED, write_atomically};

/// A folder of answers, each known by the content of its question.
///
/// ```ignore
/// let store = Store::open("runs")?;
/// let (table, filled) = store.sweep(study("pim.gemv")?, &sweep, &())?;
/// let (same, again) = store.sweep(study("pim.gemv")?, &sweep, &())?;
/// assert_eq!(again.computed, 0);
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// What the folder says of itself.
#[derive(Serialize, Deserialize)]
struct Sign {
    #[serde(rename = "memscape-store")]
    version: u32,
}

/// The form of stores that this program writes and reads.
const VERSION: u32 = 1;

/// The file that says so.
const SIGN: &str = "store.json";

/// Where damaged files go.
pub(crate) const DAMAGED: &str = "damaged";

/// A question of which a store has answers.
#[derive(Debug, Clone)]
pub struct Run {
    /// Who asked what, when and where.
    pub manifest: Manifest,
    /// Where its answers are.
    pub folder: PathBuf,
    /// Whole blocks that are there.
    pub blocks: u64,
    /// What its files take.
    pub bytes: u64,
}

impl Run {
    /// The question's identity.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.manifest.origin.id
    }

    /// How many blocks its rows are cut into.
    #[must_use]
    pub const fn blocks_in_all(&self) -> u64 {
        self.manifest.rows.div_ceil(self.manifest.block)
    }

    /// Whether all rows are there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.manifest.blocks.is_empty() && self.blocks >= self.blocks_in_all()
    }
}

impl Store {
    /// A store in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::File`] if it is a folder of something else, a store of another version, or
    /// cannot be written.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        // Another process may be about to sign it.
        let is_unfinished = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with(UNFINISHED);
        match fs::read_dir(&folder).map(|it| it.filter_map(Result::ok).all(|it| is_unfinished(&it))) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(Error::file(
                    &folder,
                    &"this is a file; a store is a folder: give an empty or a new one",
                ));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file(&folder, &error)),
            Ok(false) if !folder.join(SIGN).exists() => {
                return Err(Error::file(
                    &folder,
                    &"this folder is no store and not empty; give an empty or a new one",
                ));
            }
            Ok(false) => return Self::existing(folder),
            Err(_) | Ok(true) => {}
        }
        let store = Self { folder };
        store.sign()?;
        Ok(store)
    }

    /// A store that is made when something is put into it.
    pub(crate) fn later(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Makes the folder, and says what it is.
    fn sign(&self) -> Result<(), Error> {
        let path = self.folder.join(SIGN);
        if path.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder).map_err(|it| Error::file(&self.folder, &it))?;
        let sign = serde_json::to_string(&Sign { version: VERSION });
        let sign = sign.map_err(|it| Error::Internal(it.to_string()))?;
        write_atomically(&path, |out| out.write_all(sign.as_bytes()))
            .map_err(|it: std::io::Error| Error::file(&path, &it))
    }

    /// The store in this folder.
    ///
    /// # Errors
    /// [`Error::File`] if there is none, or one of another version.
    pub fn existing(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        let path = folder.join(SIGN);
        if !path.exists() {
            let told = if folder.is_dir() {
                "this folder is no store; name the one that a sweep has filled"
            } else {
                "there is no store here; a sweep makes one"
            };
            return Err(Error::file(&folder, &told));
        }
        let text = read_text(&path).map_err(|it| Error::file(&path, &it))?;
        let sign: Sign = serde_json::from_str(&text)
            .map_err(|it| Error::file(&path, &format!("it does not say what store this is: {it}")))?;
        if sign.version != VERSION {
            return Err(Error::file(
                &folder,
                &format!(
                    "a store of form {}; this program reads form {VERSION}: give another folder, or use the \
                     program that wrote it",
                    sign.version
                ),
            ));
        }
        Ok(Self { folder })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All questions of which there are answers, by study and time.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for folder in self.questions()? {
            let Some(manifest) = Manifest::read(&folder)? else { continue };
            let shards = Shard::all(&folder)?;
            let bytes = shards.iter().filter_map(|it| fs::metadata(&it.path).ok()).map(|it| it.len()).sum();
            let mut whole: Vec<&str> =
                shards.iter().filter(|it| !it.part).map(|it| it.address.as_str()).collect();
            whole.dedup();
            runs.push(Run { manifest, folder, blocks: whole.len() as u64, bytes });
        }
        let order =
            |it: &Run| (it.manifest.origin.edition.study.clone(), it.manifest.started, it.id().to_owned());
        runs.sort_by_cached_key(order);
        Ok(runs)
    }

    /// Files that should say which question was asked, and what is wrong with them. Their rows are there:
    /// asking the question again finds them, and writes such a file anew.
    ///
    /// # Errors
    /// [`Error::File`] if the store cannot be read.
    pub fn unreadable(&self) -> Result<Vec<(PathBuf, String)>, Error> {
        let mut bad = Vec::new();
        for folder in self.questions()? {
            if let Some(Err(problem)) = Manifest::look(&folder)? {
                bad.push((folder.join(manifest::NAME), problem));
            }
        }
        Ok(bad)
    }

    /// The question whose identity begins so; the only one, if nothing is given.
    ///
    /// # Errors
    /// [`Error::Unknown`] names those that there are, [`Error::BadSweep`] if several begin so.
    pub fn run(&self, id: &str) -> Result<Run, Error> {
        let runs = self.runs()?;
        let mut fitting: Vec<&Run> = runs.iter().filter(|it| it.id().starts_with(id)).collect();
        match (fitting.pop(), fitting.len()) {
            (Some(run), 0) => Ok(run.clone()),
            (None, _) => Err(Unknown::new("question", id, runs.iter().map(Run::id)).into()),
            (Some(_), others) => {
                let begin = if id.is_empty() { String::new() } else { format!(" begin with `{id}`") };
                Err(Error::BadSweep(format!(
                    "which one? {} questions of {}{begin}; `memscape store ls` shows their names",
                    others + 1,
                    self.folder.display()
                )))
            }
        }
    }

    /// As [`Self::run`], where something is to be lost: it must be named.
    ///
    /// # Errors
    /// As [`Self::run`], and [`Error::BadSweep`] if nothing is given.
    pub fn named(&self, id: &str) -> Result<Run, Error> {
        if id.is_empty() {
            return Err(Error::BadSweep(
                "which question? Its name is empty; `memscape store ls` shows names".to_owned(),
            ));
        }
        self.run(id)
    }

    /// Whether all of a question's answers were there once.
    pub(crate) fn has_ended(&self, question: &Question) -> Result<bool, Error> {
        Ok(Manifest::read(&self.shelf(question))?.is_some_and(|it| it.finished.is_some()))
    }

    /// Whether all answers to the question of this identity were there once.
    pub(crate) fn has_ended_as(&self, id: &str) -> Result<bool, Error> {
        for folder in self.questions()?.into_iter().filter(|it| it.ends_with(id)) {
            if Manifest::read(&folder)?.is_some_and(|it| it.finished.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where a question's answers are.
    pub(crate) fn shelf(&self, question: &Question) -> PathBuf {
        /// Enough of an edition's name for a folder's.
        const DIGITS: usize = 16;
        let edition = question.edition();
        self.folder.join(&edition.study).join(&edition.id()[..DIGITS]).join(question.id())
    }

    /// The folders of all questions.
    pub(crate) fn questions(&self) -> Result<Vec<PathBuf>, Error> {
        let mut all = Vec::new();
        for study in Self::folders(&self.folder)?.iter().filter(|it| !it.ends_with(DAMAGED)) {
            for edition in Self::folders(study)? {
                all.extend(Self::folders(&edition)?);
            }
        }
        Ok(all)
    }

    /// The folders in a folder, by name; none if it is not there.
    pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut all = entries(folder)?;
        all.retain(|it| it.is_dir());
        Ok(all)
    }

    /// Reads a shard. A damaged one is set aside and told, and then there is none.
    pub(crate) fn read<T>(
        &self,
        shard: &Shard,
        read: impl FnOnce(&Shard) -> Result<T, Unread>,
        control: &dyn Control,
    ) -> Result<Option<T>, Error> {
        match read(shard) {
            Ok(found) => Ok(Some(found)),
            Err(Unread::Gone) => Ok(None),
            Err(Unread::Failed(error)) => Err(error),
            Err(Unread::Damaged) => {
                let aside = self.set_aside(&shard.path)?;
                control.warned(&format!(
                    "{}: damaged (its checksum does not fit), set aside as {}; its points are asked again where \
                     they are wanted",
                    shard.path.display(),
                    aside.display()
                ));
                Ok(None)
            }
        }
    }

    pub(crate) fn set_aside(&self, path: &Path) -> Result<PathBuf, Error> {
        let folder = self.folder.join(DAMAGED);
        fs::create_dir_all(&folder).map_err(|it| Error::file(&folder, &it))?;
        // Shards' names tell all of them apart, questions' files are in folders that do.
        let mut name = path.file_name().unwrap_or_default().to_owned();
        if name == manifest::NAME {
            let mut own = path.parent().and_then(Path::file_name).unwrap_or_default().to_owned();
            own.push("-");
            own.push(&name);
            name = own;
        }
        let aside = folder.join(name);
        match fs::rename(path, &aside) {
            // Another process has done it.
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(path, &error)),
            _ => Ok(aside),
        }
    }

    /// Says that a question is asked.
    pub(crate) fn begin(&self, manifest: &Manifest, folder: &Path) -> Result<(), Error> {
        self.sign()?;
        fs::create_dir_all(folder).map_err(|it| Error::file(folder, &it))?;
        if Manifest::read(folder)?.is_none() {
            manifest.write(folder)?;
        }
        Ok(())
    }
}

/// Says that all blocks of a question are there.
pub(crate) fn finish(mut manifest: Manifest, folder: &Path, blocks: Vec<String>) -> Result<(), Error> {
    let earlier = Manifest::read(folder)?;
    if earlier.as_ref().is_some_and(|it| it.blocks == blocks) {
        return Ok(());
    }
    manifest.started = earlier.map_or(manifest.started, |it| it.started);
    manifest.finished = Some(manifest::now());
    manifest.blocks = blocks;
    manifest.write(folder)
}
