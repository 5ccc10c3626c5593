//! The study `pim.inference`: a prompt and a reply, with the weight GEMVs of the
//! layers on PIM and everything else on the processor.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{CommandCounts, Dram};
use memscape_study::{
    Bound, BoundBy, Breakdown, CostEngine, Energy, EnergyColumns, Headline, Laws, OperatorCost, Part as _,
    Pass, Recent, Served, Slot, Study, StudyError,
};
use memscape_units::{Bytes, Nanoseconds, Picoseconds, Tops};
use memscape_workload::{Format, Matrix, Model, Projections, Reply, WeightFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gemv::{GemvStudy, dynamic_energy};
use super::host::{Attention, Host, HostOperator, HostWork, LmHead, Paced, TokenPart};
use super::laws;
use super::site::Site;
use crate::cost::{GemvPart, Traffic, idle_energy, traffic_energy};
use crate::hardware::{PimUnit, Soc};
use crate::mapping::placement::{CrDegree, Placement, RegisterRule, TilePolicy};

/// A prompt, and a reply generated token by token: weight matrices of the layers
/// on PIM, the rest on the processor.
///
/// A PIM command multiplies with one vector, so that matrices on PIM take the sequences of a batch
/// one after the other. The processor works on all of them together: it reads weights once, whatever
/// the batch, and keys and values of each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceStudy {
    /// Who computes the layers' matrices while tokens are generated
    pub system: System,
    /// Language model
    pub model: Model,
    /// How weights are stored: `int8`, `int4`, `fp16`, or scaled blocks such as `mx-int8-b32`
    pub format: Format,
    /// Tokens of the prompt
    #[schemars(range(min = 1, max = 16_777_216))]
    pub prompt_tokens: NonZeroU64,
    /// Tokens generated after it
    #[schemars(range(min = 1, max = 16_777_216))]
    pub generated_tokens: NonZeroU64,
    /// Sequences at the same time: one after the other on PIM, together on the processor
    #[schemars(range(min = 1, max = 65_536))]
    pub batch: NonZeroU32,
    /// Width of one element of the key-value cache
    pub kv_bits: NonZeroU32,
    /// Width of one activation between operators
    pub activation_bits: NonZeroU32,
    /// Whether attention scores stay on the chip
    pub attention: Attention,
    /// Where the language-model head runs
    pub lm_head: LmHead,
    /// Whether Q, K and V (and gate and up) are one matrix
    pub projections: Projections,
    /// The DRAM
    pub memory: Dram,
    /// Bytes in one interleaving unit of memory, which a tile fills
    pub interleave_bytes: NonZeroU64,
    /// The PIM unit of each bank
    pub pim: PimUnit,
    /// The processor
    pub soc: Soc,
    /// How tile and CR degree are chosen and weights lie: the best of all, PIMnast's algorithms as
    /// printed, or a baseline
    pub placement: Placement,
    /// Tile height: `auto`, as the placement chooses, or rows per tile
    pub tile: TilePolicy,
    /// Row-blocks that share one pass over the input: `auto`, as the placement chooses, or a degree
    pub cr_degree: CrDegree,
    /// Parts into which the columns are cut, each with its share of the channels
    pub split_k: NonZeroU32,
    /// Which registers tile height and CR degree are held to
    pub register_rule: RegisterRule,
    /// Whether the processor's adding of split-K partial sums is charged
    pub charge_reduction: bool,
    /// Whether refresh is on (the paper's models have it off)
    pub refresh: bool,
}

