//! Hermes: a consumer GPU with NDP-DIMMs, hot and cold neurons.

pub mod activity;
mod balance;
mod baseline;
pub mod cost;
mod exchange;
pub mod expected;
pub mod hardware;
pub mod hermes;
pub mod inference;
pub mod normal;
pub mod npz;
pub mod online;
pub mod partition;
pub mod planes;
pub mod random;
pub mod remap;
pub mod shape;
pub mod statistics;
pub mod study;
pub mod trace;

pub use inference::{InferenceAnswer, InferenceStudy};
pub use study::{
    ActivityAnswer, ActivityStudy, PartitionAnswer, PartitionStudy, PredictorAnswer, PredictorStudy,
};
