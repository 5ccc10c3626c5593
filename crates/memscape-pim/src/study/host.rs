//! What the processor does of a prompt and a reply, and how long all of it would take there.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{BoundBy, Breakdown, OperatorCost, Part, Pass, Recent, StudyError, parts};
use memscape_units::{GbPerS, Nanoseconds};
use memscape_workload::{Format, Matrix, Model, Operator, OperatorKind, Projections, Reply};
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
    /// Sequences that it works on together: it reads weights once for all.
    pub sequences: NonZeroU32,
    /// The reply whose mean token is timed.
    pub reply: Reply,
    pub kv_bits: NonZeroU32,
    pub activation_bits: NonZeroU32,
    pub attention: Attention,
    pub lm_head: LmHead,
    pub soc: Soc,
    pub bandwidth: GbPerS,
    /// The channels' peak.
    pub peak: GbPerS,
}

/// The processor's part, of all sequences together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    /// A token of each on the processor alone.
    pub token: Breakdown<TokenPart>,
    /// What takes most of that.
    pub bound_by: BoundBy,
    /// What a token reads and writes beside the matrices that PIM can take.
    pub beside: Traffic,
    /// How long that takes.
    pub beside_time: Paced,
    /// What it reads of these.
    pub weights: Traffic,
    /// The prompts.
    pub prompt: Nanoseconds,
    /// What these read and writes.
    pub prompt_traffic: Traffic,
}

/// Time by what paces it: each operator counts whole, as the slower of its two does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paced {
    /// Of operators that wait for their bytes.
    pub moving: Nanoseconds,
    /// Of operators that wait for the processor.
    pub computing: Nanoseconds,
}

impl Paced {
    const NONE: Self = Self { moving: Nanoseconds::ZERO, computing: Nanoseconds::ZERO };

    fn add(&mut self, it: &HostOperator) {
        *(if it.computes() { &mut self.computing } else { &mut self.moving }) += it.time;
    }
}

/// An operator of a pass, all its instances together.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostOperator {
    pub name: &'static str,
    pub part: TokenPart,
    pub time: Nanoseconds,
    /// What moving its bytes takes of that.
    pub moving: Nanoseconds,
    /// What the peaks of processor and memory leave of it.
    pub least: Nanoseconds,
    pub traffic: Traffic,
}

/// The operator that PIM may take though it is not of the layers.
const HEAD: &str = Matrix::LmHead.name();

/// What is left to the processor of matrices on PIM.
const BIASES: &str = "biases";

impl HostOperator {
    /// Whether it waits for the processor rather than for its bytes.
    fn computes(&self) -> bool {
        self.moving < self.time
    }

    /// As a trace tells it.
    pub fn told(&self, pass: Pass) -> OperatorCost {
        let cause = if self.computes() { "compute" } else { "read" };
        OperatorCost::new(pass, self.name, self.least, [(cause, self.time)])
    }
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

    fn of(&self) -> Result<Host, StudyError> {
        let (mut times, mut weights, mut beside) =
            ([Nanoseconds::ZERO; TokenPart::ALL.len()], Traffic::default(), Traffic::default());
        let (mut all, mut beside_time) = (Paced::NONE, Paced::NONE);
        for it in self.token()? {
            times[it.part.index()] += it.time;
            all.add(&it);
            if it.part == TokenPart::Gemv {
                weights += it.traffic;
                continue;
            }
            beside += it.traffic;
            beside_time.add(&it);
        }
        let (mut prompt, mut prompt_traffic) = (Nanoseconds::ZERO, Traffic::default());
        for it in self.prompt()? {
            prompt += it.time;
            prompt_traffic += it.traffic;
        }
        Ok(Host {
            // Rounded to picoseconds once, not operator by operator.
            token: TokenPart::ALL.iter().map(|it| (*it, times[it.index()].to_picoseconds())).collect(),
            bound_by: if all.moving >= all.computing { BoundBy::DramBandwidth } else { BoundBy::Compute },
            beside,
            beside_time,
            weights,
            prompt,
            prompt_traffic,
        })
    }

    /// The mean token of each sequence, operator by operator. The biases of matrices that PIM can take are the
    /// processor's wherever these are, which adds them to what it reads of their outputs.
    ///
    /// # Errors
    /// As of [`HostWork::cost`].
    pub fn token(&self) -> Result<Vec<HostOperator>, StudyError> {
        let operators = self.model.reply_operators(self.reply, self.projections)?;
        let of = |it: &Operator| {
            let part = match it.kind {
                OperatorKind::Matrix if self.is_on_pim(it) => TokenPart::Gemv,
                OperatorKind::Matrix => TokenPart::Head,
                OperatorKind::Attention => TokenPart::Attention,
                OperatorKind::Vector => TokenPart::Vector,
            };
            let mut traffic = self.traffic_of_one(it, 1);
            if part == TokenPart::Gemv {
                // Its biases have a row of their own.
                traffic.read -= self.vector_bytes(it, 1);
            }
            self.operator(it, part, traffic)
        };
        let biases = |it: &Operator| {
            let read = self.vector_bytes(it, 1);
            let all = Operator { name: BIASES, kind: OperatorKind::Vector, operations: 0, ..*it };
            self.operator(&all, TokenPart::Vector, Traffic { read, written: 0.0 })
        };
        let with_biases = operators.iter().filter(|it| it.vector_weight_elements > 0 && self.is_on_pim(it));
        Ok(operators.iter().map(of).chain(with_biases.map(biases)).collect())
    }

