//! What the figures and tables of this paper share.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_systems::study;
use serde_json::json;

use crate::error::Error;
use crate::sweeps::{Variant, concat, for_study, variant, with, with_first_column};

/// Llama 3.2 1B and 3B: the models of section 6.
pub const MODELS: [&str; 2] = ["llama-3.2-1b", "llama-3.2-3b"];

/// Prompts of Fig. 10 and Fig. 12.
pub const TOKENS: [u32; 5] = [64, 96, 128, 160, 192];

/// A scheme under the name that the paper gives it.
pub fn scheme(scheme: Scheme) -> Variant {
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
pub fn without_cpu(changed: &Parameters) -> Parameters {
    let kept = changed.iter().filter(|(path, _)| !path.starts_with("cpu."));
    kept.map(|(path, value)| (path.clone(), value.clone())).collect()
}

/// The same of `ondevice.roofline` as Table 2 and Sec. 7 reckon.
pub fn at_printed_peaks(changed: &Parameters) -> Parameters {
    with(&without_cpu(changed), [("overlap", json!("as-printed"))])
}

/// Sweeps a study once per variant; `axes` adds what each is swept over. The
/// table's first column, `series`, names the variant.
pub fn series(
    study_name: &str,
    changed: &Parameters,
    variants: &[Variant],
    axes: impl Fn(Sweep) -> Sweep,
) -> Result<Table, Error> {
    concat(variants.iter().map(|variant| {
        let base = variant.of(&for_study(study_name, changed)?);
        let table = study(study_name)?.sweep(&axes(Sweep::of(base)), &())?.without_errors()?;
        with_first_column(table, "series", &variant.name)
    }))
}

/// `llama-3.2-1b` as figures print it.
pub fn title(model: &str) -> String {
    let spelled = [("llama-", "Llama "), ("qwen3-", "Qwen3 "), ("gemma-3-", "Gemma 3 ")];
    let found = spelled.iter().find_map(|(prefix, name)| Some((name, model.strip_prefix(prefix)?)));
    found.map_or_else(
        || model.to_owned(),
        |(name, rest)| format!("{name}{}", rest.replace('-', " ").to_uppercase()),
    )
}
