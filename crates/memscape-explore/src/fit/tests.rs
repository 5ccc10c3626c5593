//! Fits whose answer is known.
#![expect(clippy::float_cmp, clippy::many_single_char_names, reason = "what is exact, and formulas")]

use std::cell::Cell;
use std::convert::Infallible;

use super::{FitError, FitMethod, FitParameter, Fitted, Limit, Residual, Steps, fit};
use crate::control::Control;

type Fit = Result<Fitted, FitError<Infallible>>;

/// Measurements of `y` at `x` that a line is put through.
const LINE: [(f64, f64); 6] = [(0.0, 2.9), (1.0, 5.2), (2.0, 6.8), (4.0, 11.3), (7.0, 16.9), (9.0, 21.1)];

fn line(free: &[FitParameter], method: &FitMethod) -> Fit {
    fit(free, method, &(), |it| Ok(LINE.iter().map(|(x, y)| Residual::new(it[0] + it[1] * x - y)).collect()))
}

fn ab() -> [FitParameter; 2] {
    [FitParameter::new("a", -100.0, 100.0), FitParameter::new("b", -100.0, 100.0)]
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1e-300), "{a} is not {b}");
}

/// Values, variance and covariance of a straight line are the textbook's.
#[test]
fn linear_least_squares_is_as_computed_by_hand() {
    let n = 6.0;
    let sum = |of: fn(&(f64, f64)) -> f64| LINE.iter().map(of).sum::<f64>();
    let (x, y, xx, xy) = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.0 * it.0), sum(|it| it.0 * it.1));
    let determinant = n * xx - x * x;
    let (a, b) = ((xx * y - x * xy) / determinant, (n * xy - x * y) / determinant);
    let square: f64 = LINE.iter().map(|(x, y)| (a + b * x - y).powi(2)).sum();

    let fitted = line(&ab(), &FitMethod::MEASURED).unwrap();
    close(fitted.parameters[0].value, a, 1e-7);
    close(fitted.parameters[1].value, b, 1e-7);
    close(fitted.rms, (square / n).sqrt(), 1e-9);
    let variance = fitted.variance.unwrap();
    close(variance, square / 4.0, 1e-9);
    let covariance = fitted.covariance.unwrap();
    close(covariance[0][0], variance * xx / determinant, 1e-9);
    close(covariance[0][1], -variance * x / determinant, 1e-9);
    close(covariance[1][0], -variance * x / determinant, 1e-9);
    close(covariance[1][1], variance * n / determinant, 1e-9);
    close(fitted.parameters[1].standard_error.unwrap(), covariance[1][1].sqrt(), 1e-12);
    assert!(fitted.converged);
    assert!(fitted.parameters.iter().all(|it| it.moved && it.identified && it.limit.is_none()));
}

#[test]
fn a_bent_valley_is_followed_to_its_end() {
    let free = [FitParameter::new("x", -2.0, 2.0), FitParameter::new("y", -1.0, 3.0)];
    let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
        let (x, y) = (it[0], it[1]);
        Ok::<_, Infallible>([10.0 * (y - x * x), 1.0 - x].map(Residual::new).to_vec())
    });
    let fitted = fitted.unwrap();
    close(fitted.parameters[0].value, 1.0, 1e-6);
    close(fitted.parameters[1].value, 1.0, 1e-6);
    // Two numbers fix two parameters: nothing is left to tell how well.
    assert_eq!((fitted.variance, fitted.covariance), (None, None));
}

/// A rate behind a faster one moves nothing; slower than that, it could do what the overhead does.
#[test]
fn what_another_could_do_from_beyond_its_plateau_is_not_known() {
    // Both take their part of each unit.
    fn unit(rate: f64, overhead: f64) -> f64 {
        6.0 / rate.min(4.0) + overhead
    }
    let told = |residuals: fn(f64, f64) -> [f64; 3]| {
        let free = [FitParameter::new("rate", 0.1, 20.0), FitParameter::new("overhead", 0.0, 10.0)];
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            Ok::<_, Infallible>(residuals(it[0], it[1]).map(Residual::new).to_vec())
        });
        fitted.unwrap().parameters
    };
    let parameters = told(|rate, overhead| [1.0, 2.0, 5.0].map(|it| it * (unit(rate, overhead) - 4.0)));
    assert!(parameters[0].value > 4.0 && !parameters[0].identified);
    close(parameters[1].value, 2.5, 1e-6);
    assert_eq!((parameters[1].identified, parameters[1].standard_error), (false, None));
    // Beyond its plateau this one does something else.
    let parameters = told(|rate, overhead| [overhead - 2.0, 2.0 * overhead - 4.1, (rate - 4.0).max(0.0)]);
    assert!(parameters[0].value <= 4.0 && !parameters[0].identified);
    assert!(parameters[1].identified && parameters[1].standard_error.is_some());
}

