//! No study panics, hangs, or takes the machine's memory, whatever numbers it is given.
//!
//! Every numeric parameter of every study is set to the ends of its range, beyond
//! them, and to numbers that overflow; many at once are drawn at random. Points are
//! answered in a process of their own, since neither a hang nor an exhausted memory
//! can be caught: it says which point it is at, and is ended if it takes too long.
//!
//! A minute is shared by all studies, and each looks at as many of its points as it has
//! time for, in an order that mixes them. `EXTREMES_SECONDS=0` looks at all,
//! `EXTREMES_POINTS=20000` draws more of them (for all studies together), and
//! `EXTREMES_STUDY=ndp.activity` looks at one study.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use memscape_explore::{DynStudy, Error, Parameter, Parameters, Values};
use memscape_study::random::Key;
use memscape_systems::{studies, study};
use serde_json::{Value, json};

use super::counting;

/// What a point may take: the 10 s that are promised of an idle core times three, since tests
/// share theirs with others. This finds what hangs, not what is slow.
const MOST_TIME: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(40);

/// Random points of all studies together.
const POINTS: u64 = 3_000;

/// How long all studies may take together.
const SECONDS: u64 = 60;

/// Random choices, the same for the same key.
struct Dice(Key, u64);

impl Dice {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a count"
    )]
    fn below(&mut self, count: usize) -> usize {
        self.1 += 1;
        (self.0.uniform(self.1) * count as f64) as usize
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// The numeric parameters of a study, with fields of descriptions that are one
/// parameter, and what each is to be set to.
fn extremes(study: &dyn DynStudy) -> Vec<(String, Vec<Value>)> {
    let description = study.describe();
    let is_number =
        |it: &&Parameter| matches!(it.values, Values::Number { .. }) || it.allowed.contains("number");
    let own = description.parameters.iter().filter(is_number);
    let mut all: Vec<(String, Vec<Value>)> = own.map(|it| (it.path.clone(), values(it))).collect();
    for slot in study.slots().iter().filter(|it| !it.whole) {
        let Ok(preset) = slot.catalog.find_plain(slot.default) else { continue };
        for (name, value) in preset.parameters.as_object().into_iter().flatten() {
            let path = format!("{}.{name}", slot.path);
            if value.is_number() && !all.iter().any(|it| it.0 == path) {
                all.push((path, anywhere()));
            }
        }
    }
    all
}

fn anywhere() -> Vec<Value> {
    vec![
        json!(0),
        json!(1),
        json!(-1),
        json!(1_u64 << 31),
        json!(i64::MAX),
        json!(1e-300),
        json!(1e300),
        json!(1e-9),
        json!(1 << 10),
        json!(1 << 20),
        json!(1_u64 << 40),
        json!(2.5),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "limits of counts are whole")]
fn values(parameter: &Parameter) -> Vec<Value> {
    let mut all = anywhere();
    if let Values::Number { whole, min, max } = parameter.values {
        let beside = |end: f64, by: f64| {
            if whole { json!(end as i64 + by as i64) } else { json!(end + by * end.abs().max(1.0)) }
        };
        let exact = |end: f64| if whole { json!(end as i64) } else { json!(end) };
        all.extend(min.into_iter().chain(max).map(exact));
        all.extend(min.map(|it| beside(it, -1.0)));
        all.extend(max.filter(|it| *it < 9.0e18).map(|it| beside(it, 1.0)));
    }
    if let Some(default) = parameter.default.as_f64() {
        let scaled = |by: f64| {
            if parameter.default.is_i64() { json!((default * by) as i64) } else { json!(default * by) }
        };
        all.extend([1.0 / 1024.0, 0.25, 4.0, 1024.0].map(scaled));
    }
    all
}

/// Points that broke an earlier version, each with its study: they panicked, hung, or took all memory.
fn known() -> Vec<(&'static str, Parameters)> {
    let all = [
        ("ndp.predictor", json!({ "model": "opt-125m", "prompt_tokens": 2_000_000_000_u64 })),
        ("ndp.predictor", json!({ "batch": 4096 })),
        ("ndp.partition", json!({ "dimms": 1_000_000_000 })),
        ("ndp.activity", json!({ "shards": 2_147_483_648_u64 })),
        ("ndp.activity", json!({ "engine": "events", "generated_tokens": 4096 })),
        ("ndp.inference", json!({ "overhead.sync_us": 1e15 })),
        ("npu.search", json!({ "device.l1_bytes": 1_000_000_000 })),
        ("npu.gemm", json!({ "device.dispatch_ns": 1e300 })),
        ("mixed.inference", json!({ "npu.int8.t": 1 })),
        ("ondevice.capacity", json!({ "buffer_bytes": i64::MAX })),
        ("riscv.inference", json!({ "threads": 2_147_483_648_u64 })),
        ("pim.gemv", json!({ "memory.data_rate_mt_s": 5e-324 })),
        ("cxl.inference", json!({ "memory.data_rate_mt_s": 5e-324 })),
        (
            "pim.gemv",
            json!({
                "engine": "events", "m": 1_000_000, "k": 100_000, "interleave_bytes": 32, "memory.trcd_ns": 4.5e8,
                "memory.trp_ab_ns": 4.5e8, "memory.trp_ns": 4.5e8, "memory.tras_ns": 4.5e8, "memory.trefi_ns": 1e9,
                "memory.row_bytes": 32, "memory.rows": 40_000_000, "memory.burst_length": 4
            }),
        ),
    ];
    all.into_iter().map(|(study, point)| (study, serde_json::from_value(point).unwrap())).collect()
}

/// How many points are drawn beside the extremes; none for those of [`known`].
type Random = Option<u64>;

/// One parameter after the other, and several together.
fn points(study: &dyn DynStudy, random: Random) -> Vec<Parameters> {
    let Some(random) = random else {
        return known().into_iter().filter(|it| it.0 == study.name()).map(|it| it.1).collect();
    };
    let extremes = extremes(study);
    let choices: Vec<(String, Vec<Value>)> = study
        .describe()
        .parameters
        .into_iter()
        .filter_map(|it| match it.values {
            Values::OneOf(all) => Some((it.path, all)),
            Values::Flag => Some((it.path, vec![json!(true), json!(false)])),
            Values::Description(names) => Some((it.path, names.into_iter().map(Value::from).collect())),
            _ => None,
        })
        .filter(|it| !it.1.is_empty())
        .collect();
    let one = |(path, all): &(String, Vec<Value>)| {
        all.iter().map(|it| Parameters::from_iter([(path.clone(), it.clone())])).collect::<Vec<_>>()
    };
    let singles: Vec<Parameters> = extremes.iter().chain(&choices).flat_map(one).collect();
    let base = if LARGE.contains(&study.name()) { small(study) } else { Parameters::new() };
    let mut points: Vec<Parameters> = singles.iter().map(|it| over(&base, it)).collect();
    if !base.is_empty() {
        points.extend(extremes.iter().filter_map(largest));
    }
    for point in 0..random {
        let mut dice = Dice(Key::new(13).fork(point), 0);
        let mut parameters = Parameters::new();
        for _ in 0..dice.below(4) {
            if !choices.is_empty() {
                let (path, all) = dice.pick(&choices);
                parameters.insert(path.clone(), dice.pick(all).clone());
            }
        }
        for _ in 0..=dice.below(3) {
            let (path, all) = dice.pick(&extremes);
            parameters.insert(path.clone(), dice.pick(all).clone());
        }
        points.push(over(&base, &parameters));
    }
    let order = Key::new(14);
    let mut mixed: Vec<(u64, Parameters)> =
        points.into_iter().enumerate().map(|(at, it)| (order.bits(at as u64), it)).collect();
    mixed.sort_by_key(|it| it.0);
    mixed.into_iter().map(|it| it.1).collect()
}

/// Studies that walk, solve or search something large by default.
const LARGE: [&str; 5] = ["pim.regret", "ndp.inference", "ndp.partition", "ndp.predictor", "ndp.activity"];

/// A question of such a study that is small enough to be asked often.
fn small(study: &dyn DynStudy) -> Parameters {
    let all = [("model", json!("opt-125m")), ("prompt_tokens", json!(16)), ("generated_tokens", json!(16))];
    let own = study.describe().parameters;
    let has = |path: &str| own.iter().any(|it| it.path == path);
    all.into_iter().filter(|it| has(it.0)).map(|(path, value)| (path.to_owned(), value)).collect()
}

/// What is given, over a base; fields of a model are those of the default.
fn over(base: &Parameters, given: &Parameters) -> Parameters {
    let mut all = base.clone();
    if given.keys().any(|it| it.starts_with("model.")) {
        all.remove("model");
    }
    all.extend(given.clone());
    all
}

/// The most that a parameter takes: the point that must be answered fast, or refused.
fn largest((path, all): &(String, Vec<Value>)) -> Option<Parameters> {
    let of_size = |it: &&Value| it.as_f64().is_some_and(|it| (16.0..=2e6).contains(&it));
    let most = all.iter().filter(of_size).max_by(|a, b| a.as_f64().partial_cmp(&b.as_f64()).unwrap())?;
    Some(Parameters::from_iter([(path.clone(), most.clone())]))
}

fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Answers points from one on, and says how each went. Not a test by itself.
#[test]
#[ignore = "the other test starts it"]
fn child() {
    let (Some(name), Some(first)) = (asked("EXTREMES_CHILD"), asked("EXTREMES_FIRST")) else { return };
    let first: usize = first.parse().unwrap();
    let random: Random = asked("EXTREMES_RANDOM").map(|it| it.parse().unwrap());
    let study = study(&name).unwrap();
    let mut out = std::io::stderr();
    for (at, point) in points(study, random).iter().enumerate().skip(first) {
        writeln!(out, "at {at}").unwrap();
        let start = Instant::now();
        let (bytes, answer) = counting::measured(|| study.run(point));
        let outcome = match answer {
            Ok(row) => row
                .iter()
                .find(|it| it.1.as_f64().is_some_and(|it| !it.is_finite()))
                .map_or("fine".to_owned(), |it| format!("bad {} is not finite", it.0)),
            Err(Error::Internal(error)) => format!("bad {}", error.replace('\n', " ")),
            Err(Error::NotAnAnswer(error)) => format!("unfit {error}"),
            Err(_) => "refused".to_owned(),
        };
        writeln!(out, "done {} {bytes} {outcome}", start.elapsed().as_millis()).unwrap();
    }
    writeln!(out, "end").unwrap();
}

/// What became of one study's points.
#[derive(Default)]
struct Tally {
    points: usize,
    outcomes: BTreeMap<String, usize>,
    faults: Vec<String>,
    slowest: (Duration, String),
    largest: (usize, String),
}

/// Looks at a study's points until all are done, or it is time for the next.
fn examine(study: &dyn DynStudy, random: Random, until: Option<Instant>) -> Tally {
    let points = points(study, random);
    let command = |at: usize| {
        let assignments = points[at].iter().map(|(path, value)| match value.as_str() {
            Some(text) => format!(" {path}={text}"),
            None => format!(" {path}={value}"),
        });
        format!("memscape run {}{}", study.name(), assignments.collect::<String>())
    };
    let mut tally = Tally { points: points.len(), ..Tally::default() };
    let mut next = 0;
    let is_over = || until.is_some_and(|it| it < Instant::now());
    while next < points.len() && (next == 0 || !is_over()) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "extremes::child", "--ignored", "--nocapture"])
            .envs([("EXTREMES_CHILD", study.name()), ("EXTREMES_FIRST", &next.to_string())])
            .envs(random.map(|it| ("EXTREMES_RANDOM", it.to_string())))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (send, receive) = channel();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut last = String::new();
        let ended = loop {
            match receive.recv_timeout(PATIENCE) {
                Ok(line) if line == "end" => break None,
                Ok(line) => {
                    if let Some(at) = line.strip_prefix("at ") {
                        next = at.parse().unwrap();
                    } else if let Some(done) = line.strip_prefix("done ") {
                        tally.note(done, &command(next));
                        next += 1;
                        if is_over() {
                            break None;
                        }
                    } else {
                        last = line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => break Some(format!("no answer in {PATIENCE:?}")),
                Err(RecvTimeoutError::Disconnected) => break Some(format!("the process died: {last}")),
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        drop(receive);
        reader.join().unwrap();
        match ended {
            None => next = points.len(),
            Some(fault) => {
                tally.faults.push(format!("{}: {fault}", command(next)));
                next += 1;
            }
        }
    }
    tally
}

impl Tally {
    /// `<milliseconds> <bytes> <outcome> [...]`
    fn note(&mut self, line: &str, command: &str) {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let (time, bytes) = (Duration::from_millis(number()), usize::try_from(number()).unwrap());
        let outcome = words.next().unwrap();
        let kind = outcome.split(' ').next().unwrap();
        *self.outcomes.entry(kind.to_owned()).or_default() += 1;
        if kind == "bad" || MOST_TIME < time {
            self.faults.push(format!("{command}: {time:?}, {bytes} B, {outcome}"));
        }
        if kind == "unfit" && asked("EXTREMES_UNFIT").is_some() {
            println!("{command}: {outcome}");
        }
        if self.slowest.0 < time {
            self.slowest = (time, command.to_owned());
        }
        if self.largest.0 < bytes {
            self.largest = (bytes, command.to_owned());
        }
    }
}

#[test]
fn what_broke_once_is_answered_or_refused() {
    let mut done = 0;
    for study in studies() {
        let tally = examine(study, None, None);
        assert!(tally.faults.is_empty(), "{:?}", tally.faults);
        done += tally.outcomes.values().sum::<usize>();
    }
    // None is of a study that is called otherwise by now.
    assert_eq!(done, known().len());
}

#[test]
fn no_number_breaks_a_study() {
    let only = asked("EXTREMES_STUDY");
    let all: Vec<&dyn DynStudy> =
        studies().filter(|it| only.as_ref().is_none_or(|name| it.name() == name)).collect();
    let number = |name: &str, default: u64| asked(name).map_or(default, |it| it.parse().unwrap());
    let (points, seconds) = (number("EXTREMES_POINTS", POINTS), number("EXTREMES_SECONDS", SECONDS));
    let begin = Instant::now();
    // What one leaves is for those that follow.
    let until =
        |study: u32| begin + Duration::from_secs(seconds) * (study + 1) / u32::try_from(all.len()).unwrap();
    let mut faults = String::new();
    for (study, number) in all.iter().zip(0..) {
        let start = Instant::now();
        let random = points / all.len() as u64;
        let tally = examine(*study, Some(random), (0 < seconds).then(|| until(number)));
        let done: usize = tally.outcomes.values().sum();
        assert!(0 < done, "{}: no point was answered", study.name());
        println!(
            "{}: {done} of {} points, {:?} in {:?}",
            study.name(),
            tally.points,
            tally.outcomes,
            start.elapsed()
        );
        println!("  slowest {:?} {}", tally.slowest.0, tally.slowest.1);
        println!("  largest {} B {}", tally.largest.0, tally.largest.1);
        for it in tally.faults {
            println!("  {it}");
            writeln!(faults, "{it}").unwrap();
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
