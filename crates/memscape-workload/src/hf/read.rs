//! Reads the `config.json` of a Hugging Face model.

use super::config::Config;
use super::error::HfConfigError;
use super::keys::{Keys, Value};
use crate::model::Llm;

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
        let llm = config.llm()?;
        llm.check()?;
        // A multimodal model nests the one that reads text.
        let context = if model_type == "gemma3" { config.nested()?.context() } else { config.context() }?;
        Ok((llm, context))
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
    fn a_byte_order_mark_is_no_part_of_a_config() {
        let text = |it: &str| Llm::from_hf_config(it).unwrap_err().to_string();
        assert_eq!(text("\u{feff}{}"), text("{}"));
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
