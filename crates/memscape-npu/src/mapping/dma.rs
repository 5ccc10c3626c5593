//! A DMA channel: an address pattern as data, what executes it, and whether a
//! buffer descriptor can hold it.

use std::fmt;

use serde::Serialize;

/// Whose DMA it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DmaTile {
    /// Of an interface tile (`ShimTile`), to DRAM
    Interface,
    /// Of a memory tile (`MemTile`), to L2
    Memory,
    /// Of a compute tile (`CompTile`), to L1
    Compute,
}

/// Which way a channel moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Memory to stream: it reads
    Mm2s,
    /// Stream to memory: it writes
    S2mm,
}

/// One kind of DMA channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Channel {
    /// Whose.
    pub tile: DmaTile,
    /// Which way.
    pub direction: Direction,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile = match self.tile {
            DmaTile::Interface => "interface tile",
            DmaTile::Memory => "memory tile",
            DmaTile::Compute => "compute tile",
        };
        write!(f, "{tile} {}", self.direction)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mm2s => "MM2S",
            Self::S2mm => "S2MM",
        })
    }
}

/// Granularity of DMA addresses.
///
/// # Source
/// Sec. 4.3: 32 bits.
pub const WORD_BYTES: u32 = 4;

/// What a buffer descriptor holds: dimensions, and widths of registers in bits. They
/// count words of [`WORD_BYTES`].
///
/// # Source
/// Sec. 3.2 for dimensions. Masks of the `DMA_BD*` registers in the open driver of the
/// array (`aie-rt`), as `mlir-aie` checks them: the same for AIE-ML and AIE-ML v2. A
/// wrap is stored as it is, steps and the iteration's wrap less one. The dimension that
/// ends a transfer needs no wrap register: the length stops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// Dimensions of an address pattern.
    pub dims: u32,
    /// Elements of a dimension, but for the outermost.
    pub wrap: u32,
    /// Distance of a dimension's elements.
    pub step: u32,
    /// Times that the iteration offset is added.
    pub iteration: u32,
    /// Length of the transfer.
    pub length: u32,
}

impl DmaTile {
    /// What its buffer descriptors hold.
    #[must_use]
    pub const fn registers(self) -> Registers {
        match self {
            Self::Interface => Registers { dims: 3, wrap: 10, step: 20, iteration: 6, length: 32 },
            Self::Memory => Registers { dims: 4, wrap: 10, step: 17, iteration: 6, length: 17 },
            Self::Compute => Registers { dims: 3, wrap: 8, step: 13, iteration: 6, length: 14 },
        }
    }
}

/// One dimension of an address pattern, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Dim {
    /// How many.
    pub size: u64,
    /// From one to the next.
    pub stride: u64,
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.size, self.stride)
    }
}

/// The addresses of one transfer, in elements and in the order of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Pattern {
    /// First address.
    pub base: u64,
    /// Dimensions, innermost first.
    pub dims: Vec<Dim>,
    /// What is added to the base each time the descriptor runs again, and how often
    /// it runs.
    pub iteration: Option<Dim>,
}

impl Pattern {
    /// `(size, stride)`, innermost first.
    #[must_use]
    pub fn new(base: u64, dims: &[(u64, u64)]) -> Self {
        let dims = dims.iter().map(|(size, stride)| Dim { size: *size, stride: *stride }).collect();
        Self { base, dims, iteration: None }
    }

    /// One address after the other.
    #[must_use]
    pub fn linear(length: u64) -> Self {
        Self::new(0, &[(length, 1)])
    }

