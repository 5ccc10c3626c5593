//! Figs. 7 and 8: what the predictor, the exchange and the remapping do to a few neurons, token
//! by token.

use std::collections::BTreeMap;

use memscape_explore::{Column, Parameters, Table, read};
use memscape_ndp::InferenceStudy;
use memscape_ndp::activity::{Bits, BlockKind, Source, Synthetic};
use memscape_ndp::partition::Device;
use memscape_ndp::scheduler::{BlockCost, Exchange, Missed, Rules, Strategy, Walk};
use memscape_plot::style::distinct as colour;
use memscape_plot::{Busy, Figure, Gantt, GroupedBars, HeatMap, Series};

use crate::error::Error;
use crate::sweeps::distinct;

/// As in the paper's sketches: ten neurons, of which the GPU has three, and two DIMMs.
const NEURONS: usize = 10;
const ON_GPU: usize = 3;
const DIMMS: usize = 2;
/// Three windows of five tokens, after a prompt.
const TOKENS: usize = 15;
const PROMPT: usize = 128;
/// The layer, and the one before it that has the parents.
const LAYERS: [usize; 2] = [30, 31];

/// One neuron at one token.
struct Seen {
    token: usize,
    window: usize,
    neuron: usize,
    state: u32,
    parents: usize,
    score: u32,
    is_predicted: bool,
    is_active: bool,
    is_on_gpu: bool,
    /// Before and after what moves at the token's end.
    dimms: [usize; 2],
}

/// The small block, and what is walked on it.
struct Block {
    own: Bits,
    before: Bits,
    parents: Vec<[u32; 2]>,
}

impl Block {
    /// Neurons of Llama-2-13B that are active at some of the tokens and at some not.
    fn of(study: &InferenceStudy) -> Result<Self, Error> {
        let law = study.activity.at(study.activity.relufied_density.as_f64()).map_err(Error::no_answer)?;
        let source = Synthetic {
            law,
            layers: 40,
            neurons: [5120, 13824],
            prefill: PROMPT,
            decode: TOKENS,
            seed: study.seed,
        };
        let [above, all] = LAYERS.map(|it| source.bits(BlockKind::Mlp, it, 0));
        let of_all = Source::Law(source).parents(BlockKind::Mlp, LAYERS[1]).unwrap_or_default();
        let often = |it: &usize| {
            let active = (PROMPT..PROMPT + TOKENS).filter(|token| all.get(*token, *it)).count();
            (TOKENS / 4..=3 * TOKENS / 4).contains(&active)
        };
        let chosen: Vec<usize> = (0..all.neurons).filter(often).take(NEURONS).collect();
        let mut ancestors: Vec<u32> = chosen.iter().flat_map(|it| of_all[*it]).collect();
        ancestors.sort_unstable();
        ancestors.dedup();
        let place = |it: u32| u32::try_from(ancestors.partition_point(|other| *other < it)).unwrap_or(0);
        Ok(Self {
            own: only(&all, &chosen),
            before: only(&above, &ancestors.iter().map(|it| *it as usize).collect::<Vec<_>>()),
            parents: chosen.iter().map(|it| of_all[*it].map(place)).collect(),
        })
    }

    /// The GPU has what the prompt used most; the DIMMs have neurons in turn.
    fn walk(&self, study: &InferenceStudy) -> Vec<Seen> {
        let neurons = self.own.neurons;
        let used = |it: &usize| (0..PROMPT).filter(|token| self.own.get(*token, *it)).count();
        let mut order: Vec<usize> = (0..neurons).collect();
        order.sort_by_key(|it| std::cmp::Reverse(used(it)));
        let on_gpu: Vec<bool> = (0..neurons).map(|it| order[..ON_GPU.min(neurons)].contains(&it)).collect();
        let homes: Vec<Device> =
            (0..neurons).map(|it| Device::try_from(it % DIMMS + 1).unwrap_or(1)).collect();
        let rules = Rules {
            predictor: &study.predictor,
            remap: &study.remap,
            strategy: Strategy::Full,
            exchange: Exchange::Unchecked,
            missed: Missed::Late,
            dimms: DIMMS,
            remaps: true,
            fetches: 1.0,
            prefill: PROMPT,
            decode: TOKENS,
        };
        let (own, before) = (std::slice::from_ref(&self.own), std::slice::from_ref(&self.before));
        let walk = Walk::new(rules, own, before, Some(self.parents.clone()), &on_gpu, &homes);
        let window = study.remap.window.get() as usize;
        let mut dimms: Vec<usize> = homes.iter().map(|it| usize::from(*it)).collect();
        let mut seen = Vec::new();
        let _ = walk.watched(&BlockCost::even(), |token| {
            for (neuron, dimm) in dimms.iter_mut().enumerate() {
                let now = token.neurons;
                let parents = self.parents[neuron];
                let active = |it: &&u32| self.before.get(PROMPT + token.step, **it as usize);
                seen.push(Seen {
                    token: token.step + 1,
                    window: token.step / window + 1,
                    neuron,
                    state: now.state(neuron),
                    parents: parents.iter().filter(active).count(),
                    score: now.score(neuron),
                    is_predicted: now.is_predicted(neuron),
                    is_active: now.is_active(neuron),
                    is_on_gpu: now.is_on_gpu(neuron),
                    dimms: [*dimm, now.dimm(neuron)],
                });
                *dimm = now.dimm(neuron);
            }
        });
        seen
    }
}

