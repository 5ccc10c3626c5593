//! A page as PNG, by plotters' bitmap backend.
//!
//! Text goes through a wrapper ([`Ink`]) because plotters' own bitmap text drops the
//! letters' side bearings.

use std::collections::BTreeMap;
use std::convert::Infallible;

use ab_glyph::{Font as _, Glyph, PxScale};
use plotters::backend::BitMapBackend;
use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontFamily, FontStyle,
    FontTransform,
};

use crate::canvas::{Align, Scene, Shape};
use crate::error::PlotError;
use crate::style::{Colour, Font};

/// Pictures average so many by so many of the dots drawn.
const SHRINK: u8 = 2;

/// The page with so many dots to a point of it, which on paper or a slide are
/// `per_inch` to an inch.
pub(crate) fn png(scene: &Scene, dots_per_point: f64, per_inch: f64) -> Result<Vec<u8>, PlotError> {
    let even = |points: f64| dots((points * dots_per_point).ceil()) * i32::from(SHRINK);
    let page = (even(scene.width), even(scene.height));
    let (width, height) = (page.0.unsigned_abs(), page.1.unsigned_abs());
    let (columns, rows) = (width as usize, height as usize);
    let mut fine = vec![u8::MAX; columns * rows * 3];
    {
        let mut backend = BitMapBackend::with_buffer(&mut fine, (width, height));
        let per_point = dots_per_point * f64::from(SHRINK);
        let mut all = || {
            backend.draw_rect((0, 0), page, &Pen::new(scene.ground, 1.0, 0), true)?;
            scene.shapes.iter().try_for_each(|it| Painter { per_point }.paint(&mut backend, it))
        };
        all().map_err(|it| PlotError::Backend(it.to_string()))?;
        backend.present().map_err(|it| PlotError::Backend(it.to_string()))?;
    }
    let size = (width / u32::from(SHRINK), height / u32::from(SHRINK));
    encoded(&shrunk(&fine, columns), size, per_inch)
}

/// As PNG with a palette, which takes half the room.
fn encoded(pixels: &[u8], (width, height): (u32, u32), per_inch: f64) -> Result<Vec<u8>, PlotError> {
    let failed = |it: png::EncodingError| PlotError::Backend(it.to_string());
    let (palette, indices) = indexed(pixels);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_depth(png::BitDepth::Eight);
    // Trying harder takes ten times as long for 8 % less. A palette's places are no amounts, so
    // that their differences are longer than they are.
    encoder.set_compression(png::Compression::Default);
    encoder.set_filter(png::FilterType::NoFilter);
    let per_metre = dots(per_inch / 0.0254).unsigned_abs();
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: png::Unit::Meter,
    }));
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&indices).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// At most 256 colours, and of each pixel which one it has. Of more, the most frequent stay, and
/// the others, shades of letters' and curves' edges, become the nearest of these.
fn indexed(pixels: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let pixels = pixels.as_chunks::<3>().0;
    let mut counts: BTreeMap<[u8; 3], usize> = BTreeMap::new();
    let runs = || pixels.chunk_by(|one, next| one == next);
    for run in runs() {
        *counts.entry(run[0]).or_default() += run.len();
    }
    let mut colours: Vec<([u8; 3], usize)> = counts.into_iter().collect();
    colours.sort_by_key(|it| std::cmp::Reverse(it.1));
    let kept: Vec<[u8; 3]> = colours.iter().take(256).map(|it| it.0).collect();
    let apart = |a: &[u8; 3], b: &[u8; 3]| -> u32 {
        a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let nearest = |colour: &[u8; 3]| {
        let place = (0..=u8::MAX).zip(&kept).min_by_key(|it| apart(it.1, colour));
        (*colour, place.map_or(0, |it| it.0))
    };
    let places: BTreeMap<[u8; 3], u8> = colours.iter().map(|it| nearest(&it.0)).collect();
    let place = |it: &[u8; 3]| places.get(it).copied().unwrap_or_default();
    let indices = runs().flat_map(|run| std::iter::repeat_n(place(&run[0]), run.len())).collect();
    (kept.into_flattened(), indices)
}

/// Averages blocks of 2 x 2 dots: smooth edges whatever the backend's.
fn shrunk(fine: &[u8], columns: usize) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(fine.len() / usize::from(SHRINK * SHRINK));
    for rows in fine.chunks_exact(2 * 3 * columns) {
        let (upper, lower) = rows.split_at(3 * columns);
        for (a, b) in upper.as_chunks::<6>().0.iter().zip(lower.as_chunks::<6>().0) {
            let mean = |it: usize| {
                let sum = [a[it], a[it + 3], b[it], b[it + 3]].into_iter().map(u16::from).sum::<u16>();
                u8::try_from((sum + 2) / 4).unwrap_or(u8::MAX)
            };
            pixels.extend_from_slice(&[mean(0), mean(1), mean(2)]);
        }
    }
    pixels
}

