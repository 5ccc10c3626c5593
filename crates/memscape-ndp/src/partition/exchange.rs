//! Which neurons lie on the GPU, one by one, where there are few.
//!
//! Prefixes by activity are best as long as a neuron is a small part of its
//! block. Of a handful, the DIMMs cannot be level, and the GPU's last bytes may
//! do more for another block: here neurons go to the GPU, and others leave it to
//! make room, while that gains time.

use super::problem::{Block, Devices, Work};

/// Neurons in all blocks up to which every exchange is tried.
pub(super) const MOST: usize = 128;

/// What a block's time with level DIMMs counts beside its real time, search by
/// search. Of two neurons that are each the longest of its DIMM, the first on the
/// GPU gains no real time.
const FORESIGHT: [f64; 3] = [1.0, 0.1, 0.0];

/// One block: which neurons are on the GPU.
#[derive(Clone)]
struct State<'a> {
    block: &'a Block<'a>,
    /// Neurons by falling work.
    by_work: Vec<usize>,
    on_gpu: Vec<bool>,
}

/// A search over all blocks.
struct Search<'a> {
    devices: &'a Devices,
    /// Bytes that must be on the GPU, as the DIMMs cannot hold them.
    forced: f64,
    foresight: f64,
}

/// Blocks, the bytes that the GPU holds, and the time of each block.
#[derive(Clone)]
struct Placement<'a> {
    states: Vec<State<'a>>,
    held: f64,
    time: Vec<f64>,
}

impl State<'_> {
    /// Time of the slowest device when the DIMMs' neurons are handed out longest
    /// first, and with level DIMMs.
    fn times(&self, devices: &Devices) -> (f64, f64) {
        let (mut gpu, mut cold) = (Work::default(), Work::default());
        let dimms = devices.dimms();
        let mut loads = vec![Work::default(); dimms.len()];
        for neuron in &self.by_work {
            let work = self.block.work(*neuron);
            if self.on_gpu[*neuron] {
                gpu = gpu.plus(work);
            } else {
                let done = |it: &usize| dimms[*it].time(loads[*it].plus(work));
                let dimm = (0..loads.len()).min_by(|a, b| done(a).total_cmp(&done(b))).unwrap_or_default();
                loads[dimm] = loads[dimm].plus(work);
                cold = cold.plus(work);
            }
        }
        let gpu = self.block.on_gpu(devices.gpu(), gpu);
        let slowest = loads.iter().zip(&dimms).fold(gpu, |it: f64, (load, speed)| it.max(speed.time(*load)));
        (slowest, gpu.max(devices.together().time(cold)))
    }
}

impl<'a> Search<'a> {
    fn time(&self, state: &State) -> f64 {
        let (real, level) = state.times(self.devices);
        real + self.foresight * level
    }

    /// Puts one neuron on the other side.
    fn toggle(&self, placement: &mut Placement, (block, neuron): (usize, usize)) {
        let state = &mut placement.states[block];
        let bytes = state.block.bytes.of(neuron);
        placement.held += if state.on_gpu[neuron] { -bytes } else { bytes };
        state.on_gpu[neuron] ^= true;
        placement.time[block] = self.time(state);
    }

    /// One neuron changes sides; where there is no room for it, those leave that
    /// are missed least for their size.
    fn with(&self, placement: &Placement<'a>, moved: (usize, usize)) -> Option<Placement<'a>> {
        let mut next = placement.clone();
        self.toggle(&mut next, moved);
        while next.held > self.devices.gpu_capacity {
            let mut least: Option<(f64, (usize, usize))> = None;
            for (block, state) in next.states.iter().enumerate() {
                let mut state = state.clone();
                for neuron in 0..state.on_gpu.len() {
                    if !state.on_gpu[neuron] || (block, neuron) == moved {
                        continue;
                    }
                    state.on_gpu[neuron] = false;
                    let loss = (self.time(&state) - next.time[block]) / state.block.bytes.of(neuron);
                    state.on_gpu[neuron] = true;
                    if least.is_none_or(|it| loss < it.0) {
                        least = Some((loss, (block, neuron)));
                    }
                }
            }
            self.toggle(&mut next, least?.1);
        }
        (next.held >= self.forced.min(placement.held)).then_some(next)
    }

    /// The best of all single moves, as long as one gains.
    fn run(&self, mut placement: Placement<'a>) -> Placement<'a> {
        placement.time = placement.states.iter().map(|it| self.time(it)).collect();
        let neurons: Vec<(usize, usize)> = placement
            .states
            .iter()
            .enumerate()
            .flat_map(|(block, state)| (0..state.on_gpu.len()).map(move |neuron| (block, neuron)))
            .collect();
        // Each round gains, and there are finitely many placements.
        loop {
            let now: f64 = placement.time.iter().sum();
            let tried = neurons.iter().filter_map(|it| {
                let next = self.with(&placement, *it)?;
                Some((next.time.iter().sum::<f64>(), next))
            });
            match tried.min_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((time, next)) if time < now * (1.0 - 1e-9) => placement = next,
                _ => return placement,
            }
        }
    }
}

/// Improves the GPU's neurons: of each block, the first `prefix` of its order.
/// On return these are the neurons to be kept there, the others by falling
/// frequency as before.
///
/// * `forced`: bytes that the DIMMs cannot hold
pub(super) fn improve<'a>(
    blocks: &[Block],
    devices: &Devices,
    placed: impl Iterator<Item = (&'a mut Vec<u32>, &'a mut usize)>,
    forced: f64,
) {
    let mut placed: Vec<_> = placed.collect();
    let mut held = 0.0;
    let mut states = Vec::with_capacity(blocks.len());
    for (block, (order, prefix)) in blocks.iter().zip(&placed) {
        let mut by_work: Vec<usize> = (0..order.len()).collect();
        let time = |it: &usize| devices.together().time(block.work(*it));
        by_work.sort_by(|a, b| time(b).total_cmp(&time(a)));
        let mut on_gpu = vec![false; order.len()];
        for neuron in &order[..**prefix] {
            on_gpu[*neuron as usize] = true;
            held += block.bytes.of(*neuron as usize);
        }
        states.push(State { block, by_work, on_gpu });
    }
    let real = |it: &Placement| it.states.iter().map(|it| it.times(devices).0).sum::<f64>();
    let mut best = Placement { states, held, time: Vec::new() };
    let mut last = best.clone();
    for foresight in FORESIGHT {
        last = Search { devices, forced, foresight }.run(last);
        if real(&last) < real(&best) {
            best = last.clone();
        }
    }
    for (state, (order, prefix)) in best.states.iter().zip(&mut placed) {
        order.sort_by_key(|it| !state.on_gpu[*it as usize]);
        **prefix = state.on_gpu.iter().filter(|it| **it).count();
    }
}
