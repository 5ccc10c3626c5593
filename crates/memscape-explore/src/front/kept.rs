//! The front of a space whose answers are kept.

use rayon::prelude::*;

use super::of_space::{Best, Front, Seen, Walk, told};
use crate::control::Control;
use crate::error::Error;
use crate::guard::guarded;
use crate::parameters::Parameters;
use crate::persistence::CHECKPOINT;
use crate::registry::DynStudy;
use crate::space::{Judge, Objective, Space};
use crate::store::{Cut, Filled, Filler, Store, answers_of};
use crate::sweep::Sweep;

impl Store {
    /// As [`front_of`](crate::front_of), with every point answered from and into the store, as
    /// [`Store::fill`] does: what other objectives want later is there, and workers can share the
    /// filling. Memory is for a few blocks.
    ///
    /// # Errors
    /// As [`front_of`](crate::front_of) and [`Store::fill`].
    pub fn front(
        &self,
        study: &dyn DynStudy,
        base: &[Parameters],
        space: &Space,
        objectives: &[Objective],
        control: &dyn Control,
    ) -> Result<(Front, Filled), Error> {
        guarded(|| {
            /// Rows that one thread judges at a time.
            const CHUNK: u64 = 4096;
            Objective::check(objectives)?;
            let cut = Cut::of(study, &Sweep::over_all(base, space))?;
            let judge = Judge::new(&cut.plan, objectives)?;
            let (mut best, mut seen, mut first) = (Best::new(objectives.len()), Seen::default(), 0);
            let filled = Filler::at_once(&cut, self, control, CHECKPOINT)?.all(Some(&mut |piece| {
                let answers = answers_of(&piece, &cut.asker.empty())?;
                let rows = answers.rows() as u64;
                let judged = (0..rows.div_ceil(CHUNK)).into_par_iter().map(|index| {
                    let part = index * CHUNK..((index + 1) * CHUNK).min(rows);
                    Walk::new(&cut.plan, cut.asker, &judge).judge(&answers, first, part)
                });
                for (part, counts) in judged.collect::<Vec<_>>() {
                    best.take(part);
                    seen.add(&counts);
                }
                best.thin();
                first += rows;
                Ok(())
            }))?;
            let front = told(&cut.plan, cut.asker, &judge, objectives, best, &seen, filled.complete)?;
            Ok((front, filled))
        })
    }
}
