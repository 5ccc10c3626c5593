//! DRAM devices as data: what a datasheet prints, checked.

use std::num::NonZeroU32;

use memscape_study::{Catalog, Graded};
use memscape_units::{Bytes, GbPerS, MtPerS, Nanoseconds, Picoseconds, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::DramEnergy;

/// A memory system of equal DRAM channels: its organisation and its timing.
///
/// Numbers only, so that a study can hold and sweep one. What follows from
/// others may be left out and is then derived, so that each can be swept alone.
/// Timings are the minima of the datasheet, not rounded to clock cycles; see
/// [`Dram::in_whole_cycles`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Channels; each has its own command and data bus.
    #[schemars(range(min = 1, max = 65_536))]
    pub channels: NonZeroU32,
    /// Ranks of one channel, which share its buses; a power of two.
    #[schemars(range(min = 1, max = 65_536))]
    pub ranks: NonZeroU32,
    /// Bank groups of one rank, 1 if the device has none; a power of two.
    #[schemars(range(min = 1, max = 65_536))]
    pub bank_groups: NonZeroU32,
    /// All banks of one channel, over its ranks and bank groups; a power of two.
    #[schemars(range(min = 1, max = 65_536))]
    pub banks_per_channel: NonZeroU32,
    /// Rows of one bank.
    pub rows: NonZeroU32,
    /// Bytes of one row of one bank, over the chips that work in lockstep; a power of two.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub row_bytes: NonZeroU32,
    /// Bytes of one column access: one burst, which is what it is if left out
    #[serde(default)]
    pub column_bytes: Option<NonZeroU32>,
    /// Width of one channel's data bus, in bits; a power of two.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub bus_bits: NonZeroU32,
    /// Transfers of one burst; a power of two (LPDDR6's 24 of 12 bits carry 32 bytes of data, as 16 of 16 bits do).
    #[schemars(range(min = 1, max = 1_048_576))]
    pub burst_length: NonZeroU32,
    /// Transfers per second of one data pin, in millions.
    pub data_rate_mt_s: MtPerS,
    /// Transfers of one data pin in one period of the command clock (CK): 2 for DDR and HBM, 8 for
    /// LPDDR5 with WCK:CK = 4:1
    #[schemars(range(min = 1, max = 1024))]
    pub transfers_per_clock: NonZeroU32,
    /// Period of the command clock (CK); leave out for transfers per clock over the data rate
    #[serde(default)]
    pub tck_ns: Option<Nanoseconds>,
    /// Activate to column command, same bank.
    pub trcd_ns: Nanoseconds,
    /// Precharge of one bank to its next activate.
    pub trp_ns: Nanoseconds,
    /// Precharge of all banks to the next activate.
    pub trp_ab_ns: Nanoseconds,
    /// Activate to precharge, same bank.
    pub tras_ns: Nanoseconds,
    /// Activate to activate, same bank; leave out for tRAS + tRP.
    #[serde(default)]
    pub trc_ns: Option<Nanoseconds>,
    /// Write recovery: end of the written burst to precharge.
    pub twr_ns: Nanoseconds,
    /// Read command to precharge, same bank.
    pub trtp_ns: Nanoseconds,
    /// Read command to its data.
    pub cl_ns: Nanoseconds,
    /// Write command to its data.
    pub cwl_ns: Nanoseconds,
    /// Column command to column command, other bank group; the burst if left out or shorter
    #[serde(default)]
    pub tccd_s_ns: Option<Nanoseconds>,
    /// Column command to column command, same bank group; leave out for two bursts, or `tCCD_S`
    /// without bank groups
    #[serde(default)]
    pub tccd_l_ns: Option<Nanoseconds>,
    /// Activate to activate, other bank group.
    pub trrd_s_ns: Nanoseconds,
    /// Activate to activate, other bank of the same bank group.
    pub trrd_l_ns: Nanoseconds,
    /// Window that holds at most four activates of one rank.
    pub tfaw_ns: Nanoseconds,
    /// End of the written burst to a read, other bank group.
    pub twtr_s_ns: Nanoseconds,
    /// End of the written burst to a read, same bank group.
    pub twtr_l_ns: Nanoseconds,
    /// Read command to write command; leave out for the time the data bus
    /// needs, CL + burst + 2 tCK - CWL.
    #[serde(default)]
    pub trtw_ns: Option<Nanoseconds>,
    /// Idle data bus between bursts of different ranks.
    pub trtrs_ns: Nanoseconds,
    /// Average interval of refresh commands.
    pub trefi_ns: Nanoseconds,
    /// All-bank refresh to the next command of the rank.
    pub trfc_ab_ns: Nanoseconds,
    /// What it takes of energy; null where nothing is known of it
    #[serde(default)]
    pub energy: Option<DramEnergy>,
}

