//! What a fit found.

use serde::Serialize;

use super::residual::Residual;

/// What a fit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitted {
    /// The parameters, in the order given.
    pub parameters: Vec<FittedParameter>,
    /// The residuals there, in their order.
    pub residuals: Vec<Residual>,
    /// Root of the weighted mean square of the errors beyond their slack.
    pub rms: f64,
    /// Weighted sum of squared errors over how many more residuals there are than
    /// parameters that they fix; none if there are no more. Near 1 if errors are in
    /// standard deviations and both these and the model are right.
    pub variance: Option<f64>,
    /// How parameters vary together: the variance, or 1 if that is more or all there is and deviations are known
    /// ([`FitMethod::deviations`](super::FitMethod::deviations)), times the inverse of the squared
    /// slopes of the plain errors, from differences. Of parameters that the residuals
    /// do not fix, its pseudo-inverse says what they do: see
    /// [`FittedParameter::identified`]. Whole parameters are held, so 0. None if there
    /// is neither, or the fit was stopped.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// How often the model was asked.
    pub evaluations: u64,
    /// Whether nothing moved any more; otherwise the rounds ran out or the fit was
    /// stopped, and the values are the best so far.
    pub converged: bool,
}

/// One parameter of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedParameter {
    /// What it is called.
    pub key: String,
    /// The value found.
    pub value: f64,
    /// Its standard deviation, if it can be told.
    pub standard_error: Option<f64>,
    /// Whether it is elsewhere than at the start.
    pub moved: bool,
    /// The limit of its range at which it ended: it would perhaps go on.
    pub limit: Option<Limit>,
    /// Whether the residuals fix it. Otherwise others of its values, alone or with
    /// other values of others, would do as well. Not told of a stopped fit.
    pub identified: bool,
}

/// An end of a parameter's range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Its `min`.
    Lowest,
    /// Its `max`.
    Highest,
}

impl Fitted {
    /// The values found, in the order of the parameters.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|it| it.value).collect()
    }
}
