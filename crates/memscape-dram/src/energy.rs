//! Energy from commands counted.
//!
//! Commands are counted by [`CommandCounts`]: as a [`Sink`] of the engine it counts what is
//! issued, and a closed form fills in the same numbers. A [`Meter`] turns either into energy.
//!
//! ```
//! use memscape_dram::energy::{CommandCounts, PimWork};
//! use memscape_dram::{Address, Engine, Kind, MEMORIES, constraints};
//! use memscape_study::EnergyPart;
//!
//! let dram = MEMORIES.find("ddr4-3200")?.parameters;
//! let mut engine = Engine::new(dram.geometry(), &constraints(&dram))?;
//! let mut counts = CommandCounts::default();
//! for command in [Kind::Act, Kind::Rd, Kind::Rd] {
//!     engine.issue_into(command.at(Address::default()), &mut counts)?;
//! }
//! let energy = dram.meter().expect("its energy is described").commands(&counts, &PimWork::NONE);
//! let read = energy[EnergyPart::Access].value;
//! assert!((read - 2.0 * 512.0 * dram.energy.unwrap().read_pj_per_bit.value * 1e-12).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::{Add, AddAssign, Index, IndexMut, Mul};

use memscape_study::{Energy, EnergyPart, Estimate, Grade, Graded, Trend, lowers, raises};
use memscape_units::{Nanoseconds, Picoseconds};

use crate::constraint::Kind;
use crate::device::Dram;
use crate::engine::{Command, Origin, Sink};
use crate::figures::DramEnergy;

/// How many commands of each kind one channel gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandCounts([u64; Kind::ALL.len()]);

impl Index<Kind> for CommandCounts {
    type Output = u64;
    fn index(&self, kind: Kind) -> &u64 {
        &self.0[kind as usize]
    }
}

impl IndexMut<Kind> for CommandCounts {
    fn index_mut(&mut self, kind: Kind) -> &mut u64 {
        &mut self.0[kind as usize]
    }
}

impl FromIterator<(Kind, u64)> for CommandCounts {
    fn from_iter<I: IntoIterator<Item = (Kind, u64)>>(counts: I) -> Self {
        let mut all = Self::default();
        for (kind, count) in counts {
            all[kind] += count;
        }
        all
    }
}

impl AddAssign for CommandCounts {
    fn add_assign(&mut self, other: Self) {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            *mine += others;
        }
    }
}

impl Add for CommandCounts {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// So many times.
impl Mul<u64> for CommandCounts {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.map(|it| it * times))
    }
}

/// Counts what is issued, by whomever.
impl Sink for CommandCounts {
    fn accept(&mut self, _: Picoseconds, command: &Command, _: Origin) {
        self[command.kind] += 1;
    }
}

/// What a PIM unit adds to its bank's accesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PimWork {
    /// Units that read, multiply and write at a command, in each channel.
    pub units: f64,
    /// Bits that a unit works on at each command.
    pub word_bits: f64,
    /// What a multiply-accumulate takes for each bit of its weight; an operation on registers
    /// is taken for as much.
    pub mac_pj_per_bit: Graded,
}

impl PimWork {
    /// No units.
    pub const NONE: Self = Self {
        units: 0.0,
        word_bits: 0.0,
        mac_pj_per_bit: Graded { value: 0.0, within: 1.0, grade: Grade::Printed },
    };
}

/// What more of a memory's energy, as `memory` of a study, does to all that it takes. More of a read's energy at
/// the bank is less on the way that register writes take, so that its share has no direction.
pub const TRENDS: &[Trend] = &[
    raises("memory.energy.activate*", "energy_j"),
    raises("memory.energy.read*", "energy_j"),
    raises("memory.energy.write*", "energy_j"),
    raises("memory.energy.io*", "energy_j"),
    raises("memory.energy.refresh*", "energy_j"),
    raises("memory.energy.standby*", "energy_j"),
    lowers("memory.trefi_ns", "energy_refresh_j"),
];

/// What a memory takes for commands, streams and time.
#[derive(Debug, Clone, Copy)]
pub struct Meter<'a> {
    dram: &'a Dram,
    takes: &'a DramEnergy,
}

impl Dram {
    /// What it takes, if that is described.
    #[must_use]
    pub fn meter(&self) -> Option<Meter<'_>> {
        self.energy.as_ref().map(|takes| Meter { dram: self, takes })
    }
}