/// What one channel consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Ranks of the channel.
    pub ranks: u32,
    /// Bank groups of one rank.
    pub bank_groups: u32,
    /// Banks of one bank group.
    pub banks: u32,
    /// Rows of one bank.
    pub rows: u32,
    /// Columns of one row.
    pub columns: u32,
}

/// Why there is no such device.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DramError {
    /// Two numbers of the description contradict each other.
    #[error("DRAM rule `{rule}` does not hold: {found}; {hint}")]
    Inconsistent {
        /// The rule.
        rule: &'static str,
        /// The numbers that break it.
        found: String,
        /// What to change.
        hint: &'static str,
    },
}

/// Why there is no such device, and of which part of a machine it is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{path}`: {error}")]
pub struct MemoryError {
    path: &'static str,
    error: DramError,
}

impl DramError {
    /// The same of the memory that a study has at `path`.
    #[must_use]
    pub const fn at(self, path: &'static str) -> MemoryError {
        MemoryError { path, error: self }
    }
}

/// DRAM devices: those of `data/hardware/dram`, and the form of a user's own.
///
/// ```
/// use memscape_dram::MEMORIES;
///
/// assert_eq!(MEMORIES.find("lpddr5x-7500")?.parameters.peak_gb_s().as_f64(), 120.0);
/// let error = MEMORIES.find("ddr4-320").unwrap_err();
/// assert_eq!(error.to_string(), "there is no memory `ddr4-320`; did you mean `ddr4-3200`?");
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
pub static MEMORIES: Catalog<Dram> = Catalog::new("memory", "DRAM devices", FILES)
    .checked_by(|it| it.check().map_err(|error| error.to_string()));

const FILES: &[&str] = &[
    include_str!("../../../data/hardware/dram/lpddr5x-7500.toml"),
    include_str!("../../../data/hardware/dram/lpddr5x-8533.toml"),
    include_str!("../../../data/hardware/dram/lpddr5-6400.toml"),
    include_str!("../../../data/hardware/dram/ddr4-3200.toml"),
    include_str!("../../../data/hardware/dram/ddr4-3200-4ch.toml"),
    include_str!("../../../data/hardware/dram/hbm2-2000.toml"),
    include_str!("../../../data/hardware/dram/ndp-dimm-rank.toml"),
];

/// A timing that may contradict others, and gives way to them for who depends on nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yielding {
    /// `trp_ab_ns`, to `trp_ns`.
    TrpAb,
    /// `trrd_s_ns`, to `trrd_l_ns` and `tfaw_ns`.
    TrrdS,
    /// `twtr_s_ns`, to `twtr_l_ns`.
    TwtrS,
    /// `trefi_ns`, to what a refresh and a row take.
    Trefi,
}

/// Those that nothing depends on where rows are only read.
pub const UNUSED_BY_READS: &[Yielding] = &[Yielding::TrpAb, Yielding::TrrdS, Yielding::TwtrS];

/// The same where all banks of a channel do the same at the same time.
pub const UNUSED_BY_ALL_BANKS: &[Yielding] = &[Yielding::TrrdS, Yielding::TwtrS];

