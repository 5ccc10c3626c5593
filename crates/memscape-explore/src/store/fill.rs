//! A question's answers, put into a store as far as they are not there.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::block::Cut;
use super::known::{Found, Known};
use super::manifest::{Manifest, host, now};
use super::shard::Shard;
use super::store::{self, Store};
use crate::answers::{Rows, answers_at};
use crate::columns::Columns;
use crate::control::{Control, Part};
use crate::error::Error;
use crate::origin::Origin;
use crate::persistence::{CHECKPOINT, Watch, persistently};
use crate::question::Question;
use crate::registry::DynStudy;
use crate::room::check_room;
use crate::space::Key;
use crate::sweep::Sweep;
use crate::table::Table;
use crate::table_writer::{check_place, write_pieces};

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filled {
    /// The question's identity.
    pub question: String,
    /// How many rows were asked for.
    pub rows: u64,
    /// How many of them had been answered before.
    pub found: u64,
    /// How many were computed.
    pub computed: u64,
    /// Whether all are there; false if the work was cancelled.
    pub complete: bool,
}

/// What became of a question whose rows went to a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The question, and how many rows it took.
    pub filled: Filled,
    /// Rows without an answer.
    pub unanswered: u64,
    /// Those of them that are faults of this program.
    pub faults: u64,
}

/// What of a question a store lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Where its answers go.
    pub folder: PathBuf,
    /// How many rows it has.
    pub rows: u64,
    /// How many rows a block has, the last one aside.
    pub block: u64,
    /// The rows of each block that is not there, and how many of them other questions or earlier work have all
    /// the same.
    pub blocks: Vec<(Range<u64>, u64)>,
}

/// Sees a question's rows piece by piece, in order.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(Table) -> Result<(), Error>;

impl Store {
    /// Answers a question. Rows that are there, from whatever question, are not
    /// computed again. Every block, and every 20 seconds what there is of one, is written as a
    /// file of its own, so that nothing but that is lost if the process dies.
    ///
    /// # Errors
    /// [`Error`] if the question is wrong, or the store cannot be read or written.
    pub fn fill(&self, study: &dyn DynStudy, sweep: &Sweep, control: &dyn Control) -> Result<Filled, Error> {
        let cut = Cut::of(study, sweep)?;
        Filler::at_once(&cut, self, control, CHECKPOINT)?.all(None)
    }

    /// The same for some rows: one worker's share. Less than a block is kept until the question is whole.
    ///
    /// # Errors
    /// As [`Store::fill`], and [`Error::BadSweep`] for rows that there are not.
    pub fn fill_rows(
        &self,
        study: &dyn DynStudy,
        sweep: &Sweep,
        rows: &[Range<u64>],
        control: &dyn Control,
    ) -> Result<Filled, Error> {
        let cut = Cut::of(study, sweep)?;
        if let Some(Range { start, end }) = rows.iter().find(|it| it.start > it.end || it.end > cut.rows) {
            return Err(Error::BadSweep(format!(
                "there are no rows from {start} to {end}; the question has {}",
                cut.rows
            )));
        }
        let pieces = rows.iter().flat_map(|it| cut.pieces(it.clone()));
        Ok(Filler::at_once(&cut, self, control, CHECKPOINT)?.some(pieces, None)?.0)
    }

    /// As [`Store::fill`], with all rows as a table: those that were done if it was cancelled.
    ///
    /// # Errors
    /// As [`Store::fill`], and [`Error::BadSweep`] if the table would not fit in memory.
    pub fn sweep(
        &self,
        study: &dyn DynStudy,
        sweep: &Sweep,
        control: &dyn Control,
    ) -> Result<(Table, Filled), Error> {
        let cut = Cut::of(study, sweep)?;
        check_room(cut.rows, cut.columns)?;
        let mut table: Option<Table> = None;
        let filled = Filler::at_once(&cut, self, control, CHECKPOINT)?.all(Some(&mut |piece| {
            table = Some(match table.take() {
                Some(before) => before.concat(&piece)?,
                None => piece,
            });
            Ok(())
        }))?;
        let table = table.map_or_else(|| cut.table(&Rows::Range(0..0), cut.asker.empty()), Ok)?;
        Ok((if filled.complete { table } else { table.interrupted() }, filled))
    }

