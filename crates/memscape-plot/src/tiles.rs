//! Tiled matrices.

use serde::{Deserialize, Serialize};

use crate::canvas::{Align, Rect, Scene, Shape, Text, arrow};
use crate::error::PlotError;
use crate::legend::{Entry, Key};
use crate::plot::{Margins, Plot};
use crate::style::{Colour, Font, INK, WHITE, distinct, ramp};

/// A tile of a matrix: where it lies, who holds it, when it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// What colours are; `Bank` if empty.
    pub bank_name: String,
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
        let kind = if self.bank_name.is_empty() { "Bank" } else { &self.bank_name };
        let entry =
            |bank| Entry { name: format!("{kind} {bank}"), key: Key::Patch(bank_colour(bank, self.banks())) };
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
                scene.shapes.push(Shape::Disc { x, y, radius: 1.3, colour: INK, opacity: 1.0 });
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

    fn describe(&self) -> String {
        let Self { rows, columns, tiles, .. } = self;
        let names: Vec<String> = self.legend().into_iter().map(|it| it.name).collect();
        format!("A matrix of {rows} × {columns} in {} tiles: {}.", tiles.len(), names.join(", "))
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
fn bank_colour(bank: usize, banks: usize) -> Colour {
    if banks <= 8 {
        distinct(bank).mix(WHITE, 0.4)
    } else {
        ramp(0.08 + 0.92 * bank as f64 / (banks - 1) as f64)
    }
}
