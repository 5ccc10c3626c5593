//! Do closed forms say exactly what events and command streams do?

use std::num::NonZeroU64;

use memscape_dram::{CommandCounts, Dram, Kind, MEMORIES, RefreshPolicy};
use memscape_ondevice::cost::gemv::{closed_form, delays, on_engine};
use memscape_ondevice::cost::rates::StepCost;
use memscape_ondevice::hardware::{PimBlocks, Region};
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::layout::{Layout, Placement};
use memscape_ondevice::mapping::schedule::{Counts, Op, for_each};
use memscape_ondevice::mapping::stages::Split;
use memscape_ondevice::{DecodeStudy, GemvStudy, Overlap, PrefillStudy, RooflineStudy};
use memscape_study::{CostEngine, Study};
use memscape_units::Nanoseconds;
use memscape_workload::{Element, Gemv, Matrix};
use proptest::prelude::*;

use crate::count;

pub fn memory() -> impl Strategy<Value = Dram> {
    let shape = (prop::sample::select(vec![256_u32, 512, 1024, 2048]), any::<bool>());
    let short = || prop_oneof![Just(0.0), Just(1.0), 0.0..40.0_f64];
    let times = (short(), short(), 0.0..60.0_f64, 0.0..40.0_f64, 0.0..20.0_f64, 0.0..60.0_f64);
    (shape, times).prop_map(|((row_bytes, hbm), (trp, trcd, tras, twr, trtp, trtw))| {
        let ns = |value| Nanoseconds::new(value).unwrap();
        let device = *MEMORIES.get(if hbm { "hbm2-2000" } else { "lpddr5x-8533" });
        Dram {
            channels: count(1),
            bank_groups: count(1),
            banks_per_channel: count(4),
            row_bytes: count(row_bytes),
            trp_ns: ns(trp),
            trp_ab_ns: ns(trp),
            trcd_ns: ns(trcd),
            tras_ns: ns(tras),
            twr_ns: ns(twr),
            trtp_ns: ns(trtp),
            trtw_ns: Some(ns(trtw)),
            ..device
        }
    })
}

fn blocks() -> impl Strategy<Value = PimBlocks> {
    (1_u32..12, 4_u32..16, 0_u32..3).prop_map(|(input, output, shared)| PimBlocks {
        input_registers: count(input),
        output_registers: count(output),
        banks_per_block: count(1 << shared),
    })
}

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![Just(Placement::ColumnBursts), Just(Placement::RowBursts)]
}

