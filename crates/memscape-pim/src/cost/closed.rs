//! The closed form: the command stream counted without walking it.

use std::collections::VecDeque;

use memscape_dram::{Kind, PimDelays};
use memscape_units::Picoseconds;

use super::parts::{GemvCost, GemvPart};
use crate::mapping::Plan;

/// Counts the command stream without walking it.
///
/// `None` where rows are so short or row timings so long that an activate has to
/// wait for the last one (tRAS, tRC or tFAW against a whole row of accesses), or
/// where a pass reads unequal numbers of words from its rows: then only the stream
/// itself can tell.
#[must_use]
pub fn closed_form(plan: &Plan, timing: &PimDelays) -> Option<GemvCost> {
    let row_words = plan.words_of_a_row()?;
    let whole_row = whole_row(row_words, timing);
    let waits =
        whole_row < timing.open_to_close || timing.open_to_close + timing.close_to_open < timing.open_to_open;
    (!waits).then(|| counted(plan, timing, row_words))
}

/// The same where no row waits for the last one, and where no pass leaves its row if it reads unequal numbers of
/// words from them: what the stream takes beyond that is row opening.
#[must_use]
pub fn unhindered(plan: &Plan, t: &PimDelays) -> GemvCost {
    let whole_pass = plan.row_blocks * plan.row_block_words();
    let row_words = plan.words_of_a_row().unwrap_or(whole_pass);
    let open_to_close = t.open_to_close.min(whole_row(row_words, t));
    let open_to_open = t.open_to_open.min(open_to_close + t.close_to_open);
    counted(plan, &PimDelays { open_to_close, open_to_open, ..*t }, row_words)
}

/// The stream of a plan that reads so many words from each row, none of which waits for the last one.
fn counted(plan: &Plan, t: &PimDelays, row_words: u64) -> GemvCost {
    let mut sum = GemvCost::default();
    let mut start = Start { row_blocks: 0, offset: 0, sends: true, closable: None };
    // Most passes begin as one of the last few did.
    let mut known: VecDeque<(Start, GemvCost, Start)> = VecDeque::with_capacity(KNOWN);
    for pass in (0..plan.chunks).flat_map(|_| 0..plan.passes()) {
        (start.row_blocks, start.sends) = (plan.pass_row_blocks(pass), plan.sends_inputs(pass));
        let same = known.iter().find(|it| it.0 == start).copied();
        let (_, cost, end) = same.unwrap_or_else(|| {
            let pass = Pass::new(plan, t, row_words, &start);
            let mut cost = GemvCost::default();
            let closable = Some(pass.add_to(&mut cost, start.closable));
            // Column-major passes all begin at the first row.
            let offset = if plan.is_column_major() { 0 } else { (start.offset + pass.words) % row_words };
            let new = (start, cost, Start { offset, closable, ..start });
            if known.len() == KNOWN {
                known.pop_back();
            }
            known.push_front(new);
            new
        });
        sum.time += cost.time;
        sum.commands += cost.commands;
        start = end;
    }
    // Every command is counted with the slot before it, but the first has none.
    sum.time[GemvPart::Spill] += start.closable.unwrap_or_default() + t.close_to_open - t.slot;
    sum
}

/// Passes that are remembered: chunks of a few passes begin at some words of a row.
const KNOWN: usize = 16;

/// From opening a row until all its words are read and it can close, whatever else it waits for.
fn whole_row(words: u64, t: &PimDelays) -> Picoseconds {
    t.open_to_access + t.slot * (words - 1) + t.read_to_close
}

/// What a pass depends on.
#[derive(Clone, Copy, PartialEq)]
struct Start {
    row_blocks: u64,
    /// Weight words of the open DRAM row that come before its first.
    offset: u64,
    /// Whether it sends inputs, rather than find them in the registers.
    sends: bool,
    /// From the last spill before it until that row can close; no row before the first pass.
    closable: Option<Picoseconds>,
}

/// Each row that is opened is closed.
fn opened(sum: &mut GemvCost, rows: u64) {
    sum.commands[Kind::ActAll] += rows;
    sum.commands[Kind::PreAll] += rows;
}

/// One pass: `row_blocks` row-blocks over the whole input vector. Weight words
/// are numbered from 1; boundary `x` lies between words `x` and `x + 1`.
struct Pass<'a> {
    plan: &'a Plan,
    t: &'a PimDelays,
    row_blocks: u64,
    /// Weight words that a pass reads from one DRAM row.
    row_words: u64,
    /// Weight words of the open DRAM row that come before the first.
    offset: u64,
    /// Whether inputs are sent first; else the registers have them all.
    sends: bool,
    words: u64,
    /// Words of one visit of a row-block in a full burst, and in the ragged last.
    visit: u64,
    ragged_visit: u64,
    full_bursts: u64,
    /// Words between scale events within a visit; 0 if there are none.
    event: u64,
    /// Bursts between scale events where bursts are shorter; else 0.
    event_bursts: u64,
}

