//! Whether a study keeps its laws on machines that nobody built.
//!
//! ```text
//! draw ──> check ──> shrink ──> examination
//! (a point) (all rules, one    (fewest      (counts, and a command
//!            parameter varied)  parameters)  for each broken law)
//! ```

mod check;
mod draw;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use memscape_study::node::value_at;
use memscape_study::random::Key;
use memscape_study::{More, When};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use self::check::{Court, Found, Seen};
use self::draw::{Dice, command, draw};
use crate::control::{Control, paced};
use crate::describe::{Description, Parameter, Values};
use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::table::{Column, Table};

pub use self::check::Rule;

/// More take weeks.
const MOST_POINTS: u64 = 10_000_000;

/// What came of holding one study to its laws at random points.
#[derive(Debug, Clone, PartialEq)]
pub struct Examination {
    /// The study.
    pub study: &'static str,
    /// Points that could exist and were looked at.
    pub points: u64,
    /// Points drawn that were refused, which is their right.
    pub refused: u64,
    /// Cases of each rule, and of each parameter that was varied.
    pub checked: Vec<Checked>,
    /// Each law that was broken, with its smallest counterexample.
    pub broken: Vec<Broken>,
    /// Exceptions that the study declares.
    pub exceptions: u64,
    /// Whether all points were looked at.
    pub complete: bool,
}

/// How often a rule was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The rule.
    pub rule: Rule,
    /// The parameter that was varied; empty for rules about a point.
    pub parameter: String,
    /// What its law says; empty for rules about a point.
    pub declared: String,
    /// Comparisons.
    pub checks: u64,
    /// Those that a declared exception covers.
    pub exempt: u64,
    /// Those that failed.
    pub broken: u64,
}

/// A law that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// The parameter that was varied; empty if none was.
    pub parameter: String,
    /// What is wrong.
    pub told: String,
    /// Commands that show it.
    pub commands: Vec<String>,
}

/// Attempts at a point that can exist, each closer to the defaults.
const ATTEMPTS: u32 = 24;

/// A parameter that was varied so often without any effect seems dead.
const PAIRS_OF_THE_DEAD: u64 = 50;
/// It is, if so many points more do not show any.
const POINTS_ELSEWHERE: u64 = 5000;
/// How far from the defaults those are drawn at first, where 1 is what all others begin with:
/// a cache matters to a product of the right size alone.
const WILD_ELSEWHERE: f64 = 3.0;

/// How often a parameter's conditions are brought about rather than left to chance.
const CONDITIONS_MET: f64 = 0.85;

/// Holds a study to its laws at random points, the same for the same seed. What
/// `fixed` gives stays as it is.
///
/// # Errors
/// [`Error`] if `fixed` is wrong, or no point can exist.
pub fn examine(
    study: &dyn DynStudy,
    fixed: &Parameters,
    points: u64,
    seed: u64,
    control: &dyn Control,
) -> Result<Examination, Error> {
    study.tree(&[fixed])?;
    let description = study.describe();
    let court = Court { study, description: &description, laws: study.laws(), fixed, control };
    let numbers: Vec<&Parameter> = varied(&description, fixed);
    let key = Key::new(seed);
    let mut tally = Tally::default();
    if !(1..=MOST_POINTS).contains(&points) {
        return Err(Error::BadSweep(format!(
            "`points` = {points}: give 1 at least and {MOST_POINTS} at most"
        )));
    }
    let complete = paced(points, control, |part| {
        let last = part.end;
        let looked = part.into_par_iter().map(|it| look(&court, &numbers, it, 1.0, key.fork(it)));
        for it in looked.collect::<Vec<_>>() {
            tally.add(it);
        }
        control.advanced(last, points);
    });
    if tally.points == 0 && complete {
        return Err(Error::NoAnswer(format!(
            "no point of `{}` near these parameters can exist: {}",
            study.name(),
            tally.last_refusal.unwrap_or_default()
        )));
    }
    Ok(tally.into_examination(&court, &numbers, key, complete))
}

/// Numbers that are not held fast.
fn varied<'a>(description: &'a Description, fixed: &Parameters) -> Vec<&'a Parameter> {
    let is_varied =
        |it: &&Parameter| matches!(it.values, Values::Number { .. }) && !fixed.contains_key(&it.path);
    description.parameters.iter().filter(is_varied).collect()
}

