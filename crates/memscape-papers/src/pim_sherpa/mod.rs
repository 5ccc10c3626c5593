//! PIM-SHERPA: sections 2 to 7, one module per figure or table.

mod crossover;
mod ff0_split;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig3;
mod fig4;
mod fig9;
mod sec7;
mod setup;
mod table2;
mod table4;
mod text;

use memscape_explore::{Parameters, Sweep, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_systems::study;
use serde_json::json;

use crate::error::Error;
use crate::experiment::Experiment;
use crate::paper::Paper;
use crate::quantities;
use crate::sweeps::{Variant, concat, variant, with_first_column};

pub const PAPER: Paper = Paper {
    id: "pim-sherpa",
    experiments: EXPERIMENTS,
    published: include_str!("../../../../data/published/pim-sherpa.toml"),
};

/// In the paper's order.
const EXPERIMENTS: &[Experiment] = &[
    Experiment::new("pim-sherpa.setup", "The evaluated phone", setup::table, quantities::plot),
    Experiment::new(
        "pim-sherpa.fig3",
        "Host-friendly and PIM-aware places of one matrix",
        fig3::table,
        fig3::plot,
    ),
    Experiment::new("pim-sherpa.fig4", "DRAM with and without weight duplication", fig4::table, fig4::plot),
    Experiment::new(
        "pim-sherpa.table2",
        "Rearrangement beside GEMM at peak rates",
        table2::table,
        table2::plot,
    ),
    Experiment::new("pim-sherpa.fig9", "DRAM by scheme", fig9::table, fig9::plot),
    Experiment::new("pim-sherpa.fig10a", "Time to first token, Llama 3.2 1B", fig10::table_1b, fig10::plot),
    Experiment::new("pim-sherpa.fig10b", "Time to first token, Llama 3.2 3B", fig10::table_3b, fig10::plot),
    Experiment::new("pim-sherpa.fig11a", "Threads in one layer, 64 tokens", fig11::table_64, fig11::plot),
    Experiment::new("pim-sherpa.fig11b", "Threads in one layer, 128 tokens", fig11::table_128, fig11::plot),
    Experiment::new("pim-sherpa.fig12a", "End-to-end speedup of FACIL-O", fig12::table_facil, fig12::plot),
    Experiment::new("pim-sherpa.fig12b", "End-to-end speedup of S-DDB", fig12::table_ddb, fig12::plot),
    Experiment::new("pim-sherpa.fig12c", "End-to-end speedup of S-OWR", fig12::table_owr, fig12::plot),
    Experiment::new(
        "pim-sherpa.fig13",
        "Time to first token with one copy of the weights",
        fig13::table,
        fig13::plot,
    ),
    Experiment::new("pim-sherpa.table4", "Commands of HBM-PIM's GEMVs", table4::table, table4::plot),
    Experiment::new("pim-sherpa.text", "Numbers that the text prints", text::table, text::plot),
    Experiment::new(
        "pim-sherpa.sec7_flop_per_byte",
        "Rearrangement on faster hosts",
        sec7::table,
        sec7::plot,
    ),
    Experiment::new(
        "pim-sherpa.crossover",
        "Prompts at which DDB and OWR meet weight duplication",
        crossover::table,
        crossover::plot,
    ),
    Experiment::new("pim-sherpa.ff0_split", "FF0 divided by compute time", ff0_split::table, ff0_split::plot),
];

/// Llama 3.2 1B and 3B: the models of section 6.
const MODELS: [&str; 2] = ["llama-3.2-1b", "llama-3.2-3b"];

/// Prompts of Fig. 10 and Fig. 12.
const TOKENS: [u32; 5] = [64, 96, 128, 160, 192];

/// A scheme under the name that the paper gives it.
fn scheme(scheme: Scheme) -> Variant {
    let name = match scheme {
        Scheme::WeightDuplication => "WD",
        Scheme::FacilO => "FACIL-O",
        Scheme::Ddb => "S-DDB",
        Scheme::Owr => "S-OWR",
        Scheme::CacheableGemm => "C-GEMM",
        Scheme::NonCacheableGemm => "NC-GEMM",
    };
    variant(name, [("scheme", json!(scheme))])
}

/// What is changed that a study without a processor can take.
fn without_cpu(changed: &Parameters) -> Parameters {
    let kept = changed.iter().filter(|(path, _)| !path.starts_with("cpu."));
    kept.map(|(path, value)| (path.clone(), value.clone())).collect()
}

/// Sweeps a study once per variant; `axes` adds what each is swept over. The
/// table's first column, `series`, names the variant.
fn series(
    study_name: &str,
    changed: &Parameters,
    variants: &[Variant],
    axes: impl Fn(Sweep) -> Sweep,
) -> Result<Table, Error> {
    concat(variants.iter().map(|variant| {
        let mut base = changed.clone();
        base.extend(variant.parameters.iter().map(|(path, value)| ((*path).to_owned(), value.clone())));
        let table = study(study_name)?.sweep(&axes(Sweep::of(base)), &())?.without_errors()?;
        with_first_column(table, "series", &variant.name)
    }))
}

/// `changed` with one parameter more.
fn with(changed: &Parameters, path: &str, value: impl Into<serde_json::Value>) -> Parameters {
    let mut all = changed.clone();
    all.insert(path.to_owned(), value.into());
    all
}

/// What a model says that was asked without a sweep.
fn no_answer(error: impl std::fmt::Display) -> Error {
    memscape_explore::Error::NoAnswer(error.to_string()).into()
}

/// `llama-3.2-1b` as figures print it.
fn title(model: &str) -> String {
    let spelled = [("llama-", "Llama "), ("qwen3-", "Qwen3 "), ("gemma-3-", "Gemma 3 ")];
    let found = spelled.iter().find_map(|(prefix, name)| Some((name, model.strip_prefix(prefix)?)));
    found.map_or_else(
        || model.to_owned(),
        |(name, rest)| format!("{name}{}", rest.replace('-', " ").to_uppercase()),
    )
}
