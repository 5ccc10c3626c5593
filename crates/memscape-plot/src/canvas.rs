//! The page: a list of shapes in points, drawn by plotters' SVG and bitmap
//! backends.
//!
//! Both backends get the same whole numbers (600 dots per inch), so both
//! pictures are the same. Text is measured with the embedded font. plotters'
//! own text goes through a wrapper ([`Ink`]) because its bitmap text drops the
//! letters' side bearings and its two backends disagree on what a size is.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, Glyph, PxScale};
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontFamily, FontStyle,
    FontTransform,
};

use crate::error::PlotError;
use crate::style::{Colour, Font, INK, WHITE};

/// Resolution of SVG coordinates; PNGs average 2 x 2 of these dots.
const DOTS_PER_INCH: f64 = 600.0;
const DOTS_PER_POINT: f64 = DOTS_PER_INCH / 72.0;
const PNG_SHRINK: usize = 2;

/// Where a name may break without a space: takes no room and is never drawn.
pub(crate) const BREAK: char = '\u{200B}';

/// The embedded font, then what has the same widths (see `assets/README.md`).
const FAMILY: &str = "Arimo, Liberation Sans, Arial, Helvetica, sans-serif";

static REGULAR: LazyLock<FontRef<'static>> =
    LazyLock::new(|| embedded(include_bytes!("../assets/fonts/Arimo-Regular.ttf")));
static BOLD: LazyLock<FontRef<'static>> =
    LazyLock::new(|| embedded(include_bytes!("../assets/fonts/Arimo-Bold.ttf")));

