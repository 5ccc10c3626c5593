//! The `config.json` of a Hugging Face model.

mod config;
mod error;
mod families;
mod keys;
mod read;

pub use error::HfConfigError;
