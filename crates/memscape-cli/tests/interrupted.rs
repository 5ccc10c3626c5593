//! Sweeps that a signal or a crash ends: the rows are there, and nothing else is.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use memscape::explore::{Column, Origin, Table};
use memscape_cli::{BAD_INPUT, INTERRUPTED};

/// Some million points: longer than any of these tests looks.
const LONG: &str = "study = \"pim.gemv\"\n[axes]\n\"memory.trcd_ns\" = { from = 10, to = 20, count = 2000 }\n\
                    \"memory.trp_ns\" = { from = 10, to = 20, count = 2000 }\n";

struct Sweep {
    folder: tempfile::TempDir,
}

impl Sweep {
    fn new() -> Self {
        Self::of(LONG)
    }

    fn of(study: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("study.toml"), study).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memscape"));
        command.arg("sweep").arg(self.path("study.toml")).arg("-o").arg(self.path("out.parquet")).args(more);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Starts, and waits until it works.
    fn start(&self, more: &[&str]) -> Child {
        self.wait(self.command(more))
    }

    fn wait(&self, mut command: Command) -> Child {
        let child = command.spawn().unwrap();
        let start = Instant::now();
        while !self.path("out.parquet.lock").exists() {
            assert!(start.elapsed() < Duration::from_secs(30), "it never began");
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(500));
        child
    }

    /// Rows of the partial result.
    fn saved(&self) -> usize {
        fn rows(folder: &Path) -> usize {
            let paths = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
            let of_path = |it: PathBuf| match it.extension() {
                _ if it.is_dir() => rows(&it),
                Some(end) if end == "parquet" => Table::read_parquet(&it).unwrap().height(),
                _ => 0,
            };
            paths.map(of_path).sum()
        }
        rows(&self.path("out.parquet.partial"))
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// What is found until then is told and written, beside a whole table of before.
#[test]
fn what_an_interrupted_command_has_is_kept_beside_the_table() {
    let given = Sweep::of(&format!(
        "{LONG}[search]\nminimize = [\"time_ns\", \"memory.trcd_ns\"]\nmethod = \"random\"\nbudget = 10000000\n"
    ));
    let study = given.path("study.toml").display().to_string();
    let (table, partial) = (given.path("found.parquet"), given.path("found.partial.parquet"));
    let one = |it: &str| Table::from_columns([(it, Column::Float(vec![Some(1.0)]))]).unwrap();
    for (command, says) in [
        (&["search", &study][..], "front"),
        (&["front", &study], "looked at and allowed"),
        (&["laws", "pim.gemv", "--points", "10000000"], "0 broken"),
    ] {
        // Of before, by the same command.
        let wrote = Origin::of_command(command[0], serde_json::json!({}));
        wrote.write(&one(command[0]), &table, &()).unwrap();
        let whole = fs::read(&table).unwrap();
        let mut asked = Command::new(env!("CARGO_BIN_EXE_memscape"));
        asked.args(command).arg("-o").arg(&table);
        let child = asked.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        sleep(Duration::from_secs(2));
        send("-TERM", &child);
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let (told, why) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!(status.code(), Some(i32::from(INTERRUPTED)), "{command:?}: {why}");
        assert!(told.contains(says), "{command:?}: {told}");
        assert!(why.contains("interrupted") && why.contains("found.partial.parquet"), "{command:?}: {why}");
        assert!(memscape::explore::Table::read_parquet(&partial).unwrap().height() > 0, "{command:?}");
        assert_eq!(fs::read(&table).unwrap(), whole, "{command:?}");
        fs::remove_file(&partial).unwrap();
    }
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_mins(2) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        sleep(Duration::from_millis(5));
    }
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Whether whoever runs the tests has them outlive their terminal, which what they start
/// does too.
fn hangups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    ignored.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).is_some_and(|it| it & 1 == 1)
}

