//! The axes' columns of any points.

use rayon::prelude::*;

use super::axis::{Axis, Values};
use super::cursor::Cursor;
use super::plan::{Dimension, Plan};
use crate::columns::{ColumnBuilder, Columns};
use crate::schema::Shape;

impl Plan<'_> {
    /// A column of the answer that has an axis' name is called `answer.<name>` in the
    /// table.
    pub(crate) fn named_apart(&self, mut columns: Columns) -> Columns {
        for column in &mut columns.builders {
            if self.axes().any(|it| it.path == column.name) {
                column.name = format!("answer.{}", column.name);
            }
        }
        columns
    }

    /// A column for each axis with a row for each of these points, given by their
    /// digits; null where the axis does not exist.
    pub(crate) fn columns_at(
        &self,
        points: impl Iterator<Item: AsRef<[u64]>>,
    ) -> Vec<polars::prelude::Column> {
        // Digits of each axis, and of those that do not exist everywhere, whether they do.
        let mut digits: Vec<Vec<u64>> = self.axes().map(|_| Vec::new()).collect();
        let mut exists: Vec<Vec<bool>> = digits.iter().map(|_| Vec::new()).collect();
        let mut cursor: Option<Cursor<'_>> = None;
        for point in points {
            let point = point.as_ref();
            if self.conditional {
                match &mut cursor {
                    Some(cursor) => cursor.go(point),
                    None => cursor = Some(Cursor::at(self, point.to_vec())),
                }
            }
            for (dimension, digit) in self.dimensions.iter().zip(point) {
                for axis in &dimension.axes {
                    digits[axis.index].push(*digit);
                    if axis.when.is_some() {
                        exists[axis.index].push(cursor.as_ref().is_none_or(|it| it.has(axis)));
                    }
                }
            }
        }
        let axes: Vec<&Axis> = self.dimensions.iter().flat_map(|it: &Dimension| &it.axes).collect();
        let column = |axis: &&Axis| {
            let float = self.anatomy.shape.at(&axis.path).is_some_and(Shape::is_float);
            axis.column_at(float, &digits[axis.index], &exists[axis.index]).into_polars()
        };
        axes.par_iter().map(column).collect()
    }
}

impl Axis {
    fn column_at(&self, float: bool, digits: &[u64], exists: &[bool]) -> ColumnBuilder {
        if self.when.is_none() && self.values.count() > digits.len() as u64 {
            return self.column_of(digits.iter().copied(), float);
        }
        let exists = |row: usize| exists.get(row).copied().unwrap_or(true);
        let mut column = self.column(float);
        if let Values::Real(_) = self.values {
            for (row, digit) in digits.iter().enumerate() {
                let pushed = exists(row).then(|| column.push_float(f64::from_bits(*digit)).is_ok());
                if pushed != Some(true) {
                    column.push_null();
                }
            }
            return column;
        }
        let last = u32::try_from(column.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let index = |(row, digit): (usize, &u64)| match (&self.when, exists(row)) {
            (Some(_), false) => last,
            (Some(_), true) => u32::try_from(self.pick(*digit)).unwrap_or(last),
            (None, _) => u32::try_from(*digit).unwrap_or(last),
        };
        let picks: Vec<u32> = digits.iter().enumerate().map(index).collect();
        column.gather(&picks)
    }
}