    /// As [`Store::fill`], with all rows written as Parquet, or CSV if `path` ends in `.csv`: block by
    /// block, so that memory is for a few blocks only. If it is cancelled there is no file, and
    /// the store keeps what was done.
    ///
    /// # Errors
    /// As [`Store::fill`], and [`Error::File`] if the file cannot be written, or holds what neither answers this nor is
    /// kept here and `overwrite` is not given.
    pub fn sweep_to_file(
        &self,
        study: &dyn DynStudy,
        sweep: &Sweep,
        path: &Path,
        overwrite: bool,
        control: &dyn Control,
    ) -> Result<Written, Error> {
        check_place(path)?;
        let cut = Cut::of(study, sweep)?;
        if !overwrite {
            check_finished(path, &cut.question, Some(self))?;
        }
        Filler::at_once(&cut, self, control, CHECKPOINT)?.write(path)
    }

    /// What of a question a store lacks, if all its shards are sound.
    ///
    /// # Errors
    /// As [`Store::fill`].
    pub fn lacking(&self, study: &dyn DynStudy, sweep: &Sweep) -> Result<Lacking, Error> {
        let cut = Cut::of(study, sweep)?;
        let filler = Filler::at_once(&cut, self, &(), CHECKPOINT)?;
        let there = Shelf::read(&filler.folder)?;
        let mut known = Known::new(self, &(), &filler.folder);
        let mut blocks = Vec::new();
        for rows in cut.pieces(0..cut.rows) {
            let keys = cut.keys(&Rows::Range(rows.clone()));
            if !there.blocks.contains_key(&cut.address(&keys)) {
                blocks.push((rows, known.count(&keys)?));
            }
        }
        Ok(Lacking { folder: filler.folder, rows: cut.rows, block: cut.block, blocks })
    }
}

/// Refuses a file that holds something else than this question's answer, unless `store` has all of that, too.
pub(super) fn check_finished(path: &Path, question: &Question, store: Option<&Store>) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    let kept = |id: &str| store.map_or(Ok(false), |it| it.has_ended_as(id));
    let holds = match Origin::read(path) {
        Ok(it) if it.id == question.id() || kept(&it.id)? => return Ok(()),
        Ok(it) if it.edition != *question.edition() && it.edition.study == question.edition().study => {
            format!("what another version of `{}` answered", it.edition.study)
        }
        Ok(it) => format!("the answer to another question of `{}`", it.edition.study),
        Err(_) => "something else than an answer".to_owned(),
    };
    let problem =
        format!("it holds {holds}; name another file, remove it, or have it replaced (`overwrite`)");
    Err(Error::file(path, &problem))
}

/// How long a look at a folder is good for.
const LOOK: Duration = Duration::from_secs(2);

/// The blocks of a question that are there, by address. Several files have the same rows
/// where two processes have written them.
struct Shelf {
    blocks: HashMap<String, Vec<Shard>>,
    read: Instant,
}

impl Shelf {
    fn read(folder: &Path) -> Result<Self, Error> {
        let mut blocks: HashMap<String, Vec<Shard>> = HashMap::new();
        for shard in Shard::all(folder)?.into_iter().filter(|it| !it.part) {
            blocks.entry(shard.address.clone()).or_default().push(shard);
        }
        Ok(Self { blocks, read: Instant::now() })
    }
}

/// A block on its way to the disk.
struct Finished {
    address: String,
    keys: Vec<Key>,
    table: Table,
    /// Whether it is less than a block.
    part: bool,
    /// What was saved of it before.
    parts: Vec<Shard>,
}

/// Rows of a block, as far as they are done.
struct Block {
    table: Table,
    found: u64,
    computed: u64,
    /// What was saved of it meanwhile.
    parts: Vec<Shard>,
    complete: bool,
}

