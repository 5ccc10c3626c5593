//! What each tool is asked, as its schema says it.

use memscape::explore::{Parameters, Search, Strategy, StudyFile};
use schemars::JsonSchema;
use serde::Deserialize;

/// What is listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// `studies` (questions), `presets` (descriptions that can be named), `platforms` (machines to
    /// compare), `figures` (of the papers), `papers`
    pub of: Listed,
    /// Of presets, only those of one kind, such as `memory` or `model`
    #[serde(default)]
    pub kind: Option<String>,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Listed {
    Studies,
    Presets,
    Platforms,
    Figures,
    Papers,
}

/// What is described.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Describe {
    /// A study such as `pim.gemv`, a preset such as `lpddr5-6400`, or a file of one in the folder
    pub name: String,
}

/// One point.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The study
    pub study: String,
    /// By dotted path, such as `{"model": "opt-6.7b", "memory.banks_per_channel": 32}`; what is not given keeps
    /// the default that `describe` shows
    #[serde(default)]
    pub parameters: Parameters,
}

/// A design space.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// The study
    pub study: String,
    /// Parameters that are the same at all points, by dotted path
    #[serde(default)]
    pub base: Parameters,
    /// By dotted path: a list of values, `{"from": 8, "to": 32, "step": 8}`, or `{"from": 1, "to": 64, "count": 7, "log": true}`;
    /// all combinations
    pub axes: Parameters,
    /// What must hold, such as `memory_bytes <= 16e9`: formulas over parameters and columns
    #[serde(default)]
    pub constraints: Vec<String>,
}

/// A design space, all of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Where to look
    pub space: Space,
    /// The table to write into the folder, .parquet or .csv
    pub output: String,
    /// Whether it may replace a table that answers something else
    #[serde(default)]
    pub overwrite: bool,
    /// Rows to show, at most 200
    #[serde(default = "few")]
    #[schemars(range(max = 200))]
    pub rows: usize,
}

/// What nothing in a space, or in a table, is better than.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Front {
    /// The space; or give `table`
    #[serde(default)]
    pub space: Option<Space>,
    /// A .parquet table in the folder
    #[serde(default)]
    pub table: Option<String>,
    /// Columns, or formulas over parameters and columns, of which less is better
    #[serde(default)]
    pub minimize: Vec<String>,
    /// Of which more is better
    #[serde(default)]
    pub maximize: Vec<String>,
    /// Of a table, what must hold
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Rows to show, at most 200
    #[serde(default = "few")]
    #[schemars(range(max = 200))]
    pub rows: usize,
}

/// The best of a space, without looking at all of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Where to look
    pub space: Space,
    /// Columns, or formulas over parameters and columns, of which less is better
    #[serde(default)]
    pub minimize: Vec<String>,
    /// Of which more is better
    #[serde(default)]
    pub maximize: Vec<String>,
    /// exhaustive, random, latin, sobol, descent, nelder-mead, swarm, annealing or nsga2
    #[serde(default)]
    pub method: Option<String>,
    /// Points evaluated at most
    #[serde(default)]
    pub budget: Option<u64>,
    /// Another search of the same kind for each
    #[serde(default)]
    pub seed: Option<u64>,
    /// A table of all points to write into the folder, .parquet or .csv
    #[serde(default)]
    pub output: Option<String>,
    /// Rows to show, at most 200
    #[serde(default = "few")]
    #[schemars(range(max = 200))]
    pub rows: usize,
}

/// The same prompt and reply on many platforms.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The language model: a name, or a file in the folder (.toml, config.json, .gguf)
    pub model: String,
    /// Tokens of each prompt
    #[serde(default = "prompt")]
    pub prompt_tokens: u64,
    /// Tokens generated after it
    #[serde(default = "reply")]
    pub generated_tokens: u64,
    /// Sequences at the same time
    #[serde(default = "one")]
    pub batch: u64,
    /// How weights are stored, a row for each; the platforms' own if empty
    #[serde(default)]
    pub formats: Vec<String>,
    /// By name, or files in the folder; all that are built in if empty
    #[serde(default)]
    pub platforms: Vec<String>,
}

/// Published numbers beside the models'.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The paper, such as `pimnast`
    pub paper: String,
}

/// A figure of a paper.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Such as `pimnast.fig10`; `list` has them
    pub id: String,
    /// Parameters that are changed in all of it
    #[serde(default)]
    pub parameters: Parameters,
    /// Rows of its table to show, at most 200
    #[serde(default = "few")]
    #[schemars(range(max = 200))]
    pub rows: usize,
}

const fn few() -> usize {
    20
}

const fn prompt() -> u64 {
    1920
}

const fn reply() -> u64 {
    128
}

const fn one() -> u64 {
    1
}

impl Space {
    /// The same as a study file.
    pub fn file(self) -> StudyFile {
        let Self { study, base, axes, constraints } = self;
        StudyFile {
            study,
            output: None,
            base,
            axes,
            zip: Vec::new(),
            constraints,
            search: None,
            sensitivity: None,
            sample: None,
            folder: std::path::PathBuf::new(),
        }
    }
}

impl Find {
    /// What is looked for.
    pub fn question(&self) -> Result<Search, memscape::explore::Error> {
        let mut question = Search::default();
        (question.minimize, question.maximize) = (self.minimize.clone(), self.maximize.clone());
        question.method = self.method.as_deref().map(Strategy::named).transpose()?;
        question.budget = self.budget.unwrap_or(question.budget);
        question.seed = self.seed.unwrap_or(question.seed);
        Ok(question)
    }
}