    /// Elements of the stream.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.run_length() * self.iteration.map_or(1, |it| it.size)
    }

    /// Elements of one run of the descriptor.
    fn run_length(&self) -> u64 {
        self.dims.iter().map(|it| it.size).product()
    }

    /// The addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        let counters = self.dims.iter().chain(&self.iteration).map(|dim| (0, *dim)).collect();
        Addresses { counters, address: self.base, left: self.length() }
    }

    /// The stream that memory gives.
    ///
    /// # Panics
    /// If an address is outside.
    #[must_use]
    pub fn read<T: Copy>(&self, memory: &[T]) -> Vec<T> {
        self.addresses().map(|it| memory[index(it)]).collect()
    }

    /// Writes a stream, which must be as long as the pattern, to memory.
    ///
    /// # Panics
    /// If an address is outside.
    pub fn write<T: Copy>(&self, memory: &mut [T], stream: &[T]) {
        for (address, value) in self.addresses().zip(stream) {
            memory[index(address)] = *value;
        }
    }

    /// The same addresses in as few dimensions as it takes.
    fn folded(&self) -> Vec<Dim> {
        let mut folded: Vec<Dim> = Vec::with_capacity(self.dims.len());
        for dim in self.dims.iter().filter(|it| it.size != 1) {
            match folded.last_mut() {
                Some(last) if last.size * last.stride == dim.stride => last.size *= dim.size,
                _ => folded.push(*dim),
            }
        }
        folded
    }

    /// Whether a descriptor of this tile holds the pattern: the number of
    /// dimensions, the granularity of addresses and the width of registers.
    ///
    /// Dimensions of one element do not count, and a pattern that is one contiguous
    /// run takes its length only.
    ///
    /// # Errors
    /// [`AddressProblem`] says what does not fit.
    pub fn check(&self, tile: DmaTile, element_bytes: u32) -> Result<(), AddressProblem> {
        if let Some(at) = self.dims.iter().chain(&self.iteration).position(|it| it.size == 0) {
            return Err(AddressProblem::Empty { dimension: at });
        }
        let folded = self.folded();
        let linear = matches!(folded[..], [] | [Dim { stride: 1, .. }]);
        let needed: Vec<_> = self.dims.iter().copied().filter(|it| it.size != 1).collect();
        let written = self.check_dims(&needed, linear, tile, element_bytes);
        // Folding saves dimensions, but can make one too long for its register.
        written.or_else(|problem| self.check_dims(&folded, linear, tile, element_bytes).map_err(|_| problem))
    }

    fn check_dims(
        &self,
        dims: &[Dim],
        linear: bool,
        tile: DmaTile,
        element_bytes: u32,
    ) -> Result<(), AddressProblem> {
        let word = u128::from(WORD_BYTES);
        let element = u128::from(element_bytes);
        let registers = tile.registers();
        let have = registers.dims;
        if dims.len() > have as usize {
            return Err(AddressProblem::Dimensions { asked: dims.len(), have });
        }
        let bytes_of = |elements: u64| u128::from(elements) * element;
        let aligned = |what, bytes: u128| {
            let error =
                AddressProblem::Granularity { what, bytes, word, elements: word / gcd(word, element) };
            if bytes.is_multiple_of(word) { Ok(()) } else { Err(error) }
        };
        aligned(Address::Base, bytes_of(self.base))?;
        // The innermost dimension in bytes: a run of elements, or one of them.
        let (run, outer) = match dims.split_first() {
            Some((first, rest)) if first.stride == 1 => (bytes_of(first.size), rest),
            _ => (element, dims),
        };
        let run = if linear { bytes_of(self.run_length()) } else { run };
        aligned(Address::Run, run)?;
        let check_step = |stride: u64| {
            aligned(Address::Stride, bytes_of(stride))?;
            let (words, most) = (bytes_of(stride) / word, 1u128 << registers.step);
            if words <= most {
                Ok(())
            } else {
                Err(AddressProblem::Step { words, most, bits: registers.step })
            }
        };
        if !linear {
            let most = (1u128 << registers.wrap) - 1;
            let sizes = std::iter::once(run / word).chain(outer.iter().map(|it| it.size.into()));
            for (at, size) in sizes.enumerate().take(outer.len()) {
                if size > most {
                    let bits = registers.wrap;
                    return Err(AddressProblem::Wrap { dimension: at, size, most, bits });
                }
            }
            outer.iter().try_for_each(|it| check_step(it.stride))?;
        }
        if let Some(Dim { size, stride }) = self.iteration.filter(|it| it.size != 1) {
            let most = 1 << registers.iteration;
            if size > most {
                return Err(AddressProblem::Iteration { size, most });
            }
            check_step(stride)?;
        }
        let (words, most) = (bytes_of(self.run_length()) / word, (1u128 << registers.length) - 1);
        let bits = registers.length;
        if words <= most { Ok(()) } else { Err(AddressProblem::Length { words, most, bits }) }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, dim) in self.dims.iter().enumerate() {
            write!(f, "{}{dim}", if at == 0 { "" } else { " " })?;
        }
        self.iteration.map_or(Ok(()), |it| write!(f, ", repeated {it}"))
    }
}

