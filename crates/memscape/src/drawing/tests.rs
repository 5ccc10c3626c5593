//! What tables look like as figures.

use std::collections::HashSet;

use memscape_explore::{Column, Table};
use memscape_plot::style::{LOOKS, distinct as colour};
use memscape_plot::{Chart, Figure, Fill, Mark, Style};

use super::drawing::{Drawing, Kind, Line, Log};
use super::looks::MOST_SERIES;

fn table() -> Table {
    let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
    let texts = |it: &[&str]| Column::Text(it.iter().map(|it| Some((*it).to_owned())).collect());
    Table::from_columns([
        ("memory.banks_per_channel", numbers(&[8.0, 8.0, 16.0, 16.0, 32.0, 32.0])),
        ("kind", texts(&["a", "b", "a", "b", "a", "b"])),
        ("time_ns", numbers(&[10.0, 12.0, 6.0, 7.0, 4.0, 5.0])),
        ("cost_usd", numbers(&[1.0, 1.0, 2.0, 3.0, 4.0, 4.0])),
    ])
    .unwrap()
}

fn error(drawing: &Drawing) -> String {
    drawing.draw(&table()).unwrap_err().to_string()
}

#[test]
fn every_kind_draws_and_says_what_its_axes_are() {
    let lines = Drawing::of("memory.banks_per_channel", "time_ns").series("kind");
    let svg = lines.draw(&table()).unwrap().svg().unwrap();
    assert!(svg.contains("Banks per channel") && svg.contains("Time (ns)"), "{svg}");
    let kinds = Kind::ALL.into_iter().filter(|it| *it != Kind::Tornado);
    for kind in kinds {
        let svg = lines.clone().kind(kind).draw(&table()).and_then(|it| Ok(it.svg()?));
        assert!(svg.is_ok(), "{kind:?}: {}", svg.unwrap_err());
    }
    let facets = Drawing::of("memory.banks_per_channel", "time_ns").facet("kind").draw(&table()).unwrap();
    assert_eq!(facets.panels.len(), 2);
    let kinds: Vec<_> = (0..14).map(|it| Some(format!("kind {it}"))).collect();
    let many = Table::from_columns([
        ("x", Column::Int(vec![Some(1); 14])),
        ("y", Column::Int((1..=14).map(Some).collect())),
        ("kind", Column::Text(kinds)),
    ]);
    let wide = Drawing { wide: true, ..Drawing::of("x", "y").facet("kind") };
    assert_eq!(wide.draw(&many.unwrap()).unwrap().columns, Some(7));
    let parts = Drawing { y: vec!["time_ns".into(), "cost_usd".into()], ..Drawing::of("kind", "") };
    assert!(parts.kind(Kind::Stacked).draw(&table()).is_err(), "several rows of a kind");
}

#[test]
fn what_cannot_be_drawn_is_told_with_a_remedy() {
    let plain = Drawing::of("memory.banks_per_channel", "time_ns");
    let ambiguous = error(&plain);
    assert!(ambiguous.contains("several rows have `memory.banks_per_channel` = 8"), "{ambiguous}");
    assert!(ambiguous.contains("`kind`"), "{ambiguous}");
    assert!(error(&Drawing::of("memory.banks", "time_ns")).contains("did you mean"));
    assert!(error(&Drawing::of("kind", "kind")).contains("texts"));
    assert!(error(&plain.clone().kind(Kind::Heatmap)).contains("give `series`"));
    assert!(error(&Drawing::of("kind", "time_ns").kind(Kind::Lines)).contains("holds names"));
    assert!(Log::named("z").is_err() && Kind::named("line").is_err());
}

