//! One binary, one question per module: those that take long run side by side.

mod compare;
mod counting;
mod editions;
mod extremes;
mod gguf;
mod hermes;
mod laws;
mod operators;
mod systems;

/// What may be in use at a time: a point's gigabyte, since points are answered in processes of
/// their own, and what the other tests take, which is less.
const MOST_BYTES: usize = 1_000_000_000;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting { most: MOST_BYTES };
