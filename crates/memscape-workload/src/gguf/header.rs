//! The beginning of one GGUF file: keys, and what tensors there are.
//!
//! The file is somebody else's: each count and length is held against the bytes that are left
//! before anything is read or allocated, values of unknown keys are passed over, and nothing
//! is kept that is longer than a name.
//!
//! # Source
//! GGUF specification, `docs/gguf.md` of ggml: versions 2 and 3.

use std::fmt;
use std::io::Read;

use memscape_study::Opened;

use super::error::GgufError;
use crate::ggml::GgmlType;

/// One tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name, for example `blk.0.attn_q.weight`.
    pub name: String,
    /// Its extents as ggml writes them, the contiguous one first: columns, rows, experts.
    /// Those that a tensor does not have are 1.
    pub shape: [u64; 4],
    /// How its numbers are stored.
    pub kind: GgmlType,
}

impl Tensor {
    /// Numbers it holds.
    #[must_use]
    pub const fn elements(&self) -> u64 {
        // Checked when it was read.
        self.shape[0] * self.shape[1] * self.shape[2] * self.shape[3]
    }

    /// Bytes in the file.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.elements() / self.kind.block_elements() * self.kind.block_bytes()
    }

    /// Its extents in words, for example `4096 x 14336`.
    #[must_use]
    pub fn shape_in_words(&self) -> String {
        in_words(&self.shape)
    }
}

/// Extents in words, without those at the end that are 1.
pub(super) fn in_words(shape: &[u64]) -> String {
    let last = shape.iter().rposition(|it| *it != 1).unwrap_or(0);
    shape[..=last].iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

/// What a key holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Flag(bool),
    Text(String),
    Real(f64),
    /// Anything that no key we ask for holds, as a message shows it.
    Other(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Real(number) => number.fmt(f),
            Self::Other(shown) => f.write_str(shown),
        }
    }
}

/// The beginning of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub version: u32,
    /// Those of [`KEPT`], in the file's order.
    pub keys: Vec<(String, Value)>,
    pub tensors: Vec<Tensor>,
    /// Bytes before the tensors' data.
    pub bytes: u64,
}

impl Header {
    /// What a key holds.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.keys.iter().find(|it| it.0 == key).map(|it| &it.1)
    }
}

/// How the keys end that are kept; of an architecture's own, what follows its name.
const KEPT: &[&str] = &[
    "general.alignment",
    "general.architecture",
    "general.name",
    "split.count",
    "split.no",
    "split.tensors.count",
    ".attention.head_count",
    ".attention.head_count_kv",
    ".attention.key_length",
    ".attention.sliding_window",
    ".attention.sliding_window_pattern",
    ".attention.value_length",
    ".block_count",
    ".context_length",
    ".embedding_length",
    ".expert_count",
    ".expert_feed_forward_length",
    ".expert_used_count",
    ".feed_forward_length",
    ".rope.scaling.factor",
    ".rope.scaling.original_context_length",
    ".rope.scaling.type",
];

/// The longest header that is read. Vocabularies and their merges take most of one: 10 MB is
/// much.
const MOST_BYTES: u64 = 1 << 28;
/// The most keys, and the most tensors of all parts together.
const MOST_KEYS: u64 = 1 << 16;
pub(super) const MOST_TENSORS: u64 = 1 << 17;
/// The longest key or text that is kept; ggml's longest name of a tensor.
const MOST_TEXT: u64 = 128;
const MOST_NAME: u64 = 63;
/// How deep lists of lists may be.
const MOST_DEPTH: u32 = 4;
/// The most elements of a tensor.
const MOST_ELEMENTS: u64 = 1 << 50;
/// The widest alignment of tensors' data.
const MOST_ALIGNMENT: u64 = 1 << 20;
/// The alignment of who does not say.
const ALIGNMENT: u64 = 32;

/// The numbers of the types of values.
mod kind {
    pub const BOOL: u32 = 7;
    pub const TEXT: u32 = 8;
    pub const LIST: u32 = 9;
}

