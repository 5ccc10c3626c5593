//! What more of each parameter does, whatever the machine.
#![expect(clippy::cast_precision_loss, reason = "counts and bytes stay far below 2^53")]

use memscape_dram::Dram;
use memscape_dram::energy::TRENDS;
use memscape_study::{
    Aim, Bound, Effect, Engines, Exception, Laws, Limit, Trend, When, either, faster, neutral, raises,
    slower, unused,
};
use memscape_workload::{Format, Gemv};

/// The printed algorithms do not look at time.
const PRINTED: &[Exception] = &[Exception {
    when: When::is("placement", &["pimnast"]),
    reason: "algorithm 1 takes the tallest tile that spreads evenly, algorithm 3 all row-blocks that fit, \
             whatever folding and exchanging sums cost",
}];

/// Nor does the column-major order, which deals out whole units.
const UNITS: &[Exception] = &[Exception {
    when: When::is("placement", &["pimnast", "column-major"]),
    reason: "a larger unit allows taller tiles, whatever folding costs, and leaves more banks idle in \
             column-major order",
}];

const REFRESHED: &[When] = &[When::is("refresh", &["true"])];
const TURN_NOT_GIVEN: &[When] = &[When::is("memory.trtw_ns", &["null"])];

const ON_SOC: &[When] = &[When::is("system", &["soc"])];

const ONE_RANK: &str = "a PIM command reaches the banks of one rank";
const NO_OTHER_RANK: &str = "one rank has no other to switch to";
const NO_ENERGY: &str = "no column is an energy";
const WIDER_WORDS: &str = "wider words carry more weights and inputs, and have more sums to hold and to fold";

const SUMS_TAKE_TURNS: &str =
    "reads of partial sums take turns over bank groups, a PIM command waits for them all";

const LATER_WRITE: &str =
    "the later a write's data, the sooner it may follow a read; and a row waits for them";

/// What all studies say of machine and placement.
const MACHINE: &[Effect] = &[
    faster("memory.channels").except(PRINTED),
    unused("memory.trrd_s_ns", "tFAW is at least four of it"),
    faster("memory.banks_per_channel").except(PRINTED),
    neutral("memory.rows"),
    faster("memory.row_bytes"),
    unused("memory.column_bytes", "it is bus_bits x burst_length / 8"),
    either("memory.bus_bits", WIDER_WORDS),
    either("memory.burst_length", WIDER_WORDS),
    faster("memory.data_rate_mt_s"),
    slower("memory.transfers_per_clock"),
    unused("memory.tck_ns", "it is transfers_per_clock over the data rate"),
    slower("memory.trcd_ns"),
    slower("memory.trp_ns"),
    slower("memory.trp_ab_ns"),
    slower("memory.tras_ns"),
    slower("memory.trc_ns"),
    slower("memory.twr_ns"),
    slower("memory.trtp_ns"),
    slower("memory.cl_ns").only(TURN_NOT_GIVEN),
    either("memory.cwl_ns", LATER_WRITE),
    slower("memory.tccd_s_ns"),
    slower("memory.tccd_l_ns"),
    slower("memory.trrd_l_ns"),
    slower("memory.tfaw_ns"),
    unused(
        "memory.twtr_s_ns",
        "a PIM command reaches every bank group, and the processor's reads follow no write",
    ),
    slower("memory.twtr_l_ns"),
    slower("memory.trtw_ns"),
    faster("memory.trefi_ns").only(REFRESHED),
    slower("memory.trfc_ab_ns").only(REFRESHED),
    faster("interleave_bytes").except(UNITS),
    faster("pim.registers").except(PRINTED),
    either("pim.register_bits", "a wider register holds more and takes longer to fold lane by lane"),
    either(
        "pim.input_registers",
        "inputs in registers save turnarounds, and sums lose the registers they take",
    ),
    either("pim.sum_bits", "wider sums take more registers, and leave fewer lanes to fold across"),
    slower("pim.command_ratio"),
    slower("pim.host_turnaround_ns"),
    slower("pim.swap_commands"),
    either("split_k", "parts of the columns allow taller tiles, and read inputs and write sums of their own"),
    either("tile", "a taller tile folds fewer lanes, has more sums to hold and leaves more banks idle"),
    either("cr_degree", "row-blocks that share inputs exchange their sums"),
];

