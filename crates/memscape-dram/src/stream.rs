//! Address streams, and the bandwidth they can reach.

use std::collections::{BTreeMap, VecDeque};

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
    /// For a device of more than 2^48 bursts ([`AddressMap::new`]).
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
                let activates = dram.trrd_l_ns.as_f64().max(dram.activate_ns());
                own_commands_ns(dram).max(row_cycle_ns(dram)).max(dram.tccd_l().as_f64()).max(activates)
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

/// From an activate of a bank to its next: a precharge comes a clock before it at least.
fn row_cycle_ns(dram: &Dram) -> f64 {
    dram.trc().max(dram.tras_ns + dram.trp_ns.max(dram.tck())).as_f64()
}

/// The mean time of an access of a stream over whole rows, of which those of `together` bank
/// groups take turns access by access.
fn in_turn_ns(dram: &Dram, together: u32) -> f64 {
    // Whatever the data bus could take, each access is a command.
    let slot = dram.tck();
    let (short, long) = (dram.tccd_s().max(slot).as_f64(), dram.tccd_l().max(slot).as_f64());
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
        if ranks > 1.0 { (dram.burst() + dram.trtrs_ns).max(slot).as_f64() - to_next_access } else { 0.0 };
    let read_cycle = own_commands_ns(dram) + to_last;
    let rows = (to_last + to_next_row + between_ranks * together / (banks / ranks))
        .max(read_cycle.max(row_cycle_ns(dram)) * together / banks)
        .max(together * (columns + 2.0) * slot.as_f64())
        .max(together * dram.activate_ns() / ranks);
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

/// Which of the waiting accesses a controller serves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The one that came first, though a later one could be served before it.
    InOrder,
    /// Of the first one of each bank that which can be served first, of equals that which came first
    /// (FR-FCFS, with the accesses of a bank in order).
    FirstReady,
}

/// Serves column accesses (RD, WR), opening and closing rows as needed.
///
/// An open-page controller with a window of `lookahead` accesses (at least
/// one): it prepares the rows of coming accesses, bank by bank as each may, whenever that neither delays
/// the access to be served next nor closes a row that an earlier one still needs. Where
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
    policy: Policy,
    sink: &mut impl Sink,
) -> Result<Served, ProtocolError> {
    let mut accesses = accesses.into_iter();
    let mut window = Window::default();
    let mut served: Option<Served> = None;
    let mut refreshes = engine.refreshes();
    loop {
        for access in accesses.by_ref().take(lookahead.max(1) - window.waiting) {
            assert!(matches!(access.kind, Kind::Rd | Kind::Wr), "{access} is not a column access");
            window.push(engine, access)?;
        }
        if refreshes != engine.refreshes() {
            refreshes = engine.refreshes();
            window.look_again(engine)?;
        }
        let row = first_ready(&mut window.shut, engine, row_command)?;
        let access = match policy {
            Policy::InOrder => window.oldest(engine)?,
            Policy::FirstReady => first_ready(&mut window.open, engine, |_, access| Ok(access))?,
        };
        let slot = engine.command_slot();
        match (row, access) {
            (Some(row), access) if access.as_ref().is_none_or(|it| goes_before(&row, it, slot, served)) => {
                window.prepare(engine, &row, sink)?;
            }
            (_, Some(access)) => {
                let at = window.serve(engine, &access, sink)?;
                let Served { accesses, first, .. } =
                    served.unwrap_or(Served { accesses: 0, first: at, last: at });
                served = Some(Served { accesses: accesses + 1, first, last: at });
            }
            (_, None) => break,
        }
    }
    let now = engine.now();
    Ok(served.unwrap_or(Served { accesses: 0, first: now, last: now }))
}

/// Whether a command to a row takes the slot before that of the next access.
fn goes_before(row: &Next, access: &Next, slot: Picoseconds, served: Option<Served>) -> bool {
    // Accesses that leave no slot between them would keep rows closed until nothing else is left.
    let is_crowded = served.is_some_and(|it| access.at < it.last + slot + slot);
    row.at + slot <= access.at || (is_crowded && row.at <= access.at)
}

/// The accesses that a controller sees.
#[derive(Default)]
struct Window {
    /// Those of each bank, as they came.
    of_bank: BTreeMap<Bank, VecDeque<Waiting>>,
    /// The first of each bank whose row is open.
    open: Vec<Waiting>,
    /// The first of each other bank.
    shut: Vec<Waiting>,
    /// How many wait.
    waiting: usize,
    /// How many came.
    count: u64,
}

