//! Do answers keep what studies promise, at points that no paper printed?

use std::fmt::Debug;
use std::num::{NonZeroU8, NonZeroU16, NonZeroU64};

use memscape_npu::mapping::design::{BLayout, BdReconfiguration};
use memscape_npu::study::workload::Strategy as Designs;
use memscape_npu::{DESIGNS, GemmStudy, KernelDesign, KernelStudy, OutputBuffers, WorkloadStudy};
use memscape_study::{CostEngine, Study, Timeline};
use memscape_workload::{Model, Projections};
use proptest::prelude::*;
use serde_json::Value;

/// Each column that is a sum is that of its parts.
fn check_sums<S: Study>(study: &S) -> Result<(), TestCaseError> {
    let Ok(answer) = study.answer() else { return Err(TestCaseError::reject("does not fit")) };
    let answer = serde_json::to_value(answer).unwrap();
    let column = |name: &str| answer.get(name).and_then(Value::as_f64).unwrap();
    for (whole, parts) in S::SUMS {
        let (whole, parts) = (column(whole), parts.iter().map(|it| column(it)).sum::<f64>());
        prop_assert!((whole - parts).abs() <= 1e-9 * whole, "{} is not {}", whole, parts);
    }
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