/// What all studies say of the units' energy.
const ENERGY: &[Trend] = &[raises("pim.mac_pj_per_bit.*", "energy_j")];

pub(super) const GEMV: Laws = Laws {
    aim: Some(Aim::less("time_ns")),
    trends: &[TRENDS, ENERGY],
    effects: &[
        MACHINE,
        &[
            neutral("memory.energy.*"),
            neutral("memory.energy.refresh*").only(REFRESHED),
            slower("m"),
            slower("k"),
            unused("memory.ranks", ONE_RANK),
            unused("memory.trtrs_ns", NO_OTHER_RANK),
            either("memory.bank_groups", SUMS_TAKE_TURNS),
            neutral("pim.mac_pj_per_bit.*"),
            // It shows in the processor's time beside, where that computes for longer than it reads.
            neutral("soc.tops_8bit"),
        ],
    ],
    engines: Some(Engines::closed_and_events(0.0)),
    limits: NO_REFRESH,
    ..Laws::NONE
};

/// The faster of both is chosen by time, and may take less energy where it takes over.
const ONE_SIDE: &[When] = &[When::is_not("system", &["faster"])];

pub(super) const INFERENCE: Laws = Laws {
    aim: Some(Aim::less("total_s")),
    trends: &[
        TRENDS,
        ENERGY,
        &[raises("generated_tokens", "energy_j"), raises("batch", "energy_j").only(ONE_SIDE)],
    ],
    effects: &[
        MACHINE,
        &[
            neutral("memory.energy.*"),
            neutral("memory.energy.refresh*").only(REFRESHED),
            slower("prompt_tokens"),
            slower("generated_tokens"),
            slower("batch"),
            either(
                "memory.bank_groups",
                "plain reads take turns over bank groups, a PIM command waits for them all",
            ),
            either(
                "memory.ranks",
                "each rank opens rows of its own, and the bus takes its time to turn to another",
            )
            .only(ON_SOC),
            slower("memory.trtrs_ns").only(ON_SOC),
            slower("kv_bits"),
            slower("activation_bits"),
            neutral("pim.mac_pj_per_bit.*"),
            faster("soc.tops_8bit"),
        ],
    ],
    ..Laws::NONE
};

const NO_REFRESH: &[Limit] =
    &[Limit { grow: &[("memory.trefi_ns", 1e5)], vanish: &["refresh_ns", "energy_refresh_j"] }];

pub(super) const REGRET: Laws = Laws {
    aim: Some(Aim::less("best_ns")),
    effects: &[
        MACHINE,
        &[
            unused("memory.energy.*", NO_ENERGY),
            slower("m"),
            slower("k"),
            unused("memory.ranks", ONE_RANK),
            unused("memory.trtrs_ns", NO_OTHER_RANK),
            unused("pim.mac_pj_per_bit.*", NO_ENERGY),
            either("memory.bank_groups", SUMS_TAKE_TURNS),
            unused("soc.tops_8bit", "no column is a speedup"),
        ],
    ],
    slow: true,
    ..Laws::NONE
};

/// The least time to read so many bytes in every bank of a memory at once: a
/// column access per column cycle.
fn all_banks_ns(memory: &Dram, bytes: f64) -> f64 {
    let banks = f64::from(memory.channels.get()) * f64::from(memory.banks_per_channel.get());
    bytes / (banks * f64::from(memory.column_bytes())) * memory.tccd_l().as_f64()
}

