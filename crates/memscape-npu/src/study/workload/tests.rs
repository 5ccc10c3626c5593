use std::num::{NonZeroU32, NonZeroU64};

use memscape_study::{OperatorCost, Study};
use memscape_units::GbPerS;
use memscape_workload::{Matrix, Model};

use crate::study::memory::MemoryGb;
use crate::study::workload::{Strategy, WorkloadStudy};

#[test]
fn what_keeps_every_design_from_a_prompt_is_named() {
    let best = WorkloadStudy { strategy: Strategy::BestPerSize, ..WorkloadStudy::default() };
    let error = |change: fn(&mut WorkloadStudy)| {
        let mut study = WorkloadStudy { model: Model::named("opt-125m").unwrap(), ..best };
        change(&mut study);
        study.answer().unwrap_err().to_string()
    };
    let l1 = error(|it| it.device.l1_bytes = NonZeroU32::new(1200).unwrap());
    assert!(l1.contains("leaves 176 of `device.l1_bytes` = 1200, but the smallest takes 769 bytes"), "{l1}");
    let l2 = error(|it| it.device.l2_bytes = NonZeroU32::new(1000).unwrap());
    assert!(l2.contains("memory tiles of 1000 B") && l2.contains("`device.l2_bytes`"), "{l2}");
    let rows = error(|it| it.prompt_tokens = NonZeroU64::new(3_000_000_000).unwrap());
    assert!(rows.starts_with("`prompt_tokens` is 3000000000"), "{rows}");
    let time = error(|it| {
        // Few tiles, so that trying them all takes little.
        it.device.l1_bytes = NonZeroU32::new(8192).unwrap();
        it.device.dram.read_gb_s = GbPerS::new(1e-9).unwrap();
    });
    assert!(time.contains("2048 tokens") && time.contains("`device.dram.read_gb_s`"), "{time}");
}

#[test]
fn embeddings_of_another_size_are_projected() {
    let model = Model::named("opt-350m").unwrap();
    let of = |lm_head| {
        let products = WorkloadStudy { model, lm_head, ..WorkloadStudy::default() };
        (products, products.answer().unwrap())
    };
    let ((products, headless), (_, whole)) = (of(false), of(true));
    let time = |tokens: NonZeroU64, matrix| {
        products.gemm(tokens, model.gemv(matrix).unwrap()).answer().unwrap().time_ns
    };
    let layers: f64 = model
        .layer_gemvs(products.projections)
        .map(|it| 24.0 * products.gemm(products.prompt_tokens, it.1).answer().unwrap().time_ns)
        .sum();
    let inwards = time(products.prompt_tokens, Matrix::ProjectIn);
    let last = time(NonZeroU64::MIN, Matrix::ProjectOut) + time(NonZeroU64::MIN, Matrix::LmHead);
    assert!((headless.gemm_ns / (layers + inwards) - 1.0).abs() < 1e-9);
    assert!((whole.gemm_ns / (layers + inwards + last) - 1.0).abs() < 1e-9);
    assert_eq!(whole.gemms, headless.gemms + 2);
    // Q, K and V; out; two of the network; and one in front, one behind, one head.
    assert_eq!(headless.gemms, 24 * 4 + 1);
}

/// 1024 tokens meet all eight experts, two each.
#[test]
fn each_expert_multiplies_the_tokens_that_meet_it() {
    let products = WorkloadStudy {
        model: Model::named("mixtral-8x7b").unwrap(),
        prompt_tokens: NonZeroU64::new(1024).unwrap(),
        lm_head: false,
        memory_gb: MemoryGb(64.0),
        ..WorkloadStudy::default()
    };
    let answer = products.answer().unwrap();
    let ns = |matrix, rows| {
        let rows = NonZeroU64::new(rows).unwrap();
        products.gemm(rows, products.model.gemv(matrix).unwrap()).answer().unwrap().time_ns
    };
    let once: f64 = [Matrix::Qkv, Matrix::Out, Matrix::Router].map(|it| ns(it, 1024)).iter().sum();
    let expert: f64 = [Matrix::GateUp, Matrix::Down].map(|it| ns(it, 256)).iter().sum();
    assert!((answer.gemm_ns / (32.0 * (once + 8.0 * expert)) - 1.0).abs() < 1e-9);
    assert_eq!(answer.gemms, 32 * (3 + 8 * 2));
    // As many operations as two networks, in blocks that are little more than half full.
    let each = products.model.layer_gemvs(products.projections).map(|it| it.1.macs()).sum::<u64>();
    let tops = 2.0 * 32.0 * 1024.0 * u32::try_from(each >> 10).map(f64::from).unwrap() * 1024.0;
    assert!((answer.tops * answer.time_ns * 1e3 / tops - 1.0).abs() < 1e-6);
    assert!(answer.useful_share < 0.7, "{}", answer.useful_share);
}

