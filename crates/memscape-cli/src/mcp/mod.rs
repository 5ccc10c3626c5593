//! `memscape mcp`: the studies as tools of the Model Context Protocol.

mod asked;
mod check;
mod place;
mod rows;
mod stdio;
mod tools;

pub use place::Place;
pub use stdio::serve;
pub use tools::Tools;
