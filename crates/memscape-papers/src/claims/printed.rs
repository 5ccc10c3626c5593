//! Numbers as they are printed.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number with the digits that it is printed with, which tell how well it is known:
/// `1.0` is anything from 0.95 to 1.05, and `1` from 0.5 to 1.5.
///
/// ```
/// use memscape_papers::claims::Printed;
/// let printed: Printed = "1.0".parse()?;
/// assert_eq!((printed.number(), printed.rounding(), printed.as_str()), (1.0, 0.05, "1.0"));
/// assert!("about 15".parse::<Printed>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    text: String,
    number: f64,
}

impl Printed {
    /// The number.
    #[must_use]
    pub const fn number(&self) -> f64 {
        self.number
    }

    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How far it may be from what it rounds: half a unit of its last digit.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        let decimals = self.text.split_once('.').map_or(0, |(_, it)| it.len());
        0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0))
    }
}

impl std::str::FromStr for Printed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |it: char| it.is_ascii_digit() || it == '.' || it == '-';
        match text.parse() {
            Ok(number) if text.chars().all(plain) => Ok(Self { text: text.to_owned(), number }),
            _ => Err(format!("`{text}` is no printed number; give its digits, such as \"1.0\"")),
        }
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Printed;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the printed digits as text, such as \"1.0\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Printed, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Digits)
    }
}