/// Some neurons of all.
fn only(all: &Bits, chosen: &[usize]) -> Bits {
    let mut bits = Bits::zeros(all.tokens(), chosen.len());
    for token in 0..all.tokens() {
        for (neuron, _) in chosen.iter().enumerate().filter(|it| all.get(token, *it.1)) {
            bits.row_mut(token)[neuron / 64] |= 1 << (neuron % 64);
        }
    }
    bits
}

/// What of the changed parameters the walk depends on.
fn own(changed: &Parameters) -> Parameters {
    let known = ["activity", "predictor", "remap", "seed"];
    let is_known = |path: &str| known.iter().any(|it| path.split('.').next() == Some(it));
    changed.iter().filter(|it| is_known(it.0)).map(|it| (it.0.clone(), it.1.clone())).collect()
}

fn walked(changed: &Parameters) -> Result<Vec<Seen>, Error> {
    let study: InferenceStudy = read(&own(changed))?;
    Ok(Block::of(&study)?.walk(&study))
}

fn ints(seen: &[Seen], pick: impl Fn(&Seen) -> usize) -> Column {
    Column::Int(seen.iter().map(|it| i64::try_from(pick(it)).ok()).collect())
}

fn flags(seen: &[Seen], pick: impl Fn(&Seen) -> bool) -> Column {
    Column::Bool(seen.iter().map(|it| Some(pick(it))).collect())
}

/// Fig. 7: states, parents and predictions.
pub fn table7(changed: &Parameters) -> Result<Table, Error> {
    let seen = walked(changed)?;
    Ok(Table::from_columns([
        ("token", ints(&seen, |it| it.token)),
        ("neuron", ints(&seen, |it| it.neuron)),
        ("state", ints(&seen, |it| it.state as usize)),
        ("active_parents", ints(&seen, |it| it.parents)),
        ("score", ints(&seen, |it| it.score as usize)),
        ("predicted", flags(&seen, |it| it.is_predicted)),
        ("active", flags(&seen, |it| it.is_active)),
    ])?)
}

/// Fig. 8: places, and what moves.
pub fn table8(changed: &Parameters) -> Result<Table, Error> {
    let seen = walked(changed)?;
    Ok(Table::from_columns([
        ("token", ints(&seen, |it| it.token)),
        ("window", ints(&seen, |it| it.window)),
        ("neuron", ints(&seen, |it| it.neuron)),
        ("score", ints(&seen, |it| it.score as usize)),
        ("active", flags(&seen, |it| it.is_active)),
        ("on_gpu", flags(&seen, |it| it.is_on_gpu)),
        ("dimm", ints(&seen, |it| it.dimms[0])),
        ("dimm_after", ints(&seen, |it| it.dimms[1])),
    ])?)
}

/// A column of what is so or not.
fn read_flags(table: &Table, column: &str) -> Result<Vec<bool>, Error> {
    Ok(table.text(column)?.into_iter().map(|it| it.as_deref() == Some("true")).collect())
}

/// A column of counts.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens, neurons and DIMMs")]
fn counts(table: &Table, column: &str) -> Result<Vec<usize>, Error> {
    Ok(table.f64(column)?.into_iter().map(|it| it.unwrap_or_default() as usize).collect())
}

