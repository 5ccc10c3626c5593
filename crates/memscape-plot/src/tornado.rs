//! What parameters do to an answer: a bar for each, from its answer at the low to that at the
//! high end.

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Span, draw_level, level_room, level_ticks};
use crate::canvas::{Align, Rect, Scene};
use crate::error::PlotError;
use crate::legend::{Entry, Key};
use crate::numbers::three;
use crate::plot::{Extent, Margins, Plot, extent_of};
use crate::series::{MISSING, check_length, check_value};
use crate::style::{Font, GRID, GRID_WIDTH, INK, SPINE_WIDTH, distinct};

/// What each of several parameters does to an answer, alone: from the base to its low end and
/// to its high end.
///
/// ```
/// use memscape_plot::{Figure, Tornado};
///
/// let tornado = Tornado::new("Time (ms)", 10.0).row("banks", 18.0, 6.0).row("registers", 10.5, 9.0);
/// assert!(Figure::one_column().panel("", tornado).svg()?.contains("registers"));
/// # Ok::<(), memscape_plot::PlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tornado {
    /// What is answered, with its unit.
    pub x_label: String,
    /// The answer at the base.
    pub base: f64,
    /// Names from the top down.
    pub rows: Vec<String>,
    /// The answer where the row's parameter is at its low and at its high end; `None` is shown as `n/a`.
    pub ends: Vec<[Option<f64>; 2]>,
    /// What the axis covers besides the bars.
    pub reach: Option<(f64, f64)>,
    /// What the legend calls the first and the second of the ends, if not the low and the high end of the
    /// parameter.
    #[serde(default)]
    pub called: Option<[String; 2]>,
}

impl Tornado {
    /// A chart without rows yet.
    pub fn new(x_label: impl Into<String>, base: f64) -> Self {
        Self { x_label: x_label.into(), base, ..Self::default() }
    }

    /// Adds a row below the others.
    #[must_use]
    pub fn row(
        mut self,
        name: impl Into<String>,
        low: impl Into<Option<f64>>,
        high: impl Into<Option<f64>>,
    ) -> Self {
        self.rows.push(name.into());
        self.ends.push([low.into(), high.into()]);
        self
    }

    fn shown(&self) -> impl Iterator<Item = f64> {
        self.ends.iter().flatten().copied().flatten().chain([self.base])
    }

    fn span(&self) -> Span {
        let reach = self.reach.into_iter().flat_map(|it| [it.0, it.1]);
        let (low, high) = extent_of(self.shown().chain(reach)).unwrap_or((0.0, 1.0));
        Span::around_values(&Axis::default(), [low, high].into_iter())
    }

    fn row_room(&self) -> f64 {
        self.rows.iter().map(|it| Font::TICK.width(it)).fold(0.0, f64::max) + 4.0
    }

    /// What the numbers beside the bars may take at the left and at the right.
    fn value_rooms(&self) -> [f64; 2] {
        let ends = self.ends.iter().filter_map(|it| extent_of(it.iter().copied().flatten()));
        let widths = ends.map(|(low, high)| {
            let width = |told: bool, it: f64| if told { Font::VALUE.width(&three(it)) + 2.4 } else { 0.0 };
            [width(low < self.base, low), width(self.base < high, high)]
        });
        widths.fold([0.0, 0.0], |most, it| [most[0].max(it[0]), most[1].max(it[1])])
    }

    /// What the ends are called, as the legend has them.
    fn names_of_ends(&self) -> [String; 2] {
        self.called.clone().unwrap_or_else(|| ["At its low end", "At its high end"].map(str::to_owned))
    }
}

impl Plot for Tornado {
    fn check(&self) -> Result<(), PlotError> {
        check_length(|| self.x_label.clone(), self.ends.len(), self.rows.len(), "rows")?;
        let scale = crate::Scale::Linear;
        for value in [self.base].into_iter().chain(self.reach.into_iter().flat_map(|it| [it.0, it.1])) {
            check_value(
                || self.x_label.clone(),
                value,
                || "the base, or an end of `reach`".to_owned(),
                scale,
            )?;
        }
        for (row, ends) in self.rows.iter().zip(&self.ends) {
            for value in ends.iter().flatten() {
                check_value(|| self.x_label.clone(), *value, || format!("`{row}`"), scale)?;
            }
        }
        if self.ends.iter().flatten().flatten().next().is_none() {
            return Err(PlotError::Empty { what: self.x_label.clone() });
        }
        Ok(())
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(index, name): (usize, String)| Entry { name, key: Key::Patch(distinct(index)) };
        self.names_of_ends().into_iter().enumerate().map(entry).collect()
    }