#[test]
fn values_are_called_what_they_are_of() {
    let texts = |it: &[&str]| Column::Text(it.iter().map(|it| Some((*it).to_owned())).collect());
    let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
    let table = |of: &[&str]| {
        Table::from_columns([
            ("threads", numbers(&[1.0, 2.0, 1.0, 2.0])),
            ("of", texts(of)),
            ("value", numbers(&[0.4, 0.3, 4e6, 3e6])),
            ("median", numbers(&[0.4, 0.2, 4e6, 2e6])),
        ])
        .unwrap()
    };
    let both = Drawing { y: vec!["value".into(), "median".into()], ..Drawing::of("threads", "") };
    let lines = both.clone().kind(Kind::Points);
    let svg = |it: &Drawing, of| it.draw(&table(of)).unwrap().svg().unwrap();
    assert!(svg(&lines, &["token_ns"; 4]).contains("Token (ms)"));
    let several = ["total_s", "total_s", "token_ns", "token_ns"];
    let alike = svg(&both.clone().facet("of"), &["token_ns", "token_ns", "total_ns", "total_ns"]);
    assert!(alike.contains("(ms)") && !alike.contains("(ns)"), "{alike}");
    let together = Drawing::of("threads", "value").series("of");
    let told = together.draw(&table(&several)).unwrap_err().to_string();
    let remedy = "one axis cannot show both; give each a panel (`facet` is `of`)";
    assert!(told.contains("`total_s` is in s") && told.contains(remedy), "{told}");
    let each = svg(&both.facet("of"), &several);
    assert!(each.contains("Total (ms)") && each.contains("Token (ms)"), "{each}");
    // What is told of the table can be found in it.
    let same = Table::from_columns([
        ("token_ns", numbers(&[1_251_432.5, 1_251_432.5])),
        ("energy_j", numbers(&[1.0, 2.0])),
    ]);
    let told = Drawing::of("token_ns", "energy_j").draw(&same.unwrap()).unwrap_err().to_string();
    assert!(told.contains("several rows have `token_ns` = 1251432.5;"), "{told}");
}

#[test]
fn a_tornado_is_drawn_around_its_base_by_what_moves_most() {
    let texts = |it: &[&str]| Column::Text(it.iter().map(|it| Some((*it).to_owned())).collect());
    let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
    let table = |bases: &[f64]| {
        Table::from_columns([
            ("of", texts(&["time_ns", "time_ns"])),
            ("parameter", texts(&["small", "large"])),
            ("base", numbers(bases)),
            ("at_low", numbers(&[9.0, 30.0])),
            ("at_high", numbers(&[11.0, 4.0])),
        ])
        .unwrap()
    };
    let y = vec!["at_low".to_owned(), "at_high".to_owned()];
    let drawing = Drawing { y, ..Drawing::of("parameter", "") }.kind(Kind::Tornado);
    let figure = drawing.draw(&table(&[10.0, 10.0])).unwrap();
    let Chart::Tornado(chart) = &figure.panels[0].chart else { panic!("a tornado") };
    assert_eq!(
        (chart.rows.as_slice(), chart.base),
        (["large".to_owned(), "small".to_owned()].as_slice(), 10.0)
    );
    assert_eq!(chart.x_label, "Time (ns)");
    let several = drawing.draw(&table(&[10.0, 11.0])).unwrap_err().to_string();
    assert!(several.contains("give each a panel by `facet`"), "{several}");
    let one = Drawing::of("parameter", "at_low").kind(Kind::Tornado).draw(&table(&[1.0, 1.0]));
    assert!(one.unwrap_err().to_string().contains("give both as `y`"));
}

#[test]
fn times_have_the_prefix_that_suits_them_unless_they_are_named() {
    let table = Table::from_columns([
        ("memory.banks_per_channel", Column::Float([8.0, 16.0, 32.0].map(Some).to_vec())),
        ("token_ns", Column::Float([4e6, 2e6, 1.5e6].map(Some).to_vec())),
    ])
    .unwrap();
    let plain = Drawing::of("memory.banks_per_channel", "token_ns");
    let with = Drawing { reference: vec![("goal".into(), Line::At(1e6))], ..plain.clone() };
    let Chart::Lines(lines) = &with.draw(&table).unwrap().panels[0].chart else { panic!("lines") };
    assert_eq!(lines.y.label, "Token (ms)");
    assert!((lines.references[0].value - 1.0).abs() < 1e-12);
    assert_eq!(lines.curves[0].points[2], (32.0, Some(1.5)));
    let named = plain.label("token_ns", "Time per token (ns)").draw(&table).unwrap();
    let Chart::Lines(lines) = &named.panels[0].chart else { panic!("lines") };
    assert_eq!((lines.y.label.as_str(), lines.curves[0].points[2].1), ("Time per token (ns)", Some(1.5e6)));
    let unknown = Drawing::of("memory.banks_per_channel", "token_ns").label("token", "Token");
    assert!(unknown.draw(&table).unwrap_err().to_string().contains("token"));
}

