//! What is chosen: tiles, designs of the whole array, and the way of the data.

pub mod chain;
pub mod design;
pub mod designs;
pub mod dma;
pub mod l1;
pub mod machine;
pub mod tile;
