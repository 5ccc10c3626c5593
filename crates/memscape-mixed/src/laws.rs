//! What more of each parameter does, whatever the machine.

use memscape_study::{
    Aim, Effect, Exception, Laws, Trend, When, either, faster, lowers, neutral, raises, slower, unused,
};

const INT8: &[When] = &[When::is_not("precision", &["bf16-bf16"])];
const BF16: &[When] = &[When::is("precision", &["bf16-bf16"])];
const COPIES: &[When] = &[When::is("keeping", &["ddb", "owr"])];
const REFRESHED: &[When] = &[When::is("refresh", &["true"])];
const TURN_NOT_GIVEN: &[When] = &[When::is("pim.memory.trtw_ns", &["null"])];

/// Designs are chosen as `npu.workload` chooses them, and the copies take what is left.
const DESIGNS: &[Exception] = &[Exception {
    when: When::is("keeping", &["ddb"]),
    reason: "designs are chosen for the time of the products alone: another machine, or a longer prompt, may take one that moves more \
             or less, which leaves the copies beside it less of the memory",
}];

const CORES: &str = "more cores make a larger block of C, which reads A or B less often and pads M or N more";
const STRIDE: &str =
    "it moves tiles of A between columns: fewer columns rewrite fewer descriptors, and each streams more";
const BANKS: &str = "it decides which buffers of A and B share a bank of L1";
const GRID: &str = "larger blocks keep more in registers and leave fewer tiles to choose from";
const WORDS: &str = "wider words carry more weights and inputs, have more sums to hold and to fold, and make longer \
                     lines for the array";
const GROUPS: &str = "plain reads take turns over bank groups, a PIM command waits for them all";
const LATER_WRITE: &str = "a write whose data come later can follow a read sooner";
const ONE_MEMORY: &str = "the memory behind the array is `pim.memory`";

pub(crate) const INFERENCE: Laws = Laws {
    aim: Some(Aim::less("total_s")),
    effects: &[EFFECTS],
    trends: &[TRENDS],
    slow: true,
    ..Laws::NONE
};

const TRENDS: &[Trend] = &[
    raises("pim.memory.energy.activate*", "energy_j"),
    raises("pim.memory.energy.read*", "energy_j"),
    raises("pim.memory.energy.write*", "energy_j"),
    raises("pim.memory.energy.io*", "energy_j"),
    raises("pim.memory.energy.refresh*", "energy_j"),
    raises("pim.memory.energy.standby*", "energy_j"),
    raises("pim.pim.mac_pj_per_bit.*", "energy_j"),
    raises("generated_tokens", "energy_j"),
    raises("batch", "kv_transfer_s"),
    raises("prompt_tokens", "kv_transfer_s"),
    lowers("copy.cores", "copy_exposed_s"),
    lowers("copy.core_gb_s", "copy_exposed_s"),
    lowers("pim.memory.trefi_ns", "energy_refresh_j"),
];

const EFFECTS: &[Effect] = &[
    slower("prompt_tokens").except(DESIGNS),
    slower("generated_tokens"),
    slower("batch").except(DESIGNS),
    slower("kv_bits"),
    slower("activation_bits"),
    // The array.
    either("npu.rows", CORES),
    either("npu.columns", CORES),
    either("npu.a_column_stride", STRIDE),
    faster("npu.clock_mhz").except(DESIGNS),
    faster("npu.l1_bytes").except(DESIGNS),
    either("npu.l1_bank_bytes", BANKS),
    either("npu.stack_bytes", BANKS),
    faster("npu.l2_bytes").except(DESIGNS),
    faster("npu.dma_bytes_per_cycle").except(DESIGNS),
    faster("npu.port_bytes_per_cycle").except(DESIGNS),
    neutral("npu.accumulator_bytes"),
    either("npu.int8.*", GRID).only(INT8),
    slower("npu.int8.conversions").only(INT8).except(DESIGNS),
    either("npu.bf16.*", GRID).only(BF16),
    slower("npu.bf16.conversions").only(BF16).except(DESIGNS),
    slower("npu.pipeline_cycles").except(DESIGNS),
    neutral("npu.memory_channels"),
    neutral("npu.shim_bds"),
    slower("npu.bd_cycles").except(DESIGNS),
    slower("npu.dispatch_ns").except(DESIGNS),
    slower("npu.reconfiguration_ns").except(DESIGNS),
    faster("npu.dram.read_gb_s").except(DESIGNS),
    slower("npu.dram.run_bytes").except(DESIGNS),
    unused("npu.dram.*", ONE_MEMORY),
    // The copies.
    faster("copy.cores"),
    faster("copy.core_gb_s"),
    slower("copy.uncached_slowdown").only(COPIES),
    slower("copy.transactions"),
    faster("copy.together").only(COPIES),
    faster("copy.memory_efficiency"),
    // The memory, which all of them share.
    faster("pim.memory.channels"),
    unused("pim.memory.trrd_s_ns", "tFAW is at least four of it"),
    unused("pim.memory.ranks", "a PIM command reaches the banks of one rank"),
    either("pim.memory.bank_groups", GROUPS),
    faster("pim.memory.banks_per_channel"),
    neutral("pim.memory.rows"),
    neutral("pim.memory.energy.*"),
    neutral("pim.memory.energy.refresh*").only(REFRESHED),
    faster("pim.memory.row_bytes"),
    unused("pim.memory.column_bytes", "it is bus_bits x burst_length / 8"),
    either("pim.memory.bus_bits", WORDS),
    either("pim.memory.burst_length", WORDS),
    faster("pim.memory.data_rate_mt_s"),
    slower("pim.memory.transfers_per_clock"),
    unused("pim.memory.tck_ns", "it is transfers_per_clock over the data rate"),
    slower("pim.memory.trcd_ns"),
    slower("pim.memory.trp_ns"),
    slower("pim.memory.trp_ab_ns"),
    slower("pim.memory.tras_ns"),
    slower("pim.memory.trc_ns"),
    slower("pim.memory.twr_ns"),
    slower("pim.memory.trtp_ns"),
    slower("pim.memory.cl_ns").only(TURN_NOT_GIVEN),
    either("pim.memory.cwl_ns", LATER_WRITE),
    slower("pim.memory.tccd_s_ns"),
    slower("pim.memory.tccd_l_ns"),
    slower("pim.memory.trrd_l_ns"),
    slower("pim.memory.tfaw_ns"),
    unused(
        "pim.memory.twtr_s_ns",
        "a PIM command reaches every bank group, and the processor's reads follow no write",
    ),
    slower("pim.memory.twtr_l_ns"),
    slower("pim.memory.trtw_ns"),
    unused("pim.memory.trtrs_ns", "one rank has no other to switch to"),
    faster("pim.memory.trefi_ns").only(REFRESHED),
    slower("pim.memory.trfc_ab_ns").only(REFRESHED),
    // PIM and the processor.
    faster("pim.interleave_bytes"),
    faster("pim.pim.registers"),
    either("pim.pim.register_bits", "a wider register holds more and takes longer to fold lane by lane"),
    either(
        "pim.pim.input_registers",
        "inputs in registers save turnarounds, and sums lose the registers they take",
    ),
    either("pim.pim.sum_bits", "wider sums take more registers, and leave fewer lanes to fold across"),
    slower("pim.pim.command_ratio"),
    slower("pim.pim.host_turnaround_ns"),
    slower("pim.pim.swap_commands"),
    neutral("pim.pim.mac_pj_per_bit.*"),
    faster("pim.soc.tops_8bit"),
];
