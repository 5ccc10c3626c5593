//! Fig. 5: what reads, cores and writes do for the first blocks of C. The paper's figure is a
//! sketch of descriptors without times.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Busy, Figure, Gantt};
use memscape_systems::study;
use serde_json::json;

use super::common::{changed_of, design, native, step};
use crate::error::Error;

const DESIGN: &str = "xdna2-int8-int16";
/// Blocks of C down and across, and steps of the reduction.
const BLOCKS: [u64; 3] = [2, 3, 2];
/// Rows of the figure, with the tracks and the kinds of work that they show.
const ROWS: [(&str, &str); 4] =
    [("read", "Reads of A and B"), ("core", "Cores"), ("drain", "C to L2"), ("write", "Writes of C")];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let design = design(DESIGN)?;
    let mut parameters = changed_of("npu.gemm", changed, super::common::npu(design))?;
    let [m, k, n] = native(design, step(design));
    parameters.extend([
        ("design".to_owned(), json!(design.name)),
        ("engine".to_owned(), json!("events")),
        ("m".to_owned(), json!(m * BLOCKS[0])),
        ("k".to_owned(), json!(k * BLOCKS[2])),
        ("n".to_owned(), json!(n * BLOCKS[1])),
    ]);
    Ok(Table::from_timeline(&study("npu.gemm")?.timeline(&[&parameters])?)?)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few blocks and steps")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let kinds = table.text("category")?;
    let (starts, ends) = (table.f64("start_ns")?, table.f64("end_ns")?);
    let (blocks, steps) = (table.f64("block")?, table.f64("step")?);
    let mut busy = Vec::new();
    for row in 0..table.height() {
        let place = ROWS.iter().position(|it| Some(it.0) == kinds[row].as_deref());
        let (Some(place), Some(start), Some(end)) = (place, starts[row], ends[row]) else { continue };
        let block = blocks[row].map_or(0, |it| it as usize);
        let step = steps[row].map_or(String::new(), |it| format!(".{}", it as u64 + 1));
        busy.push(Busy {
            row: place,
            start: start * 1e-3,
            end: end * 1e-3,
            kind: block % KINDS.len(),
            label: format!("{}{step}", block + 1),
            critical: true,
        });
    }
    let first = busy.iter().map(|it| it.start).fold(f64::INFINITY, f64::min);
    for it in &mut busy {
        (it.start, it.end) = (it.start - first, it.end - first);
    }
    let gantt = Gantt {
        rows: ROWS.map(|it| it.1.to_owned()).to_vec(),
        kinds: KINDS.map(str::to_owned).to_vec(),
        busy,
        x_label: "Time after dispatch (µs)".to_owned(),
        ..Gantt::default()
    };
    let caption = "Numbers: the block of C, and the step of its reduction. Reads go on while cores compute, as far as \
                   buffers and descriptors are free.";
    Ok(Figure::two_columns().panel("", gantt).caption(caption))
}

/// Neighbouring blocks have different colours.
const KINDS: [&str; 2] = ["Odd blocks", "Even blocks"];
