//! Against functions whose indices are known.

use memscape_study::{Slot, Study, StudyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sensitivity, SensitivityMethod, sensitivity};
use crate::parameters::Parameters;
use crate::registry::Entry;
use crate::space::{Range, Space};
use crate::table::Table;

/// Ishigami's function, and Sobol's g-function of four parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Known {
    /// First
    a: f64,
    /// Second
    b: f64,
    /// Third
    c: f64,
    /// Fourth
    d: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct KnownAnswer {
    /// Ishigami's, of the first three
    ishigami: f64,
    /// The g-function
    g: f64,
    /// What does not depend on any
    constant: f64,
    /// The sum of one, two, three and four times each
    line: f64,
    /// None where the first is large
    partial: Option<f64>,
}

impl Default for Known {
    fn default() -> Self {
        Self { a: 0.5, b: 0.5, c: 0.5, d: 0.5 }
    }
}

impl Study for Known {
    const NAME: &'static str = "known";
    const SUMMARY: &'static str = "Functions whose indices are known";
    type Answer = KnownAnswer;

    fn slots() -> Vec<Slot> {
        Vec::new()
    }

    fn answer(&self) -> Result<KnownAnswer, StudyError> {
        let angle = |it: f64| std::f64::consts::PI * (2.0 * it - 1.0);
        let (x, y, z) = (angle(self.a), angle(self.b), angle(self.c));
        let g = |it: f64, weight: f64| ((4.0 * it - 2.0).abs() + weight) / (1.0 + weight);
        Ok(KnownAnswer {
            ishigami: x.sin() + 7.0 * y.sin().powi(2) + 0.1 * z.powi(4) * x.sin(),
            g: g(self.a, 0.0) * g(self.b, 1.0) * g(self.c, 4.5) * g(self.d, 9.0),
            constant: 3.0,
            line: self.a + 2.0 * self.b + 3.0 * self.c + 4.0 * self.d,
            partial: (self.a < 0.2).then_some(self.a),
        })
    }
}

static KNOWN: Entry<Known> = Entry::new();

fn unit_cube() -> Space {
    ["a", "b", "c", "d"].into_iter().fold(Space::default(), |it, axis| it.range(axis, Range::new(0.0, 1.0)))
}

fn asked(of: &str, method: SensitivityMethod, samples: u64) -> Table {
    let question = Sensitivity { of: vec![of.to_owned()], method, samples, seed: 1 };
    sensitivity(&KNOWN, &[], &unit_cube(), &question, &()).unwrap()
}

fn close(found: &[Option<f64>], expected: &[f64], tolerance: f64) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.unwrap() - expected).abs() < tolerance, "{found:?}, but {expected}");
    }
}

/// Ishigami and Homma, 1990, with the factors 7 and 0.1; integrals in closed form.
#[test]
fn ishigamis_indices_are_found() {
    let table = asked("ishigami", SensitivityMethod::Sobol, 8192);
    close(&table.f64("first_order").unwrap(), &[0.3139, 0.4424, 0.0, 0.0], 0.01);
    close(&table.f64("total").unwrap(), &[0.5576, 0.4424, 0.2437, 0.0], 0.01);
    let inside = |value: &str, low: &str, high: &str| {
        let [value, low, high] = [value, low, high].map(|it| table.f64(it).unwrap());
        (0..4).all(|it| low[it] <= value[it] && value[it] <= high[it])
    };
    assert!(inside("first_order", "first_order_low", "first_order_high"));
    assert!(inside("total", "total_low", "total_high"));
}

/// Saltelli and Sobol, 1995: each factor has the variance 1 / (3 (1 + weight)^2).
#[test]
fn the_g_functions_indices_are_found() {
    let own = [0.0, 1.0, 4.5, 9.0].map(|it: f64| 1.0 / (3.0 * (1.0 + it).powi(2)));
    let all: f64 = own.iter().map(|it| 1.0 + it).product::<f64>() - 1.0;
    let first = own.map(|it| it / all);
    let total = own.map(|it| it * own.iter().map(|it| 1.0 + it).product::<f64>() / (1.0 + it) / all);
    let table = asked("g", SensitivityMethod::Sobol, 8192);
    close(&table.f64("first_order").unwrap(), &first, 0.01);
    close(&table.f64("total").unwrap(), &total, 0.01);
}

#[test]
fn elementary_effects_rank_and_tell_curves_from_lines() {
    let table = asked("g", SensitivityMethod::Morris, 500);
    let effects = table.f64("mean_absolute_effect").unwrap();
    assert!(effects.is_sorted_by(|one, other| one > other), "{effects:?}");
    let ishigami = asked("ishigami", SensitivityMethod::Morris, 500);
    assert_eq!(ishigami.f64("mean_absolute_effect").unwrap()[3], Some(0.0));
    // The third acts through the first alone, one way or the other.
    let third = ishigami.f64("mean_effect").unwrap()[2].unwrap().abs();
    assert!(third < ishigami.f64("deviation").unwrap()[2].unwrap());
}

/// However the values of an axis are given, the effect of a line is what it changes from end to end.
#[test]
fn an_elementary_effect_is_of_the_whole_axis() {
    let ends: [&[f64]; 4] = [&[0.0, 1.0], &[0.0, 0.5, 1.0], &[1.0, 0.75, 0.5, 0.25, 0.0], &[0.5]];
    let listed = ["a", "b", "c", "d"].into_iter().zip(ends);
    let listed = listed.fold(Space::default(), |it, (axis, values)| it.axis(axis, values.iter().copied()));
    let whole = Space::default().range("a", Range::new(0.0, 4.0).integer()).range("b", Range::new(0.0, 1.0));
    let effects = |space: &Space| {
        let of = vec!["line".to_owned()];
        let question = Sensitivity { of, method: SensitivityMethod::Morris, samples: 50, seed: 2 };
        sensitivity(&KNOWN, &[], space, &question, &()).unwrap().f64("mean_effect").unwrap()
    };
    close(&effects(&listed), &[1.0, 2.0, -3.0, 0.0], 1e-9);
    close(&effects(&whole), &[4.0, 2.0], 1e-9);
}