/// Who computes the layers' matrices while tokens are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// PIM, in their placement.
    Pim,
    /// The processor, whose memory then holds no padding.
    Soc,
    /// PIM or the processor, whichever has a token of all sequences sooner: it reads weights in PIM's placement
    /// at full rate, once for all
    Faster,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// More than the memory holds.
    #[error(
        "the model takes {need} of memory, {cache} of it for keys and values and {} for {}, but `memory` has {have}: \
         {} are missing; use fewer bits, tokens or sequences{}, or more `memory.rows`, \
         `memory.banks_per_channel` or `memory.channels`",
        product.max(scores),
        if scores > product { "attention scores" } else { "inputs and results of the largest product" },
        Bytes(need.0.saturating_sub(have.0)),
        if scores > product { ", `attention = \"fused\"`" } else { "" }
    )]
    Capacity {
        /// Weights as placed, the key-value cache, and attention scores or the largest product, whichever
        /// is more.
        need: Bytes,
        /// The key-value cache.
        cache: Bytes,
        /// Attention scores.
        scores: Bytes,
        /// Inputs and results of the prompt's largest product.
        product: Bytes,
        /// What there is.
        have: Bytes,
    },
    /// A token that no clock can follow.
    #[error(
        "a token takes longer than a clock of picoseconds can follow (half a year); use a faster `memory` or \
         `soc`, or a smaller model"
    )]
    TooLong,
}

/// What `pim.inference` answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct InferenceAnswer {
    /// What all systems answer.
    #[serde(flatten)]
    pub headline: Headline,
    /// Time per token on the processor alone over that with PIM; null if PIM cannot multiply these
    /// weights, and the processor alone answers
    pub token_speedup: Option<f64>,
    /// The same for prompt and all generated tokens
    pub end_to_end_speedup: Option<f64>,
    /// Time of a token on the processor alone
    pub soc_token_ns: f64,
    /// Share of token generation in prompt and reply, on the processor alone
    pub soc_generation_share: f64,
    /// Weight matrices where they are computed
    pub gemv_ns: f64,
    /// Weight matrices on PIM; null as `token_speedup`
    pub pim_gemv_ns: Option<f64>,
    /// The same matrices on the processor
    pub soc_gemv_ns: f64,
    /// Language-model head and embedding projections on the processor
    pub head_ns: f64,
    /// Attention over the context
    pub attention_ns: f64,
    /// Norms, activations, residuals
    pub vector_ns: f64,
    /// Mean context of the generated tokens
    pub context_tokens: u64,
}

/// What a step of a reply takes with the layers' matrices on PIM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepCost {
    /// A token of each sequence.
    pub time: Breakdown<TokenPart>,
    /// Weights as placed, and keys and values of all sequences at their end.
    pub memory: Bytes,
    /// Keys and values alone.
    pub cache: Bytes,
    /// What takes most of the time.
    pub bound_by: BoundBy,
    /// What the memory takes for a token of each sequence; none where nothing is known of it.
    pub energy: Option<Energy>,
}

/// The matrices that PIM takes, for a token of one sequence.
#[derive(Debug, Clone, Copy)]
struct OnPim {
    /// Their time.
    gemvs: Breakdown<GemvPart>,
    /// What the memory takes for their commands.
    energy: Option<Energy>,
    /// DRAM rows of the fullest bank that these take.
    rows: u64,
    /// Those of their outputs.
    output_rows: u64,
}

thread_local!(static KEPT: Recent<InferenceStudy, OnPim> = const { Recent::new() });

/// What memory has to hold from the first token to the last.
struct Held {
    all: Bytes,
    /// Of that, keys and values of all sequences at their end.
    cache: Bytes,
}

/// A generated token of each sequence.
struct Token {
    time: Breakdown<TokenPart>,
    /// What takes most of it.
    bound_by: BoundBy,
    /// What the memory takes for it, standby and refresh left out.
    energy: Option<Energy>,
}

impl Default for InferenceStudy {
    /// OPT-6.7B with the paper's prompt of 1920 and 128 generated tokens.
    fn default() -> Self {
        let gemv = GemvStudy::default();
        let count = |value| NonZeroU32::new(value).expect("not zero");
        Self {
            system: System::Pim,
            model: gemv.model,
            format: gemv.format,
            prompt_tokens: count(1920).into(),
            generated_tokens: count(128).into(),
            batch: count(1),
            kv_bits: count(8),
            activation_bits: count(16),
            attention: Attention::Fused,
            lm_head: LmHead::Soc,
            projections: Projections::Merged,
            memory: gemv.memory,
            interleave_bytes: gemv.interleave_bytes,
            pim: gemv.pim,
            soc: gemv.soc,
            placement: gemv.placement,
            tile: gemv.tile,
            cr_degree: gemv.cr_degree,
            split_k: gemv.split_k,
            register_rule: gemv.register_rule,
            charge_reduction: gemv.charge_reduction,
            refresh: gemv.refresh,
        }
    }
}

