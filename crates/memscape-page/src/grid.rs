//! A study answered at every point of a grid, for a page that asks nobody.

use memscape_explore::{Column, Control, DynStudy, Kind, Parameter, Parameters, Sweep, Table};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::explorer::{errors, flat, frame};
use crate::steps::Control as Field;

/// A page of some megabytes.
const MOST_POINTS: u64 = 10_000;

/// A study's answers over axes.
pub struct Grid {
    spec: Value,
}

/// A parameter and what it takes.
struct Axis {
    path: String,
    values: Vec<Value>,
    /// Where the page begins: at the first point that has an answer.
    first: usize,
}

impl Grid {
    /// Answers every point of a sweep whose axes make a full grid: lists or ranges with steps,
    /// nothing that moves together, is drawn, or left out. `base` are the parameters that the sweep
    /// is over, later ones over earlier ones.
    ///
    /// # Errors
    /// [`Error::BadGrid`] for another sweep, more than 10 000 points, or one that was stopped;
    /// [`Error::Explore`] as a sweep.
    pub fn new(
        study: &dyn DynStudy,
        base: &[&Parameters],
        sweep: &Sweep,
        control: &dyn Control,
    ) -> Result<Self, Error> {
        let paths = sweep.axes();
        if paths.is_empty() {
            return Err(Error::BadGrid(
                "give axes, for example in a study file, \"[axes]\" and \"split_k\" = [1, 2, 4]".to_owned(),
            ));
        }
        let points = sweep.points()?;
        if MOST_POINTS < points {
            return Err(Error::BadGrid(format!(
                "{points} points are more than the {MOST_POINTS} that a page holds; give fewer or shorter axes"
            )));
        }
        let table = study.sweep(sweep, control)?;
        if !table.is_complete() {
            return Err(Error::BadGrid("it was interrupted".to_owned()));
        }
        let mut axes = axes(&table, &paths)?;
        let mut row = errors(&table)?.iter().position(Option::is_none).unwrap_or(0);
        for axis in axes.iter_mut().rev() {
            axis.first = row % axis.values.len();
            row /= axis.values.len();
        }
        Ok(Self { spec: spec(study, &flat(study, base), &axes, &table)? })
    }

    /// What the module draws the form from, with the answers in it.
    #[must_use]
    pub fn spec(&self) -> &Value {
        &self.spec
    }
}

fn spec(study: &dyn DynStudy, base: &Parameters, axes: &[Axis], table: &Table) -> Result<Value, Error> {
    let description = study.describe();
    let field = |axis: &Axis| {
        let known = description.parameters.iter().find(|it| it.path == axis.path);
        let text = |pick: fn(&Parameter) -> &str| known.map(pick).unwrap_or_default();
        let numeric = axis.values.iter().all(Value::is_number);
        json!({
            "path": axis.path,
            "meaning": text(|it| &it.meaning),
            "unit": known.and_then(|it| it.unit.as_deref()),
            "allowed": "the values of this page",
            "more": known.and_then(|it| it.more.as_deref()),
            "source": text(|it| &it.source),
            "nullable": false,
            "control": if numeric { Field::Number } else { Field::Choice },
            "steps": axis.values,
            "value": axis.values.get(axis.first),
            "default": known.map(|it| &it.default),
        })
    };
    let mut columns = Map::new();
    for it in &description.columns {
        let values = match (it.kind, table.column(&it.name)?) {
            (Kind::Float | Kind::Int, _) => json!(table.f64(&it.name)?),
            (_, Column::Bool(all)) => json!(all),
            _ => json!(table.text(&it.name)?),
        };
        columns.insert(it.name.clone(), values);
    }
    let told = |it: &Axis| json!({ "path": it.path, "values": it.values, "first": it.first });
    let grid = json!({
        "axes": axes.iter().map(told).collect::<Vec<_>>(),
        "columns": columns,
        "errors": errors(table)?,
    });
    let fields: Vec<Value> = axes.iter().map(field).collect();
    let curve = axes.first().map(|it| it.path.as_str());
    Ok(frame(study, &description, &fields, base, curve, Some(grid)))
}

