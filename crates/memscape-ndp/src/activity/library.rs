//! Recordings by name, and those of a user's files by what they hold.
//!
//! Studies read no file: whoever resolves their parameters hands the bytes to
//! [`RECORDINGS`], which keeps the recording and names it by its content. That
//! name is what a study holds, so it says exactly what was asked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

use memscape_study::{AnyCatalog, CatalogError, File, Find, Form, Preset, Takes, Unknown};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use super::recording::{Profile, Recording, Trace, TraceError};
use crate::kept;

/// The name of the built-in recording.
pub const SAMPLE: &str = "relu-6m";

/// The file of a folder that is read as its profile.
pub const PROFILE: &str = "profile.npz";

/// How the name of a recording that was read begins; a hash of its content
/// follows.
const CONTENT: &str = "recording:";

/// What recordings are called in messages.
const KIND: &str = "recording";

/// A recording as a parameter of studies, written as its name: a built-in one,
/// or `recording:` and a hash of the content of what was read before.
///
/// ```
/// use memscape_ndp::activity::RecordingName;
/// let name: RecordingName = serde_json::from_str("\"relu-6m\"")?;
/// assert_eq!(name.sequences.len(), 4);
/// assert_eq!(serde_json::to_string(&name)?, "\"relu-6m\"");
/// let error = serde_json::from_str::<RecordingName>("\"relu-7m\"").unwrap_err();
/// assert!(error.to_string().starts_with("there is no recording `relu-7m`; did you mean `relu-6m`?"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct RecordingName {
    text: Arc<str>,
    recording: Arc<Recording>,
}

impl RecordingName {
    /// The recording of this name: built in, given by [`register`], or kept
    /// before.
    ///
    /// # Errors
    /// [`RecordingError`] suggests the nearest name.
    pub fn named(text: &str) -> Result<Self, RecordingError> {
        let library = library();
        match library.find(text) {
            Some(entry) => Ok(entry.name.clone()),
            None if text.starts_with(CONTENT) => Err(RecordingError::Elsewhere(text.to_owned())),
            None => Err(library.unknown(text).into()),
        }
    }

    /// Its text, as it stands in parameters and tables.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Deref for RecordingName {
    type Target = Recording;
    fn deref(&self) -> &Recording {
        &self.recording
    }
}

impl PartialEq for RecordingName {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for RecordingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordingName").field(&self.text).finish()
    }
}

impl Serialize for RecordingName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for RecordingName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = RecordingName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a recording, an .npz file or a folder of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RecordingName, E> {
                RecordingName::named(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for RecordingName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Recording".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Why there is no recording of a name, or a name cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// No recording is called so.
    #[error("{0}; or give an .npz file, or a folder of them, in which `profile.npz` is the profile")]
    Unknown(#[from] Unknown),
    /// A content that nothing here has read.
    #[error("`{0}` names what a file held that was read elsewhere; give that file, or its folder, again")]
    Elsewhere(String),
    /// The name is taken.
    #[error("`{0}` is a built-in recording; choose another name")]
    BuiltIn(String),
    /// The name would be mistaken for something else.
    #[error("`{0}` is no name for a recording: it would be taken for a file or a hash; choose a plain one")]
    NoName(String),
}

/// All recordings that this process knows.
struct Library {
    /// By name, in order: the built-in one, a user's, and contents.
    entries: Vec<Entry>,
    /// By content.
    contents: HashMap<u128, RecordingName>,
}

/// A recording as catalogs tell of it.
struct Entry {
    preset: &'static Preset<Value>,
    name: RecordingName,
}

impl Entry {
    fn new(name: &str, source: &str, recording: RecordingName) -> Self {
        let preset = kept::preset(name, recording.summary(), source, recording.as_str());
        Self { preset, name: recording }
    }
}

fn library() -> MutexGuard<'static, Library> {
    static LIBRARY: LazyLock<Mutex<Library>> = LazyLock::new(|| {
        let sample = sample();
        let content = sample.content();
        let name = RecordingName { text: SAMPLE.into(), recording: Arc::new(sample) };
        let entry = Entry::new(SAMPLE, "measured: on a small model; data/traces/README.md", name.clone());
        Mutex::new(Library { entries: vec![entry], contents: HashMap::from([(content, name)]) })
    });
    LIBRARY.lock().expect("no panic while it is held")
}

impl Library {
    fn find(&self, text: &str) -> Option<&Entry> {
        self.entries.iter().find(|it| it.preset.name.eq_ignore_ascii_case(text))
    }

    fn unknown(&self, text: &str) -> Unknown {
        let names = self.entries.iter().map(|it| it.preset.name.as_str());
        Unknown::new(KIND, text, names.filter(|it| !it.starts_with(CONTENT)))
    }