impl Dram {
    /// Checks that the numbers can describe one device.
    ///
    /// `tRRD_S` alone puts the fifth activate 4 `tRRD_S` after the first, so a
    /// shorter four-activate window could never bind. Datasheets print none: it
    /// is a slip of unit or column, and the rule is `tFAW >= 4 tRRD_S`.
    ///
    /// A controller rounds timings up to clocks ([`Dram::in_whole_cycles`]); here
    /// they may be any, so that the data rate can change alone.
    ///
    /// # Errors
    /// [`DramError::Inconsistent`] with the first rule that fails and its numbers.
    pub fn check(&self) -> Result<(), DramError> {
        self.check_organisation()?;
        self.check_magnitudes()?;
        self.check_clock()?;
        self.check_order()?;
        self.check_energy()
    }

    /// Checks the numbers for who only moves bursts and waits for refreshes, and cannot change what rows take.
    ///
    /// # Errors
    /// As [`Dram::check`].
    pub fn check_bursts(&self) -> Result<(), DramError> {
        self.check_organisation()?;
        self.check_magnitudes()?;
        self.check_clock()?;
        rule(
            self.trfc_ab_ns.to_picoseconds() < self.trefi_ns.to_picoseconds(),
            "tRFCab < tREFI",
            "the device would only refresh; check the units",
            || format!("trfc_ab_ns = {}, but trefi_ns = {}", self.trfc_ab_ns, self.trefi_ns),
        )?;
        self.check_energy()
    }

    /// The same device for who depends on nothing of the `unused` timings: those that could contradict another
    /// give way to it, since a user who changes that one cannot change both.
    #[must_use]
    pub fn easing(mut self, unused: &[Yielding]) -> Self {
        let quarter = Nanoseconds::new(self.tfaw_ns.as_f64() / 4.0).unwrap_or(self.tfaw_ns);
        for it in unused {
            match it {
                Yielding::TrpAb => self.trp_ab_ns = self.trp_ab_ns.max(self.trp_ns),
                Yielding::TrrdS => self.trrd_s_ns = self.trrd_s_ns.min(self.trrd_l_ns).min(quarter),
                Yielding::TwtrS => self.twtr_s_ns = self.twtr_s_ns.min(self.twtr_l_ns),
                Yielding::Trefi => {
                    let between = self.trp_ab_ns + self.trfc_ab_ns + self.tras_ns;
                    self.trefi_ns = self.trefi_ns.max(between + self.tck());
                }
            }
        }
        self
    }

    fn check_organisation(&self) -> Result<(), DramError> {
        let powers = [
            ("ranks", self.ranks),
            ("bank_groups", self.bank_groups),
            ("banks_per_channel", self.banks_per_channel),
            ("row_bytes", self.row_bytes),
            ("bus_bits", self.bus_bits),
            ("burst_length", self.burst_length),
        ];
        for (name, value) in powers {
            rule(value.is_power_of_two(), "sizes are powers of two", "change it to a power of two", || {
                format!("{name} = {value}")
            })?;
        }
        let groups = u64::from(self.ranks.get()) * u64::from(self.bank_groups.get());
        rule(
            u64::from(self.banks_per_channel.get()).is_multiple_of(groups),
            "banks_per_channel is a multiple of ranks x bank_groups",
            "use more banks, or fewer ranks or bank groups",
            || format!("{} banks over {} x {}", self.banks_per_channel, self.ranks, self.bank_groups),
        )?;
        rule(
            self.banks_per_channel.get() <= 1 << 16,
            "banks_per_channel <= 65536",
            "use fewer banks",
            || format!("banks_per_channel = {}", self.banks_per_channel),
        )?;
        let burst_bits = u64::from(self.bus_bits.get()) * u64::from(self.burst_length.get());
        rule(
            (8..=1 << 31).contains(&burst_bits),
            "a burst is 1 byte to 256 MiB",
            "change bus_bits or burst_length",
            || format!("{} bits x {}", self.bus_bits, self.burst_length),
        )?;
        if let Some(given) = self.column_bytes {
            rule(
                burst_bits == 8 * u64::from(given.get()),
                "column_bytes = bus_bits x burst_length / 8",
                "change one of the three, or leave column_bytes out",
                || format!("{given} B, but {} x {} / 8", self.bus_bits, self.burst_length),
            )?;
        }
        rule(
            self.column_bytes() <= self.row_bytes.get(),
            "column_bytes <= row_bytes",
            "use longer rows or shorter bursts",
            || format!("{} B > {} B", self.column_bytes(), self.row_bytes),
        )?;
        rule(
            self.wide_capacity() <= 1 << 60,
            "capacity <= 2^60 bytes",
            "use fewer channels, banks or rows",
            || format!("{} bytes", self.wide_capacity()),
        )
    }

