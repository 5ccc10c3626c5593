//! The command line as its user sees it.

use std::fs;
use std::path::Path;

use memscape_cli::{BAD_INPUT, DONE, SHORT, run};

/// Exit code, output and errors of one call.
fn memscape(arguments: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["memscape"].iter().chain(arguments);
    let code = run(arguments, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn done(arguments: &[&str]) -> String {
    let (code, out, err) = memscape(arguments);
    assert_eq!((code, err.as_str()), (DONE, ""), "{arguments:?}");
    out
}

fn refused(arguments: &[&str]) -> String {
    let (code, out, err) = memscape(arguments);
    assert_eq!((code, out.as_str()), (BAD_INPUT, ""), "{arguments:?}");
    assert_eq!(err.lines().count(), 1, "one line: {err}");
    err
}

/// A file in a new folder, which is kept as long as the first is.
fn file(name: &str, content: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path.to_str().unwrap().to_owned())
}

#[test]
fn help_lists_the_commands() {
    insta::assert_snapshot!(done(&["--help"]));
    assert_eq!(done(&[]), done(&["-h"]));
}

/// What a report of a fault quotes.
#[test]
fn the_version_says_which_data_is_built_in() {
    let said = done(&["--version"]);
    assert_eq!(said, done(&["-V"]));
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some(concat!("memscape ", env!("CARGO_PKG_VERSION"))));
    let kinds: Vec<&str> = lines.clone().map(|it| it.split_whitespace().next().unwrap()).collect();
    for kind in ["memory", "model", "calibration", "claims", "predictions"] {
        assert!(kinds.contains(&kind), "{kind} is not in {kinds:?}");
    }
    for line in lines {
        let id = line.split_whitespace().last().unwrap();
        assert!(id.len() == 12 && id.bytes().all(|it| it.is_ascii_hexdigit()), "{line}");
    }
}

#[test]
fn help_of_each_command() {
    for command in ["reproduce", "claims", "calibrate", "studies", "describe", "run", "sweep", "trace"] {
        insta::assert_snapshot!(command, done(&[command, "--help"]));
    }
}

#[test]
fn errors_name_what_was_given_and_what_is_allowed() {
    let calls: &[&[&str]] = &[
        &["stuides"],
        &["describe", "pim.gmev"],
        &["describe", "pim.gem"],
        &["describe", "lpddr5-640"],
        &["describe", "opt-6.7b", "--diff", "opt-6.8b"],
        &["run", "pim.gemv", "split_k"],
        &["run", "pim.gemv", "split-k=2"],
        &["run", "pim.gemv", "memory.banks_per_channel=0"],
        &["run", "pim.gemv", "memory.trcd_ns=nan"],
        &["run", "pim.gemv", "memory.trcd_ns=-1"],
        &["run", "missing.toml"],
        &["sweep", "missing.toml"],
        &["search", "missing.toml", "--budget", "-1"],
        &["bench", "front", "--budgets", "20,1e3"],
        &["claims", "pimnats"],
        &["calibrate", "pimnats"],
        &["reproduce", "pimnast.fig99"],
        &["trace", "--format", "vcd"],
        &["trace", "placement=column-major"],
        &["trace", "--study", "pim.token"],
        &["trace", "--study", "npu.gemm", "--format", "ramulator"],
    ];
    let told = |arguments: &&[&str]| format!("$ memscape {}\n{}", arguments.join(" "), refused(arguments));
    // How many studies there are is not this test's affair.
    let others = format!("{} more", memscape::systems::studies().count() - 12);
    let told = calls.iter().map(told).collect::<String>().replace(&others, "others");
    insta::assert_snapshot!(told);
}

/// Counts that no memory holds, and threads that no machine has.
#[test]
fn counts_have_ends() {
    for most in ["0", "1025", "4294967295", "18446744073709551615"] {
        let (code, _, err) = memscape(&["trace-stats", "--dimms", most]);
        assert_eq!(code, BAD_INPUT, "{err}");
        assert!(err.contains("--dimms"), "{err}");
        for threads in ["--gemm-threads", "--copy-threads", "--owr-threads"] {
            let (code, _, err) = memscape(&["measure", "ondevice", "--layers", "1", threads, most]);
            assert!(code == BAD_INPUT && err.contains("threads were asked for"), "{threads} {most}: {err}");
        }
    }
    assert!(
        refused(&["measure", "ondevice", "--layers", "1", "--tokens", "1", "--repeats", "0"])
            .contains("0 repeats")
    );
}

#[test]
fn draws_and_budgets_have_ends() {
    for draws in ["0", "19", "100001", "18446744073709551615"] {
        let err = refused(&["claims", "pimnast", "--uncertainty", draws]);
        assert!(err.contains(draws) && err.contains("at least 20 and at most 100000"), "{err}");
    }
    for points in ["0", "10000001", "18446744073709551615"] {
        let err = refused(&["laws", "cxl.inference", "--points", points]);
        assert!(err.contains(points) && err.contains("1 at least and 10000000 at most"), "{err}");
    }
    let err = refused(&["bench", "front", "--budgets", "0"]);
    assert!(err.contains("of one evaluation or more"), "{err}");
}

