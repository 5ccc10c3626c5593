//! Formulas over parameters and columns: constraints, conditions and objectives.

mod datum;
mod parse;
mod term;
mod token;

pub(crate) use datum::{Datum, Sort};
pub use parse::Expression;
pub(crate) use token::conjuncts;
