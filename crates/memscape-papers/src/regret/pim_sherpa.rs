//! PIM-SHERPA's double buffering as it is printed (FF0 copied in quarters beside Q, K, V and O,
//! four cores multiply, two copy) beside the best of all: both schemes, both ways to divide
//! FF0, and every use of the cores.

use std::num::{NonZeroU32, NonZeroU64};

use memscape_explore::{Parameters, Table, read};
use memscape_ondevice::PrefillStudy;
use memscape_ondevice::hardware::{Cores, Cpu};
use memscape_ondevice::mapping::Scheme;
use memscape_ondevice::mapping::stages::Split;
use memscape_plot::Figure;
use memscape_study::Study;
use memscape_workload::Model;
use rayon::prelude::*;

use super::common::{Case, spread, table as rows};
use crate::error::Error;
use crate::sets::note;
use crate::sweeps::for_study;

const MODELS: [&str; 8] = [
    "llama-3.2-1b",
    "llama-3.2-3b",
    "qwen2.5-0.5b",
    "qwen2.5-1.5b",
    "qwen3-0.6b",
    "qwen3-1.7b",
    "gemma-3-1b",
    "opt-1.3b",
];
const PROMPTS: [u64; 5] = [32, 64, 128, 256, 512];

/// A phone: rates over those of the paper's.
struct Machine {
    name: &'static str,
    compute: f64,
    copy: f64,
    memory: f64,
}

const MACHINES: [Machine; 7] = [
    Machine { name: "As printed", compute: 1.0, copy: 1.0, memory: 1.0 },
    Machine { name: "Half compute", compute: 0.5, copy: 1.0, memory: 1.0 },
    Machine { name: "Twice compute", compute: 2.0, copy: 1.0, memory: 1.0 },
    Machine { name: "4× compute", compute: 4.0, copy: 1.0, memory: 1.0 },
    Machine { name: "Half copy rate", compute: 1.0, copy: 0.5, memory: 1.0 },
    Machine { name: "Twice copy rate", compute: 1.0, copy: 2.0, memory: 1.0 },
    Machine { name: "Half bandwidth", compute: 1.0, copy: 1.0, memory: 0.5 },
];

impl Machine {
    fn of(&self, phone: &PrefillStudy) -> PrefillStudy {
        let mut study = phone.clone();
        study.cpu.copy_gb_s *= self.copy;
        for cores in [&mut study.cpu.big, &mut study.cpu.middle_high, &mut study.cpu.middle_low] {
            cores.peak_gflops *= self.compute;
        }
        // Software for faster cores keeps weights for more tokens.
        study.cpu.gemm_block_tokens = (study.cpu.gemm_block_tokens * self.compute).max(1.0);
        study.cpu.memory_efficiency *= self.memory;
        study
    }
}

/// Every division of one kind of cores: so many multiply, the others copy or, where nothing is
/// copied meanwhile, wait.
fn divisions(of: Cores) -> impl Iterator<Item = Cores> + Clone {
    (0..=of.cores).map(move |gemm_threads| Cores {
        gemm_threads,
        copy_threads: of.cores - gemm_threads,
        ..of
    })
}

/// Every use of the cores, with copies beside GEMM (DDB) and before it (OWR). The model refuses a
/// phone without copy threads, so that OWR multiplies with all cores but one at the most.
fn choices(study: &PrefillStudy) -> Vec<PrefillStudy> {
    let Cpu { big, middle_high, middle_low, .. } = study.cpu;
    let cores = big.cores + middle_high.cores + middle_low.cores;
    let mut all = Vec::new();
    for big in divisions(big) {
        for middle_high in divisions(middle_high) {
            for middle_low in divisions(middle_low) {
                let cpu = Cpu { big, middle_high, middle_low, ..study.cpu };
                for ff0_split in [Split::Equal, Split::ByCompute] {
                    all.push(PrefillStudy { scheme: Scheme::Ddb, ff0_split, cpu, ..study.clone() });
                }
                all.extend((1..=cores).filter_map(NonZeroU32::new).map(|owr_threads| {
                    let cpu = Cpu { owr_threads, ..cpu };
                    PrefillStudy { scheme: Scheme::Owr, cpu, ..study.clone() }
                }));
            }
        }
    }
    all
}

/// A choice in words: threads on each kind of cores, from fast to slow.
fn words(study: &PrefillStudy) -> String {
    let threads = |of: fn(&Cores) -> u32| study.cpu.kinds().map(|it| of(&it.1).to_string()).join("+");
    let gemm = threads(|it| it.gemm_threads);
    match (study.scheme, study.ff0_split) {
        (Scheme::Owr, _) => format!("OWR, GEMM {gemm}, copies {}", study.cpu.owr_threads),
        (_, Split::Equal) => format!("DDB, quarters, GEMM {gemm}, copies {}", threads(|it| it.copy_threads)),
        (_, Split::ByCompute) => {
            format!("DDB, by compute, GEMM {gemm}, copies {}", threads(|it| it.copy_threads))
        }
    }
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    note(["model", "prompt_tokens", "scheme", "ff0_split", "cpu"]);
    let phone: PrefillStudy = read(&for_study("ondevice.prefill", changed)?)?;
    let mut asked = Vec::new();
    for machine in &MACHINES {
        for name in MODELS {
            let own = PrefillStudy { model: Model::named(name)?, ..machine.of(&phone) };
            asked.extend(
                PROMPTS
                    .into_iter()
                    .filter_map(NonZeroU64::new)
                    .map(|prompt_tokens| (machine.name, name, PrefillStudy { prompt_tokens, ..own.clone() })),
            );
        }
    }
    let cases: Vec<Case> = asked
        .into_par_iter()
        .map(|(machine, model, study)| case(machine, model, &study))
        .collect::<Result<_, _>>()?;
    rows("prompt_tokens", &cases)
}

fn case(machine: &'static str, model: &str, study: &PrefillStudy) -> Result<Case, Error> {
    let printed = PrefillStudy { scheme: Scheme::Ddb, ff0_split: Split::Equal, ..study.clone() };
    let chosen_s = printed.answer().map_err(Error::no_answer)?.ttft_s;
    let mut best = (chosen_s, printed.clone());
    for choice in choices(study) {
        // A use of the cores that leaves GEMM or copies none has no answer.
        if let Ok(answer) = choice.answer()
            && answer.ttft_s < best.0
        {
            best = (answer.ttft_s, choice);
        }
    }
    Ok(Case {
        machine,
        model: model.to_owned(),
        of: study.prompt_tokens.to_string(),
        chosen: words(&printed),
        best: words(&best.1),
        chosen_ns: chosen_s * 1e9,
        best_ns: best.0 * 1e9,
    })
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Printed: DDB, FF0 in quarters beside Q, K, V and O, four cores multiply and two copy. Best: DDB or OWR, \
                   quarters or by compute time, and every division of the cores that leaves one to copy.";
    Ok(spread(table)?.caption(caption))
}
