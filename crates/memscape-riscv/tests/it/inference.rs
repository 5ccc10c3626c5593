//! What a run takes, and what it is made of.

use memscape_riscv::cost::memory::Hierarchy;
use memscape_riscv::cost::sgemm::Method;
use memscape_riscv::dispatch::Build;
use memscape_riscv::hardware::{MACHINES, SlcScope, WeightPages};
use memscape_riscv::kernels::Kernel;
use memscape_riscv::mapping::conversation::{Columns, Conversation};
use memscape_riscv::mapping::graph::Graph;
use memscape_riscv::placement::{Bind, Policy, place};
use memscape_riscv::{GemmStudy, InferenceAnswer, InferenceStudy, KernelStudy};
use memscape_study::{BoundBy, Limited, Pass, Study, sums_off};
use memscape_units::{GbPerS, Nanoseconds};
use memscape_workload::{FileType, Llm, Matrix, Model};
use proptest::prelude::*;

use crate::common::{ask, count, error, study, token_ns, tokens, ttft_s};

/// Columns that are said to be sums are.
fn check_sums<S: Study>(study: &S) -> Result<(), TestCaseError> {
    let answer =
        serde_json::to_value(study.answer().map_err(|it| TestCaseError::fail(it.to_string()))?).unwrap();
    prop_assert!(!S::SUMS.is_empty());
    let off = sums_off(S::SUMS, 1e-9, |it| Some(answer[it].as_f64().unwrap()));
    prop_assert!(off.is_empty(), "{off:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_whole_is_the_sum_of_its_parts(
        study in study(), method in prop::sample::select(vec![Method::Listing, Method::Openblas, Method::OpenblasGemv]),
        (m, k, n) in (1..5000_u64, 1..5000_u64, 1..300_u64),
    ) {
        check_sums(&study)?;
        let (m, k, n) = (tokens(m), tokens(k), tokens(n));
        if study.kernel != Kernel::Openblas {
            check_sums(&KernelStudy { kernel: study.kernel, m, k, n, ..KernelStudy::default() })?;
        }
        let (policy, threads) = (study.policy, study.threads);
        check_sums(&GemmStudy { m, k, n, method, policy, threads, ..GemmStudy::default() })?;
        let it = ask(study);
        prop_assert!(0.0 < it.mul_mat_share && it.mul_mat_share < 1.0);
    }

    /// Weights are read once per step by llama.cpp's own kernel, and once per column by
    /// the thesis'; each sequence has attention of its own, and all meet together.
    #[test]
    fn a_batch_shares_the_weights_and_the_meetings(study in study(), batch in 2..=16_u32) {
        let one = InferenceStudy { context_cells: Some(tokens(1 << 13)), ..study };
        let (one, all) = (ask(one), ask(InferenceStudy { batch: count(batch), ..one }));
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        // More experts are met by more.
        let experts = study.model.experts.is_some();
        let shared = |all: f64, one: f64| if experts { all >= one } else { same(all, one) };
        let times = |whole: f64, part: f64| (whole / part - f64::from(batch)).abs() < 1e-6;
        prop_assert!(same(all.synchronisation_ns, one.synchronisation_ns));
        // More sequences have more vectors, which may be dealt out more evenly than the elements of a head.
        let attention = all.attention_ns / one.attention_ns / f64::from(batch);
        prop_assert!((0.5..1.0 + 1e-6).contains(&attention), "{attention}");
        // Whole vectors may leave the busiest thread less than whole rows do, where threads, or a router's rows, are few.
        let rows_alone = study.threads.get() >= 2 * batch && !experts;
        let even = |whole: f64, part: f64| {
            times(whole, part) || !rows_alone && (0.9..1.0).contains(&(whole / part / f64::from(batch)))
        };
        match study.kernel {
            Kernel::Default | Kernel::Vector => {
                prop_assert!(shared(all.weights_ns, one.weights_ns));
                prop_assert!(even(all.kernel_ns, one.kernel_ns));
            }
            Kernel::Simple | Kernel::Complex => {
                prop_assert!(all.weights_ns >= one.weights_ns, "again from a cache, at no cost if it is the nearest");
                prop_assert!(even(all.kernel_ns, one.kernel_ns));
            }
            Kernel::Openblas => prop_assert!(shared(all.weights_ns, one.weights_ns)),
        }
        let (one, all) = (one.headline, all.headline);
        prop_assert!(all.token_ns >= one.token_ns && all.ttft_s >= one.ttft_s);
        prop_assert!(all.tokens_per_s >= one.tokens_per_s * (1.0 - 1e-9));
        prop_assert!(all.prompt_tokens_per_s >= one.prompt_tokens_per_s * (1.0 - 1e-9));
        prop_assert!((all.generation_tokens_per_s * all.token_ns / 1e9 - f64::from(batch)).abs() < 1e-9);
    }

    #[test]
    fn a_longer_context_is_never_faster(study in study(), more in 1..300_u64) {
        let longer = InferenceStudy { prompt_tokens: tokens(study.prompt_tokens.get() + more), context_cells: Some(tokens(1024)), ..study };
        prop_assert!(token_ns(study) <= token_ns(longer));
        prop_assert!(ttft_s(study) <= ttft_s(longer));
    }

    /// Graphs told in closed form are those that one counts: token by token of all sequences, as many
    /// columns as a graph may have, each attending to what its sequence has in use by its end, padded as far as
    /// the cache goes.
    #[test]
    fn a_prompt_is_split_as_llama_cpp_splits_it(
        prompt_tokens in 1..150_u64, batch in 1..12_u64, most in 1..300_u64, padding in 1..40_u64, free in 0..200_u64,
    ) {
        let run = Conversation {
            warm_up_tokens: 0, prompt_tokens, generated_tokens: 2, batch, cells: prompt_tokens * batch + free,
            kv_padding: tokens(padding), ubatch_tokens: tokens(most),
        };
        let (mut graphs, mut columns, mut outputs, mut scores, mut cells) = (0, 0, 0, 0, 0);
        let all = prompt_tokens * batch;
        for first in (0..all).step_by(usize::try_from(most).unwrap()) {
            let last = all.min(first + most);
            let attended = last.div_ceil(batch).next_multiple_of(padding).min(run.cells / batch);
            graphs += 1;
            columns += last - first;
            outputs += last.saturating_sub(first.max(all - batch));
            scores += attended * (last - first);
            cells += attended * batch.min(last - first);
        }
        let sum = |of: &dyn Fn(&Columns) -> f64| -> f64 {
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            run.prompt().iter().map(|it| it.count as f64 * of(&it.columns)).sum()
        };
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        for (closed, counted) in [
            (sum(&|_| 1.0), graphs),
            (sum(&|it| it.all as f64), columns),
            (sum(&|it| it.outputs as f64), outputs),
            (sum(&|it| it.attended * it.all as f64), scores),
            (sum(&|it| it.attended * it.sequences as f64), cells),
        ] {
            prop_assert!((closed / counted as f64 - 1.0).abs() < 1e-12, "{closed} is not {counted}");
        }
        prop_assert_eq!(outputs, batch);
        prop_assert!(run.prompt().iter().all(|it| it.columns.outputs <= it.columns.all));
    }
}

