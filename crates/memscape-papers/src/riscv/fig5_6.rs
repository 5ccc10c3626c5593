//! Fig. 5.6: prompt processing on one core over the length of the prompt.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};

use super::common::{curves, single_core};
use crate::error::Error;

/// Tokens of the prompt; "Once upon a time, there was a kingdom" has ten.
const LENGTHS: [u64; 6] = [5, 10, 20, 40, 80, 160];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    single_core(changed, "prompt_tokens", &LENGTHS)
}

#[expect(clippy::cast_precision_loss, reason = "a few tokens")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(
        Axis::log2("Tokens of the prompt").marks(LENGTHS.map(|it| it as f64)),
        Axis::log10("Prompt processing (tokens/s)"),
    );
    Ok(Figure::one_column().panel("", curves(table, "prompt_tokens", "prompt_tokens_per_s", lines)?))
}
