//! Address maps as text, so that a study can name and sweep them.

use std::fmt;
use std::str::FromStr;

use memscape_dram::{AddressMap, Dims, Field, MapError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::bit_map::{BitMap, BitMapError};
use super::burst_map::BurstMap;

/// An address map of any memory, written down lowest first.
///
/// * Bit slices: `column:2 channel:2 column:* bank:* rank:* row:*`, a star taking
///   the bits of its field that are left.
/// * Hashed: any number of `bank0^row0` after the slices add a bit to another by
///   XOR; bits are those of the coordinates, before any hashing.
/// * Digits of any size, each field once: `bank column channel rank row`.
///
/// Banks are counted through the bank groups of a rank.
///
/// ```
/// use memscape_dram::{Dims, Place};
/// use memscape_ondevice::hardware::MapText;
///
/// let dims = Dims { banks: 4, rows: 8, columns: 4, ..Dims::ONE };
/// let map = "column:1 bank:* column:* row:* bank0^row0".parse::<MapText>()?.map(dims)?;
/// assert_eq!(map.encode(&Place { column: 3, bank: 2, ..Place::default() }), Some(0b1101));
/// assert_eq!(map.decode(0b1_0000).map(|it| it.bank), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapText {
    text: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Bits { slices: Vec<Slice>, hashes: Vec<[Bit; 2]> },
    Digits([Field; 5]),
}

/// Some bits of a field, or all that are left of it.
type Slice = (Field, Option<u32>);

/// One bit of a field, from 0.
type Bit = (Field, u32);

/// Why a text is no address map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapTextError {
    /// A word that is neither slice, hash nor field.
    #[error(
        "`{word}` of the address map is not understood; write bit slices such as `column:2 channel:2 column:* bank:* rank:* row:*`, hashes such as `bank0^row0` behind them, or digits such as `bank column channel rank row`"
    )]
    Word {
        /// The word.
        word: String,
    },
    /// Slices that do not cover the memory.
    #[error("the address map gives `{}` {given} bits, but the memory has {needed}; change the slices, or let the last one be `{}:*`", .field.name(), .field.name())]
    Bits {
        /// The field.
        field: Field,
        /// Bits of its slices.
        given: u32,
        /// Bits that it has.
        needed: u32,
    },
    /// A hash that names a bit that is not there.
    #[error("the address map hashes `{}{bit}`, but the memory has {available} bits of it", .field.name())]
    Hash {
        /// The field.
        field: Field,
        /// The bit.
        bit: u32,
        /// How many there are.
        available: u32,
    },
    /// Digits that are no map of this memory.
    #[error(transparent)]
    Digits(#[from] MapError),
    /// Bits that are none.
    #[error(transparent)]
    BitMap(#[from] BitMapError),
}

impl MapText {
    /// The map of a memory of these dimensions.
    ///
    /// # Errors
    /// [`MapTextError`] if the text does not fit the memory or the map is not
    /// invertible.
    pub fn map(&self, dims: Dims) -> Result<BurstMap, MapTextError> {
        let dims = dims.ungrouped();
        match &self.form {
            Form::Digits(order) => Ok(BurstMap::Digits(AddressMap::of(dims, order)?)),
            Form::Bits { slices, hashes } => {
                dims.check()?;
                let mut matrix = sliced(&dims, slices)?;
                add_hashes(&dims, hashes, &mut matrix)?;
                Ok(BurstMap::Bits(BitMap::new(dims, &matrix)?))
            }
        }
    }
}

/// The matrix row of a field's lowest bit.
fn first_row(dims: &Dims, field: Field) -> u32 {
    Field::ALL.iter().take_while(|it| **it != field).map(|it| dims.bits(*it)).sum()
}

/// The matrix of bit slices, each coordinate bit an address bit of its own.
fn sliced(dims: &Dims, slices: &[Slice]) -> Result<Vec<u64>, MapTextError> {
    let bits: u32 = Field::ALL.iter().map(|it| dims.bits(*it)).sum();
    let mut matrix = vec![0_u64; bits as usize];
    let mut used = [0_u32; Field::ALL.len()];
    let mut address_bit = 0;
    for &(field, count) in slices {
        let (used, width) = (&mut used[field as usize], dims.bits(field));
        for _ in 0..count.unwrap_or_else(|| width.saturating_sub(*used)) {
            if *used < width {
                matrix[(first_row(dims, field) + *used) as usize] = 1 << address_bit;
                address_bit += 1;
            }
            *used += 1;
        }
    }
    for field in Field::ALL {
        let (given, needed) = (used[field as usize], dims.bits(field));
        if given != needed {
            return Err(MapTextError::Bits { field, given, needed });
        }
    }
    Ok(matrix)
}

/// Adds the second bit of each pair to the first, as both are before any hashing.
fn add_hashes(dims: &Dims, hashes: &[[Bit; 2]], matrix: &mut [u64]) -> Result<(), MapTextError> {
    let plain = matrix.to_vec();
    for [(field, bit), (other, other_bit)] in hashes {
        for (field, bit) in [(*field, *bit), (*other, *other_bit)] {
            let available = dims.bits(field);
            if available <= bit {
                return Err(MapTextError::Hash { field, bit, available });
            }
        }
        let added = plain[(first_row(dims, *other) + other_bit) as usize];
        matrix[(first_row(dims, *field) + bit) as usize] ^= added;
    }
    Ok(())
}

/// The fields that texts name.
const NAMED: [Field; 5] = [Field::Column, Field::Channel, Field::Rank, Field::Bank, Field::Row];

fn field(name: &str) -> Option<Field> {
    NAMED.into_iter().find(|it| it.name() == name)
}

/// `bank0` as field and bit.
fn bit(text: &str) -> Option<Bit> {
    let digits = text.find(|it: char| it.is_ascii_digit())?;
    Some((field(&text[..digits])?, text[digits..].parse().ok()?))
}

impl FromStr for MapText {
    type Err = MapTextError;

    fn from_str(text: &str) -> Result<Self, MapTextError> {
        let words: Vec<_> = text.split_whitespace().collect();
        let bad = |word: &str| MapTextError::Word { word: word.to_owned() };
        let digits: Vec<_> = words.iter().filter_map(|it| field(it)).collect();
        let form = if !words.is_empty() && digits.len() == words.len() {
            Form::Digits(digits.try_into().map_err(|_| bad(text))?)
        } else {
            let (mut slices, mut hashes) = (Vec::new(), Vec::new());
            for &word in &words {
                if let Some((a, b)) = word.split_once('^') {
                    hashes.push([bit(a).ok_or_else(|| bad(word))?, bit(b).ok_or_else(|| bad(word))?]);
                    continue;
                }
                let (name, count) = word.split_once(':').ok_or_else(|| bad(word))?;
                let count = match count {
                    "*" => None,
                    count => Some(count.parse::<u32>().ok().filter(|it| *it < 64).ok_or_else(|| bad(word))?),
                };
                slices.push((field(name).ok_or_else(|| bad(word))?, count));
            }
            if slices.is_empty() {
                return Err(bad(text));
            }
            Form::Bits { slices, hashes }
        };
        Ok(Self { text: words.join(" "), form })
    }
}

impl fmt::Display for MapText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for MapText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for MapText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for MapText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AddressMap".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
