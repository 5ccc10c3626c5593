//! What the figures and tables of this paper share.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_npu::{DESIGNS, DEVICES, KernelDesign, Precision};
use memscape_study::Preset;
use memscape_systems::study;
use serde_json::{Value, json};

use crate::error::Error;
use crate::quantities::fixed;
use crate::sweeps::{for_preset, with_first_column};

/// The least dimension of the paper's "about 4K" products: each is the smallest
/// multiple of the native size that reaches it, which yields every printed size.
pub const ABOUT_4K: u64 = 4000;

pub const NPUS: [&str; 2] = ["xdna", "xdna2"];

/// As the paper writes them.
pub fn printed(npu: &str) -> &str {
    match npu {
        "xdna" => "XDNA",
        "xdna2" => "XDNA2",
        other => other,
    }
}

/// A kernel of the paper, with its name.
pub type Design = Preset<KernelDesign>;

pub fn design(name: &str) -> Result<&'static Design, Error> {
    Ok(DESIGNS.find(name)?)
}

/// The NPU that a design is for.
pub fn npu(design: &Design) -> &'static str {
    let device = DEVICES.all().iter().find(|it| it.parameters == design.parameters.device);
    &device.expect("designs are for built-in devices").name
}

/// Its step.
pub fn step(design: &Design) -> u64 {
    design.parameters.k_mt.get().into()
}

/// The native size of a design with this step.
pub fn native(design: &Design, k_mt: u64) -> [u64; 3] {
    let KernelDesign { device, m_ct, n_ct, .. } = &design.parameters;
    let [rows, columns] = [device.rows, device.columns].map(|it| u64::from(it.get()));
    [u64::from(m_ct.get()) * rows, k_mt, u64::from(n_ct.get()) * columns]
}

/// What is changed of an NPU, as far as a study depends on it.
pub fn changed_of(study_name: &str, changed: &Parameters, npu: &str) -> Result<Parameters, Error> {
    let laws = study(study_name)?.laws();
    let mut own = for_preset(changed, npu);
    own.retain(|path, _| !laws.is_unused(path));
    Ok(own)
}

/// One study of a design: what is changed, and one axis of one value per parameter
/// that the table should show.
pub fn of_design(
    study_name: &str,
    changed: &Parameters,
    design: &Design,
    shown: &[(&str, Value)],
    hidden: &[(&str, Value)],
) -> Result<Table, Error> {
    let KernelDesign { precision, m_ct, k_ct, n_ct, .. } = &design.parameters;
    let mut base = changed_of(study_name, changed, npu(design))?;
    base.extend(hidden.iter().map(|(path, value)| ((*path).to_owned(), value.clone())));
    let always = [
        ("design", json!(design.name)),
        ("precision", json!(precision)),
        ("m_ct", json!(m_ct)),
        ("k_ct", json!(k_ct)),
        ("n_ct", json!(n_ct)),
    ];
    let axes = always.iter().chain(shown);
    let sweep = axes.fold(Sweep::of(base), |it, (path, value)| it.axis(*path, [value.clone()]));
    let table = study(study_name)?.sweep(&sweep, &())?.without_errors()?;
    with_first_column(table, "npu", npu(design))
}

/// A design's product of about 4K, event by event.
pub fn about_4k(changed: &Parameters, design: &Design, shown: &[(&str, Value)]) -> Result<Table, Error> {
    let k_mt = shown.iter().find(|it| it.0 == "k_mt").and_then(|it| it.1.as_u64());
    let k_mt = k_mt.unwrap_or_else(|| step(design));
    let [m, k, n] = native(design, k_mt).map(|it| ABOUT_4K.next_multiple_of(it));
    let mut all: Vec<(&str, Value)> = shown.to_vec();
    if shown.iter().all(|it| it.0 != "k_mt") {
        all.push(("k_mt", json!(k_mt)));
    }
    all.extend([("m", json!(m)), ("k", json!(k)), ("n", json!(n))]);
    of_design("npu.gemm", changed, design, &all, &[("engine", json!("events"))])
}

/// `112×112×112`, row by row.
pub fn tiles(table: &Table) -> Result<Vec<String>, Error> {
    let columns = ["m_ct", "k_ct", "n_ct"].map(|it| table.f64(it));
    let [m, k, n] = columns;
    let (m, k, n) = (m?, k?, n?);
    let text = |it: Option<f64>| it.map(|it| it.to_string()).unwrap_or_default();
    Ok((0..table.height()).map(|row| format!("{}×{}×{}", text(m[row]), text(k[row]), text(n[row]))).collect())
}

/// A column as text, to so many decimals.
pub fn numbers(table: &Table, column: &str, scale: f64, decimals: usize) -> Result<Vec<String>, Error> {
    let text = |it: Option<f64>| it.map_or("n/a".to_owned(), |it| fixed(it * scale, decimals));
    Ok(table.f64(column)?.into_iter().map(text).collect())
}

/// A column of texts without gaps.
pub fn texts(table: &Table, column: &str) -> Result<Vec<String>, Error> {
    Ok(table.text(column)?.into_iter().map(Option::unwrap_or_default).collect())
}

/// The precisions of the balanced designs.
pub fn precisions() -> impl Iterator<Item = &'static str> {
    Precision::ALL.into_iter().map(Precision::name)
}