/// One point, looked at.
struct Look<'a> {
    seen: Seen,
    parameter: Option<&'a Parameter>,
    refused: u64,
    refusal: Option<String>,
    /// `None` if none could exist.
    point: Option<Parameters>,
}

fn look<'a>(court: &Court<'_>, numbers: &[&'a Parameter], index: u64, wildest: f64, key: Key) -> Look<'a> {
    let mut dice = Dice::new(key);
    // In turn, so that each gets its share.
    let parameter =
        (!numbers.is_empty()).then(|| numbers[usize::try_from(index).unwrap_or(0) % numbers.len()]);
    let mut it = Look { seen: Seen::default(), parameter, refused: 0, refusal: None, point: None };
    let conditions = parameter.and_then(|it| court.laws.effect_on(&it.path)).map_or(&[][..], |it| it.only);
    let meet = dice.chance(CONDITIONS_MET);
    for attempt in 0..ATTEMPTS {
        if court.control.cancelled() {
            break;
        }
        let wild = wildest * (1.0 - f64::from(attempt) / f64::from(ATTEMPTS - 1));
        let mut point = draw(court.study, court.description, court.fixed, wild, &mut dice);
        if meet {
            for when in conditions {
                bring_about(court, when, &mut point, &mut dice);
            }
        }
        match court.answer(&point) {
            Ok(row) => {
                court.look(&point, &row, &mut it.seen);
                if let Some(parameter) = parameter {
                    court.vary(&point, parameter, &mut it.seen);
                }
                // What was looked at in part says nothing.
                if court.control.cancelled() {
                    it.seen = Seen::default();
                } else {
                    it.point = Some(point);
                }
                return it;
            }
            Err(Error::Internal(told) | Error::NotAnAnswer(told)) => {
                let (rule, parameter) = (Rule::Sane, String::new());
                it.seen.found.push(Found { rule, parameter, told, changes: vec![Map::new()] });
                it.point = Some(point);
                return it;
            }
            Err(error) => {
                it.refused += 1;
                it.refusal = Some(error.to_string());
            }
        }
    }
    it
}

/// Makes a condition hold, if one value can.
fn bring_about(court: &Court<'_>, when: &When, point: &mut Parameters, dice: &mut Dice) {
    use memscape_study::Test;
    if court.fixed.contains_key(when.path) {
        return;
    }
    let described = court.description.parameters.iter().find(|it| it.path == when.path);
    let known = |text: &&str| -> Value {
        match (*text, described.map(|it| &it.values)) {
            ("null", _) => Value::Null,
            ("true", _) => json!(true),
            ("false", _) => json!(false),
            (text, Some(Values::Number { .. })) => text.parse().map_or(json!(text), |it: f64| json!(it)),
            (text, _) => json!(text),
        }
    };
    let value = match (when.test, described.map(|it| &it.values)) {
        (Test::Is(values), _) => dice.pick(values).map(known),
        (Test::IsNot(_), Some(Values::OneOf(all))) => {
            let fitting: Vec<&Value> = all.iter().filter(|it| when.holds(it)).collect();
            dice.pick(&fitting).map(|it| (*it).clone())
        }
        (Test::IsNot(_), Some(Values::Flag)) => {
            [json!(true), json!(false)].into_iter().find(|it| when.holds(it))
        }
        (Test::IsNot(_), Some(values @ Values::Number { .. })) => {
            draw::fitting(values, *dice.pick(&[1.0, 2.0, 4.0, 16.0]).unwrap_or(&1.0))
        }
        (Test::Above(limit), Some(values)) => {
            draw::fitting(values, limit + dice.pick(&[1.0, 2.0, 8.0, 64.0]).unwrap_or(&1.0))
        }
        (Test::Below(limit), Some(values)) => {
            draw::fitting(values, limit * dice.pick(&[0.25, 0.5, 0.9]).unwrap_or(&0.5))
        }
        _ => None,
    };
    let holds = |court: &Court<'_>, point: &Parameters| {
        court
            .study
            .tree(&[point, court.fixed])
            .is_ok_and(|tree| value_at(&tree, when.path).is_some_and(|it| when.holds(it)))
    };
    if let Some(value) = value
        && !holds(court, point)
    {
        point.insert(when.path.to_owned(), value);
    }
}

