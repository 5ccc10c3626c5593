//! The DMA chains of Fig. 4: how A, B and C change their layout on the way between
//! DRAM and L1.
//!
//! A core reads blocks of `r x s` of A and of `s x t` of B, elements and blocks in
//! row-major order, or for a column-major B in column-major order; it shuffles each
//! `t x s` block in registers. DRAM holds whole matrices. The channels on the way
//! reorder elements so that nobody else has to.

use std::fmt::{self, Write as _};
use std::num::NonZeroU8;

use memscape_study::Recent;
use serde::Serialize;

use crate::hardware::device::{Device, Mmul};
use crate::hardware::precision::Precision;
use crate::mapping::design::{BLayout, Design};
use crate::mapping::dma::{AddressProblem, Channel, Direction, DmaTile, Pattern};
use crate::mapping::tile::{Tile, TileError, nearest_multiples};

/// A matrix of a GEMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Operand {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The product.
    C,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What one channel does with a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// The matrix.
    pub operand: Operand,
    /// The channel.
    pub channel: Channel,
    /// Bytes of one element.
    pub element_bytes: u32,
    /// Addresses of one buffer descriptor.
    pub pattern: Pattern,
}

impl Transfer {
    /// Whether a buffer descriptor holds it.
    ///
    /// # Errors
    /// [`ChainError::Address`] says what does not fit.
    pub fn check(&self) -> Result<(), ChainError> {
        let result = self.pattern.check(self.channel.tile, self.element_bytes);
        result.map_err(|problem| ChainError::Address {
            transfer: Box::new(self.clone()),
            problem,
            chains: None,
        })
    }
}

/// A chain from DRAM to L1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Reads DRAM, once per descriptor.
    pub interface: Transfer,
    /// Writes L2, once per buffer.
    pub memory_in: Transfer,
    /// Reads L2, once per buffer.
    pub memory_out: Transfer,
    /// Writes L1, once per tile.
    pub compute: Transfer,
}

impl Load {
    /// Its channels, from source to destination.
    #[must_use]
    pub fn transfers(&self) -> Vec<&Transfer> {
        vec![&self.interface, &self.memory_in, &self.memory_out, &self.compute]
    }

    /// Moves what the descriptor in the interface tile covers to L1: the tiles that
    /// a core sees, one after the other.
    ///
    /// # Panics
    /// If `dram` is smaller than the matrix that the chain was built for.
    #[must_use]
    pub fn run<T: Copy + Default>(&self, dram: &[T]) -> Vec<T> {
        let stream = self.interface.pattern.read(dram);
        let mut l1 = vec![T::default(); stream.len()];
        let mut l2 = vec![T::default(); length(&self.memory_in)];
        let tile = length(&self.compute);
        for (stream, tiles) in stream.chunks_exact(l2.len()).zip(l1.chunks_exact_mut(l2.len())) {
            self.memory_in.pattern.write(&mut l2, stream);
            let stream = self.memory_out.pattern.read(&l2);
            for (stream, tile) in stream.chunks_exact(tile).zip(tiles.chunks_exact_mut(tile)) {
                self.compute.pattern.write(tile, stream);
            }
        }
        l1
    }
}

/// A chain from the L1 of all cores of a column to DRAM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Store {
    /// Reads L1, in each core.
    pub compute: Transfer,
    /// Writes L2: one channel per row of cores.
    pub memory_in: Vec<Transfer>,
    /// Reads L2.
    pub memory_out: Transfer,
    /// Writes DRAM.
    pub interface: Transfer,
}

impl Store {
    /// Its channels, from source to destination.
    #[must_use]
    pub fn transfers(&self) -> Vec<&Transfer> {
        let last = [&self.memory_out, &self.interface];
        std::iter::once(&self.compute).chain(&self.memory_in).chain(last).collect()
    }

    /// Moves the tiles of a column's cores, one per row, to DRAM.
    ///
    /// # Panics
    /// If `dram` is smaller than the matrix that the chain was built for.
    pub fn run<T: Copy + Default>(&self, tiles: &[Vec<T>], dram: &mut [T]) {
        let mut l2 = vec![T::default(); length(&self.memory_out)];
        for (tile, memory_in) in tiles.iter().zip(&self.memory_in) {
            memory_in.pattern.write(&mut l2, &self.compute.pattern.read(tile));
        }
        self.interface.pattern.write(dram, &self.memory_out.pattern.read(&l2));
    }
}

