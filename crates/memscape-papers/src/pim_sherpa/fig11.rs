//! Fig. 11: what each thread does in one decoder layer with double buffering.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_ondevice::PrefillStudy;
use memscape_ondevice::timeline::Work;
use memscape_plot::{Busy, Figure, Gantt};

use super::{no_answer, with};
use crate::error::Error;

/// A layer in the middle: the first has a preload before it, the last no copy of
/// the next.
const LAYER: u64 = 1;

fn table(changed: &Parameters, tokens: u32) -> Result<Table, Error> {
    let study: PrefillStudy = read(&with(changed, "input_tokens", tokens))?;
    let timeline = study.timeline().map_err(no_answer)?;
    let spans: Vec<_> = timeline.spans.iter().filter(|it| it.layer == LAYER && it.stage.is_some()).collect();
    let zero = spans.iter().map(|it| it.start_ps).min().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "picoseconds of a layer")]
    let ms = |ps: u64| Some((ps - zero) as f64 * 1e-9);
    // Who ends last in its stage is what the others wait for.
    let stage_end =
        |start: u64| spans.iter().filter(|it| it.start_ps == start).map(|it| it.end_ps).max().unwrap_or(0);
    let texts = |of: &dyn Fn(&&memscape_ondevice::timeline::Span) -> String| {
        Column::Text(spans.iter().map(|it| Some(of(it))).collect())
    };
    Ok(Table::from_columns([
        ("thread", Column::Int(spans.iter().map(|it| i64::try_from(it.thread).ok()).collect())),
        ("work", texts(&|it| if it.work == Work::Copy { "copy" } else { "GEMM" }.to_owned())),
        ("matrix", texts(&|it| it.stage.map_or_else(String::new, |it| it.name().to_owned()))),
        ("start_ms", Column::Float(spans.iter().map(|it| ms(it.start_ps)).collect())),
        ("end_ms", Column::Float(spans.iter().map(|it| ms(it.end_ps)).collect())),
        (
            "critical",
            Column::Bool(spans.iter().map(|it| Some(it.end_ps == stage_end(it.start_ps))).collect()),
        ),
    ])?)
}

pub fn table_64(changed: &Parameters) -> Result<Table, Error> {
    table(changed, 64)
}

pub fn table_128(changed: &Parameters) -> Result<Table, Error> {
    table(changed, 128)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "thread numbers")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (threads, starts, ends) = (table.f64("thread")?, table.f64("start_ms")?, table.f64("end_ms")?);
    let (work, matrices, critical) = (table.text("work")?, table.text("matrix")?, table.text("critical")?);
    let name = |matrix: &str| match matrix {
        "out" => "O".to_owned(),
        "gate" => "FF0".to_owned(),
        "up" => "FF1".to_owned(),
        "down" => "FF2".to_owned(),
        other => other.to_uppercase(),
    };
    let mut busy = Vec::new();
    for row in 0..table.height() {
        let (Some(thread), Some(start), Some(end)) = (threads[row], starts[row], ends[row]) else { continue };
        busy.push(Busy {
            row: thread as usize,
            start,
            end,
            kind: usize::from(work[row].as_deref() == Some("GEMM")),
            label: name(matrices[row].as_deref().unwrap_or_default()),
            critical: critical[row].as_deref() == Some("true"),
        });
    }
    let rows = busy.iter().map(|it| it.row + 1).max().unwrap_or(0);
    let mut marks: Vec<f64> = busy.iter().map(|it| it.start).filter(|it| *it > 0.0).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let gantt = Gantt {
        rows: (0..rows).map(|it| format!("T{it}")).collect(),
        kinds: ["Swizzled copy", "GEMM"].map(str::to_owned).to_vec(),
        busy,
        marks,
        x_label: "Time in the layer (ms)".to_owned(),
    };
    Ok(Figure::two_columns().panel("", gantt).caption(
        "Strong colours: what the others wait for. Dashed: all threads meet. The operating system's delays are not \
         modelled.",
    ))
}
