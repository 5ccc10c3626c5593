//! Where a function passes zero.

/// Where a function that falls passes zero between two places, above it at the first and not at the second: the least
/// place found at which it is not above, a 2^48th of the distance from one where it is.
///
/// # Source
/// Interpolate, truncate, project: Oliveira and Takahashi, ACM Transactions on Mathematical Software 47, 2020. It halves
/// once more than bisection at worst, and needs a fifth of that for smooth functions.
pub fn falls_to_zero(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
    /// Halvings that are enough.
    const HALVINGS: i32 = 48;
    let (mut low, mut high) = ((low, function(low)), (high, function(high)));
    if low.1 <= 0.0 {
        return low.0;
    }
    let whole = high.0 - low.0;
    let enough = whole * 0.5_f64.powi(HALVINGS + 1);
    for done in 0..=HALVINGS + 1 {
        let width = high.0 - low.0;
        if width <= 2.0 * enough {
            break;
        }
        let middle = 0.5 * (low.0 + high.0);
        // False position, moved towards the middle, and no farther from it than leaves bisection the time it needs.
        let straight = (low.1 * high.0 - high.1 * low.0) / (low.1 - high.1);
        // Numbers may be too far apart for it.
        let straight = if straight.is_finite() { straight } else { middle };
        let (towards, apart) = ((middle - straight).signum(), (middle - straight).abs());
        let moved = (0.2 * width * (width / whole)).max(enough).min(apart);
        let radius = enough * 2_f64.powi(HALVINGS + 1 - done) - 0.5 * width;
        let next = middle - towards * (apart - moved).min(radius.max(0.0));
        let there = function(next);
        *(if there > 0.0 { &mut low } else { &mut high }) = (next, there);
    }
    high.0
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Smooth, steep, flat, broken: as near as bisection, and as soon.
    #[test]
    fn a_zero_is_found_from_the_side_where_it_is() {
        let functions: [(&str, fn(f64) -> f64); 6] = [
            ("line", |x| 0.3 - x),
            ("cube", |x| 0.3_f64.powi(3) - x.powi(3)),
            ("exponential", |x| (-20.0 * x).exp() - (-6.0_f64).exp()),
            ("jump", |x| if x < 0.3 { 5.0 } else { -0.001 }),
            ("jump to zero", |x| if x < 0.3 { 1e9 * (1.0 - x) } else { -x }),
            ("kink", |x| if x < 0.3 { 1e-6 * (0.3 - x) } else { -100.0 * (x - 0.3) }),
        ];
        for (name, function) in functions {
            let asked = Cell::new(0);
            let found = falls_to_zero(0.0, 1.0, |x| {
                asked.set(asked.get() + 1);
                function(x)
            });
            assert!(function(found) <= 0.0 && (found - 0.3).abs() < 1e-13, "{name}: {found}");
            assert!(asked.get() <= 52, "{name}: {}", asked.get());
        }
        let asked = Cell::new(0);
        falls_to_zero(0.0, 1.0, |x| {
            asked.set(asked.get() + 1);
            (-3.0 * x).exp() - (-1.0_f64).exp()
        });
        assert!(asked.get() <= 14, "{}", asked.get());
        let far = falls_to_zero(0.0, 1e300, |x| 3e299 - x);
        assert!((far / 3e299 - 1.0).abs() < 1e-13, "{far}");
        // Not above it anywhere.
        assert!(falls_to_zero(2.0, 3.0, |_| -1.0).total_cmp(&2.0).is_eq());
    }
}
