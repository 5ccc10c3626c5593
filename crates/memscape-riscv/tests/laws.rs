//! What more of a parameter does, on random machines.

use memscape_riscv::{CensusStudy, GemmStudy, InferenceStudy, KernelStudy};
use memscape_study::{Bound, Limited, More, Study};
use memscape_workload::Model;
use serde_json::{Value, json};

/// A source of numbers that is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    fn one_of(&mut self, values: &[Value]) -> Value {
        let at = self.below(values.len() as u64);
        values[usize::try_from(at).unwrap()].clone()
    }
}

fn leaves(prefix: &str, value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&path, value, all);
            }
        }
        Value::Number(_) => all.push(prefix.to_owned()),
        _ => {}
    }
}

fn at<'a>(tree: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(tree, |tree, key| tree.get_mut(key).unwrap_or_else(|| panic!("no {path}")))
}

fn times(value: &Value, factor: f64) -> Value {
    match value.as_u64() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        Some(whole) => json!((whole as f64 * factor).round() as u64),
        None => json!(value.as_f64().unwrap() * factor),
    }
}

type Options = &'static [(&'static str, fn() -> Vec<Value>)];

/// Draws machines and holds the study to its laws. No parameter may leave all columns alone.
fn check<S: Study + Default>(options: Options, points: usize)
where
    S::Answer: serde::Serialize,
{
    let ask = |tree: &Value| -> Option<(Value, Vec<Bound>)> {
        let study: S = serde_json::from_value(tree.clone()).ok()?;
        let answer = serde_json::to_value(study.answer().ok()?).unwrap();
        Some((answer, study.bounds()))
    };
    let aim = S::LAWS.aim.unwrap();
    let plain = serde_json::to_value(S::default()).unwrap();
    let mut paths = Vec::new();
    leaves("", &plain, &mut paths);
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut asked, mut moved) = (0, std::collections::BTreeMap::<String, u64>::new());
    let mut falls = Vec::new();
    for _ in 0..points {
        let mut tree = plain.clone();
        for (path, values) in options {
            *at(&mut tree, path) = dice.one_of(&values());
        }
        for path in &paths {
            if dice.below(3) == 0 && !options.iter().any(|it| it.0 == path) {
                let factor = [0.25, 0.5, 2.0, 4.0][usize::try_from(dice.below(4)).unwrap()];
                let value = at(&mut tree, path);
                let before = value.clone();
                *value = times(&before, factor);
                // What cannot be is put back.
                if ask(&tree).is_none() {
                    *at(&mut tree, path) = before;
                }
            }
        }
        let Some((base, bounds)) = ask(&tree) else { continue };
        for it in bounds {
            let value = base[it.column].as_f64().unwrap();
            let holds = match it.limit {
                Limited::AtLeast(least) => value >= least * (1.0 - 1e-9),
                Limited::AtMost(most) => value <= most * (1.0 + 1e-9),
            };
            assert!(holds, "{} = {value}: {} ({:?}) at {tree}", it.column, it.why, it.limit);
        }
        for path in &paths {
            let Some(effect) = S::LAWS.effect_on(path) else { panic!("nothing is said of {path}") };
            let mut more = tree.clone();
            *at(&mut more, path) = times(at(&mut tree, path), 2.0);
            let Some((other, _)) = ask(&more) else { continue };
            asked += 1;
            if base != other {
                *moved.entry(path.clone()).or_insert(0) += 1;
                assert!(
                    effect.only.iter().all(|it| it.holds(at(&mut more, it.path))),
                    "{path} moves the answer where {:?}",
                    effect.only
                );
            }
            if effect.except.iter().any(|it| it.when.holds(at(&mut more, it.when.path))) {
                continue;
            }
            let (a, b) = (base[aim.column].as_f64().unwrap(), other[aim.column].as_f64().unwrap());
            let (up, down) = (b > a * (1.0 + 1e-6), b < a * (1.0 - 1e-6));
            let fine = match effect.more {
                More::Better => !up,
                More::Worse => !down,
                More::Neutral => !up && !down,
                More::Either(_) => true,
                More::Unused(_) => base == other,
            };
            if !fine {
                falls.push(format!("{path}: {a} -> {b} at {tree}"));
            }
        }
    }
    let of = |path: &String| S::LAWS.effect_on(path).unwrap().more;
    let dead: Vec<_> =
        paths.iter().filter(|it| !moved.contains_key(*it) && !matches!(of(it), More::Unused(_))).collect();
    assert!(falls.is_empty(), "{} of {asked}:\n{}", falls.len(), falls[..falls.len().min(6)].join("\n"));
    assert!(asked > points * 7, "only {asked} questions");
    assert!(dead.is_empty(), "nothing depends on {dead:?}");
}

