//! Figures of every kind, one per shape the papers need. All data is invented.

use super::plot::{
    Axis, Busy, Figure, Fill, Gantt, GroupedBars, HeatMap, Lines, Mark, Order, Reference, Scale, StackedBars,
    TextTable, Tile, TileGrid, Tornado,
};

const MODELS: [&str; 7] = ["125M", "350M", "1.3B", "2.7B", "6.7B", "13B", "30B"];

/// Every figure and its file stem.
pub fn all() -> Vec<(&'static str, Figure)> {
    vec![
        ("bars_wide", bars_wide()),
        ("bars_narrow", bars_narrow()),
        ("bars_rooflines", bars_rooflines()),
        ("bars_log", bars_log()),
        ("bars_dense", bars_dense()),
        ("bars_signed", bars_signed()),
        ("bars_single", bars_single()),
        ("panels", panels()),
        ("shared_legend", shared_legend()),
        ("stacked", stacked()),
        ("stacked_clusters", stacked_clusters()),
        ("lines", lines()),
        ("lines_panels", lines_panels()),
        ("roofline", roofline()),
        ("scatter", scatter()),
        ("heat_map", heat_map()),
        ("heat_map_wide", heat_map_wide()),
        ("tiles", tiles()),
        ("gantt", gantt()),
        ("table", table()),
        ("table_wide", table_wide()),
        ("published", published()),
        ("uncertain", uncertain()),
        ("dots", dots()),
        ("tornado", tornado()),
    ]
}

fn published() -> Figure {
    let mut bars = GroupedBars::new("Throughput (tokens/s)", MODELS)
        .series("Base", [2.8, 4.6, 5.9, 4.4, 6.2, 6.4, 6.3])
        .series("Full", [3.7, 5.2, 6.2, 5.1, 6.5, 6.6, 6.7])
        .reference("Roofline", 7.0)
        .with_average("Average");
    bars.references.push(Reference::band("Measured", 5.0, 6.0));
    bars.series[1].published = vec![Some(3.6), None, Some(6.4), Some(5.2), None, None, Some(3.0), Some(7.5)];
    bars.series[0].spread = vec![Some((2.0, 3.4)); 8];
    let mut lines =
        Lines::new(Axis::log2("Threads").marks([1.0, 2.0, 6.0, 48.0]), Axis::linear("Speedup (×)"))
            .curve("Model", [(1.0, 1.0), (2.0, 1.9), (6.0, 5.0), (48.0, 30.0)])
            .bound("Ideal", [(1.0, 1.0), (48.0, 48.0)])
            .upright("Cores", 24.0)
            .reference("Bandwidth", 36.0);
    lines.curves[0].published = vec![(2.0, 1.8), (48.0, 33.0)];
    Figure::two_columns().panel("(a) Bars", bars).panel("(b) Curves", lines)
}

fn uncertain() -> Figure {
    let points: Vec<(f64, f64)> = (0..9).map(|it| (f64::from(it), 2.0 + f64::from(it * it) / 8.0)).collect();
    let about = |share: f64| {
        points.iter().map(|it| Some((it.1 * (1.0 - share), it.1 * (1.0 + share)))).collect::<Vec<_>>()
    };
    let axes = || Lines::new(Axis::linear("Size (KiB)"), Axis::linear("Time (ms)"));
    let band = axes().marked(Mark::Line, "Model", points.clone()).band(about(0.2));
    let bars = axes().points("Measured", points.clone()).filled(Fill::Hollow).spread(about(0.1));
    Figure::two_columns().panel("(a) Band", band).panel("(b) Bars", bars).share_axes()
}

