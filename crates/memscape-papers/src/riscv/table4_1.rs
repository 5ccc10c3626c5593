//! Table 4.1: SLIT distances between the nodes.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_plot::{Figure, TextTable};
use memscape_riscv::InferenceStudy;

use super::common::without;
use crate::error::Error;

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let numa = read::<InferenceStudy>(&without(changed, &[]))?.numa;
    let nodes = numa.nodes.get();
    let pairs: Vec<_> = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).collect();
    let distance = |it: &(u32, u32)| Some(i64::from(numa.distances.between(it.0 as usize, it.1 as usize)));
    Ok(Table::from_columns([
        ("from", Column::Int(pairs.iter().map(|it| Some(it.0.into())).collect())),
        ("to", Column::Int(pairs.iter().map(|it| Some(it.1.into())).collect())),
        ("distance", Column::Int(pairs.iter().map(distance).collect())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (to, distance) = (table.text("to")?, table.text("distance")?);
    let cell = |it: &Option<String>| it.clone().unwrap_or_default();
    let nodes = to.iter().position(|it| it == &to[0]).map_or(0, |_| distance.len().isqrt());
    let header: Vec<_> = std::iter::once("Node".to_owned()).chain(to.iter().take(nodes).map(cell)).collect();
    let text = distance.chunks(nodes.max(1)).enumerate().fold(TextTable::new(header), |text, (node, row)| {
        text.row(std::iter::once(node.to_string()).chain(row.iter().map(cell)))
    });
    Ok(Figure::one_column().panel("", text))
}
