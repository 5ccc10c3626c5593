//! One colour for each system, scheme, kernel, policy and cause, the same in all figures.

use memscape_plot::style::{Colour, DISTINCT, distinct};
use memscape_plot::{Chart, Figure};

/// What is told apart by colour, in families: each in its order, and under all names that the
/// figures have for it, platforms' included. The first word of a name that goes on after a comma counts as well.
const FAMILIES: [&[&[&str]]; 7] = [
    // Hermes and what it is compared with.
    &[
        &["Hermes", "Full", "hermes"],
        &["Accelerate", "rtx-4090-offloading"],
        &["Deja Vu"],
        &["FlexGen"],
        &["TensorRT-LLM", "a100-five"],
        &["Hermes-host"],
        &["Hermes-base"],
    ],
    // Ways to keep weights for host and PIM.
    &[
        &["WD", "sherpa-duplicated", "npu-pim-duplicated"],
        &["FACIL-O"],
        &["S-OWR", "sherpa-owr", "npu-pim-owr"],
        &["S-DDB", "sherpa-ddb", "npu-pim-ddb"],
        &["NC-GEMM"],
        &["C-GEMM", "phone-cpu"],
    ],
    // Placements.
    &[&["PIMnast-opt", "pimnast"], &["PIMnast"], &["col-major"]],
    // Threads and pages on NUMA nodes.
    &[
        &["Base", "Balancing"],
        &["No balancing"],
        &["Bind cores", "Bind {C} 2,3"],
        &["Interleave", "Interleave all"],
        &["Bind {C,M} 2,3"],
    ],
    // Kernels of llama.cpp and BLAS.
    &[
        &["Default"],
        &["OpenBLAS", "OpenBLAS, f32", "OpenBLAS SGEMM"],
        &["Complex"],
        &["Vector"],
        &["Simple", "OpenBLAS SGEMV"],
        &["OpenBLAS, Q4_0"],
    ],
    // Compilers.
    &[&["Xuantie GCC 10.4"], &["GCC 13.2"], &["Clang 19"]],
    // What operators' time goes by: alike causes of different machines share a colour, where none has both.
    &[
        &["read", "weights", "near", "fc"],
        &["compute at peak", "compute", "gemm", "gpu"],
        &["kernel", "slower side", "communication", "cross lane", "input"],
        &["row open", "synchronisation", "dispatch", "transfer"],
        &["mac", "output wait", "epilogue", "merging"],
        &["padding", "refresh", "input vector", "cache"],
        &["attention", "swap", "input wait"],
        &["other"],
    ],
];

/// Which colour a thing has, by its place among those of its family.
fn place(name: &str) -> Option<usize> {
    let first = name.split_once(", ").map_or(name, |it| it.0);
    [name, first].into_iter().find_map(|name| {
        FAMILIES.iter().find_map(|family| family.iter().position(|names| names.contains(&name)))
    })
}

/// Colours what is known by name, unless it has a colour already, and what stands beside it in
/// colours that are left.
pub fn paint(figure: &mut Figure) {
    for panel in &mut figure.panels {
        match &mut panel.chart {
            Chart::GroupedBars(bars) => {
                let all = bars.series.iter_mut().map(|it| (it.name.as_str(), &mut it.colour));
                each(all);
            }
            Chart::StackedBars(bars) => {
                each(bars.series.iter_mut().map(|it| (it.name.as_str(), &mut it.colour)));
            }
            Chart::Lines(lines) => {
                let points = lines.curves.iter_mut().filter(|it| !it.mark.is_bound());
                each(points.map(|it| (it.name.as_str(), &mut it.colour)));
            }
            _ => {}
        }
    }
}

/// The colours of things that stand beside each other, as [`paint`] has them.
pub fn colours(names: &[String]) -> Vec<Colour> {
    let mut all = vec![None; names.len()];
    each(names.iter().map(String::as_str).zip(&mut all));
    all.into_iter().enumerate().map(|(index, it)| it.unwrap_or_else(|| distinct(index))).collect()
}

/// A chart of nothing known keeps its colours by position.
fn each<'a>(all: impl Iterator<Item = (&'a str, &'a mut Option<Colour>)>) {
    let mut all: Vec<_> = all.collect();
    let mut taken: Vec<Colour> = all.iter().filter_map(|it| *it.1).collect();
    let mut any = false;
    for (name, colour) in &mut all {
        let own = place(name).map(distinct).filter(|own| colour.is_none() && !taken.contains(own));
        if let Some(own) = own {
            **colour = Some(own);
            taken.push(own);
            any = true;
        }
    }
    if any {
        let free = DISTINCT.into_iter().filter(|it| !taken.contains(it));
        let others = all.into_iter().filter(|it| it.1.is_none());
        others.zip(free).for_each(|((_, colour), free)| *colour = Some(free));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memscape_plot::GroupedBars;

    #[test]
    fn a_system_keeps_its_colour_beside_others() {
        let colours = |names: &[&str]| {
            let bars = names.iter().fold(GroupedBars::new("", ["a"]), |it, name| it.series(*name, [1.0]));
            let mut figure = Figure::one_column().panel("", bars);
            paint(&mut figure);
            let Chart::GroupedBars(bars) = &figure.panels[0].chart else { panic!("bars") };
            bars.series.iter().map(|it| it.colour).collect::<Vec<_>>()
        };
        let (few, many) = (colours(&["Hermes"]), colours(&["FlexGen", "Hermes"]));
        assert_eq!(few[0], many[1]);
        assert!(few[0].is_some() && many[0] != many[1]);
        assert_eq!(colours(&["Hermes, one RTX 4090"]), few);
        let others = colours(&["nobody", "Hermes", "no one"]);
        assert_eq!(others[1], few[0]);
        assert!(others.iter().all(Option::is_some) && others[0] != others[1] && others[0] != others[2]);
        assert_eq!(colours(&["nobody", "no one"]), [None, None]);
    }

    #[test]
    fn no_two_of_a_family_share_a_colour() {
        assert!(FAMILIES.iter().all(|it| it.len() <= memscape_plot::style::DISTINCT.len()));
    }
}
