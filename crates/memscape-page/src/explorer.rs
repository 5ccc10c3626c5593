//! A study behind a form: what the form is made of, and the answers to what it asks.

use std::time::{Duration, Instant};

use memscape_explore::{
    Control as Watch, Description, DynStudy, Kind, Parameter, Parameters, Sweep, Table, value_at,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::look::look;
use crate::steps::{Control, same, steps, thinned};

/// Points of a curve; a slider may have more steps.
const CURVE_POINTS: usize = 49;

/// A curve of a slow study ends here, in part.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Columns that a form shows large.
const HEADLINE: usize = 8;

/// A study, with the parameters from which its form starts.
#[derive(Clone)]
pub struct Explorer {
    study: &'static dyn DynStudy,
    given: Parameters,
    /// The parameter that the first curve is over.
    curve: Option<String>,
}

/// What a form asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// What was changed, over what was given at the start.
    parameters: Parameters,
    /// The parameter over which a curve is wanted; the answer at one point if there is none.
    curve: Option<String>,
}

impl Explorer {
    /// A form that starts from these parameters, later ones over earlier ones, over the study's
    /// defaults.
    ///
    /// # Errors
    /// [`Error::Explore`] names the parameter at fault. Parameters that contradict each other
    /// are none: the form says so, and they can be changed.
    pub fn new(study: &'static dyn DynStudy, given: &[&Parameters]) -> Result<Self, Error> {
        study.tree(given)?;
        let given = flat(study, given);
        study.tree(&[&given])?;
        Ok(Self { study, given, curve: None })
    }

    /// Over which parameter the first curve is.
    #[must_use]
    pub fn over(self, path: impl Into<String>) -> Self {
        Self { curve: Some(path.into()), ..self }
    }

    /// What the module draws the form from: `parameters` with their controls, `columns`, what
    /// sums up to what, and the colours.
    #[must_use]
    pub fn spec(&self) -> Value {
        let description = self.study.describe();
        let values = self.values(&Parameters::new()).unwrap_or_default();
        let field = |it: &Parameter| {
            json!({
                "path": it.path, "meaning": it.meaning, "unit": it.unit, "allowed": it.allowed, "more": it.more,
                "source": it.source, "nullable": it.nullable, "control": Control::of(&it.values), "steps": steps(it),
                "value": values.get(&it.path).unwrap_or(&it.default), "default": it.default,
            })
        };
        let fields: Vec<Value> = description.parameters.iter().map(field).collect();
        let curve = self.curve.clone().or_else(|| first_curve(&description.parameters));
        frame(self.study, &description, &fields, &self.given, curve.as_deref(), None)
    }

    /// Answers a question of the form `{"parameters": {...}}` with `row` or `error` and the
    /// `values` of all parameters; with a `"curve"` over one of them, with `x`, the `columns`
    /// there, `errors`, and whether it is `complete`.
    ///
    /// # Errors
    /// [`Error::BadQuestion`] or [`Error::NoCurve`]; what the study refuses is a reply.
    pub fn ask(&self, question: Value) -> Result<Value, Error> {
        let asked: Question =
            serde_json::from_value(question).map_err(|it| Error::BadQuestion(it.to_string()))?;
        match asked.curve {
            None => Ok(self.answer(&asked.parameters)),
            Some(path) => self.curve(asked.parameters, &path),
        }
    }

    fn answer(&self, changes: &Parameters) -> Value {
        let values = self.values(changes);
        match self.study.run_layers(&[&self.given, changes]) {
            Ok(row) => {
                let row: Map<String, Value> = row.into_iter().collect();
                json!({ "row": row, "error": null, "values": values })
            }
            Err(error) => json!({ "row": null, "error": error.to_string(), "values": values }),
        }
    }

