//! A study with a fault of each kind, and that each is found and shrunk.

use std::num::NonZeroU32;

use memscape_study::{
    Aim, Bound, Engines, Exception, Laws, Limit, Study, StudyError, When, either, faster, neutral, slower,
    unused,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Examination, Rule, examine};
use crate::{DynStudy, Entry, Parameters};

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Closed,
    Events,
}

/// Bytes over lanes, with faults that options switch on.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bent {
    /// Bytes to move
    bytes: NonZeroU32,
    /// Lanes
    lanes: NonZeroU32,
    /// What a byte takes
    byte_ns: f64,
    /// Room
    room_bytes: u64,
    /// A delay, by events only
    delay_ns: f64,
    /// A name for the run
    tag: u64,
    /// Of a description, but not of this study
    colour: u32,
    /// Options
    faults: Faults,
    /// How it is found
    engine: Mode,
}

#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each fault is there or not")]
struct Faults {
    /// More than 16 lanes are slower
    bends: bool,
    /// The closed form leaves a tenth out
    sloppy: bool,
    /// What does not fit is answered
    careless: bool,
    /// A share of the time is in no part
    leaks: bool,
    /// Long runs overflow
    overflows: bool,
    /// Some nanoseconds are nobody's
    hides: bool,
    /// Ties are broken by time (no fault)
    turns: bool,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    /// All
    time_ns: f64,
    /// On the lanes
    lanes_ns: f64,
    /// Waiting
    wait_ns: f64,
    /// What it takes
    memory_bytes: u64,
    /// What there is
    memory_limit_bytes: Option<u64>,
    /// As given
    tag: u64,
    /// A mark of the run
    mark: u64,
}

impl Default for Bent {
    fn default() -> Self {
        let count = |it| NonZeroU32::new(it).unwrap();
        Self {
            bytes: count(4096),
            lanes: count(8),
            byte_ns: 100.0,
            room_bytes: 1 << 13,
            delay_ns: 100.0,
            tag: 1,
            colour: 3,
            faults: Faults::default(),
            engine: Mode::Closed,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0} bytes do not fit")]
struct TooMuch(u32);

impl Study for Bent {
    const NAME: &'static str = "toy.bent";
    const SUMMARY: &'static str = "Faults";
    type Answer = Answer;
    const SUMS: &'static [(&'static str, &'static [&'static str])] = &[("time_ns", &["lanes_ns", "wait_ns"])];
    const LAWS: Laws = Laws {
        aim: Some(Aim::less("time_ns")),
        effects: &[&[
            slower("bytes"),
            faster("lanes"),
            slower("byte_ns"),
            neutral("room_bytes"),
            slower("delay_ns").only(&[When::is("engine", &["events"])]),
            neutral("tag"),
            unused("colour", "light has no time here"),
        ]],
        engines: Some(Engines::closed_and_events(0.2)),
        limits: &[Limit { grow: &[("lanes", 1e6)], vanish: &["lanes_ns"] }],
        ..Laws::NONE
    };

    fn answer(&self) -> Result<Answer, StudyError> {
        let (bytes, lanes) = (f64::from(self.bytes.get()), f64::from(self.lanes.get()));
        if u64::from(self.bytes.get()) > self.room_bytes && !self.faults.careless {
            return Err(TooMuch(self.bytes.get()).into());
        }
        let bend = if self.faults.bends && lanes > 16.0 { lanes } else { 1.0 };
        let rest_ns = self.byte_ns * bytes / lanes * bend;
        // A third of the time of this study as it stands.
        let hidden_ns = if self.faults.hides { 0.3 * 100.0 * 4096.0 / 8.0 } else { 0.0 };
        // A picosecond more or less decides.
        let is_turned = self.faults.turns && self.byte_ns > 1000.0;
        let lanes_ns = rest_ns * if is_turned { 0.95 } else { 1.0 } + hidden_ns;
        let wait_ns = if self.engine == Mode::Events { self.delay_ns.min(0.1 * lanes_ns) } else { 0.0 };
        let sloppy = if self.faults.sloppy && self.engine == Mode::Closed { 0.5 } else { 1.0 };
        let leak = if self.faults.leaks { 1.1 } else { 1.0 };
        let time_ns = (lanes_ns + wait_ns) * sloppy * leak;
        Ok(Answer {
            time_ns: if self.faults.overflows && bytes > 8000.0 { f64::NAN } else { time_ns },
            lanes_ns: lanes_ns * sloppy,
            wait_ns: wait_ns * sloppy,
            memory_bytes: self.bytes.get().into(),
            memory_limit_bytes: Some(self.room_bytes),
            tag: self.tag,
            mark: self.tag + 1,
        })
    }

    fn bounds(&self) -> Vec<Bound> {
        vec![Bound::at_least(
            "time_ns",
            0.6 * self.byte_ns * f64::from(self.bytes.get()) / f64::from(self.lanes.get()),
            "lanes",
        )]
    }
}

