//! The families of models, each as transformers reads its `config.json`.

use super::config::{Config, whole};
use super::error::HfConfigError;
use super::keys::Value;
use crate::model::{Activation, Block, Experts, Llm, MAX_EXPERTS, MAX_LAYERS, MAX_WIDTH, Norm, Window};

/// What transformers takes where a key is absent.
struct Absent {
    /// `hidden_size`; none if the file must have it.
    hidden_size: Option<u32>,
    /// `num_hidden_layers`; none if the file must have it.
    layers: Option<u32>,
    /// `num_attention_heads`; none if the file must have it.
    heads: Option<u32>,
    /// The key of the width of the feed-forward network, or of each expert's, and its value; none if the
    /// file must have it.
    ffn_size: (&'static str, Option<u32>),
    /// `vocab_size`; none if the file must have it.
    vocab_size: Option<u32>,
    /// `num_key_value_heads`; none for as many as query heads.
    kv_heads: Option<u32>,
    /// `head_dim`; none for what the hidden size leaves each head.
    head_dim: Option<u32>,
    /// `tie_word_embeddings`.
    tied: bool,
    /// The key of the activation function, and its value.
    activation: (&'static str, Activation),
}

/// Transformers, `configuration_llama.py`, as `configuration_phi3.py`.
const LLAMA: Absent = Absent {
    hidden_size: None,
    layers: None,
    heads: None,
    ffn_size: ("intermediate_size", None),
    vocab_size: None,
    kv_heads: None,
    head_dim: None,
    tied: false,
    activation: ("hidden_act", Activation::Silu),
};

/// Transformers, `configuration_mistral.py`, as `configuration_mixtral.py`.
const MISTRAL: Absent = Absent { kv_heads: Some(8), ..LLAMA };

/// Transformers, `configuration_qwen2.py`.
const QWEN2: Absent = Absent { kv_heads: Some(32), ..LLAMA };

/// Transformers, `configuration_qwen3.py`: not `hidden_size / heads`.
const QWEN3: Absent = Absent { head_dim: Some(128), ..QWEN2 };

/// Transformers, `configuration_qwen3_moe.py`: `intermediate_size` is of layers without experts, and
/// heads are as wide as those of Llama.
const QWEN3_MOE: Absent = Absent {
    hidden_size: Some(2048),
    layers: Some(24),
    heads: Some(32),
    ffn_size: ("moe_intermediate_size", Some(768)),
    vocab_size: Some(151_936),
    kv_heads: Some(4),
    ..LLAMA
};

/// Transformers, `configuration_gemma2.py`.
const GEMMA2: Absent = Absent {
    kv_heads: Some(4),
    head_dim: Some(256),
    tied: true,
    activation: ("hidden_activation", Activation::Gelu),
    ..LLAMA
};

/// Transformers, `configuration_gemma3.py`.
const GEMMA3: Absent = Absent {
    hidden_size: Some(2304),
    layers: Some(26),
    heads: Some(8),
    ffn_size: ("intermediate_size", Some(9216)),
    vocab_size: Some(262_208),
    ..GEMMA2
};

/// Transformers, `configuration_gpt_oss.py`.
const GPT_OSS: Absent = Absent { kv_heads: Some(8), head_dim: Some(64), ..LLAMA };

/// `sliding_window` where it is absent, in Mistral, Qwen2, Qwen3, Gemma 2 and
/// Gemma 3.
const WINDOW: u32 = 4096;

/// The key of how many experts a layer has.
const LOCAL_EXPERTS: &str = "num_local_experts";

/// That key as any family has it.
const COUNTS_OF_EXPERTS: [&str; 3] = [LOCAL_EXPERTS, "num_experts", "n_routed_experts"];

impl Config<'_> {
    /// The model, as its family reads the keys.
    pub(super) fn llm(&self) -> Result<Llm, HfConfigError> {
        let llm = self.as_family()?;
        if llm.experts.is_none() {
            self.no_experts()?;
        }
        Ok(llm)
    }

    fn as_family(&self) -> Result<Llm, HfConfigError> {
        match self.model_type {
            "opt" => self.opt(),
            "llama" => self.llama_like(&LLAMA),
            "mistral" => self.mistral(),
            "mixtral" => self.mixtral(),
            "phi3" => self.phi3(),
            "qwen2" => self.qwen2(),
            "qwen3" => self.qwen3(),
            "qwen3_moe" => self.qwen3_moe(),
            "falcon" => self.falcon(),
            "gemma2" => self.gemma2(),
            // A multimodal model nests its language model.
            "gemma3" => {
                let nested = self.nested()?;
                nested.no_experts()?;
                nested.gemma3()
            }
            "gemma3_text" => self.gemma3(),
            "gpt_oss" => self.gpt_oss(),
            other => Err(HfConfigError::Architecture { given: format!("{other:?}") }),
        }
    }

    fn opt(&self) -> Result<Llm, HfConfigError> {
        let hidden_size = self.number("hidden_size", MAX_WIDTH)?;
        let heads = self.number("num_attention_heads", MAX_WIDTH)?;
        let bias = self.flag("enable_bias", true)?;
        let before = self.flag("do_layer_norm_before", true)?;
        if !self.flag("layer_norm_elementwise_affine", true)? {
            return Err(self.wrong("layer_norm_elementwise_affine", "true"));
        }
        Ok(Llm {
            layers: self.number("num_hidden_layers", MAX_LAYERS)?,
            hidden_size,
            heads,
            kv_heads: heads,
            head_dim: self.split(hidden_size, heads, "")?,
            ffn_size: self.number("ffn_dim", MAX_WIDTH)?,
            gated: false,
            activation: self.activation("activation_function", Activation::Relu)?,
            vocab_size: self.number("vocab_size", MAX_WIDTH)?,
            embedding_size: Some(self.number_or("word_embed_proj_dim", hidden_size, MAX_WIDTH)?)
                .filter(|it| *it != hidden_size),
            tied_embeddings: self.flag("tie_word_embeddings", true)?,
            // The first two rows stand for padding.
            learned_positions: self.number("max_position_embeddings", MAX_WIDTH - 2)? + 2,
            block: if before { Block::PreNorm } else { Block::PostNorm },
            norm: Norm::Layer,
            final_norm: before && !self.flag("_remove_final_layer_norm", false)?,
            qk_norm: false,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: bias,
            sinks: false,
            stacked: false,
            window: None,
            experts: None,
            stored: None,
        })
    }

    /// Llama and its heirs: rotary, RMS norms, gated feed-forward network.
    fn llama_like(&self, absent: &Absent) -> Result<Llm, HfConfigError> {
        let hidden_size = self.required_unless("hidden_size", absent.hidden_size, MAX_WIDTH)?;
        let heads = self.required_unless("num_attention_heads", absent.heads, MAX_WIDTH)?;
        let bias = self.flag("attention_bias", false)?;
        Ok(Llm {
            layers: self.required_unless("num_hidden_layers", absent.layers, MAX_LAYERS)?,
            hidden_size,
            heads,
            kv_heads: self.kv_heads("num_key_value_heads", absent.kv_heads, heads)?,
            head_dim: match self.optional("head_dim", MAX_WIDTH / heads)?.or(absent.head_dim) {
                Some(head_dim) => head_dim,
                None => self.split(hidden_size, heads, ", or `head_dim` be given")?,
            },
            ffn_size: self.required_unless(absent.ffn_size.0, absent.ffn_size.1, MAX_WIDTH)?,
            gated: true,
            activation: self.activation(absent.activation.0, absent.activation.1)?,
            vocab_size: self.required_unless("vocab_size", absent.vocab_size, MAX_WIDTH)?,
            embedding_size: None,
            tied_embeddings: self.flag("tie_word_embeddings", absent.tied)?,
            learned_positions: 0,
            block: Block::PreNorm,
            norm: Norm::Rms,
            final_norm: true,
            qk_norm: false,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: self.flag("mlp_bias", false)?,
            sinks: false,
            stacked: false,
            window: None,
            experts: None,
            stored: None,
        })
    }

    /// Llama without biases, whatever `attention_bias` and `mlp_bias` say.
    fn without_biases(&self, absent: &Absent) -> Result<Llm, HfConfigError> {
        Ok(Llm { qkv_bias: false, out_bias: false, ffn_bias: false, ..self.llama_like(absent)? })
    }

    /// The window, if there is one, is every layer's (`modeling_mistral.py`).
    fn mistral(&self) -> Result<Llm, HfConfigError> {
        let window = self.window(Some(WINDOW))?.map(everywhere);
        Ok(Llm { window, ..self.without_biases(&MISTRAL)? })
    }

    /// As Mistral, but `sliding_window` is null by default.
    fn mixtral(&self) -> Result<Llm, HfConfigError> {
        let llm = self.without_biases(&MISTRAL)?;
        let experts = self.experts(&llm, LOCAL_EXPERTS, Experts { count: 8, active: 2 })?;
        let window = self.window(None)?.map(everywhere);
        Ok(Llm { window, experts: Some(experts), ..llm })
    }

    /// A mixture's keys in a file of an architecture that knows nothing of them.
    fn no_experts(&self) -> Result<(), HfConfigError> {
        let is_given =
            |key: &&str| !matches!(self.keys.get(key), None | Some(Value::Null | Value::Whole(0 | 1)));
        let Some(key) = COUNTS_OF_EXPERTS.into_iter().find(|it| is_given(it)) else { return Ok(()) };
        let allowed = format!(
            "1 or absent, since a {} has no experts; a mixture of them is of `model_type` mixtral, qwen3_moe or gpt_oss",
            self.model_type
        );
        Err(self.wrong(key, allowed))
    }

    /// Experts, of which the key `counted` says how many there are.
    fn experts(&self, llm: &Llm, counted: &'static str, absent: Experts) -> Result<Experts, HfConfigError> {
        let most = MAX_EXPERTS.min(MAX_WIDTH / llm.ffn_size);
        let count = self.number_or(counted, absent.count, most)?;
        let active = self.number_or("num_experts_per_tok", absent.active, MAX_EXPERTS)?;
        if active > count {
            let allowed = format!("at most `{counted}`, which is {count}");
            return Err(self.wrong_or_default("num_experts_per_tok", active, allowed));
        }
        Ok(Experts { count, active })
    }

    /// Experts and router with biases, heads with sinks, and the window in
    /// layers 1, 3, 5, ...
    ///
    /// # Source
    /// Transformers, `configuration_gpt_oss.py` and `modeling_gpt_oss.py`.
    fn gpt_oss(&self) -> Result<Llm, HfConfigError> {
        let llm = self.llama_like(&GPT_OSS)?;
        let bias = self.flag("attention_bias", true)?;
        let experts = Some(self.experts(&llm, LOCAL_EXPERTS, Experts { count: 128, active: 4 })?);
        let window = self.alternating(llm.layers, 2, 128)?;
        Ok(Llm { qkv_bias: bias, out_bias: bias, ffn_bias: true, sinks: true, window, experts, ..llm })
    }

    /// The window is every layer's; `qkv_proj` and `gate_up_proj` are one matrix each
    /// (`modeling_phi3.py`).
    fn phi3(&self) -> Result<Llm, HfConfigError> {
        let window = self.window(None)?.map(everywhere);
        Ok(Llm { stacked: true, window, ..self.without_biases(&LLAMA)? })
    }

    /// Biases in the projections of queries, keys and values, and only there
    /// (`modeling_qwen2.py`).
    fn qwen2(&self) -> Result<Llm, HfConfigError> {
        let llm = self.without_biases(&QWEN2)?;
        Ok(Llm { qkv_bias: true, window: self.qwen_window(llm.layers)?, ..llm })
    }

    fn qwen3(&self) -> Result<Llm, HfConfigError> {
        let llm = self.llama_like(&QWEN3)?;
        Ok(Llm { qk_norm: true, ffn_bias: false, window: self.qwen_window(llm.layers)?, ..llm })
    }

    /// Experts in every layer, which is all that the published files ask for.
    ///
    /// # Source
    /// Transformers, `configuration_qwen3_moe.py` and `modeling_qwen3_moe.py`.
    fn qwen3_moe(&self) -> Result<Llm, HfConfigError> {
        if self.number_or("decoder_sparse_step", 1, MAX_LAYERS)? != 1 {
            return Err(self.wrong("decoder_sparse_step", "1: every layer has experts"));
        }
        if !matches!(self.keys.get("mlp_only_layers"), None | Some(Value::Null | Value::List(0))) {
            return Err(self.wrong("mlp_only_layers", "an empty list: every layer has experts"));
        }
        let llm = self.llama_like(&QWEN3_MOE)?;
        // As transformers writes it since 5, and before.
        let counted = if self.keys.get(LOCAL_EXPERTS).is_some() { LOCAL_EXPERTS } else { "num_experts" };
        let experts = Some(self.experts(&llm, counted, Experts { count: 128, active: 8 })?);
        let uses = self.flag("use_sliding_window", false)?;
        let window = if uses { self.window(Some(WINDOW))?.map(everywhere) } else { None };
        Ok(Llm { qk_norm: true, ffn_bias: false, window, experts, ..llm })
    }

    /// The first `max_window_layers` attend to everything, the rest through the
    /// window (`configuration_qwen2.py`).
    fn qwen_window(&self, layers: u32) -> Result<Option<Window>, HfConfigError> {
        let uses = self.flag("use_sliding_window", false)?;
        let tokens = if uses { self.window(Some(WINDOW))? } else { None };
        if let Some(sliding) = self.layer_types(layers)? {
            return self.pattern(if uses { "sliding_window" } else { "use_sliding_window" }, tokens, sliding);
        }
        let Some(tokens) = tokens else { return Ok(None) };
        let global_first = match self.keys.get("max_window_layers") {
            None => 28,
            Some(Value::Whole(first)) => u32::try_from(*first).unwrap_or(u32::MAX),
            Some(_) => return Err(self.wrong("max_window_layers", "a whole number")),
        };
        Ok((global_first < layers).then_some(Window { tokens, global_every: 0, global_first }))
    }

    fn gemma2(&self) -> Result<Llm, HfConfigError> {
        let llm = self.llama_like(&GEMMA2)?;
        // Layers 1, 3, 5, ... have the window (`configuration_gemma2.py`).
        let window = self.alternating(llm.layers, 2, WINDOW)?;
        Ok(Llm { block: Block::SandwichNorm, ffn_bias: false, window, ..llm })
    }

    fn gemma3(&self) -> Result<Llm, HfConfigError> {
        let llm = self.llama_like(&GEMMA3)?;
        // The older name first; six by default (`configuration_gemma3.py`).
        let global_every = match self.optional("sliding_window_pattern", MAX_LAYERS)? {
            Some(every) => every,
            None => self.number_or("_sliding_window_pattern", 6, MAX_LAYERS)?,
        };
        let window = self.alternating(llm.layers, global_every, WINDOW)?;
        Ok(Llm { block: Block::SandwichNorm, qk_norm: true, ffn_bias: false, window, ..llm })
    }

    /// Every so many layers, one that attends to everything, unless
    /// `layer_types` says otherwise.
    fn alternating(
        &self,
        layers: u32,
        global_every: u32,
        absent: u32,
    ) -> Result<Option<Window>, HfConfigError> {
        let tokens = self.window(Some(absent))?;
        if let Some(sliding) = self.layer_types(layers)? {
            return self.pattern("sliding_window", tokens, sliding);
        }
        let tokens = tokens.ok_or_else(|| self.wrong("sliding_window", whole(u32::MAX)))?;
        Ok(Some(Window { tokens, global_every, global_first: 0 }))
    }

    /// # Source
    /// Transformers, `configuration_falcon.py` and `FalconDecoderLayer` in
    /// `modeling_falcon.py`.
    fn falcon(&self) -> Result<Llm, HfConfigError> {
        if self.flag("alibi", false)? {
            return Err(self.wrong("alibi", "false"));
        }
        let hidden_size = self.number("hidden_size", MAX_WIDTH)?;
        let heads = self.number("num_attention_heads", MAX_WIDTH)?;
        let bias = self.flag("bias", false)?;
        let new = self.flag("new_decoder_architecture", false)?;
        let kv_heads = match (new, self.flag("multi_query", true)?) {
            (true, _) => self.kv_heads("num_kv_heads", None, heads)?,
            (false, true) => 1,
            (false, false) => heads,
        };
        let norms = self.number_or("num_ln_in_parallel_attn", if new { 2 } else { 1 }, 2)?;
        let block = match (new, self.flag("parallel_attn", true)?, norms) {
            (true, true, 2) => Block::Parallel,
            (_, true, 1) => Block::ParallelSharedNorm,
            (false, false, _) => Block::PreNorm,
            (true, false, _) => {
                return Err(self.wrong("parallel_attn", "true with `new_decoder_architecture`"));
            }
            _ => {
                return Err(self.wrong("num_ln_in_parallel_attn", "1 without `new_decoder_architecture`"));
            }
        };
        let ffn_size = match self.optional("ffn_hidden_size", MAX_WIDTH)? {
            Some(ffn_size) => ffn_size,
            None if hidden_size <= MAX_WIDTH / 4 => hidden_size * 4,
            None => return Err(self.wrong("hidden_size", whole(MAX_WIDTH / 4))),
        };
        Ok(Llm {
            layers: self.number("num_hidden_layers", MAX_LAYERS)?,
            hidden_size,
            heads,
            kv_heads,
            head_dim: self.split(hidden_size, heads, "")?,
            ffn_size,
            gated: false,
            activation: self.activation("activation", Activation::Gelu)?,
            vocab_size: self.number("vocab_size", MAX_WIDTH)?,
            embedding_size: None,
            tied_embeddings: self.flag("tie_word_embeddings", true)?,
            learned_positions: 0,
            block,
            norm: Norm::Layer,
            final_norm: true,
            qk_norm: false,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: bias,
            sinks: false,
            // One `query_key_value`.
            stacked: true,
            window: None,
            experts: None,
            stored: None,
        })
    }
}

/// A window that every layer has.
const fn everywhere(tokens: u32) -> Window {
    Window { tokens, global_every: 0, global_first: 0 }
}
