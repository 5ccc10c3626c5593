//! Software methods of the papers, run and timed on the user's machine.
//!
//! The system crates are pure; threads and clocks are here. [`ondevice`] runs
//! PIM-SHERPA's prefill schemes on real buffers and fits the model's parameters to
//! what it sees.

pub mod ondevice;
