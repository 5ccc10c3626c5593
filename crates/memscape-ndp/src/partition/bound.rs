//! The lower bound where blocks have so few neurons that dividing them would say little:
//! each such block is priced with whole neurons, all of its placements tried.

use super::problem::{Block, Devices, Speed, Work};
use super::relaxed::{Ordered, at_price};

/// A block is tried whole up to so many neurons: its sets of neurons, and their divisions,
/// grow as powers of them.
const MOST_NEURONS: usize = 10;

/// And on so many DIMMs.
const MOST_DIMMS: usize = 16;

/// Neurons, all blocks together, up to which it is worth the time.
const MOST: usize = 500;

/// A set of neurons on the GPU: the time of the block with the rest on the DIMMs as well as
/// can be, and the bytes of the set.
#[derive(Clone, Copy)]
struct Choice {
    time: f64,
    bytes: f64,
}

/// No placement of whole neurons is faster than this; none if no block is small.
///
/// The GPU's capacity is priced as in the relaxed problem (the DIMMs' are not), so that
/// blocks come apart; a price is sought at which the value is greatest.
pub(super) fn of_whole_neurons(blocks: &[Block], ordered: &[Ordered], devices: &Devices) -> Option<f64> {
    let neurons: usize = blocks.iter().map(|it| it.frequency.len()).sum();
    let small = |it: &Block| it.frequency.len() <= MOST_NEURONS;
    if neurons > MOST || devices.dimm_bandwidth.len() > MOST_DIMMS || !blocks.iter().any(small) {
        return None;
    }
    let (gpu, dimms) = (devices.gpu(), devices.together());
    let choices: Vec<Option<Vec<Choice>>> =
        blocks.iter().map(|it| small(it).then(|| choices(it, devices))).collect();
    let at = |price: f64| -> (f64, f64) {
        let each = blocks.iter().zip(ordered).zip(&choices);
        let all = each.map(|((block, ordered), choices)| {
            if let Some(choices) = choices {
                return best(choices, price);
            }
            let it = at_price(block, ordered, gpu, dimms, price);
            (it.value, it.bytes)
        });
        let (value, bytes) = all.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        (value - price * devices.gpu_capacity, bytes)
    };
    // The value over the price is concave; it falls once what is chosen fits.
    let slowest = devices.dimm_bandwidth.iter().copied().fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, 1.0 / slowest);
    let mut bound = at(0.0).0.max(at(high).0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let (value, bytes) = at(middle);
        bound = bound.max(value);
        if bytes > devices.gpu_capacity { low = middle } else { high = middle }
    }
    Some(bound)
}

/// The least cost at a price, and the bytes it takes.
fn best(all: &[Choice], price: f64) -> (f64, f64) {
    let cost = |it: &Choice| it.time + price * it.bytes;
    let least = all.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
    least.map_or((f64::INFINITY, 0.0), |it| (cost(it), it.bytes))
}

/// Every set of neurons that the GPU could hold, but those that another beats in both.
fn choices(block: &Block, devices: &Devices) -> Vec<Choice> {
    let count = block.frequency.len();
    let sets = 1_usize << count;
    let (mut work, mut bytes) = (vec![Work::default(); sets], vec![0.0; sets]);
    for set in 1..sets {
        let (others, lowest) = (set & (set - 1), set.trailing_zeros() as usize);
        work[set] = work[others].plus(block.work(lowest));
        bytes[set] = bytes[others] + block.bytes.of(lowest);
    }
    let rest = on_dimms(&work, &devices.dimms());
    let choice = |set: usize| Choice {
        time: block.on_gpu(devices.gpu(), work[set]).max(rest[sets - 1 - set]),
        bytes: bytes[set],
    };
    let mut all: Vec<Choice> = (0..sets).map(choice).filter(|it| it.bytes <= devices.gpu_capacity).collect();
    all.sort_by(|a, b| a.bytes.total_cmp(&b.bytes).then(a.time.total_cmp(&b.time)));
    let mut least = f64::INFINITY;
    all.retain(|it| {
        let better = it.time < least;
        least = least.min(it.time);
        better
    });
    all
}

/// The time in which the DIMMs are done with each set of neurons, divided as well as can be.
fn on_dimms(work: &[Work], speed: &[Speed]) -> Vec<f64> {
    let mut done: Vec<f64> = work.iter().map(|it| speed[0].time(*it)).collect();
    for rate in &speed[1..] {
        let before = done.clone();
        for (set, done) in done.iter_mut().enumerate() {
            // All of its parts, from the whole to none.
            let mut part = set;
            loop {
                *done = done.min(rate.time(work[part]).max(before[set - part]));
                if part == 0 {
                    break;
                }
                part = (part - 1) & set;
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimms_divide_work_as_well_as_can_be() {
        // Sets of works 5, 4, 3 on two DIMMs: 7 for all three, 5 for the first two.
        let work = [0.0, 5.0, 4.0, 9.0, 3.0, 8.0, 7.0, 12.0].map(|it| Work { read: it, multiplied: it });
        let speed = |read: f64| Speed { read, multiplied: f64::INFINITY };
        let done = on_dimms(&work, &[speed(1.0), speed(1.0)]);
        assert_eq!(done, [0.0, 5.0, 4.0, 5.0, 3.0, 5.0, 4.0, 7.0]);
        let uneven = on_dimms(&work, &[speed(1.0), speed(3.0)])[7];
        assert!((uneven - 3.0).abs() < 1e-12, "{uneven}");
    }
}
