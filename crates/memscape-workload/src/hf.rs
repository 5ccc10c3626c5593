//! Reads the `config.json` of a Hugging Face model.

use crate::context::{self, Stretched, reached};
use crate::model::{
    Activation, Block, Experts, Llm, MAX_EXPERTS, MAX_LAYERS, MAX_WIDTH, ModelError, Norm, Window,
};

use keys::{Keys, LAYER_TYPES, ROPE, TEXT_CONFIG, Value};

mod keys;

/// Why a `config.json` is not a model we know.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HfConfigError {
    /// Not JSON, or not an object.
    #[error("cannot read config.json: {0}")]
    Json(#[from] serde_json::Error),
    /// An architecture without a description here.
    #[error(
        "config.json: `model_type` is {given}; known are opt, llama, mistral, mixtral, qwen2, qwen3, \
         qwen3_moe, gemma2, gemma3, gemma3_text, gpt_oss, phi3 and falcon"
    )]
    Architecture {
        /// The value of `model_type`, or `missing`.
        given: String,
    },
    /// A key without which the model is unknown.
    #[error("config.json: `{key}` is missing; a model of type {model_type} needs it")]
    Missing {
        /// The key.
        key: &'static str,
        /// The architecture.
        model_type: String,
    },
    /// A key that stands there twice, so that readers may disagree on it.
    #[error("config.json: `{key}` is given twice; keep one")]
    Repeated {
        /// The key.
        key: &'static str,
    },
    /// A value that is not what the key holds, or that contradicts another.
    #[error("config.json: `{key}` is {given}; it must be {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        given: String,
        /// What it may be.
        allowed: String,
    },
    /// Numbers that do not belong together.
    #[error("config.json: {0}")]
    Model(#[from] ModelError),
}

impl Llm {
    /// Reads the text of a Hugging Face `config.json`: OPT, Llama (and what
    /// shares its architecture), Mistral, Mixtral, Qwen2 and 2.5, Qwen3,
    /// Gemma 2 and 3, gpt-oss, Phi-3 and Falcon. Of a multimodal Gemma 3, the
    /// language model.
    ///
    /// Keys that say nothing on shapes are passed over. Where a key is absent,
    /// its default in transformers holds, except for the five that make a model
    /// (widths of layers, feed-forward network and vocabulary, counts of layers
    /// and heads): every published file has them, and a default would describe
    /// another model. Only Gemma 3 has defaults for these too, since its files
    /// leave out what equals them.
    ///
    /// # Errors
    /// [`HfConfigError`] names the key, its value and what is allowed. The text
    /// may be anything: no number in it is computed with, and no list stored,
    /// before it is known to be within bounds.
    ///
    /// # Example
    /// ```
    /// use memscape_workload::Llm;
    /// let error = Llm::from_hf_config(r#"{ "model_type": "t5" }"#).unwrap_err();
    /// assert!(error.to_string().starts_with("config.json: `model_type` is \"t5\"; known are opt, llama"));
    /// ```
    pub fn from_hf_config(text: &str) -> Result<Self, HfConfigError> {
        Ok(Self::of_hf_config(text)?.0)
    }

    /// The same, and the tokens that the model has been made for, where the file says so.
    pub(crate) fn of_hf_config(text: &str) -> Result<(Self, Option<u64>), HfConfigError> {
        let root = Keys::read(text)?;
        if let Some(key) = root.repeated() {
            return Err(HfConfigError::Repeated { key });
        }
        let model_type = match root.get("model_type") {
            Some(Value::Text(name)) => name.as_str(),
            other => {
                let given = other.map_or("missing".to_owned(), Value::to_string);
                return Err(HfConfigError::Architecture { given });
            }
        };
        let config = Config { keys: &root, model_type };
        let llm = match model_type {
            "opt" => config.opt(),
            "llama" => {
                config.no_experts()?;
                config.llama_like(&LLAMA)
            }
            "mistral" => config.mistral(),
            "mixtral" => config.mixtral(),
            "phi3" => config.phi3(),
            "qwen2" => config.qwen2(),
            "qwen3" => config.qwen3(),
            "qwen3_moe" => config.qwen3_moe(),
            "falcon" => config.falcon(),
            "gemma2" => config.gemma2(),
            // A multimodal model nests its language model.
            "gemma3" => config.nested()?.gemma3(),
            "gemma3_text" => config.gemma3(),
            "gpt_oss" => config.gpt_oss(),
            other => Err(HfConfigError::Architecture { given: format!("{other:?}") }),
        }?;
        llm.check()?;
        // A multimodal model nests the one that reads text.
        let context = if model_type == "gemma3" { config.nested()?.context() } else { config.context() }?;
        Ok((llm, context))
    }
}

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

