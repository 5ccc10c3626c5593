//! Answers that are kept are those that would be computed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::ProptestConfig;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::shard::Shard;
use super::*;
use crate::control::Control;
use crate::origin::Origin;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::space::{Range, Space};
use crate::study_file::StudyFile;
use crate::sweep::Sweep;
use crate::table::Table;
use crate::toy::{READ, axes};

/// A store in a folder of its own, which is gone when it is dropped.
struct Kept {
    folder: tempfile::TempDir,
    store: Store,
}

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("runs")).unwrap();
        Self { folder, store }
    }

    /// Answers from the store, which must be those of a sweep without it: rows found and
    /// computed.
    fn ask(&self, sweep: &Sweep) -> (u64, u64) {
        let (table, filled) = self.store.sweep(&READ, sweep, &()).unwrap();
        assert_eq!(table, READ.sweep(sweep, &()).unwrap());
        assert!(filled.complete && filled.found + filled.computed == table.height() as u64);
        (filled.found, filled.computed)
    }

    fn files(&self) -> Vec<PathBuf> {
        let folders = self.store.questions().unwrap();
        let mut files: Vec<PathBuf> =
            folders.iter().flat_map(|it| fs::read_dir(it).unwrap()).map(|it| it.unwrap().path()).collect();
        files.retain(|it| it.extension().is_some_and(|it| it == "parquet"));
        files.sort();
        files
    }

    fn parts(&self) -> usize {
        self.files().iter().filter(|it| it.to_str().unwrap().ends_with(".part.parquet")).count()
    }
}

fn parameters(value: &Value) -> Parameters {
    value.as_object().unwrap().clone()
}

/// So many rows, over several blocks.
fn grid(banks: i64, rows: i64) -> Sweep {
    Sweep::default().axis("memory.banks", 0..banks).axis("rows", 1..=rows)
}

/// Cancels after so many looks, and keeps what is remarked.
#[derive(Default)]
struct Watcher {
    looks: AtomicU64,
    remarks: Mutex<Vec<String>>,
}

impl Watcher {
    fn after(looks: u64) -> Self {
        Self { looks: AtomicU64::new(looks), ..Self::default() }
    }

    fn patient() -> Self {
        Self::after(u64::MAX)
    }
}

impl Control for Watcher {
    fn cancelled(&self) -> bool {
        self.looks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1)).is_err()
    }

    fn warned(&self, remark: &str) {
        self.remarks.lock().unwrap().push(remark.to_owned());
    }
}

#[test]
fn what_is_there_is_not_computed_again() {
    let kept = Kept::new();
    assert_eq!(kept.ask(&grid(20, 200)), (0, 4000));
    assert_eq!(kept.ask(&grid(20, 200)), (4000, 0));
    let more = Kept::new().store;
    assert_eq!(more.fill(&READ, &grid(20, 200), &()).unwrap().computed, 4000);
    let again = more.fill(&READ, &grid(20, 200), &()).unwrap();
    assert_eq!((again.found, again.computed, again.complete), (4000, 0, true));
}

#[test]
fn points_are_known_whatever_gives_them() {
    let kept = Kept::new();
    assert_eq!(kept.ask(&grid(20, 200)), (0, 4000));
    // More of an axis, in the middle of the order.
    assert_eq!(kept.ask(&grid(20, 250)), (4000, 1000));
    assert_eq!(kept.ask(&grid(25, 250)), (5000, 1250));
    // Another order; a value of the base instead of an axis; as a description; as a float.
    let turned = Sweep::default().axis("rows", 1..=200).axis("memory.banks", 0..20);
    assert_eq!(kept.ask(&turned), (4000, 0));
    let fixed = Sweep::of(parameters(&json!({ "memory.banks": 7 }))).axis("rows", 1..=200);
    assert_eq!(kept.ask(&fixed), (200, 0));
    let described =
        Sweep::default().axis("memory", [json!({ "banks": 7.0 }), json!("slow")]).axis("rows", [9, 10]);
    assert_eq!(kept.ask(&described), (4, 0), "`slow` is the default, with 16 banks");
    // The default, said.
    let said = Sweep::of(parameters(&json!({ "memory": "slow", "mode": "in-turn" }))).axis("rows", 1..=200);
    assert_eq!(kept.ask(&said), (200, 0));
    assert_eq!(kept.ask(&Sweep::of(parameters(&json!({ "scale": 2 }))).axis("rows", 1..=200)), (0, 200));
}

