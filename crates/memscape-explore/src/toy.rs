//! A small study to test with.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use memscape_study::{Filling, PresetParameter, Study, StudyError};
use memscape_units::Nanoseconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Entry;

pub(crate) static READ: Entry<Read> = Entry::new();

/// How long it takes to read some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// Rows to read.
    rows: NonZeroU32,
    /// Whether rows are opened one after the other
    /// or all at once.
    mode: Mode,
    /// A factor on the time.
    #[schemars(extend("unit" = "x", "source" = "a guess"))]
    scale: Option<f64>,
    /// The memory.
    memory: Memory,
    /// A cache in front of it.
    cache: Option<Cache>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// One after the other.
    InTurn,
    AllAtOnce,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    /// Banks that can be open.
    banks: u32,
    /// tRCD, activate to read.
    trcd_ns: Nanoseconds,
    /// tRP, precharge.
    trp_ns: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    /// Ways of a set.
    ways: u8,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// All reads together.
    time_ns: f64,
    /// Rows per bank, rounded up.
    rows_per_bank: u64,
    /// As asked.
    mode: Mode,
    /// Whether it takes over a microsecond.
    slow: bool,
    /// Time per way, if there is a cache.
    per_way_ns: Option<f64>,
}

impl Default for Read {
    fn default() -> Self {
        Self {
            rows: NonZeroU32::new(64).unwrap(),
            mode: Mode::InTurn,
            scale: None,
            memory: Memory { banks: 16, trcd_ns: Nanoseconds::new(18.0).unwrap(), trp_ns: 21.0 },
            cache: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{rows} rows need a bank, but `memory.banks` is 0; give at least 1")]
struct NoBanks {
    rows: u32,
}

impl Study for Read {
    const NAME: &'static str = "toy.read";
    const SUMMARY: &'static str = "Time to read rows";
    type Answer = Answer;

    /// Gives infinity for one bank, takes 20 ms for 98 and panics for 99, to test
    /// what then happens.
    fn answer(&self) -> Result<Answer, StudyError> {
        let Memory { banks, trcd_ns, trp_ns } = self.memory;
        let rows = self.rows.get();
        if banks == 0 {
            return Err(NoBanks { rows }.into());
        }
        assert!(banks != 99, "ninety-nine banks");
        if banks == 98 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let row_ns = trcd_ns.as_f64() + trp_ns;
        let time_ns = match self.mode {
            Mode::InTurn => f64::from(rows) * row_ns / f64::from(banks - 1),
            Mode::AllAtOnce => row_ns,
        } * self.scale.unwrap_or(1.0);
        Ok(Answer {
            time_ns,
            rows_per_bank: u64::from(rows.div_ceil(banks)),
            mode: self.mode,
            slow: time_ns > 1000.0,
            per_way_ns: self.cache.as_ref().map(|it| time_ns / f64::from(it.ways)),
        })
    }

    fn presets() -> Vec<PresetParameter> {
        vec![
            PresetParameter {
                name: "hardware",
                meaning: "A whole machine.",
                fills: "",
                default: "old",
                names: || vec!["old", "new"],
                find: |name| {
                    let (memory, rows) = match name {
                        "old" => (json!("slow"), 64),
                        "new" => (json!("fast"), 128),
                        _ => return None,
                    };
                    let sources = BTreeMap::from([("rows".to_owned(), "a manual".to_owned())]);
                    Some(Filling { parameters: json!({ "memory": memory, "rows": rows }), sources })
                },
            },
            PresetParameter {
                name: "memory_device",
                meaning: "A memory.",
                fills: "memory",
                default: "slow",
                names: || vec!["slow", "fast"],
                find: |name| {
                    let (banks, trcd_ns, trp_ns) = match name {
                        "slow" => (16, 18.0, 21.0),
                        "fast" => (32, 15.0, 17.0),
                        _ => return None,
                    };
                    let sources = BTreeMap::from([
                        ("banks".to_owned(), "JESD0, table 1".to_owned()),
                        ("*".to_owned(), "JESD0".to_owned()),
                    ]);
                    let parameters = json!({ "banks": banks, "trcd_ns": trcd_ns, "trp_ns": trp_ns });
                    Some(Filling { parameters, sources })
                },
            },
        ]
    }
}
