//! Hermes: a consumer GPU with NDP-DIMMs, hot and cold neurons.
//!
//! In the order in which data flows: [`hardware`] describes what is built and how
//! often neurons are active; [`activity`] says which are, by the law or a
//! recording; [`work`] is what a model then asks for; [`partition`] places neurons
//! and [`scheduler`] moves them; [`cost`] knows how long each piece takes;
//! [`hermes`] and [`baseline`] put pieces together; [`study`] asks them.

pub mod activity;
pub mod baseline;
pub mod cost;
mod error;
pub mod hardware;
pub mod hermes;
mod kept;
pub mod normal;
mod numbers;
pub mod partition;
mod root;
pub mod scheduler;
pub mod study;
mod system;
pub mod work;

pub use error::NdpError;
pub use numbers::{Density, Efficiency, MeanNeurons, RatedWatts, Share};
pub use study::{
    ActivityAnswer, ActivityStudy, InferenceAnswer, InferenceStudy, PartitionAnswer, PartitionStudy,
    PredictorAnswer, PredictorStudy,
};
pub use system::{Ndp, SYSTEM};
