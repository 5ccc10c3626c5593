//! Is each operator's part its own?

use memscape_ndp::InferenceStudy;
use memscape_study::{OperatorCost, Pass};
use serde_json::{Value, json};

use crate::common::{answer, changed, gpu};

fn operators(changes: &[(&str, Value)], pass: Pass) -> Vec<OperatorCost> {
    let all = changed::<InferenceStudy>(changes).operators().unwrap();
    all.into_iter().filter(|it| it.pass == pass).collect()
}

fn part_ns(all: &[OperatorCost], operator: &str, part: &str) -> f64 {
    let own = all.iter().find(|it| it.operator == operator).unwrap();
    own.parts.iter().filter(|it| it.0 == part).map(|it| it.1).sum()
}

/// All positions of a prompt meet the layers' weights, one the head's.
#[test]
fn a_prompts_head_is_multiplied_once() {
    let efficient =
        [("overhead.gpu_compute_efficiency", json!(1.0)), ("overhead.gpu_bandwidth_efficiency", json!(1.0))];
    // OPT-350M's embeddings are half as wide: all tokens come by what widens them, one by what narrows them again.
    let heads = [("gemma-3-1b", 262_144.0 * 1152.0), ("opt-350m", 50_272.0 * 512.0 + 512.0 * 1024.0)];
    for (system, (model, weights)) in
        ["hermes", "hermes-base", "tensorrt-llm"].into_iter().flat_map(|it| heads.map(|head| (it, head)))
    {
        for prompt in [1, 64, 2048] {
            let own = [("model", json!(model)), ("prompt_tokens", json!(prompt)), ("system", json!(system))];
            let prompt_of = operators(&[&own[..], &efficient].concat(), Pass::Prompt);
            for it in &prompt_of {
                assert!(it.time_ns() >= it.least_ns * (1.0 - 1e-9), "{system} {prompt}: {it:?}");
            }
            let head_ns = 2.0 * weights / 936.0;
            let found = part_ns(&prompt_of, "lm_head", "gpu");
            assert!((found / head_ns - 1.0).abs() < 1e-9, "{system} {model} {prompt}: {found} {head_ns}");
        }
    }
}

/// A pass is what its operators take.
#[test]
fn operators_are_the_whole() {
    for system in ["hermes", "hermes-host", "hermes-base", "accelerate", "flexgen", "deja-vu", "tensorrt-llm"]
    {
        let own = [
            ("model", json!("opt-125m")),
            ("system", json!(system)),
            ("prompt_tokens", json!(64)),
            ("generated_tokens", json!(16)),
        ];
        let it = answer(&own).headline;
        for (pass, whole) in [(Pass::Prompt, it.ttft_s * 1e9), (Pass::Token, it.token_ns)] {
            let sum: f64 = operators(&own, pass).iter().map(OperatorCost::time_ns).sum();
            assert!((sum / whole - 1.0).abs() < 1e-6, "{system} {pass:?}: {sum}, not {whole} ns");
        }
    }
}

/// GPUs add up what they have behind attention and behind the feed-forward network; no head has sums.
#[test]
fn sums_are_those_of_two_matrices() {
    let five = [
        ("model", json!("llama-3.2-1b")),
        ("system", json!("tensorrt-llm")),
        ("gpu", gpu("a100-40gb")),
        ("gpus", json!(5)),
        ("prompt_tokens", json!(4096)),
    ];
    for (pass, part) in [(Pass::Prompt, "transfer"), (Pass::Token, "communication")] {
        let all = operators(&five, pass);
        let of = |operator| part_ns(&all, operator, part);
        assert!(of("out") > 0.0 && of("out") == of("gate_up+down"), "{all:?}");
        assert_eq!((of("qkv"), of("lm_head")), (0.0, 0.0));
    }
}

/// A token is a prompt of one, kernels that are launched while others run and all.
#[test]
fn a_token_takes_what_a_prompt_of_one_does() {
    for system in ["accelerate", "flexgen", "deja-vu", "tensorrt-llm"] {
        for model in ["opt-125m", "opt-350m", "opt-1.3b"] {
            let one = answer(&[
                ("model", json!(model)),
                ("system", json!(system)),
                ("prompt_tokens", json!(1)),
                ("generated_tokens", json!(1)),
            ]);
            // Deja Vu reads fewer neurons, and predicts them.
            let at_most = one.headline.ttft_s * 1e9 * 1.002;
            assert!(
                one.headline.token_ns <= at_most,
                "{system} {model}: {} {at_most}",
                one.headline.token_ns
            );
        }
    }
    // Attention hides launches too: what reads for longer than they take is bound by reading.
    let small = answer(&[
        ("model", json!("opt-350m")),
        ("system", json!("tensorrt-llm")),
        ("gpu", gpu("a100-40gb")),
        ("batch", json!(4)),
        ("prompt_tokens", json!(1900)),
        ("generated_tokens", json!(100)),
    ]);
    assert_eq!(small.headline.bound_by, memscape_study::BoundBy::DramBandwidth);
}

/// Kernels are launched while others run: a token that waits for them waits no longer where attention reads
/// more meanwhile.
#[test]
fn launches_hide_what_runs_meanwhile() {
    let token_ns = |prompt: u32| {
        let own = [
            ("model", json!("opt-125m")),
            ("system", json!("tensorrt-llm")),
            ("prompt_tokens", json!(prompt)),
            ("generated_tokens", json!(1)),
        ];
        answer(&own).headline.token_ns
    };
    assert!((token_ns(256) / token_ns(16) - 1.0).abs() < 1e-9, "{} {}", token_ns(256), token_ns(16));
}
