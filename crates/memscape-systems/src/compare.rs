//! The same question asked of many platforms.

use std::path::Path;

use memscape_explore::{Column, Control, Error, Parameters, Row, Table, described};
use memscape_study::node::Node;
use memscape_study::{Bound, Preset, Unknown};
use memscape_workload::{MODELS, Model, WeightFormat};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::platform::{PLATFORMS, Platform};
use crate::study;

/// A prompt and a reply that platforms are asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The language model: a name, a path to `.toml`, `config.json` or `.gguf`, or a table.
    pub model: Value,
    /// Tokens of each prompt.
    pub prompt_tokens: u64,
    /// Tokens generated after it.
    pub generated_tokens: u64,
    /// Sequences at the same time.
    pub batch: u64,
    /// How weights are stored: a row for each; none leaves it to the model's file, where a
    /// platform's study takes what that says, else to the platforms.
    pub formats: Vec<String>,
}

impl Workload {
    /// One sequence, of as many tokens as the published comparisons have, in each
    /// platform's own format.
    #[must_use]
    pub fn of(model: &str) -> Self {
        Self {
            model: model.into(),
            prompt_tokens: 1920,
            generated_tokens: 128,
            batch: 1,
            formats: Vec::new(),
        }
    }

    /// What it is called in a call or on a command line, one by one: `format` is that of all platforms.
    pub const PARAMETERS: [&str; 5] = ["model", "prompt_tokens", "generated_tokens", "batch", "format"];

    /// The same with one of [`Workload::PARAMETERS`] changed.
    ///
    /// # Errors
    /// [`Error`] names what there is, or what is wrong with the value.
    ///
    /// ```
    /// use memscape_systems::compare::Workload;
    ///
    /// let workload = Workload::of("llama-3.2-1b").with("batch", &4.into())?;
    /// assert_eq!(workload.batch, 4);
    /// let error = workload.with("prompt", &4.into()).unwrap_err().to_string();
    /// assert!(error.contains("did you mean `prompt_tokens`?"), "{error}");
    /// # Ok::<(), memscape_explore::Error>(())
    /// ```
    pub fn with(mut self, path: &str, value: &Value) -> Result<Self, Error> {
        let bad = |problem: &str| Error::BadParameter {
            path: path.to_owned(),
            given: value.to_string(),
            problem: problem.to_owned(),
        };
        let count = || value.as_u64().ok_or_else(|| bad("expected a whole number"));
        match path {
            "model" => self.model = value.clone(),
            "prompt_tokens" => self.prompt_tokens = count()?,
            "generated_tokens" => self.generated_tokens = count()?,
            "batch" => self.batch = count()?,
            "format" => {
                let name = value.as_str().ok_or_else(|| bad("expected the name of a format"))?;
                self.formats = vec![name.to_owned()];
            }
            _ => {
                return Err(Unknown::new("parameter of a comparison", path, Self::PARAMETERS).into());
            }
        }
        Ok(self)
    }

    /// The model itself.
    ///
    /// # Errors
    /// [`Error`] if there is none of this name, or its description is wrong.
    pub fn model(&self) -> Result<Model, Error> {
        let found = described(&MODELS, "model", &self.model, Path::new(""))?;
        serde_json::from_value(found.parameters).map_err(|it| Error::BadParameter {
            path: "model".to_owned(),
            given: self.model.to_string(),
            problem: it.to_string(),
        })
    }

