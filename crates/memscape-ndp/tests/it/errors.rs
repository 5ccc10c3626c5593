//! Does bad input say what was asked, what there is, and what to change?

use std::num::NonZeroU32;

use memscape_ndp::{ActivityStudy, InferenceStudy, PartitionStudy, PredictorStudy};
use memscape_study::{CostEngine, More, Study};
use memscape_workload::{Experts, Llm, Model};
use serde_json::{Value, json};

/// The message of a study with parameters changed.
fn message(changes: &[(&str, Value)]) -> String {
    let mut tree = serde_json::to_value(InferenceStudy::default()).unwrap();
    for (path, value) in changes {
        let mut place = &mut tree;
        for key in path.split('.') {
            place = &mut place[key];
        }
        *place = value.clone();
    }
    match serde_json::from_value::<InferenceStudy>(tree) {
        Err(error) => error.to_string(),
        Ok(study) => {
            study.answer().map_or_else(|it| it.to_string(), |it| it.headline.tokens_per_s.to_string())
        }
    }
}

fn check(changes: &[(&str, Value)], expected: &str) {
    let found = message(changes);
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_model_that_does_not_fit_says_by_how_much() {
    check(
        &[("dimms", json!(4))],
        "weights and key-value cache take 138.0 GB, but 4 DIMMs of 32 GB hold 128.0 GB: 10.0 GB short; 5 DIMMs would do",
    );
    check(
        &[("gpu.memory_gb", json!(8))],
        "output projections and LM head take 11.3 GB, but the GPU can hold",
    );
    check(&[("system", json!("tensorrt-llm"))], "GPUs would do");
}

#[test]
fn numbers_out_of_range_are_refused() {
    check(&[("dimms", json!(0))], "expected a nonzero u32");
    check(&[("predictor.threshold", json!(-1))], "expected u32");
    check(&[("predictor.lambda", json!(16))], "16 does not fit the 4-bit states; it must be from 0 to 15");
    check(
        &[("activity.native_density", json!(1.5))],
        "1.5 is no share of active neurons; it must be above 0 and below 1",
    );
    check(&[("density", json!(0.0))], "0 is no share of active neurons; it must be above 0 and below 1");
    check(&[("gpu.memory_gb", json!(-1.0))], "-1 GB is not a capacity; it must be finite and at least 0");
    check(
        &[("activity.prompt_drift", json!(0.7)), ("activity.cluster_drift", json!(0.3))],
        "`prompt_drift` 0.7 and `cluster_drift` 0.3 are shares of one variance; their sum must stay below 1",
    );
    check(&[("remap.window", json!(5000))], "5000 is no window; it must be from 1 to 4095 tokens");
    check(
        &[("overhead.gpu_bandwidth_efficiency", json!(0.0))],
        "0 is no efficiency; it must be above 0 and at most 1",
    );
    check(&[("overhead.sync_us", json!(1e15))], "days; parameters so far off say nothing");
    check(&[("gpus", json!(2))], "`gpus` is 2; only `system` tensorrt-llm uses more than one");
    check(&[("dimm.clock_ghz", json!(0.0))], "0 GHz is not a frequency; it must be finite and above 0");
}

#[test]
fn a_trace_must_be_that_of_the_model() {
    check(
        &[("trace", json!("relu-6m")), ("engine", json!("events"))],
        "`trace` relu-6m has 8 layers of 256 QKV inputs and 1024 feed-forward neurons, but llama-2-70b has 80 of 8192 \
         and 28672; set `model` to null to take the trace's own",
    );
    let own = [("trace", json!("relu-6m")), ("model", Value::Null)];
    check(&own, "`engine` closed knows the activity law only");
    let with =
        |more: (&'static str, Value)| [own[0].clone(), own[1].clone(), ("engine", json!("events")), more];
    check(
        &with(("batch", json!(5))),
        "`relu-6m` has 4 sequences, but 5 are asked for; lower `batch` or record more",
    );
    check(
        &with(("generated_tokens", json!(500))),
        "`relu-6m` has 128 generated tokens, but 500 are asked for",
    );
    check(
        &[("trace", json!("mine"))],
        "there is no recording `mine`; there are `relu-6m`; or give an .npz file, or a folder of them, in which \
         `profile.npz` is the profile",
    );
    check(&[("model", Value::Null)], "`model` is null, but there is no `trace` to take it from");
}

#[test]
fn a_mixture_of_experts_is_refused() {
    let llama = *memscape_workload::Model::named("llama-2-7b").unwrap();
    let mixtral = Llm { experts: Some(Experts { count: 8, active: 2 }), ..llama };
    let model = serde_json::to_value(mixtral).unwrap();
    check(
        &[("model", model)],
        "a model of 32 layers, 4096 wide is a mixture of 8 experts, but these systems are modelled for one \
         feed-forward network per layer; give a model without experts",
    );
}

#[test]
fn fewer_groups_than_dimms_are_not_expected_values() {
    check(
        &[("placement_groups", 4.into())],
        "`engine` closed takes every DIMM to have its share, but 4 groups over 8 DIMMs leave some with none; raise \
         `placement_groups` to 8 at least, or use `engine` events",
    );
}

#[test]
fn baselines_say_which_models_they_support() {
    check(&[("system", json!("flexgen"))], "FlexGen supports models with ReLU of their own (OPT) only");
    check(&[("system", json!("deja-vu"))], "Deja Vu supports models with ReLU of their own (OPT) only");
}

/// What does not fit is refused by all studies alike, however few layers are walked.
#[test]
fn a_predictor_of_a_model_that_does_not_fit_says_by_how_much() {
    let study = |model: &str, dimms, batch| PredictorStudy {
        model: Some(Model::named(model).unwrap()),
        dimms: NonZeroU32::new(dimms).unwrap(),
        batch: NonZeroU32::new(batch).unwrap(),
        layers: Some(NonZeroU32::MIN),
        ..PredictorStudy::default()
    };
    let message = |it: PredictorStudy| it.answer().unwrap_err().to_string();
    let found = message(study("llama-2-70b", 4, 1));
    assert!(found.contains("10.0 GB short; 5 DIMMs would do"), "{found}");
    // The cache of all layers, of which one is walked.
    let found = message(study("opt-66b", 5, 64));
    assert!(found.contains("weights and key-value cache take"), "{found}");
}

/// A ratio to a mean is no less than 1, and no more than what the fullest could have.
#[test]
fn shards_are_as_uneven_as_can_be() {
    let base = ActivityStudy { model: Some(Model::named("opt-1.3b").unwrap()), ..ActivityStudy::default() };
    let number = |it: u32| NonZeroU32::new(it).unwrap();
    let with = |shards| ActivityStudy { shards: number(shards), ..base.clone() }.answer().unwrap();
    // Where a cluster is cut, its parts differ by chance alone.
    let mut before = with(base.activity.clusters.get()).token_imbalance;
    for shards in [128, 256, 1024] {
        let here = with(shards);
        assert!((before..2.0 * before).contains(&here.token_imbalance), "{shards}: {here:?}");
        assert!((1.0..f64::from(shards)).contains(&here.most_imbalance), "{shards}: {here:?}");
        before = here.token_imbalance;
    }
    let layers = Some(NonZeroU32::MIN);
    let walked = ActivityStudy { engine: CostEngine::Events, layers, ..base };
    let all_hot = ActivityStudy { hot_fraction: 1.0.try_into().unwrap(), ..walked.clone() }.answer().unwrap();
    assert_eq!((all_hot.token_imbalance, all_hot.window_imbalance), (1.0, 1.0));
    let too_long = ActivityStudy { window: number(4000), ..walked }.answer().unwrap_err().to_string();
    assert!(too_long.contains("window"), "{too_long}");
}

/// What other parameters give by themselves is none.
#[test]
fn what_follows_from_other_parameters_is_refused() {
    for path in ["dimm.memory.column_bytes", "dimm.memory.tck_ns"] {
        for laws in [InferenceStudy::LAWS, PartitionStudy::LAWS, PredictorStudy::LAWS] {
            assert!(matches!(laws.effect_on(path).unwrap().more, More::Unused(_)), "{path}");
        }
    }
}
