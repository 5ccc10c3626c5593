//! The axes of a design space and what must hold in it.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::axes::{Extent, Room, read_axes};
use super::range::Range;
use crate::error::Error;
use crate::parameters::Parameters;

/// Axes and constraints: what a sweep, a search and a front go over.
///
/// An axis goes over values or a [`Range`]; several that move together are linked;
/// one that exists only where others have a value is conditional, and elsewhere its
/// parameter keeps what the base gives it. A constraint is an
/// [`Expression`](crate::Expression) over parameters and columns of the answer.
/// Those over parameters alone are held before anything is evaluated.
///
/// ```
/// use memscape_explore::{Range, Space};
///
/// let space = Space::default()
///     .axis("memory.banks_per_channel", [8, 16, 32])
///     .range("pim.registers", Range::new(8.0, 32.0).integer())
///     .axis("placement", ["best", "fixed-tile"])
///     .axis("tile", [1, 2, 4]).when("placement == 'fixed-tile'")
///     .linked([("shape.m", [768, 1024]), ("shape.k", [3072, 4096])])
///     .constraint("pim.registers * memory.banks_per_channel <= 512");
/// assert_eq!(space.paths().count(), 6);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Space {
    /// Slowest first.
    pub(crate) dimensions: Vec<Linked>,
    pub(crate) constraints: Vec<String>,
}

/// Axes that move together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Linked {
    pub(crate) axes: Axes,
    /// Where they exist, if not everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<String>,
}

/// What they go over.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Axes {
    Values(Vec<(String, Listed)>),
    Range(String, Range),
}

/// The values of an axis, and the step or count that made them, which says it in fewer words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    pub(crate) values: Vec<Value>,
    written: Option<Value>,
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.written {
            Some(written) => written.serialize(serializer),
            None => self.values.serialize(serializer),
        }
    }
}

impl From<Vec<Value>> for Listed {
    fn from(values: Vec<Value>) -> Self {
        Self { values, written: None }
    }
}

impl Space {
    /// Every value of one parameter, or of one that names a description.
    ///
    /// A NaN becomes null on its way into a [`Value`] and is refused where the
    /// parameter must be a number.
    #[must_use]
    pub fn axis(self, path: impl Into<String>, values: impl IntoIterator<Item: Into<Value>>) -> Self {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        self.with(Axes::Values(vec![(path.into(), values.into())]))
    }

    /// Numbers between two ends.
    #[must_use]
    pub fn range(self, path: impl Into<String>, range: Range) -> Self {
        self.with(Axes::Range(path.into(), range))
    }

    /// Parameters that move together: the first value of each, then the second of
    /// each, and so on.
    #[must_use]
    pub fn linked<P: Into<String>, V: IntoIterator<Item: Into<Value>>>(
        self,
        axes: impl IntoIterator<Item = (P, V)>,
    ) -> Self {
        let of_values = |(path, values): (P, V)| {
            (path.into(), values.into_iter().map(Into::into).collect::<Vec<Value>>().into())
        };
        self.with(Axes::Values(axes.into_iter().map(of_values).collect()))
    }

