//! How the registers of a PIM unit are divided between inputs and sums.

use super::placement::RegisterRule;

/// The registers of a unit, and what one row-block of a matrix asks of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers {
    /// All of them.
    pub count: u64,
    /// Those that hold inputs.
    pub inputs: u64,
    /// SIMD lanes: elements in one column access.
    pub lanes: u64,
    /// Input elements in one register.
    pub inputs_per_register: u64,
    /// Sums in one register.
    pub sums_per_register: u64,
    /// Which of them are counted.
    pub rule: RegisterRule,
    /// Whether blocks of weights share scale factors.
    pub scaled: bool,
}

impl Registers {
    /// Registers that the sums of a tile of `m` rows take until they are folded:
    /// a sum per lane or row, whichever is more.
    pub fn accumulators(&self, m: u64) -> u64 {
        self.lanes.max(m).div_ceil(self.sums_per_register)
    }

    /// Registers that they take afterwards.
    pub fn outputs(&self, m: u64) -> u64 {
        m.div_ceil(self.sums_per_register)
    }

    /// Registers that each row-block of a pass takes.
    pub fn per_row_block(&self, m: u64) -> u64 {
        match (self.rule, self.scaled) {
            (RegisterRule::Printed, _) => self.outputs(m),
            (RegisterRule::Accumulators, false) => self.accumulators(m),
            (RegisterRule::Accumulators, true) => 2 * self.accumulators(m),
        }
    }

    /// Registers that hold scales, for all row-blocks together.
    pub fn for_scales(&self) -> u64 {
        if self.scaled { 2 } else { 0 }
    }

    /// Registers for sums and scales of one row-block.
    pub fn for_sums(&self, m: u64) -> u64 {
        self.per_row_block(m) + self.for_scales()
    }

    /// Registers for inputs at least: a word may hold several columns of a short
    /// tile, which it meets at once.
    pub fn least_inputs(&self, m: u64) -> u64 {
        (self.lanes / m.min(self.lanes)).div_ceil(self.inputs_per_register)
    }

    /// Whether there is room for the inputs and one row-block.
    pub fn fit(&self, m: u64) -> bool {
        self.inputs >= self.least_inputs(m) && self.for_sums(m) + self.inputs <= self.count
    }
}
