//! Laws of the cost, and what bad questions are answered.

use std::borrow::Borrow;
use std::num::{NonZeroU32, NonZeroU64};

use memscape_riscv::gemm::Method;
use memscape_riscv::inference::Bound;
use memscape_riscv::kernels::Kernel;
use memscape_riscv::numa::{Distances, Policy, place};
use memscape_riscv::platform::{SlcScope, WeightPages};
use memscape_riscv::quant::Quantisation;
use memscape_riscv::{GemmStudy, InferenceAnswer, InferenceStudy, KernelStudy};
use memscape_study::Study;
use memscape_workload::{Matrix, ModelName};
use proptest::prelude::*;

fn count(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

fn tokens(value: u64) -> NonZeroU64 {
    NonZeroU64::new(value).unwrap()
}

fn ask(study: impl Borrow<InferenceStudy>) -> InferenceAnswer {
    study.borrow().answer().unwrap()
}

fn error(study: impl Borrow<InferenceStudy>) -> String {
    study.borrow().answer().unwrap_err().to_string()
}

fn policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(Policy::ALL.to_vec())
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(Kernel::ALL.to_vec())
}

prop_compose! {
    fn study()(
        policy in policy(), kernel in kernel(), threads in 1..65_u32, prompt in 1..200_u64, generated in 1..200_u64,
        model in prop::sample::select(ModelName::all().collect::<Vec<_>>()),
    ) -> InferenceStudy {
        InferenceStudy {
            policy,
            kernel,
            threads: count(threads),
            prompt_tokens: tokens(prompt),
            generated_tokens: tokens(generated),
            model,
            ..InferenceStudy::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_token_is_the_sum_of_its_causes(study in study()) {
        let it = ask(study);
        let sum = it.kernel_ns + it.weights_ns + it.attention_ns + it.sync_ns + it.balancing_ns;
        prop_assert!((sum / it.token_ns - 1.0).abs() < 1e-12);
        prop_assert!((it.generation_tokens_per_s * it.token_ns / 1e9 - 1.0).abs() < 1e-12);
        prop_assert!(0.0 < it.mul_mat_share && it.mul_mat_share < 1.0);
    }

    #[test]
    fn more_memory_is_never_slower(study in study(), more in 1.0..4.0_f64) {
        let mut faster = study;
        faster.dram.data_rate_mt_s = memscape_units::Megahertz::new(3200.0 * more).unwrap();
        prop_assert!(ask(faster).token_ns <= ask(study).token_ns);
        let mut wider = study;
        wider.dram.controllers = count(8);
        prop_assert!(ask(wider).token_ns <= ask(study).token_ns);
        prop_assert!(ask(wider).prompt_ns <= ask(study).prompt_ns);
        let mut roomier = study;
        roomier.cache.slc_bytes_per_node *= 4;
        prop_assert!(ask(roomier).prompt_ns <= ask(study).prompt_ns);
    }

    #[test]
    fn farther_is_never_faster(study in study(), remote in 10..=254_u8) {
        let with = |remote| {
            let mut it = study;
            it.numa.distances = Distances::uniform(remote).unwrap();
            ask(it)
        };
        prop_assert!(with(remote).token_ns <= with(remote + 1).token_ns);
        prop_assert!(with(remote).prompt_ns <= with(remote + 1).prompt_ns);
    }

    #[test]
    fn a_longer_context_is_never_faster(study in study(), more in 1..300_u64) {
        let longer = InferenceStudy { prompt_tokens: tokens(study.prompt_tokens.get() + more), context_cells: tokens(1024), ..study };
        prop_assert!(ask(study).token_ns <= ask(longer).token_ns);
        prop_assert!(ask(study).prompt_ns <= ask(longer).prompt_ns);
    }

    /// Cycles of a row are cycles of its blocks: twice the rows take twice as long
    /// wherever the matrix stays on the same level.
    #[test]
    fn a_kernel_is_linear_in_its_rows(kernel in kernel(), rows in 1..200_u64) {
        prop_assume!(kernel != Kernel::Openblas);
        let of = |rows| KernelStudy { kernel, m: tokens(rows * 64), k: tokens(16384), ..KernelStudy::default() }.answer().unwrap();
        let (one, two) = (of(rows), of(2 * rows));
        prop_assume!(one.level == two.level);
        prop_assert!((two.time_ns / one.time_ns - 2.0).abs() < 1e-9);
    }
}

#[test]
fn binding_follows_the_threads_and_interleaving_the_pages() {
    let study = InferenceStudy::default();
    let at = |policy, threads, bind| place(policy, threads, bind, &study.numa, &study.cache).unwrap();
    let bound = at(Policy::BindCores, 32, None);
    assert_eq!((bound.mean_distance, bound.data_nodes, bound.clusters), (12.5, 1, 8));
    assert_eq!(bound, at(Policy::BindCoresMemory, 32, None), "the first touch decides");
    let anywhere = at(Policy::Base, 32, None);
    assert_eq!((anywhere.mean_distance, anywhere.data_nodes), (20.0, 1));
    let interleaved = at(Policy::Interleave, 32, None);
    assert_eq!((interleaved.mean_distance, interleaved.data_nodes, interleaved.clusters), (20.0, 4, 16));
    let alone = at(Policy::NoBalancing, 1, None);
    assert_eq!((alone.mean_distance, alone.clusters), (10.0, 1), "a thread touches its own node");
}

#[test]
fn threads_beyond_the_cores_only_wait() {
    let with = |threads| ask(InferenceStudy { threads: count(threads), ..InferenceStudy::default() });
    let (all, twice) = (with(64), with(128));
    assert_eq!((all.kernel_ns, all.weights_ns), (twice.kernel_ns, twice.weights_ns));
    assert!((twice.sync_ns / all.sync_ns - 4.0).abs() < 1e-9);
}

#[test]
fn scopes_caches_and_mappings_are_options() {
    let base = InferenceStudy { policy: Policy::NoBalancing, threads: count(1), ..InferenceStudy::default() };
    let mut of_node = base;
    of_node.cache.slc_scope = SlcScope::Node;
    assert!(ask(base).prompt_ns < ask(of_node).prompt_ns, "25 MB fit 64 MiB, not 16");
    let mut lazy = base;
    lazy.os.weights = WeightPages::Lazy;
    assert_eq!(ask(base).page_faults, 65536, "512 cells of 32 layers, 4096 wide, keys and values in f16");
    assert!(ask(lazy).page_faults > ask(base).page_faults + 50_000);
    let bound_by = ask(InferenceStudy { policy: Policy::NoBalancing, ..InferenceStudy::default() }).bound_by;
    assert_eq!(bound_by, Bound::Memory);
}

#[test]
fn bad_questions_say_what_to_change() {
    let base = InferenceStudy::default();
    assert_eq!(
        error(InferenceStudy { policy: Policy::BindCores, threads: count(65), ..base }),
        "65 threads are bound to 64 cores (4 nodes of 16); bind to more nodes, or use a policy that does not bind"
    );
    assert_eq!(
        error(InferenceStudy {
            policy: Policy::BindCoresMemory,
            bind_nodes: Some(count(2)),
            threads: count(33),
            ..base
        }),
        "33 threads are bound to 32 cores (2 nodes of 16); bind to more nodes, or use a policy that does not bind"
    );
    assert_eq!(
        error(InferenceStudy { policy: Policy::BindCores, bind_nodes: Some(count(5)), ..base }),
        "`bind_nodes` is 5, but the machine has 4 nodes"
    );
    let mut more_nodes = base;
    more_nodes.numa.nodes = count(8);
    assert!(error(more_nodes).starts_with("`numa.distances` is for 4 nodes, but `numa.nodes` is 8"));
    assert!(
        error(InferenceStudy { prompt_tokens: tokens(500), ..base }).contains("do not fit the 512 cells")
    );
    assert_eq!(
        error(InferenceStudy { quantisation: Quantisation::F16, ..base }),
        "the kernel `complex` does not multiply f16; it is written for q4_0"
    );
    let mut broken = base;
    broken.core.move_cycles = -1.0;
    assert_eq!(error(broken), "`core.move_cycles` is -1; it must be from 0 to 100");
    broken.core.move_cycles = f64::NAN;
    assert!(error(broken).starts_with("`core.move_cycles` is NaN"));
    let gemm =
        GemmStudy { method: Method::Listing, quantisation: Quantisation::Q4_0, ..GemmStudy::default() };
    assert!(gemm.answer().unwrap_err().to_string().contains("multiplies f32 weights"));
    for (text, problem) in [
        ("[[10, 20], [20]]", "must be square"),
        ("[[10, 20], [20, 11]]", "the diagonal of a SLIT matrix is 10"),
        ("[[10, 5], [20, 10]]", "remote distances are 10 or more"),
        ("[]", "a distance matrix of 0 nodes"),
        ("9", "remote distances are 10 or more"),
        ("-3", "one number for every remote node"),
    ] {
        let error = serde_json::from_str::<Distances>(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
    assert!(serde_json::from_str::<Quantisation>("\"q5_0\"").is_err());
}

/// Weights outside of the layers are those that the workload crate knows.
#[test]
fn a_token_reads_every_matrix_once() {
    for model in ModelName::all() {
        let study = InferenceStudy { model, ..InferenceStudy::default() };
        let mut matrices: Vec<_> =
            model.layer_gemvs(study.projections).map(|it| (it.1, u64::from(model.layers))).collect();
        matrices.extend(
            [Matrix::ProjectIn, Matrix::ProjectOut, Matrix::LmHead]
                .iter()
                .filter_map(|it| Some((model.gemv(*it).ok()?, 1))),
        );
        let bytes: u64 = matrices.iter().map(|(it, count)| count * it.m() * it.k().div_ceil(32) * 18).sum();
        assert_eq!(ask(study).weight_bytes, bytes, "{model}");
    }
}
