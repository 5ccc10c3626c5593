//! What platforms attain on prompts and tokens, over operations per byte of weights, under
//! what their descriptions alone allow. Studies answer with the time of a whole prompt or
//! token, not of its operators: each is one point.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Axis, Figure, Fill, Lines};
use memscape_study::{Bound, Limited, Preset};
use memscape_systems::compare::{Workload, bounds, platforms};
use memscape_systems::platform::Platform;
use memscape_workload::{Format, Operator, Projections};

use super::common::{MODEL, ask, colour, machines_with, question};
use crate::error::Error;

/// Tokens of prompts: operations per byte grow with them.
const PROMPTS: [u64; 7] = [1, 4, 16, 64, 256, 1024, 4096];
/// The reply whose tokens are drawn: its mean context is prompt and half of the reply.
const TOKEN: (u64, u64) = (512, 128);

/// A prompt or a token of it: what the model computes, and the columns that time it.
struct Pass {
    name: &'static str,
    question: Workload,
    operations: f64,
    /// Weights of matrices that it reads once.
    weights: f64,
    /// The column with its time, and that column's unit in seconds.
    time: (&'static str, f64),
}

fn passes(changed: &Parameters) -> Result<Vec<Pass>, Error> {
    let own = ["prompt_tokens", "generated_tokens", "batch"];
    let asked = question(Workload::of(MODEL), changed, &own)?;
    let model = asked.model()?;
    let pass = |name, question, operators: &[Operator], time| Pass {
        name,
        question,
        operations: sum(operators, Operator::total_operations),
        weights: sum(operators, matrix_weights),
        time,
    };
    let mut all = Vec::new();
    for tokens in PROMPTS {
        let operators = model.prefill_operators(tokens, Projections::Merged).map_err(Error::no_answer)?;
        let question = Workload { prompt_tokens: tokens, generated_tokens: 1, ..asked.clone() };
        all.push(pass("prompt", question, &operators, ("ttft_s", 1.0)));
    }
    let (prompt_tokens, generated_tokens) = TOKEN;
    let context = prompt_tokens + generated_tokens / 2;
    let operators = model.decode_operators(context, Projections::Merged).map_err(Error::no_answer)?;
    let question = Workload { prompt_tokens, generated_tokens, ..asked.clone() };
    all.push(pass("token", question, &operators, ("token_ns", 1e-9)));
    Ok(all)
}

#[expect(clippy::cast_precision_loss, reason = "operations of one pass, drawn over decades")]
fn sum(operators: &[Operator], of: impl Fn(&Operator) -> u64) -> f64 {
    operators.iter().map(|it| of(it) as f64).sum()
}

/// Rows of an embedding are looked up, not multiplied.
fn matrix_weights(operator: &Operator) -> u64 {
    if operator.m == 0 { 0 } else { operator.count * operator.weight_elements }
}

/// The least time that the bounds leave, in seconds; none if they say nothing of it.
fn least_s(bounds: &[Bound], (column, unit): (&str, f64)) -> Option<f64> {
    let of = bounds.iter().filter(|it| it.column == column);
    let least = of.filter_map(|it| match it.limit {
        Limited::AtLeast(least) => Some(least * unit),
        Limited::AtMost(_) => None,
    });
    least.reduce(f64::max).filter(|it| *it > 0.0)
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let (passes, platforms) = (passes(changed)?, platforms());
    let questions: Vec<Workload> = passes.iter().map(|it| it.question.clone()).collect();
    let table = ask(&questions)?;
    let formats = table.text("format")?;
    let mut numbers: [Vec<Option<f64>>; 6] = Default::default();
    let mut names = Vec::new();
    let each = passes.iter().flat_map(|pass| platforms.iter().map(move |it| (pass, it)));
    for (row, (pass, platform)) in each.enumerate() {
        let (column, unit) = pass.time;
        let time = table.f64(column)?[row].map(|it| it * unit);
        let format = formats[row].clone().unwrap_or_default();
        let bits = format.parse().ok().map(Format::bits_per_element);
        let intensity = bits.map(|it| pass.operations / (pass.weights * it / 8.0));
        let least = allowed(pass, platform, &format)?;
        let rate = |time: Option<f64>| time.map(|it| pass.operations / it * 1e-9);
        names.push(Some(pass.name.to_owned()));
        let row = [Some(pass.operations), intensity, time, rate(time), least, rate(least)];
        numbers.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let [operations, intensity, time, attained, least, allowed] = numbers.map(Column::Float);
    let kept = ["platform", "machine", "variant", "model", "format", "prompt_tokens", "bound_by", "error"];
    Ok(table
        .select(&kept)?
        .with_column("pass", Column::Text(names))?
        .with_column("operations", operations)?
        .with_column("operations_per_byte", intensity)?
        .with_column("time_s", time)?
        .with_column("attained_gops", attained)?
        .with_column("least_s", least)?
        .with_column("allowed_gops", allowed)?)
}

fn allowed(pass: &Pass, platform: &Preset<Platform>, format: &str) -> Result<Option<f64>, Error> {
    Ok(least_s(&bounds(&pass.question, &platform.parameters, format)?, pass.time))
}

/// A panel for each machine: its ways to run the model share it.
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(4).plot_height_in(1.15);
    for machine in machines_with(table, "attained_gops")? {
        let of_machine = table.filter("machine", machine[0].parameters.machine.as_str())?;
        let prompts = of_machine.filter("pass", "prompt")?;
        let mut lines = Lines::new(Axis::log10("Operations per byte"), Axis::log10("Attained (Gop/s)"));
        for it in &machine {
            let points = |pass: &str, y: &str| -> Result<Vec<(f64, Option<f64>)>, Error> {
                let rows = of_machine.filter("platform", it.name.as_str())?.filter("pass", pass)?;
                let all = rows.f64("operations_per_byte")?.into_iter().zip(rows.f64(y)?);
                Ok(all.filter_map(|(x, y)| Some((x?, y))).collect())
            };
            // Prompts and tokens of a platform have one colour.
            let colour = colour(&it.name);
            lines = lines
                .curve(it.name.as_str(), points("prompt", "attained_gops")?)
                .points("", points("token", "attained_gops")?)
                .filled(Fill::Hollow);
            lines.curves.iter_mut().rev().take(2).for_each(|it| it.colour = colour);
        }
        lines = lines.bound("", highest(&prompts)?);
        figure = figure.panel(machine[0].parameters.machine.clone(), lines);
    }
    Ok(figure.share_axes().caption(
        "Lines: prompts of 1 to 4096 tokens, operations over the time to the first token. Open: a token of the reply. Dashed: \
         what a prompt could reach at most by the description alone (the study's own bounds); missing where they say \
         nothing of prompts.",
    ))
}

/// The least strict bound at each operations per byte: that of the machine, not of a variant.
fn highest(prompts: &Table) -> Result<Vec<(f64, Option<f64>)>, Error> {
    let all = prompts.f64("operations_per_byte")?.into_iter().zip(prompts.f64("allowed_gops")?);
    let mut best: Vec<(f64, Option<f64>)> = Vec::new();
    for (x, y) in all.filter_map(|(x, y)| Some((x?, y))) {
        match best.iter_mut().find(|it| it.0.total_cmp(&x).is_eq()) {
            Some(at) => at.1 = [at.1, y].into_iter().flatten().reduce(f64::max),
            None => best.push((x, y)),
        }
    }
    Ok(best)
}
