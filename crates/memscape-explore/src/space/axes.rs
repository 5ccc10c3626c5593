//! Axes as a study file or a Python call writes them.

use serde::Deserialize;
use serde_json::Value;

use super::range::Range;
use crate::error::Error;
use crate::parameters::Parameters;
use crate::schema::join;

/// What one axis goes over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Extent {
    Values(Vec<Value>),
    /// Values, and the few words that make them.
    Steps(Vec<Value>, Value),
    Range(Range),
}

/// One axis as given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    pub(crate) path: String,
    pub(crate) extent: Extent,
    /// Where it exists, if not everywhere.
    pub(crate) when: Option<String>,
}

/// `{ from, to }`, `{ from, to, step }`, `{ from, to, count }` or `{ values }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(alias = "min")]
    from: Option<f64>,
    #[serde(alias = "max")]
    to: Option<f64>,
    step: Option<f64>,
    count: Option<u32>,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    integer: bool,
    values: Option<Vec<Value>>,
    when: Option<String>,
}

/// A table with one of these is an axis; any other is a prefix of paths.
const MARKS: [&str; 5] = ["from", "to", "min", "max", "values"];

/// How many values `step` and `count` may still make. A line of text asks for millions, each of
/// which takes over a hundred bytes.
pub(crate) struct Room(u32);

impl Room {
    /// For all axes of a space.
    pub(crate) const ALL: Self = Self(1 << 22);
}

/// Every axis of a table, in order. Keys may be dotted, quoted or not.
///
/// # Errors
/// [`Error::BadSweep`] names the axis that has none of the forms, or for which there is no room.
pub(crate) fn read_axes(axes: &Parameters, room: &mut Room) -> Result<Vec<Given>, Error> {
    let mut all = Vec::new();
    collect("", axes, room, &mut all)?;
    Ok(all)
}

fn collect(prefix: &str, axes: &Parameters, room: &mut Room, out: &mut Vec<Given>) -> Result<(), Error> {
    for (key, value) in axes {
        let path = join(prefix, key);
        match value {
            Value::Array(values) => {
                out.push(Given { path, extent: Extent::Values(values.clone()), when: None });
            }
            Value::Object(table) if MARKS.iter().any(|it| table.contains_key(*it)) => {
                let bad = |problem: String| Error::BadSweep(format!("axis `{path}` = {value}: {problem}"));
                let (extent, when) = read_form(value, room).map_err(bad)?;
                out.push(Given { path, extent, when });
            }
            Value::Object(table) => collect(&path, table, room, out)?,
            other => {
                return Err(Error::BadSweep(format!(
                    "axis `{path}` = {other}: expected a list such as [{other}], or {{ from, to, step }}"
                )));
            }
        }
    }
    Ok(())
}

