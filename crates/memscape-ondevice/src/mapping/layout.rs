//! Where the elements of a weight matrix lie for PIM to compute with them.
//!
//! A PIM *unit* (a PIM block with its banks) holds whole matrix rows. A *line* is
//! what one unit works on at a time: with [`Placement::ColumnBursts`] as many rows
//! as a burst has lanes, with [`Placement::RowBursts`] one row. Lines go round
//! robin over the units. Within a unit, bursts (*slots*) follow each other in the
//! order in which the command stream of [`super::schedule`] reads them.

use memscape_dram::{Dims, Dram, Place};
use memscape_workload::{Element, Gemv};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::{BurstMap, PimBlocks};

/// Which elements share a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Consecutive rows of one column: each lane sums one row (`PIMnast`; the paper's choice).
    ColumnBursts,
    /// Consecutive columns of one row: the lanes of a register are partial sums of one row,
    /// which the host adds up (HBM-PIM).
    RowBursts,
}

impl Placement {
    /// Columns of the matrix that a burst of so many elements spans.
    #[must_use]
    pub const fn burst_columns(self, lanes: u64) -> u64 {
        match self {
            Self::ColumnBursts => 1,
            Self::RowBursts => lanes,
        }
    }

    /// Bursts that a copy takes of a DRAM row before it leaves the row, if it takes so many
    /// columns of a matrix together, of elements of so many bits.
    ///
    /// Of column bursts, those columns: a unit's next line is in another row. Row bursts hold
    /// several columns each, and the lines of a pass, between which a unit has only as many
    /// bursts of one as it has input registers, lie in one DRAM row. A matrix whose units
    /// have fewer lines, or for which fewer registers are best, is not asked for.
    #[must_use]
    pub fn run_bursts(self, together: u64, element_bits: u64, memory: &Dram, pim: &PimBlocks) -> u64 {
        let (burst_bits, columns) = (8 * u64::from(memory.column_bytes()), memory.columns_per_row());
        let lanes = (burst_bits / element_bits).max(1);
        let bursts = together.div_ceil(self.burst_columns(lanes));
        match self {
            Self::ColumnBursts => bursts,
            Self::RowBursts => {
                let run = u64::from(pim.input_registers.get());
                let most = lines_per_pass(pim, lanes, element_bits, burst_bits);
                bursts.min(run) * (u64::from(columns) / run).min(most).max(1)
            }
        }
    }
}

/// A weight matrix in the PIM-aware layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Rows of the matrix: outputs.
    pub rows: u64,
    /// Columns of the matrix: inputs.
    pub columns: u64,
    /// How an element is stored.
    pub element: Element,
    /// Elements of one burst.
    pub lanes: u64,
    /// Which elements share a burst.
    pub placement: Placement,
    /// The memory, its banks counted through the bank groups.
    pub dims: Dims,
    /// PIM units of all channels.
    pub units: u64,
    /// Banks of one unit.
    pub banks_per_unit: u64,
    /// Input registers of one unit.
    pub input_registers: u64,
    /// Output registers that the sums of one line fill.
    pub line_registers: u64,
    /// Lines whose sums the output registers of one unit hold: those of a pass.
    pub lines_per_pass: u64,
    /// First DRAM row, the same in every bank.
    pub first_row: u64,
}

/// Why a matrix has no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Banks cannot be shared evenly.
    #[error(
        "`pim.banks_per_block` is {given}, but a rank has {banks} banks; use a power of two that divides it"
    )]
    Banks {
        /// Banks per PIM block as given.
        given: u32,
        /// Banks of one rank.
        banks: u64,
    },
    /// An element wider than a burst.
    #[error(
        "a burst of {burst_bits} bits does not hold a whole number of {element} elements; use another format"
    )]
    Lanes {
        /// Bits of a burst.
        burst_bits: u64,
        /// The element.
        element: Element,
    },
    /// Registers that do not hold the sums of one line.
    #[error(
        "sums have {SUM_BITS} bits at least, so that those of a burst of {element} elements fill {need} registers, \
         but `pim.output_registers` is {have}; use more, or a wider format"
    )]
    Sums {
        /// The element.
        element: Element,
        /// Registers that the sums of a line fill.
        need: u64,
        /// Output registers of a unit.
        have: u32,
    },
    /// More rows than the banks have.
    #[error(
        "a matrix of {rows} x {columns} {element} elements needs DRAM rows {first} to {last} of every bank, but a bank \
         has {available}; use more channels, banks or rows, or a narrower format"
    )]
    TooLarge {
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
        /// The element.
        element: Element,
        /// First DRAM row it needs.
        first: u64,
        /// Last DRAM row it needs.
        last: u64,
        /// DRAM rows of a bank.
        available: u64,
    },
}

/// The least width of a sum, as of `PIMnast`'s registers; wider elements have sums as wide as they are.
const SUM_BITS: u64 = 16;