#[test]
fn a_broken_study_file_is_told_by_line() {
    let (_folder, path) = file("study.toml", "study = \"pim.gemv\"\n[axes]\nsplit_k = [1, 2");
    let error = refused(&["sweep", &path, "-o", "out.parquet"]);
    assert!(error.contains("study.toml") && error.contains("line 3"), "{error}");
}

#[test]
fn what_is_given_last_wins() {
    let (_folder, path) =
        file("study.toml", "study = \"pim.gemv\"\n[base]\nmodel = \"opt-125m\"\nsplit_k = 2\n");
    assert_eq!(done(&["run", &path]), done(&["run", "pim.gemv", "model=opt-125m", "split_k=2"]));
    assert_eq!(done(&["run", &path, "split_k=4"]), done(&["run", "pim.gemv", "model=opt-125m", "split_k=4"]));
}

#[test]
fn a_run_as_json_is_the_run() {
    let json: serde_json::Value = serde_json::from_str(&done(&["run", "pim.gemv", "--json"])).unwrap();
    let text = done(&["run", "pim.gemv"]);
    for (column, value) in json.as_object().unwrap() {
        // Read as the JSON was: a last digit may be lost in reading.
        let same = |told: &str| {
            value.as_str() == Some(told)
                || serde_json::from_str::<serde_json::Value>(told).is_ok_and(|it| it == *value)
        };
        let told = text.lines().filter_map(|it| it.split_once(' ')).find(|it| it.0 == column);
        assert!(told.is_some_and(|it| same(it.1.trim())), "{column}: {told:?}");
    }
}

#[test]
fn a_study_file_with_axes_is_for_sweep() {
    let (_folder, path) = file("study.toml", "study = \"pim.gemv\"\n[axes]\nsplit_k = [1, 2]\n");
    assert!(refused(&["run", &path]).contains("use `memscape sweep"));
}

#[test]
fn a_sweep_leaves_its_table_and_nothing_else() {
    let (folder, path) = file("study.toml", "study = \"pim.gemv\"\n[axes]\nsplit_k = [1, 2, 0]\n");
    let table = folder.path().join("out.csv");
    let (code, out, err) = memscape(&["sweep", &path, "-o", table.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (DONE, ""));
    assert_eq!(err, "1 of 3 rows have no answer; their `error` says why\n");
    assert_eq!(fs::read_to_string(&table).unwrap().lines().count(), 4);
    // And beside a CSV the question that it answers.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    assert!(folder.path().join("out.csv.json").is_file());
}

#[test]
fn a_study_file_can_say_where_its_table_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (said, asked) = (folder.path().join("said.csv"), folder.path().join("asked.csv"));
    let (_other, path) =
        file("study.toml", &format!("study = \"pim.gemv\"\noutput = {said:?}\n[axes]\nsplit_k = [1, 2]\n"));
    done(&["sweep", &path, "-o", asked.to_str().unwrap()]);
    assert!(asked.exists() && !said.exists());
    done(&["sweep", &path]);
    assert_eq!(fs::read(said).unwrap(), fs::read(asked).unwrap());

    let (_other, path) = file("study.toml", "study = \"pim.gemv\"\n[axes]\nsplit_k = [1, 2]\n");
    let error = refused(&["sweep", &path]);
    assert!(error.contains("study.toml` does not say where the table goes; add `output ="), "{error}");
}

#[test]
fn the_events_of_a_product_are_a_trace() {
    let csv = done(&["trace", "npu.gemm", "m=448", "k=448", "n=448"]);
    assert!(csv.starts_with("group,track,name,category,start_ns,end_ns,details\n"), "{csv}");
    assert_eq!(csv.lines().count(), 6, "{csv}");
}

