//! The relaxed problem: the DIMMs as one device, neurons divisible, one price per
//! GPU byte. Its optimum is the bound, its prefixes rounded down the start.

use rayon::prelude::*;

use super::problem::{Block, Devices, Speed, Work};

/// A block as the solver sees it.
pub(super) struct Ordered {
    /// Neurons by falling frequency; those on the GPU first, once that is settled.
    pub order: Vec<u32>,
    /// Of all neurons.
    pub total: Work,
}

/// Neurons by falling frequency. Ties are in a fixed order that has nothing to do
/// with numbers: of equal neurons the exchange fetches those of low numbers first,
/// and these must not all lie on the same DIMMs.
pub(super) fn order(block: &Block) -> Ordered {
    /// The golden ratio of 2^32, which spreads numbers evenly, and its inverse.
    const SPREAD: u32 = 0x9e37_79b1;
    const GATHER: u32 = 0x0e8b_2f51;

    // Frequencies are no less than 0, so their bits sort as they do.
    let mut keys: Vec<u64> = (0..)
        .zip(block.heat())
        .map(|(neuron, frequency): (u32, &f32)| {
            u64::from(!frequency.abs().to_bits()) << 32 | u64::from(neuron.wrapping_mul(SPREAD))
        })
        .collect();
    keys.sort_unstable();
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the neuron")]
    let order = keys.into_iter().map(|it| (it as u32).wrapping_mul(GATHER)).collect();
    let total = Work::sum((0..block.frequency.len()).map(|it| block.work(it)));
    Ordered { order, total }
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

/// Walks the prefix until the next neuron costs the GPU more than it saves, unless the DIMMs are done with
/// all of the block before a GPU could be that had anything to do.
///
/// Taking a neuron saves its reading or its multiplying on the DIMMs, whichever
/// binds them, until the GPU is the slower side, and costs `price` for each byte;
/// saving per byte falls with the heat, so the first neuron that does not pay ends
/// the prefix. The last one is divided where GPU and DIMMs would be level, or
/// where what binds the DIMMs changes.
pub(super) fn at_price(block: &Block, ordered: &Ordered, gpu: Speed, dimms: Speed, price: f64) -> AtPrice {
    let idle = dimms.time(ordered.total);
    if idle <= block.fixed() {
        return AtPrice { value: idle, bytes: 0.0, prefix: 0 };
    }
    let (mut on_gpu, mut cold, mut bytes, mut prefix) = (Work::default(), ordered.total, 0.0, 0);
    let time = |on_gpu: Work, cold: Work| (block.fixed() + gpu.time(on_gpu)).max(dimms.time(cold));
    let mut value = time(on_gpu, cold);
    for neuron in &ordered.order {
        let neuron = *neuron as usize;
        let (work, size) = (block.work(neuron), block.bytes.of(neuron));
        let with = |share: f64| {
            let part = Work { read: share * work.read, multiplied: share * work.multiplied };
            (on_gpu.plus(part), cold.less(part))
        };
        // The value is convex: it falls on a whole neuron's way if it does at its end.
        let (hot, rest) = with(1.0);
        let saved =
            if dimms.multiplies(rest) { work.multiplied / dimms.multiplied } else { work.read / dimms.read };
        if saved > price * size && block.fixed() + gpu.time(hot) <= dimms.time(rest) {
            (on_gpu, cold) = (hot, rest);
            (value, bytes, prefix) = (time(hot, rest), bytes + size, prefix + 1);
            continue;
        }
        let cost = |share: f64| {
            let (hot, rest) = with(share);
            time(hot, rest) + price * share * size
        };
        let share = turns(block.fixed(), [on_gpu, cold, work], gpu, dimms)
            .into_iter()
            .chain([1.0])
            .filter(|it| (0.0..=1.0).contains(it))
            .fold(0.0, |least, it| if cost(it) < cost(least) { it } else { least });
        let (hot, rest) = with(share);
        (value, bytes) = (time(hot, rest), bytes + share * size);
        prefix += usize::from(share >= 1.0);
        break;
    }
    AtPrice { value: value + price * bytes, bytes, prefix }
}

/// Shares of a neuron on its way to the GPU at which another of the two sides' four
/// times may become the longest.
fn turns(fixed: f64, [on_gpu, cold, moved]: [Work; 3], gpu: Speed, dimms: Speed) -> [f64; 6] {
    // Each time over the share: where it starts, and how fast it rises.
    let lines = [
        (fixed + on_gpu.read / gpu.read, moved.read / gpu.read),
        (fixed + on_gpu.multiplied / gpu.multiplied, moved.multiplied / gpu.multiplied),
        (cold.read / dimms.read, -moved.read / dimms.read),
        (cold.multiplied / dimms.multiplied, -moved.multiplied / dimms.multiplied),
    ];
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        .map(|(a, b)| (lines[b].0 - lines[a].0) / (lines[a].1 - lines[b].1))
}

/// The price at which the relaxed optimum just fits, and the bound it proves.
///
/// Prefixes are the best of divisible neurons where the GPU is bound by reading, whatever
/// binds the DIMMs, and where multiplying binds both: hotter neurons save more per byte, and
/// more per time of the GPU. So they are where all neurons are multiplied equally often when they are read, as by one
/// sequence: then each side has one rate. Where its multipliers might bind beside DIMMs that read, either
/// of those two leaves out a part of some time, and is a bound.
pub(super) fn best_price(blocks: &[Block], ordered: &[Ordered], devices: &Devices) -> (f64, f64) {
    let (gpu, dimms) = (devices.gpu(), devices.together());
    let reads = |block: &Block| (0..block.frequency.len()).all(|it| !gpu.multiplies(block.work(it)));
    let alike = |block: &Block| {
        /// Relative difference that is rounding.
        const ROUNDING: f64 = 1e-12;
        let mut all = (0..block.frequency.len()).map(|it| block.work(it)).filter(|it| it.read > 0.0);
        all.next().is_none_or(|first| {
            let often = first.multiplied / first.read;
            all.all(|it| (it.multiplied - often * it.read).abs() <= ROUNDING * it.multiplied)
        })
    };
    let (price, bound) = price_of(blocks, ordered, devices.gpu_capacity, gpu, dimms);
    if blocks.par_iter().all(|it| reads(it) || alike(it)) {
        return (price, bound);
    }
    let reading = Speed { multiplied: f64::INFINITY, ..gpu };
    let multiplying = [gpu, dimms].map(|it| Speed { read: f64::INFINITY, ..it });
    let proven = [[reading, dimms], multiplying]
        .map(|[gpu, dimms]| price_of(blocks, ordered, devices.gpu_capacity, gpu, dimms).1);
    (price, proven[0].max(proven[1]))
}

fn price_of(blocks: &[Block], ordered: &[Ordered], capacity: f64, gpu: Speed, dimms: Speed) -> (f64, f64) {
    let at = |price: f64| -> (f64, f64) {
        let all: Vec<_> = blocks
            .par_iter()
            .zip(ordered)
            .map(|(block, ordered)| at_price(block, ordered, gpu, dimms, price))
            .collect();
        let value = all.iter().map(|it| it.value).sum::<f64>() - price * capacity;
        (value, all.iter().map(|it| it.bytes).sum())
    };
    let (free, bytes) = at(0.0);
    if bytes <= capacity {
        return (0.0, free);
    }
    // No neuron saves more per byte than the hottest, alone on the DIMMs; at twice that, no rounding does.
    let first = |(block, it): (&Block, &Ordered)| {
        let most = |neuron: &u32| dimms.time(block.work(*neuron as usize)) / block.bytes.of(*neuron as usize);
        2.0 * it.order.first().map_or(0.0, most)
    };
    let (mut low, mut high) = (0.0, blocks.iter().zip(ordered).map(first).fold(0.0, f64::max));
    let (mut best, mut bound) = (high, at(high).0.max(free));
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        let (value, bytes) = at(middle);
        bound = bound.max(value);
        if bytes > capacity {
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
    price: f64,
    forced: f64,
) -> Vec<usize> {
    let (gpu, dimms) = (devices.gpu(), devices.together());
    let mut prefixes: Vec<usize> = blocks
        .par_iter()
        .zip(ordered)
        .map(|(block, it)| at_price(block, it, gpu, dimms, price).prefix)
        .collect();
    let mut bytes: f64 =
        (0..blocks.len()).map(|it| prefix_bytes(&blocks[it], &ordered[it], prefixes[it])).sum();
    let mut on_gpu: Vec<Work> = (0..blocks.len())
        .map(|it| Work::sum(ordered[it].order[..prefixes[it]].iter().map(|n| blocks[it].work(*n as usize))))
        .collect();
    loop {
        let gain = |it: usize| {
            let neuron = *ordered[it].order.get(prefixes[it])? as usize;
            let (work, size) = (blocks[it].work(neuron), blocks[it].bytes.of(neuron));
            if bytes + size > devices.gpu_capacity {
                return None;
            }
            let time =
                |on_gpu: Work| blocks[it].on_gpu(gpu, on_gpu).max(dimms.time(ordered[it].total.less(on_gpu)));
            Some((it, (time(on_gpu[it]) - time(on_gpu[it].plus(work))) / size, work, size))
        };
        let best = (0..blocks.len()).filter_map(gain).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((block, gain, work, size)) = best else { break };
        if gain <= 0.0 && bytes >= forced {
            break;
        }
        prefixes[block] += 1;
        on_gpu[block] = on_gpu[block].plus(work);
        bytes += size;
    }
    prefixes
}
