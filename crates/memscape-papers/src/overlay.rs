//! A paper's printed numbers, drawn into the model's figures.
//!
//! A figure is made of its table alone and knows no claims. Where a claim's number would stand
//! in it is found by asking: the figure is drawn again with the claim's cells of the table
//! replaced, and what of it changes is where they are drawn.

use memscape_explore::{Column, Table};
use memscape_plot::{Chart, Figure, TextTable};

use crate::claims::{Aggregate, Bound, Claim, Query, Transform, ask, cells};
use crate::error::Error;
use crate::experiment::Experiment;

/// A number that a figure shows: its panel, and its place among those of the panel.
type Spot = (usize, usize);

/// One cell of a text table with what is printed of it.
struct Cell {
    panel: usize,
    row: usize,
    column: usize,
    printed: String,
    error: String,
}

/// Draws what a paper prints of an experiment into its figure: open diamonds on bars and curves,
/// columns beside a table's own. What the figure does not show is left out.
///
/// # Errors
/// [`Error`] if a claim's query is wrong.
pub fn with_published(
    experiment: &Experiment,
    table: &Table,
    claims: &[Claim],
    figure: Figure,
) -> Result<Figure, Error> {
    let plain = experiment.sketch(table)?;
    let (mut figure, mut found) = (figure, Vec::new());
    for claim in claims {
        let Some(query) = claim.query.as_ref().filter(|it| is_drawn(it, experiment)) else { continue };
        let Some(number) = replaced(claim, query) else { continue };
        let rows = cells(&claim.id, query, table)?;
        // Any other number; the table's own may be the printed one already.
        let other = 1.37 * number + 0.61 * (1.0 + number.abs());
        let [Some(with), Some(without)] =
            [number, other].map(|it| drawn(experiment, table, query, &rows, it))
        else {
            continue;
        };
        // A limit is no point.
        if claim.bound.is_none() {
            draw_numbers(&mut figure, query.aggregate, [&plain, &with, &without], [number, other]);
        }
        found.extend(table_cells(claim, [&plain, &with, &without], table)?);
    }
    add_columns(&mut figure, &found);
    Ok(figure)
}

/// Whether a claim is of one number, or one per group, of this figure's table.
fn is_drawn(query: &Query, experiment: &Experiment) -> bool {
    let one = matches!(query.aggregate, Aggregate::Only | Aggregate::Mean | Aggregate::Max | Aggregate::Min);
    query.experiment == experiment.id && query.over.is_none() && query.transform == Transform::None && one
}

/// The printed number as the table's column has it.
fn replaced(claim: &Claim, query: &Query) -> Option<f64> {
    let number = claim.value.number() / query.scale;
    number.is_finite().then_some(number)
}

/// The figure with one number in these rows of the query's column; none if that cannot be drawn.
fn drawn(
    experiment: &Experiment,
    table: &Table,
    query: &Query,
    rows: &[usize],
    number: f64,
) -> Option<Figure> {
    let mut values = table.f64(&query.column).ok()?;
    for row in rows {
        *values.get_mut(*row)? = Some(number);
    }
    let column = match table.column(&query.column).ok()? {
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers of a table")]
        Column::Int(_) if values.iter().flatten().all(|it| it.fract() == 0.0) => {
            Column::Int(values.into_iter().map(|it| it.map(|it| it as i64)).collect())
        }
        _ => Column::Float(values),
    };
    let table = table.clone().with_column(&query.column, column).ok()?;
    experiment.sketch(&table).ok()
}

/// The numbers of a panel's bars or curves.
fn numbers(chart: &Chart) -> Vec<Option<f64>> {
    match chart {
        Chart::GroupedBars(bars) => bars.series.iter().flat_map(|it| it.values.iter().copied()).collect(),
        Chart::Lines(lines) => lines.curves.iter().flat_map(|it| it.points.iter().map(|it| it.1)).collect(),
        _ => Vec::new(),
    }
}

/// Whether a number of a chart summarises others.
fn is_summary(chart: &Chart, place: usize) -> bool {
    let Chart::GroupedBars(bars) = chart else { return false };
    let groups = bars.groups.len();
    groups - bars.summaries <= place % groups.max(1)
}

/// Where the first figure's numbers change, what is drawn there, in the order of the panels.
fn changes(plain: &Figure, with: &Figure, without: &Figure, [number, other]: [f64; 2]) -> Vec<(Spot, f64)> {
    let mut all = Vec::new();
    let panels = plain.panels.iter().zip(&with.panels).zip(&without.panels).enumerate();
    for (panel, ((plain, with), without)) in panels {
        let [plain, with, without] = [plain, with, without].map(|it| numbers(&it.chart));
        if plain.len() != with.len() || plain.len() != without.len() {
            continue;
        }
        for (place, (with, without)) in with.iter().zip(&without).enumerate() {
            let (Some(with), Some(without)) = (*with, *without) else { continue };
            // As many times as large as the cell's, not mixed with others.
            let in_proportion = (with * other - without * number).abs() <= 1e-9 * (with * other).abs();
            if (with - without).abs() > 1e-12 * with.abs() && in_proportion {
                all.push(((panel, place), with));
            }
        }
    }
    all
}