/// A question on its way into a store.
pub(crate) struct Filler<'a> {
    cut: &'a Cut<'a>,
    store: &'a Store,
    control: &'a dyn Control,
    folder: PathBuf,
    note: String,
    /// That the store says that the question is asked: a question may have a million values.
    begun: OnceLock<()>,
    /// How long to work at least before saving what is done of a block.
    pause: Duration,
    /// Whether whole blocks are kept in memory for as long, too.
    late: bool,
    /// How many rows are answered between two looks at the caller: as many as it was in the block before.
    breath: Mutex<usize>,
}

/// Cells of blocks that are kept in memory: some hundred million bytes.
const MOST_CELLS: usize = 1 << 26;

impl<'a> Filler<'a> {
    /// Each block is written when it is done.
    pub(crate) fn at_once(
        cut: &'a Cut<'a>,
        store: &'a Store,
        control: &'a dyn Control,
        pause: Duration,
    ) -> Result<Self, Error> {
        let filler = Self { late: false, ..Self::late(cut, store, control, pause)? };
        filler.begin()?;
        Ok(filler)
    }

    /// Nothing is written before it would be a loss: for who wants the rows elsewhere.
    pub(crate) fn late(
        cut: &'a Cut<'a>,
        store: &'a Store,
        control: &'a dyn Control,
        pause: Duration,
    ) -> Result<Self, Error> {
        let folder = store.shelf(&cut.question);
        let note = Origin::brief(&cut.question).note()?;
        let breath = Mutex::new(rayon::current_num_threads());
        Ok(Self { cut, store, control, folder, note, begun: OnceLock::new(), pause, late: true, breath })
    }

    fn begin(&self) -> Result<(), Error> {
        if self.begun.get().is_none() {
            self.store.begin(&manifest(self.cut), &self.folder)?;
            self.begun.get_or_init(|| ());
        }
        Ok(())
    }

    /// Every block, and all rows as a file. There is none if it is cancelled.
    pub(crate) fn write(&self, path: &Path) -> Result<Written, Error> {
        let (mut unanswered, mut faults, mut done) = (0, 0, None);
        let outcome = write_pieces(path, &Origin::of(&self.cut.question), |write| {
            let filled = self.all(Some(&mut |piece: Table| {
                if piece.unanswered() > 0 {
                    unanswered += piece.unanswered() as u64;
                    faults += piece.internal_errors() as u64;
                }
                write(piece)
            }))?;
            let complete = filled.complete;
            done = Some(filled);
            // Nothing appears at `path` if this is an error, whatever it says.
            if complete { Ok(()) } else { Err(Error::NoAnswer("cancelled".to_owned())) }
        });
        match (outcome, done) {
            (Err(error), None) => Err(error),
            (Err(error), Some(filled)) if filled.complete => Err(error),
            (_, filled) => Ok(Written { filled: filled.unwrap_or_default(), unanswered, faults }),
        }
    }

    /// Every block, and a manifest that says so.
    pub(crate) fn all(&self, sink: Option<Sink<'_>>) -> Result<Filled, Error> {
        let (filled, addresses) = self.some(self.cut.pieces(0..self.cut.rows), sink)?;
        if filled.complete && !self.late {
            store::finish(manifest(self.cut), &self.folder, addresses)?;
            Shard::all(&self.folder)?.iter().filter(|it| it.part).try_for_each(Shard::remove)?;
        }
        Ok(filled)
    }

