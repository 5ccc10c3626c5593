//! Do answers move as the laws say, on random machines?

use memscape_ndp::{InferenceStudy, PartitionStudy, PredictorStudy};
use memscape_study::random::Key;
use memscape_study::{Limited, More, Study, When};
use serde_json::{Value, json};

/// Numbers of a study by dotted path.
fn numbers(tree: &Value, path: &str, found: &mut Vec<String>) {
    match tree {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                numbers(value, &path, found);
            }
        }
        Value::Number(_) => found.push(path.to_owned()),
        _ => {}
    }
}

fn at<'a>(tree: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(tree, |tree, key| &mut tree[key])
}

fn scale(tree: &mut Value, path: &str, factor: f64) {
    let place = at(tree, path);
    let Some(now) = place.as_f64() else { return };
    *place = if place.is_u64() { json!((now * factor).round().max(1.0) as u64) } else { json!(now * factor) };
}

fn answer(tree: &Value) -> Option<(Value, InferenceStudy)> {
    let study: InferenceStudy = serde_json::from_value(tree.clone()).ok()?;
    let answer = serde_json::to_value(study.answer().ok()?).unwrap();
    Some((answer, study))
}

fn holds(tree: &Value, when: &When) -> bool {
    when.holds(when.path.split('.').fold(tree, |tree, key| &tree[key]))
}

/// A machine, policy and workload, drawn from a key.
fn drawn(key: Key, paths: &[String]) -> Value {
    const OPTIONS: [(&str, &[&str]); 8] = [
        ("model", &["opt-1.3b", "opt-13b", "llama-2-13b", "llama-2-70b", "gemma-3-27b", "opt-30b"]),
        (
            "system",
            &["hermes", "hermes", "hermes", "hermes-host", "hermes-base", "accelerate", "flexgen", "deja-vu"],
        ),
        ("strategy", &["random", "partition", "token", "layer", "adjustment", "full", "full", "oracle"]),
        ("missed", &["dropped", "late"]),
        ("prompt", &["pinned", "reload", "pageable"]),
        ("format", &["fp16", "fp16", "q4_0"]),
        ("batch", &["1", "1", "2", "8"]),
        ("dimms", &["8", "4", "16", "6"]),
    ];
    let mut tree = serde_json::to_value(InferenceStudy::default()).unwrap();
    tree["generated_tokens"] = json!(24);
    for (index, (path, values)) in (0..).zip(OPTIONS) {
        let chosen = values[(key.bits(index) % values.len() as u64) as usize];
        tree[path] = chosen.parse::<u32>().map_or_else(|_| json!(chosen), |it| json!(it));
    }
    for (index, path) in (100..).zip(paths) {
        if key.uniform(index) < 0.1 && !path.starts_with("dimm.memory") {
            scale(&mut tree, path, [0.25, 0.5, 1.5, 2.0, 4.0][(key.bits(index + 1000) % 5) as usize]);
        }
    }
    tree
}

/// Whether more of a parameter does what its law says, or by how much the time moves instead; none
/// where no law tells.
fn against_the_law(base: &Value, first: &Value, path: &str, factor: f64) -> Option<Result<(), f64>> {
    let effect = InferenceStudy::LAWS.effect_on(path)?;
    let sign = match effect.more {
        More::Better => 1.0,
        More::Worse => -1.0,
        More::Neutral => 0.0,
        _ => return None,
    };
    if effect.except.iter().any(|it| holds(base, &it.when)) {
        return None;
    }
    let mut changed = base.clone();
    scale(&mut changed, path, factor);
    let (second, _) = answer(&changed)?;
    let (old, new) = (first["total_s"].as_f64()?, second["total_s"].as_f64()?);
    let grown = if factor > 1.0 { new / old - 1.0 } else { old / new - 1.0 };
    let wrong = if sign == 0.0 { grown.abs() > 1e-6 } else { sign * grown > 1e-6 };
    Some(if wrong { Err(grown) } else { Ok(()) })
}

/// What other parameters give by themselves is none.
#[test]
fn what_follows_from_other_parameters_is_refused() {
    for path in ["dimm.memory.column_bytes", "dimm.memory.tck_ns"] {
        for laws in [InferenceStudy::LAWS, PartitionStudy::LAWS, PredictorStudy::LAWS] {
            assert!(matches!(laws.effect_on(path).unwrap().more, More::Unused(_)), "{path}");
        }
    }
}

#[test]
fn answers_move_as_the_laws_say() {
    let laws = InferenceStudy::LAWS;
    let mut paths = Vec::new();
    numbers(&serde_json::to_value(InferenceStudy::default()).unwrap(), "", &mut paths);
    paths.extend(["density", "hot_share"].map(str::to_owned));
    for path in &paths {
        assert!(laws.effect_on(path).is_some(), "{path} has no effect");
    }
    let points = std::env::var("LAW_POINTS").ok().and_then(|it| it.parse().ok()).unwrap_or(24);
    let (mut checked, mut broken) = (0, Vec::new());
    for point in 0..points {
        let base = drawn(Key::new(7).fork(point), &paths);
        let Some((first, study)) = answer(&base) else { continue };
        for bound in study.bounds() {
            let Some(value) = first[bound.column].as_f64() else { continue };
            let inside = match bound.limit {
                Limited::AtLeast(least) => value >= least * (1.0 - 1e-9),
                Limited::AtMost(most) => value <= most * (1.0 + 1e-9),
            };
            assert!(inside, "{} is {value}: {} {}", bound.column, bound.why, base);
        }
        for (name, value) in first.as_object().unwrap() {
            assert!(value.as_f64().is_none_or(|it| it.is_finite() && it >= 0.0), "{name} is {value}: {base}");
        }
        for path in &paths {
            for factor in [0.5, 2.0, 4.0] {
                let Some(grown) = against_the_law(&base, &first, path, factor) else { continue };
                checked += 1;
                if let Err(grown) = grown {
                    broken.push(format!("{path} x {factor}: {grown:+.2e} at point {point}"));
                }
            }
        }
    }
    let list = broken.join("\n");
    assert!(broken.is_empty(), "{} of {checked}:\n{list}", broken.len());
    assert!(checked > 500, "{checked}");
}
