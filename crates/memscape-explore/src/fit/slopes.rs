//! What a least-squares fit reads from the slopes of its residuals: which way to
//! go, how well each parameter is known, and which are not known at all.

/// A direction in which the residuals change by less than this, of the direction in
/// which they change most, is one that they say nothing about: differences are good
/// to six digits.
const BLIND: f64 = 1e-5;

/// A parameter that over all of its range moves the residuals by less than this, of
/// the parameter that moves them most, does not move them: what differences show is
/// the rounding of floats.
const DEAD: f64 = 1e-9;

/// Share of a parameter in directions that nothing is known about, above which it
/// is not known either.
const SHARE: f64 = 1e-6;

/// Turns of all pairs of columns at the most; ten are usual.
const TURNS: usize = 60;

/// The covariance of parameters from one column of slopes for each, of residuals in units
/// of their own deviations, and from what was known before: each parameter's deviation.
///
/// ```
/// // One residual that says the sum of two parameters to 0.1, each known to 1.
/// let covariance = memscape_explore::covariance(&[vec![10.0], vec![10.0]], &[1.0, 1.0]);
/// assert!((covariance[0][0] - 0.5).abs() < 0.01 && (covariance[0][1] + 0.5).abs() < 0.01);
/// ```
#[must_use]
pub fn covariance(slopes: &[Vec<f64>], before: &[f64]) -> Vec<Vec<f64>> {
    let with_prior = |(index, column): (usize, &Vec<f64>)| {
        let prior = before
            .iter()
            .enumerate()
            .map(|(it, deviation)| if it == index { deviation.recip() } else { 0.0 });
        column.iter().copied().chain(prior).collect()
    };
    let columns = slopes.iter().enumerate().map(with_prior).collect();
    Slopes::new(columns, before).inverse_square()
}

/// A Jacobian, taken apart into directions that move the residuals independently of
/// each other, by the one-sided Jacobi method.
///
/// # Source
/// Golub and Van Loan, Matrix Computations, 4th edition, section 8.6.3.
pub(crate) struct Slopes {
    directions: Vec<Direction>,
    identified: Vec<bool>,
}

struct Direction {
    /// In the parameters.
    along: Vec<f64>,
    /// What it does to the residuals.
    moves: Vec<f64>,
    /// The square of how much that is.
    strength: f64,
}

impl Slopes {
    /// From one column of slopes per parameter, and the width of each one's range.
    pub(crate) fn new(columns: Vec<Vec<f64>>, ranges: &[f64]) -> Self {
        let all = columns.len();
        let norms: Vec<f64> = columns.iter().map(|it| dot(it, it).sqrt()).collect();
        let most = norms.iter().zip(ranges).map(|(norm, range)| norm * range).fold(0.0, f64::max);
        // Of length 1, so that units do not matter.
        let scales: Vec<f64> = norms
            .iter()
            .zip(ranges)
            .map(|(norm, range)| if norm * range <= DEAD * most { 0.0 } else { norm.recip() })
            .collect();
        let mut moves = columns;
        for (column, scale) in moves.iter_mut().zip(&scales) {
            for it in column.iter_mut() {
                *it *= scale;
            }
        }
        let unit = |index| (0..all).map(|it| if it == index { 1.0 } else { 0.0 }).collect();
        let mut along: Vec<Vec<f64>> = (0..all).map(unit).collect();
        orthogonalise(&mut moves, &mut along);

        let strengths: Vec<f64> = moves.iter().map(|it| dot(it, it)).collect();
        let strongest = strengths.iter().copied().fold(0.0, f64::max);
        let mut blind_share: Vec<f64> = vec![0.0; all];
        let mut directions = Vec::new();
        for ((mut along, moves), strength) in along.into_iter().zip(moves).zip(strengths) {
            if strength <= BLIND * BLIND * strongest {
                blind_share.iter_mut().zip(&along).for_each(|(share, it)| *share += it * it);
            } else {
                along.iter_mut().zip(&scales).for_each(|(it, scale)| *it *= scale);
                directions.push(Direction { along, moves, strength });
            }
        }
        Self { directions, identified: blind_share.iter().map(|it| *it <= SHARE).collect() }
    }

    /// How many directions the residuals tell apart.
    pub(crate) fn rank(&self) -> usize {
        self.directions.len()
    }

    /// Which parameters the residuals tell from all others.
    pub(crate) fn identified(&self) -> &[bool] {
        &self.identified
    }

