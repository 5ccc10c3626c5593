//! A page in the browser, started from a program or a notebook.

use memscape_explore::{Parameters, Table};
use memscape_page::{Error, Explorer, Server, TableView};
use memscape_systems::study;

/// A page for this machine alone. It is answered until it is stopped, or the process ends,
/// also when this is dropped; a notebook shows it as a link.
pub struct Page {
    server: Server,
    what: String,
}

impl Page {
    /// Its address, with the token without which nobody is answered.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// What it shows: a study, or a table.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Ends it.
    pub fn stop(self) {
        self.server.stop();
    }
}

/// Starts a page with a study's form, a live figure and points kept side by side.
///
/// ```
/// use memscape::prelude::*;
///
/// let page = explore_page("pim.gemv", &parameters! { "model" => "opt-6.7b" })?;
/// assert!(page.url().starts_with("http://127.0.0.1:"));
/// page.stop();
/// # Ok::<(), memscape::page::Error>(())
/// ```
///
/// # Errors
/// [`Error::Explore`] suggests the nearest study or names the parameter at fault;
/// [`Error::Serve`] if this machine answers nobody.
pub fn explore_page(name: &str, parameters: &Parameters) -> Result<Page, Error> {
    let server = Server::start(Explorer::new(study(name)?, &[parameters])?, 0)?;
    Ok(Page { server, what: name.to_owned() })
}

/// Starts a page with a table: parallel axes and a scatter to choose rows in.
///
/// # Errors
/// [`Error::BadTable`] if there is nothing to draw, or too much of it; else as
/// [`explore_page`].
pub fn explore_table(table: &Table) -> Result<Page, Error> {
    let what = format!("{} rows, {} columns", table.height(), table.column_names().len());
    Ok(Page { server: Server::start(TableView::new(table)?, 0)?, what })
}
