//! Address maps: how burst numbers of physical memory become channels, ranks,
//! banks, rows and columns, and back.

use crate::device::Dram;
use crate::engine::Address;

/// A coordinate of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The burst within its DRAM row.
    Column,
    /// The channel.
    Channel,
    /// The rank of the channel.
    Rank,
    /// The bank group of the rank.
    BankGroup,
    /// The bank of the bank group.
    Bank,
    /// The row of the bank.
    Row,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 6] =
        [Self::Column, Self::Channel, Self::Rank, Self::BankGroup, Self::Bank, Self::Row];

    /// The name, for example `bank`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Channel => "channel",
            Self::Rank => "rank",
            Self::BankGroup => "bank_group",
            Self::Bank => "bank",
            Self::Row => "row",
        }
    }
}

/// Where a burst lies in all of a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The channel.
    pub channel: u64,
    /// The rank of the channel.
    pub rank: u64,
    /// The bank group of the rank; 0 where banks are counted through all groups.
    pub bank_group: u64,
    /// The bank of the bank group.
    pub bank: u64,
    /// The row of the bank.
    pub row: u64,
    /// The burst of the row.
    pub column: u64,
}

impl Place {
    /// An address within a channel.
    #[must_use]
    pub fn of(channel: u32, at: Address) -> Self {
        Self {
            channel: channel.into(),
            rank: at.rank.into(),
            bank_group: at.bank_group.into(),
            bank: at.bank.into(),
            row: at.row.into(),
            column: at.column.into(),
        }
    }

    /// The address within its channel.
    ///
    /// # Panics
    /// Beyond 2^32 of anything, which no device has.
    #[must_use]
    pub fn address(&self) -> Address {
        let part = |it: u64| u32::try_from(it).expect("a device has fewer than 2^32");
        Address {
            rank: part(self.rank),
            bank_group: part(self.bank_group),
            bank: part(self.bank),
            row: part(self.row),
            column: part(self.column),
        }
    }

    /// One coordinate.
    #[must_use]
    pub const fn get(&self, field: Field) -> u64 {
        match field {
            Field::Column => self.column,
            Field::Channel => self.channel,
            Field::Rank => self.rank,
            Field::BankGroup => self.bank_group,
            Field::Bank => self.bank,
            Field::Row => self.row,
        }
    }

    /// Changes one coordinate.
    pub const fn set(&mut self, field: Field, value: u64) {
        match field {
            Field::Column => self.column = value,
            Field::Channel => self.channel = value,
            Field::Rank => self.rank = value,
            Field::BankGroup => self.bank_group = value,
            Field::Bank => self.bank = value,
            Field::Row => self.row = value,
        }
    }
}

/// How many there are of each coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dims {
    /// Channels of the memory.
    pub channels: u64,
    /// Ranks of one channel.
    pub ranks: u64,
    /// Bank groups of one rank; 1 where banks are counted through all groups.
    pub bank_groups: u64,
    /// Banks of one bank group.
    pub banks: u64,
    /// Rows of one bank.
    pub rows: u64,
    /// Bursts of one row.
    pub columns: u64,
}

impl Dims {
    /// A memory of a single burst, of which others say what differs.
    pub const ONE: Self = Self { channels: 1, ranks: 1, bank_groups: 1, banks: 1, rows: 1, columns: 1 };

    /// The dimensions of a checked device.
    #[must_use]
    pub fn of(memory: &Dram) -> Self {
        let geometry = memory.geometry();
        Self {
            channels: memory.channels.get().into(),
            ranks: geometry.ranks.into(),
            bank_groups: geometry.bank_groups.into(),
            banks: geometry.banks.into(),
            rows: geometry.rows.into(),
            columns: geometry.columns.into(),
        }
    }

    /// The same, with the banks of a rank counted through all its groups.
    #[must_use]
    pub const fn ungrouped(self) -> Self {
        Self { bank_groups: 1, banks: self.bank_groups * self.banks, ..self }
    }

    /// The size of one field.
    #[must_use]
    pub const fn get(&self, field: Field) -> u64 {
        match field {
            Field::Column => self.columns,
            Field::Channel => self.channels,
            Field::Rank => self.ranks,
            Field::BankGroup => self.bank_groups,
            Field::Bank => self.banks,
            Field::Row => self.rows,
        }
    }

    /// Whether a place exists.
    #[must_use]
    pub fn contains(&self, place: &Place) -> bool {
        Field::ALL.iter().all(|it| place.get(*it) < self.get(*it))
    }