/// Output registers that the sums of a burst of elements fill.
fn line_registers(lanes: u64, element_bits: u64, burst_bits: u64) -> u64 {
    (lanes * element_bits.max(SUM_BITS)).div_ceil(burst_bits)
}

/// Lines whose sums the output registers hold.
fn lines_per_pass(pim: &PimBlocks, lanes: u64, element_bits: u64, burst_bits: u64) -> u64 {
    u64::from(pim.output_registers.get()) / line_registers(lanes, element_bits, burst_bits)
}

/// A burst as its unit sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The PIM unit; channels count fastest, then ranks, then banks.
    pub unit: u64,
    /// The burst's turn in the unit.
    pub slot: u64,
}

impl Layout {
    /// The layout of a matrix whose first burst lies in DRAM row `first_row`.
    ///
    /// # Errors
    /// [`LayoutError`] if registers, banks or capacity do not fit.
    pub fn new(
        matrix: Gemv,
        element: Element,
        placement: Placement,
        memory: &Dram,
        pim: &PimBlocks,
        first_row: u64,
    ) -> Result<Self, LayoutError> {
        let burst_bits = 8 * u64::from(memory.column_bytes());
        Self::on(Dims::of(memory).ungrouped(), burst_bits, matrix, element, placement, pim, first_row)
    }

