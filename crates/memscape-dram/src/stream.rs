//! Address maps, address streams, and the bandwidth they can reach.

use std::collections::VecDeque;

use memscape_units::{GbPerS, Picoseconds};

use crate::constraint::Kind;
use crate::device::{Dram, Geometry};
use crate::engine::{Address, Command, Engine, ProtocolError, RowState, Sink};

/// A digit of a physical address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
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
    /// The column of the row.
    Column,
}

/// How physical addresses spread over channels, banks, rows and columns: a
/// number whose digits are the [`Field`]s, the lowest counting column accesses.
///
/// ```
/// use memscape_dram::{Address, AddressMap, MEMORIES, Pattern};
///
/// let dram = MEMORIES.find("ddr4-3200")?.parameters;
/// let map = AddressMap::new(&dram, Pattern::Interleaved.order());
/// let at = Address { bank_group: 3, column: 1, ..Address::default() };
/// assert_eq!(map.encode(0, at), (4 + 3) * 64); // four groups, then the column
/// assert_eq!(map.decode((4 + 3) * 64), (0, at));
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressMap {
    order: [Field; 6],
    channels: u32,
    geometry: Geometry,
    column_bytes: u32,
}

impl AddressMap {
    /// The map of a checked device whose digits come in `order`, lowest first.
    ///
    /// # Panics
    /// If `order` names a field twice.
    #[must_use]
    pub fn new(dram: &Dram, order: [Field; 6]) -> Self {
        let twice = (1..6).any(|it| order[..it].contains(&order[it]));
        assert!(!twice, "an address map names each field once: {order:?}");
        let column_bytes = dram.column_bytes.get();
        Self { order, channels: dram.channels.get(), geometry: dram.geometry(), column_bytes }
    }

    fn size(&self, field: Field) -> u64 {
        u64::from(match field {
            Field::Channel => self.channels,
            Field::Rank => self.geometry.ranks,
            Field::BankGroup => self.geometry.bank_groups,
            Field::Bank => self.geometry.banks,
            Field::Row => self.geometry.rows,
            Field::Column => self.geometry.columns,
        })
    }

    /// The byte address of a column.
    #[must_use]
    pub fn encode(&self, channel: u32, at: Address) -> u64 {
        let digits = self.order.iter().rev().fold(0, |number, field| {
            let digit = match field {
                Field::Channel => channel,
                Field::Rank => at.rank,
                Field::BankGroup => at.bank_group,
                Field::Bank => at.bank,
                Field::Row => at.row,
                Field::Column => at.column,
            };
            number * self.size(*field) + u64::from(digit)
        });
        digits * u64::from(self.column_bytes)
    }

    /// The channel and place of a byte address; addresses wrap at the capacity.
    ///
    /// # Panics
    /// Never: a digit is smaller than its field's size.
    #[must_use]
    pub fn decode(&self, byte: u64) -> (u32, Address) {
        let (mut channel, mut at) = (0, Address::default());
        let mut number = byte / u64::from(self.column_bytes);
        for field in self.order {
            let digit = match field {
                Field::Channel => &mut channel,
                Field::Rank => &mut at.rank,
                Field::BankGroup => &mut at.bank_group,
                Field::Bank => &mut at.bank,
                Field::Row => &mut at.row,
                Field::Column => &mut at.column,
            };
            let size = self.size(field);
            *digit = u32::try_from(number % size).expect("a digit is below its field's u32 size");
            number /= size;
        }
        (channel, at)
    }
}

/// How a sequential stream spreads over the banks of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Every access goes to the next bank group: the mapping for bandwidth.
    Interleaved,
    /// A whole row of one bank, then a row of another bank group: every access
    /// but a row's first waits for its own bank group.
    RowByRow,
    /// Every access opens another row of the same bank: the worst mapping.
    RowConflict,
}

impl Pattern {
    /// The digits of its address map, lowest first.
    #[must_use]
    pub const fn order(self) -> [Field; 6] {
        use Field::{Bank, BankGroup, Channel, Column, Rank, Row};
        match self {
            Self::Interleaved => [BankGroup, Column, Bank, Rank, Row, Channel],
            Self::RowByRow => [Column, BankGroup, Bank, Rank, Row, Channel],
            Self::RowConflict => [Row, Column, BankGroup, Bank, Rank, Channel],
        }
    }

    /// The addresses of one channel in the order of a sequential stream; starts
    /// anew at the end of the channel.
    pub fn addresses(self, dram: &Dram) -> impl Iterator<Item = Address> + use<> {
        let map = AddressMap::new(dram, self.order());
        let step = u64::from(dram.column_bytes.get());
        (0..).map(move |access: u64| map.decode(access.wrapping_mul(step)).1)
    }

