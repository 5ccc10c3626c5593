//! Any table as a figure in the papers' look.

use memscape_explore::{Column, Objective, Table, front};
use memscape_papers::Error;
use memscape_plot::style::{DISTINCT, LOOKS};
use memscape_plot::{
    Axis, Chart, Figure, Fill, GroupedBars, HeatMap, Lines, Mark, Reference, Scale, Series, StackedBars,
    Tornado,
};

use crate::drawing::{Drawing, Kind, OF};
use crate::labels::{Prefix, unit};
use crate::looks::{Looks, MOST_SERIES, Seen};
use crate::missing::{is_refused, parts, without_a_part};
use crate::rows::{Place, Row, Rows, apart, in_order, is_numeric};
use crate::values::distinct;

/// The column that a tornado's bars start from.
const BASE: &str = "base";
/// The columns of the answers at the low and at the high end of a parameter.
const ENDS: [&str; 2] = ["at_low", "at_high"];

/// Columns of how far an answer moves, not of what it is.
const CHANGES: [&str; 4] = ["swing", "mean_effect", "mean_absolute_effect", "deviation"];

/// More points make a file that no program shows.
const MOST_ROWS: usize = 100_000;
/// More cannot be seen.
const MOST_GROUPS: usize = 200;
const MOST_PANELS: usize = 24;
const MOST_MARKERS: usize = 40;
/// Values across that may each have its mark on a logarithmic axis.
const MOST_NAMED: usize = 12;
/// More points lie over each other, and let through what is under them.
const MOST_SOLID: usize = 100;

impl Drawing {
    /// Draws a table. Rows that lack a value, such as those with an error, have no mark: bars and heat maps
    /// say `n/a` in their place, and under other figures stands how many there are. A bar of several parts has
    /// a length only if each has a value. Off a front are rows of which the column `feasible` says no.
    ///
    /// Times and energies have the prefix that suits them, whatever their column's.
    ///
    /// # Errors
    /// [`Error::Explore`] for a column that is not there or holds no numbers,
    /// [`Error::BadChart`] for a table without rows, or rows that would be drawn over each
    /// other, [`Error::Plot`] for what cannot be drawn.
    pub fn draw(&self, table: &Table) -> Result<Figure, Error> {
        if self.y.is_empty() {
            return Err(Error::BadChart("give at least one column as `y`".to_owned()));
        }
        if table.height() > MOST_ROWS {
            return Err(Error::BadChart(format!(
                "the table has {} rows, and a figure shows at most {MOST_ROWS}; filter it, or draw its front",
                table.height()
            )));
        }
        let of = self.subject(table);
        for column in self.labels.keys().filter(|it| of.as_deref() != Some(it)) {
            table.column(column)?;
        }
        self.check_units(table)?;
        let rows = Rows::of(self, table)?;
        self.check_used(rows.kind)?;
        let mut figure = if self.wide { Figure::two_columns() } else { Figure::one_column() };
        figure = figure.title(&self.title).style(self.style).one_legend();
        self.check_band(table)?;
        let panels = in_order(rows.all.iter().map(|it| (it.facet.clone(), it.facet_rank)));
        if panels.len() > MOST_PANELS {
            return Err(too_many(
                "panels",
                panels.len(),
                MOST_PANELS,
                self.facet.as_deref().unwrap_or("facet"),
            ));
        }
        let in_row = self.in_row(panels.len());
        if in_row < panels.len() {
            figure = figure.columns(in_row);
        }
        let looks = self.looks(&rows, &panels)?;
        figure = figure.caption(self.caption_of(table, &rows, &looks, &panels));
        for panel in &panels {
            let here: Vec<&Row> = rows.all.iter().filter(|it| it.facet == *panel).collect();
            let title = match &self.facet {
                Some(column) if is_numeric(table, column) => self.counted(column, panel),
                Some(_) => panel.clone(),
                None => String::new(),
            };
            let own = looks.of_panel(panel);
            figure = figure.panel(title, self.chart(table, &rows, &here, &own)?);
        }
        // Panels of a tornado may be of different things.
        let shared = !self.own_axes && self.kind != Some(Kind::Tornado) && !self.is_of_several_units(table);
        Ok(if shared { figure.share_axes() } else { figure })
    }

    /// That columns which share an axis have one unit, unless whoever asks has named them.
    fn check_units(&self, table: &Table) -> Result<(), Error> {
        // Panels of several columns have axes of their own, and so have ends of a parameter.
        let apart = self.facet.as_deref() == Some(OF) || self.kind == Some(Kind::Tornado);
        let subjects = if apart { Vec::new() } else { self.subjects(table, 0..table.height()) };
        let columns = if subjects.is_empty() { &self.y } else { &subjects };
        let units: Vec<_> =
            columns.iter().filter(|it| !self.labels.contains_key(*it)).map(|it| (it, unit(it))).collect();
        let Some((one, other)) = units.first().zip(units.iter().find(|it| it.1 != units[0].1)) else {
            return Ok(());
        };
        let said = |(column, unit): &(&String, String)| match unit.as_str() {
            "" => format!("`{column}` has no unit"),
            unit => format!("`{column}` is in {unit}"),
        };
        let remedy = if subjects.is_empty() {
            "draw a figure of each, or name both by `labels`"
        } else {
            "give each a panel (`facet` is `of`), or filter the table"
        };
        Err(Error::BadChart(format!(
            "{}, and {}: one axis cannot show both; {remedy}",
            said(one),
            said(other)
        )))
    }

    /// Whether panels are of columns in different units, whose numbers have no axis in common.
    fn is_of_several_units(&self, table: &Table) -> bool {
        let of =
            if self.facet.as_deref() == Some(OF) { table.text(OF).unwrap_or_default() } else { Vec::new() };
        let units = distinct(of.iter().flatten().map(|it| unit(it)));
        units.len() > 1
    }

