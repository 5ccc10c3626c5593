//! The census against the printed table, and laws of it.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_riscv::CensusStudy;
use memscape_riscv::census::{Census, Observed, OutputRows, Run, Shape};
use memscape_riscv::dispatch::{Criteria, Path, Product, dispatch, shares};
use memscape_riscv::mapping::conversation::Conversation;
use memscape_study::Study;
use memscape_workload::{Experts, FileType, GgmlType, Llm, Model, Projections};
use proptest::prelude::*;

fn model(name: &str) -> Model {
    name.parse().unwrap()
}

fn run(prompt: u64, generated: u64, repetitions: u32) -> Run {
    Run {
        prompt_tokens: NonZeroU64::new(prompt).unwrap(),
        generated_tokens: NonZeroU64::new(generated).unwrap(),
        repetitions: NonZeroU32::new(repetitions).unwrap(),
        warm_up_tokens: 2,
        kv_padding: NonZeroU64::new(32).unwrap(),
        ubatch_tokens: NonZeroU64::new(512).unwrap(),
        output_rows: OutputRows::Last,
    }
}

/// Thesis, Table 4.2: the counts that are printed.
fn printed() -> Vec<(Shape, u64)> {
    [
        (4096, 4096, 1, 11904),
        (32, 128, 1, 2496),
        (128, 32, 1, 2496),
        (4096, 4096, 6, 384),
        (4096, 4096, 2, 384),
        (32, 128, 6, 96),
        (32, 128, 2, 96),
        (128, 32, 6, 96),
        (128, 32, 2, 96),
    ]
    .map(|(shared, dst0, dst1, count)| (Shape { shared, dst0, dst1 }, count))
    .to_vec()
}

#[test]
fn published_table_4_2() {
    let study = CensusStudy::default();
    let census = Census::of(&study.model, study.projections, &study.run());
    for (shape, count) in printed() {
        assert_eq!(census.count(shape), count, "{shape}");
    }
    // The largest printed share is 41.6 %: of any 1000 products, 416.
    assert_eq!((1000 * 11904 + census.total() / 2) / census.total(), 416);
}

/// The printed counts have one explanation among 1 to 6 repetitions, prompts of 3 to 9
/// and 2 to 100 generated tokens.
#[test]
fn the_inverse_of_table_4_2_is_unique() {
    let observed =
        Observed { model: *model("llama-2-7b"), projections: Projections::Separate, counts: printed() };
    let mut found = Vec::new();
    for repetitions in 1..=6 {
        for prompt in 3..=9 {
            for generated in 2..=100 {
                let run = run(prompt, generated, repetitions);
                if observed.explained_by(&run) {
                    found.push((repetitions, prompt, generated));
                }
            }
        }
    }
    assert_eq!(found, [(3, 6, 32)]);
}

/// The closed form counts what walking token by token counts.
fn walked(model: Model, projections: Projections, run: &Run) -> u64 {
    let evaluated = run.generated_tokens.get() - 1 + 1 + u64::from(run.warm_up_tokens > 0);
    let per_graph = u64::from(model.layers) * (model.layer_gemvs(projections).count() as u64 + 2)
        + 1
        + 2 * u64::from(model.projects_embedding());
    u64::from(run.repetitions.get()) * evaluated * per_graph
}