impl InferenceStudy {
    /// The study of one of the model's matrices on the same machine.
    #[must_use]
    pub fn gemv(&self, matrix: Matrix) -> GemvStudy {
        GemvStudy {
            model: self.model,
            gemv: matrix,
            m: None,
            k: None,
            format: self.format,
            memory: self.memory,
            interleave_bytes: self.interleave_bytes,
            pim: self.pim,
            soc: self.soc,
            tile: self.tile,
            cr_degree: self.cr_degree,
            split_k: self.split_k,
            register_rule: self.register_rule,
            placement: self.placement,
            charge_reduction: self.charge_reduction,
            refresh: self.refresh,
            engine: CostEngine::Closed,
        }
    }

    /// The reply's mean token of each sequence, with the layers' matrices on PIM
    /// whatever `system` says.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    pub fn step_on_pim(&self) -> Result<StepCost, StudyError> {
        let it = Self { system: System::Pim, ..*self };
        let site = &it.site()?;
        let on_pim = it.on_pim()?;
        let token = it.token_on_pim(site, &on_pim, &it.host_work(site).cost()?);
        let idle = idle_energy(&site.machine, Nanoseconds::new(token.time.total().as_ns())?, it.refresh);
        let Held { all, cache } = it.held(Some(&on_pim));
        Ok(StepCost {
            time: token.time,
            memory: all,
            cache,
            bound_by: token.bound_by,
            energy: and(token.energy, idle),
        })
    }

    /// What the mean token of another `reply` would take with the layers' matrices on PIM: of one that begins with nothing
    /// before it as well.
    ///
    /// # Errors
    /// As of [`InferenceStudy::step_on_pim`].
    pub fn time_on_pim(&self, reply: Reply) -> Result<Breakdown<TokenPart>, StudyError> {
        let it = Self { system: System::Pim, ..*self };
        let site = &it.site()?;
        let host = HostWork { reply, ..it.host_work(site) }.cost()?;
        Ok(it.token_on_pim(site, &it.on_pim()?, &host).time)
    }

    /// Prompt and token, operator by operator.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    #[expect(clippy::cast_precision_loss, reason = "few layers and sequences")]
    pub fn operators(&self) -> Result<Vec<OperatorCost>, StudyError> {
        let site = &self.site()?;
        let work = self.host_work(site);
        let on_pim = match self.system {
            System::Soc => false,
            System::Pim => true,
            System::Faster => {
                let host = work.cost()?;
                self.is_on_pim(&self.token_on_pim(site, &self.on_pim()?, &host), &host)
            }
        };
        let mut costs: Vec<_> = work.prompt()?.iter().map(|it| it.told(Pass::Prompt)).collect();
        let token = work.token()?;
        let by_host = token.iter().filter(|it| !(on_pim && it.part == TokenPart::Gemv));
        costs.extend(by_host.map(|it| it.told(Pass::Token)));
        let layers = self.model.layer_gemvs(self.projections).map(|it| (it.0, u64::from(self.model.layers)));
        let head = (self.lm_head == LmHead::Pim).then_some((Matrix::LmHead, 1));
        for (matrix, count) in layers.chain(head).filter(|_| on_pim) {
            let solved = self.gemv(matrix).solve(site)?;
            let times = count * u64::from(self.batch.get());
            let parts = solved.cost.time * times;
            let least = laws::on_all_banks_ns(solved.plan.gemv, self.format, &self.memory) * times as f64;
            let parts: Vec<_> = parts.iter().map(|(part, time)| (part.name(), time.into())).collect();
            costs.push(OperatorCost::new(Pass::Token, matrix.name(), Nanoseconds::new(least)?, parts));
        }
        Ok(costs)
    }

    /// What follows the layers, on the processor: of each token of a reply, and of a prompt for its last one. And what
    /// that reads and writes.
    ///
    /// # Errors
    /// As of the study, but that nothing is refused for its size.
    pub fn after_layers(&self) -> Result<(Vec<OperatorCost>, Traffic), StudyError> {
        let token = self.host_work(&self.site()?).token()?.into_iter();
        let follow = token.filter(|it| Matrix::is_among(it.name, &Matrix::AFTER_LAYERS));
        let mut traffic = Traffic::default();
        let told = |it: HostOperator| {
            traffic += it.traffic;
            it.told(Pass::Token)
        };
        Ok((follow.map(told).collect(), traffic))
    }

    /// What is generated. Time is linear in what each layer attends to, so that its mean gives the mean
    /// time.
    const fn reply(&self) -> Reply {
        Reply { prompt: self.prompt_tokens.get(), tokens: self.generated_tokens }
    }

    /// The machine, checked, and that the weights can be stored so: the processor alone reads any
    /// number of ranks.
    fn site(&self) -> Result<Site, StudyError> {
        WeightFormat::from(self.format).fits(&self.model)?;
        let it = self.gemv(Matrix::LmHead);
        Ok(match self.system {
            System::Pim | System::Faster => it.site()?,
            System::Soc => Site::new(&it.machine(), it.refresh)?,
        })
    }

    /// What the processor has to do.
    fn host_work(&self, site: &Site) -> HostWork {
        HostWork {
            model: self.model,
            projections: self.projections,
            format: self.format,
            prompt_tokens: self.prompt_tokens,
            sequences: self.batch,
            reply: self.reply(),
            kv_bits: self.kv_bits,
            activation_bits: self.activation_bits,
            attention: self.attention,
            lm_head: self.lm_head,
            soc: self.soc,
            bandwidth: site.bandwidth,
            peak: self.memory.peak_gb_s(),
        }
    }

    /// The same if there are any: a processor alone needs none.
    fn on_pim_if_any(&self) -> Result<Option<OnPim>, StudyError> {
        match self.system {
            System::Pim | System::Faster => self.on_pim().map(Some),
            System::Soc => Ok(self.on_pim().ok()),
        }
    }

    /// The matrices that PIM takes.
    fn on_pim(&self) -> Result<OnPim, StudyError> {
        // What they do not depend on is always the same.
        let one = NonZeroU32::MIN;
        let it = Self {
            system: System::Pim,
            prompt_tokens: NonZeroU64::MIN,
            generated_tokens: NonZeroU64::MIN,
            batch: one,
            kv_bits: one,
            activation_bits: one,
            attention: Attention::Fused,
            soc: Soc { tops_8bit: Tops::new(1.0)? },
            ..*self
        };
        KEPT.with(|kept| kept.get(it, Self::find_on_pim))
    }

    #[expect(clippy::cast_precision_loss, reason = "few layers")]
    fn find_on_pim(&self) -> Result<OnPim, StudyError> {
        let site = &self.site()?;
        let layers = u64::from(self.model.layers);
        let mut all = OnPim { gemvs: Breakdown::default(), energy: None, rows: 0, output_rows: 0 };
        let (mut commands, mut reduction) = (CommandCounts::default(), Traffic::default());
        for (matrix, _, count) in self.model.layer_matrices(self.projections) {
            let study = self.gemv(matrix);
            let solved = study.solve(site)?;
            // Memory holds all experts; a token meets the active ones.
            let met = layers * count.min(self.model.active_ffn_count());
            all.gemvs += solved.cost.time * met;
            commands += solved.cost.commands * met;
            reduction += study.reduction_traffic(&solved.plan).times(met as f64);
            let plan = &solved.plan;
            all.rows += layers * count * plan.weight_rows();
            // All matrices may write their outputs to the same rows, one after the other.
            all.output_rows = all.output_rows.max(plan.memory_rows() - plan.weight_rows());
        }
        if self.lm_head == LmHead::Pim {
            let study = self.gemv(Matrix::LmHead);
            let head = study.solve(site)?;
            all.gemvs += head.cost.time;
            commands += head.cost.commands;
            reduction += study.reduction_traffic(&head.plan);
            all.rows += head.plan.weight_rows();
            all.output_rows = all.output_rows.max(head.plan.memory_rows() - head.plan.weight_rows());
        }
        all.energy = dynamic_energy(site, &commands, reduction);
        Ok(all)
    }

    /// The reply's mean token of each sequence.
    fn token_on_pim(&self, site: &Site, on_pim: &OnPim, host: &Host) -> Token {
        let (mut time, batch) = (host.token, self.batch.get());
        let gemvs = on_pim.gemvs * batch.into();
        time[TokenPart::Gemv] = gemvs.total();
        let of_gemvs = on_pim.energy.map(|it| it * f64::from(batch));
        let energy = and(of_gemvs, traffic_energy(&site.machine, host.beside));
        Token { time, bound_by: bound_by(&gemvs, host.beside_time), energy }
    }

    /// The same on the processor alone.
    fn token_on_host(site: &Site, host: &Host) -> Token {
        let of_gemvs = traffic_energy(&site.machine, host.weights);
        let energy = and(of_gemvs, traffic_energy(&site.machine, host.beside));
        Token { time: host.token, bound_by: host.bound_by, energy }
    }

    /// Whether PIM has the layers' matrices, which takes so long with it.
    fn is_on_pim(&self, with_pim: &Token, host: &Host) -> bool {
        match self.system {
            System::Pim => true,
            System::Soc => false,
            System::Faster => with_pim.time.total() <= host.token.total(),
        }
    }

    /// What the memory takes for the prompts, and for a token of each sequence.
    fn energy(
        &self,
        site: &Site,
        prompt: (Nanoseconds, Option<Energy>),
        token: (Nanoseconds, Option<Energy>),
    ) -> Option<[Energy; 2]> {
        let with_idle = |(time, energy): (Nanoseconds, Option<Energy>)| {
            and(energy, idle_energy(&site.machine, time, self.refresh))
        };
        Some([with_idle(prompt)?, with_idle(token)?])
    }

    /// What memory holds, if there is as much.
    fn memory_bytes(&self, on_pim: Option<&OnPim>) -> Result<u64, StudyError> {
        let Held { all, cache } = self.held(on_pim);
        let (scores, product) = (self.score_bytes()?, self.product_bytes()?);
        // A layer's scores and its products pass through memory one after the other.
        let (need, have) = (Bytes(all.0.saturating_add(scores.max(product).0)), self.memory.capacity());
        if need > have {
            return Err(InferenceError::Capacity { need, cache, scores, product, have }.into());
        }
        Ok(need.0)
    }

    /// Attention scores that pass through memory. Heads that share keys and values follow those of others,
    /// for all sequences together, so that room for the largest of these is enough.
    fn score_bytes(&self) -> Result<Bytes, StudyError> {
        if self.attention == Attention::Fused {
            return Ok(Bytes(0));
        }
        let tokens = self.prompt_tokens.get();
        let end = tokens.saturating_add(self.generated_tokens.get());
        let prompt = self.model.prefill_operators(tokens, self.projections)?;
        let token = self.model.decode_operators(end, self.projections)?;
        let most = prompt.iter().chain(&token).map(|it| it.score_written_elements).max().unwrap_or(0);
        Ok(self.activation_bytes(most))
    }

    /// Inputs and results of the prompt's largest product.
    fn product_bytes(&self) -> Result<Bytes, StudyError> {
        Ok(self.activation_bytes(self.model.product_elements(self.prompt_tokens.get())?))
    }

    /// So many activations of each sequence.
    fn activation_bytes(&self, elements: u64) -> Bytes {
        let bits = u128::from(elements) * u128::from(self.activation_bits.get());
        let bytes = bits.div_ceil(8) * u128::from(self.batch.get());
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Weights, matrices as they are placed on PIM, padding included; keys and values of all sequences at
    /// their end.
    fn held(&self, on_pim: Option<&OnPim>) -> Held {
        let model = &self.model;
        let layers = u64::from(model.layers);
        let final_norm = if model.final_norm { u64::from(model.hidden_size) } else { 0 };
        let vectors =
            layers * model.layer_vector_parameters() + final_norm * model.norm.parameters_per_element();
        let layer: u64 = model.layer_matrices(self.projections).map(|it| it.1.m() * it.1.k() * it.2).sum();
        // Embeddings that are the head's matrix are looked up where that lies.
        let head = match self.lm_head {
            LmHead::Pim => model.gemv(Matrix::LmHead).map_or(0, |it| it.m() * it.k()),
            LmHead::Soc => 0,
        };
        let elements = layers * layer + head;
        let others = model.parameters().saturating_sub(vectors).saturating_sub(elements);

        let tokens = self.prompt_tokens.get().saturating_add(self.generated_tokens.get());
        let bytes = |elements: u64, bits: NonZeroU32, times: u64| {
            elements.saturating_mul(u64::from(bits.get())).div_ceil(8).saturating_mul(times)
        };
        let cache = bytes(model.kv_cache_elements(tokens), self.kv_bits, self.batch.get().into());
        let matrices = match on_pim {
            Some(it) => (it.rows + it.output_rows).saturating_mul(self.memory.row_of_all_banks().0),
            None => self.format.storage_bytes(elements).0,
        };
        let all = matrices
            .saturating_add(self.format.storage_bytes(others).0)
            .saturating_add(bytes(vectors, self.activation_bits, 1))
            .saturating_add(cache);
        Held { all: Bytes(all), cache: Bytes(cache) }
    }
}

