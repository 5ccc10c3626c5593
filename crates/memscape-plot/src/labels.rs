//! Names along an axis, made to fit: as they are, in several lines, smaller,
//! or turned by a quarter.

use crate::canvas::{Align, Rect, Scene};
use crate::face::BREAK;
use crate::style::Font;

const GAP: f64 = 3.5;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Labels {
    /// The lines of each name.
    names: Vec<Vec<String>>,
    font: Font,
    turned: bool,
}

impl Labels {
    /// The names, each in a slot `pitch` points wide.
    pub fn fit(names: &[String], pitch: f64) -> Self {
        let room = pitch - 2.5;
        for size in [7.0, 6.4, 5.8] {
            let font = Font::TICK.sized(size);
            let wrapped: Vec<_> = names.iter().map(|it| font.wrap(&breakable(it), room)).collect();
            let fits =
                |lines: &Vec<String>| lines.iter().all(|it| font.width(it) <= room) && lines.len() <= 2;
            if wrapped.iter().all(fits) {
                let names = wrapped.into_iter().map(|it| it.into_iter().map(|line| joined(&line)).collect());
                return Self { names: names.collect(), font, turned: false };
            }
        }
        // Turned, a name is as wide as a line is high; the smallest may touch.
        let font = Font::TICK.sized((pitch / 1.05).clamp(4.2, Font::TICK.size));
        let every = (0.8 * font.size / pitch).ceil().max(1.0);
        let shown = |(index, it): (usize, &String)| {
            if (index as f64).rem_euclid(every) == 0.0 { vec![it.clone()] } else { Vec::new() }
        };
        Self { names: names.iter().enumerate().map(shown).collect(), font, turned: true }
    }

    /// The height they take below the plot.
    pub fn height(&self) -> f64 {
        if self.turned {
            GAP + self.longest()
        } else {
            let lines = self.names.iter().map(Vec::len).max().unwrap_or(0);
            GAP + lines as f64 * self.font.line()
        }
    }

    fn longest(&self) -> f64 {
        self.names.iter().flatten().map(|it| self.font.width(it)).fold(0.0, f64::max)
    }

    /// Draws each under the middle of its slot, the slots filling the width.
    pub fn draw_below(&self, scene: &mut Scene, area: Rect) {
        let pitch = area.width() / self.names.len() as f64;
        for (index, lines) in self.names.iter().enumerate() {
            let x = area.left + (index as f64 + 0.5) * pitch;
            for (row, line) in lines.iter().enumerate() {
                if self.turned {
                    scene.write_up((x, area.bottom + GAP), Align::End, self.font, line.as_str());
                } else {
                    let y = area.bottom + GAP + self.font.cap() / 2.0 + row as f64 * self.font.line();
                    scene.write((x, y), Align::Middle, self.font, line.as_str());
                }
            }
        }
    }
}

/// Lets a name break after a hyphen or slash too.
fn breakable(name: &str) -> String {
    name.replace('-', &format!("-{BREAK} ")).replace('/', &format!("/{BREAK} "))
}

/// Undoes [`breakable`] within a line.
fn joined(line: &str) -> String {
    line.replace(&format!("{BREAK} "), "").replace(BREAK, "")
}