#[test]
fn the_signals_of_batch_systems_save() {
    let sweep = Sweep::new();
    let mut rows = 0;
    for (signal, more) in [("-TERM", &[][..]), ("-HUP", &["--resume"]), ("-INT", &["--resume"])] {
        if signal == "-HUP" && hangups_are_ignored() {
            continue;
        }
        let child = sweep.start(more);
        send(signal, &child);
        let (code, error) = ended(child);
        assert_eq!(code, Some(i32::from(INTERRUPTED)), "{signal}: {error}");
        assert!(error.contains("rows are saved"), "{signal}: {error}");
        assert!(rows < sweep.saved(), "{signal}: {rows} rows before, {} now", sweep.saved());
        rows = sweep.saved();
        assert_eq!(sweep.files(), ["out.parquet.partial", "study.toml"], "{signal}");
    }
    // Forgetting to resume deletes nothing.
    let (code, error) = ended(sweep.command(&[]).spawn().unwrap());
    assert_eq!(code, Some(i32::from(BAD_INPUT)));
    assert!(error.contains("an interrupted run left its rows here"), "{error}");
    assert_eq!(sweep.saved(), rows);
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_no_temporary_file() {
    let sweep = Sweep::new();
    let child = sweep.start(&[]);
    send("-INT", &child);
    send("-INT", &child);
    assert_eq!(ended(child).0, Some(i32::from(INTERRUPTED)));
    let left = sweep.files();
    assert!(left.iter().all(|it| !it.starts_with(".memscape-")), "{left:?}");
}

/// At times that nobody chose, by signals and by the kernel.
#[test]
fn however_often_it_is_interrupted_the_table_is_the_whole_one() {
    // Some seconds of work, whatever the machine.
    assert!(["600", "1200", "2400", "4800"].into_iter().any(|points| 2 < interruptions(points)));
}

/// How often a sweep with axes of this length is interrupted until it is done.
fn interruptions(points: &str) -> u64 {
    let study = LONG.replace("2000", points);
    let (whole, parts) = (Sweep::of(&study), Sweep::of(&study));
    assert!(whole.command(&[]).status().unwrap().success());
    let key = memscape::study::random::Key::new(17);
    let mut interruptions = 0;
    loop {
        let more = if interruptions == 0 { &[][..] } else { &["--resume"] };
        let child = parts.command(more).spawn().unwrap();
        // Longer from time to time, so that a machine with much else to do gets on too.
        let longest = 600 * (1 + interruptions / 10);
        sleep(Duration::from_millis(150 + key.bits(interruptions) % longest));
        send(["-TERM", "-KILL", "-INT"][usize::try_from(interruptions % 3).unwrap()], &child);
        match ended(child) {
            (Some(0), _) => break,
            // None: it was killed.
            (Some(130) | None, _) => interruptions += 1,
            (code, error) => panic!("{code:?}: {error}"),
        }
        assert!(interruptions < 100, "it does not get on");
    }
    assert!(fs::read(whole.path("out.parquet")).unwrap() == fs::read(parts.path("out.parquet")).unwrap());
    assert!(!parts.path("out.parquet.partial").exists());
    interruptions
}

/// As on a cluster's login node.
#[test]
fn a_sweep_under_nohup_outlives_its_terminal() {
    let sweep = Sweep::new();
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_memscape")).arg("sweep").arg(sweep.path("study.toml"));
    command.arg("-o").arg(sweep.path("out.parquet")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = sweep.wait(command);
    send("-HUP", &child);
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it ended");
    send("-TERM", &child);
    let (code, error) = ended(child);
    assert_eq!(code, Some(i32::from(INTERRUPTED)), "{error}");
    assert!(0 < sweep.saved());
}

#[test]
fn a_killed_sweep_leaves_the_output_free() {
    let sweep = Sweep::new();
    let mut child = sweep.start(&[]);
    let (code, error) = ended(sweep.command(&[]).spawn().unwrap());
    assert_eq!(code, Some(i32::from(BAD_INPUT)));
    assert!(error.contains("another process is writing it"), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    let child = sweep.start(&[]);
    send("-TERM", &child);
    assert_eq!(ended(child).0, Some(i32::from(INTERRUPTED)));
    assert!(0 < sweep.saved());
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_the_work() {
    let sweep = Sweep::new();
    fs::create_dir(sweep.path("out.parquet")).unwrap();
    let (code, error) = ended(sweep.command(&[]).spawn().unwrap());
    assert_eq!(code, Some(i32::from(BAD_INPUT)));
    assert!(error.contains("it is a folder; give a file's name"), "{error}");
    let missing = Path::new("/proc/out.parquet");
    let mut command = Command::new(env!("CARGO_BIN_EXE_memscape"));
    command.arg("sweep").arg(sweep.path("study.toml")).arg("-o").arg(missing);
    let (code, error) = ended(command.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(i32::from(BAD_INPUT)));
    assert!(error.contains("nothing can be written here"), "{error}");
    // Nor does anything else measure, or look into a store, for a file that has no folder.
    for (command, out) in [
        (&["measure", "ondevice"][..], "--out=nowhere/x.toml"),
        (&["measure", "ondevice"], "--trace=nowhere/x.json"),
        (&["store", "export", "none", "0"], "--out=nowhere/x.csv"),
    ] {
        let mut asked = Command::new(env!("CARGO_BIN_EXE_memscape"));
        asked.args(command).arg(out).current_dir(sweep.folder.path());
        let (code, error) = ended(asked.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert_eq!(code, Some(i32::from(BAD_INPUT)));
        assert!(error.contains("there is no folder `nowhere`; make it first"), "{error}");
    }
}
