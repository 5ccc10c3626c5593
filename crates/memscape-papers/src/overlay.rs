//! A paper's printed numbers, drawn into the model's figures.
//!
//! A figure is made of its table alone and knows no claims. Where a claim's number would stand
//! in it is found by asking: the figure is drawn again with the claim's cells of the table
//! replaced, and what of it changes is where they are drawn.

use memscape_explore::{Column, Table};
use memscape_plot::style::Width;
use memscape_plot::{Chart, Figure, TextTable};

use crate::claims::{Aggregate, Bound, Claim, Query, Transform, ask_beside, cells};
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
    /// Whether it is a limit: a number says more.
    is_limit: bool,
    /// None where the model says nothing.
    error: Option<String>,
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
    let asked =
        claims.iter().flat_map(|claim| claim.query.iter().chain(&claim.shown).map(move |it| (claim, it)));
    for (claim, query) in asked.filter(|it| is_drawn(it.1, experiment)) {
        let Some(number) = replaced(claim, query) else { continue };
        let rows = cells(&claim.id, query, table)?;
        let other = another(number, table, query)?;
        let [Some(with), Some(without)] =
            [number, other].map(|it| drawn(experiment, table, query, &rows, it))
        else {
            continue;
        };
        // A limit is no point.
        if claim.bound.is_none() {
            draw_numbers(&mut figure, query.aggregate, [&plain, &with, &without], [number, other]);
        }
        found.extend(table_cells(claim, query, [&plain, &with, &without], table));
    }
    add_columns(&mut figure, &found);
    Ok(figure)
}

/// Whether a claim is of one number, or one per group, of this figure's table.
fn is_drawn(query: &Query, experiment: &Experiment) -> bool {
    let one = matches!(query.aggregate, Aggregate::Only | Aggregate::Mean | Aggregate::Max | Aggregate::Min);
    query.experiment == experiment.id && query.over.is_none() && query.transform == Transform::None && one
}

/// Any other number that the column can have; the table's own may be the printed one already.
fn another(number: f64, table: &Table, query: &Query) -> Result<f64, Error> {
    let other = 1.37 * number + 0.61 * (1.0 + number.abs());
    let is_whole = matches!(table.column(&query.column)?, Column::Int(_));
    Ok(if is_whole { other.ceil() + 1.0 } else { other })
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
    query: &Query,
    [plain, with, without]: [&Figure; 3],
    table: &Table,
) -> Vec<Cell> {
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
        // The first column names the rows.
        if column == 0 {
            continue;
        }
        // A number that the model does not say is no fault of the claim.
        let computed = ask_beside(&claim.id, query, table, &|_| None).ok();
        if computed.is_some_and(|it| !same(text, it)) {
            continue;
        }
        let printed = match claim.bound {
            Some(Bound::Upper) => format!("≤ {}", claim.value),
            Some(Bound::Lower) => format!("≥ {}", claim.value),
            None => claim.value.to_string(),
        };
        let error = computed.map(|it| error(claim, it));
        cells.push(Cell { panel, row, column, printed, is_limit: claim.bound.is_some(), error });
    }
    cells
}