/// By slopes alone to the end of the same valley, with fewer questions; to one that is nearer, where that is not
/// the least.
#[test]
fn slopes_alone_ask_little_and_stay_near() {
    let asked = |steps: Steps| {
        let free = [FitParameter::new("x", -2.0, 2.0).starting_at(-1.2), FitParameter::new("y", -1.0, 3.0)];
        let method = FitMethod { steps, parts: 0, ..FitMethod::MEASURED };
        let fitted = fit(&free, &method, &(), |it| {
            let (x, y) = (it[0], it[1]);
            // What is within its slack moves nothing but by its trace, and that is least there as well.
            let near = Residual::new(x - y).within(0.5);
            Ok::<_, Infallible>(
                [10.0 * (y - x * x), 1.0 - x].map(Residual::new).into_iter().chain([near]).collect(),
            )
        });
        let fitted = fitted.unwrap();
        close(fitted.parameters[0].value, 1.0, 1e-6);
        close(fitted.parameters[1].value, 1.0, 1e-6);
        assert!(fitted.converged);
        fitted.evaluations
    };
    let (few, many) = (asked(Steps::Slopes), asked(Steps::LinesAndSlopes));
    assert!(few < many, "{few} questions, {many} with lines");

    let free = [FitParameter::new("x", 0.0, 12.0).starting_at(9.5)];
    let near = fit(&free, &FitMethod::NEAR, &(), |it| {
        let x = it[0];
        Ok::<_, Infallible>(vec![Residual::new((x - 2.0) * (x - 10.0)), Residual::new(0.1 * x)])
    });
    close(near.unwrap().parameters[0].value, 10.0, 0.01);
}

/// Rates over six orders of magnitude; the noise is 1 %, by a fixed sequence.
#[test]
fn noisy_measurements_give_the_parameters_within_their_errors() {
    let truth = [2.5e-6, 3.7e9, 8.0e-9];
    let model = |it: &[f64], bytes: f64, steps: f64| it[0] + bytes / it[1] + it[2] * steps;
    let mut noise = (0..).map(|it| 0.01 * f64::from(it * 7919 % 200 - 100) / 57.7);
    let mut seen = Vec::new();
    for bytes in [0.0, 1e3, 1e4, 1e5, 1e6] {
        for steps in [1.0, 100.0, 10_000.0] {
            seen.push((bytes, steps, model(&truth, bytes, steps) * (1.0 + noise.next().unwrap())));
        }
    }
    let free = [
        FitParameter::new("overhead_s", 1e-9, 1e-3).logarithmic(),
        FitParameter::new("bytes_per_s", 1e6, 1e12).logarithmic(),
        FitParameter::new("step_s", 0.0, 1e-6),
    ];
    let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
        let residual = |(bytes, steps, seconds): &(f64, f64, f64)| {
            Residual::new(model(it, *bytes, *steps) / seconds - 1.0)
        };
        Ok::<_, Infallible>(seen.iter().map(residual).collect())
    });
    let fitted = fitted.unwrap();
    assert!((0.003..0.015).contains(&fitted.rms), "{}", fitted.rms);
    for (it, truth) in fitted.parameters.iter().zip(truth) {
        let error = it.standard_error.unwrap();
        assert!(error < 0.02 * truth, "{it:?}");
        assert!((it.value - truth).abs() < 3.0 * error, "{it:?} is not {truth}");
    }
}

