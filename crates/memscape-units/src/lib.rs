//! Checked physical quantities.
//!
//! A quantity is a type, and its value is checked once, at the constructor,
//! also when it is read from a file. What follows from others is not checked again: a
//! sum or quotient beyond all numbers is infinite, which is no answer of any study. Clocks that order events are integers
//! ([`Picoseconds`]); floats appear only at the edges.
//!
//! ```
//! use memscape_units::{GbPerS, Nanoseconds, Picoseconds};
//!
//! assert!(Nanoseconds::new(f64::NAN).is_err());
//! assert_eq!(Nanoseconds::new(1.25)?.to_picoseconds(), Picoseconds(1_250));
//! assert_eq!(GbPerS::new(15.0)?.time_of(memscape_units::Bytes(30)).as_f64(), 2.0);
//! # Ok::<(), memscape_units::UnitError>(())
//! ```

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a bare number is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// The value is NaN, infinite or below what the quantity allows.
    #[error("{value} {unit} is not a {quantity}; it must be finite and {allowed}")]
    OutOfRange {
        /// The value as given.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// What it was to be.
        quantity: &'static str,
        /// The condition it violates.
        allowed: &'static str,
    },
}

/// A count among real numbers.
#[inline]
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53, or need not be exact")]
pub const fn float(count: u64) -> f64 {
    count as f64
}

/// Defines a float quantity: a newtype with a checked constructor.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal, $quantity:literal, $allowed:literal, $least:literal..=$most:literal, $check:expr) => {
        $(#[$doc])*
        ///
        #[doc = concat!("As a parameter, from ", $least, " to ", $most, " ", $unit, ".")]
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "f64", into = "f64")]
        #[schemars(extend("minimum" = $least, "maximum" = $most))]
        pub struct $name(f64);

        impl $name {
            /// Checks `value`.
            ///
            /// # Errors
            #[doc = concat!("[`UnitError`] unless `value` is finite and ", $allowed, ".")]
            pub fn new(value: f64) -> Result<Self, UnitError> {
                let check: fn(f64) -> bool = $check;
                if value.is_finite() && check(value) {
                    Ok(Self(value))
                } else {
                    Err(UnitError::OutOfRange {
                        value,
                        unit: $unit,
                        quantity: $quantity,
                        allowed: $allowed,
                    })
                }
            }

            #[doc = concat!("The bare number, in ", $unit, ".")]
            #[must_use]
            pub const fn as_f64(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = UnitError;
            fn try_from(value: f64) -> Result<Self, UnitError> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(it: $name) -> f64 {
                it.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", self.0, $unit)
            }
        }
    };
}

quantity!(
    /// A time span, finite and never negative.
    Nanoseconds, "ns", "time", "at least 0", 0.0..=1e12, |it| it >= 0.0
);
quantity!(
    /// A data rate of 10^9 bytes per second, finite and positive.
    GbPerS, "GB/s", "bandwidth", "above 0", 1e-6..=1e9, |it| it > 0.0
);
quantity!(
    /// A data rate of 10^6 transfers per second, finite and positive.
    MtPerS, "MT/s", "data rate", "above 0", 1.0..=1e6, |it| it > 0.0
);
quantity!(
    /// A clock of 10^6 per second, finite and positive.
    Megahertz, "MHz", "frequency", "above 0", 1e-3..=1e7, |it| it > 0.0
);
quantity!(
    /// A compute rate of 10^12 operations per second, from one operation per
    /// microsecond to a billion TOPS. One multiply-accumulate is two operations.
    Tops, "TOPS", "compute rate", "from 1e-6 to 1e9", 1e-6..=1e9, |it| (1e-6..=1e9).contains(&it)
);

quantity!(
    /// A number of clock cycles, finite and never negative; not always whole, as
    /// averages are not.
    Cycles, "cycles", "cycle count", "at least 0", 0.0..=1e12, |it| it >= 0.0
);

quantity!(
    /// A number of bytes that need not be whole, as a threshold or an average.
    MeanBytes, "B", "number of bytes", "above 0", 1e-3..=1e15, |it| it > 0.0
);

impl Nanoseconds {
    /// No time at all.
    pub const ZERO: Self = Self(0.0);

    /// The nearest whole picosecond. Spans of over half a year saturate.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked at the constructor; `as` saturates; what is cut off beyond 2^53 is nothing"
    )]
    pub fn to_picoseconds(self) -> Picoseconds {
        // As `f64::round` does, which calls a function on processors that may be old.
        let picoseconds = self.0 * 1e3;
        let whole = picoseconds as u64;
        Picoseconds(whole.saturating_add(u64::from(picoseconds - whole as f64 >= 0.5)))
    }
}

impl Add for Nanoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// So many times. A product beyond all numbers is the largest, of nothing and
/// infinity nothing.
impl Mul<f64> for Nanoseconds {
    type Output = Self;
    #[inline]
    fn mul(self, count: f64) -> Self {
        Self(scaled(self.0, count))
    }
}

