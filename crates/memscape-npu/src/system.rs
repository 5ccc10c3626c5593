//! What this crate exports.

use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};
use memscape_workload::MODELS;

use crate::{
    BalanceStudy, CALIBRATION, DESIGNS, DEVICES, GemmStudy, InferenceStudy, KernelStudy, SearchStudy,
    WorkloadStudy,
};

/// GEMM on Ryzen AI NPUs.
#[derive(Debug, Clone, Copy)]
pub struct Npu;

/// This system.
pub const SYSTEM: Npu = Npu;

impl System for Npu {
    const NAME: &'static str = "npu";
    const SUMMARY: &'static str = "GEMM on Ryzen AI NPUs (XDNA, XDNA2)";
    const CALIBRATION: Option<&'static Calibration> = Some(&CALIBRATION);

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<KernelStudy>();
        visitor.visit::<GemmStudy>();
        visitor.visit::<WorkloadStudy>();
        visitor.visit::<InferenceStudy>();
        visitor.visit::<SearchStudy>();
        visitor.visit::<BalanceStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&DEVICES, &DESIGNS, &MODELS]
    }
}