/// How far the model's number is from the printed one.
fn error(claim: &Claim, computed: f64) -> String {
    let error = claim.relative_error(computed);
    // What is printed as about so much has an error all the same.
    let off = (computed - claim.value.number()).abs();
    let is_about = claim.rounding.is_some() && off > claim.value.rounding() * (1.0 + 1e-9);
    let text = match 100.0 * error {
        _ if claim.is_exact(computed) && !is_about => return MET.to_owned(),
        _ if claim.value.number() == 0.0 => format!("{error:+.1}"),
        percent if percent.abs() < 100.0 => format!("{percent:+.1} %"),
        percent => format!("{percent:+.0} %"),
    };
    text.replace('-', "\u{2212}")
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

/// To tell what is missed, a table's letters may be so much smaller.
const SMALLEST: f64 = 0.85;

/// What is printed of one column, row by row, with its errors.
struct Printed {
    column: usize,
    texts: Vec<[String; 2]>,
    /// Whether any cell has an error to tell.
    compared: bool,
}

impl Printed {
    fn of(column: usize, rows: usize, cells: &[&Cell]) -> Self {
        let found = |row| {
            let all = cells.iter().filter(move |it| it.column == column && it.row == row);
            all.max_by_key(|it| !it.is_limit)
        };
        let text = |row| {
            found(row).map_or_else(Default::default, |it| {
                [it.printed.clone(), it.error.clone().unwrap_or_default()]
            })
        };
        let compared = cells.iter().any(|it| it.column == column && it.error.is_some());
        Self { column, texts: (0..rows).map(text).collect(), compared }
    }

    /// The table with this beside its column.
    fn beside(&self, table: &TextTable) -> TextTable {
        let mut table = table.clone();
        let names: &[&str] = if self.compared { &["Published", "Error"] } else { &["Published"] };
        for (index, name) in names.iter().enumerate() {
            let at = self.column + 1 + index;
            table.header.insert(at, (*name).to_owned());
            for (cells, texts) in table.rows.iter_mut().zip(&self.texts) {
                cells.insert(at, texts[index].clone());
            }
        }
        table
    }
}

/// Puts what is printed beside a table's own columns: of as many as a page has room for, those
/// of which most is missed first. Of the others the caption says how many are met.
fn add_columns(figure: &mut Figure, cells: &[Cell]) {
    let (mut met, mut missed, mut wide) = (0, 0, false);
    for (panel, chart) in figure.panels.iter_mut().map(|it| &mut it.chart).enumerate() {
        let Chart::TextTable(table) = chart else { continue };
        let own: Vec<&Cell> = cells.iter().filter(|it| it.panel == panel).collect();
        let is_missed = |it: &&&Cell| it.error.as_deref().is_some_and(|it| it != MET);
        let wrong = |column: usize| own.iter().filter(|it| it.column == column).filter(is_missed).count();
        let mut columns: Vec<usize> = own.iter().map(|it| it.column).collect();
        columns.sort_unstable();
        columns.dedup();
        // Equally good ones stay in the table's order.
        columns.sort_by_key(|it| std::cmp::Reverse(wrong(*it)));
        let mut chosen: Vec<Printed> = Vec::new();
        for column in columns {
            let all = chosen.iter().map(|it| it.column).chain([column]);
            let all: Vec<Printed> = all.map(|it| Printed::of(it, table.rows.len(), &own)).collect();
            let smallest = if wrong(column) > 0 { SMALLEST } else { 1.0 };
            if chosen.is_empty() || smallest <= with_all(table, &all).scale(Width::TwoColumns) {
                chosen = all;
            }
        }
        let left: Vec<&&Cell> =
            own.iter().filter(|it| chosen.iter().all(|chosen| chosen.column != it.column)).collect();
        missed += left.iter().filter(|it| is_missed(it)).count();
        met += left.iter().filter(|it| it.error.as_deref() == Some(MET)).count();
        *table = with_all(table, &chosen);
        wide |= !chosen.is_empty() && table.scale(Width::OneColumn) < 1.0;
    }
    if wide {
        figure.width = Width::TwoColumns;
    }
    let shown = figure.panels.iter().any(|it| match &it.chart {
        Chart::TextTable(table) => table.rows.iter().flatten().any(|it| it == MET),
        _ => false,
    });
    if shown {
        figure.caption = format!("{} {MET}: as printed, to its digits.", figure.caption);
    }
    if met > 0 {
        let which = if met == cells.len() { "All" } else { "Other" };
        let [values, their] = if met == 1 { ["value is", "its"] } else { ["values are", "their"] };
        figure.caption = format!("{} {which} {met} printed {values} met to {their} digits.", figure.caption);
    }
    if missed > 0 {
        let have = if missed == 1 { "has" } else { "have" };
        figure.caption = format!("{} Another {missed} {have} no room here.", figure.caption);
    }
}

/// From the right, so that columns at the left stay where they are.
fn with_all(table: &TextTable, all: &[Printed]) -> TextTable {
    let mut order: Vec<&Printed> = all.iter().collect();
    order.sort_by_key(|it| std::cmp::Reverse(it.column));
    order.into_iter().fold(table.clone(), |table, it| it.beside(&table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::published;
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

    fn table_of(id: &str) -> (TextTable, Width, String) {
        let figure = shown(id);
        let Chart::TextTable(table) = &figure.panels[0].chart else { panic!("a table") };
        (table.clone(), figure.width, figure.caption.clone())
    }

    #[test]
    fn every_table_of_a_paper_says_what_is_printed() {
        for (id, columns) in [
            ("pimnast.table1", 1),
            ("npu-gemm.table1", 3),
            ("riscv-sg2042.table4_1", 4),
            ("riscv-sg2042.table5_1", 2),
            ("riscv-sg2042.table5_4", 4),
            ("pim-sherpa.table2", 2),
        ] {
            let (table, width, _) = table_of(id);
            let found = table.header.iter().filter(|it| *it == "Published").count();
            assert!(columns <= found, "{id}: {:?}", table.header);
            assert!(SMALLEST <= table.scale(width), "{id}: {:?}", table.header);
        }
    }

    #[test]
    fn what_the_model_does_not_say_has_a_printed_number_but_no_error() {
        let (table, ..) = table_of("riscv-sg2042.table5_1");
        let time = table.header.iter().position(|it| it == "Published").unwrap();
        let row = |name: &str| table.rows.iter().find(|it| it[0] == name).unwrap();
        assert_eq!(row("VIEW")[time - 1..=time + 1], ["n/a", "0.55", ""]);
        assert_eq!(row("ROPE")[time], "11.183");
        assert!(row("ROPE")[time + 1].ends_with(" %"), "{:?}", row("ROPE"));
        // Nothing to compare: no column of errors.
        let (table, ..) = table_of("riscv-sg2042.table5_4");
        let switches = table.header.iter().position(|it| it == "Context switches").unwrap();
        assert_eq!(table.header[switches + 1..switches + 3], ["Published", "CPU migrations"]);
    }

    #[test]
    fn what_is_shown_elsewhere_is_found_there() {
        let all = published(None).unwrap().into_iter().flat_map(|it| it.claims);
        let places: Vec<(String, Claim)> =
            all.filter_map(|it| Some((it.shown.clone()?.experiment, it))).collect();
        assert!(places.len() > 40);
        let mut tables = std::collections::BTreeMap::new();
        for (id, claim) in &places {
            let (table, _, caption) = tables.entry(id).or_insert_with(|| table_of(id));
            let printed = claim.value.to_string();
            let is_there = table.rows.iter().flatten().any(|it| *it == printed);
            assert!(is_there || caption.contains("printed values are met"), "{}: {:?}", claim.id, table.rows);
        }
    }

    #[test]
    fn errors_have_digits_that_say_something() {
        let claim = |value: &str| -> Claim {
            let text = "id = 'a.b'\nwhere = ''\nsays = ''\nunit = ''\nrole = 'predict'\n";
            toml::from_str(&format!("{text}value = '{value}'")).unwrap()
        };
        for (printed, computed, expected) in [
            ("1.0", 1.04, "–"),
            ("100", 97.7, "\u{2212}2.3 %"),
            ("1.0", 11.641, "+1064 %"),
            ("0.0", 0.25, "+0.2"),
        ] {
            assert_eq!(error(&claim(printed), computed), expected);
        }
        let about = Claim { rounding: Some(1.0), ..claim("15") };
        assert_eq!((error(&about, 15.3).as_str(), error(&about, 15.76).as_str()), ("–", "+5.1 %"));
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