fn embedded(bytes: &'static [u8]) -> FontRef<'static> {
    FontRef::try_from_slice(bytes).expect("the embedded font is a TrueType font")
}

impl Font {
    fn face(self) -> &'static FontRef<'static> {
        if self.bold { &BOLD } else { &REGULAR }
    }

    /// How wide a text is, in points.
    pub fn width(self, text: &str) -> f64 {
        let face = self.face();
        let em = f64::from(face.units_per_em().unwrap_or(1000.0));
        let advance = |it| f64::from(face.h_advance_unscaled(face.glyph_id(it)));
        text.chars().filter(|&it| it != BREAK).map(advance).sum::<f64>() / em * self.size
    }

    /// The font, small enough for a text to be at most `room` points wide.
    pub fn fitted(self, text: &str, room: f64) -> Self {
        let width = self.width(text);
        if width <= room { self } else { self.sized((self.size * room / width).max(4.5)) }
    }

    /// Breaks a text at spaces into lines of at most `width` points; a longer
    /// word stands alone.
    pub fn wrap(self, text: &str, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(line) + self.width(" ") + self.width(word) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// As [`Font::wrap`], in as many lines but about equally long ones.
    pub fn wrap_evenly(self, text: &str, width: f64) -> Vec<String> {
        let widest = self.wrap(text, width);
        let narrower = (1..20).map(|it| width * (1.0 - f64::from(it) / 20.0));
        let as_many = |it: &Vec<String>| it.len() == widest.len();
        narrower.map(|it| self.wrap(text, it)).take_while(as_many).last().unwrap_or_else(|| widest.clone())
    }
}

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

/// Something on the page. Lengths in points.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Box { rect: Rect, colour: Colour, opacity: f64 },
    Polygon { corners: Vec<(f64, f64)>, colour: Colour },
    Disc { x: f64, y: f64, radius: f64, colour: Colour },
    Path { points: Vec<(f64, f64)>, width: f64, colour: Colour },
    Text(Text),
}

/// A page of shapes, later ones over earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

impl Scene {
    pub fn fill(&mut self, rect: Rect, colour: Colour) {
        self.shapes.push(Shape::Box { rect, colour, opacity: 1.0 });
    }

    pub fn outline(&mut self, rect: Rect, width: f64, colour: Colour) {
        self.path(rect.corners(), width, colour);
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: Colour) {
        self.path(vec![from, to], width, colour);
    }

    pub fn path(&mut self, points: Vec<(f64, f64)>, width: f64, colour: Colour) {
        self.shapes.push(Shape::Path { points, width, colour });
    }

    /// A broken line; `dash` is the length of a stroke and of the gap after it.
    pub fn dashes(&mut self, points: &[(f64, f64)], dash: (f64, f64), width: f64, colour: Colour) {
        let period = dash.0 + dash.1;
        let mut phase = 0.0;
        let mut stroke = Vec::new();
        for pair in points.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let length = (x1 - x0).hypot(y1 - y0);
            let along = |it: f64| (x0 + (x1 - x0) * it / length, y0 + (y1 - y0) * it / length);
            let mut done = 0.0;
            while done < length {
                let (drawn, end) = if phase < dash.0 { (true, dash.0) } else { (false, period) };
                let step = (end - phase).min(length - done);
                if drawn {
                    if stroke.is_empty() {
                        stroke.push(along(done));
                    }
                    stroke.push(along(done + step));
                }
                done += step;
                phase += step;
                if end - phase < 1e-9 {
                    phase = if drawn { dash.0 } else { 0.0 };
                    if drawn {
                        self.path(std::mem::take(&mut stroke), width, colour);
                    }
                }
            }
        }
        if 1 < stroke.len() {
            self.path(stroke, width, colour);
        }
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

    /// Width and height in dots, both even.
    fn dots(&self) -> (u32, u32) {
        let even = |points: f64| dots((points * DOTS_PER_POINT / 2.0).ceil() * 2.0).unsigned_abs();
        (even(self.width), even(self.height))
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

    pub fn svg(&self, title: &str) -> Result<String, PlotError> {
        let mut drawn = String::new();
        let (width, height) = self.dots();
        {
            let mut backend = SVGBackend::with_string(&mut drawn, (width, height));
            self.paint(&mut backend)?;
            backend.present().map_err(|it| PlotError::Backend(it.to_string()))?;
        }
        // plotters counts pixels; a figure has a size on paper.
        let body = drawn.split_once('\n').map_or("", |(_, body)| body);
        let inches = |dots: u32| f64::from(dots) / DOTS_PER_INCH;
        let mut svg = String::new();
        writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{:.4}in" height="{:.4}in" viewBox="0 0 {width} {height}">"#,
            inches(width),
            inches(height),
        )
        .expect("a string takes any text");
        if !title.is_empty() {
            let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            writeln!(svg, "<title>{escaped}</title>").expect("a string takes any text");
        }
        svg.push_str(body);
        Ok(svg)
    }

    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let (width, height) = self.dots();
        let (columns, rows) = (width as usize, height as usize);
        let mut fine = vec![u8::MAX; columns * rows * 3];
        {
            let mut backend = BitMapBackend::with_buffer(&mut fine, (width, height));
            self.paint(&mut backend)?;
            backend.present().map_err(|it| PlotError::Backend(it.to_string()))?;
        }
        let pixels = shrink(&fine, columns, rows);
        let failed = |it: png::EncodingError| PlotError::Backend(it.to_string());
        let shrink = u32::try_from(PNG_SHRINK).expect("a small number");
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width / shrink, height / shrink);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Best);
        let per_metre = dots(DOTS_PER_INCH / f64::from(shrink) / 0.0254).unsigned_abs();
        encoder.set_pixel_dims(Some(png::PixelDimensions {
            xppu: per_metre,
            yppu: per_metre,
            unit: png::Unit::Meter,
        }));
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(bytes)
    }

    fn paint<B: DrawingBackend>(&self, backend: &mut B) -> Result<(), PlotError> {
        let (width, height) = self.dots();
        let page = (i32::try_from(width), i32::try_from(height));
        let (Ok(right), Ok(bottom)) = page else {
            return Err(PlotError::Backend("the page is too large".to_owned()));
        };
        let mut all = || {
            backend.draw_rect((0, 0), (right, bottom), &Pen::new(WHITE, 0.0), true)?;
            self.shapes.iter().try_for_each(|it| paint(backend, it))
        };
        all().map_err(|it| PlotError::Backend(it.to_string()))
    }
}