    /// The model's description, and what no platform could mend.
    pub(crate) fn check(&self) -> Result<Preset<Value>, Error> {
        let counts = [
            ("prompt_tokens", self.prompt_tokens),
            ("generated_tokens", self.generated_tokens),
            ("batch", self.batch),
        ];
        if let Some((path, given)) = counts.into_iter().find(|it| it.1 == 0) {
            let problem = "a comparison needs at least 1".to_owned();
            return Err(Error::BadParameter { path: path.to_owned(), given: given.to_string(), problem });
        }
        for given in &self.formats {
            if let Err(problem) = given.parse::<WeightFormat>() {
                let (path, given) = ("format".to_owned(), given.clone());
                return Err(Error::BadParameter { path, given, problem: problem.to_string() });
            }
        }
        let again = |at: usize| self.formats[..at].contains(&self.formats[at]);
        if let Some(twice) = (0..self.formats.len()).find(|it| again(*it)) {
            let problem = "it is there twice; a format has one row for each platform".to_owned();
            return Err(Error::BadParameter {
                path: "format".to_owned(),
                given: self.formats[twice].clone(),
                problem,
            });
        }
        described(&MODELS, "model", &self.model, Path::new(""))
    }

    /// Each platform with each format that it is asked for.
    pub(crate) fn asked<'a>(
        &self,
        platforms: &'a [Preset<Platform>],
        model: &Preset<Value>,
    ) -> Result<Vec<(&'a Preset<Platform>, String)>, Error> {
        let mut asked = Vec::new();
        for it in platforms {
            match &self.formats[..] {
                [] => asked.push((it, format_of(&it.parameters, &model.parameters)?)),
                given => asked.extend(given.iter().map(|format| (it, format.clone()))),
            }
        }
        Ok(asked)
    }

    pub(crate) fn parameters(&self, format: &str) -> Parameters {
        let Self { model, prompt_tokens, generated_tokens, batch, .. } = self;
        Parameters::from_iter([
            ("model".to_owned(), model.clone()),
            ("format".to_owned(), format.into()),
            ("prompt_tokens".to_owned(), (*prompt_tokens).into()),
            ("generated_tokens".to_owned(), (*generated_tokens).into()),
            ("batch".to_owned(), (*batch).into()),
        ])
    }
}

/// A comparison as a call of another language writes it: `workload`, and `platforms` unless
/// all that are built in are meant; and whether `operators` are asked for, one by one.
///
/// # Errors
/// [`Error`] names what is missing, unknown or of the wrong type.
pub fn read(given: Parameters) -> Result<(Workload, Vec<Preset<Platform>>, bool), Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Given {
        workload: Workload,
        platforms: Option<Vec<Value>>,
        #[serde(default)]
        operators: bool,
    }
    let bad = |it: serde_json::Error| Error::BadSweep(format!("a comparison: {it}"));
    let Given { workload, platforms: named, operators } =
        serde_json::from_value(Value::Object(given)).map_err(bad)?;
    if named.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::BadSweep(
            "`platforms` is empty; name one at least, or leave it out for all".to_owned(),
        ));
    }
    let asked =
        named.map_or_else(|| Ok(platforms()), |all| all.iter().map(platform).collect::<Result<_, _>>())?;
    Ok((workload, asked, operators))
}

/// The platform that a name, a path or a table means.
///
/// # Errors
/// [`Error`] suggests the nearest name, or says what is wrong with the description.
pub fn platform(given: &Value) -> Result<Preset<Platform>, Error> {
    let found = described(&PLATFORMS, "platform", given, Path::new(""))?;
    let Preset { mut name, summary, parameters, sources, intervals, facts } = found;
    let mut parameters: Platform = serde_json::from_value(parameters).map_err(|it| Error::BadParameter {
        path: "platform".to_owned(),
        given: name.clone(),
        problem: it.to_string(),
    })?;
    // Of a description and the one that it changes nothing tells any more which of both is meant.
    if let Some((path, value)) = parameters.given.iter().find(|it| parameters.fastest_of.contains_key(it.0)) {
        return Err(Error::BadParameter {
            path: format!("platform.given.{path}"),
            given: value.to_string(),
            problem: format!(
                "`fastest_of` varies it; to hold it, write `fastest_of.\"{path}\" = [{value}]` in its place"
            ),
        });
    }
    let own = parameters.given.iter().map(|it| ("given", it));
    let mut varied = own.chain(parameters.fastest_of.iter().map(|it| ("fastest_of", it)));
    if let Some((table, (path, value))) = varied.find(|(_, it)| Workload::PARAMETERS.contains(&it.0.as_str()))
    {
        let format = if path == "format" { ", or to the platform as `format` beside `given`" } else { "" };
        return Err(Error::BadParameter {
            path: format!("platform.{table}.{path}"),
            given: value.to_string(),
            problem: format!(
                "a comparison asks the same of all platforms; give it to the comparison{format}"
            ),
        });
    }
    // A table in the place of a name has none; what it changes tells it from others.
    if let Some(base) = given["base"].as_str().filter(|_| given["name"].is_null()) {
        let tables = ["given", "fastest_of"].map(|it| given["parameters"][it].as_object());
        let own = tables.into_iter().flatten().flatten();
        let changes = own.map(|(path, value)| format!("{path} = {value}")).collect::<Vec<_>>().join(", ");
        if !changes.is_empty() {
            name = format!("{base}: {changes}");
            parameters.assumptions.push(format!("changed from {base}: {changes}"));
        }
    }
    Ok(Preset { name, summary, parameters, sources, intervals, facts })
}

