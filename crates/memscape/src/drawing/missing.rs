//! What a figure says of what has no value, and of what is no part of a sum or of a front.

use std::collections::HashSet;

use memscape_explore::Table;
use memscape_plot::style::Width;

use super::drawing::{Drawing, Kind};
use super::looks::Looks;
use super::rows::{Place, Row, Rows, is_numeric};
use super::values::distinct;

/// How many points a bar or a cell takes across that can say that it has no value.
const NARROWEST: f64 = 4.5;

impl Drawing {
    /// What is written below: also what has nowhere its place to say that it has no value, and what is no part
    /// of a sum or of a front.
    pub(crate) fn caption_of(&self, table: &Table, rows: &Rows, looks: &Looks, panels: &[String]) -> String {
        let kind = rows.kind;
        let told = matches!(kind, Kind::Bars | Kind::Heatmap | Kind::Stacked | Kind::Tornado);
        let (unknown, gone): (Vec<&Place>, Vec<&Place>) =
            rows.places.iter().filter(|it| !it.known).partition(|it| told && panels.contains(&it.facet));
        let left_out: Vec<usize> =
            rows.nowhere.iter().copied().chain(gone.iter().map(|it| it.line)).collect();
        let all = rows.places.len() + rows.nowhere.len();
        let mut said = vec![self.caption.clone(), lacking(table, &left_out, all, " left out")];
        if self.is_crowded(rows, looks, panels) {
            said.push(lacking(table, &unknown.iter().map(|it| it.line).collect::<Vec<_>>(), all, ""));
        }
        said.push(self.without_any(table, rows, panels));
        said.push(self.of_several_parts(table, rows));
        said.push(beside_their_bands(rows));
        match kind {
            Kind::Stacked => said.extend(partly(rows, panels)),
            Kind::Front => {
                let feasible = table.feasible();
                let off = rows.all.iter().filter(|it| !feasible[it.line]).count();
                if off > 0 {
                    let (does, are) = if off == 1 { ("does", "is") } else { ("do", "are") };
                    said.push(format!(
                        "{off} of {all} points (hollow) {does} not keep all constraints and {are} not on the front (column \
                         `feasible`)."
                    ));
                }
            }
            _ => {}
        }
        said.retain(|it| !it.is_empty());
        said.join(" ")
    }

    /// Which panels, and which curves or series of points, have no value at all, and so no place in the figure.
    fn without_any(&self, table: &Table, rows: &Rows, panels: &[String]) -> String {
        /// So many are named.
        const MOST: usize = 8;
        let known = parts(rows);
        let curves = matches!(rows.kind, Kind::Lines | Kind::Points | Kind::Front);
        let lacks = |it: &String| !known.iter().any(|(_, its)| its == it);
        let facets = distinct(rows.places.iter().map(|it| it.facet.clone()));
        let series = distinct(rows.places.iter().map(|it| it.series.clone()));
        let called = |name: String| match &self.facet {
            Some(column) if is_numeric(table, column) => self.counted(column, &name),
            _ => name,
        };
        let facets = facets.into_iter().filter(|it| !panels.contains(it)).map(called);
        let series = series.into_iter().filter(|it| curves && lacks(it));
        // One column may be both.
        let none = distinct(facets.chain(series));
        match &none[..] {
            [] => String::new(),
            [one] => format!("{one} has no value at all."),
            _ if none.len() > MOST => {
                format!("{} and {} more have no value at all.", none[..MOST].join(", "), none.len() - MOST)
            }
            [all @ .., last] => format!("{} and {last} have no value at all.", all.join(", ")),
        }
    }

    /// That energies are drawn together of which some are of more than others.
    fn of_several_parts(&self, table: &Table, rows: &Rows) -> String {
        const BOUNDARY: &str = "energy_boundary";
        let energies = self.y.iter().chain([&self.x]).any(|it| it.ends_with("_j"));
        let Some(of) = table.text(BOUNDARY).ok().filter(|_| energies) else { return String::new() };
        match &distinct(rows.all.iter().filter_map(|it| of[it.line].clone()))[..] {
            [] | [_] => String::new(),
            kinds => format!("Energies are of different parts: `{BOUNDARY}` is {}.", kinds.join(", ")),
        }
    }

