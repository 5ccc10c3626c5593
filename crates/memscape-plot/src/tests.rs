//! Does it draw, does nothing collide, and is bad data refused?

use std::io::Cursor;

use crate as plot;
use crate::canvas::{Marker, Rect, Shape};
use crate::dark::DARK;
use crate::figure::Layout;
use crate::style::{Colour, DISTINCT, LOOKS, graded, ramp};
use crate::*;

/// The gallery's figures are the test cases: one of each shape.
#[path = "../examples/gallery/figures.rs"]
mod figures;

/// Every figure of the gallery, laid out.
fn layouts() -> Vec<(&'static str, Layout)> {
    figures::all().into_iter().map(|(name, figure)| (name, figure.layout().unwrap())).collect()
}

#[test]
fn as_many_curves_look_unlike_as_is_said() {
    let look = |index: usize| (style::distinct(index), Marker::of(index));
    for index in 0..LOOKS {
        assert!((0..index).all(|it| look(it) != look(index)), "{index}");
    }
    assert_eq!(look(LOOKS), look(0));
}

fn bars(values: [Option<f64>; 2]) -> GroupedBars {
    GroupedBars::new("Speedup (×)", ["left", "right"]).series("PIM", values)
}

fn lines(points: [(f64, f64); 2]) -> Lines {
    Lines::new(Axis::linear("Threads"), Axis::log10("Time (ns)")).curve("local", points)
}

fn map(values: Vec<Vec<Option<f64>>>) -> HeatMap {
    let names = |it: [&str; 2]| it.map(str::to_owned).to_vec();
    HeatMap { rows: names(["a", "b"]), columns: names(["c", "d"]), values, ..HeatMap::default() }
}

fn grid(tiles: &[(usize, usize)]) -> TileGrid {
    let tile = |(order, &(row, column)): (usize, &(usize, usize))| Tile {
        row,
        column,
        rows: 1,
        columns: 2,
        bank: 0,
        order,
    };
    TileGrid {
        rows: 2,
        columns: 4,
        tiles: tiles.iter().enumerate().map(tile).collect(),
        ..TileGrid::default()
    }
}

#[test]
fn no_text_meets_another() {
    for (figure, layout) in layouts() {
        assert_texts_apart(figure, &layout);
    }
}

fn assert_texts_apart(figure: &str, layout: &Layout) {
    let texts: Vec<_> = layout.scene.texts().collect();
    for (index, one) in texts.iter().enumerate() {
        for other in &texts[index + 1..] {
            // Digits of turned values may come within a hair's breadth.
            let apart = !one.bounds().grown(-0.2).meets(&other.bounds().grown(-0.2));
            assert!(apart, "{figure}: `{}` meets `{}`", one.line, other.line);
        }
    }
}

/// A value stands beyond what is drawn over its bar, whichever way that goes.
#[test]
fn values_stand_beyond_spreads() {
    for sign in [1.0, -1.0] {
        let middle = |spread: Option<(f64, f64)>| {
            let values = [5.0, 9.0].map(|it| Some(sign * it));
            let series = Series { spread: vec![spread, None], ..Series::new("", values) };
            let bars =
                GroupedBars { series: vec![series], ..GroupedBars::new("Gain", ["a", "b"]) }.decimals(1);
            let layout = Figure::one_column().panel("", bars).layout().unwrap();
            let text = layout.scene.texts().find(|it| it.line.ends_with("5.0") && it.line.len() > 2);
            let bounds = text.unwrap().bounds();
            0.5 * (bounds.top + bounds.bottom)
        };
        let moved = middle(Some((sign * 4.0, sign * 7.0))) - middle(None);
        // Upwards is less.
        assert!(moved * sign < -2.0, "{sign}: {moved}");
    }
}

/// From one bar to hundreds, from nanoseconds to gigabytes, with gaps.
#[test]
fn charts_of_any_size_and_magnitude_are_laid_out() {
    for groups in [1, 2, 3, 7, 12, 24, 60] {
        for series in [1, 2, 3, 5, 9] {
            for exponent in [-9, -3, 0, 3, 7, 12] {
                for scale in [Scale::Linear, Scale::Log10, Scale::Log2] {
                    let value = |group: i32, it: i32| {
                        let gap = (group + 2 * it) % 7 == 6 && 0 < group;
                        (!gap).then(|| 10_f64.powi(exponent) * f64::from(1 + (3 * group + 5 * it) % 11))
                    };
                    let mut bars = GroupedBars::new("Time (ns)", (0..groups).map(|it| format!("group {it}")))
                        .scale(scale);
                    for it in 0..series {
                        bars = bars.series(format!("s{it}"), (0..groups).map(|group| value(group, it)));
                    }
                    let name = format!("{groups} groups of {series}, 1e{exponent}, {scale:?}");
                    for figure in [Figure::one_column(), Figure::two_columns()] {
                        let layout = figure.panel("(a) Panel", bars.clone()).layout();
                        let layout = layout.unwrap_or_else(|error| panic!("{name}: {error}"));
                        assert_texts_apart(&name, &layout);
                    }
                }
            }
        }
    }
}