fn dots() -> Figure {
    let cloud = |seed: u32, count: u32| {
        (0..count).map(move |it| {
            let at = |salt: u32| f64::from((it * 7919 + seed * 104_729 + salt * 31_337) % 1000) / 1000.0;
            (2000.0 * at(1), 10.0 * at(2) * at(1).sqrt())
        })
    };
    let lines = Lines::new(Axis::linear("Operations per byte"), Axis::linear("Throughput (TOPS)"))
        .points("Column-major", cloud(1, 420))
        .filled(Fill::Translucent)
        .points("Row-major", cloud(2, 200))
        .filled(Fill::Translucent)
        .reference("Compute alone", 9.5);
    Figure::one_column().panel("", lines)
}

fn tornado() -> Figure {
    let tornado = Tornado::new("Time of a token (ms)", 41.0)
        .row("memory.banks_per_channel", 78.0, 23.5)
        .row("memory.trcd_ns", 38.0, 49.0)
        .row("pim.registers", 43.0, None)
        .row("split_k", 40.0, 35.0);
    Figure::one_column().panel("", tornado)
}

fn bars_wide() -> Figure {
    let bars = GroupedBars::new("GEMV speedup over SoC (×)", MODELS.map(|it| format!("OPT-{it}")))
        .series("Column-major", [0.4, 0.9, 1.4, 0.6, 1.9, 2.2, 1.7])
        .series("2 input registers", [1.9, 3.3, 4.1, 3.2, 4.6, 4.9, 4.7])
        .series("8 input registers", [2.8, 4.6, 5.9, 4.4, 6.2, 6.4, 6.3])
        .series("14 input registers", [2.9, 4.8, 6.1, 4.5, 6.4, 6.6, 6.5])
        .reference("Roofline", 7.0)
        .with_average("Average");
    Figure::two_columns().title("Speedup with different register allocations").panel("", bars)
}

fn bars_narrow() -> Figure {
    let bars = GroupedBars::new("GEMV speedup over SoC (×)", MODELS)
        .series("Baseline", [2.8, 4.6, 5.9, 4.4, 6.2, 6.4, 6.3])
        .series("Largest CR degree", [3.7, 5.2, 6.2, 5.1, 6.5, 6.6, 6.7])
        .reference("Roofline", 7.0)
        .with_average("Average");
    Figure::one_column().panel("", bars).caption(
        "Model: LPDDR5X-7500, 8 channels of 16 banks; the average is over the four matrices of each model first.",
    )
}

fn bars_rooflines() -> Figure {
    let bars = GroupedBars::new("GEMV speedup over SoC (×)", MODELS)
        .series("8 banks", [2.1, 2.8, 3.2, 2.7, 3.3, 3.4, 3.4])
        .reference_of_last("Roofline", 3.5)
        .series("16 banks", [3.7, 5.2, 6.2, 5.1, 6.5, 6.6, 6.7])
        .reference_of_last("Roofline", 7.0)
        .series("32 banks", [5.6, 8.4, 11.2, 8.1, 12.4, 13.0, 13.2])
        .reference_of_last("Roofline", 14.0)
        .graded()
        .with_average("Average");
    Figure::one_column().panel("", bars)
}

fn bars_log() -> Figure {
    let bars = GroupedBars::new(
        "Throughput (tokens/s)",
        ["OPT-13B", "OPT-30B", "OPT-66B", "Falcon-40B", "Llama-2-70B"],
    )
    .series("Accelerate", [Some(0.8), Some(0.31), Some(0.09), None, None])
    .series("FlexGen", [Some(1.9), Some(0.9), Some(0.33), None, None])
    .series("Deja Vu", [Some(4.2), Some(2.1), Some(0.7), Some(1.2), None])
    .series("NDP base", [14.0, 6.5, 2.9, 5.5, 2.4])
    .series("NDP full", [55.0, 23.0, 11.2, 17.0, 9.8])
    .scale(Scale::Log10)
    .with_average("Average");
    let bars = GroupedBars { missing: Some("N.P.".to_owned()), ..bars };
    Figure::two_columns().panel("", bars)
}

