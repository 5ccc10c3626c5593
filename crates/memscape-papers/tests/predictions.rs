//! What is said of machines before anybody measures them.

use std::collections::BTreeSet;

use memscape_papers::claims::{Role, Sort, evaluate, published};
use memscape_papers::predictions::{predictions, said, score, spreads};

#[test]
fn every_prediction_is_said_with_an_interval_around_it() {
    let asked: Vec<String> = predictions().unwrap().into_iter().map(|it| it.id).collect();
    let distinct: BTreeSet<&String> = asked.iter().collect();
    assert_eq!(distinct.len(), asked.len());
    let said = said().unwrap();
    for id in &asked {
        let it = said.iter().rfind(|it| it.id == *id).unwrap_or_else(|| panic!("`{id}` was never said"));
        let interval = it.interval;
        assert!(
            0.0 < interval.low && interval.low < interval.value && interval.value < interval.high,
            "{id}"
        );
    }
    assert!(said.iter().all(|it| distinct.contains(&it.id)));
}

#[test]
fn the_model_still_answers_what_it_is_asked() {
    for it in predictions().unwrap().iter().step_by(7) {
        let now = it.now().unwrap();
        assert!(now.low < now.value && now.value < now.high, "{}: {now:?}", it.id);
        assert_eq!(now, it.now().unwrap(), "{}", it.id);
    }
}

/// The factor within which nine of ten predictions of a paper's performance are: of times and rates, and so without
/// steps that a rule chooses.
#[test]
fn spreads_are_those_of_the_claims() {
    for (paper, spread) in spreads().unwrap() {
        let claims: Vec<_> = published(Some(&paper)).unwrap().into_iter().flat_map(|it| it.claims).collect();
        let mut errors: Vec<f64> = evaluate(&claims)
            .unwrap()
            .iter()
            .filter(|it| (it.sort, it.role, it.bound) == (Sort::Performance, Role::Predict, None))
            .filter(|it| it.unit != "elements")
            .filter_map(|it| Some((it.published, it.computed?)))
            .filter(|it| it.0 > 0.0 && it.1 > 0.0)
            .map(|it| (it.1 / it.0).ln().abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        let found = errors[(9 * errors.len()).div_ceil(10) - 1].exp();
        assert!((spread / found - 1.0).abs() < 0.02, "{paper}: {spread}, but {found:.3}");
    }
}

#[test]
fn measurements_are_scored_by_what_was_said() {
    let (first, other) = (said().unwrap().remove(0), said().unwrap().remove(1));
    let measured = |id: &str, value: f64| {
        format!("[[measured]]\nid = \"{id}\"\nvalue = {value:e}\nsource = \"nobody\"\n")
    };
    let both = measured(&first.id, first.interval.value) + &measured(&other.id, other.interval.high * 2.0);
    let scores = score(&both).unwrap();
    assert!(scores[0].inside && scores[0].error.abs() < 1e-12);
    assert!(!scores[1].inside && scores[1].error < 0.0);
    let error = |text: &str| score(text).unwrap_err().to_string();
    let slip = error(&measured("sg2042.llama-2-7b.generatoin", 1.0));
    assert!(slip.contains("did you mean"), "{slip}");
    assert!(error(&measured(&first.id, 0.0)).contains("above 0"));
    let twice = measured(&first.id, 1.0) + &measured(&first.id, 2.0);
    assert!(error(&twice).contains("is measured twice; give one value"), "{}", error(&twice));
    assert!(error("measured = []").contains("is empty"));
    assert!(error("[[measured]]\nid = \"x\"\nvalue = 1").contains("source"));
}
