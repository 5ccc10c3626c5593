//! Where the time of one GEMV goes.

use memscape_dram::{CommandCounts, Kind};
use memscape_study::{Breakdown, parts};

use crate::mapping::Plan;

parts! {
    /// What a GEMV on PIM takes its time for.
    pub enum GemvPart {
        /// Reading weights into the MAC units.
        Mac = "mac",
        /// Opening rows of weights.
        RowOpen = "row_open",
        /// Writing the input vector into registers.
        InputVector = "input_vector",
        /// Waiting between reads and writes.
        Turnaround = "turnaround",
        /// Exchanging the sums of row-blocks.
        Swap = "swap",
        /// Adding up sums that lie in different lanes.
        CrossLane = "cross_lane",
        /// Loading and applying scale factors.
        ScaleFactor = "scale_factor",
        /// Writing outputs: opening their row, write recovery, and opening the row of
        /// weights again.
        Spill = "spill",
        /// All-bank refreshes.
        Refresh = "refresh",
        /// Reading and adding partial sums on the processor.
        SocReduction = "soc_reduction",
    }
}

/// What one GEMV on PIM costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GemvCost {
    /// Its time by cause.
    pub time: Breakdown<GemvPart>,
    /// Commands of one channel, refreshes left out.
    pub commands: CommandCounts,
}

impl GemvCost {
    /// Rows of weights opened in the fullest bank: all but those of outputs, one for each pass.
    #[must_use]
    pub fn rows_opened(&self, plan: &Plan) -> u64 {
        self.commands[Kind::ActAll].saturating_sub(plan.passes() * plan.chunks)
    }
}