    /// The recording of this content; the first of its kind stays.
    fn keep(&mut self, recording: Recording) -> RecordingName {
        let content = recording.content();
        if let Some(known) = self.contents.get(&content) {
            return known.clone();
        }
        let text = format!("{CONTENT}{content:032x}");
        let name = RecordingName { text: text.as_str().into(), recording: Arc::new(recording) };
        self.entries.push(Entry::new(&text, kept::READ, name.clone()));
        self.contents.insert(content, name.clone());
        name
    }
}

/// Four sequences of a small ReLU transformer, `data/traces`.
fn sample() -> Recording {
    const SEQUENCES: [&[u8]; 4] = [
        include_bytes!("../../../../data/traces/trace_00.npz"),
        include_bytes!("../../../../data/traces/trace_01.npz"),
        include_bytes!("../../../../data/traces/trace_10.npz"),
        include_bytes!("../../../../data/traces/trace_11.npz"),
    ];
    let profile = Profile::from_npz(include_bytes!("../../../../data/traces/profile.npz"));
    let sequences = SEQUENCES.iter().map(|it| Trace::from_npz(it)).collect::<Result<Vec<_>, _>>();
    Recording::new(SAMPLE, profile.expect("tested"), sequences.expect("tested")).expect("tested")
}

/// Keeps a recording; its name says what it holds.
///
/// # Panics
/// Never: no other thread panics while it holds the library.
#[must_use]
pub fn keep(recording: Recording) -> RecordingName {
    library().keep(recording)
}

/// Keeps a recording, which can be found by its own name from now on. One of a
/// user's own of the same name is replaced, but not in questions that hold it.
///
/// # Errors
/// [`RecordingError`] if the name is built in, or looks like a file.
///
/// # Panics
/// Never: no other thread panics while it holds the library.
pub fn register(recording: Recording) -> Result<RecordingName, RecordingError> {
    let name = recording.name.clone();
    if name.eq_ignore_ascii_case(SAMPLE) {
        return Err(RecordingError::BuiltIn(name));
    }
    let is_file = name.contains(['/', '\\']) || name.to_ascii_lowercase().ends_with(".npz");
    if name.is_empty() || is_file || name.starts_with(CONTENT) {
        return Err(RecordingError::NoName(name));
    }
    let mut library = library();
    let recording = library.keep(recording);
    library.entries.retain(|it| !it.preset.name.eq_ignore_ascii_case(&name));
    library.entries.push(Entry::new(&name, kept::READ, recording.clone()));
    Ok(recording)
}

/// The catalog of recordings: [`SAMPLE`], and `.npz` files of a user's own, one
/// by itself or a folder of them, in which [`PROFILE`] is the profile.
pub static RECORDINGS: Recordings = Recordings;

/// The type of [`RECORDINGS`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Recordings;

impl AnyCatalog for Recordings {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn summary(&self) -> &'static str {
        "activity of neurons, token by token"
    }

    fn presets(&self) -> &[Preset<Value>] {
        static BUILT_IN: OnceLock<Vec<Preset<Value>>> = OnceLock::new();
        BUILT_IN.get_or_init(|| library().find(SAMPLE).map(|it| it.preset.clone()).into_iter().collect())
    }

    fn takes(&self) -> Takes {
        Takes { extensions: vec!["npz"], folders: true, max_bytes: 1 << 30 }
    }

    fn read(&self, files: &[File]) -> Result<Form, CatalogError> {
        let recording = parse(files).map_err(|it| CatalogError::File(it.to_string()))?;
        let name = recording.name.clone();
        let recording = keep(recording);
        Ok(kept::form(name, recording.summary(), recording.as_str()))
    }

    fn inline(&self, _: &Map<String, Value>) -> Option<Result<Form, CatalogError>> {
        let problem = "a recording is a name, an .npz file or a folder of them, not a table";
        Some(Err(CatalogError::File(problem.to_owned())))
    }

    fn complete(&self, form: Form, _: Find<'_>) -> Result<Preset<Value>, CatalogError> {
        let Form { name, summary, mut parameters, sources, intervals, facts, .. } = form;
        let content = parameters.remove(kept::KEY).and_then(|it| it.as_str().map(str::to_owned));
        let known = RecordingName::named(content.as_deref().unwrap_or(&name));
        let recording = known.map_err(|it| CatalogError::File(it.to_string()))?;
        Ok(Preset { name, summary, parameters: json!(recording), sources, intervals, facts })
    }

    fn schema(&self) -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("{KIND} ({})", self.summary()),
            "type": "string",
            "description": format!("Name of a {KIND}, or the path of an .npz file or of a folder of them"),
        })
    }

    /// Finds a user's own too, and what was kept.
    fn find_plain(&self, name: &str) -> Result<&Preset<Value>, Unknown> {
        let library = library();
        library.find(name).map(|it| it.preset).ok_or_else(|| library.unknown(name))
    }
}

/// Parses the files of a recording: one sequence in each, and the one called
/// [`PROFILE`] is the profile.
///
/// # Errors
/// [`TraceError`] names the file.
pub fn parse(files: &[File]) -> Result<Recording, TraceError> {
    let mut files: Vec<&File> = files.iter().collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let (profile, sequences): (Vec<&File>, Vec<&File>) =
        files.into_iter().partition(|it| last(&it.name).eq_ignore_ascii_case(PROFILE));
    let stem = |it: &File| last(&it.name).rsplit_once('.').map_or(it.name.as_str(), |it| it.0).to_owned();
    let stems: Vec<String> = sequences.iter().map(|it| stem(it)).collect();
    let name = match &stems[..] {
        [] => {
            let files = if profile.is_empty() { String::new() } else { format!(", only `{PROFILE}`") };
            return Err(TraceError::NoSequence { files });
        }
        [only] => only.clone(),
        [first, .., last] => format!("{first} to {last}"),
    };
    Recording::from_files(&name, &sequences, profile.first().copied())
}

/// A file's name without its folders.
fn last(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}