    /// Keeps every sum of timings far from the end of a 64-bit clock.
    fn check_magnitudes(&self) -> Result<(), DramError> {
        const LONGEST_NS: f64 = 1e9;
        // A picosecond, below which the engine's clock sees nothing.
        const SHORTEST_NS: f64 = 1e-3;
        for (name, time) in self.timings() {
            let ns = time.as_f64();
            rule(
                ns == 0.0 || (SHORTEST_NS..=LONGEST_NS).contains(&ns),
                "a timing is 0, or from 0.001 to 1e9 ns",
                "give it in nanoseconds, not in seconds",
                || format!("{name} = {ns:e} ns"),
            )?;
        }
        rule(
            (1.0..=1e6).contains(&self.data_rate_mt_s.as_f64()),
            "data_rate_mt_s is in 1..=1e6",
            "give it in millions of transfers per second",
            || format!("{} MT/s", self.data_rate_mt_s.as_f64()),
        )?;
        rule(
            self.transfers_per_clock.get() <= 1024,
            "transfers_per_clock <= 1024",
            "use 2 for DDR and HBM, 8 for LPDDR5",
            || format!("transfers_per_clock = {}", self.transfers_per_clock),
        )?;
        for (name, time) in [("the burst", self.burst()), ("tck_ns", self.tck()), ("trefi_ns", self.trefi_ns)]
        {
            rule(
                time.to_picoseconds() > Picoseconds::ZERO,
                "the burst, tCK and tREFI are above 0",
                "give times in nanoseconds",
                || format!("{name} = {time}"),
            )?;
        }
        Ok(())
    }

    fn check_clock(&self) -> Result<(), DramError> {
        let Some(given) = self.tck_ns else { return Ok(()) };
        let transfers = self.data_rate_mt_s.as_f64() * given.as_f64() * 1e-3;
        // Printed periods have few digits.
        rule(
            (transfers - f64::from(self.transfers_per_clock.get())).abs() < 5e-3,
            "tCK = transfers_per_clock / data rate",
            "leave tck_ns out, or change one of the three",
            || {
                let rate = self.data_rate_mt_s.as_f64();
                format!("{given} x {rate} MT/s = {transfers:.4}, but {} are given", self.transfers_per_clock)
            },
        )
    }

    fn check_order(&self) -> Result<(), DramError> {
        let at_least =
            |rule_name, (name, value): (&str, Nanoseconds), (bound, least): (&str, Nanoseconds)| {
                // Sums of decimal fractions miss by an ulp; a picosecond is exact.
                let holds = value >= least || value.to_picoseconds() >= least.to_picoseconds();
                rule(holds, rule_name, "change one of them", || {
                    format!("{name} = {value}, but {bound} = {least}")
                })
            };
        at_least(
            "tRC >= tRAS + tRP",
            ("trc_ns", self.trc()),
            ("tras_ns + trp_ns", self.tras_ns + self.trp_ns),
        )?;
        at_least("tRAS >= tRCD", ("tras_ns", self.tras_ns), ("trcd_ns", self.trcd_ns))?;
        at_least("tRPab >= tRP", ("trp_ab_ns", self.trp_ab_ns), ("trp_ns", self.trp_ns))?;
        at_least("tRRD_L >= tRRD_S", ("trrd_l_ns", self.trrd_l_ns), ("trrd_s_ns", self.trrd_s_ns))?;
        at_least("tWTR_L >= tWTR_S", ("twtr_l_ns", self.twtr_l_ns), ("twtr_s_ns", self.twtr_s_ns))?;
        let four = self.trrd_s_ns + self.trrd_s_ns + self.trrd_s_ns + self.trrd_s_ns;
        at_least("tFAW >= 4 tRRD_S", ("tfaw_ns", self.tfaw_ns), ("4 trrd_s_ns", four))?;
        // A row that is opened in between must be written back before the next one.
        let refresh = self.trp_ab_ns + self.trfc_ab_ns + self.tras_ns;
        rule(
            refresh.to_picoseconds() < self.trefi_ns.to_picoseconds(),
            "tRPab + tRFCab + tRAS < tREFI",
            "the device would only refresh; check the units",
            || format!("trp_ab_ns + trfc_ab_ns + tras_ns = {refresh}, but trefi_ns = {}", self.trefi_ns),
        )
    }

