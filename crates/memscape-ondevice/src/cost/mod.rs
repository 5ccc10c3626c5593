//! What things take, in time and energy: a GEMV on PIM, a generated token, the stages of a prefill in
//! closed form and thread by thread, and room in memory.

pub mod attention;
pub mod energy;
pub mod footprint;
pub mod gemv;
pub mod memory;
pub mod prefill;
pub mod rates;
pub mod threads;
pub mod token;