#[test]
fn a_front_is_a_staircase_and_a_legend_of_numbers_counts_up() {
    let points = Table::from_columns([
        ("a", numbers(&[1.0, 2.0, 3.0].map(Some))),
        ("b", numbers(&[30.0, 20.0, 10.0].map(Some))),
    ])
    .unwrap();
    let front = Drawing::of("a", "b").kind(Kind::Front);
    for (maximize, steps) in [("b", Mark::StepsAfter), ("a", Mark::StepsBefore)] {
        let front = Drawing { maximize: vec![maximize.to_owned()], ..front.clone() };
        let figure = front.draw(&points).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("points") };
        assert_eq!(lines.curves.last().unwrap().mark, steps);
    }
    let told = front.draw(&points).unwrap().alt_text();
    assert!(told.contains("Front from 10.0 (at 3) to 30.0 (at 1)"), "{told}");
    let table = Table::from_columns([
        ("channels", Column::Int([16, 2, 8].map(Some).to_vec())),
        ("time_ns", Column::Float([1.0, 2.0, 3.0].map(Some).to_vec())),
        ("cost_usd", Column::Float([1.0, 2.0, 3.0].map(Some).to_vec())),
    ])
    .unwrap();
    let figure = Drawing::of("time_ns", "cost_usd").series("channels").kind(Kind::Points).draw(&table);
    let Chart::Lines(lines) = &figure.unwrap().panels[0].chart else { panic!("points") };
    let names: Vec<&str> = lines.curves.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["channels 2", "channels 8", "channels 16"]);
}

/// So many points that they let each other through do so in each panel, also where a series has few.
#[test]
fn a_series_is_as_solid_in_all_panels() {
    let table = Table::from_columns([
        ("x", numbers(&(0..130).map(|it| Some(f64::from(it))).collect::<Vec<_>>())),
        ("y", numbers(&vec![Some(1.0); 130])),
        ("panel", texts(&[vec!["p"; 101], vec!["q"; 29]].concat())),
        ("s", texts(&["one"; 130])),
    ])
    .unwrap();
    let drawing = Drawing::of("x", "y").series("s").facet("panel");
    for kind in [Kind::Points, Kind::Front] {
        let figure = drawing.clone().kind(kind).draw(&table).unwrap();
        let fills = figure.panels.iter().map(|it| {
            let Chart::Lines(lines) = &it.chart else { panic!("points") };
            lines.curves.iter().find(|it| it.name == "one").unwrap().fill
        });
        assert_eq!(fills.collect::<Vec<_>>(), [Fill::Translucent; 2]);
    }
}

/// Those of a search or of joined tables come in no order.
#[test]
fn numbers_stand_in_their_order_and_texts_as_they_come() {
    let table = Table::from_columns([
        ("channels", Column::Int([16, 2, 8, 2].map(Some).to_vec())),
        ("rows", Column::Int([3, 1, 2, 3].map(Some).to_vec())),
        ("name", texts(&["c", "a", "b", "a"])),
        ("y", numbers(&[1.0, 2.0, 3.0, 4.0].map(Some))),
    ])
    .unwrap();
    let figure = Drawing::of("channels", "y").series("rows").kind(Kind::Heatmap).draw(&table).unwrap();
    let Chart::HeatMap(map) = &figure.panels[0].chart else { panic!("a heat map") };
    assert_eq!(map.columns, ["2", "8", "16"]);
    assert_eq!(map.rows, ["1", "2", "3"]);
    assert_eq!(map.values[2], [Some(4.0), None, Some(1.0)]);
    let figure = Drawing::of("name", "y").facet("rows").draw(&table).unwrap();
    let titles: Vec<&str> = figure.panels.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["rows 1", "rows 2", "rows 3"]);
    let figure = Drawing::of("name", "y").series("rows").draw(&table).unwrap();
    let Chart::GroupedBars(bars) = &figure.panels[0].chart else { panic!("bars") };
    assert_eq!(bars.groups, ["c", "a", "b"]);
}