fn draw_numbers(
    figure: &mut Figure,
    aggregate: Aggregate,
    [plain, with, without]: [&Figure; 3],
    replaced: [f64; 2],
) {
    let all = changes(plain, with, without, replaced);
    let summary = |it: &&(Spot, f64)| is_summary(&plain.panels[it.0.0].chart, it.0.1);
    let is_mean = aggregate == Aggregate::Mean;
    let chosen: Vec<(Spot, f64)> = all.iter().filter(|it| summary(it) == is_mean).copied().collect();
    // A mean of several bars has no bar of its own, unless the figure draws their mean.
    let chosen = if chosen.is_empty() && all.len() == 1 { all } else { chosen };
    for (panel, own) in chosen.chunk_by(|a, b| a.0.0 == b.0.0).map(|it| (it[0].0.0, it)) {
        let [((_, place), value)] = own else { continue };
        mark(&mut figure.panels[panel].chart, *place, *value);
    }
}

fn mark(chart: &mut Chart, place: usize, value: f64) {
    match chart {
        Chart::GroupedBars(bars) => {
            let groups = bars.groups.len();
            let series = &mut bars.series[place / groups];
            series.published.resize(groups, None);
            series.published[place % groups] = Some(value);
        }
        Chart::Lines(lines) => {
            let mut place = place;
            for curve in &mut lines.curves {
                if let Some((x, _)) = curve.points.get(place) {
                    curve.published.push((*x, value));
                    return;
                }
                place -= curve.points.len();
            }
        }
        _ => {}
    }
}

/// Cells of text tables that change with the claim's number, if they have its unit.
fn table_cells(
    claim: &Claim,
    [plain, with, without]: [&Figure; 3],
    table: &Table,
) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for (panel, ((plain, with), without)) in
        plain.panels.iter().zip(&with.panels).zip(&without.panels).enumerate()
    {
        let (Chart::TextTable(plain), Chart::TextTable(with), Chart::TextTable(without)) =
            (&plain.chart, &with.chart, &without.chart)
        else {
            continue;
        };
        let changed = plain.rows.iter().zip(&with.rows).zip(&without.rows).enumerate().flat_map(
            |(row, ((plain, with), without))| {
                let texts = plain.iter().zip(with).zip(without).enumerate();
                texts
                    .filter(|it| it.1.0.1 != it.1.1)
                    .map(move |(column, ((plain, _), _))| (row, column, plain))
            },
        );
        let changed: Vec<(usize, usize, &String)> = changed.collect();
        let [(row, column, text)] = changed[..] else { continue };
        let Some(query) = &claim.query else { continue };
        let computed = ask(&claim.id, query, table)?;
        if !same(text, computed) {
            continue;
        }
        let printed = match claim.bound {
            Some(Bound::Upper) => format!("≤ {}", claim.value),
            Some(Bound::Lower) => format!("≥ {}", claim.value),
            None => claim.value.to_string(),
        };
        let error = match claim.relative_error(computed) {
            _ if claim.is_exact(computed) => MET.to_owned(),
            it if claim.value.number() == 0.0 => format!("{it:+.1}").replace('-', "\u{2212}"),
            it => format!("{:+.1} %", 100.0 * it).replace('-', "\u{2212}"),
        };
        cells.push(Cell { panel, row, column, printed, error });
    }
    Ok(cells)
}

/// Whether a text begins with this number, as far as its digits go.
fn same(text: &str, number: f64) -> bool {
    let digits: String =
        text.chars().take_while(|it| it.is_ascii_digit() || ['.', '-', '\u{2212}'].contains(it)).collect();
    let shown = digits.replace('\u{2212}', "-").parse::<f64>();
    let decimals = digits.split_once('.').map_or(0, |it| it.1.len());
    let half = 0.51 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    shown.is_ok_and(|it| (it - number).abs() <= half + 1e-9 * number.abs())
}

/// The error of what has the printed digits.
const MET: &str = "–";

/// More columns beside a table's own leave no room for any.
const MOST_COLUMNS: usize = 2;