    /// As [`Layout::new`], of a memory of any dimensions without bank groups.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn on(
        dims: Dims,
        burst_bits: u64,
        matrix: Gemv,
        element: Element,
        placement: Placement,
        pim: &PimBlocks,
        first_row: u64,
    ) -> Result<Self, LayoutError> {
        let banks_per_unit = u64::from(pim.banks_per_block.get());
        if !dims.banks.is_multiple_of(banks_per_unit) || !banks_per_unit.is_power_of_two() {
            return Err(LayoutError::Banks { given: pim.banks_per_block.get(), banks: dims.banks });
        }
        let lanes = burst_bits / element.bits();
        if lanes == 0 || !burst_bits.is_power_of_two() || !burst_bits.is_multiple_of(element.bits()) {
            return Err(LayoutError::Lanes { burst_bits, element });
        }
        let line_registers = line_registers(lanes, element.bits(), burst_bits);
        let have = pim.output_registers.get();
        let lines_per_pass = lines_per_pass(pim, lanes, element.bits(), burst_bits);
        if lines_per_pass == 0 {
            return Err(LayoutError::Sums { element, need: line_registers, have });
        }
        let layout = Self {
            rows: matrix.m(),
            columns: matrix.k(),
            element,
            lanes,
            placement,
            dims,
            units: dims.channels * dims.ranks * (dims.banks / banks_per_unit),
            banks_per_unit,
            input_registers: pim.input_registers.get().into(),
            line_registers,
            lines_per_pass,
            first_row,
        };
        let end = layout.end_row();
        if dims.rows < end {
            return Err(LayoutError::TooLarge {
                rows: layout.rows,
                columns: layout.columns,
                element,
                first: first_row,
                last: end - 1,
                available: dims.rows,
            });
        }
        Ok(layout)
    }

    /// Lines of the matrix.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        match self.placement {
            Placement::ColumnBursts => self.rows.div_ceil(self.lanes),
            Placement::RowBursts => self.rows,
        }
    }

    /// Bursts of one line.
    #[must_use]
    pub const fn line_bursts(&self) -> u64 {
        match self.placement {
            Placement::ColumnBursts => self.columns,
            Placement::RowBursts => self.columns.div_ceil(self.lanes),
        }
    }

    /// Lines of the fullest unit: the paper's row tiles.
    #[must_use]
    pub const fn unit_lines(&self) -> u64 {
        self.lines().div_ceil(self.units)
    }

    /// Matrix rows of one line in every unit; a matrix is padded to a multiple.
    #[must_use]
    pub const fn tile_rows(&self) -> u64 {
        match self.placement {
            Placement::ColumnBursts => self.units * self.lanes,
            Placement::RowBursts => self.units,
        }
    }

    /// Bursts of one line that the input registers serve at once.
    #[must_use]
    pub const fn tile_bursts(&self) -> u64 {
        match self.placement {
            Placement::ColumnBursts => self.input_registers * self.lanes,
            Placement::RowBursts => self.input_registers,
        }
    }

    /// Bursts of one line that one input register serves.
    #[must_use]
    pub const fn register_bursts(&self) -> u64 {
        match self.placement {
            Placement::ColumnBursts => self.lanes,
            Placement::RowBursts => 1,
        }
    }

    /// Passes over the input vector: the paper's output tiles.
    #[must_use]
    pub const fn passes(&self) -> u64 {
        self.unit_lines().div_ceil(self.lines_per_pass)
    }

    /// Lines of a unit in one pass.
    #[must_use]
    pub fn pass_lines(&self, pass: u64) -> u64 {
        self.lines_per_pass.min(self.unit_lines() - pass * self.lines_per_pass)
    }

    /// Input tiles of one pass.
    #[must_use]
    pub const fn input_tiles(&self) -> u64 {
        self.line_bursts().div_ceil(self.tile_bursts())
    }

    /// Bursts of one line in one input tile.
    #[must_use]
    pub fn input_tile_bursts(&self, tile: u64) -> u64 {
        self.tile_bursts().min(self.line_bursts() - tile * self.tile_bursts())
    }

    /// Slots of one unit.
    #[must_use]
    pub const fn slots(&self) -> u64 {
        self.unit_lines() * self.line_bursts()
    }

    /// Slots of one DRAM row: its bursts, in all banks of the unit.
    #[must_use]
    pub const fn row_slots(&self) -> u64 {
        self.dims.columns * self.banks_per_unit
    }

    /// The DRAM row after the last.
    #[must_use]
    pub const fn end_row(&self) -> u64 {
        self.first_row + self.slots().div_ceil(self.row_slots())
    }

    /// DRAM rows that hold the sums, at least.
    #[must_use]
    pub const fn sum_rows(&self) -> u64 {
        (self.unit_lines() * self.line_registers).div_ceil(self.row_slots())
    }

    /// Bytes of one burst.
    #[must_use]
    pub const fn burst_bytes(&self) -> u64 {
        self.lanes * self.element.bits() / 8
    }

    /// Bytes of partial sums that the host reads and adds up: the registers of each row, one for each
    /// lane, where the lanes of a register are sums of one row.
    #[must_use]
    pub const fn host_sum_bytes(&self) -> u64 {
        match self.placement {
            Placement::ColumnBursts => 0,
            Placement::RowBursts => self.rows * self.line_registers * self.burst_bytes(),
        }
    }

    /// Bytes beyond the matrix itself: lines that do not fill the last tile.
    #[must_use]
    pub const fn padding_bytes(&self) -> u64 {
        self.units * self.slots() * self.burst_bytes()
            - (self.rows * self.columns * self.element.bits()).div_ceil(8)
    }

    /// The burst `burst` of line `line`.
    #[must_use]
    pub fn slot(&self, line: u64, burst: u64) -> Slot {
        Slot { unit: line % self.units, slot: self.slot_of(line / self.units, burst) }
    }

    /// The turn of a burst of a unit's line.
    pub(crate) fn slot_of(&self, unit_line: u64, burst: u64) -> u64 {
        let (pass, line) = (unit_line / self.lines_per_pass, unit_line % self.lines_per_pass);
        let tile = burst / self.tile_bursts();
        let in_tile = burst % self.tile_bursts();
        pass * self.lines_per_pass * self.line_bursts()
            + self.pass_lines(pass) * tile * self.tile_bursts()
            + line * self.input_tile_bursts(tile)
            + in_tile
    }

    /// Where a slot lies.
    #[must_use]
    pub const fn place(&self, at: Slot) -> Place {
        let dims = &self.dims;
        let in_row = at.slot % self.row_slots();
        let unit_of_rank = at.unit / (dims.channels * dims.ranks);
        Place {
            channel: at.unit % dims.channels,
            rank: at.unit / dims.channels % dims.ranks,
            bank_group: 0,
            bank: unit_of_rank * self.banks_per_unit + in_row / dims.columns,
            row: self.first_row + at.slot / self.row_slots(),
            column: in_row % dims.columns,
        }
    }

    /// The line, burst and lane of an element.
    #[must_use]
    pub const fn find(&self, row: u64, column: u64) -> (u64, u64, u64) {
        match self.placement {
            Placement::ColumnBursts => (row / self.lanes, column, row % self.lanes),
            Placement::RowBursts => (row, column / self.lanes, column % self.lanes),
        }
    }

    /// Where an element lies: its burst, and which lane of it.
    #[must_use]
    pub fn element_place(&self, row: u64, column: u64) -> (Place, u64) {
        let (line, burst, in_burst) = self.find(row, column);
        (self.place(self.slot(line, burst)), in_burst)
    }

    /// The bit of physical memory at which an element starts.
    ///
    /// # Panics
    /// If the map is of a smaller memory.
    #[must_use]
    pub fn element_bit(&self, map: &BurstMap, row: u64, column: u64) -> u64 {
        let (place, lane) = self.element_place(row, column);
        let burst = map.encode(&place).expect("a map of the layout's memory");
        (burst * self.lanes + lane) * self.element.bits()
    }
}

/// The order of a host's matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostOrder {
    /// Columns one after the other (the paper's).
    ColumnMajor,
    /// Rows one after the other.
    RowMajor,
}

impl HostOrder {
    /// The position of an element.
    #[must_use]
    pub const fn index(self, rows: u64, columns: u64, row: u64, column: u64) -> u64 {
        match self {
            Self::ColumnMajor => column * rows + row,
            Self::RowMajor => row * columns + column,
        }
    }

    /// The element at a position.
    #[must_use]
    pub const fn element(self, rows: u64, columns: u64, index: u64) -> (u64, u64) {
        match self {
            Self::ColumnMajor => (index % rows, index / rows),
            Self::RowMajor => (index / columns, index % columns),
        }
    }
}