#[test]
fn what_a_kind_has_not_is_refused() {
    let asked = |kind, log: &str, reference: bool, maximize: bool| {
        let line = ("peak".to_owned(), Line::At(5.0));
        let drawing = Drawing {
            log: Log::named(log).unwrap(),
            reference: if reference { vec![line] } else { Vec::new() },
            maximize: if maximize { vec!["time_ns".to_owned()] } else { Vec::new() },
            ..Drawing::of("kind", "time_ns").series("memory.banks_per_channel").kind(kind)
        };
        drawing.draw(&table()).map(|_| ()).map_err(|it| it.to_string())
    };
    for (kind, log, reference, maximize) in [
        (Kind::Stacked, "", true, false),
        (Kind::Stacked, "y", false, false),
        (Kind::Heatmap, "x", false, false),
        (Kind::Bars, "x", false, false),
        (Kind::Bars, "", false, true),
    ] {
        let error = asked(kind, log, reference, maximize).unwrap_err();
        assert!(error.contains(&format!("a figure of kind `{}` has no `", kind.name())), "{error}");
    }
    assert_eq!(asked(Kind::Heatmap, "y", false, false), Ok(()));
    assert_eq!(asked(Kind::Bars, "y", true, false), Ok(()));
}

/// What `uncertainty` and `sensitivity` answer says in a column what it is of.
#[test]
fn values_have_the_unit_of_what_they_are_of() {
    let table = |of: [&str; 2], column: &str| {
        Table::from_columns([
            ("x", numbers(&[1.0, 2.0].map(Some))),
            ("of", texts(&of)),
            (column, numbers(&[4e6, 2e6].map(Some))),
        ])
        .unwrap()
    };
    let figure = Drawing::of("x", "value").draw(&table(["token_ns", "token_ns"], "value")).unwrap();
    let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
    assert_eq!((lines.y.label.as_str(), lines.curves[0].points[0].1), ("Token (ms)", Some(4.0)));
    let swings = table(["token_ns", "token_ns"], "swing");
    let figure = Drawing::of("x", "swing").draw(&swings).unwrap();
    let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
    assert_eq!((lines.y.label.as_str(), lines.curves[0].points[0].1), ("Swing of token (ms)", Some(4.0)));
    let several = Drawing { y: vec!["swing".to_owned()], ..Drawing::of("swing", "") };
    let figure = several.kind(Kind::Points).draw(&swings).unwrap();
    let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("points") };
    assert_eq!((lines.x.label.as_str(), lines.curves[0].points[0].0), ("Swing of token (ms)", 2.0));
    let labelled = Drawing::of("x", "value").label("token_ns", "Time per token (ns)");
    assert!(labelled.draw(&table(["token_ns", "token_ns"], "value")).is_ok());
    // Seconds and nanoseconds share no axis.
    let reach = |of: [&str; 2]| {
        let figure = Drawing::of("x", "value").facet("of").draw(&table(of, "value")).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
        lines.y.reach
    };
    assert!(reach(["token_ns", "ttft_s"]).is_none() && reach(["token_ns", "total_ns"]).is_some());
}

#[test]
fn bands_and_styles_are_part_of_what_is_asked() {
    let json = r#"{"x": "memory.banks_per_channel", "y": ["time_ns"], "series": "kind", "style": "dark",
        "reference": [["peak", 8.0], ["phones", [5.0, 6.0]]], "band": ["least_ns", "time_ns"]}"#;
    let numbers = |it: &[f64]| Column::Float(it.iter().copied().map(Some).collect());
    let columns = [
        ("memory.banks_per_channel", numbers(&[8.0, 16.0])),
        ("kind", Column::Text(vec![Some("a".to_owned()); 2])),
        ("time_ns", numbers(&[10.0, 6.0])),
        ("least_ns", numbers(&[9.0, 4.0])),
    ];
    let table = Table::from_columns(columns).unwrap();
    let drawing: Drawing = serde_json::from_str(json).unwrap();
    assert_eq!((drawing.style, drawing.reference[1].1), (Style::Dark, Line::Band(5.0, 6.0)));
    let figure = drawing.draw(&table).unwrap();
    assert!(figure.svg().unwrap().contains("fill-opacity"), "a band");
    let error = serde_json::from_str::<Drawing>(&json.replace("dark", "drak")).unwrap_err().to_string();
    assert!(error.contains("did you mean `dark`?"), "{error}");
    let stacked = Drawing { reference: Vec::new(), ..drawing.kind(Kind::Stacked) };
    let stacked = stacked.draw(&table).unwrap_err().to_string();
    assert!(stacked.contains("belongs to bars, lines or points"), "{stacked}");
}

