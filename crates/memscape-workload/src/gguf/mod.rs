//! Models in GGUF files: shapes, and how each tensor is stored. Tensors are never read.

mod error;
mod file;
mod header;
mod llm;
mod summary;

pub use error::GgufError;
pub use file::Gguf;
pub use header::Tensor;
pub use summary::Summary;