impl Meter<'_> {
    /// The commands of one channel. Refreshes are those counted; standby is [`Meter::standby`].
    ///
    /// An activate counts with the precharge that follows it. A command to all banks is one in
    /// each. A PIM command reads or writes at the bank and spares the way to the pins; a register
    /// write takes the way from the pins to one bank at least, and to all of them at most.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn commands(&self, counts: &CommandCounts, pim: &PimWork) -> Energy {
        let Self { dram, takes } = self;
        let banks = f64::from(dram.banks_per_channel.get() / dram.ranks.get().max(1));
        let count = |kind| counts[kind] as f64;
        let [row, column] = [dram.row_bytes.get(), dram.column_bytes()].map(|it| f64::from(it) * 8.0);
        let bits = |it: &Graded, bits: f64| it.times(bits * PJ);
        let near = takes.bank_share.share();
        let at_bank = |it: &Graded, bits: f64| it.times(bits * PJ) * near;
        let on_way = |it: &Graded, bits: f64| it.times(bits * PJ) * near.rest();

        let opened = row * (count(Kind::Act) + count(Kind::ActAll) * banks);
        let (read, written) = (column * count(Kind::Rd), column * count(Kind::Wr));
        let [near_read, near_written] = [Kind::Mac, Kind::Spill].map(|it| column * count(it) * pim.units);
        let broadcast = column * count(Kind::RegWrite);
        let to_banks = on_way(&takes.write_pj_per_bit, broadcast);
        let computed = pim.word_bits * pim.units * (count(Kind::Mac) + count(Kind::Alu));

        let mut energy = Energy::ZERO;
        energy[EnergyPart::Activate] = bits(&takes.activate_pj_per_bit, opened);
        energy[EnergyPart::Access] = bits(&takes.read_pj_per_bit, read)
            + bits(&takes.write_pj_per_bit, written)
            + at_bank(&takes.read_pj_per_bit, near_read)
            + at_bank(&takes.write_pj_per_bit, near_written)
            + to_banks.up_to(to_banks * pim.units.max(1.0));
        energy[EnergyPart::Io] = bits(&takes.io_pj_per_bit, read + written + broadcast);
        energy[EnergyPart::Compute] = bits(&pim.mac_pj_per_bit, computed);
        energy[EnergyPart::Refresh] = self.refreshed(count(Kind::Ref) / self.ranks());
        energy
    }

    /// Data through the pins, all channels together, in bytes; of a row that is opened, so many
    /// bytes are read or written before another is.
    #[must_use]
    pub fn stream(&self, read: f64, written: f64, run_bytes: f64) -> Energy {
        let takes = self.takes;
        let [read, written] = [read, written].map(|it| it * 8.0);
        let row = f64::from(self.dram.row_bytes.get());
        let opened = (read + written) * (row / run_bytes.clamp(1.0, row));
        let mut energy = Energy::ZERO;
        energy[EnergyPart::Activate] = takes.activate_pj_per_bit.times(opened * PJ);
        energy[EnergyPart::Access] =
            takes.read_pj_per_bit.times(read * PJ) + takes.write_pj_per_bit.times(written * PJ);
        energy[EnergyPart::Io] = takes.io_pj_per_bit.times((read + written) * PJ);
        energy
    }

    /// The same, where rows are used up before they are left.
    #[must_use]
    pub fn stream_of_rows(&self, read: f64, written: f64) -> Energy {
        self.stream(read, written, f64::from(self.dram.row_bytes.get()))
    }

    /// What units at banks read for themselves, in bytes: whole rows, which do not take the way to the pins.
    #[must_use]
    pub fn stream_at_banks(&self, read: f64) -> Energy {
        let mut energy = self.stream_of_rows(read, 0.0);
        energy[EnergyPart::Access] = energy[EnergyPart::Access] * self.takes.bank_share.share();
        energy[EnergyPart::Io] = Estimate::ZERO;
        energy
    }

    /// All ranks of all channels, as long as it takes.
    #[must_use]
    pub fn standby(&self, time: Nanoseconds) -> Energy {
        let joules = self.takes.standby_mw.times(self.ranks() * time.as_f64() * MW_NS);
        Energy::of(EnergyPart::Standby, joules)
    }

    /// What the memory takes as long as this, whatever it does; `refresh` with refreshes at their interval.
    #[must_use]
    pub fn idle(&self, time: Nanoseconds, refresh: bool) -> Energy {
        let standby = self.standby(time);
        if refresh { standby + self.refresh(time) } else { standby }
    }

    /// Commands that every channel gets.
    ///
    /// * `units`: PIM units of a channel, each of which works on a word of a column access
    #[must_use]
    pub fn commands_of_all(&self, counts: &CommandCounts, units: f64, mac_pj_per_bit: Graded) -> Energy {
        let word_bits = f64::from(self.dram.column_bytes()) * 8.0;
        let channels = f64::from(self.dram.channels.get());
        self.commands(counts, &PimWork { units, word_bits, mac_pj_per_bit }) * channels
    }

    /// Refreshing all ranks of all channels at their interval, as long as it takes.
    #[must_use]
    pub fn refresh(&self, time: Nanoseconds) -> Energy {
        Energy::of(EnergyPart::Refresh, self.refreshed(time.as_f64() / self.dram.trefi_ns.as_f64()))
    }

    /// All bits, so many times.
    #[expect(clippy::cast_precision_loss, reason = "bits in ratio")]
    fn refreshed(&self, times: f64) -> Estimate {
        let gbit = self.dram.capacity().0 as f64 * 8.0 / GBIT;
        self.takes.refresh_nj_per_gbit.times(gbit * times * NJ)
    }

    fn ranks(&self) -> f64 {
        f64::from(self.dram.channels.get()) * f64::from(self.dram.ranks.get())
    }
}

/// Of a link that takes so much per bit, for so many bytes.
#[must_use]
pub fn of_link(pj_per_bit: &Graded, bytes: f64) -> Energy {
    Energy::of(EnergyPart::Link, pj_per_bit.times(bytes * 8.0 * PJ))
}

/// Joules of a picojoule, of a nanojoule, and of a milliwatt for a nanosecond.
const PJ: f64 = 1e-12;
const NJ: f64 = 1e-9;
const MW_NS: f64 = 1e-12;

/// Bits of a Gbit, as chips are sold.
const GBIT: f64 = 1_073_741_824.0;
