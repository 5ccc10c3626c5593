//! The page: a list of shapes in points, which `svg`, `bitmap` and `pdf` draw.

use std::f64::consts::TAU;

use ab_glyph::Font as _;
use serde::{Deserialize, Serialize};

use crate::error::PlotError;
use crate::style::{Colour, Font, INK, WHITE};

/// A rectangle on the page, in points, y downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub fn centre(&self) -> (f64, f64) {
        (f64::midpoint(self.left, self.right), f64::midpoint(self.top, self.bottom))
    }

    pub fn grown(&self, by: f64) -> Self {
        Self { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    pub fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub fn holds(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && other.right <= self.right
            && other.bottom <= self.bottom
    }

    fn corners(&self) -> Vec<(f64, f64)> {
        let Self { left, top, right, bottom } = *self;
        vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    }
}

/// Which end of a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Start,
    Middle,
    End,
}

/// A line of text. `(x, y)` lies on the line halfway up the capital letters, so
/// that a text beside a line is centred on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub x: f64,
    pub y: f64,
    pub line: String,
    pub font: Font,
    pub align: Align,
    /// Turned by a quarter: reads upwards.
    pub turned: bool,
}

impl Text {
    /// What it covers on the page.
    pub fn bounds(&self) -> Rect {
        let width = self.font.width(&self.line);
        let before = match self.align {
            Align::Start => 0.0,
            Align::Middle => width / 2.0,
            Align::End => width,
        };
        let above = self.font.cap() / 2.0;
        let below = above
            + if self.line.contains(['g', 'j', 'p', 'q', 'y', '(', '_']) {
                0.2 * self.font.size
            } else {
                0.0
            };
        let (x, y) = (self.x, self.y);
        if self.turned {
            Rect { left: x - above, right: x + below, top: y + before - width, bottom: y + before }
        } else {
            Rect { left: x - before, right: x - before + width, top: y - above, bottom: y + below }
        }
    }
}

/// Something on the page. Lengths in points, opacities from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Box {
        rect: Rect,
        colour: Colour,
        opacity: f64,
    },
    Polygon {
        corners: Vec<(f64, f64)>,
        colour: Colour,
        opacity: f64,
    },
    Disc {
        x: f64,
        y: f64,
        radius: f64,
        colour: Colour,
        opacity: f64,
    },
    /// A line through points; `dash` is the length of a stroke and of the gap after it.
    Path {
        points: Vec<(f64, f64)>,
        width: f64,
        colour: Colour,
        dash: Option<(f64, f64)>,
    },
    Text(Text),
    /// What follows up to the matching end belongs together, under this name.
    Open(String),
    Close,
}

/// A page of shapes, later ones over earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub width: f64,
    pub height: f64,
    /// The colour of the page.
    pub ground: Colour,
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// What is drawn meanwhile, under a name.
    pub fn group(&mut self, name: impl Into<String>, draw: impl FnOnce(&mut Self)) {
        self.shapes.push(Shape::Open(name.into()));
        draw(self);
        self.shapes.push(Shape::Close);
    }

    pub fn fill(&mut self, rect: Rect, colour: Colour) {
        self.shade(rect, colour, 1.0);
    }

    /// White strokes across a box.
    pub fn hatch(&mut self, rect: Rect) {
        const APART: f64 = 3.0;
        // From the corner at the lower left: along the bottom and up the left side.
        let mut across = APART / 2.0;
        while across < rect.width() + rect.height() {
            let low = (rect.left + across.min(rect.width()), rect.bottom - (across - rect.width()).max(0.0));
            let high =
                (rect.left + (across - rect.height()).max(0.0), rect.bottom - across.min(rect.height()));
            self.line(low, high, 0.7, WHITE);
            across += APART;
        }
    }

    /// A box that lets through what is under it.
    pub fn shade(&mut self, rect: Rect, colour: Colour, opacity: f64) {
        self.shapes.push(Shape::Box { rect, colour, opacity });
    }

    pub fn outline(&mut self, rect: Rect, width: f64, colour: Colour) {
        self.path(rect.corners(), width, colour);
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Colour) {
        self.path(vec![from, to], width, colour);
    }

    pub fn path(&mut self, points: Vec<(f64, f64)>, width: f64, colour: Colour) {
        self.shapes.push(Shape::Path { points, width, colour, dash: None });
    }

    /// A broken line; `dash` is the length of a stroke and of the gap after it.
    pub fn dashes(&mut self, points: &[(f64, f64)], dash: (f64, f64), width: f64, colour: Colour) {
        self.shapes.push(Shape::Path { points: points.to_vec(), width, colour, dash: Some(dash) });
    }

    pub fn write(&mut self, (x, y): (f64, f64), align: Align, font: Font, text: impl Into<String>) {
        self.put(Text { x, y, line: text.into(), font, align, turned: false });
    }

    pub fn write_up(&mut self, (x, y): (f64, f64), align: Align, font: Font, text: impl Into<String>) {
        self.put(Text { x, y, line: text.into(), font, align, turned: true });
    }

    /// Adds a text, unless it is empty.
    pub fn put(&mut self, text: Text) {
        if !text.line.is_empty() {
            self.shapes.push(Shape::Text(text));
        }
    }

    /// White behind a text, so that a line under it does not strike it out.
    pub fn clear_behind(&mut self, text: &Text) {
        let rect = text.bounds().grown(0.6);
        self.shapes.push(Shape::Box { rect, colour: WHITE, opacity: 0.85 });
    }

    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.shapes.iter().filter_map(|it| match it {
            Shape::Text(text) => Some(text),
            _ => None,
        })
    }

    /// # Errors
    /// [`PlotError`] if the embedded font lacks a character or a text leaves
    /// the page.
    pub fn check_texts(&self) -> Result<(), PlotError> {
        let page = Rect { left: 0.0, top: 0.0, right: self.width, bottom: self.height };
        for text in self.texts() {
            let face = text.font.face();
            if let Some(glyph) = text.line.chars().find(|&it| face.glyph_id(it).0 == 0) {
                return Err(PlotError::Glyph { glyph, text: text.line.clone() });
            }
            if !page.holds(&text.bounds()) {
                return Err(PlotError::Room { text: text.line.clone() });
            }
        }
        Ok(())
    }
}

