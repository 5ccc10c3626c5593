//! Random machines, options and workloads to hold a study to its laws.

use memscape_study::node::value_at;
use memscape_study::random::Key;
use serde_json::{Map, Value, json};

use crate::describe::{Description, Parameter, Values};
use crate::parameters::Parameters;
use crate::registry::DynStudy;

/// Random choices, the same for the same key.
pub(super) struct Dice {
    key: Key,
    thrown: u64,
}

impl Dice {
    pub(super) fn new(key: Key) -> Self {
        Self { key, thrown: 0 }
    }

    fn uniform(&mut self) -> f64 {
        self.thrown += 1;
        self.key.uniform(self.thrown)
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A count from 1 to `most`, each power of two as likely as the next.
    fn count_to(&mut self, most: f64) -> f64 {
        (most + 1.0).powf(self.uniform()).floor()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "lists are short"
    )]
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get((self.uniform() * all.len() as f64) as usize)
    }
}

/// What a number is multiplied by to make another machine, most often one of the
/// same kind, sometimes a far one: what does not fit is to be met too.
const FACTORS: [f64; 12] = [1.0 / 64.0, 0.25, 0.25, 0.5, 0.5, 0.75, 1.5, 2.0, 2.0, 4.0, 4.0, 64.0];

/// What stands in for a number that is null or 0.
const FROM_NOTHING: [f64; 4] = [1.0, 2.0, 8.0, 64.0];

/// How often a count is any smaller one instead, few as likely as many: short prompts and matrices of few rows are where
/// tiles, blocks and bursts are not full, and factors of two leave what divides evenly.
const SMALL: f64 = 0.4;

/// How many numbers are changed on average at first; points that cannot exist are
/// tried again with less.
const CHANGED_NUMBERS: f64 = 6.0;

/// Draws parameters over `fixed`, wilder or closer to the defaults.
pub(super) fn draw(
    study: &dyn DynStudy,
    description: &Description,
    fixed: &Parameters,
    wild: f64,
    dice: &mut Dice,
) -> Parameters {
    let mut drawn = Parameters::new();
    let is_free = |it: &&Parameter| {
        !fixed
            .keys()
            .any(|key| *key == it.path || it.path.starts_with(&format!("{key}.")) || names(study, key, it))
    };
    let free: Vec<&Parameter> = description.parameters.iter().filter(is_free).collect();
    for it in &free {
        let value = match &it.values {
            Values::Description(names) if dice.chance(0.5 * wild) => dice.pick(names).map(|it| json!(it)),
            Values::OneOf(values) if dice.chance(0.4 * wild) => dice.pick(values).cloned(),
            Values::Flag if dice.chance(0.3 * wild) => Some(json!(dice.chance(0.5))),
            _ => None,
        };
        if let Some(value) = value {
            drawn.insert(it.path.clone(), value);
        }
    }
    let Ok(tree) = study.tree(&[&drawn, fixed]) else { return drawn };
    let numbers: Vec<&&Parameter> =
        free.iter().filter(|it| matches!(it.values, Values::Number { .. })).collect();
    #[expect(clippy::cast_precision_loss, reason = "a study has few parameters")]
    let probability = (CHANGED_NUMBERS * wild / numbers.len().max(1) as f64).min(0.5);
    for it in numbers {
        // What is asked of a machine is changed more often than what it is made of.
        let probability = if it.path.contains('.') { probability } else { (3.0 * probability).min(0.5) };
        if dice.chance(probability) {
            let now = value_at(&tree, &it.path).and_then(Value::as_f64).unwrap_or(0.0);
            let small = matches!(it.values, Values::Number { whole: true, .. }) && dice.chance(SMALL);
            let new = match now {
                0.0 => dice.pick(&FROM_NOTHING).copied(),
                _ if small => Some(dice.count_to(now)),
                _ => dice.pick(&FACTORS).map(|factor| factor * now),
            };
            if let Some(value) = new.and_then(|new| fitting(&it.values, new)) {
                drawn.insert(it.path.clone(), value);
            }
        }
    }
    drawn.extend(model_field(study, &drawn, &free, wild, dice));
    drawn
}

/// Whether a parameter names a part of the whole machine that stands at `path`.
fn names(study: &dyn DynStudy, path: &str, part: &Parameter) -> bool {
    let machine = study.slots().iter().find(|it| it.whole && it.path == path);
    let parts = machine.and_then(|it| it.catalog.presets().first()).map(|it| &it.parameters);
    matches!(part.values, Values::Description(_))
        && parts.is_some_and(|it| value_at(it, &part.path).is_some())
}

/// One field of a description that is one parameter, such as a model's layers.
fn model_field(
    study: &dyn DynStudy,
    drawn: &Parameters,
    free: &[&Parameter],
    wild: f64,
    dice: &mut Dice,
) -> Option<(String, Value)> {
    let slot = study
        .slots()
        .iter()
        .find(|slot| !slot.whole && free.iter().any(|it| it.path == slot.path && it.default.is_string()))?;
    if !dice.chance(0.4 * wild) {
        return None;
    }
    let name = drawn.get(slot.path).and_then(Value::as_str).unwrap_or(slot.default);
    let preset = slot.catalog.presets().iter().find(|it| it.name == name)?;
    let fields: Vec<(&String, f64)> = preset.parameters.as_object()?.iter().filter_map(number).collect();
    let (field, now) = dice.pick(&fields)?;
    let new = now * *dice.pick(&FACTORS)?;
    let values = Values::Number { whole: now.fract() == 0.0, min: Some(1.0), max: None };
    Some((format!("{}.{field}", slot.path), fitting(&values, new)?))
}

fn number<'a>((name, value): (&'a String, &Value)) -> Option<(&'a String, f64)> {
    value.as_f64().filter(|it| *it != 0.0).map(|it| (name, it))
}

/// A number as the parameter takes it, `None` out of its range.
pub(super) fn fitting(values: &Values, number: f64) -> Option<Value> {
    let Values::Number { whole, min, max } = values else { return None };
    let number = if *whole { number.round() } else { number };
    let inside = min.is_none_or(|it| it <= number) && max.is_none_or(|it| number <= it);
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 2^53")]
    match whole {
        _ if !inside => None,
        true if number.abs() < 9.0e15 => Some(json!(number as i64)),
        true => None,
        false => Some(json!(number)),
    }
}

/// A number that much larger or smaller, or as far as its range goes; none if that is less than what a limit says that
/// it does.
pub(super) fn grown(values: &Values, number: f64, factor: f64) -> Option<Value> {
    let Values::Number { min, max, .. } = values else { return None };
    let far = (number * factor).clamp(min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
    let reached = if factor > 1.0 { far / number } else { number / far };
    if reached >= ENDLESS { fitting(values, far) } else { None }
}

/// By how much a resource is at least grown that stands for one without end.
const ENDLESS: f64 = 2e3;

/// A command that asks for this point.
pub(super) fn command(study: &str, parameters: &Map<String, Value>) -> String {
    let assignment = |(path, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let plain = text.chars().all(|it| it.is_ascii_alphanumeric() || "-_./+".contains(it));
        if plain { format!(" {path}={text}") } else { format!(" {path}='{text}'") }
    };
    let assignments: String = parameters.iter().map(assignment).collect();
    format!("memscape run {study}{assignments}")
}
