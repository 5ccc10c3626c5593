//! Heat maps: a colour and a number per row and column.

use serde::{Deserialize, Serialize};

use crate::axis::{Scale, Span, draw_names};
use crate::canvas::{Align, Rect, Scene};
use crate::error::PlotError;
use crate::labels::Labels;
use crate::legend::Entry;
use crate::numbers::{beside, decimals_for, from_to, signed, three};
use crate::plot::{Extent, Margins, Plot, extent_of};
use crate::series::{MISSING, check_length, check_value};
use crate::style::{Font, GRID_WIDTH, INK, SPINE_WIDTH, ramp};

/// A value per row and column, as colour and number.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HeatMap {
    /// Names from the top down.
    pub rows: Vec<String>,
    /// Names from left to right.
    pub columns: Vec<String>,
    /// `values[row][column]`; `None` is shown as `n/a`, or as a stroke where that has no room.
    pub values: Vec<Vec<Option<f64>>>,
    /// What the rows are.
    pub row_label: String,
    /// What the columns are.
    pub column_label: String,
    /// What the values are, with their unit; stands at the colour bar.
    pub value_label: String,
    /// How values are spread over the colours.
    pub scale: Scale,
    /// Decimals of the values; by their size if missing.
    pub decimals: Option<usize>,
    /// What the colours cover besides the values.
    pub reach: Option<(f64, f64)>,
}

/// Share of a panel that the rows' names may take.
const MOST_FOR_NAMES: f64 = 0.4;

impl HeatMap {
    fn known(&self) -> impl Iterator<Item = f64> {
        self.values.iter().flatten().copied().flatten()
    }

    fn span(&self) -> Span {
        Span::tight(self.scale, self.known().chain(self.reach.into_iter().flat_map(|it| [it.0, it.1])))
    }

    fn text(&self, value: f64) -> String {
        let largest = self.known().map(f64::abs).fold(0.0, f64::max);
        match self.decimals {
            Some(decimals) => signed(value, decimals),
            // Over decades, the largest says nothing of the digits of the least.
            None if self.scale == Scale::Log10 => three(value),
            // Nor of those far below it.
            None => beside(value, decimals_for(largest / 10.0)),
        }
    }

    fn names(&self, width: f64) -> Labels {
        Labels::fit(&self.columns, width / self.columns.len() as f64)
    }

    fn widest_name(&self) -> f64 {
        self.rows.iter().map(|it| Font::TICK.width(it)).fold(0.0, f64::max)
    }

    /// What the rows' names take of a panel.
    fn row_room(&self, panel: f64) -> f64 {
        self.widest_name().min(MOST_FOR_NAMES * panel) + 4.0
    }

    /// What stands up beside the names.
    fn row_label_room(&self) -> f64 {
        if self.row_label.is_empty() { 0.0 } else { Font::LABEL.line() + 1.5 }
    }

    /// The width of the panel of which a plot is this wide.
    fn panel(&self, plot: f64) -> f64 {
        let beside = self.row_label_room() + self.bar_room() + 4.0;
        (plot + beside + self.widest_name()).min((plot + beside) / (1.0 - MOST_FOR_NAMES)).max(plot)
    }

    /// Where the colour bar has a mark: at round numbers, or at its ends if there is but one of them.
    fn bar_ticks(&self) -> Vec<(f64, String)> {
        let span = self.span();
        let round = span.ticks(4).into_iter().filter(|it| span.holds(it.value));
        let round: Vec<_> = round.map(|it| (it.value, it.label)).collect();
        match extent_of(self.known().chain(self.reach.into_iter().flat_map(|it| [it.0, it.1]))) {
            Some((low, high)) if round.len() < 2 && low < high => {
                [low, high].map(|it| (it, three(it))).to_vec()
            }
            _ => round,
        }
    }

    fn draw_bar(&self, scene: &mut Scene, area: Rect) {
        let span = self.span();
        let bar = Rect { left: area.right + 7.0, right: area.right + 14.0, ..area };
        let slices = 64;
        for slice in 0..slices {
            let at = |it: i32| bar.bottom - f64::from(it) / f64::from(slices) * bar.height();
            let rect = Rect { top: at(slice + 1), bottom: at(slice) + 0.1, ..bar };
            scene.fill(rect, ramp((f64::from(slice) + 0.5) / f64::from(slices)));
        }
        for (value, label) in self.bar_ticks() {
            let y = bar.bottom - span.share(value) * bar.height();
            scene.line((bar.right, y), (bar.right + 1.8, y), SPINE_WIDTH, INK);
            scene.write((bar.right + 3.0, y), Align::Start, Font::TICK, label);
        }
        let x = bar.right + self.bar_room() - 14.0 - Font::LABEL.cap() / 2.0 - 2.0;
        let font = Font::LABEL.fitted(&self.value_label, area.height() + 4.0);
        scene.write_up((x, area.centre().1), Align::Middle, font, self.value_label.as_str());
    }