/// The same for the weights of a matrix.
pub(super) fn on_all_banks_ns(gemv: Gemv, format: Format, memory: &Dram) -> f64 {
    all_banks_ns(memory, bytes((gemv.m() * gemv.k()) as f64, format))
}

fn bytes(elements: f64, format: Format) -> f64 {
    elements * format.element_bits() as f64 / 8.0
}

/// What no placement of a matrix can beat.
pub(super) fn gemv_bounds(gemv: Gemv, split_k: f64, format: Format, memory: &Dram) -> Vec<Bound> {
    let (m, k) = (gemv.m() as f64, gemv.k() as f64);
    let capacity = memory.capacity().0 as f64;
    let inputs = bytes(k / split_k, format) / memory.channel_gb_s().as_f64();
    vec![
        Bound::at_least(
            "time_ns",
            all_banks_ns(memory, bytes(m * k, format)),
            "weights over all banks' reads",
        ),
        Bound::at_least("time_ns", inputs, "inputs over one channel's bus"),
        Bound::at_least(
            "soc_time_ns",
            bytes(m * k, format) / memory.peak_gb_s().as_f64(),
            "weights over the channels' peak",
        ),
        Bound::at_most("memory_bytes", capacity, "the memory's capacity"),
        Bound::at_least("energy_low_j", least_j(memory, bytes(m * k, format)), OPENED_AND_READ),
        Bound::at_least("soc_energy_low_j", least_j(memory, bytes(m * k, format)), OPENED_AND_READ),
    ]
}

const OPENED_AND_READ: &str = "each weight's row is opened, and it is read at the bank";

/// The least that a memory takes for reading so many bytes; nothing where nothing is known.
fn least_j(memory: &Dram, bytes: f64) -> f64 {
    memory.energy.map_or(0.0, |it| {
        let at_bank = it.read_pj_per_bit.estimate() * it.bank_share.share();
        (it.activate_pj_per_bit.estimate() + at_bank).low * bytes * 8.0 * 1e-12
    })
}

/// What no machine of these parts can beat: `layers` matrices of so many weights
/// for each of `prompt` tokens, and for each generated one.
pub(super) fn inference_bounds(work: &Work, memory: &Dram) -> Vec<Bound> {
    let Work { on_pim, times, weights, format, sequences, prompt_tokens, generated_tokens, tops_8bit } =
        *work;
    let tops = tops_8bit * 8.0 / format.element_bits() as f64;
    let prompt_s = 2.0 * weights * prompt_tokens / (tops * 1e12);
    let channels_ns = bytes(weights, format) / memory.peak_gb_s().as_f64();
    let (read_ns, by) = if on_pim {
        (all_banks_ns(memory, bytes(weights, format)), "the layers' weights over all banks' reads")
    } else {
        (channels_ns, "the layers' weights over the channels' peak")
    };
    vec![
        Bound::at_least("token_ns", times * read_ns, by),
        Bound::at_least(
            "ttft_s",
            sequences * prompt_s,
            "the prompt's multiplications over the processor's peak",
        ),
        Bound::at_least("ttft_s", channels_ns * 1e-9, "the layers' weights over the channels' peak"),
        Bound::at_most("memory_bytes", memory.capacity().0 as f64, "the memory's capacity"),
        Bound::at_least(
            "energy_low_j",
            times * generated_tokens * least_j(memory, bytes(weights, format)),
            "each token opens and reads the layers' weights",
        ),
    ]
}

/// What a reply asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Whether PIM may read the layers' weights.
    pub on_pim: bool,
    /// How often they are read for a token of each sequence: by PIM for each anew.
    pub times: f64,
    /// Weights of all layers' matrices.
    pub weights: f64,
    /// How they are stored.
    pub format: Format,
    /// Sequences.
    pub sequences: f64,
    /// Tokens of a prompt.
    pub prompt_tokens: f64,
    /// Tokens generated after it.
    pub generated_tokens: f64,
    /// Peak of the processor.
    pub tops_8bit: f64,
}
