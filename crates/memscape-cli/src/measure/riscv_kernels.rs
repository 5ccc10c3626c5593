//! `memscape measure riscv-kernels`.

use std::io::Write;

use memscape::measure::riscv::{HostFit, HostKernel, Measurement, Request, fit, measure};
use memscape::serde_json::{self, json};
use memscape::study::Study;
use memscape::systems::all::riscv::InferenceStudy;
use memscape::systems::all::riscv::quant::BLOCK;

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
    let megabytes = |kernel: HostKernel| {
        #[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
        let bytes = (rows * columns / BLOCK * kernel.block_bytes()) as f64;
        bytes * 1e-6
    };
    writeln!(
        out,
        "{rows} x {columns} times one vector: {:.3} MB of weights in Q4_0, {:.3} MB in single precision, which no cache \
         should hold; GOPS, errors are of times\n",
        megabytes(HostKernel::TwoRows),
        megabytes(HostKernel::F32)
    )?;
    writeln!(
        out,
        "{:<9} {:>7} {:>9} {:>8} {:>8} {:>8}",
        "kernel", "threads", "measured", "model", "roofline", "error"
    )?;
    for it in &fitted.table {
        writeln!(
            out,
            "{:<9} {:>7} {:>9.2} {:>8.2} {:>8.2} {:>+6.1} %",
            it.kernel.name(),
            it.threads,
            it.measured_gops,
            it.model_gops,
            it.roofline_gops,
            100.0 * it.error
        )?;
    }
    writeln!(out, "\nplain read, GB/s")?;
    for it in &fitted.stream {
        let (seen, model) = (it.measured_gb_s, it.model_gb_s);
        writeln!(out, "{:>17} {seen:>9.2} {model:>8.2} {:>+15.1} %", it.threads, 100.0 * it.error)?;
    }
    writeln!(out, "\nfitted, root mean square of these errors {:.1} %", 100.0 * fitted.rms_error)?;
    writeln!(out, "one thread reads alone      {:>8.2} GB/s", fitted.core_gb_s)?;
    let more = if fitted.shared_is_met { "" } else { " or more: these threads do not meet a bound" };
    writeln!(out, "all threads read together   {:>8.2} GB/s{more}", fitted.shared_gb_s)?;
    for (kernel, block_ns) in &fitted.block_ns {
        writeln!(out, "{:<9} per 32 weights    {block_ns:>8.2} ns", kernel.name())?;
    }
    writeln!(out, "\nto ask about this machine: memscape run riscv.inference {}", overrides(&fitted.study)?)?;
    Ok(())
}

/// What `memscape run` needs to take this machine for the SG2042: all that differs and that the study depends on.
fn overrides(study: &InferenceStudy) -> Result<String, Failure> {
    let leaves =
        |it: &InferenceStudy| serde_json::to_value(it).map(|it| memscape::leaves(&it)).map_err(Failure::of);
    let (found, usual) = (leaves(study)?, leaves(&InferenceStudy::default())?);
    let shown = found.iter().filter(|it| !usual.contains(it) && !InferenceStudy::LAWS.is_unused(&it.0));
    let shown = shown.map(|(path, value)| match value {
        serde_json::Value::String(text) => format!("{path}={text}"),
        other => format!("{path}={other}"),
    });
    // Of nothing there is no leaf.
    let unknown = study.memory.energy.is_none().then(|| "memory.energy=null".to_owned());
    Ok(shown.chain(unknown).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use memscape::explore::Parameters;
    use memscape::measure::riscv::{Point, StreamPoint};

    use super::*;

    /// What is printed can be typed, and asks about the machine that was fitted.
    #[test]
    fn the_printed_command_is_answered() {
        let measured = Measurement {
            rows: 4096,
            columns: 4096,
            points: HostKernel::ALL
                .map(|kernel| Point { kernel, threads: 1, seconds: 4e-3, gops: 8.4, gb_s: 2.4 })
                .to_vec(),
            stream: vec![StreamPoint { threads: 1, gb_s: 12.0 }],
        };
        let fitted = fit(&measured).unwrap();
        let typed = overrides(&fitted.study).unwrap();
        let mut parameters = Parameters::new();
        for (path, value) in typed.split(' ').map(|it| it.split_once('=').unwrap()) {
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            parameters.insert(path.to_owned(), value);
        }
        let asked = memscape::explore::read::<InferenceStudy>(&parameters).unwrap();
        let [asked, fitted] = [asked, fitted.study].map(|it| it.answer().unwrap().headline);
        assert!((asked.total_s / fitted.total_s - 1.0).abs() < 1e-9, "{asked:?} {fitted:?}");
        assert_eq!(asked.energy.energy_j, None, "nothing is known of this machine's chips");
    }
}