/// A prompt longer than a graph is several, each of which meets, reads the weights and attends to
/// the cells in use by its end.
#[test]
fn a_long_prompt_is_several_graphs() {
    let at = |prompt, ubatch| {
        ask(InferenceStudy {
            prompt_tokens: tokens(prompt),
            ubatch_tokens: tokens(ubatch),
            context_cells: Some(tokens(1 << 16)),
            ..InferenceStudy::default()
        })
    };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert_eq!(at(512, 512), at(512, 1 << 20), "one graph is one, whatever it may be");
    let (one, two, whole) = (at(512, 512), at(1024, 512), at(1024, 1024));
    assert!(near(two.prompt_synchronisation_s, 2.0 * one.prompt_synchronisation_s));
    assert!(near(whole.prompt_synchronisation_s, one.prompt_synchronisation_s));
    let cells = |graphs: &[(f64, f64)]| graphs.iter().map(|it| it.0 * it.1).sum::<f64>();
    let per_token = |it: &InferenceAnswer| it.prompt_attention_s;
    // Nearly all of attention is computing: columns by cells.
    let expected = cells(&[(512.0, 512.0), (512.0, 1024.0)]) / cells(&[(1024.0, 1024.0)]);
    assert!((per_token(&two) / per_token(&whole) / expected - 1.0).abs() < 0.01);
    // BLAS dequantises the weights once per graph, and gets no graph of fewer than 32 columns.
    let blas = |prompt| {
        ask(InferenceStudy {
            prompt_tokens: tokens(prompt),
            dispatch: Build { blas: true, ..Build::default() },
            context_cells: Some(tokens(1 << 16)),
            ..InferenceStudy::default()
        })
    };
    let (full, rest) =
        (blas(512 + 31).prompt_kernel_s - blas(512).prompt_kernel_s, at(31, 512).prompt_kernel_s);
    assert!((full / rest - 1.0).abs() < 0.01, "{full} {rest}");
    assert!(blas(1024).prompt_weights_s > 1.9 * blas(512).prompt_weights_s);
    let scores = |cells: u64| 32 * 4 * 512 * cells;
    assert_eq!(
        blas(2048).headline.memory_bytes - scores(2048),
        blas(512).headline.memory_bytes - scores(512),
        "a graph's copy of a matrix is the next one's"
    );
    // Told in closed form.
    let mut long = InferenceStudy {
        prompt_tokens: tokens(1 << 23),
        ubatch_tokens: tokens(1),
        context_cells: Some(tokens(1 << 24)),
        ..InferenceStudy::default()
    };
    long.memory.rows = count(1 << 27);
    assert!(long.answer().is_ok() || error(long).contains("at most 104 are modelled"));
}

