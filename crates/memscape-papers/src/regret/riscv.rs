//! ggml's choice of code for each product (BLAS from 32 columns on, else llama.cpp's own code)
//! beside the fastest code for the pass, over machines and models.

use std::num::NonZeroU64;

use memscape_explore::{Parameters, Table, read};
use memscape_plot::Figure;
use memscape_riscv::InferenceStudy;
use memscape_riscv::dispatch::{Build, Criteria};
use memscape_riscv::kernels::Kernel;
use memscape_study::Study;
use memscape_workload::Model;
use rayon::prelude::*;
use serde_json::json;

use super::common::{Case, Machine, machine, spread, table as rows};
use crate::error::Error;
use crate::sets::note;

const MODELS: [&str; 6] =
    ["llama-2-7b", "llama-3.2-1b", "llama-3.2-3b", "qwen2.5-0.5b", "qwen2.5-7b", "phi-3-mini"];
const PROMPTS: [u64; 4] = [16, 32, 128, 512];
/// The context of the token that is timed.
const REPLY: u64 = 32;

fn machines() -> Vec<Machine> {
    vec![
        machine("As printed, 32 threads", []),
        machine("1 thread", [("threads", json!(1)), ("policy", json!("no-balancing"))]),
        machine("8 threads", [("threads", json!(8))]),
        machine("64 threads", [("threads", json!(64))]),
        machine("256-bit vectors", [("core.vlen_bits", json!(256)), ("core.load_bits", json!(256))]),
        machine("Half the DRAM", [("memory.channels", json!(2))]),
        machine("1/8 of the shared cache", [("cache.slc_bytes_per_node", json!(2_097_152))]),
    ]
}

/// ggml built with a BLAS, which gets products of so many columns.
fn build(min_columns: u64) -> Build {
    Build { blas: true, min_columns }
}

/// Every code for all products, and with those of enough columns for BLAS.
fn choices(study: &InferenceStudy) -> Vec<InferenceStudy> {
    let with = |dispatch| Kernel::ALL.map(|kernel| InferenceStudy { kernel, dispatch, ..*study });
    let without = Build { blas: false, ..Build::default() };
    with(without).into_iter().chain(with(build(Criteria::default().min_columns))).collect()
}

/// A choice in words.
fn words(study: &InferenceStudy) -> String {
    let kernel = study.kernel.name();
    if study.dispatch.blas {
        format!("BLAS from {} columns, else {kernel}", study.dispatch.min_columns)
    } else {
        kernel.to_owned()
    }
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    note(["model", "prompt_tokens", "kernel", "dispatch", "context_cells"]);
    let mut asked = Vec::new();
    for machine in machines() {
        let machine_study: InferenceStudy = read(&machine.of(changed))?;
        for name in MODELS {
            let generated_tokens = NonZeroU64::new(REPLY).unwrap_or(NonZeroU64::MIN);
            // As many cells as the conversation takes.
            let own = InferenceStudy {
                model: Model::named(name)?,
                generated_tokens,
                context_cells: None,
                ..machine_study
            };
            asked.extend(
                PROMPTS
                    .into_iter()
                    .filter_map(NonZeroU64::new)
                    .map(|prompt_tokens| (machine.name, name, InferenceStudy { prompt_tokens, ..own })),
            );
        }
    }
    let cases: Vec<Vec<Case>> = asked
        .into_par_iter()
        .with_max_len(1)
        .map(|(machine, model, study)| cases(machine, model, &study))
        .collect::<Result<_, _>>()?;
    rows("pass", &cases.into_iter().flatten().collect::<Vec<_>>())
}

/// The prompt, and after the shortest also a token: no prompt changes what is chosen for it.
fn cases(machine: &'static str, model: &str, study: &InferenceStudy) -> Result<Vec<Case>, Error> {
    let ggml = InferenceStudy {
        kernel: Kernel::Default,
        dispatch: build(Criteria::default().min_columns),
        ..*study
    };
    let times = |it: &InferenceStudy| it.answer().map(|it| [it.headline.ttft_s * 1e9, it.headline.token_ns]);
    let chosen = times(&ggml).map_err(Error::no_answer)?;
    let mut best = [(chosen[0], ggml), (chosen[1], ggml)];
    for choice in choices(study) {
        // Code that is not written for the format has no answer.
        let Ok(own) = times(&choice) else { continue };
        for (best, own) in best.iter_mut().zip(own) {
            if own < best.0 {
                *best = (own, choice);
            }
        }
    }
    let prompt = study.prompt_tokens.get();
    let passes = [format!("prompt of {prompt}"), "token".to_owned()];
    let shown = if prompt == PROMPTS[0] { 2 } else { 1 };
    let all = passes.into_iter().zip(chosen).zip(best).take(shown);
    Ok(all
        .map(|((pass, chosen_ns), (best_ns, best))| Case {
            machine,
            model: model.to_owned(),
            of: pass,
            chosen: words(&ggml),
            best: words(&best),
            chosen_ns,
            best_ns,
        })
        .collect())
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "ggml built with OpenBLAS: products of at least 32 columns go there, the others to llama.cpp's own code. \
                   Best: each of the thesis' kernels, llama.cpp's own and OpenBLAS, for all products or below 32 columns. \
                   Where lines coincide, the last of the legend is seen.";
    Ok(spread(table)?.caption(caption))
}
