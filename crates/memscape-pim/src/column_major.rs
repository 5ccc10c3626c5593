//! The column-major baseline: interleaving units are stretches of one matrix
//! column, dealt out to the banks column by column.
//!
//! # Source
//! PIMnast, section VI-B, compares with it but does not say how it is
//! orchestrated. This is the plainest orchestration that computes: a bank meets
//! whatever tiles the interleaving gives it, in order.

use crate::cost::{Breakdown, Timing};
use crate::plan::Plan;

/// Time of a GEMV on column-major weights, and what the processor adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnMajor {
    /// Time on PIM, in picoseconds.
    pub pim: Breakdown,
    /// Partial sums that the processor reads and adds, in numbers.
    pub partial_sums: u64,
}

/// Costs the column-major baseline for the matrix and hardware of `plan`; its
/// tile shape and order are not used.
///
/// Three things go wrong. A tile has `tile_elements` rows, more sums than the
/// registers hold, so each tile is worked off in parts, and rows are opened for
/// each part. Banks of a channel work on different matrix columns, so inputs
/// cannot be broadcast but are written bank by bank. And unless the rows of tiles
/// divide the banks, a bank meets another row-block with every tile: the sums go
/// to memory and come back each time.
#[must_use]
pub fn column_major(plan: &Plan, timing: &Timing) -> ColumnMajor {
    let t = timing;
    let rows = plan.tile.m * plan.tile.k;
    let tile_rows = plan.gemv.m().div_ceil(rows);
    let banks = plan.banks * plan.split_k;
    let tiles = (tile_rows * plan.gemv.k()).div_ceil(banks);
    let words = rows / plan.lanes;
    let registers = rows.div_ceil(plan.sums_per_register);
    let free = (plan.input_registers + plan.accumulators * plan.cr_degree).saturating_sub(1).max(1);
    let parts = registers.div_ceil(free);
    let row_blocks = tile_rows / gcd(tile_rows, banks);

    let mut pim = Breakdown { mac: tiles * words * t.slot, ..Breakdown::default() };
    let weight_rows = (tiles * words).div_ceil(plan.row_words);
    let writers = if tile_rows.is_multiple_of(plan.banks_per_channel) { 1 } else { plan.banks_per_channel };
    let turnaround = t.read_to_write + t.write_to_read - 2 * t.slot;
    if row_blocks == 1 {
        pim.rows_opened = weight_rows * parts;
        let loads = tiles.div_ceil(plan.inputs_per_register) * parts;
        pim.input_vector = loads * writers * t.slot;
        pim.turnaround = loads * turnaround;
        pim.spill = parts * (t.row_open() + t.spill_to_close) + registers * t.slot;
    } else {
        // Row of weights, row of sums, and back, for each tile.
        pim.rows_opened = tiles;
        let loads = tiles.div_ceil(plan.inputs_per_register);
        pim.input_vector = loads * writers * t.slot;
        pim.turnaround = loads * turnaround + tiles * (t.read_to_write - t.slot);
        pim.spill = tiles * (2 * registers * t.slot + t.row_open() + t.spill_to_close - t.slot);
    }
    pim.row_open = pim.rows_opened * t.row_open();
    let banks_per_row_block = banks * row_blocks / tile_rows;
    ColumnMajor { pim, partial_sums: plan.gemv.m() * banks_per_row_block.max(1) }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
