//! Which weights go to which bank: tile shape, tile order and CR degree.
//!
//! # Source
//! Ibrahim, Islam, Aga: "Balanced Data Placement for GEMV Acceleration with
//! Processing-In-Memory", algorithms 1 to 3 and table I. Where they cannot be
//! followed to the letter, the docs of each function say so.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keyword::keyword_or_count;

/// A block of the weight matrix that fills one interleaving unit of memory.
/// Column-major inside, so that SIMD lanes work on different rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TileShape {
    /// Rows (elements of the output vector).
    pub m: u64,
    /// Columns (elements of the input vector).
    pub k: u64,
}

keyword_or_count!(
    /// How the tile shape is chosen.
    TilePolicy, "This height, whatever its balance.", {
        /// As the placement chooses it.
        Auto = "auto",
    }
);

keyword_or_count!(
    /// How many row-blocks of a bank share one pass over the input vector.
    CrDegree, "This degree, if row-blocks and registers allow.", {
        /// As the placement chooses it.
        Auto = "auto",
    }
);

/// How tile shape and CR degree are chosen, and in which order the weights lie.
///
/// # Source
/// The baselines are those that PIMnast argues against, in sections VI-B and VII;
/// it does not print their orchestration. Both here are the plainest that compute
/// under broadcast commands, which multiply the same input element in all banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// A row of tiles in one bank, in the order of use; of all tile heights and CR
    /// degrees that fit, those of least time.
    Best,
    /// The same order; tile height and CR degree by algorithms 1 and 3, as printed.
    Pimnast,
    /// Interleaving units along matrix columns. All banks work on one column, and
    /// only those that hold its units do work. A unit has more sums than registers
    /// to spare, so it is worked off in parts of `tile` rows, each over all columns: of
    /// those that fit, the parts of least time.
    ColumnMajor,
    /// Tiles of one shape for every matrix (`tile` rows, one by default), column of
    /// tiles by column of tiles, as Newton places them: inputs are sent once, and
    /// the processor adds the partial sums of each column of tiles.
    FixedTile,
}

/// Which registers a placement is held to.
///
/// A MAC command adds into every SIMD lane, so a row-block needs one accumulator
/// per lane until the lanes are folded, however short its tiles are. Algorithms 1
/// and 3 count only the `m` sums that are left after the fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RegisterRule {
    /// One accumulator per lane or row, whichever is more; twice that and two
    /// registers for the scales where blocks are scaled.
    Accumulators,
    /// As algorithms 1 and 3 print it: registers for `m` outputs. Refused where
    /// blocks are scaled, since the second set of sums would have no place.
    Printed,
}

/// What decides a placement, beside matrix and hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// How tile shape and CR degree are chosen, and in which order the weights lie
    pub placement: Placement,
    /// Tile height: `auto`, as the placement chooses, or rows per tile
    pub tile: TilePolicy,
    /// Row-blocks that share one pass over the input: `auto`, as the placement chooses, or a degree
    pub cr_degree: CrDegree,
    /// Parts into which the columns are cut, each with its share of the channels
    pub split_k: NonZeroU32,
    /// Which registers tile height and CR degree are held to
    pub register_rule: RegisterRule,
}

/// Algorithm 1: the tallest tile that spreads the rows evenly over the banks and
/// fits into the registers; one row if there is none.
///
/// * `rows`: rows of the matrix; `banks`: banks they are spread over
/// * `tile_elements`: elements in one interleaving unit
/// * `fits`: whether the registers hold a tile of that height
///
/// Differs from the paper in nothing but the register test, which the caller
/// passes in (see [`RegisterRule`]).
///
/// # Panics
/// If an argument is zero.
///
/// # Example
/// ```
/// use memscape_pim::mapping::placement::{TileShape, tile_shape};
/// // FC1 of OPT-6.7B in int8: 16384 rows over 128 banks, 256 elements a tile.
/// assert_eq!(tile_shape(16_384, 128, 256, |m| m <= 128), TileShape { m: 128, k: 2 });
/// // OPT-125M's QKV has few rows: a short, wide tile.
/// assert_eq!(tile_shape(2_304, 128, 256, |_| true), TileShape { m: 2, k: 128 });
/// ```
pub fn tile_shape(rows: u64, banks: u64, tile_elements: u64, fits: impl Fn(u64) -> bool) -> TileShape {
    assert!(rows > 0 && banks > 0 && tile_elements > 0, "a tile needs rows, banks and elements");
    let mut m = tile_elements;
    while m > 1 && !(banks.checked_mul(m).is_some_and(|it| rows.is_multiple_of(it)) && fits(m)) {
        m /= 2;
    }
    TileShape { m, k: tile_elements / m }
}

