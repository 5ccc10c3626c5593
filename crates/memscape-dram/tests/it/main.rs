//! One binary, one question per module.

mod address;
mod device;
mod energy;
mod export;
mod laws;
mod pim_delays;
mod protocol;
mod stream;
mod timing;

use memscape_dram::{Address, Dram, MEMORIES, PimTiming};
use memscape_units::Nanoseconds;

fn preset(name: &str) -> Dram {
    MEMORIES.find(name).unwrap().parameters
}

/// A host as slow as `PIMnast`'s; the tests depend on none of the numbers.
fn pim() -> PimTiming {
    PimTiming { host_turnaround: Nanoseconds::new(9.75).unwrap(), ..PimTiming::NONE }
}

fn at(bank_group: u32, bank: u32, row: u32, column: u32) -> Address {
    Address { rank: 0, bank_group, bank, row, column }
}
