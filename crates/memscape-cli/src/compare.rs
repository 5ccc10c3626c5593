//! `memscape compare`.

use std::io::Write;
use std::path::Path;

use memscape::explore::{Origin, Table};
use memscape::systems::compare::{self, platform, platforms};
use memscape::systems::operators::operators;
use serde_json::json;

use crate::args::Workload;
use crate::failure::Failure;
use crate::keep::keep;
use crate::parameters::read;
use crate::progress::{Progress, save_when_interrupted};
use crate::read::check_table;
use crate::show::show;

/// What a terminal shows of each row.
const SHOWN: [&str; 10] = [
    "platform",
    "format",
    "ttft_s",
    "token_ns",
    "tokens_per_s",
    "total_s",
    "memory_bytes",
    "bound_by",
    "energy_per_token_j",
    "energy_boundary",
];

/// The same of each part of an operator.
const PARTS: [&str; 8] =
    ["platform", "pass", "operator", "part", "part_ns", "least_ns", "attained_gops", "allowed_gops"];

/// Asks platforms for the same prompt and reply, as a whole or operator by operator.
pub fn compare(
    names: &[String],
    workload: Workload,
    by_operator: bool,
    table: Option<&Path>,
    quiet: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Failure> {
    check_table(table, "compare")?;
    let found = names.iter().map(|it| platform(&it.as_str().into())).collect::<Result<Vec<_>, _>>();
    let asked = if names.is_empty() { platforms() } else { found.map_err(Failure::of)? };
    let Workload { model, prompt_tokens, generated_tokens, batch, formats } = workload;
    // A table in the place of a name.
    let model = match model.starts_with('{').then(|| read(&model)) {
        Some(table) if table.is_object() => table,
        Some(_) => {
            let problem = format!("`--model` {model}: it begins like a table, but is none of TOML or JSON");
            return Err(Failure::BadInput(problem));
        }
        None => model.into(),
    };
    let question = compare::Workload { model, prompt_tokens, generated_tokens, batch, formats };
    save_when_interrupted();
    let progress = Progress::new("compare", quiet);
    let ask = if by_operator { operators } else { compare::compare };
    let found = ask(&question, &asked, &progress);
    drop(progress);
    let found = found.map_err(Failure::of)?;
    if let Some(path) = table {
        let names: Vec<&str> = asked.iter().map(|it| it.name.as_str()).collect();
        let told = json!({ "workload": question, "platforms": names, "operators": by_operator });
        keep(&found, &Origin::of_command("compare", told), path, quiet, err)?;
    }
    let shown: &[&str] = if by_operator { &PARTS } else { &SHOWN };
    show(&found, shown, found.height(), out)?;
    if table.is_none() && !by_operator {
        writeln!(
            out,
            "the table has {} columns, among them what each platform assumes, energy's ends and grade, and cost; write \
             it with -o",
            found.column_names().len()
        )?;
    }
    reasons(&found, out)?;
    if found.is_complete() { Ok(()) } else { Err(Failure::Interrupted) }
}

/// Why platforms have no answer.
fn reasons(found: &Table, out: &mut dyn Write) -> Result<(), Failure> {
    let [platforms, errors] = ["platform", "error"].map(|it| found.text(it));
    let (platforms, errors) = (platforms.map_err(Failure::of)?, errors.map_err(Failure::of)?);
    for (platform, error) in platforms.iter().zip(&errors) {
        if let (Some(platform), Some(error)) = (platform, error) {
            writeln!(out, "\n{platform}: {error}")?;
        }
    }
    Ok(())
}
