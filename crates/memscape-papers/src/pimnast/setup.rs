//! Sec. VI-A: the evaluated machine, as the model has it.

use memscape_explore::{Parameters, Table};
use memscape_pim::{GemvStudy, InferenceStudy};

use crate::error::Error;
use crate::quantities;

#[expect(clippy::cast_precision_loss, reason = "small counts")]
pub fn table(_: &Parameters) -> Result<Table, Error> {
    let gemv = GemvStudy::default();
    let inference = InferenceStudy::default();
    let memory = &gemv.memory;
    let rows = [
        ("peak bandwidth", memory.peak_gb_s().as_f64(), "GB/s"),
        ("8-bit compute", gemv.soc.tops_8bit.as_f64(), "TOPS"),
        ("channels", f64::from(memory.channels.get()), ""),
        ("banks per channel", f64::from(memory.banks_per_channel.get()), ""),
        ("registers", f64::from(gemv.pim.registers.get()), ""),
        ("input registers", f64::from(gemv.pim.input_registers.get()), ""),
        ("DRAM word", f64::from(memory.column_bytes()) * 8.0, "bit"),
        ("interleaving unit", gemv.interleave_bytes.get() as f64, "B"),
        ("data rate", memory.data_rate_mt_s.as_f64(), "MT/s"),
        ("row buffer", f64::from(memory.row_bytes.get()) / 1024.0, "KB"),
        ("prompt", inference.prompt_tokens.get() as f64, "tokens"),
        ("generated", inference.generated_tokens.get() as f64, "tokens"),
    ];
    quantities::table(&rows)
}