#[test]
fn lines_and_maps_of_any_magnitude_are_laid_out() {
    type Kind = fn(&'static str) -> Axis;
    let kinds: [Kind; 3] = [Axis::linear, Axis::log10, Axis::log2];
    for (kind, axis) in kinds.into_iter().enumerate() {
        for exponent in [-9, -3, 0, 3, 7, 12] {
            for points in [1, 2, 9, 40] {
                for columns in 1..=4 {
                    let factor = 10_f64.powi(exponent);
                    let points = (1..=points).map(|it| (factor * f64::from(it), factor / f64::from(it)));
                    let lines = Lines::new(axis("Size (B)"), axis("Time (ns)")).curve("one", points);
                    let name = format!("axes {kind}, 1e{exponent}, {columns} panels");
                    let page = if columns < 3 { Figure::one_column() } else { Figure::two_columns() };
                    let figure = (0..columns).fold(page, |it, _| it.panel("(a) Panel", lines.clone()));
                    let layout = figure.layout().unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert_texts_apart(&name, &layout);
                }
            }
        }
    }
    for exponent in [-9, 0, 5] {
        for columns in [1, 2, 12, 50] {
            let cell = |it: i32| Some(10_f64.powi(exponent) * f64::from(it + 1));
            let map = HeatMap {
                rows: vec!["first".to_owned(), "second".to_owned()],
                columns: (0..columns).map(|it| format!("column {it}")).collect(),
                values: vec![(0..columns).map(cell).collect(), (0..columns).map(|_| None).collect()],
                value_label: "Time (ns)".to_owned(),
                ..HeatMap::default()
            };
            let layout = Figure::one_column().panel("", map).layout().unwrap();
            assert_texts_apart(&format!("{columns} columns, 1e{exponent}"), &layout);
        }
    }
}

/// What a figure cannot show it says; what it shows takes no more room than any other.
#[test]
fn any_finite_number_draws_in_bounded_space() {
    let numbers = [0.0, 1.0, -1.0, 1e-100, 1e100, -1e100, 5e-324, 1e-300, 1e300, 1e308, f64::MAX, f64::MIN];
    for a in numbers {
        for b in numbers.into_iter().chain([a * (1.0 + f64::EPSILON)]) {
            let both = [Some(a), Some(b)];
            let figures = [
                Figure::one_column().panel("", bars(both)),
                Figure::one_column().panel("", bars(both).scale(Scale::Log10)),
                Figure::one_column().panel("", bars(both).scale(Scale::Log2)),
                Figure::one_column().panel("", lines([(a, 1.0), (b, 2.0)])),
                Figure::one_column().panel("", lines([(1.0, a), (2.0, b)])),
                Figure::one_column().panel("", map(vec![both.to_vec(), both.to_vec()])),
            ];
            for (index, figure) in figures.into_iter().enumerate() {
                match figure.svg() {
                    Ok(svg) => assert!(svg.len() < 500_000, "figure {index} of {a} and {b}: {}", svg.len()),
                    // Said; or a label of many digits.
                    Err(
                        PlotError::Magnitude { .. } | PlotError::NotPositive { .. } | PlotError::Room { .. },
                    ) => {}
                    Err(error) => panic!("figure {index} of {a} and {b}: {error}"),
                }
            }
        }
    }
    let error = Figure::one_column().panel("", bars([Some(1e308), None])).svg().unwrap_err().to_string();
    let text = "`PIM` is 1e308 at `left`; a figure shows 0 and magnitudes from 1e-100 to 1e100 (change the \
                unit, or leave the value out)";
    assert_eq!(error, text);
}

#[test]
fn legends_and_plots_are_apart_and_on_the_page() {
    for (figure, layout) in layouts() {
        let page = Rect { left: 0.0, top: 0.0, right: layout.scene.width, bottom: layout.scene.height };
        let boxes: Vec<_> = layout.legends.iter().chain(&layout.plots).collect();
        for (index, one) in boxes.iter().enumerate() {
            assert!(page.holds(one), "{figure}: {one:?} leaves the page");
            for other in &boxes[index + 1..] {
                assert!(!one.meets(other), "{figure}: {one:?} meets {other:?}");
            }
        }
    }
}

#[test]
fn bars_and_curves_stay_inside_their_plots() {
    for (figure, layout) in layouts() {
        let page = Rect { left: 0.0, top: 0.0, right: layout.scene.width, bottom: layout.scene.height };
        for shape in &layout.scene.shapes {
            let points = match shape {
                Shape::Path { points, .. } | Shape::Polygon { corners: points, .. } => points.clone(),
                Shape::Box { rect, .. } => vec![(rect.left, rect.top), (rect.right, rect.bottom)],
                Shape::Disc { x, y, .. } => vec![(*x, *y)],
                Shape::Text(_) | Shape::Open(_) | Shape::Close => Vec::new(),
            };
            for (x, y) in points {
                let point = Rect { left: x, right: x, top: y, bottom: y };
                assert!(page.holds(&point), "{figure}: {shape:?} leaves the page");
            }
        }
    }
}

#[test]
fn svg_is_well_formed_and_keeps_its_labels() {
    for (name, figure) in figures::all() {
        let svg = figure.svg().unwrap();
        assert_balanced(name, &svg);
        for text in figure.layout().unwrap().scene.texts() {
            let escaped = text.line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            assert!(svg.contains(&format!(">{escaped}</text>")), "{name}: `{escaped}` is missing");
        }
    }
}

/// Every tag is closed, in order, and no text or attribute holds a bare `<` or `&`.
fn assert_balanced(name: &str, svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("{name}: `<{piece}` has no end"));
        assert!(
            !text
                .replace("&amp;", "")
                .replace("&lt;", "")
                .replace("&gt;", "")
                .replace("&quot;", "")
                .contains('&'),
            "{name}: {text}"
        );
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{name}");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{name}: {open:?} stay open");
}