/// What happens between two words.
#[derive(Clone, Copy, Default)]
struct Boundary {
    row: bool,
    event: bool,
    visit: bool,
    /// Register writes, if a burst starts.
    writes: Option<u64>,
}

/// When things happen at a boundary, counted from the word before it.
struct Gap {
    /// The next row opens; meaningful at row boundaries only.
    open: Picoseconds,
    /// The next word is read.
    next: Picoseconds,
}

impl<'a> Pass<'a> {
    fn new(plan: &'a Plan, t: &'a PimDelays, row_words: u64, start: &Start) -> Self {
        let Start { row_blocks, offset, sends, .. } = *start;
        let (event, event_bursts) = match (plan.event_inputs, plan.burst_inputs) {
            (0, _) => (0, 0),
            (event, burst) if event <= burst => (plan.words(event), 0),
            (event, burst) => (0, event / burst),
        };
        Self {
            plan,
            t,
            row_blocks,
            row_words,
            offset,
            sends,
            words: row_blocks * plan.row_block_words(),
            visit: plan.words(plan.burst_inputs),
            ragged_visit: plan.words(plan.k() % plan.burst_inputs),
            full_bursts: plan.k() / plan.burst_inputs,
            event,
            event_bursts,
        }
    }

    /// Adds the pass to `sum`; `closable` tells from the last spill before it how
    /// long that row must stay open. Returns the same of its own last spill.
    ///
    /// Each command is counted with one slot before it, and each wait beyond
    /// that where it arises.
    fn add_to(&self, sum: &mut GemvCost, closable: Option<Picoseconds>) -> Picoseconds {
        let (plan, t) = (self.plan, self.t);
        let last_writes = plan.register_writes(plan.inputs_of_burst(plan.bursts() - 1));
        let full_writes = plan.register_writes(plan.burst_inputs);
        let first_writes = if plan.bursts() > 1 { full_writes } else { last_writes };
        let writes = if self.sends { full_writes * (plan.bursts() - 1) + last_writes } else { 0 };
        let events =
            if plan.has_scales() { self.row_blocks * plan.k().div_ceil(plan.event_inputs) } else { 0 };
        let swaps = self.row_blocks * plan.bursts() * plan.visit_swaps(self.row_blocks);
        sum.time[GemvPart::Mac] += t.slot * self.words;
        sum.time[GemvPart::InputVector] += t.slot * writes;
        sum.time[GemvPart::ScaleFactor] += t.slot * (events * (plan.scale_loads() + plan.scale_commands()));
        sum.time[GemvPart::Swap] += t.slot * swaps;
        sum.time[GemvPart::CrossLane] += t.slot * (self.row_blocks * plan.fold_commands());

        let first = if self.sends {
            self.enter(first_writes, closable.is_some())
        } else {
            self.enter_with_inputs(closable.unwrap_or_default())
        };
        sum.commands[Kind::Mac] += self.words + events * plan.scale_loads();
        sum.commands[Kind::RegWrite] += writes;
        sum.commands[Kind::Alu] +=
            events * plan.scale_commands() + swaps + self.row_blocks * plan.fold_commands();

        let wait = first.next - t.slot;
        if let Some(closable) = closable {
            let until_writes = if self.sends { closable + t.bus - t.slot } else { Picoseconds::ZERO };
            sum.time[GemvPart::Spill] += until_writes + wait;
        } else {
            let opening = wait.min(t.open_to_access);
            sum.time[GemvPart::RowOpen] += opening;
            sum.time[GemvPart::Turnaround] += wait - opening;
        }
        opened(sum, 1);

        self.add_inner_boundaries(sum, full_writes);
        let last_open = self.add_first_visit(sum, &first);
        self.add_exit(sum, last_open)
    }

    /// From the last register write of the first burst to the first word. The
    /// output row of the last pass, if there is one, closes just before the first
    /// register write.
    fn enter(&self, writes: u64, output_row: bool) -> Gap {
        let t = self.t;
        let since_close = t.bus + t.slot * (writes - 1);
        let closing =
            if output_row { t.close_to_open.saturating_sub(since_close) } else { Picoseconds::ZERO };
        let open = t.write_to_row.max(closing);
        Gap { open, next: (open + t.open_to_access).max(t.write_to_read) }
    }

    /// From the last spill before to the first word, if no inputs are sent between.
    fn enter_with_inputs(&self, closable: Picoseconds) -> Gap {
        let t = self.t;
        let open = closable + t.close_to_open;
        Gap { open, next: (open + t.open_to_access).max(t.write_to_read) }
    }