#[test]
fn a_refused_trace_leaves_what_there_was() {
    let (folder, path) = file("trace.csv", "an earlier trace");
    for wrong in ["split_k=3", "split_k=0", "memory.banks_per_channel=0"] {
        refused(&["trace", "pim.gemv", "--format", "commands", wrong, "-o", &path]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "an earlier trace", "{wrong}");
    }
    done(&["trace", "pim.gemv", "--format", "commands", "m=64", "k=128", "-o", &path]);
    assert!(fs::read_to_string(&path).unwrap().starts_with("clock,"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let missing = folder.path().join("missing/trace.csv");
    let error = refused(&["trace", "pim.gemv", "m=64", "k=128", "-o", missing.to_str().unwrap()]);
    assert!(error.contains("missing/trace.csv`: there is no such folder; choose another"), "{error}");
}

#[test]
fn presets_show_their_sources_and_differences() {
    let shown = done(&["describe", "lpddr5-6400"]);
    for line in shown.lines().skip(2) {
        assert!(line.split_whitespace().count() > 2, "value and source: {line}");
    }
    let same = done(&["describe", "lpddr5-6400", "--diff", "lpddr5-6400"]);
    assert_eq!(same, "lpddr5-6400 and lpddr5-6400 have the same parameters\n");
    let differing = done(&["describe", "lpddr5-6400", "--diff", "lpddr5x-7500"]);
    assert!(differing.lines().any(|it| it.split_whitespace().eq(["channels", "1", "8"])), "{differing}");
}

#[test]
fn every_study_can_be_described() {
    for line in done(&["studies"]).lines() {
        let name = line.split_whitespace().next().unwrap();
        assert!(done(&["describe", name]).starts_with(name));
    }
}

#[test]
fn traces_are_written_in_each_format() {
    let small = ["m=64", "k=128", "model=opt-125m"];
    let trace = |format: &str| done(&[&["trace", "pim.gemv", "--format", format], &small[..]].concat());
    assert!(
        trace("commands").starts_with("clock,command,Channel,Rank,BankGroup,Bank,Row,Column,type,source\n")
    );
    assert!(trace("ramulator").starts_with("R 0,0,0,0,"));
    assert!(trace("dramsim3").starts_with("0x"));
    let json: serde_json::Value = serde_json::from_str(&trace("perfetto")).unwrap();
    let commands = json["traceEvents"].as_array().unwrap().iter().filter(|it| it["ph"] == "X").count();
    assert_eq!(commands, trace("commands").lines().count() - 1, "the same commands");
    assert_eq!(commands, trace("csv").lines().count() - 1, "and spans");
    // What cannot be written in a form says so, whatever the study answers.
    let refused_as = |format: &str, more: &[&str]| {
        refused(&[&["trace", "pim.gemv", "--format", format], &small[..2], more].concat())
    };
    let slow = ["refresh=true", "memory.data_rate_mt_s=1"];
    for format in ["commands", "ramulator", "dramsim3"] {
        let error = refused_as(format, &slow);
        assert!(error.contains("which leaves too little for commands of"), "{format}: {error}");
    }
    let large = ["memory.rows=16777216", "memory.channels=65536"];
    let error = refused_as("dramsim3", &large);
    assert!(error.contains("at most 2^48 bursts") && !error.contains("internal"), "{error}");
    let error = refused(&["trace", "pim.gemv", "--format", "vcd"]);
    assert!(error.contains("has no trace as `vcd`; it has `perfetto`, `csv`, `"), "{error}");
    let error = refused(&["trace", "npu.search"]);
    assert!(error.contains("it has no timeline"), "{error}");

    // A study without a timeline whose trace is its own.
    let steps = done(&["trace", "npu.balance", "iteration=until-compute-bound"]);
    let (head, rows) = steps.split_once('\n').unwrap();
    assert!(head.contains("assumed_efficiency,efficiency") && head.contains("eq9_compute_ns,eq10_memory_ns"));
    let cell = |row: &str, name: &str| {
        row.split(',').nth(head.split(',').position(|it| it == name).unwrap()).unwrap().to_owned()
    };
    let rows: Vec<_> = rows.lines().collect();
    assert_eq!(cell(rows[0], "assumed_efficiency"), "");
    assert_eq!(cell(rows[1], "assumed_efficiency"), cell(rows[0], "efficiency"));
    let error = refused(&["trace", "npu.balance", "k_mt_steps=500"]);
    assert!(error.contains("the iteration has no point"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    assert_eq!(done(&[&["trace", "pim.gemv", "-o", path.to_str().unwrap()], &small[..]].concat()), "");
    assert_eq!(fs::read_to_string(path).unwrap(), trace("csv"));
}

#[test]
fn presets_and_their_forms_are_listed() {
    let all = done(&["presets"]);
    assert!(all.lines().count() > 50 && all.contains("lpddr5-6400"), "{all}");
    let memories = done(&["presets", "memory"]);
    assert!(memories.lines().all(|it| it.starts_with("memory  ")), "{memories}");
    let error = refused(&["presets", "memorie"]);
    assert!(error.contains("there is no catalog `memorie`; did you mean `memory`?"), "{error}");
    let schema: serde_json::Value = serde_json::from_str(&done(&["schema", "memory"])).unwrap();
    assert_eq!(schema["properties"]["parameters"]["properties"]["channels"]["type"], "integer");
}

#[test]
fn a_description_of_ones_own_is_named_by_its_path() {
    let (folder, memory) = file("mine.toml", "base = \"lpddr5x-7500\"\n[parameters]\nchannels = 4\n");
    let run = |arguments: &[&str]| done(&[&["run", "pim.gemv", "--json"], arguments].concat());
    let mine = run(&["model=opt-125m", &format!("memory={memory}")]);
    assert_eq!(mine, run(&["model=opt-125m", "memory.channels=4"]));
    assert!(done(&["describe", &memory]).starts_with("mine: "), "{}", done(&["describe", &memory]));
    // Who has its base says what is wrong with it.
    let (_gpu, gpu) = file("gpu.toml", "base = \"rtx-4090\"\n[parameters]\nbandwith_gb_s = 1792\n");
    let error = refused(&["describe", &gpu]);
    assert!(
        error.contains("`file` = ") && error.contains("bandwith_gb_s") && !error.contains("pim"),
        "{error}"
    );

    // In a study file, seen from the file.
    let study = folder.path().join("study.toml");
    fs::write(&study, "study = \"pim.gemv\"\n[base]\nmodel = \"opt-125m\"\nmemory = \"mine.toml\"\n")
        .unwrap();
    assert_eq!(done(&["run", study.to_str().unwrap(), "--json"]), mine);
    let error = refused(&["run", "pim.gemv", "memory=yours.toml"]);
    assert!(error.contains("`memory` = \"yours.toml\": there is no such file"), "{error}");
    for name in ["no.json", "./no", "no.gguf"] {
        let error = refused(&["describe", name]);
        assert!(error.contains(&format!("there is no file `{name}`")), "{error}");
    }
}

const CLAIM: &str = r#"
    [[claim]]
    id = "mine.banks"
    where = "my bench"
    says = "8 banks take as long as themselves"
    value = "1.0"
    unit = "x"
    role = "predict"
    note = "a note on the miss"
    query = { experiment = "pimnast.fig10", where = { model = "opt-6.7b" }, column = "speedup", aggregate = "max" }
"#;

#[test]
fn a_claim_out_of_tolerance_is_1() {
    let (_folder, path) = file("claims.toml", CLAIM);
    let (code, out, err) = memscape(&["claims", &path]);
    assert_eq!((code, err.as_str()), (SHORT, ""));
    assert!(out.contains("mine.banks") && out.contains("a note on the miss"), "{out}");
    assert!(
        out.ends_with("0 of 1 predictions of performance within 10 % (0 %; 100 % asked for: missed)\n"),
        "{out}"
    );
    let (code, out, _) = memscape(&["claims", &path, "--json"]);
    assert_eq!(code, SHORT);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let claim = json["claims"][0].as_object().unwrap();
    assert_eq!(
        claim.keys().collect::<Vec<_>>(),
        [
            "id",
            "published",
            "printed",
            "computed",
            "relative_error",
            "exact",
            "bound",
            "role",
            "sort",
            "follows_from",
            "blind",
            "blind_error",
            "unit",
            "note"
        ]
    );
    assert_eq!((&claim["published"], &claim["printed"]), (&1.0.into(), &"1.0".into()));
    assert_eq!(json["bars"][0]["is_met"], false);
}

#[test]
fn what_follows_is_shown_and_not_counted() {
    let again = CLAIM.replace("mine.banks", "mine.again");
    let (_folder, path) = file("claims.toml", &format!("{CLAIM}{again}follows_from = ['mine.banks']\n"));
    let (code, out, _) = memscape(&["claims", &path]);
    assert!(code == SHORT && out.contains("0 of 1 predictions"), "{out}");
    let after = out.split("mine.again").nth(1).unwrap();
    assert!(after.contains("not counted: follows from `mine.banks`\n"), "{out}");
}

#[test]
fn bars_decide_and_facts_do_not_count() {
    let set = |bar: &str, sort: &str| {
        let (_folder, path) = file("claims.toml", &format!("{bar}\n{CLAIM}\n{sort}"));
        memscape(&["--quiet", "claims", &path])
    };
    let (code, out, _) = set("[[bar]]\nwithin = 20.0\nshare = 0.5", "");
    assert_eq!(code, DONE, "{out}");
    assert!(out.contains("1 of 1 predictions of performance within 2000 %"), "{out}");
    for (bar, problem) in [
        ("[[bar]]\nwithin = -1.0\nshare = 0.5", "`within` = -1 of a bar: expected a relative error"),
        ("[[bar]]\nwithin = 0.1\nshare = 8.0", "`share` = 8 of a bar: expected a share from 0 to 1"),
        (CLAIM, "two claims are called `mine.banks`"),
    ] {
        let (code, _, err) = set(bar, "");
        assert!(code == 2 && err.contains("claims.toml") && err.contains(problem), "{code} {err}");
    }
    let (_folder, path) = file("claims.toml", CLAIM);
    let err = refused(&["claims", &path, "--uncertainty", "20"]);
    assert!(err.contains("only a paper's claims have intervals"), "{err}");
    assert!(
        refused(&["calibrate", "pimnast", "--covariance", "-o", "x.csv"]).contains("cannot be used with")
    );
    let (code, out, _) = set("", "sort = \"fact\"");
    assert_eq!(code, DONE, "{out}");
    assert!(!out.contains("asked for"), "{out}");
}

#[test]
fn what_was_said_blind_is_a_record() {
    let (_folder, path) = file("claims.toml", &format!("{CLAIM}\nblind = 3.0"));
    let out = done(&["claims", "--blind", &path]);
    assert!(out.contains("mine.banks") && out.contains("+200.0 %"), "{out}");
    assert!(out.contains("1 performances, median error 200.0 % then"), "{out}");
    let (_folder, path) = file("claims.toml", CLAIM);
    assert_eq!(done(&["claims", "--blind", &path]).lines().count(), 2);
}

#[test]
fn claims_left_out_of_the_fit_are_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let told = done(&["calibrate", "pim-sherpa", "--leave-one-out"]);
    assert!(told.lines().count() == 6 && told.contains("without it open: cpu.copy_gb_s"), "{told}");
    // Without jumps, slopes lead where looks over whole ranges do.
    assert_eq!(done(&["calibrate", "pim-sherpa", "--leave-one-out", "--near"]), told);
    assert!(refused(&["calibrate", "pim-sherpa", "--near"]).contains("--leave-one-out"));
    assert_eq!(done(&["calibrate", "pim-sherpa", "--leave-one-out", "-o", path.to_str().unwrap()]), "");
    let csv = fs::read_to_string(path).unwrap();
    assert!(csv.starts_with("claim,published,unit,fitted,left_out,relative_error,open\n"), "{csv}");
    assert!(refused(&["calibrate", "pimnast", "-o", "table.csv"]).contains("--leave-one-out"));
}

#[test]
fn a_figure_is_a_table_with_its_question_and_two_drawings() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    assert!(done(&["reproduce", "pimnast.fig10", "--out", out]).starts_with("pimnast.fig10"));
    assert_eq!(done(&["--quiet", "reproduce", "pimnast.fig10", "--out", out]), "");
    for extension in ["csv", "csv.json", "png", "svg"] {
        let path = folder.path().join("pimnast/fig10").with_extension(extension);
        assert!(fs::metadata(&path).unwrap().len() > 0, "{}", path.display());
    }
    assert!(Path::new(out).join("pimnast").read_dir().unwrap().count() == 4);
    let csv = folder.path().join("pimnast/fig10.csv");
    assert!(done(&["show", csv.to_str().unwrap()]).contains("experiment \"pimnast.fig10\""));
}

#[test]
fn figures_are_redrawn_with_parameters_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let asked = ["--quiet", "reproduce", "pimnast.fig9a", "memory.trcd_ns=36", "--format", "svg,pdf"];
    assert_eq!(done(&[&asked[..], &["--style", "dark", "--out", out]].concat()), "");
    let figure = folder.path().join("pimnast/fig9a");
    let svg = fs::read_to_string(figure.with_extension("svg")).unwrap();
    assert!(svg.contains("Changed: memory.trcd_ns = 36.") && !svg.contains("Published"));
    assert!(fs::read(figure.with_extension("pdf")).unwrap().starts_with(b"%PDF"));
    assert!(!figure.with_extension("png").exists());

    let refusal = |more: &[&str]| refused(&[&["reproduce", "--out", out], more].concat());
    assert!(refusal(&["pimnast.fig10", "memory.banks_per_channel=8"]).contains("sets it itself"));
    assert!(refusal(&["pimnast.fig10", "--style", "drak"]).contains("did you mean `dark`?"));
    assert!(refusal(&["pimnast.fig10", "--format", "gif"]).contains("svg"));
}

#[test]
fn figures_are_told_in_the_order_asked_and_one_that_fails_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let asked = ["pimnast.fig10", "pimnast.table1", "pimnast.fig6"];
    let told = done(&[&["reproduce", "--out", out][..], &asked].concat());
    assert_eq!(told.lines().map(|it| it.split(' ').next().unwrap()).collect::<Vec<_>>(), asked);

    let csv = folder.path().join("pimnast/table1.csv");
    fs::remove_file(&csv).unwrap();
    fs::create_dir(&csv).unwrap();
    fs::remove_file(folder.path().join("pimnast/fig6.svg")).unwrap();
    let (code, told, err) = memscape(&[&["reproduce", "--out", out][..], &asked].concat());
    assert_eq!((code, told.lines().count()), (BAD_INPUT, 1));
    assert!(err.contains("pimnast/table1.csv") && !err.contains(".memscape-"), "{err}");
    assert!(folder.path().join("pimnast/fig6.svg").exists());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for arguments in
        [&["memscape", "describe", "pim.gemv"][..], &["memscape", "trace", "pim.gemv", "m=64", "k=128"]]
    {
        let mut err = Vec::new();
        assert_eq!(run(arguments, &mut Closed, &mut err), DONE);
        assert!(err.is_empty());
    }
}

