//! The operators of a model one by one, on many platforms.

use std::num::NonZeroU64;

use memscape_explore::{Column, Control, Error, Table};
use memscape_study::{OperatorCost, Pass, Preset};
use memscape_workload::{Matrix, Model, Operator, OperatorKind, Projections, Reply, WeightFormat};
use serde_json::Value;

use crate::compare::{Workload, context_of, fastest, fits_context, given, misdescribed};
use crate::platform::Platform;
use crate::study;

/// What each platform's fastest way to answer takes, operator by operator: a row for each part of each
/// operator of the prompt and of a token, from the platform's own study. Those of a pass sum to its time.
///
/// `kind` is one of [`KINDS`], or [`REST`]. `operations` and `operations_per_byte` are the model's own (weights read once for all sequences, keys
/// and values of 16 bits), the same for all platforms but for the format; `least_ns` is what a
/// description alone leaves of an operator's time where it runs, `allowed_gops` the rate at it. All four
/// are null for what is no operator's. A platform that cannot run the model has one row, with `error`.
///
/// The table is not complete if it was cancelled.
///
/// # Errors
/// As of [`compare`](crate::compare::compare).
///
/// ```
/// use memscape_systems::compare::{Workload, platform};
/// use memscape_systems::operators::operators;
///
/// let soc = [platform(&"soc-lpddr5x".into())?];
/// let table = operators(&Workload::of("llama-3.2-1b"), &soc, &())?;
/// let token = table.filter("pass", "token")?.f64("part_ns")?;
/// assert!(token.into_iter().flatten().sum::<f64>() > 1e6, "more than a millisecond");
/// # Ok::<(), memscape_explore::Error>(())
/// ```
pub fn operators(
    workload: &Workload,
    platforms: &[Preset<Platform>],
    control: &dyn Control,
) -> Result<Table, Error> {
    let model = workload.check()?;
    let asked = workload.asked(platforms, &model)?;
    let mut rows = Rows::default();
    let mut complete = true;
    for (done, (platform, format)) in asked.iter().enumerate() {
        control.advanced(done as u64, asked.len() as u64);
        if control.cancelled() {
            complete = false;
            break;
        }
        match placed(workload, &model, &platform.parameters, format) {
            Ok(placed) => placed.iter().for_each(|it| rows.push(platform, format, it)),
            Err(error @ Error::UnknownParameter { .. }) => return Err(misdescribed(platform, &error)),
            Err(error) => rows.refused(platform, format, error.to_string()),
        }
    }
    let table = rows.table()?;
    Ok(if complete { table } else { table.interrupted() })
}

/// An operator of the model on a platform, and the work that it is by the model alone.
struct Placed {
    cost: OperatorCost,
    operations: f64,
    bytes: f64,
}

fn placed(
    workload: &Workload,
    model: &Preset<Value>,
    platform: &Platform,
    format: &str,
) -> Result<Vec<Placed>, Error> {
    fits_context(workload, context_of(model))?;
    let study = study(&platform.study)?;
    let (own, asked) = (given(platform), workload.parameters(format));
    let choice = fastest(platform, workload, format)?.choice;
    let costs = study.operators(&[&own, &choice, &asked])?;
    let work = Work::of(workload, &model.parameters, format)?;
    Ok(costs.iter().map(|it| work.placed(it, &costs)).collect())
}

/// What operators are to a model, in its order.
pub const KINDS: [&str; 4] = ["projections", "MLP", "attention", "LM head"];
/// What is none of these: norms, copies, handing work over.
pub const REST: &str = "rest";

fn kind(operator: &str) -> &'static str {
    let first = operator.split('+').next().unwrap_or_default();
    let first = first.strip_suffix("_window").unwrap_or(first);
    match Matrix::ALL.into_iter().find(|it| it.name() == first) {
        Some(Matrix::Qkv | Matrix::Q | Matrix::K | Matrix::V | Matrix::Out) => KINDS[0],
        Some(Matrix::GateUp | Matrix::Gate | Matrix::Up | Matrix::Down | Matrix::Fc1 | Matrix::Fc2) => {
            KINDS[1]
        }
        Some(Matrix::LmHead) => KINDS[3],
        None if ["attention_scores", "attention_values"].contains(&first) => KINDS[2],
        Some(Matrix::Router | Matrix::ProjectIn | Matrix::ProjectOut) | None => REST,
    }
}

const TEXTS: [&str; 8] = ["platform", "machine", "study", "format", "pass", "kind", "operator", "part"];
const NUMBERS: [&str; 7] =
    ["part_ns", "time_ns", "least_ns", "operations", "operations_per_byte", "attained_gops", "allowed_gops"];

/// A table in the making.
#[derive(Default)]
struct Rows {
    texts: [Vec<Option<String>>; TEXTS.len()],
    numbers: [Vec<Option<f64>>; NUMBERS.len()],
    errors: Vec<Option<String>>,
}

impl Rows {
    fn push(&mut self, platform: &Preset<Platform>, format: &str, placed: &Placed) {
        let Placed { cost, operations, bytes } = placed;
        let known = |it: f64| (it > 0.0).then_some(it);
        let over = |a: f64, b: f64| Some(known(a)? / known(b)?);
        let (time, least) = (cost.time_ns(), cost.least_ns);
        for (part, part_ns) in &cost.parts {
            let Platform { machine, study, .. } = &platform.parameters;
            let texts: [&str; TEXTS.len()] = [
                &platform.name,
                machine,
                study,
                format,
                cost.pass.name(),
                kind(&cost.operator),
                &cost.operator,
                part,
            ];
            let numbers = [
                Some(*part_ns),
                Some(time),
                known(least),
                known(*operations),
                over(*operations, *bytes),
                over(*operations, time),
                over(*operations, least),
            ];
            self.row(texts.map(Some), numbers, None);
        }
    }