fn length(transfer: &Transfer) -> usize {
    usize::try_from(transfer.pattern.length()).expect("buffers in memory have lengths that fit")
}

/// A chain's channels as a table: one line each, dimensions as (size, stride) in
/// elements and innermost first.
///
/// # Example
/// ```
/// use memscape_npu::mapping::design::BLayout;
/// use memscape_npu::mapping::chain::{Chains, table};
/// use memscape_npu::{DEVICES, Precision, Tile};
///
/// let device = DEVICES.get("xdna");
/// let tile = Tile { m: 112, k: 56, n: 112 };
/// let chains = Chains::new(device, Precision::Int8Int8, tile, 224, BLayout::ColumnMajor)?;
/// let a = chains.a(chains.pad([4000, 4000, 4000])?, 0);
/// assert_eq!(table(&a.transfers()), "\
/// matrix  channel              base  dimensions (size, stride), innermost first
/// A       interface tile MM2S     0  (224, 1) (112, 4032) (18, 224)
/// A       memory tile S2MM        0  (56, 1) (4, 6272) (112, 56)
/// A       memory tile MM2S        0  (8, 1) (112, 56) (7, 8) (4, 6272)
/// A       compute tile S2MM       0  (32, 1) (28, 224) (7, 32)
/// ");
/// # Ok::<(), memscape_npu::mapping::chain::ChainError>(())
/// ```
#[must_use]
pub fn table(transfers: &[&Transfer]) -> String {
    let bases: Vec<_> = transfers.iter().map(|it| it.pattern.base.to_string()).collect();
    let width = bases.iter().map(String::len).max().unwrap_or(0).max("base".len());
    let mut text = format!(
        "{:6}  {:19}  {:>width$}  dimensions (size, stride), innermost first\n",
        "matrix", "channel", "base"
    );
    for (transfer, base) in transfers.iter().zip(bases) {
        let channel = transfer.channel.to_string();
        writeln!(
            text,
            "{:6}  {channel:19}  {base:>width$}  {}",
            transfer.operand.to_string(),
            transfer.pattern
        )
        .expect("a string takes everything");
    }
    text
}

/// Position of element (`row`, `column`) in a tile of so many `columns` that is cut
/// into blocks, both blocks and the elements of a block in row-major order.
///
/// The layouts in L1: A is `m x k` in blocks of `r x s`, a row-major B `k x n` in `s x
/// t`, a column-major B is its transpose `n x k` in `t x s`, C `m x n` in `r x t`.
#[must_use]
pub const fn blocked_index(
    row: u64,
    column: u64,
    columns: u64,
    [block_rows, block_columns]: [u64; 2],
) -> u64 {
    let block = row / block_rows * (columns / block_columns) + column / block_columns;
    (block * block_rows + row % block_rows) * block_columns + column % block_columns
}

/// A GEMM's size in whole multiples of the native size: see [`Chains::pad`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaddedSize {
    m: u64,
    k: u64,
    n: u64,
}

impl PaddedSize {
    /// Rows of A and C.
    #[must_use]
    pub const fn m(self) -> u64 {
        self.m
    }

    /// Columns of A, rows of B.
    #[must_use]
    pub const fn k(self) -> u64 {
        self.k
    }

    /// Columns of B and C.
    #[must_use]
    pub const fn n(self) -> u64 {
        self.n
    }
}

/// Longest dimension of a GEMM, padded: the elements of a matrix can be counted.
pub const MAX_SIZE: u64 = 1 << 31;

/// Why there is no chain.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A tile that cannot be multiplied.
    #[error(transparent)]
    Tile(#[from] TileError),
    /// L2 buffers that are no whole number of tiles.
    #[error("`k_mt` is {k_mt}, which is not a multiple of `k_ct` = {k_ct}; use {}", nearest_multiples(*k_mt, *k_ct))]
    KMt {
        /// As given.
        k_mt: u32,
        /// The kernel's reduction.
        k_ct: u32,
    },
    /// A dimension of zero, or too long.
    #[error("`{dimension}` is {given} ({padded} with padding); use 1 to {MAX_SIZE} with padding")]
    Size {
        /// `m`, `k` or `n`.
        dimension: &'static str,
        /// As given.
        given: u64,
        /// In multiples of the native size.
        padded: u64,
    },
    /// A transfer that no buffer descriptor holds.
    #[error(
        "{}'s {} cannot be programmed as {}: {problem}{}",
        transfer.operand, transfer.channel, transfer.pattern,
        chains.as_ref().map(|it| format!(" for {}", it.run(transfer))).unwrap_or_default()
    )]
    Address {
        /// The transfer.
        transfer: Box<Transfer>,
        /// What does not fit.
        problem: AddressProblem,
        /// What it is of, where its contiguous run is no whole number of words: that tells the parameters which the run
        /// is as long as.
        chains: Option<Box<Chains>>,
    },
}