fn any_model() -> impl Strategy<Value = Model> {
    prop::sample::select(Model::all().filter(|it| it.experts.is_none()).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn every_graph_has_the_same_number_of_products(
        model in any_model(), merged in any::<bool>(), prompt in 1..300_u64, generated in 1..600_u64,
        repetitions in 1..4_u32,
    ) {
        let projections = if merged { Projections::Merged } else { Projections::Separate };
        let run = run(prompt, generated, repetitions);
        let census = Census::of(&model, projections, &run);
        prop_assert_eq!(census.total(), walked(model, projections, &run));
    }

    /// A run is as many graphs as it has tokens, one longer cell count at a time.
    #[test]
    fn a_longer_reply_adds_one_token(prompt in 1..100_u64, generated in 1..200_u64) {
        let model = model("llama-2-7b");
        let of = |generated| Census::of(&model, Projections::Separate, &run(prompt, generated, 1));
        let (short, long) = (of(generated), of(generated + 1));
        let cells = run(prompt, 1, 1).attended(prompt + generated);
        let shape = Shape { shared: 128, dst0: cells, dst1: 1 };
        // With as many cells as a head is wide, both products of attention look alike.
        let alike = if cells == 128 { 2 } else { 1 };
        prop_assert_eq!(long.count(shape), short.count(shape) + 32 * alike);
        prop_assert_eq!(long.total(), short.total() + 32 * 9 + 1);
    }

    #[test]
    fn shares_add_up(
        model in any_model(), prompt in 1..100_u64, generated in 1..100_u64, custom in any::<bool>(),
        blas in any::<bool>(), min_columns in 1..64_u64,
    ) {
        let criteria = Criteria { blas, custom, min_columns, ..Criteria::default() };
        let it = shares(&model, Projections::Separate, &run(prompt, generated, 1), FileType::Q4_0, &criteria);
        prop_assert!((it.blas + it.custom + it.default - 1.0).abs() < 1e-9);
        let rejected = it.dimension_only + it.contiguity_only + it.dimension_and_contiguity;
        prop_assert!(!blas || (it.blas + rejected - 1.0).abs() < 1e-9);
    }
}

/// Thesis, Sec. 5.1: products with two columns, and with the prompt's, are 3 % each.
#[test]
fn published_classes_of_columns() {
    for (name, projections) in [("llama-2-7b", Projections::Separate), ("phi-3-mini", Projections::Merged)] {
        let study = CensusStudy { model: model(name), projections, ..CensusStudy::default() };
        let answer = study.answer().unwrap();
        for share in [answer.warm_up_share, answer.prompt_share] {
            assert_eq!(format!("{:.0}", 100.0 * share), "3", "{name}");
        }
    }
}

#[test]
fn blas_gets_long_prompts_only() {
    let product = |dst1| Product {
        shape: Shape { shared: 4096, dst0: 4096, dst1 },
        format: GgmlType::Q4_0,
        first_contiguous: true,
        second_contiguous: true,
        indexed: false,
    };
    let criteria = Criteria { custom: true, ..Criteria::default() };
    assert_eq!(dispatch(&product(31), &criteria), Path::Custom);
    assert_eq!(dispatch(&product(32), &criteria), Path::Blas);
    assert_eq!(dispatch(&Product { first_contiguous: false, ..product(32) }, &criteria), Path::Default);
    assert_eq!(dispatch(&Product { indexed: true, ..product(32) }, &criteria), Path::Default);
    assert_eq!(dispatch(&Product { format: GgmlType::Q8_0, ..product(6) }, &criteria), Path::Default);
    let odd = Product { shape: Shape { shared: 4096, dst0: 33, dst1: 1 }, ..product(1) };
    assert_eq!(dispatch(&odd, &criteria), Path::Default, "the two-row kernel needs even rows");
}

/// A prompt of 1025 tokens is two full graphs and one of a token, the only one with outputs.
#[test]
fn a_long_prompt_is_counted_graph_by_graph() {
    let study = CensusStudy {
        prompt_tokens: NonZeroU64::new(1025).unwrap(),
        generated_tokens: NonZeroU64::MIN,
        repetitions: NonZeroU32::MIN,
        warm_up_tokens: 0,
        ..CensusStudy::default()
    };
    let census = Census::of(&study.model, study.projections, &study.run());
    let count = |shared, dst0, dst1| census.count(Shape { shared, dst0, dst1 });
    // Q, K, V and output of 32 layers; gate and up of 31, as nothing follows the last attention.
    assert_eq!((count(4096, 4096, 512), count(4096, 11008, 512)), (2 * 4 * 32, 2 * 2 * 31));
    assert_eq!((count(4096, 4096, 1), count(4096, 11008, 1)), (4 * 32, 2 * 32));
    assert_eq!((count(4096, 32000, 512), count(4096, 32000, 1)), (0, 1));
    // Each attends to the cells in use by its end: 512, 1024, and 1025 rounded up.
    assert_eq!([count(128, 512, 512), count(128, 1024, 512), count(128, 1056, 1)], [32; 3]);
    assert_eq!(census.total(), 2 * (9 * 31 + 6) + 9 * 32 + 1);
    let one = CensusStudy { ubatch_tokens: NonZeroU64::new(2048).unwrap(), ..study };
    let whole = Census::of(&one.model, one.projections, &one.run());
    assert_eq!((whole.total(), whole.with_columns(1025)), (9 * 32 + 1, 9 * 31 + 6));
    let conversation = Conversation {
        warm_up_tokens: 0,
        prompt_tokens: 1025,
        generated_tokens: 1,
        batch: 1,
        cells: u64::MAX,
        kv_padding: study.kv_padding,
        ubatch_tokens: study.ubatch_tokens,
    };
    let graphs = conversation.prompt();
    let products: u64 =
        graphs.iter().map(|it| it.count * if it.columns.outputs > 0 { 9 * 32 + 1 } else { 9 * 31 + 6 }).sum();
    assert_eq!(census.total(), products, "those of the conversation's graphs");
}

#[test]
fn a_run_beyond_counting_is_refused() {
    let study = CensusStudy { generated_tokens: NonZeroU64::MAX, ..CensusStudy::default() };
    assert!(study.answer().unwrap_err().to_string().contains("together they may be 2^24"));
    let (most, one) = (NonZeroU64::new((1 << 24) - 64).unwrap(), NonZeroU64::MIN);
    let single =
        CensusStudy { prompt_tokens: most, kv_padding: one, ubatch_tokens: one, ..CensusStudy::default() };
    assert!(single.answer().unwrap_err().to_string().contains("raise `kv_padding`"));
}

#[test]
fn what_ggml_has_no_code_for_is_refused() {
    let error = |study: CensusStudy| study.answer().unwrap_err().to_string();
    let base = CensusStudy::default();
    let odd = Model::of(Llm { hidden_size: 896, ..*base.model }).unwrap();
    assert_eq!(
        error(CensusStudy { model: odd, format: FileType::Q4KM, ..base }),
        "llama.cpp stores `q` of this model as q5_0 in a file of q4_k_m, since its rows of 896 are no whole blocks of 256, \
         and there is no code for that here; give `format` = \"q4_0\" or \"q8_0\""
    );
    let experts = Some(Experts { count: 8, active: 2 });
    let mixtral = Model::of(Llm { experts, ..*base.model }).unwrap();
    assert_eq!(
        error(CensusStudy { model: mixtral, ..base }),
        "the model has 8 experts, 2 of which a token passes through; ggml multiplies with them by an index \
         (`MUL_MAT_ID`), which is not counted here; use a model without experts"
    );
}