#[test]
fn a_file_is_known_by_its_content() {
    let kept = Kept::new();
    let path = |name: &str| kept.folder.path().join(name).to_str().unwrap().to_owned();
    let sweep = |name: &str| Sweep::of(parameters(&json!({ "memory": path(name) }))).axis("rows", 1..=10);
    let text = "base = \"fast\"\n[parameters]\nbanks = 8\n";
    fs::write(path("a.toml"), text).unwrap();
    fs::write(path("b.toml"), text).unwrap();
    assert_eq!(kept.ask(&sweep("a.toml")), (0, 10));
    assert_eq!(kept.ask(&sweep("b.toml")), (10, 0));
    fs::write(path("a.toml"), text.replace('8', "4")).unwrap();
    assert_eq!(kept.ask(&sweep("a.toml")), (0, 10));
}

#[test]
fn conditions_constraints_and_errors_are_kept_as_they_are() {
    let kept = Kept::new();
    // No bank, one bank, a panic.
    let strange = Sweep::default().axis("memory.banks", [0, 1, 2, 99]).axis("rows", 1..=500);
    assert_eq!(kept.ask(&strange), (0, 2000));
    assert_eq!(kept.ask(&strange.clone().axis("scale", [json!(null), json!("x")])), (2000, 2000));
    let space = Space::default()
        .range("memory.banks", Range::new(1.0, 60.0).integer())
        .axis("mode", ["in-turn", "all-at-once"])
        .axis("scale", [json!(null), json!(2.0)])
        .when("mode == 'in-turn'")
        .axis("rows", 1..=40)
        .constraint("memory.banks * rows <= 1000");
    let free = Sweep::default().through(space.clone());
    let (found, computed) = kept.ask(&free);
    assert!(found > 0 && computed > 0);
    // A constraint over the answer is a column, and takes no answers away.
    assert_eq!(kept.ask(&Sweep::default().through(space.constraint("time_ns < 100"))), (found + computed, 0));
    // An axis of a column's name.
    let named = Sweep::default().axis("mode", ["in-turn", "all-at-once"]).axis("memory.banks", 2..100);
    let (_, first) = kept.ask(&named);
    assert!(first > 0);
    let modes = Sweep::of(parameters(&json!({ "mode": "all-at-once" }))).axis("memory.banks", 2..100);
    assert_eq!(kept.ask(&modes), (98, 0));
}

#[test]
fn drawn_points_are_points() {
    let kept = Kept::new();
    let text = "study = \"toy.read\"\n[axes]\n\"memory.trp_ns\" = { from = 10, to = 40 }\n\
                [sample]\nmethod = \"sobol\"\ncount = 3000\nseed = 5\n";
    let sweep = |text: &str| StudyFile::parse(text).unwrap().sweep(&READ).unwrap();
    assert_eq!(kept.ask(&sweep(text)), (0, 3000));
    assert_eq!(kept.ask(&sweep(text)), (3000, 0));
    let (found, computed) = kept.ask(&sweep(&text.replace("seed = 5", "seed = 6")));
    assert!(computed > 2900, "{found}");
}

#[test]
fn an_interrupted_question_goes_on() {
    let kept = Kept::new();
    // 20 ms a row, all in one block.
    let slow = Sweep::of(parameters(&json!({ "memory.banks": 98 }))).axis("rows", 1..=100);
    let mut runs = 0;
    let mut done = 0;
    loop {
        let (table, filled) = kept.store.sweep(&READ, &slow, &Watcher::after(2)).unwrap();
        assert!(done <= filled.found, "{done} rows were saved, {} are found", filled.found);
        assert_eq!(table.is_complete(), filled.complete);
        assert!(table.height() as u64 >= filled.found + filled.computed);
        done = filled.found + filled.computed;
        runs += 1;
        if filled.complete {
            break;
        }
        assert_eq!(kept.store.run("").unwrap().blocks, 0);
        assert!(kept.parts() >= 1, "what was done is saved");
        let error = kept.store.table(&kept.store.run("").unwrap(), &()).unwrap_err().to_string();
        assert!(error.contains("has 0 of its 1 blocks; ask it again"), "{error}");
    }
    assert!(runs > 2, "it was interrupted");
    assert_eq!((kept.files().len(), kept.parts()), (1, 0), "parts are gone when the whole is there");
    assert_eq!(kept.ask(&slow), (100, 0));
}

