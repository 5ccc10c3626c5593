//! The figures' colours, for what is drawn in a browser.

use memscape_plot::style::{Colour, DISTINCT, graded};
use serde_json::{Value, json};

/// Shades of a scale from less to more.
const SHADES: usize = 24;

/// As the figures' text and grid.
const INK: Colour = Colour::hex(0x22_22_22);
const GRID: Colour = Colour::hex(0xE2_E2_E2);

/// Colours as CSS writes them: `distinct` for things without an order, `ramp` for values.
pub(crate) fn look() -> Value {
    let all = |colours: &[Colour]| colours.iter().map(|it| css(*it)).collect::<Vec<_>>();
    json!({ "distinct": all(&DISTINCT), "ramp": all(&graded(SHADES)), "ink": css(INK), "grid": css(GRID) })
}

fn css(it: Colour) -> String {
    format!("#{:02X}{:02X}{:02X}", it.red, it.green, it.blue)
}