fn bars_dense() -> Figure {
    let values = |shift: f64| (0..16).map(move |it| 2.0 + shift + f64::from(it % 5) * 0.7);
    let bars = GroupedBars::new("Speedup (×)", (0..16).map(|it| format!("matrix {it}")))
        .series("int4", values(0.0))
        .series("int8", values(0.5))
        .series("fp16", values(1.0));
    Figure::one_column().panel("", bars)
}

fn bars_signed() -> Figure {
    let bars =
        GroupedBars::new("Computed − published (%)", ["Fig. 8", "Fig. 9a", "Fig. 10", "Fig. 11", "Fig. 12"])
            .series("Calibrated", [Some(-1.2), Some(0.4), None, None, Some(3.0)])
            .series("Predicted", [2.1, -4.8, 1.2, -0.3, -7.9]);
    Figure::one_column().panel("", bars)
}

fn bars_single() -> Figure {
    let bars = GroupedBars::new("Time (µs)", ["qkv", "out", "fc1", "fc2"])
        .series("", [12_400.0, 4_100.0, 16_500.0, 16_800.0])
        .x_label("Matrix");
    Figure::one_column().panel("", bars).plot_height_in(0.8)
}

fn panels() -> Figure {
    let speedup = GroupedBars::new("Speedup over SoC (×)", MODELS)
        .series("Baseline", [2.8, 4.6, 5.9, 4.4, 6.2, 6.4, 6.3])
        .series("CR degree", [3.7, 5.2, 6.2, 5.1, 6.5, 6.6, 6.7])
        .reference("Roofline", 7.0)
        .with_average("Average");
    let choice = StackedBars::new("Share of GEMVs (%)", ["8×32", "16×16", "32×8", "64×4"])
        .part("Degree 1", [2.0, 1.0, 3.0, 0.0])
        .part("Degree 2–4", [1.0, 4.0, 2.0, 1.0])
        .part("Degree > 4", [6.0, 0.0, 5.0, 3.0])
        .x_label("Tile shape");
    Figure::two_columns().panel("(a) Speedup", speedup).panel("(b) Selection", choice.shares())
}

fn shared_legend() -> Figure {
    let one = |factor: f64| {
        GroupedBars::new("Time to first token (s)", ["64", "128", "192"])
            .series("Weight duplication", [0.9, 1.7, 2.5].map(|it| it * factor))
            .series("DRAM double buffering", [1.0, 1.8, 2.6].map(|it| it * factor))
            .series("Online rearrangement", [1.3, 1.9, 2.7].map(|it| it * factor))
            .x_label("Input length (tokens)")
    };
    Figure::two_columns().panel("(a) Llama 3.2 1B", one(1.0)).panel("(b) Llama 3.2 3B", one(2.7))
}

fn stacked() -> Figure {
    let bars = StackedBars::new("Time per GEMV (µs)", MODELS)
        .part("Multiply", [3.1, 8.2, 31.0, 62.0, 160.0, 300.0, 700.0])
        .part("Row opening", [0.7, 1.7, 6.2, 12.0, 31.0, 58.0, 140.0])
        .part("Input vector", [1.9, 2.1, 4.0, 9.0, 11.0, 17.0, 30.0])
        .part("Turnaround", [0.6, 0.9, 2.0, 4.1, 6.0, 8.0, 14.0])
        .part("Spill", [0.2, 0.3, 0.9, 1.0, 2.0, 3.0, 6.0]);
    Figure::one_column().panel("", bars)
}

