//! The time of a GEMM, counted.
//!
//! The events of [`crate::cost::events`] are a system of "later of" and "plus": each is
//! the latest of some others plus a duration, so the end is the longest path from
//! the start. Read and multiply form a ladder: reads follow reads, products follow
//! products, a product follows its read, and a read follows the last call of the
//! product two steps before, whose buffer it takes. The longest path along a ladder has few shapes,
//! which are tried one by one.

use memscape_study::Breakdown;
use memscape_units::Picoseconds;

use crate::cost::schedule::{GemmPart, Schedule};
use crate::mapping::design::BdReconfiguration;

/// The time of all blocks.
///
/// Exact where the longest path keeps its shape from block to block. What only the
/// event engine sees: paths that change their shape on the way (the first blocks
/// before the slowest unit has become the bottleneck, the last ones after), and
/// writes that hold up single blocks.
#[must_use]
pub fn count(schedule: &Schedule) -> Breakdown<GemmPart> {
    let it = schedule;
    let run = |blocks: u64| Run { it, blocks }.total();
    let total = match it.bd_reconfiguration {
        BdReconfiguration::Overlapped => run(it.blocks),
        BdReconfiguration::Sequential => {
            let (whole, rest) = (it.blocks / it.depth, it.blocks % it.depth);
            let batches = run(it.depth) * whole + if rest > 0 { run(rest) } else { Picoseconds::ZERO };
            batches + it.descriptors * it.blocks.saturating_sub(it.depth)
        }
    };
    let compute = it.compute * (it.steps * it.blocks);
    let output_wait = it.stall() * (it.blocks - 1);
    let epilogue = it.drain + it.write;
    let accounted = compute + output_wait + epilogue;
    // Waits overlap where something else is the bottleneck: what is left waits for input.
    let output_wait = output_wait.saturating_sub(accounted.saturating_sub(total));
    let input_wait = total.saturating_sub(compute + output_wait + epilogue);
    [
        (GemmPart::Compute, compute),
        (GemmPart::InputWait, input_wait),
        (GemmPart::OutputWait, output_wait),
        (GemmPart::Epilogue, epilogue),
        (GemmPart::Dispatch, it.dispatch),
    ]
    .into_iter()
    .collect()
}

/// Blocks one after the other, descriptors at hand or rewritten meanwhile.
struct Run<'a> {
    it: &'a Schedule,
    blocks: u64,
}

impl Run<'_> {
    fn total(&self) -> Picoseconds {
        let it = self.it;
        let first = self.first();
        let end = it.drain + it.write;
        let period = self.period();
        // The longest of: reads alone; products alone or by turns, block by block; and
        // whatever else repeats.
        let reads = it.load * (self.blocks * it.steps) + it.fill + it.compute;
        let ladder = it.load
            + it.fill
            + it.compute
            + self.inner(it.steps - 1) * self.blocks
            + (it.compute + it.stall()) * (self.blocks - 1);
        let turns = it.load + it.fill + it.compute + self.inner_turns(self.blocks * it.steps - 1);
        let repeated = first + period * (self.blocks - 1);
        let longest = reads.max(ladder).max(turns).max(repeated);
        if it.bd_reconfiguration == BdReconfiguration::Sequential || self.blocks <= it.depth {
            return longest + end;
        }
        // A block starts when the one `depth` before is written and its descriptors
        // are: round after round, or one set of descriptors after the other.
        let (rounds, rest) = ((self.blocks - 1) / it.depth, (self.blocks - 1) % it.depth);
        let around = first + (end + it.descriptors + first) * rounds + period * rest;
        let serial = first + end + it.descriptors * (self.blocks - it.depth) + first;
        longest.max(around).max(serial) + end
    }

    /// From the start to the end of the first block's products.
    fn first(&self) -> Picoseconds {
        let it = self.it;
        let reads = it.load * it.steps + it.fill + it.compute;
        reads.max(it.load + it.fill + it.compute + self.inner(it.steps - 1))
    }

    /// From one block to the next: what no overlap can hide.
    fn period(&self) -> Picoseconds {
        let it = self.it;
        let products = self.inner(it.steps - 1) + it.compute + it.stall();
        let reads = it.load * it.steps;
        // The memory tiles' one buffer of C.
        let output = it.drain + it.write;
        products.max(reads).max(output)
    }

    /// The longest way from one product to another, so many steps on.
    fn inner(&self, steps: u64) -> Picoseconds {
        let it = self.it;
        let products = it.compute * steps;
        if steps < 2 {
            return products;
        }
        let once = self.turn() + it.load.max(it.compute) * (steps - 2);
        products.max(once).max(self.inner_turns(steps))
    }

    /// As [`Self::inner`], by turns: a read after every product, two steps on.
    fn inner_turns(&self, steps: u64) -> Picoseconds {
        let it = self.it;
        self.turn() * (steps / 2) + it.load.max(it.compute) * (steps % 2)
    }

    /// From a product over a read to the product two steps on.
    fn turn(&self) -> Picoseconds {
        let it = self.it;
        it.load + it.fill + (it.compute - it.call)
    }
}
