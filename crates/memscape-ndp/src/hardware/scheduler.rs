//! How the scheduler is set: its predictor, and when it moves cold neurons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::NdpError;
use crate::numbers::Share;

/// The 4-bit state predictor.
///
/// # Source
/// Hermes, Sec. IV-C: states from 0 to 15, up by 4 when active, down by 1 when
/// not; active next if state + lambda * active parents passes the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predictor {
    /// What an active token adds to a neuron's state
    #[schemars(range(min = 0, max = 15))]
    pub increment: Nibble,
    /// What each active parent counts
    #[schemars(range(min = 0, max = 15))]
    pub lambda: Nibble,
    /// What state and parents must pass for a neuron to be predicted active
    #[schemars(range(min = 0, max = 45))]
    pub threshold: u32,
    /// Whether the threshold must be exceeded or reached
    pub rule: Rule,
    /// What a score must exceed for a neuron to be hot
    #[schemars(range(min = 0, max = 45))]
    pub hot_threshold: u32,
    /// Share of the prompt's tokens below which a state starts at 0
    pub start_low: Share,
    /// Share of the prompt's tokens above which a state starts at 15
    pub start_high: Share,
}

/// A number of four bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
pub struct Nibble(u32);

impl Nibble {
    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Nibble {
    type Error = String;
    fn try_from(value: u32) -> Result<Self, String> {
        if value < 16 {
            Ok(Self(value))
        } else {
            Err(format!("{value} does not fit the 4-bit states; it must be from 0 to 15"))
        }
    }
}

impl From<Nibble> for u32 {
    fn from(it: Nibble) -> Self {
        it.0
    }
}

/// How a threshold is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// `>`, as printed: without active parents nothing is ever predicted.
    Exceed,
    /// `>=`: a full state is enough.
    Reach,
}

impl Predictor {
    /// Whether states rise with the prompt's tokens.
    ///
    /// # Errors
    /// [`NdpError::Starts`] if they do not.
    pub fn check(&self) -> Result<(), NdpError> {
        let (low, high) = (self.start_low.as_f64(), self.start_high.as_f64());
        if high < low { Err(NdpError::Starts { low, high }) } else { Ok(()) }
    }

    /// The state a neuron starts with, from its share of the prompt's tokens.
    ///
    /// # Source
    /// Sec. IV-C1: 16 stages, below 2 % is 0, above 90 % is 15; evenly between,
    /// which is our choice.
    #[must_use]
    pub fn start(&self, share: f64) -> u32 {
        let (low, high) = (self.start_low.as_f64(), self.start_high.as_f64());
        if share < low {
            0
        } else if share > high {
            15
        } else {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 14")]
            let stage = ((share - low) / (high - low).max(1e-12) * 14.0) as u32;
            1 + stage.min(13)
        }
    }

    /// What a score must exceed for a neuron to be predicted active; none if
    /// every score does.
    pub(crate) fn limit(&self) -> Option<u32> {
        match self.rule {
            Rule::Exceed => Some(self.threshold),
            Rule::Reach => self.threshold.checked_sub(1),
        }
    }
}

/// How cold neurons are moved between DIMMs.
///
/// # Source
/// Hermes, Algorithm 1, with three repairs: its loop condition never holds
/// after a descending sort (read as `>`), `J - id` runs past the end (read as
/// `J - 1 - id`), and the loads must be updated by each move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remap {
    /// Tokens of a window
    pub window: Window,
    /// Which DIMMs give to which
    pub pairing: Pairing,
    /// When a pair stops
    pub stop: Stop,
}

/// Which DIMMs give to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// The fullest to the emptiest, the next to the next, once per window.
    Extremes,
    /// The fullest to the emptiest, again and again until nothing is gained.
    Greedy,
}

/// When a pair stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// When no move makes the two more alike.
    Level,
    /// When they are within 5 % of each other, the variance that the paper names.
    FivePercent,
}

/// Tokens of a window: at least one, and as many as a counter of 12 bits holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(extend("minimum" = 1, "maximum" = Window::MOST))]
pub struct Window(u32);

impl Window {
    /// The longest.
    pub const MOST: u32 = 4095;

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Window {
    type Error = String;
    fn try_from(value: u32) -> Result<Self, String> {
        if (1..=Self::MOST).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is no window; it must be from 1 to {} tokens", Self::MOST))
        }
    }
}

impl From<Window> for u32 {
    fn from(it: Window) -> Self {
        it.0
    }
}