    fn refused(&mut self, platform: &Preset<Platform>, format: &str, error: String) {
        let Platform { machine, study, .. } = &platform.parameters;
        let names: [&str; 4] = [&platform.name, machine, study, format];
        let mut texts = [None; TEXTS.len()];
        texts.iter_mut().zip(names).for_each(|(text, name)| *text = Some(name));
        self.row(texts, [None; NUMBERS.len()], Some(error));
    }

    fn row(
        &mut self,
        texts: [Option<&str>; TEXTS.len()],
        numbers: [Option<f64>; NUMBERS.len()],
        error: Option<String>,
    ) {
        self.texts.iter_mut().zip(texts).for_each(|(column, it)| column.push(it.map(str::to_owned)));
        self.numbers.iter_mut().zip(numbers).for_each(|(column, it)| column.push(it));
        self.errors.push(error);
    }

    fn table(self) -> Result<Table, Error> {
        let texts = TEXTS.into_iter().zip(self.texts.map(Column::Text));
        let numbers = NUMBERS.into_iter().zip(self.numbers.map(Column::Float));
        Table::from_columns(texts.chain(numbers).chain([("error", Column::Text(self.errors))]))
    }
}

/// The operators of the model, with matrices of one input merged and apart.
struct Work {
    operators: Vec<Known>,
    sequences: u64,
    model: Model,
    tokens: u64,
}

/// An operator of the model in a pass, and the bits that one instance's weights take.
struct Known {
    pass: Pass,
    operator: Operator,
    bits: u64,
}

impl Work {
    fn of(workload: &Workload, model: &Value, format: &str) -> Result<Self, Error> {
        let bad = |it: &dyn std::fmt::Display| Error::NoAnswer(it.to_string());
        let model: Model = serde_json::from_value(model.clone()).map_err(|it| bad(&it))?;
        let format: WeightFormat = format.parse().map_err(|it| bad(&it))?;
        let stored = format.of(&model).map_err(|it| bad(&it))?;
        let generated = NonZeroU64::new(workload.generated_tokens);
        let generated = generated.ok_or_else(|| bad(&"`generated_tokens` is 0"))?;
        let reply = Reply { prompt: workload.prompt_tokens, tokens: generated };
        let tokens = reply.prompt;
        let mut operators = Vec::new();
        for projections in [Projections::Merged, Projections::Separate] {
            let prompt = model.prefill_operators(tokens, projections).map_err(|it| bad(&it))?;
            let token = model.reply_operators(reply, projections);
            let known = |pass| {
                let stored = &stored;
                move |operator: Operator| Known { pass, bits: stored.operator_bits(&operator), operator }
            };
            let new = prompt.into_iter().map(known(Pass::Prompt));
            let new = new.chain(token.map_err(|it| bad(&it))?.into_iter().map(known(Pass::Token)));
            // What both have is there already. Experts come twice under one name.
            let new = new.filter(|it| projections == Projections::Merged || is_apart(it.operator.name));
            operators.extend(new.collect::<Vec<_>>());
        }
        Ok(Self { operators, sequences: workload.batch, model, tokens })
    }

    /// * `all`: what the study tells of, of which `cost` is one
    #[expect(clippy::cast_precision_loss, reason = "operations and bytes, compared over decades")]
    fn placed(&self, cost: &OperatorCost, all: &[OperatorCost]) -> Placed {
        let sequences = self.sequences as f64;
        let tokens = if cost.pass == Pass::Prompt { self.tokens } else { 1 };
        let (mut operations, mut bytes) = (0.0, 0.0);
        let names = || cost.operator.split('+');
        for Known { pass, operator: it, bits } in &self.operators {
            if *pass != cost.pass || !names().any(|name| is_of(it, name, cost.pass, all)) {
                continue;
            }
            let matrix = it.kind == OperatorKind::Matrix;
            let reads = if matrix { self.model.weight_reads(it, tokens, self.sequences) } else { 0.0 };
            let weights = *bits as f64 / 8.0 * reads;
            let cache = (it.kv_read_elements + it.kv_written_elements) as f64 * KV_BYTES * sequences;
            operations += it.count as f64 * it.operations as f64 * sequences;
            bytes += it.count as f64 * (weights + cache);
        }
        Placed { cost: cost.clone(), operations, bytes }
    }
}

/// Whether an operator of the model is the one that a study calls so: layers with a window have names of their
/// own in the model, and in some studies.
fn is_of(it: &Operator, name: &str, pass: Pass, all: &[OperatorCost]) -> bool {
    let apart =
        || all.iter().any(|other| other.pass == pass && other.operator.split('+').any(|own| own == it.name));
    it.name == name || (it.name.strip_suffix("_window") == Some(name) && !apart())
}

/// A key or value of 16 bits.
const KV_BYTES: f64 = 2.0;

/// Whether matrices of this name are part of a merged one.
fn is_apart(name: &str) -> bool {
    [Matrix::Q, Matrix::K, Matrix::V, Matrix::Gate, Matrix::Up].iter().any(|it| it.name() == name)
}
