//! Rust's errors as Python's.

use std::fmt::Display;

use memscape::{explore, papers};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    memscape,
    MemscapeError,
    PyValueError,
    "What was asked has no answer.\n\nThe message names what was asked, what was available and what to change."
);
create_exception!(
    memscape,
    InternalError,
    PyRuntimeError,
    "An error in memscape itself.\n\nPlease report it with the call that raised it."
);

/// An error of any crate below: bad input, told in one line.
pub fn to_py_err(error: impl Display) -> PyErr {
    MemscapeError::new_err(error.to_string())
}

/// As [`to_py_err`], but for our own mistakes.
pub fn explore_error(error: explore::Error) -> PyErr {
    match error {
        explore::Error::Internal(text) => InternalError::new_err(format!("{text}; please report it")),
        error => to_py_err(error),
    }
}

/// As [`explore_error`], of an experiment or a claim.
pub fn papers_error(error: papers::Error) -> PyErr {
    match error {
        papers::Error::Explore(error) => explore_error(error),
        error => to_py_err(error),
    }
}
