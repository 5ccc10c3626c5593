//! Which neurons lie on the GPU and which on which DIMM: the paper's integer
//! programme (Eq. 1-7), solved by its structure, with a proven lower bound.
//!
//! A neuron's time on a device is its bytes, times how often it is active, over
//! the device's bandwidth. Per block, time is that of the slowest device, so
//! two questions come apart: how much work the GPU takes from each block, and
//! how evenly the rest lies on the DIMMs.
//!
//! 1. *Relaxed*: with the DIMMs as one device and neurons divisible, the best
//!    GPU set of a block is a prefix by activity, because that takes the most
//!    work per byte. Its cost over the prefix is convex, so one price per GPU
//!    byte, shared by all blocks, divides the capacity. The Lagrangian value at
//!    any price is a lower bound of the integer optimum.
//! 2. *Whole*: prefixes are rounded down and the remaining capacity is filled;
//!    where there are so few neurons that each counts, exchanges between blocks
//!    follow (`exchange.rs`).
//! 3. *Balanced*: longest processing time first over the DIMMs, then moves and
//!    exchanges out of the slowest device (`balance.rs`).

use rayon::prelude::*;

use crate::balance::{Bins, balance};
use crate::exchange;

/// One block of neurons that are computed together: a layer's QKV projection or
/// its feed-forward network.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<'a> {
    /// Bytes of each neuron: one for all, or one each.
    pub bytes: Sizes<'a>,
    /// Share of tokens for which each neuron is active, from 0 to 1.
    pub frequency: &'a [f32],
    /// Time of the GPU whatever it computes, such as synchronisation.
    pub gpu_fixed_s: f64,
}

/// Bytes of a block's neurons.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes<'a> {
    /// All neurons have as many.
    Equal(f64),
    /// One number per neuron.
    Each(&'a [f64]),
}

impl Sizes<'_> {
    /// Bytes of one neuron.
    #[must_use]
    pub fn of(&self, neuron: usize) -> f64 {
        match self {
            Self::Equal(bytes) => *bytes,
            Self::Each(bytes) => bytes[neuron],
        }
    }
}

/// A GPU and DIMMs: bandwidth and capacity of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Devices {
    /// Bytes per second of the GPU.
    pub gpu_bandwidth: f64,
    /// Bytes that the GPU can hold.
    pub gpu_capacity: f64,
    /// Bytes per second of each DIMM.
    pub dimm_bandwidth: Vec<f64>,
    /// Bytes that each DIMM can hold.
    pub dimm_capacity: Vec<f64>,
}

/// Where a neuron lies: 0 is the GPU, `1..` the DIMMs.
pub type Device = u16;

/// A placement of all neurons, and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Device of each neuron, per block.
    pub device: Vec<Vec<Device>>,
    /// Sum over blocks of the slowest device's time.
    pub objective_s: f64,
    /// No placement is faster than this.
    pub lower_bound_s: f64,
    /// Bytes on each device, the GPU first.
    pub bytes: Vec<f64>,
}

impl Partition {
    /// How much longer the placement takes than the bound, as a share of the
    /// bound.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.objective_s / self.lower_bound_s - 1.0
    }
}

/// Why an instance has no placement.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// No DIMMs, or more than can be numbered.
    #[error("{0} DIMMs; there must be from 1 to 4096")]
    Dimms(usize),
    /// Bandwidths and capacities of different lengths.
    #[error("{bandwidths} DIMM bandwidths but {capacities} DIMM capacities; give one of each per DIMM")]
    Lengths {
        /// How many bandwidths.
        bandwidths: usize,
        /// How many capacities.
        capacities: usize,
    },
    /// A number that is no bandwidth, capacity, size, time or share.
    #[error("{what} is {value}; it must be {allowed}")]
    BadNumber {
        /// What was given.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Sizes and frequencies of different lengths.
    #[error("block {block} has {sizes} sizes but {frequencies} frequencies; give one of each per neuron")]
    BlockLengths {
        /// Which block.
        block: usize,
        /// How many sizes.
        sizes: usize,
        /// How many frequencies.
        frequencies: usize,
    },
    /// More bytes than all devices hold.
    #[error(
        "the neurons take {:.3} GB, but GPU and DIMMs hold {:.3} GB: {:.3} GB short; \
         {needed_dimms} DIMMs of this size would do", need * 1e-9, have * 1e-9, (need - have) * 1e-9
    )]
    DoesNotFit {
        /// Bytes of all neurons.
        need: f64,
        /// Bytes of all devices.
        have: f64,
        /// DIMMs, as large as the largest, that would hold them.
        needed_dimms: usize,
    },
    /// There is room, but neurons are too large to fill it.
    #[error(
        "no DIMM has room left for a neuron of {bytes} bytes, although all neurons together would fit; \
         use smaller neurons or one more DIMM"
    )]
    Fragmented {
        /// The neuron's bytes.
        bytes: f64,
    },
}

