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

    /// How wide the widest part of a text is that stays together.
    pub fn widest_word(self, text: &str) -> f64 {
        words(text).into_iter().map(|it| self.width(it)).fold(0.0, f64::max)
    }

    /// Breaks a text at spaces into lines of at most `width` points; a longer
    /// word stands alone. A number keeps its unit.
    pub fn wrap(self, text: &str, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in words(text) {
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

/// The parts of a text between which a line may break: words, a number with what it counts
/// (`12 GB/s`, `+2.3 %`), and a limit's sign with its number (`≤ 1`).
fn words(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    let mut start = 0;
    for word in text.split_whitespace() {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        match parts.last_mut() {
            Some(last) if stays(last.rsplit(char::is_whitespace).next().unwrap_or(last), word) => {
                *last = &text[start..at + word.len()];
            }
            _ => {
                start = at;
                parts.push(word);
            }
        }
    }
    parts
}

/// Whether two words belong on one line.
fn stays(before: &str, after: &str) -> bool {
    let is_number = |it: &str| {
        let digits = it.trim_start_matches(['+', '-', '\u{2212}', '(']);
        let ends = |it: Option<char>| it.is_some_and(|it| it.is_ascii_digit());
        ends(digits.chars().next()) && ends(digits.chars().last()) && digits.parse::<f64>().is_ok()
    };
    let counts = !after.starts_with(|it: char| it.is_ascii_digit());
    (is_number(before) && counts) || ["≤", "≥"].contains(&before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_they_count() {
        for (text, expected) in [
            ("+2.3 %", vec!["+2.3 %"]),
            ("\u{2212}0.5 % of", vec!["\u{2212}0.5 %", "of"]),
            ("with 32 GiB of it", vec!["with", "32 GiB", "of", "it"]),
            ("62.0 (97 %)", vec!["62.0 (97 %)"]),
            ("≤ 0.2 MiB", vec!["≤ 0.2 MiB"]),
            ("Llama 3.2 1B", vec!["Llama", "3.2", "1B"]),
            ("4096 × 4096", vec!["4096 ×", "4096"]),
            ("  8-bit  weights ", vec!["8-bit", "weights"]),
            ("", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