static BENT: Entry<Bent> = Entry::new();

/// With all faults off but these.
fn looked(on: &[&str]) -> Examination {
    let faults = ["bends", "sloppy", "careless", "leaks", "overflows", "hides", "turns"];
    let fixed: Parameters =
        faults.iter().map(|it| (format!("faults.{it}"), json!(on.contains(it)))).collect();
    examine(&BENT, &fixed, 2000, 3, &()).unwrap()
}

fn broken(it: &Examination) -> Vec<(Rule, &str)> {
    it.broken.iter().map(|it| (it.rule, it.parameter.as_str())).collect()
}

#[test]
fn a_study_that_keeps_its_laws_has_none_broken() {
    let it = looked(&[]);
    assert!(it.broken.is_empty(), "{it}");
    assert!(it.points > 1900 && it.refused > 0 && it.checks() > 10_000, "{it}");
    let of = |rule| it.checked.iter().find(|it| it.rule == rule && it.parameter.is_empty()).unwrap().checks;
    for rule in Rule::ALL.into_iter().filter(|it| ![Rule::Declared, Rule::Alive].contains(it)) {
        assert!(of(rule) > 0, "{rule:?} was never asked");
    }
}

#[test]
fn each_fault_is_found() {
    assert_eq!(broken(&looked(&["bends"]))[..1], [(Rule::Monotone, "lanes")]);
    assert!(broken(&looked(&["sloppy"])).contains(&(Rule::Engines, "engine")));
    assert!(broken(&looked(&["sloppy"])).contains(&(Rule::Bounds, "")));
    assert!(broken(&looked(&["careless"])).contains(&(Rule::Fits, "")));
    assert!(broken(&looked(&["leaks"])).contains(&(Rule::Sums, "")));
    assert!(broken(&looked(&["overflows"])).iter().any(|it| it.0 == Rule::Sane));
    assert!(broken(&looked(&["hides"])).contains(&(Rule::Clock, "")));
}

/// What acts elsewhere alone is not dead where somebody looks at one engine; what nobody declares so is.
#[test]
fn what_is_held_fast_excludes_what_acts_elsewhere() {
    let faults = ["bends", "sloppy", "careless", "leaks", "overflows", "hides", "turns"];
    let fixed = faults.iter().map(|it| (format!("faults.{it}"), json!(false)));
    let fixed = fixed.chain([("engine".to_owned(), json!("closed"))]).collect();
    let it = examine(&BENT, &fixed, 1000, 3, &()).unwrap();
    assert!(it.checked.iter().any(|it| it.parameter == "delay_ns" && it.checks >= 100), "{it}");
    assert_eq!(broken(&it), []);
    let careless = Parameters::from_iter([("on".to_owned(), json!(true))]);
    let it = examine(&Entry::<Careless>::new(), &careless, 500, 1, &()).unwrap();
    assert!(broken(&it).contains(&(Rule::Alive, "printed")), "its law says nothing of this: {it}");
}

/// A constant fades as machines get slower, what rounding decides comes and goes.
#[test]
fn a_tie_that_rounding_turns_is_no_hidden_time() {
    assert!(!broken(&looked(&["turns"])).iter().any(|it| it.0 == Rule::Clock));
}

