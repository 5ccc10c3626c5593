//! Any table as a figure in the papers' look.

use memscape_explore::{Column, Objective, Table, front};
use memscape_papers::Error;
use memscape_plot::{Axis, Chart, Figure, GroupedBars, HeatMap, Lines, Mark, Scale, StackedBars};
use serde::{Deserialize, Serialize};

/// What of a table is drawn, and how.
///
/// ```
/// use memscape::prelude::*;
///
/// let sweep = Sweep::default().axis("memory.banks_per_channel", [8, 16, 32]).axis("split_k", [1, 2]);
/// let table = study("pim.gemv")?.sweep(&sweep, &())?;
/// let figure = Drawing::of("memory.banks_per_channel", "speedup").series("split_k").draw(&table)?;
/// assert!(figure.svg()?.contains("Banks per channel"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// The column across.
    pub x: String,
    /// The column up, or several: parts of a stack, or a series each.
    pub y: Vec<String>,
    /// The column whose values are told apart by colour; of a heat map, its rows.
    #[serde(default)]
    pub series: Option<String>,
    /// The column whose values have a panel each.
    #[serde(default)]
    pub facet: Option<String>,
    /// How it is drawn; lines over numbers and bars over names if not given.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// Whether equal factors are equally far apart, across and up.
    #[serde(default)]
    pub log: Log,
    /// Dashed lines across, with a name each.
    #[serde(default)]
    pub reference: Vec<(String, f64)>,
    /// For `front`: of which columns more is better.
    #[serde(default)]
    pub maximize: Vec<String>,
    /// Stands above.
    #[serde(default)]
    pub title: String,
    /// Stands below.
    #[serde(default)]
    pub caption: String,
    /// Whether it is as wide as two columns of a page.
    #[serde(default)]
    pub wide: bool,
}

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A bar for each row, side by side.
    Bars,
    /// Points in the order of `x`, with a line through them.
    Lines,
    /// Points.
    Points,
    /// A colour for each pair of `x` and `series`.
    Heatmap,
    /// Points, and what nothing is better than in both columns.
    Front,
    /// The columns `y` on top of each other.
    Stacked,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Bars, Self::Lines, Self::Points, Self::Heatmap, Self::Front, Self::Stacked];

    /// What it is called in calls and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Lines => "lines",
            Self::Points => "points",
            Self::Heatmap => "heatmap",
            Self::Front => "front",
            Self::Stacked => "stacked",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] suggests the nearest.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        let unknown =
            || memscape_study::Unknown::new("kind of figure", name, Self::ALL.iter().map(|it| it.name()));
        found.ok_or_else(|| unknown().into())
    }
}

/// Which axes are logarithmic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Across.
    pub x: bool,
    /// Up.
    pub y: bool,
}

impl Log {
    /// `x`, `y` or `xy`; empty for neither.
    ///
    /// # Errors
    /// [`Error::BadChart`] for other letters.
    pub fn named(text: &str) -> Result<Self, Error> {
        match text {
            "" => Ok(Self::default()),
            "x" => Ok(Self { x: true, y: false }),
            "y" => Ok(Self { x: false, y: true }),
            "xy" => Ok(Self { x: true, y: true }),
            other => Err(Error::BadChart(format!("`log` = {other}: expected x, y or xy"))),
        }
    }
}

/// More points make a file that no program shows.
const MOST_ROWS: usize = 100_000;
/// More colours cannot be told apart, more bars not be seen.
const MOST_SERIES: usize = 12;
const MOST_GROUPS: usize = 200;
const MOST_PANELS: usize = 24;
const MOST_MARKERS: usize = 40;

impl Drawing {
    /// One column over another.
    #[must_use]
    pub fn of(x: impl Into<String>, y: impl Into<String>) -> Self {
        Self { x: x.into(), y: vec![y.into()], ..Self::default() }
    }

    /// Tells the values of a column apart by colour.
    #[must_use]
    pub fn series(self, column: impl Into<String>) -> Self {
        Self { series: Some(column.into()), ..self }
    }