/// The keys of one model.
struct Config<'a> {
    keys: &'a Keys,
    model_type: &'a str,
}

impl Config<'_> {
    /// The language model of a multimodal one.
    fn nested(&self) -> Result<Config<'_>, HfConfigError> {
        match self.keys.get(TEXT_CONFIG) {
            Some(Value::Nested(keys)) => {
                let nested = Config { keys, model_type: self.model_type };
                match keys.get("model_type") {
                    None => Ok(nested),
                    Some(Value::Text(name)) if name == "gemma3_text" => Ok(nested),
                    Some(_) => Err(nested.wrong("model_type", "gemma3_text in `text_config` of a gemma3")),
                }
            }
            None => Err(self.missing(TEXT_CONFIG)),
            Some(_) => Err(self.wrong(TEXT_CONFIG, "an object")),
        }
    }

    /// Tokens that positions reach: `max_position_embeddings`, and more where they are [`Stretched`].
    fn context(&self) -> Result<Option<u64>, HfConfigError> {
        const WRITTEN: &str = "max_position_embeddings";
        let Some(written) = self.optional(WRITTEN, u32::MAX)? else { return Ok(None) };
        let scaling = ROPE.iter().find_map(|it| match self.keys.get(it) {
            Some(Value::Nested(keys)) => Some(Config { keys, model_type: self.model_type }),
            _ => None,
        });
        let Some(scaling) = scaling else { return Ok(Some(written.into())) };
        let kind = ["rope_type", "type"].iter().find_map(|it| match scaling.keys.get(it) {
            Some(Value::Text(name)) => Some(name.as_str()),
            _ => None,
        });
        let from = match Stretched::of(self.model_type, kind) {
            Stretched::FromWritten => written,
            Stretched::FromOriginal => {
                scaling.number_or("original_max_position_embeddings", written, u32::MAX)?
            }
            Stretched::Not => return Ok(Some(written.into())),
        };
        Ok(Some(reached(written, from, scaling.factor()?)))
    }

    /// By how much rotary positions are stretched; not at all unless given.
    fn factor(&self) -> Result<f64, HfConfigError> {
        let factor = match self.keys.get("factor") {
            None | Some(Value::Null) => Some(1.0),
            Some(Value::Whole(number)) => u32::try_from(*number).ok().map(f64::from),
            Some(Value::Real(number)) => Some(*number),
            Some(_) => None,
        };
        context::factor(factor).map_err(|allowed| self.wrong("factor", allowed))
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

    /// A mixture's key in a file of an architecture that knows nothing of it.
    fn no_experts(&self) -> Result<(), HfConfigError> {
        match self.keys.get(LOCAL_EXPERTS) {
            None | Some(Value::Null | Value::Whole(1)) => Ok(()),
            Some(_) => {
                let allowed = format!(
                    "1 or absent, since a {} has no experts; a mixture of them is of `model_type` mixtral",
                    self.model_type
                );
                Err(self.wrong(LOCAL_EXPERTS, allowed))
            }
        }
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

    /// A number from 1 to `max`; null is as good as absent.
    fn optional(&self, key: &'static str, max: u32) -> Result<Option<u32>, HfConfigError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Whole(number)) => match u32::try_from(*number) {
                Ok(number) if (1..=max).contains(&number) => Ok(Some(number)),
                _ => Err(self.wrong(key, whole(max))),
            },
            Some(_) => Err(self.wrong(key, whole(max))),
        }
    }

    fn number(&self, key: &'static str, max: u32) -> Result<u32, HfConfigError> {
        self.required_unless(key, None, max)
    }

    fn number_or(&self, key: &'static str, default: u32, max: u32) -> Result<u32, HfConfigError> {
        self.required_unless(key, Some(default), max)
    }

    fn required_unless(
        &self,
        key: &'static str,
        default: Option<u32>,
        max: u32,
    ) -> Result<u32, HfConfigError> {
        self.optional(key, max)?.or(default).ok_or_else(|| self.missing(key))
    }

    fn flag(&self, key: &'static str, default: bool) -> Result<bool, HfConfigError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Flag(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    fn activation(&self, key: &'static str, default: Activation) -> Result<Activation, HfConfigError> {
        let name = match self.keys.get(key) {
            None | Some(Value::Null) => return Ok(default),
            Some(Value::Text(name)) => name.as_str(),
            Some(_) => "",
        };
        match name {
            "relu" => Ok(Activation::Relu),
            "silu" | "swish" => Ok(Activation::Silu),
            "gelu" | "gelu_new" | "gelu_pytorch_tanh" => Ok(Activation::Gelu),
            _ => Err(self.wrong(key, "relu, silu, swish, gelu, gelu_new or gelu_pytorch_tanh")),
        }
    }

    /// Key-value heads: null is as many as query heads, absence may be another
    /// number.
    fn kv_heads(&self, key: &'static str, absent: Option<u32>, heads: u32) -> Result<u32, HfConfigError> {
        let default = if self.keys.get(key).is_some() { heads } else { absent.unwrap_or(heads) };
        let kv_heads = self.number_or(key, default, MAX_WIDTH)?;
        if heads.is_multiple_of(kv_heads) {
            Ok(kv_heads)
        } else {
            let allowed = format!("a divisor of `num_attention_heads`, which is {heads}");
            Err(self.wrong_or_default(key, kv_heads, allowed))
        }
    }

    /// The width of a head where heads split the hidden size.
    fn split(&self, hidden_size: u32, heads: u32, or: &str) -> Result<u32, HfConfigError> {
        if hidden_size.is_multiple_of(heads) {
            Ok(hidden_size / heads)
        } else {
            let allowed = format!("a divisor of `hidden_size`, which is {hidden_size}{or}");
            Err(self.wrong_or_default("num_attention_heads", heads, allowed))
        }
    }

    /// Tokens of the sliding window, of which null means none.
    fn window(&self, absent: Option<u32>) -> Result<Option<u32>, HfConfigError> {
        match self.keys.get("sliding_window") {
            None => Ok(absent),
            Some(_) => self.optional("sliding_window", u32::MAX),
        }
    }

    /// Which layers have the window, if the file lists them.
    fn layer_types(&self, layers: u32) -> Result<Option<&[bool]>, HfConfigError> {
        match self.keys.get(LAYER_TYPES) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Layers(list)) => {
                if let Some(given) = &list.stray {
                    let allowed = "a list of full_attention and sliding_attention".to_owned();
                    let given = format!("a list with {given}");
                    return Err(HfConfigError::Value { key: LAYER_TYPES, given, allowed });
                }
                if list.length == u64::from(layers) {
                    return Ok(Some(&list.sliding));
                }
                let allowed = format!("one entry for each of the {layers} in `num_hidden_layers`");
                Err(self.wrong(LAYER_TYPES, allowed))
            }
            Some(_) => Err(self.wrong(LAYER_TYPES, "a list of full_attention and sliding_attention")),
        }
    }

    /// The window that a list of layers describes; `window` is the key to blame
    /// if it needs `tokens` and there are none.
    fn pattern(
        &self,
        window: &'static str,
        tokens: Option<u32>,
        sliding: &[bool],
    ) -> Result<Option<Window>, HfConfigError> {
        if !sliding.contains(&true) {
            return Ok(None);
        }
        let Some(tokens) = tokens else {
            return Err(self.wrong(window, "set, since `layer_types` has sliding_attention"));
        };
        let leading = sliding.iter().take_while(|it| !**it).count();
        // None global but the first, or one every so many.
        for first in [0, leading] {
            for every in std::iter::once(0).chain(2..=sliding.len()) {
                let global = |layer| layer < first || every > 0 && (layer + 1) % every == 0;
                if sliding.iter().enumerate().all(|(layer, slides)| *slides != global(layer)) {
                    let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
                    let (global_every, global_first) = (count(every), count(first));
                    return Ok(Some(Window { tokens, global_every, global_first }));
                }
            }
        }
        let global: Vec<usize> = (1..).zip(sliding).filter(|it| !*it.1).map(|it| it.0).collect();
        let first: Vec<String> = global.iter().take(4).map(usize::to_string).collect();
        let more = if global.len() > first.len() { ", ..." } else { "" };
        Err(HfConfigError::Value {
            key: LAYER_TYPES,
            given: format!(
                "a list with full_attention in {} of {} layers: {}{more}",
                global.len(),
                sliding.len(),
                first.join(", ")
            ),
            allowed:
                "full_attention in the first layers, in layers n, 2n, 3n, ... counted from 1, or in both"
                    .to_owned(),
        })
    }

    fn missing(&self, key: &'static str) -> HfConfigError {
        HfConfigError::Missing { key, model_type: self.model_type.to_owned() }
    }

    fn wrong(&self, key: &'static str, allowed: impl Into<String>) -> HfConfigError {
        let given = self.keys.get(key).map_or("missing".to_owned(), Value::to_string);
        HfConfigError::Value { key, given, allowed: allowed.into() }
    }

    /// The same of a key that may be absent or null and stand for `default`.
    fn wrong_or_default(&self, key: &'static str, default: u32, allowed: String) -> HfConfigError {
        match self.keys.get(key) {
            None | Some(Value::Null) => {
                let given = format!("missing, which transformers reads as {default}");
                HfConfigError::Value { key, given, allowed }
            }
            Some(_) => self.wrong(key, allowed),
        }
    }
}

