//! What the figures and tables of this paper share.

use memscape_explore::{Column, Parameters, Sweep, Table};
use memscape_plot::{Axis, Figure, Lines};
use memscape_riscv::CALIBRATION;
use memscape_systems::study;
use serde_json::json;

use crate::error::Error;
use crate::sets::note;
use crate::sweeps::{Variant, concat, distinct, for_study, with, with_first_column};

/// What stands in a table where the model says nothing.
pub const NOTHING: &str = "n/a";
/// Threads of the multi-threaded figures: doubled each time.
pub const THREADS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The five strategies of Fig. 5.11 and Table 5.4, as they are called there.
pub const STRATEGIES: [(&str, &str); 5] = [
    ("base", "Base"),
    ("no-balancing", "No balancing"),
    ("bind-cores-memory", "Bind {C,M} 2,3"),
    ("bind-cores", "Bind {C} 2,3"),
    ("interleave", "Interleave all"),
];

/// What is changed, less the parameters that a study does not have, and those of one
/// run alone: a fit changes those of all studies at once.
pub fn without(changed: &Parameters, absent: &[&str]) -> Parameters {
    let keep = |path: &str| {
        !path.contains(':') && !absent.iter().any(|it| path == *it || path.starts_with(&format!("{it}.")))
    };
    changed.iter().filter(|(path, _)| keep(path)).map(|(path, value)| (path.clone(), value.clone())).collect()
}

/// What is changed, and a run's own parameters: as stored, where they are not changed.
pub fn of_run(changed: &Parameters, run: &str) -> Parameters {
    let mut all = without(changed, &[]);
    let stored = CALIBRATION.parameters().iter().filter(|it| it.preset.as_deref() == Some(run));
    all.extend(
        stored.map(|it| (it.path.clone(), changed.get(&it.key()).cloned().unwrap_or(it.json(it.value)))),
    );
    all
}

/// What is changed, for the multi-threaded runs, all as long as those of Table 5.4.
pub fn of_inference(changed: &Parameters) -> Parameters {
    of_run(changed, "table5_4")
}

/// What is changed, for `riscv.gemm`.
pub fn of_gemm(changed: &Parameters) -> Result<Parameters, Error> {
    for_study("riscv.gemm", &without(changed, &[]))
}

/// What is changed, for `riscv.kernel`.
pub fn of_kernel(changed: &Parameters) -> Result<Parameters, Error> {
    for_study("riscv.kernel", &without(changed, &["os"]))
}

/// One sweep per series over numbers that all `paths` take together. The first
/// column names the series, the second is the first path's.
pub fn series(
    study_name: &str,
    changed: &Parameters,
    variants: &[Variant],
    paths: &[&str],
    values: &[u64],
) -> Result<Table, Error> {
    concat(variants.iter().map(|variant| {
        note(paths.iter().copied());
        let sweep =
            Sweep::of(variant.of(changed)).zip(paths.iter().map(|path| (*path, values.iter().copied())));
        let table = study(study_name)?.sweep(&sweep, &())?.without_errors()?;
        with_first_column(table, "series", &variant.name)
    }))
}

/// One sweep over the values of `path`, each with the name of its series, and over
/// numbers that all `paths` take together: [`series`], in one go.
pub fn compare(
    study_name: &str,
    base: Parameters,
    (path, names): (&str, &[(&str, &str)]),
    paths: &[&str],
    values: &[u64],
) -> Result<Table, Error> {
    note(paths.iter().copied().chain([path]));
    let sweep = Sweep::of(base)
        .axis(path, names.iter().map(|it| it.0))
        .zip(paths.iter().map(|path| (*path, values.iter().copied())));
    let table = study(study_name)?.sweep(&sweep, &())?.without_errors()?;
    let name = |value: &Option<String>| {
        names.iter().find(|it| Some(it.0) == value.as_deref()).map(|it| it.1.to_owned())
    };
    let column = Column::Text(table.text(path)?.iter().map(name).collect());
    let order: Vec<String> = table.column_names().into_iter().map(str::to_owned).collect();
    let order: Vec<&str> = std::iter::once("series").chain(order.iter().map(String::as_str)).collect();
    Ok(table.with_column("series", column)?.select(&order)?)
}

/// A curve per series.
pub fn curves(table: &Table, x: &str, y: &str, lines: Lines) -> Result<Lines, Error> {
    let mut lines = lines;
    for name in distinct(table, "series")? {
        let rows = table.filter("series", name.as_str())?;
        let (xs, ys) = (rows.f64(x)?, rows.f64(y)?);
        lines = lines.curve(name, xs.into_iter().zip(ys).filter_map(|(x, y)| Some((x?, y))));
    }
    Ok(lines)
}

/// The five strategies on 32 threads.
pub fn strategies(changed: &Parameters) -> Result<Table, Error> {
    compare("riscv.inference", of_inference(changed), ("policy", &STRATEGIES), &["threads"], &[32])
}

/// Policies of Figs. 5.9 and 5.10 over threads.
pub fn over_threads(changed: &Parameters) -> Result<Table, Error> {
    let policies = [
        ("base", "Base"),
        ("no-balancing", "No balancing"),
        ("bind-cores", "Bind cores"),
        ("interleave", "Interleave"),
    ];
    compare("riscv.inference", of_inference(changed), ("policy", &policies), &["threads"], &THREADS)
}

/// The kernels on one core, over one parameter.
pub fn single_core(changed: &Parameters, path: &str, values: &[u64]) -> Result<Table, Error> {
    let kernels = [
        ("default", "Default"),
        ("vector", "Vector"),
        ("simple", "Simple"),
        ("complex", "Complex"),
        ("openblas", "OpenBLAS"),
    ];
    let one =
        [("threads", json!(1)), ("policy", json!("no-balancing")), ("compiler", json!("xuantie-gcc-10"))];
    let base = with(&of_inference(changed), one);
    compare("riscv.inference", base, ("kernel", &kernels), &[path], values)
}

/// In every row, where the row's series has its largest `value`.
pub fn with_best(table: Table, of: &str, value: &str, name: &str) -> Result<Table, Error> {
    let (series, at, values) = (table.text("series")?, table.f64(of)?, table.f64(value)?);
    let best = |name: &Option<String>| {
        let rows = (0..table.height()).filter(|it| series[*it] == *name);
        rows.max_by(|a, b| values[*a].unwrap_or(0.0).total_cmp(&values[*b].unwrap_or(0.0)))
            .and_then(|it| at[it])
    };
    let column = Column::Float(series.iter().map(best).collect());
    Ok(table.with_column(name, column)?)
}

/// A figure of one quantity over threads.
pub fn threads_figure(table: &Table, value: &str, label: &str) -> Result<Figure, Error> {
    let lines = Lines::new(Axis::log2("Threads"), Axis::linear(label));
    Ok(Figure::one_column().panel("", curves(table, "threads", value, lines)?))
}
