//! TensorRT-LLM: weights on several GPUs.

use memscape_study::BoundBy;
use memscape_units::{GbPerS, Nanoseconds};

use crate::cost::{Account, Causes, ColdSide, Prompt, Rates, StepPart, on_gpus, step};
use crate::error::NdpError;
use crate::hardware::Machine;
use crate::work::{FP16, Work};

/// TensorRT-LLM: each GPU has its share of every matrix and reads it at the same time as the others; behind
/// attention and behind the feed-forward block all add up what each has over the links between them, else over PCIe,
/// around a ring or up and down a tree, whichever takes less. Kernels are launched while others run.
///
/// # Errors
/// [`NdpError::Gpus`] if the GPUs do not hold model and cache.
pub fn tensorrt(machine: &Machine, work: &Work, gpus: u32) -> Result<Account, NdpError> {
    let held = on_gpus(machine, gpus, work)?;
    let shape = &work.shape;
    let one = Rates::new(machine, ColdSide::Dimms, work.batch, shape.weight_bytes);
    let count = f64::from(gpus);
    let (all, heads) = (one.of_gpus(gpus), one.of_heads(gpus, shape));
    let link = machine.gpu.link_gb_s.map_or(one.pcie_bytes_per_ns, GbPerS::as_f64);
    let sum = Sum { gpus: count, hop: machine.overhead.hop_us.into(), bytes_per_ns: link };
    #[expect(clippy::cast_precision_loss, reason = "a model's width")]
    let vector = shape.hidden as f64 * FP16;
    let sums =
        |tokens: u32| sum.of(f64::from(tokens) * one.batch * vector).map(|it| it * (SUMS * work.layers()));
    let weights = shape.multiplied_bytes() / shape.weight_bytes;
    let (reading, launches) = (all.gpu_dense(weights), all.launches(shape));
    let attention = heads.gpu_attention(shape, work.layers(), work.mean_context());
    let waiting = launches - (reading + attention);
    let fc = reading + waiting;
    let [hops, crossing] = sums(1);
    let [of_prompt, of_token] = [sums(work.prompt), [hops, crossing]].map(|[hops, bytes]| hops + bytes);
    let prompt = Prompt {
        compute: all.prompt_on_gpu(&heads, shape, work.prompt),
        transfer: of_prompt,
        overlapped: false,
        load: Nanoseconds::ZERO,
        pcie: of_prompt,
    };
    let step = step([
        (StepPart::Fc, fc),
        (StepPart::Attention, attention),
        (StepPart::Communication, of_token),
        (StepPart::Predictor, Nanoseconds::ZERO),
    ])?;
    let bound_by = Causes::of([
        (all.gpu_dense_cause(), reading),
        (BoundBy::CommandIssue, if waiting > Nanoseconds::ZERO { launches } else { waiting }),
        (heads.gpu_attention_cause(shape), attention),
        // A faster bus shortens what is on it, and no hop.
        (BoundBy::Synchronisation, hops),
        (BoundBy::Link, crossing),
    ]);
    let account = Account::dense(prompt, step, bound_by.largest(), held);
    Ok(Account { gpu: fc, pcie: of_token, ..account })
}

/// Sums of a layer that all GPUs need: after attention and after the feed-forward network.
///
/// # Source
/// Shoeybi et al., Megatron-LM, 2019: matrices divided by columns, then by rows, leave one sum for each pair.
const SUMS: f64 = 2.0;

/// GPUs that add up.
struct Sum {
    gpus: f64,
    hop: Nanoseconds,
    bytes_per_ns: f64,
}

impl Sum {
    /// Adding up what each has of so many bytes, so that all have the sum: once around a ring to add and once to
    /// tell, a part of the bytes at a time; or up a tree to add and down to tell, all of them.
    ///
    /// * returns what hops take, and what bytes take on the bus
    fn of(&self, bytes: f64) -> [Nanoseconds; 2] {
        let hops = |count: f64, bytes: f64| {
            [self.hop, Nanoseconds::saturating(bytes / self.bytes_per_ns)].map(|it| it * (2.0 * count))
        };
        let ring = hops(self.gpus - 1.0, bytes / self.gpus);
        let tree = hops(self.gpus.log2().ceil(), bytes);
        let time = |it: [Nanoseconds; 2]| it[0] + it[1];
        if time(tree) < time(ring) { tree } else { ring }
    }
}
