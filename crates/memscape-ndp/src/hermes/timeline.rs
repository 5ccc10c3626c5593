//! The walk as a timeline: prompt, tokens, and of the first of them each layer.

use memscape_study::{CostEngine, Recorder, Span, TrackId};
use memscape_units::{Nanoseconds, Picoseconds, float};

use super::account::{Rest, walked_or_expected};
use super::setting::Hermes;
use super::walked::{Walks, Watch};
use crate::activity::BlockKind;
use crate::cost::timeline::{IN_DETAIL, ONE_BY_ONE};
use crate::cost::{ColdSide, Prompt, on_dimms};
use crate::error::NdpError;
use crate::scheduler::{Token, whole};

/// What is remembered of one block's walk, however long that is.
#[derive(Default)]
struct Seen {
    /// Time of each of the first tokens.
    times: Vec<Picoseconds>,
    /// Time of all tokens after them.
    rest: Picoseconds,
    detailed: Vec<Detailed>,
}

/// One token of one block.
struct Detailed {
    gpu: Nanoseconds,
    gpu_neurons: u64,
    dimms: Vec<(Nanoseconds, u64)>,
    swapped: u64,
    moved: u64,
}

impl Watch for Seen {
    fn see(&mut self, token: &Token<'_>) {
        if token.step < ONE_BY_ONE {
            self.times.push(token.time);
        } else {
            self.rest += token.time;
        }
        if token.step < IN_DETAIL {
            self.detailed.push(Detailed {
                gpu: token.gpu,
                gpu_neurons: token.gpu_neurons,
                dimms: token
                    .dimms
                    .iter()
                    .copied()
                    .zip(token.loads.iter().map(|it| whole(it.neurons)))
                    .collect(),
                swapped: token.swapped,
                moved: token.moved,
            });
        }
    }
}

/// Who is busy.
struct Tracks {
    tokens: TrackId,
    gpu: TrackId,
    pcie: TrackId,
    cold: Vec<TrackId>,
    links: Option<TrackId>,
    host: TrackId,
}

impl Tracks {
    fn declare(hermes: &Hermes, to: &mut dyn Recorder) -> Self {
        let tokens = to.track("reply", "tokens");
        let (gpu, pcie) = (to.track("GPU", "kernels"), to.track("GPU", "PCIe"));
        let dimms = hermes.machine.dimms.get();
        let (cold, links) = match hermes.cold {
            ColdSide::Host => (vec![to.track("host", "cold neurons")], None),
            ColdSide::Dimms => {
                let units = (1..=dimms).map(|it| to.track("DIMMs", &format!("DIMM {it}"))).collect();
                (units, Some(to.track("DIMMs", "links")))
            }
        };
        Self { tokens, gpu, pcie, cold, links, host: to.track("host", "predictor") }
    }
}

/// Records a prompt and a reply. Activity is walked, whatever `engine` says: all
/// layers of the first 8 tokens are shown, of those up to 4096 the length, and one
/// span for the rest.
///
/// # Errors
/// [`NdpError`] says what does not fit, or cannot be known.
pub fn record(hermes: &Hermes, to: &mut dyn Recorder) -> Result<(), NdpError> {
    on_dimms(hermes.machine, hermes.work)?;
    let (sparse, plan, walks) = walked_or_expected::<Seen>(hermes, CostEngine::Events)?;
    let mut scribe = Scribe {
        hermes,
        rest: Rest::new(hermes, &sparse, plan),
        tracks: Tracks::declare(hermes, to),
        to,
        now: Nanoseconds::ZERO,
    };
    scribe.prompt(&hermes.prompt(&sparse));
    let tokens = hermes.work.generated as usize;
    for token in 0..tokens.min(ONE_BY_ONE) {
        scribe.token(token, &walks);
    }
    if tokens > ONE_BY_ONE {
        scribe.last_tokens(tokens, &walks);
    }
    Ok(())
}

/// A timeline that grows. Its clock is not rounded, the spans are, so that
/// rounding never adds up.
struct Scribe<'a> {
    hermes: &'a Hermes<'a>,
    rest: Rest,
    tracks: Tracks,
    to: &'a mut dyn Recorder,
    now: Nanoseconds,
}

