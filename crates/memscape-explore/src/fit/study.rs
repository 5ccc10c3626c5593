//! A study's parameters from measurements of its answer.

#![expect(clippy::result_large_err, reason = "an error is rare, and carries what to change")]

use std::collections::{HashMap, HashSet};

use memscape_study::Unknown;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::error::{At, FitError};
use super::fitted::Fitted;
use super::method::FitMethod;
use super::parameter::FitParameter;
use super::residual::Residual;
use super::search::fit;
use crate::control::Control;
use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::{DynStudy, Row};
use crate::schema::join;

/// One measured number of a study's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The point at which it was measured.
    pub parameters: Parameters,
    /// The column of the answer that it is a value of.
    pub column: String,
    /// The number.
    pub value: f64,
    /// How well it is known: its standard deviation. Without, errors are relative to
    /// the number. All measurements of a fit have one, or none.
    pub sigma: Option<f64>,
}

/// What a fit of a study found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyFit {
    /// Values, how well they are known, and how far the model is from the measurements.
    #[serde(flatten)]
    pub fitted: Fitted,
    /// What the study says to each measurement, in their order.
    pub points: Vec<FittedPoint>,
}

/// One measurement, and what the fitted study says to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedPoint {
    /// The column.
    pub column: String,
    /// As measured.
    pub measured: f64,
    /// As the study has it.
    pub model: f64,
    /// The study's less the measurement: relative to it, or to its standard deviation
    /// if that was given.
    pub error: f64,
}

impl StudyFit {
    /// The values found as a study takes them: a layer over the base.
    #[must_use]
    pub fn parameters(&self, free: &[FitParameter]) -> Parameters {
        layer(free, &self.fitted.values())
    }
}

/// Why a study has no answer for one of the measurements.
#[derive(Debug, thiserror::Error)]
#[error("measurement {row}: {problem}")]
pub struct AtMeasurement {
    /// Which one, from 0.
    pub row: usize,
    /// What the study says.
    pub problem: Error,
}

/// Finds the values of free parameters with which a study's answers are nearest to
/// measurements, by least squares: [`fit`] with [`FitMethod::MEASURED`].
///
/// Each point is asked with `base`, the measurement's own parameters over it, and
/// the free parameters over both; what `base` says of a free parameter does not
/// count.
///
/// ```
/// # use memscape_study::{Study, StudyError};
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// use memscape_explore::{Entry, FitParameter, Measurement, Parameters, fit_study};
///
/// /// Time to copy: an overhead, and bytes at a rate.
/// #[derive(Clone, Serialize, Deserialize, JsonSchema)]
/// struct Copy {
///     bytes: u64,
///     overhead_ns: f64,
///     gb_per_s: f64,
/// }
/// # #[derive(Serialize, JsonSchema)]
/// # struct Answer { time_ns: f64 }
/// # impl Default for Copy {
/// #     fn default() -> Self { Self { bytes: 4096, overhead_ns: 100.0, gb_per_s: 10.0 } }
/// # }
/// # impl Study for Copy {
/// #     const NAME: &'static str = "doc.copy";
/// #     const SUMMARY: &'static str = "Time to copy";
/// #     type Answer = Answer;
/// #     fn answer(&self) -> Result<Answer, StudyError> {
/// #         Ok(Answer { time_ns: self.overhead_ns + self.bytes as f64 / self.gb_per_s })
/// #     }
/// # }
///
/// let measured = |bytes: u64, time_ns: f64| Measurement {
///     parameters: Parameters::from_iter([("bytes".to_owned(), bytes.into())]),
///     column: "time_ns".to_owned(),
///     value: time_ns,
///     sigma: None,
/// };
/// let seen = [measured(64, 254.0), measured(4096, 584.0), measured(65536, 5710.0), measured(1 << 20, 87_600.0)];
/// let free = [
///     FitParameter::new("overhead_ns", 0.0, 1e4),
///     FitParameter::new("gb_per_s", 0.1, 1e3).logarithmic(),
/// ];
/// let found = fit_study(&Entry::<Copy>::new(), &Parameters::new(), &seen, &free, &())?;
/// let [overhead, rate] = &found.fitted.parameters[..] else { unreachable!() };
/// assert!((overhead.value - 249.0).abs() < 2.0 && (rate.value - 12.0).abs() < 0.1);
/// assert!(rate.standard_error.unwrap() < 0.1 && found.fitted.rms < 0.01);
/// # Ok::<(), memscape_explore::FitError<memscape_explore::AtMeasurement>>(())
/// ```
///
/// # Errors
/// [`FitError::BadParameter`] names the free parameter that the study does not have
/// or that cannot be fitted so, [`FitError::BadMeasurement`] the measurement whose
/// column does not exist or whose value is no number, [`FitError::Model`] the
/// measurement and the values at which the study has no answer.
pub fn fit_study(
    study: &dyn DynStudy,
    base: &Parameters,
    measurements: &[Measurement],
    free: &[FitParameter],
    control: &dyn Control,
) -> Result<StudyFit, FitError<AtMeasurement>> {
    for it in free {
        it.check().map_err(|problem| FitError::BadParameter { key: it.key.clone(), problem })?;
    }
    check_free(study, free)?;
    check_measurements(study, measurements, free)?;
    let question = Question { study, base, free, points: distinct(measurements), measurements };
    question.check_values()?;
    let residuals = |values: &[f64]| {
        let models = question.models(values)?;
        Ok(measurements.iter().zip(models).map(|(it, model)| Residual::new(it.error(model))).collect())
    };
    let deviations = measurements.iter().all(|it| it.sigma.is_some());
    let method = FitMethod { deviations, ..FitMethod::MEASURED };
    let fitted = fit(free, &method, control, residuals)?;
    let models = question.models(&fitted.values()).map_err(|problem| question.failed(problem, &fitted))?;
    let point = |(it, model): (&Measurement, f64)| FittedPoint {
        column: it.column.clone(),
        measured: it.value,
        model,
        error: it.error(model),
    };
    Ok(StudyFit { points: measurements.iter().zip(models).map(point).collect(), fitted })
}