/// A window that every layer has.
const fn everywhere(tokens: u32) -> Window {
    Window { tokens, global_every: 0, global_first: 0 }
}

fn whole(max: u32) -> String {
    format!("a whole number from 1 to {max}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that count of each published config.json give what the preset
    /// says.
    #[test]
    fn a_config_describes_what_the_preset_does() {
        let configs = [
            (
                "opt-125m",
                r#"{"model_type": "opt", "activation_function": "relu", "do_layer_norm_before": true,
                "ffn_dim": 3072, "hidden_size": 768, "max_position_embeddings": 2048,
                "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 50272,
                "word_embed_proj_dim": 768, "_remove_final_layer_norm": false}"#,
            ),
            (
                "opt-350m",
                r#"{"model_type": "opt", "activation_function": "relu", "do_layer_norm_before": false,
                "ffn_dim": 4096, "hidden_size": 1024, "max_position_embeddings": 2048,
                "num_attention_heads": 16, "num_hidden_layers": 24, "vocab_size": 50272,
                "word_embed_proj_dim": 512}"#,
            ),
            (
                "llama-2-70b",
                r#"{"model_type": "llama", "hidden_act": "silu", "hidden_size": 8192,
                "intermediate_size": 28672, "num_attention_heads": 64, "num_hidden_layers": 80,
                "num_key_value_heads": 8, "rope_scaling": null, "tie_word_embeddings": false,
                "vocab_size": 32000}"#,
            ),
            (
                "llama-3.2-1b",
                r#"{"model_type": "llama", "attention_bias": false, "head_dim": 64, "hidden_act": "silu",
                "hidden_size": 2048, "intermediate_size": 8192, "mlp_bias": false,
                "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
                "tie_word_embeddings": true, "vocab_size": 128256}"#,
            ),
            (
                "falcon-40b",
                r#"{"model_type": "falcon", "alibi": false, "bias": false, "hidden_size": 8192,
                "multi_query": true, "new_decoder_architecture": true, "num_attention_heads": 128,
                "num_hidden_layers": 60, "num_kv_heads": 8, "parallel_attn": true, "vocab_size": 65024}"#,
            ),
            (
                "phi-3-mini",
                r#"{"model_type": "phi3", "attention_bias": false, "hidden_act": "silu", "hidden_size": 3072,
                "intermediate_size": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
                "num_key_value_heads": 32, "sliding_window": 2047, "tie_word_embeddings": false,
                "vocab_size": 32064}"#,
            ),
            (
                "qwen3-4b",
                r#"{"model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_act": "silu",
                "hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32,
                "num_hidden_layers": 36, "num_key_value_heads": 8, "sliding_window": null,
                "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936}"#,
            ),
            (
                "gemma-3-1b",
                r#"{"model_type": "gemma3_text", "attention_bias": false, "head_dim": 256,
                "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "intermediate_size": 6912,
                "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
                "sliding_window": 512, "sliding_window_pattern": 6, "vocab_size": 262144}"#,
            ),
            (
                "gemma-3-4b",
                r#"{"model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
                "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024},
                "vision_config": {"hidden_size": 1152}}"#,
            ),
        ];
        for (name, text) in configs {
            let preset = &crate::MODELS.find(name).unwrap().parameters;
            assert_eq!(Llm::from_hf_config(text).unwrap(), *preset, "{name}");
        }
    }

    #[test]
    fn a_context_is_what_positions_reach() {
        let of = |model_type: &str, keys: &str| {
            let shapes = r#""hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
                "num_hidden_layers": 16, "vocab_size": 128256"#;
            let text = format!(r#"{{"model_type": "{model_type}", {shapes}, {keys}}}"#);
            Llm::of_hf_config(&text).map(|it| it.1).map_err(|it| it.to_string())
        };
        let tokens = |model_type: &str, keys: &str| of(model_type, keys).unwrap();
        assert_eq!(tokens("llama", r#""rope_scaling": null"#), None, "the file does not say");
        assert_eq!(tokens("llama", r#""max_position_embeddings": 2048"#), Some(2048));
        let scaled = |written: u32, how: &str| {
            tokens("qwen2", &format!(r#""max_position_embeddings": {written}, "rope_scaling": {{{how}}}"#))
        };
        let original = r#""original_max_position_embeddings""#;
        let llama3 = format!(r#""rope_type": "llama3", "factor": 32.0, {original}: 8192"#);
        assert_eq!(scaled(131_072, &llama3), Some(131_072), "stretched already");
        assert_eq!(
            scaled(32_768, &format!(r#""type": "yarn", "factor": 4.0, {original}: 32768"#)),
            Some(131_072)
        );
        assert_eq!(
            scaled(131_072, &format!(r#""rope_type": "yarn", "factor": 32, {original}: 4096"#)),
            Some(131_072)
        );
        assert_eq!(scaled(4096, r#""type": "linear", "factor": 4"#), Some(16_384));
        assert_eq!(scaled(32_768, r#""rope_type": "default""#), Some(32_768));
        let gemma =
            r#""max_position_embeddings": 131072, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}"#;
        assert_eq!(tokens("gemma3_text", gemma), Some(131_072));
        let nested =
            format!(r#"{{"model_type": "gemma3", "text_config": {{{gemma}, "model_type": "gemma3_text"}}}}"#);
        assert_eq!(Llm::of_hf_config(&nested).unwrap().1, Some(131_072));
        let error =
            of("llama", r#""max_position_embeddings": 8, "rope_scaling": {"type": "linear", "factor": -1}"#);
        assert_eq!(error.unwrap_err(), "config.json: `factor` is -1; it must be a number from 1 to 16777216");
        let error = of("llama", r#""max_position_embeddings": 0"#).unwrap_err();
        assert!(error.starts_with("config.json: `max_position_embeddings` is 0; it must be"), "{error}");
    }

    #[test]
    fn a_bad_config_is_told_by_its_key() {
        let text = |it: &str| Llm::from_hf_config(it).unwrap_err().to_string();
        assert!(text("{\"model_type\": \"opt\",").contains("EOF while parsing"));
        assert!(text("{}").starts_with("config.json: `model_type` is missing; known are opt, llama"));
        assert_eq!(
            text(r#"{"model_type": "llama"}"#),
            "config.json: `hidden_size` is missing; a model of type llama needs it"
        );
        assert_eq!(
            text(r#"{"model_type": "llama", "hidden_size": -1}"#),
            "config.json: `hidden_size` is -1; it must be a whole number from 1 to 16777216"
        );
        let split =
            r#"{"model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 7}"#;
        assert!(text(split).ends_with("it must be a divisor of `hidden_size`, which is 768"));
        let empty = r#"{"model_type": "gemma3_text", "num_hidden_layers": 0}"#;
        assert_eq!(
            text(empty),
            "config.json: `num_hidden_layers` is 0; it must be a whole number from 1 to 4096"
        );
    }
}
