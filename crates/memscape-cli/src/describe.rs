//! Studies and presets, explained.

use std::io::Write;

use memscape::prelude::{preset, studies, study};
use memscape::{UnknownPreset, difference};
use serde_json::Value;

use crate::failure::Failure;

/// Prints a study's parameters and answer, or a preset's values with their sources.
pub fn describe(name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    // A study's name has a dot between system and question, and no preset is called so.
    match (study(name), preset(name)) {
        (Ok(study), _) => writeln!(out, "{}", study.describe())?,
        (Err(_), Ok(preset)) => {
            writeln!(out, "{}: {}\n", preset.name, preset.summary)?;
            let leaves = memscape::leaves(&preset.parameters);
            let path = width(leaves.iter().map(|(path, _)| path.as_str()));
            let texts: Vec<String> = leaves.iter().map(|(_, value)| text(value)).collect();
            let value = width(texts.iter().map(String::as_str));
            for ((name, _), shown) in leaves.iter().zip(&texts) {
                let source = preset.source(name).unwrap_or_default();
                writeln!(out, "{name:<path$}  {shown:<value$}  {source}")?;
            }
        }
        (Err(_), Err(unknown)) => return Err(Failure::of(neither(name, &unknown))),
    }
    Ok(())
}

/// Prints where two presets differ.
pub fn diff(a: &str, b: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let known = |name: &str| preset(name).map_err(|error: UnknownPreset| Failure::of(error));
    let (a, b) = (known(a)?, known(b)?);
    let rows: Vec<[String; 3]> = difference(&a, &b)
        .into_iter()
        .map(|it| [it.path, it.a.as_ref().map_or("-".into(), text), it.b.as_ref().map_or("-".into(), text)])
        .collect();
    if rows.is_empty() {
        return Ok(writeln!(out, "{} and {} have the same parameters", a.name, b.name)?);
    }
    let path = width(rows.iter().map(|it| it[0].as_str()));
    let value = width(rows.iter().map(|it| it[1].as_str()).chain([a.name.as_str()]));
    writeln!(out, "{:<path$}  {:<value$}  {}", "", a.name, b.name)?;
    for [name, of_a, of_b] in rows {
        writeln!(out, "{name:<path$}  {of_a:<value$}  {of_b}")?;
    }
    Ok(())
}

/// What is neither study nor preset may be a slip in either.
fn neither(name: &str, unknown: &UnknownPreset) -> String {
    let names = studies().iter().map(|it| it.name()).chain(unknown.available.iter().map(String::as_str));
    format!("there is no study or preset `{name}`{}", memscape::explore::hint(name, names))
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|it| it.chars().count()).max().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
