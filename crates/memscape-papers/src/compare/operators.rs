//! The matrices of a model one by one, on the machines whose studies answer one: what each
//! attains under what the machine allows, and where the rest of its time goes.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::style::distinct as colour;
use memscape_plot::{Axis, Figure, Fill, Lines, StackedBars};
use memscape_study::Limited;
use memscape_systems::study;
use memscape_workload::{Format, Gemv, Model, Projections};
use serde_json::{Value, json};

use super::common::MODEL;
use crate::error::Error;
use crate::sweeps::distinct;

/// Vectors of a prompt that a matrix meets at once.
const PROMPT: u64 = 512;

/// A machine that multiplies a matrix with so many vectors.
struct Place {
    machine: &'static str,
    study: &'static str,
    vectors: u64,
    format: &'static str,
    /// Beside the shape.
    given: fn() -> Value,
    /// Rows, columns and vectors as its study calls them.
    shape: fn(Gemv, u64) -> Value,
}

const PLACES: [Place; 5] = [
    Place {
        machine: "Laptop with PIM (PIMnast), a token",
        study: "pim.gemv",
        vectors: 1,
        format: "int8",
        given: || json!({ "format": "int8" }),
        shape: |it, _| json!({ "m": it.m(), "k": it.k() }),
    },
    Place {
        machine: "Phone with PIM (PIM-SHERPA), a token",
        study: "ondevice.gemv",
        vectors: 1,
        format: "bf16",
        given: || json!({ "format": "bf16" }),
        shape: |it, _| json!({ "m": it.m(), "k": it.k() }),
    },
    Place {
        machine: "NPU (XDNA), a prompt",
        study: "npu.gemm",
        vectors: PROMPT,
        format: "bf16",
        given: || json!({ "design": "xdna-bf16-bf16" }),
        shape: |it, vectors| json!({ "m": vectors, "k": it.k(), "n": it.m() }),
    },
    Place {
        machine: "NPU (XDNA2), a prompt",
        study: "npu.gemm",
        vectors: PROMPT,
        format: "bf16",
        given: || json!({ "design": "xdna2-bf16-bf16" }),
        shape: |it, vectors| json!({ "m": vectors, "k": it.k(), "n": it.m() }),
    },
    Place {
        machine: "SG2042 with OpenBLAS, a prompt",
        study: "riscv.gemm",
        vectors: PROMPT,
        format: "q4_0",
        given: || json!({ "format": "q4_0", "threads": 48, "policy": "interleave" }),
        shape: |it, vectors| json!({ "m": it.m(), "k": it.k(), "n": vectors }),
    },
];

/// What one matrix takes on a machine.
struct Cost {
    time_ns: f64,
    /// What the study's own bounds leave of it.
    least_ns: f64,
    /// Its time by cause.
    parts: Vec<(String, f64)>,
}

fn cost(place: &Place, gemv: Gemv) -> Result<Cost, Error> {
    let layers = [(place.given)(), (place.shape)(gemv, place.vectors)];
    let layers: Vec<Parameters> = layers.iter().filter_map(|it| it.as_object().cloned()).collect();
    let layers: Vec<&Parameters> = layers.iter().collect();
    let study = study(place.study)?;
    let answer = study.run_layers(&layers)?;
    let of = |name: &str| answer.iter().find(|it| it.0 == name).and_then(|it| it.1.as_f64()).unwrap_or(0.0);
    let bounds = study.bounds(&layers)?;
    let least_of = |counts: &dyn Fn(&str) -> bool| {
        let least = bounds.iter().filter_map(|it| match it.limit {
            Limited::AtLeast(least) if counts(it.column) => Some(least),
            _ => None,
        });
        least.fold(0.0, f64::max)
    };
    let sums = study.sums();
    let is_of_time =
        |name: &str| name == "time_ns" || leaves(sums, "time_ns").contains(&name) || name == "busy_ns";
    // The clock's own limit, where a study says how much of it is reached.
    let time_ns = of("time_ns");
    let least_ns = least_of(&is_of_time).max(time_ns * of("peak_share"));
    let mut parts = Vec::new();
    for name in leaves(sums, "time_ns") {
        if place.study == "npu.gemm" && name == "compute_ns" {
            let (useful, at_peak) = (of(name) * of("useful_share"), least_of(&|it| it == name));
            parts.push(("compute_at_peak".to_owned(), at_peak));
            parts.push(("kernel".to_owned(), useful - at_peak));
            parts.push(("padding".to_owned(), of(name) - useful));
        } else {
            parts.push((name.trim_end_matches("_ns").to_owned(), of(name)));
        }
    }
    Ok(Cost { time_ns, least_ns, parts })
}