impl ChainError {
    /// Whether a transfer's addresses lie between words.
    #[must_use]
    pub const fn is_between_words(&self) -> bool {
        matches!(self, Self::Address { problem: AddressProblem::Granularity { .. }, .. })
    }
}

/// What all chains of a design are built from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chains {
    /// Rows and columns of them.
    cores: [u64; 2],
    precision: Precision,
    mmul: Mmul,
    tile: Tile,
    k_mt: u32,
    b_layout: BLayout,
}

impl Chains {
    /// Whether every transfer of a product of this size fits a buffer descriptor.
    ///
    /// # Errors
    /// [`ChainError`] names the channel at fault.
    pub fn check(device: &Device, design: &Design, size: [u64; 3]) -> Result<(), ChainError> {
        let Design { precision, tile, k_mt, b_layout, .. } = *design;
        thread_local!(static KEPT: Recent<(Chains, [u64; 3]), ()> = const { Recent::new() });
        let chains = Self::new(device, precision, tile, k_mt, b_layout)?;
        KEPT.with(|it| it.get((chains, size), |(chains, size)| chains.pad(*size).map(drop)))
    }

    /// Whether the transfers between memory tiles and cores fit, which depend on the tile
    /// alone: if not, no step and no size helps.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_cores(device: &Device, design: &Design) -> Result<(), ChainError> {
        let Design { precision, tile, b_layout, .. } = *design;
        let chains = Self::new(device, precision, tile, tile.k, b_layout)?;
        let [m, k, n] = [tile.m, tile.k, tile.n].map(u64::from);
        let [rows, columns] = chains.cores();
        let one = PaddedSize { m: rows * m, k, n: columns * n };
        for load in [chains.a(one, 0), chains.b(one, 0)] {
            [&load.memory_out, &load.compute].into_iter().try_for_each(|it| chains.fits(it))?;
        }
        let store = chains.c(one, 0, 0);
        store.memory_in.iter().chain([&store.compute, &store.memory_out]).try_for_each(|it| chains.fits(it))
    }

    /// Whether a buffer descriptor holds one of its transfers.
    fn fits(&self, transfer: &Transfer) -> Result<(), ChainError> {
        transfer.check().map_err(|error| match error {
            ChainError::Address { transfer, problem, .. } => {
                let between_words = matches!(problem, AddressProblem::Granularity { .. });
                let chains = between_words.then(|| Box::new(*self));
                ChainError::Address { transfer, problem, chains }
            }
            other => other,
        })
    }

    /// The parameters that the contiguous run of a transfer is as long as.
    fn run(&self, transfer: &Transfer) -> String {
        let Transfer { operand, channel: Channel { tile, direction }, .. } = transfer;
        let instruction = self.precision.instruction();
        let of_instruction = |name, it: NonZeroU8| format!("`device.{instruction}.{name}` = {it}");
        let of_tile = |name, it: u32| format!("`{name}` = {it}");
        let s = of_instruction("s", self.mmul.s);
        let [k_ct, n_ct] = [("k_ct", self.tile.k), ("n_ct", self.tile.n)].map(|(name, it)| of_tile(name, it));
        let along_k = match operand {
            Operand::A => true,
            Operand::B => self.b_layout == BLayout::ColumnMajor,
            Operand::C => false,
        };
        let factors = match (tile, operand, direction) {
            (DmaTile::Interface, ..) if along_k => vec![of_tile("k_mt", self.k_mt)],
            (DmaTile::Interface, ..) => vec![n_ct],
            (DmaTile::Memory, _, Direction::Mm2s) if along_k => vec![s],
            (DmaTile::Memory, _, Direction::S2mm) if along_k => vec![k_ct],
            (DmaTile::Compute, Operand::A, _) => vec![of_instruction("r", self.mmul.r), s],
            (DmaTile::Compute, Operand::B, _) if along_k => vec![of_instruction("t", self.mmul.t), s],
            (DmaTile::Memory, Operand::B, Direction::Mm2s)
            | (DmaTile::Memory, Operand::C, Direction::S2mm) => {
                vec![of_instruction("t", self.mmul.t)]
            }
            (_, Operand::A | Operand::B, _) => vec![k_ct, n_ct],
            (_, Operand::C, _) => vec![of_tile("m_ct", self.tile.m), n_ct],
        };
        factors.join(" times ")
    }

    /// The chains of a design.
    ///
    /// # Errors
    /// [`ChainError`] if the tile is no multiple of the register block, or `k_mt` no
    /// multiple of the tile.
    pub fn new(
        device: &Device,
        precision: Precision,
        tile: Tile,
        k_mt: u32,
        b_layout: BLayout,
    ) -> Result<Self, ChainError> {
        let mmul = tile.mmul(device, precision)?;
        if k_mt == 0 || !k_mt.is_multiple_of(tile.k) {
            return Err(ChainError::KMt { k_mt, k_ct: tile.k });
        }
        let cores = [device.rows, device.columns].map(|it| it.get().into());
        Ok(Self { cores, precision, mmul, tile, k_mt, b_layout })
    }

    /// Types.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.precision
    }

    /// What a core multiplies at once.
    #[must_use]
    pub const fn tile(&self) -> Tile {
        self.tile
    }

    /// The matrix instruction.
    #[must_use]
    pub const fn mmul(&self) -> Mmul {
        self.mmul
    }

    /// How B lies in DRAM.
    #[must_use]
    pub const fn b_layout(&self) -> BLayout {
        self.b_layout
    }

    /// Rows and columns of cores.
    #[must_use]
    pub const fn cores(&self) -> [u64; 2] {
        self.cores
    }

    /// A size in whole multiples of the native size, `m_ct * rows` by `k_mt` by `n_ct *
    /// columns`.
    ///
    /// # Errors
    /// [`ChainError::Size`] if a dimension is zero or too long, or
    /// [`ChainError::Address`] if a chain of this size cannot be programmed.
    pub fn pad(&self, size: [u64; 3]) -> Result<PaddedSize, ChainError> {
        let [rows, columns] = self.cores();
        let Tile { m, n, .. } = self.tile;
        let padded = |dimension, given: u64, native: u64| {
            let padded = given.div_ceil(native).saturating_mul(native);
            let fits = (1..=MAX_SIZE).contains(&padded);
            if fits { Ok(padded) } else { Err(ChainError::Size { dimension, given, padded }) }
        };
        let padded = PaddedSize {
            m: padded("m", size[0], rows * u64::from(m))?,
            k: padded("k", size[1], self.k_mt.into())?,
            n: padded("n", size[2], columns * u64::from(n))?,
        };
        // Bases are multiples of strides that are checked here.
        for load in [self.a(padded, 0), self.b(padded, 0)] {
            load.transfers().into_iter().try_for_each(|it| self.fits(it))?;
        }
        self.c(padded, 0, 0).transfers().into_iter().try_for_each(|it| self.fits(it))?;
        Ok(padded)
    }

    /// The chain of `m_ct` rows of A, the `row_block`-th of the matrix. L1 holds an `m x k`
    /// tile as `[m/r][k/s][r][s]`.
    #[must_use]
    pub fn a(&self, size: PaddedSize, row_block: u64) -> Load {
        self.along_k(Operand::A, size, self.tile.m, self.mmul.r.get().into(), row_block)
    }

    /// The chain of `n_ct` columns of B, the `column_block`-th of the matrix. L1 holds a `k x
    /// n` tile as `[n/t][k/s][t][s]` if B is column-major, else as `[k/s][n/t][s][t]`.
    #[must_use]
    pub fn b(&self, size: PaddedSize, column_block: u64) -> Load {
        match self.b_layout {
            BLayout::ColumnMajor => {
                self.along_k(Operand::B, size, self.tile.n, self.mmul.t.get().into(), column_block)
            }
            BLayout::RowMajor => self.b_row_major(size, column_block),
        }
    }

    /// The chain of a matrix whose rows lie along the reduction: `height` rows, cut into
    /// blocks of `block x s`.
    fn along_k(&self, operand: Operand, size: PaddedSize, height: u32, block: u32, row_block: u64) -> Load {
        let (height, block) = (u64::from(height), u64::from(block));
        let (k, k_mt, s) = (u64::from(self.tile.k), u64::from(self.k_mt), u64::from(self.mmul.s.get()));
        let load = Channels { operand, element_bytes: self.precision.input_bytes() };
        Load {
            // Steps of `k_mt` columns, row by row.
            interface: load.interface(
                Direction::Mm2s,
                Pattern::new(
                    row_block * height * size.k,
                    &[(k_mt, 1), (height, size.k), (size.k / k_mt, k_mt)],
                ),
            ),
            // Tiles of `k` columns, row-major.
            memory_in: load
                .memory(Direction::S2mm, Pattern::new(0, &[(k, 1), (k_mt / k, height * k), (height, k)])),
            // Strips of `s` columns: the rows of a block follow each other, so that the
            // core's channel can count them as one dimension.
            memory_out: load.memory(
                Direction::Mm2s,
                Pattern::new(0, &[(s, 1), (height, k), (k / s, s), (k_mt / k, height * k)]),
            ),
            compute: load.compute(
                Direction::S2mm,
                Pattern::new(0, &[(block * s, 1), (height / block, block * k), (k / s, block * s)]),
            ),
        }
    }

    fn b_row_major(&self, size: PaddedSize, column_block: u64) -> Load {
        let (k, n) = (u64::from(self.tile.k), u64::from(self.tile.n));
        let (s, t) = (u64::from(self.mmul.s.get()), u64::from(self.mmul.t.get()));
        let load = Channels { operand: Operand::B, element_bytes: self.precision.input_bytes() };
        Load {
            interface: load
                .interface(Direction::Mm2s, Pattern::new(column_block * n, &[(n, 1), (size.k, size.n)])),
            memory_in: load.memory(Direction::S2mm, Pattern::linear(k * n)),
            memory_out: load
                .memory(Direction::Mm2s, Pattern::new(0, &[(t, 1), (s, n), (n / t, t), (k / s, s * n)])),
            compute: load.compute(Direction::S2mm, Pattern::linear(k * n)),
        }
    }

    /// The chain of a column's tiles of C, from the cores in all its rows. L1 holds an `m x
    /// n` tile as `[m/r][n/t][r][t]`.
    #[must_use]
    pub fn c(&self, size: PaddedSize, block_row: u64, column_block: u64) -> Store {
        let (m, n) = (u64::from(self.tile.m), u64::from(self.tile.n));
        let (r, t) = (u64::from(self.mmul.r.get()), u64::from(self.mmul.t.get()));
        let [rows, _] = self.cores();
        let store = Channels { operand: Operand::C, element_bytes: self.precision.output_bytes() };
        let unblock = [(t, 1), (r, n), (n / t, t), (m / r, r * n)];
        Store {
            compute: store.compute(Direction::Mm2s, Pattern::linear(m * n)),
            memory_in: (0..rows)
                .map(|row| store.memory(Direction::S2mm, Pattern::new(row * m * n, &unblock)))
                .collect(),
            memory_out: store.memory(Direction::Mm2s, Pattern::linear(rows * m * n)),
            interface: store.interface(
                Direction::S2mm,
                Pattern::new(block_row * rows * m * size.n + column_block * n, &[(n, 1), (rows * m, size.n)]),
            ),
        }
    }
}

/// Names the channels of one matrix.
struct Channels {
    operand: Operand,
    element_bytes: u32,
}

impl Channels {
    fn transfer(&self, tile: DmaTile, direction: Direction, pattern: Pattern) -> Transfer {
        let channel = Channel { tile, direction };
        Transfer { operand: self.operand, channel, element_bytes: self.element_bytes, pattern }
    }

    fn interface(&self, direction: Direction, pattern: Pattern) -> Transfer {
        self.transfer(DmaTile::Interface, direction, pattern)
    }

    fn memory(&self, direction: Direction, pattern: Pattern) -> Transfer {
        self.transfer(DmaTile::Memory, direction, pattern)
    }

    fn compute(&self, direction: Direction, pattern: Pattern) -> Transfer {
        self.transfer(DmaTile::Compute, direction, pattern)
    }
}
