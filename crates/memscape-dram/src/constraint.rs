//! Timing rules as data.

use memscape_units::{Nanoseconds, Picoseconds};

use crate::device::{Dram, minus};

/// What a command does.
///
/// The all-bank forms address a whole rank: every bank does the same at the
/// same time, in the same row and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Open a row of one bank.
    Act,
    /// Close the row of one bank.
    Pre,
    /// Close the rows of all banks of a rank.
    PreAll,
    /// Read one column of the open row of one bank.
    Rd,
    /// Write one column of the open row of one bank.
    Wr,
    /// Refresh all banks of a rank.
    Ref,
    /// PIM: open the same row of all banks.
    ActAll,
    /// PIM: every bank reads a column into its MAC unit.
    Mac,
    /// PIM: broadcast one register's worth of data over the bus to all banks.
    RegWrite,
    /// PIM: every bank writes a register to a column of its open row.
    Spill,
    /// PIM: every bank computes on registers only: a shift, add or scaling.
    Alu,
}

impl Kind {
    /// Every kind, in the order of their discriminants.
    pub const ALL: [Self; 11] = [
        Self::Act,
        Self::Pre,
        Self::PreAll,
        Self::Rd,
        Self::Wr,
        Self::Ref,
        Self::ActAll,
        Self::Mac,
        Self::RegWrite,
        Self::Spill,
        Self::Alu,
    ];

    /// The commands that occupy a PIM command slot.
    pub const PIM_SLOT: [Self; 4] = [Self::Mac, Self::RegWrite, Self::Spill, Self::Alu];

    /// How traces call it, for example `ACT`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Act => "ACT",
            Self::Pre => "PRE",
            Self::PreAll => "PREA",
            Self::Rd => "RD",
            Self::Wr => "WR",
            Self::Ref => "REFab",
            Self::ActAll => "ACTAB",
            Self::Mac => "MAC",
            Self::RegWrite => "REGWR",
            Self::Spill => "SPILL",
            Self::Alu => "ALU",
        }
    }

    /// Whether it addresses one bank rather than a whole rank.
    #[must_use]
    pub const fn is_per_bank(self) -> bool {
        matches!(self, Self::Act | Self::Pre | Self::Rd | Self::Wr)
    }

    /// Whether it names a row.
    #[must_use]
    pub const fn has_row(self) -> bool {
        matches!(self, Self::Act | Self::Rd | Self::Wr | Self::ActAll | Self::Mac | Self::Spill)
    }

    /// Whether it names a column.
    #[must_use]
    pub const fn has_column(self) -> bool {
        matches!(self, Self::Rd | Self::Wr | Self::Mac | Self::Spill)
    }

    /// Which way the data goes.
    const fn direction(self) -> Direction {
        match self {
            Self::Rd | Self::Mac => Direction::Read,
            Self::Wr | Self::RegWrite | Self::Spill => Direction::Write,
            _ => Direction::None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
    None,
}

/// Between which commands a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Scope {
    /// Any two of the channel.
    Channel,
    /// Two of the same rank.
    Rank,
    /// Two of the same bank group.
    BankGroup,
    /// Two of the same bank.
    Bank,
    /// Two of different ranks.
    OtherRank,
}

/// `to` comes at least `delay` after every earlier `from` within `scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraint {
    /// What the datasheet calls it, for example `tRCD`.
    pub name: &'static str,
    /// The earlier command.
    pub from: Kind,
    /// The later command.
    pub to: Kind,
    /// Between which commands it holds.
    pub scope: Scope,
    /// The least time between the two.
    pub delay: Picoseconds,
}

/// Any `span` holds at most `count` commands of a kind within `scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// What the datasheet calls it, for example `tFAW`.
    pub name: &'static str,
    /// The commands it counts.
    pub kind: Kind,
    /// Within what it counts.
    pub scope: Scope,
    /// How many it allows, at least 1.
    pub count: usize,
    /// From a command to the `count`-th after it at least.
    pub span: Picoseconds,
}

/// All timing rules of one channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constraints {
    /// Rules between two commands.
    pub pairs: Vec<Constraint>,
    /// Rules about many commands.
    pub windows: Vec<Window>,
    /// Time one command occupies the command bus; zero for a bus that never
    /// limits.
    pub command_slot: Picoseconds,
}

/// What PIM units add to the timing of their memory, which no JEDEC device has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PimTiming {
    /// Least time between two commands that the units need. The memory may need
    /// more: a command reaches every bank group, so two are `tCCD_L` apart.
    pub command: Nanoseconds,
    /// What the host adds to each switch from reading to writing.
    pub host_turnaround: Nanoseconds,
    /// Whether rows stay as they are until a register write has turned to reading.
    pub rows_wait_for_writes: bool,
}

