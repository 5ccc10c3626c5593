//! Which tile: exhaustive search over all tiles that L1 holds.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::kernel::Kernel;
use crate::hardware::device::{Device, MmulError};
use crate::hardware::precision::Precision;
use crate::mapping::tile::{L1Room, L1Rule, L1Use, OutputBuffers, Tile, TileError};

/// What makes a tile better than another; later criteria break ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Most modelled multiply-accumulates per cycle, DMA included; then the smallest tile of C;
    /// then the longest reduction
    Throughput,
    /// Smallest tile of C among those that compute bounds; then the longest reduction
    OutputsThenReduction,
    /// As Sec. 4.5.1 prints it: most multiply-accumulates per call among those that compute
    /// bounds; then the smallest tile of C
    MacsThenOutputs,
    /// As Sec. 4.5.2 for a fixed reduction: the largest tile of C among those that compute bounds;
    /// then the tie-break
    LargestOutput,
}

impl Objective {
    /// Whether it admits only tiles that compute bounds (Eq. 4).
    #[must_use]
    pub const fn asks_compute_bound(self) -> bool {
        !matches!(self, Self::Throughput)
    }

    /// What it asks for first; higher is better.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "elements of L1")]
    pub fn score(self, kernel: &Kernel) -> f64 {
        let outputs = kernel.tile.outputs() as f64;
        match self {
            Self::Throughput => kernel.macs_per_cycle(),
            Self::OutputsThenReduction => 1.0 / outputs,
            Self::MacsThenOutputs => kernel.tile.macs(),
            Self::LargestOutput => outputs,
        }
    }
}

/// How tiles of C of equal area are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TieBreak {
    /// Least traffic to DRAM (Eq. 6 and 7); then not taller than wide
    Traffic,
    /// Closest to a square; then not taller than wide
    Square,
    /// Most modelled multiply-accumulates per cycle; then not taller than wide
    Throughput,
}

/// What to search for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// What makes a tile better.
    pub objective: Objective,
    /// How equals are told apart.
    pub tie_break: TieBreak,
    /// Only tiles of this reduction.
    pub k_ct: Option<u32>,
    /// Buffers of C.
    pub output_buffers: OutputBuffers,
    /// Whether buffers may fill L1 to the last byte.
    pub l1_rule: L1Rule,
    /// Share of the peak in Eq. 1 when Eq. 4 asks whether compute bounds; the kernel
    /// model's if missing.
    pub assumed_efficiency: Option<f64>,
}

/// Why there is no tile.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The device lacks the instruction, or registers for it.
    #[error(transparent)]
    Instruction(#[from] MmulError),
    /// A reduction that no instruction adds up.
    #[error(transparent)]
    Reduction(#[from] TileError),
    /// Nothing fits.
    #[error(
        "no tile for `{precision}`{} fits L1: {room}{}",
        k_ct.map(|it| format!(" with `k_ct` = {it}")).unwrap_or_default(),
        k_ct.map_or("", |_| ", or a smaller `k_ct`")
    )]
    NoRoom {
        /// The precision.
        precision: Precision,
        /// The reduction asked for.
        k_ct: Option<u32>,
        /// What there is, and what the smallest takes.
        room: L1Room,
    },
    /// Tiles, but none that the objective admits.
    #[error(
        "no tile for `{precision}`{} that fits L1 is bound by compute (Eq. 4); use more `device.dma_bytes_per_cycle`, \
         another `objective` or {}",
        k_ct.map(|it| format!(" with `k_ct` = {it}")).unwrap_or_default(),
        k_ct.map_or("more `device.l1_bytes`", |_| "another `k_ct`")
    )]
    NotBound {
        /// The precision.
        precision: Precision,
        /// The reduction asked for.
        k_ct: Option<u32>,
    },
}

impl Search {
    /// Why there is no tile, or none that it admits.
    pub(crate) fn nothing(&self, device: &Device, precision: Precision) -> SearchError {
        let mmul = match device.mmul(precision) {
            Ok(it) => it,
            Err(error) => return error.into(),
        };
        let smallest = Tile::smallest(mmul);
        let tile = Tile { k: self.k_ct.unwrap_or(smallest.k), ..smallest };
        if let Err(error) = tile.mmul(device, precision) {
            return error.into();
        }
        let room = L1Room::of(device, tile, precision, self.output_buffers, self.l1_rule);
        let k_ct = self.k_ct;
        if room.suffices() {
            SearchError::NotBound { precision, k_ct }
        } else {
            SearchError::NoRoom { precision, k_ct, room }
        }
    }
}