    fn plot_height(&self, _width: f64) -> f64 {
        (13.0 * self.rows.len() as f64).max(40.0)
    }

    fn margins(&self, _width: f64, _height: f64) -> Margins {
        let last = self.span().ticks(6).last().map_or(0.0, |it| Font::TICK.width(&it.label) / 2.0);
        let [left, right] = self.value_rooms();
        Margins {
            left: self.row_room() + left,
            right: last.max(right),
            top: 3.0,
            bottom: level_room(&self.x_label),
        }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let span = self.span();
        let ticks = level_ticks(scene.width, area, span, &[]);
        let x = |value: f64| area.left + span.share(value) * area.width();
        let high = area.height() / self.rows.len() as f64;
        for tick in ticks.iter().filter(|it| !it.label.is_empty()) {
            scene.line((x(tick.value), area.top), (x(tick.value), area.bottom), GRID_WIDTH, GRID);
        }
        let (base, names) = (x(self.base), area.left - self.value_rooms()[0] - 3.0);
        for (row, (name, ends)) in self.rows.iter().zip(&self.ends).enumerate() {
            let middle = area.top + (row as f64 + 0.5) * high;
            scene.group(name.as_str(), |scene| {
                // Where both ends lie on one side, the nearer one lies over the farther.
                let mut order: Vec<(usize, f64)> =
                    ends.iter().enumerate().filter_map(|(end, value)| Some((end, (*value)?))).collect();
                order.sort_by(|a, b| (b.1 - self.base).abs().total_cmp(&(a.1 - self.base).abs()));
                for (end, value) in order {
                    let (left, right) = (base.min(x(value)), base.max(x(value)));
                    let (top, bottom) = (middle - 0.34 * high, middle + 0.34 * high);
                    scene.fill(Rect { left, top, right, bottom }, distinct(end));
                }
            });
            self.write_ends(scene, ends, middle, &x);
            let font = Font::TICK.sized(Font::TICK.size.min(high));
            scene.write((names, middle), Align::End, font, name.as_str());
        }
        scene.line((base, area.top), (base, area.bottom), SPINE_WIDTH, INK);
        scene.line((area.left, area.bottom), (area.right, area.bottom), SPINE_WIDTH, INK);
        draw_level(scene, area, span, &ticks, &self.x_label);
    }

    fn subject(&self) -> String {
        self.x_label.clone()
    }

    fn describe(&self) -> String {
        let rows = self.rows.iter().zip(&self.ends).map(|(name, [low, high])| {
            let said = |it: &Option<f64>| it.map_or_else(|| "no answer".to_owned(), three);
            match &self.called {
                None => format!("{name} {} at its low and {} at its high end", said(low), said(high)),
                Some([one, other]) => format!("{name} {one} {} and {other} {}", said(low), said(high)),
            }
        });
        let rows: Vec<String> = rows.collect();
        let what = if self.x_label.is_empty() { "The answer" } else { &self.x_label };
        format!("{what} is {} at the base; {}.", three(self.base), rows.join("; "))
    }

    fn extent(&self) -> Option<Extent> {
        Some(Extent { x: extent_of(self.shown()), ..Extent::default() })
    }

    fn reach(&mut self, extent: Extent) {
        self.reach = extent.x.or(self.reach);
    }
}

impl Tornado {
    /// The answers at the ends, outside the bars: the least at the left, the greatest at the right; beside the
    /// base that an end has none.
    fn write_ends(&self, scene: &mut Scene, ends: &[Option<f64>; 2], y: f64, x: &impl Fn(f64) -> f64) {
        let font = Font::VALUE;
        let known = extent_of(ends.iter().copied().flatten());
        if ends.iter().any(Option::is_none) {
            // On the side that the bar leaves free.
            let (end, align) = match known {
                Some((low, _)) if low < self.base => (1.8, Align::Start),
                Some(_) => (-1.8, Align::End),
                None => (1.8, Align::Start),
            };
            scene.write((x(self.base) + end, y), align, font.coloured(MISSING), "n/a");
        }
        let Some((low, high)) = known else { return };
        if low < self.base {
            scene.write((x(low) - 1.8, y), Align::End, font, three(low));
        }
        if self.base < high {
            scene.write((x(high) + 1.8, y), Align::Start, font, three(high));
        }
    }
}
