//! Systems' software on this machine, one file each.

mod ondevice;
mod riscv_kernels;

use std::io::Write;

use crate::args::Measure;
use crate::failure::Failure;

/// Runs one; remarks go to `err`.
pub fn measure(what: &Measure, quiet: bool, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Failure> {
    match what {
        Measure::Ondevice(args) => ondevice::run(args, quiet, out, err),
        Measure::RiscvKernels(args) => riscv_kernels::run(args, out),
    }
}
