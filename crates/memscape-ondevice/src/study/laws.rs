//! What more of each parameter does, study by study.

use memscape_dram::energy::TRENDS;
use memscape_study::{Aim, Effect, Engines, Laws, When, either, faster, neutral, raises, slower, unused};

const COPIES: &[When] = &[When::is("scheme", &["ddb", "owr"])];
const READS_PIM_AWARE: &[When] = &[When::is("scheme", &["ddb", "owr", "non-cacheable-gemm"])];
const COPY_THREADS: &[When] = &[When::is("scheme", &["ddb", "non-cacheable-gemm"])];
const OWR: &[When] = &[When::is("scheme", &["owr"])];
const UNCACHED: &[When] =
    &[When::is("scheme", &["ddb", "owr", "non-cacheable-gemm"]), When::is("region", &["non-cacheable"])];
const ON_HOST: &[When] = &[When::is("scheme", &["cacheable-gemm"])];
const REFRESHED: &[When] = &[When::is("refresh", &["true"])];

const TURNAROUNDS: &str = "what turnarounds take from the cores is in cpu.memory_efficiency";
const FOUR_ACTIVATES: &str = "tFAW is at least four of it";
const GROUPS: &str = "plain reads take turns over bank groups, a PIM command waits for them all";
const ALL_BANKS: &str = "every bank does the same at the same time";
const FEWER_UNITS: &str = "there are fewer units, each of which opens a row in all of its banks at once: better for a matrix too small for all";
const REGISTERS: &str = "inputs serve more lines of a unit at a time; where those do not divide its DRAM rows, they open more of them";
const PASSES: &str = "two passes are padded to be full, as printed, and one of fewer lines is not";
const LANES: &str = "a longer burst has more lanes, which a matrix may leave empty";
const LATER_WRITE: &str = "a write whose data come later can follow a read sooner";
const ONE_RANK: &str = "a PIM command reaches the banks of one rank, so that there must be one";

/// The cores: peaks and GEMM threads of all kinds.
const KINDS: &[Effect] = &[
    neutral("cpu.big.cores"),
    neutral("cpu.middle_high.cores"),
    neutral("cpu.middle_low.cores"),
    faster("cpu.big.*"),
    faster("cpu.middle_high.*"),
    faster("cpu.middle_low.*"),
];

/// The copies of a prompt's weights, and the GEMM beside them.
const COPIED: &[Effect] = &[
    neutral("buffer_bytes").only(COPIES),
    faster("together").only(READS_PIM_AWARE),
    faster("cpu.big.copy_threads").only(COPY_THREADS),
    faster("cpu.middle_high.copy_threads").only(COPY_THREADS),
    faster("cpu.middle_low.copy_threads").only(COPY_THREADS),
    faster("cpu.owr_threads").only(OWR),
    faster("cpu.copy_gb_s").only(READS_PIM_AWARE),
    slower("cpu.copy_transactions").only(COPIES),
    slower("cpu.step_ms"),
    faster("cpu.gemm_efficiency"),
    faster("cpu.gemm_block_tokens"),
    faster("cpu.memory_efficiency"),
];

/// The units at the banks.
const UNITS: &[Effect] =
    &[either("pim.output_registers", REGISTERS), either("pim.banks_per_block", FEWER_UNITS)];

/// The memory, as units at all banks read it.
const PIM_MEMORY: &[Effect] = &[
    faster("memory.channels"),
    either("memory.bank_groups", GROUPS),
    faster("memory.banks_per_channel"),
    neutral("memory.rows"),
    faster("memory.row_bytes"),
    either("memory.bus_bits", LANES),
    either("memory.burst_length", LANES),
    faster("memory.data_rate_mt_s"),
    slower("memory.transfers_per_clock"),
    slower("memory.trcd_ns"),
    slower("memory.trp_ab_ns"),
    slower("memory.tras_ns"),
    slower("memory.trc_ns"),
    slower("memory.twr_ns"),
    slower("memory.trtp_ns"),
    slower("memory.cl_ns"),
    either("memory.cwl_ns", LATER_WRITE),
    slower("memory.tccd_s_ns"),
    slower("memory.tccd_l_ns"),
    slower("memory.trrd_l_ns"),
    slower("memory.tfaw_ns"),
    slower("memory.twtr_l_ns"),
    slower("memory.trtw_ns"),
    unused("memory.*", ALL_BANKS),
];

