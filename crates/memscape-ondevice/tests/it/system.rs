//! Does the system export what belongs together?

use memscape_ondevice::SYSTEM;
use memscape_ondevice::hardware::{CALIBRATION, HOSTS, PHONES};
use memscape_study::{Slot, Study, StudyVisitor, System};
use serde_json::Value;

struct Visits(Vec<&'static str>);

impl StudyVisitor for Visits {
    fn visit<S: Study>(&mut self) {
        self.0.push(S::NAME);
        let default = serde_json::to_value(S::default()).unwrap();
        for slot in S::slots() {
            check(S::NAME, &default, &slot);
        }
        let answer = serde_json::to_value(S::default().answer().unwrap()).unwrap();
        for column in S::SUMS.iter().flat_map(|it| it.1.iter().chain([&it.0])) {
            assert!(answer[column].is_number(), "{} {column}", S::NAME);
        }
    }
}

/// The default of a study is what its slots' defaults describe, and every
/// description has what the study needs of it.
fn check(study: &str, default: &Value, slot: &Slot) {
    assert!(slot.catalog.presets().iter().any(|it| it.name == slot.default), "{study} {}", slot.path);
    for preset in slot.catalog.presets() {
        if slot.whole {
            let tables = preset.parameters.as_object().unwrap();
            let held = tables.iter().filter(|it| default.get(it.0).is_some());
            assert!(held.clone().count() > 0, "{study} {}", preset.name);
            if preset.name == slot.default {
                held.for_each(|(key, value)| assert_eq!(&default[key], value, "{study} {key}"));
            }
        } else if preset.name == slot.default {
            let held = &default[slot.path];
            assert!(*held == preset.parameters || *held == preset.name, "{study} {}", slot.path);
        }
    }
}

#[test]
fn every_study_stands_on_its_descriptions() {
    fn visited<S: System>(_: S) -> Vec<&'static str> {
        let mut visits = Visits(Vec::new());
        S::studies(&mut visits);
        visits.0
    }
    let names = visited(SYSTEM);
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 7);
    assert!(names.iter().all(|it| it.starts_with("ondevice.")));
}

#[test]
fn the_phone_is_complete_and_its_free_parameters_are_calibrated() {
    let phone = PHONES.find("galaxy-s24-plus").unwrap();
    assert_eq!(CALIBRATION.parameters().len(), 5);
    for free in CALIBRATION.parameters() {
        assert!(phone.source(&free.path).unwrap().starts_with("calibrated: "), "{}", free.path);
    }
    assert!(phone.source("memory.trcd_ns").is_some());
    assert_eq!(HOSTS.names().count(), 4);
}
