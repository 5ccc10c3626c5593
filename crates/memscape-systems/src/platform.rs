//! Machines that run a language model, each with the study that answers for it.

use std::path::Path;

use memscape_explore::is_path;
use memscape_study::Catalog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A machine, or one of its ways to run a model: what a comparison has a row for.
///
/// In a file of one's own, `base` names the platform that it changes; files that its parameters name are seen from its
/// folder:
///
/// ```toml
/// base = "npu-xdna2"
/// [parameters.given]
/// "device.dram.read_gb_s" = 70
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// The machine, in a few words; variants share it.
    pub machine: String,
    /// What tells it from other platforms of the same machine; empty for the only one.
    #[serde(default)]
    pub variant: String,
    /// What kind of machine it is, in a word or two: those of a kind share a panel of a figure.
    #[serde(default)]
    pub class: String,
    /// The `*.inference` study that answers for it.
    pub study: String,
    /// How weights are stored, unless the question says so.
    pub format: String,
    /// Parameters of the study, by dotted path, beside those of the workload.
    #[serde(default)]
    pub given: Map<String, Value>,
    /// Parameters of the study of which all these values are tried, all combinations: the row is that
    /// of the fastest.
    #[serde(default)]
    pub fastest_of: Map<String, Value>,
    /// What its row takes for granted and another row may not.
    #[serde(default)]
    pub assumptions: Vec<String>,
}

macro_rules! files {
    ($($name:literal)*) => {
        &[$(include_str!(concat!("../../../data/platforms/", $name, ".toml"))),*]
    };
}

/// The platforms that are built in, in the order of a table.
pub static PLATFORMS: Catalog<Platform> = Catalog::new(
    "platform",
    "A machine that runs a language model, and the study that answers for it",
    files![
        "soc-lpddr5x"
        "pimnast"
        "phone-cpu"
        "sherpa-duplicated"
        "sherpa-ddb"
        "sherpa-owr"
        "npu-xdna"
        "npu-xdna2"
        "sg2042"
        "hermes"
        "rtx-4090-offloading"
        "a100-five"
        "cxl-expander"
        "npu-pim-duplicated"
        "npu-pim-ddb"
        "npu-pim-owr"
        "npu2-pim-ddb"
        "hermes-pim"
    ],
)
.anchored_by(anchor);

/// Files that a study's parameters name stand beside the platform's own.
fn anchor(parameters: &mut Map<String, Value>, folder: &Path) {
    for table in ["given", "fastest_of"] {
        if let Some(table) = parameters.get_mut(table) {
            seen_from(folder, table);
        }
    }
}

fn seen_from(folder: &Path, value: &mut Value) {
    match value {
        Value::String(text) if is_path(text) => {
            *text = folder.join(&*text).to_string_lossy().into_owned();
        }
        Value::Array(items) => items.iter_mut().for_each(|it| seen_from(folder, it)),
        Value::Object(table) => table.values_mut().for_each(|it| seen_from(folder, it)),
        _ => {}
    }
}
