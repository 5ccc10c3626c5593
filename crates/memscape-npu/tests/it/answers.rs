//! Do answers keep what studies promise, at points that no paper printed?

use std::fmt::Debug;
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};

use memscape_npu::mapping::design::{BLayout, BdReconfiguration};
use memscape_npu::search::Objective;
use memscape_npu::study::workload::Strategy as Designs;
use memscape_npu::{
    BalanceStudy, DESIGNS, Device, GemmStudy, KernelDesign, KernelStudy, OutputBuffers, Precision,
    SearchStudy, WorkloadStudy,
};
use memscape_study::{CostEngine, Study, Timeline, sums_off};
use memscape_units::{Cycles, GbPerS, Megahertz};
use memscape_workload::{Model, Projections};
use proptest::prelude::*;
use schemars::generate::SchemaSettings;

/// Each column that is a sum is that of its parts.
fn check_sums<S: Study>(study: &S) -> Result<(), TestCaseError> {
    let Ok(answer) = study.answer() else { return Err(TestCaseError::reject("does not fit")) };
    let answer = serde_json::to_value(answer).unwrap();
    let off = sums_off(S::SUMS, 1e-9, |it| Some(answer[it].as_f64().unwrap()));
    prop_assert!(off.is_empty(), "{:?}", off);
    Ok(())
}

/// The timeline ends when the answer says.
fn check_timeline<S: Study>(study: &S) -> Result<(), TestCaseError> {
    let answer = serde_json::to_value(study.answer().unwrap()).unwrap();
    let mut timeline = Timeline::default();
    S::TIMELINE.unwrap()(study, &mut timeline).unwrap();
    let (end, time) = (timeline.end().as_ns(), answer["time_ns"].as_f64().unwrap());
    // Each of some hundred spans is rounded to a picosecond.
    prop_assert!((end - time).abs() <= 1e-9 * time + 1.0, "{} is not {}", end, time);
    Ok(())
}

fn one_of<T: Clone + Debug + 'static>(values: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(values.to_vec())
}

