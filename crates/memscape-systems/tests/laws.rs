//! Every study keeps its laws on machines that nobody built.

use std::collections::BTreeSet;

use memscape_explore::{Parameters, examine};
use memscape_systems::studies;

/// Points of each study, and of one whose answers take long; `memscape laws --points`
/// looks at more.
const POINTS: u64 = 300;
const SLOW_POINTS: u64 = 20;

/// Studies that are not held to their laws here yet: the first still break some, the
/// others take minutes. `memscape laws` shows what is left to mend.
const OPEN: [&str; 10] = [
    "ondevice.layout",
    "ondevice.gemv",
    "ondevice.decode",
    "ondevice.inference",
    "npu.workload",
    "npu.balance",
    "ndp.inference",
    "ndp.partition",
    "ndp.predictor",
    "ndp.activity",
];

#[test]
fn every_study_keeps_its_laws() {
    let mut broken = Vec::new();
    for study in studies().filter(|it| !OPEN.contains(&it.name())) {
        let points = if study.laws().slow { SLOW_POINTS } else { POINTS };
        let it = examine(study, &Parameters::new(), points, 11, &())
            .unwrap_or_else(|error| panic!("{}: {error}", study.name()));
        println!("{it}");
        assert!(it.complete);
        if !it.broken.is_empty() {
            broken.push(it.to_string());
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// More exceptions than these would be another model. One that several parameters share
/// is one.
#[test]
fn exceptions_are_few() {
    let effects = studies().flat_map(|study| study.laws().effects);
    let exceptions: BTreeSet<String> =
        effects.flat_map(|it| it.except).map(|it| format!("{}: {}", it.when, it.reason)).collect();
    assert!(exceptions.len() < 10, "{exceptions:#?}");
}
