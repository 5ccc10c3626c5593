//! The least of a function of one number.

/// A place and its cost.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: f64,
    cost: f64,
}

/// The place between two ends where `cost` is least, if it has one valley between them, to
/// about three times `relative * |place| + absolute`, or as near as so many steps come.
/// Never asks at the ends themselves.
///
/// # Errors
/// Those of `cost`.
///
/// # Source
/// Brent, "Algorithms for Minimization without Derivatives", 1973, section 5.8: the least of
/// the parabola through the best three places, or a golden section where it is no help.
pub(crate) fn least<E>(
    (mut low, mut high): (f64, f64),
    (relative, absolute): (f64, f64),
    steps: u64,
    mut cost: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    let golden = (3.0 - 5_f64.sqrt()) / 2.0;
    let mut see = |at: f64| cost(at).map(|cost| Seen { at, cost });
    let mut best = see(low + golden * (high - low))?;
    // The second best, and what was that before.
    let (mut second, mut third) = (best, best);
    // How far the last step went, and what a parabola's must fall below twice of.
    let (mut step, mut before) = (0.0_f64, 0.0_f64);
    for _ in 0..steps {
        let tolerance = relative * best.at.abs() + absolute;
        let middle = (low + high) / 2.0;
        if (best.at - middle).abs() <= 2.0 * tolerance - (high - low) / 2.0 {
            break;
        }
        let (rise, run) = parabola(best, second, third);
        let helps = tolerance < before.abs()
            && run * (low - best.at) <= rise
            && rise <= run * (high - best.at)
            && 2.0 * rise.abs() < run * before.abs();
        if helps {
            before = step;
            step = rise / run;
            let next = best.at + step;
            if next - low < 2.0 * tolerance || high - next < 2.0 * tolerance {
                step = tolerance.copysign(middle - best.at);
            }
        } else {
            before = if best.at < middle { high } else { low } - best.at;
            step = golden * before;
        }
        let next = see(best.at + if tolerance <= step.abs() { step } else { tolerance.copysign(step) })?;
        if next.cost <= best.cost {
            *(if next.at < best.at { &mut high } else { &mut low }) = best.at;
            (third, second, best) = (second, best, next);
        } else {
            *(if next.at < best.at { &mut low } else { &mut high }) = next.at;
            if next.cost <= second.cost || same(second, best) {
                (third, second) = (second, next);
            } else if next.cost <= third.cost || same(third, best) || same(third, second) {
                third = next;
            }
        }
    }
    Ok(best.at)
}

/// How far the least of the parabola through three places is from the best: a fraction
/// whose denominator is not negative, and 0 where there is no such parabola.
fn parabola(best: Seen, second: Seen, third: Seen) -> (f64, f64) {
    let (to_second, to_third) = (best.at - second.at, best.at - third.at);
    let (second, third) = (best.cost - second.cost, best.cost - third.cost);
    let rise = to_third * to_third * second - to_second * to_second * third;
    let run = 2.0 * (to_second * third - to_third * second);
    if run < 0.0 { (-rise, -run) } else { (rise, run) }
}

#[expect(clippy::float_cmp, reason = "the very place")]
fn same(one: Seen, other: Seen) -> bool {
    one.at == other.at
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn found(ends: (f64, f64), cost: impl Fn(f64) -> f64) -> (f64, u32) {
        let mut asked = 0;
        let at = least(ends, (1e-9, 1e-9), 200, |it| {
            asked += 1;
            assert!(ends.0 < it && it < ends.1, "{it} is not between the ends");
            Ok::<f64, Infallible>(cost(it))
        });
        (at.unwrap(), asked)
    }

    #[test]
    fn smooth_kinked_and_flat_valleys_are_found() {
        // A parabola's least needs few steps; golden sections alone would take fifty.
        let (at, asked) = found((-3.0, 10.0), |it| (it - 2.0).powi(2) + 1.0);
        assert!((at - 2.0).abs() < 1e-7 && asked < 30, "{at} after {asked}");
        let (at, asked) = found((0.0, 1.0), |it| (it - 0.7).abs());
        assert!((at - 0.7).abs() < 1e-8 && asked < 100, "{at} after {asked}");
        let (at, _) = found((0.0, 4.0), |it| (it - 1.0).powi(4));
        assert!((at - 1.0).abs() < 1e-2, "{at}");
        let (at, _) = found((-1.0, 1.0), |it| it);
        assert!(at < -1.0 + 1e-8, "{at}");
    }

    #[test]
    fn an_error_ends_it() {
        let mut asked = 0;
        let failed = least((0.0, 1.0), (1e-9, 1e-9), 100, |it| {
            asked += 1;
            if asked == 4 { Err("no answer") } else { Ok(it * it) }
        });
        assert_eq!((failed, asked), (Err("no answer"), 4));
    }
}
