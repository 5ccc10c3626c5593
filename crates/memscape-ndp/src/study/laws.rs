//! What more of each parameter does: to the time of a prompt and a reply, to a
//! partition's bound, to the predictor's accuracy, to the share of the hottest; and
//! what no time can be below.

use memscape_study::{
    Bound, Effect, Exception, Trend, When, either, faster, lowers, neutral, raises, slower, unused,
};

use crate::cost::{ColdSide, Rates};
use crate::hardware::Machine;
use crate::work::Work;

const PRINTED: &[Exception] = &[
    Exception {
        when: When::is("exchange", &["unchecked"]),
        reason: "the printed exchange goes on where it makes the GPU the slower side",
    },
    Exception {
        when: When::is("engine", &["events"]),
        reason: "a walk is one draw: another placement meets other activity, some per cent apart",
    },
];

/// A unit at a bank gives a word of partial sums, one sum for each lane.
const UNITS: &[Exception] = &[Exception {
    when: When::is_not("dimm.units", &["null"]),
    reason: "each lane of each rank's unit leaves a partial sum of its own, which crosses the module's pins",
}];

/// More banks of a rank.
const BANKS: &[Exception] = &[Exception {
    when: When::above("dimm.memory.ranks", 1.0),
    reason: "the bus turns to another rank sooner than to another row of the same bank group, and a rank of more banks is \
             left less often",
}];

const PRINTED_BANKS: &[Exception] = &[PRINTED[0], PRINTED[1], BANKS[0]];

const AT_BANKS: &[Exception] = &[PRINTED[0], PRINTED[1], UNITS[0]];

/// A GPU that holds more hands over a part of all that it holds.
const MEANS_HANDED: &[Exception] = &[
    PRINTED[0],
    PRINTED[1],
    Exception {
        when: When::above("batch", 1.0),
        reason: "sequences multiply the mean of what a GPU holds more often than the coldest, and units bound by \
                 multiplying take over the mean of it",
    },
];

/// What a prompt shows of neurons may be worth more to a short reply than its tokens take beside its weights.
const TRAINED: &str = "a longer prompt takes longer, but tells Hermes more of what is hot";

/// Those of a machine that the printed exchange lets down.
const fn better(path: &'static str) -> Effect {
    faster(path).except(PRINTED)
}

const fn worse(path: &'static str) -> Effect {
    slower(path).except(PRINTED)
}

const TENSORRT: &[When] = &[When::is("system", &["tensorrt-llm"])];
const BESIDE_A_HOST: &[When] = &[When::is_not("system", &["tensorrt-llm"])];
const FROM_THE_HOST: &[When] = &[When::is("system", &["hermes-host", "accelerate", "flexgen", "deja-vu"])];
const HOST: &[When] = &[When::is("system", &["hermes-host"])];
const PREDICTING: &[When] = &[When::is("system", &["hermes", "hermes-host"])];
const LAW: &[When] =
    &[When::is("system", &["hermes", "hermes-host", "deja-vu"]), When::is("trace", &["null"])];

const MORE_PREDICTED: &str =
    "more that is predicted is more to read; less that is missed is less to compute late";
const CONCENTRATES: &str =
    "it moves activity between neurons: the GPU and the predictor may do better or worse by it";

const TURNS: &str = "accesses that take turns over more groups wait less for each other, and a group has fewer banks to open \
                     rows ahead; a row is one group's, which one group alone is not";

const WIDER: &str =
    "a wider access brings more bytes, and a row has fewer of them to open the next one behind";
const COLUMN: &str = "it is bus_bits x burst_length / 8";
const CLOCK: &str = "it is transfers_per_clock over the data rate";

const READS: &str = "rows are read one behind the other: nothing is written, no row waits for others to be closed, and \
                     what is between a read and its data is the same for all";
const RANKS: &str =
    "ranks open rows beside each other, but the bus waits where it turns from one to the next";
const ROWS: &str =
    "a longer row leaves more time to open the next one, and keeps the bus in one bank group for longer";

const PROFILE: &str = "a profile over many prompts does not see it";
const NO_LINKS: &str = "nothing goes from GPU to GPU, or from DIMM to DIMM";
const NO_PRICE: &str = "no answer is a price or an energy";
const NO_DENSE: &str = "attention and its softmax, Deja Vu's predictors and what is copied are no part of it";