    /// That nothing is asked for that such a figure does not have.
    fn check_used(&self, kind: Kind) -> Result<(), Error> {
        let level = matches!(kind, Kind::Bars | Kind::Stacked | Kind::Heatmap | Kind::Tornado);
        let unused = [
            (
                "reference",
                !self.reference.is_empty(),
                matches!(kind, Kind::Stacked | Kind::Heatmap | Kind::Tornado),
            ),
            ("log` of `x", self.log.x, level),
            ("log` of `y", self.log.y, matches!(kind, Kind::Stacked | Kind::Tornado)),
            ("maximize", !self.maximize.is_empty(), kind != Kind::Front),
        ];
        match unused.into_iter().find(|it| it.1 && it.2) {
            Some((what, ..)) => Err(Error::BadChart(format!(
                "a figure of kind `{}` has no `{what}`; leave it out, or draw another kind",
                kind.name()
            ))),
            None => Ok(()),
        }
    }

    /// `own`: the panel's series, and what they look like.
    fn chart(
        &self,
        table: &Table,
        rows: &Rows,
        here: &[&Row],
        own: &[(&str, usize)],
    ) -> Result<Chart, Error> {
        match rows.kind {
            Kind::Bars => self.bars(table, rows, here, own),
            Kind::Lines => self.curves(table, rows, here, own, Mark::LineAndPoints),
            Kind::Points => self.curves(table, rows, here, own, Mark::Points),
            Kind::Heatmap => self.heat_map(table, rows, here),
            Kind::Front => self.front(table, rows, here, own),
            Kind::Stacked => self.stacked(table, rows, here, own),
            Kind::Tornado => self.tornado(table, rows, here),
        }
    }

    /// What has a colour of its own. Bars keep their place also where none of a series has a value.
    fn looks(&self, rows: &Rows, panels: &[String]) -> Result<Looks, Error> {
        let places = rows.places.iter().filter(|it| panels.contains(&it.facet));
        let seen = |it: &Place| Seen { series: it.series.clone(), rank: it.rank, facet: it.facet.clone() };
        let seen: Vec<Seen> = match rows.kind {
            Kind::Heatmap | Kind::Tornado => return Ok(Looks::default()),
            Kind::Bars => places.map(seen).collect(),
            Kind::Lines | Kind::Points | Kind::Front => places.filter(|it| it.known).map(seen).collect(),
            Kind::Stacked => {
                let known = parts(rows);
                places
                    .filter(|it| known.contains(&(it.facet.as_str(), it.series.as_str())))
                    .map(seen)
                    .collect()
            }
        };
        let column = self.series.as_deref().unwrap_or("series");
        // Of bars alone, colours are all there is to tell them apart, and strokes across them.
        let (unlike, most) = match rows.kind {
            Kind::Bars | Kind::Stacked => (DISTINCT.len(), MOST_SERIES),
            Kind::Points | Kind::Front => (LOOKS, LOOKS),
            Kind::Lines | Kind::Heatmap | Kind::Tornado => (LOOKS, MOST_SERIES),
        };
        Looks::of(&seen, unlike, most).map_err(|there_are| too_many("series", there_are, most, column))
    }

    /// What a panel's values are. Panels of several units have axes of their own, others one.
    fn y_label(&self, table: &Table, rows: &Rows, here: &[&Row]) -> String {
        let own = self.is_of_several_units(table);
        let lines = rows.all.iter().filter(|it| !own || it.facet == here[0].facet).map(|it| it.line);
        match (&self.subjects(table, lines)[..], &self.y[..]) {
            ([of], all) if all.iter().all(|it| is_change(it)) && !self.labels.contains_key(of) => {
                let what = if let [y] = all { y } else { "change" };
                rows.up.label_of(what, of)
            }
            ([of], _) => self.called(of, rows.up),
            ([], [y]) => self.called(y, rows.up),
            ([], _) => rows.up.common_label(&self.y),
            (of, _) => rows.up.common_label(of),
        }
    }

    fn bars(&self, table: &Table, rows: &Rows, here: &[&Row], own: &[(&str, usize)]) -> Result<Chart, Error> {
        let groups = self.groups(rows, here)?;
        let x_label = self.called(&self.x, Prefix::default());
        let mut bars = GroupedBars::new(self.y_label(table, rows, here), groups.clone())
            .x_label(x_label)
            .scale(scale(self.log.y));
        for (name, look) in own {
            let values = groups
                .iter()
                .map(|group| self.one(table, here, group, name))
                .collect::<Result<Vec<_>, _>>()?;
            bars.series.push(Series::new(*name, values).looking(*look));
        }
        bars.references.extend(self.references(rows));
        for (series, (name, _)) in bars.series.iter_mut().zip(own) {
            let ends = |group: &String| {
                here.iter().find(|it| it.group == *group && it.series == *name).and_then(|it| it.ends)
            };
            if self.band.is_some() {
                series.spread = groups.iter().map(ends).collect();
            }
        }
        Ok(bars.into())
    }

    fn references(&self, rows: &Rows) -> impl Iterator<Item = Reference> {
        self.reference.iter().map(|(name, line)| line.times(rows.up.factor).named(name))
    }