/// Of `ondevice.prefill`.
pub(super) const PREFILL: Laws = Laws {
    aim: Some(Aim::less("ttft_s")),
    effects: &[
        KINDS,
        COPIED,
        &[
            slower("layers"),
            slower("prompt_tokens"),
            slower("cpu.uncached_slowdown").only(UNCACHED),
            unused("cpu.product_overhead_us", "no token is generated"),
            faster("memory.channels"),
            faster("memory.ranks"),
            faster("memory.bank_groups"),
            faster("memory.banks_per_channel"),
            neutral("memory.rows"),
            faster("memory.row_bytes"),
            faster("memory.bus_bits"),
            faster("memory.burst_length"),
            faster("memory.data_rate_mt_s"),
            slower("memory.transfers_per_clock"),
            slower("memory.trcd_ns"),
            slower("memory.trp_ns"),
            slower("memory.tras_ns"),
            slower("memory.trc_ns"),
            slower("memory.trtp_ns"),
            slower("memory.tccd_s_ns"),
            slower("memory.tccd_l_ns"),
            unused("memory.trrd_s_ns", FOUR_ACTIVATES),
            slower("memory.trrd_l_ns"),
            slower("memory.tfaw_ns"),
            faster("memory.trefi_ns"),
            slower("memory.trfc_ab_ns"),
            unused("memory.*", TURNAROUNDS),
        ],
    ],
    engines: Some(Engines::closed_and_events(0.0)),
    ..Laws::NONE
};

/// Of `ondevice.gemv`.
pub(super) const GEMV: Laws = Laws {
    aim: Some(Aim::less("busy_ns")),
    effects: &[
        UNITS,
        PIM_MEMORY,
        &[
            faster("pim.input_registers"),
            slower("m"),
            slower("k"),
            unused("memory.ranks", ONE_RANK),
            // PIM closes all rows at once; the processor's reads of sums wait for one.
            slower("memory.trp_ns"),
            neutral("memory.trefi_ns").only(REFRESHED),
            neutral("memory.trfc_ab_ns").only(REFRESHED),
        ],
    ],
    engines: Some(Engines::closed_and_events(0.0)),
    slow: true,
    ..Laws::NONE
};

/// Of `ondevice.decode`.
pub(super) const DECODE: Laws = Laws {
    aim: Some(Aim::less("token_ns")),
    effects: &[
        KINDS,
        NO_COPIES,
        UNITS,
        PIM_MEMORY,
        &[
            faster("pim.input_registers"),
            slower("context_tokens"),
            unused("cpu.step_ms", NO_PROMPT),
            unused("cpu.gemm_block_tokens", NO_PROMPT),
            faster("cpu.gemm_efficiency"),
            faster("cpu.memory_efficiency"),
            slower("cpu.product_overhead_us"),
            unused("memory.ranks", ONE_RANK),
            slower("memory.trp_ns"),
            faster("memory.trefi_ns").only(REFRESHED),
            slower("memory.trfc_ab_ns").only(REFRESHED),
        ],
    ],
    slow: true,
    ..Laws::NONE
};

const NO_PROMPT: &str = "no prompt is computed";
const NO_COPIES: &[Effect] = &[
    unused("cpu.big.copy_threads", NO_PROMPT),
    unused("cpu.middle_high.copy_threads", NO_PROMPT),
    unused("cpu.middle_low.copy_threads", NO_PROMPT),
    unused("cpu.owr_threads", NO_PROMPT),
    unused("cpu.copy_gb_s", NO_PROMPT),
    unused("cpu.uncached_slowdown", NO_PROMPT),
    unused("cpu.copy_transactions", NO_PROMPT),
];

/// More inputs at once.
const LONG_RUNS: &str = "a GEMV takes less; but of row bursts, inputs that serve more bursts of a line leave room for \
                         fewer lines in a DRAM row, of which a copy takes a burst each";

