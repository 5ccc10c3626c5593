//! Figures over numbers: lines, points and fronts.

use memscape_explore::{Column, Objective, Table, front};
use memscape_papers::Error;
use memscape_plot::{Axis, Chart, Fill, Lines, Mark};

use super::drawing::{Drawing, Kind};
use super::labels::is_change;
use super::missing::is_refused;
use super::rows::{Panel, Row};

/// More cannot be seen.
const MOST_MARKERS: usize = 40;
/// Values across that may each have its mark on a logarithmic axis.
const MOST_NAMED: usize = 12;
/// More points lie over each other, and let through what is under them.
const MOST_SOLID: usize = 100;

impl Drawing {
    pub(super) fn curves(&self, panel: &Panel<'_>, mark: Mark) -> Result<Chart, Error> {
        let Panel { table, rows, here, own: series, .. } = panel;
        let mut lines = self.axes(panel)?;
        let refused = is_refused(table);
        for (name, look) in series {
            let mut own: Vec<&&Row> = here.iter().filter(|it| it.series == *name).collect();
            own.sort_by(|one, other| one.x.total_cmp(&other.x));
            if mark == Mark::LineAndPoints
                && let Some(two) = own.windows(2).find(|it| it[0].x.total_cmp(&it[1].x).is_eq())
            {
                return Err(self.ambiguous(table, two[0].line, name));
            }
            // Markers on each of many points hide the line.
            let most = rows.most_of(name);
            let dense = mark == Mark::LineAndPoints && most > MOST_MARKERS;
            let fill = if most > MOST_SOLID { Fill::Translucent } else { Fill::default() };
            let refused = rows.places(&here[0].facet).filter(|it| it.series == *name && refused[it.line]);
            let points = with_gaps(&own, refused.map(|it| it.x));
            let ends: Vec<_> = points.iter().map(|it| it.ends).collect();
            let points = points.into_iter().map(|it| (it.x, it.y));
            lines = lines
                .marked(if dense { Mark::Line } else { mark }, *name, points)
                .looking(*look)
                .filled(fill);
            if self.band.is_some() {
                lines = if mark == Mark::Points { lines.spread(ends) } else { lines.band(ends) };
            }
        }
        Ok(self.with_references(lines, panel).into())
    }

    pub(super) fn front(&self, panel: &Panel<'_>) -> Result<Chart, Error> {
        let Panel { table, rows, here, own, .. } = panel;
        let [y] = &self.y[..] else {
            return Err(Error::BadChart("a front is of two columns; give one as `y`".to_owned()));
        };
        let mut lines = self.axes(panel)?;
        let feasible = table.feasible();
        for (name, look) in own {
            let (kept, broken): (Vec<&&Row>, Vec<&&Row>) =
                here.iter().filter(|it| it.series == *name).partition(|it| feasible[it.line]);
            let points = |of: &[&&Row]| of.iter().map(|it| (it.x, it.y)).collect::<Vec<_>>();
            let fill = if rows.most_of(name) > MOST_SOLID { Fill::Translucent } else { Fill::Solid };
            if !broken.is_empty() {
                lines = lines.points("", points(&broken)).looking(*look).filled(Fill::Hollow);
            }
            lines = lines.points(*name, points(&kept)).looking(*look).filled(fill);
        }
        let here: Vec<&&Row> = here.iter().filter(|it| feasible[it.line]).collect();
        let sense = |column: &str, axis: &str| {
            if self.maximize.iter().any(|it| it == column) {
                Objective::maximize(axis)
            } else {
                Objective::minimize(axis)
            }
        };
        let found = Table::from_columns([
            ("x", Column::Float(here.iter().map(|it| Some(it.x)).collect())),
            ("y", Column::Float(here.iter().map(|it| Some(it.y)).collect())),
        ])?;
        if let Some(other) = self.maximize.iter().find(|it| **it != self.x && *it != y) {
            table.column(other)?;
            return Err(Error::BadChart(format!(
                "`maximize` names `{other}`, which is neither `x` nor `y` here"
            )));
        }
        let goals = [sense(&self.x, "x"), sense(y, "y")];
        let best = front(&found, &goals, &[])?;
        let mut points: Vec<(f64, Option<f64>)> =
            best.f64("x")?.into_iter().flatten().zip(best.f64("y")?).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points.dedup();
        let steps = if goals[0].maximize { Mark::StepsBefore } else { Mark::StepsAfter };
        lines = lines.marked(steps, "Front", points);
        Ok(self.with_references(lines, panel).into())
    }

    fn axes(&self, panel: &Panel<'_>) -> Result<Lines, Error> {
        let Panel { table, rows, .. } = panel;
        if !rows.numeric {
            return Err(Error::BadChart(format!(
                "`{}` holds names, which have no place on an axis; use bars or a heat map",
                self.x
            )));
        }
        let axis = |name: String, log| if log { Axis::log10(name) } else { Axis::linear(name) };
        let mut places: Vec<f64> = rows.all.iter().map(|it| it.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        // Of a few values that were chosen, readers look for these; points may stand at any.
        let counts = matches!(table.column(&self.x), Ok(Column::Int(_)));
        let chosen = self.log.x && places.len() <= MOST_NAMED && (rows.kind == Kind::Lines || counts);
        let across = match self.subject_of(std::slice::from_ref(&self.x), table) {
            Some(of) if is_change(&self.x) => rows.across.label_of(&self.x, &of),
            Some(of) => self.called(&of, rows.across),
            None => self.called(&self.x, rows.across),
        };
        let across = axis(across, self.log.x);
        let across = if chosen { across.marks(places) } else { across };
        Ok(Lines::new(across, axis(self.y_label(panel), self.log.y)))
    }

    fn with_references(&self, mut lines: Lines, panel: &Panel<'_>) -> Lines {
        lines.references.extend(self.references(panel));
        lines
    }
}

/// A point of a curve, or a gap in it.
struct Point {
    x: f64,
    y: Option<f64>,
    ends: Option<(f64, f64)>,
}

/// Rows in the order of `x`, and a gap wherever a point between two of them was refused: a line there would say
/// that there is an answer.
fn with_gaps(own: &[&&Row], refused: impl Iterator<Item = f64>) -> Vec<Point> {
    let points = own.iter().map(|it| Point { x: it.x, y: Some(it.y), ends: it.ends });
    let between = |x: &f64| {
        let after = own.partition_point(|it| it.x < *x);
        0 < after && own.get(after).is_some_and(|it| *x < it.x)
    };
    let gaps = refused.filter(between).map(|x| Point { x, y: None, ends: None });
    let mut all: Vec<Point> = points.chain(gaps).collect();
    all.sort_by(|one, other| one.x.total_cmp(&other.x));
    all
}