fn words(values: &[&str]) -> Vec<Value> {
    values.iter().map(|it| json!(it)).collect()
}

const KERNELS: &[&str] = &["default", "vector", "simple", "complex", "openblas"];
const POLICIES: &[&str] = &["base", "no-balancing", "bind-cores", "bind-cores-memory", "interleave"];

#[test]
fn inference_obeys() {
    check::<InferenceStudy>(
        &[
            ("kernel", || words(KERNELS)),
            ("policy", || words(POLICIES)),
            ("compiler", || words(&["xuantie-gcc-10", "gcc-13", "clang-19"])),
            ("format", || words(&["q4_0", "q4_0", "q8_0", "fp16"])),
            ("threads", || [1, 2, 8, 16, 32, 64].map(|it| json!(it)).to_vec()),
            ("prompt_tokens", || [1, 10, 33, 200].map(|it| json!(it)).to_vec()),
            ("context_cells", || vec![json!(4096)]),
            ("dispatch.blas", || vec![json!(true), json!(false)]),
            ("cache.slc_scope", || words(&["node", "global"])),
            ("core.overlap", || words(&["serial", "overlapped"])),
            ("os.weights", || words(&["populated", "lazy"])),
            ("model", || {
                Model::all()
                    .filter(|it| it.experts.is_none())
                    .map(|it| serde_json::to_value(it).unwrap())
                    .collect()
            }),
        ],
        400,
    );
}

#[test]
fn a_kernel_obeys() {
    check::<KernelStudy>(
        &[
            ("kernel", || words(&KERNELS[..4])),
            ("format", || words(&["q4_0", "q4_0", "q8_0", "fp16"])),
            ("cache.slc_scope", || words(&["node", "global"])),
            ("core.overlap", || words(&["serial", "overlapped"])),
            ("n", || [1, 2, 17, 100].map(|it| json!(it)).to_vec()),
        ],
        400,
    );
}

#[test]
fn a_product_obeys() {
    check::<GemmStudy>(
        &[
            ("method", || words(&["listing", "blocked", "openblas", "openblas-gemv"])),
            ("policy", || words(POLICIES)),
            ("format", || words(&["fp32", "fp32", "q4_0"])),
            ("threads", || [1, 2, 8, 32, 64].map(|it| json!(it)).to_vec()),
            ("n", || [1, 2, 7, 64, 300, 1000, 3000, 6000].map(|it| json!(it)).to_vec()),
            ("cache.slc_scope", || words(&["node", "global"])),
        ],
        1200,
    );
}

#[test]
fn a_census_obeys() {
    check::<CensusStudy>(
        &[
            ("dispatch.blas", || vec![json!(true), json!(false)]),
            ("dispatch.contiguous", || vec![json!(true), json!(false)]),
            ("prompt_tokens", || [1, 6, 33, 69, 1000].map(|it| json!(it)).to_vec()),
            ("ubatch_tokens", || [16, 512].map(|it| json!(it)).to_vec()),
        ],
        300,
    );
}
