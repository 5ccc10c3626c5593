//! From counted instructions to cycles of one core.

use crate::platform::{Core, Overlap};
use crate::vector::{Class, Counts};

/// Where a kernel's cycles go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycles {
    /// All of them.
    pub total: f64,
    /// Decoding every instruction.
    pub decode: f64,
    /// Vector arithmetic.
    pub arithmetic: f64,
    /// The load pipe.
    pub load: f64,
}

impl Core {
    /// Cycles of counted instructions whose data are in the first-level cache.
    ///
    /// The decoder bounds them from below; vector arithmetic and loads run one
    /// after the other or side by side ([`Overlap`]). Scalar code runs beside
    /// both. Stores have a pipe of their own, and a change of the vector
    /// configuration costs its place in the decoder.
    ///
    /// # Source
    /// Rates: see `memscape describe sg2042`. That loads and arithmetic add up is a
    /// reading: with it, the printed 7.5 GOPS and 1.38x come out without a fitted
    /// number; overlapped, `complex` would be almost twice as fast.
    #[must_use]
    pub fn cycles(&self, counts: &Counts) -> Cycles {
        let decode = float(counts.instructions()) / f64::from(self.decode_width.get());
        let rates = [
            (Class::Alu, self.alu_cycles),
            (Class::AluScalar, self.alu_scalar_cycles),
            (Class::Shift, self.shift_cycles),
            (Class::Multiply, self.multiply_cycles),
            (Class::Reduce, self.reduce_cycles),
            (Class::Move, self.move_cycles),
            (Class::Fma, self.fma_cycles),
        ];
        let arithmetic: f64 =
            rates.iter().map(|(class, rate)| float(counts.registers[*class as usize]) * rate).sum();
        let slots = counts.scalar_loads
            + counts.aligned_beats
            + counts.unaligned_beats * u64::from(self.unaligned_load_slots);
        let load = float(slots);
        let vector = match self.overlap {
            // Scalar code alone has no vector arithmetic to wait for.
            Overlap::Serial => arithmetic + load,
            Overlap::Overlapped => arithmetic.max(load),
        };
        Cycles { total: decode.max(vector), decode, arithmetic, load }
    }
}

/// Counts stay far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
