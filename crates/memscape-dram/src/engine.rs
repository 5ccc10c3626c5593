//! The timing engine: commands in, times out.

use std::collections::VecDeque;
use std::fmt;

use memscape_units::Picoseconds;

use crate::constraint::{Constraints, Kind, Scope, Window};
use crate::device::{Dram, Geometry};

/// Where in a channel a command goes. A command looks only at the fields that
/// its [`Kind`] has: all-bank forms at the rank, and the row and column that
/// every bank uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Address {
    /// Rank of the channel.
    pub rank: u32,
    /// Bank group of the rank.
    pub bank_group: u32,
    /// Bank of the bank group.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Column of the row, counted in bursts.
    pub column: u32,
}

/// One command of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub kind: Kind,
    /// Where.
    pub at: Address,
}

impl Kind {
    /// The command of this kind at `at`.
    #[must_use]
    pub const fn at(self, at: Address) -> Command {
        Command { kind: self, at }
    }
}

/// Only what the command looks at: `RD rank 0 group 1 bank 2 row 3 column 4`.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rank {}", self.kind.name(), self.at.rank)?;
        if self.kind.is_per_bank() {
            write!(f, " group {} bank {}", self.at.bank_group, self.at.bank)?;
        }
        if self.kind.has_row() {
            write!(f, " row {}", self.at.row)?;
        }
        if self.kind.has_column() {
            write!(f, " column {}", self.at.column)?;
        }
        Ok(())
    }
}

/// What the engine does about refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefreshPolicy {
    /// Nothing: rows hold for ever.
    #[default]
    Off,
    /// Refresh all banks of all ranks, rank by rank, once every `interval`.
    ///
    /// The first command that would start at or after the due time waits: the
    /// ranks' open rows are closed (PREA) and refreshed (REF) first. What was
    /// open counts as open for the stream, and is opened again (ACT, ACTAB)
    /// when a column command needs it. A refresh waits besides for the command
    /// whose row was opened again, so that any stream goes on, and is never pulled
    /// in; those that become due during one merge with it.
    AllBank {
        /// The average refresh interval, tREFI.
        interval: Picoseconds,
    },
}

impl RefreshPolicy {
    /// All-bank refresh at the device's tREFI.
    #[must_use]
    pub fn all_bank(dram: &Dram) -> Self {
        Self::AllBank { interval: dram.trefi_ns.to_picoseconds() }
    }
}

/// The state of a bank's row buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowState {
    /// No row is open.
    #[default]
    Closed,
    /// This row is open.
    Open(u32),
    /// Closed by a refresh; this row is opened again when it is needed.
    Suspended(u32),
}

/// Who asked for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The stream.
    Stream,
    /// The engine, on behalf of refresh.
    Refresh,
}

/// Sees every command in the order of issue. Implemented by closures, by the
/// writers in [`export`](crate::export), and by `()`, which ignores them.
pub trait Sink {
    /// `command` starts at `at`.
    fn accept(&mut self, at: Picoseconds, command: &Command, origin: Origin);
}

impl Sink for () {
    fn accept(&mut self, _: Picoseconds, _: &Command, _: Origin) {}
}

impl<F: FnMut(Picoseconds, &Command, Origin)> Sink for F {
    fn accept(&mut self, at: Picoseconds, command: &Command, origin: Origin) {
        self(at, command, origin);
    }
}

/// When a command could be issued, and why not earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The earliest legal time.
    pub at: Picoseconds,
    /// The rule that binds: a constraint's name, or `command order`.
    pub rule: &'static str,
}

