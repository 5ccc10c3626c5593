//! The statistics of Fig. 4, of any activity: real or drawn.

use memscape_study::random::Key;
use memscape_units::float;
use rayon::prelude::*;

use super::bits::{Bits, BlockKind, bit};
use super::law::Law;
use super::recording::NO_PARENT;
use super::shards::{Imbalance, Shards};
use super::source::Source;
use crate::normal::{STEP, cdf, quadrature_between, quantile};

/// What activity looks like. Shares are from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Statistics {
    /// Share of neurons that a generated token activates.
    pub density: f64,
    /// Share of a token's active neurons that were active `distance` tokens before:
    /// a mean over tokens and layers.
    pub overlap: f64,
    /// Share of neurons that the profile has as hot, each of them whole.
    pub hot: f64,
    /// Share of activations in these.
    pub top_share: f64,
    /// Share of hot neurons that are not among this prompt's hot ones.
    pub hot_varied: f64,
    /// Share of neurons that are active when both parents are; none where parents are
    /// not known.
    pub child_given_parents: Option<f64>,
    /// Fullest of the contiguous shards of cold neurons over the mean, in each token.
    pub token_imbalance: f64,
    /// The same over windows.
    pub window_imbalance: f64,
    /// The same over the whole reply: the most even layer.
    pub least_imbalance: f64,
    /// The least even layer.
    pub most_imbalance: f64,
}

/// What is asked of activity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inquiry {
    /// Which block.
    pub block: BlockKind,
    /// Tokens between those compared.
    pub distance: usize,
    /// Share of neurons that count as hot.
    pub hot: f64,
    /// Shards that cold neurons are cut into.
    pub shards: usize,
    /// Tokens of a window.
    pub window: usize,
    /// Tokens of the prompt.
    pub prefill: usize,
    /// Tokens generated.
    pub decode: usize,
    /// Which sequence.
    pub sequence: usize,
}

/// Sums of one layer, so that means are over all events.
#[derive(Default, Clone, Copy)]
struct Layer {
    active: u64,
    hot_active: u64,
    places: u64,
    overlap: (f64, u64),
    varied: u64,
    hot: u64,
    family: u64,
    children: u64,
    token: (f64, u64),
    window: (f64, u64),
    whole: f64,
}

/// Measures the given layers of a source.
///
/// # Panics
/// If the source has fewer tokens or sequences than the inquiry says.
#[must_use]
pub fn measure(source: &Source, layers: &[usize], inquiry: &Inquiry) -> Statistics {
    let all: Vec<Layer> = layers.par_iter().map(|layer| measure_layer(source, *layer, inquiry)).collect();
    let sum = |pick: fn(&Layer) -> u64| float(all.iter().map(pick).sum());
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let mean = |pick: fn(&Layer) -> (f64, u64)| {
        ratio(all.iter().map(|it| pick(it).0).sum(), float(all.iter().map(|it| pick(it).1).sum()))
    };
    // Where nothing is cold, shards are as level as they are empty.
    let imbalance = |pick: fn(&Layer) -> (f64, u64)| {
        if all.iter().any(|it| pick(it).1 > 0) { mean(pick) } else { 1.0 }
    };
    Statistics {
        density: ratio(sum(|it| it.active), sum(|it| it.places)),
        overlap: mean(|it| it.overlap),
        hot: ratio(sum(|it| it.hot) * float(inquiry.decode as u64), sum(|it| it.places)),
        top_share: ratio(sum(|it| it.hot_active), sum(|it| it.active)),
        hot_varied: ratio(sum(|it| it.varied), sum(|it| it.hot)),
        child_given_parents: (all.iter().any(|it| it.family > 0))
            .then(|| ratio(sum(|it| it.children), sum(|it| it.family))),
        token_imbalance: imbalance(|it| it.token),
        window_imbalance: imbalance(|it| it.window),
        least_imbalance: all.iter().map(|it| it.whole).fold(f64::INFINITY, f64::min),
        most_imbalance: all.iter().map(|it| it.whole).fold(0.0, f64::max),
    }
}

fn measure_layer(source: &Source, layer: usize, inquiry: &Inquiry) -> Layer {
    let bits = |layer: usize| match source {
        Source::Law(law) => law.bits(inquiry.block, layer, inquiry.sequence as u64),
        Source::Recorded(recording, _) => {
            recording.sequences[inquiry.sequence].bits(inquiry.block, layer).clone()
        }
    };
    let here = bits(layer);
    let tokens = inquiry.prefill..inquiry.prefill + inquiry.decode;
    let hot = hottest(&source.frequency(inquiry.block, layer), inquiry.hot);
    let mut sums = Layer { places: (here.neurons * inquiry.decode) as u64, ..Layer::default() };
    for token in tokens.clone() {
        sums.active += u64::from(here.count(token));
        sums.hot_active += and(here.row(token), &hot);
        let count = u64::from(here.count(token));
        if token >= inquiry.prefill + inquiry.distance && count > 0 {
            sums.overlap.0 += float(and(here.row(token), here.row(token - inquiry.distance))) / float(count);
            sums.overlap.1 += 1;
        }
    }
    let counts: Vec<f32> = (0..here.neurons)
        .map(|neuron| tokens.clone().map(|it| f32::from(u8::from(here.get(it, neuron)))).sum())
        .collect();
    let prompt_hot = hottest(&counts, inquiry.hot);
    sums.hot = hot.iter().map(|it| u64::from(it.count_ones())).sum();
    sums.varied = sums.hot - and(&hot, &prompt_hot);
    if let Some(parents) = source.parents(inquiry.block, layer) {
        let before = bits(layer - 1);
        for token in tokens.clone() {
            let (row, before) = (here.row(token), before.row(token));
            for (neuron, [a, b]) in parents.iter().enumerate().filter(|it| !it.1.contains(&NO_PARENT)) {
                if bit(before, *a as usize) && bit(before, *b as usize) {
                    sums.family += 1;
                    sums.children += u64::from(bit(row, neuron));
                }
            }
        }
    }
    imbalances(&here, &hot, inquiry, &mut sums);
    sums
}