impl Measurement {
    fn error(&self, model: f64) -> f64 {
        match self.sigma {
            Some(sigma) => (model - self.value) / sigma,
            None => model / self.value - 1.0,
        }
    }

    fn check(&self) -> Result<(), String> {
        let Self { column, value, sigma, .. } = self;
        match sigma {
            _ if !value.is_finite() => Err(format!("`{column}` = {value}: expected a number")),
            Some(sigma) if !(sigma.is_finite() && 0.0 < *sigma) => {
                Err(format!("sigma of `{column}` = {sigma}: expected a number above 0"))
            }
            None if *value == 0.0 => {
                Err(format!("`{column}` = 0: nothing is relative to 0; give each measurement a sigma"))
            }
            _ => Ok(()),
        }
    }
}

fn check_free(study: &dyn DynStudy, free: &[FitParameter]) -> Result<(), FitError<AtMeasurement>> {
    let description = study.describe();
    for it in free.iter().filter(|it| !it.whole) {
        let known = description.parameters.iter().find(|known| known.path == it.key);
        if known.is_some_and(|it| it.default.is_i64() || it.default.is_u64()) {
            let problem = "it is a whole number; fit it as one (`integer`)".to_owned();
            return Err(FitError::BadParameter { key: it.key.clone(), problem });
        }
    }
    Ok(())
}

fn check_measurements(
    study: &dyn DynStudy,
    measurements: &[Measurement],
    free: &[FitParameter],
) -> Result<(), FitError<AtMeasurement>> {
    let columns = study.describe().columns;
    let keys: HashSet<&str> = free.iter().map(|it| it.key.as_str()).collect();
    let sigma = measurements.first().is_some_and(|it| it.sigma.is_some());
    for (row, it) in measurements.iter().enumerate() {
        let bad = |problem: String| Err(FitError::BadMeasurement { row, problem });
        let Some(column) = columns.iter().find(|known| known.name == it.column) else {
            let known = columns.iter().map(|it| it.name.as_str());
            return bad(Unknown::new("column", it.column.as_str(), known).to_string());
        };
        if let Some(unit) = column.unit.as_deref().filter(|_| it.value < 0.0) {
            return bad(format!("`{}` = {} {unit}: expected a number, at least 0", it.column, it.value));
        }
        if let Err(problem) = it.check() {
            return bad(problem);
        }
        if it.sigma.is_some() != sigma {
            return bad(
                "some measurements have a sigma and others none; give all of them one, or none".to_owned()
            );
        }
        if let Some(path) = given("", &it.parameters).into_iter().find(|it| keys.contains(it.as_str())) {
            return bad(format!("it gives `{path}`, which is a free parameter; leave it out of one of both"));
        }
    }
    Ok(())
}

