//! A figure: panels laid out on a page.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bars::GroupedBars;
use crate::bitmap::png;
use crate::canvas::{Align, Rect, Scene, Shape};
use crate::curves::Lines;
use crate::dark::darkened;
use crate::error::PlotError;
use crate::gantt::Gantt;
use crate::heat::HeatMap;
use crate::legend::{self, Entry};
use crate::pdf::pdf;
use crate::plot::{Extent, Margins, Plot};
use crate::stacked::StackedBars;
use crate::style::{EDGE, Font, Style, WHITE, Width};
use crate::svg::svg;
use crate::table::TextTable;
use crate::tiles::TileGrid;
use crate::tornado::Tornado;

/// Less across a plot, in points, is none.
const NARROWEST: f64 = 16.0;

/// A figure: panels in a grid, under an optional title, over an optional caption.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Figure {
    /// How wide it is on the page; its height follows from what it holds.
    pub width: Width,
    /// A line above everything.
    pub title: String,
    /// A remark below everything, broken into lines.
    pub caption: String,
    /// The charts, row by row.
    pub panels: Vec<Panel>,
    /// Panels per row; all in one row if missing.
    pub columns: Option<usize>,
    /// Height of each plot (inside the axes) in inches; by kind if missing.
    pub plot_height_in: Option<f64>,
    /// Where it is shown.
    pub style: Style,
    /// Whether panels that lack some of the series have one legend all the same, if in no two of them the same
    /// name or look is another's.
    #[serde(default)]
    pub one_legend: bool,
}

/// What a figure is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// For pages and notebooks.
    Svg,
    /// For slides and mail.
    Png,
    /// For LaTeX.
    Pdf,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Png, Self::Pdf];

    /// How names of its files end.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }

    /// The one of this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The one that a file's name ends in, in small letters or capitals.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        Self::named(&path.extension()?.to_str()?.to_ascii_lowercase())
    }
}

/// One chart of a figure, under its own title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// For example `(a) Speedup`; may be empty.
    pub title: String,
    /// What it shows.
    pub chart: Chart,
}

/// What a panel shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Chart {
    /// Bars side by side.
    GroupedBars(GroupedBars),
    /// Bars on top of each other.
    StackedBars(StackedBars),
    /// Curves and points.
    Lines(Lines),
    /// Values as colours.
    HeatMap(HeatMap),
    /// A tiled matrix.
    TileGrid(TileGrid),
    /// Busy spans along time.
    Gantt(Gantt),
    /// A text table.
    TextTable(TextTable),
    /// What parameters do to an answer.
    Tornado(Tornado),
}

macro_rules! charts {
    ($($chart:ident),*) => {
        $(impl From<$chart> for Chart {
            fn from(chart: $chart) -> Self {
                Self::$chart(chart)
            }
        })*

        impl Chart {
            fn plot(&self) -> &dyn Plot {
                match self {
                    $(Self::$chart(it) => it,)*
                }
            }

            fn plot_mut(&mut self) -> &mut dyn Plot {
                match self {
                    $(Self::$chart(it) => it,)*
                }
            }
        }
    };
}
charts!(GroupedBars, StackedBars, Lines, HeatMap, TileGrid, Gantt, TextTable, Tornado);

impl Figure {
    /// An empty figure for one column of a page.
    #[must_use]
    pub fn one_column() -> Self {
        Self::default()
    }

    /// An empty figure as wide as a page.
    #[must_use]
    pub fn two_columns() -> Self {
        Self { width: Width::TwoColumns, ..Self::default() }
    }

    /// Sets the line above everything.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the remark below everything.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a chart under its own title, which may be empty.
    #[must_use]
    pub fn panel(mut self, title: impl Into<String>, chart: impl Into<Chart>) -> Self {
        self.panels.push(Panel { title: title.into(), chart: chart.into() });
        self
    }