    /// The shortest step to where the residuals would be least if they were linear. More of `damping` makes it shorter,
    /// in directions that move them little before others.
    ///
    /// # Source
    /// Marquardt, SIAM J. Appl. Math. 11, 1963, with each column of length 1.
    pub(crate) fn step(&self, residuals: &[f64], damping: f64) -> Vec<f64> {
        let mut step = vec![0.0; self.identified.len()];
        for it in &self.directions {
            let far = -dot(&it.moves, residuals) / (it.strength + damping);
            step.iter_mut().zip(&it.along).for_each(|(step, along)| *step += far * along);
        }
        step
    }

    /// The inverse of the Jacobian's square; without the directions that the
    /// residuals do not see, its pseudo-inverse.
    pub(crate) fn inverse_square(&self) -> Vec<Vec<f64>> {
        let all = self.identified.len();
        let entry = |row: usize, column: usize| -> f64 {
            self.directions.iter().map(|it| it.along[row] * it.along[column] / it.strength).sum()
        };
        (0..all).map(|row| (0..all).map(|column| entry(row, column)).collect()).collect()
    }
}

/// Turns pairs of columns against each other until all are at right angles, and the
/// columns of `along` with them.
fn orthogonalise(columns: &mut [Vec<f64>], along: &mut [Vec<f64>]) {
    for _ in 0..TURNS {
        let mut turned = false;
        for second in 1..columns.len() {
            for first in 0..second {
                let (own, other) =
                    (dot(&columns[first], &columns[first]), dot(&columns[second], &columns[second]));
                let both = dot(&columns[first], &columns[second]);
                if both.abs() <= 1e-15 * (own * other).sqrt() {
                    continue;
                }
                turned = true;
                let ratio = (other - own) / (2.0 * both);
                let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
                let cosine = tangent.hypot(1.0).recip();
                for all in [&mut *columns, &mut *along] {
                    let (before, after) = all.split_at_mut(second);
                    for (a, b) in before[first].iter_mut().zip(&mut after[0]) {
                        (*a, *b) = (cosine * (*a - tangent * *b), cosine * (*b + tangent * *a));
                    }
                }
            }
        }
        if !turned {
            break;
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn a_straight_line_is_as_in_the_textbook() {
        // y = a + b x at x = 0, 1, 2, 5: inverse of [[n, sum x], [sum x, sum x^2]].
        let x = [0.0, 1.0, 2.0, 5.0];
        let slopes = Slopes::new(vec![vec![1.0; 4], x.to_vec()], &[1.0, 1.0]);
        let (n, sum, squares): (f64, f64, f64) = (4.0, 8.0, 30.0);
        let determinant = n * squares - sum * sum;
        let inverse = slopes.inverse_square();
        close(inverse[0][0], squares / determinant);
        close(inverse[0][1], -sum / determinant);
        close(inverse[1][0], -sum / determinant);
        close(inverse[1][1], n / determinant);
        assert_eq!((slopes.rank(), slopes.identified()), (2, &[true, true][..]));
        // From 0, 0 to the line through points that lie on 3 - 2 x.
        let residuals: Vec<f64> = x.iter().map(|it| -(3.0 - 2.0 * it)).collect();
        let step = slopes.step(&residuals, 0.0);
        close(step[0], 3.0);
        close(step[1], -2.0);
        // Hardly any of the steepest way, in columns of length 1.
        let step = slopes.step(&residuals, 1e14);
        close(1e14 * step[0], -4.0 / n);
        close(1e14 * step[1], -36.0 / squares);
    }

    #[test]
    fn what_the_residuals_do_not_see_is_left_out() {
        // The second does nothing, the third and fourth only together.
        let (one, other) = (vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 2.0]);
        let twice: Vec<f64> = other.iter().map(|it| 2.0 * it).collect();
        let slopes = Slopes::new(vec![one, vec![0.0; 3], other, twice], &[1.0; 4]);
        assert_eq!(slopes.rank(), 2);
        assert_eq!(slopes.identified(), [true, false, false, false]);
        let inverse = slopes.inverse_square();
        close(inverse[0][0], 1.0);
        close(inverse[1][1], 0.0);
    }

    #[test]
    fn units_do_not_matter() {
        let columns = |unit: f64| vec![vec![1.0, 2.0, 3.0], vec![unit, 0.0, 4.0 * unit]];
        let small = Slopes::new(columns(1.0), &[1.0, 1.0]);
        let large = Slopes::new(columns(1e-12), &[1.0, 1e12]);
        assert_eq!(large.identified(), [true, true]);
        close(large.inverse_square()[1][1] / 1e24, small.inverse_square()[1][1]);
    }
}
