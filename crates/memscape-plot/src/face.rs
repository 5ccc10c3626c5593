//! The embedded font: how wide texts are, and how they break into lines.

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef};

use crate::style::Font;

/// Where a name may break without a space: takes no room and is never drawn.
pub(crate) const BREAK: char = '\u{200B}';

/// The embedded font's files, regular and bold.
pub(crate) const FILES: [&[u8]; 2] =
    [include_bytes!("../assets/fonts/Arimo-Regular.ttf"), include_bytes!("../assets/fonts/Arimo-Bold.ttf")];

static REGULAR: LazyLock<FontRef<'static>> = LazyLock::new(|| embedded(FILES[0]));
static BOLD: LazyLock<FontRef<'static>> = LazyLock::new(|| embedded(FILES[1]));

fn embedded(bytes: &'static [u8]) -> FontRef<'static> {
    FontRef::try_from_slice(bytes).expect("the embedded font is a TrueType font")
}

impl Font {
    pub fn face(self) -> &'static FontRef<'static> {
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