fn stacked_clusters() -> Figure {
    let mut bars = StackedBars::new("Share of time (%)", ["1", "4", "16", "1", "4", "16", "1", "4", "16"])
        .part("Communication", [81.0, 70.0, 52.0, 12.0, 11.0, 9.0, 5.0, 4.0, 4.0])
        .part("Predictor", [6.0, 8.0, 9.0, 4.0, 3.0, 2.0, 1.5, 1.5, 1.0])
        .part("Attention", [5.0, 9.0, 17.0, 33.0, 40.0, 51.0, 30.0, 42.0, 55.0])
        .part("Fully connected", [8.0, 13.0, 22.0, 51.0, 46.0, 38.0, 63.5, 52.5, 40.0])
        .x_label("Batch size")
        .shares();
    for model in ["OPT-13B", "OPT-30B", "Llama-2-70B"] {
        bars = bars.cluster(model, 3);
    }
    Figure::one_column().panel("", bars)
}

fn lines() -> Figure {
    let threads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let scaled = |peak: f64, knee: f64| threads.map(|it| (it, peak * it / (it + knee)));
    let chart = Lines::new(Axis::log2("Threads"), Axis::linear("Throughput (tokens/s)"))
        .curve("Interleaved", scaled(4.9, 14.0))
        .curve("Local", scaled(3.1, 9.0))
        .curve("Default policy", scaled(2.2, 4.0).map(|(x, y)| (x, (x < 50.0).then_some(y))))
        .reference("Bandwidth bound", 4.6);
    Figure::one_column().panel("", chart)
}

fn lines_panels() -> Figure {
    let tiles = [64.0, 128.0, 256.0, 384.0, 512.0, 768.0];
    let chart = |peak: f64| {
        Lines::new(Axis::linear("k_mt (elements)"), Axis::linear("Performance (TOPS)").range(0.0, 9.0))
            .curve("Measured like", tiles.map(|it| (it, peak * it / (it + 90.0))))
            .marked(Mark::Line, "Model", tiles.map(|it| (it, peak * it / (it + 80.0))))
    };
    Figure::two_columns()
        .panel("(a) bf16–bf16", chart(3.2))
        .panel("(b) int8–int16", chart(6.6))
        .panel("(c) int8–int8", chart(8.1))
}

fn roofline() -> Figure {
    let intensity = |low: f64, step: f64| (0..24).map(move |it| low * step.powi(it));
    let chart =
        Lines::new(Axis::log10("Arithmetic intensity (operations/B)"), Axis::log10("Performance (TOPS)"))
            .bound("Roofline", [(10.0, 0.5), (500.0, 25.0), (5000.0, 25.0)])
            .points("Row-major", intensity(20.0, 1.22).map(|it| (it, (0.030 * it).min(17.5 + it / 1000.0))))
            .points(
                "Column-major",
                intensity(22.0, 1.21).map(|it| (it, (0.041 * it).min(20.5 + it / 1500.0))),
            );
    Figure::one_column().panel("", chart)
}

fn scatter() -> Figure {
    let chart = Lines::new(Axis::linear("Weight memory (GB)"), Axis::linear("Token rate (tokens/s)"))
        .points("Phone", [(1.2, 31.0), (3.2, 14.0), (3.4, 13.6), (7.0, 6.1)])
        .labelled(["1B", "3B", "3.8B", "7B"])
        .points("Workstation", [(7.0, 44.0), (13.0, 25.0), (30.0, 11.0)])
        .labelled(["7B", "13B", "30B"]);
    Figure::one_column().panel("", chart)
}

fn heat_map() -> Figure {
    let cell = |row: u32, column: u32| 1.0 + 0.9 * f64::from(row * column) / (3.0 + f64::from(row));
    let map = HeatMap {
        rows: ["qkv", "out", "fc1", "fc2"].map(str::to_owned).to_vec(),
        columns: ["1", "2", "4", "8", "16", "32"].map(str::to_owned).to_vec(),
        values: (0..4)
            .map(|row| (0..6).map(|column| (row + column < 8).then(|| cell(row, column))).collect())
            .collect(),
        row_label: "Matrix".to_owned(),
        column_label: "Registers for the input vector".to_owned(),
        value_label: "Speedup (×)".to_owned(),
        ..HeatMap::default()
    };
    Figure::one_column().panel("", map)
}