/// Sums over all points.
#[derive(Default)]
struct Tally {
    points: u64,
    refused: u64,
    last_refusal: Option<String>,
    rules: BTreeMap<Rule, (u64, u64)>,
    parameters: BTreeMap<String, Varied>,
    /// The first of each kind, with its point.
    first: BTreeMap<(Rule, String), (Parameters, Found)>,
}

#[derive(Default)]
struct Varied {
    pairs: u64,
    exempt: u64,
    broken: u64,
    moved: bool,
}

impl Tally {
    fn add(&mut self, it: Look<'_>) {
        self.refused += it.refused;
        self.last_refusal = it.refusal.or_else(|| self.last_refusal.take());
        let Some(point) = it.point else { return };
        self.points += 1;
        for rule in it.seen.asked {
            self.rules.entry(rule).or_default().0 += 1;
        }
        if let Some(parameter) = it.parameter {
            let varied = self.parameters.entry(parameter.path.clone()).or_default();
            varied.pairs += it.seen.pairs;
            varied.exempt += it.seen.exempt;
            varied.moved |= it.seen.moved;
            varied.broken += it.seen.found.iter().filter(|it| it.rule == Rule::Monotone).count() as u64;
        }
        for found in it.seen.found {
            self.rules.entry(found.rule).or_default().1 += 1;
            let kind = (found.rule, found.parameter.clone());
            // The point with the least changed is nearest to the one to be found.
            let better = self.first.get(&kind).is_none_or(|(known, _)| point.len() < known.len());
            if better {
                self.first.insert(kind, (point.clone(), found));
            }
        }
    }

    fn into_examination(
        self,
        court: &Court<'_>,
        numbers: &[&Parameter],
        key: Key,
        complete: bool,
    ) -> Examination {
        let Self { points, refused, rules, parameters, first, .. } = self;
        let declared = |path: &str| court.laws.effect_on(path).map(ToString::to_string).unwrap_or_default();
        let of_rule = |rule: Rule| {
            let (checks, broken) = rules.get(&rule).copied().unwrap_or_default();
            Checked { rule, parameter: String::new(), declared: String::new(), checks, exempt: 0, broken }
        };
        let of_parameter = |(path, it): (&String, &Varied)| Checked {
            rule: Rule::Monotone,
            parameter: path.clone(),
            declared: declared(path),
            checks: it.pairs,
            exempt: it.exempt,
            broken: it.broken,
        };
        let mut broken: Vec<Broken> = first
            .into_par_iter()
            .map(|(_, (point, found))| told(court, &shrunk(court, point, &found), found))
            .collect();
        broken.extend(undeclared(court, numbers));
        // Who is interrupted has not looked long enough to call a parameter dead.
        if complete {
            broken.extend(dead(court, numbers, &parameters, key));
        }
        let limits = rules.get(&Rule::Limits).map_or(0, |it| it.0);
        if complete && limits == 0 && points >= POINTS_OF_LIMITS && !court.laws.limits.is_empty() {
            broken.push(Broken {
                rule: Rule::Limits,
                parameter: court.laws.limits[0].grow.first().map_or("", |it| it.0).to_owned(),
                told: format!(
                    "none of {points} points could be asked with it so large: its range ends before, or the study \
                     refuses it"
                ),
                commands: vec![format!("memscape describe {}", court.study.name())],
            });
        }
        broken.sort_by(|a, b| (a.rule, &a.parameter).cmp(&(b.rule, &b.parameter)));
        let checked = Rule::ALL.into_iter().map(of_rule).chain(parameters.iter().map(of_parameter)).collect();
        let exceptions = court.laws.effects().map(|it| it.except.len() as u64).sum();
        Examination { study: court.study.name(), points, refused, checked, broken, exceptions, complete }
    }
}

/// Among so many points limits are asked somewhere.
const POINTS_OF_LIMITS: u64 = 100;

