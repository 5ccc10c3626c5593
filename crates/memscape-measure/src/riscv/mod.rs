//! The thesis' kernels on this machine: Q4_0 times Q8_0 and single precision, in portable
//! Rust that the compiler vectorises, on threads, beside a plain read of memory.
//!
//! ```
//! use memscape_measure::riscv::{Request, fit, measure};
//!
//! let request = Request { rows: 256, columns: 256, stream_bytes: 1 << 20, threads: vec![1], repeats: 2 };
//! let measured = measure(&request)?;
//! let fitted = fit(&measured)?;
//! assert_eq!(fitted.table.len(), measured.points.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fit;
mod kernels;
mod measure;

pub use fit::{FittedPoint, FittedStream, HostFit, fit};
pub use kernels::{HostKernel, multiply};
pub use measure::{MeasureError, Measurement, Point, Request, StreamPoint, measure};

pub use crate::fit::FitError;