    /// Whether bars or cells may be narrower than the words that say that they have no value.
    #[expect(clippy::cast_precision_loss, reason = "a rough guess")]
    fn is_crowded(&self, rows: &Rows, looks: &Looks, panels: &[String]) -> bool {
        let kind = rows.kind;
        // About what axes and names take.
        let beside = if kind == Kind::Heatmap { 60.0 } else { 40.0 };
        let across = 72.0 * if self.wide { Width::TwoColumns } else { Width::OneColumn }.inches();
        let room = across / self.in_row(panels.len()) as f64 - beside;
        panels.iter().any(|panel| {
            let groups = distinct(rows.places(panel).map(|it| it.group.clone())).len();
            let slots = match kind {
                Kind::Bars => groups * looks.of_panel(panel).len(),
                Kind::Heatmap | Kind::Stacked => groups,
                Kind::Lines | Kind::Points | Kind::Front | Kind::Tornado => 0,
            };
            room < NARROWEST * slots as f64
        })
    }
}

/// That some values are not within their bands, which are perhaps of something else.
fn beside_their_bands(rows: &Rows) -> String {
    let outside = |it: &&Row| it.ends.is_some_and(|(low, high)| it.y < low || high < it.y);
    let all = rows.all.iter().filter(|it| it.ends.is_some()).count();
    match (rows.all.iter().filter(outside).count(), all) {
        (0, _) => String::new(),
        (1, 1) => "The value is not within its band.".to_owned(),
        (1, all) => format!("1 of {all} values is not within its band."),
        (count, all) => format!("{count} of {all} values are not within their bands."),
    }
}

/// Of each line of a table whether it is a point that was refused, by its column `error`.
pub fn is_refused(table: &Table) -> Vec<bool> {
    let errors = table.text("error").unwrap_or_default();
    (0..table.height()).map(|it| errors.get(it).is_some_and(Option::is_some)).collect()
}

/// The panels and series in which something has a value: what is without one everywhere is no part of a stack.
pub fn parts(rows: &Rows) -> HashSet<(&str, &str)> {
    rows.all.iter().map(|it| (it.facet.as_str(), it.series.as_str())).collect()
}

/// Of stacks: what is no part since it has no value, and that others have parts without one.
fn partly(rows: &Rows, panels: &[String]) -> Vec<String> {
    let known = parts(rows);
    let mut said = Vec::new();
    for part in distinct(rows.places.iter().map(|it| it.series.clone())) {
        let lacks = |it: &&String| {
            !known.contains(&(it.as_str(), part.as_str())) && rows.places(it).any(|it| it.series == part)
        };
        let without: Vec<&str> = panels.iter().filter(lacks).map(String::as_str).collect();
        if without.len() == panels.len() {
            said.push(format!("`{part}` has no value and is left out."));
        } else if !without.is_empty() {
            said.push(format!("`{part}` has no value in {} and is left out there.", without.join(", ")));
        }
    }
    let some = |panel: &String| {
        let without = without_a_part(rows, panel);
        rows.places(panel).any(|it| it.known && without.contains(it.group.as_str()))
    };
    if panels.iter().any(some) {
        said.push("n/a where a part has no value.".to_owned());
    }
    said
}

/// Bars of a panel of which nobody knows how long they are: a part has no value that has one elsewhere.
pub fn without_a_part<'a>(rows: &'a Rows, panel: &str) -> HashSet<&'a str> {
    let known = parts(rows);
    let has: HashSet<(&str, &str)> =
        rows.places(panel).filter(|it| it.known).map(|it| (it.group.as_str(), it.series.as_str())).collect();
    let lacks = |it: &&Place| {
        known.contains(&(it.facet.as_str(), it.series.as_str()))
            && !has.contains(&(it.group.as_str(), it.series.as_str()))
    };
    rows.places(panel).filter(lacks).map(|it| it.group.as_str()).collect()
}

