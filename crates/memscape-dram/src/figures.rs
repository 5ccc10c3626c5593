//! What a DRAM's accesses take of energy, as data.

use memscape_study::Graded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the commands of a memory take, for all chips that work in lockstep.
///
/// Per bit, so that the numbers hold for rows, bursts and banks of any number: an activate
/// moves a row's bits, an access those of a column, a refresh those of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramEnergy {
    /// Opening a row and closing it again, per bit of the row
    pub activate_pj_per_bit: Graded,
    /// Reading, from the open row to the pins, which are not in it
    pub read_pj_per_bit: Graded,
    /// Writing, from the pins to the open row
    pub write_pj_per_bit: Graded,
    /// Driving and terminating the pins, either way
    pub io_pj_per_bit: Graded,
    /// Share of a read's or write's energy that is spent at the bank itself: all that a PIM unit beside
    /// the bank needs of it
    pub bank_share: Graded,
    /// Refreshing 2^30 bits once, beyond standby
    pub refresh_nj_per_gbit: Graded,
    /// One rank that does nothing: from all banks closed to all open
    pub standby_mw: Graded,
}

impl DramEnergy {
    /// The first number that none can be, by its parameter's name.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, Graded)> {
        let is_sound = |it: &Graded| (0.0..=1e9).contains(&it.value) && (1.0..=1e3).contains(&it.within);
        let all = [
            ("activate_pj_per_bit", self.activate_pj_per_bit),
            ("read_pj_per_bit", self.read_pj_per_bit),
            ("write_pj_per_bit", self.write_pj_per_bit),
            ("io_pj_per_bit", self.io_pj_per_bit),
            ("bank_share", self.bank_share),
            ("refresh_nj_per_gbit", self.refresh_nj_per_gbit),
            ("standby_mw", self.standby_mw),
        ];
        all.into_iter().find(|it| !is_sound(&it.1) || (it.0 == "bank_share" && it.1.value > 1.0))
    }
}
