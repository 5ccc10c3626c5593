//! Python's plain values as JSON's, and back.

use memscape::explore::{Sample, Search, Sensitivity};
use memscape::prelude::{Parameters, StudyFile};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::error::to_py_err;

/// A parameter table: a dict with text keys.
pub fn parameters(given: &Bound<'_, PyDict>) -> PyResult<Parameters> {
    Reader::default().table("", given)
}

/// What a study file holds, as a dict.
pub fn study_file(given: &Bound<'_, PyDict>) -> PyResult<StudyFile> {
    let table = parameters(given)?;
    // Sections have columns of the same names.
    whole::<Sample>(&table, "sample")?;
    whole::<Search>(&table, "search")?;
    whole::<Sensitivity>(&table, "sensitivity")?;
    serde_json::from_value(Value::Object(table)).map_err(to_py_err)
}

/// That a section can be read, if it is there.
fn whole<T: DeserializeOwned>(table: &Parameters, section: &str) -> PyResult<()> {
    let read = table.get(section).map(T::deserialize).transpose();
    read.map(|_| ()).map_err(|problem| to_py_err(format!("`{section}`: {problem}")))
}

/// Parameter tables, later ones over earlier ones.
pub fn layers(given: &[Bound<'_, PyDict>]) -> PyResult<Vec<Parameters>> {
    given.iter().map(parameters).collect()
}

/// Tables within tables; more is a list that contains itself.
const MOST_DEPTH: usize = 64;

/// Values in one argument; more is an iterator without end.
const MOST_VALUES: usize = 20_000_000;

/// Values between two looks at Ctrl-C.
const SIGNALS_EVERY: usize = 1 << 16;

/// Reads one argument, which may be anything.
#[derive(Default)]
struct Reader {
    depth: usize,
    values: usize,
}

impl Reader {
    /// A plain Python value; `path` is where it stands, for the error.
    fn read(&mut self, path: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.values += 1;
        if self.values > MOST_VALUES {
            let root = root(path);
            return Err(to_py_err(format!("`{root}` has over {MOST_VALUES} values; give fewer")));
        }
        if self.values.is_multiple_of(SIGNALS_EVERY) {
            value.py().check_signals()?;
        }
        if let Some(plain) = scalar(path, value)? {
            return Ok(plain);
        }
        if self.depth == MOST_DEPTH {
            let root = root(path);
            return Err(to_py_err(format!(
                "`{root}` is nested over {MOST_DEPTH} levels deep; does it contain itself?"
            )));
        }
        self.depth += 1;
        let read = self.container(path, value)?;
        self.depth -= 1;
        Ok(read)
    }

    fn container(&mut self, path: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        let kind = value.get_type().name()?;
        if let Ok(it) = value.cast::<PyDict>() {
            Ok(Value::Object(self.table(path, it)?))
        } else if matches!(kind.to_str()?, "bytes" | "bytearray" | "memoryview") {
            // Python would count them out as small numbers.
            Err(to_py_err(format!("`{path}` is `{kind}`; give a text or a list of numbers")))
        } else if value.hasattr("tolist")? {
            // NumPy's arrays and numbers.
            self.read(path, &value.call_method0("tolist")?)
        } else if let Ok(items) = value.try_iter() {
            let items = items.enumerate().map(|(index, it)| self.read(&format!("{path}[{index}]"), &it?));
            items.collect::<PyResult<_>>().map(Value::Array)
        } else {
            Err(to_py_err(format!(
                "`{path}` is a `{kind}`; give a number, a text, a truth value, a list or a dict of these"
            )))
        }
    }

    fn table(&mut self, path: &str, dict: &Bound<'_, PyDict>) -> PyResult<Parameters> {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let key: String = key.extract().map_err(|_| {
                to_py_err(format!("`{key}` is no parameter's name; names are texts such as \"split_k\""))
            })?;
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            Ok((key, self.read(&path, &value)?))
        };
        dict.iter().map(entry).collect()
    }
}

/// Where a path begins: the argument.
fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// What holds no other values.
fn scalar(path: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    // A bool is an int to Python, so it goes first.
    Ok(Some(if value.is_none() {
        Value::Null
    } else if let Ok(it) = value.cast::<PyBool>() {
        Value::Bool(it.is_true())
    } else if value.is_instance_of::<PyInt>() {
        let number =
            value.extract::<i64>().map(Number::from).or_else(|_| value.extract::<u64>().map(Number::from));
        // Its digits may fill pages, or be more than Python prints.
        number.map(Value::Number).map_err(|_| to_py_err(format!("`{path}` does not fit 64 bits")))?
    } else if let Ok(it) = value.cast::<PyFloat>() {
        let number = Number::from_f64(it.extract()?);
        number
            .map(Value::Number)
            .ok_or_else(|| to_py_err(format!("`{path}` = {value}; it must be a finite number")))?
    } else if let Ok(it) = value.cast::<PyString>() {
        Value::String(it.extract()?)
    } else if value.hasattr("__fspath__")? {
        // A path, such as that of a recording.
        Value::String(value.extract::<std::path::PathBuf>()?.display().to_string())
    } else {
        return Ok(None);
    }))
}

/// A JSON value as Python's own.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(it) => PyBool::new(py, *it).to_owned().into_any(),
        Value::Number(it) => match (it.as_i64(), it.as_u64()) {
            (Some(it), _) => it.into_pyobject(py)?.into_any(),
            (None, Some(it)) => it.into_pyobject(py)?.into_any(),
            // A JSON number that is no integer is a float.
            (None, None) => it.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(it) => PyString::new(py, it).into_any(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|it| to_python(py, it)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(entries) => dict(py, entries.iter().map(|(key, it)| (key.as_str(), it)))?.into_any(),
    })
}

/// A dict in the order given.
pub fn dict<'py, 'a>(
    py: Python<'py>,
    entries: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in entries {
        dict.set_item(key, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// Of a longer text only the type is told.
const LONGEST: usize = 100;

/// A whole number among a method's arguments.
pub fn count(name: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    // In Python a truth value is a number.
    let number = if given.is_instance_of::<PyBool>() { None } else { given.extract().ok() };
    number.ok_or_else(|| misfit(name, given, "a whole number from 0 to 2^64 - 1"))
}

/// Numbers among a method's arguments.
pub fn numbers(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    given.extract().map_err(|_| misfit(name, given, "a list of numbers"))
}

/// Bytes among a method's arguments.
pub fn bytes(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    given.extract().map_err(|_| misfit(name, given, "bytes"))
}

fn misfit(name: &str, given: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let text = given.repr().map(|it| it.to_string()).ok().filter(|it| it.len() <= LONGEST);
    let text = text.unwrap_or_else(|| match given.get_type().name() {
        Ok(name) => format!("a `{name}`"),
        Err(_) => "something else".to_owned(),
    });
    to_py_err(format!("`{name}` is {text}; give {wanted}"))
}
