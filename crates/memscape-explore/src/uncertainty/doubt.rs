//! Which parameters of a point may well be others.

use memscape_study::node::Node;
use memscape_study::{Calibration, Grade, Preset, Slot, Spread};
use serde_json::Value;

use crate::describe::{is_unused, same, told_by};
use crate::error::Error;
use crate::parameters::{Anatomy, Assignment, Given, Parameters};
use crate::schema::Shape;

/// A parameter that is not known for sure.
pub(super) struct Doubt {
    pub path: String,
    /// What it is taken to be.
    pub nominal: Value,
    pub of: Unknown,
}

/// What else it may be.
pub(super) enum Unknown {
    /// As its description says.
    Spread(Grade, Spread),
    /// A parameter of a fit, by its place there.
    Fitted(&'static Calibration, usize),
}

/// Why numbers are not known, as far as answers are split by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Calibrated,
    Prior,
    Reading,
}

impl Group {
    pub const ALL: [Self; 3] = [Self::Calibrated, Self::Prior, Self::Reading];

    pub const fn column(self) -> &'static str {
        match self {
            Self::Calibrated => "from_calibration",
            Self::Prior => "from_priors",
            Self::Reading => "from_readings",
        }
    }
}

impl Doubt {
    /// How a fit names it, or its path.
    pub fn key(&self) -> String {
        match self.of {
            Unknown::Fitted(calibration, at) => calibration.parameters()[at].key(),
            Unknown::Spread(..) => self.path.clone(),
        }
    }

    pub fn group(&self) -> Group {
        match &self.of {
            Unknown::Fitted(..) | Unknown::Spread(Grade::Calibrated, _) => Group::Calibrated,
            Unknown::Spread(Grade::Reading, _) => Group::Reading,
            Unknown::Spread(..) => Group::Prior,
        }
    }
}

/// The doubts at the point that these layers describe. What is given by itself is known,
/// and so is what `moved` names: the axes.
pub(super) fn doubts(anatomy: &Anatomy, layers: &[&Parameters], moved: &[&str]) -> Result<Vec<Doubt>, Error> {
    let given = anatomy.flatten_layers(layers)?;
    let tree = anatomy.expand(&given)?;
    let mut known = Vec::new();
    collect_given(&given, &mut known);
    let standing: Vec<(&Slot, &Preset<Value>)> =
        anatomy.slots.iter().filter_map(|it| Some((it, standing(it, &given, &tree)?))).collect();
    let doubt = |(path, shape): (String, &Shape)| {
        let is_known = known.contains(&path.as_str()) || moved.contains(&path.as_str());
        if is_known || is_unused(anatomy.laws, &path) {
            return None;
        }
        // 21 nanoseconds may be written without a fraction, and be 21.5.
        let nominal = match Value::from(tree.at(&path)?) {
            Value::Number(it) if shape.is_real() => it.as_f64().into(),
            other => other,
        };
        let (slot, preset, below) = told_by(&standing, &path, &nominal).next()?;
        // A number that stands with its own factor is as sure as that says here.
        let within = path.strip_suffix(".value").and_then(|it| tree.at(&format!("{it}.within")));
        let spread = match (within.and_then(Node::as_f64), nominal.as_f64()) {
            (Some(within), Some(value)) if within > 1.0 && value > 0.0 => {
                Some(Spread::Between(value / within, value * within))
            }
            (Some(_), Some(_)) => return None,
            _ => preset.spread(below, &nominal),
        };
        let of = match spread {
            Some(spread) => Unknown::Spread(preset.grade(below).unwrap_or(Grade::Prior), spread),
            None if preset.grade(below) == Some(Grade::Calibrated) => {
                let calibration = slot.catalog.calibration()?;
                // Another study may hold the description elsewhere.
                let place = slot.catalog.calibrated_below();
                let own = |it: &memscape_study::FreeParameter| {
                    it.below(place) == Some(below) && it.preset.as_deref().is_none_or(|it| it == preset.name)
                };
                Unknown::Fitted(calibration, calibration.parameters().iter().position(own)?)
            }
            None => return None,
        };
        Some(Doubt { path, nominal, of })
    };
    Ok(anatomy.shape.leaves().into_iter().filter_map(doubt).collect())
}

/// The description that stands in a slot: what is given, or what another description has put there.
fn standing<'a>(slot: &'a Slot, given: &'a [Assignment], tree: &Node) -> Option<&'a Preset<Value>> {
    match given.iter().find(|it| it.path == slot.path).map(|it| &it.given) {
        Some(Given::Description(it)) => Some(it),
        Some(Given::Value(_)) => None,
        Some(Given::Partial(_)) | None => {
            let held = if slot.whole { None } else { tree.at(slot.path).map(Value::from) };
            let is_held = |it: &&Preset<Value>| held.as_ref().is_some_and(|held| alike(&it.parameters, held));
            let found = slot.catalog.presets().iter().find(is_held);
            found.or_else(|| slot.catalog.find_plain(slot.default).ok())
        }
    }
}

/// Whether two descriptions say the same.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, it)| other.get(name).is_some_and(|other| alike(it, other)))
        }
        _ => same(one, other),
    }
}

/// The paths of single values.
fn collect_given<'a>(all: &'a [Assignment], known: &mut Vec<&'a str>) {
    for it in all {
        match &it.given {
            Given::Value(_) => known.push(&it.path),
            Given::Partial(inner) => collect_given(inner, known),
            Given::Description(_) => {}
        }
    }
}