#[derive(Clone, Copy)]
struct Painter {
    per_point: f64,
}

impl Painter {
    fn paint<B: DrawingBackend>(
        self,
        backend: &mut B,
        shape: &Shape,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        match shape {
            Shape::Box { rect, colour, opacity } => {
                let (from, to) = (self.place((rect.left, rect.top)), self.place((rect.right, rect.bottom)));
                backend.draw_rect(from, to, &Pen::new(*colour, *opacity, 0), true)
            }
            Shape::Polygon { corners, colour, opacity } => {
                let corners = corners.iter().map(|it| self.place(*it));
                backend.fill_polygon(corners, &Pen::new(*colour, *opacity, 0))
            }
            Shape::Disc { x, y, radius, colour, opacity } => {
                let radius = dots(radius * self.per_point).unsigned_abs();
                backend.draw_circle(self.place((*x, *y)), radius, &Pen::new(*colour, *opacity, 0), true)
            }
            Shape::Path { points, width, colour, dash } => {
                let pen = Pen::new(*colour, 1.0, dots(width * self.per_point).unsigned_abs());
                match dash {
                    None => self.stroke(backend, points, &pen),
                    Some(dash) => {
                        strokes(points, *dash).iter().try_for_each(|it| self.stroke(backend, it, &pen))
                    }
                }
            }
            Shape::Text(text) => {
                let ink = Ink {
                    font: text.font,
                    align: text.align,
                    turned: text.turned,
                    per_point: self.per_point,
                };
                // The baseline is 0.76 em below the top.
                let top = text.font.cap() / 2.0 - 0.76 * text.font.size;
                let at = if text.turned { (text.x + top, text.y) } else { (text.x, text.y + top) };
                backend.draw_text(&text.line, &ink, self.place(at))
            }
            Shape::Open(_) | Shape::Close => Ok(()),
        }
    }

    fn stroke<B: DrawingBackend>(
        self,
        backend: &mut B,
        points: &[(f64, f64)],
        pen: &Pen,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        match points {
            [from, to] => backend.draw_line(self.place(*from), self.place(*to), pen),
            _ => backend.draw_path(points.iter().map(|it| self.place(*it)), pen),
        }
    }

    fn place(self, (x, y): (f64, f64)) -> (i32, i32) {
        (dots(x * self.per_point), dots(y * self.per_point))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and a page is some thousand dots wide")]
fn dots(value: f64) -> i32 {
    value.round() as i32
}

/// The strokes of a broken line: plotters draws whole ones.
fn strokes(points: &[(f64, f64)], dash: (f64, f64)) -> Vec<Vec<(f64, f64)>> {
    let period = dash.0 + dash.1;
    let mut phase = 0.0;
    let (mut all, mut stroke) = (Vec::new(), Vec::new());
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
                    all.push(std::mem::take(&mut stroke));
                }
            }
        }
    }
    if 1 < stroke.len() {
        all.push(stroke);
    }
    all
}

/// A plotters style: colour and line width in dots.
struct Pen {
    colour: Colour,
    opacity: f64,
    width: u32,
}

impl Pen {
    fn new(colour: Colour, opacity: f64, width: u32) -> Self {
        Self { colour, opacity, width }
    }
}

impl BackendStyle for Pen {
    fn color(&self) -> BackendColor {
        BackendColor { alpha: self.opacity, ..backend_colour(self.colour) }
    }

    fn stroke_width(&self) -> u32 {
        self.width.max(1)
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
    per_point: f64,
}

impl Ink {
    fn em_dots(&self) -> f64 {
        self.font.size * self.per_point
    }
}

impl BackendTextStyle for Ink {
    type FontError = Infallible;

    fn color(&self) -> BackendColor {
        backend_colour(self.font.colour)
    }

    fn size(&self) -> f64 {
        self.em_dots()
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
        FontFamily::SansSerif
    }

    fn layout_box(&self, text: &str) -> Result<((i32, i32), (i32, i32)), Infallible> {
        Ok(((0, 0), (dots(self.font.width(text) * self.per_point), dots(self.em_dots()))))
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