/// The dotted paths of all that is given.
fn given(prefix: &str, parameters: &Parameters) -> Vec<String> {
    let of = |(key, value): (&String, &Value)| {
        let path = join(prefix, key);
        match value {
            Value::Object(table) => given(&path, table),
            _ => vec![path],
        }
    };
    parameters.iter().flat_map(of).collect()
}

/// A point that some measurements share: the first one's number, and which they are.
type Point = (usize, Vec<usize>);

/// Measurements with equal parameters are one question.
fn distinct(measurements: &[Measurement]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (row, it) in measurements.iter().enumerate() {
        let index = *known.entry(json!(it.parameters).to_string()).or_insert(points.len());
        match points.get_mut(index) {
            Some(point) => point.1.push(row),
            None => points.push((row, vec![row])),
        }
    }
    points
}

/// The study with what is the same at all values.
struct Question<'a> {
    study: &'a dyn DynStudy,
    base: &'a Parameters,
    free: &'a [FitParameter],
    measurements: &'a [Measurement],
    points: Vec<Point>,
}

impl Question<'_> {
    /// Whether the study has the free parameters and takes their values, seen at the
    /// first measurement.
    fn check_values(&self) -> Result<(), FitError<AtMeasurement>> {
        let Some(first) = self.measurements.first() else { return Err(FitError::NoResiduals) };
        let starts: Vec<f64> = self.free.iter().map(|it| it.start).collect();
        let layers = [self.base, &first.parameters, &layer(self.free, &starts)];
        let Err(problem) = self.study.run_layers(&layers) else { return Ok(()) };
        let (Error::UnknownParameter { path, .. } | Error::BadParameter { path, .. }) = &problem else {
            return Ok(());
        };
        match self.free.iter().find(|it| it.key == *path) {
            Some(it) => Err(FitError::BadParameter { key: it.key.clone(), problem: problem.to_string() }),
            None => Ok(()),
        }
    }

    /// What the study says to each measurement.
    fn models(&self, values: &[f64]) -> Result<Vec<f64>, AtMeasurement> {
        let values = layer(self.free, values);
        let ask = |(first, rows): &Point| {
            let at = |row: usize| move |problem| AtMeasurement { row, problem };
            let layers = [self.base, &self.measurements[*first].parameters, &values];
            let answer = self.study.run_layers(&layers).map_err(at(*first))?;
            let of =
                |row: &usize| Ok((*row, number(&answer, &self.measurements[*row].column).map_err(at(*row))?));
            rows.iter().map(of).collect::<Result<Vec<_>, _>>()
        };
        // In order, so that it is always the same error.
        let answers: Vec<_> = self.points.par_iter().map(ask).collect();
        let mut models = vec![0.0; self.measurements.len()];
        for answer in answers {
            for (row, model) in answer? {
                models[row] = model;
            }
        }
        Ok(models)
    }

    fn failed(&self, problem: AtMeasurement, fitted: &Fitted) -> FitError<AtMeasurement> {
        let keys = self.free.iter().map(|it| it.key.clone());
        FitError::Model { problem, at: At(keys.zip(fitted.values()).collect()) }
    }
}

/// Values as a study takes them.
fn layer(free: &[FitParameter], values: &[f64]) -> Parameters {
    let of = |(it, value): (&FitParameter, &f64)| {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of a range that was tried")]
        let value = if it.whole { json!(value.round() as i64) } else { json!(value) };
        (it.key.clone(), value)
    };
    free.iter().zip(values).map(of).collect()
}

fn number(answer: &Row, column: &str) -> Result<f64, Error> {
    let value = answer.iter().find(|it| it.0 == column).map_or(&Value::Null, |it| &it.1);
    value.as_f64().ok_or_else(|| Error::BadColumn {
        name: column.to_owned(),
        problem: match value {
            Value::Null => "it has no value here, so nothing can be fitted to it".to_owned(),
            other => format!("it is {other}, not a number"),
        },
    })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "what is computed alike is alike")]
mod tests {
    use super::*;
    use crate::toy::READ;

    fn parameters(value: &Value) -> Parameters {
        value.as_object().unwrap().clone()
    }

    fn measurement(at: &Value, column: &str, value: f64) -> Measurement {
        Measurement { parameters: parameters(at), column: column.to_owned(), value, sigma: None }
    }

