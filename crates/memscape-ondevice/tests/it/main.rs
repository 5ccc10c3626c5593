//! One binary, one question per module.

mod agreement;
mod functional;
mod memory;
mod published;
mod sums;
mod system;
mod timelines;

use std::num::NonZeroU32;

fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}
