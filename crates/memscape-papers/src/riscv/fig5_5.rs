//! Fig. 5.5: token generation on one core over the length of the reply.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Axis, Figure, Lines};

use super::common::{curves, single_core};
use crate::error::Error;

/// Tokens generated; the thesis does not print its own.
const LENGTHS: [u64; 5] = [16, 32, 64, 128, 256];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    single_core(changed, "generated_tokens", &LENGTHS)
}

#[expect(clippy::cast_precision_loss, reason = "a few tokens")]
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let lines = Lines::new(
        Axis::log2("Generated tokens").marks(LENGTHS.map(|it| it as f64)),
        Axis::log10("Token generation (tokens/s)"),
    );
    Ok(Figure::one_column().panel("", curves(table, "generated_tokens", "generation_tokens_per_s", lines)?))
}
