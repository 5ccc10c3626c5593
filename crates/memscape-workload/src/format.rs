//! Data formats: how many bits an element takes, and what the bits mean.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};
use memscape_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How one number is written in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// Four-bit two's complement integer, -8..=7.
    Int4,
    /// Eight-bit two's complement integer, -128..=127.
    Int8,
    /// IEEE 754 binary16.
    Fp16,
    /// The upper half of an IEEE 754 binary32.
    Bf16,
    /// IEEE 754 binary32.
    Fp32,
}

impl Element {
    /// All of them, narrowest first.
    pub const ALL: [Self; 5] = [Self::Int4, Self::Int8, Self::Fp16, Self::Bf16, Self::Fp32];

    /// Bits of one element.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Int4 => 4,
            Self::Int8 => 8,
            Self::Fp16 | Self::Bf16 => 16,
            Self::Fp32 => 32,
        }
    }

    /// The short name, for example `int8`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp32 => "fp32",
        }
    }

    /// Writes numbers as bytes: little-endian, two `int4` to a byte, the first
    /// in the low nibble; an odd last nibble leaves zeros above it.
    ///
    /// Floats round to nearest, ties to even. Integers must be whole: scaling
    /// is the caller's decision.
    ///
    /// # Errors
    /// [`EncodeError::Value`] names the first number that the format cannot
    /// hold.
    ///
    /// # Example
    /// ```
    /// use memscape_workload::Element;
    /// assert_eq!(Element::Int4.encode(&[1.0, -1.0, 7.0])?, [0xf1, 0x07]);
    /// assert_eq!(
    ///     Element::Int4.encode(&[8.0]).unwrap_err().to_string(),
    ///     "element 0 is 8, which int4 cannot hold; allowed are whole numbers from -8 to 7",
    /// );
    /// # Ok::<(), memscape_workload::EncodeError>(())
    /// ```
    pub fn encode(self, values: &[f32]) -> Result<Vec<u8>, EncodeError> {
        let bad = |index: usize| EncodeError::Value { index, value: values[index], element: self };
        let int = |low: f32, high: f32| {
            values.iter().enumerate().map(move |(index, &it)| {
                let whole = (low..=high).contains(&it) && it.fract() == 0.0;
                #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
                if whole { Ok(it as i8) } else { Err(bad(index)) }
            })
        };
        let finite = |index: usize, it: f32| if it.is_finite() { Ok(()) } else { Err(bad(index)) };
        let mut bytes = Vec::with_capacity(self.bytes_of(values.len()));
        match self {
            Self::Int4 => {
                for (index, nibble) in int(-8.0, 7.0).enumerate() {
                    let nibble = nibble?.cast_unsigned() & 0xf;
                    match bytes.last_mut() {
                        Some(last) if index % 2 == 1 => *last |= nibble << 4,
                        _ => bytes.push(nibble),
                    }
                }
            }
            Self::Int8 => {
                for byte in int(-128.0, 127.0) {
                    bytes.push(byte?.cast_unsigned());
                }
            }
            Self::Fp16 => {
                for (index, &value) in values.iter().enumerate() {
                    let half = f16::from_f32(value);
                    finite(index, half.to_f32())?;
                    bytes.extend(half.to_le_bytes());
                }
            }
            Self::Bf16 => {
                for (index, &value) in values.iter().enumerate() {
                    let half = bf16::from_f32(value);
                    finite(index, half.to_f32())?;
                    bytes.extend(half.to_le_bytes());
                }
            }
            Self::Fp32 => {
                for (index, &value) in values.iter().enumerate() {
                    finite(index, value)?;
                    bytes.extend(value.to_le_bytes());
                }
            }
        }
        Ok(bytes)
    }

    /// Reads `count` numbers back, exactly: a binary32 holds them all.
    ///
    /// # Errors
    /// [`EncodeError::Length`] if `bytes` is not as long as `count` elements
    /// take, [`EncodeError::Value`] if a float is NaN or infinite.
    pub fn decode(self, bytes: &[u8], count: usize) -> Result<Vec<f32>, EncodeError> {
        let expected = self.bytes_of(count);
        if bytes.len() != expected {
            return Err(EncodeError::Length { element: self, count, expected, given: bytes.len() });
        }
        let values: Vec<f32> = match self {
            Self::Int4 => (0..count)
                .map(|it| {
                    let byte = bytes[it / 2];
                    // The shift down copies the sign bit of the nibble.
                    let high = if it % 2 == 0 { byte << 4 } else { byte & 0xf0 };
                    f32::from(high.cast_signed() >> 4)
                })
                .collect(),
            Self::Int8 => bytes.iter().map(|it| f32::from(it.cast_signed())).collect(),
            Self::Fp16 => bytes.as_chunks().0.iter().map(|it| f16::from_le_bytes(*it).to_f32()).collect(),
            Self::Bf16 => bytes.as_chunks().0.iter().map(|it| bf16::from_le_bytes(*it).to_f32()).collect(),
            Self::Fp32 => bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect(),
        };
        match values.iter().position(|it| !it.is_finite()) {
            Some(index) => Err(EncodeError::Value { index, value: values[index], element: self }),
            None => Ok(values),
        }
    }

    /// Bytes that `count` elements take in memory.
    const fn bytes_of(self, count: usize) -> usize {
        match self {
            Self::Int4 => count.div_ceil(2),
            Self::Int8 => count,
            Self::Fp16 | Self::Bf16 => count.saturating_mul(2),
            Self::Fp32 => count.saturating_mul(4),
        }
    }

    /// What [`Element::encode`] takes.
    const fn allowed(self) -> &'static str {
        match self {
            Self::Int4 => "whole numbers from -8 to 7",
            Self::Int8 => "whole numbers from -128 to 127",
            Self::Fp16 => "finite numbers up to 65504",
            Self::Bf16 => "finite numbers up to 3.39e38",
            Self::Fp32 => "finite numbers",
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why numbers and bytes do not translate.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A number the format cannot hold, or bytes that are no number.
    #[error("element {index} is {value}, which {element} cannot hold; allowed are {}", element.allowed())]
    Value {
        /// Which one, from 0.
        index: usize,
        /// The number as given.
        value: f32,
        /// The format asked for.
        element: Element,
    },
    /// Too few or too many bytes.
    #[error("{count} elements of {element} take {expected} bytes, but there are {given}")]
    Length {
        /// The format asked for.
        element: Element,
        /// Elements asked for.
        count: usize,
        /// Bytes these take.
        expected: usize,
        /// Bytes given.
        given: usize,
    },
}