/// Why an engine cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A dimension of the geometry is zero, or it has too many banks.
    #[error("a channel of {0:?} cannot be modelled; use 1 to 65536 banks and at least one row and column")]
    Geometry(Geometry),
    /// A rule relates banks, but one side addresses a whole rank.
    #[error(
        "rule `{name}` from {from} to {to} holds per {scope:?}, but an all-bank command has none; use Rank or Channel"
    )]
    Scope {
        /// The rule.
        name: &'static str,
        /// The earlier command.
        from: &'static str,
        /// The later command.
        to: &'static str,
        /// Its scope.
        scope: Scope,
    },
    /// A window rule that counts nothing or crosses ranks.
    #[error("window `{name}` of {count} per {scope:?}: count at least one command, within a rank or less")]
    Window {
        /// The rule.
        name: &'static str,
        /// How many it allows.
        count: usize,
        /// Its scope.
        scope: Scope,
    },
    /// A delay beyond any DRAM timing, which could overflow the clock.
    #[error("rule `{name}` takes {delay}, but at most {MAX_DELAY} is allowed")]
    Delay {
        /// The rule.
        name: &'static str,
        /// Its delay.
        delay: Picoseconds,
    },
    /// A refresh interval of zero.
    #[error("the refresh interval is 0 ps; use RefreshPolicy::Off for no refresh")]
    RefreshInterval,
}

/// The longest delay: one hour.
pub const MAX_DELAY: Picoseconds = Picoseconds(3_600_000_000_000_000);

/// Why a command cannot be issued: the stream breaks the DRAM protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The address does not exist.
    #[error("{command}: there is no {what} {given}; the channel has {available}")]
    OutOfRange {
        /// The command.
        command: Command,
        /// The part of its address.
        what: &'static str,
        /// Its value.
        given: u32,
        /// How many there are.
        available: u32,
    },
    /// A column command finds no open row.
    #[error("{command}: no row is open; activate row {} first", .command.at.row)]
    Closed {
        /// The command.
        command: Command,
    },
    /// A column command finds another row.
    #[error("{command}: row {open} is open; precharge it and activate row {} first", .command.at.row)]
    WrongRow {
        /// The command.
        command: Command,
        /// The row that is open.
        open: u32,
    },
    /// An activate finds an open row.
    #[error("{command}: row {open} is open; precharge it first")]
    StillOpen {
        /// The command.
        command: Command,
        /// The row that is open.
        open: u32,
    },
    /// An activation of all banks, or a refresh, finds open banks.
    #[error("{command}: {open} of the rank's banks are open; precharge all first")]
    BanksOpen {
        /// The command.
        command: Command,
        /// How many.
        open: u32,
    },
    /// A single bank is to be opened or closed while all are open as one.
    #[error("{command}: all banks are open as one, in row {row}; precharge all first")]
    OpenAsOne {
        /// The command.
        command: Command,
        /// The row of all banks.
        row: u32,
    },
    /// A given time is earlier than a rule allows.
    #[error("{command}: {at} is too early; `{rule}` allows {earliest}")]
    TooEarly {
        /// The command.
        command: Command,
        /// The time asked for.
        at: Picoseconds,
        /// The earliest legal time.
        earliest: Picoseconds,
        /// The rule that binds.
        rule: &'static str,
    },
}

/// The in-order command scheduler of one channel.
///
/// Every command is issued at the earliest time that is legal and not before
/// its predecessor's (plus a slot of the command bus). Memory does not depend
/// on the length of the stream, time per command not on the number of banks.
///
/// The clock ends at 2^64 ps, 213 days of simulated time, and stays there: what would be later is told as
/// `u64::MAX` picoseconds, which is no time.
#[derive(Debug, Clone)]
pub struct Engine {
    geometry: Geometry,
    rules: [Vec<Rule>; KINDS],
    rank_rules: [Vec<Rule>; KINDS],
    windows: [Vec<WindowState>; KINDS],
    command_slot: Picoseconds,
    refresh_interval: Option<Picoseconds>,
    refresh_due: Picoseconds,
    refreshes: u64,
    floor: Picoseconds,
    wait: Picoseconds,
    now: Picoseconds,
    /// Per place (the channel, each rank, group, bank) and kind, its last time,
    /// or [`NEVER`].
    last: Vec<[Picoseconds; KINDS]>,
    ranks: Vec<Rank>,
    banks: Vec<Bank>,
}

