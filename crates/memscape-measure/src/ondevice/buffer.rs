//! Memory that some threads write while others read elsewhere.

use std::cell::UnsafeCell;
use std::ops::Range;

/// Bytes whose disjoint parts several threads use at once. Who may touch which part
/// until the next barrier is the stage plan's business.
pub struct SharedBuffer {
    bytes: Box<[UnsafeCell<u8>]>,
}

// SAFETY: the bytes are reached only through `read` and `write`, whose callers
// promise that no part is written by one thread while another uses it.
#[expect(unsafe_code, reason = "see above")]
unsafe impl Sync for SharedBuffer {}

impl SharedBuffer {
    /// A buffer whose every page has been touched, so that no run pays for that.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: (0..bytes).map(|_| UnsafeCell::new(1)).collect() }
    }

    /// Part of the buffer, to be read.
    ///
    /// # Safety
    /// Until the result is dropped, no thread writes to any of these bytes.
    #[expect(unsafe_code, reason = "see Safety")]
    pub unsafe fn read(&self, range: Range<usize>) -> &[u8] {
        let part = &self.bytes[range];
        // SAFETY: `UnsafeCell<u8>` is laid out as `u8`, the range is in bounds, and the
        // caller promises that nobody writes to it.
        unsafe { std::slice::from_raw_parts(part.as_ptr().cast(), part.len()) }
    }

    /// Part of the buffer, to be written.
    ///
    /// # Safety
    /// Until the result is dropped, no other thread reads or writes any of these
    /// bytes.
    #[expect(unsafe_code, reason = "see Safety")]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the caller's promise")]
    pub unsafe fn write(&self, range: Range<usize>) -> &mut [u8] {
        let part = &self.bytes[range];
        // SAFETY: writing through `UnsafeCell` is allowed, the range is in bounds, and
        // the caller promises that nobody else uses it.
        unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(part.as_ptr()), part.len()) }
    }
}
