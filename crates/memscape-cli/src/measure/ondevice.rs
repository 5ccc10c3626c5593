//! PIM-SHERPA's prefill schemes, run on this machine.

use std::io::{BufWriter, Write};
use std::num::NonZeroU64;

use memscape::explore::{FittedParameter, Limit};
use memscape::measure::ondevice::{HostFit, Measurement, Request, Setup, fit, measure};
use memscape::ondevice::PrefillStudy;
use memscape::study::{Perfetto, Study};
use memscape::workload::Format;
use serde_json::json;

use crate::args::Ondevice;
use crate::create::{check_folder, check_own, create};
use crate::failure::Failure;
use crate::progress::Progress;

/// Runs PIM-SHERPA's prefill schemes and prints what the fitted model makes of them.
pub fn run(options: &Ondevice, quiet: bool, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), Failure> {
    let request = request(options)?;
    options.out.as_ref().map_or(Ok(()), |it| check_own(it, HEADING))?;
    options.trace.as_ref().map_or(Ok(()), |it| check_folder(it))?;
    if let Some((threads, cores)) = request.setup.beyond_machine() {
        writeln!(
            err,
            "warning: {threads} threads at a time on {cores} cores take turns; the times say little about the method"
        )?;
    }
    let progress = Progress::new("measure", quiet);
    let steps = request.tokens.len() * 3 + request.setup.copy_threads.max(request.setup.owr_threads) + 1;
    let mut done = 0;
    let measured = measure(&request, |what| {
        progress.at(what, done, steps);
        done += 1;
    });
    drop(progress);
    let measured = measured.map_err(Failure::of)?;
    let fitted = fit(&request.setup, &measured).map_err(Failure::of)?;
    report(&measured, &fitted, out)?;
    if let Some(path) = &options.out {
        create(path, |out| Ok(out.write_all(study_file(&fitted).as_bytes())?))?;
    }
    if let Some(path) = &options.trace {
        create(path, |out| {
            let mut perfetto = Perfetto::new(BufWriter::new(out));
            measured.timeline.replay(&mut perfetto);
            Ok(perfetto.finish().map(drop)?)
        })?;
    }
    if measured.outputs_equal { Ok(()) } else { Err(Failure::Short) }
}

fn request(options: &Ondevice) -> Result<Request, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let format: Format = options.format.parse().map_err(Failure::of)?;
    if format.scale().is_some() {
        return Err(Failure::BadInput(format!(
            "`--format {format}` has scale factors; a swizzled copy moves plain elements: bf16, fp16, fp32 or int8"
        )));
    }
    let setup = Setup {
        model: options.model.parse().map_err(Failure::of)?,
        layers: options.layers,
        element: format.element(),
        gemm_threads: options.gemm_threads.unwrap_or(cores.saturating_sub(options.copy_threads).max(1)),
        copy_threads: options.copy_threads,
        owr_threads: options.owr_threads.unwrap_or(cores),
        ..Setup::default()
    };
    setup.check().map_err(Failure::of)?;
    Ok(Request { setup, tokens: options.tokens.clone(), repeats: options.repeats })
}