const SPACE: &str = r#"
    study = "pim.gemv"
    constraints = ["pim.registers * memory.banks_per_channel <= 512"]
    [base]
    model = "opt-125m"
    gemv = "out"
    [axes]
    "memory.banks_per_channel" = [8, 16, 32]
    "pim.registers" = { from = 10, to = 40, integer = true }
    [search]
    minimize = ["time_ns"]
    budget = 40
"#;

#[test]
fn a_search_prints_the_best_and_writes_all() {
    let (folder, path) = file("space.toml", SPACE);
    let table = folder.path().join("all.parquet");
    let out = done(&["--quiet", "search", &path, "-o", table.to_str().unwrap()]);
    assert!(out.starts_with("best time_ns of 40 evaluations (descent): "), "{out}");
    let all = memscape::explore::Table::read_parquet(&table).unwrap();
    assert_eq!(all.height(), 40);
    // The command line goes over the file.
    let out = done(&[
        "search",
        &path,
        "--maximize",
        "speedup",
        "--method",
        "sobol",
        "--budget",
        "7",
        "--seed",
        "2",
    ]);
    assert!(out.starts_with("best speedup of 7 evaluations (sobol): "), "{out}");
    let held = folder.path().join("held.parquet");
    let out = held.to_str().unwrap();
    done(&["search", &path, "--maximize", "speedup", "--constraint", "speedup < 3", "-o", out]);
    let all = memscape::explore::Table::read_parquet(&held).unwrap();
    let best = all.filter("on_front", true).unwrap().f64("speedup").unwrap()[0].unwrap();
    let highest = all.f64("speedup").unwrap().into_iter().flatten().fold(0.0, f64::max);
    assert!(best < 3.0 && 3.0 <= highest, "{best} of at most {highest}");
    // A column by the name that tells it from a parameter.
    let out = done(&["search", &path, "--minimize", "answer.time_ns", "--budget", "5"]);
    assert!(out.starts_with("best answer.time_ns of 5 evaluations"), "{out}");
    let out = done(&["front", &path, "--minimize", "answer.time_ns"]);
    assert!(out.contains("on the front"), "{out}");
    assert!(refused(&["search", &path, "--method", "sobel"]).contains("did you mean `sobol`?"));
    assert!(refused(&["search", &path, "--minimize", "time_ns +"]).contains("at its end"));
    assert!(refused(&["search", &path, "-o", "out.xlsx"]).contains("must end in .parquet or .csv"));
    assert!(refused(&["search", &path, "-o", "no/such/folder.csv"]).contains("make it first"));
    assert!(refused(&["search", &path, "--budget", "0"]).contains("expected 1 to 10000000"));
}

