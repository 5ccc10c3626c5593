//! Why a model was not fitted to what was measured.

use memscape_study::StudyError;

/// Why there is no fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The search failed.
    #[error("the fit failed: {0}")]
    Search(String),
    /// The model has no answer.
    #[error("the model has no answer: {0}")]
    Model(String),
    /// Nothing to fit to.
    #[error("there is no measured time to fit to")]
    NoPoints,
}

impl From<StudyError> for FitError {
    fn from(error: StudyError) -> Self {
        Self::Model(error.to_string())
    }
}

/// What the model says of a point stays as it is.
impl From<memscape_explore::FitError<Self>> for FitError {
    fn from(error: memscape_explore::FitError<Self>) -> Self {
        match error {
            memscape_explore::FitError::Model { problem, .. } => problem,
            other => Self::Search(other.to_string()),
        }
    }
}