/// The most tiles that are put in order.
pub const MOST_RANKED: usize = 1 << 16;

/// Larger is better, criterion by criterion.
type Score = [f64; 4];

impl Search {
    /// The `count` best tiles, best first, of all that L1 holds; at most
    /// [`MOST_RANKED`].
    ///
    /// Every multiple of the register block is tried; tiles that L1 does not hold
    /// are left out by row, column and reduction, as use only grows with each.
    ///
    /// # Errors
    /// [`SearchError`] if the device lacks the instruction or nothing fits.
    ///
    /// # Source
    /// Sec. 4.5.1 (Eq. 1 to 5), which restricts dimensions to multiples of the
    /// instruction's; the paper's tables only follow from multiples of the register
    /// block.
    pub fn best(
        &self,
        device: &Device,
        precision: Precision,
        count: usize,
    ) -> Result<Vec<Kernel>, SearchError> {
        /// So many are put in order at a time, at least.
        const ROOM: usize = 1024;
        let count = count.min(MOST_RANKED);
        let mut found: Vec<(Score, Kernel)> = Vec::new();
        let keep_best = |found: &mut Vec<(Score, Kernel)>| {
            // Of equal ones the first stays before the others.
            found.sort_by(|one, other| other.0.partial_cmp(&one.0).unwrap_or(Ordering::Equal));
            found.truncate(count);
        };
        self.each(device, precision, |kernel| {
            found.push((self.score(device, &kernel), kernel));
            if found.len() >= 2 * count.max(ROOM) {
                keep_best(&mut found);
            }
        })?;
        keep_best(&mut found);
        if found.is_empty() {
            return Err(self.nothing(device, precision));
        }
        Ok(found.into_iter().map(|it| it.1).collect())
    }

    /// Calls `visit` for each tile that L1 holds and the objective admits.
    ///
    /// # Errors
    /// [`MmulError`] if the device lacks the instruction.
    pub fn each(
        &self,
        device: &Device,
        precision: Precision,
        mut visit: impl FnMut(Kernel),
    ) -> Result<(), MmulError> {
        let mmul = device.mmul(precision)?;
        let fits = |tile| L1Use::of(tile, precision, self.output_buffers).fits(device, self.l1_rule);
        let (step_m, step_k, step_n) = (mmul.block_m(), u32::from(mmul.s.get()), mmul.block_n());
        let reductions = match self.k_ct {
            Some(k) => (k..=k).step_by(1),
            None => (step_k..=device.l1_bytes.get()).step_by(step_k as usize),
        };
        for k in reductions.filter(|it| *it > 0 && it.is_multiple_of(step_k)) {
            if !fits(Tile { m: step_m, k, n: step_n }) {
                break;
            }
            for m in (step_m..).step_by(step_m as usize).take_while(|m| fits(Tile { m: *m, k, n: step_n })) {
                for n in (step_n..).step_by(step_n as usize) {
                    let tile = Tile { m, k, n };
                    if !fits(tile) {
                        break;
                    }
                    let kernel = Kernel::of_multiples(device, precision, mmul, tile, self.output_buffers);
                    if self.admits(&kernel) {
                        visit(kernel);
                    }
                }
            }
        }
        Ok(())
    }

