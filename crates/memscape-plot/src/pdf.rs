//! A page as PDF, for LaTeX: text as text, in the embedded font's letters that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use ab_glyph::Font as _;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use subsetter::{GlyphRemapper, subset};

use crate::canvas::{Align, Scene, Shape, Text};
use crate::error::PlotError;
use crate::face::FILES;
use crate::style::{Colour, Font};

const IDENTITY: SystemInfo =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// What the faces are called, regular and bold: in the page's resources, and in the file.
const NAMES: [(Name, &str); 2] = [(Name(b"F0"), "Arimo-Regular"), (Name(b"F1"), "Arimo-Bold")];

/// The page as a document of one page, `zoom` times as large as it was laid out.
pub(crate) fn pdf(scene: &Scene, zoom: f64, title: &str, shows: &str) -> Result<Vec<u8>, PlotError> {
    let mut pdf = Pdf::new();
    let mut last = 0;
    let mut next = || {
        last += 1;
        Ref::new(last)
    };
    let [catalog, pages, page, content, about] = [(); 5].map(|()| next());
    let fonts: Vec<(usize, Letters, FontRefs)> = [false, true]
        .into_iter()
        .enumerate()
        .filter_map(|(index, bold)| Some((index, Letters::of(scene, bold)?)))
        .map(|(index, letters)| (index, letters, FontRefs([(); 5].map(|()| next()))))
        .collect();
    let opacities: BTreeMap<String, Ref> = opacities(scene).into_iter().map(|it| (it, next())).collect();

    pdf.catalog(catalog).pages(pages).lang(TextStr("en"));
    pdf.pages(pages).kids([page]).count(1);
    let (width, height) = (scene.width * zoom, scene.height * zoom);
    let mut writer = pdf.page(page);
    writer.media_box(Rect::new(0.0, 0.0, single(width), single(height))).parent(pages).contents(content);
    let mut resources = writer.resources();
    let mut names = resources.fonts();
    for (index, _, refs) in &fonts {
        names.pair(NAMES[*index].0, refs.0[0]);
    }
    names.finish();
    let mut states = resources.ext_g_states();
    for (name, id) in &opacities {
        states.pair(Name(name.as_bytes()), *id);
    }
    states.finish();
    resources.finish();
    writer.finish();

    for (index, letters, refs) in &fonts {
        letters.embed(&mut pdf, *index, refs)?;
    }
    for (name, id) in &opacities {
        let share = name[1..].parse::<f32>().unwrap_or(100.0) / 100.0;
        pdf.ext_graphics(*id).non_stroking_alpha(share);
    }
    let letters: BTreeMap<usize, &Letters> = fonts.iter().map(|it| (it.0, &it.1)).collect();
    let drawn = compressed(&Painter::new(&letters, zoom, height).draw(scene))?;
    pdf.stream(content, &drawn).filter(Filter::FlateDecode);
    let mut info = pdf.document_info(about);
    if !title.is_empty() {
        info.title(TextStr(title));
    }
    info.subject(TextStr(shows)).creator(TextStr("memscape"));
    info.finish();
    Ok(pdf.finish())
}

#[expect(clippy::cast_possible_truncation, reason = "PDF's numbers are single")]
fn single(value: f64) -> f32 {
    value as f32
}

/// What a translucent fill is called in the page's resources: `A45` of 45 %.
fn opacity_name(opacity: f64) -> String {
    format!("A{:.0}", 100.0 * opacity)
}

fn opacities(scene: &Scene) -> BTreeSet<String> {
    let of = |shape: &Shape| match shape {
        Shape::Box { opacity, .. } | Shape::Polygon { opacity, .. } | Shape::Disc { opacity, .. } => {
            (*opacity < 1.0).then(|| opacity_name(*opacity))
        }
        _ => None,
    };
    scene.shapes.iter().filter_map(of).collect()
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, PlotError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|it| PlotError::Backend(it.to_string()))
}

/// Objects of one font: the font, its letters' widths, what it looks like, what its letters
/// mean, and its file.
struct FontRefs([Ref; 5]);

/// The letters of one face that a page needs.
struct Letters {
    bold: bool,
    /// The letter and its place in the whole font, by its place in the part.
    all: BTreeMap<u16, (char, u16)>,
    places: GlyphRemapper,
}