    fn curve(&self, mut changes: Parameters, path: &str) -> Result<Value, Error> {
        let no_curve =
            |problem| Error::NoCurve { study: self.study.name().to_owned(), path: path.to_owned(), problem };
        let description = self.study.describe();
        let parameter = description.parameters.iter().find(|it| it.path == path);
        let parameter = parameter.ok_or_else(|| no_curve("no parameter of the study"))?;
        let all = steps(parameter);
        if all.is_empty() {
            return Err(no_curve("a text without a list of what it can be"));
        }
        let here = self.values(&changes).and_then(|mut it| it.remove(path));
        let x = thinned(&all, here.as_ref(), CURVE_POINTS);
        changes.remove(path);
        // A slow study answers around the point that is looked at first.
        let order = outward(x.len(), here.and_then(|here| x.iter().position(|it| same(it, &here))));
        let swept: Vec<Value> = order.iter().map(|it| x[*it].clone()).collect();
        let sweep = Sweep::of(self.given.clone()).over(changes).axis(path, swept);
        let table = match self.study.sweep(&sweep, &Patience(Instant::now() + PATIENCE)) {
            Ok(table) => table,
            Err(error) => return Ok(json!({ "error": error.to_string() })),
        };
        // Places in the table of what was answered, along the curve.
        let mut rows: Vec<usize> = (0..table.height().min(x.len())).collect();
        rows.sort_by_key(|it| order[*it]);
        let along = |all: Vec<Option<f64>>| json!(rows.iter().map(|it| all[*it]).collect::<Vec<_>>());
        let columns: Map<String, Value> = description
            .columns
            .iter()
            .filter(|it| matches!(it.kind, Kind::Float | Kind::Int))
            .filter_map(|it| Some((it.name.clone(), along(table.f64(&it.name).ok()?))))
            .collect();
        let errors = errors(&table)?;
        Ok(json!({
            "path": path,
            "x": rows.iter().map(|it| &x[order[*it]]).collect::<Vec<_>>(),
            "columns": columns,
            "errors": rows.iter().map(|it| &errors[*it]).collect::<Vec<_>>(),
            "complete": table.is_complete(),
        }))
    }

    /// The value of each parameter; of a description, the name of what stands there. Nothing if
    /// the parameters are none.
    fn values(&self, changes: &Parameters) -> Option<Map<String, Value>> {
        let layers = [&self.given, changes];
        let tree = self.study.tree(&layers).ok()?;
        // The layers without what is changed within a description, or stands there by name.
        let beside = |path: &str| {
            let within = format!("{path}.");
            let kept = layers.map(|it| {
                let others = it.iter().filter(|(path, _)| !path.starts_with(&within));
                others.map(|(path, value)| (path.clone(), value.clone())).collect::<Parameters>()
            });
            self.study.tree(&[&kept[0], &kept[1]]).ok()
        };
        let given = |path: &str| layers.iter().rev().find_map(|it| it.get(path));
        let parameters = self.study.describe().parameters;
        let value = |it: Parameter| {
            let slot = self.study.slots().iter().find(|slot| slot.path == it.path);
            let found = value_at(&tree, &it.path);
            let value = match (slot, given(&it.path)) {
                (Some(_), Some(given)) => given.clone(),
                (Some(slot), None) => match found {
                    Some(table) if table.is_object() => {
                        let tree = beside(slot.path);
                        let there = tree.as_ref().and_then(|it| value_at(it, slot.path));
                        let presets = slot.catalog.presets();
                        let named =
                            there.and_then(|there| presets.iter().find(|it| holds(&it.parameters, there)));
                        named.map_or_else(|| table.clone(), |it| json!(it.name))
                    }
                    Some(plain) => plain.clone(),
                    None => it.default,
                },
                (None, _) => found?.clone(),
            };
            Some((it.path, value))
        };
        Some(parameters.into_iter().filter_map(value).collect())
    }
}

/// What the module draws a form from.
pub(crate) fn frame(
    study: &dyn DynStudy,
    description: &Description,
    fields: &[Value],
    given: &Parameters,
    curve: Option<&str>,
    grid: Option<Value>,
) -> Value {
    let aim = study.laws().aim;
    let mut frame = json!({
        "view": "study",
        "study": description.name,
        "summary": description.summary,
        "parameters": fields,
        "columns": description.columns,
        "aim": aim.map(|it| json!({ "column": it.column, "more_is_better": it.more_is_better })),
        "sums": sums(study),
        "headline": headline(study),
        "given": given,
        "curve": curve,
    });
    if let Some(grid) = grid {
        frame["grid"] = grid;
    }
    frame["look"] = look();
    frame
}

/// A number that more of makes better or worse: the first one of which the study says so.
fn first_curve(parameters: &[Parameter]) -> Option<String> {
    let matters = |it: &&Parameter| {
        let says = |word: &str| it.more.as_ref().is_some_and(|more| more.starts_with(word));
        matches!(Control::of(&it.values), Control::Number)
            && !it.nullable
            && (says("faster") || says("slower"))
    };
    // What a workload is, is asked less often than what a machine is.
    let of_machine = |it: &&Parameter| matters(it) && it.path.contains('.');
    let found = parameters.iter().find(of_machine).or_else(|| parameters.iter().find(matters));
    found.map(|it| it.path.clone())
}