/// What every row has of an answer, and whether it is text or a whole number.
const ANSWERS: [(&str, Sort); 24] = [
    ("ttft_s", Sort::Float),
    ("token_ns", Sort::Float),
    ("prompt_tokens_per_s", Sort::Float),
    ("generation_tokens_per_s", Sort::Float),
    ("total_s", Sort::Float),
    ("tokens_per_s", Sort::Float),
    ("memory_bytes", Sort::Int),
    ("memory_limit_bytes", Sort::Int),
    ("bound_by", Sort::Text),
    ("energy_j", Sort::Float),
    ("energy_low_j", Sort::Float),
    ("energy_high_j", Sort::Float),
    ("energy_boundary", Sort::Text),
    ("energy_grade", Sort::Text),
    ("energy_per_token_j", Sort::Float),
    ("token_energy_j", Sort::Float),
    ("token_energy_low_j", Sort::Float),
    ("token_energy_high_j", Sort::Float),
    ("low_tokens_per_j", Sort::Float),
    ("high_tokens_per_j", Sort::Float),
    ("energy_package_limit_j", Sort::Float),
    ("cost_usd", Sort::Float),
    ("low_tokens_per_usd", Sort::Float),
    ("high_tokens_per_usd", Sort::Float),
];

#[derive(Clone, Copy)]
enum Sort {
    Float,
    Int,
    Text,
}

impl Sort {
    fn column(self, values: &[Value]) -> Column {
        match self {
            Self::Float => Column::Float(values.iter().map(Value::as_f64).collect()),
            Self::Int => Column::Int(values.iter().map(Value::as_i64).collect()),
            Self::Text => Column::Text(values.iter().map(|it| it.as_str().map(str::to_owned)).collect()),
        }
    }
}

/// Asks each platform for a prompt and a reply: a row for each and for each format, in
/// their order. `platform`, `machine`, `variant` and `study` say who answers; then come
/// the columns that all `*.inference` studies share, `error` (why there is no answer)
/// and `assumptions` (what the row takes for granted, and another may not).
///
/// The table is not complete if it was cancelled.
///
/// # Errors
/// [`Error`] for what no platform could mend: an unknown model, a length of zero, a
/// platform whose study or parameter does not exist.
///
/// ```
/// use memscape_systems::compare::{Workload, compare, platforms};
///
/// let table = compare(&Workload::of("llama-3.2-1b"), &platforms(), &())?;
/// assert_eq!(table.height(), platforms().len());
/// # Ok::<(), memscape_explore::Error>(())
/// ```
pub fn compare(
    workload: &Workload,
    platforms: &[Preset<Platform>],
    control: &dyn Control,
) -> Result<Table, Error> {
    let model = workload.check()?;
    let context = context_of(&model);
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let asked = workload.asked(platforms, &model)?;
    for (done, (preset, format)) in asked.iter().enumerate() {
        control.advanced(done as u64, asked.len() as u64);
        if control.cancelled() {
            break;
        }
        rows.push(row(workload, context, preset, format)?);
    }
    let complete = rows.len() == asked.len();
    let names = NAMES.iter().map(|it| (*it, Sort::Text)).chain([
        ("prompt_tokens", Sort::Int),
        ("generated_tokens", Sort::Int),
        ("batch", Sort::Int),
    ]);
    let sorts = names.chain(ANSWERS).chain([("error", Sort::Text), ("assumptions", Sort::Text)]);
    let columns = sorts.enumerate().map(|(index, (name, sort))| {
        let values: Vec<Value> = rows.iter().map(|row| row[index].clone()).collect();
        (name, sort.column(&values))
    });
    let table = Table::from_columns(columns)?;
    Ok(if complete { table } else { table.interrupted() })
}