#[test]
fn what_differs_in_no_objective_is_one_line() {
    let space = r#"
        study = "pim.gemv"
        [base]
        model = "opt-125m"
        [axes]
        "memory.banks_per_channel" = [8, 16]
        "memory.trp_ns" = { from = 18, to = 18.001 }
        [search]
        minimize = ["pim.registers", "memory.banks_per_channel * 2"]
        budget = 40
        method = "random"
    "#;
    let (folder, path) = file("space.toml", space);
    let table = folder.path().join("all.parquet");
    let table = table.to_str().unwrap();
    let out = done(&["--quiet", "search", &path, "-o", table]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].ends_with("1 of them unlike in an objective") && lines.len() == 3, "{out}");
    let count = lines[2].split_whitespace().last().unwrap();
    assert!(lines[0].contains(&format!(": {count} points")) && count != "1", "{out}");
    // A table's front is told as shortly, and has no other front's columns.
    let best = folder.path().join("best.parquet");
    let goals = ["--minimize", "pim.registers", "--minimize", "memory.banks_per_channel * 2"];
    let told = done(&[&["front", table, "-o", best.to_str().unwrap()], &goals[..]].concat());
    let heads: Vec<&str> = told.lines().nth(1).unwrap().split("  ").filter(|it| !it.is_empty()).collect();
    assert_eq!(heads.len(), 5, "{told}");
    let best = memscape::explore::Table::read_parquet(&best).unwrap();
    assert!(best.column("on_front").is_err() && best.column("time_ns").is_ok());
}