/// A block as the solver sees it.
struct Ordered {
    /// Neurons by falling frequency; those on the GPU first, once that is settled.
    order: Vec<u32>,
    /// Seconds of work at one byte per second.
    total_work: f64,
}

impl Block<'_> {
    pub(crate) fn work(&self, neuron: usize) -> f64 {
        self.bytes.of(neuron) * f64::from(self.frequency[neuron])
    }

    fn check(&self, index: usize) -> Result<(), PartitionError> {
        let bad = |what, value, allowed| Err(PartitionError::BadNumber { what, value, allowed });
        if let Sizes::Each(sizes) = self.bytes
            && sizes.len() != self.frequency.len()
        {
            let (sizes, frequencies) = (sizes.len(), self.frequency.len());
            return Err(PartitionError::BlockLengths { block: index, sizes, frequencies });
        }
        if !(self.gpu_fixed_s.is_finite() && self.gpu_fixed_s >= 0.0) {
            return bad("a fixed GPU time", self.gpu_fixed_s, "at least 0 s");
        }
        let sizes = match &self.bytes {
            Sizes::Equal(bytes) => std::slice::from_ref(bytes),
            Sizes::Each(bytes) => bytes,
        };
        if let Some(value) = sizes.iter().find(|it| !(it.is_finite() && **it > 0.0)) {
            return bad("a neuron's size", *value, "above 0 bytes");
        }
        match self.frequency.iter().find(|it| !(0.0..=1.0).contains(*it)) {
            Some(value) => bad("an activation frequency", f64::from(*value), "from 0 to 1"),
            None => Ok(()),
        }
    }
}

/// Places every neuron on the GPU or one DIMM.
///
/// * `blocks`: computed one after the other
/// * returns the device of each neuron, the objective of Eq. 1 in seconds and a
///   proven lower bound of it
///
/// # Errors
/// [`PartitionError`] if a number is out of range or the neurons do not fit.
///
/// # Source
/// Hermes (Liu et al., HPCA 2025), Sec. IV-B, Eq. 1-7, with the constraint that
/// each neuron lies on exactly one device, which the paper leaves out.
///
/// # Example
/// ```
/// use memscape_ndp::partition::{Block, Devices, Sizes, solve};
///
/// let frequency = [0.9, 0.5, 0.1, 0.1];
/// let block = Block { bytes: Sizes::Equal(1e6), frequency: &frequency, gpu_fixed_s: 0.0 };
/// let devices = Devices {
///     gpu_bandwidth: 800e9,
///     gpu_capacity: 2e6,
///     dimm_bandwidth: vec![50e9; 2],
///     dimm_capacity: vec![8e6; 2],
/// };
/// let partition = solve(&[block], &devices)?;
/// assert_eq!(partition.device[0][..2], [0, 0]);
/// assert!(partition.gap() < 1e-6); // rounding of f32 frequencies
/// # Ok::<(), memscape_ndp::partition::PartitionError>(())
/// ```
pub fn solve(blocks: &[Block], devices: &Devices) -> Result<Partition, PartitionError> {
    check(blocks, devices)?;
    let mut ordered: Vec<Ordered> = blocks.par_iter().map(order).collect();
    let dimms: f64 = devices.dimm_bandwidth.iter().sum();
    let total: f64 = blocks.iter().map(total_bytes).sum();

    let (price, lower_bound_s) = best_price(blocks, &ordered, devices, dimms);
    // What the DIMMs cannot hold must go to the GPU, however slow that is.
    let forced = (total - devices.dimm_capacity.iter().sum::<f64>()).max(0.0);
    let mut prefixes = whole_prefixes(blocks, &ordered, devices, dimms, price, forced);
    if blocks.iter().map(|it| it.frequency.len()).sum::<usize>() <= exchange::MOST {
        let orders = ordered.iter_mut().map(|it| &mut it.order);
        exchange::improve(blocks, devices, orders.zip(&mut prefixes), forced);
    }
    let gpu_bytes: f64 =
        (0..blocks.len()).map(|it| prefix_bytes(&blocks[it], &ordered[it], prefixes[it])).sum();
    let bins = Bins {
        bandwidth: std::iter::once(devices.gpu_bandwidth)
            .chain(devices.dimm_bandwidth.iter().copied())
            .collect(),
        free: std::iter::once(devices.gpu_capacity - gpu_bytes)
            .chain(devices.dimm_capacity.iter().copied())
            .collect(),
    };
    let (device, bytes) = balance(blocks, &ordered_slices(&ordered), &prefixes, bins)?;
    let objective_s = objective(blocks, devices, &device);
    // Where the two are equal, sums in another order may differ in the last digit.
    Ok(Partition { device, objective_s, lower_bound_s: lower_bound_s.min(objective_s), bytes })
}

