//! The commands of one GEMV on the PIM blocks of one channel (Algorithm 1).
//!
//! All channels get the same commands at the same time. The host writes inputs to
//! registers, reads weights so that every bank multiplies what it reads, drains the
//! pipeline with five more reads, and has the sums written to DRAM.
//!
//! # Source
//! PIM-SHERPA, Algorithm 1. Differs from it: the input pointer starts anew with
//! every output tile (there it runs on beyond the input); rows are closed and opened
//! where the reads leave them (there the memory controller does so unseen); reads are
//! counted one by one (its `Read32` is a row of HBM); sums go to a row of their own.

use memscape_dram::{Address, Command, CommandCounts, Kind};

use super::layout::{Layout, Slot};

/// Reads that drain the pipeline of the SIMD units: Algorithm 1's `Read5`.
pub const DRAIN_READS: u64 = 5;

/// What one command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Close the rows of all banks.
    Close,
    /// Open the same row of all banks.
    Open {
        /// The row.
        row: u64,
    },
    /// Broadcast one register of inputs.
    WriteInputs {
        /// The register.
        register: u64,
        /// The first burst of a line whose inputs these are.
        first_burst: u64,
    },
    /// Every unit multiplies a burst of weights with inputs, into a sum register.
    Mac {
        /// The burst's turn.
        slot: u64,
        /// The line of the pass, whose sums have registers of their own.
        line: u64,
        /// The burst of the line.
        burst: u64,
    },
    /// A read that only drains the pipeline.
    Drain {
        /// The burst's turn.
        slot: u64,
    },
    /// Every unit writes a sum register to DRAM.
    WriteSums {
        /// The pass.
        pass: u64,
        /// The line of the pass.
        line: u64,
        /// The register of the line.
        register: u64,
    },
}

impl Op {
    /// The DRAM command that carries it.
    ///
    /// # Panics
    /// Above 2^32 rows or columns, which no layout has.
    #[must_use]
    pub fn command(&self, layout: &Layout) -> Command {
        let part = |value: u64| u32::try_from(value).expect("a layout fits its memory");
        let slot_at = |slot: u64| {
            let place = layout.place(Slot { unit: 0, slot });
            Address { row: part(place.row), column: part(place.column), ..Address::default() }
        };
        match *self {
            Self::Close => Kind::PreAll.at(Address::default()),
            Self::Open { row } => Kind::ActAll.at(Address { row: part(row), ..Address::default() }),
            Self::WriteInputs { .. } => Kind::RegWrite.at(Address::default()),
            Self::Mac { slot, .. } | Self::Drain { slot } => Kind::Mac.at(slot_at(slot)),
            Self::WriteSums { pass, line, register } => {
                let row = part(sums_row(layout, pass));
                Kind::Spill.at(Address {
                    row,
                    column: part((line * layout.line_registers + register) % layout.dims.columns),
                    ..Address::default()
                })
            }
        }
    }
}

/// The DRAM row that takes the sums of a pass; they are few, so that the rows of
/// the matrix itself can stand for it where no other is left.
fn sums_row(layout: &Layout, pass: u64) -> u64 {
    (layout.end_row() + pass) % layout.dims.rows
}

/// Emits every command, ending with all rows closed.
///
/// # Errors
/// The first error of `emit`.
pub fn for_each<E>(layout: &Layout, mut emit: impl FnMut(Op) -> Result<(), E>) -> Result<(), E> {
    let mut open = None;
    let mut slot = 0;
    for pass in 0..layout.passes() {
        let lines = layout.pass_lines(pass);
        for tile in 0..layout.input_tiles() {
            let bursts = layout.input_tile_bursts(tile);
            let first = tile * layout.tile_bursts();
            for register in 0..input_writes(layout, bursts) {
                let first_burst = first + register * layout.register_bursts();
                emit(Op::WriteInputs { register, first_burst })?;
            }
            for line in 0..lines {
                for burst in first..first + bursts {
                    let row = layout.first_row + slot / layout.row_slots();
                    if open != Some(row) {
                        if open.is_some() {
                            emit(Op::Close)?;
                        }
                        emit(Op::Open { row })?;
                        open = Some(row);
                    }
                    emit(Op::Mac { slot, line, burst })?;
                    slot += 1;
                }
            }
        }
        for _ in 0..DRAIN_READS {
            emit(Op::Drain { slot: slot - 1 })?;
        }
        emit(Op::Close)?;
        emit(Op::Open { row: sums_row(layout, pass) })?;
        for line in 0..lines {
            for register in 0..layout.line_registers {
                emit(Op::WriteSums { pass, line, register })?;
            }
        }
        emit(Op::Close)?;
        open = None;
    }
    Ok(())
}

/// Registers written for an input tile.
pub(crate) const fn input_writes(layout: &Layout, bursts: u64) -> u64 {
    bursts.div_ceil(layout.register_bursts())
}

/// How many commands of each kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Register writes: Algorithm 1's first `Write8`, where it is full.
    pub input_writes: u64,
    /// Reads that multiply: 32 to a `Read32`.
    pub macs: u64,
    /// Reads that drain: `Read5`.
    pub drains: u64,
    /// Sums written: the second `Write8`, where it is full.
    pub sum_writes: u64,
    /// Rows of weights opened, in all banks at once.
    pub rows_opened: u64,
    /// Rows opened for sums.
    pub sum_rows_opened: u64,
}

impl Counts {
    /// Counted without enumerating.
    #[must_use]
    pub fn of(layout: &Layout) -> Self {
        let passes = layout.passes();
        let full = layout.line_bursts() / layout.tile_bursts();
        let rest = layout.line_bursts() % layout.tile_bursts();
        let writes = full * input_writes(layout, layout.tile_bursts()) + input_writes(layout, rest);
        // A row that a pass leaves half read is opened again by the next.
        let per_pass = layout.lines_per_pass * layout.line_bursts();
        let reopened = (1..passes).filter(|it| !(it * per_pass).is_multiple_of(layout.row_slots())).count();
        Self {
            input_writes: passes * writes,
            macs: layout.slots(),
            drains: passes * DRAIN_READS,
            sum_writes: layout.unit_lines() * layout.line_registers,
            rows_opened: layout.slots().div_ceil(layout.row_slots()) + reopened as u64,
            sum_rows_opened: passes,
        }
    }

    /// As commands of one channel; each row that is opened is closed.
    #[must_use]
    pub fn commands(&self) -> CommandCounts {
        let opened = self.rows_opened + self.sum_rows_opened;
        CommandCounts::from_iter([
            (Kind::RegWrite, self.input_writes),
            (Kind::Mac, self.macs + self.drains),
            (Kind::Spill, self.sum_writes),
            (Kind::ActAll, opened),
            (Kind::PreAll, opened),
        ])
    }
}
