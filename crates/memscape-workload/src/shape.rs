//! Shapes of matrix products.

use std::fmt;

use memscape_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Format;

/// The most multiply-accumulates of one product, so that operations and bits
/// stay exact in 64 bits.
const MAX_MACS: u64 = 1 << 56;

/// Why numbers are not a shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A dimension is zero.
    #[error("a matrix product of {shape} does not exist; every dimension must be at least 1")]
    Empty {
        /// The dimensions as given.
        shape: String,
    },
    /// More multiply-accumulates than 64-bit counts can follow.
    #[error("a matrix product of {shape} is too large; it may take at most 2^56 multiply-accumulates")]
    TooLarge {
        /// The dimensions as given.
        shape: String,
    },
}

/// A matrix-vector product: an `m x k` weight matrix times a vector of `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawGemv", into = "RawGemv")]
#[schemars(with = "RawGemv")]
pub struct Gemv {
    m: u64,
    k: u64,
}

/// A matrix product: an `m x k` weight matrix times `n` vectors of `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawGemm", into = "RawGemm")]
#[schemars(with = "RawGemm")]
pub struct Gemm {
    m: u64,
    k: u64,
    n: u64,
}

impl Gemv {
    /// Checks the dimensions.
    ///
    /// # Errors
    /// [`ShapeError`] if one is zero, or the product exceeds 2^56
    /// multiply-accumulates.
    pub fn new(m: u64, k: u64) -> Result<Self, ShapeError> {
        Gemm::new(m, k, 1).map(|_| Self { m, k })
    }

    /// Rows of the weight matrix: output elements.
    #[must_use]
    pub const fn m(self) -> u64 {
        self.m
    }

    /// Columns of the weight matrix: input elements.
    #[must_use]
    pub const fn k(self) -> u64 {
        self.k
    }

    /// The same matrix times `n` vectors.
    ///
    /// # Errors
    /// As [`Gemm::new`].
    pub fn times(self, n: u64) -> Result<Gemm, ShapeError> {
        Gemm::new(self.m, self.k, n)
    }

    /// Multiply-accumulates, one per weight.
    #[must_use]
    pub const fn macs(self) -> u64 {
        self.m * self.k
    }

    /// Operations: two per multiply-accumulate.
    #[must_use]
    pub const fn operations(self) -> u64 {
        2 * self.macs()
    }

    /// Bytes of the weights, block scales included.
    #[must_use]
    pub const fn weight_bytes(self, format: Format) -> Bytes {
        format.storage_bytes(self.macs())
    }
}

impl Gemm {
    /// Checks the dimensions.
    ///
    /// # Errors
    /// [`ShapeError`] if one is zero, or the product exceeds 2^56
    /// multiply-accumulates.
    pub fn new(m: u64, k: u64, n: u64) -> Result<Self, ShapeError> {
        let shape = || if n == 1 { format!("{m} x {k}") } else { format!("{m} x {k} x {n}") };
        if m == 0 || k == 0 || n == 0 {
            return Err(ShapeError::Empty { shape: shape() });
        }
        match m.checked_mul(k).and_then(|it| it.checked_mul(n)) {
            Some(macs) if macs <= MAX_MACS => Ok(Self { m, k, n }),
            _ => Err(ShapeError::TooLarge { shape: shape() }),
        }
    }

    /// Rows of the weight matrix.
    #[must_use]
    pub const fn m(self) -> u64 {
        self.m
    }

    /// Columns of the weight matrix.
    #[must_use]
    pub const fn k(self) -> u64 {
        self.k
    }

    /// Vectors multiplied.
    #[must_use]
    pub const fn n(self) -> u64 {
        self.n
    }

    /// Multiply-accumulates.
    #[must_use]
    pub const fn macs(self) -> u64 {
        self.m * self.k * self.n
    }

    /// Operations: two per multiply-accumulate.
    #[must_use]
    pub const fn operations(self) -> u64 {
        2 * self.macs()
    }

    /// Bytes of the `m x k` weights, block scales included.
    #[must_use]
    pub const fn weight_bytes(self, format: Format) -> Bytes {
        format.storage_bytes(self.m * self.k)
    }

    /// Bytes of the `k x n` input.
    #[must_use]
    pub const fn input_bytes(self, format: Format) -> Bytes {
        format.storage_bytes(self.k * self.n)
    }

    /// Bytes of the `m x n` output.
    #[must_use]
    pub const fn output_bytes(self, format: Format) -> Bytes {
        format.storage_bytes(self.m * self.n)
    }
}

impl From<Gemv> for Gemm {
    fn from(it: Gemv) -> Self {
        Self { m: it.m, k: it.k, n: 1 }
    }
}

impl fmt::Display for Gemv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.m, self.k)
    }
}

impl fmt::Display for Gemm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.m, self.k, self.n)
    }
}

/// A [`Gemv`] in a file, before it is checked.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawGemv {
    /// Rows of the weight matrix: output elements.
    #[schemars(range(min = 1))]
    m: u64,
    /// Columns of the weight matrix: input elements.
    #[schemars(range(min = 1))]
    k: u64,
}

/// A [`Gemm`] in a file, before it is checked.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawGemm {
    /// Rows of the weight matrix.
    #[schemars(range(min = 1))]
    m: u64,
    /// Columns of the weight matrix.
    #[schemars(range(min = 1))]
    k: u64,
    /// Vectors multiplied.
    #[schemars(range(min = 1))]
    n: u64,
}

impl TryFrom<RawGemv> for Gemv {
    type Error = ShapeError;
    fn try_from(raw: RawGemv) -> Result<Self, ShapeError> {
        Self::new(raw.m, raw.k)
    }
}

impl From<Gemv> for RawGemv {
    fn from(it: Gemv) -> Self {
        Self { m: it.m, k: it.k }
    }
}

impl TryFrom<RawGemm> for Gemm {
    type Error = ShapeError;
    fn try_from(raw: RawGemm) -> Result<Self, ShapeError> {
        Self::new(raw.m, raw.k, raw.n)
    }
}

impl From<Gemm> for RawGemm {
    fn from(it: Gemm) -> Self {
        Self { m: it.m, k: it.k, n: it.n }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_checked_also_when_read_from_a_file() {
        let error = serde_json::from_str::<Gemv>(r#"{"m": 0, "k": 768}"#).unwrap_err().to_string();
        assert!(error.contains("a matrix product of 0 x 768 does not exist"), "{error}");
        assert!(serde_json::from_str::<Gemv>(r#"{"m": 1, "k": 1, "n": 1}"#).is_err());
        let error = Gemm::new(u64::MAX, 2, 3).unwrap_err().to_string();
        assert!(error.ends_with("is too large; it may take at most 2^56 multiply-accumulates"), "{error}");
        let shape = Gemv::new(2304, 768).unwrap();
        assert_eq!(serde_json::to_string(&shape).unwrap(), r#"{"m":2304,"k":768}"#);
    }

    #[test]
    fn bytes_and_operations_of_a_small_product() {
        let gemm = Gemv::new(3, 5).unwrap().times(7).unwrap();
        assert_eq!((gemm.macs(), gemm.operations()), (105, 210));
        let int4 = Format::INT4;
        assert_eq!(gemm.weight_bytes(int4), Bytes(8));
        assert_eq!(gemm.input_bytes(int4), Bytes(18));
        assert_eq!(gemm.output_bytes(Format::FP32), Bytes(84));
    }
}
