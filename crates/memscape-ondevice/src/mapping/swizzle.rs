//! The swizzled memory copy over real buffers, and its inverse, the model
//! converter.
//!
//! A [`Swizzle`] is one matrix in a PIM-aware image of memory. Copying takes any
//! range of elements of the host's matrix in the host's own order, so that any
//! partition of the work is a partition of the destination: threads get disjoint
//! slices, and the result does not depend on how the work was cut.
//!
//! ```
//! use memscape_ondevice::mapping::layout::{HostOrder, Layout, Placement};
//! use memscape_ondevice::{LayoutStudy, Swizzle};
//! use memscape_workload::{Element, Gemv};
//!
//! let phone = LayoutStudy::default();
//! let matrix = Gemv::new(48, 10)?;
//! let layout = Layout::new(matrix, Element::Bf16, Placement::ColumnBursts, &phone.memory, &phone.pim, 0)?;
//! let map = phone.address_map.map(layout.dims)?;
//! let swizzle = Swizzle::new(layout, &map, HostOrder::ColumnMajor)?;
//!
//! let host: Vec<u8> = (0..swizzle.host_bytes()).map(|it| it as u8).collect();
//! let mut image = vec![0; swizzle.image_bytes()];
//! swizzle.convert(&host, &mut image)?;
//! let mut back = vec![0; host.len()];
//! let (first, last) = back.split_at_mut(300);
//! swizzle.copy(&image, 0..150, first)?;
//! swizzle.copy(&image, 150..480, last)?;
//! assert_eq!(back, host);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;

use memscape_dram::{Dims, Field};
use memscape_workload::Element;

use super::layout::{HostOrder, Layout, Placement};
use crate::hardware::BurstMap;

/// One matrix in a PIM-aware image, ready to be copied.
#[derive(Debug, Clone)]
pub struct Swizzle {
    layout: Layout,
    order: HostOrder,
    xor: bool,
    /// What each PIM unit contributes to a byte address.
    units: Vec<usize>,
    /// What each slot of a DRAM row contributes.
    in_row: Vec<usize>,
    /// What each DRAM row contributes, from the matrix's first.
    rows: Vec<usize>,
    image_bytes: usize,
}

/// Why a matrix cannot be copied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SwizzleError {
    /// Elements that do not start at a byte.
    #[error("{0} elements share bytes; a swizzled copy needs whole bytes: use int8, fp16, bf16 or fp32")]
    Element(Element),
    /// A map of another memory.
    #[error("the address map is for a memory of {map:?}, the layout for {layout:?}; make both from the same")]
    Map {
        /// The map's.
        map: Dims,
        /// The layout's.
        layout: Dims,
    },
    /// A buffer of the wrong length.
    #[error("the {what} has {given} bytes, but {needed} are needed")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The length it must have, or have at least.
        needed: usize,
    },
    /// Elements beyond the matrix.
    #[error("elements {start} to {end} were asked for, but the matrix has {available}")]
    Range {
        /// The first.
        start: u64,
        /// The one after the last.
        end: u64,
        /// How many there are.
        available: u64,
    },
}

/// Columns that are copied together, so that a cache line of the image, which
/// holds a few, is read once. More would be more streams to write than a cache
/// has ways.
const TOGETHER: usize = 8;

impl Swizzle {
    /// Prepares the copy.
    ///
    /// # Errors
    /// [`SwizzleError`] if elements are no whole bytes, or map and layout belong
    /// to different memories.
    ///
    /// # Panics
    /// Where an address of the image does not fit a `usize`.
    pub fn new(layout: Layout, map: &BurstMap, order: HostOrder) -> Result<Self, SwizzleError> {
        if !layout.element.bits().is_multiple_of(8) {
            return Err(SwizzleError::Element(layout.element));
        }
        if *map.dims() != layout.dims {
            return Err(SwizzleError::Map { map: *map.dims(), layout: layout.dims });
        }
        let burst = layout.burst_bytes();
        let bytes = |part: u64| usize::try_from(part * burst).expect("an address within the address space");
        let join = |a: u64, b: u64| map.join(a, b);
        let dims = &layout.dims;
        let units = (0..layout.units).map(|unit| {
            let bank = unit / (dims.channels * dims.ranks) * layout.banks_per_unit;
            let channel = map.part(Field::Channel, unit % dims.channels);
            let rank = map.part(Field::Rank, unit / dims.channels % dims.ranks);
            bytes(join(join(channel, rank), map.part(Field::Bank, bank)))
        });
        let in_row = (0..layout.row_slots()).map(|slot| {
            // The unit's first bank and the bank within it add up without a carry.
            let bank = map.part(Field::Bank, slot / dims.columns);
            bytes(join(bank, map.part(Field::Column, slot % dims.columns)))
        });
        let rows = (layout.first_row..layout.end_row()).map(|row| bytes(map.part(Field::Row, row)));
        let mut swizzle = Self {
            layout,
            order,
            xor: matches!(map, BurstMap::Bits(_)),
            units: units.collect(),
            in_row: in_row.collect(),
            rows: rows.collect(),
            image_bytes: 0,
        };
        swizzle.image_bytes = swizzle.end_of_image();
        Ok(swizzle)
    }