    /// A first row that is left before tRAS stays open longer. Returns how long
    /// the last row has been open when the last word is read; at least tRAS if
    /// it does not matter.
    fn add_first_visit(&self, sum: &mut GemvCost, first: &Gap) -> Picoseconds {
        let first_words = self.row_words - self.offset;
        if first_words >= self.words {
            return first.next - first.open + self.span(1, self.words);
        }
        let open_for = first.next - first.open + self.span(1, first_words);
        let boundary = self.boundary(first_words);
        let held = self.gap(boundary, self.t.open_to_close.saturating_sub(open_for));
        sum.time[GemvPart::RowOpen] += held.next - self.gap(boundary, Picoseconds::ZERO).next;

        let last_words = (self.offset + self.words - 1) % self.row_words + 1;
        let start = self.words - last_words;
        let opened =
            if start == first_words { held } else { self.gap(self.boundary(start), Picoseconds::ZERO) };
        opened.next - opened.open + self.span(start + 1, self.words)
    }

    /// Fold, then the row of outputs.
    fn add_exit(&self, sum: &mut GemvCost, last_open: Picoseconds) -> Picoseconds {
        let (plan, t) = (self.plan, self.t);
        let end = self.boundary(self.words);
        let last_read = t.slot * self.loads(end);
        let commands = self.commands(end) + self.row_blocks * plan.fold_commands();
        let close = (t.slot * commands + t.bus)
            .max(last_read + t.read_to_close)
            .max(t.open_to_close.saturating_sub(last_open));
        let open = close + t.close_to_open;
        let spill = (open + t.open_to_access).max(last_read + t.read_to_write).max(t.slot * (commands + 1));
        let spills = self.row_blocks * plan.spill_words();
        sum.commands[Kind::Spill] += spills;
        opened(sum, 1);
        sum.time[GemvPart::Spill] += spill - t.slot * (commands + 1) + t.slot * spills;
        let last_spill = spill + t.slot * (spills - 1);
        t.spill_to_close.max((open + t.open_to_close).saturating_sub(last_spill))
    }

    /// Every wait at boundaries `1..words`.
    fn add_inner_boundaries(&self, sum: &mut GemvCost, full_writes: u64) {
        let row_words = self.row_words;
        let rows = (self.offset + self.words - 1) / row_words;
        opened(sum, rows);
        let mut rows_left = rows;
        let mut add = |boundary: Boundary, count: u64| {
            if count == 0 {
                return;
            }
            let gap = self.gap(boundary, Picoseconds::ZERO);
            let between = self.commands(boundary) + boundary.writes.unwrap_or(0);
            let wait = gap.next - self.t.slot * (between + 1);
            // Opening a row takes its share first, as long as it takes without the writes.
            let opening = if boundary.row { wait.min(self.row_wait(boundary)) } else { Picoseconds::ZERO };
            sum.time[GemvPart::RowOpen] += opening * count;
            sum.time[GemvPart::Turnaround] += (wait - opening) * count;
            rows_left -= if boundary.row { count } else { 0 };
        };
        // `count` boundaries of one sort, `hits` of them where a row ends.
        let mut add_both = |boundary: Boundary, count: u64, hits: u64| {
            add(Boundary { row: true, ..boundary }, hits);
            add(Boundary { row: false, ..boundary }, count - hits);
        };
        let hits = |first: u64, step: u64, count: u64| aligned(self.offset + first, step, count, row_words);
        let full_visits = self.full_bursts * self.row_blocks;
        let (visit, burst) = (self.visit, self.visit * self.row_blocks);

        if self.event_bursts > 0 {
            for x in (1..full_visits).map(|it| it * visit) {
                let boundary = self.boundary(x);
                add_both(boundary, 1, u64::from(boundary.row));
            }
        } else {
            let event = self.event > 0;
            let starts = Boundary { event, visit: true, writes: Some(full_writes), ..Boundary::default() };
            let count = self.full_bursts.saturating_sub(1);
            add_both(starts, count, hits(0, burst, count));

            let visit_hits = hits(0, visit, full_visits);
            let between = Boundary { event, visit: true, ..Boundary::default() };
            add_both(between, full_visits - self.full_bursts, visit_hits - hits(0, burst, self.full_bursts));

            if event {
                let count = full_visits * (visit / self.event);
                let inside = Boundary { event, ..Boundary::default() };
                add_both(inside, count - full_visits, hits(0, self.event, count) - visit_hits);
            }
        }
        if self.ragged_visit > 0 {
            let ragged = self.full_bursts * burst;
            if ragged > 0 {
                let boundary = self.boundary(ragged);
                add_both(boundary, 1, u64::from(boundary.row));
            }
            let count = self.row_blocks - 1;
            let between = self.boundary(ragged + self.ragged_visit);
            let between = Boundary { writes: None, ..between };
            add_both(between, count, hits(ragged, self.ragged_visit, count));
            if let Some(count) = (self.ragged_visit - 1).checked_div(self.event) {
                let inside = Boundary { event: true, ..Boundary::default() };
                for visit in 0..self.row_blocks {
                    let x = ragged + visit * self.ragged_visit;
                    add_both(inside, count, hits(x, self.event, count));
                }
            }
        }
        let plain = rows_left;
        sum.time[GemvPart::RowOpen] += self.row_wait(Boundary { row: true, ..Boundary::default() }) * plain;
    }

