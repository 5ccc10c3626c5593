//! A page in colours for a dark ground.

use crate::canvas::{Rect, Scene, Shape};
use crate::style::{Colour, DISTINCT, FADED, GRID, INK, WHITE};

/// What a dark page is.
const GROUND: Colour = Colour::hex(0x1B_1B_1F);
/// What text and spines are on it.
const LIGHT: Colour = Colour::hex(0xE6_E6_E6);

/// What the colours without an order become: as far apart for all kinds of colour blindness as
/// those on white, and none too dark for the ground.
pub(crate) const DARK: [Colour; 8] = [
    Colour::hex(0x64_8C_BD),
    Colour::hex(0xF0_D3_65),
    Colour::hex(0xE4_6A_61),
    Colour::hex(0x7F_D2_FF),
    Colour::hex(0x7A_53_03),
    Colour::hex(0xA8_A8_A8),
    Colour::hex(0x41_48_CC),
    Colour::hex(0xF3_F3_F3),
];

/// The same page on a dark ground.
pub(crate) fn darkened(scene: &Scene) -> Scene {
    let mut filled = Vec::new();
    let shapes = scene.shapes.iter().map(|it| {
        let mut shape = it.clone();
        match &mut shape {
            Shape::Box { colour, rect, opacity } => {
                *colour = dark(*colour);
                filled.push((*rect, *colour, *opacity));
            }
            Shape::Polygon { colour, .. } | Shape::Disc { colour, .. } | Shape::Path { colour, .. } => {
                *colour = dark(*colour);
            }
            Shape::Text(text) if text.font.colour == INK || text.font.colour == WHITE => {
                // What is under it may be light now.
                let (x, y) = text.bounds().centre();
                let inside = |rect: &Rect| {
                    (rect.left..=rect.right).contains(&x) && (rect.top..=rect.bottom).contains(&y)
                };
                let under = filled.iter().rev().find(|it| inside(&it.0) && 0.8 < it.2);
                let ground = under.map_or(GROUND, |it| it.1);
                let apart = |it: Colour| (ground.lightness() - it.lightness()).abs();
                text.font.colour = if apart(GROUND) < apart(LIGHT) { LIGHT } else { GROUND };
            }
            Shape::Text(text) => text.font.colour = dark(text.font.colour),
            Shape::Open(_) | Shape::Close => {}
        }
        shape
    });
    Scene { shapes: shapes.collect(), ground: GROUND, ..*scene }
}

/// What a colour becomes: as far from the ground as it was from white.
fn dark(colour: Colour) -> Colour {
    // The last of the series is as dark as ink.
    let series = DISTINCT.iter().position(|it| *it == colour && *it != INK);
    match (colour, series) {
        (WHITE, _) => GROUND,
        (INK, _) => LIGHT,
        (FADED, _) => Colour::hex(0x9A_9A_9A),
        (GRID, _) => Colour::hex(0x38_38_3C),
        (_, Some(index)) => DARK[index],
        _ => turned(colour),
    }
}

/// Light for dark, of the same hue: the largest and the smallest channel trade places.
fn turned(Colour { red, green, blue }: Colour) -> Colour {
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    let shift = i16::from(u8::MAX) - i16::from(most) - i16::from(least);
    let turn = |it: u8| u8::try_from((i16::from(it) + shift).clamp(0, 255)).unwrap_or(it);
    // The lightest end of a ramp would be the ground's own.
    Colour { red: turn(red), green: turn(green), blue: turn(blue) }.mix(GROUND, 0.1).mix(LIGHT, 0.2)
}
