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
    let epilogue = it.drain + it.last_write;
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
        let (begin, more) = (it.first_load, self.blocks - 1);
        let end = it.drain + it.last_write;
        // The longest of: reads alone; products alone or by turns, block by block; and
        // whatever else repeats.
        let reads = begin * it.steps + it.load * (more * it.steps) + it.fill + it.compute;
        let ladder = begin
            + it.fill
            + it.compute
            + self.inner(begin, it.steps - 1)
            + (self.inner(it.load, it.steps - 1) + it.compute + it.stall()) * more;
        let longest = reads.max(ladder).max(self.turns()).max(self.repeated(more));
        if it.bd_reconfiguration == BdReconfiguration::Sequential || self.blocks <= it.depth {
            return longest + end;
        }
        // A block starts when the one `depth` before is written and its descriptors
        // are: round after round, or one set of descriptors after the other.
        let (rounds, rest) = (more / it.depth, more % it.depth);
        let another = self.products_of(it.load);
        let written = it.drain + it.write;
        // What is left of rounds follows the first block, or another.
        let period = self.products().max(it.load * it.steps);
        let first = self.products_of(begin);
        let around =
            self.repeated(rest).max(first + period * rest) + (written + it.descriptors + another) * rounds;
        let serial = first + written + it.descriptors * (self.blocks - it.depth) + another;
        longest.max(around).max(serial) + end
    }

    /// From the start to the end of products, so many blocks after the first.
    fn repeated(&self, more: u64) -> Picoseconds {
        let it = self.it;
        let begin = it.first_load;
        let by_products = self.products_of(begin) + self.products() * more;
        if more == 0 {
            return by_products;
        }
        // A way along reads has no more of the first block's than its steps.
        let saved = (it.load - begin) * it.steps;
        let by_reads = self.products_of(it.load).saturating_sub(saved) + it.load * (it.steps * more);
        // From the last product of the first block that reads of another wait for.
        let before = (it.steps - 1).max(1);
        let slowed = begin + it.fill + it.compute + self.inner(begin, before - 1);
        let caught = slowed + self.inner(it.load, it.steps * (more + 1) - before);
        by_products.max(by_reads).max(caught)
    }

    /// From the start of a block's reads, so long for each step, to the end of its products.
    fn products_of(&self, load: Picoseconds) -> Picoseconds {
        let it = self.it;
        let reads = load * it.steps + it.fill + it.compute;
        reads.max(load + it.fill + it.compute + self.inner(load, it.steps - 1))
    }

    /// From the start to the last product, by turns of products and reads.
    fn turns(&self) -> Picoseconds {
        let it = self.it;
        let begun = it.first_load + it.fill + it.compute;
        if self.blocks == 1 {
            return begun + self.inner_turns(it.first_load, it.steps - 1);
        }
        // Every second read of the first block is on the way.
        let saved = (it.load - it.first_load) * ((it.steps - 1) / 2);
        (begun + self.inner_turns(it.load, self.blocks * it.steps - 1)).saturating_sub(saved)
    }

    /// From a block's products to the next one's: what no overlap can hide, but for its reads.
    fn products(&self) -> Picoseconds {
        let it = self.it;
        let products = self.inner(it.load, it.steps - 1) + it.compute + it.stall();
        // The memory tiles' one buffer of C.
        products.max(it.drain + it.write)
    }

    /// The longest way from one product to another, so many steps on, each of which is read for so long.
    fn inner(&self, load: Picoseconds, steps: u64) -> Picoseconds {
        let it = self.it;
        let products = it.compute * steps;
        if steps < 2 {
            return products;
        }
        let once = self.turn(load) + load.max(it.compute) * (steps - 2);
        products.max(once).max(self.inner_turns(load, steps))
    }

    /// As [`Self::inner`], by turns: a read after every product, two steps on.
    fn inner_turns(&self, load: Picoseconds, steps: u64) -> Picoseconds {
        self.turn(load) * (steps / 2) + load.max(self.it.compute) * (steps % 2)
    }

    /// From a product over a read to the product two steps on.
    fn turn(&self, load: Picoseconds) -> Picoseconds {
        let it = self.it;
        load + it.fill + (it.compute - it.call)
    }
}
