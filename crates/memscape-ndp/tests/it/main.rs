//! Each module answers one question.

mod agreement;
mod errors;
mod laws;
mod partition;
mod published;
mod scheduler;
mod timeline;
mod traces;
