//! The last results of a stage of a model, for whatever moves without moving it.

use std::cell::{Cell, RefCell};

/// What a stage found lately, kept while the same is asked.
///
/// From point to point of a sweep a parameter or two change, and a stage that depends on
/// neither need not run again. All that it depends on is its key: `find` sees nothing else. One
/// for each thread, so in a `thread_local!`.
///
/// ```
/// use memscape_study::Recent;
///
/// thread_local!(static SQUARES: Recent<u64, u64> = const { Recent::new() });
/// fn square(of: u64) -> Result<u64, String> {
///     SQUARES.with(|it| it.get(of, |of| of.checked_mul(*of).ok_or_else(|| format!("{of}^2 is too large"))))
/// }
///
/// assert_eq!(square(7), Ok(49));
/// assert_eq!(square(7), Ok(49), "kept");
/// assert!(square(u64::MAX).is_err(), "errors are not");
/// ```
#[derive(Debug)]
pub struct Recent<K, V> {
    kept: RefCell<Vec<(K, V)>>,
    /// Which of them is the oldest, once there are as many as are kept.
    oldest: Cell<usize>,
}

/// Results that are kept: an innermost axis has few values.
const KEPT: usize = 4;

impl<K: PartialEq, V: Clone> Recent<K, V> {
    /// Nothing found yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: RefCell::new(Vec::new()), oldest: Cell::new(0) }
    }

    /// What `find` says of `key`, asked again only if it has not been lately.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn get<E>(&self, key: K, find: fn(&K) -> Result<V, E>) -> Result<V, E> {
        if let Some((_, found)) = self.kept.borrow().iter().find(|it| it.0 == key) {
            return Ok(found.clone());
        }
        let found = find(&key)?;
        let mut kept = self.kept.borrow_mut();
        if kept.len() < KEPT {
            kept.push((key, found.clone()));
        } else {
            kept[self.oldest.get()] = (key, found.clone());
            self.oldest.set((self.oldest.get() + 1) % KEPT);
        }
        Ok(found)
    }
}

impl<K: PartialEq, V: Clone> Default for Recent<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local!(static ASKED: Cell<u32> = const { Cell::new(0) });

    #[expect(clippy::unnecessary_wraps, reason = "as stages are")]
    fn double([of, by]: &[u64; 2]) -> Result<u64, ()> {
        ASKED.set(ASKED.get() + 1);
        Ok(by * of)
    }

    #[test]
    fn few_are_kept_and_all_are_right() {
        let kept = Recent::new();
        for round in 1..=3 {
            assert!((0..3).all(|it| kept.get([it, 2], double) == Ok(2 * it)));
            assert_eq!(ASKED.get(), 3, "round {round}");
        }
        assert!((0..100).all(|it| kept.get([it, 3], double) == Ok(3 * it)));
        assert_eq!(ASKED.get(), 103);
        assert_eq!(kept.kept.borrow().len(), KEPT);
    }
}
