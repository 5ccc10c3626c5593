//! `path=value` as on the command line.

use memscape::prelude::Parameters;
use serde_json::Value;

use crate::failure::Failure;

/// Reads each `path=value`: TOML values, objects and lists as in JSON, and `null`; what is none of them is
/// a text.
pub fn parse(given: &[String]) -> Result<Parameters, Failure> {
    let mut all = Parameters::new();
    for (path, value) in given.iter().map(|it| one(it)).collect::<Result<Vec<_>, _>>()? {
        if let Some(first) = all.insert(path.clone(), value.clone()) {
            return Err(Failure::BadInput(format!(
                "`{path}` is given twice, as {first} and {value}; leave out one"
            )));
        }
    }
    Ok(all)
}

fn one(given: &str) -> Result<(String, Value), Failure> {
    match given.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => Ok((path.trim().to_owned(), read(value.trim()))),
        _ => Err(Failure::BadInput(format!(
            "`{given}` is no parameter; write it as `path=value`, for example `split_k=4`"
        ))),
    }
}

/// A value, or a text.
pub fn read(value: &str) -> Value {
    if value == "null" {
        return Value::Null;
    }
    let table: Result<toml::Table, _> = toml::from_str(&format!("value = {value}"));
    // More than one key means that the text went on after the value.
    let read = table.ok().filter(|it| it.len() == 1).and_then(|mut it| it.remove("value"));
    let read = read.filter(|it| !matches!(it, toml::Value::Datetime(_)));
    match read {
        // JSON has neither, and would silently make them null.
        Some(toml::Value::Float(it)) if !it.is_finite() => Value::String(value.to_owned()),
        Some(it) => serde_json::to_value(it).unwrap_or_else(|_| Value::String(value.to_owned())),
        // TOML's whole numbers end at 2^63.
        None => {
            let number = || value.parse::<u64>().ok().map(Value::from);
            let json =
                || serde_json::from_str(value).ok().filter(|it: &Value| it.is_object() || it.is_array());
            number().or_else(json).unwrap_or_else(|| Value::String(value.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{parse, read};

    #[test]
    fn values_are_toml_or_else_text() {
        assert_eq!(read("8"), json!(8));
        assert_eq!(read("1.5"), json!(1.5));
        assert_eq!(read("9223372036854775808"), json!(9_223_372_036_854_775_808_u64));
        assert_eq!(read("true"), json!(true));
        assert_eq!(read("[1, 2]"), json!([1, 2]));
        assert_eq!(read("\"8\""), json!("8"));
        assert_eq!(read(r#"{"layers": 8}"#), json!({ "layers": 8 }));
        assert_eq!(read("{ layers = 8 }"), json!({ "layers": 8 }));
        assert_eq!(read("{layers: 8}"), json!("{layers: 8}"));
        assert_eq!(read("opt-6.7b"), json!("opt-6.7b"));
        assert_eq!(read("nan"), json!("nan"));
        assert_eq!(read("null"), json!(null));
        assert_eq!(read(""), json!(""));
        assert_eq!(read("1\nb = 2"), json!("1\nb = 2"));
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        assert!(parse(&["memory.banks_per_channel=8".to_owned()]).is_ok());
        for bad in ["split_k", "=4", ""] {
            assert!(parse(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
