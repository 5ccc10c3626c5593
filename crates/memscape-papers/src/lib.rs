//! The papers' figures, tables and claims

pub mod plot;
