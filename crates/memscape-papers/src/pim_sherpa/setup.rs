//! Sec. 5 and Table 3: the evaluated phone, as the model has it.

use memscape_explore::{Parameters, Table, read};
use memscape_ondevice::{GemvStudy, InferenceStudy};
use memscape_study::Study;
use memscape_workload::Model;

use crate::error::Error;
use crate::quantities;

#[expect(clippy::cast_precision_loss, reason = "small counts")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let phone: InferenceStudy = read(changed)?;
    let (memory, cpu, pim) = (&phone.memory, &phone.cpu, &phone.pim);
    let gemv = GemvStudy::default();
    let gain = GemvStudy { memory: *memory, pim: *pim, ..gemv }
        .answer()
        .map_err(Error::no_answer)?
        .peak_bandwidth_gain;
    let hidden =
        |name: &str| Ok::<_, Error>(f64::from(Model::named(name).map_err(Error::no_answer)?.hidden_size));
    let rows = [
        ("peak bandwidth", memory.peak_gb_s().as_f64(), "GB/s"),
        ("bf16 compute", cpu.peak_gflops(), "GFLOPS"),
        ("FLOP per byte", cpu.peak_gflops() / memory.peak_gb_s().as_f64(), "FLOP/B"),
        ("channels", f64::from(memory.channels.get()), ""),
        ("banks per rank", f64::from(memory.banks_per_channel.get() / memory.ranks.get()), ""),
        ("burst", f64::from(memory.column_bytes()) * 8.0, "bit"),
        ("input registers", f64::from(pim.input_registers.get()), ""),
        ("output registers", f64::from(pim.output_registers.get()), ""),
        ("GEMM threads", cpu.gemm_threads() as f64, ""),
        ("copy threads", cpu.copy_threads() as f64, ""),
        ("OWR threads", f64::from(cpu.owr_threads.get()), ""),
        ("big over middle core", cpu.big.peak_gflops / cpu.middle_low.peak_gflops, "×"),
        ("PIM bandwidth gain at most", gain, "×"),
        ("copy transactions", f64::from(cpu.copy_transactions.get()), "t"),
        ("hidden size, Llama 3.2 1B", hidden("llama-3.2-1b")?, ""),
        ("hidden size, Llama 3.2 3B", hidden("llama-3.2-3b")?, ""),
    ];
    quantities::table(&rows)
}