/// A scale that a block of elements shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockScale {
    elements: u16,
    bits: u8,
    place: ScalePlace,
}

/// Where the scale of a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalePlace {
    /// Apart from its elements, wherever a layout has room for scales.
    Apart,
    /// Right before its elements, as in ggml's blocks.
    Before,
}

impl BlockScale {
    /// Elements that share one scale, 16..=256.
    #[must_use]
    pub const fn elements(self) -> u64 {
        self.elements as u64
    }

    /// Bits of the scale, 1..=32.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.bits as u64
    }

    /// Where it lies.
    #[must_use]
    pub const fn place(self) -> ScalePlace {
        self.place
    }
}

/// How numbers are stored: an element, alone or in blocks that share a scale.
///
/// Names are `ELEMENT`, or `mx-ELEMENT-bBLOCK` with an eight-bit scale, or
/// `mx-ELEMENT-bBLOCK-sBITS`: `int8`, `mx-int8-b32`, `mx-int4-b16-s16`.
/// `ELEMENT` is one of [`Element::ALL`], `BLOCK` counts 16 to 256 elements,
/// `BITS` is 1 to 32. `q4_0` and `q8_0` are ggml's blocks: as many bits as
/// `mx-int4-b32-s16` and `mx-int8-b32-s16`, but a block is its scale and then its
/// elements ([`ScalePlace::Before`]).
///
/// # Source
/// OCP Microscaling Formats (MX) Specification v1.0, 2023: blocks of 32 with an
/// eight-bit scale, elements contiguous. Differs from it: any block size and
/// scale width, and elements of [`Element`]. ggml, `block_q4_0` and `block_q8_0`:
/// an fp16 scale, then 32 elements; those of `q4_0` are written as 0 to 15, which
/// stand for -8 to 7.
///
/// # Example
/// ```
/// use memscape_workload::Format;
/// let format: Format = "mx-int8-b32".parse()?;
/// assert_eq!(format.storage_bits(64), 64 * 8 + 2 * 8);
/// assert_eq!(format.bits_per_element(), 8.25);
/// # Ok::<(), memscape_workload::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Format {
    element: Element,
    scale: Option<BlockScale>,
}

