//! Do the studies keep their laws on random machines?

use memscape_pim::{GemvStudy, InferenceStudy};
use memscape_study::Study;
use memscape_study::random::Key;
use memscape_study::{Limited, More};
use serde_json::{Map, Value, json};

/// Numbers by path.
fn leaves(prefix: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&path, value, found);
            }
        }
        Value::Number(_) => found.push(prefix.to_owned()),
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(value, |it, key| it.get_mut(key).unwrap())
}

fn read(value: &Value, path: &str) -> Value {
    path.split('.').try_fold(value, |it, key| it.get(key)).cloned().unwrap_or(Value::Null)
}

fn times(value: &Value, factor: f64) -> Option<Value> {
    if let Some(count) = value.as_u64() {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let scaled = (count as f64 * factor).round() as u64;
        (scaled > 0).then(|| json!(scaled))
    } else {
        Some(json!(value.as_f64()? * factor))
    }
}

fn ask<S: Study>(parameters: &Value) -> Option<(S, Map<String, Value>)> {
    let study: S = serde_json::from_value(parameters.clone()).ok()?;
    let answer = serde_json::to_value(study.answer().ok()?).unwrap();
    Some((study, answer.as_object().unwrap().clone()))
}

/// A built-in machine with a few numbers changed, and random choices.
fn base<S: Study>(seed: u64, choices: &[(&str, &[Value])]) -> Value {
    let (key, mut next) = (Key::new(seed), 0);
    let mut below = |end: usize| {
        next += 1;
        usize::try_from(key.bits(next) % end as u64).unwrap()
    };
    let mut parameters = serde_json::to_value(S::default()).unwrap();
    for (path, values) in choices {
        *at(&mut parameters, path) = values[below(values.len())].clone();
    }
    let mut paths = Vec::new();
    leaves("", &parameters, &mut paths);
    for _ in 0..below(12) {
        let path = &paths[below(paths.len())];
        let value = at(&mut parameters, path);
        if let Some(scaled) = times(value, [0.25, 0.5, 2.0, 4.0][below(4)]) {
            *value = scaled;
        }
    }
    parameters
}

#[derive(Default)]
struct Report {
    bases: u32,
    checks: u32,
    falls: Vec<String>,
    moved: std::collections::BTreeMap<String, bool>,
}