/// What sparse blocks by themselves have nothing of.
pub(super) const SPARSE_ALONE: &[Effect] = &[
    unused("gpu.link_gb_s", NO_LINKS),
    unused("gpu.price_usd", NO_PRICE),
    unused("gpu.board_w", NO_PRICE),
    unused("dimm.price_usd", NO_PRICE),
    unused("dimm.mac_pj_per_bit.*", NO_PRICE),
    unused("dimm.activation_units", NO_DENSE),
    unused("host.cache_gb_s", NO_DENSE),
    unused("host.copy_gb_s", NO_DENSE),
    unused("host.accelerate_passes", NO_DENSE),
    unused("host.copy_call_us", NO_DENSE),
    unused("overhead.hop_us", NO_LINKS),
    unused("overhead.predictor_rank", NO_DENSE),
];

/// A rank, whose rows are streamed.
pub(super) const RANK: &[Effect] = &[
    unused("dimm.memory.*", READS),
    unused("dimm.memory.tck_ns", CLOCK),
    either("dimm.memory.ranks", RANKS),
    either("dimm.memory.bank_groups", TURNS),
    either("dimm.memory.row_bytes", ROWS),
    unused("dimm.memory.column_bytes", COLUMN),
    either(
        "dimm.memory.burst_length",
        "a longer burst holds the bus longer, for the bytes that an access brings",
    ),
    either("dimm.memory.bus_bits", WIDER),
];

pub(super) const INFERENCE: &[Effect] = &[
    worse("batch"),
    either("prompt_tokens", TRAINED).only(&[When::is("trace", &["null"])]),
    slower("generated_tokens"),
    faster("gpu.memory_gb").except(MEANS_HANDED),
    better("gpu.bandwidth_gb_s"),
    better("gpu.fp16_tops"),
    better("gpu.pcie_gb_s"),
    faster("gpu.link_gb_s").only(TENSORRT),
    neutral("gpu.price_usd"),
    neutral("gpu.board_w"),
    neutral("dimm.memory.energy.*"),
    better("dimm.memory.trefi_ns"),
    worse("dimm.memory.trfc_ab_ns"),
    neutral("dimm.mac_pj_per_bit.*"),
    neutral("link_pj_per_bit.*"),
    either("gpus", "each reads less, and a sum over all has more hops").only(TENSORRT),
    better("dimm.memory.channels"),
    faster("dimm.memory.banks_per_channel").except(PRINTED_BANKS),
    neutral("dimm.memory.rows"),
    better("dimm.memory.data_rate_mt_s"),
    worse("dimm.memory.transfers_per_clock"),
    worse("dimm.memory.tccd_s_ns"),
    worse("dimm.memory.tccd_l_ns"),
    worse("dimm.memory.trcd_ns"),
    worse("dimm.memory.tras_ns"),
    worse("dimm.memory.trc_ns"),
    worse("dimm.memory.trtp_ns"),
    worse("dimm.memory.trp_ns"),
    worse("dimm.memory.trrd_l_ns"),
    worse("dimm.memory.tfaw_ns"),
    worse("dimm.memory.trtrs_ns"),
    faster("dimm.ranks").except(AT_BANKS),
    better("dimm.capacity_gb"),
    better("dimm.multipliers"),
    faster("dimm.lanes").except(AT_BANKS),
    worse("dimm.cycles_per_multiply"),
    better("dimm.clock_ghz"),
    faster("dimm.activation_units"),
    neutral("dimm.price_usd"),
    better("dimms"),
    faster("link_gb_s"),
    better("host.bandwidth_gb_s").only(FROM_THE_HOST),
    better("host.bandwidth_efficiency").only(FROM_THE_HOST),
    worse("host.dimms_per_channel").only(BESIDE_A_HOST),
    better("host.fp32_tops").only(HOST),
    faster("host.cache_gb_s").only(PREDICTING),
    faster("host.copy_gb_s"),
    slower("host.accelerate_passes").only(&[When::is("system", &["accelerate"])]),
    slower("host.copy_call_us"),
    worse("host.dispatch_us").only(HOST),
    faster("overhead.gpu_usable").except(MEANS_HANDED),
    better("overhead.gpu_bandwidth_efficiency"),
    better("overhead.gpu_compute_efficiency"),
    worse("overhead.sync_us"),
    worse("overhead.launch_us"),
    slower("overhead.hop_us").only(TENSORRT),
    slower("overhead.predictor_rank").only(&[When::is("system", &["deja-vu"])]),
    either("activity.native_density", CONCENTRATES).only(LAW),
    either("activity.relufied_density", CONCENTRATES).only(LAW),
    either("activity.spread", CONCENTRATES).only(LAW),
    either("activity.persistence", CONCENTRATES).only(LAW),
    either("activity.prompt_drift", CONCENTRATES).only(LAW),
    either("activity.cluster_drift", CONCENTRATES).only(LAW),
    either("activity.clusters", CONCENTRATES).only(LAW),
    either("density", CONCENTRATES).only(LAW),
    either("predictor.increment", MORE_PREDICTED).only(PREDICTING),
    either("predictor.lambda", MORE_PREDICTED).only(PREDICTING),
    either("predictor.threshold", MORE_PREDICTED).only(PREDICTING),
    either("predictor.hot_threshold", "fewer exchanges, of hotter neurons").only(PREDICTING),
    either("predictor.start_low", MORE_PREDICTED).only(PREDICTING),
    either("predictor.start_high", MORE_PREDICTED).only(PREDICTING),
    either("remap.window", "a longer window sees more and acts later")
        .only(&[When::is("strategy", &["full"])]),
    either("placement_groups", "smaller groups even out what a prompt favours, or do not come out even")
        .only(PREDICTING),
    either("placed_for_multipliers", "a partition for another machine")
        .only(&[When::is("exchange", &["unchecked"])]),
    faster("hot_share").only(PREDICTING).except(MEANS_HANDED),
    either("sequence", "another recorded sequence").only(&[When::is_not("trace", &["null"])]),
    either("seed", "another draw").only(&[When::is("engine", &["events"])]),
];

