//! The types that matrix instructions take.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Types of the inputs and of the output, as the paper names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 8-bit integers in, 8-bit out
    #[serde(rename = "int8-int8")]
    Int8Int8,
    /// 8-bit integers in, 16-bit out
    #[serde(rename = "int8-int16")]
    Int8Int16,
    /// 8-bit integers in, 32-bit sums out
    #[serde(rename = "int8-int32")]
    Int8Int32,
    /// bf16 in and out
    #[serde(rename = "bf16-bf16")]
    Bf16Bf16,
}

impl Precision {
    /// All of them, in the paper's order.
    pub const ALL: [Self; 4] = [Self::Int8Int8, Self::Int8Int16, Self::Int8Int32, Self::Bf16Bf16];

    /// The name, for example `int8-int16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8Int8 => "int8-int8",
            Self::Int8Int16 => "int8-int16",
            Self::Int8Int32 => "int8-int32",
            Self::Bf16Bf16 => "bf16-bf16",
        }
    }

    /// The device's matrix instruction that multiplies it: a parameter of `device`.
    #[must_use]
    pub const fn instruction(self) -> &'static str {
        match self {
            Self::Int8Int8 | Self::Int8Int16 | Self::Int8Int32 => "int8",
            Self::Bf16Bf16 => "bf16",
        }
    }

    /// Bytes of one element of A or B.
    #[must_use]
    pub const fn input_bytes(self) -> u32 {
        match self {
            Self::Int8Int8 | Self::Int8Int16 | Self::Int8Int32 => 1,
            Self::Bf16Bf16 => 2,
        }
    }

    /// Bytes of one element of C.
    #[must_use]
    pub const fn output_bytes(self) -> u32 {
        match self {
            Self::Int8Int8 => 1,
            Self::Int8Int16 | Self::Bf16Bf16 => 2,
            Self::Int8Int32 => 4,
        }
    }

    /// Whether sums are rounded to a narrower type on their way out.
    #[must_use]
    pub const fn rounds(self) -> bool {
        !matches!(self, Self::Int8Int32)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A precision that a device has no matrix instruction for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the device has no matrix instruction for `{asked}`; it has {}", available(*.int8, *.bf16))]
pub struct NoInstruction {
    /// The precision asked for.
    pub asked: Precision,
    /// Whether it has one for 8-bit integers.
    pub int8: bool,
    /// Whether it has one for bf16.
    pub bf16: bool,
}

const fn available(int8: bool, bf16: bool) -> &'static str {
    match (int8, bf16) {
        (true, true) => "int8 and bf16",
        (true, false) => "int8",
        (false, true) => "bf16",
        (false, false) => "none; set `device.int8` or `device.bf16`",
    }
}
