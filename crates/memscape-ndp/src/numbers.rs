//! Numbers with a range of their own, checked where they come in.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number that is refused with a text outside its range.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $check:expr, $what:literal, $($schema:tt)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "f64", into = "f64")]
        #[schemars(extend($($schema)*))]
        pub struct $name(f64);

        impl $name {
            /// Checks it.
            ///
            /// # Errors
            /// A text that says what is allowed.
            pub fn new(value: f64) -> Result<Self, String> {
                let check: fn(f64) -> bool = $check;
                if check(value) { Ok(Self(value)) } else { Err(format!("{value} {}", $what)) }
            }

            /// The bare number.
            #[must_use]
            pub const fn as_f64(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = String;
            fn try_from(value: f64) -> Result<Self, String> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(it: $name) -> Self {
                it.0
            }
        }
    };
}

number!(
    /// A share, from 0 to 1.
    Share, |it| (0.0..=1.0).contains(&it), "is no share; it must be from 0 to 1", "minimum" = 0, "maximum" = 1
);
number!(
    /// The share of neurons that are active: of none and of all of them there is no law.
    Density, |it| it > 0.0 && it < 1.0, "is no share of active neurons; it must be above 0 and below 1",
    "exclusiveMinimum" = 0, "exclusiveMaximum" = 1
);
number!(
    /// The share of a peak that is reached: above 0, at most 1.
    Efficiency, |it| it > 0.0 && it <= 1.0, "is no efficiency; it must be above 0 and at most 1",
    "exclusiveMinimum" = 0, "maximum" = 1
);
number!(
    /// A number of neurons that need not be whole: finite and never negative.
    MeanNeurons, |it| it.is_finite() && it >= 0.0,
    "is no number of neurons; it must be finite and at least 0", "minimum" = 0
);
number!(
    /// A power that a source rates: of 0 W it would say that nothing is taken.
    RatedWatts, |it| it > 0.0 && it <= 1e9, "W is no rated power; it must be above 0 and at most 1e9",
    "exclusiveMinimum" = 0, "maximum" = 1e9
);

/// A count that a default names.
pub(crate) const fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("not zero")
}
