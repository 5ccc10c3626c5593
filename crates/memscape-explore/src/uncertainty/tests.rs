use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::{Uncertainty, uncertainty};
use crate::control::Control;
use crate::parameters::Parameters;
use crate::registry::Entry;
use crate::space::Space;
use crate::table::Table;
use crate::toy::Read;

fn ask(base: &[(&str, serde_json::Value)], space: &Space) -> Table {
    let base: Parameters = base.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
    let question = Uncertainty { of: vec!["memory.trcd_ns".to_owned()], ..Uncertainty::default() };
    uncertainty(&Entry::<Read>::new(), &[base], space, &question, &()).unwrap()
}

fn number(table: &Table, column: &str, row: usize) -> f64 {
    table.f64(column).unwrap()[row].unwrap()
}

#[test]
fn what_a_description_leaves_open_spreads() {
    // The slow memory's tRCD is a prior from 15 to 21.
    let table = ask(&[], &Space::default());
    assert_eq!(table.height(), 1);
    assert!((number(&table, "value", 0) - 18.0).abs() < 1e-12);
    let (low, high) = (number(&table, "low", 0), number(&table, "high", 0));
    assert!((15.0..15.7).contains(&low) && (20.2..=21.0).contains(&high), "{low} {high}");
    assert!((number(&table, "from_priors", 0) - (high - low) / 2.0).abs() < 1e-9);
    assert!(number(&table, "from_readings", 0).abs() < 1e-12);
}

#[test]
fn what_is_given_is_known() {
    let table = ask(&[("memory.trcd_ns", json!(18))], &Space::default());
    assert_eq!((number(&table, "low", 0), number(&table, "high", 0)), (18.0, 18.0));
    let table = ask(&[], &Space::default().axis("memory.trcd_ns", [16.0, 20.0]));
    assert_eq!((number(&table, "low", 1), number(&table, "high", 1)), (20.0, 20.0));
}

#[test]
fn each_description_of_an_axis_has_doubts_of_its_own() {
    let space = Space::default().axis("rows", [32, 64]).axis("memory", ["slow", "fast"]);
    let table = ask(&[], &space);
    let names = table.text("memory").unwrap();
    assert_eq!(table.height(), 4);
    // As a sweep has them: the last axis changes fastest.
    assert_eq!(table.f64("rows").unwrap(), [32.0, 32.0, 64.0, 64.0].map(Some));
    assert_eq!((names[0].as_deref(), names[1].as_deref()), (Some("slow"), Some("fast")));
    for (row, name) in names.iter().enumerate() {
        let wide = number(&table, "high", row) - number(&table, "low", row);
        assert_eq!(wide > 1.0, name.as_deref() == Some("slow"), "{table}");
    }
    // The same draws at each point.
    let slow: Vec<usize> = (0..4).filter(|it| names[*it].as_deref() == Some("slow")).collect();
    assert!((number(&table, "low", slow[0]) - number(&table, "low", slow[1])).abs() < 1e-12);
}

/// Counts how often it hears, and holds what it hears to be more each time.
#[derive(Default)]
struct Hears(AtomicU64, AtomicU64);

impl Control for Hears {
    fn advanced(&self, done: u64, total: u64) {
        assert!(done <= total && self.0.swap(done, Ordering::Relaxed) < done);
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn what_is_done_of_a_single_point_is_told() {
    let listener = Hears::default();
    let question = Uncertainty { of: vec!["memory.trcd_ns".to_owned()], draws: 5000, seed: 0 };
    let (study, space) = (Entry::<Read>::new(), Space::default());
    uncertainty(&study, &[Parameters::new()], &space, &question, &listener).unwrap();
    let (done, heard) = (listener.0.into_inner(), listener.1.into_inner());
    assert!(done > question.draws && heard > 1, "{done} in {heard}");
}

#[test]
fn bad_questions_are_told() {
    let study = Entry::<Read>::new();
    let error = |space: &Space, draws: u64, of: &str| {
        let question = Uncertainty { of: vec![of.to_owned()], draws, seed: 0 };
        uncertainty(&study, &[Parameters::new()], space, &question, &()).unwrap_err().to_string()
    };
    let grid = Space::default().axis("rows", [32, 64]);
    assert_eq!(
        error(&grid, 3, "memory.trcd_ns"),
        "`draws` = 3: a space of 2 points takes at least 20 and at most 6250000"
    );
    assert!(error(&grid.clone().constraint("rows > 32"), 200, "rows").contains("leave out constraints"));
    assert!(error(&grid, 200, "memory.trcd").contains("did you mean"));
    // Why a point has none is in its row.
    let question = Uncertainty { of: vec!["1 / (rows - 32)".to_owned()], draws: 20, seed: 0 };
    let table = uncertainty(&study, &[Parameters::new()], &grid, &question, &()).unwrap();
    let told = table.text("error").unwrap();
    assert_eq!(told[0].as_deref(), Some("`1 / (rows - 32)` is null or not a finite number here"));
    assert_eq!(told[1], None);
}
