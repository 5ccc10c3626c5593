//! A design: what is chosen for the array, and whether its memories hold it.
//!
//! C is cut into blocks of `m_ct * rows` by `n_ct * columns`, one tile per core; a
//! block stays in L1 while `k_mt` columns of A and rows of B after the other pass
//! through the memory tiles.

use memscape_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::device::{Device, Mmul};
use crate::hardware::precision::Precision;
use crate::mapping::dma::Direction;
use crate::mapping::tile::{L1Rule, L1Use, OutputBuffers, Tile, TileError, nearest_multiples};

/// How B lies in DRAM. A and C are row-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BLayout {
    /// Column by column: runs of `k_mt` elements.
    ColumnMajor,
    /// Row by row: runs of `n_ct` elements.
    RowMajor,
}

/// When the command processor rewrites buffer descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BdReconfiguration {
    /// As soon as a block of C is written, while others are under way (Sec. 4.4).
    Overlapped,
    /// When all submitted blocks are written, and nothing else happens meanwhile.
    Sequential,
}

/// What is chosen for an array, beside the size of the GEMM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// Types.
    pub precision: Precision,
    /// What a core multiplies at once.
    pub tile: Tile,
    /// Length of the reduction that memory tiles hold at once, a multiple of `k_ct`.
    pub k_mt: u32,
    /// How B lies in DRAM.
    pub b_layout: BLayout,
    /// Buffers of C in L1.
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte.
    pub l1_rule: L1Rule,
    /// When buffer descriptors are rewritten.
    pub bd_reconfiguration: BdReconfiguration,
    /// Blocks of C submitted ahead, each with descriptors of its own in the interface tiles.
    pub bds_in_flight: u32,
    /// Throughput of one core as measured, instead of the kernel model's.
    pub measured_macs_per_cycle: Option<f64>,
}

/// What memory tiles hold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L2Use {
    /// Both buffers of one row's A.
    pub a: u64,
    /// Both buffers of one column's B.
    pub b: u64,
    /// One column's block of C.
    pub c: u64,
    /// All memory tiles together.
    pub total: u64,
    /// A's part of the memory tile that holds most of it.
    pub fullest_a: u64,
    /// The fullest memory tile.
    pub fullest: u64,
    /// The fullest pair of neighbours, which may share; the fullest tile if there is
    /// only one.
    pub fullest_pair: u64,
}

/// Why a design cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The tile.
    #[error(transparent)]
    Tile(#[from] TileError),
    /// A step that is no whole number of calls.
    #[error(
        "`k_mt` is {k_mt}, which is not a multiple of `k_ct` = {k_ct}; use {}",
        nearest_multiples(*k_mt, *k_ct)
    )]
    KMt {
        /// As given.
        k_mt: u32,
        /// The kernel's reduction.
        k_ct: u32,
    },
    /// Memory tiles are too small, even if neighbours share.
    #[error(
        "`k_mt` = {k_mt} needs {} in the fullest memory tile ({} for A and {} for B, two buffers each, {} for \
         C){}, but it holds {have}; use {}a smaller tile",
        Bytes(r#use.fullest), Bytes(r#use.fullest_a), Bytes(r#use.b), Bytes(r#use.c),
        if r#use.fullest_pair == r#use.fullest { String::new() }
        else { format!(" and {} with its neighbour", Bytes(r#use.fullest_pair)) },
        if *largest_k_mt == 0 { String::new() } else { format!("a `k_mt` of at most {largest_k_mt} or ") }
    )]
    L2 {
        /// As given.
        k_mt: u32,
        /// What it needs.
        r#use: L2Use,
        /// What one memory tile holds.
        have: Bytes,
        /// The longest step that fits, 0 if none.
        largest_k_mt: u32,
    },
    /// More descriptors than an interface tile has.
    #[error(
        "`bds_in_flight` is {asked}: with {asked} times {each} descriptors ({} for A, one each for B and C) an \
         interface tile needs {}, but it has {have}; {}",
        each - 2, u64::from(*each) * u64::from(*asked), match have / each {
            0 => format!("give it {each} at least (`device.shim_bds`)"),
            1 => "use 1, or more `device.shim_bds`".to_owned(),
            most => format!("use 1 to {most}, or more `device.shim_bds`"),
        }
    )]
    Descriptors {
        /// As given.
        asked: u32,
        /// Descriptors of a block in an interface tile.
        each: u32,
        /// Descriptors of an interface tile.
        have: u32,
    },
    /// More transfers at a time than a memory tile has DMA channels.
    #[error(
        "memory tiles need {asked} {direction} channels at a time ({rows_or_tiles} for {matrix}, one each for \
         the others), but have {have}; use {}",
        fewer_transfers(*direction, *asked, *have)
    )]
    Channels {
        /// Which way.
        direction: Direction,
        /// The matrix that takes most.
        matrix: &'static str,
        /// How many it takes.
        rows_or_tiles: u32,
        /// What the design needs.
        asked: u32,
        /// What the tile has.
        have: u32,
    },
    /// A throughput that no core can have.
    #[error(
        "`measured_macs_per_cycle` is {given}; it must be above 0 and at most {peak}, the peak of one core for \
         `{precision}`"
    )]
    Measurement {
        /// As given.
        given: f64,
        /// The peak.
        peak: f64,
        /// The precision.
        precision: Precision,
    },
}