    /// What opening a row alone holds up the word behind a boundary, if no burst starts there.
    fn row_wait(&self, boundary: Boundary) -> Picoseconds {
        let alone = Boundary { writes: None, ..boundary };
        self.gap(alone, Picoseconds::ZERO).next - self.t.slot * (self.commands(alone) + 1)
    }

    /// What lies behind word `x`.
    fn boundary(&self, x: u64) -> Boundary {
        let plan = self.plan;
        let burst = self.visit * self.row_blocks;
        let in_full = x <= self.full_bursts * burst;
        let (number, visit, x_in_burst) = if in_full {
            ((x - 1) / burst, self.visit, (x - 1) % burst + 1)
        } else {
            (self.full_bursts, self.ragged_visit, x - self.full_bursts * burst)
        };
        let ends_visit = x_in_burst.is_multiple_of(visit);
        let ends_burst = x_in_burst == visit * self.row_blocks;
        let event = if self.event_bursts > 0 {
            ends_visit && (!in_full || (number + 1).is_multiple_of(self.event_bursts))
        } else {
            self.event > 0 && (ends_visit || ((x_in_burst - 1) % visit + 1).is_multiple_of(self.event))
        };
        let starts = ends_burst && number + 1 < plan.bursts();
        Boundary {
            row: (self.offset + x).is_multiple_of(self.row_words),
            event,
            visit: ends_visit,
            writes: starts.then(|| plan.register_writes(plan.inputs_of_burst(number + 1))),
        }
    }

    /// Reads of scale factors behind a word.
    fn loads(&self, boundary: Boundary) -> u64 {
        if boundary.event { self.plan.scale_loads() } else { 0 }
    }

    /// Commands behind a word, register writes left out.
    fn commands(&self, boundary: Boundary) -> u64 {
        let scale = if boundary.event { self.plan.scale_loads() + self.plan.scale_commands() } else { 0 };
        scale + if boundary.visit { self.plan.visit_swaps(self.row_blocks) } else { 0 }
    }

    /// The times at a boundary whose row may not close before `earliest_close`.
    fn gap(&self, boundary: Boundary, earliest_close: Picoseconds) -> Gap {
        let t = self.t;
        let last_read = t.slot * self.loads(boundary);
        let mut last = t.slot * self.commands(boundary);
        let (mut ready, mut closable) = (last + t.slot, last + t.bus);
        if let Some(writes) = boundary.writes {
            last = ready.max(last_read + t.read_to_write) + t.slot * (writes - 1);
            (ready, closable) = (last + t.write_to_read, last + t.write_to_row);
        }
        let close = closable.max(last_read + t.read_to_close).max(earliest_close);
        let open = close + t.close_to_open;
        Gap { open, next: if boundary.row { ready.max(open + t.open_to_access) } else { ready } }
    }

    /// From word `from` to word `to` of one row, or more than tRAS.
    fn span(&self, from: u64, to: u64) -> Picoseconds {
        let least = self.t.slot * (to - from);
        if least >= self.t.open_to_close {
            return least;
        }
        (from..to).map(|x| self.gap(self.boundary(x), Picoseconds::ZERO).next).sum()
    }
}

/// How many of `first + step`, `first + 2 step`, ... `first + count step` are
/// multiples of `modulus`.
fn aligned(first: u64, step: u64, count: u64, modulus: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    let (step, mut at) = (step % modulus, first % modulus);
    if step == 0 {
        return if at == 0 { count } else { 0 };
    }
    // The hits repeat; the first two tell how often.
    let mut first_hit = 0;
    for i in 1..=count {
        at += step;
        if at >= modulus {
            at -= modulus;
        }
        if at == 0 {
            if first_hit == 0 {
                first_hit = i;
            } else {
                return 1 + (count - first_hit) / (i - first_hit);
            }
        } else if first_hit == 0 && i >= modulus {
            return 0;
        }
    }
    u64::from(first_hit > 0)
}
