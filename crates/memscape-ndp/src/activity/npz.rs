//! NumPy's `.npz`: a ZIP of `.npy` arrays.

use std::io::{Cursor, Read};

use zip::ZipArchive;

/// The arrays of an `.npz` file.
pub struct Npz<'a>(ZipArchive<Cursor<&'a [u8]>>);

/// One array: its shape, and its elements in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// NumPy's type, such as `<f8`.
    pub dtype: String,
    /// Length of each axis; empty for a scalar.
    pub shape: Vec<usize>,
    data: Vec<u8>,
}

/// Why a file is no `.npz` of the arrays asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// Not a ZIP file, or a damaged one.
    #[error("not a readable .npz file: {0}; write it with numpy.savez")]
    Zip(String),
    /// No array of that name.
    #[error("there is no array `{name}`; the file has {}", .available.join(", "))]
    Missing {
        /// The array asked for.
        name: String,
        /// The arrays that there are.
        available: Vec<String>,
    },
    /// Not the `.npy` format.
    #[error("array `{name}` is no .npy array: {problem}")]
    Npy {
        /// The array.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// Another type of elements.
    #[error("array `{name}` has elements of type `{found}`; {wanted} are wanted")]
    Type {
        /// The array.
        name: String,
        /// Its type.
        found: String,
        /// Which types would do.
        wanted: &'static str,
    },
}

/// No array of ours is larger; a header that says so is damaged.
const MOST_BYTES: usize = 1 << 30;

/// A header has some hundred bytes.
const MOST_HEADER: u32 = 1 << 16;

impl<'a> Npz<'a> {
    /// Opens the bytes of a file.
    ///
    /// # Errors
    /// [`NpzError::Zip`] if they are no ZIP archive.
    pub fn open(bytes: &'a [u8]) -> Result<Self, NpzError> {
        ZipArchive::new(Cursor::new(bytes)).map(Self).map_err(|it| NpzError::Zip(it.to_string()))
    }

    /// Names of all arrays.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.file_names().flatten().map(|it| it.trim_end_matches(".npy").to_owned()).collect()
    }

    /// Reads one array.
    ///
    /// # Errors
    /// [`NpzError`] if there is none of that name or it cannot be read.
    pub fn array(&mut self, name: &str) -> Result<Array, NpzError> {
        let available = self.names();
        let bad = |problem: String| NpzError::Npy { name: name.to_owned(), problem };
        let mut file = self
            .0
            .by_name(&format!("{name}.npy"))
            .map_err(|_| NpzError::Missing { name: name.to_owned(), available })?;
        parse(&mut file).map_err(bad)
    }
}