    /// Gives each value of a column a panel.
    #[must_use]
    pub fn facet(self, column: impl Into<String>) -> Self {
        Self { facet: Some(column.into()), ..self }
    }

    /// Draws it so.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// Draws a table. Rows that lack a value, such as those with an error, are left out.
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
        let rows = Rows::of(self, table)?;
        let mut figure = if self.wide { Figure::two_columns() } else { Figure::one_column() };
        figure = figure.title(&self.title).caption(&self.caption);
        let panels = distinct(rows.all.iter().map(|it| it.facet.clone()));
        if panels.len() > MOST_PANELS {
            return Err(too_many(
                "panels",
                panels.len(),
                MOST_PANELS,
                self.facet.as_deref().unwrap_or("facet"),
            ));
        }
        for panel in &panels {
            let here: Vec<&Row> = rows.all.iter().filter(|it| it.facet == *panel).collect();
            let title = match &self.facet {
                Some(column) if is_numeric(table, column) => counted_label(column, panel),
                Some(_) => panel.clone(),
                None => String::new(),
            };
            figure = figure.panel(title, self.chart(table, &rows, &here)?);
        }
        Ok(figure)
    }

    fn chart(&self, table: &Table, rows: &Rows, here: &[&Row]) -> Result<Chart, Error> {
        let kind = self.kind.unwrap_or(if rows.numeric { Kind::Lines } else { Kind::Bars });
        match kind {
            Kind::Bars => self.bars(table, here),
            Kind::Lines => self.curves(table, rows, here, Mark::LineAndPoints),
            Kind::Points => self.curves(table, rows, here, Mark::Points),
            Kind::Heatmap => self.heat_map(table, here),
            Kind::Front => self.front(table, rows, here),
            Kind::Stacked => self.stacked(table, here),
        }
    }

    fn y_label(&self) -> String {
        if self.y.len() == 1 { label(&self.y[0]) } else { common_label(&self.y) }
    }

    fn bars(&self, table: &Table, here: &[&Row]) -> Result<Chart, Error> {
        let groups = self.groups(here)?;
        let mut bars =
            GroupedBars::new(self.y_label(), groups.clone()).x_label(label(&self.x)).scale(scale(self.log.y));
        for name in self.names(here)? {
            let values = groups
                .iter()
                .map(|group| self.one(table, here, group, &name))
                .collect::<Result<Vec<_>, _>>()?;
            bars = bars.series(name, values);
        }
        for (name, value) in &self.reference {
            bars = bars.reference(name, *value);
        }
        Ok(bars.into())
    }

    fn stacked(&self, table: &Table, here: &[&Row]) -> Result<Chart, Error> {
        if self.series.is_some() && self.y.len() > 1 {
            return Err(Error::BadChart(
                "a stack has the columns `y` or the values of `series` as its parts; give one of them, and `facet` for \
                 the other"
                    .to_owned(),
            ));
        }
        let groups = self.groups(here)?;
        let mut bars = StackedBars::new(self.y_label(), groups.clone()).x_label(label(&self.x));
        for name in self.names(here)? {
            let values = groups
                .iter()
                .map(|group| self.one(table, here, group, &name))
                .collect::<Result<Vec<_>, _>>()?;
            bars = bars.part(name, values);
        }
        Ok(bars.into())
    }

    fn heat_map(&self, table: &Table, here: &[&Row]) -> Result<Chart, Error> {
        let Some(series) = &self.series else {
            return Err(Error::BadChart(
                "a heat map has a column across (`x`), one down (`series`) and one as colour (`y`); give `series`"
                    .to_owned(),
            ));
        };
        let columns = self.groups(here)?;
        let rows = distinct(here.iter().map(|it| it.series.clone()));
        if rows.len() > MOST_GROUPS {
            return Err(too_many("rows", rows.len(), MOST_GROUPS, series));
        }
        let of_row = |row: &String| columns.iter().map(|it| self.one(table, here, it, row)).collect();
        let values = rows.iter().map(of_row).collect::<Result<Vec<Vec<_>>, Error>>()?;
        Ok(HeatMap {
            rows,
            columns,
            values,
            row_label: label(series),
            column_label: label(&self.x),
            value_label: self.y_label(),
            scale: scale(self.log.y),
            decimals: None,
        }
        .into())
    }

    fn curves(&self, table: &Table, rows: &Rows, here: &[&Row], mark: Mark) -> Result<Chart, Error> {
        let mut lines = self.axes(rows)?;
        for name in self.names(here)? {
            let mut points: Vec<(f64, f64)> =
                here.iter().filter(|it| it.series == name).map(|it| (it.x, it.y)).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            if mark == Mark::LineAndPoints
                && let Some(two) = points.windows(2).find(|it| it[0].0.total_cmp(&it[1].0).is_eq())
            {
                return Err(self.ambiguous(table, &format!("{}", two[0].0), &name));
            }
            // Markers on each of many points hide the line.
            let dense = mark == Mark::LineAndPoints && points.len() > MOST_MARKERS;
            lines = lines.marked(if dense { Mark::Line } else { mark }, name, points);
        }
        Ok(self.with_references(lines).into())
    }

    fn front(&self, table: &Table, rows: &Rows, here: &[&Row]) -> Result<Chart, Error> {
        let [y] = &self.y[..] else {
            return Err(Error::BadChart("a front is of two columns; give one as `y`".to_owned()));
        };
        let mut lines = self.axes(rows)?;
        for name in self.names(here)? {
            let points = here.iter().filter(|it| it.series == name).map(|it| (it.x, it.y));
            lines = lines.points(name.clone(), points);
        }
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
        lines = lines.marked(Mark::Dashed, "Front", points);
        Ok(self.with_references(lines).into())
    }

    fn axes(&self, rows: &Rows) -> Result<Lines, Error> {
        if !rows.numeric {
            return Err(Error::BadChart(format!(
                "`{}` holds names, which have no place on an axis; use bars or a heat map",
                self.x
            )));
        }
        let axis = |name: String, log| if log { Axis::log10(name) } else { Axis::linear(name) };
        Ok(Lines::new(axis(label(&self.x), self.log.x), axis(self.y_label(), self.log.y)))
    }

    fn with_references(&self, lines: Lines) -> Lines {
        self.reference.iter().fold(lines, |lines, (name, value)| lines.reference(name, *value))
    }

    /// Values of `x`, as names.
    fn groups(&self, here: &[&Row]) -> Result<Vec<String>, Error> {
        let groups = distinct(here.iter().map(|it| it.group.clone()));
        if groups.len() > MOST_GROUPS {
            return Err(too_many("groups", groups.len(), MOST_GROUPS, &self.x));
        }
        Ok(groups)
    }

    /// What has a colour of its own.
    fn names(&self, here: &[&Row]) -> Result<Vec<String>, Error> {
        let names = distinct(here.iter().map(|it| it.series.clone()));
        if names.len() > MOST_SERIES {
            return Err(too_many(
                "series",
                names.len(),
                MOST_SERIES,
                self.series.as_deref().unwrap_or("series"),
            ));
        }
        Ok(names)
    }

    /// The one row of a group and a series, if there is any.
    fn one(&self, table: &Table, here: &[&Row], group: &str, series: &str) -> Result<Option<f64>, Error> {
        let mut found = here.iter().filter(|it| it.group == group && it.series == series);
        let first = found.next();
        if found.next().is_some() {
            return Err(self.ambiguous(table, group, series));
        }
        Ok(first.map(|it| it.y))
    }

    /// Several rows in one place, and columns that may tell them apart.
    fn ambiguous(&self, table: &Table, group: &str, series: &str) -> Error {
        let used = |it: &&str| {
            *it != self.x
                && !self.y.iter().any(|y| y == it)
                && self.series.as_deref() != Some(it)
                && self.facet.as_deref() != Some(it)
        };
        // Parameters stand before the answer.
        let varied = table.column_names().into_iter().filter(used).filter(|it| {
            let values = table.text(it).map(|it| distinct(it.into_iter().flatten())).unwrap_or_default();
            (2..=MOST_PANELS).contains(&values.len())
        });
        let varied: Vec<String> = varied.take(4).map(|it| format!("`{it}`")).collect();
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

/// The rows of a table that have all that is drawn.
struct Rows {
    all: Vec<Row>,
    /// Whether `x` holds numbers.
    numeric: bool,
}

struct Row {
    /// Its place, if `x` holds numbers.
    x: f64,
    /// The value of `x` as text.
    group: String,
    y: f64,
    series: String,
    facet: String,
}

impl Rows {
    fn of(drawing: &Drawing, table: &Table) -> Result<Self, Error> {
        let texts = |column: &Option<String>| match column {
            Some(name) => table.text(name).map(Some),
            None => Ok(None),
        };
        let (series, facet) = (texts(&drawing.series)?, texts(&drawing.facet)?);
        let groups = table.text(&drawing.x)?;
        let places = table.f64(&drawing.x).ok();
        // A number alone does not say what it is; down a heat map stands the column's name.
        let counted =
            drawing.series.as_ref().filter(|it| drawing.kind != Some(Kind::Heatmap) && is_numeric(table, it));
        let of_row = |texts: &Option<Vec<Option<String>>>, row: usize| {
            texts.as_ref().map(|it| it[row].clone().unwrap_or_else(|| "null".to_owned()))
        };
        let mut all = Vec::new();
        for y in &drawing.y {
            for (row, value) in table.f64(y)?.into_iter().enumerate() {
                let (Some(value), Some(group)) = (value, groups[row].clone()) else { continue };
                let named = of_row(&series, row).map(|it| match counted {
                    Some(column) => counted_label(column, &it),
                    None => it,
                });
                let series = match (named, drawing.y.len()) {
                    (Some(name), 1) => name,
                    (Some(name), _) => format!("{name}, {}", short_label(y)),
                    (None, 1) => String::new(),
                    (None, _) => short_label(y),
                };
                let x = places.as_ref().and_then(|it| it[row]).unwrap_or(f64::NAN);
                let facet = of_row(&facet, row).unwrap_or_default();
                all.push(Row { x, group, y: value, series, facet });
            }
        }
        if all.is_empty() {
            return Err(Error::BadChart(format!(
                "no row of the table's {} has a value of `{}` and `{}`; look at its column `error`",
                table.height(),
                drawing.x,
                drawing.y.join("`, `")
            )));
        }
        let numeric = is_numeric(table, &drawing.x);
        Ok(Self { all, numeric })
    }
}

/// Whether a column holds numbers.
fn is_numeric(table: &Table, column: &str) -> bool {
    matches!(table.column(column), Ok(Column::Int(_) | Column::Float(_)))
}

fn scale(log: bool) -> Scale {
    if log { Scale::Log10 } else { Scale::Linear }
}

/// Each once, in the order in which they come.
fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    all.filter(|it| seen.insert(it.clone())).collect()
}