fn heat_map_wide() -> Figure {
    let map = HeatMap {
        rows: (0..10).map(|it| format!("Layer {it}")).collect(),
        columns: (0..24).map(|it| format!("{}", it * 64)).collect(),
        values: (0..10)
            .map(|row| {
                (0..24).map(|it| Some(10_f64.powf(f64::from(row) / 3.0 + f64::from(it) / 20.0))).collect()
            })
            .collect(),
        column_label: "Context (tokens)".to_owned(),
        value_label: "Time (ns)".to_owned(),
        scale: Scale::Log10,
        ..HeatMap::default()
    };
    Figure::two_columns().title("A wide heat map with a logarithmic colour bar").panel("", map)
}

fn tiles() -> Figure {
    let mut figure = Figure::one_column().columns(3);
    for (shape, (high, wide)) in [("Column vector", (8, 1)), ("2D", (4, 2)), ("Row vector", (1, 8))] {
        for order in ["column order", "row order", "CR order"] {
            let (down, across) = (8 / high, 8 / wide);
            let mut places: Vec<_> = (0..down).flat_map(|row| (0..across).map(move |it| (row, it))).collect();
            match order {
                "column order" => places.sort_by_key(|&(row, column)| (column, row)),
                "row order" => places.sort_unstable(),
                _ => places.sort_by_key(|&(row, column)| (row / 2, column, row)),
            }
            let tile = |(index, (row, column)): (usize, (usize, usize))| Tile {
                row: row * high,
                column: column * wide,
                rows: high,
                columns: wide,
                bank: index % 4,
                order: index,
            };
            let tiles = places.into_iter().enumerate().map(tile).collect();
            let grid = TileGrid { rows: 8, columns: 8, tiles, ..TileGrid::default() };
            let shown = if order == "CR order" { Order::Path } else { Order::Numbers };
            figure = figure.panel(format!("{shape}, {order}"), TileGrid { order: shown, ..grid });
        }
    }
    figure
}

fn gantt() -> Figure {
    let spans = (0..6).flat_map(|row| {
        (0..5_usize).map(move |stage| {
            let start = 4.0 * f64::from(u8::try_from(stage).unwrap_or_default());
            let length =
                if row < 2 { 2.2 } else { 3.9 - f64::from(u8::try_from(row).unwrap_or_default()) / 4.0 };
            let kind = usize::from(row >= 2);
            Busy { row, start, end: start + length, kind, label: format!("S{stage}"), critical: row == 2 }
        })
    });
    let gantt = Gantt {
        rows: (0..6).map(|it| format!("Thread {it}")).collect(),
        kinds: ["Copy", "Compute"].map(str::to_owned).to_vec(),
        busy: spans.collect(),
        marks: vec![4.0, 8.0, 12.0, 16.0],
        x_label: "Time (ms)".to_owned(),
        ..Gantt::default()
    };
    Figure::one_column().panel("", gantt)
}

fn table() -> Figure {
    let table = TextTable::new(["Channels", "Banks per channel", "Row bytes", "Page bytes"])
        .row(["8", "16", "2 KB", "256 KB"])
        .row(["8", "32", "2 KB", "512 KB"])
        .row(["16", "16", "2 KB", "512 KB"]);
    Figure::one_column().title("Page size per memory configuration").panel("", table)
}

fn table_wide() -> Figure {
    let long = "chosen because it balances rows over banks and keeps partial sums in registers";
    let table = TextTable::new(["Data type", "Kernel m×k×n", "MACs/cycle", "Throughput (TOPS)", "Remark"])
        .row(["int8–int8", "64×232×64", "223.2", "6.6", long])
        .row(["int8–int16", "64×216×64", "217.8", "6.4", "µ = 8, σ ≥ 2, ρ → ∞"])
        .row(["bf16–bf16", "64×104×64", "112.1", "3.1", ""]);
    Figure::two_columns().panel("", table)
}
