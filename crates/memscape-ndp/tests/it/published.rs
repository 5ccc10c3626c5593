//! Do descriptions say what the paper and data sheets print?

use memscape_ndp::hardware::{FREE_PARAMETERS, find_gpu, find_machine};
use memscape_ndp::inference::InferenceStudy;
use memscape_ndp::{ActivityStudy, PartitionStudy, PredictorStudy};
use memscape_study::Study;

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
    let cycles = |ns: f64| ns / dimm.memory.tck_ns.as_f64();
    let row = [
        dimm.memory.trc().as_f64(),
        dimm.memory.trcd_ns.as_f64(),
        dimm.memory.cl_ns.as_f64(),
        dimm.memory.trp_ns.as_f64(),
    ];
    assert_eq!(row.map(|it| cycles(it).to_string()), ["76", "24", "24", "24"]);
    assert!((dimm.macs_per_ns() - 64.0).abs() < 1e-12);
}

#[test]
fn every_description_is_read_and_every_free_parameter_has_its_place() {
    for name in ["rtx-4090", "rtx-3090", "tesla-t4", "a100-40gb"] {
        assert!(find_gpu(name).is_some(), "{name}");
    }
    let machine = find_machine("hermes").unwrap();
    for free in FREE_PARAMETERS.iter() {
        let value = free.path.split('.').fold(&machine.parameters, |tree, key| &tree[key]);
        assert_eq!(value.as_f64(), Some(free.value), "{}", free.path);
        assert!(free.min <= free.value && free.value <= free.max, "{}", free.path);
        assert!(machine.sources[&free.path].starts_with("calibrated"), "{}", free.path);
    }
    assert!(FREE_PARAMETERS.len() <= 13);
    assert!(find_machine("zeus").is_none());
}

/// Sec. V-F: Hermes costs about 2500 dollars.
#[test]
fn published_cost() {
    let answer = InferenceStudy::default().answer().unwrap();
    assert!((answer.cost_usd - 2500.0).abs() < 1e-9);
}

#[test]
fn every_study_answers_its_default() {
    assert!(InferenceStudy::default().answer().unwrap().tokens_per_s > 0.0);
    assert!(ActivityStudy::default().answer().unwrap().density > 0.0);
    let small = || InferenceStudy {
        model: Some(serde_json::from_value("opt-1.3b".into()).unwrap()),
        hot_share: Some(0.1.try_into().unwrap()),
        ..InferenceStudy::default()
    };
    let partition = PartitionStudy(small()).answer().unwrap();
    assert!(partition.gap < 1e-3 && partition.gpu_gb <= partition.gpu_capacity_gb);
    let predictor = PredictorStudy(small()).answer().unwrap();
    assert!(predictor.accuracy > 0.9 && predictor.recall > 0.5, "{predictor:?}");
}
