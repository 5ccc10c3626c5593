//! Sec. 7: what online rearrangement costs on hosts with more compute per byte.

use memscape_explore::{Parameters, Table};
use memscape_ondevice::hardware::HOSTS;
use memscape_plot::{Axis, Figure, Lines};
use serde_json::json;

use super::common::{at_printed_peaks, series};
use crate::error::Error;
use crate::sweeps::{distinct, variant};

/// From prompts of a phone to those that Sec. 7 quotes.
const TOKENS: [u32; 15] =
    [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let hosts: Vec<_> = HOSTS.names().map(|it| variant(it, [("host", json!(it))])).collect();
    series("ondevice.roofline", &at_printed_peaks(changed), &hosts, |it| it.axis("prompt_tokens", TOKENS))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let chart = |column: &str| -> Result<Lines, Error> {
        let mut lines = Lines::new(
            Axis::log2("Input length (tokens)"),
            Axis::linear("Prompt rate over GEMM alone").range(0.0, 1.05),
        );
        for host in distinct(table, "series")? {
            let rows = table.filter("series", host.as_str())?;
            let x = rows.f64("prompt_tokens")?.into_iter().flatten();
            lines = lines.curve(label(&host), x.zip(rows.f64(column)?));
        }
        Ok(lines)
    };
    Ok(Figure::two_columns()
        .panel("(a) Copy, then GEMM (OWR)", chart("serial_performance")?)
        .panel("(b) Copy beside GEMM (DDB)", chart("overlapped_performance")?)
        .caption(
            "At peak rates, three DRAM transactions per copied byte; one where the copy goes to the NPU's own memory.",
        ))
}

fn label(host: &str) -> String {
    match host {
        "galaxy-s24-plus-cpu" => "Phone CPU, 4 FLOP/B".to_owned(),
        "jetson-agx-orin-gpu" => "Edge GPU, 207 FLOP/B".to_owned(),
        "b100-gpu" => "Server GPU, 241 FLOP/B".to_owned(),
        "xdna2-npu" => "Laptop NPU, 294 FLOP/B".to_owned(),
        other => other.to_owned(),
    }
}
