//! What each thread does in one decoder layer, as a table and a chart.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_ondevice::PrefillStudy;
use memscape_ondevice::cost::threads::Task;
use memscape_ondevice::mapping::stages::layer_matrices;
use memscape_plot::{Busy, Figure, Gantt};
use memscape_study::TimelineSpan;

use crate::error::Error;
use crate::sweeps::for_study;

/// A layer in the middle: the first has a preload before it, the last no copy of
/// the next.
const LAYER: u64 = 1;

/// Kinds of work by their category in the timeline, as table and legend name them.
const WORK: [(&str, &str, &str); 3] = [
    (Task::COPY, "copy", "Swizzled copy"),
    (Task::GEMM, "GEMM", "GEMM"),
    (Task::ATTENTION, "attention", "Attention"),
];

/// The layer's busy spans of a `ondevice.prefill` with these parameters.
pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let study: PrefillStudy = read(&for_study("ondevice.prefill", changed)?)?;
    let matrices = layer_matrices(&study.model).map_err(Error::no_answer)?;
    let timeline = study.timeline().map_err(Error::no_answer)?;
    let spans: Vec<_> = timeline.spans.iter().filter(|it| detail(it, "layer") == Some(LAYER)).collect();
    let zero = spans.iter().map(|it| it.start).min().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "picoseconds of a layer")]
    let ms = |of: fn(&TimelineSpan) -> u64| {
        Column::Float(spans.iter().map(|it| Some((of(it) - zero.0) as f64 * 1e-9)).collect())
    };
    // Who ends last in its stage is what the others wait for.
    let stage_end = |start| spans.iter().filter(|it| it.start == start).map(|it| it.end).max();
    let texts =
        |of: &dyn Fn(&TimelineSpan) -> String| Column::Text(spans.iter().map(|it| Some(of(it))).collect());
    let matrix = |span: &TimelineSpan| {
        if span.category == Task::ATTENTION {
            return String::new();
        }
        let stage = detail(span, "stage").and_then(|it| usize::try_from(it).ok());
        stage.and_then(|it| matrices.get(it)).map_or_else(String::new, |it| it.0.name().to_owned())
    };
    Ok(Table::from_columns([
        ("thread", Column::Int(spans.iter().map(|it| i64::try_from(it.track.index()).ok()).collect())),
        ("work", texts(&|it| work(it).to_owned())),
        ("matrix", texts(&matrix)),
        ("start_ms", ms(|it| it.start.0)),
        ("end_ms", ms(|it| it.end.0)),
        (
            "critical",
            Column::Bool(spans.iter().map(|it| Some(Some(it.end) == stage_end(it.start))).collect()),
        ),
    ])?)
}

fn detail(span: &TimelineSpan, name: &str) -> Option<u64> {
    span.details.iter().find(|it| it.0 == name).map(|it| it.1)
}

/// Its kind of work, or the category as it is where that is none of these.
fn work(span: &TimelineSpan) -> &'static str {
    WORK.iter().find(|it| it.0 == span.category).map_or(span.category, |it| it.1)
}

/// The table's chart, whose axis goes `until` so many milliseconds at least. `copied` says
/// which matrix is copied in the stage of another.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "thread numbers")]
pub fn plot(table: &Table, caption: &str, until: f64, copied: fn(&str) -> &str) -> Result<Figure, Error> {
    let (threads, starts, ends) = (table.f64("thread")?, table.f64("start_ms")?, table.f64("end_ms")?);
    let (work, matrices, critical) = (table.text("work")?, table.text("matrix")?, table.text("critical")?);
    let kind = |work: &str| {
        let known = WORK.iter().position(|it| it.1 == work);
        known.ok_or_else(|| {
            Error::no_answer(format!("`{work}` is no kind of work; there are copy, GEMM and attention"))
        })
    };
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
        let (work, matrix) =
            (work[row].as_deref().unwrap_or_default(), matrices[row].as_deref().unwrap_or_default());
        busy.push(Busy {
            row: thread as usize,
            start,
            end,
            kind: kind(work)?,
            label: name(if work == "copy" { copied(matrix) } else { matrix }),
            critical: critical[row].as_deref() == Some("true"),
        });
    }
    let rows = busy.iter().map(|it| it.row + 1).max().unwrap_or(0);
    let mut marks: Vec<f64> = busy.iter().map(|it| it.start).filter(|it| *it > 0.0).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let gantt = Gantt {
        rows: (0..rows).map(|it| format!("T{it}")).collect(),
        kinds: WORK.map(|it| it.2.to_owned()).to_vec(),
        busy,
        marks,
        x_label: "Time in the layer (ms)".to_owned(),
        until,
    };
    Ok(Figure::two_columns().panel("", gantt).caption(caption))
}