/// The warm-up is one sequence, and over when prompt and reply begin.
#[test]
fn a_warm_up_takes_cells_for_itself() {
    let warm = |warm_up_tokens, batch| InferenceStudy {
        warm_up_tokens,
        batch: count(batch),
        prompt_tokens: tokens(1),
        ..InferenceStudy::default()
    };
    assert!(warm(500, 1).answer().is_ok() && warm(512, 16).answer().is_ok());
    assert_eq!(
        error(warm(513, 1)),
        "the 513 tokens of `warm_up_tokens` do not fit the 512 cells of `context_cells`; use fewer, or raise it \
         to 513 at least"
    );
    assert!(error(warm(2, 17)).contains("of each of 17 sequences do not fit the 512 cells"));
    let taken = |it: InferenceStudy| ask(InferenceStudy { context_cells: None, ..it }).page_faults;
    // 16 sequences of 32 cells, or the warm-up's 512.
    for it in [warm(500, 16), warm(512, 1)] {
        assert_eq!(taken(it), ask(InferenceStudy { context_cells: Some(tokens(512)), ..it }).page_faults);
    }
}

/// llama.cpp pads what it attends to up to the end of the cache, not beyond.
#[test]
fn attention_reads_no_cells_that_there_are_not() {
    let base = InferenceStudy {
        // It is one sequence, which may have all cells.
        warm_up_tokens: 0,
        prompt_tokens: tokens(260),
        context_cells: Some(tokens(300)),
        kv_padding: tokens(300),
        ..InferenceStudy::default()
    };
    for batch in [1, 2] {
        let cells = 300 * u64::from(batch);
        let all = InferenceStudy { batch: count(batch), context_cells: Some(tokens(cells)), ..base };
        let beyond = InferenceStudy { kv_padding: tokens(4096), ..all };
        assert_eq!(ask(beyond), ask(all), "all cells of each sequence");
    }
    let more = InferenceStudy { kv_padding: tokens(4096), context_cells: Some(tokens(600)), ..base };
    let ratio = ask(more).attention_ns / ask(base).attention_ns;
    // But for the queries, of which there are as many.
    assert!((ratio / 2.0 - 1.0).abs() < 0.05, "{ratio}");
}

/// Weights outside of the layers are those that the workload crate knows.
#[test]
fn a_token_reads_every_matrix_once() {
    for model in Model::all() {
        let study = InferenceStudy { model, ..InferenceStudy::default() };
        let mut matrices: Vec<_> =
            model.layer_gemvs(study.projections).map(|it| (it.0, it.1, u64::from(model.layers))).collect();
        matrices.extend(
            [Matrix::ProjectIn, Matrix::ProjectOut, Matrix::LmHead]
                .iter()
                .filter_map(|it| Some((*it, model.gemv(*it).ok()?, 1))),
        );
        // Routers are in single precision; the head is of Q6_K, or of Q8_0 where 256 does not divide its rows.
        let row = |matrix, columns: u64| match matrix {
            Matrix::Router => 4 * columns,
            Matrix::LmHead if columns.is_multiple_of(256) => columns / 256 * 210,
            Matrix::LmHead => columns / 32 * 34,
            // Eight experts' keys and values are wide.
            Matrix::K | Matrix::V if model.ffn_count() == 8 => columns / 32 * 34,
            _ => columns / 32 * 18,
        };
        let bytes: u64 =
            matrices.iter().map(|(matrix, it, count)| count * it.m() * row(*matrix, it.k())).sum();
        assert_eq!(ask(study).weight_bytes, bytes, "{model}");
    }
}