    fn check_energy(&self) -> Result<(), DramError> {
        let fault = self.energy.as_ref().and_then(DramEnergy::fault);
        let Some((name, Graded { value, within, .. })) = fault else { return Ok(()) };
        rule(
            false,
            "an energy is at least 0, known within a factor of at least 1, and a share is at most 1",
            "give what is known of it, or leave `energy` out",
            || format!("energy.{name} = {value} within {within}"),
        )
    }

    /// Every timing that is given, by its parameter's name.
    fn timings(&self) -> impl Iterator<Item = (&'static str, Nanoseconds)> {
        let optional = [
            ("tck_ns", self.tck_ns),
            ("trc_ns", self.trc_ns),
            ("tccd_s_ns", self.tccd_s_ns),
            ("tccd_l_ns", self.tccd_l_ns),
            ("trtw_ns", self.trtw_ns),
        ];
        [
            ("trcd_ns", self.trcd_ns),
            ("trp_ns", self.trp_ns),
            ("trp_ab_ns", self.trp_ab_ns),
            ("tras_ns", self.tras_ns),
            ("twr_ns", self.twr_ns),
            ("trtp_ns", self.trtp_ns),
            ("cl_ns", self.cl_ns),
            ("cwl_ns", self.cwl_ns),
            ("trrd_s_ns", self.trrd_s_ns),
            ("trrd_l_ns", self.trrd_l_ns),
            ("tfaw_ns", self.tfaw_ns),
            ("twtr_s_ns", self.twtr_s_ns),
            ("twtr_l_ns", self.twtr_l_ns),
            ("trtrs_ns", self.trtrs_ns),
            ("trefi_ns", self.trefi_ns),
            ("trfc_ab_ns", self.trfc_ab_ns),
        ]
        .into_iter()
        .chain(optional.into_iter().filter_map(|(name, time)| Some((name, time?))))
    }

    /// The same device as a controller drives it that issues commands on clock
    /// edges only: every minimum rounded up to whole clock cycles, the refresh
    /// interval rounded down. Where rounding makes four `tRRD_S` longer than tFAW,
    /// tFAW, which then no longer binds, is raised to them.
    ///
    /// # Errors
    /// [`UnitError`] if a rounded time is no longer a finite number, which a
    /// checked device excludes.
    pub fn in_whole_cycles(&self) -> Result<Self, UnitError> {
        let cycle = self.tck().as_f64();
        // A value that is a whole number but for its last printed digit is one.
        let up = |it: Nanoseconds| Nanoseconds::new((it.as_f64() / cycle - 1e-3).ceil().max(0.0) * cycle);
        let down = |it: Nanoseconds| Nanoseconds::new((it.as_f64() / cycle + 1e-3).floor() * cycle);
        let trrd_s_ns = up(self.trrd_s_ns)?;
        let four_activates = Nanoseconds::new(4.0 * trrd_s_ns.as_f64())?;
        let tfaw_ns = up(self.tfaw_ns)?;
        Ok(Self {
            trcd_ns: up(self.trcd_ns)?,
            trp_ns: up(self.trp_ns)?,
            trp_ab_ns: up(self.trp_ab_ns)?,
            tras_ns: up(self.tras_ns)?,
            trc_ns: self.trc_ns.map(up).transpose()?,
            twr_ns: up(self.twr_ns)?,
            trtp_ns: up(self.trtp_ns)?,
            cl_ns: up(self.cl_ns)?,
            cwl_ns: up(self.cwl_ns)?,
            tccd_s_ns: self.tccd_s_ns.map(up).transpose()?,
            tccd_l_ns: self.tccd_l_ns.map(up).transpose()?,
            trrd_s_ns,
            trrd_l_ns: up(self.trrd_l_ns)?,
            tfaw_ns: if tfaw_ns < four_activates { four_activates } else { tfaw_ns },
            twtr_s_ns: up(self.twtr_s_ns)?,
            twtr_l_ns: up(self.twtr_l_ns)?,
            trtw_ns: self.trtw_ns.map(up).transpose()?,
            trtrs_ns: up(self.trtrs_ns)?,
            trefi_ns: down(self.trefi_ns)?,
            trfc_ab_ns: up(self.trfc_ab_ns)?,
            ..*self
        })
    }

