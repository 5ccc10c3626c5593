//! Whatever bytes stand where a file or a text is read, they are read or refused: no panic,
//! no hang, and no more memory than a multiple of what was given.
//!
//! Real files are changed at random. `FUZZ_CASES=100000 cargo test -p memscape-cli --test
//! inputs` goes on for longer; a case that fails is shrunk, printed, and belongs into
//! `fuzz/found/<surface>`, whose files are read here ever after.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

#[path = "../../memscape-systems/tests/it/counting.rs"]
mod counting;
#[path = "../../../fuzz/src/lib.rs"]
mod surfaces;

use surfaces::{SURFACES, Surface};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting { most: 4_000_000_000 };

/// What reading takes at the most: so much whatever is given, and so much for each byte.
const MOST_BYTES: usize = 64 << 20;
const MOST_BYTES_A_BYTE: usize = 1000;
/// What the four million values take that `step` and `count` may make in all axes of a study file.
const MOST_BYTES_OF_AXES: usize = 160 << 22;
const MOST_TIME: Duration = Duration::from_secs(10);

/// What a hand would not write, and what parsers know.
static WORDS: [&str; 44] = [
    "",
    "\"",
    "'",
    "`",
    "\\",
    "\n",
    "\r\n",
    "\0",
    "\u{FEFF}",
    "é",
    "\u{10FFFF}",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "(",
    ")",
    ",",
    "=",
    ".",
    "#",
    "0",
    "-1",
    "1e308",
    "-1e-308",
    "5e-324",
    "nan",
    "inf",
    "18446744073709551615",
    "-9223372036854775808",
    "9007199254740993",
    "0x7fffffffffffffff",
    "1979-05-27",
    "true",
    "null",
    "\"null\"",
    "base = ",
    "[parameters]\n",
    "[sources]\n",
    "{ from = 0, to = 1e7, count = 9999999 }",
    "not ",
    " in [",
    "**",
];