    /// A byte behind every burst of the matrix, and hardly more.
    fn end_of_image(&self) -> usize {
        let burst = usize::try_from(self.layout.burst_bytes()).expect("a burst is a few bytes");
        let parts = [&self.units, &self.in_row];
        let highest = if self.xor {
            // No XOR of the parts has a bit that none of them has.
            let below = parts.iter().flat_map(|it| it.iter()).fold(0, |all, it| all | it);
            self.rows.iter().map(|it| it | below).max()
        } else {
            let below: usize = parts.iter().filter_map(|it| it.iter().max()).sum();
            self.rows.iter().max().map(|it| it + below)
        };
        highest.map_or(0, |it| it + burst)
    }

    /// The layout.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Elements of the matrix.
    #[must_use]
    pub const fn elements(&self) -> u64 {
        self.layout.rows * self.layout.columns
    }

    /// Bytes of the host's matrix.
    ///
    /// # Panics
    /// Where they do not fit a `usize`.
    #[must_use]
    pub fn host_bytes(&self) -> usize {
        usize::try_from(self.elements()).expect("a matrix in memory") * self.element_bytes()
    }

    /// Bytes that an image of memory must have to hold the matrix, from the
    /// physical address 0 on.
    #[must_use]
    pub const fn image_bytes(&self) -> usize {
        self.image_bytes
    }

    const fn element_bytes(&self) -> usize {
        (self.layout.element.bits() / 8) as usize
    }

    /// Copies elements of the image to the host: those in `range`, counted in the
    /// host's order, `host` being exactly these.
    ///
    /// # Errors
    /// [`SwizzleError`] if the range or a buffer does not fit.
    pub fn copy(&self, image: &[u8], range: Range<u64>, host: &mut [u8]) -> Result<(), SwizzleError> {
        self.check(image.len(), &range, host.len())?;
        let matched =
            matches!((self.layout.placement, self.order), (Placement::ColumnBursts, HostOrder::ColumnMajor));
        if matched && self.layout.burst_bytes() == 32 {
            self.copy_columns::<32>(image, range, host);
        } else {
            self.pieces(range, |at, to, bytes| host[to..][..bytes].copy_from_slice(&image[at..][..bytes]));
        }
        Ok(())
    }

    /// Writes the host's whole matrix into the image: the model converter.
    ///
    /// # Errors
    /// [`SwizzleError`] if a buffer does not fit.
    pub fn convert(&self, host: &[u8], image: &mut [u8]) -> Result<(), SwizzleError> {
        let all = 0..self.elements();
        self.check(image.len(), &all, host.len())?;
        self.pieces(all, |to, at, bytes| image[to..][..bytes].copy_from_slice(&host[at..][..bytes]));
        Ok(())
    }

    fn check(&self, image: usize, range: &Range<u64>, host: usize) -> Result<(), SwizzleError> {
        let available = self.elements();
        if range.end < range.start || available < range.end {
            return Err(SwizzleError::Range { start: range.start, end: range.end, available });
        }
        if image < self.image_bytes {
            return Err(SwizzleError::Length { what: "image", given: image, needed: self.image_bytes });
        }
        let needed = index(range.end - range.start) * self.element_bytes();
        if host != needed {
            return Err(SwizzleError::Length { what: "host buffer", given: host, needed });
        }
        Ok(())
    }

    #[inline]
    const fn join(&self, a: usize, b: usize) -> usize {
        if self.xor { a ^ b } else { a + b }
    }

    /// The byte of the image at which a unit's slots of its line start, but for
    /// the unit's own part.
    #[inline]
    fn slot_byte(&self, unit_line: u64, burst: u64) -> usize {
        let slot = self.layout.slot_of(unit_line, burst);
        let per_row = self.layout.row_slots();
        self.join(self.rows[index(slot / per_row)], self.in_row[index(slot % per_row)])
    }

