//! A pass over a model on the array: what streams, and meanwhile multiplies.

use memscape_study::{BoundBy, Breakdown, OperatorCost, Pass, StudyError, parts};
use memscape_units::Nanoseconds;
use memscape_workload::OperatorKind;

use crate::hardware::device::Device;

parts! {
    /// What a pass over the model takes its time for.
    pub enum PassPart {
        /// Products with weights
        Weights = "weights",
        /// Keys and values
        Attention = "attention",
        /// Norms, activations, residuals
        Vector = "vector",
        /// What the host needs to hand work over
        Dispatch = "dispatch",
    }
}

/// An operator that the array streams and multiplies at the same time, in nanoseconds.
pub(super) struct Streamed {
    pub(super) name: &'static str,
    pub(super) part: PassPart,
    /// As often as they are multiplied: of wide keys and values in parts.
    pub(super) operations: f64,
    /// Multiplying, if every multiplier were busy.
    pub(super) at_peak: f64,
    pub(super) compute: f64,
    pub(super) stream: f64,
    /// Read and written.
    pub(super) bytes: f64,
    /// Of these.
    pub(super) written_bytes: f64,
    /// What crosses the DRAM's bus, whole lines: read, and written.
    pub(super) bus_bytes: [f64; 2],
    /// How often weights stream past vectors that memory tiles do not hold all at once.
    pub(super) turns: f64,
}

impl Streamed {
    /// The slower of both.
    pub(super) const fn time(&self) -> f64 {
        self.compute.max(self.stream)
    }

    pub(super) fn told(&self, pass: Pass) -> Result<OperatorCost, StudyError> {
        let ns = Nanoseconds::new;
        let least = ns(self.at_peak.max(self.stream))?;
        let parts = if self.compute > self.stream {
            [("compute_at_peak", ns(self.at_peak)?), ("kernel", ns((self.compute - self.at_peak).max(0.0))?)]
        } else {
            [("read", ns(self.stream)?), ("kernel", Nanoseconds::ZERO)]
        };
        Ok(OperatorCost::new(pass, self.name, least, parts))
    }
}

pub(super) const fn part_of(kind: OperatorKind) -> PassPart {
    match kind {
        OperatorKind::Matrix => PassPart::Weights,
        OperatorKind::Attention => PassPart::Attention,
        OperatorKind::Vector => PassPart::Vector,
    }
}

/// What takes most of a step: handing over, operators that multiply for longer than they stream, or the
/// others.
pub(super) fn bound_by(device: &Device, step: &Breakdown<PassPart>, computing: Nanoseconds) -> BoundBy {
    let (handing, computing) = (step[PassPart::Dispatch], computing.to_picoseconds());
    let streaming = step.total().saturating_sub(handing).saturating_sub(computing);
    if handing > computing.max(streaming) {
        BoundBy::Host
    } else if computing > streaming {
        BoundBy::Compute
    } else if device.channels_gb_s() < device.dram.port_gb_s() {
        BoundBy::Link
    } else {
        BoundBy::DramBandwidth
    }
}