#[test]
fn the_timeline_of_experts_lasts_as_long_as_they_take() {
    let model = Model::named("mixtral-8x7b").unwrap();
    for tokens in [1, 2, 5] {
        let prompt_tokens = NonZeroU64::new(tokens).unwrap();
        let memory_gb = MemoryGb(64.0);
        let study = WorkloadStudy { model, prompt_tokens, memory_gb, ..WorkloadStudy::default() };
        let products = study.products(NonZeroU64::MIN, None, &[]).unwrap();
        let told: u64 = products.sequence().map(|(layer, kind)| products.instances(kind, layer).0).sum();
        assert_eq!(told, study.answer().unwrap().gemms);
    }
    // Some experts meet a token less: as many all together as are computed.
    let prompt_tokens = NonZeroU64::new(101).unwrap();
    let study = WorkloadStudy { model, prompt_tokens, ..WorkloadStudy::default() };
    let products = study.products(NonZeroU64::MIN, None, &[]).unwrap();
    let down = products.kinds.iter().position(|it| it.matrix == Matrix::Down).unwrap();
    let short: u64 = (0..32).map(|layer| products.instances(down, layer).1).sum();
    assert_eq!(short, 192, "202 visits of eight experts are 25 each, and one more for two");
}

/// Of 1793 tokens a quarter of the experts meet 449, one more than a block of rows has.
#[test]
fn a_token_more_is_a_row_of_those_experts_that_meet_it() {
    let of = |tokens| {
        let (model, lm_head) = (Model::named("mixtral-8x7b").unwrap(), false);
        let prompt_tokens = NonZeroU64::new(tokens).unwrap();
        let memory_gb = MemoryGb(64.0);
        WorkloadStudy { model, prompt_tokens, lm_head, memory_gb, ..WorkloadStudy::default() }
    };
    let error =
        WorkloadStudy { memory_gb: MemoryGb::default(), ..of(1792) }.answer().unwrap_err().to_string();
    assert!(error.contains("`memory_gb` = 46.821 at least, or a smaller `model`"), "{error}");
    let (even, odd) = (of(1792), of(1793));
    let ns = |rows, matrix| {
        let rows = NonZeroU64::new(rows).unwrap();
        even.gemm(rows, even.model.gemv(matrix).unwrap()).answer().unwrap().time_ns
    };
    let layer: f64 = [Matrix::Qkv, Matrix::Out, Matrix::Router].map(|it| ns(1793, it)).iter().sum();
    let expert = |rows| [Matrix::GateUp, Matrix::Down].map(|it| ns(rows, it)).iter().sum::<f64>();
    let expected = 32.0 * layer + 192.0 * expert(448) + 64.0 * expert(449);
    assert!((odd.answer().unwrap().gemm_ns / expected - 1.0).abs() < 1e-9);
    assert!(expert(449) > 1.5 * expert(448), "another block of rows");
    let gemms = even.answer().unwrap().gemms;
    assert_eq!(odd.answer().unwrap().gemms, gemms);
    let costs = odd.operators(NonZeroU64::MIN, None, &[]).unwrap();
    let told: f64 = costs.iter().map(OperatorCost::time_ns).sum();
    assert!((told / odd.answer().unwrap().time_ns - 1.0).abs() < 1e-9, "operators are all of it");
}