#[test]
fn a_limit_is_reached_and_said() {
    let free = [FitParameter::new("a", -100.0, 100.0), FitParameter::new("b", 0.0, 1.5)];
    let fitted = line(&free, &FitMethod::MEASURED).unwrap();
    assert_eq!((fitted.parameters[1].value, fitted.parameters[1].limit), (1.5, Some(Limit::Highest)));
    assert_eq!(fitted.parameters[0].limit, None);
    // The best line of this slope.
    let mean = LINE.iter().map(|(x, y)| y - 1.5 * x).sum::<f64>() / 6.0;
    close(fitted.parameters[0].value, mean, 1e-7);
    let free = [FitParameter::new("a", 10.0, 100.0), FitParameter::new("b", 0.0, 9.0)];
    let fitted = line(&free, &FitMethod::MEASURED).unwrap();
    assert_eq!((fitted.parameters[0].value, fitted.parameters[0].limit), (10.0, Some(Limit::Lowest)));
    let rough = line(&free, &FitMethod::PRINTED).unwrap();
    close(rough.parameters[0].value, 10.0, 1e-3);
    assert_eq!(rough.parameters[0].limit, Some(Limit::Lowest));
}

#[test]
fn what_the_numbers_do_not_fix_is_said_and_stays() {
    // `idle` does nothing, and only the product of `a` and `b` counts.
    let free = [
        FitParameter::new("idle", 0.0, 10.0).starting_at(3.0),
        FitParameter::new("a", 1.0, 10.0),
        FitParameter::new("b", 1.0, 10.0),
        FitParameter::new("c", -10.0, 10.0),
    ];
    let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
        let residual = |(x, y): &(f64, f64)| Residual::new(it[1] * it[2] * x + it[3] - y - 0.1 * y * y);
        Ok::<_, Infallible>(LINE.iter().map(residual).collect())
    });
    let fitted = fitted.unwrap();
    let identified: Vec<bool> = fitted.parameters.iter().map(|it| it.identified).collect();
    assert_eq!(identified, [false, false, false, true]);
    assert_eq!((fitted.parameters[0].value, fitted.parameters[0].moved), (3.0, false));
    let errors: Vec<bool> = fitted.parameters.iter().map(|it| it.standard_error.is_some()).collect();
    assert_eq!(errors, identified);
    // Two directions are left of four.
    let s2: f64 = fitted.residuals.iter().map(|it| it.error.powi(2)).sum::<f64>() / (6.0 - 2.0);
    close(fitted.variance.unwrap(), s2, 1e-12);
}

#[test]
fn every_whole_number_is_tried() {
    // With two humps, the better one behind the worse.
    let hump = |it: f64| if it < 5.0 { (it - 2.0).abs() + 1.0 } else { (it - 7.0).abs() };
    let free = [FitParameter::new("count", 0.0, 9.0).whole(), FitParameter::new("a", 0.0, 1.0)];
    let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
        Ok::<_, Infallible>(vec![Residual::new(hump(it[0])), Residual::new(it[1] - 0.25), Residual::new(0.5)])
    });
    let fitted = fitted.unwrap();
    assert_eq!(fitted.parameters[0].value, 7.0);
    close(fitted.parameters[1].value, 0.25, 1e-6);
    let covariance = fitted.covariance.unwrap();
    assert_eq!(covariance[0], [0.0, 0.0]);
    assert!(0.0 < covariance[1][1]);
    assert_eq!(fitted.parameters[0].standard_error, None);
}

/// Where rounding leaves a range, the trace of the plain error picks its middle.
#[test]
fn errors_within_their_slack_only_leave_a_trace() {
    let fitted = |slack: f64| {
        let free = [FitParameter::new("a", 0.0, 10.0)];
        let fitted = fit(&free, &FitMethod::PRINTED, &(), |it| {
            Ok::<_, Infallible>([4.0, 5.0].map(|y| Residual::new(it[0] - y).within(slack)).to_vec())
        });
        fitted.unwrap()
    };
    let loose = fitted(0.75);
    close(loose.parameters[0].value, 4.5, 1e-3);
    assert_eq!(loose.rms, 0.0);
    close(fitted(0.25).rms, 0.25, 1e-3);
    // Four digits.
    assert_eq!(loose.parameters[0].value, FitMethod::PRINTED.round(loose.parameters[0].value));
}

#[test]
fn it_looks_over_the_whole_range_and_not_only_near_the_start() {
    let free = [FitParameter::new("x", 0.0, 12.0).starting_at(9.5)];
    let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
        let x = it[0];
        Ok::<_, Infallible>(vec![Residual::new((x - 2.0) * (x - 10.0)), Residual::new(0.1 * x)])
    });
    close(fitted.unwrap().parameters[0].value, 2.0, 0.25);
}

