//! The tools: what each is called, takes and does.

use memscape::explore::{self, Control, Objective, Origin, StudyFile, Table, TableForm, front_of};
use memscape::papers::{self, PAPERS};
use memscape::prelude::{DynStudy, presets, registry, studies, study};
use memscape::systems::compare::{self, platform, platforms};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::asked::{Claims, Compare, Describe, Figure, Find, Front, List, Listed, Run, Space, Sweep};
use super::check::check;
use super::place::Place;
use super::rows::{head, summary};
use crate::failure::Failure;
use crate::keep::keep;

/// What a tool answers: an object, and perhaps a picture.
pub struct Answer {
    pub facts: Map<String, Value>,
    pub png: Option<Vec<u8>>,
}

impl From<Map<String, Value>> for Answer {
    fn from(facts: Map<String, Value>) -> Self {
        Self { facts, png: None }
    }
}

/// All tools, over one folder.
pub struct Tools {
    place: Place,
    /// Points that one call may ask for.
    most_points: u64,
}

/// One of them.
struct Tool {
    name: &'static str,
    summary: &'static str,
    files: Files,
    schema: fn() -> Value,
    call: fn(&Tools, Value, &dyn Control) -> Result<Answer, Failure>,
}

/// What a tool does to files.
#[derive(PartialEq, Eq)]
enum Files {
    Reads,
    /// It writes new ones, and over its own.
    Writes,
    /// It may be told to write over any.
    Replaces,
}

macro_rules! tool {
    ($name:literal, $asked:ty, $call:ident, $files:ident, $summary:literal) => {
        Tool {
            name: $name,
            summary: $summary,
            files: Files::$files,
            schema: schema::<$asked>,
            call: |tools, given, control| tools.$call(asked::<$asked>(given)?, control),
        }
    };
}

const TOOLS: &[Tool] = &[
    tool!("list", List, list, Reads, "List what can be asked, named and drawn"),
    tool!(
        "describe",
        Describe,
        describe,
        Reads,
        "Explain a study (each parameter's meaning, unit, default, range and source, \
        and what its answer holds), or show a description of a model, a memory or a machine with its sources"
    ),
    tool!("run", Run, run, Reads, "Answer a study at one point"),
    tool!(
        "sweep",
        Sweep,
        sweep,
        Replaces,
        "Answer a study at every point of a grid, into a table in the folder; shows its first rows. \
        A point that cannot be is a row whose `error` says why"
    ),
    tool!(
        "front",
        Front,
        front,
        Reads,
        "What nothing in a design space, or in a table, is better than in every objective"
    ),
    tool!("search", Find, search, Writes, "The best points of a design space, without looking at all of it"),
    tool!(
        "compare",
        Compare,
        compare,
        Reads,
        "Ask many platforms for the same prompt and reply: times, memory, what binds them, \
        or why a platform cannot run the model"
    ),
    tool!("claims", Claims, claims, Reads, "Hold a paper's printed numbers against the models' own"),
    tool!(
        "figure",
        Figure,
        figure,
        Reads,
        "Draw a figure of a paper from its table, parameters changed if wanted: an image, \
        and the table's first rows"
    ),
];

/// How a grid has fewer points.
const FEWER: &str = "shorten an axis, or give `search` a budget";

/// The most rows of a table in an answer.
const MOST_ROWS: usize = 200;

#[expect(clippy::needless_pass_by_value, clippy::unused_self, reason = "all tools are called alike")]
impl Tools {
    pub const fn new(place: Place, most_points: u64) -> Self {
        Self { place, most_points }
    }

    /// All of them, as the protocol lists them.
    pub fn list_all() -> Value {
        let one = |it: &Tool| {
            json!({
                "name": it.name,
                "description": it.summary,
                "inputSchema": (it.schema)(),
                "annotations": {
                    "readOnlyHint": it.files == Files::Reads,
                    "destructiveHint": it.files == Files::Replaces,
                    "openWorldHint": false,
                },
            })
        };
        TOOLS.iter().map(one).collect()
    }

    /// Whether there is such a tool.
    pub fn knows(name: &str) -> bool {
        TOOLS.iter().any(|it| it.name == name)
    }

