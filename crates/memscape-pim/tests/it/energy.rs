//! Does energy follow from commands and time as it must on any machine?

use memscape_dram::Dram;
use memscape_pim::{GemvAnswer, GemvStudy, InferenceStudy, Placement};
use memscape_study::random::Key;
use memscape_study::{CostEngine, Grade, Graded, Study};
use memscape_units::{MtPerS, Nanoseconds};
use memscape_workload::{Matrix, Model};

fn answer(study: &GemvStudy) -> GemvAnswer {
    study.answer().unwrap()
}

/// Some matrices in some formats and placements, with some energies.
fn studies() -> impl Iterator<Item = GemvStudy> {
    (0..60).filter_map(|seed| {
        let key = Key::new(seed);
        let below = |counter, end| usize::try_from(key.bits(counter) % end).unwrap();
        let mut study = GemvStudy {
            model: Model::named(["opt-125m", "opt-350m", "llama-3.2-1b"][below(0, 3)]).unwrap(),
            gemv: [Matrix::Qkv, Matrix::Out][below(1, 2)],
            format: ["int8", "int4", "fp16", "mx-int8-b32"][below(2, 4)].parse().unwrap(),
            placement: [Placement::Best, Placement::Pimnast, Placement::ColumnMajor, Placement::FixedTile]
                [below(3, 4)],
            refresh: below(4, 2) == 1,
            charge_reduction: true,
            split_k: [1, 2][below(5, 2)].try_into().unwrap(),
            ..GemvStudy::default()
        };
        let takes = study.memory.energy.as_mut().unwrap();
        let given = [&mut takes.activate_pj_per_bit, &mut takes.refresh_nj_per_gbit, &mut takes.bank_share];
        for (counter, it) in given.into_iter().enumerate() {
            it.value *= 2.0 * key.uniform(100 + counter as u64);
            it.within *= 1.0 + key.uniform(200 + counter as u64);
        }
        study.answer().is_ok().then_some(study)
    })
}

fn dynamic_j(it: &GemvAnswer) -> f64 {
    let energy = it.energy;
    energy.energy_j.unwrap() - energy.energy_standby_j.unwrap() - energy.energy_refresh_j.unwrap()
}

#[test]
fn both_engines_take_the_same_energy() {
    let mut asked = 0;
    for study in studies() {
        let closed = answer(&study);
        let events = answer(&GemvStudy { engine: CostEngine::Events, ..study });
        assert_eq!(closed, events, "{study:?}");
        asked += 1;
    }
    assert!(asked > 30, "only {asked}");
}

/// A clock alone: what is given in nanoseconds stays, and so does what is done.
#[test]
fn the_same_work_on_a_slower_clock_is_not_less_energy() {
    for study in studies().map(|it| GemvStudy { refresh: false, placement: Placement::Pimnast, ..it }) {
        let Ok(fast) = study.answer() else { continue };
        let rate = MtPerS::new(study.memory.data_rate_mt_s.as_f64() / 4.0).unwrap();
        let memory = Dram { data_rate_mt_s: rate, ..study.memory };
        let slow = answer(&GemvStudy { memory, ..study });
        assert!(dynamic_j(&slow) >= dynamic_j(&fast) * (1.0 - 1e-12));
        assert!(slow.energy.energy_standby_j > fast.energy.energy_standby_j);
        assert!(slow.energy.energy_j > fast.energy.energy_j);
    }
}

#[test]
fn more_refresh_is_more_energy() {
    for study in studies() {
        let refreshed = GemvStudy { refresh: true, ..study };
        let trefi_ns = Nanoseconds::new(study.memory.trefi_ns.as_f64() / 4.0).unwrap();
        let often = GemvStudy { memory: Dram { trefi_ns, ..study.memory }, ..refreshed };
        let [never, some, most] =
            [GemvStudy { refresh: false, ..study }, refreshed, often].map(|it| answer(&it));
        let refresh = |it: &GemvAnswer| it.energy.energy_refresh_j.unwrap();
        assert_eq!(refresh(&never).to_bits(), 0.0_f64.to_bits());
        assert!(refresh(&never) <= refresh(&some) && refresh(&some) <= refresh(&most));
        assert!(
            never.energy.energy_j <= some.energy.energy_j && some.energy.energy_j <= most.energy.energy_j
        );
    }
}

