//! The study `npu.workload`: all weight products of a prompt, one after the other.

use std::num::NonZeroU64;

use memscape_study::{
    Aim, Bound, Engines, Laws, OperatorCost, Pass, Recorder, Slot, Span, Study, StudyError, When, either,
    neutral, slower, unused,
};
use memscape_units::{Nanoseconds, Picoseconds, UnitError, float};
use memscape_workload::{Matrix, Weights};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cost::schedule::Bottleneck;
use crate::study::gemm::GemmStudy;
use crate::study::laws;
use crate::study::memory::{Lent, NoMemory};
use crate::study::occupancy::Occupancy;
use crate::study::pass::Streamed;
use crate::study::slots;
use crate::study::workload::products::Product;
use crate::study::workload::question::{WorkloadError, WorkloadStudy};

/// What `npu.workload` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WorkloadAnswer {
    /// Time of all products of the prompt
    pub time_ns: f64,
    /// Products alone, dispatch included
    pub gemm_ns: f64,
    /// Configuring the array anew
    pub reconfiguration_ns: f64,
    /// How often that is
    pub reconfigurations: u64,
    /// Products
    pub gemms: u64,
    /// Operations asked for, without padding, per second
    pub tops: f64,
    /// Tokens of the prompt per second, if only these products took time
    pub prompt_tokens_per_s: f64,
    /// Share of the computed operations that were asked for
    pub useful_share: f64,
    /// Time of the slowest kind of product over all of its kind in a prompt
    pub slowest_ns: f64,
    /// The slowest kind of product
    pub slowest: Matrix,
    /// Weights, as they are multiplied, and the largest product's inputs and results in DRAM
    #[serde(flatten)]
    pub lent: Lent,
    /// What else the designs take
    #[serde(flatten)]
    pub occupancy: Occupancy,
}

/// What some of a prompt's products take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductTraffic {
    /// Time on the array, dispatch included.
    pub time: Nanoseconds,
    /// Bytes of weights and activations read from DRAM, padding included: weights as they are stored.
    pub read_bytes: f64,
    /// Bytes of results written to it, padding included.
    pub written_bytes: f64,
    /// What of `read_bytes` and `written_bytes` crosses the bus: whole lines.
    pub bus_bytes: [f64; 2],
}

impl ProductTraffic {
    pub(in crate::study) const NONE: Self =
        Self { time: Nanoseconds::ZERO, read_bytes: 0.0, written_bytes: 0.0, bus_bytes: [0.0; 2] };

    /// Adds one that streams.
    pub(in crate::study) fn stream(&mut self, it: &Streamed) -> Result<(), UnitError> {
        self.time += Nanoseconds::new(it.time())?;
        self.read_bytes += it.bytes - it.written_bytes;
        self.written_bytes += it.written_bytes;
        self.bus_bytes = [0, 1].map(|way| self.bus_bytes[way] + it.bus_bytes[way]);
        Ok(())
    }

    /// Bytes read and written: nothing but what is asked for, and whole lines.
    #[must_use]
    pub fn moved_bytes(&self) -> [f64; 2] {
        [self.read_bytes + self.written_bytes, self.bus_bytes.iter().sum()]
    }
}

/// A prompt's products, and what they take.
pub(in crate::study) struct Solved {
    pub(in crate::study) answer: WorkloadAnswer,
    /// Those of the layers, with what configures the array.
    pub(in crate::study) layers: ProductTraffic,
    /// Those outside of them, the head above all.
    pub(in crate::study) outside: ProductTraffic,
    /// Operations of the layers' products over their time, those of experts and what configures the array left
    /// out: each kind in the design that suits it best, where sizes have their own.
    pub(in crate::study) layer_tops: f64,
    /// The time of products that cores take longest for.
    pub(in crate::study) computing: Nanoseconds,
}