impl PimTiming {
    /// Units that keep up with their memory, and a host that adds nothing.
    pub const NONE: Self =
        Self { command: Nanoseconds::ZERO, host_turnaround: Nanoseconds::ZERO, rows_wait_for_writes: false };
}

impl Constraints {
    fn pair(&mut self, name: &'static str, from: Kind, to: Kind, scope: Scope, delay: Nanoseconds) {
        self.pairs.push(Constraint { name, from, to, scope, delay: delay.to_picoseconds() });
    }
}

/// The rules of a device without PIM.
///
/// # Source
/// The JEDEC state diagrams and their names for the timings. Refresh is per
/// rank and blocks the rank for tRFCab.
#[must_use]
pub fn constraints(dram: &Dram) -> Constraints {
    let mut rules = Constraints { command_slot: command_slot(dram), ..Constraints::default() };
    row_rules(&mut rules, dram);
    column_rules(&mut rules, dram);
    rank_switch_rules(&mut rules, dram);
    refresh_rules(&mut rules, dram);
    rules.windows.push(Window {
        name: "tFAW",
        kind: Kind::Act,
        scope: Scope::Rank,
        count: 4,
        span: dram.tfaw_ns.to_picoseconds(),
    });
    rules
}

/// The rules of a device with PIM: those of [`constraints`] and the all-bank
/// forms'.
///
/// A PIM device must provide the power to activate all banks at once: `ACTAB`
/// costs tRPab + tRCD, as `PIMnast` assumes. It counts as a full tFAW window
/// towards the next activate. A column command of all banks reaches every bank
/// group, so it obeys `tCCD_L`.
#[must_use]
pub fn pim_constraints(dram: &Dram, pim: &PimTiming) -> Constraints {
    let mut rules = constraints(dram);
    all_bank_row_rules(&mut rules, dram);
    all_bank_column_rules(&mut rules, dram, pim);
    rules
}

fn all_bank_row_rules(rules: &mut Constraints, dram: &Dram) {
    use Kind::{Act, ActAll, Mac, Pre, PreAll, Rd, Ref, Spill, Wr};
    rules.pair("tRPab", PreAll, ActAll, Scope::Rank, dram.trp_ab_ns);
    rules.pair("tRP", Pre, ActAll, Scope::Rank, dram.trp_ns);
    rules.pair("tRAS", ActAll, PreAll, Scope::Rank, dram.tras_ns);
    rules.pair("tRFCab", Ref, ActAll, Scope::Rank, dram.trfc_ab_ns);
    rules.pair("tRC", ActAll, Ref, Scope::Rank, dram.trc());
    for (from, to) in [(Act, ActAll), (ActAll, ActAll), (ActAll, Act)] {
        rules.pair("tRC", from, to, Scope::Rank, dram.trc());
        rules.pair("tFAW", from, to, Scope::Rank, dram.tfaw_ns);
        rules.pair("tRRD_L", from, to, Scope::Rank, dram.trrd_l_ns);
    }
    for to in [Mac, Spill, Rd, Wr] {
        rules.pair("tRCD", ActAll, to, Scope::Rank, dram.trcd_ns);
    }
}

fn all_bank_column_rules(rules: &mut Constraints, dram: &Dram, pim: &PimTiming) {
    use Kind::{ActAll, Alu, Mac, PreAll, Rd, Ref, RegWrite, Spill, Wr};
    let mut pair = |name, from, to, delay| rules.pair(name, from, to, Scope::Rank, delay);
    pair("tRTP", Mac, PreAll, dram.trtp_ns);
    pair("tWR", Spill, PreAll, dram.write_to_precharge());
    // What a spill writes leaves its registers in a slot of its unit; what is read is out of the row by tRTP.
    for (from, to) in [(Spill, PreAll), (RegWrite, Ref), (Alu, Ref)] {
        pair("tCCD_L", from, to, dram.tccd_l());
        pair("PIM unit", from, to, pim.command);
    }
    // A register command needs no row, but a refreshing rank takes no command.
    for to in [RegWrite, Alu] {
        pair("tRFCab", Ref, to, dram.trfc_ab_ns);
    }
    if pim.rows_wait_for_writes {
        for to in [PreAll, ActAll] {
            pair("row after write", RegWrite, to, dram.write_to_read_l());
        }
    }
    let columns = Kind::PIM_SLOT.into_iter().chain([Rd, Wr]);
    for from in columns.clone() {
        for to in columns.clone().filter(|to| from.is_pim_slot() || to.is_pim_slot()) {
            pair("tCCD_L", from, to, dram.tccd_l());
            if from.is_pim_slot() && to.is_pim_slot() {
                pair("PIM unit", from, to, pim.command);
            }
            match (from.direction(), to.direction()) {
                (Direction::Read, Direction::Write) => {
                    pair("tRTW", from, to, dram.trtw() + pim.host_turnaround);
                }
                (Direction::Write, Direction::Read) => pair("tWTR_L", from, to, dram.write_to_read_l()),
                _ => {}
            }
        }
    }
}