    /// Eq. 4, where the objective asks for it.
    fn admits(&self, kernel: &Kernel) -> bool {
        if !self.objective.asks_compute_bound() {
            return true;
        }
        let compute = match self.assumed_efficiency {
            Some(efficiency) => kernel.tile.macs() / (kernel.mmul.macs_per_cycle() * efficiency),
            None => kernel.compute().as_f64(),
        };
        kernel.dma().as_f64() <= compute
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn score(&self, device: &Device, kernel: &Kernel) -> Score {
        let tile = kernel.tile;
        let (outputs, k) = (tile.outputs() as f64, f64::from(tile.k));
        // Equal but for rounding is equal.
        let throughput = (kernel.macs_per_cycle() * 1e9).round();
        let wide = f64::from(u8::from(tile.m <= tile.n));
        match self.objective {
            Objective::Throughput => [throughput, -outputs, k, wide],
            Objective::OutputsThenReduction => [-outputs, k, throughput, wide],
            Objective::MacsThenOutputs => [tile.macs(), -outputs, throughput, wide],
            Objective::LargestOutput => {
                let preference = match self.tie_break {
                    TieBreak::Traffic => -(traffic(device, tile) * 1e12).round(),
                    TieBreak::Square => -(f64::from(tile.m) - f64::from(tile.n)).abs(),
                    TieBreak::Throughput => throughput,
                };
                [outputs, preference, wide, k]
            }
        }
    }
}

/// Elements read from DRAM per multiply-accumulate (Eq. 6 and 7).
#[must_use]
pub fn traffic(device: &Device, tile: Tile) -> f64 {
    let columns = f64::from(tile.n) * f64::from(device.columns.get());
    let rows = f64::from(tile.m) * f64::from(device.rows.get());
    1.0 / columns + 1.0 / rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEVICES;

    const EQ_1_TO_5: Search = Search {
        objective: Objective::Throughput,
        tie_break: TieBreak::Traffic,
        k_ct: None,
        output_buffers: OutputBuffers::Single,
        l1_rule: L1Rule::Below,
        assumed_efficiency: None,
    };

    fn best(search: Search, precision: Precision) -> String {
        search.best(DEVICES.get("xdna"), precision, 1).unwrap()[0].tile.to_string()
    }

    /// A plain search over all tiles agrees with the pruned one.
    #[test]
    fn pruning_loses_nothing() {
        let device = Device { l1_bytes: 12_288.try_into().unwrap(), ..*DEVICES.get("xdna") };
        for objective in [Objective::Throughput, Objective::MacsThenOutputs, Objective::OutputsThenReduction]
        {
            let search = Search { objective, ..EQ_1_TO_5 };
            let found = search.best(&device, Precision::Int8Int16, 1).unwrap()[0];
            let mut most: Option<(Score, Tile)> = None;
            for m in (16..=700).step_by(16) {
                for k in (8..=350).step_by(8) {
                    for n in (16..=700).step_by(16) {
                        let tile = Tile { m, k, n };
                        let single = OutputBuffers::Single;
                        if !L1Use::of(tile, Precision::Int8Int16, single).fits(&device, L1Rule::Below) {
                            continue;
                        }
                        let kernel = Kernel::new(&device, Precision::Int8Int16, tile, single).unwrap();
                        let score = search.score(&device, &kernel);
                        if search.admits(&kernel) && most.is_none_or(|it| it.0 < score) {
                            most = Some((score, tile));
                        }
                    }
                }
            }
            assert_eq!(most.unwrap().1, found.tile, "{objective:?}");
        }
    }

    /// The share is of the instruction's peak, also where loads keep a core from it.
    #[test]
    fn an_assumed_share_is_of_the_peak() {
        let device = Device { port_bytes_per_cycle: 8.try_into().unwrap(), ..*DEVICES.get("xdna") };
        let objective = Objective::OutputsThenReduction;
        let search = Search { objective, assumed_efficiency: Some(0.4), ..EQ_1_TO_5 };
        let kernel = search.best(&device, Precision::Int8Int16, 1).unwrap()[0];
        let products = kernel.tile.macs() / kernel.mmul.macs_per_cycle();
        let compute = products / 0.4;
        assert!(kernel.issue.as_f64() > products);
        assert!(kernel.dma().as_f64() <= compute, "{} {compute}", kernel.dma());
        let refused = Kernel { dma_a: memscape_units::Cycles::new(compute * 1.01).unwrap(), ..kernel };
        assert!(!search.admits(&refused));
    }

    #[test]
    fn one_byte_of_l1_decides_the_int32_kernel() {
        let at_most = Search { l1_rule: L1Rule::AtMost, ..EQ_1_TO_5 };
        assert_ne!(best(EQ_1_TO_5, Precision::Int8Int32), best(at_most, Precision::Int8Int32));
    }

    #[test]
    fn an_impossible_reduction_is_told() {
        let search = Search { objective: Objective::LargestOutput, k_ct: Some(4096), ..EQ_1_TO_5 };
        let error = search.best(DEVICES.get("xdna"), Precision::Int8Int8, 1).unwrap_err();
        let text = "no tile for `int8-int8` with `k_ct` = 4096 fits L1: `device.stack_bytes` = 1024 leaves 64512 of \
                    `device.l1_bytes` = 65536, but the smallest takes 262401 bytes; use `device.l1_bytes` = 263425 at \
                    least, or a smaller `k_ct`";
        assert_eq!(error.to_string(), text);
    }
}
