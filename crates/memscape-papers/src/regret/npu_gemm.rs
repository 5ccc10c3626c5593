//! The balanced design of each NPU, one for all sizes, beside the best designs for the products
//! of a prompt, over NPUs and models.

use std::num::{NonZeroU16, NonZeroU64};

use memscape_explore::{Parameters, Table, read};
use memscape_npu::best::{Demanded, Designs};
use memscape_npu::study::balance::Iteration;
use memscape_npu::study::workload::Strategy;
use memscape_npu::{BalanceStudy, Device, Precision, Tile, WorkloadStudy};
use memscape_plot::Figure;
use memscape_study::{Study, StudyError};
use memscape_workload::Model;
use rayon::prelude::*;
use serde_json::json;

use super::common::{Case, spread, table as rows};
use crate::error::Error;
use crate::sets::note;
use crate::sweeps::for_preset;

const MODELS: [&str; 6] =
    ["llama-3.2-1b", "llama-3.2-3b", "llama-2-7b", "qwen2.5-0.5b", "qwen2.5-7b", "gemma-3-4b"];
const PROMPTS: [u64; 3] = [64, 512, 2048];
const PRECISION: Precision = Precision::Int8Int16;

/// An NPU, and what is changed of it: factors over the paper's.
struct Machine {
    name: &'static str,
    npu: &'static str,
    /// Rates of reads and of the DRAM.
    dram: f64,
    /// Memory of a core.
    l1: f64,
}

const MACHINES: [Machine; 8] = [
    Machine { name: "XDNA as printed", npu: "xdna", dram: 1.0, l1: 1.0 },
    Machine { name: "XDNA, half DRAM", npu: "xdna", dram: 0.5, l1: 1.0 },
    Machine { name: "XDNA, twice DRAM", npu: "xdna", dram: 2.0, l1: 1.0 },
    Machine { name: "XDNA, half L1", npu: "xdna", dram: 1.0, l1: 0.5 },
    Machine { name: "XDNA2 as printed", npu: "xdna2", dram: 1.0, l1: 1.0 },
    Machine { name: "XDNA2, half DRAM", npu: "xdna2", dram: 0.5, l1: 1.0 },
    Machine { name: "XDNA2, twice DRAM", npu: "xdna2", dram: 2.0, l1: 1.0 },
    Machine { name: "XDNA2, half L1", npu: "xdna2", dram: 1.0, l1: 0.5 },
];

/// The search for the design that balances a machine, as the paper goes about it.
fn balance(changed: &Parameters, machine: &Machine) -> Result<BalanceStudy, Error> {
    note(["device", "precision", "iteration"]);
    let mut parameters = for_preset(changed, machine.npu);
    parameters.extend([
        ("device".to_owned(), json!(machine.npu)),
        ("precision".to_owned(), json!(PRECISION)),
        ("iteration".to_owned(), json!(Iteration::UntilComputeBound)),
    ]);
    let as_printed: BalanceStudy = read(&parameters)?;
    let Device { dram, l1_bytes, .. } = as_printed.device;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    let scaled = |of: f64, factor: f64| json!((of * factor) as u64);
    let l1 = scaled(f64::from(l1_bytes.get()), machine.l1);
    let data_rate = json!(dram.data_rate_mt_s.as_f64() * machine.dram);
    parameters.extend([
        ("device.dram.read_gb_s".to_owned(), json!(dram.read_gb_s.as_f64() * machine.dram)),
        ("device.dram.data_rate_mt_s".to_owned(), data_rate),
        ("device.l1_bytes".to_owned(), l1),
    ]);
    Ok(read(&parameters)?)
}

/// A prompt's products with the design that balances this machine.
fn balanced(changed: &Parameters, machine: &Machine) -> Result<WorkloadStudy, Error> {
    let balance = balance(changed, machine)?;
    let found = balance.answer().map_err(Error::no_answer)?;
    let side = |it: u32| {
        let side = u16::try_from(it).ok().and_then(NonZeroU16::new);
        side.ok_or_else(|| Error::no_answer(format!("no tile has a side of {it}")))
    };
    let BalanceStudy { device, precision, b_layout, output_buffers, .. } = balance;
    let BalanceStudy { l1_rule, bd_reconfiguration, bds_in_flight, engine, .. } = balance;
    Ok(WorkloadStudy {
        // The head of one position is no product of the kind that is balanced for.
        lm_head: false,
        device,
        precision,
        m_ct: side(found.m_ct)?,
        k_ct: side(found.k_ct)?,
        n_ct: side(found.n_ct)?,
        k_mt: side(found.k_mt)?,
        b_layout,
        output_buffers,
        l1_rule,
        bd_reconfiguration,
        bds_in_flight,
        engine,
        ..WorkloadStudy::default()
    })
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let mut asked = Vec::new();
    for machine in &MACHINES {
        let study = balanced(changed, machine)?;
        for model in MODELS {
            let own = WorkloadStudy { model: Model::named(model)?, ..study };
            asked.extend(
                PROMPTS
                    .into_iter()
                    .filter_map(NonZeroU64::new)
                    .map(|prompt_tokens| (machine.name, model, WorkloadStudy { prompt_tokens, ..own })),
            );
        }
    }
    let cases: Vec<Case> = asked
        .into_par_iter()
        .with_max_len(1)
        .map(|(machine, model, study)| case(machine, model, &study).map_err(Error::no_answer))
        .collect::<Result<_, _>>()?;
    rows("prompt_tokens", &cases)
}

fn case(machine: &'static str, model: &str, balanced: &WorkloadStudy) -> Result<Case, StudyError> {
    let chosen = balanced.answer()?;
    let best = WorkloadStudy { strategy: Strategy::BestPerSize, ..*balanced }.answer()?;
    let tile = |m, k, n| format!("{m}x{k}x{n} for all");
    let [m, k, n] = [balanced.m_ct, balanced.k_ct, balanced.n_ct].map(|it| u32::from(it.get()));
    let design = tile(m, k, n);
    let is_best = chosen.time_ns <= best.time_ns;
    let other = match best.reconfigurations {
        0 => best_for_all(balanced).map(|it| tile(it.m, it.k, it.n)),
        times => Some(format!("several designs, {times} reconfigurations")),
    };
    Ok(Case {
        machine,
        model: model.to_owned(),
        of: balanced.prompt_tokens.to_string(),
        best: if is_best { design.clone() } else { other.unwrap_or_default() },
        chosen: design,
        chosen_ns: chosen.time_ns,
        best_ns: best.time_ns.min(chosen.time_ns),
    })
}

/// The tile of the one design that computes all products in the least time.
fn best_for_all(study: &WorkloadStudy) -> Option<Tile> {
    let products = study.model.layer_gemvs(study.projections);
    let gemms: Vec<_> = products.map(|it| study.gemm(study.prompt_tokens, it.1)).collect();
    let first = gemms.first()?;
    let designs =
        Designs { device: &first.device, base: first.design(), k_mt_steps: None, engine: first.engine };
    let count = u64::from(study.model.layers);
    let demanded: Vec<_> =
        gemms.iter().map(|it| Demanded { size: it.size(), count, short: 0, b_share: 1.0 }).collect();
    let best = designs.shared(&demanded).ok()?.pop()??;
    Some(best.0.tile)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Balanced as printed for a product of 4K on each machine; best: the assignment of designs to products \
                   that takes the least time, reconfiguration included.";
    Ok(spread(table)?.caption(caption))
}
