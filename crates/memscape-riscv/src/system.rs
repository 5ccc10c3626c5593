//! What this crate exports.

use memscape_dram::MEMORIES;
use memscape_study::{AnyCatalog, Calibration, StudyVisitor, System};
use memscape_workload::MODELS;

use crate::hardware::{CALIBRATION, MACHINES};
use crate::{CensusStudy, GemmStudy, InferenceStudy, KernelStudy};

/// llama.cpp on the SG2042.
#[derive(Debug, Clone, Copy)]
pub struct Riscv;

/// This system.
pub const SYSTEM: Riscv = Riscv;

impl System for Riscv {
    const NAME: &'static str = "riscv";
    const SUMMARY: &'static str =
        "llama.cpp's kernels, threads and NUMA policies on the 64-core RISC-V SG2042";
    const CALIBRATION: Option<&'static Calibration> = Some(&CALIBRATION);

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<CensusStudy>();
        visitor.visit::<KernelStudy>();
        visitor.visit::<GemmStudy>();
        visitor.visit::<InferenceStudy>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&MACHINES, &MEMORIES, &MODELS]
    }
}
