//! Where neurons lie before the first token: copies on the GPU, and a home on one
//! DIMM for each.

use memscape_study::random::Key;
use memscape_units::{Nanoseconds, float};
use rayon::prelude::*;

use super::setting::Hermes;
use crate::activity::{BlockKind, Source};
use crate::cost::{ColdSide, Rates};
use crate::error::NdpError;
use crate::partition::{Block, Device, Devices, MOST_PLACES, Partition, PartitionError, Sizes, solve};
use crate::scheduler::{BlockCost, Exchange, Strategy};
use crate::work::Shape;

/// Where the neurons of one block lie.
pub(super) struct Placed {
    /// Whether the GPU has a copy.
    pub on_gpu: Vec<bool>,
    /// Its DIMM, from 1.
    pub homes: Vec<Device>,
}

/// The offline partition, block by block: QKV and feed-forward of each layer in
/// turn.
///
/// * `capacity`: bytes of sparse neurons that the GPU may hold
/// * `room`: bytes of sparse neurons that each DIMM may hold
///
/// # Errors
/// [`NdpError::Partition`] if neurons do not fit, [`NdpError::Places`] if they are too many.
pub fn offline(
    rates: &Rates,
    shape: &Shape,
    source: &Source,
    capacity: f64,
    room: f64,
) -> Result<Partition, NdpError> {
    check_places(rates, shape)?;
    Ok(solved(rates, shape, &profiles(shape, source), capacity, room)?)
}

/// Whether neurons and devices are few enough to be solved: asked before the neurons are made, which takes
/// minutes of too many.
fn check_places(rates: &Rates, shape: &Shape) -> Result<(), NdpError> {
    let neurons = shape.layers.saturating_mul(shape.hidden.saturating_add(shape.ffn));
    let devices = count_dimms(rates) + 1;
    if neurons.saturating_mul(devices) > MOST_PLACES {
        return Err(NdpError::Places { neurons, devices });
    }
    Ok(())
}

/// DIMMs that there are; one where the host computes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
fn count_dimms(rates: &Rates) -> usize {
    rates.dimms as usize
}

fn solved(
    rates: &Rates,
    shape: &Shape,
    profile: &[Vec<f32>],
    capacity: f64,
    room: f64,
) -> Result<Partition, PartitionError> {
    let often: Vec<[Vec<f32>; 2]> =
        profile.par_iter().map(|it| [read(it, rates), multiplied(it, rates)]).collect();
    let blocks: Vec<Block> = (0..)
        .zip(&often)
        .map(|(index, [frequency, multiplied]): (usize, _)| {
            let cost = rates.block(shape, BlockKind::ALL[index % 2]);
            let bytes = Sizes::Equal(cost.neuron_bytes);
            Block { bytes, frequency, multiplied: Some(multiplied), gpu_fixed: cost.gpu_fixed }
        })
        .collect();
    solve(&blocks, &devices(rates, shape, capacity, room))
}

/// How often one sequence activates each neuron, by block.
fn profiles(shape: &Shape, source: &Source) -> Vec<Vec<f32>> {
    let of = |block: usize| source.frequency(BlockKind::ALL[block % 2], block / 2);
    (0..shape.layers * 2).into_par_iter().map(of).collect()
}

/// How often any sequence of the batch activates each neuron.
fn read(profile: &[f32], rates: &Rates) -> Vec<f32> {
    let any = |it: f32| {
        // Of one sequence, no digit is to change.
        if rates.batch > 1.0 { -(rates.batch * (-f64::from(it)).ln_1p()).exp_m1() } else { it.into() }
    };
    #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
    profile.iter().map(|it| any(*it) as f32).collect()
}

/// How many sequences of the batch do.
fn multiplied(profile: &[f32], rates: &Rates) -> Vec<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "at most 4096 sequences")]
    let batch = rates.batch as f32;
    profile.iter().map(|it| it * batch).collect()
}

/// What DIMMs do for each neuron of a block, by what binds them with those that the GPU leaves:
/// how often they read it, or how often they multiply it.
fn cold_work(profile: &[f32], on_gpu: &[bool], cost: &BlockCost, rates: &Rates) -> Vec<f32> {
    let [reads, products] = [read(profile, rates), multiplied(profile, rates)];
    let time = |often: &[f32], each: Nanoseconds| {
        let cold = often.iter().zip(on_gpu).filter(|it| !it.1);
        cold.map(|it| f64::from(*it.0)).sum::<f64>() * each.as_f64()
    };
    let multiplies = time(&products, cost.cold_activation) > time(&reads, cost.cold_neuron);
    if multiplies { products } else { reads }
}