#[test]
fn a_front_is_of_a_space_or_of_a_table() {
    let (folder, path) = file("space.toml", SPACE);
    let table = folder.path().join("all.parquet");
    let goals = ["--minimize", "time_ns", "--minimize", "pim.registers * memory.banks_per_channel"];
    let streamed = done(&[&["front", &path], &goals[..]].concat());
    assert!(streamed.starts_with("93 points, 61 allowed, "), "{streamed}");
    done(&["sweep", &path, "-o", table.to_str().unwrap()]);
    let of_table = done(
        &[&["front", table.to_str().unwrap()], &goals[..], &["--constraint", "pim.registers < 20"]].concat(),
    );
    assert!(of_table.starts_with("61 rows, "), "{of_table}");
    // What is written as CSV reads back as CSV.
    let text = folder.path().join("all.csv");
    done(&["sweep", &path, "-o", text.to_str().unwrap()]);
    let of_text = done(
        &[&["front", text.to_str().unwrap()], &goals[..], &["--constraint", "pim.registers < 20"]].concat(),
    );
    assert_eq!(of_text, of_table);
    assert!(
        refused(&["front", "space.json", "--minimize", "a"])
            .contains("neither a study file (.toml) nor a table (.parquet, .csv)")
    );
    assert!(refused(&["front", table.to_str().unwrap()]).contains("no objective"));
    let nothing = refused(&["front", &path, "--constraint", "pim.registers > 40"]);
    assert!(nothing.contains("the constraint `pim.registers > 40` leaves none of 93 points"), "{nothing}");
}

