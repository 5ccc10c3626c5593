//! How many tokens those of a reply attend to.

use std::num::NonZeroU64;

/// Tokens generated one by one after others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reply {
    /// Tokens before its first.
    pub prompt: u64,
    /// Tokens of it.
    pub tokens: NonZeroU64,
}

impl Reply {
    /// The sum over its tokens of what each attends to: those before it and itself, up to a window.
    ///
    /// ```
    /// use memscape_workload::Reply;
    ///
    /// // Tokens 3, 4, 5 and 6, of which the last two see no more than a window of four.
    /// let reply = Reply { prompt: 2, tokens: 4.try_into()? };
    /// assert_eq!(reply.seen(Some(4)), 3 + 4 + 4 + 4);
    /// assert_eq!((reply.mean_seen(Some(4)), reply.mean_seen(None)), (3.75, 4.5));
    /// # Ok::<(), std::num::TryFromIntError>(())
    /// ```
    #[must_use]
    pub fn seen(&self, window: Option<u32>) -> u128 {
        // A reply that is beyond 64 bits ends where they do.
        let last = self.prompt.saturating_add(self.tokens.get());
        let window = window.map_or(u128::from(last), u128::from);
        let until = |last: u64| {
            let last = u128::from(last);
            let ramp = last.min(window);
            ramp * (ramp + 1) / 2 + (last - ramp) * window
        };
        until(last) - until(last - self.tokens.get())
    }

    /// The mean over its tokens.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    pub fn mean_seen(&self, window: Option<u32>) -> f64 {
        self.seen(window) as f64 / self.tokens.get() as f64
    }

    /// The mean as whole tokens, a half rounded down.
    ///
    /// # Panics
    /// Never: it is no more than what the last token sees.
    #[must_use]
    pub fn whole_mean_seen(&self, window: Option<u32>) -> u64 {
        let tokens = u128::from(self.tokens.get());
        let mean = (2 * self.seen(window) + tokens - 1) / (2 * tokens);
        u64::try_from(mean).expect("no more than the last token sees")
    }

    /// The mean context of its tokens, each counted in: what it sees without a window.
    #[must_use]
    pub fn mean_context(&self) -> u64 {
        self.whole_mean_seen(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        #[expect(clippy::cast_precision_loss, reason = "few tokens")]
        fn sums_are_those_of_the_tokens_one_by_one(
            prompt in 0..50_u64, tokens in 1..50_u64, window in proptest::option::of(1..60_u32)
        ) {
            let reply = Reply { prompt, tokens: NonZeroU64::new(tokens).unwrap() };
            let each = (prompt + 1..=prompt + tokens).map(|it| window.map_or(it, |window| it.min(window.into())));
            prop_assert_eq!(reply.seen(window), u128::from(each.sum::<u64>()));
            let rounded = reply.mean_seen(window) - reply.whole_mean_seen(window) as f64;
            prop_assert!(-0.5 < rounded && rounded <= 0.5, "{}", rounded);
            prop_assert_eq!(reply.mean_context(), prompt + tokens.div_ceil(2));
        }
    }

    #[test]
    fn no_count_of_tokens_overflows() {
        let context = |prompt, tokens| Reply { prompt, tokens }.mean_context();
        assert_eq!(context(0, NonZeroU64::MAX), 1 << 63);
        assert_eq!(context(u64::MAX, NonZeroU64::MIN), u64::MAX);
        assert_eq!(context(u64::MAX, NonZeroU64::MAX), 1 << 63);
    }
}
