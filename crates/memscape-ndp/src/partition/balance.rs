//! Spreading the cold neurons of each block evenly over the DIMMs.

use super::problem::{Block, Device, PartitionError, Speed, Work};

/// Devices, the GPU first: speed, and room that is left.
pub(super) struct Bins {
    pub speed: Vec<Speed>,
    pub free: Vec<f64>,
}

/// Exchanges are looked for among at most as many neurons of one block: where
/// there are more, they are so small that longest-first is level already.
const SEARCHED: usize = 512;

/// Gives the neurons after each block's prefix to the DIMMs, or what none of them has room for to the GPU.
/// Where that leads to no end, as with neurons that are large against the room there is, they are packed.
///
/// * `order`: neurons by falling frequency, per block
/// * `prefix`: how many of them lie on the GPU, per block
/// * returns the device of each neuron and the bytes on each device
pub(super) fn balance(
    blocks: &[Block],
    order: &[&[u32]],
    prefix: &[usize],
    mut bins: Bins,
) -> Result<(Vec<Vec<Device>>, Vec<f64>), PartitionError> {
    let capacity = bins.free.clone();
    let placed: Result<Vec<_>, _> = blocks
        .iter()
        .zip(order)
        .zip(prefix)
        .map(|((block, order), prefix)| longest_first(block, order, *prefix, &mut bins))
        .collect();
    let mut devices = if let Ok(devices) = placed {
        devices
    } else {
        bins.free.clone_from(&capacity);
        let on_gpu = |((block, order), prefix): ((&Block, &&[u32]), &usize)| {
            order[..*prefix].iter().map(|it| block.bytes.of(*it as usize)).sum::<f64>()
        };
        bins.free[0] += blocks.iter().zip(order).zip(prefix).map(on_gpu).sum::<f64>();
        packed(blocks, &mut bins)?
    };
    // Searched when all neurons have a place, so that what room is left is known.
    for (block, device) in blocks.iter().zip(&mut devices) {
        if device.len() <= SEARCHED {
            Search::new(block, device, &bins).run(device, &mut bins);
        }
    }
    let mut bytes: Vec<f64> = capacity.iter().zip(&bins.free).map(|(all, free)| all - free).collect();
    bytes[0] = 0.0;
    for (block, device) in blocks.iter().zip(&devices) {
        bytes[0] += (0..device.len()).filter(|it| device[*it] == 0).map(|it| block.bytes.of(it)).sum::<f64>();
    }
    Ok((devices, bytes))
}

/// Longest processing time first: each neuron, by falling work, to the DIMM
/// that is done with it earliest.
fn longest_first(
    block: &Block,
    order: &[u32],
    prefix: usize,
    bins: &mut Bins,
) -> Result<Vec<Device>, PartitionError> {
    let mut device = vec![0; block.frequency.len()];
    let mut cold: Vec<u32> = order[prefix..].to_vec();
    let work = |neuron: u32| block.work(neuron as usize);
    if matches!(block.bytes, super::problem::Sizes::Each(_)) {
        let time = |neuron: &u32| bins.speed[1].time(work(*neuron));
        cold.sort_by(|a, b| time(b).total_cmp(&time(a)).then(a.cmp(b)));
    }
    let mut load = vec![Work::default(); bins.free.len()];
    for neuron in cold {
        let bytes = block.bytes.of(neuron as usize);
        let work = work(neuron);
        let mut best: Option<(f64, f64, usize)> = None;
        for (dimm, load) in load.iter().enumerate().skip(1) {
            if bins.free[dimm] < bytes {
                continue;
            }
            // Equally early, as at no work at all: the emptier one.
            let done = bins.speed[dimm].time(load.plus(work));
            let free = -bins.free[dimm];
            if best.is_none_or(|it| done < it.0 || (done <= it.0 && free < it.1)) {
                best = Some((done, free, dimm));
            }
        }
        let dimm = match best {
            Some((_, _, dimm)) => dimm,
            None if bytes <= bins.free[0] => 0,
            None => return Err(PartitionError::Fragmented { bytes }),
        };
        load[dimm] = load[dimm].plus(work);
        bins.free[dimm] -= bytes;
        device[neuron as usize] = Device::try_from(dimm).expect("at most 4096 DIMMs");
    }
    Ok(device)
}

