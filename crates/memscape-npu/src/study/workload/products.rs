//! The products of a prompt, kind by kind, and their designs.

use std::num::NonZeroU64;
use std::ops::Range;

use memscape_study::StudyError;
use memscape_units::Bytes;
use memscape_workload::{Gemv, Matrix, Projections, Weights};

use crate::best::Demanded;
use crate::cost::kernel::Kernel;
use crate::mapping::chain::MAX_SIZE;
use crate::study::gemm::GemmStudy;
use crate::study::workload::question::{Strategy, WorkloadError, WorkloadStudy};

/// One kind of product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub(super) matrix: Matrix,
    pub(super) gemm: GemmStudy,
    /// How often it is computed in a prompt: in each layer, by each expert that some token meets.
    pub(super) count: u64,
    /// How many of these have one row less: the experts that one token fewer meets.
    pub(super) short: u64,
    /// Operations asked for, all together.
    pub(super) operations: f64,
    /// What the array is configured for: a change of it takes time.
    pub(super) configuration: usize,
    /// What all of it takes in the design that suits it best, where kinds need not share one.
    pub(super) alone: Option<f64>,
    /// What a weight takes in DRAM over what it takes as it is multiplied.
    pub(super) stored_share: f64,
}

impl Product {
    /// All of its kind.
    pub(super) fn demanded(&self) -> Demanded {
        let (Self { count, short, .. }, b_share) = (*self, self.stored_share);
        Demanded { size: self.gemm.size(), count, short, b_share }
    }

    /// Its sizes, each with how often that is computed.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (GemmStudy, u64)> + use<> {
        let gemm = self.gemm;
        let of = move |m: u64| GemmStudy { m: NonZeroU64::new(m).unwrap_or(NonZeroU64::MIN), ..gemm };
        self.demanded().sizes().map(move |([m, ..], count)| (of(m), count))
    }
}

/// The kinds of products of a prompt in their order: in front of the layers, those of a layer, then the head
/// with what is in front of it.
pub(super) struct Products {
    layers: u64,
    pub(super) kinds: Vec<Product>,
    /// How many of the kinds are in front of the layers.
    before: usize,
    /// How many are a layer's.
    per_layer: usize,
}

impl Products {
    /// Takes away those of some matrices.
    fn leave_out(&mut self, but: &[Matrix]) {
        let kept = |of: &[Product]| of.iter().filter(|it| !but.contains(&it.matrix)).count();
        let layer = self.before..self.before + self.per_layer;
        (self.before, self.per_layer) = (kept(&self.kinds[..self.before]), kept(&self.kinds[layer]));
        self.kinds.retain(|it| !but.contains(&it.matrix));
    }

    /// All products in their order, layer after layer; each with the number of its layer and of its kind.
    pub(super) fn sequence(&self) -> impl Iterator<Item = (u64, usize)> {
        let behind = self.before + self.per_layer;
        let layers = (0..self.layers).flat_map(move |layer| (self.before..behind).map(move |it| (layer, it)));
        let outside = |kinds: Range<usize>, layer| kinds.map(move |it| (layer, it));
        outside(0..self.before, 0).chain(layers).chain(outside(behind..self.kinds.len(), self.layers))
    }

    /// How often a layer computes a kind of product, and how many of these have one row less: of experts, as evenly as
    /// whole numbers allow.
    pub(super) fn instances(&self, kind: usize, layer: u64) -> (u64, u64) {
        let Product { count, short, matrix, .. } = self.kinds[kind];
        if Matrix::OUTSIDE.contains(&matrix) {
            return (count, short);
        }
        let evenly = |it: u64| it / self.layers + u64::from(layer < it % self.layers);
        (evenly(count), evenly(count) - evenly(count - short))
    }

    /// How often the array is configured anew if the kinds need these configurations. The first
    /// is there already.
    pub(super) fn reconfigurations(&self, of: &[usize]) -> u64 {
        let (before, rest) = of.split_at(self.before);
        let (layer, behind) = rest.split_at(self.per_layer);
        let differ = |one: Option<&usize>, other: Option<&usize>| {
            u64::from(one.zip(other).is_some_and(|it| it.0 != it.1))
        };
        let inside = |it: &[usize]| it.windows(2).map(|it| differ(it.first(), it.last())).sum::<u64>();
        let around = differ(layer.last(), layer.first());
        let between = differ(before.last(), layer.first()) + differ(layer.last(), behind.first());
        inside(before) + self.layers * inside(layer) + (self.layers - 1) * around + inside(behind) + between
    }

