//! Tables 2 and 3: two designs per precision, with what the search at their
//! reduction finds.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_npu::{BalanceStudy, Kernel};
use memscape_plot::{Figure, TextTable};
use memscape_systems::study;
use serde_json::json;

use super::common::{
    Design, about_4k, changed_of, design, native, numbers, of_design, precisions, step, texts, tiles,
};
use crate::error::Error;
use crate::sweeps::concat;

/// How the designs' names end, and which they are of the table's two.
const RANKS: [(&str, &str); 2] = [("", "first"), ("-second", "second")];

pub fn table2(changed: &Parameters) -> Result<Table, Error> {
    rows(changed, "xdna")
}

pub fn table3(changed: &Parameters) -> Result<Table, Error> {
    rows(changed, "xdna2")
}

fn rows(changed: &Parameters, npu: &str) -> Result<Table, Error> {
    concat(precisions().flat_map(|it| RANKS.map(|rank| (it, rank))).map(|(precision, (suffix, rank))| {
        let design = design(&format!("{npu}-{precision}{suffix}"))?;
        let k_ct = design.parameters.k_ct.get();
        let table = about_4k(changed, design, &[])?;
        let mut search = changed_of("npu.search", changed, npu)?;
        search.extend([
            ("device".to_owned(), json!(npu)),
            ("precision".to_owned(), json!(precision)),
            ("objective".to_owned(), json!("largest-output")),
            ("k_ct".to_owned(), json!(k_ct)),
        ]);
        let row = study("npu.search")?.run(&search)?;
        let found = |name: &str| {
            let value = row.iter().find(|it| it.0 == name).and_then(|it| it.1.as_i64());
            Column::Int(vec![value])
        };
        let share = table.f64("tops")?[0].zip(table.f64("peak_tops")?[0]).map(|it| it.0 / it.1);
        let core = of_design("npu.kernel", changed, design, &[], &[])?;
        let zero = core.f64("zero_share")?[0];
        // Once per block of C, over all calls of its reduction.
        let calls = table.f64("padded_k")?[0].map(|it| it / f64::from(k_ct));
        let printed = design.parameters.tile().outputs();
        let by_rule = by_rule(changed, npu, precision, design)?.map(i64::from);
        let native: u64 = native(design, step(design)).iter().product();
        Ok(table
            .with_column("rank", Column::Text(vec![Some(rank.to_owned())]))?
            .with_column("outputs", Column::Int(vec![i64::try_from(printed).ok()]))?
            .with_column("native_elements", Column::Int(vec![i64::try_from(native).ok()]))?
            .with_column("k_mt_by_rule", Column::Int(vec![by_rule]))?
            .with_column("searched_m_ct", found("m_ct"))?
            .with_column("searched_n_ct", found("n_ct"))?
            .with_column("searched_outputs", found("outputs"))?
            .with_column("zero_share_of_call", Column::Float(vec![zero]))?
            .with_column("zero_share", Column::Float(vec![zero.zip(calls).map(|it| it.0 / it.1)]))?
            .with_column("share_of_peak", Column::Float(vec![share]))?)
    }))
}

/// The step at which throughput saturates, which Sec. 5.2.2 takes for a tile.
fn by_rule(changed: &Parameters, npu: &str, precision: &str, design: &Design) -> Result<Option<u32>, Error> {
    let mut parameters = changed_of("npu.balance", changed, npu)?;
    parameters.extend([("device".to_owned(), json!(npu)), ("precision".to_owned(), json!(precision))]);
    let study: BalanceStudy = read(&parameters)?;
    let tile = design.parameters.tile();
    let kernel =
        Kernel::new(&study.device, study.precision, tile, study.output_buffers).map_err(Error::no_answer)?;
    Ok(study.saturated(kernel).map(|it| it.design.k_mt))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let header = [
        "Precision",
        "Tile",
        "m·n (K)",
        "MACs/cycle",
        "L1 (KiB)",
        "L2 (KiB)",
        "Peak TOPS",
        "M×K×N",
        "TOPS",
        "k_mt",
        "k_mt by rule",
        "Search at this k",
    ];
    let (precisions, tiles) = (texts(table, "precision")?, tiles(table)?);
    let columns = [
        numbers(table, "outputs", 1.0 / 1024.0, 1)?,
        numbers(table, "macs_per_cycle", 1.0, 1)?,
        numbers(table, "l1_bytes", 1.0 / 1024.0, 1)?,
        numbers(table, "l2_bytes", 1.0 / 1024.0, 0)?,
        numbers(table, "peak_tops", 1.0, 2)?,
    ];
    let [m, k, n] = ["padded_m", "padded_k", "padded_n"].map(|it| numbers(table, it, 1.0, 0));
    let (m, k, n) = (m?, k?, n?);
    let tops = numbers(table, "tops", 1.0, 2)?;
    let (step, by_rule) = (numbers(table, "k_mt", 1.0, 0)?, numbers(table, "k_mt_by_rule", 1.0, 0)?);
    let (searched_m, searched_n) =
        (numbers(table, "searched_m_ct", 1.0, 0)?, numbers(table, "searched_n_ct", 1.0, 0)?);
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let mut cells = vec![precisions[row].clone(), tiles[row].clone()];
        cells.extend(columns.iter().map(|it| it[row].clone()));
        cells.push(format!("{}×{}×{}", m[row], k[row], n[row]));
        cells.extend([tops[row].clone(), step[row].clone(), by_rule[row].clone()]);
        cells.push(format!("{}×{}", searched_m[row], searched_n[row]));
        text.row(cells)
    });
    Ok(Figure::two_columns().panel("", text))
}
