//! Frames cross to and from Python through Arrow's C stream, without a copy.
//!
//! The two sides share only the [PyCapsule interface], so any version of
//! Python's polars takes our frames, and any library that speaks it (polars,
//! pandas, pyarrow, `DuckDB`) may hand us its own.
//!
//! [PyCapsule interface]: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html

use std::ffi::CStr;

use polars::prelude::{CompatLevel, DataFrame};
use polars_arrow::array::StructArray;
use polars_arrow::datatypes::{ArrowDataType, Field};
use polars_arrow::ffi::{ArrowArrayStream, ArrowArrayStreamReader, export_iterator};
use polars_arrow::record_batch::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::to_py_err;

/// The name that the interface prescribes for a capsule with a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// A table on its way to Python: `polars.DataFrame(frame)` takes it over.
#[pyclass(frozen, module = "memscape._memscape")]
pub struct Frame(pub DataFrame);

#[pymethods]
impl Frame {
    #[new]
    fn new(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        from_python(table).map(Self)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the schema asked for.
        let _ = requested_schema;
        PyCapsule::new_with_value(py, export(&self.0), STREAM)
    }
}

/// Hands a frame to Python's polars, which is imported by its first use.
pub fn to_python<'py>(py: Python<'py>, frame: &DataFrame) -> PyResult<Bound<'py, PyAny>> {
    py.import("polars")?.getattr("DataFrame")?.call1((Frame(frame.clone()),))
}

fn export(frame: &DataFrame) -> ArrowArrayStream {
    let mut frame = frame.clone();
    frame.align_chunks();
    // Polars' newest layout is its own: strings too cross as they are.
    let layout = CompatLevel::newest();
    let fields = frame.columns().iter().map(|it| it.field().to_arrow(layout)).collect();
    let dtype = ArrowDataType::Struct(fields);
    let batches: Vec<RecordBatch> = frame.iter_chunks(layout, false).collect();
    let field = Field::new("".into(), dtype.clone(), false);
    let arrays = batches.into_iter().map(move |batch| {
        let height = batch.height();
        let array = StructArray::try_new(dtype.clone(), height, batch.into_arrays(), None)?;
        Ok(array.boxed())
    });
    export_iterator(Box::new(arrays), field)
}

/// Takes over a table of any library that speaks the interface.
///
/// # Errors
/// `TypeError` if `table` does not, or has a column that is neither numbers,
/// texts nor truth values.
#[expect(unsafe_code, reason = "the stream comes from another library, by pointer")]
pub fn from_python(table: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
    if !table.hasattr("__arrow_c_stream__")? {
        return Err(to_py_err(format!(
            "a `{}` is not a table; give a polars.DataFrame or any object with `__arrow_c_stream__`",
            table.get_type().name()?
        )));
    }
    let capsule = table.call_method1("__arrow_c_stream__", (table.py().None(),))?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<ArrowArrayStream>();
    // SAFETY: a capsule of this name holds such a stream, and its consumer is
    // to move it out, leaving a released one behind.
    let stream = unsafe { pointer.replace(ArrowArrayStream::empty()) };
    // SAFETY: the producer promises by the capsule's name that the stream
    // follows the C stream interface.
    let mut reader = unsafe { ArrowArrayStreamReader::try_new(Box::new(stream)) }.map_err(to_py_err)?;
    let dtype = reader.field().dtype().clone();
    check(&dtype)?;

    let mut frame = DataFrame::try_from(StructArray::new_empty(dtype)).map_err(to_py_err)?;
    // SAFETY: as above.
    while let Some(batch) = unsafe { reader.next() } {
        let batch = batch.map_err(to_py_err)?;
        let batch = batch.as_any().downcast_ref::<StructArray>().cloned();
        let batch = batch.ok_or_else(|| to_py_err("the Arrow stream is not a table"))?;
        let batch = DataFrame::try_from(batch).map_err(to_py_err)?;
        frame.vstack_mut(&batch).map_err(to_py_err)?;
    }
    Ok(frame)
}

/// Polars panics at types it was built without.
fn check(dtype: &ArrowDataType) -> PyResult<()> {
    use ArrowDataType as Type;
    let Type::Struct(fields) = dtype else {
        return Err(to_py_err("the Arrow stream is not a table"));
    };
    let strange = fields.iter().find(|field| {
        !matches!(
            field.dtype,
            Type::Boolean
                | Type::Int32
                | Type::Int64
                | Type::UInt32
                | Type::UInt64
                | Type::Float32
                | Type::Float64
                | Type::Utf8
                | Type::LargeUtf8
                | Type::Utf8View
        )
    });
    match strange {
        Some(field) => Err(to_py_err(format!(
            "column `{}` is of type {:?}; cast it to Int64, Float64, String or Boolean",
            field.name, field.dtype
        ))),
        None => Ok(()),
    }
}
