//! Which neurons are active: by a law, drawn or expected, or as recorded.

mod bits;
mod drawn;
mod law;
mod library;
pub mod npz;
mod recording;
mod shards;
mod source;
mod statistics;

pub use bits::{Bits, BlockKind, bit};
pub use drawn::Synthetic;
pub use law::{Law, LawError};
pub use library::{
    PROFILE, RECORDINGS, RecordingError, RecordingName, Recordings, SAMPLE, keep, parse, register,
};
pub use recording::{NO_PARENT, Profile, Recording, Trace, TraceError};
pub use source::{LayerActivity, Source};
pub use statistics::{Inquiry, Statistics, expected, measure};