    /// Address bits of a field, rounded up: rows need not be a power of two.
    #[must_use]
    pub const fn bits(&self, field: Field) -> u32 {
        self.get(field).next_power_of_two().trailing_zeros()
    }

    /// Checks that burst numbers have no more than 48 bits.
    ///
    /// # Errors
    /// [`MapError::Dims`] if they have, or if there is none of something.
    pub fn check(&self) -> Result<(), MapError> {
        const MAX_BITS: u32 = 48;
        let possible = Field::ALL.iter().all(|it| (1..=1 << MAX_BITS).contains(&self.get(*it)));
        if possible && Field::ALL.iter().map(|it| self.bits(*it)).sum::<u32>() <= MAX_BITS {
            Ok(())
        } else {
            Err(MapError::Dims(*self))
        }
    }
}

/// Why there is no such map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// A field of size zero, or more than 2^48 bursts.
    #[error(
        "a memory of {0:?} cannot be mapped; every dimension must be at least 1, and all together at most 2^48 bursts"
    )]
    Dims(Dims),
    /// A field that occurs twice, or not at all.
    #[error(
        "a map of digits names each field once, and leaves out only those of which there is one; `{}` is {problem}",
        .field.name()
    )]
    Digits {
        /// The field.
        field: Field,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// How burst numbers spread over channels, banks, rows and columns: a number
/// with one digit per [`Field`], of any size.
///
/// ```
/// use memscape_dram::{AddressMap, MEMORIES, Pattern, Place};
///
/// let dram = MEMORIES.find("ddr4-3200")?.parameters;
/// let map = AddressMap::new(&dram, Pattern::Interleaved.order());
/// let at = Place { bank_group: 3, column: 1, ..Place::default() };
/// assert_eq!(map.encode(&at), Some(4 + 3)); // four groups, then the column
/// assert_eq!(map.decode(4 + 3), Some(at));
/// assert_eq!(map.encode(&Place { bank_group: 4, ..at }), None);
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressMap {
    dims: Dims,
    /// Lowest first.
    order: [Field; 6],
}

impl AddressMap {
    /// The map of a checked device whose digits come in `order`, lowest first.
    ///
    /// # Panics
    /// If `order` names a field twice, or the device has more than 2^48 bursts.
    #[must_use]
    pub fn new(dram: &Dram, order: [Field; 6]) -> Self {
        match Self::of(Dims::of(dram), &order) {
            Ok(map) => map,
            Err(error) => panic!("{error}"),
        }
    }

    /// The map whose digits come in `order`, lowest first. What there is only one
    /// of may be left out.
    ///
    /// # Errors
    /// [`MapError`] if `order` names a field twice or lacks one, or the memory is
    /// empty.
    pub fn of(dims: Dims, order: &[Field]) -> Result<Self, MapError> {
        dims.check()?;
        for field in Field::ALL {
            let problem = match (order.iter().filter(|it| **it == field).count(), dims.get(field)) {
                (1, _) | (0, 1) => continue,
                (0, _) => "missing",
                _ => "there twice",
            };
            return Err(MapError::Digits { field, problem });
        }
        let mut all = Field::ALL;
        let left_out = Field::ALL.iter().filter(|it| !order.contains(it));
        all.iter_mut().zip(order.iter().chain(left_out)).for_each(|(digit, field)| *digit = *field);
        Ok(Self { dims, order: all })
    }

    /// What it maps.
    #[must_use]
    pub const fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The number of the burst at `place`, if there is such a place.
    #[must_use]
    pub fn encode(&self, place: &Place) -> Option<u64> {
        let digits = self.order.iter().rev();
        let number = |number, field: &Field| number * self.dims.get(*field) + place.get(*field);
        self.dims.contains(place).then(|| digits.fold(0, number))
    }

    /// Where the burst of this number lies, if the memory is as large.
    #[must_use]
    pub fn decode(&self, burst: u64) -> Option<Place> {
        let (mut place, mut rest) = (Place::default(), burst);
        for field in self.order {
            place.set(field, rest % self.dims.get(field));
            rest /= self.dims.get(field);
        }
        (rest == 0).then_some(place)
    }

    /// What one coordinate contributes to a burst number, which is the sum of the
    /// contributions.
    #[must_use]
    pub fn part(&self, field: Field, value: u64) -> u64 {
        let lower = self.order.iter().take_while(|it| **it != field);
        value * lower.map(|it| self.dims.get(*it)).product::<u64>()
    }
}