fn case() -> impl Strategy<Value = (Dram, Layout)> {
    let element = prop::sample::select(vec![Element::Int4, Element::Int8, Element::Bf16, Element::Fp32]);
    (memory(), blocks(), placement(), element, 1_u64..2000, 1_u64..700).prop_map(
        |(memory, pim, placement, element, rows, columns)| {
            let gemv = Gemv::new(rows, columns).unwrap();
            (memory, Layout::new(gemv, element, placement, &memory, &pim, 0).unwrap())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_gemv_in_closed_form_takes_what_the_engine_says((memory, layout) in case()) {
        let delays = delays(&memory);
        let closed = closed_form(&layout, &delays);
        let mut issued = CommandCounts::default();
        let events = on_engine(&layout, &memory, RefreshPolicy::Off, &mut issued).unwrap();
        prop_assert_eq!(closed.total(), events, "{:?} {:?}", layout, delays);
        prop_assert_eq!(Counts::of(&layout).commands(), issued, "{:?}", layout);
    }

    #[test]
    fn commands_are_as_many_as_counted((_, layout) in case()) {
        let mut counts = Counts::default();
        for_each(&layout, |op| {
            match op {
                Op::WriteInputs { .. } => counts.input_writes += 1,
                Op::Mac { .. } => counts.macs += 1,
                Op::Drain { .. } => counts.drains += 1,
                Op::WriteSums { .. } => counts.sum_writes += 1,
                Op::Open { row } if row < layout.end_row() => counts.rows_opened += 1,
                Op::Open { .. } => counts.sum_rows_opened += 1,
                Op::Close => {}
            }
            Ok::<_, ()>(())
        })
        .unwrap();
        prop_assert_eq!(counts, Counts::of(&layout));
    }
}

/// 15 registers serve 128 bursts of a row in nine turns, 8 of them in 16.
#[test]
fn any_number_of_input_registers_is_of_use() {
    let of = |input_registers| {
        let mut study = GemvStudy {
            m: NonZeroU64::new(512),
            k: NonZeroU64::new(2048),
            placement: Placement::RowBursts,
            refresh: false,
            ..GemvStudy::default()
        };
        study.pim.output_registers = count(1);
        study.pim.input_registers = count(input_registers);
        study.answer().unwrap()
    };
    assert_eq!(of(15).input_registers_used, 15);
    assert!(of(15).time_ns < of(8).time_ns);
    // 14 and 15 need ten and nine turns; 19 serve as many in seven as 20 or 21.
    assert_eq!([of(19), of(20), of(21)].map(|it| it.input_registers_used), [19; 3]);
}

proptest! {
    #[test]
    fn more_input_registers_are_never_slower(
        memory in memory(),
        pim in blocks(),
        placement in placement(),
        (m, k) in (1_u64..2000, 1_u64..3000),
    ) {
        prop_assume!(memory.check().is_ok());
        let (m, k) = (NonZeroU64::new(m), NonZeroU64::new(k));
        let study = GemvStudy { m, k, memory, pim, placement, refresh: false, ..GemvStudy::default() };
        let mut more = study;
        more.pim.input_registers = count(pim.input_registers.get() + 1);
        let [few, more] = [study, more].map(|it| it.answer().unwrap().time_ns);
        prop_assert!(more <= few, "{few} {more}");
    }
}

/// Refreshes too: in the mean they strike a short GEMV as they do a long one.
#[test]
fn the_layers_of_a_token_are_the_sum_of_their_gemvs() {
    let matrices = [Matrix::Q, Matrix::K, Matrix::V, Matrix::Out, Matrix::Gate, Matrix::Up, Matrix::Down];
    for refresh in [false, true] {
        let layers_ns = DecodeStudy { refresh, ..DecodeStudy::default() }.answer().unwrap().layers_ns;
        for engine in [CostEngine::Closed, CostEngine::Events] {
            let of = |gemv| GemvStudy { gemv, refresh, engine, ..GemvStudy::default() };
            let layer: f64 = matrices.iter().map(|it| of(*it).answer().unwrap().time_ns).sum();
            // Each is a whole number of picoseconds.
            assert!((16.0 * layer / layers_ns - 1.0).abs() < 1e-8, "{layer} {layers_ns}");
        }
    }
}

/// A GEMV shorter than the time between two refreshes has its share of them.
#[test]
fn a_short_gemv_is_refreshed_in_the_mean() {
    let of = |refresh| GemvStudy {
        m: NonZeroU64::new(512),
        k: NonZeroU64::new(600),
        refresh,
        ..GemvStudy::default()
    };
    let (with, memory) = (of(true).answer().unwrap(), of(true).memory);
    let (interval, busy) = (memory.trefi_ns.as_f64(), of(false).answer().unwrap().time_ns);
    assert!(busy < interval);
    let cost = memory.trfc_ab_ns.as_f64() + delays(&memory).row_open().as_ns();
    assert!((with.refresh_ns - busy * cost / (interval - cost)).abs() < 1e-3, "{}", with.refresh_ns);
}

/// Reads of weights come in the order in which the layout numbers them.
#[test]
fn a_stream_reads_each_burst_once_and_in_place() {
    let memory = *MEMORIES.get("lpddr5x-8533");
    let pim = PimBlocks { input_registers: count(2), output_registers: count(3), banks_per_block: count(1) };
    for placement in [Placement::ColumnBursts, Placement::RowBursts] {
        let gemv = Gemv::new(5000, 100).unwrap();
        let layout = Layout::new(gemv, Element::Bf16, placement, &memory, &pim, 7).unwrap();
        let mut next = 0;
        let mut pass_and_line = Vec::new();
        for_each(&layout, |op| {
            if let Op::Mac { slot, line, burst } = op {
                assert_eq!(slot, next);
                next += 1;
                pass_and_line.push((line, burst));
                assert_eq!(op.command(&layout).kind, Kind::Mac);
            }
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(next, layout.slots());
        for unit_line in 0..layout.unit_lines() {
            for burst in 0..layout.line_bursts() {
                let at = layout.slot(unit_line * layout.units, burst);
                let read = pass_and_line[usize::try_from(at.slot).unwrap()];
                assert_eq!(read, (unit_line % layout.lines_per_pass, burst));
            }
        }
    }
}

/// One that holds a model.
fn large_memory() -> impl Strategy<Value = Dram> {
    let names = vec!["lpddr5x-8533", "lpddr5-6400", "ddr4-3200", "hbm2-2000"];
    (prop::sample::select(names), 0_u32..4, 0.0..1.0_f64).prop_map(|(name, doubled, activates)| {
        let device = *MEMORIES.get(name);
        let trrd = device.trrd_s_ns.as_f64() * activates;
        Dram {
            channels: count(device.channels.get() << doubled),
            rows: count(1 << 19),
            trrd_s_ns: Nanoseconds::new(trrd).unwrap(),
            ..device
        }
    })
}

prop_compose! {
    pub fn prefill()(
        model in prop::sample::select(vec!["llama-3.2-1b", "llama-3.2-3b", "opt-125m", "gemma-3-1b", "qwen3-0.6b"]),
        (layers, tokens) in (1_u64..=12, 1_u64..2000),
        threads in (0_u32..=1, 0_u32..=2, 0_u32..=3, 1_u32..=6),
        (copy_gb_s, uncached_slowdown, step_ms) in (0.1..20.0_f64, 1.0..4.0_f64, 0.0..5.0_f64),
        (gemm_efficiency, memory_efficiency, block) in (0.1..1.0_f64, 0.1..1.0_f64, 1.0..64.0_f64),
        (together, transactions, memory) in (1_u64..200, 2_u32..5, large_memory()),
        (by_compute, every_copy, cacheable) in any::<(bool, bool, bool)>(),
        scheme in prop::sample::select(vec![Scheme::Owr, Scheme::Ddb, Scheme::FacilO]),
    ) -> PrefillStudy {
        let mut study = PrefillStudy {
            model: model.parse().unwrap(),
            layers: NonZeroU64::new(layers),
            prompt_tokens: NonZeroU64::new(tokens).unwrap(),
            ff0_split: if by_compute { Split::ByCompute } else { Split::Equal },
            step_cost: if every_copy { StepCost::EveryCopy } else { StepCost::CreatedThreads },
            region: if cacheable { Region::Cacheable } else { Region::NonCacheable },
            together: NonZeroU64::new(together).unwrap(),
            memory,
            scheme,
            ..PrefillStudy::default()
        };
        let (big, high, low, owr_threads) = threads;
        let cpu = &mut study.cpu;
        (cpu.big.gemm_threads, cpu.middle_high.gemm_threads) = (big, 2 - high);
        cpu.middle_high.copy_threads = high;
        (cpu.middle_low.gemm_threads, cpu.middle_low.copy_threads) = (low, 3 - low);
        cpu.owr_threads = count(owr_threads);
        (cpu.copy_gb_s, cpu.uncached_slowdown, cpu.step_ms) = (copy_gb_s, uncached_slowdown, step_ms);
        (cpu.gemm_efficiency, cpu.memory_efficiency) = (gemm_efficiency, memory_efficiency);
        (cpu.gemm_block_tokens, cpu.copy_transactions) = (block, count(transactions));
        study
    }
}

fn ttft(study: &PrefillStudy) -> f64 {
    study.answer().unwrap().ttft_s
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_prefill_in_closed_form_takes_what_its_threads_do(study in prefill()) {
        prop_assume!(study.answer().is_ok());
        let events = PrefillStudy { engine: CostEngine::Events, ..study.clone() };
        // Both are sums of whole picoseconds.
        prop_assert_eq!(ttft(&study).to_bits(), ttft(&events).to_bits(), "{:?}", study);
    }

    /// Copying never makes prefill faster, and costs no more than copying first with as
    /// many threads, but for what the memory does for GEMM meanwhile.
    #[test]
    fn overlap_is_between_its_bounds(study in prefill()) {
        let mut study = PrefillStudy { scheme: Scheme::Ddb, ..study };
        prop_assume!(study.answer().is_ok());
        let ddb = study.answer().unwrap();
        prop_assert!(ddb.gemm_s + ddb.attention_s <= ddb.ttft_s);
        let layers = study.layers.unwrap().get();
        let weights = u32::try_from(layers * study.model.layer_matrix_parameters()).unwrap();
        prop_assert!((ddb.copied_bytes - 2.0 * f64::from(weights)).abs() < 0.5, "all, once");
        prop_assert!(ddb.copy_bandwidth_share <= 1.0 && ddb.gemm_bandwidth_share <= 1.0);

        study.cpu.owr_threads = count(u32::try_from(study.cpu.copy_threads()).unwrap());
        let owr = PrefillStudy { scheme: Scheme::Owr, ..study.clone() }.answer().unwrap();
        // A copy in parts is rounded in parts. Beside GEMM nothing is gained at the worst,
        // and online rearrangement has its fixed costs beside.
        prop_assert!(ddb.ttft_s <= owr.ttft_s + 1e-9, "{} {}", ddb.ttft_s, owr.ttft_s);
        prop_assert!((ddb.gemm_s + ddb.attention_s).max(ddb.copy_s) <= ddb.ttft_s + 1e-9);
    }
}

/// With ever longer prompts all that is left of copying is the first one.
#[test]
fn long_prompts_hide_all_but_the_preload() {
    let mut study =
        PrefillStudy { prompt_tokens: NonZeroU64::new(1 << 15).unwrap(), ..PrefillStudy::default() };
    // Where the memory works for GEMM most of the time, K and V never hide theirs.
    study.cpu.gemm_block_tokens = 16.0;
    let timeline = study.timeline().unwrap();
    let preload_s = timeline.spans.iter().find(|it| it.name == "preload").unwrap().end.as_ns() * 1e-9;
    let answer = study.answer().unwrap();
    // A thousandth of the preload is far above rounding.
    assert!((answer.exposed_s - preload_s).abs() < 1e-3 * preload_s);
    assert_eq!(answer.hidden_stages, answer.stages);
    // Attention grows with the square of the prompt, and takes most of a long one.
    assert!(answer.attention_s > answer.gemm_s);
}

/// At peak rates the model of one layer is Table 2's.
#[test]
fn roofline_is_a_ratio_of_times() {
    let roofline = |tokens: u64, overlap, transactions| {
        let (prompt_tokens, copy_transactions) = (NonZeroU64::new(tokens).unwrap(), count(transactions));
        let study = RooflineStudy { prompt_tokens, overlap, copy_transactions, ..RooflineStudy::default() };
        study.answer().unwrap()
    };
    for tokens in [1, 4, 8, 12, 16, 100, 4096] {
        // GEMM reads what was copied, unless that is on the chip.
        for (overlap, transactions, moved) in [
            (Overlap::AsPrinted, 3, 3.0),
            (Overlap::SharedBandwidth, 3, 4.0),
            (Overlap::SharedBandwidth, 2, 3.0),
            (Overlap::SharedBandwidth, 1, 1.0),
        ] {
            let it = roofline(tokens, overlap, transactions);
            assert!((it.serial_t - it.gemm_t - it.online_t).abs() < 1e-12);
            assert!((it.overlapped_t - it.gemm_t.max(moved)).abs() < 1e-12);
            assert_eq!(it.overlapped_t <= it.gemm_t, it.hiding_tokens <= tokens);
        }
    }
}