    /// Rows by what they do to the answer, most first.
    fn tornado(&self, table: &Table, all: &Rows, here: &[&Row]) -> Result<Chart, Error> {
        let [low, high] = &self.y[..] else {
            return Err(Error::BadChart(
                "a tornado goes from one column to another; give both as `y`, such as `at_low` and `at_high`"
                    .to_owned(),
            ));
        };
        if self.series.is_some() {
            return Err(Error::BadChart(
                "a tornado has no `series`; give each value a panel by `facet`".to_owned(),
            ));
        }
        let (bases, names) = (table.f64(BASE)?, self.groups(all, here)?);
        let rows = |name: &String| here.iter().filter(|it| it.group == *name).collect::<Vec<_>>();
        let mut ends: Vec<(String, [Option<f64>; 2])> = Vec::new();
        for name in &names {
            let own = rows(name);
            let end = |column: &String| {
                own.iter().filter(|it| it.column == *column).map(|it| it.y).collect::<Vec<_>>()
            };
            let [lows, highs] = [end(low), end(high)];
            if lows.len() > 1 || highs.len() > 1 {
                return Err(self.ambiguous(table, own[0].line, ""));
            }
            ends.push((name.clone(), [lows.first().copied(), highs.first().copied()]));
        }
        let base = here.first().and_then(|it| bases[it.line]);
        let Some(base) = base
            .filter(|base| here.iter().all(|it| bases[it.line].is_some_and(|it| it.total_cmp(base).is_eq())))
        else {
            return Err(Error::BadChart(format!(
                "a tornado has one `{BASE}`, and the rows have several or none; give each a panel by `facet` (such as `of`), \
                 or filter the table"
            )));
        };
        let base = base * all.up.factor;
        let swing =
            |ends: &[Option<f64>; 2]| ends.iter().flatten().map(|it| (it - base).abs()).fold(0.0, f64::max);
        ends.sort_by(|a, b| swing(&b.1).total_cmp(&swing(&a.1)));
        let of = table.text(OF).ok().and_then(|it| here.first().and_then(|row| it[row.line].clone()));
        let of = of.map_or_else(|| self.y_label(table, all, here), |it| self.called(&it, all.up));
        let mut chart = Tornado::new(of, base);
        // Others are not the answers at the ends of a parameter.
        if [low.as_str(), high.as_str()] != ENDS {
            chart.called = Some([low, high].map(|it| self.short(it)));
        }
        Ok(ends.into_iter().fold(chart, |chart, (name, [low, high])| chart.row(name, low, high)).into())
    }

    /// That the columns of the band are there, and that what is drawn has a place for it.
    fn check_band(&self, table: &Table) -> Result<(), Error> {
        let Some(columns) = &self.band else { return Ok(()) };
        let [least, greatest] = columns;
        let ends = table.f64(least)?.into_iter().zip(table.f64(greatest)?);
        let swapped = ends.enumerate().find_map(|(row, it)| match it {
            (Some(low), Some(high)) if low > high => Some((row, low, high)),
            _ => None,
        });
        if let Some((row, low, high)) = swapped {
            return Err(Error::BadChart(format!(
                "`band`: in row {row}, `{least}` = {low} is above `{greatest}` = {high}; give the column of the lower ends \
                 first, or leave such rows out"
            )));
        }
        if self.y.len() > 1 || !matches!(self.kind, None | Some(Kind::Bars | Kind::Lines | Kind::Points)) {
            return Err(Error::BadChart(
                "`band` belongs to bars, lines or points of one column `y`; leave it out, or draw one of these".to_owned(),
            ));
        }
        let own = unit(&self.y[0]);
        let other = columns.iter().map(|it| (it, unit(it))).find(|it| !it.1.is_empty() && it.1 != own);
        match other.filter(|_| !own.is_empty()) {
            Some((other, its)) => Err(Error::BadChart(format!(
                "`band`: `{}` is in {own}, and `{other}` is in {its}; give columns of the same",
                self.y[0]
            ))),
            None => Ok(()),
        }
    }

    fn stacked(
        &self,
        table: &Table,
        rows: &Rows,
        here: &[&Row],
        own: &[(&str, usize)],
    ) -> Result<Chart, Error> {
        if self.series.is_some() && self.y.len() > 1 {
            return Err(Error::BadChart(
                "a stack has the columns `y` or the values of `series` as its parts; give one of them, and `facet` for \
                 the other"
                    .to_owned(),
            ));
        }
        let groups = self.groups(rows, here)?;
        let x_label = self.called(&self.x, Prefix::default());
        let mut bars = StackedBars::new(self.y_label(table, rows, here), groups.clone()).x_label(x_label);
        let unknown = without_a_part(rows, &here[0].facet);
        if groups.iter().all(|it| unknown.contains(it.as_str())) {
            return Err(Error::BadChart(
                "every bar lacks the value of a part, so that none has a length; give 0 where there is no such part, leave \
                 its column out, or filter the table"
                    .to_owned(),
            ));
        }
        for (name, look) in own {
            let value = |group: &String| {
                let value = self.one(table, here, group, name)?;
                Ok(value.filter(|_| !unknown.contains(group.as_str())))
            };
            let values = groups.iter().map(value).collect::<Result<Vec<_>, Error>>()?;
            bars.series.push(Series::new(*name, values).looking(*look));
        }
        Ok(bars.into())
    }

    fn heat_map(&self, table: &Table, all: &Rows, here: &[&Row]) -> Result<Chart, Error> {
        let Some(series) = &self.series else {
            return Err(Error::BadChart(
                "a heat map has a column across (`x`), one down (`series`) and one as colour (`y`); give `series`"
                    .to_owned(),
            ));
        };
        let columns = self.groups(all, here)?;
        let rows = in_order(all.places(&here[0].facet).map(|it| (it.series.clone(), it.rank)));
        if rows.len() > MOST_GROUPS {
            return Err(too_many("rows", rows.len(), MOST_GROUPS, series));
        }
        let of_row = |row: &String| columns.iter().map(|it| self.one(table, here, it, row)).collect();
        let values = rows.iter().map(of_row).collect::<Result<Vec<Vec<_>>, Error>>()?;
        Ok(HeatMap {
            rows,
            columns,
            values,
            row_label: self.called(series, Prefix::default()),
            column_label: self.called(&self.x, Prefix::default()),
            value_label: self.y_label(table, all, here),
            scale: scale(self.log.y),
            ..HeatMap::default()
        }
        .into())
    }