/// Of what DIMMs and links take.
pub(super) const ENERGY: &[Trend] = &[
    raises("dimm.memory.energy.*", "energy_j"),
    raises("dimm.memory.energy.*", "energy_high_j"),
    raises("dimm.mac_pj_per_bit.*", "energy_j"),
    raises("link_pj_per_bit.*", "energy_j"),
    lowers("dimm.memory.trefi_ns", "energy_refresh_j"),
    raises("dimm.capacity_gb", "energy_refresh_j"),
    raises("gpu.board_w", "energy_package_limit_j"),
];

pub(super) const PARTITION: &[Effect] = &[
    slower("batch"),
    faster("gpu.memory_gb"),
    faster("gpu.bandwidth_gb_s"),
    faster("gpu.fp16_tops"),
    faster("gpu.pcie_gb_s"),
    faster("dimm.memory.channels"),
    faster("dimm.memory.banks_per_channel").except(BANKS),
    faster("dimm.memory.data_rate_mt_s"),
    slower("dimm.memory.transfers_per_clock"),
    slower("dimm.memory.tccd_s_ns"),
    slower("dimm.memory.tccd_l_ns"),
    slower("dimm.memory.trcd_ns"),
    slower("dimm.memory.tras_ns"),
    slower("dimm.memory.trc_ns"),
    slower("dimm.memory.trtp_ns"),
    slower("dimm.memory.trp_ns"),
    slower("dimm.memory.trrd_l_ns"),
    slower("dimm.memory.tfaw_ns"),
    slower("dimm.memory.trtrs_ns"),
    faster("dimm.memory.trefi_ns"),
    slower("dimm.memory.trfc_ab_ns"),
    faster("dimm.ranks").except(UNITS),
    neutral("dimm.capacity_gb"),
    faster("dimm.multipliers"),
    faster("dimm.lanes").except(UNITS),
    slower("dimm.cycles_per_multiply"),
    faster("dimm.clock_ghz"),
    faster("dimms"),
    faster("host.bandwidth_gb_s").only(SPARSE_HOST),
    faster("host.bandwidth_efficiency").only(SPARSE_HOST),
    slower("host.dimms_per_channel").only(SPARSE_HOST),
    faster("host.fp32_tops").only(SPARSE_HOST),
    slower("host.dispatch_us").only(SPARSE_HOST),
    faster("overhead.gpu_usable"),
    faster("overhead.gpu_bandwidth_efficiency"),
    faster("overhead.gpu_compute_efficiency"),
    slower("overhead.sync_us"),
    slower("overhead.launch_us"),
    unused("activity.persistence", PROFILE),
    unused("activity.clusters", PROFILE),
    either("activity.*", CONCENTRATES).only(&[When::is("trace", &["null"])]),
    either("density", CONCENTRATES).only(&[When::is("trace", &["null"])]),
    faster("hot_share"),
    either("seed", "another draw"),
];

