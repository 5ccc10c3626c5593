//! A small table set as a figure.

use serde::{Deserialize, Serialize};

use crate::canvas::{Align, Rect, Scene};
use crate::error::PlotError;
use crate::legend::Entry;
use crate::plot::{Margins, Plot};
use crate::series::check_length;
use crate::style::{Font, INK, Width};

const PADDING: f64 = 3.0;
/// Letters that are smaller for the sake of whole cells are hard to read.
const SMALLEST: f64 = 0.85;
const HEADER: Font = Font { bold: true, ..Font::TICK };

/// A text table with rules above, below and under its header. The first column
/// is set left, the others are centred; cells break into lines where the page
/// is narrow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TextTable {
    /// One title per column.
    pub header: Vec<String>,
    /// One cell per column each.
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table without rows yet.
    pub fn new<H: Into<String>>(header: impl IntoIterator<Item = H>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    #[must_use]
    pub fn row<C: Into<String>>(mut self, cells: impl IntoIterator<Item = C>) -> Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// How large its letters are, 1 at the most, in a figure of this width that shows nothing
    /// else, so that no cell under the header breaks into lines.
    #[must_use]
    pub fn scale(&self, page: Width) -> f64 {
        scale(&self.unbroken(), page.inner())
    }

    /// Widths of columns of which only the header breaks.
    fn unbroken(&self) -> Vec<f64> {
        let widest = |(column, header): (usize, &String)| {
            let cells = self.rows.iter().filter_map(|it| it.get(column));
            cells.map(|it| Font::TICK.width(it)).fold(HEADER.widest_word(header), f64::max) + 2.0 * PADDING
        };
        self.header.iter().enumerate().map(widest).collect()
    }

    fn lines(&self) -> impl Iterator<Item = (Font, &Vec<String>)> {
        std::iter::once((HEADER, &self.header)).chain(self.rows.iter().map(|it| (Font::TICK, it)))
    }

    fn set(&self, width: f64) -> Typeset {
        let columns = self.header.len();
        let widest = |measure: &dyn Fn(Font, &str) -> f64| -> Vec<f64> {
            (0..columns)
                .map(|column| self.lines().map(|(font, it)| measure(font, &it[column])).fold(0.0, f64::max))
                .map(|it| it + 2.0 * PADDING)
                .collect()
        };
        let whole = widest(&Font::width);
        // Slightly smaller letters are read more easily than broken cells.
        let unbroken = self.unbroken();
        let least = if SMALLEST <= scale(&unbroken, width) { unbroken } else { widest(&Font::widest_word) };
        let scale = scale(&least, width);
        let room = width / scale;
        let widths = shared(&whole, &least, room);
        let rows = self
            .lines()
            .map(|(font, cells)| {
                let cell = |(text, width): (&String, &f64)| font.wrap(text, width - 2.0 * PADDING + 0.01);
                (font.sized(font.size * scale), cells.iter().zip(&widths).map(cell).collect())
            })
            .collect();
        Typeset { widths: widths.into_iter().map(|it| it * scale).collect(), rows }
    }
}

/// By how much columns must shrink to these widths' sum at the most.
fn scale(widths: &[f64], room: f64) -> f64 {
    (room / widths.iter().sum::<f64>()).min(1.0)
}

/// Column widths that fill the room: no column below its longest word; what is
/// left goes to those that want more, in proportion.
fn shared(whole: &[f64], word: &[f64], room: f64) -> Vec<f64> {
    let (wanted, least): (f64, f64) = (whole.iter().sum(), word.iter().sum());
    let share = if least < wanted { ((room - least) / (wanted - least)).clamp(0.0, 1.0) } else { 1.0 };
    let left_over = (room - wanted).max(0.0) / whole.len() as f64;
    whole.iter().zip(word).map(|(whole, word)| word + (whole - word) * share + left_over).collect()
}

struct Typeset {
    widths: Vec<f64>,
    rows: Vec<(Font, Vec<Vec<String>>)>,
}

impl Typeset {
    fn row_height((font, cells): &(Font, Vec<Vec<String>>)) -> f64 {
        cells.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64 * font.line() + 3.5
    }
}

impl Plot for TextTable {
    fn check(&self) -> Result<(), PlotError> {
        if self.header.is_empty() || self.rows.is_empty() {
            return Err(PlotError::Empty { what: "table".to_owned() });
        }
        for (index, row) in self.rows.iter().enumerate() {
            check_length(|| format!("row {}", index + 1), row.len(), self.header.len(), "columns")?;
        }
        Ok(())
    }

    fn legend(&self) -> Vec<Entry> {
        Vec::new()
    }

    fn plot_height(&self, width: f64) -> f64 {
        self.set(width).rows.iter().map(Typeset::row_height).sum()
    }

    fn margins(&self, _width: f64, _height: f64) -> Margins {
        Margins { left: 0.0, right: 0.0, top: 2.0, bottom: 2.0 }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let set = self.set(area.width());
        let rule =
            |scene: &mut Scene, y: f64, width: f64| scene.line((area.left, y), (area.right, y), width, INK);
        let mut top = area.top;
        rule(scene, top, 1.0);
        for (index, row) in set.rows.iter().enumerate() {
            let height = Typeset::row_height(row);
            let (font, cells) = row;
            let mut left = area.left;
            for (column, (lines, width)) in cells.iter().zip(&set.widths).enumerate() {
                let (x, align) = if column == 0 {
                    (left + PADDING, Align::Start)
                } else {
                    (left + width / 2.0, Align::Middle)
                };
                let first = top + (height - lines.len() as f64 * font.line()) / 2.0;
                for (line, text) in lines.iter().enumerate() {
                    let y = first + (line as f64 + 0.5) * font.line();
                    scene.write((x, y), align, *font, text.as_str());
                }
                left += width;
            }
            top += height;
            if index == 0 {
                rule(scene, top, 0.6);
            }
        }
        rule(scene, top, 1.0);
    }
    fn describe(&self) -> String {
        let rows: Vec<String> = self.rows.iter().filter_map(|it| it.first()).map(String::clone).collect();
        format!("A table of {} for: {}.", self.header.join(", "), rows.join("; "))
    }
}