impl Letters {
    /// None if the page has no text in this face.
    fn of(scene: &Scene, bold: bool) -> Option<Self> {
        let used: BTreeSet<char> =
            scene.texts().filter(|it| it.font.bold == bold).flat_map(|it| it.line.chars()).collect();
        let face = Font { bold, ..Font::TICK }.face();
        let mut places = GlyphRemapper::new();
        let mut all = BTreeMap::new();
        for letter in used {
            let glyph = face.glyph_id(letter).0;
            all.insert(places.remap(glyph), (letter, glyph));
        }
        (!all.is_empty()).then_some(Self { bold, all, places })
    }

    /// A text as the font's two-byte codes.
    fn codes(&self, line: &str) -> Vec<u8> {
        let face = Font { bold: self.bold, ..Font::TICK }.face();
        line.chars().flat_map(|it| self.places.get(face.glyph_id(it).0).unwrap_or(0).to_be_bytes()).collect()
    }

    /// Six letters that tell this part of the font from others, as PDF asks: programs that
    /// put several figures into one file must not take one part for another.
    fn tag(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (_, glyph) in self.all.values() {
            hash = (hash ^ u64::from(*glyph)).wrapping_mul(0x0100_0000_01b3);
        }
        let letter = |it: u32| char::from(b'A' + u8::try_from((hash >> (8 * it)) % 26).unwrap_or(0));
        (0..6).map(letter).collect()
    }

    fn embed(&self, pdf: &mut Pdf, index: usize, refs: &FontRefs) -> Result<(), PlotError> {
        let FontRefs([font, cid, descriptor, meaning, file]) = *refs;
        let failed = |it: subsetter::Error| PlotError::Backend(format!("the embedded font: {it}"));
        let part = subset(FILES[index], 0, &self.places).map_err(failed)?;
        let name = format!("{}+{}", self.tag(), NAMES[index].1);
        let name = Name(name.as_bytes());
        let face = Font { bold: self.bold, ..Font::TICK }.face();
        let em = face.units_per_em().unwrap_or(1000.0);
        let per_mille = |units: f32| units / em * 1000.0;

        pdf.type0_font(font)
            .base_font(name)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(meaning);
        let mut writer = pdf.cid_font(cid);
        writer.subtype(CidFontType::Type2).base_font(name).system_info(IDENTITY).font_descriptor(descriptor);
        writer.default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
        let mut widths = writer.widths();
        for (code, (_, glyph)) in &self.all {
            let advance = face.h_advance_unscaled(ab_glyph::GlyphId(*glyph));
            widths.consecutive(*code, [per_mille(advance)]);
        }
        widths.finish();
        writer.finish();

        let (above, below) = (per_mille(face.ascent_unscaled()), per_mille(face.descent_unscaled()));
        let capitals = single(Font::TICK.cap() / Font::TICK.size * 1000.0);
        let mut writer = pdf.font_descriptor(descriptor);
        writer.name(name).flags(FontFlags::SYMBOLIC).bbox(Rect::new(-200.0, below, 1200.0, above));
        writer.italic_angle(0.0).ascent(above).descent(below).cap_height(capitals);
        writer.stem_v(if self.bold { 140.0 } else { 85.0 }).font_file2(file);
        writer.finish();

        let mut cmap = UnicodeCmap::new(Name(b"Custom"), IDENTITY);
        for (code, (letter, _)) in &self.all {
            cmap.pair(*code, *letter);
        }
        let meanings = compressed(cmap.finish().as_slice())?;
        pdf.cmap(meaning, &meanings).filter(Filter::FlateDecode);
        let length = i32::try_from(part.len()).unwrap_or(i32::MAX);
        let part = compressed(&part)?;
        pdf.stream(file, &part).filter(Filter::FlateDecode).pair(Name(b"Length1"), length);
        Ok(())
    }
}

/// Draws shapes as a page's content.
struct Painter<'a> {
    content: Content,
    letters: &'a BTreeMap<usize, &'a Letters>,
}

impl<'a> Painter<'a> {
    fn new(letters: &'a BTreeMap<usize, &'a Letters>, zoom: f64, height: f64) -> Self {
        let mut content = Content::new();
        // PDF counts upwards, a page of shapes downwards.
        content.transform([single(zoom), 0.0, 0.0, single(-zoom), 0.0, single(height)]);
        content.set_line_cap(LineCapStyle::ButtCap).set_line_join(LineJoinStyle::RoundJoin);
        Self { content, letters }
    }