/// The `.npy` format, versions 1 to 3: magic, version, length, a Python
/// dictionary, elements. No more is read than the header says.
fn parse(file: &mut impl Read) -> Result<Array, String> {
    let within = |_| "it ends within its header".to_owned();
    let mut start = [0; 8];
    file.read_exact(&mut start).map_err(|_| "it does not start with \\x93NUMPY".to_owned())?;
    let digits = match start {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => 2,
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => 4,
        [0x93, b'N', b'U', b'M', b'P', b'Y', other, _] => {
            return Err(format!("format version {other}; 1 to 3 are known"));
        }
        _ => return Err("it does not start with \\x93NUMPY".to_owned()),
    };
    let mut length = [0; 4];
    file.read_exact(&mut length[..digits]).map_err(within)?;
    let length = u32::from_le_bytes(length);
    if length > MOST_HEADER {
        return Err(format!("its header has {length} bytes; at most {MOST_HEADER} are read"));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(within)?;
    let header = &header[..];
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let field = |key: &str| {
        header
            .split_once(&format!("'{key}':"))
            .map(|it| it.1.trim_start())
            .ok_or(format!("no `{key}` in its header"))
    };
    let dtype = field("descr")?.strip_prefix('\'').and_then(|it| it.split('\'').next());
    let dtype = dtype.ok_or("records are not supported")?.to_owned();
    if !field("fortran_order")?.starts_with("False") {
        return Err("it is in Fortran order; save numpy.ascontiguousarray of it".to_owned());
    }
    let shape = field("shape")?.strip_prefix('(').and_then(|it| it.split(')').next()).ok_or("no shape")?;
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(|it| it.parse::<usize>().map_err(|_| format!("axis of length `{it}`")))
        .collect::<Result<Vec<_>, _>>()?;
    let item: usize = match dtype.get(2..).map(str::parse) {
        Some(Ok(size)) => size,
        _ => return Err(format!("element type `{dtype}`")),
    };
    let item = if dtype.as_bytes()[1] == b'U' { item.saturating_mul(4) } else { item };
    let count = shape.iter().try_fold(1_usize, |all, it| all.checked_mul(*it));
    let wanted = count.and_then(|it| it.checked_mul(item)).ok_or(format!("shape {shape:?}"))?;
    if wanted > MOST_BYTES {
        return Err(format!(
            "shape {shape:?} of `{dtype}` takes {wanted} bytes; at most {MOST_BYTES} are read"
        ));
    }
    let mut data = Vec::new();
    // One more tells that there are more, however many.
    file.take(wanted as u64 + 1).read_to_end(&mut data).map_err(|it| it.to_string())?;
    if data.len() != wanted {
        let found = if data.len() > wanted { "more".to_owned() } else { data.len().to_string() };
        return Err(format!(
            "shape {shape:?} of `{dtype}` takes {wanted} bytes, but {found} are there; the file is truncated or damaged"
        ));
    }
    Ok(Array { dtype, shape, data })
}

impl Array {
    fn wrong(&self, name: &str, wanted: &'static str) -> NpzError {
        NpzError::Type { name: name.to_owned(), found: self.dtype.clone(), wanted }
    }

    /// The bytes of an array of `uint8`.
    ///
    /// # Errors
    /// [`NpzError::Type`] if it is of another type.
    pub fn bytes(&self, name: &str) -> Result<&[u8], NpzError> {
        if self.dtype == "|u1" { Ok(&self.data) } else { Err(self.wrong(name, "bytes (uint8)")) }
    }

    /// The elements as floats.
    ///
    /// # Errors
    /// [`NpzError::Type`] if they are no little-endian numbers.
    pub fn floats(&self, name: &str) -> Result<Vec<f64>, NpzError> {
        macro_rules! read {
            ($type:ty, $size:literal) => {{
                let number = |it: &[u8]| <$type>::from_le_bytes(it.try_into().expect("chunks of that size"));
                #[allow(clippy::cast_lossless, clippy::cast_precision_loss, reason = "counts and shares")]
                let numbers = self.data.chunks_exact($size).map(|it| number(it) as f64).collect();
                Ok(numbers)
            }};
        }
        match self.dtype.as_str() {
            "<f8" => read!(f64, 8),
            "<f4" => read!(f32, 4),
            "<i8" => read!(i64, 8),
            "<i4" => read!(i32, 4),
            "<u2" => read!(u16, 2),
            "<u4" => read!(u32, 4),
            "|u1" => read!(u8, 1),
            _ => Err(self.wrong(name, "little-endian numbers")),
        }
    }

    /// The text of a scalar string.
    ///
    /// # Errors
    /// [`NpzError::Type`] if it is no string.
    ///
    /// # Panics
    /// Never: a character has four bytes.
    pub fn text(&self, name: &str) -> Result<String, NpzError> {
        if !self.dtype.starts_with("<U") {
            return Err(self.wrong(name, "text"));
        }
        let code = |it: &[u8]| u32::from_le_bytes(it.try_into().expect("chunks of four"));
        let characters = self.data.chunks_exact(4).map(code).take_while(|it| *it != 0);
        characters.map(char::from_u32).collect::<Option<_>>().ok_or_else(|| self.wrong(name, "text"))
    }
}