/// Operators together leave no less time to a token than the whole does: few columns wait for the weights,
/// many for the products. What a longer context adds are its keys and values.
#[test]
#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn operators_read_and_multiply_what_a_token_does() {
    let of = |batch, prompt| InferenceStudy {
        threads: count(64),
        batch: count(batch),
        prompt_tokens: tokens(prompt),
        generated_tokens: tokens(1),
        context_cells: Some(tokens(1 << 15)),
        ..InferenceStudy::default()
    };
    let least = |study: &InferenceStudy, attends: bool| -> f64 {
        let operators = study.operators().unwrap().into_iter().filter(|it| it.pass == Pass::Token);
        operators.filter(|it| it.operator.starts_with("attention") == attends).map(|it| it.least_ns).sum()
    };
    for batch in [1, 1024] {
        let study = of(batch, 1);
        let bounds = study.bounds().into_iter().filter(|it| it.column == "token_ns");
        let whole = bounds.map(|it| if let Limited::AtLeast(it) = it.limit { it } else { 0.0 });
        let whole = whole.fold(0.0, f64::max);
        let sum = least(&study, false);
        assert!((sum / whole - 1.0).abs() < 1e-9, "{batch}: {sum}, not {whole} ns");
    }
    let [short, long] = [of(1, 1024), of(1, 4096)];
    let model = short.model;
    let added = 3072.0 * f64::from(model.layers) * 2.0 * 2.0 * model.kv_size() as f64;
    let taken = (least(&long, true) - least(&short, true)) * long.memory.peak_gb_s().as_f64();
    assert!((taken / added - 1.0).abs() < 1e-9, "{taken}, not {added} B");
}

/// A head of 96 elements has two for the busiest of 64 threads, as for each of 48; its keys are cells, of which there
/// are many.
#[test]
fn elements_of_a_head_s_values_are_whole() {
    let phi = Model::named("phi-3-mini").unwrap();
    assert_eq!((phi.heads, phi.q_size()), (32, 32 * 96));
    // As large, with heads of 128.
    let other = Model::of(Llm { heads: 24, kv_heads: 24, head_dim: 128, ..*phi }).unwrap();
    assert_eq!((other.q_size(), other.kv_size()), (phi.q_size(), phi.kv_size()));
    let gained = |model, threads| {
        let [some, all] = [threads, 64].map(|threads| {
            let threads = count(threads);
            let cells = Some(tokens(4096));
            ask(InferenceStudy { model, threads, context_cells: cells, ..InferenceStudy::default() })
                .attention_ns
        });
        some - all
    };
    // Beside reading, which is the same: 24 heads of 128 / 48 + 3 less 2 + 2, and 32 of 2 + 2 less 1.5 + 2; and of
    // 32 threads 24 of 4 + 4 less 2 + 2, and 32 of 3 + 3 less 1.5 + 2.
    let [at_48, at_32] = [48, 32].map(|it| gained(other, it) - gained(phi, it));
    assert!((at_48 / at_32 - 1.5).abs() < 1e-6, "{at_48} {at_32}");
}

