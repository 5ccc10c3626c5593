//! Which layers lie where: whole layers, the faster memory first.

use memscape_units::Bytes;

use crate::hardware::Machine;

/// What a pass needs, by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Layers of the model.
    pub layers: u64,
    /// Weights and key-value cache of one layer.
    pub layer_bytes: u64,
    /// Of that, keys and values of all sequences.
    pub layer_cache_bytes: u64,
    /// Sequences at once.
    pub sequences: u64,
    /// What is outside the layers: embedding and language-model head, and the prompt's largest product.
    pub other_bytes: u64,
    /// Of that, inputs and results of the product.
    pub product_bytes: u64,
}

impl Needs {
    /// All of it.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.layers.saturating_mul(self.layer_bytes).saturating_add(self.other_bytes)
    }
}

/// How many layers lie beside the accelerator; the others are in the expander.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Layers in the accelerator's own memory.
    pub near_layers: u64,
    /// Layers in the expander.
    pub far_layers: u64,
}

/// More than there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// What is not a layer must be near.
    #[error(
        "embedding, head and the prompt's largest product take {need}, {product} of it for the product's inputs and \
         results, but `accelerator.memory_bytes` is {have}: {} short; use more of it, shorter prompts or fewer of them, a \
         narrower `format` or a model of a smaller vocabulary",
        Bytes(need.0 - have.0)
    )]
    Near {
        /// What is needed.
        need: Bytes,
        /// Of that, inputs and results of the product.
        product: Bytes,
        /// What there is.
        have: Bytes,
    },
    /// The rest of the layers must be in the expander.
    #[error(
        "{layers} layers of {layer}, {cache} of each for keys and values, do not fit beside the accelerator, but the \
         expander holds {have}: {short} short; use more `expander.channels`{}",
        match (cache.0 > layer.0 / 2, sequences) {
            (false, _) => " or a narrower `format`",
            (true, 1) => " or fewer tokens",
            (true, _) => ", fewer tokens or a smaller `batch`",
        }
    )]
    Far {
        /// Layers that are left over.
        layers: u64,
        /// One of them.
        layer: Bytes,
        /// Of that, keys and values.
        cache: Bytes,
        /// Sequences at once.
        sequences: u64,
        /// What there is.
        have: Bytes,
        /// What is missing.
        short: Bytes,
    },
}

impl Placement {
    /// Fills the faster memory first; embedding and head are beside the accelerator.
    ///
    /// # Errors
    /// [`PlacementError`] with the bytes that are missing.
    pub fn of(needs: &Needs, machine: &Machine) -> Result<Self, PlacementError> {
        let near = machine.accelerator.memory_bytes.get();
        let Some(room) = near.checked_sub(needs.other_bytes) else {
            let [need, product] = [needs.other_bytes, needs.product_bytes].map(Bytes);
            return Err(PlacementError::Near { need, product, have: Bytes(near) });
        };
        let have = machine.expander.bytes();
        let fitting = |room: u64| room.checked_div(needs.layer_bytes).unwrap_or(u64::MAX).min(needs.layers);
        let (most_near, most_far) = (fitting(room), fitting(have));
        let left = needs.layers - most_near;
        if left > most_far {
            let short = Bytes(left.saturating_mul(needs.layer_bytes) - have);
            return Err(PlacementError::Far {
                layers: left,
                layer: Bytes(needs.layer_bytes),
                cache: Bytes(needs.layer_cache_bytes),
                sequences: needs.sequences,
                have: Bytes(have),
                short,
            });
        }
        let near_is_faster = machine.accelerator.bandwidth_gb_s >= machine.expander_rate();
        let near_layers = if near_is_faster { most_near } else { needs.layers - most_far };
        Ok(Self { near_layers, far_layers: needs.layers - near_layers })
    }
}
