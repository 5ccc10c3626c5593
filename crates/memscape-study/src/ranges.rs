//! Numbers whose type allows more than a model does.

/// A value outside what the model is for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("`{path}` is {given}; it must be from {min} to {max}")]
pub struct OutOfRange {
    /// Dotted path of the parameter.
    pub path: &'static str,
    /// Its value.
    pub given: f64,
    /// Lowest value.
    pub min: f64,
    /// Highest value.
    pub max: f64,
}

/// Checks values, each with its path and the lowest and highest that there may be.
///
/// # Errors
/// [`OutOfRange`] names the first that is not within, NaN included.
///
/// ```
/// use memscape_study::within;
///
/// let error = within([("link.lanes", 16.0, 1.0, 16.0), ("link.flit_share", 2.0, 0.1, 1.0)]).unwrap_err();
/// assert_eq!(error.to_string(), "`link.flit_share` is 2; it must be from 0.1 to 1");
/// ```
pub fn within<const N: usize>(numbers: [(&'static str, f64, f64, f64); N]) -> Result<(), OutOfRange> {
    match numbers.into_iter().find(|(_, given, min, max)| !(min..=max).contains(&given)) {
        Some((path, given, min, max)) => Err(OutOfRange { path, given, min, max }),
        None => Ok(()),
    }
}
