//! What lies between the array and PIM: copies of weights, keys and values.

use memscape_ondevice::cost::memory::Bandwidth;
use memscape_ondevice::cost::rates::{Compute, swizzle_ns};
use memscape_units::{Bytes, Nanoseconds, UnitError};
use memscape_workload::{Format, Llm, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Copier;

/// How the array gets at weights that PIM keeps in a layout of its own.
///
/// # Source
/// PIM-SHERPA's schemes, with an NPU in place of the cores that multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// The layers' weights are kept twice, once in each layout: nothing is copied.
    Duplicated,
    /// Once; an ideal memory controller shows them to the array in its layout (FACIL-O).
    FacilO,
    /// Once; layer i + 1 is copied into the array's layout beside the products of layer i (DDB).
    Ddb,
    /// Once; each matrix is copied before its product (OWR).
    Owr,
}

/// How keys and values of the prompt come to where tokens read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheHandover {
    /// The array writes them to where tokens read them.
    InPlace,
    /// The array writes them into a buffer of its own, and cores copy them, layer after layer.
    Copied,
}

/// The layers' weights as copies meet them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerWeights {
    /// Layers, all alike.
    pub layers: u64,
    /// Bytes of the matrices of one layer, as they are stored: of all experts, since a copy that is ahead of
    /// the array does not know which of them it will need.
    pub layer: Bytes,
    /// Bytes of its largest matrix.
    pub largest: Bytes,
}

impl LayerWeights {
    /// Those of a model.
    #[must_use]
    pub fn of(model: &Llm, format: Format, projections: Projections) -> Self {
        let matrices = || model.layer_matrices(projections).map(|it| (it.1.weight_bytes(format).0, it.2));
        Self {
            layers: model.layers.into(),
            layer: Bytes(matrices().map(|it| it.0.saturating_mul(it.1)).sum()),
            largest: Bytes(matrices().map(|it| it.0).max().unwrap_or_default()),
        }
    }

    /// All layers.
    #[must_use]
    pub const fn all(&self) -> Bytes {
        Bytes(self.layers.saturating_mul(self.layer.0))
    }
}

impl Keeping {
    /// Bytes that it keeps beside the weights as PIM has them.
    #[must_use]
    pub const fn beside(self, weights: &LayerWeights) -> Bytes {
        match self {
            Self::Duplicated => weights.all(),
            Self::FacilO => Bytes(0),
            Self::Ddb => Bytes(weights.layer.0.saturating_mul(2)),
            Self::Owr => weights.largest,
        }
    }

    /// Bytes that it copies for a prompt, whatever its length.
    #[must_use]
    pub const fn copied(self, weights: &LayerWeights) -> Bytes {
        match self {
            Self::Duplicated | Self::FacilO => Bytes(0),
            Self::Ddb | Self::Owr => weights.all(),
        }
    }

    /// What copying adds to the products of a prompt.
    ///
    /// Beside a product a copy gets done what the memory does not work for the array meanwhile, and
    /// the array, which reads ahead, keeps its pace.
    ///
    /// * `products`: time of one layer's products
    /// * `traffic`: time that the memory needs for what they move, of that
    /// * `copy`: time of copying one layer, nothing beside it
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "few layers")]
    pub fn exposed(
        self,
        layers: u64,
        products: Nanoseconds,
        traffic: Nanoseconds,
        copy: Nanoseconds,
    ) -> Nanoseconds {
        match self {
            Self::Duplicated | Self::FacilO => Nanoseconds::ZERO,
            Self::Owr => copy * layers as f64,
            Self::Ddb => {
                let length = products.to_picoseconds();
                let compute = Compute { length, memory: traffic.to_picoseconds().min(length) };
                let added = compute.beside(copy.to_picoseconds()).saturating_sub(length);
                // The first layer's copy has nothing to hide behind.
                copy + Nanoseconds::from(added) * layers.saturating_sub(1) as f64
            }
        }
    }
}

/// A swizzled copy of so many bytes of weights, nothing beside it.
///
/// # Errors
/// [`UnitError`] if it takes longer than a number can say.
pub fn swizzle(bytes: f64, copier: &Copier, bandwidth: &Bandwidth) -> Result<Nanoseconds, UnitError> {
    Nanoseconds::new(swizzle_ns(bytes, copier.uncached_gb_s(), copier.transactions.get(), bandwidth))
}

/// A copy of so many bytes that lie in a row, as keys and values do.
///
/// # Errors
/// As [`swizzle`].
pub fn straight(bytes: f64, copier: &Copier, bandwidth: &Bandwidth) -> Result<Nanoseconds, UnitError> {
    let in_a_row = Bandwidth { gather: bandwidth.stream, ..*bandwidth };
    Nanoseconds::new(swizzle_ns(bytes, copier.cached_gb_s(), copier.transactions.get(), &in_a_row))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ns(it: f64) -> Nanoseconds {
        Nanoseconds::new(it).unwrap()
    }

    #[test]
    fn a_copy_hides_where_the_memory_has_time_for_it() {
        // 100 ns of products, of which the memory works 40: 60 ns of copying hide.
        let of = |copy| Keeping::Ddb.exposed(11, ns(100.0), ns(40.0), ns(copy));
        assert!((of(60.0).as_f64() - 60.0).abs() < 1e-9, "only the first layer's");
        assert!((of(70.0).as_f64() - (70.0 + 10.0 * 10.0)).abs() < 1e-6);
        assert!((Keeping::Owr.exposed(11, ns(100.0), ns(40.0), ns(60.0)).as_f64() - 660.0).abs() < 1e-9);
    }

    #[test]
    fn all_experts_of_a_layer_are_copied() {
        let model = memscape_workload::Model::named("mixtral-8x7b").unwrap();
        let weights = LayerWeights::of(&model, Format::INT8, Projections::Merged);
        let [attention, router, expert] = [2 * 4096 * 4096 + 2 * 1024 * 4096, 8 * 4096, 3 * 4096 * 14_336];
        assert_eq!(weights.layer, Bytes(attention + router + 8 * expert));
        assert_eq!(weights.largest, Bytes(2 * 4096 * 14_336));
        assert_eq!(Keeping::Ddb.copied(&weights), Bytes(32 * weights.layer.0));
    }

    proptest! {
        /// Whatever the memory does meanwhile.
        #[test]
        fn double_buffering_is_never_slower_than_copying_first(
            layers in 1..100_u32, products in 0.0..1e9, traffic in 0.0..2e9, copy in 0.0..1e9
        ) {
            let of = |it: Keeping| it.exposed(layers.into(), ns(products), ns(traffic), ns(copy));
            // Within the picosecond to which each layer is rounded.
            prop_assert!(of(Keeping::Ddb) <= of(Keeping::Owr) + ns(f64::from(layers) * 2e-3));
            prop_assert!(of(Keeping::Ddb) >= ns(copy));
            prop_assert_eq!(of(Keeping::Duplicated), Nanoseconds::ZERO);
        }
    }
}
