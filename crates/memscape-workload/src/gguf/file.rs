//! One GGUF file, or all parts of one that is split.

use std::collections::HashMap;

use memscape_study::Folder;

use super::error::GgufError;
use super::header::{Header, MOST_TENSORS, Tensor, Value};

/// What the beginning of a GGUF file says: shapes and types of its tensors.
///
/// Of a split file (`NAME-00001-of-00003.gguf`), any part stands for all, which lie in the same
/// folder.
#[derive(Debug)]
pub struct Gguf {
    /// Version of the format.
    pub version: u32,
    /// Files it is split into.
    pub files: u32,
    /// Bytes before the tensors' data, of all files.
    pub header_bytes: u64,
    /// Its tensors, in the files' order.
    pub tensors: Vec<Tensor>,
    /// Without the folder, the ending and the part's number.
    pub(super) name: String,
    /// Keys of the first file.
    first: Header,
    /// Where each tensor is in `tensors`.
    places: HashMap<String, usize>,
}

/// The most files of one model.
const MOST_FILES: u64 = 1024;

const COUNT: &str = "split.count";
const NUMBER: &str = "split.no";
const TENSORS: &str = "split.tensors.count";

impl Gguf {
    /// Reads the beginning of the file of this name in a folder, and of those that belong to it.
    ///
    /// # Errors
    /// [`GgufError`] says what is wrong where. The files may hold anything: nothing is read or
    /// kept before it is known to be within bounds.
    pub fn read(name: &str, folder: &dyn Folder) -> Result<Self, GgufError> {
        let given = open(name, folder, MOST_TENSORS)?;
        let files = whole(&given, COUNT)?.unwrap_or(1);
        if files <= 1 {
            let stem = stem(name).to_owned();
            return Self::of(stem, given, Vec::new());
        }
        if files > MOST_FILES {
            return Err(GgufError::Key {
                key: COUNT.to_owned(),
                given: files.to_string(),
                allowed: format!("at most {MOST_FILES}"),
            });
        }
        let (stem, number) = split(name, files)?;
        let mut left = MOST_TENSORS;
        let mut parts = Vec::new();
        let mut given = Some(given);
        for at in 1..=files {
            let part = part_name(stem, at, files);
            let header = match given.take_if(|_| at == number) {
                Some(header) => header,
                None => open(&part, folder, left).map_err(|it| in_part(&part, &it))?,
            };
            check_part(&header, at, files).map_err(|it| in_part(&part, &it))?;
            // What was given is read already, whatever the others have.
            left = left.saturating_sub(header.tensors.len() as u64);
            parts.push(header);
        }
        let first = parts.remove(0);
        let told = whole(&first, TENSORS)?;
        let found = Self::of(stem.to_owned(), first, parts)?;
        match told {
            Some(told) if told != found.tensors.len() as u64 => Err(GgufError::Key {
                key: TENSORS.to_owned(),
                given: told.to_string(),
                allowed: format!("{}, as many as the parts have", found.tensors.len()),
            }),
            _ => Ok(found),
        }
    }

    fn of(name: String, mut first: Header, others: Vec<Header>) -> Result<Self, GgufError> {
        let mut header_bytes = first.bytes;
        let mut tensors = std::mem::take(&mut first.tensors);
        let mut files = 1;
        for it in others {
            header_bytes += it.bytes;
            tensors.extend(it.tensors);
            files += 1;
        }
        let mut places = HashMap::new();
        for (place, it) in tensors.iter().enumerate() {
            if places.insert(it.name.clone(), place).is_some() {
                return Err(GgufError::Repeated { what: "tensor", name: it.name.clone() });
            }
        }
        Ok(Self { version: first.version, files, header_bytes, tensors, name, first, places })
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.places.get(name).map(|it| &self.tensors[*it])
    }

    /// What a key holds.
    pub(super) fn key(&self, key: &str) -> Option<&Value> {
        self.first.get(key)
    }

    /// The architecture, as llama.cpp calls it.
    ///
    /// # Errors
    /// [`GgufError::Architecture`] if the file does not say, or has something else there.
    pub fn architecture(&self) -> Result<&str, GgufError> {
        match self.key("general.architecture") {
            Some(Value::Text(name)) => Ok(name),
            other => {
                let given = other.map_or("missing".to_owned(), Value::to_string);
                Err(GgufError::Architecture { given })
            }
        }
    }

    /// Bytes of all tensors.
    #[must_use]
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors.iter().map(Tensor::bytes).sum()
    }
}

fn open(name: &str, folder: &dyn Folder, most_tensors: u64) -> Result<Header, GgufError> {
    Header::read(folder.open(name).map_err(GgufError::Read)?, most_tensors)
}

fn in_part(name: &str, error: &GgufError) -> GgufError {
    GgufError::Part { name: name.to_owned(), problem: error.to_string() }
}

fn whole(header: &Header, key: &str) -> Result<Option<u64>, GgufError> {
    match header.get(key) {
        None => Ok(None),
        Some(Value::Whole(number)) => Ok(Some(*number)),
        Some(other) => Err(GgufError::Key {
            key: key.to_owned(),
            given: other.to_string(),
            allowed: "a whole number".to_owned(),
        }),
    }
}

fn check_part(header: &Header, at: u64, files: u64) -> Result<(), GgufError> {
    // The keys count from 0, the names from 1.
    for (key, expected) in [(COUNT, files), (NUMBER, at - 1)] {
        let given = whole(header, key)?;
        if given != Some(expected) {
            return Err(GgufError::Key {
                key: key.to_owned(),
                given: given.map_or("missing".to_owned(), |it| it.to_string()),
                allowed: format!("{expected}, by the files' names and the other parts"),
            });
        }
    }
    Ok(())
}

/// The name without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |it| it.0)
}

/// How the parts' names begin, and which part this is.
fn split(name: &str, files: u64) -> Result<(&str, u64), GgufError> {
    let bad = || GgufError::Part {
        name: name.to_owned(),
        problem: format!(
            "it is one of {files} files, but its name is not as llama.cpp splits them: NAME-00001-of-{files:05}.gguf; \
             rename the parts"
        ),
    };
    let digits = |text: &str| {
        let plain = text.len() == 5 && text.bytes().all(|it| it.is_ascii_digit());
        plain.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (rest, of) = stem(name).rsplit_once("-of-").ok_or_else(bad)?;
    let (prefix, number) = rest.rsplit_once('-').ok_or_else(bad)?;
    match (digits(number), digits(of)) {
        // The other names are made with this ending.
        (Some(number), Some(of))
            if of == files && (1..=files).contains(&number) && name == part_name(prefix, number, of) =>
        {
            Ok((prefix, number))
        }
        _ => Err(bad()),
    }
}

fn part_name(prefix: &str, number: u64, files: u64) -> String {
    format!("{prefix}-{number:05}-of-{files:05}.gguf")
}
