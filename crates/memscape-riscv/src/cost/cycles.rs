//! From counted instructions to cycles of one core.

use memscape_units::{Cycles, float};

use super::vector::{Class, Counts};
use crate::hardware::{Core, Overlap};

/// Where a kernel's cycles go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreCycles {
    /// All of them.
    pub total: Cycles,
    /// Decoding every instruction.
    pub decode: Cycles,
    /// Vector arithmetic.
    pub arithmetic: Cycles,
    /// The load pipe.
    pub load: Cycles,
}

impl Core {
    /// Cycles of counted instructions whose data are in the first-level cache.
    ///
    /// The decoder bounds them from below; vector arithmetic and loads run one
    /// after the other or side by side ([`Overlap`]). Scalar code runs beside
    /// both. Stores have a pipe of their own, and a change of the vector
    /// configuration costs its place in the decoder.
    ///
    /// # Panics
    /// If a rate is negative or NaN, which [`Core::check`] excludes.
    ///
    /// # Source
    /// Rates: see `memscape describe sg2042`. That loads and arithmetic add up is a
    /// reading: with it, the printed 7.5 GOPS and 1.38x come out without a fitted
    /// number; overlapped, `complex` would be almost twice as fast.
    #[must_use]
    pub fn cycles(&self, counts: &Counts) -> CoreCycles {
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
        let cycles = |it: f64| Cycles::new(it).expect("checked rates and counts make a number");
        CoreCycles {
            total: cycles(decode.max(vector)),
            decode: cycles(decode),
            arithmetic: cycles(arithmetic),
            load: cycles(load),
        }
    }
}