fn read_form(value: &Value, room: &mut Room) -> Result<(Extent, Option<String>), String> {
    let form = Form::deserialize(value).map_err(|it| it.to_string())?;
    let when = form.when.clone();
    let extent = match (form.from, form.to, form.values) {
        (None, None, Some(values)) => {
            if form.step.is_some() || form.count.is_some() || form.log || form.integer {
                return Err(
                    "`values` stands for itself; remove `step`, `count`, `log` and `integer`".to_owned()
                );
            }
            Extent::Values(values)
        }
        (Some(min), Some(max), None) => {
            let ends = Range { min, max, log: form.log, integer: form.integer };
            match (form.step, form.count) {
                (None, None) => {
                    ends.check()?;
                    Extent::Range(ends)
                }
                (step, count) => {
                    let mut written = value.clone();
                    written.as_object_mut().and_then(|it| it.shift_remove("when"));
                    Extent::Steps(steps(ends, step, count, room)?, written)
                }
            }
        }
        (_, _, None) => return Err("give both ends, `from` and `to`".to_owned()),
        _ => return Err("give `values`, or `from` and `to`".to_owned()),
    };
    Ok((extent, when))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked against the room, and to be whole"
)]
fn steps(ends: Range, step: Option<f64>, count: Option<u32>, room: &mut Room) -> Result<Vec<Value>, String> {
    let Range { min: from, max: to, log, integer } = ends;
    let mut take = |values: f64| {
        let left = f64::from(room.0);
        if values > left {
            let many = if values < 1e15 { values.to_string() } else { format!("{values:e}") };
            return Err(format!(
                "that is {many} values, and `step` and `count` may make {left} more of {} in all; use a \
                 coarser one, `integer = true` without either, or a sample",
                Room::ALL.0
            ));
        }
        room.0 -= values as u32;
        Ok(values as u32)
    };
    if !(to - from).is_finite() {
        return Err(format!(
            "`from` = {from:e} and `to` = {to:e} are too far apart for a number; take nearer ends"
        ));
    }
    if integer && (from.fract() != 0.0 || to.fract() != 0.0) {
        return Err("the ends of an `integer` range must be whole".to_owned());
    }
    let values: Vec<f64> = match (step, count) {
        (Some(_), None) if log => return Err("`log` goes with `count`, not with `step`".to_owned()),
        (Some(step), None) => {
            let steps = (to - from) / step;
            if !(steps >= 0.0 && steps.is_finite()) {
                return Err("`step` must lead from `from` to `to`".to_owned());
            }
            // A hair more, so that 0.1 * 3 reaches 0.3.
            let values = take((steps + 1e-9).floor() + 1.0)?;
            let scale = scale(&[from, to, step], 1.0);
            let [start, stride] = [from, step].map(|it| scaled(it, scale));
            (0..values).map(|i| (start + f64::from(i) * stride) / scale.unwrap_or(1.0)).collect()
        }
        (None, Some(0)) => return Err("`count` must be at least 1".to_owned()),
        (None, Some(count)) if take(f64::from(count))? == 1 => vec![from],
        (None, Some(count)) => {
            if log && !(from > 0.0 && to > 0.0) {
                return Err("`log` needs ends above 0".to_owned());
            }
            let last = f64::from(count - 1);
            let place = |i: u32| f64::from(i) / last;
            let scale = scale(&[from, to], last);
            let value = |i: u32| match (i, scale) {
                (0, _) => from,
                (i, _) if i == count - 1 => to,
                (i, _) if log => from * (to / from).powf(place(i)),
                (i, Some(by)) => {
                    let [start, end] = [from, to].map(|it| scaled(it, scale));
                    let i = f64::from(i);
                    (start * (last - i) + end * i) / (by * last)
                }
                (i, None) => from + (to - from) * place(i),
            };
            (0..count).map(value).collect()
        }
        _ => return Err("give `step` or `count`, one of them".to_owned()),
    };
    // From whole ends, what is whole but for rounding is meant to be whole.
    let whole_ends = from.fract() == 0.0 && to.fract() == 0.0;
    let value = |it: f64| {
        // Rounding is a few parts in 10^16: a half is no rounding, however large the number.
        let rounding = (1e-9 * it.abs().min(1.0)).max(2.0 * f64::EPSILON * it.abs()).min(0.25);
        let near = integer || (it - it.round()).abs() <= rounding;
        if (integer || whole_ends) && near && it.abs() < 9.0e15 {
            Value::from(it.round() as i64)
        } else {
            Value::from(it)
        }
    };
    let mut values: Vec<Value> = values.into_iter().map(value).collect();
    if integer {
        values.dedup();
    }
    Ok(values)
}

/// The power of ten that makes `written` whole numbers: ten for tenths. These and up to `parts`
/// times them add without rounding, so that steps of 0.1 from 10 come by 14.1 and not by
/// 14.100000000000001. None, if digits do not suffice.
fn scale(written: &[f64], parts: f64) -> Option<f64> {
    let decimals = |it: &f64| it.to_string().split_once('.').map_or(0, |(_, it)| it.len());
    let most = written.iter().map(decimals).max()?;
    let scale = 10_f64.powi(i32::try_from(most).ok()?);
    let exact = written.iter().all(|it| it.abs() * scale * parts < 1.0 / f64::EPSILON);
    (exact && scale < 1e22).then_some(scale)
}

