//! A page as SVG: text as text, dashes as dashes, groups with names.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::canvas::{Align, Scene, Shape, Text};
use crate::style::{Colour, INK};

/// Coordinates are whole numbers: so many to a point.
const DOTS_PER_POINT: f64 = 600.0 / 72.0;

/// The embedded font, then what has the same widths (see `assets/README.md`).
const FAMILY: &str = "Arimo, Liberation Sans, Arial, Helvetica, sans-serif";

/// The page as a document, `zoom` times as large as it was laid out. What reads pictures
/// aloud reads the title, then what the picture shows.
pub(crate) fn svg(scene: &Scene, zoom: f64, title: &str, shows: &str) -> String {
    let (width, height) = (even(scene.width), even(scene.height));
    let inches = |dots: i64| as_f64(dots) / DOTS_PER_POINT / 72.0 * zoom;
    let mut out = Writer::default();
    out.line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{:.4}in" height="{:.4}in" viewBox="0 0 {width} {height}" font-family="{FAMILY}" fill="{}">"#,
        inches(width),
        inches(height),
        hex(INK),
    ));
    for (tag, text) in [("title", title), ("desc", shows)].iter().filter(|it| !it.1.is_empty()) {
        out.line(format_args!("<{tag}>{}</{tag}>", escaped(text)));
    }
    out.line(format_args!(r#"<rect width="{width}" height="{height}" fill="{}"/>"#, hex(scene.ground)));
    for shape in &scene.shapes {
        out.shape(shape);
    }
    out.line(format_args!("</svg>"));
    out.text
}

#[derive(Default)]
struct Writer {
    text: String,
    /// The names of the groups that are open, each with those around it.
    open: Vec<String>,
    taken: HashSet<String>,
}

impl Writer {
    fn line(&mut self, line: std::fmt::Arguments) {
        writeln!(self.text, "{line}").expect("a string takes any text");
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Box { rect, colour, opacity } => {
                let ((left, top), (right, bottom)) =
                    (place((rect.left, rect.top)), place((rect.right, rect.bottom)));
                let (x, y, wide, high) =
                    (left.min(right), top.min(bottom), (right - left).abs(), (bottom - top).abs());
                let paint = fill(*colour, *opacity);
                self.line(format_args!(r#"<rect x="{x}" y="{y}" width="{wide}" height="{high}"{paint}/>"#));
            }
            Shape::Polygon { corners, colour, opacity } => {
                let paint = fill(*colour, *opacity);
                self.line(format_args!(r#"<polygon points="{}"{paint}/>"#, points(corners)));
            }
            Shape::Disc { x, y, radius, colour, opacity } => {
                let ((x, y), radius, paint) = (place((*x, *y)), dots(*radius), fill(*colour, *opacity));
                self.line(format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}"{paint}/>"#));
            }
            Shape::Path { points: through, width, colour, dash } => {
                let dash = dash.map_or_else(String::new, |(stroke, gap)| {
                    format!(r#" stroke-dasharray="{} {}""#, dots(stroke), dots(gap))
                });
                let (width, colour) = (dots(*width).max(1), hex(*colour));
                self.line(format_args!(
                    r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>"#,
                    points(through)
                ));
            }
            Shape::Text(text) => self.write(text),
            Shape::Open(name) => {
                let id = self.id(name);
                self.line(format_args!(r#"<g id="{id}">"#));
                self.open.push(id);
            }
            Shape::Close => {
                self.open.pop();
                self.line(format_args!("</g>"));
            }
        }
    }

    fn write(&mut self, text: &Text) {
        let Text { x, y, font, .. } = *text;
        // To where the letters stand; `y` is halfway up the capitals.
        let down = font.cap() / 2.0;
        let (at, turn) = if text.turned {
            let (x, y) = place((x + down, y));
            (format!(r#"x="{x}" y="{y}""#), format!(r#" transform="rotate(270 {x} {y})""#))
        } else {
            let (x, y) = place((x, y + down));
            (format!(r#"x="{x}" y="{y}""#), String::new())
        };
        let anchor = match text.align {
            Align::Start => "",
            Align::Middle => r#" text-anchor="middle""#,
            Align::End => r#" text-anchor="end""#,
        };
        let weight = if font.bold { r#" font-weight="bold""# } else { "" };
        let paint = if font.colour == INK { String::new() } else { fill(font.colour, 1.0) };
        // Whatever the font, the text is as wide as it was laid out.
        let (size, width) = (dots(font.size), dots(font.width(&text.line)));
        let line = escaped(&text.line);
        self.line(format_args!(
            r#"<text {at} font-size="{size}" textLength="{width}" lengthAdjust="spacingAndGlyphs"{anchor}{weight}{paint}{turn}>{line}</text>"#
        ));
    }

    /// A name that no other group of the document has.
    fn id(&mut self, name: &str) -> String {
        let plain: String = name
            .chars()
            .map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { ' ' })
            .collect();
        let words: Vec<&str> =
            self.open.last().map(String::as_str).into_iter().chain(plain.split_whitespace()).collect();
        let base = if words.is_empty() { "group".to_owned() } else { words.join("-") };
        let mut id = base.clone();
        let mut count = 1;
        while !self.taken.insert(id.clone()) {
            count += 1;
            id = format!("{base}-{count}");
        }
        id
    }
}

fn points(all: &[(f64, f64)]) -> String {
    let one = |&it: &(f64, f64)| {
        let (x, y) = place(it);
        format!("{x},{y}")
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn fill(colour: Colour, opacity: f64) -> String {
    let colour = hex(colour);
    if opacity < 1.0 {
        format!(r#" fill="{colour}" fill-opacity="{opacity}""#)
    } else {
        format!(r#" fill="{colour}""#)
    }
}

fn hex(Colour { red, green, blue }: Colour) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// A text between tags; characters that XML has no place for are left out.
fn escaped(text: &str) -> String {
    let plain: String = text.chars().filter(|it| !it.is_control()).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn place((x, y): (f64, f64)) -> (i64, i64) {
    (dots(x), dots(y))
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and a page is some thousand dots wide")]
fn dots(points: f64) -> i64 {
    (points * DOTS_PER_POINT).round() as i64
}

/// Rounded up to an even number of dots.
#[expect(clippy::cast_possible_truncation, reason = "as above")]
fn even(points: f64) -> i64 {
    (points * DOTS_PER_POINT / 2.0).ceil() as i64 * 2
}

fn as_f64(dots: i64) -> f64 {
    dots as f64
}
