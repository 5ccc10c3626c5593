//! Table 1: what each way of keeping weights resolves, from what the schemes are.
//!
//! The paper sorts eight works; those that this model has are schemes. IANUS, `AttAcc`,
//! `NeuPIMs` and `AiM` address neither question and are none of them.

use memscape_explore::{Column, Parameters, Table};
use memscape_ondevice::mapping::{Resolves, Scheme};
use memscape_plot::{Figure, TextTable};

use crate::error::Error;

/// Works of the table by scheme. FACIL itself leaves the memory attribute open, which
/// FACIL-O supposes solved.
const WORKS: [(&str, Scheme); 4] = [
    ("HBM-PIM, PAISE (WD)", Scheme::WeightDuplication),
    ("FACIL", Scheme::FacilO),
    ("PIM-SHERPA (S-DDB)", Scheme::Ddb),
    ("PIM-SHERPA (S-OWR)", Scheme::Owr),
];

pub fn table(_: &Parameters) -> Result<Table, Error> {
    let texts = |of: &dyn Fn(Scheme) -> String| Column::Text(WORKS.iter().map(|it| Some(of(it.1))).collect());
    let mark = |it: Resolves| it.name().to_owned();
    Ok(Table::from_columns([
        ("work", Column::Text(WORKS.iter().map(|it| Some(it.0.to_owned())).collect())),
        ("memory_attribute", texts(&|it| mark(it.resolves_attribute()))),
        ("weight_layout", texts(&|it| mark(it.resolves_layout()))),
        ("software_only", Column::Bool(WORKS.iter().map(|it| Some(it.1.is_software())).collect())),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let columns = ["work", "memory_attribute", "weight_layout", "software_only"];
    let columns = columns.iter().map(|it| words(table, it)).collect::<Result<Vec<_>, Error>>()?;
    let text = (0..table.height())
        .fold(TextTable::new(["Work", "Memory attribute", "Weight layout", "Software only"]), |text, row| {
            text.row(columns.iter().map(|it| it[row].clone().unwrap_or_default()))
        });
    Ok(Figure::two_columns()
        .panel("", text)
        .caption("By a second copy: two copies of the weights, one for each need."))
}

/// A column of texts, or of what is so or not.
fn words(table: &Table, column: &str) -> Result<Vec<Option<String>>, Error> {
    let word = |it: bool| if it { Resolves::Yes } else { Resolves::No }.name().to_owned();
    Ok(match table.column(column)? {
        Column::Bool(all) => all.into_iter().map(|it| it.map(word)).collect(),
        _ => table.text(column)?,
    })
}