impl Format {
    /// Plain four-bit integers.
    pub const INT4: Self = Self::plain(Element::Int4);
    /// Plain eight-bit integers.
    pub const INT8: Self = Self::plain(Element::Int8);
    /// Plain half precision.
    pub const FP16: Self = Self::plain(Element::Fp16);
    /// Plain brain floats.
    pub const BF16: Self = Self::plain(Element::Bf16);
    /// Plain single precision.
    pub const FP32: Self = Self::plain(Element::Fp32);
    /// ggml's blocks of 32 four-bit integers behind an fp16 scale.
    pub const Q4_0: Self = Self::ggml(Element::Int4);
    /// ggml's blocks of 32 eight-bit integers behind an fp16 scale.
    pub const Q8_0: Self = Self::ggml(Element::Int8);

    /// Elements without a scale.
    #[must_use]
    pub const fn plain(element: Element) -> Self {
        Self { element, scale: None }
    }

    /// Blocks of `block` elements with one scale of `scale_bits` each.
    ///
    /// # Errors
    /// [`FormatError`] unless `block` is in 16..=256 and `scale_bits` in
    /// 1..=32.
    pub fn mx(element: Element, block: u64, scale_bits: u64) -> Result<Self, FormatError> {
        let elements = u16::try_from(block).ok().filter(|it| (16..=256).contains(it));
        let bits = u8::try_from(scale_bits).ok().filter(|it| (1..=32).contains(it));
        match (elements, bits) {
            (Some(elements), Some(bits)) => {
                Ok(Self { element, scale: Some(BlockScale { elements, bits, place: ScalePlace::Apart }) })
            }
            (None, _) => Err(FormatError::Block { given: block }),
            (_, None) => Err(FormatError::ScaleBits { given: scale_bits }),
        }
    }

    const fn ggml(element: Element) -> Self {
        Self { element, scale: Some(BlockScale { elements: 32, bits: 16, place: ScalePlace::Before }) }
    }

    /// The name of a format that is no combination of an element and a scale.
    const fn own_name(self) -> Option<&'static str> {
        match self {
            Self::Q4_0 => Some("q4_0"),
            Self::Q8_0 => Some("q8_0"),
            _ => None,
        }
    }

    /// How one element is written.
    #[must_use]
    pub const fn element(self) -> Element {
        self.element
    }

    /// The shared scale, if elements come in blocks.
    #[must_use]
    pub const fn scale(self) -> Option<BlockScale> {
        self.scale
    }

    /// Bits of one element, its share of the scale left out.
    #[must_use]
    pub const fn element_bits(self) -> u64 {
        self.element.bits()
    }

    /// Bits of the scales of `elements` in a row; a started block has a whole
    /// scale.
    #[must_use]
    pub const fn scale_bits(self, elements: u64) -> u64 {
        match self.scale {
            Some(scale) => elements.div_ceil(scale.elements()) * scale.bits(),
            None => 0,
        }
    }

    /// Bits of `elements` in a row, scales included: exact where
    /// [`Format::bits_per_element`] is an average.
    ///
    /// # Panics
    /// Above 2^58 elements, which no checked model has.
    #[must_use]
    pub const fn storage_bits(self, elements: u64) -> u64 {
        elements * self.element_bits() + self.scale_bits(elements)
    }

    /// [`Format::storage_bits`] in whole bytes.
    #[must_use]
    pub const fn storage_bytes(self, elements: u64) -> Bytes {
        Bytes(self.storage_bits(elements).div_ceil(8))
    }

    /// Mean bits of one element in a full block.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    pub const fn bits_per_element(self) -> f64 {
        let share = match self.scale {
            Some(scale) => scale.bits() as f64 / scale.elements() as f64,
            None => 0.0,
        };
        self.element_bits() as f64 + share
    }
}

/// Why a text or a number is not a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Not of the grammar.
    #[error(
        "`{given}` is not a data format; allowed are int4, int8, fp16, bf16, fp32, or one of them in blocks \
         with a shared scale: mx-ELEMENT-bBLOCK[-sBITS], for example mx-int8-b32, and ggml's q4_0 and q8_0"
    )]
    Name {
        /// The text as given.
        given: String,
    },
    /// A block size out of range.
    #[error("a block of {given} elements is not supported; a block format shares one scale among 16 to 256")]
    Block {
        /// The block size as given.
        given: u64,
    },
    /// A scale width out of range.
    #[error("a scale of {given} bits is not supported; a block's scale has 1 to 32 bits")]
    ScaleBits {
        /// The width as given.
        given: u64,
    },
}