fn too_many(what: &str, there_are: usize, most: usize, column: &str) -> Error {
    Error::BadChart(format!(
        "`{column}` makes {there_are} {what}, and a figure has at most {most}; filter the table, or draw another column"
    ))
}

/// Units by the end of a column's name.
const UNITS: [(&str, &str); 22] = [
    ("_gb_s", "GB/s"),
    ("_mt_s", "MT/s"),
    ("_gt_s", "GT/s"),
    ("_bytes", "B"),
    ("_bits", "bit"),
    ("_tokens", "tokens"),
    ("_gflops", "GFLOPS"),
    ("_tops", "TOPS"),
    ("_mhz", "MHz"),
    ("_ghz", "GHz"),
    ("_usd", "USD"),
    ("_gib", "GiB"),
    ("_mib", "MiB"),
    ("_kib", "KiB"),
    ("_gb", "GB"),
    ("_mb", "MB"),
    ("_ns", "ns"),
    ("_us", "µs"),
    ("_ms", "ms"),
    ("_ps", "ps"),
    ("_s", "s"),
    ("_j", "J"),
];

/// A column's name as an axis says it: `memory.trcd_ns` is `Trcd [ns]`.
fn label(column: &str) -> String {
    let (name, unit) = split(column);
    if name == column && name.contains(' ') {
        return name;
    }
    let mut letters = name.chars();
    let name = letters
        .next()
        .map_or_else(String::new, |it| it.to_uppercase().collect::<String>() + letters.as_str());
    if unit.is_empty() { name } else { format!("{name} [{unit}]") }
}

