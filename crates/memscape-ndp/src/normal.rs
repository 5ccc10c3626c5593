//! The standard normal distribution.

use std::sync::OnceLock;

use memscape_study::random::Key;
use memscape_units::float;

/// Probability of at most `x`.
#[must_use]
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The mean of a normal number where it is above zero, and of zero where it is not.
#[must_use]
pub fn mean_above_zero(mean: f64, deviation: f64) -> f64 {
    /// Beyond it are 1e-15 of all.
    const FAR: f64 = 8.0;
    if mean.abs() >= FAR * deviation {
        return mean.max(0.0);
    }
    let z = mean / deviation;
    (mean * cdf(z) + deviation * density(z)).max(0.0)
}

/// Probability per length at `x`.
#[must_use]
pub fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The `x` that [`cdf`] takes to `p`; infinite at 0 and 1.
///
/// # Source
/// Acklam's rational approximation (relative error 1.2e-9), P. J. Acklam, "An
/// algorithm for computing the inverse normal cumulative distribution
/// function", 2003.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [0.007_784_695_709_041_462, 0.322_467_129_070_039_8, 2.445_134_137_142_996, 3.754_408_661_907_416];
    /// Where the middle's approximation ends.
    const LOW: f64 = 0.024_25;
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, it| sum * x + it);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / (horner(&D, q) * q + 1.0)
    };
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else if p < LOW {
        tail(p)
    } else if p > 1.0 - LOW {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        horner(&A, r) * q / (horner(&B, r) * r + 1.0)
    }
}

/// The mean of a function of the largest of `count` standard normal numbers, by their density: 0 of fewer than two,
/// whose largest is no farther from the mean than any.
#[must_use]
pub fn of_largest(count: usize, function: impl Fn(f64) -> f64) -> f64 {
    /// Beyond it are 1e-15 of each number.
    const FAR: f64 = 8.0;
    const INTERVALS: usize = 128;
    /// Less of all is nothing.
    const NOTHING: f64 = 1e-22;
    /// Numbers, and how likely each is, by four, which are added side by side.
    type Density = Vec<[[f64; 4]; 2]>;
    /// Sweeps ask for few counts again and again.
    static KNOWN: [OnceLock<Density>; 65] = [const { OnceLock::new() }; 65];
    if count < 2 {
        return 0.0;
    }
    // The trapezoidal rule, which is exact beyond all digits where a function and its derivatives end at 0.
    let density = || {
        #[expect(clippy::cast_precision_loss, reason = "128 intervals")]
        let of = |it: usize| {
            let z = (2.0 * it as f64 / INTERVALS as f64 - 1.0) * FAR;
            (z, (-0.5 * z * z).exp() * cdf(z).powf(float(count as u64) - 1.0))
        };
        let all: Vec<(f64, f64)> = (0..=INTERVALS).map(of).collect();
        let sum: f64 = all.iter().map(|it| it.1).sum();
        let all: Vec<(f64, f64)> =
            all.into_iter().map(|(z, it)| (z, it / sum)).filter(|it| it.1 > NOTHING).collect();
        let lanes = |some: &[(f64, f64)]| {
            let lane = |it: usize| some.get(it).copied().unwrap_or_default();
            [std::array::from_fn(|it| lane(it).0), std::array::from_fn(|it| lane(it).1)]
        };
        all.chunks(4).map(lanes).collect()
    };
    let mean = |density: &Density| {
        let mut sums = [0.0; 4];
        for [numbers, likely] in density {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += likely[lane] * function(numbers[lane]);
            }
        }
        sums.iter().sum()
    };
    match KNOWN.get(count) {
        Some(known) => mean(known.get_or_init(density)),
        None => mean(&density()),
    }
}

/// The mean of the largest of `count` standard normal numbers: [`of_largest`] of the number itself.
#[must_use]
pub fn mean_of_largest(count: usize) -> f64 {
    static KNOWN: [OnceLock<f64>; 65] = [const { OnceLock::new() }; 65];
    let mean = || of_largest(count, |z| z);
    KNOWN.get(count).map_or_else(mean, |it| *it.get_or_init(mean))
}

