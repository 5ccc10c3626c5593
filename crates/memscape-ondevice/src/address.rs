//! Address maps: how burst numbers of physical memory become channels, ranks,
//! banks, rows and columns, and back.
//!
//! A map is a bijection. [`BitMap`] is any invertible map of address bits over
//! GF(2): bit slices, and slices hashed by XOR. [`DigitMap`] is a number with
//! one digit per field, for sizes that are no powers of two. Both are
//! homomorphic: the burst number of a place is the [`AddressMap::join`] of one
//! [`AddressMap::part`] per field, which is what makes a swizzled copy cheap.

use std::fmt;

use memscape_dram::Dram;

/// A coordinate of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The burst within its DRAM row.
    Column,
    /// The channel.
    Channel,
    /// The rank of the channel.
    Rank,
    /// The bank of the rank, bank groups included.
    Bank,
    /// The row of the bank.
    Row,
}

impl Field {
    /// All fields, in the order in which a [`BitMap`] packs their bits.
    pub const ALL: [Self; 5] = [Self::Column, Self::Channel, Self::Rank, Self::Bank, Self::Row];

    /// The name, for example `bank`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Channel => "channel",
            Self::Rank => "rank",
            Self::Bank => "bank",
            Self::Row => "row",
        }
    }
}

/// Where a burst lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The channel.
    pub channel: u64,
    /// The rank of the channel.
    pub rank: u64,
    /// The bank of the rank.
    pub bank: u64,
    /// The row of the bank.
    pub row: u64,
    /// The burst of the row.
    pub column: u64,
}

impl Place {
    /// One coordinate.
    #[must_use]
    pub const fn get(&self, field: Field) -> u64 {
        match field {
            Field::Column => self.column,
            Field::Channel => self.channel,
            Field::Rank => self.rank,
            Field::Bank => self.bank,
            Field::Row => self.row,
        }
    }

    const fn set(&mut self, field: Field, value: u64) {
        match field {
            Field::Column => self.column = value,
            Field::Channel => self.channel = value,
            Field::Rank => self.rank = value,
            Field::Bank => self.bank = value,
            Field::Row => self.row = value,
        }
    }
}

/// How many there are of each coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dims {
    /// Channels of the memory.
    pub channels: u64,
    /// Ranks of one channel.
    pub ranks: u64,
    /// Banks of one rank.
    pub banks: u64,
    /// Rows of one bank.
    pub rows: u64,
    /// Bursts of one row.
    pub columns: u64,
}

impl Dims {
    /// The dimensions of a checked device.
    #[must_use]
    pub fn of(memory: &Dram) -> Self {
        let geometry = memory.geometry();
        Self {
            channels: memory.channels.get().into(),
            ranks: geometry.ranks.into(),
            banks: u64::from(geometry.bank_groups) * u64::from(geometry.banks),
            rows: geometry.rows.into(),
            columns: geometry.columns.into(),
        }
    }

    /// The size of one field.
    #[must_use]
    pub const fn get(&self, field: Field) -> u64 {
        match field {
            Field::Column => self.columns,
            Field::Channel => self.channels,
            Field::Rank => self.ranks,
            Field::Bank => self.banks,
            Field::Row => self.rows,
        }
    }

    /// Whether a place exists.
    #[must_use]
    pub fn contains(&self, place: &Place) -> bool {
        Field::ALL.iter().all(|it| place.get(*it) < self.get(*it))
    }

    /// Address bits of a field, rounded up: rows need not be a power of two.
    fn bits(&self, field: Field) -> u32 {
        self.get(field).next_power_of_two().trailing_zeros()
    }
}