fn check<S: Study>(seeds: std::ops::Range<u64>, choices: &[(&str, &[Value])]) -> Report {
    let mut report = Report::default();
    let laws = S::LAWS;
    let aim = laws.aim.unwrap();
    for seed in seeds {
        let parameters = base::<S>(seed, choices);
        let Some((study, answer)) = ask::<S>(&parameters) else { continue };
        report.bases += 1;
        for (column, value) in &answer {
            if value.as_f64().is_some_and(|it| !it.is_finite() || it < 0.0) {
                report.falls.push(format!("{column} = {value}: {parameters}"));
            }
        }
        for bound in study.bounds() {
            let found = answer[bound.column].as_f64().unwrap();
            let holds = match bound.limit {
                Limited::AtLeast(least) => found >= least * (1.0 - 1e-6),
                Limited::AtMost(most) => found <= most * (1.0 + 1e-6),
            };
            if !holds {
                report.falls.push(format!("{}: {found} {:?} {parameters}", bound.why, bound.limit));
            }
        }
        let headline = answer[aim.column].as_f64().unwrap();
        if let Some(engines) = laws.engines {
            let mut other = parameters.clone();
            for engine in engines.values {
                *at(&mut other, engines.parameter) = json!(engine);
                let Some((_, answer)) = ask::<S>(&other) else { continue };
                let apart = (answer[aim.column].as_f64().unwrap() / headline - 1.0).abs();
                if apart > engines.within {
                    report.falls.push(format!("engines are {apart} apart: {parameters}"));
                }
            }
        }
        let mut paths = Vec::new();
        leaves("", &parameters, &mut paths);
        for path in paths {
            let effect = laws.effect_on(&path).unwrap_or_else(|| panic!("nothing is said of {path}"));
            let inert = effect.only.iter().any(|it| !it.holds(&read(&parameters, it.path)));
            let excepted = effect.except.iter().any(|it| it.when.holds(&read(&parameters, it.when.path)));
            let mut points = vec![(1.0, answer.clone())];
            for factor in [0.5, 2.0, 4.0] {
                let mut changed = parameters.clone();
                let value = at(&mut changed, &path);
                let Some(scaled) = times(value, factor) else { continue };
                *value = scaled;
                points.extend(ask::<S>(&changed).map(|it| (factor, it.1)));
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            for pair in points.windows(2) {
                report.checks += 1;
                let [less, more] = [&pair[0].1, &pair[1].1].map(|it| it[aim.column].as_f64().unwrap());
                let change = more / less - 1.0;
                *report.moved.entry(path.clone()).or_default() |= pair[0].1 != pair[1].1;
                let wrong = match effect.more {
                    _ if excepted => false,
                    More::Better => change > 1e-6,
                    More::Worse => change < -1e-6,
                    More::Neutral => change.abs() > 1e-6,
                    More::Unused(_) => pair[0].1 != pair[1].1,
                    More::Either(_) => false,
                };
                if wrong || (inert && change.abs() > 1e-9) {
                    report.falls.push(format!(
                        "{path} x {} to {}: {change:+e} of {parameters}",
                        pair[0].0, pair[1].0
                    ));
                }
            }
        }
    }
    report
}

fn shown(name: &str, report: &Report) {
    println!("{name}: {} bases, {} checks, {} falls", report.bases, report.checks, report.falls.len());
    let dead: Vec<_> = report.moved.iter().filter(|it| !it.1).map(|it| it.0).collect();
    println!("dead: {dead:?}");
    let mut count = std::collections::BTreeMap::new();
    for fall in &report.falls {
        let (name, _) = fall.split_once(' ').unwrap();
        let seen = count.entry(name.to_owned()).or_insert(0);
        *seen += 1;
        if *seen <= 2 {
            println!("{}", &fall[..fall.len().min(2600)]);
        }
    }
    println!("{count:?}");
}

/// Points, or as many as `LAW_POINTS` says.
fn seeds(usual: u64) -> u64 {
    std::env::var("LAW_POINTS").ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_matrix() {
    let choices: [(&str, &[Value]); 11] = [
        ("model", &[json!("opt-125m"), json!("opt-1.3b"), json!("opt-2.7b"), json!("llama-3.2-3b")]),
        ("gemv", &[json!("qkv"), json!("out")]),
        (
            "format",
            &[json!("int8"), json!("int4"), json!("fp16"), json!("mx-int8-b32"), json!("mx-int4-b64")],
        ),
        ("tile", &[json!("auto"), json!("auto"), json!(16)]),
        ("cr_degree", &[json!("auto"), json!("auto"), json!(2)]),
        ("split_k", &[json!(1), json!(1), json!(2)]),
        (
            "placement",
            &[json!("best"), json!("best"), json!("pimnast"), json!("column-major"), json!("fixed-tile")],
        ),
        ("refresh", &[json!(false), json!(true)]),
        ("engine", &[json!("closed"), json!("events")]),
        (
            "pim.cross_lane",
            &[json!("lane-shift"), json!("lane-shift-last"), json!("any-shift"), json!("tree")],
        ),
        ("pim.input_registers", &[json!(4), json!(8)]),
    ];
    let report = check::<GemvStudy>(0..seeds(120), &choices);
    shown("pim.gemv", &report);
    assert!(report.falls.is_empty());
}

#[test]
fn a_reply() {
    let choices: [(&str, &[Value]); 9] = [
        ("placement", &[json!("best"), json!("best"), json!("pimnast"), json!("fixed-tile")]),
        ("model", &[json!("opt-125m"), json!("opt-1.3b"), json!("gemma-3-1b"), json!("llama-3.2-3b")]),
        ("format", &[json!("int8"), json!("int4"), json!("fp16"), json!("mx-int8-b32")]),
        ("tile", &[json!("auto"), json!("auto"), json!(16)]),
        ("cr_degree", &[json!("auto"), json!("auto"), json!(2)]),
        ("refresh", &[json!(false), json!(true)]),
        ("attention", &[json!("fused"), json!("unfused")]),
        ("lm_head", &[json!("soc"), json!("pim")]),
        ("pim.input_registers", &[json!(4), json!(8)]),
    ];
    let report = check::<InferenceStudy>(0..seeds(20), &choices);
    shown("pim.inference", &report);
    assert!(report.falls.is_empty());
}
