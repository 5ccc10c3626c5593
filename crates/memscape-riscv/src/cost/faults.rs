//! How often a page is touched that is not there yet.

use crate::hardware::{Os, PoolLife, WeightPages};

/// What a run touches for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// Bytes of the weights' file.
    pub file_bytes: u64,
    /// Bytes of the key-value cache: all of it, which is cleared when it is made.
    pub cache_bytes: u64,
    /// Bytes of the graphs' buffers.
    pub buffer_bytes: u64,
    /// Entries of the vocabulary.
    pub vocabulary: u64,
    /// Threads.
    pub threads: u64,
    /// Graphs that all of them compute, one after the other.
    pub graphs: u64,
}

/// Page faults that a run has at least: each page of what it makes, a file's pages as they are mapped, and the
/// stacks of new threads. The program itself and what it links are left out.
///
/// # Source
/// Linux, glibc and llama.cpp at the thesis' commit of June 2024. There, without OpenMP, each graph starts its threads
/// and joins them; a stack of an ended thread is kept for a new one only as long as glibc has room for it. The thesis names
/// `numactl` as the only way that its build knows to place threads, and no library for threads.
#[must_use]
pub fn page_faults(os: &Os, touched: &Touched) -> u64 {
    let page = u64::from(os.page_bytes.get());
    let vocabulary = touched.vocabulary.saturating_mul(os.vocabulary_entry_bytes.into());
    let made = [touched.cache_bytes, touched.buffer_bytes, vocabulary];
    let weights = match os.weights {
        WeightPages::Populated => 0,
        WeightPages::Lazy => touched.file_bytes.div_ceil(page.max(os.fault_around_bytes.get().into())),
    };
    let stacks = new_stacks(os, touched).saturating_mul(os.stack_pages.into());
    made.iter().map(|bytes| bytes.div_ceil(page)).fold(weights.saturating_add(stacks), u64::saturating_add)
}

/// Stacks that are mapped anew. The first thread has its own from the beginning.
fn new_stacks(os: &Os, touched: &Touched) -> u64 {
    let started = touched.threads.saturating_sub(1);
    match os.pool_life {
        PoolLife::Run => started,
        PoolLife::Graph => {
            let kept = started.min(os.kept_stacks.into());
            kept.saturating_add(touched.graphs.saturating_mul(started - kept))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::hardware::MACHINES;

    fn os() -> Os {
        MACHINES.get("sg2042").os
    }

    const NOTHING: Touched =
        Touched { file_bytes: 0, cache_bytes: 0, buffer_bytes: 0, vocabulary: 0, threads: 1, graphs: 84 };

    /// Measured with glibc 2.36: 31 threads made and joined 84 times, a stack of two pages each.
    #[test]
    fn stacks_beyond_those_kept_are_new_for_each_graph() {
        let threads = |threads| page_faults(&os(), &Touched { threads, ..NOTHING });
        assert_eq!(threads(1), 0);
        assert_eq!(threads(6), 2 * 5, "as many as are kept");
        assert_eq!(threads(32), 2 * (5 + 84 * 26));
        let pool = Os { pool_life: PoolLife::Run, ..os() };
        assert_eq!(page_faults(&pool, &Touched { threads: 32, ..NOTHING }), 2 * 31);
    }

    #[test]
    fn what_is_made_is_touched_page_by_page_and_a_file_in_runs_of_pages() {
        let touched = Touched { cache_bytes: 4097, vocabulary: 32_000, file_bytes: 1 << 20, ..NOTHING };
        let entries = (32_000 * u64::from(os().vocabulary_entry_bytes)).div_ceil(4096);
        assert_eq!(page_faults(&os(), &touched), 2 + entries);
        let lazy = Os { weights: WeightPages::Lazy, ..os() };
        assert_eq!(page_faults(&lazy, &touched), 2 + entries + 16);
        let huge = Os { page_bytes: NonZeroU32::new(2 << 20).unwrap(), ..lazy };
        let mapped = |bytes| page_faults(&huge, &Touched { file_bytes: bytes, ..NOTHING });
        assert_eq!(mapped(5 << 20), 3, "a page is longer than what is mapped around a fault");
        let all = Touched { cache_bytes: u64::MAX, graphs: u64::MAX, threads: u64::MAX, ..NOTHING };
        assert_eq!(page_faults(&os(), &all), u64::MAX);
    }
}