prop_compose! {
    fn any_gemm()(
        design in 0..DESIGNS.all().len(),
        size in [1u64..6000, 1u64..6000, 1u64..6000],
        k_mt in 1u16..6,
        bds_in_flight in 1u8..=5,
        b_layout in one_of(&[BLayout::ColumnMajor, BLayout::RowMajor]),
        bd_reconfiguration in one_of(&[BdReconfiguration::Overlapped, BdReconfiguration::Sequential]),
        buffers in one_of(&[OutputBuffers::Single, OutputBuffers::Double]),
        engine in one_of(&[CostEngine::Closed, CostEngine::Events]),
    ) -> GemmStudy {
        let KernelDesign { device, precision, m_ct, k_ct, n_ct, .. } = DESIGNS.all()[design].parameters;
        let [m, k, n] = size.map(|it| NonZeroU64::new(it).unwrap());
        let k_mt = NonZeroU16::new(k_ct.get() * k_mt).unwrap();
        let bds_in_flight = NonZeroU8::new(bds_in_flight).unwrap();
        GemmStudy {
            device, precision, m, k, n, m_ct, k_ct, n_ct, k_mt, b_layout, output_buffers: buffers,
            bd_reconfiguration, bds_in_flight, engine, ..GemmStudy::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn the_parts_of_a_gemm_are_its_time(study in any_gemm()) {
        check_sums(&study)?;
        check_timeline(&GemmStudy { engine: CostEngine::Events, ..study })?;
    }

    #[test]
    fn the_parts_of_a_kernel_are_its_cycles(study in any_gemm(), narrow in 1u16..4) {
        let GemmStudy { device, precision, m_ct, k_ct, output_buffers, .. } = study;
        // Down to tiles that the DMA cannot feed.
        let n_ct = NonZeroU16::new(16 * narrow).unwrap();
        let kernel = KernelStudy { device, precision, m_ct, k_ct, n_ct, output_buffers, ..KernelStudy::default() };
        check_sums(&kernel)?;
    }

    #[test]
    fn the_parts_of_a_prompt_are_its_time(
        study in any_gemm(), tokens in 1u64..3000, lm_head in any::<bool>(),
        model in one_of(&["opt-125m", "llama-3.2-1b", "gemma-3-1b", "qwen3-0.6b"]),
        strategy in one_of(&[Designs::OneDesign, Designs::Reconfigured]),
        projections in one_of(&[Projections::Merged, Projections::Separate]),
    ) {
        let GemmStudy { device, precision, m_ct, k_ct, n_ct, k_mt, output_buffers, bds_in_flight, .. } = study;
        let prompt = WorkloadStudy {
            model: Model::named(model).unwrap(), prompt_tokens: NonZeroU64::new(tokens).unwrap(), projections,
            lm_head, strategy, device, precision, m_ct, k_ct, n_ct, k_mt, output_buffers, bds_in_flight,
            ..WorkloadStudy::default()
        };
        check_sums(&prompt)?;
        check_timeline(&prompt)?;
    }
}

/// More of a resource never makes the best designs slower, reconfiguration included, and no single
/// design beats them.
#[test]
fn best_per_size_is_best() {
    let design = DESIGNS.get("xdna-bf16-bf16-single-core");
    let time = |change: &dyn Fn(&mut memscape_npu::Device), strategy| {
        let mut device = design.device;
        change(&mut device);
        let prompt = WorkloadStudy {
            model: Model::named("gemma-3-4b").unwrap(),
            device,
            precision: design.precision,
            strategy,
            output_buffers: OutputBuffers::Double,
            ..WorkloadStudy::default()
        };
        let WorkloadStudy { m_ct, k_ct, n_ct, k_mt, .. } = prompt;
        let small = |it: NonZeroU16, most: u16| it.min(NonZeroU16::new(most).unwrap());
        let prompt = WorkloadStudy {
            m_ct: small(m_ct, 96),
            k_ct: small(k_ct, 40),
            n_ct: small(n_ct, 80),
            k_mt: small(k_mt, 160),
            ..prompt
        };
        prompt.answer().unwrap().time_ns
    };
    for change in [
        (|it, factor| it.dram.read_gb_s = GbPerS::new(it.dram.read_gb_s.as_f64() * factor).unwrap())
            as fn(&mut memscape_npu::Device, f64),
        |it, factor| it.clock_mhz = Megahertz::new(it.clock_mhz.as_f64() * factor).unwrap(),
        |it, factor| it.bd_cycles = it.bd_cycles * factor.recip(),
    ] {
        let at = |factor| time(&|it| change(it, factor), Designs::BestPerSize);
        let times = [0.5, 1.0, 2.0, 4.0].map(at);
        assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    }
    assert!(time(&|_| (), Designs::BestPerSize) <= time(&|_| (), Designs::OneDesign));
}

fn refused(change: impl FnOnce(&mut GemmStudy)) -> String {
    let mut study = GemmStudy::default();
    change(&mut study);
    study.answer().unwrap_err().to_string()
}

/// Tiles and steps fit, but the instruction's reduction is no whole number of words.
#[test]
fn designs_between_words_are_refused_for_that() {
    let mut device = GemmStudy::default().device;
    device.int8.as_mut().unwrap().s = NonZeroU8::new(7).unwrap();
    // Few tiles, so that trying them all takes little.
    device.l1_bytes = NonZeroU32::new(16_384).unwrap();
    let balance = BalanceStudy { device, ..BalanceStudy::default() };
    let strategy = Designs::BestPerSize;
    let workload = WorkloadStudy { device, strategy, ..WorkloadStudy::default() };
    let errors = [balance.answer().map(drop), workload.answer().map(drop)];
    for error in errors.map(|it| it.unwrap_err().to_string()) {
        let why = "its contiguous run is 7 B, but addresses are in units of 4 B";
        assert!(error.contains(why) && !error.contains("l2_bytes"), "{error}");
    }
}

/// What no channel or descriptor can do is told with what there is.
#[test]
fn what_cannot_be_programmed_is_refused() {
    let error = refused(|it| it.device.rows = NonZeroU8::new(8).unwrap());
    let text = "memory tiles need 10 S2MM channels at a time (8 for C, one each for the others), but have 6; use \
                `device.memory_channels` = 10 at least, or `device.rows` = 4 at most";
    assert_eq!(error, text);
    // Two channels are not for the rows, of which one is the least that there is.
    let of = |rows, channels| {
        let mut study = GemmStudy::default();
        study.device.rows = NonZeroU8::new(rows).unwrap();
        study.device.memory_channels = NonZeroU8::new(channels).unwrap();
        study.answer().map(drop).map_err(|it| it.to_string())
    };
    let error = of(4, 1).unwrap_err();
    let advice = "use `device.memory_channels` = 6 at least, or 3 of them with `device.rows` = 1";
    assert!(error.ends_with(advice), "{error}");
    let error = of(1, 2).unwrap_err();
    assert!(error.ends_with("but have 2; use `device.memory_channels` = 3 at least"), "{error}");
    assert_eq!((of(4, 6), of(1, 3)), (Ok(()), Ok(())));
    let error = refused(|it| {
        (it.m_ct, it.n_ct, it.k_ct, it.k_mt) = (nz(16), nz(16), nz(8), nz(8));
        (it.device.rows, it.device.memory_channels) = (NonZeroU8::MAX, NonZeroU8::MAX);
    });
    assert!(error.ends_with("but have 255; use `device.rows` = 253 at most"), "{error}");
    let error = refused(|it| it.device.shim_bds = NonZeroU8::new(4).unwrap());
    assert!(error.ends_with("but it has 4; use 1, or more `device.shim_bds`"), "{error}");
    let error = refused(|it| {
        (it.m_ct, it.n_ct, it.k_ct, it.k_mt) = (nz(16), nz(16), nz(40), nz(5120));
        it.k = NonZeroU64::new(10_240).unwrap();
    });
    let text = "A's interface tile MM2S cannot be programmed as (5120, 1) (16, 10240) (2, 5120): dimension 0 has a size of 1280 \
                words or runs, but its wrap register of 10 bits holds up to 1023; use a smaller tile or split the \
                dimension";
    assert_eq!(error, text);
    let error = refused(|it| it.device.int8.as_mut().unwrap().block_rows = NonZeroU8::new(8).unwrap());
    assert!(
        error.starts_with("a register block of 8 x 2 products needs 2048 bytes of accumulators"),
        "{error}"
    );
    let advice = "use `device.accumulator_bytes` = 2048 at least, or `device.int8.block_rows` times \
                  `device.int8.block_columns` = 9 at most";
    assert!(error.ends_with(advice), "{error}");
    // Less than one product's.
    let error = refused(|it| it.device.accumulator_bytes = NonZeroU32::MIN);
    assert!(error.ends_with("but a core has 1; use `device.accumulator_bytes` = 1024 at least"), "{error}");
    let error = refused(|it| {
        (it.precision, it.device.accumulator_bytes) = (Precision::Bf16Bf16, NonZeroU32::new(500).unwrap());
    });
    assert!(error.contains("`device.bf16.block_rows` times `device.bf16.block_columns` = "), "{error}");
    // What a tile is multiplied by, in words.
    let of = |s| {
        let mut study = GemmStudy::default();
        study.device.int8.as_mut().unwrap().s = NonZeroU8::new(s).unwrap();
        study.answer().map(drop).map_err(|it| it.to_string())
    };
    let advice = "its contiguous run is 1 B, but addresses are in units of 4 B; use a multiple of 4 elements for \
                  `device.int8.s` = 1";
    let error = of(1).unwrap_err();
    assert!(error.ends_with(advice), "{error}");
    assert_eq!(of(4), Ok(()));
    let error = refused(|it| {
        it.b_layout = BLayout::RowMajor;
        it.device.int8.as_mut().unwrap().t = NonZeroU8::new(2).unwrap();
    });
    assert!(error.ends_with("use a multiple of 4 elements for `device.int8.t` = 2"), "{error}");
    let error = refused(|it| {
        it.device.int8.as_mut().unwrap().s = NonZeroU8::MIN;
        (it.k_ct, it.k_mt) = (nz(1), nz(1));
    });
    assert!(error.ends_with("use a multiple of 4 elements for `k_mt` = 1"), "{error}");
}

/// L1 that holds not even the smallest tile, and the stack that takes it.
#[test]
fn what_makes_room_for_a_tile_is_told_in_bytes() {
    let kernel = |l1_bytes, stack_bytes| {
        let mut study = KernelStudy::default();
        study.device.l1_bytes = NonZeroU32::new(l1_bytes).unwrap();
        study.device.stack_bytes = stack_bytes;
        study.answer().map(drop).map_err(|it| it.to_string())
    };
    let error = kernel(1, 1024).unwrap_err();
    let advice = "but the stack leaves 0 B; use `device.l1_bytes` = 63745 at least, as not even the smallest tile of \
                  16 x 8 x 16 fits";
    assert!(error.ends_with(advice), "{error}");
    assert_eq!(kernel(63_745, 1024), Ok(()));
    let error = kernel(65_536, 1_000_000_000).unwrap_err();
    assert!(error.contains("use `device.stack_bytes` = 2815 at most, as"), "{error}");
    assert_eq!(kernel(65_536, 2815), Ok(()));
    let search = |stack_bytes| {
        let mut study = SearchStudy::default();
        study.device.stack_bytes = stack_bytes;
        study.answer().map(drop).map_err(|it| it.to_string())
    };
    let text = "no tile for `int8-int8` fits L1: `device.stack_bytes` = 1000000000 leaves 0 of `device.l1_bytes` = 65536, \
                but the smallest takes 769 bytes; use `device.stack_bytes` = 64767 at most";
    assert_eq!(search(1_000_000_000).unwrap_err(), text);
    assert_eq!(search(64_767), Ok(()));
    // Room, but not what is asked for beside.
    let of = |k_ct, objective, port| {
        let mut study = SearchStudy { k_ct: Some(nz(k_ct)), objective, ..SearchStudy::default() };
        (study.device.port_bytes_per_cycle, study.device.dma_bytes_per_cycle) = (port, NonZeroU32::MIN);
        study.device.pipeline_cycles = Cycles::ZERO;
        study.answer().unwrap_err().to_string()
    };
    let error = of(100, Objective::Throughput, NonZeroU32::MAX);
    assert!(error.starts_with("`k_ct` is 100, which is not a multiple of 8"), "{error}");
    let text = "no tile for `int8-int8` with `k_ct` = 512 that fits L1 is bound by compute (Eq. 4); use more \
                `device.dma_bytes_per_cycle`, another `objective` or another `k_ct`";
    assert_eq!(of(512, Objective::LargestOutput, NonZeroU32::MAX), text);
    // A longer reduction is advised only if there is one.
    let mut study = BalanceStudy { k_start: Some(nz(64)), ..BalanceStudy::default() };
    (study.device.port_bytes_per_cycle, study.device.dma_bytes_per_cycle) =
        (NonZeroU32::MAX, NonZeroU32::MIN);
    study.device.pipeline_cycles = Cycles::ZERO;
    let error = study.answer().unwrap_err().to_string();
    assert!(error.ends_with("bound by compute (Eq. 4); use more `device.dma_bytes_per_cycle`"), "{error}");
}

/// A length is given in 16 bits.
#[test]
fn no_multiple_is_advised_that_cannot_be_given() {
    let error = KernelStudy { k_ct: nz(65_535), ..KernelStudy::default() }.answer().unwrap_err().to_string();
    assert!(error.ends_with("; use 65528"), "{error}");
    let error = refused(|it| (it.k_ct, it.k_mt) = (nz(40), nz(65_535)));
    assert!(error.ends_with("; use 65520"), "{error}");
}

/// What no clock can follow is refused where it is given, whatever is multiplied.
#[test]
fn cycles_of_a_device_have_an_end() {
    let inline = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    let schema = inline.into_generator().into_root_schema_for::<Device>().to_value();
    for (name, field) in schema["properties"].as_object().unwrap() {
        if name.ends_with("_cycles") {
            assert_eq!((&field["minimum"], &field["maximum"]), (&0.0.into(), &1e6.into()), "{name}: {field}");
        }
    }
    let mut study = GemmStudy::default();
    (study.device.pipeline_cycles, study.device.bd_cycles) =
        (Cycles::new(1e6).unwrap(), Cycles::new(1e6).unwrap());
    assert!(study.answer().is_ok());
}

fn nz(it: u16) -> NonZeroU16 {
    NonZeroU16::new(it).unwrap()
}