fn paint<B: DrawingBackend>(backend: &mut B, shape: &Shape) -> Result<(), DrawingErrorKind<B::ErrorType>> {
    match shape {
        Shape::Box { rect, colour, opacity } => {
            let pen = Pen { opacity: *opacity, ..Pen::new(*colour, 0.0) };
            backend.draw_rect(place((rect.left, rect.top)), place((rect.right, rect.bottom)), &pen, true)
        }
        Shape::Polygon { corners, colour } => {
            backend.fill_polygon(corners.iter().copied().map(place), &Pen::new(*colour, 0.0))
        }
        Shape::Disc { x, y, radius, colour } => {
            let radius = dots(radius * DOTS_PER_POINT).unsigned_abs();
            backend.draw_circle(place((*x, *y)), radius, &Pen::new(*colour, 0.0), true)
        }
        Shape::Path { points, width, colour } => {
            let pen = Pen::new(*colour, *width);
            match points.as_slice() {
                [from, to] => backend.draw_line(place(*from), place(*to), &pen),
                _ => backend.draw_path(points.iter().copied().map(place), &pen),
            }
        }
        Shape::Text(text) => {
            let ink = Ink { font: text.font, align: text.align, turned: text.turned };
            // Both backends put the baseline 0.76 em below the top.
            let top = text.font.cap() / 2.0 - 0.76 * text.font.size;
            let at = if text.turned { (text.x + top, text.y) } else { (text.x, text.y + top) };
            backend.draw_text(&text.line, &ink, place(at))
        }
    }
}

fn place((x, y): (f64, f64)) -> (i32, i32) {
    (dots(x * DOTS_PER_POINT), dots(y * DOTS_PER_POINT))
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and a page is some thousand dots wide")]
fn dots(value: f64) -> i32 {
    value.round() as i32
}

/// Averages blocks of 2 x 2 dots: smooth edges whatever the backend's.
fn shrink(fine: &[u8], columns: usize, rows: usize) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(fine.len() / (PNG_SHRINK * PNG_SHRINK));
    for row in (0..rows).step_by(PNG_SHRINK) {
        for column in (0..columns).step_by(PNG_SHRINK) {
            for channel in 0..3 {
                let dot = |dy: usize, dx: usize| {
                    u16::from(fine[((row + dy) * columns + column + dx) * 3 + channel])
                };
                let sum = dot(0, 0) + dot(0, 1) + dot(1, 0) + dot(1, 1);
                pixels.push(u8::try_from((sum + 2) / 4).unwrap_or(u8::MAX));
            }
        }
    }
    pixels
}

/// A plotters style: colour and line width.
struct Pen {
    colour: Colour,
    opacity: f64,
    width: f64,
}

impl Pen {
    fn new(colour: Colour, width: f64) -> Self {
        Self { colour, opacity: 1.0, width }
    }
}

impl BackendStyle for Pen {
    fn color(&self) -> BackendColor {
        BackendColor { alpha: self.opacity, ..backend_colour(self.colour) }
    }

    fn stroke_width(&self) -> u32 {
        dots(self.width * DOTS_PER_POINT).unsigned_abs().max(1)
    }
}

fn backend_colour(colour: Colour) -> BackendColor {
    BackendColor { alpha: 1.0, rgb: (colour.red, colour.green, colour.blue) }
}

/// A plotters text style that draws the embedded font.
struct Ink {
    font: Font,
    align: Align,
    turned: bool,
}

impl Ink {
    fn em_dots(&self) -> f64 {
        self.font.size * DOTS_PER_POINT
    }
}

impl BackendTextStyle for Ink {
    type FontError = Infallible;

    fn color(&self) -> BackendColor {
        backend_colour(self.font.colour)
    }

