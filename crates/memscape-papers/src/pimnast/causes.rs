//! Beyond the paper: where the time of its GEMVs goes, by cause.

use memscape_explore::{Parameters, Table};
use memscape_plot::{Figure, StackedBars};

use super::common::{short, suite};
use crate::error::Error;
use crate::sweeps::{distinct, variant};

/// Parts of a GEMV's time, with the names that the figure has for them.
const CAUSES: [(&str, &str); 10] = [
    ("mac_ns", "Products"),
    ("row_open_ns", "Opening rows"),
    ("input_vector_ns", "Inputs"),
    ("turnaround_ns", "Bus turnaround"),
    ("swap_ns", "Swapping registers"),
    ("cross_lane_ns", "Sums across lanes"),
    ("scale_factor_ns", "Scale factors"),
    ("spill_ns", "Spills"),
    ("refresh_ns", "Refresh"),
    ("soc_reduction_ns", "Sums on the SoC"),
];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    suite(changed, &[variant("PIMnast-opt", [])])
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (models, gemvs) = (distinct(table, "model")?, distinct(table, "gemv")?);
    let mut bars = models.iter().fold(
        StackedBars::new("Share of the GEMV's time (%)", models.iter().flat_map(|_| gemvs.clone())),
        |bars, model| bars.cluster(short(model), gemvs.len()),
    );
    for (column, name) in CAUSES {
        let parts = table.f64(column)?;
        // What takes no time anywhere needs no colour.
        if parts.iter().flatten().any(|it| *it > 0.0) {
            bars = bars.part(name, parts);
        }
    }
    Ok(Figure::two_columns().panel("", bars.shares()))
}
