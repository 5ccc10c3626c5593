//! Axes: scales, ranges, ticks, and the frame around a plot.

use serde::{Deserialize, Serialize};

use crate::canvas::{Align, Rect, Scene};
use crate::labels::Labels;
use crate::numbers::{decimals_of, doubled, short, signed, unit_of};
use crate::style::{Font, GRID, GRID_WIDTH, INK, SPINE_WIDTH};

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Scale {
    /// Equal steps are equally long.
    #[default]
    Linear,
    /// Equal factors are equally long; ticks at powers of ten.
    Log10,
    /// Equal factors are equally long; ticks at powers of two.
    Log2,
}

impl Scale {
    /// Whether only positive values have a place.
    pub(crate) fn is_logarithmic(self) -> bool {
        self != Self::Linear
    }

    fn to_even(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log10 => value.log10(),
            Self::Log2 => value.log2(),
        }
    }

    fn undo(self, even: f64) -> f64 {
        match self {
            Self::Linear => even,
            Self::Log10 => 10_f64.powf(even),
            Self::Log2 => even.exp2(),
        }
    }
}

/// An axis of a chart of curves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How values are spread.
    pub scale: Scale,
    /// From where to where; the data's range, rounded, if missing.
    pub range: Option<(f64, f64)>,
    /// What the data's range covers besides the data.
    pub reach: Option<(f64, f64)>,
    /// Where marks stand; at round values if empty.
    pub marks: Vec<f64>,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis with ticks at powers of ten.
    #[must_use]
    pub fn log10(label: impl Into<String>) -> Self {
        Self { scale: Scale::Log10, ..Self::linear(label) }
    }

    /// A logarithmic axis with ticks at powers of two.
    #[must_use]
    pub fn log2(label: impl Into<String>) -> Self {
        Self { scale: Scale::Log2, ..Self::linear(label) }
    }

    /// The same from `low` to `high`.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// The same with marks at these values, such as those of the data, as far as their labels fit.
    #[must_use]
    pub fn marks(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.marks = values.into_iter().collect();
        self
    }
}

/// A mark on an axis; without a label, a minor one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: String,
}

