//! Tables of single numbers, such as a machine's: quantity, value, unit.

use memscape_explore::{Column, Table};
use memscape_plot::{Figure, TextTable};

use crate::error::Error;

/// Letters of a name that need the width of two columns.
const LONG: usize = 36;

/// The table of these quantities; one without a value has none.
pub fn table<V: Copy + Into<Option<f64>>>(rows: &[(&str, V, &str)]) -> Result<Table, Error> {
    let texts =
        |pick: fn(&(&str, V, &str)) -> String| Column::Text(rows.iter().map(|it| Some(pick(it))).collect());
    Ok(Table::from_columns([
        ("quantity", texts(|it| it.0.to_owned())),
        ("value", Column::Float(rows.iter().map(|it| it.1.into()).collect())),
        ("unit", texts(|it| it.2.to_owned())),
    ])?)
}

/// A number as tables print it: no more than four decimals, and none for show.
pub fn plain(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}

/// A number with so many decimals; what lies in the middle goes up, as people round.
pub fn fixed(value: f64, decimals: usize) -> String {
    // Formatting takes the middle to the even digit.
    let nudged = value * (1.0 + 1e-12);
    format!("{nudged:.decimals$}")
}

/// The table as text, with no more than four decimals.
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let (names, values, units) = (table.text("quantity")?, table.f64("value")?, table.text("unit")?);
    let text = (0..table.height()).fold(TextTable::new(["Quantity", "Value"]), |text, row| {
        let value = values[row].map(plain).unwrap_or_default();
        let unit = units[row].clone().unwrap_or_default();
        text.row([names[row].clone().unwrap_or_default(), format!("{value} {unit}").trim().to_owned()])
    });
    let long = names.iter().flatten().any(|it| it.len() > LONG);
    Ok(if long { Figure::two_columns() } else { Figure::one_column() }.panel("", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_tables_have_no_noise() {
        assert_eq!(plain(4.899_999_999_999_999_5), "4.9");
        assert_eq!(
            (fixed(12.25, 1), fixed(0.125, 2), fixed(12.24, 1)),
            ("12.3".into(), "0.13".into(), "12.2".into())
        );
    }
}