/// The axes of a table whose rows are all combinations of their values, the last axis fastest.
fn axes(table: &Table, paths: &[String]) -> Result<Vec<Axis>, Error> {
    let columns = paths.iter().map(|it| values(table, it)).collect::<Result<Vec<_>, _>>()?;
    let mut axes: Vec<Axis> = Vec::new();
    for (path, column) in paths.iter().zip(&columns) {
        let mut values: Vec<Value> = Vec::new();
        for it in column {
            if !values.contains(it) {
                values.push(it.clone());
            }
        }
        axes.push(Axis { path: path.clone(), values, first: 0 });
    }
    let mut stride = table.height();
    let all: usize = axes.iter().map(|it| it.values.len()).product();
    let full = stride > 0
        && all == stride
        && axes.iter().zip(&columns).all(|(axis, column)| {
            stride /= axis.values.len();
            let expected = |row: usize| &axis.values[row / stride % axis.values.len()];
            column.iter().enumerate().all(|(row, it)| it == expected(row))
        });
    if full {
        return Ok(axes);
    }
    Err(Error::BadGrid(format!(
        "the {} points are not all combinations of the axes' values; leave out zips, conditions and constraints",
        table.height()
    )))
}

/// The values of one axis, row by row.
fn values(table: &Table, path: &str) -> Result<Vec<Value>, Error> {
    Ok(match table.column(path)? {
        Column::Float(all) => all.into_iter().map(|it| json!(it)).collect(),
        Column::Int(all) => all.into_iter().map(|it| json!(it)).collect(),
        Column::Bool(all) => all.into_iter().map(|it| json!(it)).collect(),
        Column::Text(all) => all.into_iter().map(|it| json!(it)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use memscape_systems::study;

    use super::*;

    fn grid(sweep: &Sweep) -> Result<Grid, Error> {
        Grid::new(study("pim.gemv").unwrap(), &[], sweep, &())
    }

    #[test]
    fn rows_are_those_of_the_study() {
        let sweep = Sweep::of(Parameters::new())
            .axis("memory.banks_per_channel", [8, 16])
            .axis("placement", ["best", "column-major"])
            .axis("split_k", [1, 2, 4]);
        let spec = grid(&sweep).unwrap().spec;
        let axes = spec["grid"]["axes"].as_array().unwrap();
        assert_eq!(axes[1]["values"], json!(["best", "column-major"]));
        assert_eq!(spec["parameters"][1]["control"], "choice");
        // Row 8: the second number of banks, the first placement, the third split.
        let asked = json!({ "memory.banks_per_channel": 16, "split_k": 4 });
        let row = study("pim.gemv").unwrap().run(asked.as_object().unwrap()).unwrap();
        let speedup = &row.iter().find(|it| it.0 == "speedup").unwrap().1;
        assert_eq!(&spec["grid"]["columns"]["speedup"][8], speedup);
    }

    #[test]
    fn a_page_begins_where_there_is_an_answer() {
        let sweep =
            Sweep::of(Parameters::new()).axis("memory.banks_per_channel", [0, 16]).axis("split_k", [0, 1, 2]);
        let spec = grid(&sweep).unwrap().spec;
        assert!(spec["grid"]["errors"][0].is_string());
        let begins = spec["parameters"].as_array().unwrap().iter().map(|it| it["value"].clone());
        assert_eq!(begins.collect::<Vec<_>>(), [json!(16), json!(1)]);
        assert_eq!(spec["grid"]["axes"][1]["first"], 1);
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        let refused = |sweep: Sweep| grid(&sweep).err().unwrap().to_string();
        assert!(refused(Sweep::of(Parameters::new())).contains("give axes"));
        let many = Sweep::of(Parameters::new()).axis("split_k", 1..=200).axis("pim.registers", 1..=200);
        assert!(refused(many).contains("40000 points are more than"));
        let zip = Sweep::of(Parameters::new()).zip([("split_k", [1, 2]), ("pim.registers", [8, 16])]);
        assert!(refused(zip).contains("leave out zips"));
    }
}
