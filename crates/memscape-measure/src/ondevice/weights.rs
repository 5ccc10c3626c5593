//! What is run: a model's layers, in both layouts.

use std::num::NonZeroU64;

use memscape_dram::Dram;
use memscape_ondevice::hardware::PimBlocks;
use memscape_ondevice::mapping::layout::{HostOrder, Layout, LayoutError, Placement};
use memscape_ondevice::mapping::stages::{StageError, layer_matrices};
use memscape_ondevice::{LayoutStudy, MapText, MapTextError, Swizzle, SwizzleError};
use memscape_study::random::Key;
use memscape_workload::{Element, Gemv, Matrix, Model};

/// What to run, and with how many threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Language model
    pub model: Model,
    /// Decoder layers of it
    pub layers: u64,
    /// How weights are stored
    pub element: Element,
    /// Threads that run GEMM
    pub gemm_threads: usize,
    /// Threads that copy beside GEMM (DDB)
    pub copy_threads: usize,
    /// Threads of a copy that has the machine to itself (OWR)
    pub owr_threads: usize,
    /// How addresses of the PIM-aware image spread over the DRAM
    pub address_map: MapText,
    /// The DRAM that the image stands for
    pub memory: Dram,
    /// Its PIM blocks
    pub pim: PimBlocks,
}

impl Default for Setup {
    /// Two layers of Llama 3.2 1B in bf16, for the paper's phone, with one thread of
    /// each kind.
    fn default() -> Self {
        let phone = LayoutStudy::default();
        Self {
            model: phone.model,
            layers: 2,
            element: Element::Bf16,
            gemm_threads: 1,
            copy_threads: 1,
            owr_threads: 1,
            address_map: phone.address_map,
            memory: phone.memory,
            pim: phone.pim,
        }
    }
}

/// Why there is nothing to run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// No layers, or more than there are.
    #[error("{given} layers were asked for, but the model has 1 to {available}")]
    Layers {
        /// Layers asked for.
        given: u64,
        /// Layers of the model.
        available: u64,
    },
    /// A group without threads, or with more than any machine runs.
    #[error("{given} {what} threads were asked for; use 1 to {MOST_THREADS}")]
    Threads {
        /// Which group.
        what: &'static str,
        /// Threads asked for.
        given: usize,
    },
    /// No layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No map.
    #[error(transparent)]
    Map(#[from] MapTextError),
    /// Nothing that can be copied.
    #[error(transparent)]
    Swizzle(#[from] SwizzleError),
    /// A model without stages.
    #[error(transparent)]
    Stages(#[from] StageError),
}

/// Threads of a group: copies are measured by each count up to it.
const MOST_THREADS: usize = 1024;

impl Setup {
    /// Checks that there is something to run.
    ///
    /// # Errors
    /// [`SetupError`] says what is missing.
    pub fn check(&self) -> Result<(), SetupError> {
        let available = u64::from(self.model.layers);
        if !(1..=available).contains(&self.layers) {
            return Err(SetupError::Layers { given: self.layers, available });
        }
        let threads = [("GEMM", self.gemm_threads), ("copy", self.copy_threads), ("OWR", self.owr_threads)];
        match threads.into_iter().find(|it| !(1..=MOST_THREADS).contains(&it.1)) {
            Some((what, given)) => Err(SetupError::Threads { what, given }),
            None => Ok(()),
        }
    }

    /// More threads than this machine has cores, if so: how many, and the cores.
    #[must_use]
    pub fn beyond_machine(&self) -> Option<(usize, usize)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.gemm_threads.saturating_add(self.copy_threads).max(self.owr_threads);
        (cores < threads).then_some((threads, cores))
    }

    /// Layers as a study takes them.
    pub(crate) fn layers_for_study(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.layers)
    }
}

/// The weights of some layers: host-friendly, and as PIM wants them.
pub struct Weights {
    /// The matrices of a layer, in the order they are used.
    pub matrices: Vec<(Matrix, Gemv)>,
    /// Host-friendly, column-major, layer by layer.
    pub(crate) host: Vec<Vec<u8>>,
    /// Physical memory from address 0, with all matrices in the PIM-aware layout.
    pub(crate) image: Vec<u8>,
    /// Each matrix in the image, layer by layer.
    pub(crate) swizzles: Vec<Swizzle>,
}

impl Weights {
    /// Random weights, the same for the same seed, in both layouts.
    ///
    /// # Errors
    /// [`SetupError`] says what does not fit.
    pub fn random(setup: &Setup, seed: u64) -> Result<Self, SetupError> {
        setup.check()?;
        let matrices = layer_matrices(&setup.model)?;
        let (mut first_row, mut swizzles) = (0, Vec::new());
        for _ in 0..setup.layers {
            for &(_, gemv) in &matrices {
                let placement = Placement::ColumnBursts;
                let layout =
                    Layout::new(gemv, setup.element, placement, &setup.memory, &setup.pim, first_row)?;
                first_row = layout.end_row();
                let map = setup.address_map.map(layout.dims)?;
                swizzles.push(Swizzle::new(layout, &map, HostOrder::ColumnMajor)?);
            }
        }
        let bytes = swizzles.iter().map(Swizzle::image_bytes).max().unwrap_or(0);
        // Touched, so that no run pays for its pages.
        let mut image = vec![1; bytes];
        let mut host = Vec::new();
        for (matrix, swizzle) in (0..).zip(&swizzles) {
            let key = Key::new(seed).fork(matrix);
            let weights = random_weights(setup.element, swizzle.host_bytes(), key);
            swizzle.convert(&weights, &mut image)?;
            host.push(weights);
        }
        Ok(Self { matrices, host, image, swizzles })
    }

    /// Which of `host` and `swizzles` a matrix is.
    pub(crate) fn index(&self, layer: u64, matrix: usize) -> usize {
        usize::try_from(layer).expect("checked to be few") * self.matrices.len() + matrix
    }
}

/// Numbers between -2 and 2, exponents and signs as they come: no NaN, no infinity.
fn random_weights(element: Element, bytes: usize, key: Key) -> Vec<u8> {
    // The second-highest bit of the exponent is never set.
    let mask = match element {
        Element::Bf16 | Element::Fp16 => 0xbfff_bfff_bfff_bfff,
        Element::Fp32 => 0xbfff_ffff_bfff_ffff,
        Element::Int4 | Element::Int8 => u64::MAX,
    };
    let words = (0..bytes.div_ceil(8) as u64).map(|it| key.bits(it) & mask);
    let mut weights: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    weights.truncate(bytes);
    weights
}
