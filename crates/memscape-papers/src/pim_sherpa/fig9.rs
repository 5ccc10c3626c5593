//! Fig. 9: DRAM by scheme.

use memscape_explore::{Parameters, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_plot::{Figure, StackedBars};

use super::common::{MODELS, scheme, series, title, without_cpu};
use crate::error::Error;
use crate::sweeps::distinct;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let schemes = [Scheme::WeightDuplication, Scheme::FacilO, Scheme::Ddb, Scheme::Owr].map(scheme);
    series("ondevice.capacity", &without_cpu(changed), &schemes, |it| it.axis("model", MODELS))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let schemes = distinct(table, "series")?;
    let mut figure = Figure::two_columns();
    for (letter, model) in ["a", "b"].into_iter().zip(MODELS) {
        let rows = table.filter("model", model)?;
        let gb = |column: &str| -> Result<Vec<Option<f64>>, Error> {
            Ok(rows.f64(column)?.into_iter().map(|it| it.map(|it| it * 1e-9)).collect())
        };
        let bars = StackedBars::new("DRAM for weights (GB)", schemes.clone())
            .part("Host-friendly", gb("host_bytes")?)
            .part("PIM-aware", gb("pim_bytes")?)
            .part("Cacheable buffers", gb("buffer_bytes")?);
        figure = figure.panel(format!("({letter}) {}", title(model)), bars);
    }
    Ok(figure)
}