/// A range of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Span {
    /// The range of an axis of bars: from zero (or a power below the smallest
    /// value) with a share `headroom` of the height left above the largest.
    pub fn of_bars(scale: Scale, values: impl Iterator<Item = f64>, headroom: f64) -> Self {
        let (low, high) = bounds(values);
        let room = 1.0 - headroom.clamp(0.0, 0.6);
        if scale.is_logarithmic() {
            let even = scale.to_even(low);
            let floor = if even.fract() == 0.0 { even - 1.0 } else { even.floor() };
            let top = floor + ((scale.to_even(high) - floor) / room).max(1.0);
            return Self { low: scale.undo(floor), high: scale.undo(top), scale };
        }
        let below = if low < 0.0 { low / room } else { 0.0 };
        let above = if 0.0 < high { high / room } else { 0.0 };
        let (below, above) = if below == 0.0 && above == 0.0 { (0.0, 1.0) } else { (below, above) };
        let half = nice_step(above - below, 5) / 2.0;
        Self { low: (below / half).floor() * half, high: (above / half - 1e-9).ceil() * half, scale }
    }

    /// The range of the values themselves, rounded outwards; a linear one
    /// starts at zero if that is not far.
    pub fn of_values(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let scale = axis.scale;
        let values = values.chain(axis.reach.into_iter().flat_map(|it| [it.0, it.1]));
        let ((low, high), given) = match axis.range {
            Some(range) => (range, true),
            None => (bounds(values), false),
        };
        if given && low < high {
            return Self { low, high, scale };
        }
        if scale.is_logarithmic() {
            let (low, high) = (scale.to_even(low), scale.to_even(high));
            let pad = if high - low < 1e-9 { 0.5 } else { 0.05 * (high - low) };
            return Self { low: scale.undo(low - pad), high: scale.undo(high + pad), scale };
        }
        let low = if 0.0 <= low && low < 0.6 * high { 0.0 } else { low };
        let (low, high) = apart(low, high);
        let half = nice_step(high - low, 5) / 2.0;
        Self { low: (low / half + 1e-9).floor() * half, high: (high / half - 1e-9).ceil() * half, scale }
    }

    /// The range of the values with a small margin on both sides.
    pub fn around_values(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        if axis.scale.is_logarithmic() || axis.range.is_some() {
            return Self::of_values(axis, values);
        }
        let (low, high) = bounds(values.chain(axis.reach.into_iter().flat_map(|it| [it.0, it.1])));
        let (wide_low, wide_high) = apart(low, high);
        // Equal values have their margin already.
        let pad = if (wide_low, wide_high) == (low, high) { 0.04 * (high - low) } else { 0.0 };
        Self { low: wide_low - pad, high: wide_high + pad, scale: axis.scale }
    }

    /// Exactly the range of the values.
    pub fn tight(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values);
        let (low, high) = if is_apart(low, high) { (low, high) } else { (low, low + low.abs().max(1.0)) };
        Self { low, high, scale }
    }

    /// Where a value stands: 0 at the low end, 1 at the high end.
    pub fn share(&self, value: f64) -> f64 {
        let [low, high, it] = [self.low, self.high, value].map(|it| self.scale.to_even(it));
        (it - low) / (high - low)
    }

    /// Whether a value has a place on the axis.
    pub fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.share(value))
    }

    /// Where bars stand on.
    pub fn base(&self) -> f64 {
        if self.scale.is_logarithmic() { self.low } else { 0.0 }
    }

    /// Marks at round values, at most about `most` of them with a label.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => self.linear_ticks(most),
            Scale::Log10 => self.decade_ticks(most),
            Scale::Log2 => self.octave_ticks(most),
        }
    }

    /// Marks at given values, every so many of them with a label.
    fn ticks_at(&self, values: &[f64], every: usize) -> Vec<Tick> {
        let mut inside: Vec<f64> = values.iter().copied().filter(|it| self.holds(*it)).collect();
        inside.sort_by(f64::total_cmp);
        inside.dedup();
        let labelled: Vec<f64> = inside.iter().copied().step_by(every).collect();
        // Few digits may say the same of two that are close to each other.
        let same = labelled.windows(2).any(|it| doubled(it[0]) == doubled(it[1]));
        let gap = labelled.windows(2).map(|it| it[1] - it[0]).fold(f64::INFINITY, f64::min);
        let written = |value: f64| if same { signed(value, decimals_of(gap)) } else { doubled(value) };
        let label = |(index, value): (usize, f64)| {
            let label = if index % every == 0 { written(value) } else { String::new() };
            Tick { value, label }
        };
        inside.into_iter().enumerate().map(label).collect()
    }

    fn linear_ticks(&self, most: usize) -> Vec<Tick> {
        let step = nice_step(self.high - self.low, most);
        let largest = self.low.abs().max(self.high.abs());
        let (unit, suffix) = unit_of(largest);
        let decimals = decimals_of(step / unit);
        let first = (self.low / step - 1e-9).ceil();
        let count = ((self.high - first * step) / step + 1e-9).floor();
        let mut ticks = Vec::new();
        let mut it = 0.0;
        while it <= count {
            let value = (first + it) * step;
            let label = signed(value / unit, decimals);
            let label = if value == 0.0 { signed(0.0, decimals) } else { format!("{label}{suffix}") };
            ticks.push(Tick { value, label });
            it += 1.0;
        }
        ticks
    }

    fn decade_ticks(&self, most: usize) -> Vec<Tick> {
        let decades = self.high.log10() - self.low.log10();
        let every = (decades / most.max(1) as f64).ceil().max(1.0);
        let inside = |digits: &[f64]| {
            let powers = std::iter::successors(Some(self.low.log10().floor()), |it| Some(it + 1.0));
            let powers = powers.take_while(|it| *it <= self.high.log10() + 1e-9);
            let values = powers.flat_map(|power| digits.iter().map(move |it| it * 10_f64.powf(power)));
            values.filter(|it| self.holds(*it)).count()
        };
        let (fine, coarse) = ([1.0, 2.0, 5.0], [1.0]);
        // Two marks do not say how the others lie.
        let finer = decades < 1.6 || inside(&coarse) < 3 && inside(&fine) <= most;
        let labelled: &[f64] = if finer { &fine } else { &coarse };
        if decades < 1.0 && inside(labelled) < 3 {
            return self.linear_ticks(most);
        }
        // Over many decades, marks within each would be one black bar.
        let digits = if every < 3.0 { 1..10 } else { 1..2 };
        let mut ticks = Vec::new();
        let mut power = self.low.log10().floor();
        while power <= self.high.log10() + 1e-9 {
            for digit in digits.clone() {
                let value = f64::from(digit) * 10_f64.powf(power);
                let label = if labelled.contains(&f64::from(digit)) && power.rem_euclid(every) == 0.0 {
                    short(value)
                } else {
                    String::new()
                };
                ticks.push(Tick { value, label });
            }
            power += 1.0;
        }
        ticks.retain(|it| self.holds(it.value));
        ticks
    }

    fn octave_ticks(&self, most: usize) -> Vec<Tick> {
        let octaves = self.high.log2() - self.low.log2();
        let every = (octaves / most.max(1) as f64).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut power = self.low.log2().ceil();
        while power <= self.high.log2() + 1e-9 {
            let label = if power.rem_euclid(every) == 0.0 { doubled(power.exp2()) } else { String::new() };
            ticks.push(Tick { value: power.exp2(), label });
            power += 1.0;
        }
        ticks
    }
}