    /// Gives kinds the designs that take the least time together, reconfiguration included:
    /// every way to share designs is tried, each with the best design for those that share it.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn choose_designs(&mut self, study: &WorkloadStudy) -> Result<(), StudyError> {
        let (designs, reconfiguration) = (study.designs(), study.device.reconfiguration_ns);
        designs.base.check_channels(&study.device)?;
        let demanded: Vec<_> = self.kinds.iter().map(Product::demanded).collect();
        let shared = designs.shared(&demanded)?;
        let mut best: Option<(f64, Vec<usize>)> = None;
        each_partition(self.kinds.len(), &mut |groups| {
            let members = |group: usize| {
                groups.iter().enumerate().filter(|it| *it.1 == group).map(|it| 1 << it.0).sum::<usize>()
            };
            let count = groups.iter().max().map_or(0, |it| it + 1);
            let products = (0..count).map(|it| shared[members(it)].map_or(f64::INFINITY, |it| it.1));
            let changes = self.reconfigurations(groups) as f64 * reconfiguration.as_f64();
            let total = products.sum::<f64>() + changes;
            if total.is_finite() && best.as_ref().is_none_or(|it| total < it.0) {
                best = Some((total, groups.to_vec()));
            }
        });
        let Some((_, groups)) = best else {
            let obstacle = designs.obstacle(demanded.len(), |_, at| demanded[at].size)?;
            return Err(WorkloadError::no_design(study, obstacle).into());
        };
        for (at, kind) in self.kinds.iter_mut().enumerate() {
            let mates = groups.iter().enumerate().filter(|it| *it.1 == groups[at]).map(|it| 1 << it.0);
            let design = shared[mates.sum::<usize>()].map_or(designs.base, |it| it.0);
            kind.gemm = kind.gemm.with_design(&design);
            kind.configuration = groups[at];
            kind.alone = shared[1 << at].map(|it| it.1);
        }
        Ok(())
    }
}

/// Calls `visit` with every way to put so many things into groups: the group of each, numbered
/// in the order in which they begin.
fn each_partition(count: usize, visit: &mut impl FnMut(&[usize])) {
    fn go(groups: &mut Vec<usize>, count: usize, visit: &mut impl FnMut(&[usize])) {
        if groups.len() == count {
            return visit(groups);
        }
        let next = groups.iter().max().map_or(0, |it| it + 1);
        for group in 0..=next {
            groups.push(group);
            go(groups, count, visit);
            groups.pop();
        }
    }
    go(&mut Vec::with_capacity(count), count, visit);
}

impl WorkloadStudy {
    /// The products but for those of some matrices, each in its design.
    pub(super) fn products(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
        but: &[Matrix],
    ) -> Result<Products, StudyError> {
        let mut products = self.kinds(heads, stored)?;
        products.leave_out(but);
        match self.strategy {
            Strategy::OneDesign => {}
            Strategy::Reconfigured => {
                let sizes: Vec<_> = products.kinds.iter().map(|it| it.gemm.size()).collect();
                for (kind, size) in products.kinds.iter_mut().zip(&sizes) {
                    kind.configuration = sizes.iter().position(|it| it == size).unwrap_or(0);
                }
            }
            Strategy::BestPerSize => products.choose_designs(self)?,
        }
        Ok(products)
    }

    /// The products in one design.
    #[expect(clippy::cast_precision_loss, reason = "operations stay far below 2^53 in ratio")]
    pub(super) fn kinds(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
    ) -> Result<Products, StudyError> {
        if self.prompt_tokens.get() > MAX_SIZE {
            return Err(WorkloadError::Rows { tokens: self.prompt_tokens.get() }.into());
        }
        let kind = |matrix, weights: Gemv, rows: NonZeroU64, count: u64, visits: u64| {
            let gemm = self.gemm(rows, weights);
            let operations = 2.0 * visits as f64 * weights.macs() as f64;
            let stored_share = stored.map_or(1.0, |it| {
                let elements = weights.k().saturating_mul(weights.m());
                let multiplied = elements as f64 * f64::from(self.precision.input_bytes());
                it.matrix_bits(matrix, elements) as f64 / 8.0 / multiplied
            });
            Product { matrix, gemm, count, short: 0, operations, configuration: 0, alone: None, stored_share }
        };
        let (layers, tokens) = (u64::from(self.model.layers), self.prompt_tokens);
        let of_all = |(matrix, weights), count| kind(matrix, weights, tokens, count, count * tokens.get());
        // Each expert multiplies the tokens that meet it, one more for some.
        let [(fewer, each), (more, one_more)] = self.model.ffn_instances(tokens.get());
        let rows = NonZeroU64::new(if more > 0 { one_more } else { each }).unwrap_or(NonZeroU64::MIN);
        let of_ffn = |(matrix, weights)| {
            let product = kind(matrix, weights, rows, fewer + more, fewer * each + more * one_more);
            Product { short: if more > 0 { fewer } else { 0 }, ..product }
        };
        // Only models with embeddings of another size than the layers' have projections of them.
        let outside = |matrix| self.model.gemv(matrix).ok().map(|weights| (matrix, weights));
        let mut kinds: Vec<_> = outside(Matrix::ProjectIn).map(|it| of_all(it, 1)).into_iter().collect();
        let before = kinds.len();
        kinds.extend(self.model.layer_matrices(self.projections).map(|(matrix, weights, _)| {
            let it = (matrix, weights);
            if Matrix::FFN.contains(&matrix) { of_ffn(it) } else { of_all(it, layers) }
        }));
        let per_layer = kinds.len() - before;
        if self.lm_head {
            let last = Matrix::AFTER_LAYERS.into_iter().filter_map(outside);
            kinds.extend(last.map(|(matrix, weights)| kind(matrix, weights, heads, 1, heads.get())));
        }
        Ok(Products { layers, kinds, before, per_layer })
    }