/// GPU and DIMMs. A bound must hold for both blocks: where one's neurons come with more
/// beside their weights, the other's rate is that of both. What is read is carried for one sequence at least.
fn devices(rates: &Rates, shape: &Shape, capacity: f64, room: f64) -> Devices {
    let cost = BlockKind::ALL.map(|it| rates.block(shape, it));
    let rate = |each: fn(&BlockCost) -> Nanoseconds| {
        let of = |it: &BlockCost| it.neuron_bytes / each(it).as_f64() * 1e9;
        of(&cost[0]).max(of(&cost[1]))
    };
    let dimms = count_dimms(rates);
    Devices {
        gpu_bandwidth: rate(|it| it.gpu_neuron),
        gpu_multiplies: rate(|it| it.gpu_activation),
        gpu_capacity: capacity,
        dimm_bandwidth: vec![rate(|it| it.cold_neuron + it.carried); dimms],
        dimm_multiplies: rate(|it| it.cold_activation + it.carried),
        dimm_capacity: vec![room; dimms],
    }
}

/// Places all neurons.
///
/// * `capacity`: bytes of sparse neurons that the GPU may hold
/// * `room`: bytes of sparse neurons that each DIMM may hold
/// * `dimms`: DIMMs that they are spread over
pub(super) fn place(
    hermes: &Hermes,
    source: &Source,
    capacity: f64,
    room: f64,
    dimms: usize,
) -> Result<Vec<Placed>, NdpError> {
    let (rates, shape) = (hermes.placing_rates(), &hermes.work.shape);
    if hermes.policy.exchange == Exchange::Unchecked {
        check_places(&rates, shape)?;
    }
    let profile = profiles(shape, source);
    let bytes = |block: usize| rates.block(shape, BlockKind::ALL[block % 2]).neuron_bytes;
    let mut on_gpu: Vec<Vec<bool>> = match hermes.policy.exchange {
        Exchange::UntilLevel => fullest(&profile, bytes, capacity),
        Exchange::Unchecked => {
            // The host's memory holds all, wherever Hermes would put it.
            let room = if hermes.cold == ColdSide::Host { shape.bytes() } else { room };
            let found = solved(&rates, shape, &profile, capacity, room)?;
            found.device.iter().map(|it| it.iter().map(|it| *it == 0).collect()).collect()
        }
    };
    let random = hermes.policy.strategy == Strategy::Random;
    let mut homes =
        Homes { free: vec![room; dimms], groups: hermes.policy.groups.map(|it| it.get() as usize) };
    let mut placed = Vec::with_capacity(profile.len());
    for (block, (profile, on_gpu)) in profile.iter().zip(&mut on_gpu).enumerate() {
        let cost = rates.block(shape, BlockKind::ALL[block % 2]);
        let work = cold_work(profile, on_gpu, &cost, &rates);
        let key = Key::new(hermes.policy.seed).fork(7).fork(block as u64);
        let homes = if random {
            scatter(on_gpu, key);
            homes.anywhere(profile.len(), bytes(block), key)?
        } else {
            homes.level(&work, on_gpu, bytes(block))?
        };
        placed.push(Placed { on_gpu: std::mem::take(on_gpu), homes });
    }
    Ok(placed)
}

/// The most active neurons of all blocks, as many as fit. Ties are in an order that
/// has nothing to do with numbers.
fn fullest(frequency: &[Vec<f32>], bytes: impl Fn(usize) -> f64, capacity: f64) -> Vec<Vec<bool>> {
    let key = Key::new(0).fork(9);
    let mut order: Vec<(u64, u32, u32)> = Vec::with_capacity(frequency.iter().map(Vec::len).sum());
    for (block, frequency) in (0_u32..).zip(frequency) {
        let key = key.fork(u64::from(block));
        // Frequencies are from 0 to 1, so their bits sort as they do.
        order.extend((0_u32..).zip(frequency).map(|(neuron, it): (u32, &f32)| {
            let rank = u64::from(!it.abs().to_bits()) << 32 | key.bits(u64::from(neuron)) >> 32;
            (rank, block, neuron)
        }));
    }
    order.par_sort_unstable();
    let mut on_gpu: Vec<Vec<bool>> = frequency.iter().map(|it| vec![false; it.len()]).collect();
    let mut room = capacity;
    for (_, block, neuron) in order {
        let need = bytes(block as usize);
        // Capacities are sums of sizes: the last neuron may miss by a rounding.
        if need > room * (1.0 + 1e-12) {
            break;
        }
        room -= need;
        on_gpu[block as usize][neuron as usize] = true;
    }
    on_gpu
}

/// The same number of copies, of any neurons.
fn scatter(on_gpu: &mut [bool], key: Key) {
    let hot = on_gpu.iter().filter(|it| **it).count();
    let mut order: Vec<(u64, usize)> = (0..on_gpu.len()).map(|it| (key.bits(it as u64), it)).collect();
    order.sort_unstable();
    on_gpu.fill(false);
    order[..hot].iter().for_each(|it| on_gpu[it.1] = true);
}

/// DIMMs that are filled block by block.
struct Homes {
    /// Bytes that are left on each.
    free: Vec<f64>,
    groups: Option<usize>,
}

