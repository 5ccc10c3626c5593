//! What a user names, found.

use memscape_papers::claims::{Claim, published};
use memscape_papers::{Error, Experiment, select};
use memscape_study::Unknown;

/// The experiment of this id, such as `pimnast.fig10`.
///
/// # Errors
/// [`Error::Unknown`] suggests the nearest.
pub fn experiment(id: &str) -> Result<&'static Experiment, Error> {
    match select(&[id])?[..] {
        [found] if found.id == id => Ok(found),
        // The paper's name alone selects all its experiments.
        ref several => Err(Unknown::new("experiment", id, several.iter().map(|it| it.id)).into()),
    }
}

/// The claims of a paper, of a claims file, or of all papers.
///
/// ```
/// assert!(!memscape::claims(Some("pimnast"))?.is_empty());
/// let error = memscape::claims(Some("pimnats")).unwrap_err();
/// assert_eq!(error.to_string(), "there is no paper `pimnats`; did you mean `pimnast`?");
/// # Ok::<(), memscape::papers::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unknown`] if there is no such paper, [`Error`] if the file is none.
pub fn claims(source: Option<&str>) -> Result<Vec<Claim>, Error> {
    Ok(published(source)?.into_iter().flat_map(|it| it.claims).collect())
}
