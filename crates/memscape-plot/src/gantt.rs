//! Who is busy when: bars along time, a row each.

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Span, draw_level, level_room, level_ticks};
use crate::canvas::{Align, Rect, Scene};
use crate::error::PlotError;
use crate::legend::{Entry, Key};
use crate::numbers::three;
use crate::plot::{Extent, Margins, Plot, extent_of};
use crate::series::check_value;
use crate::style::{Colour, Font, GRID, GRID_WIDTH, INK, SPINE_WIDTH, WHITE, distinct};

/// A busy span of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// The row, from the top.
    pub row: usize,
    /// From when.
    pub start: f64,
    /// Until when.
    pub end: f64,
    /// What it is busy with: an index into [`Gantt::kinds`].
    pub kind: usize,
    /// What is written into it, where it fits.
    pub label: String,
    /// Whether others wait for it; it is drawn darker.
    pub critical: bool,
}

/// Busy spans along time, for example threads of a program.
///
/// ```
/// use memscape_plot::{Busy, Figure, Gantt};
///
/// let busy = |row, start, end| Busy { row, start, end, kind: row, label: String::new(), critical: row == 0 };
/// let gantt = Gantt {
///     rows: ["T0", "T1"].map(str::to_owned).to_vec(),
///     kinds: ["Copy", "GEMM"].map(str::to_owned).to_vec(),
///     busy: vec![busy(0, 0.0, 3.0), busy(1, 0.0, 2.0)],
///     marks: vec![3.0],
///     x_label: "Time (ms)".to_owned(),
///     ..Gantt::default()
/// };
/// assert!(Figure::one_column().panel("", gantt).svg()?.contains("Time (ms)"));
/// # Ok::<(), memscape_plot::PlotError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gantt {
    /// Names from the top down.
    pub rows: Vec<String>,
    /// What there is to be busy with; a colour each.
    pub kinds: Vec<String>,
    /// The spans, which do not overlap in a row.
    pub busy: Vec<Busy>,
    /// Vertical lines, such as barriers.
    pub marks: Vec<f64>,
    /// What time is, with its unit.
    pub x_label: String,
    /// Until when its axis goes at least.
    pub until: f64,
}

impl Gantt {
    fn span(&self) -> Span {
        let ends = self.busy.iter().flat_map(|it| [it.start, it.end]);
        Span::of_values(&Axis::linear(""), ends.chain([0.0, self.until]))
    }

    fn row_room(&self) -> f64 {
        self.rows.iter().map(|it| Font::TICK.width(it)).fold(0.0, f64::max) + 4.0
    }

    fn colour(busy: &Busy) -> Colour {
        let own = distinct(busy.kind);
        if busy.critical { own } else { own.mix(WHITE, 0.55) }
    }
}

impl Plot for Gantt {
    fn check(&self) -> Result<(), PlotError> {
        let outside = |what: &str, value: String, allowed: String| {
            Err(PlotError::Outside { what: what.to_owned(), value, allowed })
        };
        for (index, it) in self.busy.iter().enumerate() {
            let what = || format!("span {}", index + 1);
            for end in [it.start, it.end] {
                check_value(what, end, || "an end of it".to_owned(), crate::Scale::Linear)?;
            }
            if it.end < it.start || it.start < 0.0 {
                let allowed = "a start from 0 on and an end that is no earlier".to_owned();
                return outside(&what(), format!("{} to {}", it.start, it.end), allowed);
            }
            if self.rows.len() <= it.row {
                return outside(&what(), format!("row {}", it.row), format!("{} rows", self.rows.len()));
            }
            if self.kinds.len() <= it.kind {
                return outside(&what(), format!("kind {}", it.kind), format!("{} kinds", self.kinds.len()));
            }
        }
        check_value(|| "until".to_owned(), self.until, || "the axis' end".to_owned(), crate::Scale::Linear)?;
        if self.busy.is_empty() {
            return Err(PlotError::Empty { what: self.x_label.clone() });
        }
        let span = self.span();
        match self.marks.iter().find(|it| !it.is_finite() || !span.holds(**it)) {
            Some(mark) => outside("marks", mark.to_string(), "times that the spans cover".to_owned()),
            None => Ok(()),
        }
    }

