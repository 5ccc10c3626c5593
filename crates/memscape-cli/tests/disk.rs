//! Disks that are full, and folders that cannot be written to: it is said, what was there
//! stays, and nothing half written is left.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Output};

use memscape_cli::BAD_INPUT;

/// Some thousand rows: half a megabyte.
const STUDY: &str = "study = \"pim.gemv\"\n[base]\nmodel = \"opt-125m\"\ngemv = \"qkv\"\n[axes]\n\
                     \"memory.trcd_ns\" = { from = 10, to = 20, count = 60 }\n\
                     \"memory.trp_ns\" = { from = 10, to = 20, count = 60 }\n";

/// Runs a script by a shell. In it, `memscape` is the command, `$disk` a folder for it, and
/// `$study` a study file.
fn script(shell: &[&str], text: &str) -> std::io::Result<Output> {
    let folder = tempfile::tempdir()?;
    let (disk, study) = (folder.path().join("disk"), folder.path().join("study.toml"));
    fs::create_dir(&disk)?;
    fs::write(&study, STUDY)?;
    let text = format!("set -u; memscape() {{ \"$binary\" \"$@\"; }}\n{text}");
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", &text]);
    command.env("binary", env!("CARGO_BIN_EXE_memscape")).env("disk", disk).env("study", study).output()
}

/// A disk of its own, or the reason why there is none.
fn on_a_disk(options: &str, text: &str) -> Option<(String, String)> {
    // Said past the harness, which shows nothing of what passes.
    let skipped = |why: &str| {
        eprintln!("skipped: no disk can be mounted here ({})", why.trim());
        None
    };
    let mount = format!("mount -t tmpfs -o {options} none \"$disk\" || exit 77\ncd \"$disk\"\n{text}");
    let done = match script(&["unshare", "--mount", "--propagation", "private", "sh"], &mount) {
        Err(error) if error.kind() == ErrorKind::NotFound => return skipped("there is no `unshare`"),
        done => done.unwrap(),
    };
    let (out, err) = (text_of(&done.stdout), text_of(&done.stderr));
    match done.status.code() {
        Some(0) => Some((out, err)),
        Some(1 | 77) if out.is_empty() => skipped(&err),
        _ => panic!("{:?}\n{out}{err}", done.status),
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const FULL: &str = "cat /dev/zero > filler 2> /dev/null";
const SWEEP: &str = "memscape --quiet sweep \"$study\" -o out.parquet";

#[test]
fn a_full_disk_is_told_and_what_was_there_stays() {
    let text = format!(
        "printf before > out.csv\n{FULL}\n{SWEEP}; echo code $?\n\
         memscape trace npu.gemm design=xdna2-int8-int16 --format perfetto -o trace.json; echo code $?\n\
         ls -A; cat out.csv; echo"
    );
    let Some((out, err)) = on_a_disk("size=1m", &text) else { return };
    assert_eq!(out, format!("code {BAD_INPUT}\ncode {BAD_INPUT}\nfiller\nout.csv\nbefore\n"), "{err}");
    let errors: Vec<&str> = err.lines().filter(|it| it.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 2, "{err}");
    for (error, name) in errors.iter().zip(["out.parquet", "trace.json"]) {
        assert!(error.contains(name) && error.contains("No space left on device"), "{error}");
    }
}

/// The last save is tried for some seconds, in which somebody may make room.
#[test]
fn room_that_is_made_in_time_saves_the_work() {
    let text = format!("{FULL}\n(sleep 1; rm filler) &\n{SWEEP}; echo code $?; wait; ls -A");
    let Some((out, err)) = on_a_disk("size=8m", &text) else { return };
    assert_eq!(out, "code 0\nout.parquet\n", "{err}");
    assert!(err.is_empty() || err.contains("not saved yet, trying again"), "{err}");
}

#[test]
fn a_disk_that_cannot_be_written_is_found_before_the_work() {
    let text = format!(
        "{SWEEP}; echo code $?\nmemscape --quiet reproduce pimnast.table1 --out .; echo code $?; ls -A"
    );
    let Some((out, err)) = on_a_disk("ro", &text) else { return };
    assert_eq!(out, format!("code {BAD_INPUT}\ncode {BAD_INPUT}\n"), "{err}");
    assert_eq!(
        err.matches("Read-only file system").count() + err.matches("read-only filesystem").count(),
        2,
        "{err}"
    );
}

/// As on a disk with a quota: files end at 8 KB.
#[test]
fn a_file_that_may_not_grow_is_told() {
    let text = format!("trap '' XFSZ; ulimit -f 16; cd \"$disk\"; {SWEEP}; echo code $?; ls -A");
    let done = script(&["sh"], &text).unwrap();
    let (out, err) = (text_of(&done.stdout), text_of(&done.stderr));
    assert_eq!(out, format!("code {BAD_INPUT}\n"), "{err}");
    assert!(err.contains("File too large"), "{err}");
}

#[test]
fn an_output_that_takes_nothing_is_no_success() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_memscape"));
    let done = command.arg("studies").stdout(full).output().unwrap();
    assert_eq!(done.status.code(), Some(i32::from(BAD_INPUT)));
    assert!(text_of(&done.stderr).contains("No space left on device"), "{done:?}");
}