/// Axes have marks at the values that were chosen; answers stand anywhere.
#[test]
fn points_have_marks_at_values_that_count() {
    let values =
        |it: Column| Table::from_columns([("x", it), ("y", numbers(&[1.0, 2.0, 3.0].map(Some)))]).unwrap();
    let marks = |table: &Table, kind: Kind| {
        let log = Log::named("x").unwrap();
        let figure = Drawing { log, ..Drawing::of("x", "y").kind(kind) }.draw(table).unwrap();
        let Chart::Lines(lines) = &figure.panels[0].chart else { panic!("lines") };
        lines.x.marks.len()
    };
    let answers = values(numbers(&[1.32, 2.478, 4.65].map(Some)));
    let chosen = values(Column::Int([8, 16, 32].map(Some).to_vec()));
    assert_eq!([Kind::Lines, Kind::Points, Kind::Front].map(|it| marks(&answers, it)), [3, 0, 0]);
    assert_eq!([Kind::Lines, Kind::Points, Kind::Front].map(|it| marks(&chosen, it)), [3, 3, 3]);
}

#[test]
fn values_beside_their_bands_are_counted() {
    let table = |high: f64| {
        Table::from_columns([
            ("x", texts(&["a", "b"])),
            ("y", numbers(&[2.0, 3.0].map(Some))),
            ("low", numbers(&[1.0, 1.0].map(Some))),
            ("high", numbers(&[4.0, high].map(Some))),
        ])
        .unwrap()
    };
    let drawing = Drawing { band: Some(["low", "high"].map(str::to_owned)), ..Drawing::of("x", "y") };
    assert_eq!(drawing.draw(&table(4.0)).unwrap().caption, "");
    assert_eq!(drawing.draw(&table(2.5)).unwrap().caption, "1 of 2 values is not within its band.");
}

#[test]
fn any_numbers_are_drawn_or_told() {
    let extremes = [0.0, 1.0, -1.0, 1e100, 1e-100, 5e-324, 1e300, f64::MAX, f64::MIN, 1e15];
    for x in extremes {
        for y in extremes {
            let numbers = |it: [f64; 3]| Column::Float(it.map(Some).to_vec());
            let columns = [("x", numbers([1.0, x, 3.0])), ("y", numbers([y, 2.0, -y]))];
            let table = Table::from_columns(columns).unwrap();
            for (kind, log) in Kind::ALL.into_iter().flat_map(|it| ["", "x", "y", "xy"].map(|log| (it, log)))
            {
                let drawing = Drawing { log: Log::named(log).unwrap(), ..Drawing::of("x", "y").kind(kind) };
                let svg = drawing.draw(&table).and_then(|it| Ok(it.svg()?));
                let length = svg.map_or(0, |it| it.len());
                assert!(length < 1_000_000, "{kind:?} {log} of {x} and {y}: {length}");
            }
        }
    }
}

fn numbers(all: &[Option<f64>]) -> Column {
    Column::Float(all.to_vec())
}

fn texts(all: &[&str]) -> Column {
    Column::Text(all.iter().map(|it| Some((*it).to_owned())).collect())
}

