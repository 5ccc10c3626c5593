//! Where a time goes: named parts that sum to the whole.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Index, IndexMut, Mul};

use memscape_units::Picoseconds;

/// A cause of time, an enum without content; see [`parts!`](crate::parts).
pub trait Part: Copy + Eq + fmt::Debug + 'static {
    /// All of them, in the order in which they are declared.
    const ALL: &'static [Self];

    /// What a column of it is called, without the unit: `row_open`.
    fn name(self) -> &'static str;

    /// Its place in [`Part::ALL`].
    fn index(self) -> usize;
}

/// More parts than this do not read well.
pub const MOST_PARTS: usize = 16;

/// Time by cause, in whole picoseconds, so that the parts are exactly the whole.
///
/// ```
/// use memscape_study::{Breakdown, parts};
/// use memscape_units::Picoseconds;
///
/// parts! {
///     /// What a read waits for.
///     pub enum ReadPart {
///         /// Opening the row
///         Row = "row_open",
///         /// The data on the bus
///         Burst = "burst",
///     }
/// }
///
/// let mut read = Breakdown::default();
/// read[ReadPart::Row] += Picoseconds(18_000);
/// read[ReadPart::Burst] += Picoseconds(2_000);
/// assert_eq!(read.total(), Picoseconds(20_000));
/// assert_eq!(read.largest(), ReadPart::Row);
/// assert_eq!((read * 3).total(), Picoseconds(60_000));
/// ```
pub struct Breakdown<P> {
    times: [Picoseconds; MOST_PARTS],
    part: PhantomData<P>,
}

impl<P: Part> Breakdown<P> {
    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Picoseconds {
        self.times.iter().copied().sum()
    }

    /// Each part with its time.
    pub fn iter(&self) -> impl Iterator<Item = (P, Picoseconds)> + '_ {
        P::ALL.iter().map(|it| (*it, self[*it]))
    }

    /// The part that takes most; the first of equal ones.
    #[must_use]
    pub fn largest(&self) -> P {
        let later = |best: P, it: P| if self[it] > self[best] { it } else { best };
        P::ALL.iter().copied().reduce(later).unwrap_or_else(|| P::ALL[0])
    }

    /// A part in nanoseconds, as columns have it.
    #[must_use]
    pub fn ns(&self, part: P) -> f64 {
        self[part].as_ns()
    }
}

impl<P> Default for Breakdown<P> {
    fn default() -> Self {
        Self { times: [Picoseconds::ZERO; MOST_PARTS], part: PhantomData }
    }
}

impl<P> Clone for Breakdown<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Breakdown<P> {}

impl<P> PartialEq for Breakdown<P> {
    fn eq(&self, other: &Self) -> bool {
        self.times == other.times
    }
}

impl<P> Eq for Breakdown<P> {}

impl<P: Part> fmt::Debug for Breakdown<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(part, time)| (part.name(), time))).finish()
    }
}

/// One part a line, then the whole.
impl<P: Part> fmt::Display for Breakdown<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (part, time) in self.iter() {
            writeln!(f, "{:20} {:>16.3} ns", part.name(), time.as_ns())?;
        }
        write!(f, "{:20} {:>16.3} ns", "total", self.total().as_ns())
    }
}

impl<P: Part> Index<P> for Breakdown<P> {
    type Output = Picoseconds;
    fn index(&self, part: P) -> &Picoseconds {
        &self.times[part.index()]
    }
}

impl<P: Part> IndexMut<P> for Breakdown<P> {
    fn index_mut(&mut self, part: P) -> &mut Picoseconds {
        &mut self.times[part.index()]
    }
}

impl<P: Part> FromIterator<(P, Picoseconds)> for Breakdown<P> {
    fn from_iter<I: IntoIterator<Item = (P, Picoseconds)>>(parts: I) -> Self {
        let mut all = Self::default();
        for (part, time) in parts {
            all[part] += time;
        }
        all
    }
}

impl<P> AddAssign for Breakdown<P> {
    fn add_assign(&mut self, other: Self) {
        for (mine, others) in self.times.iter_mut().zip(other.times) {
            *mine += others;
        }
    }
}

impl<P> Add for Breakdown<P> {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// So many times after each other.
impl<P> Mul<u64> for Breakdown<P> {
    type Output = Self;
    fn mul(mut self, count: u64) -> Self {
        for it in &mut self.times {
            *it = *it * count;
        }
        self
    }
}

/// Declares the causes of a [`Breakdown`](crate::Breakdown): an enum whose
/// variants have the names of columns.
#[macro_export]
macro_rules! parts {
    (
        $(#[$doc:meta])*
        $visibility:vis enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $column:literal),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $crate::Part for $name {
            const ALL: &'static [Self] = {
                let all: &'static [Self] = &[$(Self::$variant),+];
                assert!(all.len() <= $crate::MOST_PARTS, "a breakdown has no room for so many parts");
                all
            };

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $column,)+
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