#[test]
fn a_damaged_file_is_set_aside_and_its_points_are_asked_again() {
    let kept = Kept::new();
    let sweep = grid(20, 200);
    kept.ask(&sweep);
    let files = kept.files();
    assert_eq!(files.len(), 4);
    for (nth, file) in files.iter().enumerate() {
        let mut bytes = fs::read(file).unwrap();
        let at = (nth + 1) * bytes.len() / 5;
        bytes[at] ^= 1 << nth;
        fs::write(file, bytes).unwrap();
        let watcher = Watcher::patient();
        let (table, filled) = kept.store.sweep(&READ, &sweep, &watcher).unwrap();
        assert_eq!(table, READ.sweep(&sweep, &()).unwrap());
        assert!((928..=1024).contains(&filled.computed), "{filled:?}");
        let remarks = watcher.remarks.into_inner().unwrap();
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].contains("damaged") && remarks[0].contains("set aside"), "{}", remarks[0]);
    }
    assert_eq!(kept.files(), files, "the same answers have the same bytes");
    // One that is cut short, seen by a check and by another question.
    let whole = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &whole[..whole.len() - 1]).unwrap();
    let (found, computed) = kept.ask(&grid(20, 201));
    assert!((928..=1024 + 20).contains(&computed), "{found}");
    assert_eq!(kept.files().len(), 3 + 4);
    fs::write(&files[1], "nothing").unwrap();
    let seen = kept.store.verify(&()).unwrap();
    assert_eq!((seen.files, seen.damaged), (6, vec![files[1].clone()]));
    assert!(kept.store.tidy(|_| false).unwrap().files >= 2, "what was set aside");
    assert_eq!(kept.ask(&sweep).0 + kept.ask(&sweep).0, 8000, "the other question knows its points");
}

#[test]
fn a_question_that_cannot_be_read_is_asked_again_and_hides_no_other() {
    let kept = Kept::new();
    let (one, other) = (grid(20, 50), grid(20, 70));
    kept.ask(&one);
    kept.ask(&other);
    let place = kept.store.runs().unwrap()[0].folder.join(manifest::NAME);
    let whole = fs::read(&place).unwrap();
    for damaged in [&whole[..100], b"", b"{}"] {
        fs::write(&place, damaged).unwrap();
        assert_eq!(kept.store.runs().unwrap().len(), 1);
        let told = kept.store.unreadable().unwrap();
        assert_eq!(told.iter().map(|it| &it.0).collect::<Vec<_>>(), [&place]);
        // Its rows are known without it.
        assert_eq!((kept.ask(&one), kept.ask(&other)), ((1000, 0), (1400, 0)));
        assert_eq!(kept.store.runs().unwrap().len(), 2);
    }
    let places: Vec<PathBuf> =
        kept.store.runs().unwrap().iter().map(|it| it.folder.join(manifest::NAME)).collect();
    for it in &places {
        fs::write(it, "nothing").unwrap();
    }
    let mut damaged = kept.store.verify(&()).unwrap().damaged;
    damaged.sort();
    assert!(damaged.len() == 2 && places.iter().all(|it| damaged.contains(it) && !it.exists()));
    // Neither in the other's place.
    assert_eq!(fs::read_dir(kept.store.folder().join("damaged")).unwrap().count(), 2);
    assert!(kept.store.unreadable().unwrap().is_empty());
}

#[test]
fn processes_that_share_a_store_do_no_harm() {
    let kept = Kept::new();
    let expected = READ.sweep(&grid(20, 400), &()).unwrap();
    std::thread::scope(|scope| {
        let work = || {
            // Each opens it for itself, as a process does.
            let store = Store::open(kept.store.folder()).unwrap();
            assert_eq!(store.sweep(&READ, &grid(20, 400), &()).unwrap().0, expected);
            store.sweep(&READ, &grid(20, 401), &()).unwrap();
        };
        for worker in [scope.spawn(work), scope.spawn(work), scope.spawn(work)] {
            worker.join().unwrap();
        }
    });
    assert_eq!(kept.ask(&grid(20, 400)), (8000, 0));
    assert!(kept.store.verify(&()).unwrap().damaged.is_empty());
    kept.store.tidy(|_| false).unwrap();
    assert_eq!(kept.files().len(), 16, "one file for each block of two questions");
    assert_eq!(kept.ask(&grid(20, 401)), (8020, 0));
}