/// Time = overhead + the longer of work and bytes over a rate, which binds nothing where the search begins: whatever the
/// order of the parameters.
#[test]
fn a_rate_that_binds_nothing_at_the_start_is_found() {
    let seen = [(1.0, 40.0), (4.0, 2000.0), (2.0, 400.0), (8.0, 5000.0), (3.0, 10.0)];
    let time = |overhead: f64, rate: f64, (work, bytes): (f64, f64)| overhead + f64::max(work, bytes / rate);
    let run = |order: [usize; 2]| {
        let free = [FitParameter::new("overhead", 0.0, 1000.0), FitParameter::new("rate", 1.0, 1300.0)];
        let free = order.map(|it| free[it].clone());
        let fitted = fit(&free, &FitMethod::MEASURED, &(), |it| {
            let (overhead, rate) = (it[order[0]], it[order[1]]);
            let residual = |it| Residual::new(time(overhead, rate, it) / time(99.0, 250.0, it) - 1.0);
            Ok::<_, Infallible>(seen.map(residual).to_vec())
        });
        let fitted = fitted.unwrap();
        let value = |key: &str| fitted.parameters.iter().find(|it| it.key == key).unwrap().value;
        (value("overhead"), value("rate"), fitted.rms)
    };
    for order in [[0, 1], [1, 0]] {
        let (overhead, rate, rms) = run(order);
        assert!(rms < 1e-5 && (overhead / 99.0 - 1.0).abs() < 1e-3, "{overhead} {rate} {rms}");
        assert!((rate / 250.0 - 1.0).abs() < 1e-2, "{rate}");
    }
}

/// Of whole numbers that do as well, none is known, nor what moves with them.
#[test]
fn whole_numbers_that_do_as_well_are_not_identified() {
    let free = [
        FitParameter::new("lines", 1.0, 16.0).whole(),
        FitParameter::new("path", 0.0, 200.0),
        FitParameter::new("base", 0.0, 10.0),
    ];
    let fitted = |with_more: bool| {
        let found = fit(&free, &FitMethod::MEASURED, &(), |it| {
            let told = |lines: f64, path: f64, base: f64, (x, y): (f64, f64)| {
                let own = if with_more { y * lines } else { 0.0 };
                base + x * (2.0 * path + 16.0) / lines + own
            };
            let residual = |at| {
                let truth = told(11.0, 85.0, 3.0, at);
                Residual::new(told(it[0], it[1], it[2], at) / truth - 1.0)
            };
            Ok::<_, Infallible>(LINE.map(residual).to_vec())
        });
        found.unwrap()
    };
    let identified = |it: &Fitted| it.parameters.iter().map(|it| it.identified).collect::<Vec<_>>();
    let open = fitted(false);
    assert_eq!(identified(&open), [false, false, true], "{open:?}");
    assert_eq!(open.parameters[1].standard_error, None);
    let known = fitted(true);
    assert_eq!(identified(&known), [true, true, true], "{known:?}");
    assert_eq!(known.parameters[0].value.to_bits(), 11.0_f64.to_bits());
}

/// What measurements are known to says how well parameters are, even if there are no more of them.
#[test]
fn known_deviations_give_standard_errors() {
    let known = FitMethod { deviations: true, ..FitMethod::MEASURED };
    let one = [FitParameter::new("a", 0.0, 10.0)];
    let error = |method: &FitMethod, seen: &[f64]| {
        let fitted = fit(&one, method, &(), |it| {
            Ok::<_, Infallible>(seen.iter().map(|seen| Residual::new((it[0] - seen) / 0.5)).collect())
        });
        fitted.unwrap().parameters[0].standard_error
    };
    close(error(&known, &[4.0]).unwrap(), 0.5, 1e-6);
    close(error(&known, &[4.0; 4]).unwrap(), 0.25, 1e-6);
    assert_eq!(error(&FitMethod::MEASURED, &[4.0]), None);
    // Errors that are larger than what is known say that something is not.
    let apart = error(&known, &[2.0, 6.0]).unwrap();
    close(apart, error(&FitMethod::MEASURED, &[2.0, 6.0]).unwrap(), 1e-9);
}