/// Rank, bank group and bank.
type Bank = (u32, u32, u32);

#[derive(Clone, Copy)]
struct Waiting {
    access: Command,
    /// How many came before it.
    turn: u64,
    /// Its next command comes no earlier.
    not_before: Picoseconds,
}

/// A command that can be issued.
struct Next {
    /// Which of those that wait needs it.
    index: usize,
    command: Command,
    at: Picoseconds,
}

impl Window {
    fn push(&mut self, engine: &Engine, access: Command) -> Result<(), ProtocolError> {
        let came = Waiting { access, turn: self.count, not_before: Picoseconds::ZERO };
        self.count += 1;
        self.waiting += 1;
        let of_bank = self.of_bank.entry(bank(access.at)).or_default();
        of_bank.push_back(came);
        if of_bank.len() == 1 { self.look_at(engine, came) } else { Ok(()) }
    }

    /// Notes the first access of a bank.
    fn look_at(&mut self, engine: &Engine, first: Waiting) -> Result<(), ProtocolError> {
        let is_open = engine.row(first.access.at)? == RowState::Open(first.access.at.row);
        (if is_open { &mut self.open } else { &mut self.shut }).push(first);
        Ok(())
    }

    /// After a refresh has closed rows.
    fn look_again(&mut self, engine: &Engine) -> Result<(), ProtocolError> {
        self.open.clear();
        self.shut.clear();
        let firsts: Vec<_> = self.of_bank.values().filter_map(|it| it.front().copied()).collect();
        firsts.into_iter().try_for_each(|it| self.look_at(engine, it))
    }

    /// The access that came first, if its row is open.
    fn oldest(&self, engine: &Engine) -> Result<Option<Next>, ProtocolError> {
        let open = self.open.iter().enumerate().min_by_key(|(_, it)| it.turn);
        let Some((index, oldest)) =
            open.filter(|(_, oldest)| self.shut.iter().all(|it| oldest.turn < it.turn))
        else {
            return Ok(None);
        };
        Ok(Some(Next { index, command: oldest.access, at: engine.earliest(&oldest.access)?.at }))
    }

    /// Issues a command to a row of those that are shut.
    fn prepare(
        &mut self,
        engine: &mut Engine,
        next: &Next,
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        engine.issue_into(next.command, sink)?;
        if next.command.kind == Kind::Act {
            self.open.push(self.shut.swap_remove(next.index));
        }
        Ok(())
    }

    /// Serves one of those that are open, and says when.
    fn serve(
        &mut self,
        engine: &mut Engine,
        next: &Next,
        sink: &mut impl Sink,
    ) -> Result<Picoseconds, ProtocolError> {
        let at = engine.issue_into(next.command, sink)?;
        self.open.swap_remove(next.index);
        self.waiting -= 1;
        let of_bank = self.of_bank.entry(bank(next.command.at)).or_default();
        of_bank.pop_front();
        if let Some(first) = of_bank.front().copied() {
            self.look_at(engine, first)?;
        }
        Ok(at)
    }
}

/// Of the commands that those that wait need, which can be issued first; of equals that of the first to come.
fn first_ready(
    waiting: &mut [Waiting],
    engine: &Engine,
    needs: impl Fn(&Engine, Command) -> Result<Command, ProtocolError>,
) -> Result<Option<Next>, ProtocolError> {
    loop {
        let first = waiting.iter_mut().enumerate().min_by_key(|(_, it)| (it.not_before, it.turn));
        let Some((index, first)) = first else { return Ok(None) };
        let command = needs(engine, first.access)?;
        let at = engine.earliest(&command)?.at;
        // Commands in between only make it later.
        if at <= first.not_before {
            return Ok(Some(Next { index, command, at }));
        }
        first.not_before = at;
    }
}

/// What the row of an access needs next.
fn row_command(engine: &Engine, access: Command) -> Result<Command, ProtocolError> {
    let kind = match engine.row(access.at)? {
        RowState::Open(_) => Kind::Pre,
        RowState::Closed | RowState::Suspended(_) => Kind::Act,
    };
    Ok(kind.at(access.at))
}

fn bank(at: Address) -> Bank {
    (at.rank, at.bank_group, at.bank)
}