/// To the accuracy of what is foreseen: who computes it, and how fast, is nothing to it.
pub(super) const PREDICTOR: &[Effect] = &[
    either("batch", "a neuron is active if any sequence needs it, which all together need more often"),
    either("prompt_tokens", "the table begins with what the prompt showed")
        .only(&[When::is("trace", &["null"])]),
    either("generated_tokens", "a reply's end is foreseen as well as its beginning, or not"),
    either("layers", "some layers are foreseen better than others"),
    either("sequence", "another recorded sequence").only(&[When::is_not("trace", &["null"])]),
    either("activity.*", CONCENTRATES).only(&[When::is("trace", &["null"])]),
    either("density", CONCENTRATES).only(&[When::is("trace", &["null"])]),
    either("predictor.increment", "a state rises faster, and so after less"),
    either("predictor.lambda", "parents weigh more beside the neuron's own past"),
    either("predictor.threshold", "less is predicted: fewer false alarms, more that is missed"),
    neutral("predictor.hot_threshold"),
    either("predictor.start_low", "what the prompt seldom used begins as likelier"),
    either("predictor.start_high", "what the prompt used often begins as likelier"),
    unused("dimm.memory.*", READS),
    unused("dimm.memory.tck_ns", CLOCK),
    unused("dimm.memory.column_bytes", COLUMN),
    neutral("dimm.memory.channels"),
    neutral("dimm.memory.ranks"),
    neutral("dimm.memory.bank_groups"),
    neutral("dimm.memory.banks_per_channel"),
    neutral("dimm.memory.row_bytes"),
    neutral("dimm.memory.bus_bits"),
    neutral("dimm.memory.burst_length"),
    neutral("dimm.memory.data_rate_mt_s"),
    neutral("dimm.memory.transfers_per_clock"),
    neutral("dimm.memory.tccd_s_ns"),
    neutral("dimm.memory.tccd_l_ns"),
    neutral("dimm.memory.trcd_ns"),
    neutral("dimm.memory.tras_ns"),
    neutral("dimm.memory.trc_ns"),
    neutral("dimm.memory.trtp_ns"),
    neutral("dimm.memory.trp_ns"),
    neutral("dimm.memory.trrd_l_ns"),
    neutral("dimm.memory.tfaw_ns"),
    neutral("dimm.memory.trtrs_ns"),
    neutral("dimm.memory.trefi_ns"),
    neutral("dimm.memory.trfc_ab_ns"),
    neutral("dimm.*"),
    neutral("dimms"),
    neutral("gpu.*"),
    neutral("host.*"),
    neutral("overhead.*"),
    neutral("remap.window"),
    neutral("placement_groups"),
    neutral("hot_share"),
    either("seed", "another draw"),
];

/// To the share of activations that is in the hottest neurons.
pub(super) const ACTIVITY: &[Effect] = &[
    faster("hot_fraction"),
    neutral("distance"),
    neutral("shards"),
    neutral("window"),
    either("layers", "some layers are more uneven than others"),
    either("prompt_tokens", "a longer profile tells more of what is hot")
        .only(&[When::is("trace", &["null"])]),
    either("generated_tokens", "a longer reply uses more neurons"),
    either("sequence", "another sequence").only(&[When::is("engine", &["events"])]),
    either("activity.*", CONCENTRATES).only(&[When::is("trace", &["null"])]),
    either("density", CONCENTRATES).only(&[When::is("trace", &["null"])]),
    either("seed", "another draw"),
];

const SPARSE_HOST: &[When] = &[When::is("system", &["hermes-host"])];

/// No step is faster than reading what it must on all that there is, and no prompt than
/// its arithmetic or one look at its weights.
pub(super) fn bounds(machine: &Machine, work: &Work, gpus: u32) -> Vec<Bound> {
    let shape = &work.shape;
    let rates = Rates::new(machine, ColdSide::Dimms, work.batch, shape.weight_bytes);
    let gpu = machine.gpu.bandwidth_gb_s.as_f64() * f64::from(gpus);
    let dense = shape.dense_bytes() / (gpu + rates.cold_bytes_per_ns);
    let macs = machine.gpu.fp16_tops.as_f64() * 1e3 / 2.0 * f64::from(gpus);
    let [of_all, of_last] = shape.prompt_weights();
    let prompt = (of_all * f64::from(work.prompt) + of_last) * f64::from(work.batch) / macs;
    let prompt = prompt.max(shape.multiplied_bytes() / gpu);
    vec![
        Bound::at_least("token_ns", dense, "output projections and LM head over all bandwidth"),
        Bound::at_least(
            "ttft_s",
            prompt * 1e-9,
            "the prompt's weights read once or multiplied, at the GPUs' peaks",
        ),
        Bound::at_most("missed_share", 1.0, "no more is missed than is active"),
        Bound::at_most("hot_share_used", 1.0, "the GPU holds no neuron twice"),
    ]
}
