//! Studies and presets, explained.

use std::io::Write;
use std::path::Path;

use memscape::prelude::{Preset, preset, presets, registry, study};
use memscape::{difference, leaves, neither};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Prints a study's parameters and answer, or a preset's values and facts with their sources.
pub fn describe(name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    // A study's name has a dot between system and question, and no preset is called so.
    if let Ok(study) = study(name) {
        return Ok(writeln!(out, "{}", study.describe())?);
    }
    let preset = known(name).map_err(|error| match registry().preset(name) {
        // Neither a file nor a name.
        Err(_) if !Path::new(name).exists() && names_a_file(name) => {
            Failure::BadInput(format!("there is no file `{name}`, and no study or preset is called so"))
        }
        Err(_) if !Path::new(name).exists() => Failure::of(neither(name)),
        _ => error,
    })?;
    writeln!(out, "{}: {}\n", preset.name, preset.summary)?;
    let leaves = [leaves(&preset.parameters), leaves(&json!({ "facts": preset.facts }))].concat();
    let path = width(leaves.iter().map(|(path, _)| path.as_str()));
    let texts: Vec<String> = leaves.iter().map(|(_, value)| text(value)).collect();
    let value = width(texts.iter().map(String::as_str));
    for ((name, _), shown) in leaves.iter().zip(&texts) {
        let source = preset.source(name).unwrap_or_default();
        writeln!(out, "{}", format!("{name:<path$}  {shown:<value$}  {source}").trim_end())?;
    }
    Ok(())
}

/// Prints where two presets differ.
pub fn diff(a: &str, b: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let (a, b) = (known(a)?, known(b)?);
    let of_b = leaves(&b.parameters);
    if leaves(&a.parameters).iter().all(|(path, _)| of_b.iter().all(|it| it.0 != *path)) {
        return Err(Failure::BadInput(format!(
            "`{}` and `{}` have no parameter in common; compare descriptions of one kind (`memscape presets` lists them)",
            a.name, b.name
        )));
    }
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

/// Lists all presets, or those of one kind.
pub fn list_presets(kind: Option<&str>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut rows = presets();
    if let Some(kind) = kind {
        let catalog = registry().catalog(kind).map_err(Failure::of)?;
        rows.retain(|it| catalog.presets().iter().any(|its| std::ptr::eq(its, it.1)));
    }
    let kinds = width(rows.iter().map(|it| it.0.as_str()));
    let names = width(rows.iter().map(|it| it.1.name.as_str()));
    for (kind, preset) in rows {
        writeln!(out, "{kind:<kinds$}  {:<names$}  {}", preset.name, preset.summary)?;
    }
    Ok(())
}

/// Prints the form of a catalog's descriptions as JSON Schema.
pub fn schema(kind: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let schema = registry().catalog(kind).map_err(Failure::of)?.schema();
    Ok(writeln!(out, "{schema:#}")?)
}

/// It ends as files of descriptions do, or is in a folder.
fn names_a_file(name: &str) -> bool {
    let ends = Path::new(name).extension();
    let reads = |it: &str| ends.is_some_and(|end| end.eq_ignore_ascii_case(it));
    name.contains(std::path::MAIN_SEPARATOR)
        || registry().catalogs().iter().any(|catalog| catalog.takes().extensions.into_iter().any(reads))
}

fn known(name: &str) -> Result<Preset<Value>, Failure> {
    preset(name).map_err(Failure::of)
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|it| it.chars().count()).max().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