/// An equal share of it.
///
/// # Panics
/// If `parts` is not above 0.
impl Div<f64> for Nanoseconds {
    type Output = Self;
    #[inline]
    fn div(self, parts: f64) -> Self {
        assert!(parts > 0.0, "{self} cannot be divided into {parts} parts");
        Self((self.0 / parts).min(f64::MAX))
    }
}

impl Cycles {
    /// None at all.
    pub const ZERO: Self = Self(0.0);

    /// The larger number.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// `self - less`, or zero where `less` is more.
    #[must_use]
    pub const fn saturating_sub(self, less: Self) -> Self {
        Self((self.0 - less.0).max(0.0))
    }
}

impl Add for Cycles {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// So many times, as [`Nanoseconds`].
impl Mul<f64> for Cycles {
    type Output = Self;
    fn mul(self, count: f64) -> Self {
        Self(scaled(self.0, count))
    }
}

/// `value * count`, finite.
///
/// # Panics
/// If `count` is negative or NaN.
#[inline]
fn scaled(value: f64, count: f64) -> f64 {
    assert!(count >= 0.0, "a quantity cannot be taken {count} times");
    let product = value * count;
    if product.is_nan() { 0.0 } else { product.min(f64::MAX) }
}

impl GbPerS {
    /// The time to move `bytes` at this rate.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "2^53 bytes are 9 petabytes")]
    pub fn time_of(self, bytes: Bytes) -> Nanoseconds {
        Nanoseconds(bytes.0 as f64 / self.0)
    }
}

impl MtPerS {
    /// The time of so many transfers, one after the other.
    #[must_use]
    pub fn time_of(self, transfers: u32) -> Nanoseconds {
        Nanoseconds((f64::from(transfers) * (1e3 / self.0)).min(f64::MAX))
    }
}

impl Megahertz {
    /// The time of so many cycles.
    #[must_use]
    pub fn time_of(self, cycles: Cycles) -> Nanoseconds {
        self.period() * cycles.0
    }

    /// One clock period.
    #[must_use]
    pub fn period(self) -> Nanoseconds {
        Nanoseconds(1e3 / self.0)
    }
}

impl Tops {
    /// The time of `operations`, a number that is not negative, at this rate.
    #[must_use]
    pub fn time_of(self, operations: f64) -> Nanoseconds {
        Nanoseconds(operations / self.0 * 1e-3)
    }
}

/// A point or span on an event clock: whole picoseconds, so that order never
/// depends on rounding. Sums and products that the clock cannot count, 213 days, stay at
/// its end, which as a number is infinite and so no answer.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Picoseconds(pub u64);

impl Picoseconds {
    /// No time at all, and the start of every clock.
    pub const ZERO: Self = Self(0);

    /// For arrays, tables and printing; infinite at the end of the clock.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "2^53 ps are 2.5 hours of simulated time")]
    pub fn as_ns(self) -> f64 {
        if self.0 == u64::MAX { f64::INFINITY } else { self.0 as f64 * 1e-3 }
    }

    /// In seconds; at the end of the clock, unlike [`as_ns`](Self::as_ns), as many as it counts.
    #[must_use]
    pub const fn as_seconds(self) -> f64 {
        float(self.0) * 1e-12
    }

    /// `self - earlier`, or zero where `earlier` is the later one.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Picoseconds> for Nanoseconds {
    fn from(span: Picoseconds) -> Self {
        Self::saturating(span.as_ns())
    }
}

impl Add for Picoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Picoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// # Panics
/// If the right side is later than the left.
impl Sub for Picoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Picoseconds {
    type Output = Self;
    fn mul(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Sum for Picoseconds {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps", self.0)
    }
}

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// What 64 bits cannot count stays at their end, which is more than any memory has.
impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self(0), Add::add)
    }
}

/// Binary prefixes, to three decimals at most: `256 KiB`, `1.5 GiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIXES: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match PREFIXES.iter().find(|(size, _)| self.0 >= *size) {
            #[expect(clippy::cast_precision_loss, reason = "printed to three decimals")]
            Some((size, prefix)) => {
                let number = format!("{:.3}", self.0 as f64 / *size as f64);
                write!(f, "{} {prefix}", number.trim_end_matches('0').trim_end_matches('.'))
            }
            None => write!(f, "{} B", self.0),
        }
    }
}

quantity!(
    /// A time span as software people state it, finite and never negative.
    Microseconds, "us", "time", "at least 0", 0.0..=1e9, |it| it >= 0.0
);
quantity!(
    /// A memory's size in 10^9 bytes, finite and never negative.
    Gigabytes, "GB", "capacity", "at least 0", 0.0..=1e9, |it| it >= 0.0
);
quantity!(
    /// A clock of 10^9 cycles per second, finite and positive.
    Gigahertz, "GHz", "frequency", "above 0", 1e-6..=1e4, |it| it > 0.0
);
quantity!(
    /// A power, finite and never negative.
    Watts, "W", "power", "at least 0", 0.0..=1e9, |it| it >= 0.0
);
quantity!(
    /// A price in US dollars, finite and never negative.
    Usd, "USD", "price", "at least 0", 0.0..=1e12, |it| it >= 0.0
);

impl From<Microseconds> for Nanoseconds {
    fn from(it: Microseconds) -> Self {
        Self(it.0 * 1e3)
    }
}