/// Numbers without a law, and laws without a number.
fn undeclared(court: &Court<'_>, numbers: &[&Parameter]) -> Vec<Broken> {
    let broken = |parameter: &str, told: &str| Broken {
        rule: Rule::Declared,
        parameter: parameter.to_owned(),
        told: told.to_owned(),
        commands: vec![format!("memscape describe {}", court.study.name())],
    };
    let mut all = Vec::new();
    match court.laws.aim {
        None => all.push(broken("", "the study declares no column that matters")),
        Some(aim) if !court.description.columns.iter().any(|it| it.name == aim.column) => {
            all.push(broken("", &format!("there is no column `{}` to aim at", aim.column)));
        }
        Some(_) => {}
    }
    for (whole, parts) in court.study.sums() {
        let is_column = |name: &str| court.description.columns.iter().any(|it| it.name == name);
        for name in [*whole].iter().chain(*parts).filter(|it| !is_column(it)) {
            all.push(broken("", &format!("a sum is of `{name}`, and there is no such column")));
        }
    }
    for it in numbers.iter().filter(|it| court.laws.effect_on(&it.path).is_none()) {
        all.push(broken(&it.path, "no law says what more of it does"));
    }
    for trend in court.laws.trends() {
        let is_known = court.description.columns.iter().any(|it| it.name == trend.column)
            && court
                .description
                .parameters
                .iter()
                .any(|it| court.laws.trends_of(&it.path).any(|of| of == trend));
        if !is_known {
            let told = format!("a law speaks of it and `{}`, but the study has not both", trend.column);
            all.push(broken(trend.path, &told));
        }
    }
    for limit in court.laws.limits {
        let parameters = &court.description.parameters;
        let known = |path: &str| {
            parameters.iter().any(|it| it.path == path && matches!(it.values, Values::Number { .. }))
        };
        for (path, _) in limit.grow.iter().filter(|it| !known(it.0)) {
            all.push(broken(path, "a limit grows it, but the study has no such number"));
        }
        for column in
            limit.vanish.iter().filter(|it| !court.description.columns.iter().any(|of| of.name == **it))
        {
            let of = limit.grow.first().map_or("", |it| it.0);
            all.push(broken(
                of,
                &format!("a limit makes `{column}` vanish, but the study has no such column"),
            ));
        }
    }
    for effect in court.laws.effects() {
        let start = effect.path.trim_end_matches('*');
        let whole = start.len() == effect.path.len();
        let covers = |path: &str| if whole { path == start } else { path.starts_with(start) };
        let is_known = court.description.parameters.iter().any(|it| covers(&it.path));
        if !is_known && !matches!(effect.more, More::Unused(_)) {
            all.push(broken(effect.path, "a law speaks of it, but the study has no such parameter"));
        }
    }
    all
}

/// Parameters that never moved anything, nor do at many more points: some act on a few
/// models or options only.
fn dead(
    court: &Court<'_>,
    numbers: &[&Parameter],
    parameters: &BTreeMap<String, Varied>,
    key: Key,
) -> Vec<Broken> {
    /// The key of these points' keys; those of the others count from 0.
    const ELSEWHERE: u64 = u64::MAX;
    let moves_elsewhere = |path: &str| {
        let key = key.fork(ELSEWHERE);
        let only: Vec<&Parameter> = numbers.iter().copied().filter(|it| it.path == path).collect();
        (0..POINTS_ELSEWHERE)
            .into_par_iter()
            .any(|it| look(court, &only, it, WILD_ELSEWHERE, key.fork(it)).seen.moved)
    };
    // What is held fast may be where a parameter is declared to do nothing.
    let fixed = court.study.tree(&[court.fixed]).ok();
    let is_excluded = |path: &str| {
        let excludes = |it: &When| {
            let value = fixed.as_ref().and_then(|tree| value_at(tree, it.path));
            court.fixed.contains_key(it.path) && value.is_some_and(|value| !it.holds(value))
        };
        court.laws.effect_on(path).is_some_and(|it| it.only.iter().any(excludes))
    };
    let is_dead = |(path, it): &(&String, &Varied)| {
        !it.moved && it.pairs >= PAIRS_OF_THE_DEAD && !is_excluded(path) && !moves_elsewhere(path)
    };
    let broken = |(path, it): (&String, &Varied)| Broken {
        rule: Rule::Alive,
        parameter: path.clone(),
        told: format!(
            "{} pairs of answers do not differ by it; let a column show what it does, or declare it unused with a reason",
            it.pairs
        ),
        commands: vec![format!("memscape describe {}", court.study.name())],
    };
    parameters.iter().filter(is_dead).map(broken).collect()
}