impl WorkloadStudy {
    /// What the products take, but for those of some matrices. The head is asked for the last token of so many prompts;
    /// weights that are stored wider than they are multiplied are read so.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(in crate::study) fn solve(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
        but: &[Matrix],
    ) -> Result<Solved, StudyError> {
        let products = self.products(heads, stored, but)?;
        let (mut gemms, mut operations, mut computed) = (Nanoseconds::ZERO, 0.0, 0.0);
        let mut parts = [ProductTraffic::NONE; 2];
        let mut layers = (0.0, 0.0);
        let mut slowest = (Nanoseconds::ZERO, Matrix::LmHead);
        let mut computing = Nanoseconds::ZERO;
        for it in &products.kinds {
            let outside = Matrix::OUTSIDE.contains(&it.matrix);
            let of = &mut parts[usize::from(outside)];
            let mut all = Nanoseconds::ZERO;
            for (gemm, count) in it.sizes() {
                let answer = gemm.answer_with(it.stored_share)?;
                let count = count as f64;
                let time = Nanoseconds::new(answer.time_ns)? * count;
                of.time += time;
                of.read_bytes += count * answer.dram_read_bytes;
                of.written_bytes += count * answer.dram_write_bytes;
                let bus = gemm.bus_bytes(it.stored_share)?;
                of.bus_bytes = [0, 1].map(|it| of.bus_bytes[it] + count * bus[it]);
                all += time;
                if answer.bottleneck == Bottleneck::Compute {
                    computing += time;
                }
                let [m, k, n] = gemm.size();
                computed += 2.0 * count * m as f64 * k.saturating_mul(n) as f64 / answer.useful_share;
            }
            // An expert's rows fill fewer of a block than a layer's.
            let of_experts = self.model.experts.is_some() && Matrix::FFN.contains(&it.matrix);
            if !outside && !of_experts {
                layers.0 += it.operations;
                // What else runs at the layers' rate reads no weights, however wide these are stored.
                layers.1 += if it.stored_share.total_cmp(&1.0).is_ne() {
                    self.in_its_design(it.gemm)?.answer_with(1.0)?.time_ns * it.count as f64
                } else {
                    it.alone.unwrap_or(all.as_f64())
                };
            }
            gemms += all;
            operations += it.operations;
            if slowest.0 < all {
                slowest = (all, it.matrix);
            }
        }
        let configurations: Vec<_> = products.kinds.iter().map(|it| it.configuration).collect();
        let reconfigurations = products.reconfigurations(&configurations);
        let reconfiguration = self.device.reconfiguration_ns * reconfigurations as f64;
        let time_ns = (gemms + reconfiguration).as_f64();
        let [mut inside, outside] = parts;
        inside.time += reconfiguration;
        let answer = WorkloadAnswer {
            time_ns,
            gemm_ns: gemms.as_f64(),
            reconfiguration_ns: reconfiguration.as_f64(),
            reconfigurations,
            gemms: products.kinds.iter().map(|it| it.count).sum(),
            tops: operations / time_ns * 1e-3,
            prompt_tokens_per_s: self.prompt_tokens.get() as f64 / time_ns * 1e9,
            useful_share: operations / computed,
            slowest_ns: slowest.0.as_f64(),
            slowest: slowest.1,
            lent: self.lent(heads)?,
            occupancy: Occupancy::of(&self.device, &self.design(), &self.device.mmul(self.precision)?),
        };
        let layer_tops = layers.0 / layers.1 * 1e-3;
        Ok(Solved { answer, layers: inside, outside, layer_tops, computing })
    }

    /// What the products of the layers take at least.
    pub(in crate::study) fn floors(&self, stored: Option<Weights<'_>>) -> Vec<Bound> {
        let floors = self.model.layer_gemvs(self.projections).map(|(matrix, weights)| {
            let size = [self.prompt_tokens.get(), weights.k(), weights.m()];
            self.floors_of(matrix, size, stored).map_or(0.0, |it| it.least())
        });
        let each = floors.sum::<f64>();
        let layers = f64::from(self.model.layers);
        vec![Bound::at_least("gemm_ns", each * layers, "products at the peak, or matrices once from DRAM")]
    }

    /// What a product takes at least, its matrix read as it is stored; as wide as it is multiplied if
    /// nothing says.
    #[expect(clippy::cast_precision_loss, reason = "sizes are limited to 2^31")]
    fn floors_of(
        &self,
        matrix: Matrix,
        size: [u64; 3],
        stored: Option<Weights<'_>>,
    ) -> Result<laws::Floors, StudyError> {
        let mmul = self.device.mmul(self.precision)?;
        let elements = size[1].saturating_mul(size[2]);
        let bytes = stored.map(|it| it.matrix_bits(matrix, elements) as f64 / 8.0 / elements as f64);
        Ok(laws::Floors::of(&self.device, mmul, self.precision, size, bytes))
    }

    /// The kinds of products with what all of each take, by cause, and what configures the array. At
    /// least, each matrix is read once as it is stored.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(in crate::study) fn operators(
        &self,
        heads: NonZeroU64,
        stored: Option<Weights<'_>>,
        but: &[Matrix],
    ) -> Result<Vec<OperatorCost>, StudyError> {
        let products = self.products(heads, stored, but)?;
        let mut costs = Vec::new();
        for it in &products.kinds {
            for (gemm, count) in it.sizes() {
                let answer = gemm.answer_with(it.stored_share)?;
                let floors = self.floors_of(it.matrix, gemm.size(), stored)?;
                let of = |ns: f64| Nanoseconds::new(ns.max(0.0)).map(|ns| ns * count as f64);
                let useful = answer.compute_ns * answer.useful_share;
                let parts = [
                    ("compute_at_peak", of(floors.compute)?),
                    ("kernel", of(useful - floors.compute)?),
                    ("padding", of(answer.compute_ns - useful)?),
                    ("input_wait", of(answer.input_wait_ns)?),
                    ("output_wait", of(answer.output_wait_ns)?),
                    ("epilogue", of(answer.epilogue_ns)?),
                    ("dispatch", of(answer.dispatch_ns)?),
                ];
                costs.push(OperatorCost::new(Pass::Prompt, it.matrix.name(), of(floors.least())?, parts));
            }
        }
        let configurations: Vec<_> = products.kinds.iter().map(|it| it.configuration).collect();
        let changes = products.reconfigurations(&configurations) as f64;
        let configuring = self.device.reconfiguration_ns * changes;
        let none = Nanoseconds::ZERO;
        costs.push(OperatorCost::new(
            Pass::Prompt,
            "reconfiguration",
            none,
            [("reconfiguration", configuring)],
        ));
        Ok(costs)
    }

    /// Tells what the array does when: product after product, and what configures it in
    /// between.
    fn record(&self, recorder: &mut dyn Recorder) -> Result<(), StudyError> {
        let products = self.products(NonZeroU64::MIN, None, &[])?;
        check(self.lent(NonZeroU64::MIN)?)?;
        let time = |gemm: GemmStudy| -> Result<Picoseconds, StudyError> {
            Ok(Nanoseconds::new(gemm.answer()?.time_ns)?.to_picoseconds())
        };
        let less = |it: &Product| it.sizes().nth(1).map_or(Ok(Picoseconds::ZERO), |it| time(it.0));
        let of = |it: &Product| Ok((time(it.gemm)?, less(it)?));
        let times = products.kinds.iter().map(of).collect::<Result<Vec<_>, StudyError>>()?;
        let reconfiguration = self.device.reconfiguration_ns.to_picoseconds();
        let mut at_most = products
            .kinds
            .iter()
            .zip(&times)
            .map(|(it, time)| time.0.0.checked_add(reconfiguration.0)?.checked_mul(it.count));
        at_most.try_fold(0, |sum: u64, it| sum.checked_add(it?)).ok_or(WorkloadError::TooLong)?;

        let configuring = recorder.track("array", "configuration");
        let multiplying = recorder.track("array", "products");
        let (mut now, mut loaded) = (Picoseconds::ZERO, None);
        for (layer, kind) in products.sequence() {
            let product = &products.kinds[kind];
            let mut span = |track, name, time| {
                let (start, end) = (now, now + time);
                recorder.span(track, Span { name, category: "", start, end, details: &[("layer", layer)] });
                now = end;
            };
            if loaded.is_some_and(|it| it != product.configuration) {
                span(configuring, "configure", reconfiguration);
            }
            loaded = Some(product.configuration);
            let ((each, one_less), (count, short)) = (times[kind], products.instances(kind, layer));
            span(multiplying, product.matrix.name(), each * (count - short) + one_less * short);
        }
        Ok(())
    }
}