    /// These pieces of blocks, and their addresses as far as they are done. Files are written while
    /// the next one is computed.
    fn some(
        &self,
        pieces: impl Iterator<Item = Range<u64>> + Clone,
        sink: Option<Sink<'_>>,
    ) -> Result<(Filled, Vec<String>), Error> {
        let (walked, held) = thread::scope(|scope| {
            // One may wait while another is written: blocks take unlike times.
            let (send, receive) = sync_channel(1);
            let writer = scope.spawn(move || self.write_all(receive));
            let walked = self.walk(pieces, sink, &send);
            drop(send);
            match writer.join() {
                Ok(Ok(held)) => (walked, held),
                // It is why the walk ended.
                Ok(Err(error)) => (Err(error), Vec::new()),
                Err(_) => (Err(Error::Internal("a writer panicked".to_owned())), Vec::new()),
            }
        });
        let complete = walked.as_ref().is_ok_and(|it| it.0.complete);
        if !complete && !held.is_empty() {
            persistently(self.control, || self.save(&held))?;
        }
        walked
    }

    fn walk(
        &self,
        pieces: impl Iterator<Item = Range<u64>> + Clone,
        mut sink: Option<Sink<'_>>,
        send: &SyncSender<Finished>,
    ) -> Result<(Filled, Vec<String>), Error> {
        let mut there = Shelf::read(&self.folder)?;
        let mut known = Known::new(self.store, self.control, &self.folder);
        let mut addresses = Vec::new();
        let mut filled = Filled {
            question: self.cut.question.id().to_owned(),
            rows: pieces.clone().map(|it| it.end - it.start).sum(),
            ..Filled::default()
        };
        for piece in pieces {
            if self.control.cancelled() {
                return Ok((filled, addresses));
            }
            let whole = self.cut.rows_of(piece.start / self.cut.block);
            let part = piece != whole;
            let rows = Rows::Range(piece);
            let keys = self.cut.keys(&rows);
            let own = self.cut.address(&keys);
            let address =
                if part { self.cut.address(&self.cut.keys(&Rows::Range(whole))) } else { own.clone() };
            if there.read.elapsed() > LOOK {
                there = Shelf::read(&self.folder)?;
            }
            let candidates = there.blocks.get(&address).map(Vec::as_slice).unwrap_or_default();
            if self.there(candidates, &mut sink)? {
                filled.found += keys.len() as u64;
            } else {
                let before = filled.found + filled.computed;
                let control = Part { control: self.control, before, total: filled.rows };
                let block = self.block(&rows, &keys, &mut known, &control)?;
                filled.found += block.found;
                filled.computed += block.computed;
                if let Some(sink) = &mut sink {
                    sink(block.table.clone())?;
                }
                if !block.complete {
                    return Ok((filled, addresses));
                }
                let Block { table, parts, computed, .. } = block;
                let finished = Finished { address: own, keys, table, part, parts };
                // What others have kept of a piece is there.
                if (!part || computed > 0) && send.send(finished).is_err() {
                    return Ok((filled, addresses));
                }
            }
            addresses.push(address);
            self.control.advanced(filled.found + filled.computed, filled.rows);
        }
        filled.complete = true;
        Ok((filled, addresses))
    }

