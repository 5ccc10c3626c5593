//! A table as the module reads it: doubles, one column after the other.

use std::collections::HashMap;

use memscape_explore::{Column, Table, unit_of};
use serde_json::{Value, json};

use crate::error::Error;
use crate::look::look;

/// What a browser takes at once without complaint.
const MOST_BYTES: usize = 1 << 28;

/// Different texts of one column; beyond, it is a remark rather than a thing to choose by.
const MOST_CATEGORIES: usize = 1000;

/// A table to look through. Numbers stand as they are, texts and truth values as the places
/// of their values in a list, null as NaN.
pub struct TableView {
    spec: Value,
    bytes: Vec<u8>,
}

impl TableView {
    /// A view of all columns but those of texts that hardly repeat and of what is neither number,
    /// text nor truth value, which are named.
    ///
    /// # Errors
    /// [`Error::BadTable`] if there are no rows, nothing to draw, or too much of it.
    pub fn new(table: &Table) -> Result<Self, Error> {
        let rows = table.height();
        let names = table.column_names();
        if rows == 0 || names.is_empty() {
            return Err(Error::BadTable("the table has no rows to look through".to_owned()));
        }
        let need = rows.saturating_mul(names.len()).saturating_mul(8);
        if MOST_BYTES < need {
            return Err(Error::BadTable(format!(
                "{rows} rows of {} columns are {} MB, and a page takes at most {}; select columns, or filter rows",
                names.len(),
                need >> 20,
                MOST_BYTES >> 20
            )));
        }
        let mut columns = Vec::new();
        let mut left_out = Vec::new();
        let mut bytes = Vec::with_capacity(need);
        for name in names {
            let column = table.column(name).ok();
            let flag = matches!(column, Some(Column::Bool(_)));
            let Some((values, categories)) = column.and_then(coded) else {
                left_out.push(name);
                continue;
            };
            let unit = unit_of(name);
            columns.push(json!({ "name": name, "unit": unit, "categories": categories, "flag": flag }));
            bytes.extend(values.into_iter().flat_map(f64::to_le_bytes));
        }
        if columns.is_empty() {
            return Err(Error::BadTable(format!(
                "no column can be drawn: each holds over {MOST_CATEGORIES} different texts, or no plain values"
            )));
        }
        let spec = json!({
            "view": "table", "rows": rows, "columns": columns, "left_out": left_out, "look": look(),
        });
        Ok(Self { spec, bytes })
    }

    /// What the module draws the view from, but for the values.
    #[must_use]
    pub fn spec(&self) -> &Value {
        &self.spec
    }

    /// The values: `rows` little-endian doubles for each column.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A column as numbers, with what they stand for if they are places in a list; nothing if
/// that would be too long.
fn coded(column: Column) -> Option<(Vec<f64>, Option<Vec<String>>)> {
    #[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
    let numbers = match column {
        Column::Float(all) => all.into_iter().map(|it| it.unwrap_or(f64::NAN)).collect(),
        Column::Int(all) => all.into_iter().map(|it| it.map_or(f64::NAN, |it| it as f64)).collect(),
        Column::Bool(all) => {
            let code = |it: Option<bool>| it.map_or(f64::NAN, |it| f64::from(u8::from(it)));
            let categories = vec!["false".to_owned(), "true".to_owned()];
            return Some((all.into_iter().map(code).collect(), Some(categories)));
        }
        Column::Text(all) => return coded_texts(all),
    };
    Some((numbers, None))
}

/// Texts in the order in which they first stand.
fn coded_texts(all: Vec<Option<String>>) -> Option<(Vec<f64>, Option<Vec<String>>)> {
    let mut places: HashMap<String, u32> = HashMap::new();
    let mut categories: Vec<String> = Vec::new();
    let mut codes = Vec::with_capacity(all.len());
    for text in all {
        let Some(text) = text else {
            codes.push(f64::NAN);
            continue;
        };
        let next = u32::try_from(categories.len()).ok()?;
        let place = *places.entry(text).or_insert_with_key(|text| {
            categories.push(text.clone());
            next
        });
        if MOST_CATEGORIES < categories.len() {
            return None;
        }
        codes.push(f64::from(place));
    }
    Some((codes, Some(categories)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(view: &TableView, at: usize) -> f64 {
        let eight: [u8; 8] = view.bytes()[8 * at..8 * at + 8].try_into().unwrap();
        f64::from_le_bytes(eight)
    }

    #[test]
    fn values_stand_column_by_column() {
        let table = Table::from_columns([
            ("time_ns", Column::Float(vec![Some(1.5), None])),
            ("banks", Column::Int(vec![Some(8), Some(16)])),
            ("model", Column::Text(vec![Some("b".to_owned()), Some("a".to_owned())])),
            ("refresh", Column::Bool(vec![Some(true), None])),
        ]);
        let view = TableView::new(&table.unwrap()).unwrap();
        let spec = view.spec();
        assert_eq!(
            spec["columns"][0],
            json!({ "name": "time_ns", "unit": "ns", "categories": null, "flag": false })
        );
        assert_eq!(spec["columns"][2]["categories"], json!(["b", "a"]));
        assert_eq!((spec["rows"].as_u64(), view.bytes().len()), (Some(2), 64));
        assert_eq!((read(&view, 0), read(&view, 3), read(&view, 5), read(&view, 6)), (1.5, 16.0, 1.0, 1.0));
        assert!(read(&view, 1).is_nan() && read(&view, 7).is_nan());
    }

    #[test]
    fn what_is_no_picture_is_said() {
        let none = Table::from_columns([("a", Column::Int(Vec::new()))]).unwrap();
        assert!(TableView::new(&none).is_err());
        let texts = || Column::Text((0..=MOST_CATEGORIES).map(|it| Some(it.to_string())).collect());
        let one = Table::from_columns([("a", texts())]).unwrap();
        assert!(TableView::new(&one).err().unwrap().to_string().contains("different texts"));
        let numbers = Column::Int((0..=1000).map(Some).collect());
        let two = Table::from_columns([("remark", texts()), ("a", numbers)]).unwrap();
        let view = TableView::new(&two).unwrap();
        assert_eq!(view.spec()["left_out"], json!(["remark"]));
        assert_eq!(view.bytes().len(), 8 * 1001);
    }
}
