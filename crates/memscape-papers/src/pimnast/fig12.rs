//! Fig. 12: speedup with block-level scale factors, at the paper's block of 32 and
//! at the larger ones that its text mentions.

use memscape_explore::{Parameters, Table};
use memscape_plot::Figure;
use serde_json::json;

use super::common::{bars_per_model, roofline, suite};
use crate::error::Error;
use crate::sweeps::{concat, distinct, variant};

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let variants: Vec<_> = [8, 4]
        .into_iter()
        .flat_map(|bits| [32, 64, 128].map(|block| (bits, block)))
        .map(|(bits, block)| {
            let format = ("format", json!(format!("mx-int{bits}-b{block}")));
            let name = format!("{bits}b, block {block}");
            // Of 16 registers, sums and scales of 4-bit blocks take ten: a sum per lane, twice, and two.
            match bits {
                4 => variant(name, [format, ("pim.input_registers", json!(6))]),
                _ => variant(name, [format]),
            }
        })
        .collect();
    suite(changed, &variants)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Sums and scales of 4-bit blocks take ten of the sixteen registers, so six hold inputs.";
    let mut figure = Figure::two_columns().columns(1).caption(caption);
    for (letter, bits) in ["a", "b"].into_iter().zip(["8b", "4b"]) {
        let own: Vec<_> = distinct(table, "series")?.into_iter().filter(|it| it.starts_with(bits)).collect();
        let rows = concat(own.iter().map(|it| Ok(table.filter("series", it.as_str())?)))?;
        let mut bars = bars_per_model(&rows, "speedup", "Speedup over SoC (×)")?.graded();
        for series in &mut bars.series {
            series.name = series.name.split_once(", ").map_or(String::new(), |it| it.1.to_owned());
        }
        let title = format!("({letter}) {}-bit weights", bits.trim_end_matches('b'));
        figure = figure.panel(title, bars.reference("Roofline", roofline(&rows)?));
    }
    Ok(figure.plot_height_in(1.0).share_axes())
}