const fn gcd(one: u128, other: u128) -> u128 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// An address of something that is in memory.
fn index(address: u64) -> usize {
    usize::try_from(address).expect("what is in memory has addresses that fit")
}

/// The address generator: runs a [`Pattern`] as the hardware does, with one
/// counter per dimension.
#[derive(Debug, Clone)]
pub struct Addresses {
    counters: Vec<(u64, Dim)>,
    address: u64,
    left: u64,
}

impl Iterator for Addresses {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let address = self.address;
        for (count, dim) in &mut self.counters {
            *count += 1;
            if *count < dim.size {
                self.address += dim.stride;
                break;
            }
            *count = 0;
            self.address -= (dim.size - 1) * dim.stride;
        }
        Some(address)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        usize::try_from(self.left).map_or((usize::MAX, None), |it| (it, Some(it)))
    }
}

/// What the granularity of addresses applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// The first address.
    Base,
    /// A contiguous run.
    Run,
    /// The step of a dimension.
    Stride,
}

/// Why a pattern cannot be programmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressProblem {
    /// A dimension without elements.
    #[error("dimension {dimension} has no elements; use a size of at least 1")]
    Empty {
        /// From the innermost.
        dimension: usize,
    },
    /// More dimensions than the DMA has.
    #[error(
        "it needs {asked} dimensions, but the DMA has {have}; split the transformation between this channel \
         and the next"
    )]
    Dimensions {
        /// That the pattern needs.
        asked: usize,
        /// Of the DMA.
        have: u32,
    },
    /// Addresses between words.
    #[error(
        "its {} is {bytes} B, but addresses are in units of {word} B; use a multiple of {elements} elements",
        match what { Address::Base => "base", Address::Run => "contiguous run", Address::Stride => "stride" }
    )]
    Granularity {
        /// Of what.
        what: Address,
        /// As asked.
        bytes: u128,
        /// The granularity.
        word: u128,
        /// The fewest elements that are whole words.
        elements: u128,
    },
    /// A dimension too long.
    #[error(
        "dimension {dimension} has a size of {size} words or runs, but its wrap register of {bits} bits holds up \
         to {most}; use a smaller tile or split the dimension"
    )]
    Wrap {
        /// From the innermost.
        dimension: usize,
        /// As asked.
        size: u128,
        /// Most that the register holds.
        most: u128,
        /// Width of the register.
        bits: u32,
    },
    /// A stride too long.
    #[error(
        "it steps {words} words, but the step register of {bits} bits holds up to {most}; use a smaller matrix \
         or tile"
    )]
    Step {
        /// As asked.
        words: u128,
        /// Most that the register holds.
        most: u128,
        /// Width of the register.
        bits: u32,
    },
    /// Too many runs of one descriptor.
    #[error("it repeats {size} times, but the iteration register holds up to {most}; use more descriptors")]
    Iteration {
        /// As asked.
        size: u64,
        /// Most that the register holds.
        most: u64,
    },
    /// A transfer too long.
    #[error(
        "it moves {words} words, but the length register of {bits} bits holds up to {most}; use a smaller tile \
         or more descriptors"
    )]
    Length {
        /// As asked.
        words: u128,
        /// Most that the register holds.
        most: u128,
        /// Width of the register.
        bits: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &Pattern, tile: DmaTile, bytes: u32) -> Result<(), String> {
        pattern.check(tile, bytes).map_err(|it| it.to_string())
    }

    #[test]
    fn the_generator_counts_innermost_first() {
        let pattern =
            Pattern { iteration: Some(Dim { size: 2, stride: 0 }), ..Pattern::new(5, &[(2, 1), (3, 10)]) };
        let once = [5, 6, 15, 16, 25, 26];
        assert_eq!(pattern.addresses().collect::<Vec<_>>(), [once, once].concat());
        assert_eq!(pattern.to_string(), "(2, 1) (3, 10), repeated (2, 0)");
    }

    #[test]
    fn registers_hold_their_last_value_and_no_more() {
        use DmaTile::{Compute, Interface, Memory};
        for (tile, wrap, step) in
            [(Interface, 1023, 1 << 20), (Memory, 1023, 1 << 17), (Compute, 255, 1 << 13)]
        {
            let words = |size, stride, outer| Pattern::new(0, &[(size, 1), (2, stride), (outer, 1)]);
            assert_eq!(check(&words(wrap, step, 1), tile, 4), Ok(()));
            assert!(check(&words(wrap + 1, step, 1), tile, 4).unwrap_err().contains("wrap register"));
            assert!(check(&words(wrap, step + 1, 1), tile, 4).unwrap_err().contains("step register"));
            // The outermost dimension needs no wrap, four bytes make one word.
            assert_eq!(check(&Pattern::new(0, &[(4, 1), (wrap + 1, 8)]), tile, 1), Ok(()));
            assert_eq!(check(&Pattern::new(0, &[(4 * wrap, 1), (2, 4 * step)]), tile, 1), Ok(()));
        }
        // One contiguous run takes a length only, however it is written.
        let whole = |words: u64| Pattern::new(0, &[(words / 2, 1), (2, words / 2)]);
        assert_eq!(check(&whole((1 << 14) - 2), Compute, 4), Ok(()));
        assert!(check(&whole(1 << 14), Compute, 4).unwrap_err().contains("length register"));
    }

    #[test]
    fn what_cannot_be_programmed_is_told() {
        let error = check(&Pattern::new(0, &[(2, 1), (8, 16)]), DmaTile::Memory, 1).unwrap_err();
        let text =
            "its contiguous run is 2 B, but addresses are in units of 4 B; use a multiple of 4 elements";
        assert_eq!(error, text);
        assert!(
            check(&Pattern::new(1, &[(2, 1)]), DmaTile::Memory, 2)
                .unwrap_err()
                .starts_with("its base is 2 B")
        );
        let five = Pattern::new(0, &[(4, 1), (2, 8), (2, 32), (2, 128), (2, 512)]);
        assert!(check(&five, DmaTile::Memory, 4).unwrap_err().starts_with("it needs 5 dimensions"));
        let empty = check(&Pattern::new(0, &[(4, 1), (0, 8)]), DmaTile::Memory, 4).unwrap_err();
        assert_eq!(empty, "dimension 1 has no elements; use a size of at least 1");
    }

    /// Sec. 4.4: the programming example, which walks the column blocks of a
    /// column-major bf16 B by the iteration offset, ends at a K of about 4K on XDNA2.
    /// If a core takes 64 columns, the step register says so too.
    #[test]
    fn iterating_over_column_blocks_ends_at_4k() {
        let walk = |k: u64| Pattern {
            iteration: Some(Dim { size: 8, stride: 64 * 8 * k }),
            ..Pattern::new(0, &[(64, 1), (64, k), (k / 64, 64)])
        };
        assert_eq!(check(&walk(4096), DmaTile::Interface, 2), Ok(()));
        assert!(check(&walk(4096 + 64), DmaTile::Interface, 2).unwrap_err().contains("step register"));
    }
}
