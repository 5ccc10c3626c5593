//! How long each piece takes, whoever puts pieces together: rates, capacity, and
//! what a prompt and a step amount to.

mod account;
mod capacity;
mod energy;
pub mod operators;
mod rates;
pub mod timeline;

pub use account::{Account, Causes, DimmWork, Prompt, StepPart, Traffic, step};
pub use capacity::{Held, hot_capacity, on_dimms, on_gpus, predictor_bytes, table_bytes};
pub use energy::energy;
pub use rates::{ColdSide, PromptStage, Rates};