    fn legend(&self) -> Vec<Entry> {
        // A kind looks as it does where it is on the critical path, if it ever is.
        let colour = |kind: usize| {
            let of_kind = self.busy.iter().filter(|it| it.kind == kind);
            of_kind.max_by_key(|it| it.critical).map_or_else(|| distinct(kind), Self::colour)
        };
        let entry =
            |(kind, name): (usize, &String)| Entry { name: name.clone(), key: Key::Patch(colour(kind)) };
        self.kinds.iter().enumerate().map(entry).collect()
    }

    fn plot_height(&self, _width: f64) -> f64 {
        (12.0 * self.rows.len() as f64).max(40.0)
    }

    fn margins(&self, _width: f64, _height: f64) -> Margins {
        let last = self.span().ticks(6).last().map_or(0.0, |it| Font::TICK.width(&it.label) / 2.0);
        Margins { left: self.row_room(), right: last, top: 3.0, bottom: level_room(&self.x_label) }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let span = self.span();
        let ticks = level_ticks(scene.width, area, span, &[]);
        let x = |value: f64| area.left + span.share(value) * area.width();
        let high = area.height() / self.rows.len() as f64;
        for tick in ticks.iter().filter(|it| !it.label.is_empty()) {
            scene.line((x(tick.value), area.top), (x(tick.value), area.bottom), GRID_WIDTH, GRID);
        }
        for mark in &self.marks {
            scene.dashes(
                &[(x(*mark), area.top), (x(*mark), area.bottom)],
                (1.2, 1.2),
                0.4,
                INK.mix(WHITE, 0.4),
            );
        }
        for it in &self.busy {
            let top = area.top + it.row as f64 * high;
            let bar = Rect {
                left: x(it.start),
                right: x(it.end),
                top: top + 0.16 * high,
                bottom: top + 0.84 * high,
            };
            let colour = Self::colour(it);
            scene.fill(bar, colour);
            let font = Font::VALUE.coloured(colour.ink_on());
            if font.width(&it.label) + 2.0 <= bar.width() && font.size <= bar.height() + 1.0 {
                scene.write(bar.centre(), Align::Middle, font, it.label.as_str());
            }
        }
        for (row, name) in self.rows.iter().enumerate() {
            let y = area.top + (row as f64 + 0.5) * high;
            scene.write(
                (area.left - 3.0, y),
                Align::End,
                Font::TICK.sized(Font::TICK.size.min(high)),
                name.as_str(),
            );
        }
        scene.line((area.left, area.top), (area.left, area.bottom), SPINE_WIDTH, INK);
        scene.line((area.left, area.bottom), (area.right, area.bottom), SPINE_WIDTH, INK);
        draw_level(scene, area, span, &ticks, &self.x_label);
    }
    fn describe(&self) -> String {
        let end = self.busy.iter().map(|it| it.end).fold(0.0, f64::max);
        let busy = self.rows.iter().enumerate().map(|(row, name)| {
            let own: f64 = self.busy.iter().filter(|it| it.row == row).map(|it| it.end - it.start).sum();
            format!("{name} busy for {}", three(own))
        });
        let busy: Vec<String> = busy.collect();
        let kinds = self.kinds.join(", ");
        format!(
            "Who is busy when ({}), until {}, with {kinds}: {}.",
            self.x_label,
            three(end),
            busy.join("; ")
        )
    }

    fn extent(&self) -> Option<Extent> {
        let x = extent_of(self.busy.iter().flat_map(|it| [it.start, it.end]));
        Some(Extent { x, ..Extent::default() })
    }

    fn reach(&mut self, extent: Extent) {
        self.until = extent.x.map_or(self.until, |it| it.1.max(self.until));
    }
}