fn scaled(it: f64, scale: Option<f64>) -> f64 {
    scale.map_or(it, |by| (it * by).round())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Result<Extent, String> {
        read_form(value, &mut Room(1000)).map(|it| it.0)
    }

    fn values(value: &Value) -> Value {
        match read(value).unwrap() {
            Extent::Values(it) | Extent::Steps(it, _) => Value::from(it),
            Extent::Range(it) => panic!("{it:?}"),
        }
    }

    #[test]
    fn steps_include_both_ends() {
        assert_eq!(values(&json!({ "from": 1, "to": 8, "step": 3 })), json!([1, 4, 7]));
        assert_eq!(values(&json!({ "from": 8, "to": 2, "step": -3 })), json!([8, 5, 2]));
        assert_eq!(values(&json!({ "from": 0, "to": 1, "count": 3 })), json!([0, 0.5, 1]));
        assert_eq!(values(&json!({ "min": 1, "max": 64, "count": 4, "log": true })), json!([1, 4, 16, 64]));
        assert_eq!(values(&json!({ "from": 0.5, "to": 0.5, "count": 1 })), json!([0.5]));
        assert_eq!(values(&json!({ "from": 0, "to": 0.3, "step": 0.1 })).as_array().unwrap().len(), 4);
        assert_eq!(
            values(&json!({ "from": 1, "to": 4, "count": 7, "log": true, "integer": true })),
            json!([1, 2, 3, 4])
        );
        assert_eq!(values(&json!({ "values": ["a", null] })), json!(["a", null]));
        // A half of a large number is a half.
        let large = json!({ "from": 1e9, "to": 1_000_000_002, "count": 5 });
        assert_eq!(
            values(&large),
            json!([1_000_000_000, 1_000_000_000.5, 1_000_000_001, 1_000_000_001.5, 1_000_000_002])
        );
    }

    /// A filter finds what one would write.
    #[test]
    fn values_are_those_one_would_write() {
        let written = |decimals: usize, all: std::ops::RangeInclusive<i32>, by: f64| {
            let each =
                |it: i32| Value::from(format!("{:.decimals$}", f64::from(it) / by).parse::<f64>().unwrap());
            all.map(each).collect::<Value>()
        };
        let tenths = written(1, 101..=199, 10.0);
        assert_eq!(values(&json!({ "from": 10.1, "to": 19.9, "step": 0.1 })), tenths);
        assert_eq!(values(&json!({ "from": 10.1, "to": 19.9, "count": 99 })), tenths);
        let back = json!({ "from": 1.25, "to": -1.25, "step": -0.05 });
        assert_eq!(values(&back).as_array().unwrap().len(), 51);
        assert_eq!(values(&back)[24], json!(0.05));
        assert_eq!(values(&back)[26], json!(-0.05));
        assert_eq!(values(&json!({ "from": 0, "to": 1, "count": 4 }))[1], json!(1.0 / 3.0));
        // Far apart, digits do not suffice, and what is said is as near as it can be.
        let far = values(&json!({ "from": 1e-12, "to": 1e12, "count": 3 }));
        assert_eq!(far, json!([1e-12, 5e11, 1e12]));
        let fine = values(&json!({ "from": 1e-30, "to": 3e-30, "step": 1e-30 }));
        assert_eq!(fine.as_array().unwrap().len(), 3);
    }

    #[test]
    fn all_axes_share_the_room() {
        let axes = |counts: [u32; 2]| {
            let [a, b] = counts.map(|it| json!({ "from": 0, "to": 1, "count": it }));
            let both = json!({ "a": a, "of": { "b": b } });
            read_axes(both.as_object().unwrap(), &mut Room(1000)).map(|it| it.len())
        };
        assert_eq!(axes([1, 999]).unwrap(), 2);
        let error = axes([400, 601]).unwrap_err().to_string();
        assert!(
            error.contains("`of.b`") && error.contains("601 values") && error.contains("600 more"),
            "{error}"
        );
    }

    #[test]
    fn ends_alone_are_a_range_whatever_they_are_called() {
        let range = Range::new(1.0, 8.0).integer();
        assert_eq!(read(&json!({ "from": 1, "to": 8, "integer": true })), Ok(Extent::Range(range)));
        assert_eq!(read(&json!({ "min": 1, "max": 8, "integer": true })), Ok(Extent::Range(range)));
    }

    #[test]
    fn forms_that_lead_nowhere_are_refused() {
        for bad in [
            json!({ "from": 1 }),
            json!({ "from": 8, "to": 1 }),
            json!({ "from": 1.5, "to": 8, "integer": true }),
            json!({ "from": 1, "to": 8.5, "integer": true, "count": 3 }),
            json!({ "from": 0, "to": 8, "log": true }),
            json!({ "from": 1, "to": 8, "step": 0 }),
            json!({ "from": 1, "to": 8, "step": -1 }),
            json!({ "from": 1, "to": 8, "step": 1e-9 }),
            json!({ "from": 1, "to": 8, "step": 1e-300 }),
            json!({ "from": -1e308, "to": 1e308, "step": 1e300 }),
            json!({ "from": 1, "to": 8, "count": 1001 }),
            json!({ "from": 1, "to": 8, "count": 0 }),
            json!({ "from": 0, "to": 8, "count": 3, "log": true }),
            json!({ "from": 1, "to": 8, "step": 1, "log": true }),
            json!({ "from": 1, "to": 8, "step": 1, "count": 2 }),
            json!({ "from": 1, "to": 8, "stop": 1 }),
            json!({ "from": 1, "min": 1, "to": 8 }),
            json!({ "values": [1], "from": 1, "to": 2 }),
            json!({ "values": [1], "log": true }),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
