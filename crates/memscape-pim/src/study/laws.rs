//! What more of each parameter does, whatever the machine.
#![expect(clippy::cast_precision_loss, reason = "counts and bytes stay far below 2^53")]

use memscape_dram::Dram;
use memscape_study::{
    Aim, Bound, Engines, Exception, Laws, Limit, When, either, faster, neutral, slower, unused,
};
use memscape_workload::{Format, Gemv};

/// With refresh, the walked stream is not monotone to the last nanosecond.
const WALKED: &[Exception] = &[Exception {
    when: When::is("engine", &["events"]),
    reason: "a refresh may fall on a change of rows, which it then hides, or beside it",
}];

/// The printed algorithms do not look at time.
const PRINTED: &[Exception] = &[
    Exception {
        when: When::is("tile", &["algorithm1"]),
        reason: "algorithm 1 takes the tallest tile that spreads evenly, however many sums it has to fold",
    },
    Exception {
        when: When::is("cr_degree", &["max", "divisor"]),
        reason: "algorithm 3 takes all row-blocks that fit, though exchanging their sums may cost more than \
                 sharing inputs saves",
    },
    WALKED[0],
];

/// The printed algorithms, and a baseline that deals out whole units.
const PRINTED_OR_COLUMNS: &[Exception] = &[
    PRINTED[0],
    PRINTED[1],
    WALKED[0],
    Exception {
        when: When::is("placement", &["column-major"]),
        reason: "the column-major baseline leaves more banks idle the larger its units are",
    },
];

const REFRESHED: &[When] = &[When::is("refresh", &["true"])];
const TURN_NOT_GIVEN: &[When] = &[When::is("memory.trtw_ns", &["null"])];
const ROW_CYCLE_NOT_GIVEN: &[When] = &[When::is("memory.trc_ns", &["null"])];

const WIDER_WORDS: &str = "wider words carry more weights and inputs, and have more sums to hold and to fold";

/// What all studies say of machine and placement, and what one adds.
macro_rules! with_machine {
    ($($own:expr),+ $(,)?) => {
        &[
            faster("memory.channels").except(PRINTED),
            unused("memory.trrd_s_ns", "tFAW is at least four of it"),
            unused("memory.ranks", "a PIM command reaches the banks of one rank"),
            slower("memory.bank_groups").except(WALKED),
            faster("memory.banks_per_channel").except(PRINTED),
            neutral("memory.rows"),
            faster("memory.row_bytes").except(WALKED),
            neutral("memory.column_bytes"),
            either("memory.bus_bits", WIDER_WORDS),
            either("memory.burst_length", WIDER_WORDS),
            faster("memory.data_rate_mt_s").except(WALKED),
            slower("memory.transfers_per_clock").except(WALKED),
            neutral("memory.tck_ns"),
            slower("memory.trcd_ns").except(WALKED),
            slower("memory.trp_ns").only(ROW_CYCLE_NOT_GIVEN).except(WALKED),
            slower("memory.trp_ab_ns").except(WALKED),
            slower("memory.tras_ns").except(WALKED),
            slower("memory.trc_ns").except(WALKED),
            slower("memory.twr_ns").except(WALKED),
            slower("memory.trtp_ns").except(WALKED),
            slower("memory.cl_ns").only(TURN_NOT_GIVEN).except(WALKED),
            slower("memory.cwl_ns").except(WALKED),
            slower("memory.tccd_s_ns").except(WALKED),
            slower("memory.tccd_l_ns").except(WALKED),
            slower("memory.trrd_l_ns").except(WALKED),
            slower("memory.tfaw_ns").except(WALKED),
            unused(
                "memory.twtr_s_ns",
                "a PIM command reaches every bank group, and the processor's reads follow no write",
            ),
            slower("memory.twtr_l_ns").except(WALKED),
            slower("memory.trtw_ns").except(WALKED),
            unused("memory.trtrs_ns", "one rank has no other to switch to"),
            faster("memory.trefi_ns").only(REFRESHED).except(WALKED),
            slower("memory.trfc_ab_ns").only(REFRESHED).except(WALKED),
            faster("interleave_bytes").except(PRINTED_OR_COLUMNS),
            faster("pim.registers").except(PRINTED),
            either("pim.register_bits", "a wider register holds more and takes longer to fold lane by lane"),
            either("pim.input_registers", "inputs in registers save turnarounds, and sums lose the registers they take"),
            either("pim.sum_bits", "wider sums take more registers, and leave fewer lanes to fold across"),
            slower("pim.command_ratio").except(WALKED),
            slower("pim.host_turnaround_ns").except(WALKED),
            slower("pim.swap_commands").except(WALKED),
            either("split_k", "parts of the columns allow taller tiles, and read inputs and write sums of their own"),
            either("tile", "a taller tile folds fewer lanes, has more sums to hold and leaves more banks idle"),
            either("cr_degree", "row-blocks that share inputs exchange their sums"),
            either("model.*", "another model has other matrices"),
            $($own),+
        ]
    };
}