/// What takes most of a token: reading, on PIM or by the processor, partial sums too, the commands
/// between, or what the processor computes beside.
fn bound_by(gemvs: &Breakdown<GemvPart>, beside: Paced) -> BoundBy {
    let parts = [GemvPart::Mac, GemvPart::RowOpen, GemvPart::Refresh, GemvPart::SocReduction];
    let reading: Picoseconds = parts.into_iter().map(|it| gemvs[it]).sum();
    let commands = gemvs.total() - reading;
    let reading = reading + beside.moving.to_picoseconds();
    let host = beside.computing.to_picoseconds();
    if reading >= commands.max(host) {
        BoundBy::DramBandwidth
    } else if host >= commands {
        BoundBy::Host
    } else {
        BoundBy::CommandIssue
    }
}

/// Both, where both are known.
fn and(a: Option<Energy>, b: Option<Energy>) -> Option<Energy> {
    Some(a? + b?)
}

impl Study for InferenceStudy {
    const NAME: &'static str = "pim.inference";
    const SUMMARY: &'static str = "A prompt and a reply of a language model with its GEMVs on LPDDR-PIM";
    type Answer = InferenceAnswer;

    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[
        ("token_ns", &["gemv_ns", "head_ns", "attention_ns", "vector_ns"]),
        ("soc_token_ns", &["soc_gemv_ns", "head_ns", "attention_ns", "vector_ns"]),
        EnergyColumns::SUM,
    ];

