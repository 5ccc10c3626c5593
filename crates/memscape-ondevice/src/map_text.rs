//! Address maps as text, so that a study can name and sweep them.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::address::{AddressMap, BitMap, DigitMap, Dims, Field, MapError};

/// An address map of any memory, written down lowest first.
///
/// * Bit slices: `column:2 channel:2 column:* bank:* rank:* row:*`, a star taking
///   the bits of its field that are left.
/// * Hashed: any number of `bank0^row0` after the slices add a bit to another by
///   XOR; bits are those of the coordinates, before any hashing.
/// * Digits of any size, each field once: `bank column channel rank row`.
///
/// ```
/// use memscape_ondevice::address::{Dims, Place};
/// use memscape_ondevice::MapText;
///
/// let dims = Dims { channels: 1, ranks: 1, banks: 4, rows: 8, columns: 4 };
/// let map = "column:1 bank:* column:* row:* bank0^row0".parse::<MapText>()?.map(dims)?;
/// assert_eq!(map.encode(&Place { column: 3, bank: 2, ..Place::default() }), 0b1101);
/// assert_eq!(map.decode(0b1_0000).bank, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapText {
    text: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Bits { slices: Vec<(Field, Option<u32>)>, hashes: Vec<[(Field, u32); 2]> },
    Digits([Field; 5]),
}

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
    /// The map itself is wrong.
    #[error(transparent)]
    Map(#[from] MapError),
}

impl MapText {
    /// The map of a memory of these dimensions.
    ///
    /// # Errors
    /// [`MapTextError`] if the text does not fit the memory or the map is not
    /// invertible.
    pub fn map(&self, dims: Dims) -> Result<AddressMap, MapTextError> {
        let (slices, hashes) = match &self.form {
            Form::Digits(order) => return Ok(AddressMap::Digits(DigitMap::new(dims, *order)?)),
            Form::Bits { slices, hashes } => (slices, hashes),
        };
        if Field::ALL.iter().any(|it| dims.get(*it) == 0 || 1 << 48 < dims.get(*it)) {
            return Err(MapError::Dims(dims).into());
        }
        let width = |field: Field| dims.get(field).next_power_of_two().trailing_zeros();
        let first = |field: Field| -> u32 {
            Field::ALL.iter().take_while(|it| **it != field).map(|it| width(*it)).sum()
        };
        let bits: u32 = Field::ALL.iter().map(|it| width(*it)).sum();
        let mut matrix = vec![0_u64; bits as usize];
        let mut used = [0_u32; 5];
        let mut address_bit = 0;
        for &(field, count) in slices {
            let used = &mut used[field as usize];
            for _ in 0..count.unwrap_or_else(|| width(field).saturating_sub(*used)) {
                if *used < width(field) {
                    matrix[(first(field) + *used) as usize] = 1 << address_bit;
                    address_bit += 1;
                }
                *used += 1;
            }
        }
        for field in Field::ALL {
            let (given, needed) = (used[field as usize], width(field));
            if given != needed {
                return Err(MapTextError::Bits { field, given, needed });
            }
        }
        let plain = matrix.clone();
        for [(field, bit), (other, other_bit)] in hashes {
            for (field, bit) in [(*field, *bit), (*other, *other_bit)] {
                if width(field) <= bit {
                    return Err(MapTextError::Hash { field, bit, available: width(field) });
                }
            }
            matrix[(first(*field) + bit) as usize] ^= plain[(first(*other) + other_bit) as usize];
        }
        Ok(AddressMap::Bits(BitMap::new(dims, &matrix)?))
    }
}

fn field(name: &str) -> Option<Field> {
    Field::ALL.into_iter().find(|it| it.name() == name)
}

/// `bank0` as field and bit.
fn bit(text: &str) -> Option<(Field, u32)> {
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