    /// What a tool says; of an unknown one, which there are.
    pub fn call(&self, name: &str, mut given: Value, control: &dyn Control) -> Result<Answer, Failure> {
        let Some(tool) = TOOLS.iter().find(|it| it.name == name) else {
            let names = TOOLS.iter().map(|it| it.name);
            return Err(Failure::of(memscape::study::Unknown::new("tool", name, names)));
        };
        check(tool.name, &(tool.schema)(), &given)?;
        // Of these, texts are names or files; anywhere else they are formulas, or files to write.
        for key in ["name", "model", "platforms", "parameters", "base", "axes", "table"] {
            for at in [format!("/{key}"), format!("/space/{key}")] {
                if let Some(value) = given.pointer_mut(&at) {
                    self.place.anchor(value)?;
                }
            }
        }
        (tool.call)(self, given, control).map_err(|it| self.place.relative(it))
    }

    fn list(&self, asked: List, _: &dyn Control) -> Result<Answer, Failure> {
        let row = |name: &str, summary: &str| json!({ "name": name, "summary": summary });
        let all: Vec<Value> = match asked.of {
            Listed::Studies => studies().map(|it| row(it.name(), it.summary())).collect(),
            Listed::Platforms => platforms().iter().map(|it| row(&it.name, &it.summary)).collect(),
            Listed::Figures => papers::experiments().map(|it| row(it.id, it.title)).collect(),
            Listed::Papers => {
                PAPERS.iter().map(|it| json!({ "name": it.id, "figures": it.experiments.len() })).collect()
            }
            Listed::Presets => {
                let kind = |it: &str| asked.kind.as_deref().is_none_or(|wanted| wanted == it);
                if let Some(kind) = &asked.kind {
                    registry().catalog(kind).map_err(Failure::of)?;
                }
                let found = presets().into_iter().filter(|it| kind(&it.0));
                found
                    .map(|(kind, it)| json!({ "kind": kind, "name": it.name, "summary": it.summary }))
                    .collect()
            }
        };
        Ok(facts([("found", Value::Array(all))]).into())
    }

    fn describe(&self, asked: Describe, _: &dyn Control) -> Result<Answer, Failure> {
        let name = asked.name.as_str();
        if let Ok(study) = study(name) {
            return Ok(facts([("study", json!(study.describe()))]).into());
        }
        let found = memscape::preset(name).map_err(|error| match registry().preset(name) {
            Err(_) if !std::path::Path::new(name).exists() => Failure::of(memscape::neither(name)),
            _ => Failure::of(error),
        })?;
        Ok(facts([("preset", json!(found))]).into())
    }

    fn run(&self, asked: Run, _: &dyn Control) -> Result<Answer, Failure> {
        let row = study(&asked.study).map_err(Failure::of)?.run(&asked.parameters).map_err(Failure::of)?;
        Ok(row.into_iter().collect::<Map<_, _>>().into())
    }

    fn sweep(&self, asked: Sweep, control: &dyn Control) -> Result<Answer, Failure> {
        let path = self.place.writable(&asked.output)?;
        crate::read::check_place(&path)?;
        let file = asked.space.file();
        let study = study(&file.study).map_err(Failure::of)?;
        self.check_points(file.sweep(study).map_err(Failure::of)?.points().map_err(Failure::of)?, FEWER)?;
        let onto = explore::Onto { resume: true, overwrite: asked.overwrite };
        let written = explore::sweep_to_file(study, &file, &path, onto, control).map_err(Failure::of)?;
        let mut all = if written.filled.complete && TableForm::of(&path) == Some(TableForm::Parquet) {
            let table = Table::read_parquet(&path).map_err(Failure::of)?;
            summary(&table, asked.rows.min(MOST_ROWS))?
        } else {
            facts([("rows", json!(written.filled.rows)), ("complete", json!(written.filled.complete))])
        };
        all.insert("output".to_owned(), asked.output.into());
        all.insert("rows_without_answer".to_owned(), written.unanswered.into());
        Ok(all.into())
    }

    fn front(&self, asked: Front, control: &dyn Control) -> Result<Answer, Failure> {
        let goals = Objective::all(&asked.minimize, &asked.maximize).map_err(Failure::of)?;
        let rows = asked.rows.min(MOST_ROWS);
        match (asked.space, &asked.table) {
            (Some(space), None) => {
                let (study, file) = self.space(space)?;
                let space = file.space(study).map_err(Failure::of)?;
                let space = asked.constraints.into_iter().fold(space, explore::Space::constraint);
                let found = front_of(study, &[file.parameters(study)], &space, &goals, control);
                let found = found.map_err(Failure::of)?;
                let mut all = summary(&found.table, rows)?;
                all.insert("points".to_owned(), found.points.into());
                all.insert("feasible".to_owned(), found.feasible.into());
                Ok(all.into())
            }
            (None, Some(path)) => {
                let table = Table::read(std::path::Path::new(path)).map_err(Failure::of)?;
                let found = explore::front(&table, &goals, &asked.constraints).map_err(Failure::of)?;
                Ok(summary(&found, rows)?.into())
            }
            _ => Err(Failure::BadInput("give either `space` or `table`".to_owned())),
        }
    }