/// Tokens of several sequences meet more experts than one does, each of which multiplies those that meet it, by
/// llama.cpp's own code.
#[test]
fn experts_are_read_by_the_tokens_that_meet_them() {
    let model = Model::named("mixtral-8x7b").unwrap();
    let base = InferenceStudy {
        model,
        kernel: Kernel::Default,
        threads: count(64),
        policy: Policy::Interleave,
        context_cells: Some(tokens(1 << 13)),
        ..InferenceStudy::default()
    };
    let of = |study: &InferenceStudy, operator: &str, cause: &str, pass| -> f64 {
        let operators = study.operators().unwrap();
        let it = operators.iter().find(|it| it.operator == operator && it.pass == pass).unwrap();
        it.parts.iter().filter(|it| it.0 == cause).map(|it| it.1).sum()
    };
    let [one, two, many] = [1, 2, 64].map(|batch| InferenceStudy { batch: count(batch), ..base });
    for (study, experts) in [(&two, 3.5), (&many, 8.0)] {
        let weights = |it| of(it, "gate", "weights", Pass::Token);
        // Sixteen columns of each are one chunk's.
        assert!((weights(study) / weights(&one) / (experts / 2.0) - 1.0).abs() < 1e-2, "{experts}");
        let attention = |it| of(it, "q", "weights", Pass::Token);
        assert!(attention(study) < 4.1 * attention(&one), "four chunks of columns");
    }
    // As many multiplications as two networks, whoever makes them, but for converted inputs.
    let dense = InferenceStudy { model: "mistral-7b-v0.3".parse().unwrap(), ..base };
    let kernel = |it| of(it, "down", "kernel", Pass::Token);
    assert!(
        (kernel(&one) / (2.0 * kernel(&dense)) - 1.0).abs() < 1e-9,
        "{} {}",
        kernel(&one),
        kernel(&dense)
    );
    let long = InferenceStudy { prompt_tokens: tokens(256), ..base };
    let blas = InferenceStudy { dispatch: Build { blas: true, ..base.dispatch }, ..long };
    let prompt = |it, operator| of(it, operator, "kernel", Pass::Prompt);
    assert_ne!(prompt(&blas, "q"), prompt(&long, "q"));
    assert_eq!(
        prompt(&blas, "gate"),
        prompt(&long, "gate"),
        "an index picks experts, which BLAS knows nothing of"
    );
}

/// A token waits for the thread with most rows, whose lines alone are on their way for longer.
#[test]
#[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
fn the_busiest_thread_reads_all_of_its_rows() {
    for threads in [1, 7, 43, 48, 63, 64] {
        let study = InferenceStudy { threads: count(threads), ..InferenceStudy::default() };
        let InferenceStudy { core, cache, numa, memory, controller, .. } = &study;
        let placed = place(study.policy, threads, Bind::default(), numa, cache).unwrap();
        let hierarchy = Hierarchy { core, cache, numa, memory, controller };
        let (rate, on_the_way) = (hierarchy.dram(&placed).as_f64(), hierarchy.dram_wait(&placed).on_the_way);
        let head = study.model.gemv(Matrix::LmHead).unwrap();
        let rows = head.m().div_ceil(threads.into()) as f64 * f64::from(threads) / head.m() as f64;
        let expected = (head.m() * head.k() / 256 * 210) as f64 / rate * (1.0 + on_the_way * (rows - 1.0));
        let operators = study.operators().unwrap();
        let it = operators.iter().find(|it| it.pass == Pass::Token && it.operator == "lm_head").unwrap();
        let weights = it.parts.iter().find(|it| it.0 == "weights").unwrap().1;
        assert!((weights / expected - 1.0).abs() < 1e-9, "{threads}: {weights}, not {expected} ns");
    }
}

/// Of a mixture each matrix takes what it would of its own type, layer by layer; the thesis' kernels have those of Q4_0.
#[test]
fn a_mixture_takes_what_its_types_take() {
    let of = |format, kernel| {
        let study = InferenceStudy { format, kernel, ..InferenceStudy::default() };
        let operators = study.operators().unwrap();
        move |name: &str| -> f64 {
            let it = operators.iter().find(|it| it.pass == Pass::Token && it.operator == name).unwrap();
            it.parts.iter().filter(|it| it.0 == "kernel" || it.0 == "weights").map(|it| it.1).sum()
        }
    };
    let [small, mixed, six] =
        [FileType::Q4KS, FileType::Q4KM, FileType::Q6K].map(|it| of(it, Kernel::Default));
    // Four of 32 layers of the small one have five bits.
    for name in ["q", "k", "out", "gate", "up", "lm_head"] {
        assert!((mixed(name) / small(name) - 1.0).abs() < 1e-9, "{name}");
    }
    let five = of(FileType::Q5KS, Kernel::Default);
    for name in ["v", "down"] {
        let four = (small(name) - five(name) / 8.0) / (7.0 / 8.0);
        let expected = f64::midpoint(four, six(name));
        assert!((mixed(name) / expected - 1.0).abs() < 1e-9, "{name}: {} not {expected}", mixed(name));
    }
    let [own, complex] = [Kernel::Default, Kernel::Complex].map(|it| of(FileType::Q4_0, it));
    assert!(complex("down") < 0.5 * own("down"));
    assert!((complex("lm_head") / own("lm_head") - 1.0).abs() < 1e-9, "which is of Q6_K");
}