    /// The axis added last exists only where this holds, a formula over axes before
    /// it.
    #[must_use]
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        if let Some(last) = self.dimensions.last_mut() {
            last.when = Some(condition.into());
        }
        self
    }

    /// What must hold at every point.
    #[must_use]
    pub fn constraint(mut self, formula: impl Into<String>) -> Self {
        self.constraints.push(formula.into());
        self
    }

    /// The dotted path of each axis, slowest first.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.dimensions.iter().flat_map(Linked::paths)
    }

    /// A space as a study file holds it: `axes` by path, each group of `linked` ones,
    /// and constraints.
    ///
    /// # Errors
    /// [`Error::BadSweep`] names the axis that has none of the forms.
    pub fn read(axes: &Parameters, linked: &[Parameters], constraints: &[String]) -> Result<Self, Error> {
        let (mut space, mut room) = (Self::default(), Room::ALL);
        for given in read_axes(axes, &mut room)? {
            space = space.with(match given.extent {
                Extent::Values(values) => Axes::Values(vec![(given.path, values.into())]),
                Extent::Steps(values, written) => {
                    Axes::Values(vec![(given.path, Listed { values, written: Some(written) })])
                }
                Extent::Range(range) => Axes::Range(given.path, range),
            });
            if let Some(when) = given.when {
                space = space.when(when);
            }
        }
        for group in linked {
            space = space.read_linked(group, &mut room)?;
        }
        space.constraints = constraints.to_vec();
        Ok(space)
    }

    /// A group of lists; its key `when` is a condition on all of them.
    fn read_linked(self, group: &Parameters, room: &mut Room) -> Result<Self, Error> {
        let mut group = group.clone();
        let when = match group.shift_remove("when") {
            None => None,
            Some(Value::String(it)) => Some(it),
            Some(other) => {
                return Err(Error::BadSweep(format!(
                    "zip: `when` = {other}: expected a formula as text, such as \"engine == 'events'\""
                )));
            }
        };
        let mut axes = Vec::new();
        for given in read_axes(&group, room)? {
            match given.extent {
                Extent::Values(values) | Extent::Steps(values, _) if given.when.is_none() => {
                    axes.push((given.path, values.into()));
                }
                Extent::Values(_) | Extent::Steps(..) => {
                    return Err(Error::BadSweep(format!(
                        "zip: `{}` has a `when` of its own; give it to the whole group",
                        given.path
                    )));
                }
                Extent::Range(_) => {
                    return Err(Error::BadSweep(format!(
                        "zip: `{}` is a range, which cannot move with others; give `step` or `count`",
                        given.path
                    )));
                }
            }
        }
        let space = self.with(Axes::Values(axes));
        Ok(match when {
            Some(when) => space.when(when),
            None => space,
        })
    }

    /// One of its dimensions by itself.
    pub(crate) fn only(&self, dimension: usize) -> Self {
        Self::default().with(self.dimensions[dimension].axes.clone())
    }

    pub(crate) fn with(mut self, axes: Axes) -> Self {
        self.dimensions.push(Linked { axes, when: None });
        self
    }

    /// Calls `change` with the path and values of every axis that is no range of numbers.
    pub(crate) fn change_values(&mut self, mut change: impl FnMut(&str, &mut Vec<Value>)) {
        for it in &mut self.dimensions {
            if let Axes::Values(axes) = &mut it.axes {
                for (path, listed) in axes.iter_mut().filter(|it| it.1.written.is_none()) {
                    change(path, &mut listed.values);
                }
            }
        }
    }
}

impl Space {
    /// How many points there are before conditions and constraints, `None` if an axis
    /// is a range of real numbers.
    ///
    /// # Errors
    /// [`Error::BadSweep`] if an axis is empty, linked axes differ in length, or a
    /// range makes no sense.
    pub fn size(&self) -> Result<Option<u128>, Error> {
        self.finite_size(false)
    }

    /// The same; ranges that are drawn from count as one point.
    pub(crate) fn finite_size(&self, drawn: bool) -> Result<Option<u128>, Error> {
        self.dimensions.iter().try_fold(Some(1_u128), |size, it| {
            let length = it.length()?;
            let length = if drawn && matches!(it.axes, Axes::Range(..)) { Some(1) } else { length };
            Ok(size.zip(length).map(|(size, length)| size.saturating_mul(length.into())))
        })
    }
}

impl Space {
    /// The first axis that has no end of points.
    pub(crate) fn first_real(&self) -> Option<&str> {
        self.dimensions.iter().find_map(|it| match &it.axes {
            Axes::Range(path, range) if !range.integer => Some(path.as_str()),
            _ => None,
        })
    }
}

impl Linked {
    /// The dotted path of each.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        let (several, one) = match &self.axes {
            Axes::Values(axes) => (Some(axes.iter().map(|it| it.0.as_str())), None),
            Axes::Range(path, _) => (None, Some(path.as_str())),
        };
        several.into_iter().flatten().chain(one)
    }

    /// How many points it has, `None` if it is a range of real numbers.
    pub(crate) fn length(&self) -> Result<Option<u64>, Error> {
        let axes = match &self.axes {
            Axes::Values(axes) => axes,
            Axes::Range(path, range) => {
                range.check().map_err(|it| Error::BadSweep(format!("axis `{path}`: {it}")))?;
                return Ok(range.count());
            }
        };
        let Some((path, Listed { values, .. })) = axes.first() else {
            return Err(Error::BadSweep("zip: give at least one axis".to_owned()));
        };
        if values.is_empty() {
            return Err(Error::BadSweep(format!("axis `{path}` has no values")));
        }
        match axes.iter().find(|(_, it)| it.values.len() != values.len()) {
            Some((other, it)) => Err(Error::BadSweep(format!(
                "zip: `{path}` has {} values and `{other}` {}; they must be as many",
                values.len(),
                it.values.len()
            ))),
            None => Ok(Some(values.len() as u64)),
        }
    }
}
