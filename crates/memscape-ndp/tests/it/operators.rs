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

/// Deja Vu brings and meets what is active of sparse blocks alone, which are those that have predictors; all else
/// each token meets whole, on the GPU if there is room.
#[test]
fn a_sparse_step_is_divided_by_what_it_meets() {
    for (model, batch) in [("opt-6.7b", 2), ("opt-13b", 1), ("opt-66b", 1)] {
        let own = [
            ("model", json!(model)),
            ("system", json!("deja-vu")),
            ("batch", json!(batch)),
            ("prompt_tokens", json!(300)),
            ("generated_tokens", json!(30)),
        ];
        let [prompt, token] = [Pass::Prompt, Pass::Token].map(|it| operators(&own, it));
        for it in prompt.iter().chain(&token) {
            assert!(it.time_ns() >= it.least_ns * (1.0 - 1e-9), "{model}: {it:?}");
        }
        for dense in ["out", "lm_head"] {
            let parts = ["predictor", "communication"].map(|part| part_ns(&token, dense, part));
            assert!(parts.iter().all(|it| *it <= 0.0), "{model}: {token:?}");
            assert!(part_ns(&token, dense, "fc") > 0.0);
        }
        for sparse in ["qkv", "fc1+fc2"] {
            assert!(part_ns(&token, sparse, "predictor") > 0.0);
            assert_eq!(
                part_ns(&token, sparse, "communication") > 0.0,
                model != "opt-6.7b",
                "which fits the GPU"
            );
        }
        // A token's head is the prompt's: the same bytes, at the same rate.
        let [of_prompt, of_token] =
            [(&prompt, "gpu"), (&token, "fc")].map(|(it, part)| part_ns(it, "lm_head", part));
        assert!((of_token / of_prompt - 1.0).abs() < 1e-6, "{model}: {of_token} {of_prompt}");
    }
}

/// What of keys and values does not fit the GPU comes for attention, at the rate of weights.
#[test]
fn offloaded_keys_and_values_come_for_attention() {
    for system in ["flexgen", "accelerate"] {
        let own = [
            ("model", json!("opt-13b")),
            ("system", json!(system)),
            ("batch", json!(64)),
            ("prompt_tokens", json!(1024)),
            ("generated_tokens", json!(1)),
        ];
        let token = operators(&own, Pass::Token);
        let of = |operator| part_ns(&token, operator, "communication");
        // 40 layers of 5120 numbers, in halves, of 1025 tokens; and an output projection of each layer.
        let [cache, out] = [64.0 * 40.0 * 2.0 * 5120.0 * 1025.0, 40.0 * 5120.0 * 5120.0];
        let ratio = of("attention_scores+attention_values") / of("out") / (cache / out);
        assert!((ratio - 1.0).abs() < 1e-6, "{system}: {ratio}");
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

/// The feed-forward network's time is that of its operator without merging sums, of which one DIMM has none, and
/// nothing but the two blocks meets between GPU and DIMMs.
#[test]
fn the_feed_forward_network_has_its_own_synchronisation() {
    for (system, dimms) in [("hermes", 8), ("hermes-host", 8), ("hermes-base", 1), ("hermes-base", 8)] {
        for (model, batch) in [("opt-125m", 1), ("opt-1.3b", 2), ("llama-3.2-1b", 4)] {
            let own = [
                ("model", json!(model)),
                ("system", json!(system)),
                ("dimms", json!(dimms)),
                ("batch", json!(batch)),
                ("gpu.pcie_gb_s", json!(4.0)),
                ("gpu.memory_gb", json!(1.5)),
            ];
            let (all, told) = (operators(&own, Pass::Token), answer(&own).mlp_ns.unwrap());
            let name = if model.starts_with("opt") { "fc1+fc2" } else { "gate_up+down" };
            let sum = all.iter().find(|it| it.operator == name).unwrap().time_ns();
            let sum = sum - part_ns(&all, name, "merging");
            if (system, dimms) == ("hermes-base", 8) {
                assert!(told < sum, "{model}: {told}, {sum} ns");
            } else {
                assert!((sum / told - 1.0).abs() < 1e-6, "{system} {model}: {sum}, not {told} ns");
            }
            if system == "hermes-base" {
                assert!(part_ns(&all, "qkv", "communication") > 0.0, "{model}");
                for it in ["out", "lm_head"] {
                    assert!(part_ns(&all, it, "communication").abs() < 1e-6, "{model} {it}");
                }
            }
        }
    }
}
