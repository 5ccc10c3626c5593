//! Charts made of cells: heat maps and tiled matrices.

use crate::axis::{Scale, Span, draw_names};
use crate::canvas::{Align, Rect, Scene, Shape, Text, arrow};
use crate::error::PlotError;
use crate::labels::Labels;
use crate::legend::{Entry, Key};
use crate::numbers::{compact, decimals_for, signed};
use crate::plot::{Margins, Plot};
use crate::series::{MISSING, check_length, check_value};
use crate::style::{Font, INK, SPINE_WIDTH, WHITE, distinct, ramp};

/// A value per row and column, as colour and number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// Names from the top down.
    pub rows: Vec<String>,
    /// Names from left to right.
    pub columns: Vec<String>,
    /// `values[row][column]`; `None` is shown as `n/a`.
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
}

impl HeatMap {
    fn known(&self) -> impl Iterator<Item = f64> {
        self.values.iter().flatten().copied().flatten()
    }

    fn span(&self) -> Span {
        Span::tight(self.scale, self.known())
    }

    fn text(&self, value: f64) -> String {
        let largest = self.known().map(f64::abs).fold(0.0, f64::max);
        match self.decimals {
            Some(decimals) => signed(value, decimals),
            None => compact(value, decimals_for(largest / 10.0)),
        }
    }

    fn names(&self, width: f64) -> Labels {
        Labels::fit(&self.columns, width / self.columns.len() as f64)
    }

    fn row_room(&self) -> f64 {
        self.rows.iter().map(|it| Font::TICK.width(it)).fold(0.0, f64::max) + 4.0
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
        for tick in span.ticks(4).into_iter().filter(|it| span.holds(it.value)) {
            let y = bar.bottom - span.share(tick.value) * bar.height();
            scene.line((bar.right, y), (bar.right + 1.8, y), SPINE_WIDTH, INK);
            scene.write((bar.right + 3.0, y), Align::Start, Font::TICK, tick.label);
        }
        let x = bar.right + self.bar_room() - 14.0 - Font::LABEL.cap() / 2.0 - 2.0;
        let font = Font::LABEL.fitted(&self.value_label, area.height() + 4.0);
        scene.write_up((x, area.centre().1), Align::Middle, font, self.value_label.as_str());
    }

    fn bar_room(&self) -> f64 {
        let ticks = self.span().ticks(4);
        let widest = ticks.iter().map(|it| Font::TICK.width(&it.label)).fold(0.0, f64::max);
        let label = if self.value_label.is_empty() { 2.0 } else { Font::LABEL.line() + 3.0 };
        14.0 + 3.0 + widest + label
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
        let label = if self.row_label.is_empty() { 0.0 } else { Font::LABEL.line() + 1.5 };
        let (left, right) = (self.row_room() + label, self.bar_room());
        let below = if self.column_label.is_empty() { 0.0 } else { Font::LABEL.line() };
        Margins { left, right, top: 3.0, bottom: self.names(width - left - right).height() + below }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let span = self.span();
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
                    None if 10.0 <= wide => {
                        scene.write(
                            cell.centre(),
                            Align::Middle,
                            Font::VALUE.sized(5.0).coloured(MISSING),
                            "n/a",
                        );
                    }
                    None => {}
                }
            }
            let font = Font::TICK.sized(Font::TICK.size.min(high));
            scene.write((area.left - 3.0, top + high / 2.0), Align::End, font, self.rows[row].as_str());
        }
        let x = area.left - self.row_room() - Font::LABEL.line() / 2.0;
        let font = Font::LABEL.fitted(&self.row_label, area.height() + 4.0);
        scene.write_up((x, area.centre().1), Align::Middle, font, self.row_label.as_str());
        draw_names(scene, area, &self.names(area.width()), &self.column_label);
        self.draw_bar(scene, area);
    }
}

/// A tile of a matrix: where it lies, who holds it, when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// First row, from the top.
    pub row: usize,
    /// First column, from the left.
    pub column: usize,
    /// Rows it spans.
    pub rows: usize,
    /// Columns it spans.
    pub columns: usize,
    /// The bank that holds it: its colour.
    pub bank: usize,
    /// Its place in the order: its number.
    pub order: usize,
}

/// How the order of tiles is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// A number in every tile that has room for it.
    #[default]
    Numbers,
    /// An arrow from tile to tile.
    Path,
    /// Not at all.
    Hidden,
}

/// A small matrix cut into tiles: colours are banks, numbers or arrows the
/// order in which tiles are laid out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TileGrid {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Its tiles, which do not overlap.
    pub tiles: Vec<Tile>,
    /// How their order is shown.
    pub order: Order,
    /// What stands left of the matrix, for example its tile shape.
    pub row_label: String,
}

impl TileGrid {
    fn banks(&self) -> usize {
        self.tiles.iter().map(|it| it.bank + 1).max().unwrap_or(0)
    }
}