/// Faster packing gains nothing where reading what is packed takes longer.
#[test]
fn what_packs_while_it_reads_is_bound_by_reading() {
    let of = |pack_ns| {
        let mut study =
            InferenceStudy { kernel: Kernel::Openblas, format: FileType::Fp32, ..InferenceStudy::default() };
        study.core.pack_ns = Nanoseconds::new(pack_ns).unwrap();
        ask(study)
    };
    let most = of(1e-3).weights_ns;
    // A block's share of reading, of which packing takes nine tenths.
    let (hidden, shown) = (of(1.8), of(18.0));
    assert!(hidden.weights_ns > 0.0 && hidden.weights_ns < 0.5 * most, "{hidden:?}");
    assert_eq!(hidden.headline.token_ns, of(0.9).headline.token_ns);
    assert_eq!(hidden.headline.bound_by, BoundBy::DramBandwidth);
    assert_eq!(shown.headline.bound_by, BoundBy::Compute);
}

/// Computing is multiplying with weights and with the cache, reading is reading both.
#[test]
fn a_step_is_bound_by_what_takes_longest_in_all() {
    let mut tipped = 0;
    for prompt in (1..=40).map(|it| 100 * it) {
        let study = InferenceStudy {
            threads: count(24),
            prompt_tokens: tokens(prompt),
            context_cells: Some(tokens(1 << 13)),
            ..InferenceStudy::default()
        };
        let operators = study.operators().unwrap();
        let of = |part: &str| -> f64 {
            let parts = operators.iter().filter(|it| it.pass == Pass::Token).flat_map(|it| &it.parts);
            parts.filter(|it| it.0 == part).map(|it| it.1).sum()
        };
        let placed = place(study.policy, 24, Bind::default(), &study.numa, &study.cache).unwrap();
        let hierarchy = Hierarchy {
            core: &study.core,
            cache: &study.cache,
            numa: &study.numa,
            memory: &study.memory,
            controller: &study.controller,
        };
        let (compute, read) = (of("kernel") + of("attention"), of("weights") + of("cache"));
        let wait = hierarchy.dram_wait(&placed);
        assert!(!wait.at_ports);
        let on_the_way = read * wait.on_the_way;
        let of_memory = if 2.0 * on_the_way > read { BoundBy::DramLatency } else { BoundBy::DramBandwidth };
        let longest = [
            (compute, BoundBy::Compute),
            (read, of_memory),
            (of("synchronisation"), BoundBy::Synchronisation),
        ];
        let expected = longest.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1;
        assert_eq!(ask(study).headline.bound_by, expected, "{prompt}");
        tipped +=
            u32::from(compute > read && of("weights") > of("kernel").max(of("attention") + of("cache")));
    }
    assert!(tipped > 0, "no prompt is bound by two parts together");
}

#[test]
fn scopes_caches_and_mappings_are_options() {
    let base = InferenceStudy { policy: Policy::NoBalancing, threads: count(1), ..InferenceStudy::default() };
    let mut of_node = base;
    of_node.cache.slc_scope = SlcScope::Node;
    assert!(ttft_s(base) < ttft_s(of_node), "25 MB fit 64 MiB, not 16");
    // Many threads pass four ports sooner than one; interleaved, all lines lie everywhere.
    let prompt = |policy, slc_scope| {
        let mut study = InferenceStudy { policy, kernel: Kernel::Complex, ..base };
        study.cache.slc_scope = slc_scope;
        ttft_s(InferenceStudy { threads: count(64), ..study })
    };
    assert!(
        prompt(Policy::NoBalancing, SlcScope::Spread) < 0.8 * prompt(Policy::NoBalancing, SlcScope::Global)
    );
    let everywhere =
        [SlcScope::Node, SlcScope::Global, SlcScope::Spread].map(|it| prompt(Policy::Interleave, it));
    assert!(everywhere.iter().all(|it| *it == everywhere[0]), "{everywhere:?}");
    let mut lazy = base;
    lazy.os.weights = WeightPages::Lazy;
    // 512 cells of 32 layers, 4096 wide, keys and values in f16; 32 000 entries of 209 bytes; 10 x 32 scores of 32 heads.
    assert_eq!(ask(base).page_faults, 65_536 + 1_633 + 10);
    assert!(ask(lazy).page_faults > ask(base).page_faults + 50_000);
}

