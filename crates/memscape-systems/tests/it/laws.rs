//! Every study keeps its laws on machines that nobody built.

use std::collections::BTreeSet;

use memscape_explore::{DynStudy, Parameters, Rule, examine};
use memscape_systems::{studies, study};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// Points of each study; `memscape laws --points` looks at more.
const POINTS: u64 = 1000;

/// Of those whose answers take longer, so that all take minutes.
const FEWER: [(&str, u64); 10] = [
    ("pim.inference", 400),
    ("npu.balance", 12),
    ("ndp.inference", 20),
    ("ndp.predictor", 20),
    ("ndp.partition", 20),
    ("pim.regret", 20),
    ("npu.inference", 100),
    ("npu.workload", 100),
    ("mixed.inference", 100),
    ("ndp.activity", 300),
];

/// What is held fast where an answer would take seconds: the walks of Hermes see fewer
/// layers and tokens.
const SHORT: [(&str, &str); 2] = [
    ("ndp.predictor", r#"{"prompt_tokens": 8, "generated_tokens": 8, "layers": 2}"#),
    ("ndp.activity", r#"{"prompt_tokens": 16, "generated_tokens": 8, "layers": 2}"#),
];

/// Studies of bytes and counts, none of whose numbers is a time or a rate.
const TIMELESS: [&str; 4] = ["ondevice.capacity", "ondevice.roofline", "riscv.census", "ndp.activity"];

/// Walks take seconds, closed forms take milliseconds: more points of these alone.
const CLOSED: [(&str, u64); 2] = [("ndp.inference", 120), ("npu.balance", 120)];

#[test]
fn every_study_keeps_its_laws() {
    let broken: Vec<String> = asked_about().into_par_iter().filter_map(broken_by).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// All studies, or one alone, while it is being written: `LAWS_STUDY=pim.gemv`.
fn asked_about() -> Vec<&'static dyn DynStudy> {
    let one = std::env::var("LAWS_STUDY").ok();
    let all: Vec<&dyn DynStudy> =
        studies().filter(|it| one.as_deref().is_none_or(|one| it.name() == one)).collect();
    assert!(!all.is_empty(), "there is no study {one:?}");
    all
}

#[test]
fn closed_forms_keep_the_laws_where_walks_take_long() {
    let fixed = Parameters::from_iter([("engine".to_owned(), json!("closed"))]);
    let broken_by =
        |(name, points): (&str, u64)| broken_at(study(name).expect("it is registered"), &fixed, points);
    let broken: Vec<String> = CLOSED.into_par_iter().filter_map(broken_by).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// What is broken by a study, if anything is.
fn broken_by(study: &dyn DynStudy) -> Option<String> {
    let points = FEWER.iter().find(|it| it.0 == study.name()).map_or(POINTS, |it| it.1);
    let short = SHORT.iter().find(|it| it.0 == study.name());
    let fixed: Parameters = short.map_or_else(Parameters::new, |it| serde_json::from_str(it.1).unwrap());
    broken_at(study, &fixed, points)
}

fn broken_at(study: &dyn DynStudy, fixed: &Parameters, points: u64) -> Option<String> {
    let it =
        examine(study, fixed, points, 11, &()).unwrap_or_else(|error| panic!("{}: {error}", study.name()));
    println!("{it}");
    assert!(it.complete);
    let asked = |rule| it.checked.iter().filter(|it| it.rule == rule).map(|it| it.checks).sum::<u64>();
    assert!(
        asked(Rule::Clock) > 0 || TIMELESS.contains(&study.name()),
        "{}: no clock was slowed",
        study.name()
    );
    (!it.broken.is_empty()).then(|| it.to_string())
}

/// Whose answer takes a second.
const SMALL: (&str, &str) = ("ndp.partition", r#"{"model": "opt-125m"}"#);

/// What is declared unused is refused where it is given by itself, but a description holds it: no answer may depend
/// on it there, also where rows are short and banks are few, so that opening them takes long.
#[test]
fn what_is_unused_moves_nothing() {
    let moved: Vec<(u64, Vec<String>)> = asked_about().into_par_iter().map(moved_by_the_unused).collect();
    let compared: u64 = moved.iter().map(|it| it.0).sum();
    assert!(compared > 500 || std::env::var_os("LAWS_STUDY").is_some(), "{compared}");
    let moved: Vec<String> = moved.into_iter().flat_map(|it| it.1).collect();
    assert!(moved.is_empty(), "{}", moved.join("\n"));
}

/// How many pairs of answers were compared, and what of them differs.
fn moved_by_the_unused(study: &dyn DynStudy) -> (u64, Vec<String>) {
    let short = SHORT.iter().chain(&[SMALL]).find(|it| it.0 == study.name());
    let short: Parameters = short.map_or_else(Parameters::new, |it| serde_json::from_str(it.1).unwrap());
    let is_unused =
        |path: &str| study.laws().is_unused(path) && !study.slots().iter().any(|it| it.path == path);
    let is_slow = FEWER.iter().any(|it| it.0 == study.name());
    let (presets, factors) = if is_slow { (1, &[16.0][..]) } else { (3, &[1.0 / 16.0, 16.0][..]) };
    let (mut compared, mut moved) = (0, Vec::new());
    for slot in study.slots() {
        for preset in slot.catalog.presets().iter().take(presets) {
            let strained = [("row_bytes", 1.0 / 16.0), ("banks_per_channel", 0.25)];
            let strained = strained.into_iter().filter_map(|(name, by)| {
                let number = preset.parameters.get(name)?.as_f64()?;
                Some((name.to_owned(), fitting(&preset.parameters[name], number * by)))
            });
            for own in [Map::new(), strained.collect()] {
                let with = |more: &Map<String, Value>| {
                    let mut fields = own.clone();
                    fields.extend(more.clone());
                    let it = json!({"base": preset.name, "parameters": fields});
                    study.run_layers(&[&short, &Parameters::from_iter([(slot.path.to_owned(), it)])])
                };
                let unused = leaves(&preset.parameters).into_iter().filter_map(|(field, value)| {
                    let path = if slot.whole { field.clone() } else { format!("{}.{field}", slot.path) };
                    is_unused(&path).then_some((path, field, value))
                });
                let mut unused = unused.peekable();
                if unused.peek().is_none() {
                    continue;
                }
                let Ok(before) = with(&Map::new()) else { continue };
                for (path, field, value) in unused {
                    for by in factors.iter().copied() {
                        let other = fitting(value, value.as_f64().unwrap_or_default() * by);
                        let Ok(after) = with(&nested(&field, other)) else { continue };
                        compared += 1;
                        // The price of a machine is that of this very one.
                        let differs = |(a, b): &(&(String, Value), &(String, Value))| {
                            a != b && !a.0.contains("usd") && !b.1.is_null()
                        };
                        if let Some((a, b)) = before.iter().zip(&after).find(differs) {
                            let of = format!("{} {}={}", study.name(), slot.path, preset.name);
                            moved.push(format!(
                                "{of}, {own:?}: `{path}` times {by} moves `{}`: {} {}",
                                a.0, a.1, b.1
                            ));
                        }
                    }
                }
            }
        }
    }
    (compared, moved)
}

/// The numbers of a description, by their dotted paths.
fn leaves(table: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    for (name, value) in table.as_object().into_iter().flatten() {
        if value.is_number() {
            all.push((name.clone(), value));
        }
        all.extend(leaves(value).into_iter().map(|(rest, it)| (format!("{name}.{rest}"), it)));
    }
    all
}

/// A number of the same kind.
#[expect(clippy::cast_possible_truncation, reason = "far below 2^53")]
fn fitting(like: &Value, number: f64) -> Value {
    if like.is_f64() { json!(number) } else { json!(number.round().max(1.0) as i64) }
}

/// The table that has this value at a dotted path.
fn nested(path: &str, value: Value) -> Map<String, Value> {
    match path.split_once('.') {
        Some((first, rest)) => Map::from_iter([(first.to_owned(), nested(rest, value).into())]),
        None => Map::from_iter([(path.to_owned(), value)]),
    }
}

/// More exceptions than these would be another model. One that several parameters share
/// is one.
#[test]
fn exceptions_are_few() {
    let effects = studies().flat_map(|study| study.laws().effects());
    let exceptions: BTreeSet<String> =
        effects.flat_map(|it| it.except).map(|it| format!("{}: {}", it.when, it.reason)).collect();
    assert!(exceptions.len() < 10, "{exceptions:#?}");
}
