//! What commands take of the machine's memory.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use memscape_cli::{BAD_INPUT, DONE, run};

#[path = "../../memscape-systems/tests/it/counting.rs"]
mod counting;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting { most: 4_000_000_000 };

/// Memory is counted for the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// The bytes that a command takes, and its exit code and errors.
fn memscape(arguments: &[&str]) -> (usize, u8, String) {
    let mut err = Vec::new();
    let named = ["memscape", "--quiet"].iter().chain(arguments);
    let (bytes, code) = counting::measured(|| run(named, &mut Vec::new(), &mut err));
    (bytes, code, String::from_utf8(err).unwrap())
}

fn done(arguments: &[&str]) -> usize {
    let (bytes, code, err) = memscape(arguments);
    assert_eq!((code, err.as_str()), (DONE, ""), "{arguments:?}");
    bytes
}

/// A sweep of 250 000 rows over a range of a timing, into a file of this ending.
fn sweep(folder: &Path, from: i32, to: i32, ending: &str) -> usize {
    let study = folder.join("study.toml");
    let axes = format!(
        "\"memory.trcd_ns\" = {{ from = {from}, to = {to}, count = 500 }}\n\
         \"memory.trp_ns\" = {{ from = 10, to = 20, count = 500 }}\n"
    );
    fs::write(
        &study,
        format!("study = \"pim.gemv\"\n[base]\nmodel = \"opt-125m\"\ngemv = \"qkv\"\n[axes]\n{axes}"),
    )
    .unwrap();
    let table = folder.join(format!("table.{ending}"));
    done(&["sweep", study.to_str().unwrap(), "--overwrite", "--out", table.to_str().unwrap()])
}

#[test]
fn csv_and_rows_without_answers_take_no_more_than_others() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    // Descriptions are read once, whoever asks first.
    done(&["run", "pim.gemv"]);
    let parquet = sweep(folder.path(), 10, 20, "parquet");
    let csv = sweep(folder.path(), 10, 20, "csv");
    let errors = sweep(folder.path(), -20, -10, "parquet");
    println!("{} MB as Parquet, {} as CSV, {} of errors", parquet >> 20, csv >> 20, errors >> 20);
    // A second of work for half a gigabyte, and nothing on top of it.
    assert!(parquet < 500 << 20, "{parquet}");
    assert!(csv < parquet * 6 / 5 + (16 << 20), "{csv} B, and {parquet} B as Parquet");
    assert!(errors < parquet * 6 / 5 + (16 << 20), "{errors} B, and {parquet} B of answers");
}

/// Twice as much happens, and no more is kept.
#[test]
fn a_trace_is_streamed() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let trace = |size: u32| {
        let [m, n, k] = ["m", "n", "k"].map(|it| format!("{it}={size}"));
        done(&["trace", "npu.gemm", &m, &n, &k, "--format", "perfetto", "--out", "/dev/null"])
    };
    let (short, long) = (trace(8192), trace(16384));
    assert!(long < short + (8 << 20), "{long} B, and {short} B for an eighth of it");
    assert!(long < 64 << 20, "{long} B");
}

#[test]
fn a_measurement_that_does_not_fit_is_refused_before_it_is_made() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for arguments in [
        ["measure", "riscv-kernels", "--stream-bytes", "9223372036854775807"],
        ["measure", "riscv-kernels", "--rows", "9223372036854775807"],
        ["measure", "ondevice", "--tokens", "1000000000"],
    ] {
        let (bytes, code, err) = memscape(&arguments);
        assert_eq!(code, BAD_INPUT, "{arguments:?}: {err}");
        assert!(bytes < 1 << 30 && !err.contains("panicked"), "{arguments:?}: {bytes} B, {err}");
    }
}
