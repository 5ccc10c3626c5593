//! Why a `config.json` is refused.

use crate::model::ModelError;

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
