//! Systems' software on this machine, one file each.

mod riscv_kernels;

use std::io::Write;

use crate::args::Measure;
use crate::failure::Failure;

/// Runs one.
pub fn measure(what: &Measure, out: &mut dyn Write) -> Result<(), Failure> {
    match what {
        Measure::RiscvKernels(args) => riscv_kernels::run(args, out),
    }
}
