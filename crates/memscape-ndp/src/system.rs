//! What this crate exports.

use memscape_dram::MEMORIES;
use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};
use memscape_workload::MODELS;

use crate::activity::RECORDINGS;
use crate::hardware::{ACTIVITIES, CALIBRATION, DIMMS, GPUS, HOSTS, MACHINES};
use crate::partition::INSTANCES;
use crate::study::{ActivityStudy, InferenceStudy, PartitionStudy, PredictorStudy};

/// Hermes and the systems that it is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Ndp;

/// The system of this crate.
pub const SYSTEM: Ndp = Ndp;

impl System for Ndp {
    const NAME: &'static str = "ndp";
    const SUMMARY: &'static str = "Hermes: a consumer GPU with NDP-DIMMs, hot and cold neurons";
    const CALIBRATION: Option<&'static Calibration> = Some(&CALIBRATION);

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<InferenceStudy>();
        visitor.visit::<PartitionStudy>();
        visitor.visit::<PredictorStudy>();
        visitor.visit::<ActivityStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&MACHINES, &GPUS, &DIMMS, &HOSTS, &ACTIVITIES, &RECORDINGS, &INSTANCES, &MODELS, &MEMORIES]
    }
}
