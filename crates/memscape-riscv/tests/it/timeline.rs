//! What happens in a run, and that it is what the answer adds up.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_riscv::InferenceStudy;
use memscape_riscv::cost::timeline::SHOWN_STEPS;
use memscape_riscv::placement::Policy;
use memscape_study::{Study, Timeline};
use memscape_units::Picoseconds;
use memscape_workload::{Model, Projections};
use proptest::prelude::*;

fn timeline(study: &InferenceStudy) -> Timeline {
    let mut timeline = Timeline::default();
    let record = InferenceStudy::TIMELINE.expect("inference has a timeline");
    record(study, &mut timeline).unwrap();
    timeline
}

fn tokens(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).unwrap()
}

/// On memory without end: a cache of many cells is large.
fn roomy(mut study: InferenceStudy) -> InferenceStudy {
    study.memory.rows = NonZeroU32::new(1 << 26).unwrap();
    study
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Spans of a track do not overlap, each level of detail covers what it details, and
    /// the end is when warm-up, prompt and reply are over.
    #[test]
    fn a_timeline_ends_with_the_run(
        model in prop::sample::select(Model::all().collect::<Vec<_>>()), merged in any::<bool>(),
        threads in 1..65_u32, policy in prop::sample::select(vec![Policy::Base, Policy::Interleave]),
        prompt in 1..300_u64, generated in 1..600_u64, warm_up in 0..4_u64, batch in 1..4_u32, ubatch in 1..400_u64,
    ) {
        let study = roomy(InferenceStudy {
            model,
            projections: if merged { Projections::Merged } else { Projections::Separate },
            threads: NonZeroU32::new(threads).unwrap(),
            policy,
            prompt_tokens: tokens(prompt),
            generated_tokens: tokens(generated),
            warm_up_tokens: warm_up,
            batch: NonZeroU32::new(batch).unwrap(),
            ubatch_tokens: tokens(ubatch),
            context_cells: Some(tokens(1 << 20)),
            ..InferenceStudy::default()
        });
        let timeline = timeline(&study);
        let names: Vec<_> = timeline.tracks.iter().map(|it| it.name.as_str()).collect();
        prop_assert_eq!(&names, &["graphs", "layers", "operations", "what for"]);
        let mut ends = [Picoseconds::ZERO; 4];
        for it in &timeline.spans {
            prop_assert!(it.start >= ends[it.track.index()], "{} begins too early", it.name);
            prop_assert!(it.start < it.end);
            ends[it.track.index()] = it.end;
        }
        // Without a gap: graphs one after the other, and causes in each.
        prop_assert_eq!((ends[0], ends[3]), (timeline.end(), timeline.end()));
        let busy = |track: usize| -> Picoseconds {
            timeline.spans.iter().filter(|it| it.track.index() == track).map(|it| it.end - it.start).sum()
        };
        prop_assert_eq!((busy(0), busy(3)), (timeline.end(), timeline.end()));

        let answer = study.answer().unwrap();
        let active = f64::from(threads.min(64));
        let run_ns = answer.task_clock_ms * 1e6 / active;
        prop_assert!((timeline.end().as_ns() / run_ns - 1.0).abs() < 1e-9);
        let prompt_span = timeline.spans.iter().find(|it| it.name == "prompt").unwrap();
        let prompt_s = (prompt_span.end - prompt_span.start).as_ns() * 1e-9;
        prop_assert!((prompt_s / answer.headline.ttft_s - 1.0).abs() < 1e-9);

        // Bounded: three graphs in detail, the others by cause.
        let layers = usize::try_from(model.layers).unwrap();
        prop_assert!(timeline.spans.len() <= 3 * (layers + 2) * 200 + 6 * usize::try_from(SHOWN_STEPS + 1).unwrap());
    }
}

#[test]
fn a_long_reply_is_told_in_one_span() {
    let study = roomy(InferenceStudy {
        generated_tokens: tokens(1 << 20),
        context_cells: Some(tokens(1 << 21)),
        ..InferenceStudy::default()
    });
    let timeline = timeline(&study);
    let last = timeline.spans.iter().rfind(|it| it.category == "graph").unwrap();
    assert_eq!(last.name, format!("steps {} to {}", SHOWN_STEPS + 1, (1 << 20) - 1));
    assert_eq!(last.details[0], ("graphs", (1 << 20) - 1 - SHOWN_STEPS));
}

#[test]
fn operations_are_named_and_say_their_shapes() {
    let timeline = timeline(&InferenceStudy::default());
    assert_eq!(timeline.tracks[0].group, "32 threads");
    let graphs: Vec<_> = timeline.spans.iter().filter(|it| it.category == "graph").take(4).collect();
    let names: Vec<_> = graphs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["warm-up", "prompt", "step 1", "step 2"]);
    let within = |it: &&memscape_study::TimelineSpan| graphs[1].start <= it.start && it.end <= graphs[1].end;
    let downs: Vec<_> = timeline.spans.iter().filter(within).filter(|it| it.name == "down").collect();
    assert_eq!(downs.len(), 32);
    assert_eq!(downs[0].details, [("columns", 10), ("rows", 4096), ("shared", 11008)]);
    assert_eq!(downs[31].details[0], ("columns", 1), "the last layer goes on with the last row");
}
