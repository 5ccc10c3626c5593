//! A functional PIM: the command stream run on a real image of memory.
//!
//! What it computes shows that layout and stream belong together: registers are
//! found by command, weights by address, and nothing else is known.

use memscape_workload::{Element, EncodeError};

use crate::address::AddressMap;
use crate::layout::{Layout, Placement, Slot};
use crate::schedule::{Op, for_each};

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
/// Where an address does not fit a `usize`.
pub fn execute(
    layout: &Layout,
    map: &AddressMap,
    image: &[u8],
    inputs: &[f32],
) -> Result<Vec<f64>, MachineError> {
    let at = |value: u64| usize::try_from(value).expect("small enough to be in memory");
    if inputs.len() as u64 != layout.columns {
        return Err(MachineError::Inputs { given: inputs.len(), needed: layout.columns });
    }
    let lanes = at(layout.lanes);
    let burst_bytes = at(layout.burst_bytes());
    let mut input_registers = vec![(0_u64, vec![0.0_f64; lanes]); at(layout.input_registers)];
    let mut sums = vec![vec![vec![0.0_f64; lanes]; at(layout.output_registers)]; at(layout.units)];
    let mut outputs = vec![0.0; at(layout.rows)];
    let mut open = None;
    for_each(layout, |op| {
        match op {
            Op::Close => open = None,
            Op::Open { row } => open = Some(row),
            Op::Drain { .. } => {}
            Op::WriteInputs { register, first_burst } => {
                let first = match layout.placement {
                    Placement::ColumnBursts => first_burst,
                    Placement::RowBursts => first_burst * layout.lanes,
                };
                let value = |lane: u64| inputs.get(at(first + lane)).map_or(0.0, |it| f64::from(*it));
                input_registers[at(register)] = (first_burst, (0..layout.lanes).map(value).collect());
            }
            Op::Mac { slot, register, burst } => {
                let (input_register, lane) = match layout.placement {
                    Placement::ColumnBursts => {
                        let in_tile = burst % layout.tile_bursts();
                        (in_tile / layout.lanes, Some(in_tile % layout.lanes))
                    }
                    Placement::RowBursts => (burst % layout.tile_bursts(), None),
                };
                let values = &input_registers[at(input_register)].1;
                for unit in 0..layout.units {
                    let place = layout.place(Slot { unit, slot });
                    if open != Some(place.row) {
                        return Err(MachineError::Closed { slot, row: place.row, open });
                    }
                    let byte = map.encode(&place) * layout.burst_bytes();
                    let bytes = image.get(at(byte)..at(byte) + burst_bytes);
                    let bytes = bytes.ok_or(MachineError::Image { given: image.len(), needed: byte })?;
                    let weights = Element::decode(layout.element, bytes, lanes)?;
                    let sums = &mut sums[at(unit)][at(register)];
                    for (it, (sum, weight)) in sums.iter_mut().zip(weights).enumerate() {
                        *sum += f64::from(weight) * values[lane.map_or(it, at)];
                    }
                }
            }
            Op::WriteSums { pass, register } => {
                for unit in 0..layout.units {
                    let sums = std::mem::replace(&mut sums[at(unit)][at(register)], vec![0.0; lanes]);
                    let line = (pass * layout.output_registers + register) * layout.units + unit;
                    match layout.placement {
                        Placement::ColumnBursts => {
                            let rows = outputs.iter_mut().skip(at(line * layout.lanes));
                            rows.zip(sums).for_each(|(output, sum)| *output = sum);
                        }
                        Placement::RowBursts => {
                            if let Some(output) = outputs.get_mut(at(line)) {
                                *output = sums.iter().sum();
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(outputs)
}
