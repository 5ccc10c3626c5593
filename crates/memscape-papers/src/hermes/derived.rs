//! Numbers that the text draws from figures, such as where a curve is flat.

use memscape_explore::{Parameters, Table};
use memscape_ndp::InferenceStudy;
use memscape_ndp::study::System;
use serde_json::json;

use super::activity::similarity;
use super::batches::table11;
use super::common::{axis, inference, systems};
use super::design::{table14, table16};
use crate::error::Error;
use crate::experiment::kept;
use crate::quantities;

/// A curve is flat within this much of its end.
const FLAT: f64 = 0.01;
/// More multipliers gain little: less than this.
const LITTLE: f64 = 0.05;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let tables =
        inference(changed, &systems([System::Hermes]), &[axis("model", ["llama-2-7b", "llama-2-70b"])])?;
    let (states, parents) = (tables.f64("state_table_kib")?, tables.f64("correlation_table_kib")?);
    let of = |values: &[Option<f64>], row: usize| values.get(row).copied().flatten();
    let study = InferenceStudy::default();
    let gap = study.gpu.bandwidth_gb_s.as_f64() / study.gpu.pcie_gb_s.as_f64();
    let memory = of(&states, 1).zip(of(&parents, 1)).map(|(a, b)| (a + b) / 1024.0);
    let rows = [
        ("batch of the smallest gap between Hermes and Hermes-base", smallest_gap(changed)?, ""),
        ("fewest DIMMs, in powers of two, that hold Falcon-40B", fewest_dimms(changed)?, "DIMMs"),
        ("multipliers at which OPT-13B is within 5 % of its best", saturation(changed)?, "multipliers"),
        ("distance from which similarity is within 1 % of its end", flat_from(changed)?, "tokens"),
        ("state table of Llama-2-7B", of(&states, 0), "KiB"),
        ("predictor tables of Llama-2-70B", memory, "MiB"),
        ("GPU bandwidth over PCIe bandwidth", Some(gap), "×"),
    ];
    quantities::table(&rows)
}

/// The batch at which Hermes gains least over Hermes-base, on average.
fn smallest_gap(changed: &Parameters) -> Result<Option<f64>, Error> {
    let table = kept("hermes.fig11", changed, table11)?;
    let rates = |name: &str| -> Result<_, Error> {
        let rows = table.filter("series", name)?;
        Ok((rows.f64("batch")?, rows.f64("tokens_per_s")?))
    };
    let ((batches, hermes), (_, base)) = (rates("Hermes")?, rates("Hermes-base")?);
    let mut sums: Vec<(f64, f64, f64)> = Vec::new();
    for ((batch, hermes), base) in batches.into_iter().zip(hermes).zip(base) {
        let (Some(batch), Some(hermes), Some(base)) = (batch, hermes, base) else { continue };
        match sums.iter_mut().find(|it| it.0.total_cmp(&batch).is_eq()) {
            Some(sum) => (sum.1, sum.2) = (sum.1 + hermes / base, sum.2 + 1.0),
            None => sums.push((batch, hermes / base, 1.0)),
        }
    }
    let least = sums.into_iter().min_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    Ok(least.map(|it| it.0))
}

/// The fewest DIMMs of Fig. 14 that have a bar.
fn fewest_dimms(changed: &Parameters) -> Result<Option<f64>, Error> {
    let rows = kept("hermes.fig14", changed, table14)?.filter("model", "falcon-40b")?;
    let fits = rows.f64("dimms")?.into_iter().zip(rows.f64("tokens_per_s")?);
    Ok(fits.filter(|it| it.1.is_some()).filter_map(|it| it.0).min_by(f64::total_cmp))
}

/// The fewest multipliers of Fig. 16 that are as good as any, one sequence.
fn saturation(changed: &Parameters) -> Result<Option<f64>, Error> {
    let rows = kept("hermes.fig16", changed, table16)?.filter("batch", json!(1))?;
    let rates = rows.f64("tokens_per_s")?;
    let best = rates.iter().flatten().copied().fold(0.0, f64::max);
    let enough = rows.f64("dimm.multipliers")?.into_iter().zip(rates);
    let enough = enough.filter(|it| it.1.is_some_and(|it| it >= (1.0 - LITTLE) * best));
    Ok(enough.filter_map(|it| it.0).min_by(f64::total_cmp))
}

/// The first distance from which on more of it changes little.
fn flat_from(changed: &Parameters) -> Result<Option<f64>, Error> {
    let rows = similarity(changed, "llama-2-13b")?;
    let (distance, overlap) = (rows.f64("distance")?, rows.f64("overlap")?);
    let Some(end) = overlap.last().copied().flatten() else { return Ok(None) };
    let flat = distance.into_iter().zip(overlap).find(|it| it.1.is_some_and(|it| it - end <= FLAT * end));
    Ok(flat.and_then(|it| it.0))
}