    /// The time of some rows in some banks, with 1 % of noise.
    fn measured(truth: &Value) -> Vec<Measurement> {
        let mut all = Vec::new();
        for (index, (rows, banks)) in
            [(64, 2), (64, 9), (128, 4), (500, 16), (1000, 16), (9, 5)].iter().enumerate()
        {
            let at = json!({ "rows": rows, "memory.banks": banks });
            let answer = READ.run_layers(&[&parameters(&at), &parameters(truth)]).unwrap();
            let time = number(&answer, "time_ns").unwrap();
            let noise = [0.01, -0.006, -0.012, 0.004, 0.009, -0.008][index];
            all.push(measurement(&at, "time_ns", time * (1.0 + noise)));
        }
        all
    }

    #[test]
    fn measurements_of_a_study_give_its_parameters_back() {
        let free = [FitParameter::new("memory.trp_ns", 0.0, 100.0)];
        let base = parameters(&json!({ "memory.trcd_ns": 12 }));
        let truth = json!({ "memory.trcd_ns": 12, "memory.trp_ns": 29.5 });
        let fitted = fit_study(&READ, &base, &measured(&truth), &free, &()).unwrap();
        let it = &fitted.fitted.parameters[0];
        let error = it.standard_error.unwrap();
        assert!((0.05..0.5).contains(&error), "{error}");
        assert!((it.value - 29.5).abs() < 2.0 * error, "{it:?}");
        assert!((0.005..0.012).contains(&fitted.fitted.rms), "{}", fitted.fitted.rms);
        // What it says is what the study says there.
        let point = &fitted.points[3];
        let at = parameters(&json!({ "rows": 500, "memory.banks": 16 }));
        let answer = READ.run_layers(&[&base, &at, &fitted.parameters(&free)]).unwrap();
        assert_eq!(number(&answer, "time_ns").unwrap(), point.model);
        assert_eq!(point.error, point.model / point.measured - 1.0);
        assert_eq!(point.error, fitted.fitted.residuals[3].error);
    }

    #[test]
    fn a_count_and_two_that_only_act_together() {
        let free = [
            FitParameter::new("memory.banks", 2.0, 40.0).whole(),
            FitParameter::new("memory.trcd_ns", 1.0, 100.0),
            FitParameter::new("memory.trp_ns", 1.0, 100.0),
        ];
        // The time in turn says rows * (trcd + trp) / (banks - 1), all at once trcd + trp.
        let seen = [
            measurement(&json!({ "rows": 70 }), "time_ns", 400.0),
            measurement(&json!({ "rows": 7 }), "time_ns", 40.0),
            measurement(&json!({ "mode": "all-at-once" }), "time_ns", 40.0),
            measurement(&json!({ "rows": 70 }), "rows_per_bank", 9.0),
        ];
        let fitted = fit_study(&READ, &Parameters::new(), &seen, &free, &()).unwrap().fitted;
        assert_eq!(fitted.parameters[0].value, 8.0);
        assert!(fitted.parameters[0].identified);
        let sum = fitted.parameters[1].value + fitted.parameters[2].value;
        assert!((sum - 40.0).abs() < 1e-4, "{sum}");
        for it in &fitted.parameters[1..] {
            assert!(!it.identified && it.standard_error.is_none(), "{it:?}");
        }
    }

    #[test]
    fn better_known_measurements_count_more() {
        let free = [FitParameter::new("scale", 0.1, 10.0).logarithmic()];
        let with = |sigmas: [f64; 2]| {
            let at = json!({ "mode": "all-at-once" });
            let mut seen = vec![measurement(&at, "time_ns", 39.0), measurement(&at, "time_ns", 78.0)];
            seen.iter_mut().zip(sigmas).for_each(|(it, sigma)| it.sigma = Some(sigma));
            let fitted = fit_study(&READ, &Parameters::new(), &seen, &free, &()).unwrap().fitted;
            (fitted.parameters[0].value, fitted.parameters[0].standard_error.unwrap())
        };
        // Weighted by the inverse square: (1 + 2 / 9) / (1 + 1 / 9).
        let (value, error) = with([1.0, 3.0]);
        assert!((value - 1.1).abs() < 1e-6, "{value}");
        // Both are one question, so the scale's deviation is that of a weighted mean.
        let s2 = (3.9_f64.powi(2) + (35.1_f64 / 3.0).powi(2)) / 1.0;
        let expected = (s2 / (39.0_f64.powi(2) * (1.0 + 1.0 / 9.0))).sqrt();
        assert!((error / expected - 1.0).abs() < 1e-5, "{error} is not {expected}");
        assert!((with([2.0, 2.0]).0 - 1.5).abs() < 1e-6);
    }

