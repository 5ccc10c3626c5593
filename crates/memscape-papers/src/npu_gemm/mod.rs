//! GEMM on Ryzen AI NPUs: the evaluation of section 5, one module per figure or
//! table.

mod balance;
mod common;
mod fig5;
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
    Experiment::new(
        "npu-gemm.setup",
        "The two NPUs and their DRAM",
        "Ryzen AI NPUs, XDNA (4 × 4 cores) and XDNA2 (4 × 8 cores).",
        setup::table,
        setup::plot,
    ),
    Experiment::new(
        "npu-gemm.table1",
        "The fastest kernel of one core",
        "One core of XDNA and XDNA2, 63 KiB of L1.",
        table1::table,
        table1::plot,
    ),
    Experiment::new(
        "npu-gemm.kernels",
        "Where the cycles of all kernels go",
        "One call of each kernel of Tables 1 to 3 on one core.",
        kernels::table,
        kernels::plot,
    ),
    Experiment::new(
        "npu-gemm.table2",
        "Two designs per precision on XDNA",
        "XDNA, 4 × 4 cores; products of about 4K × 4K × 4K.",
        tables::table2,
        tables::plot,
    ),
    Experiment::new(
        "npu-gemm.table3",
        "Two designs per precision on XDNA2",
        "XDNA2, 4 × 8 cores; products of about 4K × 4K × 4K.",
        tables::table3,
        tables::plot,
    ),
    Experiment::new(
        "npu-gemm.balance",
        "Compute and DRAM time on the way to the balanced point",
        "Ryzen AI NPUs, XDNA (4 × 4 cores) and XDNA2 (4 × 8 cores).",
        balance::table,
        balance::plot,
    ),
    Experiment::new(
        "npu-gemm.fig5",
        "Reads, cores and writes of the first blocks",
        "int8-int16, two by three blocks of C and two steps of its reduction; XDNA2.",
        fig5::table,
        fig5::plot,
    ),
    Experiment::new(
        "npu-gemm.sec521_single_core",
        "The fastest kernel on the whole array, beside the balanced one",
        "int8-int16, about 4K × 4K × 4K; Ryzen AI NPUs, XDNA (4 × 4 cores) and XDNA2 (4 × 8 cores).",
        sec521::table,
        sec521::plot,
    ),
    Experiment::new(
        "npu-gemm.fig6a",
        "Throughput over k_mt, XDNA",
        "bf16-bf16, about 4K × 4K × 4K, B column-major; XDNA.",
        fig6::table_a,
        fig6::plot,
    ),
    Experiment::new(
        "npu-gemm.fig6b",
        "Throughput over k_mt, XDNA2",
        "int8-int16, about 4K × 4K × 4K, B column-major; XDNA2.",
        fig6::table_b,
        fig6::plot,
    ),
    Experiment::new(
        "npu-gemm.fig7a",
        "Sizes up to 8K, XDNA int8-int8",
        "420 products up to 8K in each dimension; XDNA.",
        sweeps::fig7a,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.fig7b",
        "Sizes up to 8K, XDNA int8-int16",
        "420 products up to 8K in each dimension; XDNA.",
        sweeps::fig7b,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.fig7c",
        "Sizes up to 8K, XDNA bf16-bf16",
        "420 products up to 8K in each dimension; XDNA.",
        sweeps::fig7c,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.fig8a",
        "Sizes up to 8K, XDNA2 int8-int8",
        "420 products up to 8K in each dimension; XDNA2.",
        sweeps::fig8a,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.fig8b",
        "Sizes up to 8K, XDNA2 int8-int16",
        "420 products up to 8K in each dimension; XDNA2.",
        sweeps::fig8b,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.fig8c",
        "Sizes up to 8K, XDNA2 bf16-bf16",
        "420 products up to 8K in each dimension; XDNA2.",
        sweeps::fig8c,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.sec523_int8_int32",
        "Sizes up to 8K, XDNA2 int8-int32",
        "420 products up to 8K in each dimension; XDNA2.",
        sweeps::sec523_int8_int32,
        sweeps::plot,
    ),
    Experiment::new(
        "npu-gemm.sec531_reconfiguration",
        "One design for a whole model, or one per size",
        "Llama 3.2 1B and Llama 2 7B, int8-int16, prompt 2048.",
        sec531::table,
        sec531::plot,
    ),
    Experiment::new(
        "npu-gemm.sec532_output_buffer",
        "One buffer for C or two",
        "Products of about 4K × 4K × 4K.",
        sec532::table,
        sec532::plot,
    ),
    Experiment::new(
        "npu-gemm.sec532_drain",
        "What a single buffer for C costs over the reduction",
        "Balanced designs, about 4K × 4K outputs; XDNA and XDNA2.",
        sec532::drain_table,
        sec532::drain_plot,
    ),
    Experiment::new(
        "npu-gemm.sec533_bd_reconfiguration",
        "Descriptors rewritten meanwhile or in between",
        "int8-int16, about 4K × 4K × 4K.",
        sec533::table,
        sec533::plot,
    ),
    Experiment::new(
        "npu-gemm.regret",
        "The balanced-point iteration beside the best design",
        "Products of about 4K × 4K × 4K; XDNA and XDNA2.",
        regret::table,
        regret::plot,
    ),
];
