//! What every `*.inference` study answers first, so that systems compare.

use memscape_units::Nanoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::energy::{Boundary, Energy, EnergyColumns};

/// The columns that all `*.inference` studies share. Tokens per second count the
/// whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Headline {
    /// Time to first token: the prompt
    pub ttft_s: f64,
    /// Mean time of a generated token of each sequence, without the prompt
    pub token_ns: f64,
    /// Prompt tokens per second
    pub prompt_tokens_per_s: f64,
    /// Generated tokens per second, without the prompt
    pub generation_tokens_per_s: f64,
    /// Prompt and reply
    pub total_s: f64,
    /// Generated tokens over the time of prompt and reply
    pub tokens_per_s: f64,
    /// What weights and key-value cache take where they must fit, with buffers and the largest product where
    /// those are billed
    pub memory_bytes: u64,
    /// What there is of it; null where no source says
    pub memory_limit_bytes: Option<u64>,
    /// What binds a generated token
    pub bound_by: BoundBy,
    /// What the DRAM devices take for prompt and reply
    #[serde(flatten)]
    pub energy: EnergyColumns,
    /// `energy_j` over generated tokens, so that the prompt is in it; null where no source gives it
    pub energy_per_token_j: Option<f64>,
    /// What the DRAM devices take for a generated token alone, on average over the reply; null where no
    /// source gives it
    pub token_energy_j: Option<f64>,
    /// The least that it can be
    pub token_energy_low_j: Option<f64>,
    /// The most that it can be
    pub token_energy_high_j: Option<f64>,
    /// Generated tokens over `energy_high_j`; null where that is not of all DRAM
    pub low_tokens_per_j: Option<f64>,
    /// Generated tokens over `energy_low_j`; null where that is not of all DRAM
    pub high_tokens_per_j: Option<f64>,
    /// The most that processors, with the memory on their boards, can take for prompt and reply: their
    /// rated power all the time; null where no source gives it
    pub energy_package_limit_j: Option<f64>,
    /// Price of the parts that a source prices, such as GPUs; null where none does
    pub cost_usd: Option<f64>,
    /// Tokens that it generates for each dollar of its price if it does nothing else for three years
    pub low_tokens_per_usd: Option<f64>,
    /// The same for five years
    pub high_tokens_per_usd: Option<f64>,
}

/// How long a machine is used until it is written off: what `low_tokens_per_usd` and `high_tokens_per_usd` assumes.
const YEARS: [f64; 2] = [3.0, 5.0];
const YEAR_S: f64 = 365.25 * 86_400.0;

/// The binding resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// Arithmetic.
    Compute,
    /// Reading memory.
    DramBandwidth,
    /// Waiting for memory to answer, whatever it could deliver.
    DramLatency,
    /// Reading caches.
    CacheBandwidth,
    /// Moving data between devices.
    Link,
    /// Commands that do not move weights.
    CommandIssue,
    /// Waiting for each other.
    Synchronisation,
    /// What the host does beside.
    Host,
}

/// A prompt and a reply as a model times them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Served {
    /// Tokens of the prompt of each sequence.
    pub prompt_tokens: u64,
    /// Tokens generated for each sequence.
    pub generated_tokens: u64,
    /// Sequences at once.
    pub batch: u64,
    /// The prompts of the whole batch.
    pub prompt: Nanoseconds,
    /// One step: a token of each sequence, on average over the reply.
    pub step: Nanoseconds,
    /// What weights, key-value cache and what is billed beside them take.
    pub memory_bytes: u64,
    /// What there is.
    pub memory_limit_bytes: Option<u64>,
    /// What binds a step.
    pub bound_by: BoundBy,
    /// What the DRAM devices take for the prompts, and for a step.
    pub energy: Option<[Energy; 2]>,
    /// Rated power of the processors, with the memory on their boards, in watts.
    pub package_w: Option<f64>,
    /// Price of the machine.
    pub cost_usd: Option<f64>,
}

impl Headline {
    /// The columns of a prompt and a reply.
    ///
    /// ```
    /// use memscape_study::{BoundBy, Headline, Served};
    /// use memscape_units::Nanoseconds;
    ///
    /// let it = Headline::of(&Served {
    ///     prompt_tokens: 100, generated_tokens: 10, batch: 2,
    ///     prompt: Nanoseconds::new(1e9)?, step: Nanoseconds::new(0.1e9)?,
    ///     memory_bytes: 1, memory_limit_bytes: None, bound_by: BoundBy::Compute,
    ///     energy: None, package_w: Some(100.0), cost_usd: None,
    /// });
    /// assert_eq!((it.ttft_s, it.total_s, it.tokens_per_s), (1.0, 2.0, 10.0));
    /// assert_eq!((it.prompt_tokens_per_s, it.generation_tokens_per_s), (200.0, 20.0));
    /// assert_eq!((it.energy.energy_j, it.energy_package_limit_j), (None, Some(200.0)));
    /// # Ok::<(), memscape_units::UnitError>(())
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn of(it: &Served) -> Self {
        let (prompt_ns, step_ns) = (it.prompt.as_f64(), it.step.as_f64());
        let (batch, generated) = (it.batch as f64, it.generated_tokens as f64);
        let total_ns = prompt_ns + generated * step_ns;
        let tokens_per_s = batch * generated / total_ns * 1e9;
        let whole = it.energy.map(|[prompt, step]| prompt + step * generated);
        let energy = EnergyColumns::of(whole.as_ref());
        let of_token = it.energy.map(|[_, step]| step.total() * batch.recip());
        // A machine that takes nothing answers nothing.
        let per_joule = |joules: Option<f64>| joules.filter(|it| *it > 0.0).map(|it| batch * generated / it);
        let per_usd = |years: f64| {
            let price = it.cost_usd.filter(|it| *it > 0.0);
            price.map(|it| tokens_per_s * years * YEAR_S / it)
        };
        Self {
            ttft_s: prompt_ns * 1e-9,
            token_ns: step_ns,
            prompt_tokens_per_s: batch * it.prompt_tokens as f64 / prompt_ns * 1e9,
            generation_tokens_per_s: batch / step_ns * 1e9,
            total_s: total_ns * 1e-9,
            tokens_per_s,
            memory_bytes: it.memory_bytes,
            memory_limit_bytes: it.memory_limit_bytes,
            bound_by: it.bound_by,
            energy,
            energy_per_token_j: energy.energy_j.map(|it| it / (batch * generated)),
            token_energy_j: of_token.map(|it| it.value),
            token_energy_low_j: of_token.map(|it| it.low),
            token_energy_high_j: of_token.map(|it| it.high),
            low_tokens_per_j: per_joule(energy.energy_high_j),
            high_tokens_per_j: per_joule(energy.energy_low_j),
            energy_package_limit_j: it.package_w.map(|it| it * total_ns * 1e-9),
            cost_usd: it.cost_usd,
            low_tokens_per_usd: per_usd(YEARS[0]),
            high_tokens_per_usd: per_usd(YEARS[1]),
        }
    }

    /// The same where DRAM on a processor's board takes energy too, and no source says how much: what
    /// is told is that of the modules alone, and tokens for each joule of it would compare with nothing.
    #[must_use]
    pub fn of_modules(self) -> Self {
        let boundary = self.energy.energy_boundary.map(|_| Boundary::Modules);
        Self {
            energy: EnergyColumns { energy_boundary: boundary, ..self.energy },
            low_tokens_per_j: None,
            high_tokens_per_j: None,
            ..self
        }
    }
}