    fn bar_room(&self) -> f64 {
        let widest = self.bar_ticks().iter().map(|it| Font::TICK.width(&it.1)).fold(0.0, f64::max);
        let label = if self.value_label.is_empty() { 2.0 } else { Font::LABEL.line() + 3.0 };
        14.0 + 3.0 + widest + label
    }
}

/// A word in a cell without a value, turned if the cell is narrow; a stroke across it if it is narrower than
/// a letter.
fn draw_no_value(scene: &mut Scene, cell: Rect) {
    const WORD: &str = "n/a";
    let font = Font::VALUE.sized(5.0).coloured(MISSING);
    let turned = font.sized((cell.width() / 0.82).min(font.size * (cell.height() - 0.4) / font.width(WORD)));
    if 9.4 <= cell.width() {
        scene.write(cell.centre(), Align::Middle, font, WORD);
    } else if 3.6 <= turned.size {
        scene.write_up(cell.centre(), Align::Middle, turned.sized(turned.size.min(font.size)), WORD);
    } else {
        scene.line((cell.left, cell.bottom), (cell.right, cell.top), GRID_WIDTH, MISSING);
    }
}

impl Plot for HeatMap {
    fn check(&self) -> Result<(), PlotError> {
        check_length(|| self.value_label.clone(), self.values.len(), self.rows.len(), "rows")?;
        for (row, name) in self.values.iter().zip(&self.rows) {
            check_length(|| name.clone(), row.len(), self.columns.len(), "columns")?;
            for (value, column) in row.iter().zip(&self.columns) {
                if let Some(value) = value {
                    check_value(|| name.clone(), *value, || format!("`{column}`"), self.scale)?;
                }
            }
        }
        for end in self.reach.into_iter().flat_map(|it| [it.0, it.1]) {
            check_value(|| self.value_label.clone(), end, || "an end of `reach`".to_owned(), self.scale)?;
        }
        match self.known().next() {
            Some(_) => Ok(()),
            None => Err(PlotError::Empty { what: self.value_label.clone() }),
        }
    }

    fn legend(&self) -> Vec<Entry> {
        Vec::new()
    }

    fn plot_height(&self, width: f64) -> f64 {
        let cell = (0.75 * width / self.columns.len() as f64).clamp(8.0, 16.0);
        (cell * self.rows.len() as f64).max(40.0)
    }

    fn margins(&self, width: f64, _height: f64) -> Margins {
        let (left, right) = (self.row_room(width) + self.row_label_room(), self.bar_room());
        let below = if self.column_label.is_empty() { 0.0 } else { Font::LABEL.line() };
        Margins { left, right, top: 3.0, bottom: self.names(width - left - right).height() + below }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let span = self.span();
        let names = self.row_room(self.panel(area.width()));
        let (wide, high) = (area.width() / self.columns.len() as f64, area.height() / self.rows.len() as f64);
        let widest = self.known().map(|it| Font::VALUE.width(&self.text(it))).fold(0.0, f64::max);
        let font = Font::VALUE.sized((Font::VALUE.size * (wide - 2.0) / widest).min(0.8 * high).min(6.4));
        for (row, values) in self.values.iter().enumerate() {
            let top = area.top + row as f64 * high;
            for (column, value) in values.iter().enumerate() {
                let left = area.left + column as f64 * wide;
                let cell = Rect { left, top, right: left + wide, bottom: top + high }.grown(-0.3);
                match value {
                    Some(value) => {
                        let colour = ramp(span.share(*value));
                        scene.fill(cell, colour);
                        if 4.0 <= font.size {
                            scene.write(
                                cell.centre(),
                                Align::Middle,
                                font.coloured(colour.ink_on()),
                                self.text(*value),
                            );
                        }
                    }
                    None => draw_no_value(scene, cell),
                }
            }
            let font = Font::TICK.sized(Font::TICK.size.min(high)).fitted(&self.rows[row], names - 4.0);
            scene.write((area.left - 3.0, top + high / 2.0), Align::End, font, self.rows[row].as_str());
        }
        let x = area.left - names - Font::LABEL.line() / 2.0;
        let font = Font::LABEL.fitted(&self.row_label, area.height() + 4.0);
        scene.write_up((x, area.centre().1), Align::Middle, font, self.row_label.as_str());
        draw_names(scene, area, &self.names(area.width()), &self.column_label);
        self.draw_bar(scene, area);
    }
    fn describe(&self) -> String {
        let cells = self.rows.iter().zip(&self.values).flat_map(|(row, values)| {
            let cell =
                move |(column, value): (&String, &Option<f64>)| Some((format!("{row}, {column}"), (*value)?));
            self.columns.iter().zip(values).filter_map(cell)
        });
        let named = |it: &str, other: &str| if it.is_empty() { other.to_owned() } else { it.to_owned() };
        let (rows, columns) = (named(&self.row_label, "rows"), named(&self.column_label, "columns"));
        format!("{} over {rows} and {columns}: {}.", named(&self.value_label, "Values"), from_to(cells))
    }

    fn extent(&self) -> Option<Extent> {
        Some(Extent { colour: extent_of(self.known()), ..Extent::default() })
    }

    fn reach(&mut self, extent: Extent) {
        self.reach = extent.colour.or(self.reach);
    }
}
