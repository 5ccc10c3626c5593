//! Fig. 9: DRAM by scheme.

use memscape_explore::{Column, Parameters, Table};
use memscape_ondevice::mapping::Scheme;
use memscape_plot::{Figure, GroupedBars, StackedBars};

use super::common::{MODELS, scheme, series, title, without_cpu};
use crate::error::Error;
use crate::sweeps::distinct;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let schemes = [Scheme::WeightDuplication, Scheme::FacilO, Scheme::Ddb, Scheme::Owr].map(scheme);
    let table = series("ondevice.capacity", &without_cpu(changed), &schemes, |it| it.axis("model", MODELS))?;
    with_saving_over_ddb(table)
}

/// What each scheme saves beyond double buffering of the same model.
fn with_saving_over_ddb(table: Table) -> Result<Table, Error> {
    let (models, savings) = (table.text("model")?, table.f64("saving")?);
    let ddb = table.filter("series", "S-DDB")?;
    let (ddb_models, ddb_savings) = (ddb.text("model")?, ddb.f64("saving")?);
    let of_ddb = |model| ddb_models.iter().position(|it| it == model).and_then(|it| ddb_savings[it]);
    let beyond = models.iter().zip(savings).map(|(model, saving)| Some(saving? - of_ddb(model)?));
    Ok(table.with_column("saving_over_ddb", Column::Float(beyond.collect()))?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let schemes = distinct(table, "series")?;
    // Duplication saves nothing over itself.
    let saving: Vec<String> =
        schemes.iter().filter(|it| **it != scheme(Scheme::WeightDuplication).name).cloned().collect();
    let mut saved = GroupedBars::new("Saved over WD (%)", saving.clone());
    let mut figure = Figure::two_columns();
    for (letter, model) in ["a", "b"].into_iter().zip(MODELS) {
        let rows = table.filter("model", model)?;
        let gb = |column: &str| -> Result<Vec<Option<f64>>, Error> {
            Ok(rows.f64(column)?.into_iter().map(|it| it.map(|it| it * 1e-9)).collect())
        };
        let bars = StackedBars::new("DRAM for weights (GB)", schemes.clone())
            .part("Host-friendly", gb("host_bytes")?)
            .part("PIM-aware", gb("pim_bytes")?)
            .part("Cacheable buffers", gb("buffer_bytes")?)
            .totals();
        let own = schemes.iter().zip(rows.f64("saving")?).filter(|it| saving.contains(it.0));
        saved = saved.series(title(model), own.map(|it| it.1.map(|it| 100.0 * it)));
        figure = figure.panel(format!("({letter}) {}", title(model)), bars);
    }
    Ok(figure.share_axes().panel("(c) Savings", saved.decimals(1)))
}