fn ordered_slices(ordered: &[Ordered]) -> Vec<&[u32]> {
    ordered.iter().map(|it| it.order.as_slice()).collect()
}

fn check(blocks: &[Block], devices: &Devices) -> Result<(), PartitionError> {
    let dimms = devices.dimm_bandwidth.len();
    if !(1..=4096).contains(&dimms) {
        return Err(PartitionError::Dimms(dimms));
    }
    if devices.dimm_capacity.len() != dimms {
        let capacities = devices.dimm_capacity.len();
        return Err(PartitionError::Lengths { bandwidths: dimms, capacities });
    }
    let bandwidths = std::iter::once(&devices.gpu_bandwidth).chain(&devices.dimm_bandwidth);
    if let Some(value) = bandwidths.into_iter().find(|it| !(it.is_finite() && **it > 0.0)) {
        let (what, allowed) = ("a bandwidth", "above 0 bytes/s");
        return Err(PartitionError::BadNumber { what, value: *value, allowed });
    }
    let capacities = std::iter::once(&devices.gpu_capacity).chain(&devices.dimm_capacity);
    if let Some(value) = capacities.into_iter().find(|it| !(it.is_finite() && **it >= 0.0)) {
        let (what, allowed) = ("a capacity", "at least 0 bytes");
        return Err(PartitionError::BadNumber { what, value: *value, allowed });
    }
    for (index, block) in blocks.iter().enumerate() {
        block.check(index)?;
    }
    let need: f64 = blocks.iter().map(total_bytes).sum();
    let have = devices.gpu_capacity + devices.dimm_capacity.iter().sum::<f64>();
    if need > have {
        let largest = devices.dimm_capacity.iter().copied().fold(1.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
        let needed_dimms = ((need - devices.gpu_capacity) / largest).ceil() as usize;
        return Err(PartitionError::DoesNotFit { need, have, needed_dimms });
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 neurons")]
fn total_bytes(block: &Block) -> f64 {
    match block.bytes {
        Sizes::Equal(bytes) => bytes * block.frequency.len() as f64,
        Sizes::Each(bytes) => bytes.iter().sum(),
    }
}

/// Neurons by falling frequency. Ties are in a fixed order that has nothing to do
/// with numbers: of equal neurons the exchange fetches those of low numbers first,
/// and these must not all lie on the same DIMMs.
fn order(block: &Block) -> Ordered {
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

fn prefix_bytes(block: &Block, ordered: &Ordered, prefix: usize) -> f64 {
    ordered.order[..prefix].iter().map(|it| block.bytes.of(*it as usize)).sum()
}

/// The best divisible prefix of one block at a price per GPU byte: its cost
/// with the price paid, and the whole neurons in it.
struct AtPrice {
    value: f64,
    bytes: f64,
    prefix: usize,
}

/// Walks the prefix until the next neuron costs the GPU more than it saves.
///
/// Taking a neuron of `w` work and `s` bytes saves `w / dimms` until the GPU is
/// the slower side, and costs `price * s`; saving per byte falls with the
/// frequency, so the first neuron that does not pay ends the prefix. The last
/// one is divided where GPU and DIMMs would be level.
fn at_price(block: &Block, ordered: &Ordered, gpu: f64, dimms: f64, price: f64) -> AtPrice {
    let (mut on_gpu, mut bytes) = (0.0, 0.0);
    let level = ((ordered.total_work / dimms - block.gpu_fixed_s) / (1.0 / gpu + 1.0 / dimms)).max(0.0);
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
    let gpu_time = block.gpu_fixed_s + on_gpu / gpu;
    let dimm_time = (ordered.total_work - on_gpu) / dimms;
    AtPrice { value: gpu_time.max(dimm_time) + price * bytes, bytes, prefix }
}

/// The price at which the relaxed optimum just fits, and the bound it proves.
fn best_price(blocks: &[Block], ordered: &[Ordered], devices: &Devices, dimms: f64) -> (f64, f64) {
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
fn whole_prefixes(
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
                (blocks[it].gpu_fixed_s + on_gpu / gpu).max((ordered[it].total_work - on_gpu) / dimms)
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

/// Eq. 1: the slowest device of each block, summed.
fn objective(blocks: &[Block], devices: &Devices, device: &[Vec<Device>]) -> f64 {
    blocks
        .par_iter()
        .zip(device)
        .map(|(block, device)| {
            let mut work = vec![0.0; devices.dimm_bandwidth.len() + 1];
            for (neuron, device) in device.iter().enumerate() {
                work[usize::from(*device)] += block.work(neuron);
            }
            let gpu = block.gpu_fixed_s + work[0] / devices.gpu_bandwidth;
            work[1..]
                .iter()
                .zip(&devices.dimm_bandwidth)
                .fold(gpu, |slowest, (work, bandwidth)| slowest.max(work / bandwidth))
        })
        .collect::<Vec<f64>>()
        .into_iter()
        .sum()
}
