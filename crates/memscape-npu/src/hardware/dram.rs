//! The path from DRAM to the array, as the array sees it.

use std::num::NonZeroU16;

use memscape_study::{Energy, EnergyPart, Estimate, Graded};
use memscape_units::{GbPerS, MeanBytes, MtPerS, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The array's way into the memory system, and the DRAM's bus behind it.
///
/// The array reads through one port and writes through another, both of the same
/// bandwidth; the DRAM's bus serves both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramPath {
    /// Bandwidth of the array's read port when runs are long; writes have the same of their own, and neither has
    /// more than the DRAM's bus (`data_rate_mt_s` times `bus_bytes`)
    pub read_gb_s: GbPerS,
    /// Contiguous run from which reads are bound by bandwidth rather than by the rate of runs
    pub run_bytes: MeanBytes,
    /// Unit of access
    pub line_bytes: NonZeroU16,
    /// Data rate of the DRAM, whose bus both ports share; a port alone reads with no more than `read_gb_s`
    pub data_rate_mt_s: MtPerS,
    /// Width of the DRAM's bus, all channels together
    pub bus_bytes: NonZeroU16,
    /// What the DRAM takes of energy; null where nothing is known of it
    #[serde(default)]
    pub energy: Option<PathEnergy>,
    /// Bandwidth of the memory behind the path, where another description than this says what that
    /// is; it is no parameter. None takes `data_rate_mt_s` and `bus_bytes`
    #[serde(skip)]
    pub memory_gb_s: Option<GbPerS>,
}

/// What the DRAM at the end of the path takes, all of its chips together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathEnergy {
    /// Reading or writing, rows and pins included
    pub access_pj_per_bit: Graded,
    /// Doing nothing but refresh
    pub standby_mw: Graded,
}

/// What a transfer takes of the path when it is alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// What crosses the bus, in bytes.
    pub bytes: f64,
    /// The time of its port.
    pub port: Nanoseconds,
}

impl DramPath {
    /// Bandwidth of the DRAM's bus.
    #[must_use]
    pub fn bus_gb_s(&self) -> f64 {
        let own = self.data_rate_mt_s.as_f64() * f64::from(self.bus_bytes.get()) * 1e-3;
        self.memory_gb_s.map_or(own, GbPerS::as_f64)
    }

    /// Bandwidth of one port: no more than the bus behind it has.
    #[must_use]
    pub fn port_gb_s(&self) -> f64 {
        self.read_gb_s.as_f64().min(self.bus_gb_s())
    }

    /// What the DRAM takes for so long, in which from `least` to `most` bytes move; none where
    /// nothing is known of it.
    #[must_use]
    pub fn energy_of(&self, [least, most]: [f64; 2], time: Nanoseconds) -> Option<Energy> {
        let takes = self.energy?;
        let access = |bytes: f64| takes.access_pj_per_bit.times(bytes * 8.0 * 1e-12);
        let moved = access(least).up_to(access(most.max(least)));
        let idle: Estimate = takes.standby_mw.times(time.as_f64() * 1e-12);
        Some(Energy::of(EnergyPart::Access, moved) + Energy::of(EnergyPart::Standby, idle))
    }

    /// Reading so many bytes in long runs of this length: shorter ones than `run_bytes`
    /// take as long as these. What the ends of runs waste of lines is in the bandwidth,
    /// which is of useful bytes in transfers like these.
    #[must_use]
    pub fn read_runs(&self, bytes: f64, run: f64) -> Demand {
        self.demand(bytes, bytes * (self.run_bytes.as_f64() / run).max(1.0))
    }

    /// Reading so many bytes in chunks that `columns` interface tiles take side by side:
    /// together they make a long run, but each fetches whole lines.
    #[must_use]
    pub fn read_chunks(&self, bytes: f64, chunk: u32, columns: f64) -> Demand {
        let lines = bytes / self.line_efficiency(chunk);
        let run = f64::from(chunk) * columns;
        self.demand(lines, lines * (self.run_bytes.as_f64() / run).max(1.0))
    }

    /// Writing so many bytes in chunks of this length.
    #[must_use]
    pub fn write_chunks(&self, bytes: f64, chunk: u32) -> Demand {
        let lines = bytes / self.line_efficiency(chunk);
        self.demand(lines, lines)
    }

    fn demand(&self, bytes: f64, port_bytes: f64) -> Demand {
        Demand { bytes, port: time(port_bytes, self.port_gb_s()) }
    }

    /// The time of one direction's transfer while the other has so many bytes
    /// to move: while both are busy each has at least half of the bus.
    ///
    /// The other is taken to move at its port's full bandwidth, so that a faster port
    /// or bus makes neither of them slower.
    #[must_use]
    pub fn beside(&self, own: Demand, other_bytes: f64) -> Nanoseconds {
        let half = 0.5 * self.bus_gb_s();
        let rate = own.bytes / own.port.as_f64();
        if own.bytes <= 0.0 || rate <= half {
            return own.port;
        }
        let both = own.bytes.min(other_bytes);
        time(both, half) + time(own.bytes - both, rate)
    }

    /// Useful share of the lines that a chunk touches, averaged over where chunks of its
    /// length can start: at multiples of what divides both.
    #[must_use]
    pub fn line_efficiency(&self, chunk: u32) -> f64 {
        let line = u32::from(self.line_bytes.get());
        let step = greatest_common_divisor(chunk, line);
        f64::from(chunk) / (f64::from(line) + f64::from(chunk - step))
    }
}

fn time(bytes: f64, gb_s: f64) -> Nanoseconds {
    Nanoseconds::new(bytes / gb_s).unwrap_or(Nanoseconds::ZERO)
}

const fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use crate::DEVICES;

    #[test]
    fn chunks_that_end_inside_lines_waste_them() {
        let dram = DEVICES.get("xdna").dram;
        for (chunk, share) in [(112, 0.7), (144, 0.75), (96, 0.75), (192, 1.0), (64, 1.0)] {
            assert!((dram.line_efficiency(chunk) - share).abs() < 1e-12, "{chunk}");
        }
    }

    #[test]
    fn a_bus_shared_by_both_ports_slows_them_only_while_both_are_busy() {
        let xdna2 = DEVICES.get("xdna2").dram;
        let (read, write) = (xdna2.read_runs(9e6, 1024.0), xdna2.write_chunks(1e6, 64));
        let half = 0.5 * xdna2.bus_gb_s();
        let slowed = 1e6 / half - 1e6 / xdna2.port_gb_s();
        let with = xdna2.beside(read, write.bytes);
        assert!((with.as_f64() - read.port.as_f64() - slowed).abs() < 1e-6);
        assert_eq!(xdna2.beside(read, 0.0), read.port);
        // A port of half the bus or less meets nobody.
        let xdna = DEVICES.get("xdna").dram;
        let read = xdna.read_runs(9e6, 1024.0);
        assert_eq!(xdna.beside(read, write.bytes), read.port);
    }
}