impl Plot for TileGrid {
    fn check(&self) -> Result<(), PlotError> {
        if self.tiles.is_empty() {
            return Err(PlotError::Empty { what: "tile grid".to_owned() });
        }
        let mut owner = vec![None; self.rows * self.columns];
        for tile in &self.tiles {
            let what = || format!("tile {}", tile.order);
            let inside = 0 < tile.rows
                && 0 < tile.columns
                && tile.row + tile.rows <= self.rows
                && tile.column + tile.columns <= self.columns;
            if !inside {
                return Err(PlotError::Outside {
                    what: what(),
                    value: format!(
                        "{} x {} at row {}, column {}",
                        tile.rows, tile.columns, tile.row, tile.column
                    ),
                    allowed: format!("a matrix of {} x {}", self.rows, self.columns),
                });
            }
            for row in tile.row..tile.row + tile.rows {
                for column in tile.column..tile.column + tile.columns {
                    if let Some(other) = owner[row * self.columns + column].replace(tile.order) {
                        return Err(PlotError::Outside {
                            what: what(),
                            value: format!("row {row}, column {column}"),
                            allowed: format!("elements that tile {other} does not hold"),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn legend(&self) -> Vec<Entry> {
        let mut banks: Vec<_> = self.tiles.iter().map(|it| it.bank).collect();
        banks.sort_unstable();
        banks.dedup();
        let entry =
            |bank| Entry { name: format!("Bank {bank}"), key: Key::Patch(bank_colour(bank, self.banks())) };
        banks.into_iter().map(entry).collect()
    }

    fn plot_height(&self, width: f64) -> f64 {
        let cell = (width / self.columns.max(1) as f64).min(12.0);
        cell * self.rows as f64
    }

    fn margins(&self, _width: f64, _height: f64) -> Margins {
        let left = if self.row_label.is_empty() { 0.5 } else { Font::LABEL.line() + 1.5 };
        Margins { left, right: 0.5, top: 2.0, bottom: 2.0 }
    }

    fn draw(&self, scene: &mut Scene, area: Rect) {
        let cell = (area.width() / self.columns as f64).min(area.height() / self.rows as f64);
        let (width, height) = (cell * self.columns as f64, cell * self.rows as f64);
        let (middle, centre) = area.centre();
        let (left, top) = (middle - width / 2.0, centre - height / 2.0);
        let rect = |tile: &Tile| Rect {
            left: left + tile.column as f64 * cell,
            right: left + (tile.column + tile.columns) as f64 * cell,
            top: top + tile.row as f64 * cell,
            bottom: top + (tile.row + tile.rows) as f64 * cell,
        };
        for tile in &self.tiles {
            scene.fill(rect(tile), bank_colour(tile.bank, self.banks()));
        }
        for row in 1..self.rows {
            let y = top + row as f64 * cell;
            scene.line((left, y), (left + width, y), 0.25, WHITE);
        }
        for column in 1..self.columns {
            let x = left + column as f64 * cell;
            scene.line((x, top), (x, top + height), 0.25, WHITE);
        }
        for tile in &self.tiles {
            scene.outline(rect(tile), 0.8, INK);
        }
        let mut ordered: Vec<_> = self.tiles.iter().collect();
        ordered.sort_by_key(|it| it.order);
        match self.order {
            Order::Path => {
                let (x, y) = rect(ordered[0]).centre();
                scene.shapes.push(Shape::Disc { x, y, radius: 1.3, colour: INK });
                for pair in ordered.windows(2) {
                    arrow(scene, rect(pair[0]).centre(), rect(pair[1]).centre(), 0.6);
                }
            }
            Order::Numbers => ordered.iter().for_each(|it| self.draw_number(scene, it, rect(it))),
            Order::Hidden => {}
        }
        let x = left - 3.0 - Font::LABEL.cap() / 2.0;
        scene.write_up((x, centre), Align::Middle, Font::LABEL, self.row_label.as_str());
    }
}

impl TileGrid {
    fn draw_number(&self, scene: &mut Scene, tile: &Tile, rect: Rect) {
        let number = tile.order.to_string();
        let room = (rect.width() - 1.5) / Font::TICK.width(&number) * Font::TICK.size;
        let font = Font::TICK.sized(room.min(1.2 * (rect.height() - 1.0)).min(Font::TICK.size));
        if font.size < 4.0 {
            return;
        }
        let colour = bank_colour(tile.bank, self.banks());
        let ((x, y), font) = (rect.centre(), font.coloured(colour.ink_on()));
        let text = Text { x, y, line: number, font, align: Align::Middle, turned: false };
        // Without the lines between elements.
        scene.fill(text.bounds().grown(0.6), colour);
        scene.put(text);
    }
}

/// Banks keep their colours while there are enough; many banks are graded.
fn bank_colour(bank: usize, banks: usize) -> crate::style::Colour {
    if banks <= 8 {
        distinct(bank).mix(WHITE, 0.4)
    } else {
        ramp(0.08 + 0.92 * bank as f64 / (banks - 1) as f64)
    }
}