/// On one node's memory threads wait for each other's lines, on memory far away for lines to come, with many
/// controllers at the ports before them: what binds is what helps most.
#[test]
fn memory_binds_by_what_it_delivers_or_by_its_latency() {
    let of = |policy, change: &dyn Fn(&mut InferenceStudy)| {
        let mut study = InferenceStudy { policy, compiler_factor: 0.1, ..InferenceStudy::default() };
        study.os.sync_ns = Nanoseconds::ZERO;
        change(&mut study);
        ask(study).headline
    };
    let path_ns = InferenceStudy::default().controller.path_ns;
    let channels = |it: &mut InferenceStudy, channels| it.memory.channels = count(channels);
    let cases: [(Policy, f64, u32, BoundBy); 3] = [
        (Policy::NoBalancing, 1.0, 4, BoundBy::DramBandwidth),
        (Policy::Interleave, 4.0, 4, BoundBy::DramLatency),
        (Policy::Interleave, 0.5, 32, BoundBy::CacheBandwidth),
    ];
    for (policy, way, controllers, expected) in cases {
        let base = |it: &mut InferenceStudy| {
            it.controller.path_ns = path_ns * way;
            channels(it, controllers);
        };
        let gain = |change: &dyn Fn(&mut InferenceStudy)| {
            let changed = of(policy, &|it| {
                base(it);
                change(it);
            });
            changed.generation_tokens_per_s / of(policy, &base).generation_tokens_per_s
        };
        let gains = [
            (gain(&|it| channels(it, 4 * controllers)), BoundBy::DramBandwidth),
            (gain(&|it| it.controller.path_ns = it.controller.path_ns * 0.5), BoundBy::DramLatency),
            (gain(&|it| it.cache.slc_gb_s_per_node = GbPerS::new(102.4).unwrap()), BoundBy::CacheBandwidth),
        ];
        let helps = gains.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert_eq!((of(policy, &base).bound_by, helps.1), (expected, expected), "{policy:?}: {gains:?}");
    }
}

#[test]
fn a_study_begins_as_the_machine_of_its_slot() {
    let plain = serde_json::to_value(MACHINES.get("sg2042")).unwrap();
    let study = serde_json::to_value(InferenceStudy::default()).unwrap();
    for (table, value) in plain.as_object().unwrap() {
        assert_eq!(&study[table], value, "{table}");
    }
}

/// What is beside matrix products is beside those of each graph of a step.
#[test]
fn every_graph_of_a_step_has_operations_beside_its_products() {
    let of = |batch, ubatch| {
        let model = Model::named("opt-125m").unwrap();
        let base = InferenceStudy {
            model,
            context_cells: None,
            ubatch_tokens: tokens(ubatch),
            ..InferenceStudy::default()
        };
        let it = ask(InferenceStudy { batch: count(batch), ..base });
        (it.headline.token_ns - it.mul_mat_ns, it.mul_mat_share)
    };
    let (one, eight, together) = (of(1, 1), of(8, 1), of(8, 8));
    assert!((eight.0 / one.0 - 8.0).abs() < 1e-9, "{eight:?} {one:?}");
    assert!((together.0 / one.0 - 1.0).abs() < 1e-9, "{together:?} {one:?}");
    assert!(eight.1 < 0.9, "{eight:?}");
}

/// Also the projections in front of and behind the layers of a model that has them synchronise.
#[test]
fn projections_of_the_embedding_synchronise() {
    let with = InferenceStudy { model: Model::named("opt-350m").unwrap(), ..InferenceStudy::default() };
    let model = Model::of(Llm { embedding_size: None, ..*with.model }).unwrap();
    let syncs = |it: &InferenceStudy| {
        let graph = Graph::of(&it.model, it.projections);
        (graph.other_syncs() + graph.product_syncs(), ask(it).synchronisation_ns)
    };
    let (without, with) = (syncs(&InferenceStudy { model, ..with }), syncs(&with));
    assert_eq!(with.0, without.0 + 2 * 2, "each of the two meets twice");
    let each = |(count, ns): (u64, f64)| ns / f64::from(u32::try_from(count).unwrap());
    assert!((each(with) / each(without) - 1.0).abs() < 1e-9, "{with:?} {without:?}");
}