    /// The bandwidth a channel sustains on this stream of reads, without
    /// refresh; refresh takes at least [`Dram::refresh_share`] of it.
    ///
    /// Interleaved: the bus (burst), `tCCD_S`, or `tCCD_L` shared by the bank
    /// groups. Row by row: `tCCD_L`; rows are opened ahead in other banks. Row
    /// conflict: one access per tRC, or tRCD + tRTP + tRP where that is longer.
    ///
    /// # Panics
    /// Never for a checked device: the time of an access is finite and positive.
    #[must_use]
    pub fn bandwidth_gb_s(self, dram: &Dram) -> GbPerS {
        let bus = dram.burst().as_f64().max(dram.tccd_s_ns.as_f64());
        let same_group = dram.tccd_l_ns.as_f64();
        let access_ns = match self {
            Self::Interleaved => bus.max(same_group / f64::from(dram.bank_groups.get())),
            Self::RowByRow => bus.max(same_group),
            Self::RowConflict => {
                (dram.trcd_ns + dram.trtp_ns + dram.trp_ns).as_f64().max(dram.trc().as_f64())
            }
        };
        GbPerS::new(f64::from(dram.column_bytes.get()) / access_ns).expect("a checked device's timings")
    }
}

/// What [`serve`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Column accesses.
    pub accesses: u64,
    /// When the first was issued.
    pub first: Picoseconds,
    /// When the last was issued.
    pub last: Picoseconds,
}

impl Served {
    /// Bytes per time between the first and the last access; `None` for fewer
    /// than two accesses.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "2^53 accesses take months of simulated time")]
    pub fn bandwidth_gb_s(&self, dram: &Dram) -> Option<GbPerS> {
        let bytes = self.accesses.checked_sub(1)? as f64 * f64::from(dram.column_bytes.get());
        GbPerS::new(bytes / self.last.saturating_sub(self.first).as_ns()).ok()
    }
}

/// Serves column accesses (RD, WR) in order, opening and closing rows as
/// needed.
///
/// An open-page controller with a window of `lookahead` accesses (at least
/// one): it prepares the rows of coming accesses whenever that neither delays
/// the access at the head nor closes a row that an earlier one still needs.
///
/// # Errors
/// [`ProtocolError`] if an access has no place in the channel.
///
/// # Panics
/// If an access is neither a read nor a write.
pub fn serve(
    engine: &mut Engine,
    accesses: impl IntoIterator<Item = Command>,
    lookahead: usize,
    sink: &mut impl Sink,
) -> Result<Served, ProtocolError> {
    let mut accesses = accesses.into_iter();
    let mut window: VecDeque<Command> = VecDeque::new();
    let mut served: Option<Served> = None;
    // The accesses at the head of the window whose rows are open.
    let mut prepared = 0;
    let mut refreshes = engine.refreshes();
    loop {
        window.extend(accesses.by_ref().take(lookahead.max(1) - window.len()));
        let Some(head) = window.front().copied() else { break };
        assert!(matches!(head.kind, Kind::Rd | Kind::Wr), "{head} is not a column access");
        if refreshes != engine.refreshes() {
            (refreshes, prepared) = (engine.refreshes(), 0);
        }
        while let Some(access) = window.get(prepared)
            && engine.row(access.at)? == RowState::Open(access.at.row)
        {
            prepared += 1;
        }
        let next = window.get(prepared).map(|it| row_command(engine, it)).transpose()?;
        if prepared == 0 {
            if let Some(command) = next {
                engine.issue_into(command, sink)?;
            }
            continue;
        }
        if let Some(command) = next {
            let in_use =
                command.kind == Kind::Pre && window.range(..prepared).any(|it| same_bank(it.at, command.at));
            let slot = engine.command_slot();
            if !in_use && engine.earliest(&command)?.at + slot <= engine.earliest(&head)?.at {
                engine.issue_into(command, sink)?;
                continue;
            }
        }
        let at = engine.issue_into(head, sink)?;
        window.pop_front();
        prepared -= 1;
        let Served { accesses, first, .. } = served.unwrap_or(Served { accesses: 0, first: at, last: at });
        served = Some(Served { accesses: accesses + 1, first, last: at });
    }
    let now = engine.now();
    Ok(served.unwrap_or(Served { accesses: 0, first: now, last: now }))
}

/// What the row of `access` needs next.
fn row_command(engine: &Engine, access: &Command) -> Result<Command, ProtocolError> {
    let kind = match engine.row(access.at)? {
        RowState::Open(_) => Kind::Pre,
        RowState::Closed | RowState::Suspended(_) => Kind::Act,
    };
    Ok(kind.at(access.at))
}

fn same_bank(a: Address, b: Address) -> bool {
    (a.rank, a.bank_group, a.bank) == (b.rank, b.bank_group, b.bank)
}