/// What took hours is not replaced by what took a second; what a command wrote itself is.
#[test]
fn no_command_replaces_what_another_wrote() {
    let (folder, path) = file("space.toml", SPACE);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, other, text, grid) = (at("all.parquet"), at("best.csv"), at("notes.csv"), at("grid.toml"));
    std::fs::write(&grid, "study = \"pim.gemv\"\n[axes]\nsplit_k = [1, 2]\n").unwrap();
    done(&["sweep", &path, "-o", &table]);
    std::fs::write(&text, "my own\n").unwrap();
    let whole = std::fs::read(&table).unwrap();
    let by = |command: &[&str], out: &str| -> Vec<String> {
        command.iter().copied().chain(["-o", out]).map(str::to_owned).collect()
    };
    let commands: [&[&str]; 7] = [
        &["front", &table, "--minimize", "time_ns"],
        &["front", &path, "--minimize", "time_ns"],
        &["search", &path, "--minimize", "time_ns", "--budget", "9"],
        &["sensitivity", &grid, "--of", "time_ns", "--samples", "8"],
        &["uncertainty", "pim.gemv", "--draws", "20", "--of", "time_ns"],
        &["compare", "soc-lpddr5x", "--model", "opt-125m"],
        &["laws", "cxl.inference", "--points", "1"],
    ];
    for command in commands {
        for (out, holds) in
            [(&table, "(`sweep`), which would be lost"), (&text, "something else than an answer")]
        {
            let command = by(command, out);
            let error = refused(&command.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(error.contains(holds) && error.contains("name another file"), "{command:?}: {error}");
        }
        std::fs::remove_file(&other).ok();
        for _ in 0..2 {
            let command = by(command, &other);
            done(&command.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    assert_eq!(std::fs::read(&table).unwrap(), whole);
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "my own\n");
    // A front's rows are points of the whole, which it is not.
    let best = at("best.parquet");
    done(&["front", &table, "--minimize", "time_ns", "-o", &best]);
    assert!(done(&["show", &best]).contains("front     {"));
    assert!(done(&["run", &best, "--row", "0"]).contains("time_ns"));
    assert!(refused(&["sweep", &path, "-o", &best]).contains("the answer to another question"));
}

#[test]
fn methods_are_held_against_the_truth() {
    let out = done(&["--quiet", "bench", "front", "ondevice", "--budgets", "20,200", "--seeds", "2"]);
    for method in ["random", "latin", "sobol", "descent", "nelder-mead", "swarm", "annealing", "nsga2"] {
        assert_eq!(out.lines().filter(|it| it.trim_start().starts_with(method)).count(), 1, "{out}");
    }
    assert!(refused(&["bench", "front", "pom"]).contains("did you mean `pim`?"));
}

/// A table says which question it answers, and each of its rows can be asked again.
#[test]
fn a_table_says_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = "study = \"pim.gemv\"\n[base]\nmodel = \"opt-1.3b\"\n[axes]\n\"memory.banks_per_channel\" = [8, 16]\n";
    std::fs::write(place("study.toml"), text).unwrap();
    for table in ["out.parquet", "out.csv"] {
        done(&["--quiet", "sweep", &place("study.toml"), "-o", &place(table)]);
        let shown = done(&["show", &place(table)]);
        assert!(shown.contains("pim.gemv") && shown.contains("model = \"opt-1.3b\""), "{shown}");
        assert!(shown.contains("axis      memory.banks_per_channel"), "{shown}");
    }
    let again = done(&["run", &place("out.parquet"), "--row", "1"]);
    assert_eq!(again, done(&["run", "pim.gemv", "model=opt-1.3b", "memory.banks_per_channel=16"]));
    assert!(refused(&["run", &place("out.parquet"), "--row", "2"]).contains("rows 0 to 1"));
    assert!(refused(&["show", &place("study.toml")]).contains(".parquet or .csv"));
}

/// A row's answer is of what its names stand for now, which is said where it is another.
#[test]
fn a_row_whose_description_has_changed_says_so() {
    let (folder, own) = file("own.toml", "base = \"opt-125m\"\n[parameters]\nlayers = 8\n");
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = "study = \"pim.inference\"\n[base]\nmodel = \"own.toml\"\n[axes]\nprompt_tokens = [64, 128]\n";
    fs::write(place("study.toml"), text).unwrap();
    done(&["--quiet", "sweep", &place("study.toml"), "-o", &place("out.parquet")]);
    let before = done(&["run", &place("out.parquet"), "--row", "1"]);
    fs::write(&own, "base = \"opt-125m\"\n[parameters]\nlayers = 16\n").unwrap();
    let (code, out, err) = memscape(&["run", &place("out.parquet"), "--row", "1"]);
    assert!(code == DONE && out != before, "{out}");
    assert!(err.contains("is another in the table: a description that it names has changed"), "{err}");
    // Something else is asked then.
    done(&["run", &place("out.parquet"), "--row", "1", "generated_tokens=4"]);
}

#[test]
fn a_page_by_itself_holds_a_grid_or_a_table() {
    let text = "study = \"pim.gemv\"\n[base]\nmodel = \"opt-125m\"\n[axes]\nsplit_k = [1, 2]\n";
    let (folder, study) = file("grid.toml", text);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(done(&["explore", &study, "pim.registers=12", "--static", &at("grid.html")]), "");
    let page = fs::read_to_string(at("grid.html")).unwrap();
    assert!(
        page.contains(r#""given":{"model":"opt-125m","pim.registers":12}"#),
        "what was given stands in it"
    );
    for table in ["table.parquet", "table.csv"] {
        done(&["--quiet", "sweep", &study, "-o", &at(table)]);
        assert_eq!(done(&["explore", &at(table), "--static", &at("table.html")]), "");
        assert!(fs::read_to_string(at("table.html")).unwrap().contains(r#""view":"table""#));
    }
}

#[test]
fn what_cannot_be_explored_is_told() {
    let (folder, empty) = file("empty.toml", "study = \"pim.gemv\"\n");
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    let table = folder.path().join("missing.parquet").to_str().unwrap().to_owned();
    for (arguments, reason) in [
        (vec!["pim.gmev"], "did you mean `pim.gemv`?"),
        (vec!["pim.gemv", "split-k=2"], "there is no parameter `split-k`"),
        (vec!["pim.gemv", "--static", &page], "write the axes into a study file"),
        (vec![&empty, "--static", &page], "give axes"),
        (vec![&empty, "--static", "page.txt"], "must end in .html"),
        (vec!["missing.csv"], "missing.csv"),
        (vec![&table], "missing.parquet"),
        (vec![&table, "split_k=2"], "`split_k` cannot be given to a table"),
    ] {
        let error = refused(&[&["explore"], &arguments[..]].concat());
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
    assert!(!Path::new(&page).exists());
}

/// A file that is read is not written over, nor a description or a record of anything else.
#[test]
fn what_is_read_is_not_written_over() {
    let (folder, path) = file("point.toml", "study = \"pim.gemv\"\n[base]\nmodel = \"opt-125m\"\n");
    let before = std::fs::read(&path).unwrap();
    let beside = folder.path().join(".").join("point.toml");
    assert!(refused(&["trace", &path, "-o", beside.to_str().unwrap()]).contains("name another file"));
    let measure = ["measure", "ondevice", "--layers", "1", "--tokens", "1", "--out", &path];
    assert!(refused(&measure).contains("which would be lost; name another file"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(
        refused(&["predictions", "--say", "x.csv", "--date", "2026-02-30"]).contains("such as 2026-11-22")
    );
}

/// What of a drawing contradicts itself is told in the words of whoever asked.
#[test]
fn a_plot_that_contradicts_itself_is_refused() {
    let (folder, table) = file("table.csv", "x,y,low,high\n1,5,6,4\n2,6,7,5\n");
    let out = folder.path().join("plot.svg");
    let refused = |more: &[&str]| {
        refused(&[&["plot", &table, "--x", "x", "--y", "y", "--out", out.to_str().unwrap()], more].concat())
    };
    let told = refused(&["--band", "low,high"]);
    assert!(told.contains("in row 0, `low` = 6 is above `high` = 4"), "{told}");
    let (_other, joules) = file("joules.csv", "x,y_ns,low_j,high_j\n1,5,4,6\n");
    let drawn = ["plot", &joules, "--x", "x", "--y", "y_ns", "--band", "low_j,high_j", "--out"];
    let (code, _, told) = memscape(&[&drawn[..], &[out.to_str().unwrap()]].concat());
    assert!(code == 2 && told.contains("`y_ns` is in ns, and `low_j` is in J"), "{told}");
    assert!(refused(&["--reference", "phones=9..8"]).contains("`reference line phones`: 9 to 8"));
    assert!(refused(&["--reference", "none=0", "--log", "y"]).contains("`reference line none` is 0"));
    assert!(refused(&["--label", "y=A", "--label", "y=B"]).contains("given twice, as A and B"));
    assert!(!out.exists());
}

/// What is missing in a file is told of the kind that it is most like, and only kinds that are alike are compared.
#[test]
fn a_description_is_told_of_in_its_own_kind() {
    let whole = memscape::prelude::preset("ddr4-3200").unwrap();
    let leaves = memscape::leaves(&whole.parameters);
    let lines =
        leaves.iter().filter(|it| it.0 != "trefi_ns").map(|(path, value)| format!("\"{path}\" = {value}\n"));
    let (_folder, path) = file("mine.toml", &format!("[parameters]\n{}", lines.collect::<String>()));
    let told = refused(&["describe", &path]);
    assert!(told.contains("`memory`: `trefi_ns` is missing"), "{told}");
    assert!(refused(&["describe", "ddr4-3200", "--diff", "llama-2-7b"]).contains("no parameter in common"));
}