/// What gives each transfer a channel: more of them, or fewer rows. The other matrices have a channel each, whatever the
/// rows.
fn fewer_transfers(direction: Direction, asked: u32, have: u32) -> String {
    let more = (asked <= u8::MAX.into()).then(|| format!("`device.memory_channels` = {asked} at least"));
    let fewer = match (have, direction) {
        (..=2, _) if asked == 3 => None,
        (..=2, _) => Some("3 of them with `device.rows` = 1".to_owned()),
        (_, Direction::S2mm) => Some(format!("`device.rows` = {} at most", have - 2)),
        (_, Direction::Mm2s) => Some("fewer `device.rows` or another `device.a_column_stride`".to_owned()),
    };
    more.into_iter().chain(fewer).collect::<Vec<_>>().join(", or ")
}

impl Design {
    /// The native size: what the whole array takes in one step.
    #[must_use]
    pub fn native(&self, device: &Device) -> [u64; 3] {
        [
            u64::from(self.tile.m) * u64::from(device.rows.get()),
            self.k_mt.into(),
            u64::from(self.tile.n) * u64::from(device.columns.get()),
        ]
    }

    /// What memory tiles hold (Sec. 4.2.2).
    #[must_use]
    pub fn l2(&self, device: &Device) -> L2Use {
        let input = u64::from(self.precision.input_bytes());
        let b_depth = match self.b_layout {
            BLayout::ColumnMajor => self.k_mt,
            BLayout::RowMajor => self.tile.k,
        };
        // L1 holds the tile, which bounds all but `k_mt`.
        let Tile { m, n, .. } = self.tile;
        let a = 2 * u64::from(m) * u64::from(self.k_mt) * input;
        let b = 2 * u64::from(b_depth) * u64::from(n) * input;
        let outputs = u64::from(device.rows.get()) * self.tile.outputs();
        let c = outputs * u64::from(self.precision.output_bytes());
        let tiles = device.a_tiles();
        let columns = usize::from(device.columns.get());
        let held = |column: usize| u64::from(tiles[column]) * a + b + c;
        let fullest = (0..columns).map(held).max().unwrap_or(0);
        let fullest_pair = (1..columns).map(|it| held(it - 1) + held(it)).max().unwrap_or(fullest);
        let total = u64::from(device.rows.get()) * a + u64::from(device.columns.get()) * (b + c);
        let fullest_a = u64::from(tiles.into_iter().max().unwrap_or(0)) * a;
        L2Use { a, b, c, total, fullest_a, fullest, fullest_pair }
    }

    /// A size in whole multiples of the native size.
    #[must_use]
    pub fn padded(&self, device: &Device, size: [u64; 3]) -> [u64; 3] {
        let native = self.native(device);
        [0, 1, 2].map(|it| size[it].next_multiple_of(native[it]))
    }