    /// Whether a block is there; its rows go on if anybody wants them.
    fn there(&self, candidates: &[Shard], sink: &mut Option<Sink<'_>>) -> Result<bool, Error> {
        for shard in candidates {
            let there = match sink {
                None => self.store.read(shard, Shard::check, self.control)?.is_some(),
                Some(sink) => match self.store.read(shard, Shard::table, self.control)? {
                    Some(table) => {
                        sink(table)?;
                        true
                    }
                    None => false,
                },
            };
            if there {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A block that is not there: what other questions know of it, and the rest computed.
    fn block(
        &self,
        rows: &Rows,
        keys: &[Key],
        known: &mut Known<'_>,
        control: &dyn Control,
    ) -> Result<Block, Error> {
        let empty = self.cut.asker.empty();
        let Some(Found { mut answers, places }) = known.find(keys, &empty)? else {
            let (answers, parts) = self.compute(rows, control)?;
            let count = answers.rows();
            let table = self.cut.table(&rows.part(0..count), answers)?;
            let complete = count == rows.len();
            return Ok(Block { table, found: 0, computed: count as u64, parts, complete });
        };
        let found = answers.rows();
        let missing = places.iter().enumerate().filter(|it| it.1.is_none()).map(|it| rows.at(it.0)).collect();
        let (computed, parts) = self.compute(&Rows::These(missing), control)?;
        let fresh = computed.rows();
        answers.append(computed);
        let mut next = found..found + fresh;
        let order: Vec<u32> = places
            .iter()
            .map_while(|it| it.or_else(|| next.next().and_then(|it| u32::try_from(it).ok())))
            .collect();
        let table = self.cut.table(&rows.part(0..order.len()), answers.gather(&order))?;
        let complete = order.len() == rows.len();
        let computed = fresh as u64;
        Ok(Block { table, found: order.len() as u64 - computed, computed, parts, complete })
    }

    /// Computes rows, and saves what is done every now and then, and if it is cancelled.
    fn compute(&self, rows: &Rows, control: &dyn Control) -> Result<(Columns, Vec<Shard>), Error> {
        let (plan, asker) = (&self.cut.plan, &self.cut.asker);
        let mut done = asker.empty();
        let mut saved: Vec<Shard> = Vec::new();
        let mut pause = self.pause;
        let mut breath = self.breath.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let rest = rows.part(done.rows()..rows.len());
            let watch = Watch { control, since: Instant::now(), pause };
            done.append(answers_at(&mut breath, plan, asker, &rest, &watch));
            if done.rows() == rows.len() {
                return Ok((done, saved));
            }
            let cancelled = control.cancelled();
            if done.rows() == 0 {
                if cancelled {
                    return Ok((done, saved));
                }
                pause *= 2;
                continue;
            }
            let start = Instant::now();
            let part = rows.part(0..done.rows());
            let save = || {
                self.begin()?;
                let keys = self.cut.keys(&part);
                let table = self.cut.table(&part, done.clone())?;
                Shard::write(&self.folder, &self.cut.address(&keys), true, &table, &keys, &self.note)
            };
            match if cancelled { persistently(control, save) } else { save() } {
                Ok(shard) => {
                    for earlier in saved.drain(..).filter(|it| *it != shard) {
                        earlier.remove()?;
                    }
                    saved.push(shard);
                }
                Err(error) if cancelled => return Err(error),
                Err(error) => control.warned(&format!("not saved yet, will be tried again: {error}")),
            }
            if cancelled {
                return Ok((done, saved));
            }
            // Saving takes a while; most of the time is for work.
            pause = pause.max(start.elapsed() * 10);
        }
    }

    /// Saves blocks as they come, and returns those that need not be saved yet.
    #[expect(clippy::needless_pass_by_value, reason = "the walk ends when it is dropped")]
    fn write_all(&self, finished: Receiver<Finished>) -> Result<Vec<Finished>, Error> {
        let (mut held, mut cells, mut since) = (Vec::new(), 0, Instant::now());
        for block in &finished {
            cells += block.keys.len() * self.cut.columns;
            held.push(block);
            if !self.late {
                persistently(self.control, || self.save(&held))?;
            } else if since.elapsed() < self.pause && cells < MOST_CELLS {
                continue;
            } else if let Err(error) = self.save(&held) {
                if cells > 8 * MOST_CELLS {
                    return Err(error);
                }
                self.control.warned(&format!("not saved yet, will be tried again: {error}"));
                since = Instant::now();
                continue;
            }
            held.clear();
            (cells, since) = (0, Instant::now());
        }
        Ok(held)
    }

    fn save(&self, blocks: &[Finished]) -> Result<(), Error> {
        self.begin()?;
        for it in blocks {
            let written = Shard::write(&self.folder, &it.address, it.part, &it.table, &it.keys, &self.note)?;
            it.parts.iter().filter(|it| **it != written).try_for_each(Shard::remove)?;
        }
        Ok(())
    }
}

fn manifest(cut: &Cut<'_>) -> Manifest {
    Manifest {
        origin: Origin::of(&cut.question),
        rows: cut.rows,
        block: cut.block,
        blocks: Vec::new(),
        host: host(),
        started: now(),
        finished: None,
        checksum: String::new(),
    }
}