/// Whether two values can be told apart on an axis.
fn is_apart(low: f64, high: f64) -> bool {
    1e-9 * low.abs().max(high.abs()) < high - low
}

/// The range from `low` to `high`, or around both if they are all but equal.
fn apart(low: f64, high: f64) -> (f64, f64) {
    if is_apart(low, high) {
        return (low, high);
    }
    // Half of one is nothing to a large number.
    let size = low.abs().max(high.abs());
    let pad = if size < 1e9 { 0.5 } else { 1e-3 * size };
    (low - pad, high + pad)
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)))
}

/// The smallest of 1, 2, 5 times a power of ten that cuts `length` into at
/// most `most` pieces.
fn nice_step(length: f64, most: usize) -> f64 {
    let raw = length / most.max(1) as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|it| raw <= it * power * (1.0 + 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A plot's vertical axis: range, marks and label.
#[derive(Debug, Clone)]
pub(crate) struct Upright<'a> {
    pub span: Span,
    pub ticks: Vec<Tick>,
    pub label: &'a str,
}

impl<'a> Upright<'a> {
    pub fn new(span: Span, label: &'a str, height: f64) -> Self {
        Self::marked(span, label, height, &[])
    }

    /// With marks at these values, or at round ones if there are none.
    pub fn marked(span: Span, label: &'a str, height: f64, marks: &[f64]) -> Self {
        // One mark per two lines of text.
        let most = (3..=6).rfind(|&it| it as f64 * 15.0 <= height).unwrap_or(2);
        let room = |ticks: &Vec<Tick>| {
            let labelled: Vec<_> = ticks.iter().filter(|it| !it.label.is_empty()).collect();
            let apart = |pair: &[&Tick]| (span.share(pair[1].value) - span.share(pair[0].value)) * height;
            labelled.windows(2).all(|pair| Font::TICK.line() <= apart(pair))
        };
        let given = (1..=marks.len()).map(|every| span.ticks_at(marks, every)).find(room);
        Self { span, ticks: given.unwrap_or_else(|| span.ticks(most)), label }
    }

    /// The width left of the plot.
    pub fn room(&self) -> f64 {
        let widest = self.ticks.iter().map(|it| Font::TICK.width(&it.label)).fold(0.0, f64::max);
        let label = if self.label.is_empty() { 0.0 } else { Font::LABEL.line() + 1.5 };
        label + widest + 4.0
    }

    pub fn y(&self, area: Rect, value: f64) -> f64 {
        area.bottom - self.span.share(value) * area.height()
    }

    pub fn draw_grid(&self, scene: &mut Scene, area: Rect) {
        for tick in self.ticks.iter().filter(|it| !it.label.is_empty()) {
            let y = self.y(area, tick.value);
            scene.line((area.left, y), (area.right, y), GRID_WIDTH, GRID);
        }
    }

    /// Spines, marks and label, over the data.
    pub fn draw_frame(&self, scene: &mut Scene, area: Rect) {
        for tick in &self.ticks {
            let y = self.y(area, tick.value);
            let length = if tick.label.is_empty() { 1.2 } else { 2.2 };
            scene.line((area.left - length, y), (area.left, y), SPINE_WIDTH, INK);
            scene.write((area.left - 3.2, y), Align::End, Font::TICK, tick.label.as_str());
        }
        scene.line((area.left, area.top), (area.left, area.bottom), SPINE_WIDTH, INK);
        scene.line((area.left, area.bottom), (area.right, area.bottom), SPINE_WIDTH, INK);
        let x = area.left - self.room() + Font::LABEL.line() / 2.0;
        // A long label gets smaller and reaches down, not up to the legend.
        let font = Font::LABEL.fitted(self.label, area.height() + 16.0);
        let middle = area.centre().1.max(area.top - 2.0 + font.width(self.label) / 2.0);
        scene.write_up((x, middle), Align::Middle, font, self.label);
    }
}

/// As many marks, up to seven with a label, as have room beside each other.
///
/// They stand at `marks`, or at round values if there are none. One whose label would leave the page has none.
pub(crate) fn level_ticks(page: f64, area: Rect, span: Span, marks: &[f64]) -> Vec<Tick> {
    let width = area.width();
    let fit = |ticks: &Vec<Tick>| {
        let labelled: Vec<_> = ticks.iter().filter(|it| !it.label.is_empty()).collect();
        labelled.windows(2).all(|pair| {
            let apart = (span.share(pair[1].value) - span.share(pair[0].value)) * width;
            let half = |it: &Tick| Font::TICK.width(&it.label) / 2.0;
            half(pair[0]) + half(pair[1]) + 4.0 <= apart
        })
    };
    let ticks = if marks.is_empty() {
        (1..=7).rev().map(|most| span.ticks(most)).find(fit)
    } else {
        (1..=marks.len()).map(|every| span.ticks_at(marks, every)).find(fit)
    };
    let mut ticks = ticks.unwrap_or_default();
    for tick in &mut ticks {
        let (x, half) = (area.left + span.share(tick.value) * width, Font::TICK.width(&tick.label) / 2.0);
        if x - half < 0.0 || page < x + half {
            tick.label.clear();
        }
    }
    ticks
}

/// Marks and labels under a plot: numbers.
pub(crate) fn draw_level(scene: &mut Scene, area: Rect, span: Span, ticks: &[Tick], label: &str) {
    for tick in ticks {
        let x = area.left + span.share(tick.value) * area.width();
        let length = if tick.label.is_empty() { 1.2 } else { 2.2 };
        scene.line((x, area.bottom), (x, area.bottom + length), SPINE_WIDTH, INK);
        let y = area.bottom + 3.5 + Font::TICK.cap() / 2.0;
        scene.write((x, y), Align::Middle, Font::TICK, tick.label.as_str());
    }
    let y = area.bottom + level_room("") + 1.5 + Font::LABEL.cap() / 2.0;
    let (x, _) = area.centre();
    scene.write((x, y), Align::Middle, Font::LABEL.fitted(label, 1.1 * area.width()), label);
}

/// The height under a plot that [`draw_level`] takes.
pub(crate) fn level_room(label: &str) -> f64 {
    let ticks = 3.5 + Font::TICK.line();
    if label.is_empty() { ticks } else { ticks + Font::LABEL.line() }
}

/// Names under a plot, and the axis' label under them.
pub(crate) fn draw_names(scene: &mut Scene, area: Rect, names: &Labels, label: &str) {
    names.draw_below(scene, area);
    let y = area.bottom + names.height() + 1.5 + Font::LABEL.cap() / 2.0;
    let (x, _) = area.centre();
    scene.write((x, y), Align::Middle, Font::LABEL.fitted(label, 1.1 * area.width()), label);
}