/// Puts what is printed beside the columns of which most is missed; of the others the caption
/// says that they are met.
fn add_columns(figure: &mut Figure, cells: &[Cell]) {
    let mut met = 0;
    for (panel, chart) in figure.panels.iter_mut().map(|it| &mut it.chart).enumerate() {
        let Chart::TextTable(table) = chart else { continue };
        let own: Vec<&Cell> = cells.iter().filter(|it| it.panel == panel).collect();
        let missed = |column: usize| own.iter().filter(|it| it.column == column && it.error != MET).count();
        let mut columns: Vec<usize> = own.iter().map(|it| it.column).collect();
        columns.sort_unstable();
        columns.dedup();
        if columns.len() > MOST_COLUMNS {
            columns.retain(|it| missed(*it) > 0);
            columns.sort_by_key(|it| std::cmp::Reverse(missed(*it)));
            columns.truncate(MOST_COLUMNS);
            met += own.iter().filter(|it| it.error == MET && !columns.contains(&it.column)).count();
        }
        // From the right, so that those at the left stay where they are.
        columns.sort_unstable_by_key(|it| std::cmp::Reverse(*it));
        for column in columns {
            let texts = (0..table.rows.len()).map(|row| {
                let found = own.iter().rfind(|it| it.column == column && it.row == row);
                found.map_or_else(Default::default, |it| [it.printed.clone(), it.error.clone()])
            });
            insert(table, column, texts.collect());
        }
    }
    if met > 0 {
        let which = if met == cells.len() { "All" } else { "Other" };
        figure.caption = format!("{} {which} {met} printed values are met to their digits.", figure.caption);
    }
}

fn insert(table: &mut TextTable, column: usize, texts: Vec<[String; 2]>) {
    for (index, name) in ["Published", "Error"].into_iter().enumerate() {
        table.header.insert(column + 1 + index, name.to_owned());
    }
    for (cells, texts) in table.rows.iter_mut().zip(texts) {
        let after = cells.split_off(column + 1);
        cells.extend(texts.into_iter().chain(after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Look, draw};
    use crate::papers::select;

    fn shown(id: &str) -> Figure {
        let experiment = select(&[id]).unwrap()[0];
        draw(experiment, &experiment.table().unwrap(), &Look::default()).unwrap()
    }

    #[test]
    fn averages_and_single_bars_are_where_the_paper_has_them() {
        let figure = shown("pimnast.fig9a");
        let Chart::GroupedBars(bars) = &figure.panels[0].chart else { panic!("bars") };
        let of = |series: &str, group: &str| {
            let series = bars.series.iter().find(|it| it.name == series).unwrap();
            let group = bars.groups.iter().position(|it| it == group).unwrap();
            series.published.get(group).copied().flatten()
        };
        let shown = |it: Option<f64>, printed: f64| it.is_some_and(|it| (it - printed).abs() < 1e-9);
        assert!(shown(of("PIMnast-opt", "Average"), 5.8));
        assert!(shown(of("PIMnast-opt", "125M"), 3.88) && shown(of("PIMnast", "125M"), 3.07));
        assert_eq!(of("PIMnast", "Average"), None);
        // The most of single GEMVs is no model's mean.
        assert!(bars.series.iter().flat_map(|it| &it.published).flatten().all(|it| (it - 6.86).abs() > 1e-9));
    }

    #[test]
    fn tables_say_what_is_printed_beside_what_is_computed() {
        let figure = shown("pimnast.setup");
        let Chart::TextTable(table) = &figure.panels[0].chart else { panic!("a table") };
        assert_eq!(table.header, ["Quantity", "Value", "Published", "Error"]);
        assert_eq!(table.rows[0], ["peak bandwidth", "120 GB/s", "120", "–"]);
    }

    #[test]
    fn what_is_printed_can_be_left_out() {
        let experiment = select(&["pimnast.fig9a"]).unwrap()[0];
        let table = experiment.table().unwrap();
        let svg = |look: &Look| draw(experiment, &table, look).unwrap().svg().unwrap();
        assert!(svg(&Look::default()).contains(">Published</text>"));
        assert!(!svg(&Look { without_published: true, ..Look::default() }).contains("Published"));
        let changed = [("memory.trcd_ns".to_owned(), serde_json::json!(36))].into_iter().collect();
        let other = svg(&Look { changed, ..Look::default() });
        assert!(!other.contains("Published") && other.contains("Changed: memory.trcd_ns = 36."));
    }

    #[test]
    fn what_figures_set_themselves_is_refused() {
        let refusal = |id: &str, path: &str| {
            let changed = [(path.to_owned(), serde_json::json!(36))].into_iter().collect();
            select(&[id]).unwrap()[0].table_of(&changed).map(|_| ()).map_err(|it| it.to_string())
        };
        assert_eq!(refusal("pimnast.fig9a", "memory.trcd_ns"), Ok(()));
        for (id, path) in [
            ("pimnast.fig10", "memory.banks_per_channel"),
            ("pimnast.fig8", "pim.input_registers"),
            ("pimnast.fig9a", "model"),
            ("riscv-sg2042.fig5_9", "threads"),
            ("hermes.fig17", "batch"),
        ] {
            let told = refusal(id, path).unwrap_err();
            assert!(told.starts_with(&format!("`{path}`: `{id}` sets it itself")), "{told}");
        }
        assert!(refusal("pimnast.fig6", "memory.trcd_ns").unwrap_err().contains("changes nothing"));
        assert!(refusal("pimnast.fig9a", "memory.trdc_ns").unwrap_err().contains("did you mean"));
    }
}
