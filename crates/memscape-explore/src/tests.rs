//! A study asked in every way there is.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::toy::{READ, axes};
use crate::{Column, Control, DynStudy, Error, Method, Parameters, Sample, Sweep, Table};

fn parameters(value: &Value) -> Parameters {
    value.as_object().unwrap().clone()
}

fn run(value: &Value) -> Result<Value, String> {
    let row = READ.run(&parameters(value)).map_err(|it| it.to_string())?;
    Ok(Value::Object(row.into_iter().collect()))
}

fn time_ns(value: &Value) -> Value {
    run(value).unwrap()["time_ns"].clone()
}

fn sweep(sweep: &Sweep) -> Table {
    READ.sweep(sweep, &()).unwrap()
}

#[test]
fn the_defaults_answer() {
    let answer = run(&json!({})).unwrap();
    assert_eq!(
        answer,
        json!({ "time_ns": 166.4, "rows_per_bank": 4, "mode": "in-turn", "slow": false, "per_way_ns": null })
    );
}

#[test]
fn dotted_and_nested_and_preset_parameters_are_the_same() {
    let fast = time_ns(&json!({ "memory": { "banks": 32, "trcd_ns": 15, "trp_ns": 17 } }));
    assert_eq!(
        fast,
        time_ns(&json!({ "memory.banks": 32.0, "memory": { "trcd_ns": 15 }, "memory.trp_ns": 17 }))
    );
    assert_eq!(fast, time_ns(&json!({ "memory": "fast" })));
    assert_eq!(fast, time_ns(&json!({ "hardware": "new", "rows": 64 })));
    assert_eq!(
        fast,
        time_ns(&json!({ "hardware": { "memory": { "banks": 32, "trcd_ns": 15 }, "memory.trp_ns": 17 } }))
    );
}

#[test]
fn presets_are_filled_before_anything_is_overridden() {
    // Whatever the order of the keys.
    let a = time_ns(&json!({ "memory.banks": 8, "memory": { "trp_ns": 1 }, "hardware": "new" }));
    let b = time_ns(&json!({ "hardware": "new", "memory": { "trp_ns": 1, "banks": 8 } }));
    assert_eq!(a, b);
    assert_eq!(a, json!(128.0 * (15.0 + 1.0) / 7.0));
    // The wider preset first.
    assert_eq!(time_ns(&json!({ "memory": "slow", "hardware": "new" })), json!(128.0 * 39.0 / 15.0));
}

#[test]
fn an_optional_group_can_be_given_whole_or_by_path() {
    let whole = run(&json!({ "cache": { "ways": 4 } })).unwrap();
    assert_eq!(whole["per_way_ns"], json!(41.6));
    assert_eq!(run(&json!({ "cache.ways": 4 })).unwrap(), whole);
    assert_eq!(run(&json!({ "cache": null })).unwrap()["per_way_ns"], Value::Null);
}

