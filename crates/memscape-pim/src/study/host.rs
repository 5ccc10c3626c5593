//! What the processor does of a prompt and a reply, and how long all of it would take there.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{BoundBy, Breakdown, Part, Recent, StudyError, parts};
use memscape_units::{GbPerS, Nanoseconds};
use memscape_workload::{Format, Matrix, Model, Operator, OperatorKind, Projections};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::Traffic;
use crate::hardware::Soc;

/// Whether attention scores pass through memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Scores stay on the chip.
    Fused,
    /// Scores are written to memory and read back.
    Unfused,
}

/// Where the language-model head runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LmHead {
    /// On the processor.
    Soc,
    /// On PIM, like the matrices of the layers.
    Pim,
}

parts! {
    /// What a generated token takes its time for.
    pub enum TokenPart {
        /// Weight matrices that PIM can take.
        Gemv = "gemv",
        /// Language-model head and embedding projections on the processor.
        Head = "head",
        /// Attention over the context.
        Attention = "attention",
        /// Norms, activations, residuals.
        Vector = "vector",
    }
}

/// All that the processor's part depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HostWork {
    pub model: Model,
    pub projections: Projections,
    pub format: Format,
    pub prompt_tokens: NonZeroU64,
    /// Tokens before the one that is timed.
    pub context_tokens: u64,
    pub kv_bits: NonZeroU32,
    pub activation_bits: NonZeroU32,
    pub attention: Attention,
    pub lm_head: LmHead,
    pub soc: Soc,
    pub bandwidth: GbPerS,
}

/// The processor's part, of one sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    /// A token on the processor alone.
    pub token: Breakdown<TokenPart>,
    /// What takes most of that.
    pub bound_by: BoundBy,
    /// What a token reads and writes beside the matrices that PIM can take.
    pub beside: Traffic,
    /// What it reads of these.
    pub weights: Traffic,
    /// The prompt.
    pub prompt: Nanoseconds,
    /// What that reads and writes.
    pub prompt_traffic: Traffic,
}

thread_local!(static KEPT: Recent<HostWork, Host> = const { Recent::new() });

impl HostWork {
    /// The processor's part.
    ///
    /// # Errors
    /// [`StudyError`] if prompt and reply are too long for the model.
    pub fn cost(self) -> Result<Host, StudyError> {
        KEPT.with(|it| it.get(self, Self::of))
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes and layers stay far below 2^53")]
    fn of(&self) -> Result<Host, StudyError> {
        let layers = u64::from(self.model.layers);
        let (mut times, mut weights, mut beside) =
            ([Nanoseconds::ZERO; TokenPart::ALL.len()], Traffic::default(), Traffic::default());
        let mut add = |part: TokenPart, time| times[part.index()] += time;
        for (_, gemv) in self.model.layer_gemvs(self.projections) {
            let bytes = gemv.weight_bytes(self.format).0 as f64;
            let time = self.time(gemv.operations(), bytes);
            add(TokenPart::Gemv, repeated(layers, time));
            weights.read += bytes * layers as f64;
        }
        let operators = self.model.decode_operators(self.context_tokens, self.projections)?;
        let (mut all, mut moving) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
        for operator in &operators {
            let traffic = self.traffic_of_one(operator);
            let of_all = |operations| repeated(operator.count, self.time(operations, traffic.bytes()));
            let time = of_all(operator.operations);
            all += time;
            moving += of_all(0);
            let part = match operator.kind {
                // The layers' matrices are timed above, one by one.
                OperatorKind::Matrix if self.is_of_layers(operator) => continue,
                OperatorKind::Matrix if operator.name == "lm_head" && self.lm_head == LmHead::Pim => {
                    weights.read += self.model.gemv(Matrix::LmHead)?.weight_bytes(self.format).0 as f64;
                    add(TokenPart::Gemv, time);
                    continue;
                }
                OperatorKind::Matrix => TokenPart::Head,
                OperatorKind::Attention => TokenPart::Attention,
                OperatorKind::Vector => TokenPart::Vector,
            };
            add(part, time);
            beside += traffic.times(operator.count as f64);
        }
        let (mut prompt, mut prompt_traffic) = (Nanoseconds::ZERO, Traffic::default());
        for operator in self.model.prefill_operators(self.prompt_tokens.get(), self.projections)? {
            let traffic = self.traffic_of_one(&operator);
            prompt += repeated(operator.count, self.time(operator.operations, traffic.bytes()));
            prompt_traffic += traffic.times(operator.count as f64);
        }
        Ok(Host {
            // Rounded to picoseconds once, not operator by operator.
            token: TokenPart::ALL.iter().map(|it| (*it, times[it.index()].to_picoseconds())).collect(),
            bound_by: if moving * 2.0 >= all { BoundBy::DramBandwidth } else { BoundBy::Compute },
            beside,
            weights,
            prompt,
            prompt_traffic,
        })
    }

    fn is_of_layers(&self, operator: &Operator) -> bool {
        self.model.layer_gemvs(self.projections).any(|it| it.0.name() == operator.name)
    }

    /// The slower of computing and moving so many bytes.
    fn time(&self, operations: u64, bytes: f64) -> Nanoseconds {
        self.soc.gemv_time(operations, self.format.element_bits(), bytes, self.bandwidth)
    }

    /// What one instance of an operator reads and writes.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn traffic_of_one(&self, it: &Operator) -> Traffic {
        let [scores_read, scores_written] = match self.attention {
            Attention::Fused => [0, 0],
            Attention::Unfused => [it.score_read_elements, it.score_written_elements],
        };
        let bytes = |elements: u64, bits: NonZeroU32| elements as f64 * f64::from(bits.get()) / 8.0;
        let read = it.activation_read_elements + it.vector_weight_elements + scores_read;
        Traffic {
            read: self.format.storage_bits(it.weight_elements) as f64 / 8.0
                + bytes(it.kv_read_elements, self.kv_bits)
                + bytes(read, self.activation_bits),
            written: bytes(it.kv_written_elements, self.kv_bits)
                + bytes(it.activation_written_elements + scores_written, self.activation_bits),
        }
    }
}

/// So many times after each other.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn repeated(count: u64, time: Nanoseconds) -> Nanoseconds {
    Nanoseconds::new(count as f64 * time.as_f64()).expect("a product of finite positive numbers")
}
