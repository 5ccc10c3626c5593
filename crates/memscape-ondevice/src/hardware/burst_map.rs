//! Address maps of either kind.

use memscape_dram::{AddressMap, Dims, Field, Place};

use super::bit_map::BitMap;

/// How burst numbers of physical memory become channels, ranks, banks, rows and
/// columns, and back: a bijection.
///
/// Both kinds are homomorphic: the burst number of a place is the
/// [`BurstMap::join`] of one [`BurstMap::part`] per field, which is what makes a
/// swizzled copy cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BurstMap {
    /// Any invertible map of address bits over GF(2): bit slices, and slices
    /// hashed by XOR.
    Bits(BitMap),
    /// A number with one digit per field, for sizes that are no powers of two.
    Digits(AddressMap),
}

impl BurstMap {
    /// What it maps.
    #[must_use]
    pub const fn dims(&self) -> &Dims {
        match self {
            Self::Bits(map) => map.dims(),
            Self::Digits(map) => map.dims(),
        }
    }

    /// The number of the burst at `place`, if there is such a place.
    #[must_use]
    pub fn encode(&self, place: &Place) -> Option<u64> {
        match self {
            Self::Bits(map) => map.encode(place),
            Self::Digits(map) => map.encode(place),
        }
    }

    /// Where the burst of this number lies, if one has it.
    #[must_use]
    pub fn decode(&self, burst: u64) -> Option<Place> {
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