/// How the inside of a marker is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Fill {
    /// In its colour, on a white rim.
    #[default]
    Solid,
    /// In white: an outline.
    Hollow,
    /// So that what is under it shows: for hundreds of points.
    Translucent,
}

/// Half the side of a square as large as a disc of radius 1.
const SQUARE: f64 = 0.88;
/// How wide the edge of a hollow marker is.
const HOLLOW_WIDTH: f64 = 0.8;

/// How opaque a translucent marker is.
const TRANSLUCENT: f64 = 0.45;

/// A shape that tells curves apart where colours do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
    Wedge,
    Cross,
}

impl Marker {
    pub fn of(index: usize) -> Self {
        [Self::Disc, Self::Square, Self::Triangle, Self::Diamond, Self::Wedge, Self::Cross][index % 6]
    }

    /// Draws it about as large as a disc of this radius.
    pub fn draw(self, scene: &mut Scene, at: (f64, f64), radius: f64, colour: Colour, fill: Fill) {
        match fill {
            Fill::Solid => {
                self.solid(scene, at, radius + 0.5, WHITE, 1.0);
                self.solid(scene, at, radius, colour, 1.0);
            }
            Fill::Hollow => self.outline(scene, at, radius - 0.2, colour),
            Fill::Translucent => self.solid(scene, at, radius, colour, TRANSLUCENT),
        }
    }

    /// Draws its inside.
    pub fn solid(self, scene: &mut Scene, (x, y): (f64, f64), radius: f64, colour: Colour, opacity: f64) {
        if self == Self::Disc {
            return scene.shapes.push(Shape::Disc { x, y, radius, colour, opacity });
        }
        if self == Self::Square {
            let half = SQUARE * radius;
            let rect = Rect { left: x - half, top: y - half, right: x + half, bottom: y + half };
            return scene.shade(rect, colour, opacity);
        }
        for corners in self.corners() {
            let corners = corners.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
            scene.shapes.push(Shape::Polygon { corners, colour, opacity });
        }
    }

    /// Draws its edge, through which one sees what is under it.
    fn outline(self, scene: &mut Scene, (x, y): (f64, f64), radius: f64, colour: Colour) {
        for corners in self.corners() {
            let closed = corners.iter().chain(corners.first());
            scene.path(
                closed.map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect(),
                HOLLOW_WIDTH,
                colour,
            );
        }
    }

    /// Of a marker of radius 1; a disc's are many.
    fn corners(self) -> Vec<Vec<(f64, f64)>> {
        match self {
            Self::Disc => {
                let angle = |it: i32| f64::from(it) / 24.0 * TAU;
                vec![(0..24).map(|it| (angle(it).cos(), angle(it).sin())).collect()]
            }
            Self::Square => {
                vec![vec![(-SQUARE, -SQUARE), (SQUARE, -SQUARE), (SQUARE, SQUARE), (-SQUARE, SQUARE)]]
            }
            Self::Triangle => vec![vec![(0.0, -1.25), (1.15, 0.75), (-1.15, 0.75)]],
            Self::Wedge => vec![vec![(0.0, 1.25), (1.15, -0.75), (-1.15, -0.75)]],
            Self::Diamond => vec![vec![(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]],
            Self::Cross => {
                let (far, near) = (1.25, 0.75);
                vec![
                    vec![(-far, -near), (-near, -far), (far, near), (near, far)],
                    vec![(near, -far), (far, -near), (-near, far), (-far, near)],
                ]
            }
        }
    }
}

/// A line with a solid head at its end.
pub(crate) fn arrow(scene: &mut Scene, from: (f64, f64), to: (f64, f64), width: f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length < 1e-9 {
        return;
    }
    let (ux, uy) = (dx / length, dy / length);
    let head = (4.5 * width).min(length);
    let neck = (to.0 - ux * head, to.1 - uy * head);
    scene.line(from, neck, width, INK);
    let side = 0.42 * head;
    scene.shapes.push(Shape::Polygon {
        corners: vec![to, (neck.0 - uy * side, neck.1 + ux * side), (neck.0 + uy * side, neck.1 - ux * side)],
        colour: INK,
        opacity: 1.0,
    });
}