impl Nanoseconds {
    /// A time that follows from others: what rounding makes negative, and what is
    /// no number, is none; what is infinite is the longest there is.
    #[must_use]
    pub const fn saturating(value: f64) -> Self {
        Self(value.max(0.0).min(f64::MAX))
    }

    /// The later, or longer, of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The earlier, or shorter, of the two.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// No time where the right side is the longer one.
impl Sub for Nanoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::saturating(self.0 - other.0)
    }
}

/// How many times as long.
impl Div for Nanoseconds {
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 / other.0
    }
}

impl Sum for Nanoseconds {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_value_is_refused_with_its_unit() {
        let error = GbPerS::new(0.0).unwrap_err();
        assert_eq!(error.to_string(), "0 GB/s is not a bandwidth; it must be finite and above 0");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            assert!(Nanoseconds::new(bad).is_err() && GbPerS::new(bad).is_err());
            assert!(Megahertz::new(bad).is_err() && Tops::new(bad).is_err());
        }
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    fn picoseconds_are_rounded_as_floats_are() {
        let halves = [0.0, 0.499_999_999_999_999_94, 0.5, 1.5, 2.5, 1e6 + 0.5, 4_503_599_627_370_495.5];
        for picoseconds in halves.into_iter().chain([9.007_199_254_740_993e15, 1.8e19, 2e19, 1e30, 1e300]) {
            let it = Nanoseconds::new(picoseconds / 1e3).unwrap();
            assert_eq!(it.to_picoseconds().0, (it.as_f64() * 1e3).round() as u64, "{picoseconds}");
        }
    }

    #[test]
    fn picoseconds_are_exact_and_refuse_to_go_negative() {
        assert_eq!(Nanoseconds::new(0.1).unwrap().to_picoseconds() * 10, Picoseconds(1_000));
        assert_eq!(Picoseconds(3).saturating_sub(Picoseconds(5)), Picoseconds::ZERO);
        assert!(std::panic::catch_unwind(|| Picoseconds(3) - Picoseconds(5)).is_err());
    }

    #[test]
    fn a_clock_stays_at_its_end() {
        let end = Picoseconds(u64::MAX);
        assert_eq!((end + Picoseconds(1), Picoseconds(u64::MAX / 2) * 3), (end, end));
        assert_eq!([Picoseconds(u64::MAX - 1), Picoseconds(9)].into_iter().sum::<Picoseconds>(), end);
        assert!(end.as_ns().is_infinite() && Picoseconds(u64::MAX - 1).as_ns().is_finite());
    }

    #[test]
    fn scaled_quantities_stay_quantities() {
        let (time, cycles) = (Nanoseconds(3.0), Cycles(6.0));
        assert_eq!((time * 2.0, time / 2.0), (Nanoseconds(6.0), Nanoseconds(1.5)));
        assert_eq!((cycles + cycles * 0.5, cycles.max(Cycles(7.0))), (Cycles(9.0), Cycles(7.0)));
        assert_eq!(
            (cycles.saturating_sub(Cycles(2.0)), Cycles(2.0).saturating_sub(cycles)),
            (Cycles(4.0), Cycles::ZERO)
        );
        assert_eq!(Megahertz(500.0).time_of(cycles), Nanoseconds(12.0));
        assert_eq!(MtPerS(8000.0).time_of(16), Nanoseconds(2.0));
        assert!(MtPerS(f64::MIN_POSITIVE).time_of(u32::MAX).0.is_finite());
        assert_eq!(Nanoseconds::from(Picoseconds(1_500)), Nanoseconds(1.5));
        assert_eq!(time * f64::MAX, Nanoseconds(f64::MAX));
        assert_eq!(Nanoseconds::ZERO * f64::INFINITY, Nanoseconds::ZERO);
        assert!(std::panic::catch_unwind(|| Nanoseconds(1.0) * -1.0).is_err());
        assert!(std::panic::catch_unwind(|| Nanoseconds(1.0) / 0.0).is_err());
    }

    #[test]
    fn bytes_print_in_binary_prefixes() {
        let printed = [0, 1023, 1024, 1536, 256 << 10, 3 << 30].map(|it| Bytes(it).to_string());
        assert_eq!(printed, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "256 KiB", "3 GiB"]);
    }

    #[test]
    fn nanoseconds_stay_times_whatever_they_are_made_of() {
        let [short, long] = [1.5, 4.0].map(|it| Nanoseconds::new(it).unwrap());
        assert_eq!((short - long, long - short), (Nanoseconds::ZERO, Nanoseconds::new(2.5).unwrap()));
        assert_eq!((long / short * 1.5).to_bits(), 4.0_f64.to_bits());
        assert_eq!([short, long].into_iter().sum::<Nanoseconds>().max(long), Nanoseconds(5.5));
        assert_eq!(Nanoseconds::saturating(f64::NAN), Nanoseconds::ZERO);
        assert!(Nanoseconds::saturating(f64::INFINITY).as_f64().is_finite());
        assert_eq!(Nanoseconds::from(Microseconds::new(15.51).unwrap()), Nanoseconds(15_510.0));
    }
}
