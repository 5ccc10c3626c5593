//! What can go wrong, told so that the reader knows what to change.

/// Why there is no page, or no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The study, its parameters or the table are at fault.
    #[error(transparent)]
    Explore(#[from] memscape_explore::Error),
    /// The page asked what is no question.
    #[error("this is no question: {0}")]
    BadQuestion(String),
    /// A curve over what is no parameter, or one without steps.
    #[error(
        "there is no curve over `{path}`: it is {problem}; `memscape describe {study}` lists the parameters"
    )]
    NoCurve {
        /// The study.
        study: String,
        /// The parameter as given.
        path: String,
        /// What is in the way.
        problem: &'static str,
    },
    /// The axes do not make a grid for a page by itself.
    #[error("a page by itself holds a grid of points: {0}")]
    BadGrid(String),
    /// The table is more than a page holds.
    #[error("{0}")]
    BadTable(String),
    /// The server cannot start.
    #[error("cannot serve the page on 127.0.0.1:{port}: {problem}; give another --port, or 0 for a free one")]
    Serve {
        /// The port asked for.
        port: u16,
        /// What the system says.
        problem: String,
    },
}