#[test]
fn blocks_that_workers_fill_are_the_whole() {
    let kept = Kept::new();
    let sweep = grid(20, 400);
    let lacking = kept.store.lacking(&READ, &sweep).unwrap();
    assert_eq!((lacking.rows, lacking.block, lacking.blocks.len()), (8000, 1024, 8));
    let fill = |rows: &[(u64, u64)]| {
        let rows: Vec<_> = rows.iter().map(|it| it.0..it.1).collect();
        kept.store.fill_rows(&READ, &sweep, &rows, &())
    };
    for rows in [&[(6144, 8000)][..], &[(0, 1024), (3072, 4096)], &[(1024, 3072)]] {
        let filled = fill(rows).unwrap();
        assert!(filled.complete && filled.found == 0);
    }
    let left = || kept.store.lacking(&READ, &sweep).unwrap().blocks;
    assert_eq!(left(), [(4096..5120, 0), (5120..6144, 0)]);
    // Less than a block is found, but no block.
    let filled = fill(&[(5000, 5200)]).unwrap();
    assert_eq!((filled.rows, filled.computed, filled.complete), (200, 200, true));
    assert_eq!(left(), [(4096..5120, 120), (5120..6144, 80)]);
    let filled = fill(&[(4096, 5120), (5150, 5151), (7, 7)]).unwrap();
    assert_eq!((filled.rows, filled.found, filled.computed), (1025, 121, 904));
    assert_eq!(left(), [(5120..6144, 80)]);
    // Rows of a block that another question has.
    let other = Kept::new();
    assert_eq!(other.ask(&grid(20, 10)), (0, 200));
    let known = other.store.lacking(&READ, &sweep).unwrap().blocks;
    assert_eq!((known.len(), known.iter().map(|it| it.1).sum::<u64>()), (8, 200));
    assert!(!kept.store.run("").unwrap().is_complete());
    assert_eq!(kept.ask(&sweep), (8000 - 944, 944));
    assert!(kept.store.run("").unwrap().is_complete());
    assert_eq!(kept.store.sweep(&READ, &sweep, &()).unwrap().0, READ.sweep(&sweep, &()).unwrap());
    for (rows, said) in
        [((7999, 8001), "no rows from 7999 to 8001; the question has 8000"), ((u64::MAX, 0), "no rows")]
    {
        let error = fill(&[rows]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn rows_go_to_a_file_block_by_block() {
    let kept = Kept::new();
    let sweep = grid(20, 400);
    let expected = READ.sweep(&sweep, &()).unwrap();
    let path = |name: &str| kept.folder.path().join(name);
    let parquet = path("a.parquet");
    kept.store.sweep_to_file(&READ, &sweep, &parquet, false, &()).unwrap();
    assert_eq!(Table::read_parquet(&parquet).unwrap(), expected);
    let origin = Origin::read(&parquet).unwrap();
    assert_eq!((origin.id.as_str(), origin.axes.len()), (kept.store.run("").unwrap().id(), 2));
    // Made of what is kept, it is the same file.
    let run = kept.store.run("").unwrap();
    kept.store.export(&run, &path("b.parquet"), &()).unwrap();
    assert_eq!(fs::read(&parquet).unwrap(), fs::read(path("b.parquet")).unwrap());
    kept.store.export(&run, &path("b.csv"), &()).unwrap();
    origin.write(&expected, &path("c.csv"), &()).unwrap();
    assert_eq!(fs::read(path("b.csv")).unwrap(), fs::read(path("c.csv")).unwrap());
    assert_eq!(Origin::read(&path("b.csv")).unwrap(), origin);
    assert_eq!(kept.store.table(&run, &()).unwrap(), expected);
    // A shard is a table that says where it comes from, too.
    let shard = &kept.store.files(&run).unwrap()[1];
    let rows = Table::read_parquet(shard).unwrap();
    let asked = Origin::read(shard).unwrap().point(&rows, 5).unwrap();
    let answer = READ.run_layers(&asked.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(Value::from(rows.f64("time_ns").unwrap()[5]), answer[0].1);
    // What is interrupted is no file.
    let other = path("other.parquet");
    let filled = kept.store.sweep_to_file(&READ, &grid(20, 500), &other, false, &Watcher::after(1)).unwrap();
    assert!(!filled.filled.complete && !other.exists());
    let error = kept.store.sweep_to_file(&READ, &sweep, &path("a.xlsx"), false, &()).unwrap_err().to_string();
    assert!(error.ends_with("the name must end in .parquet or .csv"), "{error}");
    // A table whose rows are kept here is lost to no other question; what is not is replaced only if that is said.
    let onto = |overwrite| kept.store.sweep_to_file(&READ, &grid(3, 3), &parquet, overwrite, &());
    assert!(onto(false).unwrap().filled.complete);
    fs::write(&parquet, "mine").unwrap();
    let error = onto(false).unwrap_err().to_string();
    assert!(error.contains("holds something else than an answer"), "{error}");
    assert_eq!(fs::read_to_string(&parquet).unwrap(), "mine");
    assert!(onto(true).unwrap().filled.complete);
    // Some of its rows are here, from what was interrupted.
    Kept::new().store.sweep_to_file(&READ, &grid(20, 500), &other, false, &()).unwrap();
    let onto_other = || kept.store.sweep_to_file(&READ, &grid(3, 3), &other, false, &());
    let error = onto_other().unwrap_err().to_string();
    assert!(error.contains("holds the answer to another question"), "{error}");
    kept.ask(&grid(20, 500));
    assert!(onto_other().unwrap().filled.complete);
}

#[test]
fn a_store_says_what_it_has() {
    let kept = Kept::new();
    kept.ask(&grid(20, 200));
    kept.ask(&grid(3, 3));
    let runs = kept.store.runs().unwrap();
    assert_eq!(runs.len(), 2);
    let run = kept.store.run(&runs[0].id()[..9]).unwrap();
    assert_eq!(run.id(), runs[0].id());
    let Manifest { origin, rows, host, started, finished, .. } = &run.manifest;
    assert_eq!((origin.edition.study.as_str(), origin.edition.model), ("toy.read", 1));
    assert!([4000, 9].contains(rows) && !host.is_empty() && 0 < *started && finished.is_some());
    assert_eq!(origin.asked["space"]["dimensions"][0]["axes"][0][0], "memory.banks");
    let error = kept.store.run("").unwrap_err().to_string();
    assert!(error.starts_with("which one? 2 questions of "), "{error}");
    assert!(kept.store.run("x").unwrap_err().to_string().starts_with("there is no question `x`"));
    // One of them is not wanted any more.
    let name = run.id().to_owned();
    assert!(kept.store.tidy(|it| it.id() == name).unwrap().files >= 2);
    assert_eq!(kept.store.runs().unwrap().len(), 1);
}

/// As a model that was changed without its version would answer.
#[test]
fn kept_answers_are_held_against_those_of_now() {
    let kept = Kept::new();
    let sweep = Sweep::default()
        .axis("memory.banks", [json!(0), json!(2), json!(3), json!(-1)])
        .axis("mode", ["in-turn", "all-at-once", "both"])
        .axis("rows", 1..=100);
    kept.ask(&sweep);
    let run = kept.store.run("").unwrap();
    let all = kept.store.ask_again(&READ, &run, 10_000, &()).unwrap();
    assert_eq!(all, AskedAgain { points: 1200, ..AskedAgain::default() });
    let some = kept.store.ask_again(&READ, &run, 50, &()).unwrap();
    assert!((50..60).contains(&some.points) && some.differing.is_empty(), "{some:?}");
    // The same file with one answer changed, as if it had been written so.
    let times_of = |it: Shard| {
        let Ok((table, keys)) = it.table().and_then(|table| Ok((table, it.keys()?))) else {
            panic!("unread")
        };
        let crate::table::Column::Float(times) = table.column("time_ns").ok()? else { return None };
        let at = times.iter().position(Option::is_some)?;
        Some((it, table, keys, times, at))
    };
    let all = Shard::all(&run.folder).unwrap();
    let (shard, table, keys, mut times, at) = all.into_iter().find_map(times_of).unwrap();
    times[at] = Some(1.5);
    let changed = table.with_column("time_ns", crate::table::Column::Float(times)).unwrap();
    shard.remove().unwrap();
    Shard::write(&run.folder, &shard.address, false, &changed, &keys, "{}").unwrap();
    let differing = kept.store.ask_again(&READ, &run, 10_000, &()).unwrap().differing;
    assert_eq!(differing.len(), 1);
    let Differing { row, changed, .. } = &differing[0];
    assert_eq!((*row, changed.column.as_str()), (at, "time_ns"));
    assert_eq!(changed.kept.as_deref(), Some("1.5"));
}

/// A description that has changed makes other points; the kept ones are not wrong.
#[test]
fn points_of_a_description_that_has_changed_are_other_points() {
    let kept = Kept::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    let write =
        |banks: u32| fs::write(&file, format!("base = \"fast\"\n[parameters]\nbanks = {banks}\n")).unwrap();
    write(8);
    let base = Parameters::from_iter([("memory".to_owned(), json!(file.to_str().unwrap()))]);
    kept.ask(&Sweep::of(base).axis("rows", 1..=10));
    let run = kept.store.run("").unwrap();
    let again = |it: &Run| kept.store.ask_again(&READ, it, 100, &()).unwrap();
    assert_eq!(again(&run), AskedAgain { points: 10, ..AskedAgain::default() });
    write(4);
    assert_eq!(again(&run), AskedAgain { points: 10, renamed: 10, differing: vec![] });
}

#[test]
fn a_folder_of_something_else_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("full")).unwrap();
    fs::write(path("full").join("thesis.tex"), "years of work").unwrap();
    let told = |path: &Path| Store::open(path).unwrap_err().to_string();
    assert!(
        told(&path("full")).ends_with("this folder is no store and not empty; give an empty or a new one")
    );
    let file = told(&path("full").join("thesis.tex"));
    assert!(file.ends_with("this is a file; a store is a folder: give an empty or a new one"), "{file}");
    // Who only reads is not told to give an empty one.
    let error = Store::existing(path("full")).unwrap_err().to_string();
    assert!(error.ends_with("this folder is no store; name the one that a sweep has filled"), "{error}");
    let error = Store::existing(path("none")).unwrap_err().to_string();
    assert!(error.ends_with("there is no store here; a sweep makes one"), "{error}");
    // Another process is about to say that it is one.
    fs::create_dir(path("begun")).unwrap();
    fs::write(path("begun").join(".memscape-x1Y2z3"), "{\"memsc").unwrap();
    assert!(Store::open(path("begun")).is_ok() && Store::existing(path("begun")).is_ok());
    fs::create_dir(path("later")).unwrap();
    fs::write(path("later").join("store.json"), "{\"memscape-store\": 2}").unwrap();
    assert!(told(&path("later")).contains("a store of form 2; this program reads form 1"));
    fs::write(path("later").join("store.json"), "{}").unwrap();
    assert!(told(&path("later")).contains("it does not say what store this is"));
    assert!(Store::open(path("new/runs")).is_ok() && Store::existing(path("new/runs")).is_ok());
    // A question that is wrong leaves nothing behind.
    let store = Store::open(path("new/runs")).unwrap();
    assert!(store.fill(&READ, &Sweep::default().axis("memory.bank", [1]), &()).is_err());
    assert_eq!(fs::read_dir(path("new/runs")).unwrap().count(), 1);
}

/// Whatever is asked after whatever else, the answers are those of a sweep without a store.
#[test]
fn any_questions_share_a_store() {
    let kept = Kept::new();
    let config = ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() };
    // The same questions each time: how much they have in common is asked for below.
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let found = AtomicU64::new(0);
    let ask = |axes: Vec<(&'static str, Vec<Value>)>| {
        let sweep = axes.into_iter().fold(Sweep::default(), |it, (path, values)| it.axis(path, values));
        found.fetch_add(kept.ask(&sweep).0, Ordering::Relaxed);
        Ok(())
    };
    runner.run(&axes(), ask).unwrap();
    assert!(found.into_inner() > 100, "questions had points in common");
}
