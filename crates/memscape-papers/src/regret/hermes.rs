//! Hermes' scheduler as it is printed (a partition that makes both sides level, then exchange
//! that always favours the GPU) beside the best of its own steps, and its offline partition
//! beside a bound that no partition passes.

use memscape_explore::{Column, Parameters, Table, read};
use memscape_ndp::scheduler::{Exchange, Strategy};
use memscape_ndp::{InferenceStudy, PartitionStudy};
use memscape_plot::Figure;
use memscape_study::Study;
use rayon::prelude::*;
use serde_json::json;

use super::common::{Case, Machine, machine, spread, table as rows};
use crate::error::Error;
use crate::sets::note;

const MODELS: [&str; 5] = ["opt-13b", "opt-30b", "llama-2-13b", "falcon-40b", "llama-2-70b"];

fn machines() -> Vec<Machine> {
    vec![
        machine("As printed", []),
        machine("16 DIMMs", [("dimms", json!(16))]),
        machine("Tesla T4", [("gpu", json!("tesla-t4"))]),
        machine("64 multipliers", [("dimm.multipliers", json!(64))]),
        machine("Batch 8", [("batch", json!(8))]),
    ]
}

/// The models whose offline partition is held to its bound: of larger ones that takes seconds.
const PARTITIONED: [&str; 2] = ["opt-13b", "llama-2-13b"];

/// The steps that a machine can take, with the exchange that each may have.
const CHOICES: [(Strategy, Exchange); 6] = [
    (Strategy::Partition, Exchange::Unchecked),
    (Strategy::Partition, Exchange::UntilLevel),
    (Strategy::Adjustment, Exchange::Unchecked),
    (Strategy::Adjustment, Exchange::UntilLevel),
    (Strategy::Full, Exchange::Unchecked),
    (Strategy::Full, Exchange::UntilLevel),
];
/// All of Hermes, as printed.
const PRINTED: (Strategy, Exchange) = (Strategy::Full, Exchange::Unchecked);

const fn words((strategy, exchange): (Strategy, Exchange)) -> &'static str {
    match (strategy, exchange) {
        (Strategy::Partition, Exchange::Unchecked) => "partition until level",
        (Strategy::Partition, Exchange::UntilLevel) => "partition, GPU filled",
        (Strategy::Adjustment, Exchange::Unchecked) => "exchange as printed, DIMMs not levelled",
        (Strategy::Adjustment, Exchange::UntilLevel) => "exchange until level, DIMMs not levelled",
        (_, Exchange::Unchecked) => "all, exchange as printed",
        (_, Exchange::UntilLevel) => "all, exchange until level",
    }
}

/// A case, and what the offline partition lacks to its bound, in per cent, where that is asked.
type Found = (Case, Option<f64>);

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    note(["model", "strategy", "exchange"]);
    let mut asked = Vec::new();
    for machine in machines() {
        for model in MODELS {
            let mut parameters = machine.of(changed);
            parameters.insert("model".to_owned(), model.into());
            asked.push((
                machine.name,
                model,
                read::<InferenceStudy>(&parameters)?,
                read::<PartitionStudy>(&parameters)?,
            ));
        }
    }
    let found: Vec<Found> = asked
        .into_par_iter()
        .with_max_len(1)
        .map(|(machine, model, study, partition)| case(machine, model, &study, &partition))
        .collect::<Result<_, _>>()?;
    let (cases, gaps): (Vec<Case>, Vec<Option<f64>>) = found.into_iter().unzip();
    Ok(rows("token", &cases)?.with_column("partition_over_bound_percent", Column::Float(gaps))?)
}

fn case(
    machine: &'static str,
    model: &str,
    study: &InferenceStudy,
    partition: &PartitionStudy,
) -> Result<Found, Error> {
    let asked = PARTITIONED.contains(&model).then(|| partition.answer().map_err(Error::no_answer));
    let gap = asked.transpose()?.map(|it| 100.0 * it.gap);
    let time = |(strategy, exchange)| {
        let study = InferenceStudy { strategy, exchange, ..study.clone() };
        Ok::<_, Error>(study.answer().map_err(Error::no_answer)?.headline.token_ns)
    };
    let chosen_ns = time(PRINTED)?;
    let mut best = (chosen_ns, PRINTED);
    for choice in CHOICES.into_iter().filter(|it| *it != PRINTED) {
        let own = time(choice)?;
        if own < best.0 {
            best = (own, choice);
        }
    }
    let found = Case {
        machine,
        model: model.to_owned(),
        of: "mean of the reply".to_owned(),
        chosen: words(PRINTED).to_owned(),
        best: words(best.1).to_owned(),
        chosen_ns,
        best_ns: best.0,
    };
    Ok((found, gap))
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let caption = "Best: partition alone, with exchange, or with DIMMs levelled as well; exchange as printed or only until \
                   both sides are level. The table has how far the offline partition is from its bound.";
    Ok(spread(table)?.caption(caption))
}