    /// The prompts of all sequences, operator by operator.
    ///
    /// # Errors
    /// As of [`HostWork::cost`].
    pub fn prompt(&self) -> Result<Vec<HostOperator>, StudyError> {
        let tokens = self.prompt_tokens.get();
        let operators = self.model.prefill_operators(tokens, self.projections)?;
        let part = |it: &Operator| match it.kind {
            OperatorKind::Matrix if it.name == HEAD => TokenPart::Head,
            OperatorKind::Matrix => TokenPart::Gemv,
            OperatorKind::Attention => TokenPart::Attention,
            OperatorKind::Vector => TokenPart::Vector,
        };
        let of = |it: &Operator| self.operator(it, part(it), self.traffic_of_one(it, tokens));
        Ok(operators.iter().map(of).collect())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn operator(&self, it: &Operator, part: TokenPart, traffic: Traffic) -> HostOperator {
        let operations = it.operations as f64 * f64::from(self.sequences.get());
        let bits = self.operand_bits(it.kind);
        let time = |operations, rate| self.soc.gemv_time(operations, bits, traffic.bytes(), rate);
        let of_all = |operations| repeated(it.count, time(operations, self.bandwidth));
        let at_peak = time(operations, self.peak);
        HostOperator {
            name: it.name,
            part,
            time: of_all(operations),
            moving: of_all(0.0),
            least: repeated(it.count, at_peak),
            traffic: traffic.times(it.count as f64),
        }
    }

    /// Whether it is a matrix that PIM can take.
    fn is_on_pim(&self, operator: &Operator) -> bool {
        let of_layers = self.model.layer_gemvs(self.projections).any(|it| it.0.name() == operator.name);
        of_layers || (operator.name == HEAD && self.lm_head == LmHead::Pim)
    }

    /// Bits of what is multiplied, which paces it: activations are converted to the width of what they meet.
    const fn operand_bits(&self, kind: OperatorKind) -> u64 {
        match kind {
            OperatorKind::Matrix => self.format.element_bits(),
            OperatorKind::Attention => self.kv_bits.get() as u64,
            OperatorKind::Vector => self.activation_bits.get() as u64,
        }
    }

    /// Bytes of weights that one instance reads for all sequences.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn weight_bytes(&self, it: &Operator, tokens: u64) -> f64 {
        let bytes = self.format.storage_bits(it.weight_elements) as f64 / 8.0;
        bytes * self.model.weight_reads(it, tokens, self.sequences.get().into())
    }

    /// Bytes of scales and biases that one instance reads for all sequences: those of each expert that they meet.
    fn vector_bytes(&self, it: &Operator, tokens: u64) -> f64 {
        let read = bytes(it.vector_weight_elements, self.activation_bits);
        match it.kind {
            OperatorKind::Matrix => read * self.model.weight_reads(it, tokens, self.sequences.get().into()),
            OperatorKind::Attention | OperatorKind::Vector => read,
        }
    }

    /// What one instance of an operator reads and writes, which meets so many tokens of each sequence.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn traffic_of_one(&self, it: &Operator, tokens: u64) -> Traffic {
        let [scores_read, scores_written] = match self.attention {
            Attention::Fused => [0, 0],
            Attention::Unfused => [it.score_read_elements, it.score_written_elements],
        };
        let sequences = f64::from(self.sequences.get());
        let weights = match it.kind {
            OperatorKind::Matrix => self.weight_bytes(it, tokens),
            // Rows of an embedding are each token's own.
            _ => sequences * self.format.storage_bits(it.weight_elements) as f64 / 8.0,
        };
        Traffic {
            read: weights
                + self.vector_bytes(it, tokens)
                + sequences
                    * (bytes(it.kv_read_elements, self.kv_bits)
                        + bytes(it.activation_read_elements + scores_read, self.activation_bits)),
            written: sequences
                * (bytes(it.kv_written_elements, self.kv_bits)
                    + bytes(it.activation_written_elements + scores_written, self.activation_bits)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn bytes(elements: u64, bits: NonZeroU32) -> f64 {
    elements as f64 * f64::from(bits.get()) / 8.0
}

/// So many times after each other.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn repeated(count: u64, time: Nanoseconds) -> Nanoseconds {
    Nanoseconds::new(count as f64 * time.as_f64()).expect("a product of finite positive numbers")
}
