//! Why a file is no model.

use crate::ggml::GgmlType;
use crate::model::ModelError;

/// Why a GGUF file is not a model we know. A message does not name the file, which who asks for
/// it does, unless it is another part of a split one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// It cannot be read.
    #[error("{0}")]
    Read(String),
    /// Another format.
    #[error("it begins with {given}, not with `GGUF`; give a file as llama.cpp reads it")]
    Magic {
        /// Its first bytes.
        given: String,
    },
    /// Numbers the other way round.
    #[error(
        "it is big-endian, as for IBM Z; write it little-endian, for example with gguf's `gguf-convert-endian FILE little`"
    )]
    BigEndian,
    /// Older or newer than what is known.
    #[error("it is of version {given} of GGUF; known are 2 and 3{}", if *given == 1 { ": convert the model again" } else { "" })]
    Version {
        /// Its version.
        given: u32,
    },
    /// Something goes on after the end of the file.
    #[error("{what} at byte {at} takes {needs} bytes, but the file has {left} left; is it complete?")]
    Truncated {
        /// What does.
        what: &'static str,
        /// Where it begins.
        at: u64,
        /// How long it is said to be.
        needs: u64,
        /// Bytes left in the file.
        left: u64,
    },
    /// The header is longer than any.
    #[error("what describes the tensors takes more than {most} bytes, as no model's does")]
    Long {
        /// The longest that is read.
        most: u64,
    },
    /// A count or a length that no file has.
    #[error("{what} is {given}; it must be {allowed}")]
    Count {
        /// What is counted, and of what.
        what: String,
        /// As given.
        given: String,
        /// What it may be.
        allowed: String,
    },
    /// The same name twice.
    #[error("{what} `{name}` is there twice")]
    Repeated {
        /// `key` or `tensor`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A type that is none.
    #[error("tensor `{tensor}` is of type {given}, which ggml does not have; known are {}", known_types())]
    Type {
        /// The tensor.
        tensor: String,
        /// The number of its type.
        given: u32,
    },
    /// Data beyond the file's end.
    #[error("tensor `{tensor}` takes bytes {from} to {to}, but the file has {length}; is it complete?")]
    Outside {
        /// The tensor.
        tensor: String,
        /// Its first byte in the file.
        from: u64,
        /// The byte after its last.
        to: u64,
        /// Bytes of the file.
        length: u64,
    },
    /// Tensors that share bytes.
    #[error("its tensors take {needs} bytes, but the file has {have} for them: some overlap")]
    Overlap {
        /// What they take together.
        needs: u64,
        /// What there is.
        have: u64,
    },
    /// A part of a split file that does not belong to it.
    #[error("part `{name}`: {problem}")]
    Part {
        /// The file's name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An architecture without a description here.
    #[error(
        "`general.architecture` is {given}; known are llama (Llama, Mistral, Mixtral), qwen2, qwen3, qwen3moe, gemma2, \
         gemma3, phi3 and falcon"
    )]
    Architecture {
        /// Its value, or `missing`.
        given: String,
    },
    /// A key without which the model is unknown.
    #[error("`{key}` is missing; a model of architecture {architecture} needs it")]
    MissingKey {
        /// The key.
        key: String,
        /// The architecture.
        architecture: String,
    },
    /// A value that is not what the key holds, or that contradicts the tensors.
    #[error("`{key}` is {given}; it must be {allowed}")]
    Key {
        /// The key.
        key: String,
        /// Its value.
        given: String,
        /// What it may be.
        allowed: String,
    },
    /// A tensor that the model must have.
    #[error("tensor `{tensor}` is missing; its shape would be {shape}{hint}")]
    MissingTensor {
        /// The tensor.
        tensor: String,
        /// The shape, as ggml writes it.
        shape: String,
        /// What there is instead, if anything is known.
        hint: &'static str,
    },
    /// A tensor of another shape.
    #[error("tensor `{tensor}` is of shape {given}, but the model's keys and other tensors make it {shape}")]
    Shape {
        /// The tensor.
        tensor: String,
        /// The shape as given.
        given: String,
        /// The shape expected.
        shape: String,
    },
    /// A tensor that the model does not have.
    #[error(
        "tensor `{tensor}` of shape {given} is none of a model of architecture {architecture} as it is known here"
    )]
    Stray {
        /// The tensor.
        tensor: String,
        /// Its shape.
        given: String,
        /// The architecture.
        architecture: String,
    },
    /// Numbers that do not belong together.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn known_types() -> String {
    GgmlType::ALL.iter().map(|it| format!("{} ({it})", it.id())).collect::<Vec<_>>().join(", ")
}
