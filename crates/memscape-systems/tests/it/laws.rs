//! Every study keeps its laws on machines that nobody built.

use std::collections::BTreeSet;

use memscape_explore::{DynStudy, Parameters, Rule, examine};
use memscape_systems::{studies, study};
use rayon::prelude::*;

/// Points of each study; `memscape laws --points` looks at more.
const POINTS: u64 = 1000;

/// Of those whose answers take longer, so that all take minutes.
const FEWER: [(&str, u64); 10] = [
    ("pim.inference", 400),
    ("npu.balance", 300),
    ("ndp.inference", 20),
    ("ndp.predictor", 20),
    ("ndp.partition", 20),
    ("pim.regret", 20),
    ("npu.inference", 100),
    ("npu.workload", 100),
    ("mixed.inference", 100),
    ("ndp.activity", 300),
];

/// What is held fast where an answer would take seconds: the walks of Hermes see fewer
/// layers and tokens.
const SHORT: [(&str, &str); 2] = [
    ("ndp.predictor", r#"{"prompt_tokens": 8, "generated_tokens": 8, "layers": 2}"#),
    ("ndp.activity", r#"{"prompt_tokens": 16, "generated_tokens": 8, "layers": 2}"#),
];

/// Studies of bytes and counts, none of whose numbers is a time or a rate.
const TIMELESS: [&str; 4] = ["ondevice.capacity", "ondevice.roofline", "riscv.census", "ndp.activity"];

/// Walks take seconds, the closed form takes milliseconds: more points of it alone.
const ALONE: (&str, &str, u64) = ("ndp.inference", r#"{"engine": "closed"}"#, 300);

#[test]
fn every_study_keeps_its_laws() {
    // One alone, while it is being written: LAWS_STUDY=pim.gemv.
    let one = std::env::var("LAWS_STUDY").ok();
    let all: Vec<&dyn DynStudy> =
        studies().filter(|it| one.as_deref().is_none_or(|one| it.name() == one)).collect();
    assert!(!all.is_empty(), "there is no study {one:?}");
    let broken: Vec<String> = all.into_par_iter().filter_map(broken_by).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn expected_values_keep_the_laws_of_hermes() {
    let (name, fixed, points) = ALONE;
    let broken = broken_at(study(name).unwrap(), &serde_json::from_str(fixed).unwrap(), points);
    assert!(broken.is_none(), "{}", broken.unwrap_or_default());
}

/// What is broken by a study, if anything is.
fn broken_by(study: &dyn DynStudy) -> Option<String> {
    let points = FEWER.iter().find(|it| it.0 == study.name()).map_or(POINTS, |it| it.1);
    let short = SHORT.iter().find(|it| it.0 == study.name());
    let fixed: Parameters = short.map_or_else(Parameters::new, |it| serde_json::from_str(it.1).unwrap());
    broken_at(study, &fixed, points)
}

fn broken_at(study: &dyn DynStudy, fixed: &Parameters, points: u64) -> Option<String> {
    let it =
        examine(study, fixed, points, 11, &()).unwrap_or_else(|error| panic!("{}: {error}", study.name()));
    println!("{it}");
    assert!(it.complete);
    let asked = |rule| it.checked.iter().filter(|it| it.rule == rule).map(|it| it.checks).sum::<u64>();
    assert!(
        asked(Rule::Clock) > 0 || TIMELESS.contains(&study.name()),
        "{}: no clock was slowed",
        study.name()
    );
    (!it.broken.is_empty()).then(|| it.to_string())
}

/// More exceptions than these would be another model. One that several parameters share
/// is one.
#[test]
fn exceptions_are_few() {
    let effects = studies().flat_map(|study| study.laws().effects());
    let exceptions: BTreeSet<String> =
        effects.flat_map(|it| it.except).map(|it| format!("{}: {}", it.when, it.reason)).collect();
    assert!(exceptions.len() < 10, "{exceptions:#?}");
}