const KINDS: usize = Kind::ALL.len();

/// The engine's own clock starts here, [`MAX_DELAY`] after [`NEVER`]: a command
/// that never was delays nothing, without a case of its own.
const START: Picoseconds = MAX_DELAY;
const NEVER: Picoseconds = Picoseconds::ZERO;

/// A time of the engine's own clock as others see it; the end stays the end.
#[inline]
fn told(at: Picoseconds) -> Picoseconds {
    if at.0 == u64::MAX { at } else { at - START }
}

/// A constraint as the command it delays sees it.
#[derive(Debug, Clone, Copy)]
struct Rule {
    name: &'static str,
    from: Kind,
    scope: Scope,
    delay: Picoseconds,
}

#[derive(Debug, Clone)]
struct WindowState {
    rule: Window,
    /// Per place, the times of the last `count` commands.
    times: Vec<VecDeque<Picoseconds>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rank {
    /// The row that all banks opened as one.
    all: RowState,
    /// Banks that are open on their own.
    open_banks: u32,
    /// Precharging all banks starts a new epoch instead of visiting each.
    epoch: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bank {
    epoch: u64,
    row: RowState,
}

/// Where a command goes, as indices: its places by scope, and its bank.
#[derive(Debug, Clone, Copy)]
struct Site {
    /// Indices into `last`, by [`Scope`]; an all-bank command has two.
    places: [usize; 4],
    count: usize,
    rank: usize,
    bank: usize,
}

impl Engine {
    /// An idle channel at time zero, all rows closed, without refresh.
    ///
    /// # Errors
    /// [`EngineError`] if the geometry is empty or a rule makes no sense.
    pub fn new(geometry: Geometry, constraints: &Constraints) -> Result<Self, EngineError> {
        let banks = u64::from(geometry.ranks) * u64::from(geometry.bank_groups) * u64::from(geometry.banks);
        if !(1..=1 << 16).contains(&banks) || geometry.rows == 0 || geometry.columns == 0 {
            return Err(EngineError::Geometry(geometry));
        }
        let [ranks, groups] = [geometry.ranks as usize, (geometry.ranks * geometry.bank_groups) as usize];
        let banks = groups * geometry.banks as usize;
        let places = 1 + ranks + groups + banks;
        let mut engine = Self {
            geometry,
            rules: Default::default(),
            rank_rules: Default::default(),
            windows: Default::default(),
            command_slot: constraints.command_slot,
            refresh_interval: None,
            refresh_due: Picoseconds(u64::MAX),
            refreshes: 0,
            floor: START,
            wait: START,
            now: START,
            last: vec![[NEVER; KINDS]; places],
            ranks: vec![Rank::default(); ranks],
            banks: vec![Bank::default(); banks],
        };
        check_delay("command slot", constraints.command_slot)?;
        for it in &constraints.pairs {
            check_delay(it.name, it.delay)?;
            let per_bank = it.from.is_per_bank() && it.to.is_per_bank();
            if matches!(it.scope, Scope::Bank | Scope::BankGroup) && !per_bank {
                let (from, to) = (it.from.name(), it.to.name());
                return Err(EngineError::Scope { name: it.name, from, to, scope: it.scope });
            }
            let rule = Rule { name: it.name, from: it.from, scope: it.scope, delay: it.delay };
            match it.scope {
                Scope::OtherRank if ranks == 1 => {}
                Scope::OtherRank => engine.rank_rules[it.to as usize].push(rule),
                _ => add_rule(&mut engine.rules[it.to as usize], rule),
            }
        }
        for rule in &constraints.windows {
            check_delay(rule.name, rule.span)?;
            let narrow = matches!(rule.scope, Scope::Bank | Scope::BankGroup);
            if rule.count == 0 || rule.scope == Scope::OtherRank || (narrow && !rule.kind.is_per_bank()) {
                return Err(EngineError::Window { name: rule.name, count: rule.count, scope: rule.scope });
            }
            engine.windows[rule.kind as usize].push(WindowState {
                rule: *rule,
                times: vec![VecDeque::from(vec![NEVER; rule.count]); places],
            });
        }
        Ok(engine)
    }

    /// The same channel with refresh; the first is due one interval from now.
    ///
    /// # Errors
    /// [`EngineError::RefreshInterval`] if the interval is zero.
    pub fn with_refresh(mut self, policy: RefreshPolicy) -> Result<Self, EngineError> {
        (self.refresh_interval, self.refresh_due) = match policy {
            RefreshPolicy::Off => (None, Picoseconds(u64::MAX)),
            RefreshPolicy::AllBank { interval: Picoseconds::ZERO } => {
                return Err(EngineError::RefreshInterval);
            }
            RefreshPolicy::AllBank { interval } => {
                check_delay("tREFI", interval)?;
                (Some(interval), self.now + interval)
            }
        };
        Ok(self)
    }

    /// Issues `command` and returns when.
    ///
    /// # Errors
    /// [`ProtocolError`] if the address does not exist or the row state forbids
    /// it; the engine is then unchanged.
    pub fn issue(&mut self, command: Command) -> Result<Picoseconds, ProtocolError> {
        self.issue_into(command, &mut ())
    }

    /// [`Engine::issue`], showing the command, and any that refresh inserts
    /// before it, to `sink`.
    ///
    /// # Errors
    /// As [`Engine::issue`].
    #[inline]
    pub fn issue_into(
        &mut self,
        command: Command,
        sink: &mut impl Sink,
    ) -> Result<Picoseconds, ProtocolError> {
        self.check_range(&command)?;
        let site = &self.site(&command);
        self.check_row(&command, site)?;
        let mut at = self.arrival_at(command.kind, site);
        if at >= self.refresh_due {
            self.refresh_until(at, sink);
            at = self.arrival_at(command.kind, site);
        }
        if command.kind.has_column() && self.reopen(&command, site, sink) {
            at = self.arrival_at(command.kind, site);
        }
        self.record(command.kind, site, at);
        self.change_row(&command, site);
        let at = told(at);
        sink.accept(at, &command, Origin::Stream);
        Ok(at)
    }

    /// Issues `command` exactly at `at`, or not at all. Neither refreshes nor
    /// opens again what a refresh has closed.
    ///
    /// # Errors
    /// [`ProtocolError::TooEarly`] names the rule that `at` violates; otherwise
    /// as [`Engine::issue`].
    pub fn issue_at(&mut self, command: Command, at: Picoseconds) -> Result<(), ProtocolError> {
        let ready = self.earliest(&command)?;
        if at < ready.at {
            return Err(ProtocolError::TooEarly { command, at, earliest: ready.at, rule: ready.rule });
        }
        self.check_range(&command)?;
        let site = &self.site(&command);
        if command.kind.has_column() && matches!(self.row_at(site), RowState::Suspended(_)) {
            return Err(ProtocolError::Closed { command });
        }
        self.record(command.kind, site, at + START);
        self.change_row(&command, site);
        Ok(())
    }

    /// When `command` could be issued now, and which rule binds. Considers
    /// neither refreshes that become due before that nor what they closed.
    ///
    /// # Errors
    /// As [`Engine::issue`].
    pub fn earliest(&self, command: &Command) -> Result<Ready, ProtocolError> {
        self.check_range(command)?;
        let site = &self.site(command);
        self.check_row(command, site)?;
        let at = self.arrival_at(command.kind, site);
        let kind = command.kind as usize;
        let pair = || {
            let last = site.places.map(|it| &self.last[it]);
            let mut rules = self.rules[kind].iter().filter(|it| it.ready(&last) == at);
            rules.next().map(|it| it.name)
        };
        let rank = || {
            let mut rules = self.rank_rules[kind].iter().filter(|it| self.ready_across(it, site) == at);
            rules.next().map(|it| it.name)
        };
        let window = || {
            let mut windows = self.windows[kind].iter().filter(|it| it.ready(site) == at);
            windows.next().map(|it| it.rule.name)
        };
        let order = (at == self.floor.max(self.wait)).then_some("command order");
        Ok(Ready {
            at: told(at),
            rule: order.or_else(pair).or_else(rank).or_else(window).unwrap_or("command order"),
        })
    }

    /// The stream pauses: its later commands are not issued before `at`.
    /// Refreshes that become due meanwhile are done in time.
    pub fn wait_until(&mut self, at: Picoseconds) {
        self.wait = self.wait.max(at + START);
    }

    /// When the last command was issued.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        told(self.now)
    }

    /// How long a command occupies the command bus.
    #[must_use]
    pub fn command_slot(&self) -> Picoseconds {
        self.command_slot
    }

    /// How often the ranks have been refreshed by the policy.
    #[must_use]
    pub fn refreshes(&self) -> u64 {
        self.refreshes
    }

    /// The row state of a bank.
    ///
    /// # Errors
    /// [`ProtocolError::OutOfRange`] if there is no such bank.
    pub fn row(&self, bank: Address) -> Result<RowState, ProtocolError> {
        let bank = Kind::Pre.at(bank);
        self.check_range(&bank)?;
        Ok(self.row_at(&self.site(&bank)))
    }

    /// Whether the address exists.
    #[inline]
    fn check_range(&self, command: &Command) -> Result<(), ProtocolError> {
        let Address { rank, bank_group, bank, row, column } = command.at;
        let size = &self.geometry;
        let fits = rank < size.ranks
            && (!command.kind.is_per_bank() || (bank_group < size.bank_groups && bank < size.banks))
            && (!command.kind.has_row() || row < size.rows)
            && (!command.kind.has_column() || column < size.columns);
        if fits { Ok(()) } else { Err(self.out_of_range(command)) }
    }

    #[inline]
    fn site(&self, command: &Command) -> Site {
        let size = &self.geometry;
        let ranks = self.ranks.len();
        let rank = command.at.rank as usize;
        if !command.kind.is_per_bank() {
            return Site { places: [0, 1 + rank, 0, 0], count: 2, rank, bank: 0 };
        }
        let groups = ranks * size.bank_groups as usize;
        let group = rank * size.bank_groups as usize + command.at.bank_group as usize;
        let bank = group * size.banks as usize + command.at.bank as usize;
        Site { places: [0, 1 + rank, 1 + ranks + group, 1 + ranks + groups + bank], count: 4, rank, bank }
    }

    #[cold]
    fn out_of_range(&self, command: &Command) -> ProtocolError {
        let (at, size) = (command.at, self.geometry);
        let (what, given, available) = if at.rank >= size.ranks {
            ("rank", at.rank, size.ranks)
        } else if command.kind.is_per_bank() && at.bank_group >= size.bank_groups {
            ("bank group", at.bank_group, size.bank_groups)
        } else if command.kind.is_per_bank() && at.bank >= size.banks {
            ("bank", at.bank, size.banks)
        } else if command.kind.has_row() && at.row >= size.rows {
            ("row", at.row, size.rows)
        } else {
            ("column", at.column, size.columns)
        };
        ProtocolError::OutOfRange { command: *command, what, given, available }
    }

    /// Whether the row state allows `command`.
    #[inline]
    fn check_row(&self, command: &Command, site: &Site) -> Result<(), ProtocolError> {
        let command = *command;
        let rank = self.ranks[site.rank];
        match command.kind {
            Kind::Rd | Kind::Wr => open_row(command, self.row_at(site)),
            Kind::Mac | Kind::Spill => open_row(command, rank.all),
            Kind::Act | Kind::Pre => match (rank.all, self.row_at(site)) {
                (RowState::Open(row) | RowState::Suspended(row), _) => {
                    Err(ProtocolError::OpenAsOne { command, row })
                }
                (_, RowState::Open(open)) if command.kind == Kind::Act => {
                    Err(ProtocolError::StillOpen { command, open })
                }
                _ => Ok(()),
            },
            Kind::ActAll | Kind::Ref => match rank.all {
                RowState::Open(open) => Err(ProtocolError::StillOpen { command, open }),
                _ if rank.open_banks > 0 => Err(ProtocolError::BanksOpen { command, open: rank.open_banks }),
                _ => Ok(()),
            },
            Kind::PreAll | Kind::RegWrite | Kind::Alu => Ok(()),
        }
    }

    #[inline]
    fn row_at(&self, site: &Site) -> RowState {
        let (rank, bank) = (&self.ranks[site.rank], &self.banks[site.bank]);
        match rank.all {
            RowState::Closed if bank.epoch == rank.epoch => bank.row,
            all => all,
        }
    }

    /// The earliest time for a command of the stream.
    #[inline]
    fn arrival_at(&self, kind: Kind, site: &Site) -> Picoseconds {
        self.earliest_at(kind, site).max(self.wait)
    }

    #[inline]
    fn earliest_at(&self, kind: Kind, site: &Site) -> Picoseconds {
        let kind = kind as usize;
        let mut at = self.floor;
        let last = site.places.map(|it| &self.last[it]);
        for rule in &self.rules[kind] {
            at = at.max(rule.ready(&last));
        }
        for rule in &self.rank_rules[kind] {
            at = at.max(self.ready_across(rule, site));
        }
        for window in &self.windows[kind] {
            at = at.max(window.ready(site));
        }
        at
    }

    fn ready_across(&self, rule: &Rule, site: &Site) -> Picoseconds {
        let others = (0..self.ranks.len()).filter(|it| *it != site.rank);
        let last = others.map(|it| self.last[1 + it][rule.from as usize]).max();
        last.unwrap_or(NEVER) + rule.delay
    }

    #[inline]
    fn record(&mut self, kind: Kind, site: &Site, at: Picoseconds) {
        for place in &site.places[..site.count] {
            self.last[*place][kind as usize] = at;
        }
        for window in &mut self.windows[kind as usize] {
            window.record(site, at);
        }
        self.now = at;
        self.floor = at + self.command_slot;
    }

    #[inline]
    fn change_row(&mut self, command: &Command, site: &Site) {
        let rank = &mut self.ranks[site.rank];
        match command.kind {
            Kind::Act => {
                self.banks[site.bank] = Bank { epoch: rank.epoch, row: RowState::Open(command.at.row) };
                rank.open_banks += 1;
            }
            Kind::Pre => {
                let bank = &mut self.banks[site.bank];
                let open = bank.epoch == rank.epoch && matches!(bank.row, RowState::Open(_));
                rank.open_banks -= u32::from(open);
                bank.row = RowState::Closed;
            }
            Kind::ActAll => rank.close_all(RowState::Open(command.at.row)),
            Kind::PreAll => rank.close_all(RowState::Closed),
            Kind::Ref | Kind::Rd | Kind::Wr | Kind::Mac | Kind::RegWrite | Kind::Spill | Kind::Alu => {}
        }
    }

    /// Does the refreshes that are due by `at`.
    #[cold]
    fn refresh_until(&mut self, at: Picoseconds, sink: &mut impl Sink) {
        let Some(interval) = self.refresh_interval else { return };
        while self.refresh_due <= at && self.refresh_due.0 < u64::MAX {
            for rank in 0..self.geometry.ranks {
                self.refresh(rank, self.refresh_due, sink);
            }
            self.refresh_due += interval;
            self.refreshes += 1;
        }
        // Merged with the last one: a device that refreshes for longer than its
        // interval would otherwise fall behind for ever.
        if self.refresh_due <= self.now {
            let missed = (self.now.0 - self.refresh_due.0) / interval.0 + 1;
            self.refresh_due += interval * missed;
        }
    }

    fn refresh(&mut self, rank: u32, due: Picoseconds, sink: &mut impl Sink) {
        let at = Address { rank, ..Address::default() };
        let index = rank as usize;
        let site = &self.site(&Kind::Ref.at(at));
        let open = self.ranks[index].open_banks > 0 || matches!(self.ranks[index].all, RowState::Open(_));
        for kind in [Kind::PreAll, Kind::Ref].into_iter().skip(usize::from(!open)) {
            let time = self.earliest_at(kind, site).max(due);
            self.record(kind, site, time);
            sink.accept(told(time), &kind.at(at), Origin::Refresh);
        }
        let state = &mut self.ranks[index];
        state.all = state.all.suspended();
        state.open_banks = 0;
        let per_rank = self.banks.len() / self.ranks.len();
        for bank in &mut self.banks[index * per_rank..][..per_rank] {
            bank.row = bank.row.suspended();
        }
    }

    /// Opens again what a refresh has closed and `command` needs.
    #[inline]
    fn reopen(&mut self, command: &Command, site: &Site, sink: &mut impl Sink) -> bool {
        match self.row_at(site) {
            RowState::Suspended(_) => {
                self.reopen_row(command, site, sink);
                true
            }
            _ => false,
        }
    }

    #[cold]
    fn reopen_row(&mut self, command: &Command, site: &Site, sink: &mut impl Sink) {
        let as_one = self.ranks[site.rank].all != RowState::Closed;
        let kind = if as_one { Kind::ActAll } else { Kind::Act };
        let site = &if as_one { Site { count: 2, ..*site } } else { *site };
        let activate = kind.at(Address { column: 0, ..command.at });
        let at = self.arrival_at(kind, site);
        self.record(kind, site, at);
        self.change_row(&activate, site);
        sink.accept(told(at), &activate, Origin::Refresh);
    }
}

impl Rule {
    /// When it allows the command, from the last times at its places.
    #[inline]
    fn ready(&self, last: &[&[Picoseconds; KINDS]; 4]) -> Picoseconds {
        last[self.scope as usize & 3][self.from as usize] + self.delay
    }
}

impl Rank {
    #[inline]
    fn close_all(&mut self, all: RowState) {
        self.all = all;
        self.open_banks = 0;
        self.epoch += 1;
    }
}

impl RowState {
    fn suspended(self) -> Self {
        match self {
            Self::Open(row) => Self::Suspended(row),
            other => other,
        }
    }
}

impl WindowState {
    fn ready(&self, site: &Site) -> Picoseconds {
        let times = &self.times[site.places[self.rule.scope as usize & 3]];
        times.front().map_or(NEVER, |it| *it + self.rule.span)
    }

    fn record(&mut self, site: &Site, at: Picoseconds) {
        let times = &mut self.times[site.places[self.rule.scope as usize & 3]];
        times.pop_front();
        times.push_back(at);
    }
}

/// Adds a rule unless a wider one is at least as long; drops those it replaces.
fn add_rule(rules: &mut Vec<Rule>, rule: Rule) {
    let covers =
        |a: &Rule, b: &Rule| a.from == b.from && a.scope as u8 <= b.scope as u8 && a.delay >= b.delay;
    if !rules.iter().any(|it| covers(it, &rule)) {
        rules.retain(|it| !covers(&rule, it));
        rules.push(rule);
    }
}

#[inline]
fn open_row(command: Command, state: RowState) -> Result<(), ProtocolError> {
    match state {
        RowState::Open(row) | RowState::Suspended(row) if row == command.at.row => Ok(()),
        RowState::Open(open) | RowState::Suspended(open) => Err(ProtocolError::WrongRow { command, open }),
        RowState::Closed => Err(ProtocolError::Closed { command }),
    }
}

fn check_delay(name: &'static str, delay: Picoseconds) -> Result<(), EngineError> {
    if delay <= MAX_DELAY { Ok(()) } else { Err(EngineError::Delay { name, delay }) }
}