impl Homes {
    /// Longest processing time first: neighbours, or single neurons, by falling work
    /// to the DIMM that has least of the block, and of equal ones to the emptiest. What
    /// the GPU holds has no work yet, and is spread by the work that it may have.
    fn level(&mut self, frequency: &[f32], on_gpu: &[bool], bytes: f64) -> Result<Vec<Device>, NdpError> {
        let neurons = frequency.len();
        let work = |it: usize| if on_gpu[it] { 0.0 } else { f64::from(frequency[it]) };
        let groups = self.groups.map_or(neurons, |it| it.min(neurons)).max(1);
        let mut order: Vec<(f64, std::ops::Range<usize>)> = (0..groups)
            .map(|it| it * neurons / groups..(it + 1) * neurons / groups)
            .map(|it| (it.clone().map(work).sum(), it))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.start.cmp(&b.1.start)));
        let mut homes = vec![0; neurons];
        let mut load = [vec![0.0; self.free.len()], vec![0.0; self.free.len()]];
        for (sum, members) in order {
            let held = sum <= 0.0;
            let load = &mut load[usize::from(held)];
            let weight = |it: usize| if held { f64::from(frequency[it]) } else { work(it) };
            let need = float(members.len() as u64) * bytes;
            if let Some(dimm) = self.least(load, need) {
                load[dimm] += members.clone().map(weight).sum::<f64>();
                self.put(dimm, need, &mut homes[members]);
                continue;
            }
            // Too large for what is left on any: one by one.
            for neuron in members {
                let dimm = self.least(load, bytes).ok_or(PartitionError::Fragmented { bytes })?;
                self.put(dimm, bytes, &mut homes[neuron..=neuron]);
                load[dimm] += weight(neuron);
            }
        }
        Ok(homes)
    }

    /// Any DIMM for each group of neighbours, or each neuron.
    fn anywhere(&mut self, neurons: usize, bytes: f64, key: Key) -> Result<Vec<Device>, NdpError> {
        let mut homes = vec![0; neurons];
        let groups = self.groups.map_or(neurons, |it| it.min(neurons)).max(1);
        let count = self.free.len();
        for group in 0..groups {
            let members = group * neurons / groups..(group + 1) * neurons / groups;
            #[expect(clippy::cast_possible_truncation, reason = "below the number of DIMMs")]
            let first = (key.fork(1).bits(group as u64) % count as u64) as usize;
            let with_room = |free: &[f64], need: f64| {
                (0..count).map(|it| (first + it) % count).find(|it| free[*it] >= need)
            };
            let need = float(members.len() as u64) * bytes;
            if let Some(dimm) = with_room(&self.free, need) {
                self.put(dimm, need, &mut homes[members]);
                continue;
            }
            for neuron in members {
                let dimm = with_room(&self.free, bytes).ok_or(PartitionError::Fragmented { bytes })?;
                self.put(dimm, bytes, &mut homes[neuron..=neuron]);
            }
        }
        Ok(homes)
    }

    /// The DIMM with the least work that has room.
    fn least(&self, load: &[f64], need: f64) -> Option<usize> {
        let free = &self.free;
        let fitting = (0..load.len()).filter(|it| free[*it] >= need);
        fitting.min_by(|a, b| load[*a].total_cmp(&load[*b]).then(free[*b].total_cmp(&free[*a])))
    }

    fn put(&mut self, dimm: usize, bytes: f64, homes: &mut [Device]) {
        self.free[dimm] -= bytes;
        homes.fill(Device::try_from(dimm + 1).expect("at most 4096 DIMMs"));
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use memscape_workload::Model;

    use super::*;
    use crate::hardware::MACHINES;

    /// The number of DIMMs that is advised passes the same check.
    #[test]
    fn advised_dimms_are_few_enough() {
        let shape = Shape::of(&Model::named("llama-2-70b").unwrap(), 16.0);
        let asked = |dimms| {
            let dimms = NonZeroU32::new(dimms).unwrap();
            let machine = crate::hardware::Machine { dimms, ..*MACHINES.get("hermes") };
            check_places(&Rates::new(&machine, ColdSide::Dimms, 1, shape.weight_bytes), &shape)
        };
        assert!(asked(1024).unwrap_err().to_string().contains("give `dimms` = 677 at most"));
        assert_eq!(asked(677), Ok(()));
        assert!(asked(678).is_err());
    }

    /// Neighbours that no DIMM has room for together lie where there is some, until all of it is used.
    #[test]
    fn neighbours_that_fit_nowhere_are_parted() {
        let place = |neurons: usize| {
            let homes = || Homes { free: vec![4.0; 3], groups: Some(5) };
            let level = homes().level(&vec![0.5; neurons], &vec![false; neurons], 1.0);
            [level, homes().anywhere(neurons, 1.0, Key::new(7))]
        };
        for homes in place(12).map(Result::unwrap) {
            let on = |dimm: Device| homes.iter().filter(|it| **it == dimm).count();
            assert_eq!([1, 2, 3].map(on), [4; 3], "{homes:?}");
        }
        assert!(place(13).iter().all(Result::is_err));
    }
}
