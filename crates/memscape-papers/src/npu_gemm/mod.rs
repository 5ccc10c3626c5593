//! GEMM on Ryzen AI NPUs: the evaluation of section 5, one module per figure or
//! table.

mod balance;
mod common;
mod fig6;
mod kernels;
mod regret;
mod sec521;
mod sec531;
mod sec532;
mod sec533;
mod setup;
mod sweeps;
mod table1;
mod tables;

use crate::experiment::Experiment;
use crate::paper::Paper;

pub const PAPER: Paper = Paper {
    id: "npu-gemm",
    experiments: EXPERIMENTS,
    published: include_str!("../../../../data/published/npu-gemm.toml"),
};

/// In the paper's order.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::new("npu-gemm.setup", "The two NPUs and their DRAM", setup::table, setup::plot),
    Experiment::new("npu-gemm.table1", "The fastest kernel of one core", table1::table, table1::plot),
    Experiment::new("npu-gemm.kernels", "Where the cycles of all kernels go", kernels::table, kernels::plot),
    Experiment::new("npu-gemm.table2", "Two designs per precision on XDNA", tables::table2, tables::plot),
    Experiment::new("npu-gemm.table3", "Two designs per precision on XDNA2", tables::table3, tables::plot),
    Experiment::new(
        "npu-gemm.balance",
        "Compute and DRAM time on the way to the balanced point",
        balance::table,
        balance::plot,
    ),
    Experiment::new(
        "npu-gemm.sec521_single_core",
        "The fastest kernel on the whole array, beside the balanced one",
        sec521::table,
        sec521::plot,
    ),
    Experiment::new("npu-gemm.fig6a", "Throughput over k_mt, XDNA", fig6::table_a, fig6::plot),
    Experiment::new("npu-gemm.fig6b", "Throughput over k_mt, XDNA2", fig6::table_b, fig6::plot),
    Experiment::new("npu-gemm.fig7a", "Sizes up to 8K, XDNA int8-int8", sweeps::fig7a, sweeps::plot),
    Experiment::new("npu-gemm.fig7b", "Sizes up to 8K, XDNA int8-int16", sweeps::fig7b, sweeps::plot),
    Experiment::new("npu-gemm.fig7c", "Sizes up to 8K, XDNA bf16-bf16", sweeps::fig7c, sweeps::plot),
    Experiment::new("npu-gemm.fig8a", "Sizes up to 8K, XDNA2 int8-int8", sweeps::fig8a, sweeps::plot),
    Experiment::new("npu-gemm.fig8b", "Sizes up to 8K, XDNA2 int8-int16", sweeps::fig8b, sweeps::plot),
    Experiment::new("npu-gemm.fig8c", "Sizes up to 8K, XDNA2 bf16-bf16", sweeps::fig8c, sweeps::plot),
    Experiment::new(
        "npu-gemm.sec523_int8_int32",
        "Sizes up to 8K, XDNA2 int8-int32",
        sweeps::sec523_int8_int32,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.sec531_reconfiguration",
        "One design for a whole model, or one per size",
        sec531::table,
        sec531::plot,
    ),
    Experiment::new("npu-gemm.sec532_output_buffer", "One buffer for C or two", sec532::table, sec532::plot),
    Experiment::new(
        "npu-gemm.sec532_drain",
        "What a single buffer for C costs over the reduction",
        sec532::drain_table,
        sec532::drain_plot,
    ),
    Experiment::new(
        "npu-gemm.sec533_bd_reconfiguration",
        "Descriptors rewritten meanwhile or in between",
        sec533::table,
        sec533::plot,
    ),
    Experiment::new(
        "npu-gemm.regret",
        "The balanced-point iteration beside the best design",
        regret::table,
        regret::plot,
    ),
];
