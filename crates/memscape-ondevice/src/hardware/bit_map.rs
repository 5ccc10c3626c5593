//! Maps of address bits, hashed ones included.

use std::fmt;

use memscape_dram::{Dims, Field, MapError, Place};

/// Why there is no such map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BitMapError {
    /// A memory that cannot be mapped.
    #[error(transparent)]
    Dims(#[from] MapError),
    /// A bit matrix of the wrong size.
    #[error("the map has {given} coordinate bits, but the memory has {needed}: {widths}")]
    Size {
        /// Rows of the matrix.
        given: usize,
        /// Coordinate bits of the memory.
        needed: usize,
        /// Bits per field.
        widths: String,
    },
    /// A row of the matrix names an address bit that does not exist.
    #[error("{bit} depends on address bit {address_bit}, but burst numbers have {bits} bits")]
    OutOfRange {
        /// The coordinate bit.
        bit: CoordinateBit,
        /// The address bit.
        address_bit: u32,
        /// How many there are.
        bits: usize,
    },
    /// The matrix has no inverse.
    #[error(
        "the map is not invertible: {}; change one of them",
        dependence(.dependent)
    )]
    Singular {
        /// Coordinate bits whose XOR is always zero.
        dependent: Vec<CoordinateBit>,
    },
}

fn dependence(bits: &[CoordinateBit]) -> String {
    if let [one] = bits {
        return format!("{one} is always 0");
    }
    let names: Vec<_> = bits.iter().map(ToString::to_string).collect();
    format!("the rows of {} add up to 0", names.join(", "))
}

/// One bit of a coordinate, for example `bank bit 2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoordinateBit {
    /// The coordinate.
    pub field: Field,
    /// Which of its bits, from 0.
    pub bit: u32,
}

impl fmt::Display for CoordinateBit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit {}", self.field.name(), self.bit)
    }
}

/// An invertible linear map of address bits over GF(2).
///
/// ```
/// use memscape_dram::{Dims, Place};
/// use memscape_ondevice::hardware::BitMap;
///
/// // Two banks of two columns: the bank is the XOR of both address bits.
/// let dims = Dims { banks: 2, columns: 2, ..Dims::ONE };
/// let map = BitMap::new(dims, &[0b01, 0b11])?;
/// assert_eq!(map.decode(0b01), Some(Place { column: 1, bank: 1, ..Place::default() }));
///
/// let singular = BitMap::new(dims, &[0b11, 0b11]).unwrap_err();
/// assert_eq!(
///     singular.to_string(),
///     "the map is not invertible: the rows of column bit 0, bank bit 0 add up to 0; change one of them",
/// );
/// # Ok::<(), memscape_ondevice::hardware::BitMapError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitMap {
    dims: Dims,
    /// Per coordinate bit, the address bits it sets.
    encode: Vec<u64>,
    /// Per address bit, the coordinate bits it sets.
    decode: Vec<u64>,
}

impl BitMap {
    /// The map whose coordinate bit `i` is the XOR of the address bits in
    /// `matrix[i]`. Coordinate bits are those of [`Field::ALL`] in turn, lowest
    /// first.
    ///
    /// # Errors
    /// [`BitMapError`] if the matrix does not fit the memory or has no inverse; it
    /// then names the coordinate bits that depend on each other.
    pub fn new(dims: Dims, matrix: &[u64]) -> Result<Self, BitMapError> {
        let bits = coordinate_bits(&dims)?;
        let count = bits.len();
        if matrix.len() != count {
            let widths: Vec<_> =
                Field::ALL.iter().map(|it| format!("{} {}", it.name(), dims.bits(*it))).collect();
            return Err(BitMapError::Size { given: matrix.len(), needed: count, widths: widths.join(", ") });
        }
        for (bit, row) in bits.iter().zip(matrix) {
            let address_bit = (row | 1).ilog2();
            if count <= address_bit as usize {
                return Err(BitMapError::OutOfRange { bit: *bit, address_bit, bits: count });
            }
        }
        // Gauss-Jordan: each reduced row with the coordinate bits that it is the XOR of.
        let mut reduced: Vec<(u64, u64)> = Vec::with_capacity(count);
        for (index, &row) in matrix.iter().enumerate() {
            let (mut row, mut of) = (row, 1_u64 << index);
            for &(other, other_of) in &reduced {
                if row & pivot(other) != 0 {
                    row ^= other;
                    of ^= other_of;
                }
            }
            if row == 0 {
                let dependent = (0..count).filter(|it| of >> it & 1 == 1).map(|it| bits[it]).collect();
                return Err(BitMapError::Singular { dependent });
            }
            for (other, other_of) in &mut reduced {
                if *other & pivot(row) != 0 {
                    *other ^= row;
                    *other_of ^= of;
                }
            }
            reduced.push((row, of));
        }
        let column = |of: &dyn Fn(usize) -> (u64, u64), bit: usize| {
            (0..count).map(of).filter(|it| it.1 >> bit & 1 == 1).fold(0, |all, it| all | it.0)
        };
        // With all rows independent, each reduced row is its pivot alone.
        let encode = (0..count).map(|bit| column(&|it| reduced[it], bit)).collect();
        let decode = (0..count).map(|bit| column(&|it| (1 << it, matrix[it]), bit)).collect();
        Ok(Self { dims, encode, decode })
    }

    /// What it maps.
    #[must_use]
    pub const fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The number of the burst at `place`, if there is such a place.
    #[must_use]
    pub fn encode(&self, place: &Place) -> Option<u64> {
        let parts = Field::ALL.iter().map(|it| self.part(*it, place.get(*it)));
        self.dims.contains(place).then(|| parts.fold(0, |sum, it| sum ^ it))
    }

    /// Where the burst of this number lies. Where rows are no power of two, bits
    /// leave holes: numbers of rows that are not there.
    #[must_use]
    pub fn decode(&self, burst: u64) -> Option<Place> {
        if burst >> self.decode.len() != 0 {
            return None;
        }
        let mut packed = xor_of(&self.decode, burst);
        let mut place = Place::default();
        for field in Field::ALL {
            let bits = self.dims.bits(field);
            place.set(field, packed & ((1 << bits) - 1));
            packed >>= bits;
        }
        self.dims.contains(&place).then_some(place)
    }

    /// What one coordinate contributes to a burst number, which is the XOR of the
    /// contributions.
    #[must_use]
    pub fn part(&self, field: Field, value: u64) -> u64 {
        let below: u32 = Field::ALL.iter().take_while(|it| **it != field).map(|it| self.dims.bits(*it)).sum();
        xor_of(&self.encode[below as usize..], value)
    }
}

/// The lowest bit of a row.
const fn pivot(row: u64) -> u64 {
    row & row.wrapping_neg()
}

/// The XOR of the entries whose bit is set.
fn xor_of(basis: &[u64], mut bits: u64) -> u64 {
    let mut sum = 0;
    while bits != 0 {
        sum ^= basis[bits.trailing_zeros() as usize];
        bits &= bits - 1;
    }
    sum
}

fn coordinate_bits(dims: &Dims) -> Result<Vec<CoordinateBit>, BitMapError> {
    dims.check()?;
    Ok(Field::ALL
        .iter()
        .flat_map(|&field| (0..dims.bits(field)).map(move |bit| CoordinateBit { field, bit }))
        .collect())
}
