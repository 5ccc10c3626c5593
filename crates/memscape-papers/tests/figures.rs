//! Figures of tables that no model made.

use memscape_explore::{Column, Table};
use memscape_papers::experiments;
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

#[path = "../../memscape-systems/tests/it/counting.rs"]
mod counting;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting { most: 4_000_000_000 };

/// What drawing takes at the most.
const MOST_BYTES: usize = 256 << 20;

/// The table with other numbers, taken in turn, in each column of floats; or in one of them.
fn with(table: &Table, numbers: &[f64], only: Option<&str>) -> Table {
    let mut next = numbers.iter().copied().cycle();
    let columns = table.column_names().into_iter().map(|name| {
        let column = match table.column(name).unwrap() {
            Column::Float(it) if only.is_none_or(|only| only == name) => {
                Column::Float(it.into_iter().map(|it| it.and(next.next())).collect())
            }
            other => other,
        };
        (name, column)
    });
    Table::from_columns(columns).unwrap()
}

#[test]
fn any_numbers_are_drawn_in_bounded_memory_or_told() {
    let all: [&[f64]; 8] = [
        &[1e308],
        &[0.0],
        &[-1.0],
        &[5e-324],
        &[1e100, 1e-100],
        &[f64::MAX, f64::MIN, 0.0],
        &[1.0, 1.0 + f64::EPSILON],
        &[1e308, 1.0, -1e-9, 1e-300],
    ];
    let mut drawn = 0;
    // Memory is counted for all threads together, so that nothing else may go on while one draws.
    let tables: Vec<_> = experiments().par_bridge().map(|it| (it, it.table().unwrap())).collect();
    for (experiment, table) in tables {
        let floats =
            table.column_names().into_iter().filter(|it| matches!(table.column(it), Ok(Column::Float(_))));
        let one_by_one = floats.map(|it| (Some(it), &all[7]));
        let together = all.iter().map(|it| (None, it));
        for (place, numbers) in together.chain(one_by_one) {
            let changed = with(&table, numbers, place);
            let context = format!("{} with {numbers:?} in {}", experiment.id, place.unwrap_or("all columns"));
            let (bytes, svg) = counting::measured(|| -> Result<String, Box<dyn std::error::Error>> {
                Ok(experiment.plot(&changed)?.svg()?)
            });
            assert!(bytes < MOST_BYTES, "{context}: {bytes} B");
            if let Ok(svg) = svg {
                drawn += 1;
                assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{context}");
            }
        }
    }
    // Most numbers are no reason to refuse.
    assert!(drawn > 1000, "{drawn}");
}

#[test]
fn a_table_without_rows_is_told_with_the_experiments_name() {
    for experiment in experiments().take(10) {
        let table = experiment.table().unwrap();
        let empty = table.column_names().into_iter().map(|it| (it, Column::Float(Vec::new())));
        let error = experiment.plot(&Table::from_columns(empty).unwrap()).unwrap_err().to_string();
        assert!(error.contains(experiment.id), "{error}");
    }
}
