//! What nothing is better than in every objective: of any table, or of a whole space.

mod dominance;
mod hypervolume;
mod kept;
mod of_space;
mod of_table;

pub(crate) use dominance::{layers, non_dominated};
pub(crate) use hypervolume::volume;
pub use of_space::{Front, check_front, front_of};
pub(crate) use of_table::values;
pub use of_table::{front, front_rows, hypervolume, once_each};

#[cfg(test)]
mod tests;
