//! Sec. 5 and Table 3: the evaluated phone, as the model has it.

use memscape_explore::{Parameters, Table, read};
use memscape_ondevice::roofline::COPY_TRANSACTIONS;
use memscape_ondevice::{GemvStudy, InferenceStudy};
use memscape_study::Study;
use memscape_workload::Llm;

use super::{MODELS, no_answer};
use crate::error::Error;
use crate::quantities;

#[expect(clippy::cast_precision_loss, reason = "small counts")]
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let phone: InferenceStudy = read(changed)?;
    let (memory, soc, pim) = (&phone.memory, &phone.soc, &phone.pim);
    let gemv = GemvStudy::default();
    let gain =
        GemvStudy { memory: *memory, pim: *pim, ..gemv }.answer().map_err(no_answer)?.peak_bandwidth_gain;
    let hidden = |name: &str| {
        let model = Llm::find(name).map_err(|_| Error::unknown("model", name, &MODELS))?;
        Ok::<_, Error>(f64::from(model.parameters.hidden_size))
    };
    let rows = [
        ("peak bandwidth", memory.peak_gb_s().as_f64(), "GB/s"),
        ("bf16 compute", soc.peak_gflops(), "GFLOPS"),
        ("FLOP per byte", soc.peak_gflops() / memory.peak_gb_s().as_f64(), "FLOP/B"),
        ("channels", f64::from(memory.channels.get()), ""),
        ("banks per rank", f64::from(memory.banks_per_channel.get() / memory.ranks.get()), ""),
        ("burst", f64::from(memory.column_bytes.get()) * 8.0, "bit"),
        ("input registers", f64::from(pim.input_registers.get()), ""),
        ("output registers", f64::from(pim.output_registers.get()), ""),
        ("GEMM threads", soc.gemm_threads() as f64, ""),
        ("copy threads", soc.copy_threads() as f64, ""),
        ("OWR threads", f64::from(soc.owr_threads.get()), ""),
        ("big over middle core", soc.big.peak_gflops / soc.middle_low.peak_gflops, "×"),
        ("PIM bandwidth gain at most", gain, "×"),
        ("copy transactions", f64::from(COPY_TRANSACTIONS), "t"),
        ("hidden size, Llama 3.2 1B", hidden("llama-3.2-1b")?, ""),
        ("hidden size, Llama 3.2 3B", hidden("llama-3.2-3b")?, ""),
    ];
    quantities::table(&rows)
}
