//! The explorer: a study's form with a live figure, or a table to look through.
//!
//! One JavaScript module draws both, wherever it stands: as a widget of a notebook, on a
//! page that a [`Server`] answers to this machine alone, or on a page that holds all it
//! shows ([`document`]). What it draws is a specification, JSON that [`View::spec`] makes;
//! what it asks of a study is answered by [`Explorer::ask`].
//!
//! ```
//! use memscape_page::Explorer;
//! use serde_json::json;
//!
//! let explorer = Explorer::new(memscape_systems::study("pim.gemv")?, &[])?;
//! let reply = explorer.ask(json!({ "parameters": { "split_k": 2 } }))?;
//! assert!(reply["row"]["speedup"].as_f64() > Some(1.0));
//! let curve = explorer.ask(json!({ "parameters": {}, "curve": "memory.banks_per_channel" }))?;
//! assert_eq!(curve["x"].as_array().map(Vec::len), curve["columns"]["time_ns"].as_array().map(Vec::len));
//! # Ok::<(), memscape_page::Error>(())
//! ```

mod document;
mod error;
mod explorer;
mod grid;
mod http;
mod look;
mod server;
mod steps;
mod table;
mod view;

pub use document::{document, module, styles};
pub use error::Error;
pub use explorer::Explorer;
pub use grid::Grid;
pub use server::Server;
pub use table::TableView;
pub use view::View;
