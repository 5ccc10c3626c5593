//! What the papers' heuristics lose against the best that their models know, over machines and
//! models that no paper has.

mod common;
mod hermes;
mod npu_gemm;
mod pim_sherpa;
mod pimnast;
mod riscv;

use crate::experiment::Experiment;
use crate::paper::Paper;

pub const PAPER: Paper = Paper {
    id: "regret",
    experiments: EXPERIMENTS,
    // No paper prints what its heuristic loses.
    published: "",
};

const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "regret.pimnast",
        "PIMnast's placement against the best of all",
        "The GEMVs of twelve models' layers, 8-bit weights, batch 1; LPDDR5X-7500 with PIM, one parameter changed at a time.",
        pimnast::table,
        pimnast::plot,
    ),
    Experiment::new(
        "regret.pim-sherpa",
        "PIM-SHERPA's quarters and threads against the best of all",
        "Prompts of 32 to 512 tokens of eight models, bf16; a phone, one parameter changed at a time.",
        pim_sherpa::table,
        pim_sherpa::plot,
    ),
    Experiment::new(
        "regret.npu-gemm",
        "The balanced design against the best for each product",
        "Prompts of 64 to 2048 tokens of six models, int8-int16; XDNA and XDNA2, one parameter changed at a time.",
        npu_gemm::table,
        npu_gemm::plot,
    ),
    Experiment::new(
        "regret.riscv-sg2042",
        "ggml's choice of code against the fastest",
        "Prompts and tokens of six models, Q4_0; SG2042, one parameter changed at a time.",
        riscv::table,
        riscv::plot,
    ),
    Experiment::new(
        "regret.hermes",
        "Hermes' scheduler against the best of its steps",
        "Tokens of five models, batch 1, prompt 128, reply 128; RTX 4090 with NDP-DIMMs, one parameter changed at a time.",
        hermes::table,
        hermes::plot,
    ),
];
