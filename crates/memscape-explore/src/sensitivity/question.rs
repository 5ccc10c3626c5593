//! A question about which parameters matter.

use memscape_study::Unknown;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// How parameters are told apart by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SensitivityMethod {
    /// One at a time from the base: the least and the greatest answer.
    Tornado,
    /// Elementary effects along random paths: how large, and how different from place to
    /// place.
    ///
    /// # Source
    /// M. D. Morris, "Factorial sampling plans for preliminary computational experiments",
    /// Technometrics 33, 1991; Campolongo et al., Environ. Model. Softw. 22, 2007, for the
    /// mean of absolute effects.
    Morris,
    /// Shares of the answer's variance, of each parameter alone and with all others.
    ///
    /// # Source
    /// Saltelli et al., Comput. Phys. Commun. 181, 2010: the estimator of the first order
    /// (their table 2, b) and Jansen's of the total (f).
    Sobol,
}

impl SensitivityMethod {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tornado, Self::Morris, Self::Sobol];

    /// What it is called in files and calls.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tornado => "tornado",
            Self::Morris => "morris",
            Self::Sobol => "sobol",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest.
    pub fn named(name: &str) -> Result<Self, Error> {
        Ok(Unknown::find("method", name, Self::ALL, Self::name)?)
    }
}

/// A question about which parameters matter: `[sensitivity]` of a study file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// What they matter to: columns, or formulas.
    #[serde(deserialize_with = "crate::texts::one_or_many")]
    pub of: Vec<String>,
    /// How they are told apart.
    #[serde(default = "default_method")]
    pub method: SensitivityMethod,
    /// Paths of `morris`, base points of `sobol`: each costs as many answers as there are
    /// axes, and one or two more.
    #[serde(default = "default_samples")]
    pub samples: u64,
    /// Another seed draws others.
    #[serde(default)]
    pub seed: u64,
}

impl Default for Sensitivity {
    fn default() -> Self {
        Self { of: Vec::new(), method: default_method(), samples: default_samples(), seed: 0 }
    }
}

const fn default_method() -> SensitivityMethod {
    SensitivityMethod::Sobol
}

const fn default_samples() -> u64 {
    1024
}
