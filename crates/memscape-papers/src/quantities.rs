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

/// A number as tables print it: all of two decimals, else three digits that say something, and
/// none for show.
pub fn plain(value: f64) -> String {
    let rounded = |decimals: i32| (value * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals);
    let hundredths = rounded(2);
    if value == 0.0 || (value - hundredths).abs() <= 1e-9 * value.abs() {
        return hundredths.to_string();
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 308")]
    let decimals = 2 - value.abs().log10().floor() as i32;
    rounded(decimals.clamp(0, 12)).to_string()
}

/// A number with so many decimals; what lies in the middle goes up, as people round.
pub fn fixed(value: f64, decimals: usize) -> String {
    // Formatting takes the middle to the even digit.
    let nudged = value * (1.0 + 1e-12);
    format!("{nudged:.decimals$}")
}

/// The table as text.
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
        for (value, expected) in [
            (4.899_999_999_999_999_5, "4.9"),
            (15.76, "15.76"),
            (1920.0, "1920"),
            (11.6406, "11.6"),
            (8.0003, "8"),
            (0.0601, "0.0601"),
            (-4.7023, "-4.7"),
            (12_345.678, "12346"),
            (0.0, "0"),
        ] {
            assert_eq!(plain(value), expected);
        }
        assert_eq!(
            (fixed(12.25, 1), fixed(0.125, 2), fixed(12.24, 1)),
            ("12.3".into(), "0.13".into(), "12.2".into())
        );
    }
}