    /// The same device on a clock of whole picoseconds, the next longer one, and in whole cycles of
    /// it ([`Dram::in_whole_cycles`]): what a trace in clocks tells.
    ///
    /// # Errors
    /// As [`Dram::in_whole_cycles`].
    pub fn on_whole_clock(&self) -> Result<Self, UnitError> {
        // What is whole but for rounding is whole.
        let picoseconds = (self.tck().as_f64() * 1e3 - 1e-6).ceil();
        let data_rate_mt_s = MtPerS::new(f64::from(self.transfers_per_clock.get()) * 1e6 / picoseconds)?;
        Self { data_rate_mt_s, tck_ns: None, ..*self }.in_whole_cycles()
    }

    /// What one channel consists of.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        Geometry {
            ranks: self.ranks.get(),
            bank_groups: self.bank_groups.get(),
            banks: self.banks_per_group(),
            rows: self.rows.get(),
            columns: self.columns_per_row(),
        }
    }

    /// Banks of one bank group.
    #[must_use]
    pub fn banks_per_group(&self) -> u32 {
        self.banks_per_channel.get() / self.ranks.get() / self.bank_groups.get()
    }

    /// Banks of all channels.
    #[must_use]
    pub fn total_banks(&self) -> u64 {
        u64::from(self.channels.get()) * u64::from(self.banks_per_channel.get())
    }

    /// Bytes of the same row of all banks of all channels.
    #[must_use]
    pub fn row_of_all_banks(&self) -> Bytes {
        Bytes(self.total_banks().saturating_mul(u64::from(self.row_bytes.get())))
    }

    /// Column accesses that read one row.
    #[must_use]
    pub fn columns_per_row(&self) -> u32 {
        self.row_bytes.get() / self.column_bytes()
    }

    /// Bytes of one column access: one burst over the data bus.
    #[must_use]
    pub fn column_bytes(&self) -> u32 {
        (self.bus_bits.get().saturating_mul(self.burst_length.get()) / 8).max(1)
    }

    /// Bytes of all channels; saturates where [`Dram::check`] would refuse.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::try_from(self.wide_capacity()).unwrap_or(u64::MAX))
    }

    fn wide_capacity(&self) -> u128 {
        let bank = u128::from(self.rows.get()) * u128::from(self.row_bytes.get());
        bank.saturating_mul(u128::from(self.total_banks()))
    }

    /// Peak bandwidth of one channel's data bus.
    ///
    /// # Panics
    /// Never: the product of positive numbers is positive.
    #[must_use]
    pub fn channel_gb_s(&self) -> GbPerS {
        self.bandwidth_of(1)
    }

    /// Peak bandwidth of all channels' data buses.
    #[must_use]
    pub fn peak_gb_s(&self) -> GbPerS {
        self.bandwidth_of(self.channels.get())
    }

    fn bandwidth_of(&self, channels: u32) -> GbPerS {
        let bytes = f64::from(self.bus_bits.get()) / 8.0 * f64::from(channels);
        // Only rates beyond the range of f64, which `check` refuses, are clamped.
        let rate = (bytes * self.data_rate_mt_s.as_f64() * 1e-3).clamp(f64::MIN_POSITIVE, f64::MAX);
        GbPerS::new(rate).expect("clamped to finite positive numbers")
    }

    /// How long one burst occupies the data bus.
    #[must_use]
    pub fn burst(&self) -> Nanoseconds {
        self.data_rate_mt_s.time_of(self.burst_length.get())
    }

    /// Period of the command clock: transfers per clock over the data rate.
    #[must_use]
    pub fn tck(&self) -> Nanoseconds {
        self.data_rate_mt_s.time_of(self.transfers_per_clock.get())
    }

    /// `tCCD_S`: the burst, unless the device declares more.
    #[must_use]
    pub fn tccd_s(&self) -> Nanoseconds {
        self.burst().max(self.tccd_s_ns.unwrap_or(Nanoseconds::ZERO))
    }

    /// `tCCD_L`: what the device declares, else two bursts (one without bank
    /// groups); never less than `tCCD_S`.
    ///
    /// # Source
    /// JEDEC LPDDR5 in bank-group mode: two bursts of 16, 4 CK. Bank groups exist
    /// because a bank takes twice the time of a burst.
    #[must_use]
    pub fn tccd_l(&self) -> Nanoseconds {
        let bursts = if self.bank_groups.get() > 1 { self.burst() + self.burst() } else { self.burst() };
        self.tccd_s().max(self.tccd_l_ns.unwrap_or(bursts))
    }

    /// tRC: activate to activate of the same bank.
    #[must_use]
    pub fn trc(&self) -> Nanoseconds {
        self.trc_ns.unwrap_or(self.tras_ns + self.trp_ns)
    }

    /// Mean time between activates of a rank whose bank groups take turns: a quarter of the window of
    /// four, which holds four `tRRD_S`, or `tRRD_L` shared by the bank groups.
    #[must_use]
    pub fn activate_ns(&self) -> f64 {
        let of_group = self.trrd_l_ns.as_f64() / f64::from(self.bank_groups.get());
        of_group.max(self.tfaw_ns.as_f64() / 4.0)
    }

    /// tRTW: read command to write command.
    #[must_use]
    pub fn trtw(&self) -> Nanoseconds {
        self.trtw_ns
            .unwrap_or_else(|| minus(self.cl_ns + self.burst() + self.tck() + self.tck(), self.cwl_ns))
    }

    /// Write command to precharge: CWL + burst + tWR.
    #[must_use]
    pub fn write_to_precharge(&self) -> Nanoseconds {
        self.cwl_ns + self.burst() + self.twr_ns
    }

    /// Write command to read command of another bank group: CWL + burst + `tWTR_S`.
    #[must_use]
    pub fn write_to_read_s(&self) -> Nanoseconds {
        self.cwl_ns + self.burst() + self.twtr_s_ns
    }

    /// Write command to read command of the same bank group: CWL + burst + `tWTR_L`.
    #[must_use]
    pub fn write_to_read_l(&self) -> Nanoseconds {
        self.cwl_ns + self.burst() + self.twtr_l_ns
    }

    /// Share of time a rank spends in all-bank refresh, tRFCab / tREFI: the
    /// least that refresh costs.
    #[must_use]
    pub fn refresh_share(&self) -> f64 {
        self.trfc_ab_ns.as_f64() / self.trefi_ns.as_f64()
    }
}

/// `a - b`, or nothing where `b` is longer.
pub(crate) fn minus(a: Nanoseconds, b: Nanoseconds) -> Nanoseconds {
    Nanoseconds::new((a.as_f64() - b.as_f64()).max(0.0)).unwrap_or(a)
}

fn rule(
    holds: bool,
    rule: &'static str,
    hint: &'static str,
    found: impl FnOnce() -> String,
) -> Result<(), DramError> {
    if holds { Ok(()) } else { Err(DramError::Inconsistent { rule, found: found(), hint }) }
}
