//! The types of ggml's tensors, as sizes.

use std::fmt;
use std::str::FromStr;

use memscape_study::Unknown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::Format;

/// A type per line: the number in files, the name, the elements of a block and its bytes.
macro_rules! types {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $name:tt, $elements:literal, $bytes:literal;)*) => {
        /// How ggml stores a tensor's numbers, as far as their size goes: in blocks of so many
        /// elements and bytes.
        ///
        /// # Source
        /// ggml, `enum ggml_type` and the blocks of `ggml-common.h`. Types that ggml has given
        /// up (numbers 4, 5, 31 to 33 and 36 to 38) are none.
        ///
        /// # Example
        /// ```
        /// use memscape_workload::GgmlType;
        /// let mixed: GgmlType = "q4_k".parse()?;
        /// assert_eq!((mixed.block_elements(), mixed.block_bytes()), (256, 144));
        /// assert_eq!(mixed.bits_per_element(), 4.5);
        /// # Ok::<(), memscape_study::Unknown>(())
        /// ```
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum GgmlType {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl GgmlType {
            /// All of them, by their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The type of a number in a file, if ggml has it.
            #[must_use]
            pub const fn from_id(id: u32) -> Option<Self> {
                match id {
                    $($id => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The number in files.
            #[must_use]
            pub const fn id(self) -> u32 {
                match self { $(Self::$variant => $id,)* }
            }

            /// ggml's name, for example `q4_k`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            const fn block(self) -> (u64, u64) {
                match self { $(Self::$variant => ($elements, $bytes),)* }
            }
        }
    };
}

types! {
    /// IEEE 754 binary32.
    F32 = 0, "f32", 1, 4;
    /// IEEE 754 binary16.
    F16 = 1, "f16", 1, 2;
    /// Four bits and a scale.
    Q4_0 = 2, "q4_0", 32, 18;
    /// Four bits, a scale and a minimum.
    Q4_1 = 3, "q4_1", 32, 20;
    /// Five bits and a scale.
    Q5_0 = 6, "q5_0", 32, 22;
    /// Five bits, a scale and a minimum.
    Q5_1 = 7, "q5_1", 32, 24;
    /// Eight bits and a scale.
    Q8_0 = 8, "q8_0", 32, 34;
    /// Eight bits, a scale and a sum; of activations.
    Q8_1 = 9, "q8_1", 32, 40;
    /// Two bits, sixteen sub-blocks.
    Q2K = 10, "q2_k", 256, 84;
    /// Three bits, sixteen sub-blocks.
    Q3K = 11, "q3_k", 256, 110;
    /// Four bits, eight sub-blocks.
    Q4K = 12, "q4_k", 256, 144;
    /// Five bits, eight sub-blocks.
    Q5K = 13, "q5_k", 256, 176;
    /// Six bits, sixteen sub-blocks.
    Q6K = 14, "q6_k", 256, 210;
    /// Eight bits and sums; of activations.
    Q8K = 15, "q8_k", 256, 292;
    /// Two bits, by a table.
    Iq2Xxs = 16, "iq2_xxs", 256, 66;
    /// Two bits, by a table.
    Iq2Xs = 17, "iq2_xs", 256, 74;
    /// Three bits, by a table.
    Iq3Xxs = 18, "iq3_xxs", 256, 98;
    /// One and a half bits, by a table.
    Iq1S = 19, "iq1_s", 256, 50;
    /// Four bits on a curve.
    Iq4Nl = 20, "iq4_nl", 32, 18;
    /// Three bits, by a table.
    Iq3S = 21, "iq3_s", 256, 110;
    /// Two bits, by a table.
    Iq2S = 22, "iq2_s", 256, 82;
    /// Four bits on a curve, eight sub-blocks.
    Iq4Xs = 23, "iq4_xs", 256, 136;
    /// An integer of 8 bits.
    I8 = 24, "i8", 1, 1;
    /// An integer of 16 bits.
    I16 = 25, "i16", 1, 2;
    /// An integer of 32 bits.
    I32 = 26, "i32", 1, 4;
    /// An integer of 64 bits.
    I64 = 27, "i64", 1, 8;
    /// IEEE 754 binary64.
    F64 = 28, "f64", 1, 8;
    /// One and three quarters bits, by a table.
    Iq1M = 29, "iq1_m", 256, 56;
    /// The upper half of a binary32.
    Bf16 = 30, "bf16", 1, 2;
    /// Three values, five to a byte.
    Tq1_0 = 34, "tq1_0", 256, 54;
    /// Three values, four to a byte.
    Tq2_0 = 35, "tq2_0", 256, 66;
    /// Microscaling: four-bit floats and a power of two.
    Mxfp4 = 39, "mxfp4", 32, 17;
    /// Four-bit floats, four sub-blocks.
    Nvfp4 = 40, "nvfp4", 64, 36;
    /// One bit and a scale.
    Q1_0 = 41, "q1_0", 128, 18;
}

impl GgmlType {
    /// Elements of one block; a row of a tensor is whole blocks.
    #[must_use]
    pub const fn block_elements(self) -> u64 {
        self.block().0
    }

    /// Bytes of one block.
    #[must_use]
    pub const fn block_bytes(self) -> u64 {
        self.block().1
    }

    /// Mean bits of one element, scales included.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    pub const fn bits_per_element(self) -> f64 {
        let (elements, bytes) = self.block();
        bytes as f64 * 8.0 / elements as f64
    }

    /// Bits of `elements` in a row; a started block counts whole.
    ///
    /// # Panics
    /// Above 2^56 elements, which no checked shape has.
    #[must_use]
    pub const fn storage_bits(self, elements: u64) -> u64 {
        let (block, bytes) = self.block();
        elements.div_ceil(block) * bytes * 8
    }

    /// What llama.cpp quantises a matrix to whose rows are no whole blocks of this type, if it
    /// has something for it; what that does not divide either stays in half precision.
    ///
    /// # Source
    /// llama.cpp, `llama_tensor_get_type` in `llama-quant.cpp`.
    #[must_use]
    pub const fn fallback(self) -> Option<Self> {
        match self {
            Self::Q4K => Some(Self::Q5_0),
            Self::Q5K => Some(Self::Q5_1),
            Self::Q6K => Some(Self::Q8_0),
            Self::Tq1_0 | Self::Tq2_0 => Some(Self::Q4_0),
            Self::Q2K
            | Self::Q3K
            | Self::Iq1S
            | Self::Iq1M
            | Self::Iq2Xxs
            | Self::Iq2Xs
            | Self::Iq2S
            | Self::Iq3Xxs
            | Self::Iq3S
            | Self::Iq4Xs => Some(Self::Iq4Nl),
            _ => None,
        }
    }

    /// The format in which systems can compute with it, if it is one of theirs.
    #[must_use]
    pub const fn format(self) -> Option<Format> {
        match self {
            Self::F32 => Some(Format::FP32),
            Self::F16 => Some(Format::FP16),
            Self::Bf16 => Some(Format::BF16),
            Self::Q4_0 => Some(Format::Q4_0),
            Self::Q8_0 => Some(Format::Q8_0),
            _ => None,
        }
    }
}

impl FromStr for GgmlType {
    type Err = Unknown;

    fn from_str(name: &str) -> Result<Self, Unknown> {
        Unknown::find("ggml type", name, Self::ALL.iter().copied(), Self::name)
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_told_apart() {
        for (index, it) in GgmlType::ALL.iter().enumerate() {
            assert_eq!(GgmlType::from_id(it.id()), Some(*it));
            assert_eq!(it.name().parse(), Ok(*it));
            assert_eq!(serde_json::to_string(it).unwrap(), format!("\"{it}\""));
            assert!(GgmlType::ALL[..index].iter().all(|other| other.id() < it.id()));
        }
        assert_eq!([4, 5, 31, 32, 33, 36, 37, 38, 42].map(GgmlType::from_id), [None; 9]);
        let error = "q4_m".parse::<GgmlType>().unwrap_err().to_string();
        assert!(error.starts_with("there is no ggml type `q4_m`; did you mean `q4_"), "{error}");
    }

    #[test]
    fn every_type_of_256_weights_falls_back_to_one_of_32() {
        for it in GgmlType::ALL.iter().filter(|it| it.block_elements() == 256 && **it != GgmlType::Q8K) {
            assert_eq!(it.fallback().map(GgmlType::block_elements), Some(32), "{it}");
        }
    }

    #[test]
    fn what_systems_compute_with_is_as_large() {
        for (it, format) in GgmlType::ALL.iter().filter_map(|it| Some((it, it.format()?))) {
            assert_eq!(it.storage_bits(4096), format.storage_bits(4096), "{it}");
            assert_eq!(it.bits_per_element().to_bits(), format.bits_per_element().to_bits());
        }
    }
}
