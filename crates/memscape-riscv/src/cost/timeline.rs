//! A run as it happens: graph by graph, and some graphs operation by operation.
//!
//! Every thread does an equal share of everything, so there is one group of tracks for
//! all of them. The model has no order within an operation: its causes are shown one
//! after the other, as they add up. The graphs that a long prompt is split into are told as one,
//! each operation for all of them.

use memscape_study::{Part, Recorder, Span, TrackId};
use memscape_units::{Nanoseconds, Picoseconds, float};
use memscape_workload::{Llm, Projections};

use super::pass::{Crew, GraphCost, GraphPart, is_experts};
use crate::mapping::conversation::{Conversation, Graphs};
use crate::mapping::graph::{Operation, follows_attention, operations};

/// Steps of the reply that are shown one by one; all others are one span.
pub const SHOWN_STEPS: u64 = 256;

/// Tells what happens in a run. The warm-up, the prompt and the first step are told
/// operation by operation, the next steps by cause, up to [`SHOWN_STEPS`]; what is left of the
/// reply is one span.
pub fn record(
    crew: &Crew,
    model: &Llm,
    projections: Projections,
    run: &Conversation,
    recorder: &mut dyn Recorder,
) {
    let mut told = Told::new(crew, model, projections, recorder);
    if run.warm_up_tokens > 0 {
        told.graphs("warm-up", &run.warm_up());
    }
    told.graphs("prompt", &run.prompt());
    let (steps, shown) = (run.steps(), run.steps().min(SHOWN_STEPS));
    if shown > 0 {
        told.graphs("step 1", &run.step(1, 1));
    }
    for step in 2..=shown {
        told.steps(&format!("step {step}"), 1, &run.step(step, step));
    }
    if steps > shown {
        let name = format!("steps {} to {steps}", shown + 1);
        told.steps(&name, steps - shown, &run.step(shown + 1, steps));
    }
}

/// A run so far.
struct Told<'a> {
    crew: &'a Crew,
    model: &'a Llm,
    operations: [Vec<Operation>; 3],
    projections: Projections,
    recorder: &'a mut dyn Recorder,
    passes: TrackId,
    layers: TrackId,
    each: TrackId,
    causes: TrackId,
    /// Exact, so that positions do not drift: they alone are rounded.
    now: Nanoseconds,
}

impl<'a> Told<'a> {
    fn new(crew: &'a Crew, model: &'a Llm, projections: Projections, recorder: &'a mut dyn Recorder) -> Self {
        let group = format!("{} threads", crew.placed.threads);
        let [passes, layers, each, causes] =
            ["graphs", "layers", "operations", "what for"].map(|it| recorder.track(&group, it));
        let operations = operations(model, projections);
        Self {
            crew,
            model,
            operations,
            projections,
            recorder,
            passes,
            layers,
            each,
            causes,
            now: Nanoseconds::ZERO,
        }
    }

    fn at(&self) -> Picoseconds {
        self.now.to_picoseconds()
    }