/// Each value of a list is met as often as any other, and where they have no order each pair of them.
#[test]
fn an_elementary_effect_is_between_any_two_values_of_a_list() {
    let asked = |values: &[f64], of: &str| {
        let space = Space::default().axis("a", values.iter().copied()).range("b", Range::new(0.0, 1.0));
        let question = Sensitivity {
            of: vec![of.to_owned()],
            method: SensitivityMethod::Morris,
            samples: 2000,
            seed: 3,
        };
        sensitivity(&KNOWN, &[], &space, &question, &()).unwrap()
    };
    // Of 12 ordered pairs, 8 differ.
    for values in [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]] {
        let effects = asked(&values, "line").f64("mean_absolute_effect").unwrap();
        close(&effects, &[2.0 / 3.0, 2.0], 0.03);
    }
    // One of ten has no answer, and is in a fifth of the pairs.
    let mut values: Vec<f64> = (0..10).map(|it| f64::from(it % 2) / 10.0).collect();
    values[7] = 0.9;
    let paths = asked(&values, "partial").f64("paths").unwrap()[0].unwrap();
    assert!((paths / 2000.0 - 0.8).abs() < 0.03, "{paths}");
}

#[test]
fn a_tornado_is_one_parameter_at_a_time() {
    let table = asked("g", SensitivityMethod::Tornado, 1);
    assert_eq!(table.f64("base").unwrap(), [Some(0.0); 4]);
    let swings = table.f64("swing").unwrap();
    // At the base the first factor is 0, whatever the others are.
    assert_eq!(swings[1..], [Some(0.0); 3]);
    assert!(swings[0].unwrap() > 0.0);
    let formula = asked("g * 2 + a", SensitivityMethod::Tornado, 0);
    let [of_formula, of_column] = [&formula, &table].map(|it| it.f64("base").unwrap()[0].unwrap());
    assert!((of_formula - (of_column * 2.0 + 0.5)).abs() < 1e-12, "a formula has a value at the base too");
    // Of each axis by itself.
    let (of, method) = (vec!["partial".to_owned()], SensitivityMethod::Tornado);
    let question = Sensitivity { of, method, samples: 1, seed: 0 };
    let base = Parameters::from_iter([("a".to_owned(), 0.1.into())]);
    let partial = sensitivity(&KNOWN, &[base], &unit_cube(), &question, &()).unwrap();
    assert_eq!(partial.f64("refused").unwrap(), [Some(26.0), Some(0.0), Some(0.0), Some(0.0)]);
    assert_eq!(partial.f64("answers").unwrap()[..2], [Some(7.0), Some(33.0)]);
    // Each whole number once, also where equal ratios are equally likely.
    let question = Sensitivity { of: vec!["(a - 14) ** 2".to_owned()], method, samples: 1, seed: 0 };
    let whole = Space::default().range("a", Range::new(10.0, 17.0).integer().log());
    let whole = sensitivity(&KNOWN, &[], &whole, &question, &()).unwrap();
    let told = ["least", "greatest", "answers"].map(|it| whole.f64(it).unwrap()[0]);
    assert_eq!(told, [Some(0.0), Some(16.0), Some(8.0)]);
}

#[test]
fn what_does_not_vary_has_no_shares_and_what_has_no_answer_is_told() {
    let table = asked("constant", SensitivityMethod::Sobol, 64);
    assert_eq!(table.f64("first_order").unwrap(), [None; 4]);
    let question = |of: &str, samples| Sensitivity {
        of: vec![of.to_owned()],
        method: SensitivityMethod::Sobol,
        samples,
        seed: 0,
    };
    // A share has no unit.
    for samples in [64, 256] {
        let shares = |of: &str| {
            let table = sensitivity(&KNOWN, &[], &unit_cube(), &question(of, samples), &()).unwrap();
            ["first_order", "first_order_low", "total", "total_high"].map(|it| table.f64(it).unwrap())
        };
        let own = shares("g");
        for times in [1024.0_f64.powi(60), 1024.0_f64.powi(-60), 1024.0_f64.powi(100)] {
            assert_eq!(shares(&format!("g * {times:e}")), own, "{times:e}");
        }
    }
    let error = |space: &Space, of: &str, samples| {
        sensitivity(&KNOWN, &[], space, &question(of, samples), &()).unwrap_err().to_string()
    };
    let partial = error(&unit_cube(), "partial", 64);
    assert!(partial.contains("samples have an answer"), "{partial}");
    assert!(partial.ends_with("says: a value of `partial` is null or not a finite number"), "{partial}");
    assert!(error(&unit_cube(), "gg", 64).contains("did you mean"));
    assert!(error(&unit_cube(), "g", 1).contains("at least 8"));
    assert!(error(&unit_cube(), "g", u64::MAX).contains("at most"));
    assert!(error(&Space::default(), "g", 64).contains("no axes"));
    assert!(error(&unit_cube().constraint("a < b"), "g", 64).contains("constraints"));
}

#[test]
fn threads_do_not_change_it() {
    let table = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| asked("ishigami", SensitivityMethod::Sobol, 256).f64("total").unwrap())
    };
    assert_eq!(table(1), table(3));
}
