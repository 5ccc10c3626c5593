//! What a table answers, told so that no other question passes for it: one identity
//! for partial results and for whatever else keeps answers.

use serde_json::{Value, json};

use crate::digest::digest;
use crate::error::Error;
use crate::registry::DynStudy;
use crate::sweep::Sweep;

/// A study, the points it is asked at, and the version that answers.
///
/// ```ignore
/// let question = Question::of(study, &sweep)?;
/// assert_eq!(question.id().len(), 32);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    id: String,
    points: u64,
    axes: Vec<String>,
    asked: Value,
}

impl Question {
    /// The question that a sweep asks a study.
    ///
    /// # Errors
    /// As [`DynStudy::sweep_from`].
    pub fn of(study: &dyn DynStudy, sweep: &Sweep) -> Result<Self, Error> {
        let version = env!("CARGO_PKG_VERSION");
        let content = study.identity(sweep)?;
        let told = json!([version, study.name(), content]).to_string();
        Ok(Self {
            id: digest(told.as_bytes()),
            points: sweep.points()?,
            axes: sweep.axes(),
            asked: json!({ "memscape": version, "study": study.name(), "sweep": sweep }),
        })
    }

    /// Equal for equal questions: 128 bits, as 32 hexadecimal digits, of the version,
    /// the study, and what every name, path and table of base and axes stands for.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How many rows the answer has; fewer if constraints leave points out.
    #[must_use]
    pub const fn points(&self) -> u64 {
        self.points
    }

    /// The parameters that move.
    #[must_use]
    pub fn axes(&self) -> &[String] {
        &self.axes
    }

    /// The question as it was asked, for people.
    #[must_use]
    pub const fn asked(&self) -> &Value {
        &self.asked
    }
}