#[test]
fn bad_input_is_told_with_the_parameter() {
    let error = |free: &[FitParameter]| line(free, &FitMethod::MEASURED).unwrap_err().to_string();
    let [a, b] = ab();
    insta::assert_snapshot!(error(&[]), @"there is no free parameter; name at least one, with its range");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 2.0, 1.0)]), @"free parameter `b`: its range from 2 to 1 is empty; give `min` below `max`");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 1.0, 1.0)]), @"free parameter `b`: its range from 1 to 1 is empty; give `min` below `max`");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", f64::NAN, 1.0)]), @"free parameter `b`: its range is from NaN to 1; give two numbers");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, f64::INFINITY)]), @"free parameter `b`: its range is from 0 to inf; give two numbers");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1.0).logarithmic()]), @"free parameter `b`: it is looked over by its logarithm, but begins at 0; give `min` above 0");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1.0).starting_at(2.0)]), @"free parameter `b`: it starts at 2, outside of its range from 0 to 1");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1.0).starting_at(f64::NAN)]), @"free parameter `b`: it starts at NaN, outside of its range from 0 to 1");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.5, 2.0).whole()]), @"free parameter `b`: it is whole, but its range is from 0.5 to 2; give whole numbers");
    insta::assert_snapshot!(error(&[a.clone(), FitParameter::new("b", 0.0, 1e18).whole()]), @"free parameter `b`: from 0 to 1000000000000000000 are too many whole numbers; each is a fit of its own, so give at most 1000");
    let hundred = FitParameter::new("b", 1.0, 100.0).whole();
    insta::assert_snapshot!(error(&[FitParameter { key: "a".to_owned(), ..hundred.clone() }, hundred]), @"free parameter `b`: with it, whole parameters have 10000 combinations; each is a fit of its own, so give at most 1000");
    insta::assert_snapshot!(error(&[a, b.clone(), b]), @"free parameter `b`: it is given twice; remove one");
}

#[test]
fn bad_residuals_are_told_with_the_point() {
    let error = |residuals: fn(f64) -> Result<Vec<Residual>, &'static str>| {
        let free = [FitParameter::new("a", 0.0, 4.0)];
        fit(&free, &FitMethod::MEASURED, &(), |it| residuals(it[0])).unwrap_err().to_string()
    };
    insta::assert_snapshot!(error(|_| Ok(Vec::new())), @"there is nothing to fit to; give at least one measurement");
    insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it), Residual::new(f64::NAN)])), @"residual 1 is Residual { error: NaN, slack: 0.0 } at `a` = 2; its error must be a number up to 1e150, and slack at least 0");
    insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it * 1e200)])), @"residual 0 is Residual { error: 2e200, slack: 0.0 } at `a` = 2; its error must be a number up to 1e150, and slack at least 0");
    insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it).within(-1.0)])), @"residual 0 is Residual { error: 2.0, slack: -1.0 } at `a` = 2; its error must be a number up to 1e150, and slack at least 0");
    insta::assert_snapshot!(error(|it| Ok(vec![Residual::new(it); if it < 1.0 { 1 } else { 2 }])), @"there are 1 residuals at `a` = 0, and 2 before; give as many at every point");
    insta::assert_snapshot!(error(|it| if it < 1.0 { Err("too few banks") } else { Ok(vec![Residual::new(it)]) }), @"too few banks (at `a` = 0)");
}

/// Says stop after some rounds, and remembers what it was told.
struct Impatient(std::sync::atomic::AtomicU64, u64);

impl Control for Impatient {
    fn advanced(&self, done: u64, total: u64) {
        assert!(done <= total);
        self.0.store(done, std::sync::atomic::Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.1 <= self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[test]
fn a_stopped_fit_returns_the_best_so_far() {
    let free = [FitParameter::new("a", 0.0, 9.0).whole(), FitParameter::new("b", -1.0, 1.0)];
    let run = |most: u64| {
        let asked = Cell::new(0);
        let fitted = fit(&free, &FitMethod::MEASURED, &Impatient(0.into(), most), |it| {
            asked.set(asked.get() + 1);
            Ok::<_, Infallible>(vec![Residual::new(it[0] - 8.0), Residual::new(it[1] - 0.5)])
        });
        let fitted = fitted.unwrap();
        assert_eq!(fitted.evaluations, asked.get());
        fitted
    };
    let stopped = run(1);
    assert!(!stopped.converged && stopped.covariance.is_none());
    assert!(stopped.parameters[0].value < 8.0, "{stopped:?}");
    close(stopped.parameters[1].value, 0.5, 1e-6);
    assert!(run(0).evaluations == 1);
    assert!(run(u64::MAX).converged);
}

#[test]
fn the_same_input_gives_the_same_result() {
    assert_eq!(line(&ab(), &FitMethod::MEASURED).unwrap(), line(&ab(), &FitMethod::MEASURED).unwrap());
}