/// Largest first, each to the device that it fills most.
fn packed(blocks: &[Block], bins: &mut Bins) -> Result<Vec<Vec<Device>>, PartitionError> {
    let mut devices: Vec<Vec<Device>> = blocks.iter().map(|it| vec![0; it.frequency.len()]).collect();
    let mut all: Vec<(f64, usize, usize)> = blocks
        .iter()
        .enumerate()
        .flat_map(|(block, it)| {
            (0..it.frequency.len()).map(move |neuron| (it.bytes.of(neuron), block, neuron))
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (bytes, block, neuron) in all {
        let with_room = (0..bins.free.len()).filter(|it| bytes <= bins.free[*it]);
        let device = with_room
            .min_by(|a, b| bins.free[*a].total_cmp(&bins.free[*b]))
            .ok_or(PartitionError::Fragmented { bytes })?;
        bins.free[device] -= bytes;
        devices[block][neuron] = Device::try_from(device).expect("at most 4096 DIMMs");
    }
    Ok(devices)
}

/// Local search in one block: takes work out of the slowest device.
struct Search<'a> {
    block: &'a Block<'a>,
    bytes: Vec<f64>,
    work: Vec<Work>,
    /// Neurons of each device.
    members: Vec<Vec<usize>>,
    /// Work of each device.
    load: Vec<Work>,
}

/// Neurons that change places: out of the slowest device, and back into it.
#[derive(Clone)]
struct Exchange {
    other: usize,
    out: Vec<usize>,
    back: Vec<usize>,
    /// The slower of the two devices afterwards.
    time: f64,
}

impl<'a> Search<'a> {
    fn new(block: &'a Block<'a>, device: &[Device], bins: &Bins) -> Self {
        let mut members = vec![Vec::new(); bins.free.len()];
        let mut load = vec![Work::default(); bins.free.len()];
        let bytes: Vec<f64> = (0..device.len()).map(|it| block.bytes.of(it)).collect();
        let work: Vec<Work> = (0..device.len()).map(|it| block.work(it)).collect();
        for (neuron, device) in device.iter().enumerate() {
            members[usize::from(*device)].push(neuron);
            let load = &mut load[usize::from(*device)];
            *load = load.plus(work[neuron]);
        }
        Self { block, bytes, work, members, load }
    }

    fn time(&self, device: usize, load: Work, bins: &Bins) -> f64 {
        if device == 0 { self.block.on_gpu(bins.speed[0], load) } else { bins.speed[device].time(load) }
    }

    fn run(mut self, device: &mut [Device], bins: &mut Bins) {
        // Each round lowers the slowest device or one of several equally slow.
        for _ in 0..4000 {
            let slowest = (0..self.load.len())
                .max_by(|a, b| {
                    self.time(*a, self.load[*a], bins).total_cmp(&self.time(*b, self.load[*b], bins))
                })
                .expect("a GPU and at least one DIMM");
            let Some(exchange) = self.best_exchange(slowest, bins) else { break };
            for (neurons, from, to) in
                [(&exchange.out, slowest, exchange.other), (&exchange.back, exchange.other, slowest)]
            {
                for neuron in neurons {
                    self.members[from].retain(|it| it != neuron);
                    self.members[to].push(*neuron);
                    self.load[from] = self.load[from].less(self.work[*neuron]);
                    self.load[to] = self.load[to].plus(self.work[*neuron]);
                    bins.free[from] += self.bytes[*neuron];
                    bins.free[to] -= self.bytes[*neuron];
                    device[*neuron] = Device::try_from(to).expect("at most 4096 DIMMs");
                }
            }
            // Of what was added and taken away again, no rounding is left to wait for.
            if self.members[0].is_empty() {
                self.load[0] = Work::default();
            }
        }
    }

    /// The exchange of up to two neurons against up to two that leaves the
    /// slower of the two devices fastest; none if nothing becomes faster.
    fn best_exchange(&self, slowest: usize, bins: &Bins) -> Option<Exchange> {
        let now = self.time(slowest, self.load[slowest], bins);
        let mut best: Option<Exchange> = None;
        // What binds the slowest is what is to be made level.
        let multiplies = bins.speed[slowest].multiplies(self.load[slowest]);
        let key = |it: Work| if multiplies { it.multiplied } else { it.read };
        let rate = |device: usize| {
            let speed = bins.speed[device];
            if multiplies { speed.multiplied } else { speed.read }
        };
        let outs = up_to_two(&self.members[slowest], &self.work, &self.bytes);
        for other in (0..self.load.len()).filter(|it| *it != slowest) {
            // Sorted by work: the best partner of a set is found by bisection.
            let mut backs = up_to_two(&self.members[other], &self.work, &self.bytes);
            backs.push(Few { neurons: [None, None], work: Work::default(), bytes: 0.0 });
            backs.sort_by(|a, b| key(a.work).total_cmp(&key(b.work)));
            for out in &outs {
                // The net work that would make the two devices level.
                let (speed, speed_other) = (rate(slowest), rate(other));
                let level =
                    (now - self.time(other, self.load[other], bins)) / (1.0 / speed + 1.0 / speed_other);
                let middle = backs.partition_point(|it| key(it.work) < key(out.work) - level);
                // Where room is short, a farther partner may be the nearest that fits.
                for back in &backs[middle.saturating_sub(4)..(middle + 4).min(backs.len())] {
                    let bytes = out.bytes - back.bytes;
                    if bytes > bins.free[other] || -bytes > bins.free[slowest] {
                        continue;
                    }
                    let moved = out.work.less(back.work);
                    let time = self.time(slowest, self.load[slowest].less(moved), bins).max(self.time(
                        other,
                        self.load[other].plus(moved),
                        bins,
                    ));
                    let limit = best.as_ref().map_or(now * (1.0 - 1e-9), |it| it.time);
                    if time < limit {
                        let list = |few: &Few| few.neurons.iter().flatten().copied().collect();
                        best = Some(Exchange { other, out: list(out), back: list(back), time });
                    }
                }
            }
        }
        best
    }
}

/// One or two neurons.
struct Few {
    neurons: [Option<usize>; 2],
    work: Work,
    bytes: f64,
}

fn up_to_two(members: &[usize], work: &[Work], bytes: &[f64]) -> Vec<Few> {
    let mut all = Vec::with_capacity(members.len() * (members.len() + 1) / 2 + 1);
    for (index, a) in members.iter().enumerate() {
        all.push(Few { neurons: [Some(*a), None], work: work[*a], bytes: bytes[*a] });
        for b in &members[index + 1..] {
            all.push(Few {
                neurons: [Some(*a), Some(*b)],
                work: work[*a].plus(work[*b]),
                bytes: bytes[*a] + bytes[*b],
            });
        }
    }
    all
}
