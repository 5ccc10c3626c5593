//! Table 1: the tile that Eq. 1 to 5 find for one core, under each reading of the
//! objective.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_plot::{Figure, TextTable};
use memscape_systems::study;

use super::common::{NPUS, changed_of, numbers, precisions, printed, texts, tiles};
use crate::error::Error;
use crate::sweeps::{concat, with_first_column};

const OBJECTIVES: [&str; 3] = ["throughput", "outputs-then-reduction", "macs-then-outputs"];

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    concat(NPUS.map(|npu| {
        let mut base = changed_of("npu.search", changed, npu)?;
        base.insert("device".to_owned(), npu.into());
        let sweep = Sweep::of(base).axis("precision", precisions()).axis("objective", OBJECTIVES);
        with_first_column(study("npu.search")?.sweep(&sweep, &())?.without_errors()?, "npu", npu)
    }))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let found = table.filter("objective", OBJECTIVES[0])?;
    let literal = tiles(&table.filter("objective", "macs-then-outputs")?)?;
    let (npus, precisions, tiles) = (texts(&found, "npu")?, texts(&found, "precision")?, tiles(&found)?);
    let (macs, rate) = (numbers(&found, "macs", 1.0, 0)?, numbers(&found, "macs_per_cycle", 1.0, 1)?);
    let (l1, share) = (numbers(&found, "l1_bytes", 1.0 / 1024.0, 1)?, numbers(&found, "l1_share", 100.0, 0)?);
    let header = [
        "NPU",
        "Precision",
        "Tile",
        "MACs per call",
        "MACs/cycle",
        "L1 (KiB)",
        "L1 (%)",
        "Most MACs per call",
    ];
    let text = (0..found.height()).fold(TextTable::new(header), |text, row| {
        text.row([
            printed(&npus[row]).to_owned(),
            precisions[row].clone(),
            tiles[row].clone(),
            macs[row].clone(),
            rate[row].clone(),
            l1[row].clone(),
            share[row].clone(),
            literal[row].clone(),
        ])
    });
    let caption =
        "Tiles: of the most MACs per cycle, and, as the paper writes the aim, of the most per call.";
    Ok(Figure::two_columns().panel("", text).caption(caption))
}
