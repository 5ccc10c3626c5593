//! Points drawn from ranges instead of laid out on a grid.
//!
//! Every number is a function of seed, range and index alone, so a sample is
//! the same on every machine, with any number of threads.

use memscape_study::random;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::range::Range;
use crate::error::Error;

/// Points drawn from the ranges of a space: `[sample]` of a study file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// How points are spread.
    pub method: Method,
    /// How many points, at most 10 million, at each combination of the values of axes. A range of
    /// few whole numbers gives some of them several times.
    pub count: u64,
    /// Another seed gives another sample of the same kind.
    #[serde(default)]
    pub seed: u64,
    /// What is drawn beside the space's own ranges, by dotted path: a [`Range`], or a
    /// list of choices.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub ranges: Map<String, Value>,
}

/// How a sample's points are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Each value on its own. Some regions get many points, some none.
    Random,
    /// Latin hypercube: each range is cut into as many strata as there are
    /// points, and each stratum is met once.
    Latin,
    /// Sobol's sequence, digitally shifted: evenly spread over all ranges
    /// together, best with a power of two as count, at most 21 ranges.
    ///
    /// # Source
    /// Joe and Kuo, "Constructing Sobol sequences with better two-dimensional
    /// projections", SIAM J. Sci. Comput. 30, 2008 (their direction numbers).
    Sobol,
}

/// What a range's points are.
pub(crate) enum Drawn {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    /// Index of the choice taken, and all choices.
    Choices(Vec<u32>, Vec<Value>),
}

/// More points need more memory than most machines have.
const MOST_POINTS: u64 = 10_000_000;

impl Sample {
    /// How many points there are, if they can be drawn.
    pub(crate) fn points(&self) -> Result<u64, Error> {
        match self.count {
            1..=MOST_POINTS => Ok(self.count),
            count => Err(Error::BadSweep(format!(
                "sample: `count` = {count}: expected 1 to {MOST_POINTS} points; for more, \
                 write several files with other seeds"
            ))),
        }
    }

    /// The path and points of each of a space's ranges, then of its own.
    pub(crate) fn draw(&self, ranges: &[(&str, Range)]) -> Result<Vec<(String, Drawn)>, Error> {
        let bad = |problem: String| Err(Error::BadSweep(format!("sample: {problem}")));
        self.points()?;
        let drawn = ranges.len() + self.ranges.len();
        if drawn == 0 {
            return bad(
                "there is nothing to draw from; give at least one range such as { from, to }".to_owned()
            );
        }
        check_dimensions(self.method, drawn)?;
        let places = |dimension: usize| places(self.method, self.seed, self.count, dimension as u64);
        let of_space = ranges.iter().enumerate().map(|(dimension, (path, range))| {
            let bad = |problem| Error::BadSweep(format!("axis `{path}`: {problem}"));
            range.check().map_err(bad)?;
            Ok(((*path).to_owned(), in_range(range, places(dimension))))
        });
        let own = self.ranges.iter().enumerate().map(|(index, (path, given))| {
            let bad = |problem: String| Error::BadSweep(format!("sample: `{path}` = {given}: {problem}"));
            let places = places(ranges.len() + index);
            if let Value::Array(choices) = given {
                let picks = picks(choices.len(), places).map_err(bad)?;
                return Ok((path.clone(), Drawn::Choices(picks, choices.clone())));
            }
            let range = Range::deserialize(given).map_err(|it| {
                bad(format!("{it}; expected a list of choices or {{ from, to, log, integer }}"))
            })?;
            range.check().map_err(bad)?;
            Ok((path.clone(), in_range(&range, places)))
        });
        of_space.chain(own).collect()
    }
}