/// Bits of a block's scale where the name does not say.
const DEFAULT_SCALE_BITS: u64 = 8;

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let bad = || FormatError::Name { given: text.to_owned() };
        let element = |name: &str| Element::ALL.into_iter().find(|it| it.name() == name).ok_or_else(bad);
        let Some(mx) = text.strip_prefix("mx-") else {
            let ggml = [Self::Q4_0, Self::Q8_0].into_iter().find(|it| it.own_name() == Some(text));
            return ggml.map_or_else(|| element(text).map(Self::plain), Ok);
        };
        let number = |part: Option<&str>, letter: char| {
            let digits = part?.strip_prefix(letter)?;
            // `u64::from_str` would also take a sign.
            digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?
        };
        let mut parts = mx.split('-');
        let element = element(parts.next().unwrap_or_default())?;
        let block = number(parts.next(), 'b').ok_or_else(bad)?;
        let scale_bits = match parts.next() {
            None => DEFAULT_SCALE_BITS,
            part => number(part, 's').ok_or_else(bad)?,
        };
        if parts.next().is_some() {
            return Err(bad());
        }
        Self::mx(element, block, scale_bits)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.own_name() {
            return f.write_str(name);
        }
        let Some(scale) = self.scale else { return self.element.fmt(f) };
        write!(f, "mx-{}-b{}", self.element, scale.elements)?;
        if scale.bits() == DEFAULT_SCALE_BITS { Ok(()) } else { write!(f, "-s{}", scale.bits) }
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.scale {
            None => serializer.serialize_str(self.element.name()),
            Some(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize_by(deserializer, str::parse)
    }
}

impl Format {
    /// Reads a name where not all formats are taken, so that who misspells one is told those that are.
    ///
    /// # Errors
    /// What `read` says of the name.
    pub fn deserialize_by<'de, D: Deserializer<'de>, E: fmt::Display>(
        deserializer: D,
        read: fn(&str) -> Result<Self, E>,
    ) -> Result<Self, D::Error> {
        struct Visitor<E>(fn(&str) -> Result<Format, E>);
        impl<Why: fmt::Display> de::Visitor<'_> for Visitor<Why> {
            type Value = Format;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a data format, for example \"int8\" or \"mx-int8-b32\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Format, E> {
                (self.0)(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor(read))
    }
}

impl JsonSchema for Format {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Format".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(int4|int8|fp16|bf16|fp32|q4_0|q8_0|mx-(int4|int8|fp16|bf16|fp32)-b[0-9]+(-s[0-9]+)?)$",
            "examples": ["int4", "int8", "fp16", "bf16", "fp32", "q4_0", "q8_0", "mx-int8-b32"],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_format() -> impl Strategy<Value = Format> {
        let element = prop::sample::select(Element::ALL.to_vec());
        let made = (element, prop::option::of((16..=256_u64, 1..=32_u64))).prop_map(|(element, scale)| {
            scale.map_or(Format::plain(element), |(block, bits)| Format::mx(element, block, bits).unwrap())
        });
        prop_oneof![8 => made, 1 => Just(Format::Q4_0), 1 => Just(Format::Q8_0)]
    }

    /// ggml, `block_q4_0` and `block_q8_0`: 18 and 34 bytes for 32 weights.
    #[test]
    fn published_sizes_of_ggmls_blocks() {
        for (name, bytes, twin) in [("q4_0", 18, "mx-int4-b32-s16"), ("q8_0", 34, "mx-int8-b32-s16")] {
            let (format, twin): (Format, Format) = (name.parse().unwrap(), twin.parse().unwrap());
            assert_eq!(format.to_string(), name);
            assert_eq!(format.storage_bytes(32), Bytes(bytes));
            assert_ne!(format, twin, "the layout differs");
            for elements in [1, 31, 32, 33, 4096] {
                assert_eq!(format.storage_bits(elements), twin.storage_bits(elements));
            }
            assert_eq!(format.bits_per_element().to_bits(), twin.bits_per_element().to_bits());
            let places = [format, twin].map(|it| it.scale().unwrap().place());
            assert_eq!(places, [ScalePlace::Before, ScalePlace::Apart]);
        }
    }