/// What the model's file says, as far as the platform's study takes it; else the platform's own.
fn format_of(platform: &Platform, model: &Value) -> Result<String, Error> {
    let slot = study(&platform.study)?.slots().iter().find(|it| it.path == "model");
    let implied = slot.and_then(|it| it.implied.iter().find(|it| it.parameter == "format"));
    let format = implied.and_then(|it| (it.value)(model)?.as_str().map(str::to_owned));
    Ok(format.unwrap_or_else(|| platform.format.clone()))
}

const NAMES: [&str; 6] = ["platform", "machine", "variant", "study", "model", "format"];

/// What a platform's columns cannot pass for this prompt and reply, found from its description
/// alone; none where its study says nothing, or does not take the question.
///
/// # Errors
/// [`Error`] if the platform's study does not exist.
pub fn bounds(workload: &Workload, platform: &Platform, format: &str) -> Result<Vec<Bound>, Error> {
    // What has no answer is bounded as it is given.
    let fastest = || fastest(platform, workload, format).ok();
    let tried = if platform.fastest_of.is_empty() { None } else { fastest() };
    let choice = tried.map(|it| it.choice).unwrap_or_default();
    let layers = [&given(platform), &choice, &workload.parameters(format)];
    let bounds = study(&platform.study)?.bounds(&layers);
    Ok(bounds.unwrap_or_default())
}

/// The platform's own parameters.
pub(crate) fn given(platform: &Platform) -> Parameters {
    platform.given.iter().map(|(path, value)| (path.clone(), null(value))).collect()
}

/// What is wrong with a platform, rather than with what it was asked.
pub(crate) fn misdescribed(platform: &Preset<Platform>, error: &Error) -> Error {
    Error::NoAnswer(format!(
        "platform `{}`, whose study is `{}`: {error}; a platform's study is one of those that answer for a prompt and a reply, \
         `*.inference`",
        platform.name, platform.parameters.study
    ))
}

fn row(
    workload: &Workload,
    context: Option<u64>,
    preset: &Preset<Platform>,
    format: &str,
) -> Result<Vec<Value>, Error> {
    let it = &preset.parameters;
    let mut assumptions = it.assumptions.join("; ");
    let (answer, error) = match fits_context(workload, context).and_then(|()| fastest(it, workload, format)) {
        Ok(Fastest { answer, choice }) => {
            assumptions.extend(choice.iter().map(|(path, value)| format!("; {path} = {value}")));
            (answer, Value::Null)
        }
        Err(error @ Error::UnknownParameter { .. }) => return Err(misdescribed(preset, &error)),
        Err(error) => (Vec::new(), error.to_string().into()),
    };
    // As sweeps write it, so that the row can be asked again from anywhere.
    let model =
        study(&it.study)?.anchored_axis("model", std::slice::from_ref(&workload.model), Path::new(""));
    let model = match model.first() {
        Some(Value::String(name)) => name.clone(),
        other => Node::from(other.unwrap_or(&workload.model)).to_string(),
    };
    let variant = if it.variant.is_empty() { Value::Null } else { it.variant.as_str().into() };
    let mut row: Vec<Value> = vec![
        preset.name.as_str().into(),
        it.machine.as_str().into(),
        variant,
        it.study.as_str().into(),
        model.into(),
        format.into(),
        workload.prompt_tokens.into(),
        workload.generated_tokens.into(),
        workload.batch.into(),
    ];
    let column = |name: &str| answer.iter().find(|it| it.0 == name).map_or(Value::Null, |it| it.1.clone());
    row.extend(ANSWERS.iter().map(|it| column(it.0)));
    row.extend([error, assumptions.into()]);
    Ok(row)
}

