//! The column-major baseline: interleaving units are stretches of one matrix
//! column, dealt out to the banks column by column.
//!
//! # Source
//! PIMnast, section VI-B, compares with it but does not say how it is
//! orchestrated. This is the plainest orchestration that computes under
//! broadcast commands.

use super::parts::{GemvCost, GemvPart};
use super::timing::Timing;
use crate::mapping::Plan;
use crate::mapping::placement::RegisterRule;

/// Costs column-major weights on the hardware of `plan`, whose tile shape and
/// order are not used.
///
/// A MAC command multiplies the same input element in all banks, so at any time
/// all banks work on one matrix column. It has only `m / tile_elements` tiles:
/// the other banks idle. (Columns are padded to start at the first bank; else a
/// bank would meet another row-block, and other sums, with every tile.) A tile
/// also has more sums than a unit has registers to spare: held to them
/// ([`RegisterRule::Accumulators`]), rows of weights are opened and inputs sent
/// once per part of a tile; [`RegisterRule::Printed`] lets the sums of a whole
/// tile lie beside the input registers.
///
/// # Example
/// ```
/// use memscape_pim::GemvStudy;
/// use memscape_pim::Placement;
/// use memscape_study::Study;
///
/// let tall = GemvStudy { placement: Placement::ColumnMajor, ..GemvStudy::default() };
/// let small = GemvStudy { model: "opt-125m".parse()?, ..tall };
/// let speedup = |it: GemvStudy| it.answer().map(|it| it.speedup).unwrap();
/// assert!(speedup(small) < 1.0 && speedup(tall) > 1.0);
/// # Ok::<(), memscape_study::Unknown>(())
/// ```
#[must_use]
pub fn column_major(plan: &Plan, timing: &Timing, rule: RegisterRule) -> GemvCost {
    let t = timing;
    let rows = plan.tile.m * plan.tile.k;
    let banks = plan.banks * plan.split_k;
    // Tiles of one column in the fullest bank, one after the other.
    let tiles = plan.gemv.m().div_ceil(rows).div_ceil(banks);
    let words = plan.gemv.k() * (rows / plan.lanes).max(1);
    let sums = rows.div_ceil(plan.sums_per_register);
    let (parts, inputs) = match rule {
        RegisterRule::Accumulators => {
            (tiles * sums.div_ceil(plan.registers - 1), plan.registers.saturating_sub(sums).max(1))
        }
        RegisterRule::Printed => (tiles, plan.input_registers),
    };
    let writes = plan.gemv.k().div_ceil(plan.inputs_per_register);
    let bursts = writes.div_ceil(inputs);
    let rows_opened = (tiles * words).div_ceil(plan.row_words) * parts;
    let time = [
        (GemvPart::Mac, t.slot * (tiles * words)),
        (GemvPart::RowOpen, t.row_open() * rows_opened),
        (GemvPart::InputVector, t.slot * (parts * writes)),
        (GemvPart::Turnaround, (t.read_to_write + t.write_to_read - t.slot * 2) * (parts * bursts)),
        (GemvPart::Spill, (t.row_open() + t.spill_to_close) * parts + t.slot * (tiles * sums)),
    ];
    GemvCost { time: time.into_iter().collect(), rows_opened }
}
