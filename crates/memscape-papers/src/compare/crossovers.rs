//! From which prompt, reply or batch on one platform is before another, to the token.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use memscape_explore::{Column, Parameters, Table};
use memscape_plot::{Figure, TextTable};
use memscape_study::Preset;
use memscape_systems::compare::{Workload, compare, platforms};
use memscape_systems::platform::Platform;
use rayon::prelude::*;

use super::common::{MODEL, question};
use crate::error::Error;

/// What grows, how far, and the question around it.
struct Over {
    name: &'static str,
    most: u64,
    of: fn(&Workload, u64) -> Workload,
    /// What stays, in words.
    beside: &'static str,
}

const OVERS: [Over; 3] = [
    Over {
        name: "prompt tokens",
        most: 1 << 13,
        of: |asked, it| Workload { prompt_tokens: it, ..asked.clone() },
        beside: "reply 128, batch 1",
    },
    Over {
        name: "reply tokens",
        most: 1 << 11,
        of: |asked, it| Workload { generated_tokens: it, ..asked.clone() },
        beside: "prompt 512, batch 1",
    },
    Over {
        name: "batch",
        most: 1 << 6,
        of: |asked, it| Workload { batch: it, ..asked.clone() },
        beside: "prompt 512, reply 128",
    },
];

/// What each of [`OVERS`] grows from.
fn asked(changed: &Parameters) -> Result<Workload, Error> {
    let asked = Workload { prompt_tokens: 512, generated_tokens: 128, ..Workload::of(MODEL) };
    question(asked, changed, &["prompt_tokens", "generated_tokens", "batch"])
}

/// One platform overtakes another: the times of both from there on, and one below.
struct Crossing {
    over: &'static Over,
    ahead: String,
    behind: String,
    from: u64,
    at: [f64; 2],
    below: [f64; 2],
}

/// The platforms' times over what grows, each found once: pairs halve the same stretches.
struct Times {
    over: &'static Over,
    asked: Workload,
    platforms: Vec<Preset<Platform>>,
    known: Mutex<HashMap<(usize, u64), Option<f64>>>,
}

impl Times {
    /// Prompt and reply together; none if the platform cannot run it.
    fn of(&self, platform: usize, at: u64) -> Result<Option<f64>, Error> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(time) = known().get(&(platform, at)) {
            return Ok(*time);
        }
        let table =
            compare(&(self.over.of)(&self.asked, at), std::slice::from_ref(&self.platforms[platform]), &())?;
        let time = table.f64("total_s")?.into_iter().next().flatten();
        known().insert((platform, at), time);
        Ok(time)
    }
}

/// The powers of two up to where it is looked.
fn grid(over: &Over) -> Vec<u64> {
    std::iter::successors(Some(1), |it| Some(it * 2)).take_while(|it| *it <= over.most).collect()
}

/// Between which powers of two one overtakes another is seen at these; where in between, by
/// halving on the model itself.
fn crossings(over: &'static Over, asked: Workload) -> Result<Vec<Crossing>, Error> {
    let (times, grid) = (Times { over, asked, platforms: platforms(), known: Mutex::default() }, grid(over));
    let count = times.platforms.len();
    let each: Vec<_> = (0..count).flat_map(|it| grid.iter().map(move |at| (it, *at))).collect();
    let on_grid: Vec<Option<f64>> =
        each.into_par_iter().with_max_len(1).map(|(it, at)| times.of(it, at)).collect::<Result<_, _>>()?;
    let of = |platform: usize, at: usize| on_grid[platform * grid.len() + at];
    let is_before = |a: usize, b: usize, at: usize| Some(of(a, at)? < of(b, at)?);
    let mut brackets = Vec::new();
    for a in 0..count {
        for b in (0..count).filter(|it| *it != a) {
            let overtakes =
                |it: &usize| is_before(a, b, *it) == Some(false) && is_before(a, b, *it + 1) == Some(true);
            let found = (0..grid.len().saturating_sub(1)).filter(overtakes);
            brackets.extend(found.map(|it| (a, b, grid[it], grid[it + 1])));
        }
    }
    let found: Vec<Option<Crossing>> = brackets
        .into_par_iter()
        .with_max_len(1)
        .map(|(a, b, below, at)| crossing(&times, [a, b], below, at))
        .collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// The least number above `below` from which on, up to `at`, the first is before the second.
fn crossing(
    times: &Times,
    [ahead, behind]: [usize; 2],
    mut below: u64,
    mut at: u64,
) -> Result<Option<Crossing>, Error> {
    let both = |number: u64| -> Result<Option<[f64; 2]>, Error> {
        Ok(times.of(ahead, number)?.zip(times.of(behind, number)?).map(|(ahead, behind)| [ahead, behind]))
    };
    let (mut times_below, mut times_at) = (both(below)?, both(at)?);
    while at - below > 1 {
        let middle = below + (at - below) / 2;
        let found = both(middle)?;
        if found.is_some_and(|[ahead, behind]| ahead < behind) {
            (at, times_at) = (middle, found);
        } else {
            (below, times_below) = (middle, found);
        }
    }
    Ok(times_at.zip(times_below).map(|(at_from, one_below)| Crossing {
        over: times.over,
        ahead: times.platforms[ahead].name.clone(),
        behind: times.platforms[behind].name.clone(),
        from: at,
        at: at_from,
        below: one_below,
    }))
}

pub fn table(changed: &Parameters) -> Result<Table, Error> {
    let asked = asked(changed)?;
    let mut all: Vec<Crossing> = Vec::new();
    for over in &OVERS {
        let mut found = crossings(over, asked.clone())?;
        found.sort_by(|a, b| (a.from, &a.ahead, &a.behind).cmp(&(b.from, &b.ahead, &b.behind)));
        all.extend(found);
    }
    let text =
        |pick: fn(&Crossing) -> &str| Column::Text(all.iter().map(|it| Some(pick(it).to_owned())).collect());
    let number = |pick: fn(&Crossing) -> f64| Column::Float(all.iter().map(|it| Some(pick(it))).collect());
    Ok(Table::from_columns([
        ("over", text(|it| it.over.name)),
        ("beside", text(|it| it.over.beside)),
        ("from", Column::Int(all.iter().map(|it| i64::try_from(it.from).ok()).collect())),
        ("ahead", text(|it| &it.ahead)),
        ("behind", text(|it| &it.behind)),
        ("ahead_s", number(|it| it.at[0])),
        ("behind_s", number(|it| it.at[1])),
        ("ahead_one_below_s", number(|it| it.below[0])),
        ("behind_one_below_s", number(|it| it.below[1])),
    ])?)
}

pub fn plot(table: &Table) -> Result<Figure, Error> {
    let header =
        ["Over", "Beside it", "From", "is before", "which had been before", "Time (s)", "Other's (s)"];
    let [over, beside, from, ahead, behind] =
        ["over", "beside", "from", "ahead", "behind"].map(|it| table.text(it));
    let (over, beside, from, ahead, behind) = (over?, beside?, from?, ahead?, behind?);
    let (own, other) = (table.f64("ahead_s")?, table.f64("behind_s")?);
    let text = (0..table.height()).fold(TextTable::new(header), |text, row| {
        let cell = |it: &[Option<String>]| it[row].clone().unwrap_or_default();
        let time = |it: &[Option<f64>]| it[row].map(|it| format!("{it:.3}")).unwrap_or_default();
        text.row([
            cell(&over),
            cell(&beside),
            cell(&from),
            cell(&ahead),
            cell(&behind),
            time(&own),
            time(&other),
        ])
    });
    Ok(Figure::two_columns().panel("", text))
}