pub(super) const GEMV: Laws = Laws {
    aim: Some(Aim::less("time_ns")),
    effects: with_machine![
        slower("m").except(WALKED),
        slower("k").except(WALKED),
        // It shows in the processor's time beside, where that computes for longer than it reads.
        neutral("soc.tops_8bit").only(&[When::below("soc.tops_8bit", 4.0)]),
    ],
    engines: Some(Engines::closed_and_events(REFRESH_WITHIN)),
    limits: NO_REFRESH,
};

pub(super) const INFERENCE: Laws = Laws {
    aim: Some(Aim::less("total_s")),
    effects: with_machine![
        slower("prompt_tokens"),
        slower("generated_tokens"),
        slower("batch"),
        slower("kv_bits"),
        slower("activation_bits"),
        faster("soc.tops_8bit"),
    ],
    ..Laws::NONE
};

/// How far the engines may be apart with refresh, which falls beside a change of
/// rows or on it; without refresh they are equal.
const REFRESH_WITHIN: f64 = 0.15;

const NO_REFRESH: &[Limit] = &[Limit { grow: &[("memory.trefi_ns", 1e5)], vanish: &["refresh_ns"] }];

/// The least time to read so many bytes in every bank of a memory at once: a
/// column access per column cycle.
fn all_banks_ns(memory: &Dram, bytes: f64) -> f64 {
    let banks = f64::from(memory.channels.get()) * f64::from(memory.banks_per_channel.get());
    bytes / (banks * f64::from(memory.column_bytes())) * memory.tccd_l().as_f64()
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
    ]
}

/// What no machine of these parts can beat: `layers` matrices of so many weights
/// for each of `prompt` tokens, and for each generated one.
pub(super) fn inference_bounds(work: &Work, memory: &Dram) -> Vec<Bound> {
    let Work { weights, format, sequences, prompt_tokens, tops_8bit } = *work;
    let tops = tops_8bit * 8.0 / format.element_bits() as f64;
    let prompt_s = 2.0 * weights * prompt_tokens / (tops * 1e12);
    vec![
        Bound::at_least(
            "token_ns",
            sequences * all_banks_ns(memory, bytes(weights, format)),
            "the layers' weights over all banks' reads",
        ),
        Bound::at_least(
            "ttft_s",
            sequences * prompt_s,
            "the prompt's multiplications over the processor's peak",
        ),
        Bound::at_most("memory_bytes", memory.capacity().0 as f64, "the memory's capacity"),
    ]
}

/// What a reply asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Weights of all layers' matrices.
    pub weights: f64,
    /// How they are stored.
    pub format: Format,
    /// Sequences, one after the other.
    pub sequences: f64,
    /// Tokens of a prompt.
    pub prompt_tokens: f64,
    /// Peak of the processor.
    pub tops_8bit: f64,
}