    fn size(&self) -> f64 {
        // plotters' SVG divides by 1.24 to get the em; let it get a whole number.
        let em = f64::from(dots(self.em_dots()));
        let near = em * 1.24;
        #[expect(clippy::float_cmp, reason = "a whole number is meant")]
        [near, near.next_down(), near.next_up()].into_iter().find(|it| *it / 1.24 == em).unwrap_or(near)
    }

    fn transform(&self) -> FontTransform {
        if self.turned { FontTransform::Rotate270 } else { FontTransform::None }
    }

    fn style(&self) -> FontStyle {
        if self.font.bold { FontStyle::Bold } else { FontStyle::Normal }
    }

    fn anchor(&self) -> Pos {
        let across = match self.align {
            Align::Start => HPos::Left,
            Align::Middle => HPos::Center,
            Align::End => HPos::Right,
        };
        Pos::new(across, VPos::Top)
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::Name(FAMILY)
    }

    fn layout_box(&self, text: &str) -> Result<((i32, i32), (i32, i32)), Infallible> {
        Ok(((0, 0), (dots(self.font.width(text) * DOTS_PER_POINT), dots(self.em_dots()))))
    }

    #[expect(clippy::cast_possible_truncation, reason = "ab_glyph works in f32; dots fit")]
    fn draw<E, D: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        text: &str,
        (left, top): (i32, i32),
        mut draw: D,
    ) -> Result<Result<(), E>, Infallible> {
        let face = self.font.face();
        let em = face.units_per_em().unwrap_or(1000.0);
        let dots_per_unit = self.em_dots() as f32 / em;
        // ab_glyph's scale is the font's height, not its em.
        let scale = PxScale::from(face.height_unscaled() * dots_per_unit);
        let baseline = top as f32 + 0.76 * self.em_dots() as f32;
        let mut pen = left as f32;
        for character in text.chars() {
            let id = face.glyph_id(character);
            let glyph = Glyph { id, scale, position: ab_glyph::point(pen, baseline) };
            pen += face.h_advance_unscaled(id) * dots_per_unit;
            let Some(outline) = face.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            let mut result = Ok(());
            outline.draw(|x, y, coverage| {
                let opaque = BackendColor { alpha: f64::from(coverage.min(1.0)), ..self.color() };
                if result.is_ok() && 0.0 < opaque.alpha {
                    result =
                        draw(corner.x as i32 + x.cast_signed(), corner.y as i32 + y.cast_signed(), opaque);
                }
            });
            if result.is_err() {
                return Ok(result);
            }
        }
        Ok(Ok(()))
    }
}

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

    /// Draws it about as large as a disc of this radius, on a white rim.
    pub fn draw(self, scene: &mut Scene, at: (f64, f64), radius: f64, colour: Colour) {
        self.solid(scene, at, radius + 0.5, WHITE);
        self.solid(scene, at, radius, colour);
    }

    fn solid(self, scene: &mut Scene, (x, y): (f64, f64), radius: f64, colour: Colour) {
        let mut polygon = |corners: &[(f64, f64)]| {
            let corners = corners.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
            scene.shapes.push(Shape::Polygon { corners, colour });
        };
        match self {
            Self::Disc => scene.shapes.push(Shape::Disc { x, y, radius, colour }),
            Self::Square => {
                let half = 0.88 * radius;
                scene.fill(Rect { left: x - half, top: y - half, right: x + half, bottom: y + half }, colour);
            }
            Self::Triangle => polygon(&[(0.0, -1.25), (1.15, 0.75), (-1.15, 0.75)]),
            Self::Wedge => polygon(&[(0.0, 1.25), (1.15, -0.75), (-1.15, -0.75)]),
            Self::Diamond => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Self::Cross => {
                let (far, near) = (1.25, 0.75);
                polygon(&[(-far, -near), (-near, -far), (far, near), (near, far)]);
                polygon(&[(near, -far), (far, -near), (-near, far), (-far, near)]);
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
    });
}
