//! What must fit where.

use memscape_units::float;

use crate::activity::BlockKind;
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::numbers::Share;
use crate::work::{Shape, Work};

/// Weights and key-value cache at the reply's end, and what holds them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Bytes that must fit.
    pub bytes: f64,
    /// Bytes that there are.
    pub limit: f64,
}

impl Held {
    fn new(work: &Work, limit: f64) -> Self {
        Self { bytes: work.shape.bytes() + work.cache_bytes(), limit }
    }
}

/// Weights and key-value cache on DIMMs, where all of them must fit: the GPU
/// holds copies.
///
/// # Errors
/// [`NdpError::Dimms`] says by how much they do not.
pub fn on_dimms(machine: &Machine, work: &Work) -> Result<Held, NdpError> {
    let (dimms, capacity_gb) = (machine.dimms.get(), machine.dimm.capacity_gb.as_f64());
    let held = Held::new(work, f64::from(dimms) * capacity_gb * 1e9);
    let need_gb = held.bytes * 1e-9;
    if need_gb <= f64::from(dimms) * capacity_gb {
        return Ok(held);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of DIMMs")]
    let needed = (need_gb / capacity_gb.max(1e-9)).ceil() as u32;
    Err(NdpError::Dimms { need_gb, dimms, capacity_gb, needed })
}

/// The same on GPUs alone, in what any software leaves of their memory.
///
/// # Errors
/// [`NdpError::Gpus`] says by how much they do not.
pub fn on_gpus(machine: &Machine, gpus: u32, work: &Work) -> Result<Held, NdpError> {
    let one = machine.usable_bytes();
    let (weights, cache, heads) = (work.shape.bytes(), work.cache_bytes(), work.shape.kv_heads);
    // The fullest has the most heads.
    let need = |gpus: f64| weights / gpus + cache * (heads / gpus).ceil() / heads;
    let count = f64::from(gpus);
    if need(count) <= one {
        let copies = (count / heads).max(1.0);
        return Ok(Held { bytes: weights + cache * copies, limit: one * count });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of heads")]
    let apart = (gpus..heads as u32).find(|it| need(f64::from(*it)) <= one);
    // From as many GPUs as heads on, each has a head's keys and values.
    let beyond = if one > cache / heads { weights / (one - cache / heads) } else { f64::INFINITY };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of GPUs")]
    let needed = apart.unwrap_or_else(|| beyond.max(heads).ceil() as u32);
    Err(NdpError::Gpus { need_gb: need(count) * 1e-9, have_gb: one * 1e-9, gpus, needed })
}

/// Bytes of sparse neurons that the GPU can hold: what is left beside what every token
/// needs whole, and no more than a share of them.
///
/// # Errors
/// [`NdpError::Dense`] if nothing is left.
pub fn hot_capacity(most: Option<Share>, shape: &Shape, machine: &Machine) -> Result<f64, NdpError> {
    let (need, have) = (shape.dense_bytes(), machine.usable_bytes());
    if need > have {
        let usable = machine.overhead.gpu_usable.as_f64();
        return Err(NdpError::Dense { need_gb: need * 1e-9, have_gb: have * 1e-9, usable });
    }
    let most = most.map_or(f64::INFINITY, |it| it.as_f64() * shape.sparse_bytes());
    Ok((have - need).min(most))
}

/// Bytes of the predictor's tables for one block: states read and written, and
/// two parents read per neuron.
#[must_use]
pub fn predictor_bytes(neurons: usize) -> f64 {
    2.0 * state_bytes(neurons) + correlation_bytes(neurons)
}

/// Bytes of the predictor's two tables over all layers: states, and parents.
#[must_use]
pub fn table_bytes(shape: &Shape) -> (f64, f64) {
    let layers = float(shape.layers as u64);
    let sum =
        |of: fn(usize) -> f64| BlockKind::ALL.iter().map(|it| of(shape.neurons(*it))).sum::<f64>() * layers;
    (sum(state_bytes), sum(correlation_bytes))
}

/// The state table of one block: four bits per neuron.
fn state_bytes(neurons: usize) -> f64 {
    float(neurons as u64) / 2.0
}

/// The correlation table of one block: two neuron numbers per neuron.
fn correlation_bytes(neurons: usize) -> f64 {
    let bits = f64::from(usize::BITS - neurons.saturating_sub(1).leading_zeros());
    float(neurons as u64) * 2.0 * bits / 8.0
}