/// Bytes of a value of fixed length.
const fn fixed(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | kind::BOOL => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// The bytes of a file, in order.
struct Source<'a> {
    bytes: Box<dyn Read + 'a>,
    at: u64,
    /// What may be read.
    end: u64,
    length: u64,
}

impl Source<'_> {
    const fn left(&self) -> u64 {
        self.end - self.at
    }

    /// Checks that so many bytes are left.
    fn has(&self, what: &'static str, needs: u64) -> Result<(), GgufError> {
        if needs <= self.left() {
            Ok(())
        } else if self.end < self.length && needs <= self.length - self.at {
            Err(GgufError::Long { most: MOST_BYTES })
        } else {
            Err(GgufError::Truncated { what, at: self.at, needs, left: self.length - self.at })
        }
    }

    fn fill(&mut self, what: &'static str, into: &mut [u8]) -> Result<(), GgufError> {
        self.has(what, into.len() as u64)?;
        self.bytes.read_exact(into).map_err(|it| GgufError::Read(it.to_string()))?;
        self.at += into.len() as u64;
        Ok(())
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, GgufError> {
        let mut bytes = [0; 4];
        self.fill(what, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, GgufError> {
        let mut bytes = [0; 8];
        self.fill(what, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn skip(&mut self, what: &'static str, count: u64) -> Result<(), GgufError> {
        self.has(what, count)?;
        let mut passed = self.bytes.by_ref().take(count);
        let copied = std::io::copy(&mut passed, &mut std::io::sink());
        let copied = copied.map_err(|it| GgufError::Read(it.to_string()))?;
        self.at += copied;
        if copied == count {
            Ok(())
        } else {
            // It has become shorter meanwhile.
            Err(GgufError::Truncated { what, at: self.at, needs: count - copied, left: 0 })
        }
    }

    /// A text: its beginning, and how long it is.
    fn text(&mut self, what: &'static str) -> Result<(String, u64), GgufError> {
        let length = self.u64(what)?;
        self.has(what, length)?;
        let mut kept = vec![0; usize::try_from(length.min(MOST_TEXT)).unwrap_or_default()];
        self.fill(what, &mut kept)?;
        self.skip(what, length - kept.len() as u64)?;
        // Messages are one line, and no terminal is told anything by them.
        let shown = |it: char| if it.is_control() { char::REPLACEMENT_CHARACTER } else { it };
        Ok((String::from_utf8_lossy(&kept).chars().map(shown).collect(), length))
    }

    /// A count, of things of which each takes at least so many bytes.
    fn count(&mut self, what: &'static str, most: u64, least_bytes: u64) -> Result<u64, GgufError> {
        let given = self.u64(what)?;
        if given > most {
            return Err(count(what, given, format!("at most {most}")));
        }
        self.has(what, given.saturating_mul(least_bytes))?;
        Ok(given)
    }

    fn value(&mut self, key: &str, depth: u32) -> Result<Value, GgufError> {
        const WHAT: &str = "the value of a key";
        let kind = self.u32(WHAT)?;
        if kind == kind::TEXT {
            let (text, length) = self.text(WHAT)?;
            let shown =
                if length > MOST_TEXT { Value::Other(format!("{text:?} ...")) } else { Value::Text(text) };
            return Ok(shown);
        }
        if kind == kind::LIST {
            return self.list(key, depth);
        }
        let Some(length) = fixed(kind) else { return Err(unknown_kind(key, kind)) };
        let mut bytes = [0; 8];
        self.fill(WHAT, &mut bytes[..usize::try_from(length).unwrap_or_default()])?;
        Ok(scalar(kind, bytes))
    }

    /// Passes over a list.
    fn list(&mut self, key: &str, depth: u32) -> Result<Value, GgufError> {
        const WHAT: &str = "a list";
        let kind = self.u32(WHAT)?;
        let each = match (kind, fixed(kind)) {
            (_, Some(length)) => length,
            (kind::TEXT, _) => 8,
            (kind::LIST, _) => 12,
            _ => return Err(unknown_kind(key, kind)),
        };
        let length = self.count(WHAT, u64::MAX, each)?;
        if fixed(kind).is_some() {
            self.skip(WHAT, length * each)?;
        } else if kind == kind::TEXT {
            for _ in 0..length {
                let bytes = self.u64(WHAT)?;
                self.skip(WHAT, bytes)?;
            }
        } else if depth == MOST_DEPTH {
            return Err(count(
                &format!("the depth of list `{key}`"),
                depth + 1,
                format!("at most {MOST_DEPTH}"),
            ));
        } else {
            for _ in 0..length {
                self.list(key, depth + 1)?;
            }
        }
        Ok(Value::Other(format!("a list of {length}")))
    }

    fn tensor(&mut self) -> Result<(Tensor, u64), GgufError> {
        const WHAT: &str = "a tensor's description";
        let (name, length) = self.text(WHAT)?;
        if !(1..=MOST_NAME).contains(&length) {
            return Err(count("the length of a tensor's name", length, format!("1 to {MOST_NAME}")));
        }
        let dimensions = self.u32(WHAT)?;
        if !(1..=4).contains(&dimensions) {
            return Err(count(
                &format!("the number of extents of `{name}`"),
                dimensions,
                "1 to 4".to_owned(),
            ));
        }
        let mut shape = [1; 4];
        let mut elements = 1_u64;
        for extent in &mut shape[..dimensions as usize] {
            *extent = self.u64(WHAT)?;
            elements = elements
                .checked_mul(*extent)
                .filter(|it| (1..=MOST_ELEMENTS).contains(it))
                .ok_or_else(|| {
                    count(
                        &format!("an extent of `{name}`"),
                        *extent,
                        format!("at least 1, and all of them at most {MOST_ELEMENTS}"),
                    )
                })?;
        }
        let id = self.u32(WHAT)?;
        let Some(kind) = GgmlType::from_id(id) else {
            return Err(GgufError::Type { tensor: name, given: id });
        };
        if !shape[0].is_multiple_of(kind.block_elements()) {
            let allowed = format!("a multiple of {}, a block of {kind}", kind.block_elements());
            return Err(count(&format!("the first extent of `{name}`"), shape[0], allowed));
        }
        let offset = self.u64(WHAT)?;
        Ok((Tensor { name, shape, kind }, offset))
    }
}

fn scalar(kind: u32, bytes: [u8; 8]) -> Value {
    let [a, b, c, d, ..] = bytes;
    let signed = |it: i64| u64::try_from(it).map_or_else(|_| Value::Other(it.to_string()), Value::Whole);
    match kind {
        kind::BOOL => Value::Flag(a != 0),
        1 => signed(a.cast_signed().into()),
        3 => signed(i16::from_le_bytes([a, b]).into()),
        5 => signed(i32::from_le_bytes([a, b, c, d]).into()),
        11 => signed(i64::from_le_bytes(bytes)),
        // As it is written: 1.1, not the nearest of more digits.
        6 => Value::Real(f32::from_le_bytes([a, b, c, d]).to_string().parse().unwrap_or(f64::NAN)),
        12 => Value::Real(f64::from_le_bytes(bytes)),
        // Shorter ones have zeros above.
        _ => Value::Whole(u64::from_le_bytes(bytes)),
    }
}

fn count(what: &str, given: impl fmt::Display, allowed: String) -> GgufError {
    GgufError::Count { what: what.to_owned(), given: given.to_string(), allowed }
}

fn unknown_kind(key: &str, kind: u32) -> GgufError {
    count(&format!("the type of `{key}`"), kind, "from 0 to 12".to_owned())
}

impl Header {
    /// Reads the beginning of a file, which may have so many tensors.
    pub fn read(opened: Opened<'_>, most_tensors: u64) -> Result<Self, GgufError> {
        let Opened { length, bytes } = opened;
        let mut source = Source { bytes, at: 0, end: length.min(MOST_BYTES), length };
        let version = version(&mut source)?;
        // A name of one letter, one extent; an empty key and one byte.
        let tensor_count = source.count("the number of tensors", most_tensors, 33)?;
        let key_count = source.count("the number of keys", MOST_KEYS, 13)?;
        let keys = keys(&mut source, key_count)?;
        let alignment = alignment(&keys)?;
        let mut tensors = Vec::new();
        let mut offsets = Vec::new();
        for _ in 0..tensor_count {
            let (tensor, offset) = source.tensor()?;
            tensors.push(tensor);
            offsets.push(offset);
        }
        let bytes = source.at.next_multiple_of(alignment);
        check_data(&tensors, &offsets, bytes, alignment, length)?;
        Ok(Self { version, keys, tensors, bytes })
    }
}

fn version(source: &mut Source<'_>) -> Result<u32, GgufError> {
    let mut magic = [0; 4];
    source.fill("its first bytes", &mut magic)?;
    if &magic != b"GGUF" {
        return Err(GgufError::Magic { given: format!("`{}`", magic.escape_ascii()) });
    }
    let version = source.u32("its version")?;
    match version {
        2 | 3 => Ok(version),
        _ if matches!(version.swap_bytes(), 1..=3) => Err(GgufError::BigEndian),
        given => Err(GgufError::Version { given }),
    }
}

fn keys(source: &mut Source<'_>, count: u64) -> Result<Vec<(String, Value)>, GgufError> {
    let mut keys: Vec<(String, Value)> = Vec::new();
    for _ in 0..count {
        let (key, length) = source.text("a key")?;
        let value = source.value(&key, 0)?;
        let own = |it: &&str| it.starts_with('.') && key.ends_with(*it);
        if length > MOST_TEXT || !KEPT.iter().any(|it| key == *it || own(it)) {
            continue;
        }
        if keys.iter().any(|it| it.0 == key) {
            return Err(GgufError::Repeated { what: "key", name: key });
        }
        // Of other architectures' names before the same endings, a model has none.
        if keys.len() > 4 * KEPT.len() {
            return Err(self::count(
                "the number of keys of architectures",
                keys.len(),
                "those of one".to_owned(),
            ));
        }
        keys.push((key, value));
    }
    Ok(keys)
}

fn alignment(keys: &[(String, Value)]) -> Result<u64, GgufError> {
    const KEY: &str = "general.alignment";
    match keys.iter().find(|it| it.0 == KEY) {
        None => Ok(ALIGNMENT),
        Some((_, Value::Whole(given))) if given.is_power_of_two() && *given <= MOST_ALIGNMENT => Ok(*given),
        Some((_, given)) => Err(GgufError::Key {
            key: KEY.to_owned(),
            given: given.to_string(),
            allowed: format!("a power of two up to {MOST_ALIGNMENT}"),
        }),
    }
}

/// Each tensor's data is within the file, at its place and its own.
fn check_data(
    tensors: &[Tensor],
    offsets: &[u64],
    start: u64,
    alignment: u64,
    length: u64,
) -> Result<(), GgufError> {
    let mut needs = 0_u64;
    for (tensor, offset) in tensors.iter().zip(offsets) {
        if !offset.is_multiple_of(alignment) {
            let what = format!("the offset of `{}`", tensor.name);
            return Err(count(&what, offset, format!("a multiple of {alignment}")));
        }
        let from = start.saturating_add(*offset);
        let to = from.saturating_add(tensor.bytes());
        if to > length {
            return Err(GgufError::Outside { tensor: tensor.name.clone(), from, to, length });
        }
        needs = needs.saturating_add(tensor.bytes());
    }
    let have = length.saturating_sub(start);
    if needs > have { Err(GgufError::Overlap { needs, have }) } else { Ok(()) }
}
