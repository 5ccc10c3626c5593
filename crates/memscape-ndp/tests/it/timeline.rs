//! Does a timeline tell what the answer says, and do parts sum to the whole?

use std::num::NonZeroU32;

use memscape_ndp::study::System;
use memscape_ndp::{InferenceStudy, Share};
use memscape_study::{CostEngine, Study, Timeline, sums_off};
use memscape_units::Picoseconds;
use memscape_workload::Model;
use proptest::prelude::*;

fn study(system: System, model: &str, generated: u32) -> InferenceStudy {
    InferenceStudy {
        model: Some(Model::named(model).unwrap()),
        system,
        engine: CostEngine::Events,
        prompt_tokens: NonZeroU32::new(16).unwrap(),
        generated_tokens: NonZeroU32::new(generated).unwrap(),
        hot_share: Some(Share::new(0.1).unwrap()),
        ..InferenceStudy::default()
    }
}

fn timeline(study: &InferenceStudy) -> Timeline {
    let mut timeline = Timeline::default();
    InferenceStudy::TIMELINE.unwrap()(study, &mut timeline).unwrap();
    timeline
}

fn check(study: &InferenceStudy) -> Timeline {
    let timeline = timeline(study);
    for (index, track) in timeline.tracks.iter().enumerate() {
        let mut spans: Vec<(Picoseconds, Picoseconds)> = timeline
            .spans
            .iter()
            .filter(|it| it.track.index() == index)
            .map(|it| (it.start, it.end))
            .collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{} / {}: {pair:?}", track.group, track.name);
        }
    }
    let total_s = study.answer().unwrap().headline.total_s;
    let end_s = timeline.end().as_ns() * 1e-9;
    // The answer's parts are rounded to picoseconds, the timeline's spans are.
    let rounding = 1e-12 * 4.0 * f64::from(study.generated_tokens.get());
    assert!((end_s - total_s).abs() <= rounding + 1e-12 * total_s, "{:?}: {end_s} {total_s}", study.system);
    timeline
}

#[test]
fn a_timeline_ends_when_the_answer_says() {
    for system in [
        System::Hermes,
        System::HermesHost,
        System::HermesBase,
        System::Accelerate,
        System::Flexgen,
        System::DejaVu,
        System::TensorrtLlm,
    ] {
        check(&study(system, "opt-1.3b", 20));
    }
    check(&InferenceStudy { batch: NonZeroU32::new(3).unwrap(), ..study(System::Hermes, "opt-1.3b", 11) });
}

#[test]
fn every_layer_of_the_first_tokens_and_every_token_has_a_span() {
    let timeline = check(&study(System::Hermes, "opt-125m", 12));
    let count = |name: &str| timeline.spans.iter().filter(|it| it.name.starts_with(name)).count();
    // Twelve layers, eight tokens, the GPU and as many DIMMs as pay.
    assert!((12 * 8 * 2..=12 * 8 * 9).contains(&count("FFN ")));
    assert_eq!(count("attention "), 12 * 8 * 8);
    assert_eq!(count("token "), 12);
    let names: Vec<&str> = timeline.tracks.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names[..4], ["tokens", "kernels", "PCIe", "DIMM 1"]);
    assert_eq!(names[10..], ["DIMM 8", "links", "predictor"]);
}

/// Tokens beyond the 4096th share a span, so that a timeline stays small.
#[test]
fn a_long_reply_is_bounded() {
    let tiny = memscape_workload::Llm {
        layers: 2,
        hidden_size: 64,
        heads: 1,
        kv_heads: 1,
        head_dim: 64,
        ffn_size: 64,
        ..*Model::named("opt-125m").unwrap()
    };
    let model = Some(Model::of(tiny).unwrap());
    let timeline = check(&InferenceStudy { model, ..study(System::Hermes, "opt-125m", 6001) });
    assert_eq!(timeline.spans.iter().filter(|it| it.name.starts_with("token ")).count(), 4096);
    assert!(timeline.spans.iter().any(|it| it.name == "tokens 4097 to 6001"));
    assert!(timeline.spans.len() < 5000, "{}", timeline.spans.len());
    check(&study(System::Accelerate, "opt-125m", 6001));
}

/// A recording has a prompt of its own length.
#[test]
fn a_recording_has_a_timeline() {
    let recorded = InferenceStudy {
        model: None,
        trace: Some(serde_json::from_str("\"relu-6m\"").unwrap()),
        ..study(System::Hermes, "opt-125m", 12)
    };
    check(&recorded);
}

proptest! {
    // Each takes half a second; the laws ask the same of random machines.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_sum_to_the_whole(
        system in prop::sample::select(vec!["hermes", "hermes-base", "hermes-host", "accelerate", "flexgen", "deja-vu", "tensorrt-llm"]),
        model in prop::sample::select(vec!["opt-13b", "opt-30b", "opt-66b"]),
        batch in 1_u32..20,
        prompt in 1_u32..3000,
        generated in 1_u32..600,
        dimms in 8_u32..17,
        pcie in 8.0_f64..64.0,
    ) {
        let mut study: InferenceStudy = InferenceStudy {
            model: Some(Model::named(model).unwrap()),
            system: serde_json::from_value(system.into()).unwrap(),
            ..InferenceStudy::default()
        };
        let count = |it: u32| NonZeroU32::new(it).unwrap();
        (study.batch, study.prompt_tokens, study.generated_tokens) = (count(batch), count(prompt), count(generated));
        (study.dimms, study.gpu.pcie_gb_s) = (count(dimms), pcie.try_into().unwrap());
        if study.system == System::TensorrtLlm {
            study.gpus = count(32);
        }
        // What does not fit is refused.
        let answer = study.answer();
        prop_assume!(answer.is_ok());
        let answer = serde_json::to_value(answer.unwrap()).unwrap();
        let number = |column: &str| answer[column].as_f64().unwrap();
        // Nothing is known of the energy of some systems' memory.
        let known: Vec<_> = InferenceStudy::SUMS.iter().copied().filter(|it| !answer[it.0].is_null()).collect();
        let off = sums_off(&known, 1e-9, |it| Some(number(it)));
        prop_assert!(off.is_empty(), "{off:?}");
        prop_assert!(number("memory_bytes") <= number("memory_limit_bytes"));
    }
}
