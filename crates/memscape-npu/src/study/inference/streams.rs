//! What streams past vectors: a step, and what of a prompt is no product.

use std::num::NonZeroU32;

use memscape_study::{Breakdown, OperatorCost, Part, Pass, StudyError};
use memscape_units::Nanoseconds;
use memscape_workload::{Matrix, Operator, OperatorKind, Weights};

use crate::cost::kernel::Kernel;
use crate::mapping::design::Design;
use crate::study::attention::PromptAttention;
use crate::study::inference::question::{Handed, InferenceStudy};
use crate::study::pass::{PassPart, Streamed, part_of};
use crate::study::workload::{Solved, Strategy, WorkloadStudy};

/// Whether it follows the layers, and is asked for one token of a prompt.
pub(super) fn follows_layers(it: &Operator) -> bool {
    Matrix::is_among(it.name, &Matrix::AFTER_LAYERS)
}

impl InferenceStudy {
    /// Bytes that one instance moves over the array's way to DRAM for all sequences: so many matrices, each in so
    /// many turns.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    pub(super) fn bytes(&self, stored: Weights<'_>, it: &Operator, matrices: f64, turns: f64) -> f64 {
        let sequences = f64::from(self.batch.get());
        // Each sequence looks up rows of its own.
        let times = if it.kind == OperatorKind::Matrix { turns * matrices } else { sequences };
        let weights = times * stored.operator_bits(it) as f64;
        let kv = (it.kv_read_elements + it.kv_written_elements) as f64 * f64::from(self.kv_bits.get());
        let activations = (it.activation_read_elements + it.activation_written_elements) as f64;
        let vectors = it.vector_weight_elements as f64 * matrices;
        let width = f64::from(self.activation_bits.get());
        (weights + vectors * width + sequences * (kv + activations * width)) / 8.0
    }

    /// What of it is written.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn written_bytes(&self, it: &Operator) -> f64 {
        let kv = it.kv_written_elements as f64 * f64::from(self.kv_bits.get());
        let activations = it.activation_written_elements as f64 * f64::from(self.activation_bits.get());
        f64::from(self.batch.get()) * (kv + activations) / 8.0
    }

    /// How often what attends is multiplied: keys and values wider than the instruction's inputs are so in parts.
    pub(super) fn kv_parts(&self) -> u32 {
        self.kv_bits.get().div_ceil(8 * self.precision.input_bytes())
    }

    /// How many matrices are read for each that so many tokens of one sequence meet: those of others meet other
    /// experts.
    pub(super) fn reads(&self, it: &Operator, tokens: u64) -> f64 {
        self.model.weight_reads(it, tokens, self.batch.get().into())
    }

    /// One step: the slower of streaming and multiplying, operator after operator; the bytes moved, as of a prompt;
    /// and the time of operators that multiply for longer than they stream.
    pub(super) fn step(&self) -> Result<(Breakdown<PassPart>, [f64; 2], Nanoseconds), StudyError> {
        let (mut times, mut moved) = ([0.0; 3], [0.0; 2]);
        let mut computing = 0.0;
        let (products, streams) = self.products_and_streams()?;
        for it in &streams {
            if it.compute > it.stream {
                computing += it.compute;
            }
            times[it.part.index()] += it.time();
            moved = moved.map(|all| all + it.bytes);
        }
        if let Some((_, solved)) = products {
            times[PassPart::Weights.index()] = solved.answer.time_ns;
            let [layers, outside] = [solved.layers, solved.outside].map(|it| it.moved_bytes());
            moved = [0, 1].map(|it| moved[it] + layers[it] + outside[it]);
            computing += solved.computing.as_f64();
        }
        let [weights, attention, vector] = times.map(Nanoseconds::new);
        let step = Breakdown::from_iter([
            (PassPart::Weights, weights?.to_picoseconds()),
            (PassPart::Attention, attention?.to_picoseconds()),
            (PassPart::Vector, vector?.to_picoseconds()),
            (PassPart::Dispatch, self.dispatch()?.to_picoseconds()),
        ]);
        Ok((step, moved, Nanoseconds::new(computing)?))
    }

    /// What a step computes as products, and what it streams. Weights are products, as of a prompt of as many
    /// tokens, if they would stream several times past its vectors and that takes longer. The host hands over steps
    /// as `handed` says, whichever way they are computed.
    fn products_and_streams(&self) -> Result<(Option<(WorkloadStudy, Solved)>, Vec<Streamed>), StudyError> {
        let all = self.streams_of_step(|_| true)?;
        if all.iter().all(|it| it.turns <= 1.0) {
            return Ok((None, all));
        }
        let mut products =
            WorkloadStudy { prompt_tokens: NonZeroU32::from(self.batch).into(), ..self.products() };
        products.device.dispatch_ns = Nanoseconds::ZERO;
        let solved = products.solve(self.batch.into(), Some(self.format.of(&self.model)?), &[])?;
        let rest = self.streams_of_step(|it| it.kind != OperatorKind::Matrix)?;
        let time = |streams: &[Streamed]| streams.iter().map(Streamed::time).sum::<f64>();
        if solved.answer.time_ns + time(&rest) < time(&all) {
            Ok((Some((products, solved)), rest))
        } else {
            Ok((None, all))
        }
    }

    /// The design past whose vectors weights stream: the one that is given, or of a kernel.
    fn design_of(&self, kernel: &Kernel) -> Design {
        let given = self.products().design();
        match self.strategy {
            Strategy::OneDesign | Strategy::Reconfigured => given,
            Strategy::BestPerSize => Design { tile: kernel.tile, k_mt: kernel.tile.k, ..given },
        }
    }

    /// Bytes of vectors that memory tiles hold beside what a design keeps there of B and C.
    fn room_for_vectors(&self, design: &Design) -> u64 {
        let kept = design.l2(&self.device);
        let each = u64::from(self.device.l2_bytes.get()).saturating_sub(kept.b + kept.c);
        u64::from(self.device.columns.get()) * each
    }

    /// What a step takes to be handed over.
    fn dispatch(&self) -> Result<Nanoseconds, StudyError> {
        let operators = self.model.reply_operators(self.reply(), self.projections)?;
        Ok(self.dispatch_of(&operators, 1))
    }

    /// What layers, and what follows them, take to be handed over where so many tokens of each sequence stream
    /// these operators.
    #[expect(clippy::cast_precision_loss, reason = "counts of operators")]
    pub(super) fn dispatch_of(&self, operators: &[Operator], tokens: u64) -> Nanoseconds {
        let matrices = || operators.iter().filter(|it| it.kind == OperatorKind::Matrix);
        let layers = f64::from(self.model.layers);
        // The host hands over experts once their router has answered.
        let are_experts = matrices().any(|it| self.is_of_experts(it.name));
        let is_rest =
            |it: &Operator| !self.is_of_experts(it.name) && !Matrix::is_among(it.name, &Matrix::OUTSIDE);
        let rest = matrices().any(is_rest);
        let of = |any: bool| f64::from(u8::from(any));
        let dispatches = match self.handed {
            Handed::Operators => {
                matrices().map(|it| it.count as f64 * self.reads(it, tokens)).sum::<f64>() + of(rest) * layers
            }
            Handed::Layers => (of(rest) + of(are_experts)) * layers + of(matrices().any(follows_layers)),
            Handed::Token => 1.0,
        };
        self.device.dispatch_ns * dispatches
    }

    /// Whether it is a matrix of experts.
    pub(super) fn is_of_experts(&self, matrix: &str) -> bool {
        self.model.experts.is_some() && Matrix::is_among(matrix, &Matrix::FFN)
    }

    /// What a step streams and multiplies of some operators.
    pub(super) fn streams_of_step(
        &self,
        of: impl Fn(&Operator) -> bool,
    ) -> Result<Vec<Streamed>, StudyError> {
        let mut operators = self.model.reply_operators(self.reply(), self.projections)?;
        operators.retain(of);
        // In turns, where a block has fewer rows.
        Ok(self.streams(&operators, 1, 0)?.unwrap_or_default())
    }

    /// What streams past the vectors of so many tokens of each sequence, which memory tiles hold, and is multiplied
    /// with them, by the kernel that takes the least time of those whose block has so many rows; nothing if none has.
    pub(super) fn streams(
        &self,
        operators: &[Operator],
        tokens: u64,
        rows: u64,
    ) -> Result<Option<Vec<Streamed>>, StudyError> {
        let stored = self.format.of(&self.model)?;
        let by =
            |kernel: &Kernel| self.streams_by(stored, &self.design_of(kernel), kernel, operators, tokens);
        let least = |kernel: &Kernel| {
            let reached = self.device.tops(kernel.macs_per_cycle()) * 1e3;
            by(kernel).map(|it| (it.operations / reached).max(it.stream / it.turns)).sum()
        };
        let time =
            |kernel: &Kernel| (self.rows_of(kernel) >= rows).then(|| by(kernel).map(|it| it.time()).sum());
        let kernel = self.products().least_kernel(self.batch.into(), least, time)?;
        Ok(kernel.map(|it| by(&it).collect()))
    }

    /// Rows of a kernel's block.
    pub(super) fn rows_of(&self, kernel: &Kernel) -> u64 {
        u64::from(kernel.tile.m) * u64::from(self.device.rows.get())
    }

    /// What streams by a kernel in a design.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    pub(super) fn streams_by<'a>(
        &'a self,
        stored: Weights<'a>,
        design: &Design,
        kernel: &Kernel,
        operators: &'a [Operator],
        tokens: u64,
    ) -> impl Iterator<Item = Streamed> + use<'a> {
        let (batch, gb_s) = (f64::from(self.batch.get()), self.device.stream_gb_s());
        let parts = f64::from(self.kv_parts());
        // Cores keep sums of a block's rows, memory tiles all inputs of these.
        let (rows, room) = (design.native(&self.device)[0], self.room_for_vectors(design));
        let input = u64::from(self.precision.input_bytes());
        let peak = self.device.peak_tops(&kernel.mmul) * 1e3;
        let reached = self.device.tops(kernel.macs_per_cycle()) * 1e3;
        // One row of the instruction for each vector; the others multiply nothing.
        let r = f64::from(kernel.mmul.r.get());
        let rate = move |vectors: f64| reached * vectors / ((vectors / r).ceil() * r);
        operators.iter().map(move |it| {
            let count = it.count as f64;
            let reads = self.reads(it, tokens);
            // Of a matrix, of as many tokens as meet it.
            let met = batch * it.n as f64 / reads;
            let turns = match it.kind {
                OperatorKind::Matrix => (met / (room / (it.k * input)).clamp(1, rows) as f64).ceil().max(1.0),
                OperatorKind::Attention | OperatorKind::Vector => 1.0,
            };
            let (bytes, written) = (self.bytes(stored, it, reads, turns), self.written_bytes(it));
            let vectors = match it.kind {
                OperatorKind::Matrix => met / turns,
                // Heads that share keys and values.
                OperatorKind::Attention => it.n as f64,
                OperatorKind::Vector => r,
            };
            let times = if it.kind == OperatorKind::Attention { parts } else { 1.0 };
            let operations = count * batch * it.operations as f64 * times;
            Streamed {
                name: it.name,
                part: part_of(it.kind),
                operations,
                at_peak: operations / peak,
                compute: operations / rate(vectors.max(1.0)),
                stream: count * bytes / gb_s,
                bytes: count * bytes,
                written_bytes: count * written,
                bus_bytes: [bytes - written, written].map(|it| count * it),
                turns,
            }
        })
    }

    /// What the prompts stream and multiply beside weights: attention at the rate of the layers' products, or as
    /// products of its own.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    pub(super) fn prompt_streams(
        &self,
        stored: Weights<'_>,
        layer_tops: f64,
    ) -> Result<Vec<Streamed>, StudyError> {
        let (batch, gb_s) = (f64::from(self.batch.get()), self.device.stream_gb_s());
        let peak = self.device.peak_tops(&self.device.mmul(self.precision)?) * 1e3;
        let operators = self.model.prefill_operators(self.prompt_tokens.get(), self.projections)?;
        let others = operators.into_iter().filter(|it| it.kind != OperatorKind::Matrix);
        let products = self.products();
        let by_products = self.prompt_attention == PromptAttention::Products;
        let parts = self.kv_parts();
        let stream = |it: Operator| {
            let (count, part) = (it.count as f64, part_of(it.kind));
            let all = count * batch * it.operations as f64 * f64::from(parts);
            let operations = if part == PassPart::Attention { all } else { 0.0 };
            let (mut bytes, mut written) =
                (count * self.bytes(stored, &it, 1.0, 1.0), count * self.written_bytes(&it));
            let mut lines = None;
            let mut compute = operations / (layer_tops * 1e3);
            if by_products && part == PassPart::Attention {
                let (time, moved) = products.attention(&it, self.batch, parts)?;
                (compute, bytes, written) = (time.as_f64(), moved[0].iter().sum(), moved[0][1]);
                lines = Some(moved[1]);
            } else if by_products {
                let scores = self.score_bytes(&it).map(|it| count * batch * it);
                (bytes, written) = (bytes + scores[0] + scores[1], written + scores[1]);
            }
            Ok(Streamed {
                name: it.name,
                part,
                operations,
                at_peak: operations / peak,
                compute,
                stream: bytes / gb_s,
                bytes,
                written_bytes: written,
                bus_bytes: lines.unwrap_or([bytes - written, written]),
                turns: 1.0,
            })
        };
        others.map(stream).collect()
    }

    /// Bytes that a softmax reads and writes where scores are results, one for each part of the keys, and inputs of
    /// products.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53 in ratio")]
    fn score_bytes(&self, it: &Operator) -> [f64; 2] {
        let [inputs, results] = [self.precision.input_bytes(), self.precision.output_bytes()].map(f64::from);
        let read = it.score_read_elements as f64 * f64::from(self.kv_parts());
        [read * results, it.score_written_elements as f64 * inputs]
    }

    /// A step, operator by operator.
    pub(super) fn told_step(&self) -> Result<Vec<OperatorCost>, StudyError> {
        let (products, streams) = self.products_and_streams()?;
        let mut costs = streams.iter().map(|it| it.told(Pass::Token)).collect::<Result<Vec<_>, _>>()?;
        if let Some((products, _)) = products {
            let stored = self.format.of(&self.model)?;
            let of_products = products.operators(self.batch.into(), Some(stored), &[])?;
            costs.extend(of_products.into_iter().map(|it| OperatorCost { pass: Pass::Token, ..it }));
        }
        let handing = [("dispatch", self.dispatch()?)];
        costs.push(OperatorCost::new(Pass::Token, "dispatch", Nanoseconds::ZERO, handing));
        Ok(costs)
    }
}