/// Algorithm 3: the most row-blocks whose sums the free registers hold.
///
/// The printed loop never ends once the registers are full; it is read to stop
/// there. At least 1.
///
/// # Example
/// ```
/// use memscape_pim::mapping::placement::max_cr_degree;
/// assert_eq!(max_cr_degree(9, 8, 2), 4);
/// assert_eq!(max_cr_degree(3, 8, 2), 3);
/// assert_eq!(max_cr_degree(9, 8, 16), 1);
/// ```
#[must_use]
pub fn max_cr_degree(row_blocks_per_bank: u64, free_registers: u64, registers_per_row_block: u64) -> u64 {
    (free_registers / registers_per_row_block.max(1)).min(row_blocks_per_bank).max(1)
}

/// In which order tiles take turns over the banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileOrder {
    /// Along each row of tiles.
    Row,
    /// Down each column of tiles.
    Column,
    /// Algorithm 2: down `banks * degree` rows of tiles, then along; so that a row
    /// of tiles stays in one bank.
    ColumnRow {
        /// The CR degree, `p` in the paper.
        degree: u64,
    },
}

/// A position in the matrix of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileAt {
    /// Row of tiles, `m` matrix rows each.
    pub row: u64,
    /// Column of tiles, `k` matrix columns each.
    pub column: u64,
}

/// Algorithm 2 and its two plain siblings: the tiles in memory order. The tile at
/// position `i` lies in bank `i % banks`.
///
/// The printed loops advance their counters twice; read as three plain nested
/// loops. Where `tile_rows` is not a multiple of `banks * degree`, the last group
/// is smaller.
///
/// # Example
/// ```
/// use memscape_pim::mapping::placement::{TileOrder, tile_order};
/// let order: Vec<_> = tile_order(4, 2, 2, TileOrder::ColumnRow { degree: 1 }).map(|it| (it.row, it.column)).collect();
/// assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]);
/// ```
pub fn tile_order(
    tile_rows: u64,
    tile_columns: u64,
    banks: u64,
    order: TileOrder,
) -> impl Iterator<Item = TileAt> {
    let (group, by_row) = match order {
        TileOrder::Row => (1, true),
        TileOrder::Column => (tile_rows.max(1), false),
        TileOrder::ColumnRow { degree } => ((banks * degree).max(1), false),
    };
    (0..tile_rows.div_ceil(group)).flat_map(move |q| {
        let rows = (tile_rows - q * group).min(group);
        (0..tile_columns * rows).map(move |i| {
            let (row, column) =
                if by_row { (i / tile_columns, i % tile_columns) } else { (i % rows, i / rows) };
            TileAt { row: q * group + row, column }
        })
    })
}

/// Table I: the smallest page over which every bank's open row lies in one piece,
/// so that one command addresses the same row everywhere.
///
/// # Example
/// ```
/// assert_eq!(memscape_pim::mapping::placement::preferred_page_bytes(8, 16, 2048), 256 << 10);
/// ```
#[must_use]
pub fn preferred_page_bytes(channels: u64, banks_per_channel: u64, row_bytes: u64) -> u64 {
    channels * banks_per_channel * row_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn every_order_is_a_permutation(rows in 1u64..40, columns in 1u64..9, banks in 1u64..9, degree in 1u64..5) {
            for order in [TileOrder::Row, TileOrder::Column, TileOrder::ColumnRow { degree }] {
                let tiles: Vec<_> = tile_order(rows, columns, banks, order).collect();
                let distinct: HashSet<_> = tiles.iter().copied().collect();
                prop_assert_eq!(tiles.len() as u64, rows * columns);
                prop_assert_eq!(distinct.len(), tiles.len());
            }
        }

        #[test]
        fn cr_order_keeps_a_row_of_tiles_in_one_bank(groups in 1u64..6, columns in 1u64..9, banks in 1u64..9, degree in 1u64..5) {
            // Balanced rows, as algorithm 1 asks for; the last group may be ragged.
            let order = TileOrder::ColumnRow { degree };
            for (position, tile) in tile_order(groups * banks, columns, banks, order).enumerate() {
                prop_assert_eq!(tile.row % banks, position as u64 % banks);
            }
        }

        #[test]
        fn a_taller_balanced_tile_would_not_fit(rows in 1u64..70_000, bank_bits in 0u32..9, limit in 1u64..512) {
            let banks = 1 << bank_bits;
            let tile = tile_shape(rows, banks, 256, |m| m <= limit);
            prop_assert_eq!(tile.m * tile.k, 256);
            let mut taller = tile.m * 2;
            while taller <= 256 {
                prop_assert!(taller > limit || !rows.is_multiple_of(banks * taller));
                taller *= 2;
            }
        }
    }
}