#[test]
fn bad_parameters_are_told_with_what_is_allowed() {
    let error = |value: Value| run(&value).unwrap_err();
    insta::assert_snapshot!(error(json!({ "memory.bank": 8 })), @"there is no parameter `memory.bank`; did you mean `memory.banks`?");
    insta::assert_snapshot!(error(json!({ "trcd_ns": 8 })), @"there is no parameter `trcd_ns`; did you mean `memory.trcd_ns`?");
    insta::assert_snapshot!(error(json!({ "memory.colour": 8 })), @"there is no parameter `memory.colour`; `memory` has `banks`, `trcd_ns`, `trp_ns`");
    insta::assert_snapshot!(error(json!({ "memory.banks.rows": 8 })), @"there is no parameter `memory.banks.rows`; `memory.banks` is a single value");
    insta::assert_snapshot!(error(json!({ "memory": 8 })), @"`memory` = 8: expected a table, a path, or one of `slow`, `fast`");
    insta::assert_snapshot!(error(json!({ "memory": "fats" })), @r#"`memory` = "fats": there is no memory `fats`; did you mean `fast`?"#);
    insta::assert_snapshot!(error(json!({ "hardware": 3 })), @"`hardware` = 3: expected a table, a path, or one of `old`, `new`");
    insta::assert_snapshot!(error(json!({ "memory.banks": { "low": 1 } })), @r#"`memory.banks` = {"low":1}: expected a single value such as 16, not a table"#);
    insta::assert_snapshot!(error(json!({ "memory.banks": -1 })), @"`memory.banks` = -1: expected a whole number from 0 to 4294967295");
    insta::assert_snapshot!(error(json!({ "memory.banks": 8.5 })), @"`memory.banks` = 8.5: expected a whole number from 0 to 4294967295");
    insta::assert_snapshot!(error(json!({ "memory.banks": "many" })), @r#"`memory.banks` = "many": expected a whole number from 0 to 4294967295"#);
    insta::assert_snapshot!(error(json!({ "memory.trcd_ns": -1 })), @"`memory.trcd_ns` = -1: expected a number from 0 to 1e12");
    insta::assert_snapshot!(error(json!({ "memory.trp_ns": f64::NAN })), @"`memory.trp_ns` = null: expected a number (what is None, NaN or infinite arrives as null)");
    insta::assert_snapshot!(error(json!({ "rows": 0 })), @"`rows` = 0: expected a whole number from 1 to 4294967295");
    insta::assert_snapshot!(error(json!({ "mode": "in-tern" })), @r#"`mode` = "in-tern": expected one of "in-turn", "all-at-once"; did you mean `in-turn`?"#);
    insta::assert_snapshot!(error(json!({ "cache": { "way": 1 } })), @"there is no parameter `cache.way`; `cache` has `ways`");
    insta::assert_snapshot!(error(json!({ "memory.banks": 8, "memory": { "banks": 9 } })), @"`memory.banks` = 9: it is given twice; remove one");
    insta::assert_snapshot!(error(json!({ "memory.banks": 0 })), @"64 rows need a bank, but `memory.banks` is 0; give at least 1");
    insta::assert_snapshot!(error(json!({ "memory.banks": 1 })), @"`time_ns` came out inf");
}

#[test]
fn a_panic_of_a_model_is_an_error() {
    let error = READ.run(&parameters(&json!({ "memory.banks": 99 }))).unwrap_err();
    assert!(matches!(error, Error::Internal(_)), "{error}");
    assert_eq!(error.to_string(), "internal error, please report it: ninety-nine banks");
}

#[test]
fn a_panic_at_one_point_of_a_sweep_is_its_row() {
    let table = sweep(&Sweep::default().axis("memory.banks", 2..1000));
    assert!(table.is_complete());
    let (errors, times) = (table.text("error").unwrap(), table.f64("time_ns").unwrap());
    for (row, banks) in (2..1000).enumerate() {
        if banks == 99 {
            assert_eq!(errors[row].as_deref(), Some("internal error, please report it: ninety-nine banks"));
            assert_eq!(times[row], None);
        } else {
            assert_eq!(errors[row], None);
            assert_eq!(times[row], time_ns(&json!({ "memory.banks": banks })).as_f64());
        }
    }
}

#[test]
fn a_sweep_can_be_cancelled_while_rows_become_slow() {
    /// Counts the questions after the first slow row.
    struct Impatient(AtomicU64);
    impl Control for Impatient {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            false
        }
    }
    // A bank short, and so without work, for long enough that batches grow to
    // thousands of rows; then 20 ms for each row.
    let (cheap, slow) = (200_000, 100);
    let questions = |slow: usize| {
        let axis = (0..cheap).map(|_| 0).chain((0..slow).map(|_| 98));
        let control = Impatient(AtomicU64::new(0));
        let table = READ.sweep(&Sweep::default().axis("memory.banks", axis), &control).unwrap();
        assert_eq!(table.height(), cheap + slow);
        let errors = table.text("error").unwrap();
        assert!(errors.iter().enumerate().all(|(row, it)| it.is_some() == (row < cheap)));
        control.0.into_inner()
    };
    // Batches that stayed as long as cheap rows let them would hold all slow ones.
    let (short, long) = (questions(0), questions(slow));
    assert!(short + 3 < long, "{long} questions, {short} of them without a slow row");
}

#[test]
fn a_description_says_everything() {
    insta::assert_snapshot!(READ.describe(), @r#"
        toy.read: Time to read rows

        Parameters
            hardware  old      One of the machines; fills `memory`, `rows` ("old", "new", a path to .toml,
                               or a table)
            memory    slow     One of the memories; fills `memory.*` ("slow", "fast", a path to .toml, or a
                               table)
            rows      64       Rows to read (whole number, at least 1) [datasheet: a manual]
            mode      in-turn  Whether rows are opened one after the other or all at once ("all-at-once",
                               "in-turn")
            scale     null     A factor on the time (number or null) [a guess]
            cache     null     A cache in front of it ({ ways: whole number, at least 0, at most 255 } or
                               null)

          memory
            banks    16     Banks that can be open (whole number, at least 0) [datasheet: JESD0, table 1]
            trcd_ns  18 ns  tRCD, activate to read (number, at least 0) [prior: JESD0 gives none]
            trp_ns   21 ns  tRP, precharge (number) [datasheet: JESD0]

        Answer
            time_ns        ns  All reads together
            rows_per_bank      Rows per bank, rounded up
            mode               As asked
            slow               Whether it takes over a microsecond
            per_way_ns     ns  Time per way, if there is a cache
        "#);
}

#[test]
fn a_grid_has_the_last_axis_fastest_and_bad_points_are_rows() {
    let grid =
        Sweep::default().axis("mode", ["in-turn", "all-at-once", "never"]).axis("memory.banks", [0, 1, 4]);
    insta::assert_snapshot!(sweep(&grid).to_html().replace("</tr>", "</tr>\n"), @r#"
    <table><thead><tr><th>mode</th><th>memory.banks</th><th>time_ns</th><th>rows_per_bank</th><th>answer.mode</th><th>slow</th><th>per_way_ns</th><th>error</th></tr>
    </thead><tbody><tr><td>in-turn</td><td>0</td><td></td><td></td><td></td><td></td><td></td><td>64 rows need a bank, but `memory.banks` is 0; give at least 1</td></tr>
    <tr><td>in-turn</td><td>1</td><td></td><td></td><td></td><td></td><td></td><td>`time_ns` came out inf</td></tr>
    <tr><td>in-turn</td><td>4</td><td>832</td><td>16</td><td>in-turn</td><td>false</td><td></td><td></td></tr>
    <tr><td>all-at-once</td><td>0</td><td></td><td></td><td></td><td></td><td></td><td>64 rows need a bank, but `memory.banks` is 0; give at least 1</td></tr>
    <tr><td>all-at-once</td><td>1</td><td>39</td><td>64</td><td>all-at-once</td><td>false</td><td></td><td></td></tr>
    <tr><td>all-at-once</td><td>4</td><td>39</td><td>16</td><td>all-at-once</td><td>false</td><td></td><td></td></tr>
    <tr><td>never</td><td>0</td><td></td><td></td><td></td><td></td><td></td><td>`mode` = "never": expected one of "in-turn", "all-at-once"</td></tr>
    <tr><td>never</td><td>1</td><td></td><td></td><td></td><td></td><td></td><td>`mode` = "never": expected one of "in-turn", "all-at-once"</td></tr>
    <tr><td>never</td><td>4</td><td></td><td></td><td></td><td></td><td></td><td>`mode` = "never": expected one of "in-turn", "all-at-once"</td></tr>
    </tbody></table><p>9 rows, 8 columns</p>
    "#);
}

#[test]
fn presets_can_be_swept_and_overridden() {
    let hardware = ["old", "new", "odd"];
    let table = sweep(
        &Sweep::of(parameters(&json!({ "memory.trp_ns": 1 })))
            .axis("memory.banks", [8, 16])
            .axis("hardware", hardware)
            .zip([("memory.trcd_ns", [1, 2])]),
    );
    assert_eq!(table.height(), 12);
    let times = table.f64("time_ns").unwrap();
    for (row, time) in times.into_iter().enumerate() {
        let (banks, hardware) = ([8, 16][row / 6], hardware[row / 2 % 3]);
        let single = json!({
            "hardware": hardware, "memory.banks": banks, "memory.trp_ns": 1, "memory.trcd_ns": row % 2 + 1
        });
        assert_eq!(time, run(&single).ok().map(|it| it["time_ns"].as_f64().unwrap()), "{single}");
    }
    let errors = table.text("error").unwrap();
    assert_eq!(
        errors[4].as_deref(),
        Some("`hardware` = \"odd\": there is no hardware `odd`; did you mean `old`?")
    );
}

#[test]
fn zipped_axes_move_together() {
    let zip =
        Sweep::default().zip([("memory.banks", [2, 3]), ("rows", [10, 20])]).axis("memory.trp_ns", [1, 2]);
    let table = sweep(&zip);
    assert_eq!(table.column("memory.banks").unwrap(), Column::Int([2, 2, 3, 3].map(Some).to_vec()));
    assert_eq!(table.column("rows").unwrap(), Column::Int([10, 10, 20, 20].map(Some).to_vec()));
    // A parameter that need not be whole is a column of floats, whatever is given.
    assert_eq!(table.column("memory.trp_ns").unwrap(), Column::Float([1., 2., 1., 2.].map(Some).to_vec()));
}

#[test]
fn a_sample_is_drawn_anew_at_no_grid_point() {
    let ranges = json!({
        "memory.trp_ns": { "min": 10, "max": 20 }, "rows": { "min": 1, "max": 9, "integer": true },
        "hardware": ["old", "new"]
    });
    let sample = Sample { method: Method::Sobol, count: 8, seed: 1, ranges: parameters(&ranges) };
    let table = sweep(&Sweep::default().axis("memory.banks", [4, 8]).sample(sample));
    assert_eq!(table.height(), 16);
    for name in ["memory.trp_ns", "rows", "hardware"] {
        let column = table.text(name).unwrap();
        assert_eq!(column[..8], column[8..]);
    }
    for row in 0..16 {
        let single: Parameters = ["memory.banks", "memory.trp_ns", "rows", "hardware"]
            .into_iter()
            .map(|name| (name.to_owned(), value(&table, name, row)))
            .collect();
        assert_eq!(run(&single.into()).unwrap()["time_ns"], value(&table, "time_ns", row));
    }
}

/// A cell as JSON.
fn value(table: &Table, name: &str, row: usize) -> Value {
    match table.column(name).unwrap() {
        Column::Float(it) => it[row].into(),
        Column::Int(it) => it[row].into(),
        Column::Text(it) => it[row].clone().into(),
        Column::Bool(it) => it[row].into(),
    }
}

#[test]
fn a_wrong_sweep_is_refused_as_a_whole() {
    let error = |sweep: Sweep| READ.sweep(&sweep, &()).unwrap_err().to_string();
    let base = |value: Value| Sweep::of(parameters(&value)).axis("memory.banks", [1, 2]);
    insta::assert_snapshot!(error(base(json!({ "rows": 0 }))), @"`rows` = 0: expected a whole number from 1 to 4294967295");
    insta::assert_snapshot!(error(base(json!({ "rowz": 1 }))), @"there is no parameter `rowz`; did you mean `rows`?");
    insta::assert_snapshot!(error(base(json!({})).axis("memory.trp", [1])), @"there is no parameter `memory.trp`; did you mean `memory.trp_ns`?");
    insta::assert_snapshot!(error(base(json!({})).axis("memory.banks", [1])), @"there are two axes over `memory.banks`; remove one");
    insta::assert_snapshot!(error(base(json!({})).axis("rows", Vec::<u32>::new())), @"axis `rows` has no values");
    insta::assert_snapshot!(error(Sweep::default().zip([("rows", vec![1, 2]), ("memory.banks", vec![1])])), @"zip: `rows` has 2 values and `memory.banks` 1; they must be as many");
    let long = || Sweep::default().axis("rows", 1..=1 << 16).axis("memory.trp_ns", 0..1 << 15);
    assert_eq!(long().points().unwrap(), 1 << 31);
    insta::assert_snapshot!(error(long().axis("memory.banks", [1, 2])), @"the sweep has 4294967296 points, and a table, a file or a store takes at most 2147483648; shorten an axis, draw a sample, search, or ask for the front without a store, which keeps nothing else");
    let ranges = parameters(&json!({ "memory.trp_ns": { "min": 10, "max": 20 } }));
    let sample = Sample { method: Method::Random, count: 1 << 32, seed: 0, ranges };
    assert!(error(base(json!({})).sample(sample)).contains("`count` = 4294967296: expected 1 to 10000000"));
    // What an axis changes may be wrong in the base.
    assert_eq!(sweep(&base(json!({ "memory.banks": -1 }))).height(), 2);
}

#[test]
fn a_name_that_parameter_and_answer_share_is_kept_apart() {
    let table = sweep(&Sweep::default().axis("mode", ["in-turn", "never"]));
    let names = ["mode", "time_ns", "rows_per_bank", "answer.mode", "slow", "per_way_ns", "error"];
    assert_eq!(table.column_names(), names);
    assert_eq!(table.text("mode").unwrap()[1].as_deref(), Some("never"));
    assert_eq!(table.text("answer.mode").unwrap()[1], None);
}

/// Stops after so many rows, and counts looks.
struct StopAt(u64, AtomicU64);

impl Control for StopAt {
    fn advanced(&self, done: u64, total: u64) {
        assert!(done <= total && self.1.swap(done, Ordering::Relaxed) < done);
    }

    fn cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

#[test]
fn a_cancelled_sweep_is_a_prefix() {
    let grid =
        Sweep::default().axis("memory.banks", 0..50).axis("rows", 1..500).axis("memory", ["slow", "fast"]);
    let whole = sweep(&grid);
    assert!(whole.is_complete());
    for stop in [0, 1, 100, 3000] {
        let part = READ.sweep(&grid, &StopAt(stop, AtomicU64::new(0))).unwrap();
        assert!(!part.is_complete() && part.height() as u64 >= stop && part.height() < whole.height());
        let prefix = whole.frame().head(Some(part.height()));
        assert!(prefix.equals_missing(part.frame()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A point of a sweep is the same point asked alone.
    #[test]
    fn a_sweep_is_its_points(axes in axes(), base_rows in 1..9_u32) {
        let base = parameters(&json!({ "rows": base_rows }));
        let grid = axes.iter().fold(Sweep::of(base.clone()), |it, (path, values)| it.axis(*path, values.clone()));
        let table = sweep(&grid);
        prop_assert_eq!(table.height() as u64, grid.points().unwrap());
        let columns: Vec<(&str, Vec<Option<String>>)> =
            table.column_names().into_iter().map(|it| (it, table.text(it).unwrap())).collect();
        for row in 0..table.height() {
            let mut rest = row;
            let mut single = base.clone();
            for (path, values) in axes.iter().rev() {
                single.insert((*path).to_owned(), values[rest % values.len()].clone());
                rest /= values.len();
            }
            let cell = |name: &str| columns.iter().find(|it| it.0 == name).unwrap().1[row].clone();
            match READ.run(&single) {
                Ok(answer) => {
                    prop_assert_eq!(cell("error"), None);
                    for (name, expected) in answer {
                        let expected = match expected {
                            Value::Null => None,
                            Value::String(it) => Some(it),
                            other => Some(other.to_string().replace("e+", "e")),
                        };
                        prop_assert_eq!(cell(&name), expected);
                    }
                }
                Err(error) => {
                    prop_assert_eq!(cell("error"), Some(error.to_string()));
                    prop_assert_eq!(cell("time_ns"), None);
                }
            }
        }
    }

    /// The number of threads does not show.
    #[test]
    fn one_thread_is_as_good_as_many(axes in axes()) {
        let grid = axes.into_iter().fold(Sweep::default(), |it, (path, values)| it.axis(path, values));
        let folder = tempfile::tempdir().unwrap();
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let path = folder.path().join(format!("{threads}.parquet"));
            pool.install(|| sweep(&grid)).write_parquet(&path).unwrap();
            std::fs::read(path).unwrap()
        };
        let one = bytes(1);
        prop_assert!(one == bytes(2) && one == bytes(5));
    }
}

/// A folder of descriptions of one's own.
fn own(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const MINE: &str = "base = \"fast\"\n[parameters]\nbanks = 8\n";

#[test]
fn a_description_is_a_name_a_path_or_a_table() {
    let folder =
        own(&[("mine.toml", MINE), ("machine.toml", "[parameters]\nmemory = \"mine.toml\"\nrows = 64\n")]);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mine = time_ns(&json!({ "memory": "fast", "memory.banks": 8 }));
    assert_eq!(mine, time_ns(&json!({ "memory": path("mine.toml") })));
    assert_eq!(mine, time_ns(&json!({ "memory": { "base": "fast", "parameters": { "banks": 8 } } })));
    // Names in a file are seen from the file.
    assert_eq!(mine, time_ns(&json!({ "hardware": path("machine.toml") })));
    assert_eq!(mine, time_ns(&json!({ "hardware": { "memory": path("mine.toml") } })));
    // A field over it, in either order.
    let over = time_ns(&json!({ "memory": "fast", "memory.banks": 4 }));
    assert_eq!(over, time_ns(&json!({ "memory.banks": 4, "memory": path("mine.toml") })));
    // On an axis, beside a built-in name.
    let axis =
        Sweep::default().axis("memory", [json!("fast"), json!(path("mine.toml")), json!({ "banks": 4 })]);
    assert_eq!(sweep(&axis).f64("time_ns").unwrap()[1], mine.as_f64());
}

#[test]
fn layers_merge_a_table_with_a_name() {
    let run = |layers: &[Value]| {
        let layers: Vec<Parameters> = layers.iter().map(parameters).collect();
        let row = READ.run_layers(&layers.iter().collect::<Vec<_>>()).unwrap();
        row.into_iter().find(|it| it.0 == "time_ns").unwrap().1
    };
    let expected = run(&[json!({ "memory": "fast", "memory.banks": 8 })]);
    assert_eq!(run(&[json!({ "memory": { "banks": 8 } }), json!({ "memory": "fast" })]), expected);
    assert_eq!(run(&[json!({ "memory": "fast" }), json!({ "memory": { "banks": 8 } })]), expected);
    assert_eq!(
        run(&[json!({ "memory": "fast", "memory.banks": 4 }), json!({ "memory.banks": 8 })]),
        expected
    );
    // A nested base below an axis of names.
    let below = Sweep::of(parameters(&json!({ "memory": { "banks": 8 } }))).axis("memory", ["slow", "fast"]);
    assert_eq!(sweep(&below).f64("time_ns").unwrap()[1], expected.as_f64());
}

#[test]
fn a_bad_description_is_told_with_its_file() {
    let folder = own(&[
        ("circle.toml", "base = \"circle.toml\"\n[parameters]\n"),
        ("typo.toml", "base = \"fast\"\n[parameters]\nbank = 8\n"),
        ("bad.toml", "[parameters]\nbanks = -1\ntrcd_ns = 1\ntrp_ns = 1\n"),
        ("broken.toml", "[parameters\n"),
        ("notes.txt", "x"),
    ]);
    let error = |name: &str| {
        let path = folder.path().join(name);
        let text = run(&json!({ "memory": path.to_str().unwrap() })).unwrap_err();
        text.replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    insta::assert_snapshot!(error("missing.toml"), @r#"`memory` = "FOLDER/missing.toml": there is no such file"#);
    insta::assert_snapshot!(error("circle.toml"), @r#"`memory` = "FOLDER/circle.toml": FOLDER/circle.toml: more than 8 descriptions name each other; is one its own base?"#);
    insta::assert_snapshot!(error("typo.toml"), @r#"`memory` = "FOLDER/typo.toml": `memory`: there is no `bank` in it; did you mean `banks`?"#);
    insta::assert_snapshot!(error("bad.toml"), @r#"`memory` = "FOLDER/bad.toml": `banks` = -1: expected a whole number from 0 to 4294967295"#);
    insta::assert_snapshot!(error("notes.txt"), @r#"`memory` = "FOLDER/notes.txt": expected a file that ends in `.toml`"#);
    insta::assert_snapshot!(error(""), @r#"`memory` = "FOLDER/": it is a folder; give a file that ends in `.toml`, such as FOLDER/bad.toml"#);
    assert!(error("broken.toml").contains("TOML parse error at line 1"), "{}", error("broken.toml"));
}

#[test]
fn a_question_is_known_by_content_and_not_by_path() {
    let folder = own(&[("a.toml", MINE), ("b.toml", MINE)]);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let identity = |name: &str| {
        let sweep = Sweep::of(parameters(&json!({ "memory": path(name) }))).axis("rows", [1, 2]);
        READ.identity(&sweep).unwrap()
    };
    let before = identity("a.toml");
    assert_eq!(before, identity("b.toml"));
    std::fs::write(folder.path().join("a.toml"), MINE.replace('8', "4")).unwrap();
    assert_ne!(before, identity("a.toml"));
}

#[test]
fn a_study_tells_what_happens_when() {
    let timeline = READ.timeline(&[&parameters(&json!({ "rows": 3 }))]).unwrap();
    assert_eq!((timeline.spans.len(), timeline.end().0), (3, 54_000));
    let error = READ.trace(&[], "vcd", &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "`toy.read` has no trace as `vcd`; it has `perfetto`, `csv`");
}

#[test]
fn a_registry_finds_by_name_or_suggests() {
    let registry = crate::Registry::new().with(crate::toy::Toy);
    assert!(registry.study("toy.read").is_ok());
    let error = registry.study("toy.raed").err().unwrap().to_string();
    assert_eq!(error, "there is no study `toy.raed`; did you mean `toy.read`?");
    let names: Vec<String> = registry.presets().map(|(kind, it)| format!("{kind} {}", it.name)).collect();
    assert_eq!(names, ["hardware old", "hardware new", "memory slow", "memory fast"]);
    assert_eq!(registry.preset("OLD").unwrap().parameters["memory"]["banks"], 16);
    let schema = registry.catalog("hardware").unwrap().schema();
    assert_eq!(schema["properties"]["parameters"]["properties"]["memory"]["anyOf"][0]["type"], "string");
}
