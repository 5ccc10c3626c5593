//! Published numbers as data, and what the models say to each.

mod claim;
mod printed;
mod published;
mod query;
mod report;
mod verdict;

pub use claim::{Bound, Claim, Role, Sort};
pub use printed::Printed;
pub use published::{Bar, Published, published};
pub use query::{Aggregate, Query, Transform};
pub(crate) use query::{ask_beside, cells};
pub use report::{Blind, Held, Report, Total, report};
pub use verdict::{Verdict, evaluate, evaluate_with};
