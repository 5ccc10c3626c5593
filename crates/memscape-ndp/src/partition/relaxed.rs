//! The relaxed problem: the DIMMs as one device, neurons divisible, one price per
//! GPU byte. Its optimum is the bound, its prefixes rounded down the start.

use rayon::prelude::*;

use super::problem::{Block, Devices};

/// A block as the solver sees it.
pub(super) struct Ordered {
    /// Neurons by falling frequency; those on the GPU first, once that is settled.
    pub order: Vec<u32>,
    /// Seconds of work at one byte per second.
    pub total_work: f64,
}

/// Neurons by falling frequency. Ties are in a fixed order that has nothing to do
/// with numbers: of equal neurons the exchange fetches those of low numbers first,
/// and these must not all lie on the same DIMMs.
pub(super) fn order(block: &Block) -> Ordered {
    /// The golden ratio of 2^32, which spreads numbers evenly, and its inverse.
    const SPREAD: u32 = 0x9e37_79b1;
    const GATHER: u32 = 0x0e8b_2f51;

    // Frequencies are from 0 to 1, so their bits sort as they do.
    let mut keys: Vec<u64> = (0..)
        .zip(block.frequency)
        .map(|(neuron, frequency): (u32, &f32)| {
            u64::from(!frequency.abs().to_bits()) << 32 | u64::from(neuron.wrapping_mul(SPREAD))
        })
        .collect();
    keys.sort_unstable();
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the neuron")]
    let order = keys.into_iter().map(|it| (it as u32).wrapping_mul(GATHER)).collect();
    let total_work = (0..block.frequency.len()).map(|it| block.work(it)).sum();
    Ordered { order, total_work }
}

pub(super) fn prefix_bytes(block: &Block, ordered: &Ordered, prefix: usize) -> f64 {
    ordered.order[..prefix].iter().map(|it| block.bytes.of(*it as usize)).sum()
}

/// The best divisible prefix of one block at a price per GPU byte: its cost
/// with the price paid, and the whole neurons in it.
pub(super) struct AtPrice {
    pub value: f64,
    pub bytes: f64,
    prefix: usize,
}

/// Walks the prefix until the next neuron costs the GPU more than it saves.
///
/// Taking a neuron of `w` work and `s` bytes saves `w / dimms` until the GPU is
/// the slower side, and costs `price * s`; saving per byte falls with the
/// frequency, so the first neuron that does not pay ends the prefix. The last
/// one is divided where GPU and DIMMs would be level.
pub(super) fn at_price(block: &Block, ordered: &Ordered, gpu: f64, dimms: f64, price: f64) -> AtPrice {
    let (mut on_gpu, mut bytes) = (0.0, 0.0);
    let level = ((ordered.total_work / dimms - block.fixed()) / (1.0 / gpu + 1.0 / dimms)).max(0.0);
    let mut prefix = 0;
    for neuron in &ordered.order {
        let neuron = *neuron as usize;
        let (work, size) = (block.work(neuron), block.bytes.of(neuron));
        if work <= price * size * dimms || on_gpu >= level {
            break;
        }
        let share = ((level - on_gpu) / work).min(1.0);
        on_gpu += share * work;
        bytes += share * size;
        if share < 1.0 {
            break;
        }
        prefix += 1;
    }
    let gpu_time = block.fixed() + on_gpu / gpu;
    let dimm_time = (ordered.total_work - on_gpu) / dimms;
    AtPrice { value: gpu_time.max(dimm_time) + price * bytes, bytes, prefix }
}

/// The price at which the relaxed optimum just fits, and the bound it proves.
pub(super) fn best_price(blocks: &[Block], ordered: &[Ordered], devices: &Devices, dimms: f64) -> (f64, f64) {
    let at = |price: f64| -> (f64, f64) {
        let all: Vec<_> = blocks
            .par_iter()
            .zip(ordered)
            .map(|(block, ordered)| at_price(block, ordered, devices.gpu_bandwidth, dimms, price))
            .collect();
        let value = all.iter().map(|it| it.value).sum::<f64>() - price * devices.gpu_capacity;
        (value, all.iter().map(|it| it.bytes).sum())
    };
    let (free, bytes) = at(0.0);
    if bytes <= devices.gpu_capacity {
        return (0.0, free);
    }
    // No neuron saves more than one byte's time on the DIMMs per byte.
    let (mut low, mut high) = (0.0, 1.0 / dimms);
    let (mut best, mut bound) = (high, at(high).0.max(free));
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        let (value, bytes) = at(middle);
        bound = bound.max(value);
        if bytes > devices.gpu_capacity {
            low = middle;
        } else {
            (high, best) = (middle, middle);
        }
        if high - low <= 1e-9 * high {
            break;
        }
    }
    (best, bound)
}

/// Whole prefixes at the price; what capacity is left goes to the blocks that
/// gain most by one more neuron, and what the DIMMs cannot hold is forced.
pub(super) fn whole_prefixes(
    blocks: &[Block],
    ordered: &[Ordered],
    devices: &Devices,
    dimms: f64,
    price: f64,
    forced: f64,
) -> Vec<usize> {
    let gpu = devices.gpu_bandwidth;
    let mut prefixes: Vec<usize> = blocks
        .par_iter()
        .zip(ordered)
        .map(|(block, it)| at_price(block, it, gpu, dimms, price).prefix)
        .collect();
    let mut bytes: f64 =
        (0..blocks.len()).map(|it| prefix_bytes(&blocks[it], &ordered[it], prefixes[it])).sum();
    let mut on_gpu: Vec<f64> = (0..blocks.len())
        .map(|it| ordered[it].order[..prefixes[it]].iter().map(|n| blocks[it].work(*n as usize)).sum())
        .collect();
    loop {
        let gain = |it: usize| {
            let neuron = *ordered[it].order.get(prefixes[it])? as usize;
            let (work, size) = (blocks[it].work(neuron), blocks[it].bytes.of(neuron));
            if bytes + size > devices.gpu_capacity {
                return None;
            }
            let time = |on_gpu: f64| {
                (blocks[it].fixed() + on_gpu / gpu).max((ordered[it].total_work - on_gpu) / dimms)
            };
            Some((it, (time(on_gpu[it]) - time(on_gpu[it] + work)) / size, work, size))
        };
        let best = (0..blocks.len()).filter_map(gain).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((block, gain, work, size)) = best else { break };
        if gain <= 0.0 && bytes >= forced {
            break;
        }
        prefixes[block] += 1;
        on_gpu[block] += work;
        bytes += size;
    }
    prefixes
}
