//! Where buffers lie in L1, and which of them share a bank.

use crate::hardware::device::Device;
use crate::hardware::precision::Precision;
use crate::mapping::tile::{OutputBuffers, Tile};

/// From one address to another.
type Span = (u64, u64);

/// Where the buffers of a tile lie: two each for A and B, which take turns.
///
/// # Source
/// The open toolchain of the array (`mlir-aie`, the allocator that it falls back to
/// when the buffers are not one for each bank): from the stack up, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L1Layout {
    /// The two buffers of A.
    pub a: [Span; 2],
    /// The two buffers of B.
    pub b: [Span; 2],
    /// One bank.
    pub bank: u64,
}

impl L1Layout {
    /// Of a tile, whether or not L1 holds it.
    #[must_use]
    pub fn of(device: &Device, precision: Precision, tile: Tile, output: OutputBuffers) -> Self {
        let (input, out) = (precision.input_bytes(), precision.output_bytes());
        let bytes = |rows: u32, columns: u32, each: u32| {
            (u64::from(rows) * u64::from(columns)).saturating_mul(each.into())
        };
        let a = bytes(tile.m, tile.k, input);
        let b = bytes(tile.k, tile.n, input);
        let c = bytes(tile.m, tile.n, out);
        let second = if output == OutputBuffers::Double { c } else { 0 };
        let mut largest_first = [(a, 0), (a, 1), (b, 2), (b, 3), (c, 4), (second, 5)];
        largest_first.sort_by_key(|it| std::cmp::Reverse(it.0));
        let mut spans = [(0, 0); 6];
        let mut next = u64::from(device.stack_bytes);
        for (length, buffer) in largest_first {
            spans[buffer] = (next, next.saturating_add(length));
            next = spans[buffer].1;
        }
        let [a0, a1, b0, b1, ..] = spans;
        Self { a: [a0, a1], b: [b0, b1], bank: device.l1_bank_bytes.get().into() }
    }

    /// How often a vector of A and one of B that are loaded together lie in the same
    /// bank. Every block of rows meets every block of columns, so it is the shares of
    /// the two buffers in the bank that both have a part of; the mean of both turns.
    #[must_use]
    pub fn shared_bank(&self) -> f64 {
        let turns = self.a.into_iter().zip(self.b);
        turns.map(|(a, b)| shared(a, b, self.bank)).sum::<f64>() * 0.5
    }
}

/// The product of two buffers' shares in the one bank that can hold parts of both, as
/// one lies wholly below the other.
#[expect(clippy::cast_precision_loss, reason = "addresses of L1")]
fn shared(one: Span, other: Span, bank: u64) -> f64 {
    let (low, high) = if one.0 < other.0 { (one, other) } else { (other, one) };
    let border = high.0 / bank;
    if low.1 <= low.0 || high.1 <= high.0 || (low.1 - 1) / bank != border {
        return 0.0;
    }
    let below = low.1 - low.0.max(border * bank);
    let above = high.1.min((border + 1).saturating_mul(bank)) - high.0;
    below as f64 / (low.1 - low.0) as f64 * (above as f64 / (high.1 - high.0) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEVICES;

    fn layout(tile: [u32; 3]) -> L1Layout {
        let [m, k, n] = tile;
        let tile = Tile { m, k, n };
        L1Layout::of(DEVICES.get("xdna2"), Precision::Int8Int32, tile, OutputBuffers::Single)
    }

    /// C fills two banks and a half, one A the rest of the third: the other A is in the
    /// last bank, with both of B.
    #[test]
    fn a_tile_that_fills_l1_has_both_operands_in_one_bank_every_other_call() {
        let full = layout([128, 56, 80]);
        assert_eq!(full.a, [(41_984, 49_152), (49_152, 56_320)]);
        assert_eq!(full.b, [(56_320, 60_800), (60_800, 65_280)]);
        assert!((full.shared_bank() - 0.5).abs() < 1e-12);
        assert!(layout([96, 64, 96]).shared_bank() < 0.1);
    }

    #[test]
    fn one_bank_for_all_is_always_shared_and_small_banks_hardly_ever() {
        let of = |bank: u32| L1Layout { bank: bank.into(), ..layout([128, 56, 80]) }.shared_bank();
        assert!(of(65_536) > 1.0 - 1e-12);
        assert!(of(64) < 1e-3);
    }
}