    /// Visits the elements of `range` in pieces that are contiguous on both sides:
    /// byte of the image, byte of the range, bytes.
    fn pieces(&self, range: Range<u64>, mut visit: impl FnMut(usize, usize, usize)) {
        let layout = &self.layout;
        let (size, lanes) = (self.element_bytes(), layout.lanes);
        let bursts_run_along_host = matches!(
            (layout.placement, self.order),
            (Placement::ColumnBursts, HostOrder::ColumnMajor) | (Placement::RowBursts, HostOrder::RowMajor)
        );
        let mut at = range.start;
        while at < range.end {
            let (row, column) = self.order.element(layout.rows, layout.columns, at);
            let (line, burst, in_burst) = layout.find(row, column);
            let count = if bursts_run_along_host {
                let to_end_of_run = match self.order {
                    HostOrder::ColumnMajor => layout.rows - row,
                    HostOrder::RowMajor => layout.columns - column,
                };
                (lanes - in_burst).min(to_end_of_run).min(range.end - at)
            } else {
                1
            };
            let slot = self.slot_byte(line / layout.units, burst);
            let byte = self.join(slot, self.units[index(line % layout.units)]) + index(in_burst) * size;
            visit(byte, index(at - range.start) * size, index(count) * size);
            at += count;
        }
    }

    /// [`Swizzle::copy`] of column bursts to whole columns, the common case, a few
    /// columns at a time.
    fn copy_columns<const BURST: usize>(&self, image: &[u8], range: Range<u64>, host: &mut [u8]) {
        let (rows, lanes) = (self.layout.rows, self.layout.lanes);
        let size = self.element_bytes();
        // Columns that are there in part are left to the general way, and so are all
        // where the last burst of a column is.
        let first = range.start.div_ceil(rows).min(range.end / rows);
        let last = if rows.is_multiple_of(lanes) { (range.end / rows).max(first) } else { first };
        let edge = |elements: Range<u64>, host: &mut [u8]| {
            let base = index(elements.start - range.start) * size;
            self.pieces(elements, |at, to, bytes| {
                host[base + to..][..bytes].copy_from_slice(&image[at..][..bytes]);
            });
        };
        if first == last {
            return edge(range.clone(), host);
        }
        edge(range.start..first * rows, host);
        edge(last * rows..range.end, host);

        let column_bytes = index(rows) * size;
        let whole =
            &mut host[index(first * rows - range.start) * size..][..index(last - first) * column_bytes];
        for (group, columns) in (first..).step_by(TOGETHER).zip(whole.chunks_mut(TOGETHER * column_bytes)) {
            for unit_line in 0..self.layout.unit_lines() {
                let first_line = unit_line * self.layout.units;
                let count = index(self.layout.units.min(self.layout.lines() - first_line));
                let start = index(first_line) * BURST;
                let units = &self.units[..count];
                let together = columns.len() / column_bytes;
                let mut targets = columns
                    .chunks_exact_mut(column_bytes)
                    .map(|it| it[start..][..count * BURST].as_chunks_mut::<BURST>().0)
                    .zip((group..).map(|it| self.slot_byte(unit_line, it)));
                if together == TOGETHER {
                    let targets: [_; TOGETHER] = std::array::from_fn(|_| targets.next().expect("counted"));
                    self.copy_bursts(image, targets, units);
                } else {
                    targets.for_each(|it| self.copy_bursts(image, [it], units));
                }
            }
        }
    }

    /// The bursts of `N` columns that a line of each unit has: to where, and from
    /// which slot.
    #[inline]
    fn copy_bursts<const N: usize, const BURST: usize>(
        &self,
        image: &[u8],
        mut columns: [(&mut [[u8; BURST]], usize); N],
        units: &[usize],
    ) {
        if self.xor {
            for (it, unit) in units.iter().enumerate() {
                for (to, slot) in &mut columns {
                    to[it].copy_from_slice(&image[*slot ^ unit..][..BURST]);
                }
            }
        } else {
            for (it, unit) in units.iter().enumerate() {
                for (to, slot) in &mut columns {
                    to[it].copy_from_slice(&image[*slot + unit..][..BURST]);
                }
            }
        }
    }
}

/// A count that lives in memory.
#[inline]
fn index(count: u64) -> usize {
    usize::try_from(count).expect("a matrix in memory")
}
