//! The model's operators one by one on every platform: what each attains under what the machine
//! allows, and where the rest of its time goes. Times are those of each platform's own study, whose
//! operators sum to its prompt and its token.

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Axis, Figure, Fill, Lines, StackedBars};
use memscape_study::Pass;
use memscape_systems::compare::{Workload, platforms};
use memscape_systems::operators::{KINDS, REST, operators};
use rayon::prelude::*;

use super::common::{MODEL, colour, machines_with, question};
use crate::error::Error;
use crate::sweeps::{concat, distinct};

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    // One prompt, and the mean token of its reply.
    let asked = question(Workload { prompt_tokens: 512, ..Workload::of(MODEL) }, changed, &[])?;
    let tables: Vec<_> = platforms()
        .into_par_iter()
        .with_max_len(1)
        .map(|it| operators(&asked, std::slice::from_ref(&it), &()))
        .collect();
    concat(tables.into_iter().map(|it| Ok(it?)))
}

/// A panel for each machine: its ways to run the model share it.
pub fn plot(table: &Table) -> Result<Figure, Error> {
    let mut figure = Figure::two_columns().columns(4).plot_height_in(1.15);
    for machine in machines_with(table, "attained_gops")? {
        let mut lines = Lines::new(Axis::log10("Operations per byte"), Axis::log10("Gop/s"));
        for it in &machine {
            let rows = table.filter("platform", it.name.as_str())?;
            let kinds = rows.text("kind")?;
            let points = |y: &str| -> Result<Vec<(f64, Option<f64>)>, Error> {
                let all = rows.f64("operations_per_byte")?.into_iter().zip(rows.f64(y)?).zip(&kinds);
                let shown = all.filter(|it| it.1.as_deref() != Some(REST));
                let mut points: Vec<_> = shown.filter_map(|((x, y), _)| Some((x?, y))).collect();
                // An operator has a row for each of its parts.
                points.dedup();
                Ok(points)
            };
            lines = lines.points(it.name.as_str(), points("attained_gops")?);
            lines = lines.points("", points("allowed_gops")?).filled(Fill::Hollow);
            // Both of a platform have one colour.
            let own = colour(&it.name);
            lines.curves.iter_mut().rev().take(2).for_each(|it| it.colour = own);
        }
        figure = figure.panel(machine[0].parameters.machine.clone(), lines);
    }
    Ok(figure.share_axes().caption(
        "A point for each projection, MLP matrix, attention over the key-value cache and LM head: of a token on the left, of \
         a prompt on the right. Filled: attained; open: what the description allows where the operator runs. What a \
         study times as one is one point.",
    ))
}

/// A cell of [`losses`]: platform, pass, kind and cause, time by it, and the least of all of the kind.
type Loss = ([String; 4], f64, f64);

/// Operators of a kind together: their time over the least, by cause.
pub fn losses(parameters: &Parameters) -> Result<Table, Error> {
    let table = table(parameters)?;
    let [platforms, passes, kinds, operators, parts] =
        ["platform", "pass", "kind", "operator", "part"].map(|it| table.text(it));
    let texts = [platforms?, passes?, kinds?, parts?];
    let (operators, times, leasts) = (operators?, table.f64("part_ns")?, table.f64("least_ns")?);
    let mut cells: Vec<Loss> = Vec::new();
    for row in 0..table.height() {
        let [Some(platform), Some(pass), Some(kind), Some(part)] = texts.each_ref().map(|it| it[row].clone())
        else {
            continue;
        };
        // An operator has a row for each of its parts.
        let first = row == 0
            || operators[row] != operators[row - 1]
            || texts[1][row] != texts[1][row - 1]
            || texts[0][row] != texts[0][row - 1];
        let least = if first { leasts[row].unwrap_or_default() } else { 0.0 };
        let key = [platform, pass, kind, part];
        match cells.iter_mut().find(|it| it.0 == key) {
            Some(cell) => (cell.1, cell.2) = (cell.1 + times[row].unwrap_or_default(), cell.2 + least),
            None => cells.push((key, times[row].unwrap_or_default(), least)),
        }
    }
    let of_kind = |it: &Loss| {
        let same = cells.iter().filter(|other| other.0[..3] == it.0[..3]);
        same.fold((0.0, 0.0), |sum, it| (sum.0 + it.1, sum.1 + it.2))
    };
    let number = |of: &dyn Fn(&Loss) -> Option<f64>| Column::Float(cells.iter().map(of).collect());
    let text = |at: usize| Column::Text(cells.iter().map(|it| Some(it.0[at].clone())).collect());
    let least = |it: &Loss| Some(of_kind(it).1).filter(|it| *it > 0.0);
    Ok(Table::from_columns([
        ("platform", text(0)),
        ("pass", text(1)),
        ("kind", text(2)),
        ("time_ns", number(&|it| Some(of_kind(it).0))),
        ("least_ns", number(&least)),
        ("part", text(3)),
        ("part_ns", number(&|it| Some(it.1))),
        ("over_least", number(&|it| Some(it.1 / least(it)?))),
    ])?)
}