/// Of `ondevice.inference`.
pub(super) const INFERENCE: Laws = Laws {
    aim: Some(Aim::less("total_s")),
    trends: &[TRENDS, &[raises("mac_pj_per_bit.*", "energy_j"), raises("generated_tokens", "energy_j")]],
    effects: &[
        KINDS,
        COPIED,
        UNITS,
        PIM_MEMORY,
        &[
            either("pim.input_registers", LONG_RUNS),
            slower("prompt_tokens"),
            slower("generated_tokens"),
            slower("batch"),
            slower("cpu.uncached_slowdown").only(READS_PIM_AWARE),
            slower("cpu.product_overhead_us"),
            // Of a scheme with PIM there is one.
            faster("memory.ranks").only(ON_HOST),
            neutral("memory.energy.*"),
            neutral("memory.energy.refresh*").only(REFRESHED),
            neutral("mac_pj_per_bit.*"),
            slower("memory.trp_ns"),
            faster("memory.trefi_ns").only(REFRESHED),
            slower("memory.trfc_ab_ns").only(REFRESHED),
        ],
    ],
    slow: true,
    ..Laws::NONE
};

/// Of `ondevice.capacity`.
pub(super) const CAPACITY: Laws = Laws {
    aim: Some(Aim::less("total_bytes")),
    effects: &[&[
        slower("buffer_bytes"),
        unused("pim.input_registers", "they hold no weights"),
        // With `row-tile` alone, more units or lanes never take less.
        either("pim.output_registers", PASSES),
        either("pim.banks_per_block", PASSES),
        either("memory.channels", PASSES),
        either("memory.banks_per_channel", PASSES),
        either("memory.bus_bits", PASSES),
        either("memory.burst_length", PASSES),
        neutral("memory.rows"),
        // A matrix begins in a row of its own.
        slower("memory.row_bytes"),
        unused("memory.ranks", "banks are counted over all of them"),
        unused("memory.*", "bytes do not depend on how fast they are"),
    ]],
    ..Laws::NONE
};

/// Of `ondevice.roofline`.
pub(super) const ROOFLINE: Laws = Laws {
    aim: Some(Aim::less("serial_t")),
    effects: &[&[slower("prompt_tokens"), faster("flop_per_byte"), slower("copy_transactions")]],
    ..Laws::NONE
};

/// Of `ondevice.layout`: fewer DRAM rows are better. How fast the host reads them back
/// has no direction, since each change puts other bursts into the same rows and banks.
pub(super) const LAYOUT: Laws = Laws {
    aim: Some(Aim::less("dram_rows")),
    effects: &[&[
        slower("rows"),
        slower("columns"),
        neutral("together"),
        neutral("pim.input_registers"),
        neutral("pim.output_registers"),
        faster("pim.banks_per_block"),
        faster("memory.channels"),
        neutral("memory.ranks"),
        neutral("memory.bank_groups"),
        faster("memory.banks_per_channel"),
        neutral("memory.rows"),
        faster("memory.row_bytes"),
        slower("memory.bus_bits"),
        slower("memory.burst_length"),
        neutral("memory.data_rate_mt_s"),
        neutral("memory.transfers_per_clock"),
        neutral("memory.trcd_ns"),
        neutral("memory.trp_ns"),
        neutral("memory.tras_ns"),
        neutral("memory.trc_ns"),
        neutral("memory.trtp_ns"),
        neutral("memory.tccd_s_ns"),
        neutral("memory.tccd_l_ns"),
        neutral("memory.trrd_s_ns"),
        neutral("memory.trrd_l_ns"),
        neutral("memory.tfaw_ns"),
        neutral("memory.trtrs_ns"),
        unused("memory.*", "nothing is written or refreshed, and a read counts from its command"),
    ]],
    slow: true,
    ..Laws::NONE
};

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use memscape_study::{More, Study};

    use crate::DecodeStudy;
    use crate::mapping::layout::Placement;

    /// Eight lines of a unit divide its rows, nine do not.
    #[test]
    fn more_output_registers_may_take_longer() {
        let of = |registers| {
            let mut study = DecodeStudy { placement: Placement::RowBursts, ..DecodeStudy::default() };
            study.pim.output_registers = NonZeroU32::new(registers).unwrap();
            study.answer().unwrap().token_ns
        };
        assert!(of(9) > of(8) && of(16) < of(8));
        let effect = DecodeStudy::LAWS.effect_on("pim.output_registers").unwrap();
        assert!(matches!(effect.more, More::Either(_)));
    }
}
