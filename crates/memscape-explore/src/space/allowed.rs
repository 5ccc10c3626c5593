//! Which points of a finite space its constraints over parameters allow.

use rayon::prelude::*;

use super::cursor::Cursor;
use super::plan::Plan;
use crate::error::Error;

/// More places than this do not fit beside the table that they are for.
const MOST_ALLOWED: usize = 1 << 28;

impl Plan<'_> {
    /// How many rows there are: the points that are allowed.
    pub(crate) fn rows(&self) -> Result<u64, Error> {
        self.allowed.as_ref().map_or_else(|| self.size(), |it| Ok(it.len() as u64))
    }

    /// Where a row's point stands in the space.
    pub(crate) fn place(&self, row: u64) -> u64 {
        let place = |all: &Vec<u64>| usize::try_from(row).ok().and_then(|it| all.get(it).copied());
        self.allowed.as_ref().map_or(row, |all| place(all).unwrap_or(u64::MAX))
    }
}

/// Finds the points that conditions and constraints over parameters allow, if there
/// are any such, so that they can be counted.
///
/// # Errors
/// [`Error::BadSweep`] names the constraint that allows nothing, or says that there are
/// too many points to list.
pub(crate) fn find_allowed(plan: &mut Plan<'_>) -> Result<(), Error> {
    if plan.prunes.is_empty() && !plan.conditional {
        return Ok(());
    }
    let size = plan.size()?;
    let chunk = (size / (16 * rayon::current_num_threads() as u64)).clamp(1, 1 << 24);
    let looked: &Plan<'_> = plan;
    let parts = (0..size.div_ceil(chunk)).into_par_iter().map(|index| {
        let end = (index + 1).saturating_mul(chunk).min(size);
        let mut cursor = Cursor::new(looked, index * chunk);
        let mut places = Vec::new();
        while cursor.settle(end) {
            places.push(cursor.place());
            cursor.advance();
        }
        places
    });
    let mut allowed = Vec::new();
    for part in parts.collect::<Vec<_>>() {
        allowed.extend(part);
        if allowed.len() > MOST_ALLOWED {
            return Err(Error::BadSweep(format!(
                "the constraints leave more than {MOST_ALLOWED} points, which is more than a table holds; \
                 shorten an axis, or ask for the front alone"
            )));
        }
    }
    if allowed.is_empty() {
        return Err(nothing_allowed(plan));
    }
    plan.allowed = Some(allowed);
    Ok(())
}

/// Says which constraint alone allows nothing, or that all together do.
pub(crate) fn nothing_allowed(plan: &mut Plan<'_>) -> Error {
    let size = plan.size().unwrap_or(0);
    let all = std::mem::take(&mut plan.prunes);
    let texts: Vec<String> = all.iter().map(|it| format!("`{}`", it.expression)).collect();
    for (check, text) in all.into_iter().zip(&texts) {
        plan.prunes = vec![check];
        if !Cursor::new(plan, 0).settle(size) {
            return Error::BadSweep(format!(
                "the constraint {text} leaves none of {size} points (what is null never holds); loosen it"
            ));
        }
    }
    Error::BadSweep(format!(
        "the constraints {} together leave none of {size} points; loosen one",
        texts.join(" and ")
    ))
}