    /// Checks tile, step, memories, descriptors and what was measured.
    ///
    /// # Errors
    /// [`DesignError`] prints the budget.
    pub fn check(&self, device: &Device) -> Result<(L1Use, L2Use), DesignError> {
        let mmul = self.tile.mmul(device, self.precision)?;
        let l1 = self.tile.check_l1(device, self.precision, self.output_buffers, self.l1_rule)?;
        let l2 = self.check_l2(device)?;
        self.check_channels(device)?;
        self.check_measurement(mmul)?;
        Ok((l1, l2))
    }

    /// Checks what does not depend on tile and step: descriptors, and that memory tiles have
    /// a channel for each transfer that they do at the same time (Sec. 4.2.2).
    ///
    /// # Errors
    /// [`DesignError`].
    pub fn check_channels(&self, device: &Device) -> Result<(), DesignError> {
        // Memory tiles gather C from every row of their column while A and B come in, and
        // send each of their tiles of A to a row of its own. Other tiles' channels always do.
        let have = device.memory_channels.get().into();
        let tiles_of_a = device.a_tiles().into_iter().max().unwrap_or(0);
        for (direction, matrix, rows_or_tiles) in
            [(Direction::S2mm, "C", device.rows.get()), (Direction::Mm2s, "A", tiles_of_a)]
        {
            let rows_or_tiles = u32::from(rows_or_tiles);
            let asked = rows_or_tiles + 2;
            if asked > have {
                return Err(DesignError::Channels { direction, matrix, rows_or_tiles, asked, have });
            }
        }
        let (asked, have) = (self.bds_in_flight, u32::from(device.shim_bds.get()));
        let each = device.block_descriptors();
        if asked == 0 || u64::from(asked) * u64::from(each) > u64::from(have) {
            return Err(DesignError::Descriptors { asked, each, have });
        }
        Ok(())
    }

    fn check_l2(&self, device: &Device) -> Result<L2Use, DesignError> {
        check_step(self.tile, self.k_mt)?;
        let l2 = self.l2(device);
        if !l2.fits(device) {
            let steps = (1..self.k_mt / self.tile.k).rev().map(|it| it * self.tile.k);
            let fitting = steps.into_iter().find(|it| Self { k_mt: *it, ..*self }.l2(device).fits(device));
            return Err(DesignError::L2 {
                k_mt: self.k_mt,
                r#use: l2,
                have: Bytes(device.l2_bytes.get().into()),
                largest_k_mt: fitting.unwrap_or(0),
            });
        }
        Ok(l2)
    }

    fn check_measurement(&self, mmul: Mmul) -> Result<(), DesignError> {
        let peak = mmul.macs_per_cycle();
        match self.measured_macs_per_cycle {
            Some(given) if !(given > 0.0 && given <= peak) => {
                Err(DesignError::Measurement { given, peak, precision: self.precision })
            }
            _ => Ok(()),
        }
    }
}

/// Checks that a step is a whole number of calls.
///
/// # Errors
/// [`DesignError::KMt`] names the nearest that are.
pub(crate) const fn check_step(tile: Tile, k_mt: u32) -> Result<(), DesignError> {
    if k_mt == 0 || !k_mt.is_multiple_of(tile.k) {
        return Err(DesignError::KMt { k_mt, k_ct: tile.k });
    }
    Ok(())
}

impl L2Use {
    /// Whether memory tiles hold it, neighbours sharing.
    #[must_use]
    pub fn fits(&self, device: &Device) -> bool {
        let have = u64::from(device.l2_bytes.get());
        let pair = if device.columns.get() == 1 { have } else { 2 * have };
        (self.fullest <= have || device.columns.get() > 1)
            && self.fullest_pair <= pair
            && self.total <= have * u64::from(device.columns.get())
    }

    /// Whether a memory tile needs part of its neighbour.
    #[must_use]
    pub fn shares(&self, device: &Device) -> bool {
        self.fullest > device.l2_bytes.get().into()
    }
}
