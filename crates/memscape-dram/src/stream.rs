//! Address streams, and the bandwidth they can reach.

use std::collections::VecDeque;

use memscape_units::{GbPerS, Picoseconds};

use crate::address::{AddressMap, Field};
use crate::constraint::Kind;
use crate::device::Dram;
use crate::engine::{Address, Command, Engine, ProtocolError, RowState, Sink};

/// How a sequential stream spreads over the banks of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Every access goes to the next bank group: the mapping for bandwidth. Where there are
    /// too few banks to open rows in while others are read, fewer bank groups take turns,
    /// so that those of the next rows have nothing else to do.
    Interleaved,
    /// A whole row of one bank, then a row of another bank group: every access
    /// but a row's first waits for its own bank group.
    RowByRow,
    /// Every access opens another row of the same bank: the worst mapping.
    RowConflict,
}

impl Pattern {
    /// The digits of its address map, lowest first; of [`Pattern::Interleaved`], if all bank
    /// groups take turns.
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
    ///
    /// # Panics
    /// Never for a checked device.
    pub fn addresses(self, dram: &Dram) -> impl Iterator<Item = Address> + use<> {
        let map = AddressMap::new(dram, self.order());
        let bursts = dram.capacity().0 / u64::from(dram.column_bytes());
        let [groups, columns] = [dram.bank_groups.get(), dram.columns_per_row()].map(u64::from);
        let together = if self == Self::Interleaved { groups_in_turn(dram).into() } else { groups };
        // Rows of `together` banks in turn, then of as many next to them.
        let turned = move |access: u64| {
            let (rows, in_rows) = (access / (together * columns), access % (together * columns));
            let row = rows * together + in_rows % together;
            row % groups + groups * (in_rows / together + columns * (row / groups))
        };
        (0..).map(move |access: u64| {
            let access = access % bursts;
            let burst = if together < groups { turned(access) } else { access };
            map.decode(burst).expect("below the capacity").address()
        })
    }

    /// The bandwidth a channel sustains on this stream of reads, without
    /// refresh; refresh takes at least [`Dram::refresh_share`] of it.
    ///
    /// Interleaved: the bus (burst), `tCCD_S`, or `tCCD_L` shared by the bank
    /// groups that take turns, as many as are best. Row by row: `tCCD_L`, but for the first access of a row. Rows are
    /// opened ahead in other banks, so long as those have had their tRC, activates
    /// obey tRRD and tFAW, and each command takes a clock. Row conflict: one access
    /// per tRC, or tRCD + tRTP + tRP, tRRD or `tCCD_L` where that is longer.
    ///
    /// # Panics
    /// Never for a checked device: the time of an access is finite and positive.
    #[must_use]
    pub fn bandwidth_gb_s(self, dram: &Dram) -> GbPerS {
        GbPerS::new(f64::from(dram.column_bytes()) / self.access_ns(dram))
            .expect("a checked device's timings")
    }

    /// The mean time of an access.
    fn access_ns(self, dram: &Dram) -> f64 {
        match self {
            Self::Interleaved => in_turn_ns(dram, groups_in_turn(dram)),
            Self::RowByRow => in_turn_ns(dram, 1),
            Self::RowConflict => {
                let activates = dram.trrd_s_ns.max(dram.trrd_l_ns).as_f64().max(dram.tfaw_ns.as_f64() / 4.0);
                own_commands_ns(dram).max(dram.trc().as_f64()).max(dram.tccd_l().as_f64()).max(activates)
            }
        }
    }
}

/// How many bank groups an interleaved stream goes through before it comes back to the
/// first: of all powers of two that which is fastest, of equals the most. `tCCD_L` over
/// `tCCD_S` of them keep the bus busy; more leave fewer banks to open rows in.
fn groups_in_turn(dram: &Dram) -> u32 {
    // Sums of the same times in another order are equal.
    const ROUNDING: f64 = 1e-9;
    let all = dram.bank_groups.get();
    let fewer = std::iter::successors(Some(all / 2), |it| Some(it / 2)).take_while(|it| *it > 0);
    fewer.fold(
        all,
        |best, it| {
            if in_turn_ns(dram, it) < in_turn_ns(dram, best) * (1.0 - ROUNDING) { it } else { best }
        },
    )
}

/// A row's own commands, each at least a clock after the one before.
fn own_commands_ns(dram: &Dram) -> f64 {
    [dram.trcd_ns, dram.trtp_ns, dram.trp_ns].map(|it| it.max(dram.tck()).as_f64()).iter().sum()
}

/// The mean time of an access of a stream over whole rows, of which those of `together` bank
/// groups take turns access by access.
fn in_turn_ns(dram: &Dram, together: u32) -> f64 {
    let (short, long) = (dram.tccd_s().as_f64(), dram.tccd_l().as_f64());
    let (groups, columns) = (f64::from(dram.bank_groups.get()), f64::from(dram.columns_per_row()));
    let together = f64::from(together);
    let turn = long.max(together * short);
    let to_last = (columns - 1.0) * turn;
    // The next rows are in other groups, if there are any.
    let to_next_access = if together < groups { short } else { turn - (together - 1.0) * short };
    let to_next_row = if together < groups { together * short } else { turn };
    let banks = f64::from(dram.banks_per_channel.get());
    let ranks = f64::from(dram.ranks.get());
    // The last row of a rank is followed by the first of the next, which only the data bus holds up.
    let between_ranks =
        if ranks > 1.0 { (dram.burst() + dram.trtrs_ns).as_f64() - to_next_access } else { 0.0 };
    let row_cycle = own_commands_ns(dram) + to_last;
    let activate = if groups > 1.0 { dram.trrd_s_ns } else { dram.trrd_s_ns.max(dram.trrd_l_ns) };
    let rows = (to_last + to_next_row + between_ranks * together / (banks / ranks))
        .max(row_cycle.max(dram.trc().as_f64()) * together / banks)
        .max(together * (columns + 2.0) * dram.tck().as_f64())
        .max(together * activate.as_f64().max(dram.tfaw_ns.as_f64() / 4.0) / ranks);
    rows / (columns * together)
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
        let bytes = self.accesses.checked_sub(1)? as f64 * f64::from(dram.column_bytes());
        GbPerS::new(bytes / self.last.saturating_sub(self.first).as_ns()).ok()
    }
}

/// Serves column accesses (RD, WR) in order, opening and closing rows as
/// needed.
///
/// An open-page controller with a window of `lookahead` accesses (at least
/// one): it prepares the rows of coming accesses whenever that neither delays
/// the access at the head nor closes a row that an earlier one still needs. Where
/// accesses follow each other so closely that a command to a row never fits between
/// them, it takes the next one's slot.
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
            let (ready, head_ready) = (engine.earliest(&command)?.at, engine.earliest(&head)?.at);
            // Accesses that leave no slot between them would keep rows closed until nothing else is left.
            let is_crowded = served.is_some_and(|it| head_ready < it.last + slot + slot);
            if !in_use && (ready + slot <= head_ready || (is_crowded && ready <= head_ready)) {
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
