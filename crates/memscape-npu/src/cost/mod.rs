//! What a mapping takes on the hardware.

use memscape_study::{Breakdown, CostEngine};

use crate::cost::schedule::{GemmPart, Schedule};

pub mod closed;
pub mod equations;
pub mod events;
pub mod kernel;
pub mod schedule;

/// The time of a GEMM by either engine.
#[must_use]
pub fn times(schedule: &Schedule, engine: CostEngine) -> Breakdown<GemmPart> {
    match engine {
        CostEngine::Closed => closed::count(schedule),
        CostEngine::Events => events::walk(schedule, &mut |_| ()),
    }
}
