//! Table I: page sizes over channels.

use memscape_explore::{Column, Parameters, Table};
use memscape_pim::GemvStudy;
use memscape_pim::mapping::placement::preferred_page_bytes;
use memscape_plot::{Figure, TextTable};

use crate::error::Error;

pub fn table(_: &Parameters) -> Result<Table, Error> {
    let memory = GemvStudy::default().memory;
    let (banks, row_bytes) = (u64::from(memory.banks_per_channel.get()), u64::from(memory.row_bytes.get()));
    let channels = [8_u64, 16];
    let ints = |values: [u64; 2]| Column::Int(values.map(|it| i64::try_from(it).ok()).to_vec());
    Ok(Table::from_columns([
        ("channels", ints(channels)),
        ("banks_per_channel", ints([banks; 2])),
        ("row_buffer_kb", ints([row_bytes / 1024; 2])),
        ("preferred_page_kb", ints(channels.map(|it| preferred_page_bytes(it, banks, row_bytes) / 1024))),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let columns = ["channels", "banks_per_channel", "row_buffer_kb", "preferred_page_kb"];
    let cells = columns.iter().map(|it| Ok(table.text(it)?)).collect::<Result<Vec<_>, Error>>()?;
    let header = ["Channels", "Banks per channel", "Row buffer (KB)", "Preferred page (KB)"];
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        text.row(cells.iter().map(|it| it[row].clone().unwrap_or_default()))
    });
    Ok(Figure::one_column().panel("", text))
}