impl Study for WorkloadStudy {
    const NAME: &'static str = "npu.workload";
    const SUMMARY: &'static str = "All weight products of a language model's prompt on a Ryzen AI NPU";
    type Answer = WorkloadAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] =
        &[("time_ns", &["gemm_ns", "reconfiguration_ns"])];

    const LAWS: Laws = Laws {
        aim: Some(Aim::less("time_ns")),
        effects: &[
            laws::DEVICE,
            &[
                slower("prompt_tokens"),
                neutral("memory_gb"),
                either("m_ct", laws::TILE).only(GIVEN),
                either("k_ct", laws::TILE).only(GIVEN),
                either("n_ct", laws::TILE).only(GIVEN),
                either("k_mt", laws::STEP).only(GIVEN),
                slower("device.reconfiguration_ns").only(&[When::is_not("strategy", &["one-design"])]),
                unused("device.dram.energy.*", laws::NO_ENERGY),
            ],
        ],
        engines: Some(Engines::closed_and_events(laws::ENGINES)),
        slow: true,
        ..Laws::NONE
    };

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> = Some(Self::record);

    fn answer(&self) -> Result<WorkloadAnswer, StudyError> {
        let answer = self.solve(NonZeroU64::MIN, None, &[])?.answer;
        check(answer.lent)?;
        Ok(answer)
    }

    fn bounds(&self) -> Vec<Bound> {
        let mut bounds = self.floors(None);
        bounds.push(Bound::at_most("memory_bytes", float(self.memory_gb.bytes().0), "what the host lends"));
        bounds
    }

    fn slots() -> Vec<Slot> {
        vec![slots::model(), slots::design(), slots::device()]
    }
}

/// That DRAM holds the model's weights and the largest product.
fn check(lent: Lent) -> Result<(), NoMemory> {
    let what = "weights, as they are multiplied, and the largest product's inputs and results";
    lent.check(what, "a smaller `model` or fewer `prompt_tokens`")
}

/// Where the design is given.
const GIVEN: &[When] = &[When::is_not("strategy", &["best-per-size"])];
