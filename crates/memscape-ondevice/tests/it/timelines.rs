//! Do timelines say what the answers do?

use std::num::NonZeroU64;

use memscape_dram::{Dram, MEMORIES};
use memscape_ondevice::cost::gemv::delays;
use memscape_ondevice::cost::threads::{Task, busiest};
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::layout::Placement;
use memscape_ondevice::{GemvStudy, PrefillStudy};
use memscape_study::{CostEngine, Perfetto, Study, Timeline};
use memscape_units::Picoseconds;
use proptest::prelude::*;

use crate::agreement::{memory, prefill};

fn timeline<S: Study>(study: &S) -> Timeline {
    let mut timeline = Timeline::default();
    (S::TIMELINE.unwrap())(study, &mut timeline).unwrap();
    timeline
}

/// No track does two things at once.
fn check_tracks(timeline: &Timeline) -> Result<(), TestCaseError> {
    let mut spans: Vec<_> = timeline.spans.iter().collect();
    spans.sort_by_key(|it| (it.start, it.end));
    let mut busy_until = vec![Picoseconds::ZERO; timeline.tracks.len()];
    for span in spans {
        let until = &mut busy_until[span.track.index()];
        let track = &timeline.tracks[span.track.index()].name;
        prop_assert!(*until <= span.start, "{track} is busy until {until}: {span:?}");
        prop_assert!(span.start <= span.end);
        *until = span.end;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn threads_do_one_thing_at_a_time_until_the_first_token(study in prefill()) {
        prop_assume!(study.answer().is_ok());
        let timeline = timeline(&study);
        check_tracks(&timeline)?;
        let answer = study.answer().unwrap();
        prop_assert_eq!(timeline.end().as_seconds().to_bits(), answer.ttft_s.to_bits());
        let copies = busiest(&timeline, Task::COPY).as_seconds();
        prop_assert!(answer.copy_s * (1.0 - 1e-9) <= copies, "contention only adds: {} {copies}", answer.copy_s);
    }

    #[test]
    fn a_gemv_ends_with_its_last_command(
        memory in memory(),
        (m, k) in (1_u64..3000, 1_u64..600),
        refresh in any::<bool>(),
        placement in prop::sample::select(vec![Placement::ColumnBursts, Placement::RowBursts]),
    ) {
        let memory = Dram { channels: 2.try_into().unwrap(), ..memory };
        // A precharge that is over before the next command could come is drawn shorter.
        prop_assume!(memory.check().is_ok() && memory.tck() <= memory.trp_ab_ns);
        let (m, k) = (NonZeroU64::new(m), NonZeroU64::new(k));
        let engine = CostEngine::Events;
        let study = GemvStudy { m, k, memory, refresh, placement, engine, ..GemvStudy::default() };
        let shown = timeline(&study).end().as_ns();
        let answer = study.answer().unwrap();
        if refresh {
            // Refreshes are counted in the mean, and fall on changes of rows, or not at all.
            let one = memory.trfc_ab_ns.as_f64() + delays(&memory).row_open().as_ns();
            let counted = answer.refresh_ns;
            prop_assert!((shown - answer.time_ns).abs() < 0.5 * counted + one, "{shown} {answer:?}");
        } else {
            prop_assert_eq!(shown.to_bits(), answer.time_ns.to_bits());
        }
    }
}

#[test]
fn the_commands_of_a_gemv_are_drawn_bank_by_bank() {
    for memory in ["lpddr5x-8533", "hbm2-2000"] {
        let (m, k) = (NonZeroU64::new(4096), NonZeroU64::new(512));
        let study = GemvStudy { m, k, memory: *MEMORIES.get(memory), ..GemvStudy::default() };
        let timeline = timeline(&study);
        check_tracks(&timeline).unwrap();
        let macs = timeline.spans.iter().filter(|it| it.name == "MAC").count() as u64;
        let answer = study.answer().unwrap();
        assert_eq!(macs, answer.macs + answer.drains);
    }
}

#[test]
fn a_prefill_is_a_trace_that_others_read() {
    let study = PrefillStudy { layers: NonZeroU64::new(2), ..PrefillStudy::default() };
    let timeline = timeline(&study);
    let mut perfetto = Perfetto::new(Vec::new());
    timeline.replay(&mut perfetto);
    let trace: serde_json::Value = serde_json::from_slice(&perfetto.finish().unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let spans: Vec<_> = events.iter().filter(|it| it["ph"] == "X").collect();
    assert_eq!(spans.len(), timeline.spans.len());
    let named = |name: &str| spans.iter().filter(|it| it["name"] == name).count();
    assert_eq!((named("preload"), named("copy beside q"), named("GEMM q")), (2, 4, 8));
    let tracks: Vec<_> = timeline.tracks.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(tracks[..3], ["thread 0, copies", "thread 1, copies", "thread 2, GEMM"]);
}

#[test]
fn what_has_no_events_says_so() {
    let study = PrefillStudy { scheme: Scheme::NonCacheableGemm, ..PrefillStudy::default() };
    let error = (PrefillStudy::TIMELINE.unwrap())(&study, &mut Timeline::default()).unwrap_err();
    assert!(error.to_string().contains("`scheme` = \"non-cacheable-gemm\" has no events"));
}