#[test]
fn a_counterexample_is_shrunk_to_commands() {
    let it = looked(&["bends"]);
    let bend = it.broken.iter().find(|it| it.rule == Rule::Monotone).unwrap();
    // What is held fast, and the lanes.
    let own = |it: &String| it.split(' ').filter(|it| it.contains('=') && !it.starts_with("faults.")).count();
    assert_eq!(bend.commands.iter().map(own).collect::<Vec<_>>(), [1, 1], "{bend:?}");
}

/// The same points for the same seed, whatever the threads.
#[test]
fn an_examination_is_reproducible() {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| looked(&["bends"])), looked(&["bends"]));
}

#[test]
fn what_nothing_depends_on_is_no_parameter() {
    assert!(!BENT.describe().parameters.iter().any(|it| it.path == "colour"));
    let error = BENT.run(&Parameters::from_iter([("colour".to_owned(), json!(1))])).unwrap_err();
    insta::assert_snapshot!(error, @"there is no parameter `colour`: nothing here depends on it, since light has no time here");
}

#[test]
fn a_description_shows_its_laws() {
    let text = BENT.describe().to_string();
    assert!(text.contains("more: faster") && text.contains("only where engine is events"), "{text}");
    assert!(text.contains("Aim: less time_ns"), "{text}");
}

/// Declarations that are wrong by themselves.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
struct Careless {
    /// Moves nothing
    idle: u32,
    /// Has no law
    lawless: u32,
    /// Said to be inert, but is not
    sly: u32,
    /// Kept as printed
    printed: u32,
    /// Whether
    on: bool,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// All
    sum: u32,
}

impl Study for Careless {
    const NAME: &'static str = "toy.careless";
    const SUMMARY: &'static str = "Declared wrongly";
    type Answer = Sum;
    const LAWS: Laws = Laws {
        aim: Some(Aim::less("sum")),
        effects: &[&[
            either("idle", "who knows"),
            slower("sly").only(&[When::is("on", &["true"])]),
            faster("printed").except(&[Exception { when: When::is("on", &["false"]), reason: "as printed" }]),
            faster("gone"),
        ]],
        // One of the range ends before it, the other is of nothing that there is.
        limits: &[
            Limit { grow: &[("sly", 1e6)], vanish: &["sums"] },
            Limit { grow: &[("slyer", 1e6)], vanish: &["sum"] },
        ],
        ..Laws::NONE
    };

    fn answer(&self) -> Result<Sum, StudyError> {
        let printed = if self.on { 0 } else { self.printed };
        Ok(Sum { sum: self.lawless + self.sly + printed })
    }
}

#[test]
fn declarations_are_held_to_the_study() {
    let it = examine(&Entry::<Careless>::new(), &Parameters::new(), 500, 1, &()).unwrap();
    let expected = [
        (Rule::Declared, "gone"),
        (Rule::Declared, "lawless"),
        (Rule::Declared, "sly"),
        (Rule::Declared, "slyer"),
        (Rule::Alive, "idle"),
        (Rule::Inert, "sly"),
        (Rule::Limits, "sly"),
    ];
    assert_eq!(broken(&it), expected, "{it}");
    assert_eq!(it.exceptions, 1);
    let exempt = it.checked.iter().find(|it| it.parameter == "printed").unwrap();
    assert!(exempt.exempt > 0 && exempt.broken == 0);
}

#[test]
fn what_cannot_exist_at_all_is_an_error() {
    let fixed = Parameters::from_iter([("room_bytes".to_owned(), json!(0)), ("bytes".to_owned(), json!(9))]);
    let careful = Parameters::from_iter([("faults.careless".to_owned(), json!(false))]);
    let all: Parameters = fixed.into_iter().chain(careful).collect();
    let error = examine(&BENT, &all, 10, 1, &()).unwrap_err().to_string();
    assert!(error.contains("can exist: 9 bytes do not fit"), "{error}");
}