    #[test]
    fn bad_questions_are_told_with_parameter_column_and_row() {
        let time = |at: Value| measurement(&at, "time_ns", 100.0);
        let trp = || FitParameter::new("memory.trp_ns", 0.0, 100.0);
        let error = |measurements: &[Measurement], free: &[FitParameter]| {
            fit_study(&READ, &Parameters::new(), measurements, free, &()).unwrap_err().to_string()
        };
        let seen = |it: Measurement| error(&[time(json!({})), it], &[trp()]);
        let free = |it: FitParameter| error(&[time(json!({})), time(json!({ "rows": 3 }))], &[it]);
        insta::assert_snapshot!(error(&[], &[trp()]), @"there is nothing to fit to; give at least one measurement");
        insta::assert_snapshot!(error(&[time(json!({}))], &[]), @"there is no free parameter; name at least one, with its range");
        insta::assert_snapshot!(seen(measurement(&json!({}), "time_s", 1.0)), @"measurement 1: there is no column `time_s`; did you mean `time_ns`?");
        insta::assert_snapshot!(seen(measurement(&json!({}), "time_ns", f64::NAN)), @"measurement 1: `time_ns` = NaN: expected a number");
        insta::assert_snapshot!(seen(measurement(&json!({}), "time_ns", 0.0)), @"measurement 1: `time_ns` = 0: nothing is relative to 0; give each measurement a sigma");
        insta::assert_snapshot!(seen(measurement(&json!({}), "mode", 1.0)), @r#"measurement 1: column `mode`: it is "in-turn", not a number (at `memory.trp_ns` = 50)"#);
        insta::assert_snapshot!(seen(measurement(&json!({}), "per_way_ns", 1.0)), @"measurement 1: column `per_way_ns`: it has no value here, so nothing can be fitted to it (at `memory.trp_ns` = 50)");
        insta::assert_snapshot!(seen(Measurement { sigma: Some(1.0), ..time(json!({})) }), @"measurement 1: some measurements have a sigma and others none; give all of them one, or none");
        insta::assert_snapshot!(error(&[Measurement { sigma: Some(0.0), ..time(json!({})) }], &[trp()]), @"measurement 0: sigma of `time_ns` = 0: expected a number above 0");
        insta::assert_snapshot!(seen(time(json!({ "row": 1 }))), @"measurement 1: there is no parameter `row`; did you mean `rows`? (at `memory.trp_ns` = 50)");
        insta::assert_snapshot!(seen(time(json!({ "memory": { "trp_ns": 1 } }))), @"measurement 1: it gives `memory.trp_ns`, which is a free parameter; leave it out of one of both");
        insta::assert_snapshot!(seen(time(json!({ "memory.banks": 0 }))), @"measurement 1: 64 rows need a bank, but `memory.banks` is 0; give at least 1 (at `memory.trp_ns` = 50)");
        insta::assert_snapshot!(free(FitParameter::new("memory.trp", 0.0, 1.0)), @"free parameter `memory.trp`: there is no parameter `memory.trp`; did you mean `memory.trp_ns`?");
        insta::assert_snapshot!(free(FitParameter::new("mode", 0.0, 1.0)), @r#"free parameter `mode`: `mode` = 0.5: expected one of "in-turn", "all-at-once""#);
        insta::assert_snapshot!(free(FitParameter::new("memory.trcd_ns", -2.0, 1.0)), @"free parameter `memory.trcd_ns`: `memory.trcd_ns` = -0.5: expected a number from 0 to 1e12");
        insta::assert_snapshot!(free(FitParameter::new("memory.trcd_ns", -1.0, 2.0)), @"measurement 0: `memory.trcd_ns` = -1.0: expected a number from 0 to 1e12 (at `memory.trcd_ns` = -1)");
        insta::assert_snapshot!(free(FitParameter::new("memory.banks", 1.0, 9.0)), @"free parameter `memory.banks`: it is a whole number; fit it as one (`integer`)");
        insta::assert_snapshot!(free(FitParameter::new("memory.banks", 1.0, 9.0).whole()), @"measurement 0: `time_ns` came out inf (at `memory.banks` = 1)");
        insta::assert_snapshot!(free(FitParameter { max: -1.0, ..trp() }), @"free parameter `memory.trp_ns`: its range from 0 to -1 is empty; give `min` below `max`");
        insta::assert_snapshot!(error(&[time(json!({}))], &[trp(), trp()]), @"free parameter `memory.trp_ns`: it is given twice; remove one");
    }
}
