//! One binary, one question per module.

mod address;
mod device;
mod export;
mod laws;
mod protocol;
mod stream;
mod timing;

use memscape_dram::{Address, Dram, MEMORIES, PimTiming};
use memscape_units::Picoseconds;

fn preset(name: &str) -> Dram {
    MEMORIES.find(name).unwrap().parameters
}

/// `PIMnast`'s orders of magnitude; the tests depend on none of the numbers.
const PIM: PimTiming = PimTiming {
    slot: Picoseconds(4_267),
    read_to_write: Picoseconds(18_130),
    write_to_read: Picoseconds(12_000),
};

fn at(bank_group: u32, bank: u32, row: u32, column: u32) -> Address {
    Address { rank: 0, bank_group, bank, row, column }
}