    fn curves(
        &self,
        table: &Table,
        rows: &Rows,
        here: &[&Row],
        series: &[(&str, usize)],
        mark: Mark,
    ) -> Result<Chart, Error> {
        let mut lines = self.axes(table, rows, here)?;
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
        Ok(self.with_references(lines, rows).into())
    }

    fn front(
        &self,
        table: &Table,
        rows: &Rows,
        here: &[&Row],
        own: &[(&str, usize)],
    ) -> Result<Chart, Error> {
        let [y] = &self.y[..] else {
            return Err(Error::BadChart("a front is of two columns; give one as `y`".to_owned()));
        };
        let mut lines = self.axes(table, rows, here)?;
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
        Ok(self.with_references(lines, rows).into())
    }

    fn axes(&self, table: &Table, rows: &Rows, here: &[&Row]) -> Result<Lines, Error> {
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
        Ok(Lines::new(across, axis(self.y_label(table, rows, here), self.log.y)))
    }

    fn with_references(&self, mut lines: Lines, rows: &Rows) -> Lines {
        lines.references.extend(self.references(rows));
        lines
    }

    /// Values of `x`, as names.
    fn groups(&self, rows: &Rows, here: &[&Row]) -> Result<Vec<String>, Error> {
        let groups = in_order(rows.places(&here[0].facet).map(|it| (it.group.clone(), it.x)));
        if groups.len() > MOST_GROUPS {
            return Err(too_many("groups", groups.len(), MOST_GROUPS, &self.x));
        }
        Ok(groups)
    }

    /// The one row of a group and a series, if there is any.
    fn one(&self, table: &Table, here: &[&Row], group: &str, series: &str) -> Result<Option<f64>, Error> {
        let mut found = here.iter().filter(|it| it.group == group && it.series == series);
        let first = found.next();
        if found.next().is_some() {
            return Err(self.ambiguous(table, first.map_or(0, |it| it.line), series));
        }
        Ok(first.map(|it| it.y))
    }