impl Scribe<'_> {
    fn span(
        &mut self,
        track: TrackId,
        name: &str,
        category: &'static str,
        start: Nanoseconds,
        end: Nanoseconds,
        details: &[(&'static str, u64)],
    ) {
        let (start, end) = (start.to_picoseconds(), end.to_picoseconds());
        if end > start {
            self.to.span(track, Span { name, category, start, end, details });
        }
    }

    /// Something that all else waits for.
    fn step(&mut self, track: TrackId, name: &str, category: &'static str, time: Nanoseconds) {
        let start = self.now;
        self.now += time;
        self.span(track, name, category, start, self.now, &[]);
    }

    fn prompt(&mut self, prompt: &Prompt) {
        let start = self.now;
        let end = start + prompt.time() - prompt.load;
        let (gpu, pcie, tokens) = (self.tracks.gpu, self.tracks.pcie, self.tracks.tokens);
        self.span(gpu, "prompt", "prompt", start, start + prompt.compute, &[]);
        self.span(pcie, "weights", "prompt", start, start + prompt.transfer, &[]);
        self.now = end;
        self.step(pcie, "hot neurons", "prompt", prompt.load);
        let count = [("tokens", u64::from(self.hermes.work.prompt))];
        self.span(tokens, "prompt", "prompt", start, self.now, &count);
    }

    fn token(&mut self, token: usize, walks: &Walks<Seen>) {
        let start = self.now;
        if token < IN_DETAIL {
            for layer in 0..walks.len() {
                self.layer(token, layer, walks);
            }
            self.step(self.tracks.gpu, "LM head", "dense", self.rest.head);
            let moving = self.tracks.links.unwrap_or(self.tracks.pcie);
            self.step(moving, "moves that projections do not hide", "exchange", self.rest.late);
            self.step(self.tracks.host, "predictor", "predictor", self.rest.predictor);
        } else {
            let sparse: Picoseconds =
                walks.iter().flat_map(|it| &it.blocks).map(|it| it.1.times[token]).sum();
            let sparse = Nanoseconds::saturating(sparse.as_ns());
            self.now += sparse + self.dense(context(self.hermes, float(token as u64)));
        }
        let name = format!("token {}", token + 1);
        self.span(self.tracks.tokens, &name, "token", start, self.now, &[]);
    }

    /// All tokens that have no span of their own.
    fn last_tokens(&mut self, tokens: usize, walks: &Walks<Seen>) {
        let start = self.now;
        let sparse: Picoseconds = walks.iter().flat_map(|it| &it.blocks).map(|it| it.1.rest).sum();
        let mean = float((ONE_BY_ONE + tokens - 1) as u64) / 2.0;
        let context = context(self.hermes, mean);
        let count = float((tokens - ONE_BY_ONE) as u64);
        self.now += Nanoseconds::saturating(sparse.as_ns()) + self.dense(context) * count;
        let name = format!("tokens {} to {tokens}", ONE_BY_ONE + 1);
        self.span(self.tracks.tokens, &name, "token", start, self.now, &[]);
    }

    /// What a token takes beside its sparse blocks.
    fn dense(&self, context: f64) -> Nanoseconds {
        let Rest { layers, projection, single, merges, head, late, predictor, fetching: _ } = self.rest;
        let layer = merges[0] + self.hermes.attention(context) + single + projection + merges[1];
        layer * layers + head + late + predictor
    }

    fn layer(&mut self, token: usize, layer: usize, walks: &Walks<Seen>) {
        let [qkv, mlp] = &walks[layer].blocks;
        let category = "sparse";
        let name = |what: &str| format!("{what} {}", layer + 1);
        self.sparse(&name("QKV"), category, qkv.1.times[token], &qkv.1.detailed[token]);
        self.merge(0);
        self.attention(token, &name("attention"));
        self.step(self.tracks.pcie, "activations, synchronisation", "exchange", self.rest.single);
        let start = self.now;
        self.step(self.tracks.gpu, &name("projection"), "dense", self.rest.projection);
        self.fetch(start, [&qkv.1.detailed[token], &mlp.1.detailed[token]]);
        self.sparse(&name("FFN"), category, mlp.1.times[token], &mlp.1.detailed[token]);
        self.merge(1);
    }

    /// GPU and DIMMs at the same time; the slower one is waited for.
    fn sparse(&mut self, name: &str, category: &'static str, time: Picoseconds, it: &Detailed) {
        let start = self.now;
        let end = start + Nanoseconds::saturating(time.as_ns());
        let capped = |time: Nanoseconds| Nanoseconds::saturating((start + time).as_f64().min(end.as_f64()));
        let details = [("neurons", it.gpu_neurons), ("swapped", it.swapped), ("moved", it.moved)];
        self.span(self.tracks.gpu, name, category, start, capped(it.gpu), &details);
        for (index, (time, neurons)) in it.dimms.iter().enumerate().take(self.tracks.cold.len()) {
            let details = [("neurons", *neurons)];
            self.span(self.tracks.cold[index], name, category, start, capped(*time), &details);
        }
        self.now = end;
    }

    fn merge(&mut self, block: usize) {
        if let Some(links) = self.tracks.links {
            self.step(links, "merge", "links", self.rest.merges[block]);
        }
    }

    /// On all DIMMs, or on the host.
    fn attention(&mut self, token: usize, name: &str) {
        let start = self.now;
        self.now += self.hermes.attention(context(self.hermes, float(token as u64)));
        for index in 0..self.tracks.cold.len() {
            self.span(self.tracks.cold[index], name, "attention", start, self.now, &[]);
        }
    }

    /// Neurons that the GPU fetches while it computes the projection.
    fn fetch(&mut self, start: Nanoseconds, blocks: [&Detailed; 2]) {
        let rates = &self.hermes.rates;
        let bytes = |block: BlockKind, it: &Detailed| {
            rates.block(&self.hermes.work.shape, block).neuron_bytes * float(it.swapped)
        };
        let all = bytes(BlockKind::Qkv, blocks[0]) + bytes(BlockKind::Mlp, blocks[1]);
        let end = (start + rates.pinned(all)).as_f64().min(self.now.as_f64());
        let details = [("neurons", blocks[0].swapped + blocks[1].swapped)];
        let end = Nanoseconds::saturating(end);
        self.span(self.tracks.pcie, "fetch neurons", "exchange", start, end, &details);
    }
}

/// Tokens that a layer attends to while one is generated, so that the mean over all is what
/// the account takes.
fn context(hermes: &Hermes, token: f64) -> f64 {
    hermes.work.shape.attended(f64::from(hermes.work.prompt) + token + 1.0)
}
