//! Data formats, matrix shapes and language models.
//!
//! What is computed, without a word on where: how many bits a weight takes
//! ([`Format`]), the shapes of the products ([`Gemv`], [`Gemm`]), the models
//! ([`Llm`], described in `data/models/`, every number with its source) and the
//! operators of one token, one prompt or a reply ([`Llm::decode_operators`],
//! [`Llm::prefill_operators`], [`Llm::reply_operators`]). A model may also be read from its GGUF file ([`Gguf`]), which says how its weights are stored
//! ([`Stored`], [`Weights`]).
//!
//! ```
//! use memscape_workload::{Format, Matrix, Model};
//!
//! let model = Model::named("opt-6.7b")?;
//! let fc1 = model.gemv(Matrix::Fc1)?;
//! assert_eq!((fc1.m(), fc1.k()), (16384, 4096));
//!
//! let format: Format = "mx-int4-b32".parse()?;
//! assert_eq!(fc1.weight_bytes(format).to_string(), "34 MiB");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod context;
mod file_type;
pub mod format;
mod ggml;
pub mod gguf;
mod hf;
pub mod matrices;
pub mod model;
pub mod operators;
mod reply;
pub mod shape;
mod stored;
pub mod weights;

pub use file_type::{FileType, FileTypeError, PartialBlocks};
pub use format::{BlockScale, Element, EncodeError, Format, FormatError, ScalePlace};
pub use ggml::GgmlType;
pub use gguf::{Gguf, GgufError};
pub use hf::HfConfigError;
pub use matrices::{AS_STACKED, AskedError, Matrix, NoSuchMatrix, Projections};
pub use model::{Activation, Block, Experts, Llm, MODELS, Model, ModelError, Norm, Window};
pub use operators::{Operator, OperatorError, OperatorKind};
pub use reply::Reply;
pub use shape::{Gemm, Gemv, ShapeError};
pub use stored::Stored;
pub use weights::{NotStored, WeightFormat, WeightFormatError, Weights, WeightsError};