/// What a column is the sum of, down to what is none.
fn leaves<'a>(sums: &'a [(&'a str, &'a [&'a str])], column: &'a str) -> Vec<&'a str> {
    match sums.iter().find(|it| it.0 == column) {
        Some((_, parts)) => parts.iter().flat_map(|it| leaves(sums, it)).collect(),
        None => vec![column],
    }
}

#[expect(clippy::cast_precision_loss, reason = "operations of one product, drawn over decades")]
pub fn table(_: &Parameters) -> Result<Table, Error> {
    let model = Model::named(MODEL)?;
    let mut texts: [Vec<Option<String>>; 4] = Default::default();
    let mut numbers: [Vec<Option<f64>>; 10] = Default::default();
    for place in &PLACES {
        let bits = place.format.parse::<Format>().map_or(16.0, Format::bits_per_element);
        for (matrix, gemv) in model.layer_gemvs(Projections::Merged) {
            let Cost { time_ns, least_ns, parts } = cost(place, gemv)?;
            let [rows, columns, vectors] = [gemv.m(), gemv.k(), place.vectors].map(|it| it as f64);
            let operations = 2.0 * rows * columns * vectors;
            let intensity = operations / (rows * columns * bits / 8.0);
            for (part, part_ns) in parts {
                let row = [place.machine, place.study, matrix.name(), &part];
                texts.iter_mut().zip(row).for_each(|(column, it)| column.push(Some(it.to_owned())));
                let row = [
                    rows,
                    columns,
                    vectors,
                    operations,
                    intensity,
                    time_ns,
                    least_ns,
                    operations / time_ns,
                    operations / least_ns,
                    part_ns,
                ];
                numbers.iter_mut().zip(row).for_each(|(column, it)| column.push(Some(it)));
            }
        }
    }
    let names = ["machine", "study", "matrix", "part"];
    let texts = names.into_iter().zip(texts.map(Column::Text));
    let names = [
        "rows",
        "columns",
        "vectors",
        "operations",
        "operations_per_byte",
        "time_ns",
        "least_ns",
        "attained_gops",
        "allowed_gops",
        "part_ns",
    ];
    let numbers = names.into_iter().zip(numbers.map(Column::Float));
    Ok(Table::from_columns(texts.chain(numbers))?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut rates = Lines::new(Axis::log10("Operations per byte of weights"), Axis::log10("Gop/s"));
    let mut figure = Figure::two_columns().columns(3).plot_height_in(1.35);
    let mut losses = Vec::new();
    for machine in distinct(table, "machine")? {
        let rows = table.filter("machine", machine.as_str())?;
        let matrices = distinct(&rows, "matrix")?;
        let first = rows.filter("part", rows.text("part")?[0].clone().unwrap_or_default())?;
        let points = |y: &str| -> Result<Vec<(f64, Option<f64>)>, Error> {
            let all = first.f64("operations_per_byte")?.into_iter().zip(first.f64(y)?);
            Ok(all.filter_map(|(x, y)| Some((x?, y))).collect())
        };
        rates = rates.points(machine.as_str(), points("attained_gops")?);
        rates = rates.points("", points("allowed_gops")?).filled(Fill::Hollow);
        // Both of a machine have one colour.
        let own = Some(colour(losses.len()));
        rates.curves.iter_mut().rev().take(2).for_each(|it| it.colour = own);
        let mut bars = StackedBars::new("Time over the least", matrices);
        for part in distinct(&rows, "part")? {
            let of_part = rows.filter("part", part.as_str())?;
            let all = of_part.f64("part_ns")?.into_iter().zip(of_part.f64("least_ns")?);
            let shares: Vec<Option<f64>> = all.map(|(part, least)| Some(part? / least?)).collect();
            // What takes no time anywhere needs no colour.
            if shares.iter().flatten().any(|it| *it > 0.005) {
                bars = bars.part(part.replace('_', " "), shares);
            }
        }
        losses.push((machine, bars.totals()));
    }
    figure = figure.panel("Filled: attained; open: allowed", rates);
    for (machine, bars) in losses {
        figure = figure.panel(machine, bars);
    }
    Ok(figure.caption(
        "Bars: time of a product over the least that the description allows (the study's own bounds), by cause. A token \
         multiplies each matrix with one vector, a prompt with 512.",
    ))
}