/// What was measured, and what the fitted model says to it.
fn report(measured: &Measurement, fitted: &HostFit, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "GEMM of one thread at best      {:>8.2} GFLOPS", measured.peak_gflops)?;
    writeln!(out, "plain copy by one thread        {:>8.2} GB/s", measured.plain_copy_gb_s)?;
    for it in &measured.copies {
        #[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
        let rate = it.bytes as f64 / it.seconds * 1e-9;
        let share = 100.0 * rate / measured.plain_copy_gb_s;
        #[expect(clippy::cast_precision_loss, reason = "few threads")]
        let model = fitted.study.cpu.copy_gb_s * it.threads as f64;
        writeln!(
            out,
            "swizzled copy by {:<3} thread(s)  {rate:>8.2} GB/s  {share:.0} % of plain, {model:.2} GB/s by the model",
            it.threads
        )?;
    }
    writeln!(
        out,
        "\n{:<18}  {:>6}  {:>10}  {:>10}  {:>7}",
        "scheme", "tokens", "measured", "model", "error"
    )?;
    for it in &measured.prefills {
        let study = PrefillStudy {
            scheme: it.scheme,
            prompt_tokens: NonZeroU64::new(it.tokens as u64).unwrap_or(NonZeroU64::MIN),
            ..fitted.study.clone()
        };
        let model = study.answer().map_err(Failure::of)?.ttft_s;
        let scheme = json!(it.scheme);
        let scheme = scheme.as_str().unwrap_or_default();
        let error = 100.0 * (model / it.ttft_s - 1.0);
        writeln!(
            out,
            "{scheme:<18}  {:>6}  {:>8.4} s  {model:>8.4} s  {error:>+5.1} %",
            it.tokens, it.ttft_s
        )?;
    }
    writeln!(
        out,
        "\nfitted to all of these and to how long copies and GEMM beside each other were busy, root mean square of \
         ln(model / measured) {:.3}:",
        fitted.rms_error
    )?;
    for it in &fitted.parameters {
        let unit = match it.key.rsplit_once('.').map_or("", |it| it.1) {
            "copy_gb_s" => "GB/s",
            "step_ms" => "ms",
            "gemm_efficiency" => "of peak",
            "gemm_block_tokens" => "tokens",
            _ => "",
        };
        let doubt = doubt(it).map_or_else(String::new, |it| format!("; {it}"));
        writeln!(out, "{:<21}  {:>9.4} {unit}{doubt}", it.key, it.value)?;
    }
    let equal = if measured.outputs_equal { "equal bit for bit" } else { "NOT equal" };
    writeln!(out, "\noutputs of all schemes are {equal}")?;
    Ok(())
}

/// Why a parameter is not what the measured times make it.
fn doubt(it: &FittedParameter) -> Option<&'static str> {
    match it.limit {
        Some(Limit::Lowest) => Some("the lowest that was tried, which these times do not fix"),
        Some(Limit::Highest) => Some("the highest that was tried, which these times do not fix"),
        None if !it.identified => Some("these times do not fix it"),
        None => None,
    }
}

/// What a file of this machine begins with.
const HEADING: &str = "# This machine, as `memscape measure ondevice` found it.";

/// What is known of the numbers in such a file, and what is not.
fn remarks(fitted: &HostFit) -> String {
    let fit = &fitted.parameters;
    let mut lines = vec![
        format!("# Root mean square of ln(model / measured): {:.3}.", fitted.rms_error),
        "# Measured: peak_gflops of the cores, and which threads there were.".to_owned(),
        format!("# Fitted: {}.", fit.iter().map(|it| it.key.as_str()).collect::<Vec<_>>().join(", ")),
    ];
    lines.extend(fit.iter().filter_map(|it| Some(format!("# {}: {}.", it.key, doubt(it)?))));
    lines.push(
        "# All else is the phone's that the study begins as, its `memory` too, of which a rate and room are"
            .to_owned(),
    );
    lines.push("# not this machine's: give another, as in `memory = \"ddr4-3200-4ch\"`.".to_owned());
    lines.join("\n")
}

/// `ondevice.prefill` with the fitted processor, as `memscape run` reads it.
fn study_file(fitted: &HostFit) -> String {
    let study = &fitted.study;
    // A processor has numbers that only other studies depend on.
    let mut cpu = json!(study.cpu);
    if let Some(parts) = cpu.as_object_mut() {
        parts.retain(|key, _| !PrefillStudy::LAWS.is_unused(&format!("cpu.{key}")));
    }
    let base = json!({
        "study": PrefillStudy::NAME,
        "base": {
            "model": study.model,
            "layers": study.layers,
            "format": study.format,
            "cpu": cpu,
        },
    });
    let toml = toml::to_string_pretty(&base).unwrap_or_default();
    format!("{HEADING}\n{}\n{toml}", remarks(fitted))
}
