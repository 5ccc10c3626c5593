//! A small study to test with.

use std::num::NonZeroU32;

use memscape_study::{
    AnyCatalog, Calibration, Catalog, Nested, Recorder, Slot, Span, Study, StudyError, StudyVisitor, System,
};
use memscape_units::Nanoseconds;
use proptest::strategy::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Entry;

pub(crate) static READ: Entry<Read> = Entry::new();

/// The system of this one study.
#[derive(Clone, Copy)]
pub(crate) struct Toy;

impl System for Toy {
    const NAME: &'static str = "toy";
    const SUMMARY: &'static str = "A system to test with";
    const CALIBRATION: Option<&'static Calibration> = None;

    fn studies(visitor: &mut impl StudyVisitor) {
        visitor.visit::<Read>();
    }

    fn catalogs() -> Vec<&'static dyn AnyCatalog> {
        vec![&MACHINES, &MEMORIES]
    }
}

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
    #[serde(flatten)]
    speed: Speed,
    /// Time per way, if there is a cache.
    per_way_ns: Option<f64>,
}

/// Flattened into the answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Speed {
    /// Whether it takes over a microsecond.
    slow: bool,
}

/// A machine: all that a description can fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    /// The memory.
    memory: Memory,
    /// Rows to read.
    rows: NonZeroU32,
    /// Something that this study does not ask about.
    #[serde(default)]
    colour: u8,
}

pub(crate) static MEMORIES: Catalog<Memory> = Catalog::new(
    "memory",
    "memories",
    &[
        r#"
        name = "slow"
        summary = "A slow one"
        [parameters]
        banks = 16
        trcd_ns = 18
        trp_ns = 21
        [sources]
        banks = "datasheet: JESD0, table 1"
        trcd_ns = "prior: JESD0 gives none"
        "*" = "datasheet: JESD0"
        [intervals]
        trcd_ns = [15, 21]
        "#,
        r#"
        name = "fast"
        summary = "A fast one"
        [parameters]
        banks = 32
        trcd_ns = 15
        trp_ns = 17
        [sources]
        "*" = "datasheet: JESD0"
        "#,
    ],
);

pub(crate) static MACHINES: Catalog<Machine> = Catalog::new(
    "hardware",
    "machines",
    &[
        r#"
        name = "old"
        summary = "An old one"
        [parameters]
        memory = "slow"
        rows = 64
        [sources]
        "*" = "datasheet: a manual"
        "#,
        r#"
        name = "new"
        summary = "A new one"
        [parameters]
        memory = "fast"
        rows = 128
        [sources]
        "*" = "datasheet: a manual"
        "#,
    ],
)
.with_nested(&[Nested { path: "memory", catalog: &MEMORIES }]);

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
            speed: Speed { slow: time_ns > 1000.0 },
            per_way_ns: self.cache.as_ref().map(|it| time_ns / f64::from(it.ways)),
        })
    }

    const TIMELINE: Option<fn(&Self, &mut dyn Recorder) -> Result<(), StudyError>> =
        Some(|study, recorder| {
            let banks = recorder.track("memory", "banks");
            let time = study.memory.trcd_ns.to_picoseconds();
            for row in 0..u64::from(study.rows.get()) {
                let (start, end) = (time * row, time * (row + 1));
                recorder
                    .span(banks, Span { name: "read", category: "", start, end, details: &[("row", row)] });
            }
            Ok(())
        });

    fn slots() -> Vec<Slot> {
        vec![Slot::whole("hardware", &MACHINES, "old"), Slot::part("memory", &MEMORIES, "slow")]
    }
}

fn values(path: &'static str, values: Vec<Value>) -> impl Strategy<Value = (&'static str, Vec<Value>)> {
    let count = values.len();
    proptest::sample::subsequence(values, 1..=count).prop_shuffle().prop_map(move |it| (path, it))
}

/// Some of its axes in any order, with values of which some are refused.
pub(crate) fn axes() -> impl Strategy<Value = Vec<(&'static str, Vec<Value>)>> {
    let all = (
        values("hardware", vec![json!("old"), json!("new"), json!("none"), json!({ "rows": 5 })]),
        values("memory", vec![json!("slow"), json!({ "trp_ns": 3 }), json!("fast")]),
        values("memory.banks", vec![json!(0), json!(1), json!(2), json!(7.0), json!(-1), json!("x")]),
        values("memory.trcd_ns", vec![json!(0), json!(1.5), json!(-3), Value::Null]),
        values("mode", vec![json!("in-turn"), json!("all-at-once"), json!("both"), json!(true)]),
        values("scale", vec![Value::Null, json!(2), json!(0.25), json!(1e308)]),
        values("cache.ways", vec![json!(1), json!(0), json!(300)]),
    );
    all.prop_flat_map(|(a, b, c, d, e, f, g)| {
        proptest::sample::subsequence(vec![a, b, c, d, e, f, g], 1..=4).prop_shuffle()
    })
}