    /// Several rows in one place, and columns that may tell them apart.
    fn ambiguous(&self, table: &Table, line: usize, series: &str) -> Error {
        let used = |it: &&str| {
            *it != self.x
                && !self.y.iter().any(|y| y == it)
                && self.series.as_deref() != Some(it)
                && self.facet.as_deref() != Some(it)
        };
        let varied = table.column_names().into_iter().filter(used).filter(|it| {
            let values = table.text(it).unwrap_or_default();
            let complete = values.iter().all(Option::is_some);
            complete && (2..=MOST_PANELS).contains(&distinct(values.into_iter().flatten()).len())
        });
        // Axes stand before the answer.
        let asked = [Some(&self.x), self.series.as_ref(), self.facet.as_ref()];
        let columns = apart(table, asked.into_iter().flatten().map(String::as_str), varied.take(4));
        let varied: Vec<String> = columns.iter().map(|it| format!("`{it}`")).collect();
        // As the table has it, not in the figure's unit: whoever filters by it finds it.
        let group = table.text(&self.x).ok().and_then(|it| it[line].clone()).unwrap_or_default();
        let place = match series {
            "" => format!("`{}` = {group}", self.x),
            name => format!("`{}` = {group} of {name}", self.x),
        };
        let remedy = match &varied[..] {
            [] => "filter the table".to_owned(),
            some => format!(
                "tell them apart by `series` or `facet` (perhaps {}), or filter the table",
                some.join(", ")
            ),
        };
        Error::BadChart(format!("several rows have {place}; {remedy}"))
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

fn is_change(column: &str) -> bool {
    CHANGES.contains(&column)
}

fn scale(log: bool) -> Scale {
    if log { Scale::Log10 } else { Scale::Linear }
}

fn too_many(what: &str, there_are: usize, most: usize, column: &str) -> Error {
    Error::BadChart(format!(
        "`{column}` makes {there_are} {what}, and a figure has at most {most}; filter the table, or draw another column"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use memscape_plot::Style;
    use memscape_plot::style::distinct as colour;

    use super::*;
    use crate::drawing::{Line, Log};

    fn table() -> Table {
        let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
        let texts = |it: &[&str]| Column::Text(it.iter().map(|it| Some((*it).to_owned())).collect());
        Table::from_columns([
            ("memory.banks_per_channel", numbers(&[8.0, 8.0, 16.0, 16.0, 32.0, 32.0])),
            ("kind", texts(&["a", "b", "a", "b", "a", "b"])),
            ("time_ns", numbers(&[10.0, 12.0, 6.0, 7.0, 4.0, 5.0])),
            ("cost_usd", numbers(&[1.0, 1.0, 2.0, 3.0, 4.0, 4.0])),
        ])
        .unwrap()
    }

    fn error(drawing: &Drawing) -> String {
        drawing.draw(&table()).unwrap_err().to_string()
    }

    #[test]
    fn every_kind_draws_and_says_what_its_axes_are() {
        let lines = Drawing::of("memory.banks_per_channel", "time_ns").series("kind");
        let svg = lines.draw(&table()).unwrap().svg().unwrap();
        assert!(svg.contains("Banks per channel") && svg.contains("Time (ns)"), "{svg}");
        let kinds = Kind::ALL.into_iter().filter(|it| *it != Kind::Tornado);
        for kind in kinds {
            let svg = lines.clone().kind(kind).draw(&table()).and_then(|it| Ok(it.svg()?));
            assert!(svg.is_ok(), "{kind:?}: {}", svg.unwrap_err());
        }
        let facets = Drawing::of("memory.banks_per_channel", "time_ns").facet("kind").draw(&table()).unwrap();
        assert_eq!(facets.panels.len(), 2);
        let kinds: Vec<_> = (0..14).map(|it| Some(format!("kind {it}"))).collect();
        let many = Table::from_columns([
            ("x", Column::Int(vec![Some(1); 14])),
            ("y", Column::Int((1..=14).map(Some).collect())),
            ("kind", Column::Text(kinds)),
        ]);
        let wide = Drawing { wide: true, ..Drawing::of("x", "y").facet("kind") };
        assert_eq!(wide.draw(&many.unwrap()).unwrap().columns, Some(7));
        let parts = Drawing { y: vec!["time_ns".into(), "cost_usd".into()], ..Drawing::of("kind", "") };
        assert!(parts.kind(Kind::Stacked).draw(&table()).is_err(), "several rows of a kind");
    }

    #[test]
    fn what_cannot_be_drawn_is_told_with_a_remedy() {
        let plain = Drawing::of("memory.banks_per_channel", "time_ns");
        let ambiguous = error(&plain);
        assert!(ambiguous.contains("several rows have `memory.banks_per_channel` = 8"), "{ambiguous}");
        assert!(ambiguous.contains("`kind`"), "{ambiguous}");
        assert!(error(&Drawing::of("memory.banks", "time_ns")).contains("did you mean"));
        assert!(error(&Drawing::of("kind", "kind")).contains("texts"));
        assert!(error(&plain.clone().kind(Kind::Heatmap)).contains("give `series`"));
        assert!(error(&Drawing::of("kind", "time_ns").kind(Kind::Lines)).contains("holds names"));
        assert!(Log::named("z").is_err() && Kind::named("line").is_err());
    }

    #[test]
    fn values_are_called_what_they_are_of() {
        let texts = |it: &[&str]| Column::Text(it.iter().map(|it| Some((*it).to_owned())).collect());
        let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
        let table = |of: &[&str]| {
            Table::from_columns([
                ("threads", numbers(&[1.0, 2.0, 1.0, 2.0])),
                ("of", texts(of)),
                ("value", numbers(&[0.4, 0.3, 4e6, 3e6])),
                ("median", numbers(&[0.4, 0.2, 4e6, 2e6])),
            ])
            .unwrap()
        };
        let both = Drawing { y: vec!["value".into(), "median".into()], ..Drawing::of("threads", "") };
        let lines = both.clone().kind(Kind::Points);
        let svg = |it: &Drawing, of| it.draw(&table(of)).unwrap().svg().unwrap();
        assert!(svg(&lines, &["token_ns"; 4]).contains("Token (ms)"));
        let several = ["total_s", "total_s", "token_ns", "token_ns"];
        let together = Drawing::of("threads", "value").series("of");
        let told = together.draw(&table(&several)).unwrap_err().to_string();
        let remedy = "one axis cannot show both; give each a panel (`facet` is `of`)";
        assert!(told.contains("`total_s` is in s") && told.contains(remedy), "{told}");
        let each = svg(&both.facet("of"), &several);
        assert!(each.contains("Total (s)") && each.contains("Token (ns)"), "{each}");
        // What is told of the table can be found in it.
        let same = Table::from_columns([
            ("token_ns", numbers(&[1_251_432.5, 1_251_432.5])),
            ("energy_j", numbers(&[1.0, 2.0])),
        ]);
        let told = Drawing::of("token_ns", "energy_j").draw(&same.unwrap()).unwrap_err().to_string();
        assert!(told.contains("several rows have `token_ns` = 1251432.5;"), "{told}");
    }

    #[test]
    fn a_tornado_is_drawn_around_its_base_by_what_moves_most() {
        let texts = |it: &[&str]| Column::Text(it.iter().map(|it| Some((*it).to_owned())).collect());
        let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
        let table = |bases: &[f64]| {
            Table::from_columns([
                ("of", texts(&["time_ns", "time_ns"])),
                ("parameter", texts(&["small", "large"])),
                ("base", numbers(bases)),
                ("at_low", numbers(&[9.0, 30.0])),
                ("at_high", numbers(&[11.0, 4.0])),
            ])
            .unwrap()
        };
        let y = vec!["at_low".to_owned(), "at_high".to_owned()];
        let drawing = Drawing { y, ..Drawing::of("parameter", "") }.kind(Kind::Tornado);
        let figure = drawing.draw(&table(&[10.0, 10.0])).unwrap();
        let Chart::Tornado(chart) = &figure.panels[0].chart else { panic!("a tornado") };
        assert_eq!(
            (chart.rows.as_slice(), chart.base),
            (["large".to_owned(), "small".to_owned()].as_slice(), 10.0)
        );
        assert_eq!(chart.x_label, "Time (ns)");
        let several = drawing.draw(&table(&[10.0, 11.0])).unwrap_err().to_string();
        assert!(several.contains("give each a panel by `facet`"), "{several}");
        let one = Drawing::of("parameter", "at_low").kind(Kind::Tornado).draw(&table(&[1.0, 1.0]));
        assert!(one.unwrap_err().to_string().contains("give both as `y`"));
    }

    #[test]
    fn times_have_the_prefix_that_suits_them_unless_they_are_named() {
        let table = Table::from_columns([
            ("memory.banks_per_channel", Column::Float([8.0, 16.0, 32.0].map(Some).to_vec())),
            ("token_ns", Column::Float([4e6, 2e6, 1.5e6].map(Some).to_vec())),
        ])
        .unwrap();
        let plain = Drawing::of("memory.banks_per_channel", "token_ns");
        let with = Drawing { reference: vec![("goal".into(), Line::At(1e6))], ..plain.clone() };
        let Chart::Lines(lines) = &with.draw(&table).unwrap().panels[0].chart else { panic!("lines") };
        assert_eq!(lines.y.label, "Token (ms)");
        assert!((lines.references[0].value - 1.0).abs() < 1e-12);
        assert_eq!(lines.curves[0].points[2], (32.0, Some(1.5)));
        let named = plain.label("token_ns", "Time per token (ns)").draw(&table).unwrap();
        let Chart::Lines(lines) = &named.panels[0].chart else { panic!("lines") };
        assert_eq!(
            (lines.y.label.as_str(), lines.curves[0].points[2].1),
            ("Time per token (ns)", Some(1.5e6))
        );
        let unknown = Drawing::of("memory.banks_per_channel", "token_ns").label("token", "Token");
        assert!(unknown.draw(&table).unwrap_err().to_string().contains("token"));
    }

    #[test]
    fn a_front_is_a_staircase_and_a_legend_of_numbers_counts_up() {
        let points = Table::from_columns([
            ("a", numbers(&[1.0, 2.0, 3.0].map(Some))),
            ("b", numbers(&[30.0, 20.0, 10.0].map(Some))),
        ])
        .unwrap();
        let front = Drawing::of("a", "b").kind(Kind::Front);
        for (maximize, steps) in [("b", Mark::StepsAfter), ("a", Mark::StepsBefore)] {
            let front = Drawing { maximize: vec![maximize.to_owned()], ..front.clone() };
            let figure = front.draw(&points).unwrap();
            let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("points") };
            assert_eq!(lines.curves.last().unwrap().mark, steps);
        }
        let told = front.draw(&points).unwrap().alt_text();
        assert!(told.contains("Front from 10.0 (at 3) to 30.0 (at 1)"), "{told}");
        let table = Table::from_columns([
            ("channels", Column::Int([16, 2, 8].map(Some).to_vec())),
            ("time_ns", Column::Float([1.0, 2.0, 3.0].map(Some).to_vec())),
            ("cost_usd", Column::Float([1.0, 2.0, 3.0].map(Some).to_vec())),
        ])
        .unwrap();
        let figure = Drawing::of("time_ns", "cost_usd").series("channels").kind(Kind::Points).draw(&table);
        let Chart::Lines(lines) = &figure.unwrap().panels[0].chart else { panic!("points") };
        let names: Vec<&str> = lines.curves.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["channels 2", "channels 8", "channels 16"]);
    }

    /// So many points that they let each other through do so in each panel, also where a series has few.
    #[test]
    fn a_series_is_as_solid_in_all_panels() {
        let table = Table::from_columns([
            ("x", numbers(&(0..130).map(|it| Some(f64::from(it))).collect::<Vec<_>>())),
            ("y", numbers(&vec![Some(1.0); 130])),
            ("panel", texts(&[vec!["p"; 101], vec!["q"; 29]].concat())),
            ("s", texts(&["one"; 130])),
        ])
        .unwrap();
        let drawing = Drawing::of("x", "y").series("s").facet("panel");
        for kind in [Kind::Points, Kind::Front] {
            let figure = drawing.clone().kind(kind).draw(&table).unwrap();
            let fills = figure.panels.iter().map(|it| {
                let Chart::Lines(lines) = &it.chart else { panic!("points") };
                lines.curves.iter().find(|it| it.name == "one").unwrap().fill
            });
            assert_eq!(fills.collect::<Vec<_>>(), [Fill::Translucent; 2]);
        }
    }

    /// Those of a search or of joined tables come in no order.
    #[test]
    fn numbers_stand_in_their_order_and_texts_as_they_come() {
        let table = Table::from_columns([
            ("channels", Column::Int([16, 2, 8, 2].map(Some).to_vec())),
            ("rows", Column::Int([3, 1, 2, 3].map(Some).to_vec())),
            ("name", texts(&["c", "a", "b", "a"])),
            ("y", numbers(&[1.0, 2.0, 3.0, 4.0].map(Some))),
        ])
        .unwrap();
        let figure = Drawing::of("channels", "y").series("rows").kind(Kind::Heatmap).draw(&table).unwrap();
        let Chart::HeatMap(map) = &figure.panels[0].chart else { panic!("a heat map") };
        assert_eq!(map.columns, ["2", "8", "16"]);
        assert_eq!(map.rows, ["1", "2", "3"]);
        assert_eq!(map.values[2], [Some(4.0), None, Some(1.0)]);
        let figure = Drawing::of("name", "y").facet("rows").draw(&table).unwrap();
        let titles: Vec<&str> = figure.panels.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["rows 1", "rows 2", "rows 3"]);
        let figure = Drawing::of("name", "y").series("rows").draw(&table).unwrap();
        let Chart::GroupedBars(bars) = &figure.panels[0].chart else { panic!("bars") };
        assert_eq!(bars.groups, ["c", "a", "b"]);
    }

    #[test]
    fn what_a_kind_has_not_is_refused() {
        let asked = |kind, log: &str, reference: bool, maximize: bool| {
            let line = ("peak".to_owned(), Line::At(5.0));
            let drawing = Drawing {
                log: Log::named(log).unwrap(),
                reference: if reference { vec![line] } else { Vec::new() },
                maximize: if maximize { vec!["time_ns".to_owned()] } else { Vec::new() },
                ..Drawing::of("kind", "time_ns").series("memory.banks_per_channel").kind(kind)
            };
            drawing.draw(&table()).map(|_| ()).map_err(|it| it.to_string())
        };
        for (kind, log, reference, maximize) in [
            (Kind::Stacked, "", true, false),
            (Kind::Stacked, "y", false, false),
            (Kind::Heatmap, "x", false, false),
            (Kind::Bars, "x", false, false),
            (Kind::Bars, "", false, true),
        ] {
            let error = asked(kind, log, reference, maximize).unwrap_err();
            assert!(error.contains(&format!("a figure of kind `{}` has no `", kind.name())), "{error}");
        }
        assert_eq!(asked(Kind::Heatmap, "y", false, false), Ok(()));
        assert_eq!(asked(Kind::Bars, "y", true, false), Ok(()));
    }

    /// What `uncertainty` and `sensitivity` answer says in a column what it is of.
    #[test]
    fn values_have_the_unit_of_what_they_are_of() {
        let table = |of: [&str; 2], column: &str| {
            Table::from_columns([
                ("x", numbers(&[1.0, 2.0].map(Some))),
                ("of", texts(&of)),
                (column, numbers(&[4e6, 2e6].map(Some))),
            ])
            .unwrap()
        };
        let figure = Drawing::of("x", "value").draw(&table(["token_ns", "token_ns"], "value")).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
        assert_eq!((lines.y.label.as_str(), lines.curves[0].points[0].1), ("Token (ms)", Some(4.0)));
        let swings = table(["token_ns", "token_ns"], "swing");
        let figure = Drawing::of("x", "swing").draw(&swings).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
        assert_eq!((lines.y.label.as_str(), lines.curves[0].points[0].1), ("Swing of token (ms)", Some(4.0)));
        let several = Drawing { y: vec!["swing".to_owned()], ..Drawing::of("swing", "") };
        let figure = several.kind(Kind::Points).draw(&swings).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("points") };
        assert_eq!((lines.x.label.as_str(), lines.curves[0].points[0].0), ("Swing of token (ms)", 2.0));
        let labelled = Drawing::of("x", "value").label("token_ns", "Time per token (ns)");
        assert!(labelled.draw(&table(["token_ns", "token_ns"], "value")).is_ok());
        // Seconds and nanoseconds share no axis.
        let reach = |of: [&str; 2]| {
            let figure = Drawing::of("x", "value").facet("of").draw(&table(of, "value")).unwrap();
            let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
            lines.y.reach
        };
        assert!(reach(["token_ns", "ttft_s"]).is_none() && reach(["token_ns", "total_ns"]).is_some());
    }

