//! The legend: a row of keys above the plot, broken into rows where needed.

use crate::canvas::{Align, Fill, Marker, Rect, Scene};
use crate::style::{CURVE_WIDTH, Colour, Font, INK, REFERENCE_WIDTH};

/// How a series looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Key {
    Patch(Colour),
    Bar { colour: Colour, hatched: bool },
    Curve { colour: Colour, marker: Option<(Marker, Fill)>, dash: Option<Dash> },
    Point { colour: Colour, marker: Marker, fill: Fill },
}

/// One entry of a legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub name: String,
    pub key: Key,
}

/// A stroke and the gap behind it.
pub(crate) type Dash = (f64, f64);

pub(crate) const DASH: Dash = (3.0, 1.8);

const KEY_TO_NAME: f64 = 2.5;
const BETWEEN: f64 = 9.0;
const FONT: Font = Font::LEGEND;

impl Key {
    fn width(self) -> f64 {
        match self {
            Self::Patch(_) | Self::Bar { .. } => 7.0,
            Self::Curve { .. } => 14.0,
            Self::Point { .. } => 6.0,
        }
    }

    fn draw(self, scene: &mut Scene, x: f64, y: f64) {
        let middle = x + self.width() / 2.0;
        match self {
            Self::Patch(colour) | Self::Bar { colour, .. } => {
                let rect = Rect { left: x, top: y - 2.7, right: x + 7.0, bottom: y + 2.7 };
                scene.fill(rect, colour);
                if matches!(self, Self::Bar { hatched: true, .. }) {
                    scene.hatch(rect);
                }
            }
            Self::Curve { colour, marker, dash } => {
                let ends = [(x, y), (x + self.width(), y)];
                if let Some(dash) = dash {
                    scene.dashes(&ends, dash, REFERENCE_WIDTH, colour);
                } else {
                    scene.path(ends.to_vec(), CURVE_WIDTH, colour);
                }
                if let Some((marker, fill)) = marker {
                    marker.draw(scene, (middle, y), 2.0, colour, fill);
                }
            }
            Self::Point { colour, marker, fill } => marker.draw(scene, (middle, y), 2.2, colour, fill),
        }
    }
}

impl Entry {
    /// What open diamonds are, if there are any.
    pub fn published(any: bool) -> Option<Self> {
        let key = Key::Point { colour: INK, marker: Marker::Diamond, fill: Fill::Hollow };
        any.then(|| Self { name: "Published".to_owned(), key })
    }

    fn width(&self) -> f64 {
        self.key.width() + KEY_TO_NAME + FONT.width(&self.name)
    }
}

/// Adds the entries of another panel where they belong between those there are; nothing if the same name or
/// look means something else there.
pub(crate) fn merge(entries: &mut Vec<Entry>, others: &[Entry]) -> Option<()> {
    let (mut place, known) = (None, entries.clone());
    for (index, other) in others.iter().enumerate() {
        let at = |name: &str| entries.iter().position(|it| it.name == name);
        let new = match at(&other.name) {
            Some(it) if entries[it].key != other.key => return None,
            Some(it) => {
                place = Some(it + 1);
                continue;
            }
            None if known.iter().any(|it| it.key == other.key) => return None,
            None => {
                let next = others[index + 1..].iter().find_map(|it| at(&it.name));
                next.or(place).unwrap_or(entries.len())
            }
        };
        entries.insert(new, other.clone());
        place = Some(new + 1);
    }
    Some(())
}

/// The height of a legend of this width; nothing for no entries.
pub(crate) fn height(entries: &[Entry], width: f64) -> f64 {
    let rows = rows(entries, width).len();
    if rows == 0 { 0.0 } else { rows as f64 * FONT.line() + 3.0 }
}

pub(crate) fn draw(scene: &mut Scene, entries: &[Entry], area: Rect) {
    for (row, entries) in rows(entries, area.width()).into_iter().enumerate() {
        let y = area.top + (row as f64 + 0.5) * FONT.line();
        let mut x = area.left + (area.width() - row_width(entries)) / 2.0;
        for entry in entries {
            entry.key.draw(scene, x, y);
            let name = x + entry.key.width() + KEY_TO_NAME;
            scene.write((name, y), Align::Start, FONT, entry.name.as_str());
            x += entry.width() + BETWEEN;
        }
    }
}

fn row_width(entries: &[Entry]) -> f64 {
    entries.iter().map(Entry::width).sum::<f64>() + BETWEEN * entries.len().saturating_sub(1) as f64
}

/// As few rows as fit, about equally long.
fn rows(entries: &[Entry], width: f64) -> Vec<&[Entry]> {
    if entries.is_empty() {
        return Vec::new();
    }
    let fit = |rows: &Vec<&[Entry]>| rows.iter().all(|it| row_width(it) <= width);
    let broken = |per_row| entries.chunks(per_row).collect::<Vec<_>>();
    let least = (1..=entries.len()).rev().map(broken).find(fit).unwrap_or_else(|| broken(1));
    let even = broken(entries.len().div_ceil(least.len()));
    if fit(&even) { even } else { least }
}