/// Why there is no such map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// A field of size zero, or more than 2^48 bursts.
    #[error(
        "a memory of {0:?} cannot be mapped; every dimension must be at least 1, and all together at most 2^48 bursts"
    )]
    Dims(Dims),
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
    /// A field that occurs twice, or not at all.
    #[error("a map of digits names each of column, channel, rank, bank and row once; `{}` is {problem}", .field.name())]
    Digits {
        /// The field.
        field: Field,
        /// What is wrong with it.
        problem: &'static str,
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
/// use memscape_ondevice::address::{BitMap, Dims, Place};
///
/// // Two banks of two columns: the bank is the XOR of both address bits.
/// let dims = Dims { channels: 1, ranks: 1, banks: 2, rows: 1, columns: 2 };
/// let map = BitMap::new(dims, &[0b01, 0b11])?;
/// assert_eq!(map.decode(0b01), Place { column: 1, bank: 1, ..Place::default() });
///
/// let singular = BitMap::new(dims, &[0b11, 0b11]).unwrap_err();
/// assert_eq!(
///     singular.to_string(),
///     "the map is not invertible: the rows of column bit 0, bank bit 0 add up to 0; change one of them",
/// );
/// # Ok::<(), memscape_ondevice::address::MapError>(())
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
    /// [`MapError`] if the matrix does not fit the memory or has no inverse; it
    /// then names the coordinate bits that depend on each other.
    pub fn new(dims: Dims, matrix: &[u64]) -> Result<Self, MapError> {
        let bits = coordinate_bits(&dims)?;
        let count = bits.len();
        if matrix.len() != count {
            let widths: Vec<_> =
                Field::ALL.iter().map(|it| format!("{} {}", it.name(), dims.bits(*it))).collect();
            return Err(MapError::Size { given: matrix.len(), needed: count, widths: widths.join(", ") });
        }
        for (bit, row) in bits.iter().zip(matrix) {
            let address_bit = (row | 1).ilog2();
            if count <= address_bit as usize {
                return Err(MapError::OutOfRange { bit: *bit, address_bit, bits: count });
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
                return Err(MapError::Singular { dependent });
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

    /// Where the burst of this number lies.
    #[must_use]
    pub fn decode(&self, burst: u64) -> Place {
        let mut packed = xor_of(&self.decode, burst);
        let mut place = Place::default();
        for field in Field::ALL {
            let bits = self.dims.bits(field);
            place.set(field, packed & ((1 << bits) - 1));
            packed >>= bits;
        }
        place
    }

    fn part(&self, field: Field, value: u64) -> u64 {
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

fn coordinate_bits(dims: &Dims) -> Result<Vec<CoordinateBit>, MapError> {
    check_dims(dims)?;
    Ok(Field::ALL
        .iter()
        .flat_map(|&field| (0..dims.bits(field)).map(move |bit| CoordinateBit { field, bit }))
        .collect())
}

fn check_dims(dims: &Dims) -> Result<(), MapError> {
    const MAX_BITS: u32 = 48;
    let sizes = Field::ALL.map(|it| dims.get(it));
    if sizes.iter().any(|it| *it == 0 || 1 << MAX_BITS < *it)
        || MAX_BITS < Field::ALL.iter().map(|it| dims.bits(*it)).sum()
    {
        return Err(MapError::Dims(*dims));
    }
    Ok(())
}

/// A number with one digit per field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigitMap {
    dims: Dims,
    order: [Field; 5],
}

impl DigitMap {
    /// The map whose digits come in `order`, lowest first.
    ///
    /// # Errors
    /// [`MapError`] if `order` names a field twice or the memory is empty.
    pub fn new(dims: Dims, order: [Field; 5]) -> Result<Self, MapError> {
        check_dims(&dims)?;
        for field in Field::ALL {
            let problem = match order.iter().filter(|it| **it == field).count() {
                1 => continue,
                0 => "missing",
                _ => "there twice",
            };
            return Err(MapError::Digits { field, problem });
        }
        Ok(Self { dims, order })
    }

    /// Where the burst of this number lies.
    #[must_use]
    pub fn decode(&self, burst: u64) -> Place {
        let (mut place, mut rest) = (Place::default(), burst);
        for field in self.order {
            place.set(field, rest % self.dims.get(field));
            rest /= self.dims.get(field);
        }
        place
    }

    fn part(&self, field: Field, value: u64) -> u64 {
        value * self.order.iter().take_while(|it| **it != field).map(|it| self.dims.get(*it)).product::<u64>()
    }
}

/// Any map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressMap {
    /// Bits over GF(2).
    Bits(BitMap),
    /// Digits of any size.
    Digits(DigitMap),
}

impl AddressMap {
    /// What it maps.
    #[must_use]
    pub const fn dims(&self) -> &Dims {
        match self {
            Self::Bits(map) => &map.dims,
            Self::Digits(map) => &map.dims,
        }
    }

    /// The number of the burst at `place`.
    #[must_use]
    pub fn encode(&self, place: &Place) -> u64 {
        Field::ALL.iter().fold(0, |sum, it| self.join(sum, self.part(*it, place.get(*it))))
    }

    /// Where the burst of this number lies. Where rows are no power of two, bits
    /// leave holes: numbers of rows beyond [`Dims::rows`].
    #[must_use]
    pub fn decode(&self, burst: u64) -> Place {
        match self {
            Self::Bits(map) => map.decode(burst),
            Self::Digits(map) => map.decode(burst),
        }
    }

    /// What one coordinate contributes to a burst number.
    #[must_use]
    pub fn part(&self, field: Field, value: u64) -> u64 {
        match self {
            Self::Bits(map) => map.part(field, value),
            Self::Digits(map) => map.part(field, value),
        }
    }

    /// Two contributions together.
    #[inline]
    #[must_use]
    pub const fn join(&self, a: u64, b: u64) -> u64 {
        match self {
            Self::Bits(_) => a ^ b,
            Self::Digits(_) => a + b,
        }
    }
}