/// That a method reaches so many dimensions.
pub(crate) fn check_dimensions(method: Method, dimensions: usize) -> Result<(), Error> {
    if method == Method::Sobol && dimensions > SOBOL.len() + 1 {
        return Err(Error::BadSweep(format!(
            "\"sobol\" has {} dimensions, not {dimensions}; use \"latin\"",
            SOBOL.len() + 1,
        )));
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "below the number of choices"
)]
fn picks(choices: usize, places: Vec<f64>) -> Result<Vec<u32>, String> {
    let Some(last) = choices.checked_sub(1) else { return Err("give at least one choice".to_owned()) };
    let pick = |place: f64| ((place * choices as f64) as usize).min(last) as u32;
    Ok(places.into_iter().map(pick).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and below 2^53")]
fn in_range(range: &Range, places: Vec<f64>) -> Drawn {
    let values = places.into_iter().map(|it| range.at(it));
    if range.integer {
        Drawn::Ints(values.map(|it| it as i64).collect())
    } else {
        Drawn::Floats(values.collect())
    }
}

/// Where in `[0, 1)` each of `count` points lies in one dimension.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "count is below 2^32")]
pub(crate) fn places(method: Method, seed: u64, count: u64, dimension: u64) -> Vec<f64> {
    let key = mix(mix(seed) ^ dimension);
    let random = |index: u64| unit(mix(key ^ mix(index)));
    match method {
        Method::Random => (0..count).map(random).collect(),
        Method::Latin => {
            let mut strata: Vec<u32> = (0..count as u32).collect();
            let shuffle = mix(key);
            for i in (1..strata.len()).rev() {
                // The bias of a remainder of 2^64 is far below what a sample can show.
                strata.swap(i, (mix(shuffle ^ mix(i as u64)) % (i as u64 + 1)) as usize);
            }
            let place = |(index, stratum)| (f64::from(stratum) + random(index)) / count as f64;
            (0..).zip(strata).map(place).collect()
        }
        Method::Sobol => {
            let directions = directions(dimension as usize);
            let shift = (key >> 32) as u32;
            let place = |index: u32| {
                let set = directions.iter().enumerate().filter(|(bit, _)| index >> bit & 1 == 1);
                let bits = set.fold(shift, |bits, (_, direction)| bits ^ direction);
                // In the middle of the cell that 32 bits can tell.
                (f64::from(bits) + 0.5) / 4_294_967_296.0
            };
            (0..count as u32).map(place).collect()
        }
    }
}

/// A permutation of 64-bit numbers that leaves no pattern.
const fn mix(value: u64) -> u64 {
    random::mix(value.wrapping_add(random::STEP))
}

/// 53 bits as a number in `[0, 1)`.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / 9_007_199_254_740_992.0
}

/// Degree and coefficients of the primitive polynomial, then the first
/// direction numbers, for dimensions from the second on (`new-joe-kuo-6`).
const SOBOL: [(u32, u32, &[u32]); 20] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// What each bit of a point's index contributes in one dimension.
fn directions(dimension: usize) -> [u32; 32] {
    let mut directions = [0; 32];
    let Some((degree, coefficients, first)) = dimension.checked_sub(1).map(|it| SOBOL[it]) else {
        // The first dimension is van der Corput's sequence.
        for (bit, direction) in (0..32).zip(&mut directions) {
            *direction = 1 << (31 - bit);
        }
        return directions;
    };
    for bit in 0..32 {
        directions[bit] = if let Some(number) = first.get(bit) {
            number << (31 - bit)
        } else {
            let oldest = directions[bit - first.len()];
            let recent = (1..degree).filter(|it| coefficients >> (degree - 1 - it) & 1 == 1);
            recent.fold(oldest ^ (oldest >> degree), |sum, it| sum ^ directions[bit - it as usize])
        };
    }
    directions
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHODS: [Method; 3] = [Method::Random, Method::Latin, Method::Sobol];

    fn drawn(method: Method, dimension: u64) -> Vec<f64> {
        places(method, 7, 64, dimension)
    }

    fn sample(method: Method, count: u64, ranges: &Value) -> Sample {
        Sample { method, count, seed: 7, ranges: ranges.as_object().unwrap().clone() }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small test numbers")]
    fn strata(places: &[f64]) -> Vec<usize> {
        #[expect(clippy::cast_precision_loss, reason = "small test numbers")]
        let mut strata: Vec<usize> = places.iter().map(|it| (it * places.len() as f64) as usize).collect();
        strata.sort_unstable();
        strata
    }

    #[test]
    fn latin_and_sobol_meet_every_stratum_once_in_every_dimension() {
        let all: Vec<usize> = (0..64).collect();
        for dimension in 0..21 {
            assert_eq!(strata(&drawn(Method::Latin, dimension)), all);
            assert_eq!(strata(&drawn(Method::Sobol, dimension)), all);
        }
    }

    /// The first two dimensions are a (0, m, 2)-net: every box of 8 by 8, 4 by
    /// 16, ... holds one of 64 points.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small test numbers")]
    fn sobol_fills_the_plane() {
        let (x, y) = (drawn(Method::Sobol, 0), drawn(Method::Sobol, 1));
        for (columns, rows) in [(2.0, 32.0), (4.0, 16.0), (8.0, 8.0), (16.0, 4.0), (32.0, 2.0)] {
            let cells = x.iter().zip(&y).map(|(x, y)| ((x * columns) as u32, (y * rows) as u32));
            assert_eq!(cells.collect::<std::collections::HashSet<_>>().len(), 64, "{columns} x {rows}");
        }
    }

    #[test]
    fn a_sample_depends_on_its_seed_and_dimension_only() {
        for method in METHODS {
            assert_eq!(drawn(method, 0), drawn(method, 0));
            assert_ne!(drawn(method, 0), places(method, 8, 64, 0));
            assert_ne!(drawn(method, 0), drawn(method, 1));
        }
    }

    #[test]
    fn values_stay_in_range_and_reach_whole_ends() {
        let ranges = serde_json::json!({
            "float": { "min": 2, "max": 3 },
            "log": { "min": 0.1, "max": 1000, "log": true },
            "int": { "min": -1, "max": 2, "integer": true },
            "logint": { "min": 1, "max": 8, "integer": true, "log": true },
            "choice": ["a", "b", "c"],
        });
        for method in METHODS {
            for (path, drawn) in sample(method, 512, &ranges).draw(&[]).unwrap() {
                match drawn {
                    Drawn::Floats(it) if path == "float" => {
                        assert!(it.iter().all(|it| (2.0..=3.0).contains(it)));
                    }
                    Drawn::Floats(it) => {
                        assert!(it.iter().all(|it| (0.1..=1000.0).contains(it)));
                        // Four decades, so half of the points lie below 10.
                        let low = it.iter().filter(|it| **it < 10.0).count();
                        assert!((200..312).contains(&low), "{method:?}: {low}");
                    }
                    Drawn::Ints(it) if path == "int" => {
                        for value in -1..=2 {
                            let count = it.iter().filter(|it| **it == value).count();
                            assert!((80..180).contains(&count), "{method:?}: {count} times {value}");
                        }
                    }
                    Drawn::Ints(it) => assert!((1..=8).all(|value| it.contains(&value))),
                    Drawn::Choices(it, _) => assert!((0..3).all(|value| it.contains(&value))),
                }
            }
        }
    }

    #[test]
    fn a_bad_range_is_refused() {
        let error = |range: Value| {
            let ranges = serde_json::json!({ "x": range });
            sample(Method::Random, 4, &ranges).draw(&[]).err().unwrap().to_string()
        };
        assert_eq!(
            error(serde_json::json!({ "min": 2, "max": 1 })),
            "sample: `x` = {\"min\":2,\"max\":1}: `min` must not be above `max`"
        );
        assert!(error(serde_json::json!({ "min": 0, "max": 1, "log": true })).contains("above 0"));
        assert!(error(serde_json::json!({ "min": 0.5, "max": 1, "integer": true })).contains("whole"));
        assert!(error(serde_json::json!({ "mim": 0 })).contains("unknown field `mim`"));
        assert!(error(serde_json::json!([])).contains("at least one choice"));
    }

    #[test]
    fn a_sample_of_nothing_or_too_much_is_refused() {
        for count in [0, 10_000_001, u64::from(u32::MAX), u64::MAX] {
            let sample = sample(Method::Latin, count, &serde_json::json!({ "x": { "min": 0, "max": 1 } }));
            let error = sample.draw(&[]).err().unwrap().to_string();
            assert_eq!(
                error,
                format!(
                    "sample: `count` = {count}: expected 1 to 10000000 points; for more, \
                     write several files with other seeds"
                )
            );
        }
    }
}
