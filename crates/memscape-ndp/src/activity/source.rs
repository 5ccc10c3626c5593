//! Where activity comes from: the law, or a recording.

use super::bits::{Bits, BlockKind};
use super::drawn::Synthetic;
use super::library::RecordingName;

/// Where activity comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The law.
    Law(Synthetic),
    /// A recording, and the first of its sequences that is taken.
    Recorded(RecordingName, usize),
}

/// Activity of one layer over a batch.
#[derive(Debug, Clone)]
pub struct LayerActivity {
    /// Bits of each sequence, by block.
    pub blocks: [Vec<Bits>; 2],
}

impl Source {
    /// Layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        match self {
            Self::Law(law) => law.layers,
            Self::Recorded(recording, _) => recording.profile.layers(),
        }
    }

    /// Neurons of each block.
    #[must_use]
    pub fn neurons(&self) -> [usize; 2] {
        match self {
            Self::Law(law) => law.neurons,
            Self::Recorded(recording, _) => recording.profile.neurons(),
        }
    }

    /// Tokens of the prompt.
    #[must_use]
    pub fn prefill(&self) -> usize {
        match self {
            Self::Law(law) => law.prefill,
            Self::Recorded(recording, first) => recording.sequences[*first].prefill,
        }
    }

    /// Activity of one layer for `batch` sequences.
    #[must_use]
    pub fn layer(&self, layer: usize, batch: usize) -> LayerActivity {
        let bits = |block: BlockKind, sequence: usize| match self {
            Self::Law(law) => law.bits(block, layer, sequence as u64),
            Self::Recorded(recording, first) => {
                recording.sequences[first + sequence].bits(block, layer).clone()
            }
        };
        LayerActivity { blocks: BlockKind::ALL.map(|block| (0..batch).map(|it| bits(block, it)).collect()) }
    }

    /// How often each neuron of a block was active offline.
    #[must_use]
    pub fn frequency(&self, block: BlockKind, layer: usize) -> Vec<f32> {
        match self {
            Self::Law(law) => law.frequency(block, layer),
            Self::Recorded(recording, _) => recording.profile.frequency[block.index()][layer].clone(),
        }
    }

    /// The neurons of the layer before that go with each one.
    #[must_use]
    pub fn parents(&self, block: BlockKind, layer: usize) -> Option<Vec<[u32; 2]>> {
        match self {
            Self::Law(law) => law.parents(block, layer),
            Self::Recorded(recording, _) => {
                (layer > 0).then(|| recording.profile.parents[block.index()][layer].clone())
            }
        }
    }
}
