//! Where neurons lie before the first token: by the offline partition, or
//! anywhere.

use memscape_study::random::Key;
use rayon::prelude::*;

use crate::activity::{BlockKind, Source};
use crate::cost::Rates;
use crate::error::NdpError;
use crate::normal::quadrature;
use crate::partition::{Block, Device, Devices, Partition, Sizes, solve};
use crate::work::Shape;

/// The offline partition, block by block: QKV and feed-forward of each layer in
/// turn.
///
/// * `capacity`: bytes of sparse neurons that the GPU may hold
///
/// # Errors
/// [`NdpError::Partition`] if neurons do not fit.
pub fn offline(rates: &Rates, shape: &Shape, source: &Source, capacity: f64) -> Result<Partition, NdpError> {
    let order: Vec<(usize, BlockKind)> =
        (0..shape.layers).flat_map(|layer| BlockKind::ALL.map(|block| (layer, block))).collect();
    let frequency = frequencies(rates, source, &order);
    let blocks: Vec<Block> = order
        .iter()
        .zip(&frequency)
        .map(|((_, block), frequency)| {
            let cost = rates.block(shape, *block);
            Block { bytes: Sizes::Equal(cost.neuron_bytes), frequency, gpu_fixed: cost.gpu_fixed }
        })
        .collect();
    Ok(solve(&blocks, &devices(rates, shape, source, &frequency, capacity))?)
}

/// How often any sequence of the batch activates each neuron.
fn frequencies(rates: &Rates, source: &Source, order: &[(usize, BlockKind)]) -> Vec<Vec<f32>> {
    let batch = whole_batch(rates);
    let of = |(layer, block): &(usize, BlockKind)| {
        let mut frequency = source.frequency(*block, *layer);
        if batch > 1 {
            for it in &mut frequency {
                *it = 1.0 - (1.0 - *it).powi(batch);
            }
        }
        frequency
    };
    order.par_iter().map(of).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a count of sequences; `as` saturates")]
fn whole_batch(rates: &Rates) -> i32 {
    rates.batch as i32
}

/// GPU and DIMMs at the rates of an average neuron: where multiplying is slower
/// than reading, it sets the pace.
fn devices(rates: &Rates, shape: &Shape, source: &Source, frequency: &[Vec<f32>], capacity: f64) -> Devices {
    let batch = whole_batch(rates);
    let (union, density) = match source {
        Source::Law(it) => (quadrature(|z| 1.0 - (1.0 - it.law.profiled(z)).powi(batch)), it.law.density),
        Source::Recorded(recording) => {
            (mean(frequency), recording.profile.frequency.iter().map(|it| mean(it)).sum::<f64>() / 2.0)
        }
    };
    let activations = rates.batch * density;
    let cost = rates.block(shape, BlockKind::Mlp);
    let cold = cost.cold(union, activations).as_f64();
    let gpu = (cost.gpu_neuron * union).max(cost.gpu_activation * activations).as_f64();
    let per_second = |ns: f64| union * cost.neuron_bytes / ns * 1e9;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
    let dimms = rates.dimms as usize;
    Devices {
        gpu_bandwidth: per_second(gpu),
        gpu_capacity: capacity,
        dimm_bandwidth: vec![per_second(cold); dimms],
        // All weights lie on the DIMMs, hot ones as well (Sec. IV-C2), which is
        // checked by itself; placement is free to fill any DIMM.
        dimm_capacity: vec![shape.bytes(); dimms],
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of neurons")]
fn mean(rows: &[Vec<f32>]) -> f64 {
    let count: usize = rows.iter().map(Vec::len).sum();
    rows.iter().flatten().map(|it| f64::from(*it)).sum::<f64>() / count.max(1) as f64
}

/// Neurons anywhere: as many on the GPU as were there before, or this share.
pub(super) fn scatter(device: &mut [Device], key: Key, dimms: usize, share: Option<f64>) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of neurons"
    )]
    let hot = match share {
        Some(share) => (share * device.len() as f64) as usize,
        None => device.iter().filter(|it| **it == 0).count(),
    };
    let mut order: Vec<(u64, usize)> = (0..device.len()).map(|it| (key.bits(it as u64), it)).collect();
    order.sort_unstable();
    for (rank, (bits, neuron)) in order.into_iter().enumerate() {
        let dimm = Device::try_from(bits % dimms as u64 + 1).expect("at most 4096 DIMMs");
        device[neuron] = if rank < hot { 0 } else { dimm };
    }
}
