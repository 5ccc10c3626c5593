//! Reads the `config.json` of a Hugging Face model.

use serde_json::{Map, Value};

use crate::model::{Activation, Block, Llm, ModelError, Norm, Window};

/// Why a `config.json` is not a model we know.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HfConfigError {
    /// Not JSON.
    #[error("cannot read config.json: {0}")]
    Json(#[from] serde_json::Error),
    /// An architecture without a description here.
    #[error(
        "config.json: `model_type` is {given}; known are opt, llama, falcon, phi3, qwen3, gemma3 and gemma3_text"
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
    /// A value that is not what the key holds.
    #[error("config.json: `{key}` is {given}; it must be {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        given: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// Numbers that do not belong together.
    #[error("config.json: {0}")]
    Model(#[from] ModelError),
}

impl Llm {
    /// Reads the text of a Hugging Face `config.json`: OPT, Llama (and what
    /// shares its architecture), Falcon, Phi-3, Qwen3 and Gemma 3. Of a
    /// multimodal Gemma 3, the language model.
    ///
    /// Keys that say nothing on shapes are passed over; where a key is absent,
    /// its default in transformers holds.
    ///
    /// # Errors
    /// [`HfConfigError`] names the key, its value and what is allowed.
    ///
    /// # Example
    /// ```
    /// use memscape_workload::Llm;
    /// let error = Llm::from_hf_config(r#"{ "model_type": "t5" }"#).unwrap_err();
    /// assert!(error.to_string().starts_with("config.json: `model_type` is \"t5\"; known are opt, llama"));
    /// ```
    pub fn from_hf_config(text: &str) -> Result<Self, HfConfigError> {
        let root: Map<String, Value> = serde_json::from_str(text)?;
        let model_type = match root.get("model_type") {
            Some(Value::String(name)) => name.clone(),
            other => {
                let given = other.map_or("missing".to_owned(), Value::to_string);
                return Err(HfConfigError::Architecture { given });
            }
        };
        // A multimodal model nests its language model.
        let nested = root.get("text_config").and_then(Value::as_object);
        let keys = nested.filter(|_| model_type == "gemma3").unwrap_or(&root);
        let config = Config { keys, model_type: &model_type };
        let llm = match model_type.as_str() {
            "opt" => config.opt(),
            "llama" => config.llama_like(false),
            "phi3" => config.phi3(),
            "qwen3" => config.qwen3(),
            "falcon" => config.falcon(),
            "gemma3" | "gemma3_text" => config.gemma3(),
            other => Err(HfConfigError::Architecture { given: format!("{other:?}") }),
        }?;
        llm.check()?;
        Ok(llm)
    }
}

struct Config<'a> {
    keys: &'a Map<String, Value>,
    model_type: &'a str,
}

