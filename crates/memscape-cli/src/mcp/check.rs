//! Whether a tool's arguments are what its schema says, told so that who asks can mend them.

use memscape::study::Unknown;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Holds arguments against a schema, as far as those of the tools go: objects with names, lists, texts,
/// numbers, and what may be left out.
///
/// # Errors
/// [`Failure::BadInput`] names the argument, what was given, and what it can be.
pub fn check(tool: &str, schema: &Value, given: &Value) -> Result<(), Failure> {
    fits("", schema, given).map_err(|problem| Failure::BadInput(format!("`{tool}`: {problem}")))
}

fn fits(path: &str, schema: &Value, given: &Value) -> Result<(), String> {
    let kinds = kinds(schema);
    if given.is_null() && kinds.contains(&"null") {
        return Ok(());
    }
    let schema = real(schema);
    let kind = kinds.iter().find(|it| **it != "null").copied().unwrap_or_default();
    let is_it = match kind {
        "object" => given.is_object(),
        "array" => given.is_array(),
        "string" => given.is_string(),
        "integer" => given.is_i64() || given.is_u64(),
        "number" => given.is_number(),
        "boolean" => given.is_boolean(),
        _ => true,
    };
    if !is_it {
        let what = if path.is_empty() { "what is asked".to_owned() } else { format!("`{path}`") };
        return Err(format!("{what} is {}, but {} is wanted", shortened(given), words(kind)));
    }
    match given {
        Value::Object(given) => named(path, schema, given),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .try_for_each(|(at, it)| fits(&format!("{path}[{at}]"), &schema["items"], it)),
        Value::String(given) => listed(path, schema, given),
        Value::Number(given) => within(path, schema, given.as_f64().unwrap_or_default()),
        _ => Ok(()),
    }
}

/// An object: no argument that there is none of, and all that must be there.
fn named(path: &str, schema: &Value, given: &Map<String, Value>) -> Result<(), String> {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, value) in given {
        let Some(schema) = properties.get(name) else {
            let known: Vec<String> = properties.keys().map(|it| below(it)).collect();
            return Err(Unknown::new("argument", below(name), known.iter().map(String::as_str)).to_string());
        };
        fits(&below(name), schema, value)?;
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            let about = properties.get(name).and_then(|it| it["description"].as_str()).unwrap_or_default();
            return Err(format!("it lacks `{}`: {about}", below(name)));
        }
    }
    Ok(())
}

/// A text out of a list.
fn listed(path: &str, schema: &Value, given: &str) -> Result<(), String> {
    let known: Vec<&str> =
        schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if known.is_empty() || known.contains(&given) {
        return Ok(());
    }
    Err(format!("`{path}` cannot be `{given}`{}", Unknown::new("", given, known).hint()))
}

/// A number between bounds.
fn within(path: &str, schema: &Value, given: f64) -> Result<(), String> {
    let bound = |name: &str| schema[name].as_f64();
    if let Some(least) = bound("minimum").filter(|it| given < *it) {
        return Err(format!("`{path}` is {given}, but must be at least {least}"));
    }
    if let Some(most) = bound("maximum").filter(|it| given > *it) {
        return Err(format!("`{path}` is {given}, but must be at most {most}"));
    }
    Ok(())
}

/// What a schema says of what may be null.
fn real(schema: &Value) -> &Value {
    let any = schema["anyOf"].as_array().into_iter().flatten().find(|it| it["type"] != "null");
    any.unwrap_or(schema)
}

/// The types that a schema allows.
fn kinds(schema: &Value) -> Vec<&str> {
    match (&schema["anyOf"], &schema["type"]) {
        (Value::Array(any), _) => any.iter().flat_map(kinds).collect(),
        (_, Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        (_, kind) => kind.as_str().into_iter().collect(),
    }
}

fn words(kind: &str) -> &str {
    match kind {
        "object" => "an object",
        "array" => "a list",
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        other => other,
    }
}

/// A value as it was given, if that is short.
fn shortened(given: &Value) -> String {
    let text = given.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(40).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "literals")]
    fn told(given: Value) -> String {
        let schema = json!({
            "type": "object",
            "properties": {
                "space": { "anyOf": [
                    { "type": "object", "properties": { "axes": { "type": "object" } }, "required": ["axes"] },
                    { "type": "null" },
                ] },
                "minimize": { "type": "array", "items": { "type": "string" } },
                "of": { "type": "string", "enum": ["studies", "papers"] },
                "seed": { "type": ["integer", "null"], "minimum": 0 },
                "output": { "type": "string", "description": "The table to write" },
            },
            "required": ["output"],
        });
        check("sweep", &schema, &given).map_or_else(|it| it.to_string(), |()| String::new())
    }

    #[test]
    fn what_fits_says_nothing() {
        assert_eq!(told(json!({ "output": "a.csv", "space": null, "seed": null })), "");
        assert_eq!(
            told(json!({ "output": "a.csv", "space": { "axes": { "x": [1] } }, "minimize": ["y"] })),
            ""
        );
    }

    #[test]
    fn what_does_not_is_named_with_what_is_wanted() {
        let with = |more: Value| {
            let mut given = json!({ "output": "a.csv" });
            given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            told(given)
        };
        assert_eq!(told(json!({})), "`sweep`: it lacks `output`: The table to write");
        assert_eq!(told(json!(3)), "`sweep`: what is asked is 3, but an object is wanted");
        let axis = with(json!({ "space": { "axis": {} } }));
        assert_eq!(axis, "`sweep`: there is no argument `space.axis`; did you mean `space.axes`?");
        assert!(with(json!({ "space": {} })).starts_with("`sweep`: it lacks `space.axes`"));
        let text = with(json!({ "minimize": "y" }));
        assert_eq!(text, "`sweep`: `minimize` is \"y\", but a list is wanted");
        assert_eq!(with(json!({ "minimize": [1] })), "`sweep`: `minimize[0]` is 1, but a text is wanted");
        let of = with(json!({ "of": "study" }));
        assert_eq!(of, "`sweep`: `of` cannot be `study`; there are `studies`, `papers`");
        assert_eq!(with(json!({ "seed": -1 })), "`sweep`: `seed` is -1, but must be at least 0");
        assert_eq!(with(json!({ "seed": 1.5 })), "`sweep`: `seed` is 1.5, but a whole number is wanted");
    }
}