/// A grid of neurons down and tokens across, each of a kind, with its score.
fn grid(
    table: &Table,
    kinds: &[&str],
    kind: impl Fn(usize) -> usize,
    is_strong: impl Fn(usize) -> bool,
    marks: &[usize],
) -> Result<Gantt, Error> {
    #[expect(clippy::cast_precision_loss, reason = "a few tokens")]
    let at = |token: usize| token as f64;
    let (tokens, scores) = (counts(table, "token")?, table.text("score")?);
    let (names, neurons) = (distinct(table, "neuron")?, counts(table, "neuron")?);
    let busy = (0..table.height()).map(|row| Busy {
        row: neurons[row],
        start: at(tokens[row].saturating_sub(1)),
        end: at(tokens[row]),
        kind: kind(row),
        label: scores[row].clone().unwrap_or_default(),
        critical: is_strong(row),
    });
    Ok(Gantt {
        busy: busy.collect(),
        rows: names.iter().map(|it| format!("Neuron {it}")).collect(),
        kinds: kinds.iter().map(|it| (*it).to_owned()).collect(),
        marks: marks.iter().map(|it| at(*it)).collect(),
        x_label: "Generated tokens".to_owned(),
        ..Gantt::default()
    })
}

pub fn plot7(table: &Table) -> Result<Figure, Error> {
    let (rows, columns) = (distinct(table, "neuron")?, distinct(table, "token")?);
    let states = table.f64("state")?;
    let of_row = |row: usize| states.iter().skip(row).step_by(rows.len()).copied().collect();
    let states = HeatMap {
        values: (0..rows.len()).map(of_row).collect(),
        rows,
        columns,
        row_label: "Neuron".to_owned(),
        column_label: "Generated token".to_owned(),
        value_label: "State".to_owned(),
        decimals: Some(0),
        ..HeatMap::default()
    };
    let (predicted, active) = (read_flags(table, "predicted")?, read_flags(table, "active")?);
    let kinds = ["Predicted, active", "Predicted in vain", "Missed", "Neither"];
    let kind = |row: usize| match (predicted[row], active[row]) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => 3,
    };
    let grid = grid(table, &kinds, kind, |row| kind(row) < 3, &[])?;
    Ok(Figure::two_columns()
        .panel("(a) States before each token", states)
        .panel("(b) Scores, and what becomes of the prediction", grid)
        .caption("A score is the state and lambda times the active ones of two parents in the layer before."))
}

pub fn plot8(table: &Table) -> Result<Figure, Error> {
    let (on_gpu, active) = (read_flags(table, "on_gpu")?, read_flags(table, "active")?);
    let (tokens, windows) = (counts(table, "token")?, counts(table, "window")?);
    let (neurons, homes) = (counts(table, "neuron")?, counts(table, "dimm")?);
    let after = counts(table, "dimm_after")?;
    // The last token of each window.
    let ends: BTreeMap<usize, usize> = windows.iter().copied().zip(tokens.iter().copied()).collect();
    let ends: Vec<usize> = ends.into_values().collect();
    let place = |row: usize| if on_gpu[row] { 0 } else { homes[row] };
    let places = grid(table, &["GPU", "DIMM 1", "DIMM 2"], place, |row| active[row], &ends)?;
    // What the remapping sees: how often a window's neurons were active that no GPU has at its end.
    let load = |end: usize, dimm: usize, homes: &[usize]| -> f64 {
        let cold = (0..tokens.len()).filter(|it| tokens[*it] == end && !on_gpu[*it] && homes[*it] == dimm);
        let seen = |at: usize| {
            let own = |it: &usize| neurons[*it] == neurons[at] && windows[*it] == windows[at] && active[*it];
            (0..tokens.len()).filter(own).map(|_| 1.0).sum::<f64>()
        };
        cold.map(seen).sum()
    };
    let groups = (1..=ends.len()).flat_map(|it| [format!("Window {it}"), format!("Window {it}, remapped")]);
    let mut bars = GroupedBars::new("Activations of cold neurons", groups).decimals(0);
    for dimm in 1..=DIMMS {
        let values = ends.iter().flat_map(|end| [load(*end, dimm, &homes), load(*end, dimm, &after)]);
        // As in the panel beside it, where the GPU comes first.
        let series = Series::new(format!("DIMM {dimm}"), values).coloured(colour(dimm));
        bars.series.push(series);
    }
    Ok(Figure::two_columns()
        .panel("(a) Places and scores; strong: active", places)
        .panel("(b) Load of the DIMMs at the ends of windows", bars)
        .caption("The GPU has three and fetches at most one for a token. Dashed: ends of windows, where neurons move between DIMMs."))
}
