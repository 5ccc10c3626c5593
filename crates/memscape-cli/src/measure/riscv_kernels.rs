//! `memscape measure riscv-kernels`.

use std::io::Write;

use memscape::serde_json::{self, json};
use memscape::systems::all::riscv::InferenceStudy;
use memscape_measure::riscv::{HostFit, Measurement, Request, fit, measure};

use crate::args::RiscvKernels;
use crate::failure::Failure;

pub fn run(args: &RiscvKernels, out: &mut dyn Write) -> Result<(), Failure> {
    let usual = Request::of_this_machine();
    let request = Request {
        rows: args.rows.unwrap_or(usual.rows),
        columns: args.columns.unwrap_or(usual.columns),
        stream_bytes: args.stream_bytes.unwrap_or(usual.stream_bytes),
        threads: if args.threads.is_empty() { usual.threads } else { args.threads.clone() },
        repeats: args.repeats,
    };
    let measured = measure(&request).map_err(Failure::of)?;
    let fitted = fit(&measured).map_err(Failure::of)?;
    if args.json {
        let both = json!({ "measured": measured, "fit": fitted });
        return Ok(writeln!(out, "{both}")?);
    }
    report(&measured, &fitted, out)
}

fn report(measured: &Measurement, fitted: &HostFit, out: &mut dyn Write) -> Result<(), Failure> {
    let (rows, columns) = (measured.rows, measured.columns);
    writeln!(out, "{rows} x {columns} times one vector; GOPS\n")?;
    writeln!(
        out,
        "{:<9} {:>7} {:>9} {:>8} {:>8} {:>7}",
        "kernel", "threads", "measured", "model", "roofline", "error"
    )?;
    for it in &fitted.table {
        writeln!(
            out,
            "{:<9} {:>7} {:>9.2} {:>8.2} {:>8.2} {:>5.1} %",
            it.kernel.name(),
            it.threads,
            it.measured_gops,
            it.model_gops,
            it.roofline_gops,
            100.0 * it.error
        )?;
    }
    writeln!(out, "\nplain read, GB/s")?;
    for it in &measured.stream {
        writeln!(out, "{:>17} {:>9.2}", it.threads, it.gb_s)?;
    }
    writeln!(out, "\nfitted, root mean square error {:.1} %", 100.0 * fitted.rms_error)?;
    writeln!(out, "one thread reads alone      {:>8.2} GB/s", fitted.core_gb_s)?;
    writeln!(out, "all threads read together   {:>8.2} GB/s", fitted.shared_gb_s)?;
    for (kernel, block_ns) in &fitted.block_ns {
        writeln!(out, "{:<9} per 32 weights    {block_ns:>8.2} ns", kernel.name())?;
    }
    writeln!(out, "\nto ask about this machine: memscape run riscv.inference {}", overrides(fitted)?)?;
    Ok(())
}

/// What `memscape run` needs to take this machine for the SG2042: all that differs.
fn overrides(fitted: &HostFit) -> Result<String, Failure> {
    let leaves =
        |it: InferenceStudy| serde_json::to_value(it).map(|it| memscape::leaves(&it)).map_err(Failure::of);
    let (found, usual) = (leaves(fitted.study)?, leaves(InferenceStudy::default())?);
    let shown = found.iter().filter(|it| !usual.contains(it)).map(|(path, value)| match value {
        serde_json::Value::String(text) => format!("{path}={text}"),
        other => format!("{path}={other}"),
    });
    Ok(shown.collect::<Vec<_>>().join(" "))
}
