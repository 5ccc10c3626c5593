//! The one look: colours, fonts and sizes of all figures.
//!
//! Lengths are in points (1/72 inch) of the printed page.

use serde::{Deserialize, Serialize};

/// A colour, 8 bits per channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Colour {
    /// Red, 0 to 255.
    pub red: u8,
    /// Green, 0 to 255.
    pub green: u8,
    /// Blue, 0 to 255.
    pub blue: u8,
}

impl Colour {
    /// From `0xRRGGBB`.
    #[must_use]
    pub const fn hex(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self { red, green, blue }
    }

    /// How light it looks, from 0 (black) to 100 (white): CIE 1976 L*.
    #[must_use]
    pub fn lightness(self) -> f64 {
        let linear = |channel: u8| {
            let it = f64::from(channel) / 255.0;
            if it <= 0.04045 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) }
        };
        let y = 0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue);
        if y <= 0.008_856 { 903.3 * y } else { 116.0 * y.cbrt() - 16.0 }
    }

    /// The colour `share` of the way to another, 0 to 1.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mix of two channels is a channel"
    )]
    pub(crate) fn mix(self, other: Self, share: f64) -> Self {
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Self {
            red: mix(self.red, other.red),
            green: mix(self.green, other.green),
            blue: mix(self.blue, other.blue),
        }
    }

    /// Black or white, whichever is read more easily on this colour.
    pub(crate) fn ink_on(self) -> Self {
        if self.lightness() < 58.0 { WHITE } else { INK }
    }
}

/// Colours of things without an order, by position; they repeat after eight.
///
/// The first three are Paul Tol's "high contrast" set, which survives a grey print; the others
/// are chosen so that any two of the eight stay apart under the three kinds of colour blindness
/// (a test holds them there). There is no green among them: beside red, deuteranopes do not
/// see one.
///
/// # Source
/// P. Tol, "Colour Schemes", SRON technical note EPS/TN/09-002, issue 3.2, 2021.
pub const DISTINCT: [Colour; 8] = [
    Colour::hex(0x00_44_88),
    Colour::hex(0xDD_AA_33),
    Colour::hex(0xBB_55_66),
    Colour::hex(0x77_AA_DD),
    Colour::hex(0x6B_4E_17),
    Colour::hex(0xBB_BB_BB),
    Colour::hex(0x44_77_AA),
    Colour::hex(0x22_22_22),
];

/// How many curves look unlike by colour and marker, before the first look comes again.
pub const LOOKS: usize = 24;

/// The colour of the `index`-th thing without an order.
#[must_use]
pub fn distinct(index: usize) -> Colour {
    DISTINCT[index % DISTINCT.len()]
}

/// `count` colours of things with an order (8, 16, 32 banks), light to dark.
#[must_use]
pub fn graded(count: usize) -> Vec<Colour> {
    let last = count.saturating_sub(1).max(1) as f64;
    (0..count).map(|it| ramp(0.22 + 0.78 * it as f64 / last)).collect()
}

/// The colour of a value on a heat map, 0 (pale) to 1 (dark blue); its
/// lightness falls evenly.
pub(crate) fn ramp(share: f64) -> Colour {
    const STOPS: [Colour; 5] = [
        Colour::hex(0xF4_F8_FB),
        Colour::hex(0xBD_D9_EA),
        Colour::hex(0x76_AF_D3),
        Colour::hex(0x2F_7F_B5),
        Colour::hex(0x00_3C_78),
    ];
    let mut position = share.clamp(0.0, 1.0) * 4.0;
    let mut stop = 0;
    while stop < 3 && 1.0 < position {
        position -= 1.0;
        stop += 1;
    }
    STOPS[stop].mix(STOPS[stop + 1], position)
}

pub(crate) const WHITE: Colour = Colour::hex(0xFF_FF_FF);
/// Text, spines and outlines.
pub(crate) const INK: Colour = Colour::hex(0x22_22_22);
/// Text that explains rather than tells.
pub(crate) const FADED: Colour = Colour::hex(0x66_66_66);
pub(crate) const GRID: Colour = Colour::hex(0xE2_E2_E2);

/// What stays free around a figure.
pub(crate) const EDGE: f64 = 3.0;
pub(crate) const SPINE_WIDTH: f64 = 0.6;
pub(crate) const GRID_WIDTH: f64 = 0.4;
pub(crate) const CURVE_WIDTH: f64 = 1.1;
pub(crate) const REFERENCE_WIDTH: f64 = 0.9;

/// Where a figure is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Style {
    /// Printed: dark on white, letters of 7 points, pictures with 300 dots to an inch.
    #[default]
    Paper,
    /// On a slide 13.33 inches and 1920 dots wide, which a figure of two columns fills: all of
    /// it is nearly twice as large.
    Slides,
    /// On a dark page or slide, as large as on paper.
    Dark,
}

impl Style {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Slides, Self::Dark];

    /// What it is called in calls and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Slides => "slides",
            Self::Dark => "dark",
        }
    }

    /// The one of this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// How many times as large everything is as on paper.
    pub(crate) fn zoom(self) -> f64 {
        match self {
            Self::Paper | Self::Dark => 1.0,
            Self::Slides => SLIDE_INCHES / Width::TwoColumns.inches(),
        }
    }

    /// Dots of a picture to an inch of the page or slide.
    pub(crate) fn dots_per_inch(self) -> f64 {
        match self {
            Self::Paper | Self::Dark => 300.0,
            Self::Slides => SLIDE_DOTS / SLIDE_INCHES,
        }
    }
}

const SLIDE_INCHES: f64 = 40.0 / 3.0;
const SLIDE_DOTS: f64 = 1920.0;

/// How wide a figure is on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Width {
    /// One column of a two-column page: 3.5 in.
    #[default]
    OneColumn,
    /// The whole page: 7.16 in.
    TwoColumns,
}

impl Width {
    /// The width in inches.
    #[must_use]
    pub const fn inches(self) -> f64 {
        match self {
            Self::OneColumn => 3.5,
            Self::TwoColumns => 7.16,
        }
    }

    pub(crate) fn points(self) -> f64 {
        self.inches() * 72.0
    }

    /// What of it is drawn on.
    pub(crate) fn inner(self) -> f64 {
        self.points() - 2.0 * EDGE
    }
}

/// What a text is drawn with; `size` is the em in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Font {
    pub size: f64,
    pub bold: bool,
    pub colour: Colour,
}

impl Font {
    const fn regular(size: f64) -> Self {
        Self { size, bold: false, colour: INK }
    }

    pub const TITLE: Self = Self { bold: true, ..Self::regular(8.0) };
    pub const PANEL: Self = Self { bold: true, ..Self::regular(7.5) };
    pub const LABEL: Self = Self::regular(7.5);
    pub const LEGEND: Self = Self::regular(7.0);
    pub const TICK: Self = Self::regular(7.0);
    pub const VALUE: Self = Self::regular(5.8);
    pub const CAPTION: Self = Self { colour: FADED, ..Self::regular(6.5) };

    pub const fn sized(self, size: f64) -> Self {
        Self { size, ..self }
    }

    pub const fn coloured(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// Height of a capital letter.
    pub fn cap(self) -> f64 {
        0.7 * self.size
    }

    /// Distance between two lines.
    pub fn line(self) -> f64 {
        1.2 * self.size
    }
}