/// That points of these lines, of so many in all, have no value; nothing if there are none.
fn lacking(table: &Table, lines: &[usize], all: usize, and_are: &str) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let refused = is_refused(table);
    let refused = lines.iter().filter(|it| refused[**it]).count();
    let (have, are) = if lines.len() == 1 { ("has", "is") } else { ("have", "are") };
    let what = if refused == lines.len() { "answer" } else { "value" };
    let also = if and_are.is_empty() { String::new() } else { format!(" and {are}{and_are}") };
    let why = match refused {
        0 => String::new(),
        it if it == lines.len() => " (column `error`)".to_owned(),
        it => format!(" (column `error` of {it})"),
    };
    format!("{} of {all} points {have} no {what}{also}{why}.", lines.len())
}

#[cfg(test)]
mod tests {
    use memscape_explore::Column;
    use memscape_plot::Chart;

    use super::*;

    fn numbers(all: &[Option<f64>]) -> Column {
        Column::Float(all.to_vec())
    }

    fn texts(all: &[&str]) -> Column {
        Column::Text(all.iter().map(|it| Some((*it).to_owned())).collect())
    }

    #[test]
    fn a_line_has_a_gap_where_a_point_was_refused() {
        let why = |it: Option<&str>| it.map(str::to_owned);
        let table = |errors: [Option<&str>; 5]| {
            let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [Some(1.0), None, Some(3.0), Some(4.0), None]);
            let errors = Column::Text(errors.map(why).to_vec());
            Table::from_columns([("x", numbers(&x.map(Some))), ("y", numbers(&y)), ("error", errors)])
                .unwrap()
        };
        let drawn = |it: &Table| {
            let figure = Drawing::of("x", "y").draw(it).unwrap();
            let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
            lines.curves[0].points.clone()
        };
        let refused = table([None, Some("no room"), None, None, Some("no room")]);
        assert_eq!(drawn(&refused), [(1.0, Some(1.0)), (2.0, None), (3.0, Some(3.0)), (4.0, Some(4.0))]);
        // Where nobody asked, a line goes on.
        assert_eq!(drawn(&table([None; 5])), [(1.0, Some(1.0)), (3.0, Some(3.0)), (4.0, Some(4.0))]);
    }

    #[test]
    fn what_was_refused_keeps_its_place() {
        let texts = |it: [&str; 4]| Column::Text(it.map(|it| Some(it.to_owned())).to_vec());
        let table = Table::from_columns([
            ("pim.registers", Column::Int([8, 8, 16, 16].map(Some).to_vec())),
            ("format", texts(["int8", "int4", "int8", "int4"])),
            ("speedup", Column::Float(vec![None, None, Some(5.0), None])),
            ("error", Column::Text(vec![Some("a".into()), Some("a".into()), None, Some("a".into())])),
        ])
        .unwrap();
        let drawing = Drawing::of("pim.registers", "speedup").series("format");
        let heat = drawing.clone().kind(Kind::Heatmap).draw(&table).unwrap();
        let Chart::HeatMap(map) = &heat.panels[0].chart else { panic!("a heat map") };
        assert_eq!((map.columns.len(), map.rows.len()), (2, 2));
        assert_eq!(map.values, [[None, Some(5.0)], [None, None]]);
        let lines = drawing.draw(&table).unwrap();
        let said = "3 of 4 points have no answer and are left out (column `error`).";
        assert_eq!(lines.caption, format!("{said} int4 has no value at all."));
        // Nor has a panel.
        let panels = Drawing::of("pim.registers", "speedup").facet("format").kind(Kind::Bars);
        let panels = panels.draw(&table).unwrap();
        assert_eq!(panels.panels.len(), 1);
        assert!(panels.caption.ends_with("int4 has no value at all."), "{}", panels.caption);
        // A number is told with what it is of, once.
        let lines = Drawing::of("format", "speedup").series("pim.registers").kind(Kind::Points);
        let table = table.with_column("format", Column::Int([4, 4, 8, 8].map(Some).to_vec())).unwrap();
        for drawing in [lines, Drawing::of("format", "speedup").facet("pim.registers").kind(Kind::Bars)] {
            let told = drawing.draw(&table).unwrap().caption;
            assert!(told.ends_with(". PIM registers 8 has no value at all."), "{told}");
        }
    }

    #[test]
    fn energies_of_different_parts_are_told() {
        let table = Table::from_columns([
            ("time_ns", numbers(&[1.0, 2.0, 3.0].map(Some))),
            ("energy_j", numbers(&[3.0, 2.0, 1.0].map(Some))),
            ("energy_boundary", texts(&["device", "device", "modules"])),
        ])
        .unwrap();
        let caption = |it: Drawing| it.kind(Kind::Front).draw(&table).unwrap().caption;
        let said = "Energies are of different parts: `energy_boundary` is device, modules.";
        assert_eq!(caption(Drawing::of("time_ns", "energy_j")), said);
        assert_eq!(caption(Drawing::of("energy_j", "time_ns")), said);
    }

    #[test]
    fn missing_values_are_counted_with_and_without_an_error() {
        let y = [Some(1.0), Some(2.0), None, Some(4.0), Some(5.0)];
        let table = |error: Option<[Option<&str>; 5]>, y: [Option<f64>; 5]| {
            let x = [1.0, 2.0, 3.0, 4.0, 5.0].map(Some);
            let error = error.map(|it| ("error", Column::Text(it.map(|it| it.map(str::to_owned)).to_vec())));
            let columns = [("x", numbers(&x)), ("y", numbers(&y))];
            Table::from_columns(columns.into_iter().chain(error)).unwrap()
        };
        let caption = |it: &Table, drawing: Drawing| drawing.draw(it).unwrap().caption;
        let lines = Drawing::of("x", "y");
        assert_eq!(caption(&table(None, y), lines.clone()), "1 of 5 points has no value and is left out.");
        let why = [None, None, Some("a"), None, None];
        assert_eq!(
            caption(&table(Some(why), y), lines.clone()),
            "1 of 5 points has no answer and is left out (column `error`)."
        );
        let two = [Some(1.0), None, None, Some(4.0), Some(5.0)];
        assert_eq!(
            caption(&table(Some(why), two), lines.clone()),
            "2 of 5 points have no value and are left out (column `error` of 1)."
        );
        // Where there is no `x`, nothing has a place to say it.
        let swapped = Drawing::of("y", "x").kind(Kind::Bars);
        assert_eq!(caption(&table(None, y), swapped), "1 of 5 points has no value and is left out.");
        assert_eq!(caption(&table(None, y), lines.kind(Kind::Bars)), "");
    }

    #[test]
    fn a_series_that_was_refused_keeps_its_bars_places() {
        let table = Table::from_columns([
            ("x", texts(&["p", "p", "p", "q", "q", "q"])),
            ("kind", texts(&["a", "b", "c", "a", "b", "c"])),
            ("y", numbers(&[Some(1.0), None, Some(3.0), Some(4.0), None, Some(6.0)])),
        ])
        .unwrap();
        let figure = Drawing::of("x", "y").series("kind").draw(&table).unwrap();
        let Chart::GroupedBars(bars) = &figure.panels[0].chart else { panic!("bars") };
        let names: Vec<&str> = bars.series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, &bars.series[1].values), (vec!["a", "b", "c"], &vec![None, None]));
        let svg = figure.svg().unwrap();
        assert_eq!(svg.matches(">n/a<").count(), 2);
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let table = |q: [Option<f64>; 3]| {
            Table::from_columns([
                ("x", texts(&["a", "b", "c"])),
                ("p_ns", numbers(&[Some(1.0), Some(2.0), None])),
                ("q_ns", numbers(&q)),
            ])
            .unwrap()
        };
        let y = vec!["p_ns".to_owned(), "q_ns".to_owned()];
        let drawing = Drawing { y, ..Drawing::of("x", "") }.kind(Kind::Stacked);
        let drawn = |q| {
            let figure = drawing.draw(&table(q)).unwrap();
            let Chart::StackedBars(bars) = &figure.panels[0].chart else { panic!("a stack") };
            let values =
                bars.series.iter().map(|it| (it.name.clone(), it.values.clone())).collect::<Vec<_>>();
            (values, figure.caption.clone(), figure.svg().unwrap().matches(">n/a<").count())
        };
        let part = |name: &str, values: [Option<f64>; 3]| (name.to_owned(), values.to_vec());
        let (values, caption, told) = drawn([Some(2.0), None, None]);
        assert_eq!(values, [part("p", [Some(1.0), None, None]), part("q", [Some(2.0), None, None])]);
        assert_eq!((caption.as_str(), told), ("n/a where a part has no value.", 2));
        // What has no value anywhere is no part, and that is said.
        let (values, caption, told) = drawn([None; 3]);
        assert_eq!(values, [part("p", [Some(1.0), Some(2.0), None])]);
        assert_eq!((caption.as_str(), told), ("`q` has no value and is left out.", 1));
        let error = drawing.draw(&table([None, None, Some(1.0)])).unwrap_err().to_string();
        assert!(error.contains("give 0 where there is no such part"), "{error}");
    }

    #[test]
    fn a_part_without_a_value_in_one_panel_is_none_there() {
        let table = Table::from_columns([
            ("x", texts(&["a", "b", "a", "b"])),
            ("system", texts(&["pim", "pim", "cxl", "cxl"])),
            ("p_ns", numbers(&[1.0, 2.0, 3.0, 4.0].map(Some))),
            ("link_ns", numbers(&[None, None, Some(1.0), Some(2.0)])),
        ])
        .unwrap();
        let y = vec!["p_ns".to_owned(), "link_ns".to_owned()];
        let drawing = Drawing { y, ..Drawing::of("x", "").facet("system") }.kind(Kind::Stacked);
        let figure = drawing.draw(&table).unwrap();
        assert_eq!(figure.caption, "`link` has no value in pim and is left out there.");
        assert!(!figure.svg().unwrap().contains(">n/a<"));
    }

    #[test]
    fn many_narrow_cells_without_a_value_are_counted_below() {
        let of = |count: u32| {
            let all: Vec<f64> = (0..count).map(f64::from).collect();
            let y: Vec<_> = all.iter().map(|it| (*it < 2.0 || 3.0 < *it).then_some(*it)).collect();
            Table::from_columns([
                ("x", numbers(&all.iter().copied().map(Some).collect::<Vec<_>>())),
                ("row", texts(&vec!["r"; all.len()])),
                ("y", numbers(&y)),
            ])
            .unwrap()
        };
        for kind in [Kind::Heatmap, Kind::Bars] {
            let caption = |count: u32| {
                let figure = Drawing::of("x", "y").series("row").kind(kind).draw(&of(count)).unwrap();
                figure.svg().unwrap();
                figure.caption
            };
            assert_eq!(caption(24), "");
            assert_eq!(caption(80), "2 of 80 points have no value.");
        }
    }

    #[test]
    fn a_front_leaves_out_what_breaks_the_constraints() {
        let table = Table::from_columns([
            ("time_ns", numbers(&[1.0, 2.0, 3.0, 4.0].map(Some))),
            ("cost_usd", numbers(&[1.0, 4.0, 2.0, 1.5].map(Some))),
            ("feasible", Column::Bool([false, true, true, true].map(Some).to_vec())),
        ])
        .unwrap();
        let figure = Drawing::of("time_ns", "cost_usd").kind(Kind::Front).draw(&table).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("points") };
        let edge = &lines.curves.last().unwrap().points;
        assert_eq!((edge[0], *edge.last().unwrap()), ((2.0, Some(4.0)), (4.0, Some(1.5))));
        assert_eq!(lines.curves[0].points, [(1.0, Some(1.0))]);
        assert_eq!(
            figure.caption,
            "1 of 4 points (hollow) does not keep all constraints and is not on the front (column `feasible`)."
        );
        figure.svg().unwrap();
    }
}
