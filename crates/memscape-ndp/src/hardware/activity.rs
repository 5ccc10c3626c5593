//! How often neurons are active, as data.

use std::num::NonZeroU32;

use memscape_study::Catalog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calibration::CALIBRATION;
use crate::numbers::{Density, Share};

/// How often neurons are active, and how that hangs together over tokens and
/// layers.
///
/// A neuron with latent `z` is active for a share `f = cdf(m + spread * z)` of
/// tokens; `m` follows from the density. `z` is normal: a part that the model
/// fixes (what offline profiling sees), a part of its own for each prompt, and a
/// part of each prompt that a cluster of neighbours shares. It is active when a
/// noise, even from 0 to 1, is below `f`. From token to token the noise stays
/// with probability `persistence`, else it is drawn anew. Every neuron reads a
/// feature of the residual stream, two in each layer the same one: they share
/// latent and noise, but not the part of their clusters.
///
/// # Source
/// The quantities are Hermes', Sec. III; the process is ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityLaw {
    /// Share of neurons that a token activates in models with ReLU of their own (OPT)
    pub native_density: Density,
    /// Share of neurons that a token activates in models whose activation was replaced by ReLU
    pub relufied_density: Density,
    /// Spread of neurons' activity: 0 is all alike, the larger the more are either hot or cold
    #[schemars(range(min = 0.0, max = 20.0))]
    pub spread: f64,
    /// Probability that a neuron's state carries over to the next token
    pub persistence: Share,
    /// Share of the latent's variance that each prompt draws anew
    pub prompt_drift: Share,
    /// Share of the latent's variance that a cluster of neighbours draws together for each prompt
    pub cluster_drift: Share,
    /// Clusters of neighbouring neurons in a block
    #[schemars(range(min = 1, max = 4096))]
    pub clusters: NonZeroU32,
}

impl ActivityLaw {
    /// Share of neurons that a token activates, by the kind of model.
    #[must_use]
    pub const fn density_of(&self, native_relu: bool) -> Density {
        if native_relu { self.native_density } else { self.relufied_density }
    }
}

/// Activity laws: those of `data/hardware/ndp/activity`, and the form of a user's
/// own.
pub static ACTIVITIES: Catalog<ActivityLaw> =
    Catalog::new("activity", "activity patterns of neurons", FILES).calibrated(&CALIBRATION, "activity");

const FILES: &[&str] = &[include_str!("../../../../data/hardware/ndp/activity/relu-llm.toml")];
