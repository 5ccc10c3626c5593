//! The path from DRAM to the array, as the array sees it.

use std::num::NonZeroU16;

use memscape_units::{GbPerS, MeanBytes, Nanoseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The array's way into the memory system, and the DRAM's bus behind it.
///
/// The array reads through one port and writes through another, both of the same
/// bandwidth; the DRAM's bus serves both. All of them move whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramPath {
    /// Bandwidth of lines that the array reads with when runs are long; writes have the same of
    /// their own
    pub read_gb_s: GbPerS,
    /// Contiguous run from which reads are bound by bandwidth rather than by the rate of runs
    pub run_bytes: MeanBytes,
    /// Unit of access
    pub line_bytes: NonZeroU16,
    /// Data rate of the DRAM
    pub data_rate_mt_s: NonZeroU16,
    /// Width of the DRAM's bus, all channels together
    pub bus_bytes: NonZeroU16,
}

/// What a transfer takes of the path when it is alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Lines that it touches, in bytes.
    pub lines: f64,
    /// The time of its port.
    pub port: Nanoseconds,
}

impl DramPath {
    /// Bandwidth of the DRAM's bus.
    #[must_use]
    pub fn bus_gb_s(&self) -> f64 {
        f64::from(self.data_rate_mt_s.get()) * f64::from(self.bus_bytes.get()) * 1e-3
    }

    /// Bandwidth of one port: no more than the bus behind it has.
    #[must_use]
    pub fn port_gb_s(&self) -> f64 {
        self.read_gb_s.as_f64().min(self.bus_gb_s())
    }

    /// Reading so many bytes in runs of this length, of which `side_by_side` make one
    /// long run: other columns read what lies beside. Each run takes the lines that it
    /// touches, and long runs less than `run_bytes` take as long as these.
    #[must_use]
    pub fn read(&self, bytes: f64, run: u32, side_by_side: f64) -> Demand {
        let touched = 1.0 / self.line_efficiency(run);
        let run_limit = self.run_bytes.as_f64() / (f64::from(run) * side_by_side);
        self.demand(bytes * touched, bytes * touched.max(run_limit))
    }

    /// Writing so many bytes in chunks of this length.
    #[must_use]
    pub fn write(&self, bytes: f64, chunk: u32) -> Demand {
        let lines = bytes / self.line_efficiency(chunk);
        self.demand(lines, lines)
    }

    fn demand(&self, lines: f64, port_bytes: f64) -> Demand {
        Demand { lines, port: self.time(port_bytes, self.port_gb_s()) }
    }

    /// The time of one direction's transfer while the other has so many bytes of lines
    /// to move: while both are busy each has at least half of the bus.
    ///
    /// The other is taken to move at its port's full bandwidth, so that a faster port
    /// or bus makes neither of them slower.
    #[must_use]
    pub fn beside(&self, own: Demand, other_lines: f64) -> Nanoseconds {
        let half = 0.5 * self.bus_gb_s();
        let rate = own.lines / own.port.as_f64();
        if own.lines <= 0.0 || rate <= half {
            return own.port;
        }
        let both = own.lines.min(other_lines);
        self.time(both, half) + self.time(own.lines - both, rate)
    }

    fn time(&self, bytes: f64, gb_s: f64) -> Nanoseconds {
        Nanoseconds::new(bytes / gb_s).unwrap_or(Nanoseconds::ZERO)
    }

    /// Useful share of the lines that a run touches, averaged over where runs of its
    /// length can start: at multiples of what divides both.
    #[must_use]
    pub fn line_efficiency(&self, run: u32) -> f64 {
        let line = u32::from(self.line_bytes.get());
        let step = greatest_common_divisor(run, line);
        f64::from(run) / (f64::from(line) + f64::from(run - step))
    }
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
    fn runs_that_end_inside_lines_waste_them() {
        let dram = DEVICES.get("xdna").dram;
        for (run, share) in [(112, 0.7), (144, 0.75), (96, 0.75), (432, 0.9), (192, 1.0), (64, 1.0)] {
            assert!((dram.line_efficiency(run) - share).abs() < 1e-12, "{run}");
        }
    }

    #[test]
    fn a_bus_shared_by_both_ports_slows_them_only_while_both_are_busy() {
        let xdna2 = DEVICES.get("xdna2").dram;
        let (read, write) = (xdna2.read(9e6, 64, 8.0), xdna2.write(1e6, 64));
        let half = 0.5 * xdna2.bus_gb_s();
        let slowed = 1e6 / half - 1e6 / xdna2.port_gb_s();
        let with = xdna2.beside(read, write.lines);
        assert!((with.as_f64() - read.port.as_f64() - slowed).abs() < 1e-6);
        assert_eq!(xdna2.beside(read, 0.0), read.port);
        // A port of half the bus or less meets nobody.
        let xdna = DEVICES.get("xdna").dram;
        let read = xdna.read(9e6, 64, 8.0);
        assert_eq!(xdna.beside(read, write.lines), read.port);
    }
}