#[test]
fn a_series_looks_alike_in_all_panels() {
    let rows = [("m", "a"), ("m", "b"), ("m", "c"), ("n", "b"), ("n", "c"), ("o", "c"), ("o", "a")];
    let table = |missing: &str| {
        let y = |it: &(&str, &str)| (*it != ("n", missing)).then_some(2.0);
        Table::from_columns([
            ("x", numbers(&[Some(1.0); 7])),
            ("panel", texts(&rows.map(|it| it.0))),
            ("kind", texts(&rows.map(|it| it.1))),
            ("y", numbers(&rows.iter().map(y).collect::<Vec<_>>())),
        ])
        .unwrap()
    };
    let drawing = Drawing::of("x", "y").series("kind").facet("panel");
    let figure = drawing.clone().draw(&table("")).unwrap();
    let looks = |panel: usize| match &figure.panels[panel].chart {
        Chart::Lines(it) => {
            it.curves.iter().map(|it| (it.name.clone(), it.look.unwrap())).collect::<Vec<_>>()
        }
        _ => panic!("lines"),
    };
    let named = |all: &[(&str, usize)]| all.iter().map(|it| (it.0.to_owned(), it.1)).collect::<Vec<_>>();
    assert_eq!(looks(0), named(&[("a", 0), ("b", 1), ("c", 2)]));
    assert_eq!(looks(1), named(&[("b", 1), ("c", 2)]));
    assert_eq!(looks(2), named(&[("a", 0), ("c", 2)]));
    let legends = |it: &Figure| it.svg().unwrap().matches(">b<").count();
    assert_eq!(legends(&figure), 1);
    // Refused in one panel, it has its place and colour there as well.
    let bars = drawing.kind(Kind::Bars).draw(&table("b")).unwrap();
    let Chart::GroupedBars(second) = &bars.panels[1].chart else { panic!("bars") };
    let found: Vec<_> = second.series.iter().map(|it| (it.name.as_str(), it.colour)).collect();
    assert_eq!(found, [("b", Some(colour(1))), ("c", Some(colour(2)))]);
    assert_eq!(legends(&bars), 1);
}

/// There are eight colours; the ninth bar of a group is hatched.
#[test]
fn no_two_bars_of_a_group_look_alike() {
    let names: Vec<String> = (0..MOST_SERIES).map(|it| format!("s{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ones = numbers(&[Some(1.0); MOST_SERIES]);
    let groups = texts(&["x"; MOST_SERIES]);
    let table = Table::from_columns([("x", groups), ("y", ones), ("kind", texts(&names))]).unwrap();
    let drawing = Drawing { wide: true, ..Drawing::of("x", "y").series("kind") };
    for kind in [Kind::Bars, Kind::Stacked] {
        let figure = drawing.clone().kind(kind).draw(&table).unwrap();
        let series = match &figure.panels[0].chart {
            Chart::GroupedBars(it) => &it.series,
            Chart::StackedBars(it) => &it.series,
            _ => panic!("bars"),
        };
        let looks: HashSet<_> = series.iter().map(|it| (format!("{:?}", it.colour), it.hatched)).collect();
        assert_eq!((looks.len(), series.iter().filter(|it| it.hatched).count()), (12, 4));
        figure.svg().unwrap();
    }
}

#[test]
fn panels_that_share_no_series_may_have_many() {
    let names: Vec<String> = (0..20).map(|it| format!("s{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = Table::from_columns([
        ("x", texts(&["x"; 20])),
        ("panel", texts(&[["m"; 10], ["n"; 10]].concat())),
        ("kind", texts(&names)),
        ("y", numbers(&[Some(1.0); 20])),
    ])
    .unwrap();
    let drawing = Drawing { wide: true, ..Drawing::of("x", "y").series("kind").facet("panel") };
    drawing.draw(&table).unwrap().svg().unwrap();
    let error = Drawing::of("x", "y").series("kind").draw(&table).unwrap_err().to_string();
    assert!(error.starts_with("`kind` makes 20 series"), "{error}");
}

#[test]
fn points_have_more_looks_than_bars() {
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|it| format!("s{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ones = || numbers(&vec![Some(1.0); count]);
        Table::from_columns([("x", ones()), ("y", ones()), ("kind", texts(&names))]).unwrap()
    };
    for kind in [Kind::Points, Kind::Front] {
        let drawing = Drawing { wide: true, ..Drawing::of("x", "y").series("kind").kind(kind) };
        drawing.draw(&many(LOOKS)).unwrap().svg().unwrap();
        let error = drawing.draw(&many(LOOKS + 1)).unwrap_err().to_string();
        assert!(error.starts_with("`kind` makes 25 series, and a figure has at most 24"), "{error}");
    }
}