    /// The products as a search takes them, each with its matrix.
    pub(in crate::study) fn demanded(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
    ) -> Result<Vec<(&'static str, Demanded)>, StudyError> {
        let kinds = self.kinds(heads, stored)?.kinds;
        Ok(kinds.iter().map(|it| (it.matrix.name(), it.demanded())).collect())
    }

    /// Bytes that inputs and results of a product take in DRAM, padding left out, where these are most. Of Q, K and V,
    /// and of gate and up, all are wanted by what follows, computed together or not.
    pub(in crate::study) fn product_bytes(&self, heads: NonZeroU64) -> Result<Bytes, StudyError> {
        let of = |bytes: u32, elements: u64| u128::from(bytes) * u128::from(elements);
        let together = Self { projections: Projections::Merged, ..*self };
        let Products { layers, kinds, .. } = together.kinds(heads, None)?;
        let most = kinds.iter().map(|it| {
            let (inputs, results) = (self.precision.input_bytes(), self.precision.output_bytes());
            // All experts of a layer wait for each other between their matrices.
            let rows = it.sizes().map(|(gemm, count)| u128::from(gemm.m.get()) * u128::from(count));
            let each = of(inputs, it.gemm.k.get()) + of(results, it.gemm.n.get());
            let parts = if Matrix::OUTSIDE.contains(&it.matrix) { 1 } else { layers };
            rows.sum::<u128>().div_ceil(parts.into()) * each
        });
        Ok(Bytes(u64::try_from(most.max().unwrap_or(0)).unwrap_or(u64::MAX)))
    }

    /// The kernel of least time for what DRAM brings nothing twice for: the given one, or of all that can compute the
    /// products; none if none is one to choose from.
    ///
    /// * `least`: what a kernel does not go below
    /// * `time`: what it takes, if it is one to choose from
    pub(in crate::study) fn least_kernel(
        &self,
        heads: NonZeroU64,
        least: impl Fn(&Kernel) -> f64,
        time: impl Fn(&Kernel) -> Option<f64>,
    ) -> Result<Option<Kernel>, StudyError> {
        let designs = self.designs();
        if self.strategy != Strategy::BestPerSize {
            let given = Kernel::new(&self.device, self.precision, designs.base.tile, self.output_buffers)?;
            return Ok(time(&given).map(|_| given));
        }
        let sizes: Vec<_> = self.kinds(heads, None)?.kinds.iter().map(|it| it.gemm.size()).collect();
        let best = designs.least_kernel(&sizes, least, time)?;
        if best.is_none() && designs.least_kernel(&sizes, |_| 0.0, |_| Some(0.0))?.is_none() {
            let obstacle = designs.obstacle(sizes.len(), |_, at| sizes[at])?;
            return Err(WorkloadError::no_design(self, obstacle).into());
        }
        Ok(best)
    }

    /// The most operations per second, in 10^12, that a kernel reaches which can compute the products.
    pub(in crate::study) fn fastest_tops(&self, heads: NonZeroU64) -> Result<f64, StudyError> {
        let per_mac = |it: &Kernel| it.macs_per_cycle().recip();
        let fastest = self.least_kernel(heads, per_mac, |it| Some(per_mac(it)))?;
        Ok(fastest.map_or(0.0, |it| self.device.tops(it.macs_per_cycle())))
    }
}