    #[test]
    fn a_bad_name_lists_what_is_allowed() {
        let text = |it: &str| it.parse::<Format>().unwrap_err().to_string();
        assert!(text("int3").starts_with("`int3` is not a data format; allowed are int4, int8,"));
        assert!(text("mx-int8-b8").starts_with("a block of 8 elements is not supported"));
        assert!(text("mx-int8-b32-s64").starts_with("a scale of 64 bits is not supported"));
        for bad in [
            "",
            "INT8",
            "mx-",
            "mx-int8",
            "mx-int8-b",
            "mx-int8-b+32",
            "mx-int8-b32-",
            "mx-int8-b32-s8-s8",
            "q4_1",
            "mx-q4_0",
        ] {
            assert!(matches!(bad.parse::<Format>(), Err(FormatError::Name { .. })), "{bad}");
        }
        let error = serde_json::from_str::<Format>("8").unwrap_err().to_string();
        assert!(error.contains("expected the name of a data format"), "{error}");
    }

    #[test]
    fn a_started_block_pays_a_whole_scale() {
        let format: Format = "mx-int4-b32".parse().unwrap();
        assert_eq!([1, 32, 33].map(|it| format.storage_bits(it)), [12, 136, 148]);
        assert_eq!(format.storage_bytes(1), Bytes(2));
        assert_eq!(Format::INT4.storage_bytes(3), Bytes(2));
    }

    #[test]
    fn int4_is_packed_low_nibble_first() {
        assert_eq!(Element::Int4.encode(&[1.0, 2.0, -8.0]).unwrap(), [0x21, 0x08]);
        assert_eq!(Element::Int4.decode(&[0x21, 0x08], 3).unwrap(), [1.0, 2.0, -8.0]);
    }

    #[test]
    fn what_a_format_cannot_hold_is_an_error() {
        for (element, bad) in [
            (Element::Int8, 0.5),
            (Element::Int8, 128.0),
            (Element::Int8, f32::NAN),
            (Element::Fp16, 65520.0),
            (Element::Bf16, f32::MAX),
            (Element::Fp32, f32::INFINITY),
        ] {
            let error = element.encode(&[0.0, bad]).unwrap_err();
            assert!(matches!(error, EncodeError::Value { index: 1, .. }), "{error}");
        }
        let error = Element::Fp16.decode(&[0; 3], 2).unwrap_err().to_string();
        assert_eq!(error, "2 elements of fp16 take 4 bytes, but there are 3");
        assert!(Element::Fp16.decode(&f16::NAN.to_le_bytes(), 1).is_err());
    }

    proptest! {
        #[test]
        fn names_round_trip(format in any_format()) {
            prop_assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            let json = serde_json::to_string(&format).unwrap();
            prop_assert_eq!(serde_json::from_str::<Format>(&json).unwrap(), format);
        }

        #[test]
        fn names_of_any_text_never_panic(text in "(mx-)?[a-z0-9-]{0,24}") {
            if let Ok(format) = text.parse::<Format>() {
                prop_assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
            }
        }

        /// Exact bits are the mean ones rounded up to whole scales.
        #[test]
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        fn storage_bits_are_within_a_scale_of_the_mean(format in any_format(), elements in 0..100_000_u64) {
            let excess = format.storage_bits(elements) as f64 - elements as f64 * format.bits_per_element();
            prop_assert!((-1e-6..32.0).contains(&excess), "{}", excess);
        }

        #[test]
        fn every_finite_bit_pattern_round_trips(element in prop::sample::select(Element::ALL.to_vec()),
                                                bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let count = bytes.len() * 8 / usize::try_from(element.bits()).unwrap();
            let bytes = &bytes[..element.bytes_of(count)];
            // NaN and infinity are refused; every other number has one pattern.
            if let Ok(values) = element.decode(bytes, count) {
                prop_assert_eq!(element.encode(&values).unwrap(), bytes);
            }
        }

        #[test]
        fn halves_round_to_within_half_a_unit(value in -60_000.0_f32..60_000.0) {
            for (element, precision) in [(Element::Fp16, 11), (Element::Bf16, 8)] {
                let back = element.decode(&element.encode(&[value]).unwrap(), 1).unwrap()[0];
                // Below fp16's normal range the unit no longer shrinks.
                let unit = value.abs().max(6.2e-5) * 2.0_f32.powi(1 - precision);
                prop_assert!((back - value).abs() <= unit / 2.0, "{} {}", value, back);
            }
        }
    }
}
