//! Do the parts of every answer add up to the whole?

use std::num::NonZeroU64;

use memscape_dram::MEMORIES;
use memscape_ondevice::cost::footprint::PadTo;
use memscape_ondevice::hardware::PimBlocks;
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::layout::Placement;
use memscape_ondevice::{CapacityStudy, DecodeStudy, GemvStudy, InferenceStudy, PrefillStudy, RooflineStudy};
use memscape_study::{CostEngine, Study, sums_off};
use memscape_workload::{Format, Model};
use proptest::prelude::*;

use crate::agreement::prefill;
use crate::count;

/// The sums of an answer, relative to 10^-9.
fn check<S: Study>(study: &S) -> Result<(), TestCaseError> {
    let answer = study.answer().map_err(|it| TestCaseError::reject(it.to_string()))?;
    let answer = serde_json::to_value(answer).unwrap();
    let column = |name: &str| answer[name].as_f64().unwrap_or_else(|| panic!("{name} is no number"));
    let off = sums_off(S::SUMS, 1e-9, |it| Some(column(it)));
    prop_assert!(off.is_empty(), "{}: {off:?}", S::NAME);
    Ok(())
}

fn model() -> impl Strategy<Value = Model> {
    let names = vec!["llama-3.2-1b", "opt-125m", "gemma-3-1b", "qwen3-0.6b", "qwen3-8b"];
    prop::sample::select(names).prop_map(|it| it.parse().unwrap())
}

fn scheme() -> impl Strategy<Value = Scheme> {
    prop::sample::select(vec![
        Scheme::WeightDuplication,
        Scheme::FacilO,
        Scheme::Ddb,
        Scheme::Owr,
        Scheme::CacheableGemm,
        Scheme::NonCacheableGemm,
    ])
}

fn pad(output: bool) -> PadTo {
    if output { PadTo::OutputTile } else { PadTo::RowTile }
}

prop_compose! {
    fn gemv()(
        (m, k) in (1_u64..5000, 1_u64..3000),
        (input, output, shared) in (1_u32..12, 4_u32..16, 0_u32..3),
        (columns, hbm, refresh, events) in any::<(bool, bool, bool, bool)>(),
        format in prop::sample::select(vec!["int4", "int8", "bf16"]),
    ) -> GemvStudy {
        GemvStudy {
            m: NonZeroU64::new(m),
            k: NonZeroU64::new(k),
            format: format.parse::<Format>().unwrap(),
            placement: if columns { Placement::ColumnBursts } else { Placement::RowBursts },
            memory: *MEMORIES.get(if hbm { "hbm2-2000" } else { "lpddr5x-8533" }),
            pim: PimBlocks {
                input_registers: count(input),
                output_registers: count(output),
                banks_per_block: count(1 << shared),
            },
            refresh,
            engine: if events { CostEngine::Events } else { CostEngine::Closed },
            ..GemvStudy::default()
        }
    }
}

proptest! {
    #[test]
    fn gemv_and_decode(gemv in gemv(), model in model(), overhead in 0.0..200.0_f64) {
        check(&gemv)?;
        let GemvStudy { format, placement, memory, pim, refresh, .. } = gemv;
        let mut decode = DecodeStudy { model, format, placement, memory, pim, refresh, ..DecodeStudy::default() };
        decode.cpu.product_overhead_us = overhead;
        check(&decode)?;
    }

    #[test]
    fn prefill_and_inference(
        base in prefill(),
        model in model(),
        scheme in scheme(),
        (generated, batch) in (1_u64..5000, 1_u64..9),
        events in any::<bool>(),
    ) {
        let engine = if events { CostEngine::Events } else { CostEngine::Closed };
        check(&PrefillStudy { engine, ..base.clone() })?;
        check(&PrefillStudy { scheme, ..base.clone() })?;
        check(&InferenceStudy {
            model,
            prompt_tokens: base.prompt_tokens,
            generated_tokens: NonZeroU64::new(generated).unwrap(),
            batch: NonZeroU64::new(batch).unwrap(),
            scheme,
            together: base.together,
            ff0_split: base.ff0_split,
            step_cost: base.step_cost,
            cpu: base.cpu,
            ..InferenceStudy::default()
        })?;
    }

    #[test]
    fn capacity_and_roofline(
        model in model(),
        scheme in scheme(),
        buffer in proptest::option::of(1_u64..1 << 28),
        (layers, lm_head) in any::<(bool, bool)>(),
        (tokens, flop_per_byte, transactions) in (1_u64..5000, 0.5..300.0_f64, 1_u32..5),
    ) {
        check(&CapacityStudy {
            model,
            scheme,
            buffer_bytes: buffer.and_then(NonZeroU64::new),
            layer_padding: pad(layers),
            lm_head_padding: pad(lm_head),
            ..CapacityStudy::default()
        })?;
        let (prompt_tokens, copy_transactions) = (NonZeroU64::new(tokens).unwrap(), count(transactions));
        check(&RooflineStudy { prompt_tokens, flop_per_byte, copy_transactions, ..RooflineStudy::default() })?;
    }
}
