//! What one token reads and computes of a block, and how long that takes on
//! either side.

use memscape_units::{Nanoseconds, float};

use super::block::{BlockCost, Load, Shared};
use super::policy::Exchange;
use super::remap::Remapping;
use crate::activity::Bits;

/// Neurons that are read, and how often sequences multiply them: by who has them.
#[derive(Clone)]
pub(super) struct Loads {
    /// On the GPU as well, by the DIMM that has them.
    held: Vec<Load>,
    /// On no GPU, by DIMM.
    cold: Vec<Load>,
}

fn count(words: impl Iterator<Item = u64>) -> u32 {
    words.map(u64::count_ones).sum()
}

impl Loads {
    /// * `read`: neurons that are computed, right or wrong
    /// * `gpu`: neurons that the GPU holds
    /// * `sequences`: activity of each sequence at the token
    /// * `any`: activity of any of them
    pub fn new(home: &Remapping, read: &[u64], gpu: &[u64], sequences: &[&[u64]], any: &[u64]) -> Self {
        let side = |held: bool| -> Vec<Load> {
            let keep = |gpu: u64| if held { gpu } else { !gpu };
            let of = |home: &Vec<u64>| {
                let mine =
                    || read.iter().zip(gpu).zip(home).map(|((read, gpu), home)| read & keep(*gpu) & home);
                let neurons = count(mine());
                // A neuron that is read in vain is multiplied for one sequence.
                let activations = if sequences.len() == 1 || neurons == 0 {
                    neurons
                } else {
                    let hits = sequences.iter().map(|it| count(mine().zip(*it).map(|(a, b)| a & b)));
                    hits.sum::<u32>() + count(mine().zip(any).map(|(a, b)| a & !b))
                };
                Load { neurons: f64::from(neurons), activations: f64::from(activations) }
            };
            home.homes().iter().map(of).collect()
        };
        Self { held: side(true), cold: side(false) }
    }

    /// Of all DIMMs.
    pub fn held(&self) -> Load {
        sum(&self.held)
    }

    /// How long it takes. What the GPU leaves goes to the DIMMs that have it, and of
    /// them to those with the least work.
    pub fn times(&self, cost: &BlockCost, exchange: Exchange) -> Times {
        let slowest = self.cold.iter().map(|it| cost.cold(*it)).fold(Nanoseconds::ZERO, Nanoseconds::max);
        let held = self.held();
        let handed = |time, (cold, held): (&Load, &Load)| cost.room(time, *cold, *held).min(held.neurons);
        let room = |time| self.cold.iter().zip(&self.held).map(|it| handed(time, it)).sum();
        let shared = cost.share(held, exchange, slowest, room);
        let with_handed = |(cold, held): (&Load, &Load)| {
            let share = if shared.handed > 0.0 {
                handed(shared.cold, (cold, held)) / held.neurons.max(1.0)
            } else {
                0.0
            };
            Load {
                neurons: cold.neurons + share * held.neurons,
                activations: cold.activations + share * held.activations,
            }
        };
        let loads: Vec<Load> = self.cold.iter().zip(&self.held).map(with_handed).collect();
        let all = sum(&loads);
        #[expect(clippy::cast_precision_loss, reason = "a count of DIMMs")]
        let each = 1.0 / loads.len() as f64;
        let mean = Load { neurons: all.neurons * each, activations: all.activations * each };
        let rest = 1.0 - shared.handed;
        Times {
            shared,
            dimms: loads.iter().map(|it| cost.cold(*it)).collect(),
            level: cost.cold(mean),
            on_gpu: Load { neurons: held.neurons * rest, activations: held.activations * rest },
            on_dimms: loads,
        }
    }
}

fn sum(loads: &[Load]) -> Load {
    loads.iter().fold(Load::default(), |sum, it| Load {
        neurons: sum.neurons + it.neurons,
        activations: sum.activations + it.activations,
    })
}

/// How long one token takes on either side, and what either reads.
pub(super) struct Times {
    pub shared: Shared,
    /// Of each DIMM.
    pub dimms: Vec<Nanoseconds>,
    /// Of the DIMMs if they were level.
    pub level: Nanoseconds,
    pub on_gpu: Load,
    pub on_dimms: Vec<Load>,
}

impl Times {
    /// Of one who knows what is active and puts it where both sides are level.
    ///
    /// * `active`: as [`by_count`] has them
    pub fn best(cost: &BlockCost, active: &[Load], capacity: f64, dimms: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a count of DIMMs")]
        let count = dimms as f64;
        let [on_gpu, cold] = cost.level(active, capacity, count);
        let on_dimm = Load::default().plus(cold, 1.0 / count);
        let gpu = if on_gpu.neurons > 0.0 { cost.gpu(on_gpu) } else { Nanoseconds::ZERO };
        let level = cost.cold(on_dimm);
        Self {
            shared: Shared { handed: 0.0, gpu, cold: level },
            dimms: vec![level; dimms],
            level,
            on_gpu,
            on_dimms: vec![on_dimm; dimms],
        }
    }

    /// Of all DIMMs.
    pub fn cold(&self) -> Load {
        sum(&self.on_dimms)
    }
}

/// Active neurons by how many sequences activate them, those of most first.
pub(super) fn by_count(sequences: &[&[u64]], any: &[u64]) -> Vec<Load> {
    let mut neurons = vec![0_u32; sequences.len() + 1];
    for (word, any) in any.iter().enumerate() {
        let mut counts = [0_u16; 64];
        for sequence in sequences {
            let mut active = sequence[word];
            while active != 0 {
                counts[active.trailing_zeros() as usize] += 1;
                active &= active - 1;
            }
        }
        let mut active = *any;
        while active != 0 {
            neurons[usize::from(counts[active.trailing_zeros() as usize])] += 1;
            active &= active - 1;
        }
    }
    let load = |(count, neurons): (usize, &u32)| {
        let (neurons, count) = (f64::from(*neurons), float(count as u64));
        Load { neurons, activations: neurons * count }
    };
    neurons.iter().enumerate().rev().map(load).filter(|it| it.neurons > 0.0).collect()
}

/// Which neurons any sequence activates.
pub(super) fn union(activity: &[Bits], token: usize, row: &mut [u64]) {
    row.copy_from_slice(activity[0].row(token));
    for sequence in &activity[1..] {
        for (all, word) in row.iter_mut().zip(sequence.row(token)) {
            *all |= word;
        }
    }
}