    /// From `start` to now.
    fn span(
        &mut self,
        track: TrackId,
        name: &str,
        category: &'static str,
        start: Picoseconds,
        details: &[(&'static str, u64)],
    ) {
        let span = Span { name, category, start, end: self.at(), details };
        if span.start < span.end {
            self.recorder.span(track, span);
        }
    }

    /// Graphs of one pass, operation by operation.
    fn graphs(&mut self, name: &str, graphs: &[Graphs]) {
        let start = self.at();
        let [inwards, layer, behind] = std::mem::take(&mut self.operations);
        for it in &inwards {
            self.operation(*it, 0, graphs, false);
        }
        for layer_index in 0..self.model.layers {
            let (start, index) = (self.at(), layer_index + 1);
            for it in &layer {
                // After its attention, the last layer goes on with the outputs alone.
                let only_outputs = index == self.model.layers
                    && matches!(it, Operation::Product(matrix, _) if follows_attention(*matrix));
                self.operation(*it, layer_index, graphs, only_outputs);
            }
            self.span(self.layers, &format!("layer {index}"), "layer", start, &[("layer", index.into())]);
        }
        for it in &behind {
            self.operation(*it, 0, graphs, true);
        }
        self.operations = [inwards, layer, behind];
        self.span(self.passes, name, "graph", start, &details(graphs, 1));
    }

    /// `count` steps of the reply, by cause.
    fn steps(&mut self, name: &str, count: u64, step: &[Graphs]) {
        let start = self.at();
        let cost = GraphCost::ZERO.and(self.crew.pass(self.model, self.projections, step), count);
        self.causes(&cost);
        self.span(self.passes, name, "graph", start, &details(step, count));
    }

    /// An operation of a layer, counted from 0, or beside them.
    fn operation(&mut self, operation: Operation, layer: u32, graphs: &[Graphs], only_outputs: bool) {
        let start = self.at();
        let category = match operation {
            Operation::Product(..) => "product",
            Operation::Scores | Operation::Values => "attention",
            Operation::Other(_) => "other",
        };
        let (mut work, file) = (GraphCost::ZERO, self.crew.software.file);
        let (mut meetings, mut all) = (0, 0);
        for Graphs { count, columns, cold } in graphs {
            let vectors = if only_outputs { columns.outputs } else { columns.all };
            let once = match operation {
                // The mean of the layers that are alike.
                Operation::Product(matrix, gemv) if is_experts(self.model, matrix) => {
                    let kind = file.type_of(self.model, matrix, layer);
                    let last = self.model.layers - 1;
                    let alike = match columns.all > columns.outputs {
                        true if only_outputs => last..last + 1,
                        true => 0..last,
                        false => 0..last + 1,
                    };
                    let types = file.types(self.model, matrix, alike);
                    let alike = types.into_iter().find(|it| it.0 == kind).map_or(1, |it| it.1);
                    let all = self.crew.experts(self.model, (matrix, gemv, kind), alike, vectors, *cold);
                    all.cost.share(1.0 / float(alike))
                }
                Operation::Product(matrix, gemv) => {
                    let kind = file.type_of(self.model, matrix, layer);
                    self.crew.product(kind, [gemv.m(), gemv.k()], vectors, *cold)
                }
                // Keys and values are equally many.
                Operation::Scores | Operation::Values => {
                    self.crew.attention(self.model, columns, 1).share(0.5)
                }
                Operation::Other(_) => GraphCost::ZERO,
            };
            work = work.and(once, *count);
            meetings += operation.syncs() * count;
            all += vectors * count;
        }
        self.causes(&work.and(self.crew.meet(meetings), 1));
        let mut about = vec![("columns", all)];
        if let Operation::Product(_, gemv) = operation {
            about.extend([("rows", gemv.m()), ("shared", gemv.k())]);
        }
        self.span(self.each, operation.name(), category, start, &about);
    }

    /// Causes, one after the other.
    fn causes(&mut self, cost: &GraphCost) {
        let balancing = cost.total() * self.crew.balancing;
        for (part, name, time) in [
            (GraphPart::Kernel, "multiply", cost.kernel),
            (GraphPart::Weights, "read weights", cost.weights),
            (GraphPart::Attention, "multiply with the cache", cost.attention),
            (GraphPart::Attention, "read the cache", cost.cache),
            (GraphPart::Synchronisation, "synchronise", cost.synchronisation),
            (GraphPart::Balancing, "NUMA balancing", balancing),
        ] {
            let start = self.at();
            self.now += time;
            self.span(self.causes, name, part.name(), start, &[]);
        }
    }
}

/// What to know about so many passes of these graphs.
fn details(graphs: &[Graphs], passes: u64) -> [(&'static str, u64); 4] {
    let count: u64 = graphs.iter().map(|it| it.count).sum();
    let attended: f64 = graphs.iter().map(|it| float(it.count) * it.columns.attended).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive count")]
    let attended = (attended / float(count)).round() as u64;
    [
        ("graphs", count * passes),
        ("sequences", graphs.iter().map(|it| it.columns.sequences).max().unwrap_or(0)),
        ("columns", graphs.iter().map(|it| it.count * it.columns.all).sum()),
        ("attended_cells", attended),
    ]
}