    /// Breaks the panels into rows of so many.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = Some(columns);
        self
    }

    /// Sets the height of every plot (inside the axes) in inches.
    #[must_use]
    pub fn plot_height_in(mut self, inches: f64) -> Self {
        self.plot_height_in = Some(inches);
        self
    }

    /// Sets where it is shown.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Has all panels of a kind the same axes and colours: a length or a colour means the same
    /// in each.
    #[must_use]
    pub fn share_axes(mut self) -> Self {
        let extents: Vec<_> = self.panels.iter().map(|it| it.chart.plot().extent()).collect();
        let all = extents.into_iter().flatten().reduce(Extent::around);
        if let Some(all) = all {
            self.panels.iter_mut().for_each(|it| it.chart.plot_mut().reach(all));
        }
        self
    }

    /// Has panels that lack some of the series share one legend all the same, unless the same name or look is
    /// another's in some.
    #[must_use]
    pub fn one_legend(mut self) -> Self {
        self.one_legend = true;
        self
    }

    /// What it shows, in sentences that are read out where it cannot be seen: computed from
    /// what is drawn.
    #[must_use]
    pub fn alt_text(&self) -> String {
        let panels = self.panels.iter().map(|it| {
            let shows = it.chart.plot().describe();
            if it.title.is_empty() { shows } else { format!("{}: {shows}", it.title) }
        });
        let all: Vec<String> =
            panels.chain((!self.caption.is_empty()).then(|| self.caption.clone())).collect();
        all.join(" ")
    }

    /// The figure as an SVG document, sized in inches.
    ///
    /// Text stays text, in a font that is installed almost everywhere or has a twin of the same
    /// widths (see `assets/README.md`), and as wide as it was laid out in any other. What reads
    /// pictures aloud finds the title and [`Figure::alt_text`]; groups are named after panels and
    /// series.
    ///
    /// # Errors
    /// [`PlotError`] names the series at fault.
    pub fn svg(&self) -> Result<String, PlotError> {
        Ok(svg(&self.scene()?, self.style.zoom(), &self.name(), &self.alt_text()))
    }

    /// The figure as a PNG image: 300 dots per inch, or a slide's.
    ///
    /// # Errors
    /// [`PlotError`] names the series at fault.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let per_inch = self.style.dots_per_inch();
        png(&self.scene()?, per_inch * self.style.zoom() / 72.0, per_inch)
    }

    /// The figure as a PDF document of one page, for LaTeX: text as text, with the letters of
    /// the font that it needs.
    ///
    /// # Errors
    /// [`PlotError`] names the series at fault.
    pub fn pdf(&self) -> Result<Vec<u8>, PlotError> {
        pdf(&self.scene()?, self.style.zoom(), &self.name(), &self.alt_text())
    }

    /// The figure as a file of this format.
    ///
    /// # Errors
    /// [`PlotError`] names the series at fault.
    pub fn file(&self, format: Format) -> Result<Vec<u8>, PlotError> {
        match format {
            Format::Svg => self.svg().map(String::into_bytes),
            Format::Png => self.png(),
            Format::Pdf => self.pdf(),
        }
    }

    /// Its title, or its only panel's, or what its charts are of.
    fn name(&self) -> String {
        match &self.panels[..] {
            _ if !self.title.is_empty() => self.title.clone(),
            [only] if !only.title.is_empty() => only.title.clone(),
            panels => panels.first().map_or_else(String::new, |it| it.chart.plot().subject()),
        }
    }

    /// The page, in its style's colours.
    fn scene(&self) -> Result<Scene, PlotError> {
        let scene = self.layout()?.scene;
        Ok(if self.style == Style::Dark { darkened(&scene) } else { scene })
    }

    /// Puts everything in its place.
    pub(crate) fn layout(&self) -> Result<Layout, PlotError> {
        self.check()?;
        match self.evenly_free() {
            Some(even) => even.laid_out(),
            None => self.laid_out(),
        }
    }

    /// How many panels stand beside each other, and how wide each is.
    fn row(&self) -> (usize, f64) {
        let per_row = self.columns.unwrap_or(self.panels.len());
        (per_row, (self.width.inner() - BETWEEN_PANELS * (per_row - 1) as f64) / per_row as f64)
    }

    /// How high a row's plots are.
    fn height_of(&self, panels: &[Panel], width: f64) -> f64 {
        let height_for = |plot: &dyn Plot| {
            let margins = plot.margins(width, 88.0);
            let own = plot.plot_height(width - margins.left - margins.right);
            self.plot_height_in.map_or(own, |it| it * 72.0)
        };
        panels.iter().map(|it| height_for(it.chart.plot())).fold(0.0, f64::max)
    }

    /// The same with as much room above the bars in all panels that share an axis: where more is written
    /// over the bars of one, a length would mean more there. Nothing if no panels do.
    fn evenly_free(&self) -> Option<Self> {
        /// More room may take more marks, these more width, and narrower bars more room.
        const TURNS: usize = 4;
        let (per_row, width) = self.row();
        let mut even: Option<Self> = None;
        for _ in 0..TURNS {
            let now = even.as_ref().unwrap_or(self);
            let rooms: Vec<_> = now
                .panels
                .chunks(per_row)
                .flat_map(|panels| {
                    let height = now.height_of(panels, width);
                    panels.iter().map(move |it| {
                        let plot = it.chart.plot();
                        let margins = plot.margins(width, height);
                        plot.headroom(width - margins.left - margins.right, height)
                    })
                })
                .collect();
            let most = |reach: (f64, f64)| {
                rooms.iter().flatten().filter(|it| it.1 == reach).map(|it| it.0).fold(0.0, f64::max)
            };
            let wanted: Vec<f64> = rooms.iter().map(|it| it.map_or(0.0, |(_, reach)| most(reach))).collect();
            let differ = rooms.iter().zip(&wanted).any(|(own, it)| own.is_some_and(|own| own.0 < *it));
            if !differ {
                break;
            }
            let panels = &mut even.get_or_insert_with(|| self.clone()).panels;
            panels.iter_mut().zip(wanted).for_each(|(it, share)| it.chart.plot_mut().keep_free(share));
        }
        even
    }

    fn laid_out(&self) -> Result<Layout, PlotError> {
        let mut page = Page::new(self.width.points(), self.panels.len());
        if !self.title.is_empty() {
            page.write_lines(Font::TITLE, &self.title, "title", 2.0);
        }
        let (per_row, width) = self.row();
        for panel in &self.panels {
            let plot = panel.chart.plot();
            let Margins { left, right, .. } = plot.margins(width, 88.0);
            if width - left - right < NARROWEST {
                return Err(PlotError::Narrow {
                    what: plot.subject(),
                    left: (width - left - right).max(0.0),
                });
            }
        }
        let heading = self.heading(width);
        let shared = self.shared_legend();
        if let Some(entries) = &shared {
            page.place_legend(entries);
        }
        for (row, panels) in self.panels.chunks(per_row).enumerate() {
            if 0 < row {
                page.bottom += BETWEEN_ROWS;
            }
            self.lay_row(&mut page, (row * per_row, panels), width, shared.is_some(), heading);
        }
        if !self.caption.is_empty() {
            page.bottom += 4.0;
            page.write_lines(Font::CAPTION, &self.caption, "caption", 0.0);
        }
        let height = page.bottom + EDGE;
        if TALLEST < height {
            return Err(PlotError::Outside {
                what: "height of the figure".to_owned(),
                value: format!("{:.0} inches", height / 72.0),
                allowed: format!("{:.0} inches; draw fewer rows, or several figures", TALLEST / 72.0),
            });
        }
        page.layout.scene.height = height;
        page.layout.scene.check_texts()?;
        Ok(page.layout)
    }

    fn lay_row(
        &self,
        page: &mut Page,
        (before, panels): (usize, &[Panel]),
        width: f64,
        legend_is_shared: bool,
        heading: Font,
    ) {
        let plots: Vec<_> = panels.iter().map(|it| it.chart.plot()).collect();
        let height = self.height_of(panels, width);
        let margins: Vec<_> = plots.iter().map(|it| it.margins(width, height)).collect();
        let most = |of: &dyn Fn(&Margins) -> f64| margins.iter().map(of).fold(0.0, f64::max);
        let (above, below) = (most(&|it| it.top), most(&|it| it.bottom));
        let titles: Vec<_> = panels.iter().map(|it| heading.wrap_evenly(&it.title, width)).collect();
        let title_lines = titles.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let legends: Vec<_> =
            plots.iter().map(|it| if legend_is_shared { Vec::new() } else { it.legend() }).collect();
        let legend = legends.iter().map(|it| legend::height(it, width)).fold(0.0, f64::max);
        let titles_end = page.bottom + title_lines * heading.line();
        let top = if 0.0 < title_lines { titles_end + 2.0 } else { titles_end };

        for (index, (plot, margins)) in plots.iter().zip(&margins).enumerate() {
            let left = EDGE + index as f64 * (width + BETWEEN_PANELS);
            page.layout.scene.shapes.push(Shape::Open(format!("panel {}", before + index + 1)));
            for (line, text) in titles[index].iter().rev().enumerate() {
                let y = titles_end - (line as f64 + 0.5) * heading.line();
                page.layout.scene.write((left + width / 2.0, y), Align::Middle, heading, text.as_str());
            }
            let own = legend::height(&legends[index], width);
            let keys = Rect { left, right: left + width, top: top + legend - own, bottom: top + legend };
            if 0.0 < own {
                page.layout.scene.group("legend", |it| legend::draw(it, &legends[index], keys));
                page.layout.legends.push(keys);
            }
            let area = Rect {
                left: left + margins.left,
                right: left + width - margins.right,
                top: top + legend + above,
                bottom: top + legend + above + height,
            };
            plot.draw(&mut page.layout.scene, area);
            page.layout.scene.shapes.push(Shape::Close);
            page.layout.plots.push(area);
        }
        page.bottom = top + legend + above + height + below;
    }

    /// The font of the panels' titles: all on one line if it need not be tiny.
    fn heading(&self, width: f64) -> Font {
        let longest = self.panels.iter().map(|it| Font::PANEL.width(&it.title)).fold(0.0, f64::max);
        let fitting = Font::PANEL.size * width / longest;
        Font::PANEL.sized(if fitting < 6.0 { 6.5 } else { fitting.min(Font::PANEL.size) })
    }

    /// The legend that all of several panels have in common, or of all their series if that is wanted. What
    /// others print of one panel is explained for all.
    fn shared_legend(&self) -> Option<Vec<Entry>> {
        let published = Entry::published(true);
        let own = |it: &Panel| {
            let all = it.chart.plot().legend();
            all.into_iter().partition::<Vec<_>, _>(|it| Some(it) == published.as_ref())
        };
        let (first, rest) = self.panels.split_first()?;
        let (mut found, mut entries) = own(first);
        for panel in rest {
            let (marks, others) = own(panel);
            if others != entries {
                if !self.one_legend {
                    return None;
                }
                legend::merge(&mut entries, &others)?;
            }
            found.extend(marks);
        }
        entries.extend(found.into_iter().next());
        (!rest.is_empty() && !entries.is_empty()).then_some(entries)
    }

    fn check(&self) -> Result<(), PlotError> {
        let outside = |what: &str, value: String, allowed: &str| {
            Err(PlotError::Outside { what: what.to_owned(), value, allowed: allowed.to_owned() })
        };
        if self.panels.is_empty() {
            return Err(PlotError::Empty { what: "figure".to_owned() });
        }
        if self.columns == Some(0) {
            return outside("columns", "0".to_owned(), "one or more");
        }
        if let Some(height) = self.plot_height_in.filter(|it| !(0.4..=20.0).contains(it)) {
            return outside("plot_height_in", height.to_string(), "0.4 to 20 inches");
        }
        self.panels.iter().try_for_each(|it| it.chart.plot().check())
    }
}

