//! Each module answers one question.

mod gguf;
mod hf;
mod published;