impl Kind {
    fn is_pim_slot(self) -> bool {
        Self::PIM_SLOT.contains(&self)
    }
}

/// One clock, rounded down: a picosecond too long would delay the burst behind.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn command_slot(dram: &Dram) -> Picoseconds {
    Picoseconds((dram.tck().as_f64() * 1e3).floor() as u64)
}

fn row_rules(rules: &mut Constraints, dram: &Dram) {
    use Kind::{Act, Pre, PreAll, Rd, Wr};
    rules.pair("tRCD", Act, Rd, Scope::Bank, dram.trcd_ns);
    rules.pair("tRCD", Act, Wr, Scope::Bank, dram.trcd_ns);
    rules.pair("tRAS", Act, Pre, Scope::Bank, dram.tras_ns);
    rules.pair("tRAS", Act, PreAll, Scope::Rank, dram.tras_ns);
    rules.pair("tRC", Act, Act, Scope::Bank, dram.trc());
    rules.pair("tRRD_L", Act, Act, Scope::BankGroup, dram.trrd_l_ns);
    rules.pair("tRRD_S", Act, Act, Scope::Rank, dram.trrd_s_ns);
    rules.pair("tRP", Pre, Act, Scope::Bank, dram.trp_ns);
    rules.pair("tRPab", PreAll, Act, Scope::Rank, dram.trp_ab_ns);
    rules.pair("tRTP", Rd, Pre, Scope::Bank, dram.trtp_ns);
    rules.pair("tRTP", Rd, PreAll, Scope::Rank, dram.trtp_ns);
    rules.pair("tWR", Wr, Pre, Scope::Bank, dram.write_to_precharge());
    rules.pair("tWR", Wr, PreAll, Scope::Rank, dram.write_to_precharge());
}

fn column_rules(rules: &mut Constraints, dram: &Dram) {
    use Kind::{Rd, Wr};
    for kind in [Rd, Wr] {
        rules.pair("burst", kind, kind, Scope::Channel, dram.burst());
        rules.pair("tCCD_S", kind, kind, Scope::Rank, dram.tccd_s());
        rules.pair("tCCD_L", kind, kind, Scope::BankGroup, dram.tccd_l());
    }
    rules.pair("tRTW", Rd, Wr, Scope::Rank, dram.trtw());
    rules.pair("tWTR_S", Wr, Rd, Scope::Rank, dram.write_to_read_s());
    rules.pair("tWTR_L", Wr, Rd, Scope::BankGroup, dram.write_to_read_l());
}

/// Between ranks only the data bus is shared: the second burst starts tRTRS
/// after the first has ended.
fn rank_switch_rules(rules: &mut Constraints, dram: &Dram) {
    use Kind::{Rd, Wr};
    let busy = dram.burst() + dram.trtrs_ns;
    rules.pair("tRTRS", Rd, Rd, Scope::OtherRank, busy);
    rules.pair("tRTRS", Wr, Wr, Scope::OtherRank, busy);
    rules.pair("tRTRS", Rd, Wr, Scope::OtherRank, minus(busy + dram.cl_ns, dram.cwl_ns));
    rules.pair("tRTRS", Wr, Rd, Scope::OtherRank, minus(busy + dram.cwl_ns, dram.cl_ns));
}

fn refresh_rules(rules: &mut Constraints, dram: &Dram) {
    use Kind::{Act, Pre, PreAll, Ref};
    rules.pair("tRC", Act, Ref, Scope::Rank, dram.trc());
    rules.pair("tRP", Pre, Ref, Scope::Rank, dram.trp_ns);
    rules.pair("tRPab", PreAll, Ref, Scope::Rank, dram.trp_ab_ns);
    for to in [Act, Pre, PreAll, Ref] {
        rules.pair("tRFCab", Ref, to, Scope::Rank, dram.trfc_ab_ns);
    }
}