/// A figure higher than this takes gigabytes as a picture.
const TALLEST: f64 = 60.0 * 72.0;
const BETWEEN_PANELS: f64 = 12.0;
const BETWEEN_ROWS: f64 = 8.0;

/// A figure in its place: shapes, and which boxes are what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub scene: Scene,
    pub plots: Vec<Rect>,
    pub legends: Vec<Rect>,
}

/// A page being filled from the top down.
struct Page {
    layout: Layout,
    bottom: f64,
}

impl Page {
    fn new(width: f64, panels: usize) -> Self {
        let scene = Scene { width, height: 0.0, ground: WHITE, shapes: Vec::new() };
        Self {
            layout: Layout { scene, plots: Vec::with_capacity(panels), legends: Vec::new() },
            bottom: EDGE,
        }
    }

    fn inner_width(&self) -> f64 {
        self.layout.scene.width - 2.0 * EDGE
    }

    fn write_lines(&mut self, font: Font, text: &str, what: &str, space_below: f64) {
        let lines = font.wrap_evenly(text, self.inner_width());
        let (middle, top) = (self.layout.scene.width / 2.0, self.bottom);
        self.bottom += lines.len() as f64 * font.line() + space_below;
        self.layout.scene.group(what, |scene| {
            for (row, line) in lines.into_iter().enumerate() {
                scene.write((middle, top + (row as f64 + 0.5) * font.line()), Align::Middle, font, line);
            }
        });
    }

    fn place_legend(&mut self, entries: &[Entry]) {
        let (left, right) = (EDGE, EDGE + self.inner_width());
        let height = legend::height(entries, right - left);
        let keys = Rect { left, right, top: self.bottom, bottom: self.bottom + height };
        self.layout.scene.group("legend", |it| legend::draw(it, entries, keys));
        self.layout.legends.push(keys);
        self.bottom += height;
    }
}