/// A number of a column, with what it counts: `6400 MT/s`, `banks per channel 16`.
fn counted_label(column: &str, number: &str) -> String {
    let number = number.strip_suffix(".0").unwrap_or(number);
    match split(column) {
        (name, unit) if unit.is_empty() => format!("{name} {number}"),
        (_, unit) => format!("{number} {unit}"),
    }
}

/// The same without the unit.
fn short_label(column: &str) -> String {
    split(column).0
}

/// What several columns are: their unit, if they share one.
fn common_label(columns: &[String]) -> String {
    let units = distinct(columns.iter().map(|it| split(it).1));
    match &units[..] {
        [unit] if !unit.is_empty() => format!("[{unit}]"),
        _ => String::new(),
    }
}

fn split(column: &str) -> (String, String) {
    // A formula is what it is.
    if !column.chars().all(|it| it.is_alphanumeric() || "._".contains(it)) {
        return (column.to_owned(), String::new());
    }
    let leaf = column.rsplit('.').next().unwrap_or(column);
    let rate = leaf.rsplit_once("_per_").and_then(|(what, per)| {
        let unit = UNITS.iter().find(|it| it.0[1..] == *per)?;
        Some((what, unit.1))
    });
    if let Some((what, per)) = rate {
        let of = |it: &str| it.replace('_', " ");
        return match what.rsplit_once('_') {
            Some((what, counted)) => (format!("{} {counted}", of(what)), format!("{counted}/{per}")),
            None => (of(what), format!("{what}/{per}")),
        };
    }
    let unit = UNITS.iter().find(|it| leaf.ends_with(it.0) && leaf.len() > it.0.len());
    match unit {
        Some((end, unit)) => (leaf[..leaf.len() - end.len()].replace('_', " "), (*unit).to_owned()),
        None => (leaf.replace('_', " "), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(svg.contains("Banks per channel") && svg.contains("Time [ns]"), "{svg}");
        let kinds = [Kind::Bars, Kind::Lines, Kind::Points, Kind::Heatmap, Kind::Stacked, Kind::Front];
        for kind in kinds {
            let svg = lines.clone().kind(kind).draw(&table()).and_then(|it| Ok(it.svg()?));
            assert!(svg.is_ok(), "{kind:?}: {}", svg.unwrap_err());
        }
        let facets = Drawing::of("memory.banks_per_channel", "time_ns").facet("kind").draw(&table()).unwrap();
        assert_eq!(facets.panels.len(), 2);
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

    #[test]
    fn names_of_columns_become_labels_with_units() {
        for (column, expected) in [
            ("memory.trcd_ns", "Trcd [ns]"),
            ("generation_tokens_per_s", "Generation tokens [tokens/s]"),
            ("tokens_per_s", "Tokens [tokens/s]"),
            ("device.dram.read_gb_s", "Read [GB/s]"),
            ("memory_bytes", "Memory [B]"),
            ("speedup", "Speedup"),
            ("banks_per_channel", "Banks per channel"),
            ("pim.registers * 2", "pim.registers * 2"),
        ] {
            assert_eq!(label(column), expected);
        }
        assert_eq!(counted_label("memory.data_rate_mt_s", "6400.0"), "6400 MT/s");
        assert_eq!(counted_label("memory.banks_per_channel", "16"), "banks per channel 16");
    }
}