/// Ends a sweep when its time is over.
struct Patience(Instant);

impl Watch for Patience {
    fn cancelled(&self) -> bool {
        Instant::now() > self.0
    }
}

/// Which columns are the sum of which.
fn sums(study: &dyn DynStudy) -> Value {
    study.sums().iter().map(|(whole, parts)| json!({ "whole": whole, "parts": parts })).collect()
}

/// The columns that say most: the one that matters, then the first ones that are no parts.
fn headline(study: &dyn DynStudy) -> Vec<String> {
    let aim = study.laws().aim.map(|it| it.column.to_owned());
    let is_part = |name: &str| study.sums().iter().any(|(_, parts)| parts.contains(&name));
    let columns = study.describe().columns.into_iter().map(|it| it.name);
    let others = columns.filter(|it| aim.as_ref() != Some(it) && !is_part(it));
    aim.iter().cloned().chain(others).take(HEADLINE).collect()
}

/// Places from 0, those nearest to `from` first.
fn outward(count: usize, from: Option<usize>) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    if let Some(from) = from {
        all.sort_by_key(|it| it.abs_diff(from));
    }
    all
}

/// Why rows have no answer.
pub(crate) fn errors(table: &Table) -> Result<Vec<Option<String>>, Error> {
    if table.column_names().contains(&"error") {
        return Ok(table.text("error")?);
    }
    Ok(vec![None; table.height()])
}

/// Layers of parameters as one, by dotted path; descriptions as they were given.
pub(crate) fn flat(study: &dyn DynStudy, layers: &[&Parameters]) -> Parameters {
    fn collect(study: &dyn DynStudy, prefix: &str, table: &Parameters, flat: &mut Parameters) {
        for (key, value) in table {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                Value::Object(inner) if study.slots().iter().all(|it| it.path != path) => {
                    collect(study, &path, inner, flat);
                }
                value => {
                    flat.insert(path, value.clone());
                }
            }
        }
    }
    let mut all = Parameters::new();
    for layer in layers {
        collect(study, "", layer, &mut all);
    }
    all
}

/// Whether a description says what stands in a tree, as far as the tree has room for it.
fn holds(description: &Value, tree: &Value) -> bool {
    match (description, tree) {
        (Value::Object(says), Value::Object(has)) => {
            let mut any = false;
            let all = has.iter().all(|(key, value)| {
                let Some(its) = says.get(key) else { return true };
                any = true;
                holds(its, value)
            });
            all && any
        }
        (a, b) => a == b || (a.is_number() && a.as_f64() == b.as_f64()),
    }
}

