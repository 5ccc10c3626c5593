//! Points that a search comes to, answered from and into a store.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use polars::prelude::DataFrame;

use super::fill::Filled;
use super::known::{Found, Known};
use super::manifest::{Manifest, host, now};
use super::shard::Shard;
use super::store::{Store, finish};
use crate::asker::Asker;
use crate::columns::Columns;
use crate::control::Control;
use crate::digest::digest;
use crate::error::Error;
use crate::origin::Origin;
use crate::persistence::{CHECKPOINT, persistently};
use crate::points::{Point, answered};
use crate::question::Question;
use crate::space::{Cursor, Judge, Key, Keys, Plan};
use crate::table::{ROW_GROUP, Table};

/// Answers points one batch after another. What is new is saved every 20 seconds, and as the
/// question's rows at the end.
pub(crate) struct Keeper<'a> {
    plan: &'a Plan<'a>,
    asker: Asker<'a>,
    judge: &'a Judge<'a>,
    store: &'a Store,
    control: &'a dyn Control,
    folder: PathBuf,
    manifest: Manifest,
    note: String,
    keys: Keys,
    known: Known<'a>,
    /// What was computed and is not saved.
    points: Vec<Point>,
    answers: Columns,
    since: Instant,
    pause: Duration,
    filled: Filled,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(
        (store, question): (&'a Store, &Question),
        plan: &'a Plan<'a>,
        asker: Asker<'a>,
        judge: &'a Judge<'a>,
        control: &'a dyn Control,
    ) -> Result<Self, Error> {
        let folder = store.shelf(question);
        let manifest = Manifest {
            origin: Origin::of(question),
            rows: question.points(),
            block: ROW_GROUP as u64,
            blocks: Vec::new(),
            host: host(),
            started: now(),
            finished: None,
            checksum: String::new(),
        };
        Ok(Self {
            plan,
            asker,
            judge,
            store,
            control,
            note: Origin::brief(question).note()?,
            keys: Keys::new(plan, question.edition().key()),
            known: Known::new(store, control, &folder).with_own_blocks(),
            filled: Filled { question: question.id().to_owned(), ..Filled::default() },
            folder,
            manifest,
            points: Vec::new(),
            answers: asker.empty(),
            since: Instant::now(),
            pause: CHECKPOINT,
        })
    }

    /// The answers of these points, in their order.
    pub(crate) fn answers(&mut self, points: &[Point]) -> Result<Columns, Error> {
        let keys = self.keys_of(points);
        let found = self.known.find(&keys, &self.asker.empty())?;
        let places = found.as_ref().map_or_else(|| vec![None; points.len()], |it| it.places.clone());
        let missing = places.iter().zip(points).filter(|it| it.0.is_none());
        let missing: Vec<Point> = missing.map(|it| it.1.clone()).collect();
        let computed = answered(self.plan, &self.asker, self.judge, &missing).columns;
        self.answers.append(computed.clone());
        self.filled.rows += points.len() as u64;
        self.filled.found += (points.len() - missing.len()) as u64;
        self.filled.computed += missing.len() as u64;
        self.points.extend(missing);
        if self.since.elapsed() > self.pause {
            let start = Instant::now();
            if let Err(error) = self.save() {
                self.control.warned(&format!("not saved yet, will be tried again: {error}"));
            }
            // Most of the time is for work.
            self.pause = self.pause.max(start.elapsed() * 10);
            self.since = Instant::now();
        }
        let Some(Found { mut answers, places }) = found else { return Ok(computed) };
        let mut next = u32::try_from(answers.rows()).unwrap_or(u32::MAX)..;
        answers.append(computed);
        let order: Vec<u32> = places.iter().filter_map(|it| it.or_else(|| next.next())).collect();
        Ok(answers.gather(&order))
    }

    /// Ends: the rows are the question's answer if the search is complete, else what is new is
    /// kept for when it is asked again.
    pub(crate) fn end(
        mut self,
        points: &[Point],
        answers: &Columns,
        complete: bool,
    ) -> Result<Filled, Error> {
        self.filled.complete = complete;
        let control = self.control;
        if complete {
            persistently(control, || self.write_all(points, answers))?;
        } else {
            persistently(control, || self.save())?;
        }
        Ok(self.filled)
    }

    fn write_all(&self, points: &[Point], answers: &Columns) -> Result<(), Error> {
        if points.is_empty() {
            return Ok(());
        }
        self.store.begin(&self.manifest, &self.folder)?;
        let there = Shard::all(&self.folder)?;
        let mut blocks = Vec::new();
        for (index, points) in points.chunks(ROW_GROUP).enumerate() {
            let keys = self.keys_of(points);
            let address = self.address(&keys);
            if !there.iter().any(|it| !it.part && it.address == address) {
                let first = u32::try_from(index * ROW_GROUP).unwrap_or(u32::MAX);
                let order: Vec<u32> = (first..).take(points.len()).collect();
                let table = self.table(points, answers.gather(&order))?;
                Shard::write(&self.folder, &address, false, &table, &keys, &self.note)?;
            }
            blocks.push(address);
        }
        let manifest = Manifest { rows: points.len() as u64, ..self.manifest.clone() };
        finish(manifest, &self.folder, blocks)?;
        Shard::all(&self.folder)?.iter().filter(|it| it.part).try_for_each(Shard::remove)
    }

    fn save(&mut self) -> Result<(), Error> {
        if self.points.is_empty() {
            return Ok(());
        }
        self.store.begin(&self.manifest, &self.folder)?;
        let keys = self.keys_of(&self.points);
        let table = self.table(&self.points, self.answers.clone())?;
        let address = self.address(&keys);
        Shard::write(&self.folder, &address, true, &table, &keys, &self.note)?;
        self.points.clear();
        self.answers = self.asker.empty();
        Ok(())
    }

    fn keys_of(&self, points: &[Point]) -> Vec<Key> {
        let Some(first) = points.first() else { return Vec::new() };
        let mut cursor = Cursor::at(self.plan, first.to_vec());
        let key = |point: &Point| {
            cursor.go(point);
            self.keys.at(self.plan, &cursor)
        };
        points.iter().map(key).collect()
    }

    fn address(&self, keys: &[Key]) -> String {
        let mut content = self.manifest.origin.id.as_bytes().to_vec();
        content.extend(keys.iter().flat_map(|it| it.to_le_bytes()));
        digest(&content)
    }

    fn table(&self, points: &[Point], answers: Columns) -> Result<Table, Error> {
        let mut columns = self.plan.columns_at(points.iter());
        columns.extend(self.plan.named_apart(answers).into_polars());
        Ok(Table::from_frame(DataFrame::new(points.len(), columns)?))
    }
}