/// One change of some bytes.
#[derive(Debug, Clone)]
enum Change {
    Bit(Index, u8),
    Byte(Index, u8),
    Word(Index, &'static str),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Move(Index, Index, usize),
    Number(Index, &'static str),
    End(Index),
}

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        let at = any::<Index>;
        prop_oneof![
            (at(), 0..8_u8).prop_map(|(at, bit)| Self::Bit(at, bit)),
            (at(), any::<u8>()).prop_map(|(at, byte)| Self::Byte(at, byte)),
            (at(), select(&WORDS[..])).prop_map(|(at, word)| Self::Word(at, word)),
            (at(), 1..40_usize).prop_map(|(at, length)| Self::Remove(at, length)),
            (at(), 1..60_usize, 1..40_usize).prop_map(|(at, length, times)| Self::Repeat(at, length, times)),
            (at(), at(), 1..60_usize).prop_map(|(from, to, length)| Self::Move(from, to, length)),
            (at(), select(&WORDS[22..36])).prop_map(|(at, number)| Self::Number(at, number)),
            at().prop_map(Self::End),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        let range = |at: &Index, length: usize, bytes: &[u8]| {
            let first = place(at, bytes);
            first..(first + length).min(bytes.len())
        };
        match self {
            Self::Bit(at, bit) => {
                let at = place(at, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Byte(at, value) => {
                let at = place(at, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *value;
                }
            }
            Self::Word(at, word) => {
                let at = place(at, bytes);
                bytes.splice(at..at, word.bytes());
            }
            Self::Remove(at, length) => drop(bytes.drain(range(at, *length, bytes))),
            Self::Repeat(at, length, times) => {
                let range = range(at, *length, bytes);
                let again = bytes[range.clone()].repeat(*times);
                bytes.splice(range.end..range.end, again);
            }
            Self::Move(from, to, length) => {
                let moved: Vec<u8> = bytes.drain(range(from, *length, bytes)).collect();
                let to = place(to, bytes);
                bytes.splice(to..to, moved);
            }
            Self::Number(at, number) => {
                let is_part = |it: &u8| it.is_ascii_digit() || b".-+e_".contains(it);
                let at = place(at, bytes);
                let Some(first) = bytes[at..].iter().position(u8::is_ascii_digit).map(|it| it + at) else {
                    return;
                };
                let end =
                    bytes[first..].iter().position(|it| !is_part(it)).map_or(bytes.len(), |it| it + first);
                bytes.splice(first..end, number.bytes());
            }
            Self::End(at) => bytes.truncate(place(at, bytes)),
        }
    }
}

/// Reads bytes; says what was wrong with that.
fn read(surface: &Surface, bytes: &[u8]) -> Result<(), String> {
    let (start, panics) = (Instant::now(), memscape::explore::panics());
    let (used, done) = counting::measured(|| catch_unwind(AssertUnwindSafe(|| (surface.read)(bytes))));
    let besides = if surface.name == "study_file" { MOST_BYTES_OF_AXES } else { 0 };
    let most = MOST_BYTES + MOST_BYTES_A_BYTE * bytes.len() + besides;
    if done.is_err() {
        return Err("it panics".to_owned());
    }
    // Those of Polars, where a file was made to look like one of its own.
    let polars = ["table", "store"].contains(&surface.name);
    if !polars && panics < memscape::explore::panics() {
        return Err("it panics, which is caught".to_owned());
    }
    if most < used {
        return Err(format!("{used} bytes in use for {} bytes", bytes.len()));
    }
    if MOST_TIME < start.elapsed() {
        return Err(format!("it takes {:?}", start.elapsed()));
    }
    Ok(())
}

/// Memory is counted for the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// Real files, changed at random, and bytes that are no file at all.
fn examine(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let surface = SURFACES.iter().find(|it| it.name == name).unwrap();
    let seeds = (surface.seeds)();
    // What is built in is read once, whoever asks first.
    for seed in &seeds {
        (surface.read)(seed);
    }
    for seed in &seeds {
        read(surface, seed).unwrap_or_else(|it| panic!("{name}, a real file: {it}"));
    }
    for found in std::fs::read_dir(Path::new("../../fuzz/found").join(name)).into_iter().flatten() {
        let path = found.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        read(surface, &bytes).unwrap_or_else(|it| panic!("{}: {it}", path.display()));
    }
    let asked = |name: &str| std::env::var(name).ok().map(|it| it.parse::<u64>().unwrap());
    let cases = asked("FUZZ_CASES").and_then(|it| u32::try_from(it).ok()).unwrap_or(300);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&asked("FUZZ_SEED").unwrap_or(1).to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let changed = (select(seeds), vec(Change::any(), 0..8)).prop_map(|(mut bytes, changes)| {
        for it in &changes {
            it.apply(&mut bytes);
        }
        bytes
    });
    let any = prop_oneof![9 => changed, 1 => vec(any::<u8>(), 0..200)];
    let outcome = runner.run(&any, |bytes| read(surface, &bytes).map_err(TestCaseError::fail));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, bytes)) => {
            let text = String::from_utf8_lossy(&bytes);
            panic!("{name}: {reason}: {} bytes, {bytes:?}\n{text}", bytes.len());
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

macro_rules! examined {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            examine(stringify!($name));
        })*

        #[test]
        fn every_surface_is_examined_and_fuzzed() {
            assert_eq!(SURFACES.map(|it| it.name), [$(stringify!($name)),*]);
            for it in SURFACES {
                let target = format!("../../fuzz/fuzz_targets/{}.rs", it.name);
                let text = std::fs::read_to_string(&target).unwrap_or_else(|error| panic!("{target}: {error}"));
                assert!(text.contains(&format!("memscape_fuzz::{}(", it.name)), "{target}");
            }
        }
    };
}
examined!(
    study_file,
    description,
    config_json,
    gguf,
    claims,
    measured,
    npz,
    formula,
    store,
    table,
    arguments
);
