//! Algorithm 1, repaired: after each window, the DIMM with the most work gives
//! its most active neurons to the one with the least.

use super::planes::{count, equal};
use crate::hardware::{Pairing, Remap, Stop};
use crate::partition::Device;

/// Whether a window levels what the GPU holds as well as what it does not: where DIMMs compute more than half of it.
///
/// * `handed`: the share of it that they compute
#[must_use]
pub fn levels_all(handed: f64) -> bool {
    handed > 0.5
}

/// What a window's end moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moves {
    /// Neurons.
    pub total: u64,
    /// Neurons of the pair that moved most; pairs move at the same time.
    pub slowest_pair: u64,
}

/// Planes of a window's counters: windows of up to 4095 tokens.
const COUNT: usize = 12;

/// Homes of a block's neurons on the DIMMs, and what a window saw of them.
pub struct Remapping {
    home: Vec<Vec<u64>>,
    count: Vec<[u64; COUNT]>,
    /// Neurons that each DIMM read in this window.
    load: Vec<f64>,
    /// The highest a counter can be.
    seen: u32,
}

impl Remapping {
    /// * `homes`: the DIMM of each neuron, from 1
    #[must_use]
    pub fn new(homes: &[Device], dimms: usize, stride: usize) -> Self {
        let mut home = vec![vec![0; stride]; dimms];
        for (neuron, dimm) in homes.iter().enumerate() {
            home[usize::from(*dimm).max(1) - 1][neuron / 64] |= 1 << (neuron % 64);
        }
        Self { home, count: vec![[0; COUNT]; stride], load: vec![0.0; dimms], seen: 0 }
    }

    /// Neurons of each DIMM.
    #[must_use]
    pub fn homes(&self) -> &[Vec<u64>] {
        &self.home
    }

    /// Active cold neurons of each DIMM.
    #[must_use]
    pub fn loads(&self, row: &[u64], gpu: &[u64]) -> Vec<u32> {
        let load = |home: &Vec<u64>| {
            row.iter().zip(gpu).zip(home).map(|((row, gpu), home)| (row & !gpu & home).count_ones()).sum()
        };
        self.home.iter().map(load).collect()
    }

    /// Adds a token to the window: what was active, and what each DIMM read.
    pub fn see(&mut self, row: &[u64], loads: impl Iterator<Item = f64>) {
        self.count.iter_mut().zip(row).for_each(|(planes, active)| count(planes, *active));
        self.load.iter_mut().zip(loads).for_each(|(sum, load)| *sum += load);
        self.seen += 1;
    }

    /// The fullest DIMM of the window over the mean; none if nothing was read.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a count of DIMMs")]
    pub fn imbalance(&self) -> Option<f64> {
        let total: f64 = self.load.iter().sum();
        let most = self.load.iter().copied().fold(0.0, f64::max);
        (total > 0.0).then(|| most * self.load.len() as f64 / total)
    }

    /// Starts the next window.
    pub fn forget(&mut self) {
        self.count.fill([0; COUNT]);
        self.load.fill(0.0);
        self.seen = 0;
    }

    /// Moves neurons by what the window saw.
    ///
    /// * `gpu`: neurons that are no DIMM's to compute
    pub fn remap(&mut self, rules: &Remap, gpu: &[u64]) -> Moves {
        let mut loads: Vec<u64> = self.home.iter().map(|home| self.load_of(home, gpu)).collect();
        let mut moves = Moves::default();
        let dimms = loads.len();
        // Greedy needs as many rounds as there are DIMMs, or stops for lack of gain.
        let rounds = if rules.pairing == Pairing::Greedy { dimms } else { 1 };
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..dimms).collect();
            order.sort_by_key(|it| (std::cmp::Reverse(loads[*it]), *it));
            let pairs = if rules.pairing == Pairing::Greedy { dimms.min(2) / 2 } else { dimms / 2 };
            let mut gained = false;
            for pair in 0..pairs {
                let (full, empty) = (order[pair], order[dimms - 1 - pair]);
                let count = self.level(full, empty, &mut loads, rules.stop, gpu);
                moves.total += count;
                moves.slowest_pair = moves.slowest_pair.max(count);
                gained |= count > 0;
            }
            if !gained {
                break;
            }
        }
        moves
    }

    fn load_of(&self, home: &[u64], gpu: &[u64]) -> u64 {
        let mut sum = 0;
        for ((planes, home), gpu) in self.count.iter().zip(home).zip(gpu) {
            let cold = home & !gpu;
            for (bit, plane) in planes.iter().enumerate() {
                sum += u64::from((plane & cold).count_ones()) << bit;
            }
        }
        sum
    }

    /// Moves the most active neurons whose move makes the two more alike.
    fn level(&mut self, full: usize, empty: usize, loads: &mut [u64], stop: Stop, gpu: &[u64]) -> u64 {
        let mut moved = 0;
        for activity in (1..=self.seen).rev() {
            for (word, gpu) in gpu.iter().enumerate() {
                let mut mask = None;
                loop {
                    let gap = loads[full].saturating_sub(loads[empty]);
                    let enough = match stop {
                        Stop::Level => gap == 0,
                        Stop::FivePercent => gap * 20 <= loads[full],
                    };
                    if enough {
                        return moved;
                    }
                    if u64::from(activity) >= gap {
                        break;
                    }
                    let rest = mask
                        .unwrap_or_else(|| equal(&self.count[word], activity) & self.home[full][word] & !gpu);
                    if rest == 0 {
                        break;
                    }
                    let bit = rest & rest.wrapping_neg();
                    mask = Some(rest ^ bit);
                    self.home[full][word] ^= bit;
                    self.home[empty][word] |= bit;
                    loads[full] -= u64::from(activity);
                    loads[empty] += u64::from(activity);
                    moved += 1;
                }
            }
        }
        moved
    }
}
