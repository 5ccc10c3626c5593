//! The same question to every platform: figures that no paper has, of platforms that are data.

mod common;
mod crossovers;
mod headline;
mod operators;
mod predicted;
mod roofline;
mod scaling;

use crate::experiment::Experiment;
use crate::paper::Paper;

pub const PAPER: Paper = Paper {
    id: "compare",
    experiments: EXPERIMENTS,
    // Nobody prints these systems beside each other.
    published: "",
};

const EXPERIMENTS: &[Experiment] = &[
    Experiment::new(
        "compare.headline",
        "One question to every platform",
        "Llama 3.2 3B, batch 1, prompt 1920, reply 128; each platform in its own format.",
        headline::table,
        headline::plot,
    ),
    Experiment::new(
        "compare.roofline",
        "Prompts and tokens under what each machine allows",
        "Llama 3.2 3B, batch 1, prompts of 1 to 4096 tokens; each platform in its own format.",
        roofline::table,
        roofline::plot,
    ),
    Experiment::new(
        "compare.operators",
        "Operator by operator under what each machine allows",
        "Llama 3.2 3B, batch 1, prompt 512, reply 128; each platform in its own format.",
        operators::table,
        operators::plot,
    ),
    Experiment::new(
        "compare.losses",
        "Where the time of operators goes, by cause",
        "Llama 3.2 3B, batch 1, prompt 512, reply 128; each platform in its own format.",
        operators::losses,
        operators::plot_losses,
    ),
    Experiment::new(
        "compare.models",
        "Every platform over the size of the model",
        "Qwen2.5 0.5B to 72B, batch 1, prompt 512, reply 128; each platform in its own format.",
        scaling::models,
        scaling::plot_models,
    ),
    Experiment::new(
        "compare.context",
        "Every platform over the length of the prompt",
        "Llama 3.2 3B, batch 1, reply 128; each platform in its own format.",
        scaling::context,
        scaling::plot_context,
    ),
    Experiment::new(
        "compare.batch",
        "Every platform over the batch",
        "Llama 3.2 3B, prompt 512, reply 128; each platform in its own format.",
        scaling::batch,
        scaling::plot_batch,
    ),
    Experiment::new(
        "compare.formats",
        "Every platform over the format of the weights",
        "Llama 3.2 3B, batch 1, prompt 512, reply 128.",
        scaling::formats,
        scaling::plot_formats,
    ),
    Experiment::new(
        "compare.crossovers",
        "From where on one platform is before another",
        "Llama 3.2 3B, prompt and reply together; each platform in its own format.",
        crossovers::table,
        crossovers::plot,
    ),
    Experiment::new(
        "compare.predictions",
        "Said before it was measured",
        "Weights of 4 bits, batch 1; bands and bars hold nine of ten. (c) Best over threads, policies and kernels.",
        predicted::table,
        predicted::plot,
    ),
];
