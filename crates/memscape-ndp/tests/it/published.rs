//! Do descriptions say what the paper and data sheets print?

use memscape_ndp::hardware::{ACTIVITIES, CALIBRATION, DIMMS, GPUS, HOSTS, MACHINES};
use memscape_ndp::{ActivityStudy, InferenceStudy, PartitionStudy, PredictorStudy};
use memscape_study::{AnyCatalog, Study};
use memscape_workload::Model;

/// Hermes, Table II: 32 GB per DIMM in four ranks of two bank groups of four
/// banks; a 32-cycle FP16 multiplication makes 64 multiply-accumulates per
/// nanosecond of 256 multipliers of eight lanes.
#[test]
fn published_dimm() {
    let dimm = InferenceStudy::default().dimm;
    let bytes = dimm.memory.capacity().0 * u64::from(dimm.ranks.get());
    // The paper's GB are binary here.
    assert_eq!(bytes, 32 << 30);
    assert_eq!((dimm.memory.bank_groups.get(), dimm.memory.banks_per_group()), (2, 4));
    let cycles = |ns: f64| ns / dimm.memory.tck().as_f64();
    let row = [
        dimm.memory.trc().as_f64(),
        dimm.memory.trcd_ns.as_f64(),
        dimm.memory.cl_ns.as_f64(),
        dimm.memory.trp_ns.as_f64(),
    ];
    assert_eq!(row.map(|it| cycles(it).to_string()), ["76", "24", "24", "24"]);
    assert!((dimm.macs_per_ns() - 64.0).abs() < 1e-12);
    // Two DIMMs on each of four channels of DDR4-3200.
    assert!((MACHINES.get("hermes").pins_gb_s() - 4.0 * 25.6).abs() < 1e-9);
}

#[test]
fn every_description_is_read_and_every_free_parameter_has_its_place() {
    for name in ["rtx-4090", "rtx-3090", "tesla-t4", "a100-40gb"] {
        assert!(GPUS.find(name).is_ok(), "{name}");
    }
    for catalog in [&DIMMS as &dyn AnyCatalog, &HOSTS, &ACTIVITIES] {
        assert_eq!(catalog.presets().len(), 1, "{}", catalog.kind());
    }
    let machine = MACHINES.find_plain("hermes").unwrap();
    for free in CALIBRATION.parameters() {
        let value = free.path.split('.').fold(&machine.parameters, |tree, key| &tree[key]);
        assert_eq!(value.as_f64(), Some(free.value), "{}", free.path);
        assert!(free.min <= free.value && free.value <= free.max, "{}", free.path);
        assert!(machine.sources[&free.path].starts_with("calibrated"), "{}", free.path);
    }
    assert!(CALIBRATION.parameters().len() <= 13);
    assert!(MACHINES.find("zeus").is_err());
}

/// A name's description is what each study holds by default, as far as it does.
#[test]
fn slots_name_their_defaults() {
    fn check<S: Study>() {
        let study = serde_json::to_value(S::default()).unwrap();
        for slot in S::slots().into_iter().filter(|it| !it.default.is_empty() && it.path != "model") {
            let found = slot.catalog.find_plain(slot.default).unwrap();
            let place = slot.path.split('.').fold(&study, |tree, key| &tree[key]);
            holds(if slot.whole { &study } else { place }, &found.parameters, slot.path);
        }
    }
    fn holds(study: &serde_json::Value, described: &serde_json::Value, path: &str) {
        let Some(table) = described.as_object() else { return assert_eq!(study, described, "{path}") };
        for (key, described) in table {
            if let Some(value) = study.get(key) {
                holds(value, described, &format!("{path}.{key}"));
            }
        }
    }
    check::<InferenceStudy>();
    check::<PartitionStudy>();
    check::<PredictorStudy>();
    check::<ActivityStudy>();
}

/// Sec. V-F: Hermes costs about 2500 dollars.
#[test]
fn published_cost() {
    let answer = InferenceStudy::default().answer().unwrap();
    assert!((answer.headline.cost_usd.unwrap() - 2500.0).abs() < 1e-9);
    assert!(answer.headline.energy_package_limit_j.is_some());
    // What is open of a DIMM anyway makes it no other.
    let mut open = InferenceStudy::default();
    open.dimm.cycles_per_multiply = 24.try_into().unwrap();
    assert_eq!(open.answer().unwrap().headline.cost_usd, answer.headline.cost_usd);
    // Of another board, neither price nor power is known.
    let mut other = InferenceStudy::default();
    other.gpu.fp16_tops = 3300.0.try_into().unwrap();
    let headline = other.answer().unwrap().headline;
    assert_eq!((headline.cost_usd, headline.energy_package_limit_j), (None, None));
    // But for what is given, be it as much as some card's; a price alone makes it no other.
    let (price, board) = (1599.0.try_into().unwrap(), 400.0.try_into().unwrap());
    other.gpu.price_usd = Some(price);
    let headline = other.answer().unwrap().headline;
    assert_eq!((headline.cost_usd, headline.energy_package_limit_j), (answer.headline.cost_usd, None));
    let mut known = InferenceStudy::default();
    known.gpu.board_w = Some(board);
    let headline = known.answer().unwrap().headline;
    assert_eq!(headline.cost_usd, answer.headline.cost_usd);
    let limits = [headline, answer.headline].map(|it| it.energy_package_limit_j.unwrap());
    assert!((limits[0] / limits[1] - 400.0 / 450.0).abs() < 1e-12, "{limits:?}");
    // Nor do energies of its memory that are known within a factor.
    let mut drawn = InferenceStudy::default();
    drawn.dimm.memory.energy.as_mut().unwrap().activate_pj_per_bit.value *= 1.1;
    assert_eq!(drawn.answer().unwrap().headline.cost_usd, answer.headline.cost_usd);
}

#[test]
fn every_study_answers_its_default() {
    assert!(InferenceStudy::default().answer().unwrap().headline.tokens_per_s > 0.0);
    assert!(ActivityStudy::default().answer().unwrap().density > 0.0);
    let (model, hot_share) = (Some(Model::named("opt-1.3b").unwrap()), Some(0.1.try_into().unwrap()));
    let partition = PartitionStudy { model, hot_share, ..PartitionStudy::default() }.answer().unwrap();
    assert!(partition.gap < 1e-3 && partition.gpu_gb <= partition.gpu_capacity_gb);
    let predictor = PredictorStudy { model, hot_share, ..PredictorStudy::default() }.answer().unwrap();
    assert!(predictor.accuracy > 0.9 && predictor.recall.unwrap() > 0.5, "{predictor:?}");
}