/// The point with as little changed as still shows what was found.
fn shrunk(court: &Court<'_>, mut point: Parameters, found: &Found) -> Parameters {
    let shows = |point: &Parameters| {
        again(court, point, found).iter().any(|it| it.rule == found.rule && it.parameter == found.parameter)
    };
    loop {
        let keys: Vec<String> = point.keys().cloned().collect();
        let before = keys.len();
        for key in keys {
            let mut less = point.clone();
            less.remove(&key);
            if shows(&less) {
                point = less;
            }
        }
        if point.len() == before {
            return point;
        }
    }
}

/// Everything that is found at a point when the same parameter is varied.
fn again(court: &Court<'_>, point: &Parameters, found: &Found) -> Vec<Found> {
    let mut seen = Seen::default();
    match court.answer(point) {
        Ok(row) => {
            court.look(point, &row, &mut seen);
            let varied = court.description.parameters.iter().find(|it| it.path == found.parameter);
            if let Some(parameter) = varied {
                court.vary(point, parameter, &mut seen);
            }
        }
        Err(Error::Internal(told) | Error::NotAnAnswer(told)) => {
            let (rule, parameter) = (Rule::Sane, String::new());
            seen.found.push(Found { rule, parameter, told, changes: vec![Map::new()] });
        }
        Err(_) => {}
    }
    seen.found
}

/// As a report has it, with what the shrunk point shows.
fn told(court: &Court<'_>, point: &Parameters, found: Found) -> Broken {
    let same = |it: &Found| it.rule == found.rule && it.parameter == found.parameter;
    let found = again(court, point, &found).into_iter().find(same).unwrap_or(found);
    let commands = found.changes.iter().map(|change| {
        let mut all = point.clone();
        all.extend(court.fixed.clone());
        all.extend(change.clone());
        command(court.study.name(), &all)
    });
    Broken { commands: commands.collect(), rule: found.rule, parameter: found.parameter, told: found.told }
}

impl Examination {
    /// Comparisons of all rules.
    #[must_use]
    pub fn checks(&self) -> u64 {
        self.checked.iter().filter(|it| it.parameter.is_empty()).map(|it| it.checks).sum()
    }

    /// A row for each rule, and for each parameter that was varied.
    ///
    /// # Errors
    /// [`Error::Internal`] never, unless columns cannot be made at all.
    pub fn table(&self) -> Result<Table, Error> {
        let text = |of: &dyn Fn(&Checked) -> String| {
            Column::Text(self.checked.iter().map(|it| Some(of(it))).collect())
        };
        #[expect(clippy::cast_possible_wrap, reason = "counts of what was looped over")]
        let count = |of: &dyn Fn(&Checked) -> u64| {
            Column::Int(self.checked.iter().map(|it| Some(of(it) as i64)).collect())
        };
        let example = |it: &Checked| {
            self.broken.iter().find(|broken| broken.rule == it.rule && broken.parameter == it.parameter)
        };
        let examples = self.checked.iter().map(|it| example(it).map(|it| it.commands.join("\n"))).collect();
        Table::from_columns([
            ("study", text(&|_| self.study.to_owned())),
            ("rule", text(&|it| it.rule.name().to_owned())),
            ("parameter", text(&|it| it.parameter.clone())),
            ("declared", text(&|it| it.declared.clone())),
            ("checks", count(&|it| it.checks)),
            ("exempt", count(&|it| it.exempt)),
            ("broken", count(&|it| it.broken)),
            ("example", Column::Text(examples)),
        ])
    }
}

/// One line of counts, then each broken law with its commands.
impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { study, points, refused, broken, exceptions, .. } = self;
        write!(f, "{study:<20} {points:>7} points, {refused:>7} refused, {:>9} checks", self.checks())?;
        write!(f, ", {exceptions} exceptions, {} broken", broken.len())?;
        for it in broken {
            let of = if it.parameter.is_empty() { String::new() } else { format!(" `{}`", it.parameter) };
            write!(f, "\n  {}{of}: {}", it.rule.name(), it.told)?;
            for command in &it.commands {
                write!(f, "\n    {command}")?;
            }
        }
        Ok(())
    }
}