impl Config<'_> {
    fn opt(&self) -> Result<Llm, HfConfigError> {
        let hidden_size = self.number("hidden_size")?;
        let heads = self.number("num_attention_heads")?;
        let bias = self.flag("enable_bias", true)?;
        let before = self.flag("do_layer_norm_before", true)?;
        if !self.flag("layer_norm_elementwise_affine", true)? {
            return Err(self.unsupported("layer_norm_elementwise_affine", "true"));
        }
        Ok(Llm {
            layers: self.number("num_hidden_layers")?,
            hidden_size,
            heads,
            kv_heads: heads,
            head_dim: self.head_dim(hidden_size, heads)?,
            ffn_size: self.number("ffn_dim")?,
            gated: false,
            activation: self.activation("activation_function", Activation::Relu)?,
            vocab_size: self.number("vocab_size")?,
            embedding_size: self.number_or("word_embed_proj_dim", hidden_size)?,
            tied_embeddings: self.flag("tie_word_embeddings", true)?,
            // The first two rows stand for padding.
            learned_positions: self.number("max_position_embeddings")?.saturating_add(2),
            block: if before { Block::PreNorm } else { Block::PostNorm },
            norm: Norm::Layer,
            final_norm: before && !self.flag("_remove_final_layer_norm", false)?,
            qk_norm: false,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: bias,
            window: None,
            experts: None,
            published_parameters: None,
            published_extra_parameters: 0,
        })
    }

    /// Llama and its heirs: rotary, RMS norms, gated feed-forward network.
    fn llama_like(&self, tied_by_default: bool) -> Result<Llm, HfConfigError> {
        let hidden_size = self.number("hidden_size")?;
        let heads = self.number("num_attention_heads")?;
        let bias = self.flag("attention_bias", false)?;
        Ok(Llm {
            layers: self.number("num_hidden_layers")?,
            hidden_size,
            heads,
            kv_heads: self.number_or("num_key_value_heads", heads)?,
            head_dim: match self.optional("head_dim")? {
                Some(head_dim) => head_dim,
                None => self.head_dim(hidden_size, heads)?,
            },
            ffn_size: self.number("intermediate_size")?,
            gated: true,
            activation: self.activation("hidden_act", Activation::Silu)?,
            vocab_size: self.number("vocab_size")?,
            embedding_size: hidden_size,
            tied_embeddings: self.flag("tie_word_embeddings", tied_by_default)?,
            learned_positions: 0,
            block: Block::PreNorm,
            norm: Norm::Rms,
            final_norm: true,
            qk_norm: false,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: self.flag("mlp_bias", false)?,
            window: None,
            experts: None,
            published_parameters: None,
            published_extra_parameters: 0,
        })
    }

    fn phi3(&self) -> Result<Llm, HfConfigError> {
        let tokens = self.optional("sliding_window")?;
        // The projections never have biases, whatever `attention_bias` says.
        Ok(Llm {
            window: tokens.map(|tokens| Window { tokens, global_every: 0, global_first: 0 }),
            qkv_bias: false,
            out_bias: false,
            ..self.llama_like(false)?
        })
    }

    fn qwen3(&self) -> Result<Llm, HfConfigError> {
        if self.flag("use_sliding_window", false)? {
            return Err(self.unsupported("use_sliding_window", "false"));
        }
        let llm = self.llama_like(false)?;
        // Qwen3Config's own default is 128, not hidden_size / heads.
        Ok(Llm { qk_norm: true, head_dim: self.number_or("head_dim", 128)?, ..llm })
    }

    fn gemma3(&self) -> Result<Llm, HfConfigError> {
        let heads = self.number_or("num_attention_heads", 8)?;
        let bias = self.flag("attention_bias", false)?;
        let hidden_size = self.number_or("hidden_size", 2304)?;
        Ok(Llm {
            layers: self.number_or("num_hidden_layers", 26)?,
            hidden_size,
            heads,
            kv_heads: self.number_or("num_key_value_heads", 4)?,
            head_dim: self.number_or("head_dim", 256)?,
            ffn_size: self.number_or("intermediate_size", 9216)?,
            gated: true,
            activation: self.activation("hidden_activation", Activation::Gelu)?,
            vocab_size: self.number_or("vocab_size", 262_208)?,
            embedding_size: hidden_size,
            tied_embeddings: self.flag("tie_word_embeddings", true)?,
            learned_positions: 0,
            block: Block::SandwichNorm,
            norm: Norm::Rms,
            final_norm: true,
            qk_norm: true,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: false,
            experts: None,
            window: Some(Window {
                global_first: 0,
                tokens: self.number_or("sliding_window", 4096)?,
                global_every: match self.optional("sliding_window_pattern")? {
                    Some(every) => every,
                    None => self.number_or("_sliding_window_pattern", 6)?,
                },
            }),
            published_parameters: None,
            published_extra_parameters: 0,
        })
    }

    fn falcon(&self) -> Result<Llm, HfConfigError> {
        if self.flag("alibi", false)? {
            return Err(self.unsupported("alibi", "false"));
        }
        let hidden_size = self.number("hidden_size")?;
        let heads = self.number("num_attention_heads")?;
        let bias = self.flag("bias", false)?;
        let new = self.flag("new_decoder_architecture", false)?;
        let kv_heads = match (new, self.flag("multi_query", true)?) {
            (true, _) => self.number_or("num_kv_heads", heads)?,
            (false, true) => 1,
            (false, false) => heads,
        };
        let block = match (new, self.flag("parallel_attn", true)?) {
            (true, _) if self.number_or("num_ln_in_parallel_attn", 2)? == 2 => Block::Parallel,
            (true, _) | (false, true) => Block::ParallelSharedNorm,
            (false, false) => Block::PreNorm,
        };
        let ffn_size = match self.optional("ffn_hidden_size")? {
            Some(ffn_size) => ffn_size,
            None => hidden_size.saturating_mul(4),
        };
        Ok(Llm {
            layers: self.number("num_hidden_layers")?,
            hidden_size,
            heads,
            kv_heads,
            head_dim: self.head_dim(hidden_size, heads)?,
            ffn_size,
            gated: false,
            activation: self.activation("activation", Activation::Gelu)?,
            vocab_size: self.number("vocab_size")?,
            embedding_size: hidden_size,
            tied_embeddings: self.flag("tie_word_embeddings", true)?,
            learned_positions: 0,
            block,
            norm: Norm::Layer,
            final_norm: true,
            qk_norm: false,
            qkv_bias: bias,
            out_bias: bias,
            ffn_bias: bias,
            window: None,
            experts: None,
            published_parameters: None,
            published_extra_parameters: 0,
        })
    }

    /// The value at `key`; null is as good as absent.
    fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|it| !it.is_null())
    }

    fn optional(&self, key: &'static str) -> Result<Option<u32>, HfConfigError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_u64().and_then(|it| u32::try_from(it).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(self.unsupported(key, "a whole number from 0 to 4294967295")),
        }
    }

    fn number(&self, key: &'static str) -> Result<u32, HfConfigError> {
        let missing = || HfConfigError::Missing { key, model_type: self.model_type.to_owned() };
        self.optional(key)?.ok_or_else(missing)
    }

    fn number_or(&self, key: &'static str, default: u32) -> Result<u32, HfConfigError> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    fn flag(&self, key: &'static str, default: bool) -> Result<bool, HfConfigError> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.unsupported(key, "true or false")),
        }
    }

    fn activation(&self, key: &'static str, default: Activation) -> Result<Activation, HfConfigError> {
        match self.get(key).map(Value::as_str) {
            None => Ok(default),
            Some(Some("relu")) => Ok(Activation::Relu),
            Some(Some("silu" | "swish")) => Ok(Activation::Silu),
            Some(Some("gelu" | "gelu_new" | "gelu_pytorch_tanh")) => Ok(Activation::Gelu),
            Some(_) => Err(self.unsupported(key, "relu, silu, swish, gelu, gelu_new or gelu_pytorch_tanh")),
        }
    }

    /// The width of a head where heads split the hidden size.
    fn head_dim(&self, hidden_size: u32, heads: u32) -> Result<u32, HfConfigError> {
        if heads > 0 && hidden_size.is_multiple_of(heads) {
            Ok(hidden_size / heads)
        } else {
            Err(self.unsupported("num_attention_heads", "a divisor of `hidden_size`"))
        }
    }

    fn unsupported(&self, key: &'static str, allowed: &'static str) -> HfConfigError {
        let given = self.get(key).map_or("missing".to_owned(), Value::to_string);
        HfConfigError::Value { key, given, allowed }
    }
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
            let preset = &Llm::find(name).unwrap().parameters;
            let described =
                Llm { published_parameters: None, published_extra_parameters: 0, ..preset.clone() };
            assert_eq!(Llm::from_hf_config(text).unwrap(), described, "{name}");
        }
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
            "config.json: `hidden_size` is -1; it must be a whole number from 0 to 4294967295"
        );
        let zero =
            r#"{"model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 0}"#;
        assert!(text(zero).ends_with("it must be a divisor of `hidden_size`"));
        let empty = r#"{"model_type": "gemma3_text", "num_hidden_layers": 0}"#;
        assert_eq!(text(empty), "config.json: `layers` is 0; it must be from 1 to 4096");
    }
}
