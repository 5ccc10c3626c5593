//! Hermes: a consumer GPU with NDP-DIMMs, hot and cold neurons.

pub mod partition;
mod balance;
pub mod npz;
