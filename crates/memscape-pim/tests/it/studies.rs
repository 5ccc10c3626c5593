//! Do the studies' columns hold together, and does what happens end with the time
//! that they answer?

use std::num::{NonZeroU32, NonZeroU64};

use memscape_dram::{Dram, MEMORIES};
use memscape_pim::hardware::{CALIBRATION, CrossLane, DEFAULT_MACHINE, MACHINES, RowAfterWrite};
use memscape_pim::mapping::placement::{CrDegree, RegisterRule, TilePolicy};
use memscape_pim::{Attention, GemvStudy, InferenceStudy, LmHead, Placement, RegretStudy, SYSTEM};
use memscape_study::random::Key;
use memscape_study::{
    AnyCatalog, BoundBy, CostEngine, FreeParameter, Limited, Pass, Study, StudyError, StudyVisitor, System,
    Timeline, sums_off,
};
use memscape_units::{MtPerS, Nanoseconds, Picoseconds, Tops};
use memscape_workload::{Experts, Llm, Matrix, Model, Projections};
use serde_json::Value;

fn count(value: u64) -> NonZeroU32 {
    NonZeroU32::new(value.try_into().unwrap()).unwrap()
}

/// Random choices by name.
struct Choices {
    key: Key,
    next: u64,
}

impl Choices {
    fn new(seed: u64) -> Self {
        Self { key: Key::new(seed), next: 0 }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next += 1;
        self.key.bits(self.next) % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
}

fn random_gemv(seed: u64) -> GemvStudy {
    let mut any = Choices::new(seed);
    let mut study = GemvStudy {
        model: Model::named(any.one(&["opt-125m", "opt-350m", "opt-1.3b", "llama-3.2-1b"])).unwrap(),
        gemv: any.one(&[Matrix::Qkv, Matrix::Out, Matrix::K]),
        format: any.one(&["int8", "int4", "fp16", "mx-int8-b32", "mx-int4-b64"]).parse().unwrap(),
        tile: any.one(&[TilePolicy::Auto, TilePolicy::Auto, TilePolicy::Fixed(count(16))]),
        cr_degree: any.one(&[
            CrDegree::Auto,
            CrDegree::Auto,
            CrDegree::Auto,
            CrDegree::Fixed(NonZeroU32::MIN),
        ]),
        split_k: any.one(&[count(1), count(2), count(8)]),
        placement: any.one(&[
            Placement::Pimnast,
            Placement::Pimnast,
            Placement::ColumnMajor,
            Placement::FixedTile,
        ]),
        charge_reduction: any.flag(),
        refresh: any.flag(),
        engine: any.one(&[CostEngine::Closed, CostEngine::Events]),
        ..GemvStudy::default()
    };
    study.pim.registers = count(10 + any.below(30));
    study.pim.swap_commands = u32::try_from(any.below(3)).unwrap();
    study.pim.command_ratio = any.one(&[1.0, 2.0, 3.3]);
    study.pim.row_after_write = any.one(&[RowAfterWrite::InOrder, RowAfterWrite::Overlapped]);
    study.pim.cross_lane = any.one(&[CrossLane::LaneShift, CrossLane::AnyShift, CrossLane::Tree]);
    study.memory.tras_ns = Nanoseconds::new(any.one(&[42.0, 60.0, 300.0])).unwrap();
    study
}

fn random_inference(seed: u64) -> InferenceStudy {
    let mut any = Choices::new(seed);
    InferenceStudy {
        model: Model::named(any.one(&["opt-125m", "opt-6.7b", "llama-2-70b", "gemma-3-1b"])).unwrap(),
        format: any.one(&["int8", "int4", "fp16", "mx-int8-b32"]).parse().unwrap(),
        prompt_tokens: NonZeroU64::new(1 + any.below(4000)).unwrap(),
        generated_tokens: NonZeroU64::new(1 + any.below(1000)).unwrap(),
        batch: count(1 + any.below(9)),
        kv_bits: count(any.one(&[4, 8, 16])),
        attention: any.one(&[Attention::Fused, Attention::Unfused]),
        lm_head: any.one(&[LmHead::Soc, LmHead::Pim]),
        projections: any.one(&[Projections::Merged, Projections::Separate]),
        split_k: count(any.one(&[1, 2, 4])),
        charge_reduction: any.flag(),
        refresh: any.flag(),
        ..InferenceStudy::default()
    }
}

/// Checks `SUMS`; whether there was an answer.
fn check_sums<S: Study>(study: &S) -> bool {
    let Ok(answer) = study.answer() else { return false };
    let answer = serde_json::to_value(answer).unwrap();
    let column = |name: &str| answer[name].as_f64().unwrap_or_else(|| panic!("no column {name}"));
    let off = sums_off(S::SUMS, 1e-9, |it| Some(column(it)));
    assert!(off.is_empty(), "{off:?}: {answer}");
    true
}

#[test]
fn wholes_are_the_sums_of_their_parts() {
    let answered = (0..300).filter(|it| check_sums(&random_gemv(*it))).count();
    assert!(answered > 150, "only {answered} of 300");
    let answered = (0..300).filter(|it| check_sums(&random_inference(*it))).count();
    assert!(answered > 150, "only {answered} of 300");
}

fn timeline(study: &GemvStudy) -> Result<Timeline, StudyError> {
    let mut timeline = Timeline::default();
    GemvStudy::TIMELINE.expect("pim.gemv has one")(study, &mut timeline)?;
    Ok(timeline)
}

#[test]
fn a_timeline_ends_with_the_time_that_is_answered() {
    let mut told = 0;
    for seed in 0..150 {
        let mut study = GemvStudy { engine: CostEngine::Events, refresh: false, ..random_gemv(seed) };
        study.model = Model::named("opt-125m").unwrap();
        let (Ok(answer), Ok(timeline)) = (study.answer(), timeline(&study)) else { continue };
        told += 1;
        // The processor adds partial sums after the last command.
        let on_pim = answer.time_ns - answer.soc_reduction_ns;
        assert!((timeline.end().as_ns() - on_pim).abs() < 1e-6, "{study:?}");

        let mut free = vec![Picoseconds::ZERO; timeline.tracks.len()];
        for span in &timeline.spans {
            let free = &mut free[span.track.index()];
            assert!(*free <= span.start && span.start <= span.end, "{span:?} of {study:?}");
            *free = span.end;
        }
    }
    assert!(told > 50, "only {told} of 150");
}

/// A refresh that falls on a change of rows hides it: on the walked stream it may
/// cost less than by itself, or some waiting more. And it falls as a whole or not at all.
#[test]
fn refresh_costs_what_the_stream_shows() {
    let mut told = 0;
    for seed in 0..150 {
        let study = GemvStudy { refresh: true, ..random_gemv(seed) };
        let (Ok(answer), Ok(timeline)) = (study.answer(), timeline(&study)) else { continue };
        told += 1;
        let (said, shown) = (answer.time_ns - answer.soc_reduction_ns, timeline.end().as_ns());
        let one = study.memory.trfc_ab_ns.as_f64() + study.machine().pim_delays().row_open().as_ns();
        assert!((shown - said).abs() < 0.1 * said + one, "{shown} shown, {said} said: {study:?}");
    }
    assert!(told > 50, "only {told} of 150");
}

/// What does nothing but refresh has no answer, of a matrix or of a token.
#[test]
fn refreshes_leave_time_or_are_refused() {
    let slow = |rate: f64| {
        let mut gemv = GemvStudy { refresh: true, ..GemvStudy::default() };
        gemv.memory.data_rate_mt_s = MtPerS::new(rate).unwrap();
        let inference = InferenceStudy { memory: gemv.memory, refresh: true, ..InferenceStudy::default() };
        let engine = CostEngine::Events;
        let walked = GemvStudy { engine, ..gemv };
        [gemv.answer().map(drop), walked.answer().map(drop), inference.answer().map(drop)]
    };
    for rate in [1.0, 3.0, 5.0] {
        for it in slow(rate) {
            let found = it.unwrap_err().to_string();
            assert!(found.starts_with("in each `memory.trefi_ns` of "), "{rate}: {found}");
        }
    }
    assert!(slow(100.0).iter().all(Result::is_ok));
}

/// What refresh takes of an interval for PIM, which opens its rows again, and for the processor: the
/// same share of a short product and of a long one, and of a token's.
#[test]
fn refresh_strikes_both_sides_in_the_mean() {
    let of = |study: &GemvStudy, refresh| GemvStudy { refresh, ..*study }.answer().unwrap();
    let small = GemvStudy { m: NonZeroU64::new(768), k: NonZeroU64::new(768), ..GemvStudy::default() };
    let memory = small.memory;
    let (interval, refresh) = (memory.trefi_ns.as_f64(), memory.trfc_ab_ns.as_f64());
    let on_pim = refresh + small.machine().pim_delays().row_open().as_ns();
    let by_hand = (1.0 - on_pim / interval) / (1.0 - refresh / interval);
    for study in [small, GemvStudy::default()] {
        let ratio = of(&study, true).speedup / of(&study, false).speedup;
        assert!((ratio - by_hand).abs() < 1e-5 && by_hand < 1.0, "{ratio} {by_hand}");
    }
    let inference = InferenceStudy { refresh: true, ..InferenceStudy::default() };
    let matrices = inference.model.layer_gemvs(inference.projections);
    let layer: f64 = matrices.map(|it| inference.gemv(it.0).answer().unwrap().time_ns).sum();
    let token = inference.answer().unwrap().pim_gemv_ns.unwrap();
    assert!((token / (f64::from(inference.model.layers) * layer) - 1.0).abs() < 1e-9);
}

/// A bank in each bank group, and rows of 16 bursts: two groups take turns while the others open rows.
#[test]
fn a_processor_beside_few_banks_reads_at_the_peak() {
    let (m, k) = (NonZeroU64::new(4096), NonZeroU64::new(4096));
    let memory = Dram { banks_per_channel: count(4), row_bytes: count(512), ..GemvStudy::default().memory };
    let soc_time_ns = GemvStudy { m, k, memory, ..GemvStudy::default() }.answer().unwrap().soc_time_ns;
    assert!((soc_time_ns / (4096.0 * 4096.0 / 120.0) - 1.0).abs() < 1e-9, "{soc_time_ns}");
}

/// A spill writes a burst of 32 bytes, whether it carries the sums of one row or of sixteen.
#[test]
fn the_processor_reads_the_words_that_spills_write() {
    let fixed = |tile| {
        let tile = TilePolicy::Fixed(count(tile));
        GemvStudy { placement: Placement::FixedTile, tile, ..GemvStudy::default() }
            .answer()
            .unwrap()
            .soc_reduction_ns
    };
    // 12288 rows of 4096 columns: 256 / tile columns to a tile, a burst for each tile, 120 GB/s.
    let bursts = 12_288.0 * 16.0;
    for tile in [1, 4, 16] {
        assert!((fixed(tile) - bursts * 32.0 / 120.0).abs() < 1.0, "{tile}: {}", fixed(tile));
    }
    let split = |split_k, charge_reduction| GemvStudy {
        model: Model::named("opt-125m").unwrap(),
        gemv: Matrix::Out,
        placement: Placement::Pimnast,
        split_k: count(split_k),
        charge_reduction,
        ..GemvStudy::default()
    };
    // Two parts of 768 rows, four to a word; eight parts in full words.
    for (split_k, tile, words) in [(2, 4, 2 * 768 / 4), (8, 16, 8 * 768 / 16)] {
        let [with, without] = [true, false].map(|it| split(split_k, it).answer().unwrap());
        assert_eq!(with.m_tile, tile);
        let bytes = f64::from(words) * 32.0;
        assert!((with.soc_reduction_ns - bytes / 120.0).abs() < 1e-3, "{}", with.soc_reduction_ns);
        let energy = GemvStudy::default().memory.energy.unwrap();
        let io = with.energy.energy_io_j.unwrap() - without.energy.energy_io_j.unwrap();
        let by_hand = bytes * 8.0 * energy.io_pj_per_bit.value * 1e-12;
        assert!((io / by_hand - 1.0).abs() < 1e-9, "{io} {by_hand}");
    }
}

/// The registers hold the 256 inputs of a column of tiles, and an eighth of OPT-125M's.
#[test]
fn inputs_that_registers_hold_are_sent_once() {
    let fixed = GemvStudy { placement: Placement::FixedTile, ..GemvStudy::default() };
    let slot = fixed.machine().pim_delays().slot.as_ns();
    let answer = fixed.answer().unwrap();
    assert!(answer.row_blocks_per_bank > answer.cr_degree_used);
    // 16 columns of tiles, eight registers each.
    assert!((answer.input_vector_ns - 16.0 * 8.0 * slot).abs() < 1e-6, "{}", answer.input_vector_ns);
    let split = GemvStudy {
        model: Model::named("opt-125m").unwrap(),
        placement: Placement::Pimnast,
        split_k: count(8),
        ..fixed
    };
    let answer = split.answer().unwrap();
    assert_eq!((answer.row_blocks_per_bank, answer.cr_degree_used), (9, 4));
    assert!((answer.input_vector_ns - 3.0 * slot).abs() < 1e-6, "{}", answer.input_vector_ns);
    for study in [fixed, split] {
        let events = GemvStudy { engine: CostEngine::Events, ..study };
        assert_eq!(study.answer().unwrap(), events.answer().unwrap());
    }
}

/// Where the processor does not reach the rate of a burst, it is that much slower.
#[test]
fn no_speedup_is_above_its_rooflines() {
    let printed = GemvStudy::default().answer().unwrap();
    assert!((printed.roofline_speedup - 6.9997).abs() < 1e-4, "{}", printed.roofline_speedup);
    let one = NonZeroU32::MIN;
    let single = Dram { banks_per_channel: one, bank_groups: one, ..GemvStudy::default().memory };
    let fast = Dram { data_rate_mt_s: MtPerS::new(1e6).unwrap(), ..GemvStudy::default().memory };
    for memory in [single, fast] {
        let study = GemvStudy { memory, ..GemvStudy::default() };
        let it = study.answer().unwrap();
        assert!(it.speedup <= it.roofline_speedup && it.roofline_speedup <= it.peak_speedup, "{it:?}");
        // By hand: the processor's time for a burst of each channel, and a slot for one of all banks.
        let bursts = it.weight_bytes / f64::from(memory.column_bytes() * memory.channels.get());
        let slot = study.machine().pim_delays().slot.as_ns();
        let by_hand = it.soc_time_ns / bursts * f64::from(memory.banks_per_channel.get()) / slot;
        assert!((it.peak_speedup / by_hand - 1.0).abs() < 1e-9, "{} {by_hand}", it.peak_speedup);
    }
}

#[test]
fn a_model_that_does_not_fit_is_refused() {
    // Tiles that spread evenly take no more than the weights.
    let model = |name: &str, format: &str| {
        let study = InferenceStudy {
            model: Model::named(name).unwrap(),
            format: format.parse().unwrap(),
            placement: Placement::Pimnast,
            ..InferenceStudy::default()
        };
        study.answer().map(|it| it.headline.memory_bytes)
    };
    assert_eq!(
        model("llama-2-70b", "fp16").unwrap_err().to_string(),
        "the model takes 129.027 GiB of memory, 320 MiB of it for keys and values and 240 MiB for inputs and results of the largest product, but `memory` has 16 GiB: 113.027 GiB are missing; use fewer bits, tokens or sequences, or more `memory.rows`, `memory.banks_per_channel` or `memory.channels`"
    );
    assert!(model("opt-30b", "int8").is_err());
    assert!(model("opt-30b", "int4").is_ok_and(|it| it < 16 << 30));
}

/// A PIM command reaches one rank; a processor reads all of them, and turns from one to another.
#[test]
fn a_processor_alone_reads_several_ranks() {
    let of = |system: &str, ranks| {
        let system = serde_json::from_value(system.into()).unwrap();
        let mut study = InferenceStudy { system, ..InferenceStudy::default() };
        study.memory.ranks = count(ranks);
        study.answer()
    };
    let told = of("pim", 2).unwrap_err().to_string();
    assert!(told.starts_with("`memory.ranks` is 2"), "{told}");
    let [one, two] = [1, 2].map(|ranks| of("soc", ranks).unwrap());
    assert!(one.token_speedup.is_some() && two.token_speedup.is_none());
    assert_eq!(one.headline.memory_bytes, two.headline.memory_bytes);
    assert!(one.soc_token_ns <= two.soc_token_ns && two.soc_token_ns < 1.05 * one.soc_token_ns, "{two:?}");
}

#[test]
fn a_cr_degree_too_high_is_told_what_is_allowed() {
    let of = |cr_degree| {
        let cr_degree = serde_json::from_value(cr_degree).unwrap();
        GemvStudy { cr_degree, ..GemvStudy::default() }.answer()
    };
    let error = of(serde_json::json!(4096)).unwrap_err().to_string();
    let (_, told) = error.split_once("use at most ").unwrap();
    let (most, other) = told.split_once(", or `").unwrap();
    assert!(of(most.parse::<u64>().unwrap().into()).is_ok(), "{error}");
    assert!(of(other.trim_end_matches('`').into()).is_ok(), "{error}");
}

/// Best takes any tile, of which the lowest has the most row-blocks, if registers hold their sums.
#[test]
fn the_best_tile_is_told_the_most_of_all() {
    let of = |cr_degree: u64| {
        let cr_degree = serde_json::from_value(cr_degree.into()).unwrap();
        GemvStudy { cr_degree, placement: Placement::Best, ..GemvStudy::default() }.answer()
    };
    let error = of(100).unwrap_err().to_string();
    let (_, told) = error.split_once("use at most ").unwrap();
    let most: u64 = told.split_once(',').unwrap().0.parse().unwrap();
    assert!(of(most).is_ok() && of(most + 1).is_err(), "{error}");
}

#[test]
fn sums_hold_what_they_add_up() {
    let of = |format: &str, bits: u64| {
        let mut study = GemvStudy { format: format.parse().unwrap(), ..GemvStudy::default() };
        study.pim.sum_bits = count(bits);
        study.answer().map(|it| it.time_ns)
    };
    let told = of("fp16", 8).unwrap_err().to_string();
    assert!(told.starts_with("`pim.sum_bits` is 8, too narrow to add up elements of 16 bit"), "{told}");
    assert!(of("fp16", 16).is_ok() && of("int8", 8).is_ok());
}

#[test]
fn what_a_unit_has_no_place_for_is_refused() {
    let told = |change: fn(&mut GemvStudy)| {
        let mut study = GemvStudy::default();
        change(&mut study);
        study.answer().unwrap_err().to_string()
    };
    let register = told(|it| it.pim.register_bits = count(8));
    assert!(register.starts_with("`pim.register_bits` is 8, too narrow"), "{register}");
    let scales = told(|it| {
        (it.format, it.register_rule) = ("mx-int8-b32".parse().unwrap(), RegisterRule::Printed);
    });
    assert!(scales.contains("has no place for the second set of sums"), "{scales}");
    let burst = told(|it| {
        it.format = "fp16".parse().unwrap();
        (it.memory.bus_bits, it.memory.burst_length, it.memory.column_bytes) = (count(8), count(1), None);
    });
    assert!(burst.starts_with("a burst of `memory` has 8 bit, too few"), "{burst}");
}

/// All experts lie in memory, whichever a token meets; more of them take longer.
#[test]
fn memory_holds_experts_that_no_token_meets() {
    let of = |active: u32, placement| {
        let mut study = InferenceStudy {
            model: Model::named("gpt-oss-20b").unwrap(),
            format: "int4".parse().unwrap(),
            placement,
            ..InferenceStudy::default()
        };
        study.memory.rows = count(10_000_000);
        let llm = Llm { experts: study.model.experts.map(|it| Experts { active, ..it }), ..*study.model };
        study.model = Model::of(llm).unwrap();
        // Of a prompt, each expert multiplies with the tokens that meet it: what stays is what a step finds.
        (study.step_on_pim().unwrap().memory, study.answer().unwrap().gemv_ns)
    };
    for placement in [Placement::Best, Placement::ColumnMajor] {
        let [few, all] = [of(4, placement), of(32, placement)];
        assert_eq!(few.0, all.0, "{placement:?}");
        assert!(few.1 < all.1, "{placement:?}");
    }
}

/// A part of a unit that the registers have just room for may end in rows that the matrix has not.
#[test]
fn more_registers_do_not_slow_the_column_major_order() {
    let of = |m: u64, tile: TilePolicy, registers: u32| {
        let mut study =
            GemvStudy { m: NonZeroU64::new(m), k: NonZeroU64::new(4096), tile, ..GemvStudy::default() };
        study.placement = Placement::ColumnMajor;
        (study.pim.registers, study.pim.input_registers) =
            (NonZeroU32::new(registers).unwrap(), NonZeroU32::new(4).unwrap());
        study.answer()
    };
    for m in [1, 33, 129, 257, 4096] {
        let times = (6..40).filter_map(|it| of(m, TilePolicy::Auto, it).ok()).map(|it| it.time_ns);
        let times: Vec<f64> = times.collect();
        assert!(times.len() > 20 && times.is_sorted_by(|a, b| a >= b), "{m}: {times:?}");
    }
    let [low, tall] =
        [64, 128].map(|it| of(129, TilePolicy::Fixed(NonZeroU32::new(it).unwrap()), 12).unwrap());
    assert!(low.time_ns < tall.time_ns);
    assert_eq!(of(129, TilePolicy::Auto, 12).unwrap().m_tile, 64);
}

/// One row-block after the other fills more rows of a bank than several that share them.
#[test]
fn a_bank_that_holds_only_higher_degrees_gets_one() {
    let of = |cr_degree| {
        let mut study =
            GemvStudy { m: NonZeroU64::new(520), k: NonZeroU64::new(1024), ..GemvStudy::default() };
        (study.placement, study.cr_degree) = (Placement::Best, cr_degree);
        (study.memory.rows, study.pim.registers) =
            (NonZeroU32::new(4).unwrap(), NonZeroU32::new(24).unwrap());
        study.answer()
    };
    let told = of(CrDegree::Fixed(NonZeroU32::MIN)).unwrap_err().to_string();
    assert!(told.contains("rows of the fullest bank"), "{told}");
    of(CrDegree::Auto).unwrap();
}

/// Seven switches between eight bursts of inputs, each of which a row is opened in as well.
#[test]
fn waiting_for_the_bus_is_not_opening_rows() {
    let of = |turnaround: f64| {
        let mut study = GemvStudy {
            model: Model::named("llama-3.2-1b").unwrap(),
            gemv: Matrix::GateUp,
            ..GemvStudy::default()
        };
        study.pim.host_turnaround_ns = Nanoseconds::new(turnaround).unwrap();
        study.answer().unwrap()
    };
    let (none, slow) = (of(0.0), of(2000.0));
    assert!(slow.turnaround_ns - none.turnaround_ns > 7.0 * 2000.0 * 0.99, "{}", slow.turnaround_ns);
    assert!((slow.row_open_ns - none.row_open_ns).abs() < 0.05 * none.row_open_ns, "{}", slow.row_open_ns);
    let mut token =
        InferenceStudy { model: Model::named("llama-3.2-1b").unwrap(), ..InferenceStudy::default() };
    token.lm_head = LmHead::Pim;
    token.pim.host_turnaround_ns = Nanoseconds::new(3000.0).unwrap();
    assert_eq!(token.answer().unwrap().headline.bound_by, BoundBy::CommandIssue);
}

#[test]
fn a_token_that_no_clock_follows_is_refused_as_such() {
    let mut study = InferenceStudy::default();
    study.memory.tccd_s_ns = Some(Nanoseconds::new(1e9).unwrap());
    let error = study.answer().unwrap_err().to_string();
    assert!(error.starts_with("a token takes longer than") && error.contains("`memory`"), "{error}");
}

#[test]
fn the_best_placement_is_never_slower_than_the_printed_one() {
    for name in ["opt-125m", "opt-1.3b", "opt-2.7b", "llama-3.2-1b"] {
        for gemv in [Matrix::Qkv, Matrix::Out] {
            let best = GemvStudy { model: Model::named(name).unwrap(), gemv, ..GemvStudy::default() };
            let printed = GemvStudy { placement: Placement::Pimnast, ..best };
            let ns = |study: &GemvStudy| study.answer().unwrap().time_ns;
            assert!(ns(&best) <= ns(&printed), "{name} {gemv:?}");
            for tile in 0..8 {
                let fixed = GemvStudy { tile: TilePolicy::Fixed(count(1 << tile)), ..best };
                assert!(fixed.answer().is_err() || ns(&best) <= ns(&fixed), "{name} {gemv:?} {tile}");
            }
        }
    }
}

/// Nor than any tile, with the words of partial sums that the processor reads.
#[test]
fn the_best_placement_knows_what_partial_sums_take() {
    let mut lower = 0;
    for (name, split) in [("opt-125m", 2), ("opt-125m", 4), ("opt-2.7b", 2), ("opt-2.7b", 8)] {
        for gemv in [Matrix::Qkv, Matrix::Out, Matrix::Fc1, Matrix::Fc2] {
            let mut best = GemvStudy {
                model: Model::named(name).unwrap(),
                gemv,
                split_k: count(split),
                charge_reduction: true,
                ..GemvStudy::default()
            };
            // Sums of low tiles cost nothing to fold.
            best.pim.cross_lane = CrossLane::Tree;
            let answer = best.answer().unwrap();
            for tile in 0..8 {
                let fixed = GemvStudy { tile: TilePolicy::Fixed(count(1 << tile)), ..best };
                let Ok(fixed) = fixed.answer() else { continue };
                assert!(answer.time_ns <= fixed.time_ns, "{name} {gemv:?} {split} {tile}");
                lower += u32::from(
                    fixed.time_ns - fixed.soc_reduction_ns < answer.time_ns - answer.soc_reduction_ns,
                );
            }
        }
    }
    assert!(lower > 0, "in some a lower tile is faster but for the sums");
}

#[test]
fn traces_hold_the_same_reads_and_writes() {
    let study = GemvStudy { model: Model::named("opt-125m").unwrap(), ..GemvStudy::default() };
    let lines = |name: &str| {
        let format = GemvStudy::TRACES.iter().find(|it| it.name == name).unwrap();
        let mut text = Vec::new();
        (format.write)(&study, &mut text).unwrap();
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let commands = lines("commands");
    assert_eq!(commands[0], "clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source");
    let accesses = commands.iter().filter(|it| it.contains(",MAC,") || it.contains(",SPILL,")).count();
    let banks = 16;
    assert_eq!((lines("ramulator").len(), lines("dramsim3").len()), (accesses * banks, accesses * banks));
}

#[test]
fn pim_takes_a_batch_one_after_the_other_and_the_processor_together() {
    let alone = InferenceStudy { lm_head: LmHead::Soc, ..random_inference(3) };
    let one = InferenceStudy { batch: count(1), ..alone }.answer().unwrap();
    let four = InferenceStudy { batch: count(4), ..alone }.answer().unwrap();
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-8 * b, "{a} is not {b}");
    near(four.pim_gemv_ns.unwrap(), 4.0 * one.pim_gemv_ns.unwrap());
    near(four.attention_ns, 4.0 * one.attention_ns);
    // Weights are read once, or multiplied four times.
    assert!(four.soc_gemv_ns <= 4.0 * one.soc_gemv_ns && four.head_ns < 4.0 * one.head_ns);
    assert!(four.headline.ttft_s <= 4.0 * one.headline.ttft_s);
    assert!(four.headline.memory_bytes > one.headline.memory_bytes);
}

/// Each case gains more from what is named than from the other, when it doubles.
#[test]
fn what_binds_a_token_is_what_most_of_its_time_waits_for() {
    let of = |text: &str| {
        let mut asked = serde_json::to_value(InferenceStudy::default()).unwrap();
        asked
            .as_object_mut()
            .unwrap()
            .extend(serde_json::from_str::<Value>(text).unwrap().as_object().unwrap().clone());
        serde_json::from_value::<InferenceStudy>(asked).unwrap()
    };
    let slow = |mut study: InferenceStudy, tops: f64| {
        study.soc.tops_8bit = Tops::new(tops).unwrap();
        study
    };
    let tops = InferenceStudy::default().soc.tops_8bit.as_f64();
    let soc = r#"{"system": "soc"}"#;
    let batch = r#"{"system": "soc", "batch": 200, "prompt_tokens": 16, "generated_tokens": 16}"#;
    let long = InferenceStudy {
        model: Model::named("opt-1.3b").unwrap(),
        ..of(r#"{"prompt_tokens": 2000, "generated_tokens": 16, "kv_bits": 16}"#)
    };
    for (study, tops, bound_by) in [
        (of(soc), tops, BoundBy::DramBandwidth),
        (of(soc), 0.2, BoundBy::Compute),
        (of(batch), tops, BoundBy::Compute),
        (long, tops, BoundBy::DramBandwidth),
        (long, 0.2, BoundBy::Host),
    ] {
        let study = slow(study, tops);
        let answer = study.answer().unwrap();
        assert_eq!(answer.headline.bound_by, bound_by, "{tops} TOPS");
        let mut wide = study;
        wide.memory.data_rate_mt_s = MtPerS::new(2.0 * study.memory.data_rate_mt_s.as_f64()).unwrap();
        let [computes, reads] =
            [slow(study, 2.0 * tops), wide].map(|it| it.answer().unwrap().headline.token_ns);
        assert_eq!(computes < reads, bound_by != BoundBy::DramBandwidth, "{tops} TOPS: {computes} {reads}");
    }
}

/// A batch that PIM takes one after the other is the processor's where that has it sooner, from PIM's placement.
#[test]
fn a_large_batch_is_the_processors() {
    use memscape_pim::System;
    let of = |system, batch| {
        let study = InferenceStudy {
            system,
            model: Model::named("opt-1.3b").unwrap(),
            batch: NonZeroU32::new(batch).unwrap(),
            prompt_tokens: NonZeroU64::new(16).unwrap(),
            ..InferenceStudy::default()
        };
        for bound in study.bounds().into_iter().filter(|it| it.column == "token_ns") {
            let Limited::AtLeast(least) = bound.limit else { continue };
            assert!(study.answer().unwrap().headline.token_ns >= least, "{}", bound.why);
        }
        let told = study.operators().unwrap();
        let token = told.iter().filter(|it| it.pass == Pass::Token).flat_map(|it| &it.parts);
        let answer = study.answer().unwrap().headline;
        assert!((token.map(|it| it.1).sum::<f64>() / answer.token_ns - 1.0).abs() < 1e-9);
        answer
    };
    let [pim, faster] = [System::Pim, System::Faster].map(|it| of(it, 1));
    assert_eq!(pim, faster);
    let [pim, soc, faster] = [System::Pim, System::Soc, System::Faster].map(|it| of(it, 32));
    assert!(soc.token_ns < pim.token_ns && faster.token_ns.total_cmp(&soc.token_ns).is_eq());
    assert_eq!(faster.memory_bytes, pim.memory_bytes, "weights lie as PIM has them");
}

#[test]
fn scores_that_pass_through_memory_take_room_in_it() {
    let of = |attention, prompt| {
        let prompt_tokens = NonZeroU64::new(prompt).unwrap();
        let model = Model::named("llama-3.2-1b").unwrap();
        InferenceStudy { model, attention, prompt_tokens, ..InferenceStudy::default() }.answer()
    };
    let bytes = |attention, prompt| of(attention, prompt).unwrap().headline.memory_bytes;
    // Of four heads, each token with all before it and itself, 16 bits each; later gate and up take their place.
    let scores = |tokens: u64| 4 * tokens * (tokens + 1) / 2 * 2;
    let product = |tokens: u64| tokens * (2048 + 2 * 8192) * 2;
    let more = bytes(Attention::Unfused, 20_000) - bytes(Attention::Fused, 20_000);
    assert_eq!(more, scores(20_000) - product(20_000));
    assert!(scores(2000) < product(2000));
    assert_eq!(bytes(Attention::Unfused, 2000), bytes(Attention::Fused, 2000));
    let error = of(Attention::Unfused, 200_000).unwrap_err().to_string();
    assert!(
        error.contains("GiB for attention scores") && error.contains("`attention = \"fused\"`"),
        "{error}"
    );
}

/// PIM has too few registers for these scale factors; the processor reads them.
#[test]
fn a_processor_alone_needs_no_placement() {
    let of = |system: &str, format: &str| {
        let mut asked = serde_json::to_value(InferenceStudy::default()).unwrap();
        (asked["system"], asked["format"]) = (system.into(), format.into());
        serde_json::from_value::<InferenceStudy>(asked).unwrap().answer()
    };
    let (answer, int8) = (of("soc", "q4_0").unwrap(), of("soc", "int8").unwrap());
    assert_eq!((answer.token_speedup, answer.pim_gemv_ns), (None, None));
    // 4.5 bits against 8, but for inputs and results, of which there are a two-thousandth as many.
    let share = answer.soc_gemv_ns / int8.soc_gemv_ns;
    assert!((1e-4..1e-3).contains(&(share - 4.5 / 8.0)), "{share}");
    assert!(int8.token_speedup.is_some() && of("pim", "q4_0").is_err());
    // ggml has no such matrix: its rows are whole blocks.
    let odd = Llm { hidden_size: 4100, ..*InferenceStudy::default().model };
    let mut asked = serde_json::to_value(InferenceStudy::default()).unwrap();
    (asked["system"], asked["format"]) = ("soc".into(), "q4_0".into());
    asked["model"] = serde_json::to_value(odd).unwrap();
    let odd: InferenceStudy = serde_json::from_value(asked).unwrap();
    for text in [odd.answer().unwrap_err().to_string(), odd.operators().unwrap_err().to_string()] {
        assert!(text.contains("a row of the model's `q` has 4100; no block divides it"), "{text}");
    }
}

#[test]
fn biases_are_read_by_the_processor() {
    let of = |bias: bool| {
        let opt = *Model::named("opt-6.7b").unwrap();
        let model = Model::of(Llm { qkv_bias: bias, out_bias: bias, ffn_bias: bias, ..opt }).unwrap();
        InferenceStudy { model, ..InferenceStudy::default() }.answer().unwrap()
    };
    let (with, without) = (of(true), of(false));
    // 3, 1, 4 and 1 times 4096 of two bytes in each of 32 layers, at what the processor reads.
    let study = InferenceStudy::default();
    let (weights, vectors) = (12.0 * 4096.0 * 4096.0, (4.0 * 2.0 + 2.0 * 5.0) * 4096.0 * 2.0);
    let read = with.soc_gemv_ns / (32.0 * (weights + vectors));
    let by_hand = 32.0 * 9.0 * 4096.0 * 2.0 * read;
    assert_eq!(study.activation_bits.get(), 16);
    assert!(((with.vector_ns - without.vector_ns) / by_hand - 1.0).abs() < 1e-4);
    assert!((with.headline.token_ns - without.headline.token_ns - by_hand).abs() < 1e-3 * by_hand);
}

/// A prompt of one token is what a step of as many sequences is, but that its token sees one less: inputs and results
/// move for both, and for matrices that PIM could have taken as well.
#[test]
fn a_step_on_the_processor_moves_what_a_prompt_of_one_token_moves() {
    let of = |batch: u64, lm_head| {
        let mut study = InferenceStudy {
            model: Model::named("opt-6.7b").unwrap(),
            system: memscape_pim::System::Soc,
            prompt_tokens: NonZeroU64::MIN,
            generated_tokens: NonZeroU64::MIN,
            batch: count(batch),
            lm_head,
            ..InferenceStudy::default()
        };
        study.memory.rows = count(1 << 24);
        study.answer().unwrap()
    };
    for batch in [1, 64, 4096] {
        let it = of(batch, LmHead::Soc);
        let (prompt, token) = (it.headline.ttft_s * 1e9, it.headline.token_ns);
        assert!((0.99..=1.0 + 1e-9).contains(&(prompt / token)), "{batch}: {prompt} {token}");
        let on_pim = of(batch, LmHead::Pim);
        assert!((on_pim.headline.token_ns / token - 1.0).abs() < 1e-9, "{batch}: PIM has nothing there");
    }
}

/// Of Gemma 3 1B 22 layers of 26 see no more than 512 tokens, which fill after half of the reply.
#[test]
#[expect(clippy::cast_precision_loss, reason = "few tokens")]
fn a_reply_takes_as_long_as_its_tokens_one_by_one() {
    let of = |prompt: u64, generated: u64| {
        InferenceStudy {
            model: Model::named("gemma-3-1b").unwrap(),
            prompt_tokens: NonZeroU64::new(prompt).unwrap(),
            generated_tokens: NonZeroU64::new(generated).unwrap(),
            batch: count(64),
            ..InferenceStudy::default()
        }
        .answer()
        .unwrap()
    };
    let reply = of(1, 1023);
    let each: Vec<_> = (1..=1023).map(|it| of(it, 1)).collect();
    let mean = |column: fn(&memscape_pim::InferenceAnswer) -> f64| {
        let sum: f64 = each.iter().map(column).sum();
        column(&reply) / (sum / each.len() as f64)
    };
    assert_eq!(reply.context_tokens, 513);
    for (column, ratio) in [
        ("attention_ns", mean(|it| it.attention_ns)),
        ("token_ns", mean(|it| it.headline.token_ns)),
        ("soc_token_ns", mean(|it| it.soc_token_ns)),
        ("token_energy_j", mean(|it| it.headline.token_energy_j.unwrap())),
    ] {
        assert!((ratio - 1.0).abs() < 1e-3, "{column}: {ratio}");
    }
    // By hand: 4 layers see 513 tokens and 22 see 385, which at the mean context would see 512.
    let full = of(512, 1);
    let share = (reply.attention_ns - of(1, 1).attention_ns) / (full.attention_ns - of(1, 1).attention_ns);
    let by_hand = (4.0 * 511.0 + 22.0 * 383.0) / (4.0 * 511.0 + 22.0 * 510.0);
    assert!((share - by_hand).abs() < 1e-3, "{share} {by_hand}");
}

#[test]
fn memory_holds_weights_the_key_value_cache_and_a_product() {
    // 6.7B parameters of 8 bit; norms and biases, 0.02 %, stay at 16 bit. 2048
    // tokens of 2 x 4096 elements in 32 layers, 8 bit each. FC1 of 1920 tokens, 16 bit.
    let study = InferenceStudy::default();
    let answer = study.answer().unwrap();
    let (weights, cache, product) =
        (study.model.parameters(), 2048 * 2 * 4096 * 32, 1920 * (4096 + 16_384) * 2);
    let least = weights + cache + product;
    assert!((least..least + (1 << 22)).contains(&answer.headline.memory_bytes));
    assert_eq!(answer.headline.memory_limit_bytes, Some(16 << 30));
    // Gate and up of 800 000 tokens are 30 GB.
    let long = InferenceStudy {
        model: Model::named("gemma-3-4b").unwrap(),
        prompt_tokens: NonZeroU64::new(100_000).unwrap(),
        batch: count(8),
        ..study
    };
    let told = long.answer().unwrap_err().to_string();
    assert!(told.contains("GiB for inputs and results of the largest product"), "{told}");
    // What a step of it holds is no prompt's product.
    assert!(long.step_on_pim().unwrap().memory < long.memory.capacity());
}

fn on(system: &str, study: &InferenceStudy) -> InferenceStudy {
    let mut asked = serde_json::to_value(study).unwrap();
    asked["system"] = system.into();
    serde_json::from_value(asked).unwrap()
}

/// A matrix lies on PIM, but for what its rows are padded by and its outputs, or beside it, not in both.
#[test]
#[expect(clippy::cast_precision_loss, reason = "bytes in ratio")]
fn no_matrix_is_held_twice() {
    for lm_head in [LmHead::Soc, LmHead::Pim] {
        let model = Model::named("llama-3.1-8b").unwrap();
        let study = InferenceStudy { lm_head, model, ..InferenceStudy::default() };
        let [pim, host] =
            ["pim", "soc"].map(|system| on(system, &study).answer().unwrap().headline.memory_bytes as f64);
        assert!(host < pim && pim < 1.02 * host, "{lm_head:?}: {pim} {host}");
    }
}

/// A reply gains what its tokens gain, by Amdahl's law.
#[test]
fn a_reply_gains_by_the_share_of_its_tokens() {
    let study = InferenceStudy::default();
    let (it, host) = (study.answer().unwrap(), on("soc", &study).answer().unwrap().headline);
    let share = 1.0 - host.ttft_s / host.total_s;
    assert!((it.soc_generation_share / share - 1.0).abs() < 1e-6, "{share}");
    let gain = 1.0 / (1.0 - share + share / it.token_speedup.unwrap());
    assert!((it.end_to_end_speedup.unwrap() / gain - 1.0).abs() < 1e-6, "{gain}");
}

/// What the description leaves of each matrix is together what it leaves of a token.
#[test]
fn matrices_leave_as_much_time_as_a_token() {
    for batch in [1, 4] {
        let study = on("pim", &InferenceStudy { batch: count(batch), ..InferenceStudy::default() });
        let bounds = study.bounds().into_iter().filter(|it| it.column == "token_ns");
        let whole = bounds.map(|it| if let Limited::AtLeast(it) = it.limit { it } else { 0.0 });
        let whole = whole.fold(0.0, f64::max);
        let matrices: Vec<_> = study.model.layer_gemvs(study.projections).map(|it| it.0.name()).collect();
        let operators = study.operators().unwrap().into_iter();
        let of_matrices =
            operators.filter(|it| it.pass == Pass::Token && matrices.contains(&it.operator.as_str()));
        let sum: f64 = of_matrices.map(|it| it.least_ns).sum();
        assert!((sum / whole - 1.0).abs() < 1e-9, "{batch}: {sum}, not {whole} ns");
    }
}

/// Collects names, and checks that slots' defaults are what `Default` says.
struct Names(Vec<&'static str>);

impl StudyVisitor for Names {
    fn visit<S: Study>(&mut self) {
        let study = serde_json::to_value(S::default()).unwrap();
        for slot in S::slots() {
            let preset = slot.catalog.find_plain(slot.default).unwrap();
            let tables = preset.parameters.as_object().unwrap();
            match (slot.whole, study[slot.path].as_str()) {
                (true, _) => assert!(tables.iter().all(|(key, it)| study[key] == *it), "{}", slot.path),
                (false, Some(name)) => assert_eq!(name, slot.default),
                (false, None) => assert_eq!(study[slot.path], preset.parameters, "{}", slot.path),
            }
        }
        self.0.push(S::NAME);
    }
}

fn names<S: System>(_: S) -> Vec<&'static str> {
    let mut names = Names(Vec::new());
    S::studies(&mut names);
    names.0
}

#[test]
fn the_system_lists_its_studies_with_their_descriptions() {
    assert_eq!(names(SYSTEM), ["pim.gemv", "pim.inference", "pim.regret"]);
}

#[test]
fn the_built_in_machine_has_a_source_for_every_number() {
    let machine = MACHINES.find(DEFAULT_MACHINE).unwrap();
    let plain = MACHINES.find_plain(DEFAULT_MACHINE).unwrap();
    assert_eq!(machine.parameters.memory, *MEMORIES.get("lpddr5x-7500"));
    let without = paths("", &plain.parameters).into_iter().filter(|it| machine.source(it).is_none());
    // What a description may leave out has no source where it does.
    assert_eq!(
        without.collect::<Vec<_>>(),
        ["memory.column_bytes", "memory.tck_ns", "memory.trc_ns", "memory.tccd_s_ns", "memory.tccd_l_ns"]
    );
    let free = CALIBRATION.parameters().iter().map(FreeParameter::key).collect::<Vec<_>>();
    assert_eq!(free, ["pim.host_turnaround_ns", "pim.swap_commands"]);
    assert!(machine.source("pim.swap_commands").unwrap().starts_with("calibrated: data/calibration/pimnast"));
}

fn paths(prefix: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(table) => {
            table.iter().flat_map(|(key, it)| paths(&format!("{prefix}.{key}"), it)).collect()
        }
        _ => vec![prefix.trim_start_matches('.').to_owned()],
    }
}

#[test]
fn a_machine_that_cannot_be_built_is_refused() {
    let machine = *MACHINES.get(DEFAULT_MACHINE);
    let error = |change: fn(&mut memscape_pim::hardware::Machine)| {
        let mut machine = machine;
        change(&mut machine);
        machine.check().unwrap_err().to_string()
    };
    assert_eq!(
        error(|it| it.interleave_bytes = NonZeroU64::new(100).unwrap()),
        "`interleave_bytes` is 100; it must be a power of two from 32 (one column access) to 2048 (one row)"
    );
    assert_eq!(
        error(|it| it.pim.sum_bits = NonZeroU32::new(24).unwrap()),
        "`pim.sum_bits` is 24; it must be a power of two"
    );
    assert!(
        error(|it| it.memory.tras_ns = Nanoseconds::ZERO).starts_with("`memory`: DRAM rule `tRAS >= tRCD`")
    );
    assert!(error(|it| it.pim.command_ratio = f64::NAN).starts_with("`pim.command_ratio` is NaN"));
}

/// Channels may be left idle and columns filled up with zeros, so that the best loses nothing by what a degree of split-K
/// does not divide. Words that lie otherwise in DRAM rows are within the bound.
#[test]
fn the_best_of_all_gains_by_channels_and_fewer_columns() {
    let best = |channels, k| {
        let mut it = GemvStudy {
            m: NonZeroU64::new(997),
            k: NonZeroU64::new(k),
            placement: Placement::Best,
            charge_reduction: true,
            ..GemvStudy::default()
        };
        it.memory.channels = count(channels);
        RegretStudy(it).answer().unwrap()
    };
    let by_channels: Vec<_> = (1..=12).map(|it| best(it, 1000)).collect();
    assert!(by_channels.windows(2).all(|it| it[1].best_ns <= it[0].best_ns), "{by_channels:#?}");
    assert_eq!(by_channels[6].best_split_k, 7);
    let by_columns: Vec<_> = (1000..=1008).map(|it| best(8, it).best_ns).collect();
    assert!(by_columns.windows(2).all(|it| it[0] <= 1.02 * it[1]), "{by_columns:?}");
}
