//! A functional PIM: the command stream run on a real image of memory.
//!
//! What it computes shows that layout and stream belong together: registers are
//! found by command, weights by address, and nothing else is known.

use memscape_workload::EncodeError;

use super::layout::{Layout, Placement, Slot};
use super::schedule::{Op, for_each};
use crate::hardware::BurstMap;

/// Why the machine stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// Bytes that are no numbers, or an image too short.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A read of a row that is not open: the stream is wrong.
    #[error("the burst of turn {slot} lies in row {row}, but {open:?} is open")]
    Closed {
        /// The burst's turn.
        slot: u64,
        /// Its row.
        row: u64,
        /// The open row.
        open: Option<u64>,
    },
    /// An image that ends before a burst.
    #[error("the image has {given} bytes, but a burst starts at byte {needed}")]
    Image {
        /// Bytes of the image.
        given: usize,
        /// Where the burst starts.
        needed: u64,
    },
    /// An input vector of the wrong length.
    #[error("{given} inputs for a matrix of {needed} columns")]
    Inputs {
        /// Inputs given.
        given: usize,
        /// Columns.
        needed: u64,
    },
}

/// Runs the stream of `layout` on `image`, physical memory from address 0, and
/// returns the product: one number per matrix row. With
/// [`Placement::RowBursts`] the lanes are added up as the host would.
///
/// # Errors
/// [`MachineError`] says what the stream or the data lack.
///
/// # Panics
/// Where an address does not fit a `usize`, or the map is of another memory.
pub fn execute(
    layout: &Layout,
    map: &BurstMap,
    image: &[u8],
    inputs: &[f32],
) -> Result<Vec<f64>, MachineError> {
    if inputs.len() as u64 != layout.columns {
        return Err(MachineError::Inputs { given: inputs.len(), needed: layout.columns });
    }
    let mut machine = Machine::new(layout, map, image, inputs);
    for_each(layout, |op| machine.step(op))?;
    Ok(machine.outputs)
}

/// One number per lane.
type Register = Vec<f64>;

/// The PIM units of all channels between two commands.
struct Machine<'a> {
    layout: &'a Layout,
    map: &'a BurstMap,
    image: &'a [u8],
    inputs: &'a [f32],
    /// The row that is open in all banks.
    open: Option<u64>,
    /// Broadcast to all units.
    input_registers: Vec<Register>,
    /// Those of each line of a pass, of each unit: as many registers as they fill, as one.
    sums: Vec<Vec<Register>>,
    outputs: Vec<f64>,
}

impl<'a> Machine<'a> {
    fn new(layout: &'a Layout, map: &'a BurstMap, image: &'a [u8], inputs: &'a [f32]) -> Self {
        let register = vec![0.0; at(layout.lanes)];
        Self {
            layout,
            map,
            image,
            inputs,
            open: None,
            input_registers: vec![register.clone(); at(layout.input_registers)],
            sums: vec![vec![register; at(layout.lines_per_pass)]; at(layout.units)],
            outputs: vec![0.0; at(layout.rows)],
        }
    }

    fn step(&mut self, op: Op) -> Result<(), MachineError> {
        match op {
            Op::Close => self.open = None,
            Op::Open { row } => self.open = Some(row),
            Op::Drain { .. } => {}
            Op::WriteInputs { register, first_burst } => self.write_inputs(register, first_burst),
            Op::Mac { slot, line, burst } => self.multiply(slot, line, burst)?,
            Op::WriteSums { pass, line, register } => self.write_sums(pass, line, register),
        }
        Ok(())
    }

    /// Inputs beyond the last are zero.
    fn write_inputs(&mut self, register: u64, first_burst: u64) {
        let first = match self.layout.placement {
            Placement::ColumnBursts => first_burst,
            Placement::RowBursts => first_burst * self.layout.lanes,
        };
        let value = |lane: u64| self.inputs.get(at(first + lane)).map_or(0.0, |it| f64::from(*it));
        self.input_registers[at(register)] = (0..self.layout.lanes).map(value).collect();
    }

    fn multiply(&mut self, slot: u64, line: u64, burst: u64) -> Result<(), MachineError> {
        let layout = self.layout;
        let in_tile = burst % layout.tile_bursts();
        let (input_register, one) = match layout.placement {
            Placement::ColumnBursts => (in_tile / layout.lanes, Some(in_tile % layout.lanes)),
            Placement::RowBursts => (in_tile, None),
        };
        for unit in 0..layout.units {
            let weights = self.read(Slot { unit, slot })?;
            let values = &self.input_registers[at(input_register)];
            let sums = &mut self.sums[at(unit)][at(line)];
            for (it, (sum, weight)) in sums.iter_mut().zip(weights).enumerate() {
                *sum += f64::from(weight) * values[one.map_or(it, at)];
            }
        }
        Ok(())
    }

    /// A burst of weights, by address, of the row that must be open.
    fn read(&self, slot: Slot) -> Result<Vec<f32>, MachineError> {
        let place = self.layout.place(slot);
        if self.open != Some(place.row) {
            return Err(MachineError::Closed { slot: slot.slot, row: place.row, open: self.open });
        }
        let burst = self.map.encode(&place).expect("a map of the layout's memory");
        let byte = burst * self.layout.burst_bytes();
        let bytes = self.image.get(at(byte)..at(byte + self.layout.burst_bytes()));
        let bytes = bytes.ok_or(MachineError::Image { given: self.image.len(), needed: byte })?;
        Ok(self.layout.element.decode(bytes, at(self.layout.lanes))?)
    }

    /// Writes the lanes of one register of a line, and clears them.
    fn write_sums(&mut self, pass: u64, line: u64, register: u64) {
        let layout = self.layout;
        let end = |register: u64| register * layout.lanes / layout.line_registers;
        let lanes = end(register)..end(register + 1);
        for unit in 0..layout.units {
            let sums = &mut self.sums[at(unit)][at(line)][at(lanes.start)..at(lanes.end)];
            let line = (pass * layout.lines_per_pass + line) * layout.units + unit;
            match layout.placement {
                Placement::ColumnBursts => {
                    let rows = self.outputs.iter_mut().skip(at(line * layout.lanes + lanes.start));
                    rows.zip(&*sums).for_each(|(output, sum)| *output = *sum);
                }
                Placement::RowBursts => {
                    if let Some(output) = self.outputs.get_mut(at(line)) {
                        *output += sums.iter().sum::<f64>();
                    }
                }
            }
            sums.fill(0.0);
        }
    }
}

/// A count of something in memory.
fn at(count: u64) -> usize {
    usize::try_from(count).expect("small enough to be in memory")
}