#[test]
fn ends_enclose_the_middle_and_factors_widen_them() {
    for study in studies() {
        let it = answer(&study).energy;
        let [low, middle, high] = [it.energy_low_j, it.energy_j, it.energy_high_j].map(Option::unwrap);
        assert!(0.0 < low && low <= middle && middle <= high);
        assert_eq!(it.energy_grade, Some(Grade::Prior));
        let mut wider = study;
        wider.memory.energy.as_mut().unwrap().read_pj_per_bit.within *= 2.0;
        let wide = answer(&wider).energy;
        assert!(wide.energy_low_j < it.energy_low_j && it.energy_high_j < wide.energy_high_j);
        assert!((wide.energy_j.unwrap() / middle - 1.0).abs() < 1e-12);
    }
}

/// A unit beside the bank spares what lies between bank and processor, and no more.
#[test]
fn a_bank_that_is_all_of_a_read_spares_only_the_pins() {
    let study = GemvStudy::default();
    let default = answer(&study);
    assert!(default.energy.energy_high_j < default.soc_energy_high_j);
    assert!(default.energy.energy_low_j < default.soc_energy_low_j);
    let mut whole = study;
    let takes = whole.memory.energy.as_mut().unwrap();
    let certain = |value| Graded { value, within: 1.0, grade: Grade::Prior };
    takes.bank_share = certain(1.0);
    takes.io_pj_per_bit = certain(0.0);
    whole.pim.mac_pj_per_bit = Some(certain(0.0));
    takes.standby_mw = certain(0.0);
    let it = answer(&whole);
    // Reads and rows of weights, inputs and outputs on top.
    assert!(it.energy.energy_j > it.soc_energy_j);
}

#[test]
fn nothing_known_is_null_and_only_that() {
    let mut study = GemvStudy::default();
    study.memory.energy = None;
    let it = answer(&study);
    assert_eq!((it.energy.energy_j, it.energy.energy_boundary, it.soc_energy_j), (None, None, None));
    let mut study = GemvStudy::default();
    study.pim.mac_pj_per_bit = None;
    let it = answer(&study);
    assert!(it.energy.energy_j.is_none() && it.soc_energy_j.is_some());
    let mut inference = InferenceStudy::default();
    inference.pim.mac_pj_per_bit = None;
    assert!(inference.answer().unwrap().headline.energy.energy_j.is_none());
    let mut on_soc = serde_json::to_value(inference).unwrap();
    on_soc["system"] = "soc".into();
    let on_soc: InferenceStudy = serde_json::from_value(on_soc).unwrap();
    assert!(on_soc.answer().unwrap().headline.energy.energy_j.is_some(), "no unit is asked");
}

/// A token's GEMVs are the GEMVs' own.
#[test]
fn a_reply_takes_what_its_gemvs_take_and_more() {
    let it = InferenceStudy::default();
    let matrices = it.model.layer_gemvs(it.projections);
    let layers = f64::from(it.model.layers);
    let of_layers: f64 =
        matrices.map(|(matrix, _)| dynamic_j(&answer(&it.gemv(matrix)))).sum::<f64>() * layers;
    #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
    let tokens = it.generated_tokens.get() as f64;
    let whole = it.answer().unwrap().headline;
    assert!(whole.energy.energy_j.unwrap() > of_layers * tokens);
    assert!(
        (whole.energy_per_token_j.unwrap() * tokens / whole.energy.energy_j.unwrap() - 1.0).abs() < 1e-12
    );
    assert!(whole.low_tokens_per_j < whole.high_tokens_per_j);
}
