//! Beyond the paper: from which prompt on double buffering and online rearrangement
//! are comparable to duplicated weights, and from which on double buffering beats
//! rearrangement, over compute and copy rate.

use std::num::NonZeroU64;

use memscape_explore::{Column, Parameters, Table, read};
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::{PrefillAnswer, PrefillStudy};
use memscape_plot::{Axis, Figure, Lines};
use memscape_study::Study;

use super::text::COMPARABLE;
use crate::error::Error;
use crate::sweeps::{distinct, for_study};

/// Peak compute over the phone's.
const COMPUTE: [f64; 8] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Copy rate of a thread over the phone's.
const COPY: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Longer prompts are not looked at.
const LONGEST: u64 = 1 << 17;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let phone: PrefillStudy = read(&for_study("ondevice.prefill", changed)?)?;
    let mut events: Vec<Option<String>> = Vec::new();
    let mut numbers: [Vec<Option<f64>>; 3] = Default::default();
    for copy in COPY {
        for compute in COMPUTE {
            let mut study = phone.clone();
            study.cpu.copy_gb_s *= copy;
            for cores in [&mut study.cpu.big, &mut study.cpu.middle_high, &mut study.cpu.middle_low] {
                cores.peak_gflops *= compute;
            }
            // Software for faster cores keeps weights for more tokens, so that GEMM leaves
            // copies as much of the memory.
            study.cpu.gemm_block_tokens = (study.cpu.gemm_block_tokens * compute).max(1.0);
            let ask = |scheme, tokens: u64| -> Option<PrefillAnswer> {
                let prompt_tokens = NonZeroU64::new(tokens)?;
                PrefillStudy { scheme, prompt_tokens, ..study.clone() }.answer().ok()
            };
            let comparable =
                |scheme| first(|tokens| ask(scheme, tokens).is_some_and(|it| it.over_gemm <= COMPARABLE));
            let ahead = first(|tokens| {
                let times = [Scheme::Ddb, Scheme::Owr].map(|it| ask(it, tokens).map(|it| it.ttft_s));
                matches!(times, [Some(ddb), Some(owr)] if ddb <= owr)
            });
            let flop_per_byte = ask(Scheme::Ddb, 1).map(|it| it.flop_per_byte);
            for (event, tokens) in [
                ("DDB comparable to duplication", comparable(Scheme::Ddb)),
                ("OWR comparable to duplication", comparable(Scheme::Owr)),
                ("DDB no slower than OWR", ahead),
            ] {
                events.push(Some(event.to_owned()));
                #[expect(clippy::cast_precision_loss, reason = "at most 2^17")]
                let row = [flop_per_byte, Some(study.cpu.copy_gb_s), tokens.map(|it| it as f64)];
                numbers.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            }
        }
    }
    let [flop_per_byte, copy_gb_s, tokens] = numbers.map(Column::Float);
    Ok(Table::from_columns([
        ("event", Column::Text(events)),
        ("flop_per_byte", flop_per_byte),
        ("copy_gb_s", copy_gb_s),
        ("tokens", tokens),
    ])?)
}

/// The first prompt for which `holds`, which from there on it does.
fn first(holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(LONGEST) {
        return None;
    }
    let (mut below, mut at) = (0, LONGEST);
    while at - below > 1 {
        let middle = below + (at - below) / 2;
        if holds(middle) { at = middle } else { below = middle }
    }
    Some(at)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns();
    for (letter, event) in ["a", "b", "c"].into_iter().zip(distinct(table, "event")?) {
        let of_event = table.filter("event", event.as_str())?;
        let mut lines = Lines::new(
            Axis::log2("Host compute (FLOP/B)"),
            Axis::log2("Prompt (tokens)").range(1.0, 131_072.0),
        );
        let mut rates: Vec<f64> = of_event.f64("copy_gb_s")?.into_iter().flatten().collect();
        rates.dedup();
        for rate in rates {
            let rows = of_event.filter("copy_gb_s", rate)?;
            let x = rows.f64("flop_per_byte")?.into_iter().flatten();
            lines = lines.curve(format!("{rate:.2} GB/s per thread"), x.zip(rows.f64("tokens")?));
        }
        figure = figure.panel(format!("({letter}) {event}"), lines);
    }
    Ok(figure.caption(
        "Compute, tokens per read of a weight, and copy rate are scaled. Comparable: within 5 % of duplicated weights.",
    ))
}