/// Tokens that a model has been made for, where its description says.
pub(crate) fn context_of(model: &Preset<Value>) -> Option<u64> {
    model.facts.get("context_tokens").and_then(Value::as_u64)
}

/// That prompt and reply are no longer than the model has been made for, where its description says.
pub(crate) fn fits_context(workload: &Workload, context: Option<u64>) -> Result<(), Error> {
    let tokens = workload.prompt_tokens.saturating_add(workload.generated_tokens);
    match context.filter(|it| *it < tokens) {
        Some(context) => Err(Error::NoAnswer(format!(
            "prompt and reply have {tokens} tokens, but the model has a context of {context}; use fewer, or \
             another model"
        ))),
        None => Ok(()),
    }
}

/// The answer of a platform, the fastest of all that its description has tried.
pub(crate) struct Fastest {
    pub answer: Row,
    /// What was chosen.
    pub choice: Parameters,
}

pub(crate) fn fastest(platform: &Platform, workload: &Workload, format: &str) -> Result<Fastest, Error> {
    let study = study(&platform.study)?;
    let (own, asked) = (given(platform), workload.parameters(format));
    let mut choices = vec![Parameters::new()];
    for (path, values) in &platform.fastest_of {
        let most = MOST_TRIED / choices.len();
        let Some(values) = values.as_array().filter(|it| (1..=most).contains(&it.len())) else {
            let (path, given) = (format!("platform.fastest_of.{path}"), values.to_string());
            let problem =
                format!("expected a list of 1 to {most} values; {MOST_TRIED} combinations are tried at most");
            return Err(Error::BadParameter { path, given, problem });
        };
        let with = |choice: &Parameters, value: &Value| {
            choice.clone().into_iter().chain([(path.clone(), null(value))]).collect()
        };
        choices =
            choices.iter().flat_map(|choice| values.iter().map(move |value| with(choice, value))).collect();
    }
    let mut best: Option<(f64, Fastest)> = None;
    let mut refused: Option<Error> = None;
    for choice in choices {
        match study.run_layers(&[&own, &choice, &asked]) {
            Ok(answer) => {
                let total = answer.iter().find(|it| it.0 == "total_s").and_then(|it| it.1.as_f64());
                let total = total.unwrap_or(f64::INFINITY);
                if best.as_ref().is_none_or(|it| total < it.0) {
                    best = Some((total, Fastest { answer, choice }));
                }
            }
            Err(error @ Error::UnknownParameter { .. }) => return Err(error),
            // What no choice mends is the reason, rather than what one of the choices lacks.
            Err(error) => {
                let of_choice = |it: &Error| {
                    let text = it.to_string();
                    choice.keys().any(|path| text.contains(&format!("`{path}`")))
                };
                if refused.as_ref().is_none_or(|old| of_choice(old) && !of_choice(&error)) {
                    refused = Some(error);
                }
            }
        }
    }
    match (best, refused) {
        (Some((_, fastest)), _) => Ok(fastest),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::NoAnswer("there is nothing to try".to_owned())),
    }
}

/// Each combination is asked, some of which take seconds.
const MOST_TRIED: usize = 256;

/// TOML has no null: the text stands for it.
fn null(value: &Value) -> Value {
    if value == "null" { Value::Null } else { value.clone() }
}

/// All platforms that are built in, in the order of a table.
#[must_use]
pub fn platforms() -> Vec<Preset<Platform>> {
    PLATFORMS.all().to_vec()
}
