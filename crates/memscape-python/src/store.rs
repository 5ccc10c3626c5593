//! Answers that are kept.

use std::path::PathBuf;

use memscape::explore::{self, Differing, Filled, Search, Space, StudyFile};
use memscape::prelude::{Control, DynStudy, Parameters, Sweep};
use memscape::systems;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::arrow;
use crate::compute::compute;
use crate::error::{explore_error, to_py_err};
use crate::value;
use crate::watched::{answered, heard, stopped, warn, watched};

/// A folder of answers.
#[pyclass(frozen, module = "memscape._memscape")]
pub struct Store(explore::Store);

/// A sweep as a dict, and the folder from which its paths are seen.
type Spec<'py> = (Bound<'py, PyDict>, PathBuf);

#[pymethods]
impl Store {
    /// Makes the folder if it is not there and may be made.
    #[new]
    fn new(folder: PathBuf, make: bool) -> PyResult<Self> {
        let store = if make { explore::Store::open(folder) } else { explore::Store::existing(folder) };
        store.map(Self).map_err(explore_error)
    }

    /// Answers a question, or rows from some to others of it; what was found and what computed.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn fill<'py>(
        &self,
        py: Python<'py>,
        spec: Spec<'py>,
        rows: Option<Vec<(u64, u64)>>,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (study, sweep) = read(&spec)?;
        let store = self.0.clone();
        let rows = rows.map(|it| it.into_iter().map(|(start, end)| start..end).collect::<Vec<_>>());
        let work = move |control: &dyn Control| match rows {
            Some(rows) => store.fill_rows(study, &sweep, &rows, control),
            None => store.fill(study, &sweep, control),
        };
        told(py, &answered(py, progress, work)?)
    }

    /// The same with all rows, and whether they are all.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn sweep<'py>(
        &self,
        py: Python<'py>,
        spec: Spec<'py>,
        leaf_names: bool,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, bool)> {
        let (study, sweep) = read(&spec)?;
        if leaf_names {
            sweep.check_leaf_names().map_err(explore_error)?;
        }
        let store = self.0.clone();
        let work = move |control: &dyn Control| match store.sweep(study, &sweep, control) {
            Ok((table, _)) if leaf_names => table.with_leaf_names(),
            other => other.map(|it| it.0),
        };
        let table = answered(py, progress, work)?;
        Ok((arrow::to_python(py, table.frame())?, table.is_complete()))
    }

    /// The points that a search evaluates, and whether it came to its end: `spec` with `search`.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        spec: Spec<'py>,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, bool)> {
        let Asked { study, base, space, search } = asked(&spec)?;
        let (store, question) = (self.0.clone(), search.clone());
        let work = move |control: &dyn Control| store.search(study, &base, &space, &search, control);
        let (found, stop) = watched(py, progress, work)?;
        searched(py, &found.map_err(explore_error)?.0, &question, stop)
    }

    /// Whether the store has a search's points, up to its end.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn searched<'py>(&self, py: Python<'py>, spec: Spec<'py>) -> PyResult<bool> {
        let Asked { study, base, space, search } = asked(&spec)?;
        let store = self.0.clone();
        compute(py, move || store.has_searched(study, &base, &space, &search))?.map_err(explore_error)
    }

    /// That a front can be asked, before anything is answered.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn check_front(spec: Spec<'_>) -> PyResult<()> {
        let Asked { study, base, space, search } = asked(&spec)?;
        let goals = search.objectives().map_err(explore_error)?;
        explore::check_front(study, &base, &space, &goals).map_err(explore_error)
    }

    /// The front of a space, and whether all points were looked at.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn front<'py>(
        &self,
        py: Python<'py>,
        spec: Spec<'py>,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<String>, bool)> {
        let Asked { study, base, space, search } = asked(&spec)?;
        let goals = search.objectives().map_err(explore_error)?;
        let store = self.0.clone();
        let work = move |control: &dyn Control| store.front(study, &base, &space, &goals, control);
        let (front, _) = answered(py, progress, work)?;
        Ok((arrow::to_python(py, front.table.frame())?, front.unanswered, front.table.is_complete()))
    }

    /// Which blocks of a question are not there: their folder, rows in all, rows of a block,
    /// and of each its first row, the one after its last, and how many of them are known all the same.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn lacking<'py>(
        &self,
        py: Python<'py>,
        spec: Spec<'py>,
    ) -> PyResult<(PathBuf, u64, u64, Vec<(u64, u64, u64)>)> {
        let (study, sweep) = read(&spec)?;
        let store = self.0.clone();
        let lacking = compute(py, move || store.lacking(study, &sweep))?.map_err(explore_error)?;
        let blocks = lacking.blocks.into_iter().map(|(rows, known)| (rows.start, rows.end, known)).collect();
        Ok((lacking.folder, lacking.rows, lacking.block, blocks))
    }

    /// All questions, as dicts.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let runs = self.0.runs().map_err(explore_error)?;
        let told: Vec<serde_json::Value> = runs
            .iter()
            .map(|it| {
                let (manifest, edition) = (&it.manifest, &it.manifest.origin.edition);
                json!({
                    "question": it.id(), "study": edition.study, "rows": manifest.rows,
                    "blocks_there": it.blocks, "blocks": it.blocks_in_all(), "complete": it.is_complete(),
                    "bytes": it.bytes, "started": manifest.started, "finished": manifest.finished,
                    "host": manifest.host, "memscape": edition.memscape, "stale": memscape::is_stale(it),
                })
            })
            .collect();
        value::to_python(py, &told.into())
    }

    /// What the store says of a question.
    fn show<'py>(&self, py: Python<'py>, question: &str) -> PyResult<Bound<'py, PyAny>> {
        let run = self.0.run(question).map_err(explore_error)?;
        value::to_python(py, &serde_json::to_value(&run.manifest).map_err(to_py_err)?)
    }

    /// The files of a question's rows, in order.
    fn files(&self, question: &str) -> PyResult<Vec<PathBuf>> {
        let run = self.0.run(question).map_err(explore_error)?;
        self.0.files(&run).map_err(explore_error)
    }

    /// All rows of a question.
    fn table<'py>(
        &self,
        py: Python<'py>,
        question: &str,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let run = self.0.run(question).map_err(explore_error)?;
        let store = self.0.clone();
        let (table, stop) = watched(py, progress, move |control| store.table(&run, control))?;
        stopped(stop)?;
        arrow::to_python(py, table.map_err(explore_error)?.frame())
    }

    /// The same as a file.
    fn export<'py>(
        &self,
        py: Python<'py>,
        question: &str,
        path: PathBuf,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let run = self.0.run(question).map_err(explore_error)?;
        let store = self.0.clone();
        let (done, stop) = watched(py, progress, move |control| store.export(&run, &path, control))?;
        stopped(stop)?;
        done.map_err(explore_error)
    }

    /// Good files, their bytes, damaged files, and whether all were looked at.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<(u64, u64, Vec<PathBuf>, bool)> {
        let store = self.0.clone();
        let (seen, stop) = watched(py, progress, move |control| store.verify(control))?;
        stopped(stop)?;
        let seen = seen.map_err(explore_error)?;
        Ok((seen.files, seen.bytes, seen.damaged, seen.complete))
    }

    /// How many points were asked again, and for each answer that differs: file, row, column, what
    /// is kept, and what is answered now.
    fn ask_again<'py>(
        &self,
        py: Python<'py>,
        question: &str,
        points: usize,
        progress: &Bound<'py, PyAny>,
    ) -> PyResult<(u64, Vec<(PathBuf, usize, String, Option<String>, Option<String>)>)> {
        let run = self.0.run(question).map_err(explore_error)?;
        let study = systems::study(&run.manifest.origin.edition.study).map_err(explore_error)?;
        let store = self.0.clone();
        let work = move |control: &dyn Control| store.ask_again(study, &run, points, control);
        let (done, stop) = watched(py, progress, work)?;
        stopped(stop)?;
        let again = done.map_err(explore_error)?;
        let plain = |Differing { file, row, changed: it }| (file, row, it.column, it.kept, it.now);
        Ok((again.points, again.differing.into_iter().map(plain).collect()))
    }

    /// Files removed, and their bytes.
    #[expect(clippy::needless_pass_by_value, reason = "as the binding hands it over")]
    fn gc(&self, stale: bool, questions: Vec<String>) -> PyResult<(u64, u64)> {
        let named = questions.iter().map(|it| self.0.named(it).map(|it| it.id().to_owned()));
        let named = named.collect::<Result<Vec<_>, _>>().map_err(explore_error)?;
        let unwanted =
            |it: &explore::Run| (stale && memscape::is_stale(it)) || named.iter().any(|name| name == it.id());
        let freed = self.0.tidy(unwanted).map_err(explore_error)?;
        Ok((freed.files, freed.bytes))
    }
}