/// Loads of contiguous shards of cold neurons: per token, per window, over all.
fn imbalances(bits: &Bits, hot: &[u64], inquiry: &Inquiry, sums: &mut Layer) {
    let cold: Vec<usize> = (0..bits.neurons).filter(|it| !bit(hot, *it)).collect();
    let mut masks = vec![vec![0_u64; bits.stride]; inquiry.shards];
    for (rank, neuron) in cold.iter().enumerate() {
        masks[rank * inquiry.shards / cold.len()][neuron / 64] |= 1 << (neuron % 64);
    }
    let mut add = |loads: &[u64], into: fn(&mut Layer) -> &mut (f64, u64)| {
        let total: u64 = loads.iter().sum();
        if let Some(most) = loads.iter().max().filter(|_| total > 0) {
            let place = into(sums);
            place.0 += float(*most) * float(loads.len() as u64) / float(total);
            place.1 += 1;
        }
    };
    let mut window = vec![0; inquiry.shards];
    let mut whole = vec![0; inquiry.shards];
    for step in 0..inquiry.decode {
        let row = bits.row(inquiry.prefill + step);
        let loads: Vec<u64> = masks.iter().map(|mask| and(row, mask)).collect();
        add(&loads, |it| &mut it.token);
        for ((window, whole), load) in window.iter_mut().zip(&mut whole).zip(&loads) {
            *window += load;
            *whole += load;
        }
        if (step + 1) % inquiry.window == 0 {
            add(&window, |it| &mut it.window);
            window.fill(0);
        }
    }
    let total: u64 = whole.iter().sum();
    let most = whole.iter().copied().max().unwrap_or(0);
    sums.whole = if total > 0 { float(most) * float(whole.len() as u64) / float(total) } else { 1.0 };
}

fn and(a: &[u64], b: &[u64]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum()
}

/// The share of neurons with the highest values, ties by number.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of neurons"
)]
fn hottest(values: &[f32], share: f64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
    let mut hot = vec![0; values.len().div_ceil(64)];
    for neuron in &order[..(share * values.len() as f64).round() as usize] {
        hot[neuron / 64] |= 1 << (neuron % 64);
    }
    hot
}

/// The law's own answers to an inquiry, as expected values; of what clusters, prompt and noise do to
/// shards, some are drawn.
///
/// * `layers`: for how many layers clusters are drawn, from `seed`
/// * `neurons`: of a layer's block
#[must_use]
pub fn expected(law: &Law, layers: usize, neurons: usize, inquiry: &Inquiry, seed: u64) -> Statistics {
    let hot = inquiry.hot;
    let limit = quantile(1.0 - hot);
    let top = quadrature_between(limit, f64::INFINITY, |z| law.profiled(z));
    // Offline and prompt's latent are two normals with this correlation.
    let all = law.offline.hypot(law.prompt.hypot(law.cluster));
    let related = if all > 0.0 { law.offline / all } else { 0.0 };
    let rest = (1.0 - related * related).max(0.0).sqrt();
    // Where a prompt changes next to nothing, those stay that were.
    let stays = if rest > STEP {
        quadrature_between(limit, f64::INFINITY, |z| cdf((related * z - limit) / rest))
    } else {
        hot
    };

    let shards = Shards::new(law, limit, neurons, inquiry.shards, [inquiry.window, inquiry.decode]);
    let key = Key::new(seed).fork(8);
    let all: Vec<Imbalance> = (0..layers).map(|it| shards.imbalance(key.fork(it as u64))).collect();
    let mean = |of: fn(&Imbalance) -> f64| all.iter().map(of).sum::<f64>() / float(layers.max(1) as u64);
    Statistics {
        density: law.density,
        overlap: law.overlap(u32::try_from(inquiry.distance).unwrap_or(u32::MAX)),
        hot,
        top_share: top / (top + quadrature_between(f64::NEG_INFINITY, limit, |z| law.profiled(z))),
        // Of no hot neurons, none vary; where all are hot, the sum of those that stay may round above them.
        hot_varied: if hot > 0.0 { (1.0 - stays / hot).max(0.0) } else { 0.0 },
        // The first layer has no parents.
        child_given_parents: (layers > 1).then(|| law.child_given_parents()),
        token_imbalance: mean(|it| it.token),
        window_imbalance: mean(|it| it.window),
        least_imbalance: all.iter().map(|it| it.whole).fold(f64::INFINITY, f64::min),
        most_imbalance: all.iter().map(|it| it.whole).fold(0.0, f64::max),
    }
}
