//! GGUF files as llama.cpp writes them, hostile ones, and mutations of both.

mod hostile;
mod models;
mod writer;