#[test]
fn markup_in_names_is_escaped() {
    let bars = GroupedBars::new("a < b & c", ["<g>"]).series("\"s\"", [1.0]);
    let svg = Figure::one_column().title("1 < 2 & 3").panel("", bars).svg().unwrap();
    assert_balanced("escaped", &svg);
    assert!(svg.contains("<title>1 &lt; 2 &amp; 3</title>") && svg.contains("a &lt; b &amp; c"));
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    for (name, figure) in figures::all().into_iter().take(4) {
        let other = figure.clone();
        let all = |it: &Figure| Format::ALL.map(|format| it.file(format).unwrap());
        let elsewhere = std::thread::spawn(move || all(&other));
        assert!(all(&figure) == elsewhere.join().unwrap(), "{name}");
    }
}

#[test]
fn svg_says_what_it_shows_and_names_its_parts() {
    let bars = bars([Some(1.0), Some(4.0)]).reference("Roofline", 7.0);
    let figure = Figure::one_column()
        .title("Speedup")
        .panel("(a)", bars)
        .panel("(b)", lines([(1.0, 1.0), (2.0, 3.0)]));
    let svg = figure.svg().unwrap();
    assert!(svg.contains("<title>Speedup</title>"));
    let shows = "(a): Bars of Speedup (×) over 2 groups: PIM from 1.00 (left) to 4.00 (right); Roofline at 7.00. \
                 (b): Time (ns) over Threads: local from 1.00 (at 1) to 3.00 (at 2).";
    assert_eq!(figure.alt_text(), shows);
    assert!(svg.contains(&format!("<desc>{shows}</desc>")));
    for id in ["title", "panel-1", "panel-1-pim", "panel-1-references", "panel-2-local"] {
        assert_eq!(svg.matches(&format!("<g id=\"{id}\">")).count(), 1, "{id}");
    }
    assert_eq!(svg.matches("stroke-dasharray").count(), 2, "a dash of the legend, one of the plot");
}

/// Whatever font a viewer has, no text takes more room than it was given.
#[test]
fn svg_gives_every_text_its_width() {
    for (name, figure) in figures::all() {
        let svg = figure.svg().unwrap();
        assert_eq!(svg.matches("<text ").count(), svg.matches(" textLength=").count(), "{name}");
        let mut ids: Vec<&str> =
            svg.split("<g id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "{name}: two groups of one name");
    }
}

/// The streams of a PDF document, inflated where they are deflated.
fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
    let find = |from: usize, what: &[u8]| {
        pdf[from..].windows(what.len()).position(|it| it == what).map(|it| from + it)
    };
    let (mut all, mut from) = (Vec::new(), 0);
    while let Some(start) = find(from, b"stream\n").map(|it| it + 7) {
        let end = find(start, b"\nendstream").unwrap();
        let mut plain = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&pdf[start..end]), &mut plain)
            .unwrap();
        all.push(plain);
        from = end + 10;
    }
    all
}

#[test]
fn pdf_has_text_that_can_be_searched_in_a_part_of_the_font() {
    for (name, figure) in figures::all() {
        let pdf = figure.pdf().unwrap();
        assert!(pdf.starts_with(b"%PDF-1.7") && pdf.len() < 120_000, "{name}: {} bytes", pdf.len());
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.contains("+Arimo-Regular") && text.contains("/FontFile2"), "{name}");
        let meanings: Vec<String> = streams(&pdf)
            .iter()
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .filter(|it| it.contains("beginbfchar"))
            .collect();
        for text in figure.layout().unwrap().scene.texts() {
            let letter = text.line.chars().next().unwrap();
            let code = format!("<{:04X}>", u32::from(letter));
            assert!(
                meanings.iter().any(|it| it.to_uppercase().contains(&code)),
                "{name}: {letter} has no meaning"
            );
        }
    }
}

#[test]
fn slides_are_larger_and_dark_pages_dark() {
    let size = |png: &[u8]| {
        let reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
        (reader.info().width, reader.info().height)
    };
    let figure = Figure::two_columns().panel("", bars([Some(1.0), Some(4.0)]));
    let slide = figure.clone().style(Style::Slides);
    assert_eq!(size(&slide.png().unwrap()).0, 1920);
    assert!(slide.svg().unwrap().contains("width=\"13.33"));
    let dark = figure.clone().style(Style::Dark);
    assert_eq!(size(&dark.png().unwrap()), size(&figure.png().unwrap()));
    let svg = dark.svg().unwrap();
    assert!(svg.contains("#1B1B1F") && !svg.contains("#FFFFFF"), "no white is left");
    assert_eq!(Style::ALL.map(|it| Style::named(it.name())), Style::ALL.map(Some));
    assert_eq!(Format::of(std::path::Path::new("a/b.PDF")), Some(Format::Pdf));
    assert_eq!(Format::of(std::path::Path::new("a/b.gif")), None);
}