    fn draw(mut self, scene: &Scene) -> Vec<u8> {
        let Scene { width, height, .. } = *scene;
        self.fill(scene.ground, 1.0, |it| {
            it.rect(0.0, 0.0, single(width), single(height));
        });
        scene.shapes.iter().for_each(|it| self.shape(it));
        self.content.finish().into_vec()
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Box { rect, colour, opacity } => self.fill(*colour, *opacity, |it| {
                it.rect(single(rect.left), single(rect.top), single(rect.width()), single(rect.height()));
            }),
            Shape::Polygon { corners, colour, opacity } => self.fill(*colour, *opacity, |it| {
                along(it, corners);
                it.close_path();
            }),
            Shape::Disc { x, y, radius, colour, opacity } => {
                self.fill(*colour, *opacity, |it| circle(it, (*x, *y), *radius));
            }
            Shape::Path { points, width, colour, dash } => {
                let it = &mut self.content;
                it.save_state();
                let [red, green, blue] = shares(*colour);
                it.set_stroke_rgb(red, green, blue).set_line_width(single(*width));
                if let Some((stroke, gap)) = dash {
                    it.set_dash_pattern([single(*stroke), single(*gap)], 0.0);
                }
                along(it, points);
                it.stroke().restore_state();
            }
            Shape::Text(text) => self.write(text),
            Shape::Open(_) | Shape::Close => {}
        }
    }

    fn fill(&mut self, colour: Colour, opacity: f64, path: impl FnOnce(&mut Content)) {
        let it = &mut self.content;
        it.save_state();
        if opacity < 1.0 {
            it.set_parameters(Name(opacity_name(opacity).as_bytes()));
        }
        let [red, green, blue] = shares(colour);
        it.set_fill_rgb(red, green, blue);
        path(it);
        it.fill_nonzero().restore_state();
    }

    fn write(&mut self, text: &Text) {
        let Text { x, y, font, .. } = *text;
        let index = usize::from(font.bold);
        let Some(letters) = self.letters.get(&index) else { return };
        let width = font.width(&text.line);
        let before = match text.align {
            Align::Start => 0.0,
            Align::Middle => width / 2.0,
            Align::End => width,
        };
        // To where the letters stand; `y` is halfway up the capitals.
        let down = font.cap() / 2.0;
        // Letters stand upright though the page counts downwards.
        let matrix = if text.turned {
            [0.0, -1.0, -1.0, 0.0, single(x + down), single(y + before)]
        } else {
            [1.0, 0.0, 0.0, -1.0, single(x - before), single(y + down)]
        };
        let [red, green, blue] = shares(font.colour);
        let it = &mut self.content;
        it.begin_text().set_fill_rgb(red, green, blue).set_font(NAMES[index].0, single(font.size));
        it.set_text_matrix(matrix).show(Str(&letters.codes(&text.line))).end_text();
    }
}

fn shares(Colour { red, green, blue }: Colour) -> [f32; 3] {
    [red, green, blue].map(|it| f32::from(it) / 255.0)
}

fn along(content: &mut Content, points: &[(f64, f64)]) {
    for (index, &(x, y)) in points.iter().enumerate() {
        if index == 0 {
            content.move_to(single(x), single(y));
        } else {
            content.line_to(single(x), single(y));
        }
    }
}

/// Four arcs as cubic curves, which leave a circle by less than a thousandth of its radius.
fn circle(content: &mut Content, (x, y): (f64, f64), radius: f64) {
    const PULL: f64 = 0.552_284_75;
    let at = |dx: f64, dy: f64| (single(x + dx * radius), single(y + dy * radius));
    let (right, middle) = at(1.0, 0.0);
    content.move_to(right, middle);
    for (c, d, e) in [
        ((1.0, PULL), (PULL, 1.0), (0.0, 1.0)),
        ((-PULL, 1.0), (-1.0, PULL), (-1.0, 0.0)),
        ((-1.0, -PULL), (-PULL, -1.0), (0.0, -1.0)),
        ((PULL, -1.0), (1.0, -PULL), (1.0, 0.0)),
    ] {
        let [(cx, cy), (dx, dy), (ex, ey)] = [c, d, e].map(|(dx, dy)| at(dx, dy));
        content.cubic_to(cx, cy, dx, dy, ex, ey);
    }
    content.close_path();
}
