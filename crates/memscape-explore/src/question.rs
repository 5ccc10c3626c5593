//! What a table answers, told so that no other question passes for it: one identity
//! for partial results and for stores.

use serde::Serialize;
use serde_json::{Value, json};

use crate::digest::digest;
use crate::edition::Edition;
use crate::error::Error;
use crate::parameters::Parameters;
use crate::registry::DynStudy;
use crate::space::Space;
use crate::sweep::Sweep;

/// A study, the points it is asked at, and who answers.
///
/// ```ignore
/// let question = Question::of(study, &sweep)?;
/// assert_eq!(question.id().len(), 32);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    id: String,
    edition: Edition,
    points: u64,
    axes: Vec<String>,
    asked: Value,
}

impl Question {
    /// The question that a sweep asks a study.
    ///
    /// # Errors
    /// As [`DynStudy::sweep`].
    pub fn of(study: &dyn DynStudy, sweep: &Sweep) -> Result<Self, Error> {
        let points = sweep.points()?;
        let edition = Edition::of(study);
        let told = json!([edition.id(), study.identity(sweep)?]).to_string();
        Ok(Self { id: digest(told.as_bytes()), points, axes: sweep.axes(), asked: json!(sweep), edition })
    }

    /// What is asked about a space, such as a [`Search`](crate::Search): its axes may be ranges
    /// of real numbers.
    ///
    /// * `kind`, `what`: what it is called in [`Question::asked`], and what it says.
    /// * `points`: how many are looked at, at most.
    ///
    /// # Errors
    /// [`Error`] if a parameter, an axis or a constraint is wrong.
    pub fn about(
        study: &dyn DynStudy,
        base: &[Parameters],
        space: &Space,
        (kind, what): (&str, &impl Serialize),
        points: u64,
    ) -> Result<Self, Error> {
        let sweep = Sweep::over_all(base, space);
        let edition = Edition::of(study);
        let told = json!([edition.id(), study.identity(&sweep)?, kind, what]).to_string();
        let mut asked = json!(sweep);
        asked[kind] = json!(what);
        Ok(Self { id: digest(told.as_bytes()), points, axes: sweep.axes(), asked, edition })
    }

    /// Equal for equal questions: 128 bits, as 32 hexadecimal digits, of the edition, and
    /// what every name, path and table of base and axes stands for.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who answers.
    #[must_use]
    pub const fn edition(&self) -> &Edition {
        &self.edition
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

    /// What was asked, for people: base, space, and what about them.
    #[must_use]
    pub const fn asked(&self) -> &Value {
        &self.asked
    }
}