/// A number from the standard normal distribution, for a counter of a stream.
#[must_use]
pub fn normal(key: Key, counter: u64) -> f64 {
    quantile(key.uniform(counter))
}

/// Beyond it are 2e-19 of all normal numbers.
const FAR: f64 = 9.0;

/// The mean of a smooth function of a standard normal number: the trapezoidal rule, which is exact beyond all digits
/// of a function that does not go from end to end within two steps, and so also where rare numbers count alone.
#[must_use]
pub fn quadrature(function: impl Fn(f64) -> f64) -> f64 {
    const INTERVALS: u32 = 512;
    static NODES: std::sync::LazyLock<Vec<(f64, f64)>> = std::sync::LazyLock::new(|| {
        let at = |it: u32| (2.0 * f64::from(it) / f64::from(INTERVALS) - 1.0) * FAR;
        let density = |z: f64| (-0.5 * z * z).exp();
        let all: f64 = (0..=INTERVALS).map(|it| density(at(it))).sum();
        (0..=INTERVALS).map(|it| (at(it), density(at(it)) / all)).collect()
    });
    NODES.iter().map(|(z, share)| share * function(*z)).sum()
}

/// What goes from one to none within fewer deviations is a step, which no rule of some hundred intervals sums up.
pub const STEP: f64 = 1e-3;

/// What the numbers between two limits add to the mean of a smooth function: Simpson's
/// rule, from whose 128 intervals a density of thousandths is as exact as one of halves.
#[must_use]
pub fn quadrature_between(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    const INTERVALS: u32 = 128;
    let (from, to) = (from.clamp(-FAR, FAR), to.clamp(-FAR, FAR));
    let width = (to - from).max(0.0) / f64::from(INTERVALS);
    let at = |it: u32| {
        let z = from + width * f64::from(it);
        let weight = match it {
            0 | INTERVALS => 1.0,
            it if it % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * (-0.5 * z * z).exp() * function(z)
    };
    (0..=INTERVALS).map(at).sum::<f64>() * width / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution() {
        for step in 1..1000 {
            let p = f64::from(step) / 1000.0;
            // The approximation's own error, 1.2e-9, on both sides.
            assert!((cdf(quantile(p)) / p - 1.0).abs() < 1e-8, "{p}");
        }
        assert!((quantile(1e-9) + 5.997_807).abs() < 1e-5);
    }

    #[test]
    fn a_mean_above_zero_is_its_integral() {
        for mean in [-3.0, -0.4, 0.0, 0.7, 5.0] {
            let exact = quadrature_between(-mean / 2.0, f64::INFINITY, |z| mean + 2.0 * z);
            assert!((mean_above_zero(mean, 2.0) - exact).abs() < 1e-4, "{mean}: {exact}");
        }
        assert!((mean_above_zero(3.0, 0.0) - 3.0).abs() < f64::EPSILON);
        assert!(mean_above_zero(-3.0, 0.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_mean_is_its_closed_form_however_rare_what_counts_is() {
        // E cdf(m + s z) = cdf(m / sqrt(1 + s^2)).
        for mean in [0.0, -2.0, -6.0] {
            for spread in [0.0, 0.5, 2.8, 20.0] {
                let exact = cdf(mean / f64::hypot(1.0, spread));
                let computed = quadrature(|z| cdf(mean + spread * z));
                assert!((computed / exact - 1.0).abs() < 1e-6, "{mean} {spread}: {computed} {exact}");
            }
        }
    }

    #[test]
    fn parts_of_a_mean_sum_to_it() {
        let square = |z: f64| z * z;
        let [low, high] = [(f64::NEG_INFINITY, 0.3), (0.3, f64::INFINITY)]
            .map(|(from, to)| quadrature_between(from, to, square));
        assert!((low + high - 1.0).abs() < 1e-6, "{low} {high}");
        let tail = quadrature_between(3.0, f64::INFINITY, |_| 1.0);
        assert!((tail / cdf(-3.0) - 1.0).abs() < 1e-5, "{tail}");
        assert!(quadrature_between(1.0, 1.0, |_| 1.0).abs() < f64::EPSILON);
    }
}