#[cfg(test)]
mod tests {
    use memscape_systems::study;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "literals")]
    fn explorer(name: &str, given: Value) -> Explorer {
        Explorer::new(study(name).unwrap(), &[given.as_object().unwrap()]).unwrap()
    }

    #[test]
    fn every_study_has_a_form_an_answer_and_a_first_curve() {
        for study in memscape_systems::studies() {
            let it = Explorer::new(study, &[]).unwrap();
            let spec = it.spec();
            assert!(!spec["headline"].as_array().unwrap().is_empty(), "{}", study.name());
            for field in spec["parameters"].as_array().unwrap() {
                let path = field["path"].as_str().unwrap();
                let steps = field["steps"].as_array().unwrap();
                assert!(steps.len() < 130, "{} {path} has {} steps", study.name(), steps.len());
                if field["control"] == "number" && !field["value"].is_null() {
                    let is_here = |it: &Value| it.as_f64() == field["value"].as_f64();
                    assert!(steps.iter().any(is_here), "{} {path}: its default is a step", study.name());
                }
            }
            let reply = it.ask(json!({ "parameters": {} })).unwrap();
            assert_eq!(reply["error"], Value::Null, "{}", study.name());
            if let Some(over) = spec["curve"].as_str() {
                let curve = it.ask(json!({ "parameters": {}, "curve": over })).unwrap();
                assert_eq!(curve["error"], Value::Null, "{} over {over}", study.name());
                let x = curve["x"].as_array().unwrap();
                assert!(!x.is_empty(), "{} over {over}", study.name());
                // In part or not, it is in order and has the point that is looked at.
                let numbers: Vec<f64> = x.iter().filter_map(Value::as_f64).collect();
                assert!(numbers.is_sorted(), "{} over {over}: {numbers:?}", study.name());
                let here = &reply["values"][over];
                assert!(x.iter().any(|it| same(it, here)), "{} over {over}: no {here}", study.name());
            }
        }
    }

    #[test]
    fn a_curve_grows_from_the_point_that_is_looked_at() {
        assert_eq!(outward(5, Some(3)), [3, 2, 4, 1, 0]);
        assert_eq!(outward(3, None), [0, 1, 2]);
    }

    #[test]
    fn a_curve_goes_through_the_answer() {
        let it = explorer("pim.gemv", json!({ "model": "opt-6.7b" }));
        let changes = json!({ "pim.registers": 12, "memory.trcd_ns": 20.5 });
        let row = it.ask(json!({ "parameters": changes })).unwrap();
        let curve = it.ask(json!({ "parameters": changes, "curve": "memory.trcd_ns" })).unwrap();
        let at = curve["x"].as_array().unwrap().iter().position(|it| it == 20.5).unwrap();
        assert_eq!(curve["columns"]["time_ns"][at], row["row"]["time_ns"]);
        assert_eq!(curve["complete"], true);
    }

    #[test]
    fn what_a_study_refuses_is_told_as_it_says_it() {
        let it = explorer("pim.gemv", json!({}));
        let reply = it.ask(json!({ "parameters": { "memory.banks_per_channel": 0 } })).unwrap();
        assert_eq!(reply["row"], Value::Null);
        let said = study("pim.gemv").unwrap();
        let asked = json!({ "memory.banks_per_channel": 0 });
        let error = said.run(asked.as_object().unwrap()).unwrap_err().to_string();
        assert_eq!(reply["error"], json!(error));
    }

    #[test]
    fn what_is_no_parameter_has_no_values() {
        let reply =
            explorer("pim.gemv", json!({})).ask(json!({ "parameters": { "memory": "lpddr5-640" } })).unwrap();
        assert_eq!(reply["values"], Value::Null);
        assert!(reply["error"].as_str().unwrap().contains("did you mean `lpddr5-6400`?"), "{reply}");
    }

    #[test]
    fn a_description_fills_its_fields_and_is_known_by_what_it_says() {
        let it = explorer("pim.gemv", json!({}));
        let reply = it.ask(json!({ "parameters": { "memory": "lpddr5-6400" } })).unwrap();
        assert_eq!(reply["values"]["memory"], "lpddr5-6400");
        let channels =
            memscape_systems::registry().preset("lpddr5-6400").unwrap().parameters["channels"].clone();
        assert_eq!(reply["values"]["memory.channels"].as_f64(), channels.as_f64());
        // Nobody named the memory that the machine is made of.
        assert_eq!(it.ask(json!({ "parameters": {} })).unwrap()["values"]["memory"], "lpddr5x-7500");
    }

    #[test]
    fn given_tables_are_paths() {
        let below = json!({ "pim": { "registers": 8 }, "model": "opt-125m" });
        let above = json!({ "model": "opt-6.7b" });
        let layers = [below.as_object().unwrap(), above.as_object().unwrap()];
        let it = Explorer::new(study("pim.gemv").unwrap(), &layers).unwrap();
        assert_eq!(it.spec()["given"], json!({ "pim.registers": 8, "model": "opt-6.7b" }));
    }

    #[test]
    fn what_is_no_question_is_refused() {
        let it = explorer("pim.gemv", json!({}));
        let refused = |question| it.ask(question).unwrap_err().to_string();
        assert!(refused(json!({})).starts_with("this is no question: missing field `parameters`"));
        assert!(refused(json!({ "parameters": {}, "curves": "x" })).contains("unknown field `curves`"));
        assert!(refused(json!([])).starts_with("this is no question"));
        assert_eq!(
            refused(json!({ "parameters": {}, "curve": "memory.bank" })),
            "there is no curve over `memory.bank`: it is no parameter of the study; `memscape describe pim.gemv` lists \
             the parameters"
        );
        let slip = json!({ "split-k": 2 });
        assert!(Explorer::new(study("pim.gemv").unwrap(), &[slip.as_object().unwrap()]).is_err());
    }
}
