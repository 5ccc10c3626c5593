//! Kept answers are taken for the program's own by version: a study that answers otherwise
//! has another `Study::MODEL`.
//!
//! `make keep-editions` keeps what is answered now.

use std::fmt::Write as _;
use std::path::Path;

use memscape_explore::{Parameters, Row};
use memscape_systems::studies;
use serde_json::Value;

/// Answers at the defaults, which most changes of a model change.
const KEPT: &str = "tests/it/editions.txt";

#[test]
fn a_study_that_answers_otherwise_has_another_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT);
    let mut now = String::new();
    for study in studies() {
        let row = study.run(&Parameters::new()).unwrap();
        writeln!(now, "{} {} {:016x}", study.name(), study.model(), digest(&row)).unwrap();
    }
    if std::env::var_os("EDITIONS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    let changed: Vec<&str> = now.lines().filter(|it| !kept.lines().any(|line| line == *it)).collect();
    let (known, new): (Vec<&str>, Vec<&str>) =
        changed.into_iter().partition(|it| kept.lines().any(|line| name(line) == name(it)));
    assert!(new.is_empty(), "studies without a line: {new:?}; `make keep-editions` writes it");
    let gone: Vec<&str> = kept.lines().filter(|it| !now.lines().any(|line| name(line) == name(it))).collect();
    assert!(gone.is_empty(), "lines without a study: {gone:?}; `make keep-editions` leaves them out");
    assert!(
        known.is_empty(),
        "these studies answer otherwise than they did: {known:?}; raise their `Study::MODEL`, unless no release \
         has answered as before, and then `make keep-editions` keeps what they answer now"
    );
}

/// Of names and values, numbers to seven digits: the last ones are a matter of the machine.
fn digest(row: &Row) -> u64 {
    let mut text = String::new();
    for (name, value) in row {
        match value {
            Value::Number(it) if it.is_f64() => {
                writeln!(text, "{name} {:.6e}", it.as_f64().unwrap()).unwrap();
            }
            other => writeln!(text, "{name} {other}").unwrap(),
        }
    }
    // FNV-1a.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, it| (hash ^ u64::from(it)).wrapping_mul(0x0100_0000_01b3))
}