/// Numbers on bars keep to the colour that is read on them, on a dark page too.
#[test]
fn numbers_are_read_on_every_style() {
    let stack = StackedBars::new("Time (ns)", ["a"]).part("low", [5.0]).part("high", [5.0]);
    let layout = Figure::one_column().panel("", stack).layout().unwrap();
    for scene in [layout.scene.clone(), crate::dark::darkened(&layout.scene)] {
        let mut under: Vec<(Rect, Colour)> = Vec::new();
        for shape in &scene.shapes {
            match shape {
                Shape::Box { rect, colour, .. } => under.push((*rect, *colour)),
                Shape::Text(text) => {
                    let ground = under
                        .iter()
                        .rev()
                        .find(|it| it.0.holds(&text.bounds()))
                        .map_or(scene.ground, |it| it.1);
                    let apart = (ground.lightness() - text.font.colour.lightness()).abs();
                    assert!(35.0 < apart, "{}: {apart}", text.line);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn panels_with_shared_axes_have_the_same_marks_and_colours() {
    let figure = |low: f64| {
        let map = map(vec![vec![Some(low), Some(2.0)], vec![Some(3.0), Some(4.0)]]);
        Figure::two_columns()
            .panel("(a)", bars([Some(low), Some(9.0)]))
            .panel("(b)", bars([Some(1.0), Some(90.0)]))
            .panel("(c)", map.clone())
            .panel("(d)", HeatMap { values: vec![vec![Some(40.0); 2]; 2], ..map })
    };
    let shared = figure(2.0).share_axes();
    let Chart::HeatMap(map) = &shared.panels[2].chart else { panic!("a heat map") };
    assert_eq!(map.reach, Some((2.0, 40.0)));
    let Chart::GroupedBars(bars) = &shared.panels[0].chart else { panic!("bars") };
    assert_eq!(bars.reach, Some((1.0, 90.0)));
    shared.svg().unwrap();
}

/// A figure whose points are hidden by others is none: few are drawn over many.
#[test]
fn curves_with_few_points_are_drawn_over_those_with_many() {
    let many = (0..50).map(|it| (f64::from(it), f64::from(it)));
    let lines = Lines::new(Axis::linear("x"), Axis::linear("y"))
        .points("few", [(1.0, 1.0)])
        .points("many", many)
        .filled(Fill::Translucent);
    let svg = Figure::one_column().panel("", lines).svg().unwrap();
    assert!(svg.find("panel-1-many").unwrap() < svg.find("panel-1-few").unwrap());
    assert_eq!(svg.matches("fill-opacity").count(), 51, "with the legend's");
}

#[test]
fn no_line_strikes_a_bars_number_out() {
    for (value, roofline, least) in [(6.6, 7.0, 0.0), (6.0, 7.0, 0.0), (6.6, 6.9, 0.0), (-6.6, -7.0, -9.0)] {
        let mut bars = bars([Some(value), Some(1.0)]).reference("Roofline", roofline).decimals(1);
        bars.reach = Some((least, 9.0));
        let layout = Figure::one_column().panel("", bars).layout().unwrap();
        let shapes = &layout.scene.shapes;
        let mut dashed = shapes.iter().filter_map(|it| match it {
            Shape::Path { points, dash: Some(_), .. } if points[0].1.total_cmp(&points[1].1).is_eq() => {
                (points[1].0 - points[0].0 > 50.0).then_some(points[0].1)
            }
            _ => None,
        });
        let line = dashed.next().unwrap();
        let text = layout.scene.texts().find(|it| it.line.ends_with("6.6") || it.line == "6.0").unwrap();
        let bounds = text.bounds();
        assert!(line < bounds.top || bounds.bottom < line, "{value} under {roofline}: {bounds:?}, {line}");
    }
}

#[test]
fn a_legend_that_panels_share_explains_what_is_published_in_one() {
    let mut with = bars([Some(1.0), Some(2.0)]);
    with.series[0].published = vec![Some(1.5), None];
    let without = bars([Some(1.0), Some(2.0)]);
    let layout = Figure::two_columns().panel("a", without).panel("b", with).layout().unwrap();
    assert_eq!(layout.legends.len(), 1);
    assert_eq!(layout.scene.texts().filter(|it| it.line == "Published").count(), 1);
}

#[test]
fn figures_without_a_title_are_called_by_what_they_are_of() {
    let facets = || {
        let panels = Figure::two_columns().panel("8 banks", lines([(1.0, 1.0), (2.0, 3.0)]));
        panels.panel("16 banks", lines([(1.0, 1.0), (2.0, 3.0)]))
    };
    let title = |it: Figure| it.svg().unwrap().split("<title>").nth(1).unwrap().to_owned();
    assert!(title(facets()).starts_with("Time (ns) over Threads</title>"));
    assert!(title(facets().title("Banks")).starts_with("Banks</title>"));
    let tornado = Tornado::new("Time (ms)", 10.0).row("banks", 18.0, 6.0);
    assert!(title(Figure::one_column().panel("", tornado)).starts_with("Time (ms)</title>"));
}

#[test]
fn tables_know_how_large_they_are_on_a_page() {
    let table = TextTable::new(["Quantity", "Value", "Error"]).row(["rate", "12 GB/s", "+2.3 %"]);
    assert!(1.0 <= table.scale(style::Width::OneColumn));
    // Headers break before cells do, and letters get a bit smaller before cells break.
    for columns in [4, 5, 9] {
        let header = (0..columns).map(|_| "a long name of a column");
        let wide = TextTable::new(header).row((0..columns).map(|_| "4096 of 4096"));
        let layout = Figure::one_column().panel("", wide.clone()).layout().unwrap();
        let is_whole = layout.scene.texts().any(|it| it.line == "4096 of 4096");
        assert_eq!(is_whole, 0.85 <= wide.scale(style::Width::OneColumn), "{columns}");
        assert_eq!(is_whole, columns < 9);
    }
}

#[test]
fn published_values_are_open_diamonds_inside_the_axis() {
    let mut chart = bars([Some(1.0), Some(4.0)]);
    chart.series[0].published = vec![None, Some(40.0)];
    let figure = Figure::one_column().panel("", chart.clone());
    let svg = figure.svg().unwrap();
    assert!(svg.contains(">Published</text>") && svg.contains("panel-1-published"));
    chart.series[0].published = vec![Some(1.0)];
    let error = Figure::one_column().panel("", chart).svg().unwrap_err().to_string();
    assert_eq!(error, "`PIM` has 1 values for 2 groups; give one each");
}

#[test]
fn png_has_300_dots_per_inch_and_a_white_edge() {
    for (name, figure) in figures::all().into_iter().filter(|(name, _)| ["bars_wide", "table"].contains(name))
    {
        let png = figure.png().unwrap();
        let mut decoder = png::Decoder::new(Cursor::new(&png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert!((f64::from(info.width) - figure.width.inches() * 300.0).abs() < 0.5, "{name}");
        let row = info.line_size;
        let edges = [&pixels[..row], &pixels[pixels.len() - row..]];
        assert!(
            edges.iter().all(|it| it.iter().all(|&channel| channel == 255)),
            "{name}: something is cut off"
        );
        assert!(pixels.iter().any(|&channel| channel < 64), "{name}: nothing is drawn");
    }
}

#[test]
fn bars_start_at_zero_and_are_as_high_as_their_values() {
    let colour = Colour::hex(0x12_34_56);
    let mut chart = bars([Some(1.0), Some(4.0)]);
    chart.series[0].colour = Some(colour);
    let layout = Figure::one_column().panel("", chart).layout().unwrap();
    let drawn: Vec<_> = layout
        .scene
        .shapes
        .iter()
        .filter_map(|it| match it {
            Shape::Box { rect, colour: own, .. } if *own == colour => Some(*rect),
            _ => None,
        })
        .skip(1) // the legend's
        .collect();
    assert_eq!(drawn.len(), 2);
    assert!((drawn[1].height() / drawn[0].height() - 4.0).abs() < 1e-9);
    assert!(drawn.iter().all(|it| (it.bottom - layout.plots[0].bottom).abs() < 1e-9));
}

#[test]
fn a_missing_value_is_said_and_leaves_no_average() {
    let chart = bars([Some(1.0), None]).series("SoC", [2.0, 4.0]).with_average("Average");
    assert_eq!(chart.series[0].values[2], None);
    assert_eq!(chart.series[1].values[2], Some(3.0));
    let svg = Figure::one_column().panel("", chart).svg().unwrap();
    assert_eq!(svg.matches(">n/a<").count(), 2);
}

#[test]
fn ticks_are_round_numbers_inside_the_axis() {
    let labels = |axis: Axis, most: usize| -> Vec<String> {
        let (low, high) = axis.range.unwrap();
        let ticks = axis::Span::of_values(&axis, [low, high].into_iter()).ticks(most);
        ticks.into_iter().map(|it| it.label).filter(|it| !it.is_empty()).collect()
    };
    let linear = |low, high| labels(Axis::linear("").range(low, high), 5);
    assert_eq!(linear(0.0, 7.3), ["0", "2", "4", "6"]);
    assert_eq!(linear(-1.0, 1.0), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    assert_eq!(linear(0.0, 0.03), ["0.00", "0.01", "0.02", "0.03"]);
    assert_eq!(linear(0.0, 45_000.0), ["0", "10k", "20k", "30k", "40k"]);
    assert_eq!(linear(0.0, 1_000_000.0).last().map(String::as_str), Some("1.0M"));
    // However close they are to each other.
    let close = linear(1e9, 1e9 + 2.0);
    assert_eq!(close.first().map(String::as_str), Some("1.0000000000G"));
    assert!(close.windows(2).all(|it| it[0] != it[1]), "{close:?}");
    assert_eq!(labels(Axis::log10("").range(0.5, 2000.0), 6), ["1", "10", "100", "1000"]);
    assert_eq!(labels(Axis::log10("").range(2.0, 30.0), 6), ["2", "5", "10", "20"]);
    assert_eq!(labels(Axis::log2("").range(1.0, 64.0), 7), ["1", "2", "4", "8", "16", "32", "64"]);
}

#[test]
fn numbers_are_short() {
    use crate::numbers::{beside, compact, short};
    let shorts = [0.0, 0.5, 1.25, 100.0, 2048.0, 20_000.0, 3e-9, 5e20, -1.0].map(short);
    assert_eq!(shorts, ["0", "0.5", "1.25", "100", "2048", "20k", "3e−9", "500e18", "−1"]);
    let compacts = [0.0, 6.62, 12_400.0, 165_300.0, 1.25e7, 4.2e-5].map(|it| compact(it, 1));
    assert_eq!(compacts, ["0.0", "6.6", "12.4k", "165k", "12.5M", "42.0e−6"]);
    // What is small beside a large number is not nothing.
    let besides = [0.0, 0.04, 0.4, 3.48, 7.0, 12.6, 410.0, 4e-5].map(|it| beside(it, 0));
    assert_eq!(besides, ["0", "0.04", "0.4", "3.5", "7", "13", "410", "40.0e−6"]);
    assert_eq!([0.123, 1.26, 63.21].map(|it| beside(it, 1)), ["0.12", "1.3", "63.2"]);
}

const LONG: &str =
    "a legend entry that is a good deal longer than one column of a printed page could ever be wide";

#[test]
fn bad_data_is_refused_by_name() {
    let check = |chart: Chart, expected: &str| {
        let error = Figure::one_column().panel("", chart).svg().unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        bars([Some(1.0), Some(f64::NAN)]).into(),
        "`PIM` is NaN at `right`; a figure needs finite numbers (leave the value out where there is none)",
    );
    check(
        bars([Some(1.0), None]).reference("roofline", f64::INFINITY).into(),
        "`reference line roofline` is inf at its place; a figure needs finite numbers (leave the value out where there is none)",
    );
    check(bars([None, None]).into(), "`Speedup (×)` has nothing to draw; give it at least one value");
    check(
        GroupedBars::new("Speedup (×)", ["left", "right"]).series("PIM", [1.0]).into(),
        "`PIM` has 1 values for 2 groups; give one each",
    );
    check(
        bars([Some(1.0), Some(0.0)]).scale(Scale::Log10).into(),
        "`PIM` is 0 at `right`, but a logarithmic axis needs positive numbers; use a linear one",
    );
    check(
        StackedBars::new("Share (%)", ["one"]).part("MAC", [-1.0]).into(),
        "`MAC at one`: -1 does not fit; allowed are parts of zero or more",
    );
    check(
        lines([(1.0, 1.0), (2.0, f64::NAN)]).into(),
        "`local` is NaN at x = 2; a figure needs finite numbers (leave the value out where there is none)",
    );
    check(
        lines([(1.0, 1.0), (2.0, 0.0)]).into(),
        "`local` is 0 at x = 2, but a logarithmic axis needs positive numbers; use a linear one",
    );
    check(Lines::default().into(), "`` has nothing to draw; give it at least one value");
    check(map(vec![vec![Some(1.0); 2]]).into(), "`` has 1 values for 2 rows; give one each");
    check(
        map(vec![vec![Some(1.0); 2], vec![Some(1.0), Some(f64::NEG_INFINITY)]]).into(),
        "`b` is -inf at `d`; a figure needs finite numbers (leave the value out where there is none)",
    );
    check(grid(&[]).into(), "`tile grid` has nothing to draw; give it at least one value");
    check(
        grid(&[(0, 0), (0, 1)]).into(),
        "`tile 1`: row 0, column 1 does not fit; allowed are elements that tile 0 does not hold",
    );
    check(
        grid(&[(0, 3)]).into(),
        "`tile 0`: 1 x 2 at row 0, column 3 does not fit; allowed are a matrix of 2 x 4",
    );
    check(TextTable::new(["a", "b"]).row(["1"]).into(), "`row 1` has 1 values for 2 columns; give one each");
    check(
        GroupedBars::new("速度", ["a"]).series("PIM", [1.0]).into(),
        "no glyph for `速` in `速度`; the figures' font has Latin, Greek and common mathematical signs",
    );
    check(
        bars([Some(1.0); 2]).series(LONG, [1.0; 2]).into(),
        &format!(
            "`{LONG}` does not fit on the page; shorten it, draw fewer panels, or make the figure wider"
        ),
    );
    assert_eq!(
        Figure::one_column().svg().unwrap_err().to_string(),
        "`figure` has nothing to draw; give it at least one value"
    );
}

/// Two colours that a reader may have to tell apart differ by this much in CIEDE2000, in which a
/// difference of one or two is just noticeable.
const APART: f64 = 16.0;

/// G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based
/// Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009,
/// severity 1.0: protanopia, deuteranopia, tritanopia; on linear RGB.
const BLINDNESS: [[[f64; 3]; 3]; 3] = [
    [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ],
    [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ],
    [
        [1.255_528, -0.076_749, -0.178_779],
        [-0.078_411, 0.930_809, 0.147_602],
        [0.004_733, 0.691_367, 0.303_900],
    ],
];

fn lab(colour: Colour, seen: &[[f64; 3]; 3]) -> [f64; 3] {
    let linear = [colour.red, colour.green, colour.blue].map(|channel| {
        let it = f64::from(channel) / 255.0;
        if it <= 0.04045 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) }
    });
    let times = |matrix: &[[f64; 3]; 3], it: [f64; 3]| {
        matrix.map(|row| row.iter().zip(it).map(|(a, b)| a * b).sum::<f64>().max(0.0))
    };
    let to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
    let [x, y, z] = times(&to_xyz, times(seen, linear));
    let f = |it: f64| if it <= 0.008_856 { 7.787 * it + 16.0 / 116.0 } else { it.cbrt() };
    let (fx, fy, fz) = (f(x / 0.9505), f(y), f(z / 1.089));
    [116.0 * fy - 16.0, 500.0 * (fx - fy), 200.0 * (fy - fz)]
}

/// G. Sharma, W. Wu, E. N. Dalal, "The CIEDE2000 Color-Difference Formula", Color Research and
/// Application 30(1), 2005.
fn difference(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (c1, c2) = (one[1].hypot(one[2]), other[1].hypot(other[2]));
    let seventh = |it: f64| (it.powi(7) / (it.powi(7) + 25_f64.powi(7))).sqrt();
    let stretch = 1.0 + 0.5 * (1.0 - seventh(f64::midpoint(c1, c2)));
    let polar = |[_, a, b]: [f64; 3]| {
        let angle = b.atan2(a * stretch).to_degrees();
        ((a * stretch).hypot(b), angle.rem_euclid(360.0))
    };
    let ((c1, h1), (c2, h2)) = (polar(one), polar(other));
    let turn = match h2 - h1 {
        _ if c1 * c2 == 0.0 => 0.0,
        it if 180.0 < it => it - 360.0,
        it if it < -180.0 => it + 360.0,
        it => it,
    };
    let hue = if c1 * c2 == 0.0 { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let (lightness, chroma) = (f64::midpoint(one[0], other[0]), f64::midpoint(c1, c2));
    let wave = |share: f64, times: f64, at: f64| share * (times * hue + at).to_radians().cos();
    let t =
        1.0 + wave(-0.17, 1.0, -30.0) + wave(0.24, 2.0, 0.0) + wave(0.32, 3.0, 6.0) + wave(-0.20, 4.0, -63.0);
    let off = (lightness - 50.0).powi(2);
    let light = (other[0] - one[0]) / (1.0 + 0.015 * off / (20.0 + off).sqrt());
    let purer = (c2 - c1) / (1.0 + 0.045 * chroma);
    let tint = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * chroma * t);
    let bend = 30.0 * (-((hue - 275.0) / 25.0).powi(2)).exp();
    let mixed = -2.0 * seventh(chroma) * (2.0 * bend).to_radians().sin();
    (light.powi(2) + purer.powi(2) + tint.powi(2) + mixed * purer * tint).sqrt()
}

/// The first pair of Sharma's test data, and one across the angle where hues begin again.
#[test]
fn differences_of_colours_are_those_of_the_literature() {
    let check = |one, other, expected: f64| {
        let found = difference(one, other);
        assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
    };
    check([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425);
    check([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082);
    check([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644);
}

#[test]
fn colour_blind_readers_tell_series_apart() {
    let healthy = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for (palette, seen) in [DISTINCT, DARK].iter().flat_map(|it| {
        let seen = BLINDNESS.iter().chain([&healthy]).copied().collect::<Vec<_>>();
        seen.into_iter().map(move |seen| (it, seen))
    }) {
        for (index, &one) in palette.iter().enumerate() {
            for &other in &palette[index + 1..] {
                let apart = difference(lab(one, &seen), lab(other, &seen));
                assert!(APART <= apart, "{one:?} and {other:?} are {apart:.1} apart");
            }
        }
    }
}

#[test]
fn grey_prints_keep_the_first_series_and_every_order() {
    for (index, one) in DISTINCT[..3].iter().enumerate() {
        for other in &DISTINCT[index + 1..3] {
            assert!(15.0 < (one.lightness() - other.lightness()).abs());
        }
    }
    for count in 2..6 {
        let lightness: Vec<_> = graded(count).into_iter().map(Colour::lightness).collect();
        assert!(lightness.windows(2).all(|it| it[1] + 9.0 < it[0]), "{lightness:?}");
    }
    let lightness: Vec<_> = (0..=50).map(|it| ramp(f64::from(it) / 50.0).lightness()).collect();
    assert!(lightness.windows(2).all(|it| it[1] < it[0]));
}

/// Cells of a heat map, from the left and from the top.
fn cells(values: &[f64]) -> Vec<String> {
    let map = HeatMap {
        rows: vec!["row".to_owned()],
        columns: values.iter().map(|it| format!("column {it}")).collect(),
        values: vec![values.iter().copied().map(Some).collect()],
        ..HeatMap::default()
    };
    let layout = Figure::one_column().panel("", map).layout().unwrap();
    let inside = |it: &&crate::canvas::Text| {
        let (plot, at) = (layout.plots[0], it.bounds());
        plot.holds(&at)
    };
    layout.scene.texts().filter(inside).map(|it| it.line.clone()).collect()
}

#[test]
fn cells_of_a_map_keep_digits_that_say_something() {
    assert_eq!(cells(&[0.0004, 0.0011, 0.0016, 0.0024]), ["400e\u{2212}6", "0.0011", "0.0016", "0.0024"]);
    assert_eq!(cells(&[0.04, 0.42, 900.0, 12000.0]), ["0.04", "0.42", "900", "12.0k"]);
    assert_eq!(cells(&[0.0, 1.0, 2.5]), ["0.00", "1.00", "2.50"]);
}

/// Axes of numbers over any range are drawn: no label of a mark leaves the page.
#[test]
fn no_range_of_numbers_is_refused_for_want_of_room() {
    type Kind = fn(&'static str) -> Axis;
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 33).unwrap()) / 2_f64.powi(31)
    };
    let kinds: [Kind; 3] = [Axis::log10, Axis::log2, Axis::linear];
    for round in 0..400 {
        let low = 10_f64.powf(12.0 * random() - 6.0);
        let high = low * 10_f64.powf(4.0 * random());
        // What somebody would sweep.
        let (low, high) = if round % 2 == 0 { (low, high) } else { (low.ceil(), high.ceil()) };
        let points: Vec<(f64, f64)> =
            (0..14).map(|it| low * (high / low).powf(f64::from(it) / 13.0)).map(|it| (it, it)).collect();
        for (kind, axis) in kinds.into_iter().enumerate() {
            for marked in [false, true] {
                let across = if marked { axis("x").marks(points.iter().map(|it| it.0)) } else { axis("x") };
                let lines = Lines::new(across, axis("y")).curve("", points.clone());
                let name = format!("round {round}, axis {kind}, {low} to {high}");
                for panels in [1, 2] {
                    let figure = (0..panels).fold(Figure::one_column(), |it, _| it.panel("", lines.clone()));
                    figure.layout().unwrap_or_else(|error| panic!("{name}, {panels} panels: {error}"));
                }
            }
        }
    }
}

#[test]
fn the_label_of_a_mark_at_the_end_is_left_out_rather_than_the_figure() {
    let points =
        [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096].map(|it| (f64::from(it), it));
    let points = points.map(|(x, y)| (x, f64::from(y)));
    let lines = Lines::new(Axis::log10("x"), Axis::linear("y")).curve("", points);
    let layout = Figure::one_column().panel("", lines).layout().unwrap();
    let texts: Vec<&str> = layout.scene.texts().map(|it| it.line.as_str()).collect();
    assert!(texts.contains(&"2000") && texts.iter().filter(|it| **it == "5000").count() == 0, "{texts:?}");
    // Of values that were chosen, the last is what readers look for.
    let last = 2_097_152.0 / 10.0;
    let axis = Axis::log10("x").marks([1.0, 10.0, last]).range(1.0, last);
    let lines = Lines::new(axis, Axis::linear("y")).curve("", [(1.0, 1.0), (last, 2.0)]);
    let layout = Figure::one_column().panel("", lines).layout().unwrap();
    assert!(layout.scene.texts().any(|it| it.line == "209.715k"));
}

/// How high each box of a colour is, by its panel.
fn heights(layout: &Layout, colour: Colour) -> Vec<f64> {
    let of_panel = |plot: &Rect| {
        let boxes = layout.scene.shapes.iter().filter_map(|it| match it {
            Shape::Box { rect, colour: own, .. } if *own == colour && plot.holds(&rect.grown(-0.1)) => {
                Some(rect)
            }
            _ => None,
        });
        boxes.map(Rect::height).fold(0.0, f64::max)
    };
    layout.plots.iter().map(of_panel).collect()
}

/// Numbers over many bars are turned, and want more room; the others have as much.
#[test]
fn a_bars_length_means_the_same_in_all_panels_that_share_an_axis() {
    let bars = |groups: u32| {
        let names = (0..groups).map(|it| format!("g{it}"));
        GroupedBars::new("Time (ns)", names).series("one", (0..groups).map(|it| f64::from(it) + 1234.5))
    };
    for columns in [2, 1] {
        for (few, many) in [(2, 16), (2, 9), (3, 24), (1, 60)] {
            let figure = |it: Figure| it.panel("a", bars(few)).panel("b", bars(many)).columns(columns);
            let wanted = f64::from(many - 1) + 1234.5;
            for figure in [figure(Figure::one_column()), figure(Figure::two_columns())] {
                let layout = figure.share_axes().layout().unwrap();
                let found = heights(&layout, style::distinct(0));
                let expected = found[1] * (f64::from(few - 1) + 1234.5) / wanted;
                assert!((found[0] - expected).abs() < 1e-6, "{few}, {many}: {found:?}");
            }
        }
    }
}

#[test]
fn panels_have_one_legend_if_a_name_looks_alike_wherever_it_is() {
    let panel = |all: &[(&str, usize)]| {
        all.iter().fold(Lines::new(Axis::linear("x"), Axis::linear("y")), |lines, (name, look)| {
            lines.curve(*name, [(1.0, 1.0), (2.0, 2.0)]).looking(*look)
        })
    };
    let legends = |panels: &[&[(&str, usize)]]| {
        let figure =
            panels.iter().fold(Figure::one_column().one_legend(), |it, all| it.panel("", panel(all)));
        figure.layout().map(|it| {
            let keys = it.legends.len();
            let names = it.scene.texts().map(|it| it.line.clone()).filter(|it| it.starts_with("banks"));
            (keys, names.collect::<Vec<_>>())
        })
    };
    let [two, four, eight] =
        [("banks per channel 2", 0), ("banks per channel 4", 1), ("banks per channel 8", 2)];
    // In the order of the series, whichever panel lacks some; beside each other they had no room.
    let (keys, names) = legends(&[&[four, eight], &[two, four], &[eight], &[two, eight]]).unwrap();
    assert_eq!((keys, names), (1, [two, four, eight].map(|it| it.0.to_owned()).to_vec()));
    let (keys, names) = legends(&[&[two], &[four], &[eight]]).unwrap();
    assert_eq!((keys, names), (1, [two, four, eight].map(|it| it.0.to_owned()).to_vec()));
    assert_eq!(legends(&[&[("banks a", 0)], &[("banks b", 0)]]).unwrap().0, 2, "a look with two names");
    assert_eq!(legends(&[&[("banks a", 0)], &[("banks a", 1)]]).unwrap().0, 2, "a name with two looks");
}

#[test]
fn what_has_no_value_is_told_however_narrow_its_place() {
    for columns in [6, 24, 100] {
        let value = |it: u32| (it % 5 != 2).then(|| f64::from(it));
        let map = HeatMap {
            rows: vec!["a".to_owned(), "b".to_owned()],
            columns: (0..columns).map(|it| format!("{it}")).collect(),
            values: vec![(0..columns).map(value).collect(); 2],
            ..HeatMap::default()
        };
        let missing = map.values.iter().flatten().filter(|it| it.is_none()).count();
        let layout = Figure::one_column().panel("", map).layout().unwrap();
        let words = layout.scene.texts().filter(|it| it.line == "n/a").count();
        let strokes = layout.scene.shapes.iter().filter(|it| {
            matches!(it, Shape::Path { points, .. } if points.len() == 2
                && points[0].0 < points[1].0 && points[1].1 < points[0].1)
        });
        assert_eq!(words + strokes.count(), missing, "{columns} columns");
        assert_eq!(words > 0, columns < 60, "{columns} columns");
    }
    for ends in [[Some(8.0), None], [None, Some(12.0)], [Some(12.0), None], [None, None]] {
        let tornado =
            Tornado::new("Time (ms)", 10.0).row("banks", 6.0, 13.0).row("registers", ends[0], ends[1]);
        let layout = Figure::one_column().panel("", tornado).layout().unwrap();
        assert_eq!(layout.scene.texts().filter(|it| it.line == "n/a").count(), 1, "{ends:?}");
        assert_texts_apart("tornado", &layout);
    }
}
