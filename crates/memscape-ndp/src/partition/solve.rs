//! The solver, step by step.

use memscape_units::Nanoseconds;
use rayon::prelude::*;

use super::balance::{Bins, balance};
use super::bound::of_whole_neurons;
use super::exchange;
use super::problem::{Block, Device, Devices, Partition, PartitionError, Work, check, total_bytes};
use super::relaxed::{Ordered, best_price, order, prefix_bytes, whole_prefixes};

/// Places every neuron on the GPU or one DIMM.
///
/// * `blocks`: computed one after the other
/// * returns the device of each neuron, the objective of Eq. 1 and a proven
///   lower bound of it
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
/// use memscape_units::Nanoseconds;
///
/// let frequency = [0.9, 0.5, 0.1, 0.1];
/// let (bytes, gpu_fixed) = (Sizes::Equal(1e6), Nanoseconds::ZERO);
/// let block = Block { bytes, frequency: &frequency, multiplied: None, gpu_fixed };
/// let devices = Devices {
///     gpu_bandwidth: 800e9,
///     gpu_multiplies: f64::INFINITY,
///     gpu_capacity: 2e6,
///     dimm_bandwidth: vec![50e9; 2],
///     dimm_multiplies: f64::INFINITY,
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
    let total: f64 = blocks.iter().map(total_bytes).sum();

    let (price, relaxed_s) = best_price(blocks, &ordered, devices);
    let whole_s = of_whole_neurons(blocks, &ordered, devices);
    let lower_bound_s = whole_s.map_or(relaxed_s, |it| it.max(relaxed_s));
    // What the DIMMs cannot hold must go to the GPU, however slow that is.
    let forced = (total - devices.dimm_capacity.iter().sum::<f64>()).max(0.0);
    let mut prefixes = whole_prefixes(blocks, &ordered, devices, price, forced);
    if blocks.iter().map(|it| it.frequency.len()).sum::<usize>() <= exchange::MOST {
        let orders = ordered.iter_mut().map(|it| &mut it.order);
        exchange::improve(blocks, devices, orders.zip(&mut prefixes), forced);
    }
    let gpu_bytes: f64 =
        (0..blocks.len()).map(|it| prefix_bytes(&blocks[it], &ordered[it], prefixes[it])).sum();
    let bins = Bins {
        speed: std::iter::once(devices.gpu()).chain(devices.dimms()).collect(),
        free: std::iter::once(devices.gpu_capacity - gpu_bytes)
            .chain(devices.dimm_capacity.iter().copied())
            .collect(),
    };
    let (device, bytes) = balance(blocks, &ordered_slices(&ordered), &prefixes, bins)?;
    let objective_s = objective(blocks, devices, &device);
    // Where the two are equal, sums in another order may differ in the last digit.
    let [objective, lower_bound] =
        [objective_s, lower_bound_s.min(objective_s)].map(|it| Nanoseconds::saturating(it * 1e9));
    Ok(Partition { device, objective, lower_bound, bytes })
}

fn ordered_slices(ordered: &[Ordered]) -> Vec<&[u32]> {
    ordered.iter().map(|it| it.order.as_slice()).collect()
}

/// Eq. 1: the slowest device of each block, summed.
fn objective(blocks: &[Block], devices: &Devices, device: &[Vec<Device>]) -> f64 {
    blocks
        .par_iter()
        .zip(device)
        .map(|(block, device)| {
            let mut work = vec![Work::default(); devices.dimm_bandwidth.len() + 1];
            for (neuron, device) in device.iter().enumerate() {
                let work = &mut work[usize::from(*device)];
                *work = work.plus(block.work(neuron));
            }
            let gpu = block.on_gpu(devices.gpu(), work[0]);
            work[1..]
                .iter()
                .zip(devices.dimms())
                .fold(gpu, |slowest, (work, speed)| slowest.max(speed.time(*work)))
        })
        .collect::<Vec<f64>>()
        .into_iter()
        .sum()
}