    #[test]
    fn bands_and_styles_are_part_of_what_is_asked() {
        let json = r#"{"x": "memory.banks_per_channel", "y": ["time_ns"], "series": "kind", "style": "dark",
            "reference": [["peak", 8.0], ["phones", [5.0, 6.0]]], "band": ["least_ns", "time_ns"]}"#;
        let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
        let columns = [
            ("memory.banks_per_channel", numbers(&[8.0, 16.0])),
            ("kind", Column::Text(vec![Some("a".to_owned()); 2])),
            ("time_ns", numbers(&[10.0, 6.0])),
            ("least_ns", numbers(&[9.0, 4.0])),
        ];
        let table = Table::from_columns(columns).unwrap();
        let drawing: Drawing = serde_json::from_str(json).unwrap();
        assert_eq!((drawing.style, drawing.reference[1].1), (Style::Dark, Line::Band(5.0, 6.0)));
        let figure = drawing.draw(&table).unwrap();
        assert!(figure.svg().unwrap().contains("fill-opacity"), "a band");
        let error = serde_json::from_str::<Drawing>(&json.replace("dark", "drak")).unwrap_err().to_string();
        assert!(error.contains("did you mean `dark`?"), "{error}");
        let stacked = Drawing { reference: Vec::new(), ..drawing.kind(Kind::Stacked) };
        let stacked = stacked.draw(&table).unwrap_err().to_string();
        assert!(stacked.contains("belongs to bars, lines or points"), "{stacked}");
    }

    /// Axes have marks at the values that were chosen; answers stand anywhere.
    #[test]
    fn points_have_marks_at_values_that_count() {
        let values = |it: Column| {
            Table::from_columns([("x", it), ("y", numbers(&[1.0, 2.0, 3.0].map(Some)))]).unwrap()
        };
        let marks = |table: &Table, kind: Kind| {
            let log = Log::named("x").unwrap();
            let figure = Drawing { log, ..Drawing::of("x", "y").kind(kind) }.draw(table).unwrap();
            let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
            lines.x.marks.len()
        };
        let answers = values(numbers(&[1.32, 2.478, 4.65].map(Some)));
        let chosen = values(Column::Int([8, 16, 32].map(Some).to_vec()));
        assert_eq!([Kind::Lines, Kind::Points, Kind::Front].map(|it| marks(&answers, it)), [3, 0, 0]);
        assert_eq!([Kind::Lines, Kind::Points, Kind::Front].map(|it| marks(&chosen, it)), [3, 3, 3]);
    }

    #[test]
    fn values_beside_their_bands_are_counted() {
        let table = |high: f64| {
            Table::from_columns([
                ("x", texts(&["a", "b"])),
                ("y", numbers(&[2.0, 3.0].map(Some))),
                ("low", numbers(&[1.0, 1.0].map(Some))),
                ("high", numbers(&[4.0, high].map(Some))),
            ])
            .unwrap()
        };
        let drawing = Drawing { band: Some(["low", "high"].map(str::to_owned)), ..Drawing::of("x", "y") };
        assert_eq!(drawing.draw(&table(4.0)).unwrap().caption, "");
        assert_eq!(drawing.draw(&table(2.5)).unwrap().caption, "1 of 2 values is not within its band.");
    }

    #[test]
    fn any_numbers_are_drawn_or_told() {
        let extremes = [0.0, 1.0, -1.0, 1e100, 1e-100, 5e-324, 1e300, f64::MAX, f64::MIN, 1e15];
        for x in extremes {
            for y in extremes {
                let numbers = |it: [f64; 3]| Column::Float(it.map(Some).to_vec());
                let columns = [("x", numbers([1.0, x, 3.0])), ("y", numbers([y, 2.0, -y]))];
                let table = Table::from_columns(columns).unwrap();
                for (kind, log) in
                    Kind::ALL.into_iter().flat_map(|it| ["", "x", "y", "xy"].map(|log| (it, log)))
                {
                    let drawing =
                        Drawing { log: Log::named(log).unwrap(), ..Drawing::of("x", "y").kind(kind) };
                    let svg = drawing.draw(&table).and_then(|it| Ok(it.svg()?));
                    let length = svg.map_or(0, |it| it.len());
                    assert!(length < 1_000_000, "{kind:?} {log} of {x} and {y}: {length}");
                }
            }
        }
    }

    fn numbers(all: &[Option<f64>]) -> Column {
        Column::Float(all.to_vec())
    }

    fn texts(all: &[&str]) -> Column {
        Column::Text(all.iter().map(|it| Some((*it).to_owned())).collect())
    }

    #[test]
    fn a_series_looks_alike_in_all_panels() {
        let rows = [("m", "a"), ("m", "b"), ("m", "c"), ("n", "b"), ("n", "c"), ("o", "c"), ("o", "a")];
        let table = |missing: &str| {
            let y = |it: &(&str, &str)| (*it != ("n", missing)).then_some(2.0);
            Table::from_columns([
                ("x", numbers(&[Some(1.0); 7])),
                ("panel", texts(&rows.map(|it| it.0))),
                ("kind", texts(&rows.map(|it| it.1))),
                ("y", numbers(&rows.iter().map(y).collect::<Vec<_>>())),
            ])
            .unwrap()
        };
        let drawing = Drawing::of("x", "y").series("kind").facet("panel");
        let figure = drawing.clone().draw(&table("")).unwrap();
        let looks = |panel: usize| match &figure.panels[panel].chart {
            Chart::Lines(it) => {
                it.curves.iter().map(|it| (it.name.clone(), it.look.unwrap())).collect::<Vec<_>>()
            }
            _ => panic!("lines"),
        };
        let named = |all: &[(&str, usize)]| all.iter().map(|it| (it.0.to_owned(), it.1)).collect::<Vec<_>>();
        assert_eq!(looks(0), named(&[("a", 0), ("b", 1), ("c", 2)]));
        assert_eq!(looks(1), named(&[("b", 1), ("c", 2)]));
        assert_eq!(looks(2), named(&[("a", 0), ("c", 2)]));
        let legends = |it: &Figure| it.svg().unwrap().matches(">b<").count();
        assert_eq!(legends(&figure), 1);
        // Refused in one panel, it has its place and colour there as well.
        let bars = drawing.kind(Kind::Bars).draw(&table("b")).unwrap();
        let Chart::GroupedBars(second) = &bars.panels[1].chart else { panic!("bars") };
        let found: Vec<_> = second.series.iter().map(|it| (it.name.as_str(), it.colour)).collect();
        assert_eq!(found, [("b", Some(colour(1))), ("c", Some(colour(2)))]);
        assert_eq!(legends(&bars), 1);
    }

    /// There are eight colours; the ninth bar of a group is hatched.
    #[test]
    fn no_two_bars_of_a_group_look_alike() {
        let names: Vec<String> = (0..MOST_SERIES).map(|it| format!("s{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ones = numbers(&[Some(1.0); MOST_SERIES]);
        let groups = texts(&["x"; MOST_SERIES]);
        let table = Table::from_columns([("x", groups), ("y", ones), ("kind", texts(&names))]).unwrap();
        let drawing = Drawing { wide: true, ..Drawing::of("x", "y").series("kind") };
        for kind in [Kind::Bars, Kind::Stacked] {
            let figure = drawing.clone().kind(kind).draw(&table).unwrap();
            let series = match &figure.panels[0].chart {
                Chart::GroupedBars(it) => &it.series,
                Chart::StackedBars(it) => &it.series,
                _ => panic!("bars"),
            };
            let looks: HashSet<_> =
                series.iter().map(|it| (format!("{:?}", it.colour), it.hatched)).collect();
            assert_eq!((looks.len(), series.iter().filter(|it| it.hatched).count()), (12, 4));
            figure.svg().unwrap();
        }
    }

    #[test]
    fn panels_that_share_no_series_may_have_many() {
        let names: Vec<String> = (0..20).map(|it| format!("s{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let table = Table::from_columns([
            ("x", texts(&["x"; 20])),
            ("panel", texts(&[["m"; 10], ["n"; 10]].concat())),
            ("kind", texts(&names)),
            ("y", numbers(&[Some(1.0); 20])),
        ])
        .unwrap();
        let drawing = Drawing { wide: true, ..Drawing::of("x", "y").series("kind").facet("panel") };
        drawing.draw(&table).unwrap().svg().unwrap();
        let error = Drawing::of("x", "y").series("kind").draw(&table).unwrap_err().to_string();
        assert!(error.starts_with("`kind` makes 20 series"), "{error}");
    }

    #[test]
    fn points_have_more_looks_than_bars() {
        let many = |count: usize| {
            let names: Vec<String> = (0..count).map(|it| format!("s{it}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let ones = || numbers(&vec![Some(1.0); count]);
            Table::from_columns([("x", ones()), ("y", ones()), ("kind", texts(&names))]).unwrap()
        };
        for kind in [Kind::Points, Kind::Front] {
            let drawing = Drawing { wide: true, ..Drawing::of("x", "y").series("kind").kind(kind) };
            drawing.draw(&many(LOOKS)).unwrap().svg().unwrap();
            let error = drawing.draw(&many(LOOKS + 1)).unwrap_err().to_string();
            assert!(error.starts_with("`kind` makes 25 series, and a figure has at most 24"), "{error}");
        }
    }
}