/// What of a bar has a colour of its own; the rest is `other`.
const COLOURED: usize = 7;

/// A panel for each platform; those whose operators take the same share one.
pub fn plot_losses(table: &Table) -> Result<Figure, Error> {
    let mut panels: Vec<(String, StackedBars)> = Vec::new();
    for platform in distinct(table, "platform")? {
        let chart = losses_of(&table.filter("platform", platform.as_str())?)?;
        match panels.iter_mut().find(|it| it.1 == chart) {
            Some(panel) => panel.0 = format!("{}, {platform}", panel.0),
            None => panels.push((platform, chart)),
        }
    }
    let mut figure = Figure::two_columns().columns(3).plot_height_in(0.9);
    for (name, chart) in panels {
        figure = figure.panel(name, chart);
    }
    Ok(figure.caption(
        "Time of operators of a kind, of a prompt and of a token, by cause; beside a kind, how many times as long it takes \
         as the description allows. Norms, copies between and handing work over have no such least: they are in the table.",
    ))
}

fn losses_of(rows: &Table) -> Result<StackedBars, Error> {
    let [passes, kinds, parts] = ["pass", "kind", "part"].map(|it| rows.text(it));
    let (passes, kinds, parts, over) = (passes?, kinds?, parts?, rows.f64("over_least")?);
    let bars: Vec<(Pass, &str)> =
        Pass::ALL.into_iter().flat_map(|pass| KINDS.map(move |kind| (pass, kind))).collect();
    let is_of = |row: usize, (pass, kind): (Pass, &str)| {
        passes[row].as_deref() == Some(pass.name()) && kinds[row].as_deref() == Some(kind)
    };
    let total = |bar: (Pass, &str)| -> Option<f64> {
        let all = (0..rows.height()).filter(|row| is_of(*row, bar)).filter_map(|row| over[row]);
        Some(all.sum()).filter(|it| *it > 0.0)
    };
    let value = |part: &str, bar: (Pass, &str)| {
        let found = (0..rows.height()).find(|row| is_of(*row, bar) && parts[*row].as_deref() == Some(part));
        found.and_then(|row| over[row])
    };
    let largest = |part: &String| {
        let shares = bars.iter().filter_map(|bar| Some(value(part, *bar)? / total(*bar)?));
        shares.fold(0.0, f64::max)
    };
    let mut coloured = distinct(rows, "part")?;
    coloured.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    let others = coloured.split_off(COLOURED.min(coloured.len()));
    let labels = bars.iter().map(|bar| match total(*bar) {
        Some(times) if times < 9.95 => format!("{} {times:.1}×", bar.1),
        Some(times) => format!("{} {times:.0}×", bar.1),
        None => bar.1.to_owned(),
    });
    let mut chart = StackedBars::new("Time (%)", labels).shares();
    let shown = coloured.iter().filter(|it| largest(it) > 0.005);
    for part in shown {
        chart = chart.part(part.replace('_', " "), bars.iter().map(|bar| value(part, *bar)));
    }
    let rest = |bar: (Pass, &str)| {
        let all: f64 = others.iter().filter_map(|part| value(part, bar)).sum();
        total(bar).map(|_| all)
    };
    if others.iter().any(|it| largest(it) > 0.005) {
        chart = chart.part("other", bars.iter().map(|bar| rest(*bar)));
    }
    chart.clusters = Pass::ALL.map(|it| (it.name().to_owned(), KINDS.len())).to_vec();
    Ok(chart)
}
