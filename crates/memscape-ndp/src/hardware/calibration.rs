//! What no source of Hermes can give.

use memscape_study::Calibration;

/// The free parameters of this model.
pub static CALIBRATION: Calibration =
    Calibration::new("hermes", include_str!("../../../../data/calibration/hermes.toml"));