/// The question that a spec asks.
fn read(spec: &Spec<'_>) -> PyResult<(&'static dyn DynStudy, Sweep)> {
    let (study, file) = file(spec)?;
    Ok((study, file.sweep(study).map_err(explore_error)?))
}

/// What a spec wants to know of a space.
struct Asked {
    study: &'static dyn DynStudy,
    base: [Parameters; 1],
    space: Space,
    search: Search,
}

fn asked(spec: &Spec<'_>) -> PyResult<Asked> {
    let (study, file) = file(spec)?;
    let space = file.space(study).map_err(explore_error)?;
    Ok(Asked { study, base: [file.parameters(study)], space, search: file.search.unwrap_or_default() })
}

fn file((spec, folder): &Spec<'_>) -> PyResult<(&'static dyn DynStudy, StudyFile)> {
    let mut file = value::study_file(spec)?;
    file.folder.clone_from(folder);
    Ok((systems::study(&file.study).map_err(explore_error)?, file))
}

/// A search's table, and whether it came to its end without an interrupt. Warns where a search found nothing, or
/// compared answers with none.
pub fn searched<'py>(
    py: Python<'py>,
    table: &explore::Table,
    question: &Search,
    stop: Option<PyErr>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let complete = table.is_complete() && stop.is_none();
    heard(py, stop)?;
    if complete {
        let nothing = explore::nothing_found(table, question).map_err(explore_error)?;
        let uncompared = explore::not_compared(table, question).map_err(explore_error)?;
        nothing.or(uncompared).map_or(Ok(()), |it| warn(py, &it))?;
    }
    Ok((arrow::to_python(py, table.frame())?, complete))
}

fn told<'py>(py: Python<'py>, filled: &Filled) -> PyResult<Bound<'py, PyAny>> {
    let Filled { question, rows, found, computed, complete } = filled;
    let told = json!({
        "question": question, "rows": rows, "found": found, "computed": computed, "complete": complete,
    });
    value::to_python(py, &told)
}
