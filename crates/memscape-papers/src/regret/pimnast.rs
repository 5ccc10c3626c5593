//! PIMnast's tile shape, order and CR degree beside the best of all placements, matrix by
//! matrix, over memories and PIM units.

use memscape_explore::{Parameters, Sweep, Table};
use memscape_plot::Figure;
use memscape_systems::study;
use memscape_workload::{Model, Projections};
use serde_json::json;

use super::common::{Case, Machine, machine, spread, table as rows};
use crate::error::Error;
use crate::sets::note;

/// With layers of four kinds, all of which fit the smallest of the machines.
const MODELS: [&str; 12] = [
    "opt-125m",
    "opt-350m",
    "opt-1.3b",
    "opt-6.7b",
    "llama-2-7b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "qwen2.5-0.5b",
    "qwen2.5-7b",
    "qwen3-4b",
    "gemma-3-4b",
    "phi-3-mini",
];

fn machines() -> Vec<Machine> {
    vec![
        machine("As printed", []),
        machine("8 banks/channel", [("memory.banks_per_channel", json!(8))]),
        machine("32 banks/channel", [("memory.banks_per_channel", json!(32))]),
        machine("4 channels", [("memory.channels", json!(4))]),
        machine("8 registers", [("pim.registers", json!(8)), ("pim.input_registers", json!(4))]),
        machine("32 registers", [("pim.registers", json!(32)), ("pim.input_registers", json!(16))]),
        machine("16 channels", [("memory.channels", json!(16))]),
    ]
}

/// Each model with the matrices of a layer.
fn matrices() -> Result<Vec<(&'static str, &'static str)>, Error> {
    let mut all = Vec::new();
    for name in MODELS {
        let model = Model::named(name)?;
        all.extend(model.layer_gemvs(Projections::Merged).map(|it| (name, it.0.name())));
    }
    Ok(all)
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let matrices = matrices()?;
    note(["model", "gemv"]);
    let mut cases = Vec::new();
    for machine in machines() {
        let sweep = Sweep::of(machine.of(changed)).zip([
            ("model", matrices.iter().map(|it| it.0).collect::<Vec<_>>()),
            ("gemv", matrices.iter().map(|it| it.1).collect()),
        ]);
        let answers = study("pim.regret")?.sweep(&sweep, &())?.without_errors()?;
        cases.extend(cases_of(machine.name, &answers)?);
    }
    rows("gemv", &cases)
}

fn cases_of(machine: &'static str, answers: &Table) -> Result<Vec<Case>, Error> {
    let text = |name: &str| -> Result<Vec<String>, Error> {
        Ok(answers.text(name)?.into_iter().map(Option::unwrap_or_default).collect())
    };
    let (models, gemvs) = (text("model")?, text("gemv")?);
    let (height, degree) = (text("chosen_m_tile")?, text("chosen_cr_degree")?);
    let (best_height, best_degree) = (text("best_m_tile")?, text("best_cr_degree")?);
    let (inputs, split, order) =
        (text("best_input_registers")?, text("best_split_k")?, text("best_placement")?);
    let (chosen_ns, best_ns) = (answers.f64("chosen_ns")?, answers.f64("best_ns")?);
    let case = |row: usize| {
        let (chosen_ns, best_ns) = (chosen_ns[row]?, best_ns[row]?);
        let chosen = format!("tile {}, degree {}", height[row], degree[row]);
        // Nothing is faster than what was chosen.
        let best = if chosen_ns <= best_ns {
            chosen.clone()
        } else if order[row] == "column-major" {
            order[row].clone()
        } else {
            let rest = (&best_height[row], &best_degree[row], &inputs[row], &split[row]);
            format!("tile {}, degree {}, inputs {}, split-K {}", rest.0, rest.1, rest.2, rest.3)
        };
        Some(Case {
            machine,
            model: models[row].clone(),
            of: gemvs[row].clone(),
            chosen,
            best,
            chosen_ns,
            best_ns,
        })
    };
    Ok((0..answers.height()).filter_map(case).collect())
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Best of every tile height, CR degree, division of the registers and split-K degree, the reduction of \
                   split-K charged; and column-major order.";
    Ok(spread(table)?.caption(caption))
}
