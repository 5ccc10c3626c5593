//! GEMM over weights as they lie in a host-friendly buffer.

use std::ops::Range;

use half::{bf16, f16};
use memscape_workload::Element;

/// Rows and columns of weights that are widened to `f32` at a time: a panel stays in
/// the second-level cache.
const PANEL_ROWS: usize = 128;
const PANEL_COLUMNS: usize = 256;

/// Room for one thread's panel.
pub struct Scratch(Vec<f32>);

impl Scratch {
    pub fn new() -> Self {
        Self(vec![1.0; PANEL_ROWS * PANEL_COLUMNS])
    }
}

/// A column-major weight matrix.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    pub bytes: &'a [u8],
    pub element: Element,
    pub rows: usize,
    pub columns: usize,
}

/// `outputs = weights[rows] * inputs`, inputs `columns x tokens` and outputs
/// `rows.len() x tokens`, both row-major. What an output is does not depend on which
/// rows are asked for together.
///
/// # Panics
/// If a length does not fit the shapes.
pub fn multiply(
    weights: Matrix<'_>,
    rows: Range<usize>,
    inputs: &[f32],
    tokens: usize,
    outputs: &mut [f32],
    scratch: &mut Scratch,
) {
    assert!(rows.start <= rows.end && rows.end <= weights.rows, "{rows:?} of {}", weights.rows);
    assert_eq!(inputs.len(), weights.columns * tokens, "inputs are columns x tokens");
    assert_eq!(outputs.len(), rows.len() * tokens, "outputs are rows x tokens");
    for first_column in (0..weights.columns).step_by(PANEL_COLUMNS) {
        let columns = PANEL_COLUMNS.min(weights.columns - first_column);
        let inputs = &inputs[first_column * tokens..][..columns * tokens];
        for first_row in rows.clone().step_by(PANEL_ROWS) {
            let panel_rows = PANEL_ROWS.min(rows.end - first_row);
            let panel = &mut scratch.0[..columns * panel_rows];
            for (it, panel) in panel.chunks_exact_mut(panel_rows).enumerate() {
                widen(weights, first_row..first_row + panel_rows, first_column + it, panel);
            }
            let outputs = &mut outputs[(first_row - rows.start) * tokens..][..panel_rows * tokens];
            let before = if first_column == 0 { 0.0 } else { 1.0 };
            multiply_panel(panel, inputs, tokens, before, outputs);
        }
    }
}

/// `outputs = panel * inputs + before * outputs`: panel `rows x columns`
/// column-major, the others row-major of `tokens` columns.
#[expect(unsafe_code, reason = "the library takes pointers")]
#[expect(clippy::cast_possible_wrap, reason = "lengths of slices fit an isize")]
pub fn multiply_panel(panel: &[f32], inputs: &[f32], tokens: usize, before: f32, outputs: &mut [f32]) {
    let (columns, rows) = (inputs.len() / tokens, outputs.len() / tokens);
    assert!(
        panel.len() == rows * columns && inputs.len() == columns * tokens && outputs.len() == rows * tokens
    );
    // SAFETY: every index of the three matrices is below the lengths just checked, and
    // the output overlaps neither input.
    unsafe {
        matrixmultiply::sgemm(
            rows,
            columns,
            tokens,
            1.0,
            panel.as_ptr(),
            1,
            rows as isize,
            inputs.as_ptr(),
            tokens as isize,
            1,
            before,
            outputs.as_mut_ptr(),
            tokens as isize,
            1,
        );
    }
}

/// Part of one column, exactly.
fn widen(weights: Matrix<'_>, rows: Range<usize>, column: usize, to: &mut [f32]) {
    let size = usize::try_from(weights.element.bits() / 8).expect("a few bytes");
    let bytes = &weights.bytes[(column * weights.rows + rows.start) * size..][..rows.len() * size];
    match weights.element {
        Element::Bf16 => convert(bytes, to, |it| bf16::from_le_bytes(it).to_f32()),
        Element::Fp16 => convert(bytes, to, |it| f16::from_le_bytes(it).to_f32()),
        Element::Fp32 => convert(bytes, to, f32::from_le_bytes),
        Element::Int8 => convert(bytes, to, |[it]| f32::from(it.cast_signed())),
        Element::Int4 => unreachable!("weights in buffers are whole bytes"),
    }
}

fn convert<const N: usize>(bytes: &[u8], to: &mut [f32], number: impl Fn([u8; N]) -> f32) {
    for (bytes, to) in bytes.as_chunks().0.iter().zip(to) {
        *to = number(*bytes);
    }
}