    fn search(&self, asked: Find, control: &dyn Control) -> Result<Answer, Failure> {
        let question = asked.question().map_err(Failure::of)?;
        self.check_points(question.budget, "lower `budget`")?;
        let path = asked.output.as_deref().map(|it| self.place.writable(it)).transpose()?;
        crate::read::check_table(path.as_deref(), "search")?;
        let file = asked.space.file();
        let study = study(&file.study).map_err(Failure::of)?;
        let space = file.space(study).map_err(Failure::of)?;
        let base = [file.parameters(study)];
        let found = explore::search(study, &base, &space, &question, control).map_err(Failure::of)?;
        if let Some(path) = &path {
            let asked = question.question(study, &base, &space).map_err(Failure::of)?;
            keep(&found, &Origin::of(&asked), path, true, &mut std::io::sink())?;
        }
        let best = found.filter("on_front", true).map_err(Failure::of)?;
        let mut all = facts([
            ("evaluations", found.height().into()),
            ("best", head(&best, asked.rows.min(MOST_ROWS))?),
            ("on_front", best.height().into()),
        ]);
        if let Some(output) = asked.output {
            all.insert("output".to_owned(), output.into());
        }
        Ok(all.into())
    }

    fn compare(&self, asked: Compare, control: &dyn Control) -> Result<Answer, Failure> {
        let named = asked.platforms.iter().map(|it| platform(&it.as_str().into()));
        let asked_of = match &asked.platforms[..] {
            [] => platforms(),
            _ => named.collect::<Result<_, _>>().map_err(Failure::of)?,
        };
        let Compare { model, prompt_tokens, generated_tokens, batch, formats, .. } = asked;
        let question =
            compare::Workload { model: model.into(), prompt_tokens, generated_tokens, batch, formats };
        let table = compare::compare(&question, &asked_of, control).map_err(Failure::of)?;
        Ok(facts([("platforms", head(&table, MOST_ROWS)?)]).into())
    }

    fn claims(&self, asked: Claims, _: &dyn Control) -> Result<Answer, Failure> {
        // A path would be a claims file.
        papers::paper(&asked.paper).map_err(Failure::of)?;
        let report = memscape::prelude::report(Some(&asked.paper)).map_err(Failure::of)?;
        match json!(report) {
            Value::Object(all) => Ok(all.into()),
            other => Ok(facts([("report", other)]).into()),
        }
    }

    fn figure(&self, asked: Figure, _: &dyn Control) -> Result<Answer, Failure> {
        let found = memscape::experiment(&asked.id).map_err(Failure::of)?;
        let look = papers::Look { changed: asked.parameters, ..papers::Look::default() };
        let table = found.table_of(&look.changed).map_err(Failure::of)?;
        let figure = papers::draw(found, &table, &look).map_err(Failure::of)?;
        let mut all = summary(&table, asked.rows.min(MOST_ROWS))?;
        all.insert("title".to_owned(), found.title.into());
        Ok(Answer { facts: all, png: Some(figure.png().map_err(Failure::of)?) })
    }

    fn space(&self, space: Space) -> Result<(&'static dyn explore::DynStudy, StudyFile), Failure> {
        let file = space.file();
        let study = study(&file.study).map_err(Failure::of)?;
        self.check_points(file.sweep(study).map_err(Failure::of)?.points().map_err(Failure::of)?, FEWER)?;
        Ok((study, file))
    }

    fn check_points(&self, points: u64, instead: &str) -> Result<(), Failure> {
        if points <= self.most_points {
            return Ok(());
        }
        Err(Failure::BadInput(format!(
            "{points} points are asked for, but a call may ask for {} (`--most-points`); {instead}",
            self.most_points
        )))
    }
}

fn facts<const N: usize>(all: [(&str, Value); N]) -> Map<String, Value> {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn asked<T: DeserializeOwned>(given: Value) -> Result<T, Failure> {
    serde_json::from_value(given).map_err(Failure::of)
}

/// The schema of a tool's arguments, with the names that there are.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    let names: Vec<&str> = studies().map(DynStudy::name).collect();
    for at in ["/properties/study", "/properties/space/properties/study"] {
        if let Some(place) = schema.pointer_mut(at) {
            place["enum"] = json!(names);
        }
    }
    schema
}