    const LAWS: Laws = laws::INFERENCE;

    const OPERATORS: Option<fn(&Self) -> Result<Vec<OperatorCost>, StudyError>> = Some(Self::operators);

    fn bounds(&self) -> Vec<Bound> {
        let gemvs = self.model.layer_gemvs(self.projections).filter_map(|it| self.model.gemv(it.0).ok());
        let per_layer: u64 = gemvs.map(|it| it.m() * it.k()).sum();
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let work = laws::Work {
            on_pim: self.system != System::Soc,
            times: if self.system == System::Pim { f64::from(self.batch.get()) } else { 1.0 },
            weights: per_layer as f64 * f64::from(self.model.layers),
            format: self.format,
            sequences: f64::from(self.batch.get()),
            prompt_tokens: self.prompt_tokens.get() as f64,
            generated_tokens: self.generated_tokens.get() as f64,
            tops_8bit: self.soc.tops_8bit.as_f64(),
        };
        laws::inference_bounds(&work, &self.memory)
    }

    fn slots() -> Vec<Slot> {
        GemvStudy::slots()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn answer(&self) -> Result<InferenceAnswer, StudyError> {
        let (prompt_tokens, generated_tokens) = (self.prompt_tokens.get(), self.generated_tokens.get());
        let site = &self.site()?;
        let on_pim = self.on_pim_if_any()?;
        let memory_bytes = self.memory_bytes(on_pim.as_ref().filter(|_| self.system != System::Soc))?;
        let host = self.host_work(site).cost()?;
        let with_pim = on_pim.map(|it| self.token_on_pim(site, &it, &host));
        let pim_token = with_pim.as_ref().map(|it| it.time);
        if !pim_token.iter().chain([&host.token]).all(|it| it.total().as_ns().is_finite()) {
            return Err(InferenceError::TooLong.into());
        }
        let (prompt, prompt_energy) = (host.prompt, traffic_energy(&site.machine, host.prompt_traffic));
        let on_pim = with_pim.filter(|it| self.is_on_pim(it, &host));
        let token = on_pim.unwrap_or_else(|| Self::token_on_host(site, &host));
        let step = Nanoseconds::new(token.time.total().as_ns())?;
        let headline = Headline::of(&Served {
            prompt_tokens,
            generated_tokens,
            batch: self.batch.get().into(),
            prompt,
            step,
            memory_bytes,
            memory_limit_bytes: Some(self.memory.capacity().0),
            bound_by: token.bound_by,
            energy: self.energy(site, (prompt, prompt_energy), (step, token.energy)),
            package_w: None,
            cost_usd: None,
        });
        let soc_token_ns = host.token.total().as_ns();
        let (prompt_ns, tokens) = (prompt.as_f64(), generated_tokens as f64);
        let pim_token_ns = pim_token.map(|it| it.total().as_ns());
        let end_to_end =
            |token_ns: f64| (prompt_ns + tokens * soc_token_ns) / (prompt_ns + tokens * token_ns);
        Ok(InferenceAnswer {
            headline,
            token_speedup: pim_token_ns.map(|it| soc_token_ns / it),
            end_to_end_speedup: pim_token_ns.map(end_to_end),
            soc_token_ns,
            soc_generation_share: tokens * soc_token_ns / (prompt_ns + tokens * soc_token_ns),
            gemv_ns: token.time.ns(TokenPart::Gemv),
            pim_gemv_ns: pim_token.map(|it| it.ns(TokenPart::Gemv)),
            soc_gemv_ns: host.token.ns(TokenPart::Gemv),
            head_ns: host.token.ns(TokenPart::Head),
            attention_ns: host.token.ns(TokenPart::Attention),
            vector_ns: host.token.ns(TokenPart::Vector),
            context_tokens: self.reply().mean_context(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_sums_wait_for_the_memory_as_weights_do() {
        let of =
            |parts: &[(GemvPart, u64)]| parts.iter().map(|(part, it)| (*part, Picoseconds(*it))).collect();
        let beside = |moving, computing| {
            let [moving, computing] = [moving, computing].map(|it| Nanoseconds::new(it).unwrap());
            Paced { moving, computing }
        };
        // 10 of weights and 20 of sums are read, while 15 are commands.
        let gemvs = of(&[(GemvPart::Mac, 10), (GemvPart::Swap, 15), (GemvPart::SocReduction, 20)]);
        assert_eq!(bound_by(&gemvs, beside(0.0, 0.0)), BoundBy::DramBandwidth);
        assert_eq!(bound_by(&gemvs, beside(0.0, 1.0)), BoundBy::Host, "a nanosecond of computing beside");
        let gemvs = of(&[(GemvPart::Swap, 40), (GemvPart::SocReduction, 20)]);
        assert_eq!(bound_by(&gemvs, beside(0.0, 0.0)), BoundBy::CommandIssue);
    }
}
