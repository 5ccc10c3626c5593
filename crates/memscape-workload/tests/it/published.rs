//! Parameters of built-in models against what was printed of them.

use std::str::FromStr;

use memscape_workload::MODELS;

/// A parameter count as it was printed (the fact `parameters` of a model): to the last digit (`125239296`), or
/// rounded (`6.7B`, `350M`).
#[derive(Debug, Clone, Copy)]
pub struct PublishedCount {
    /// The count in units of the last printed digit.
    digits: u64,
    /// The unit of the last printed digit, a power of ten.
    unit: u64,
}

impl PublishedCount {
    /// Whether every digit is known.
    const fn is_exact(self) -> bool {
        self.unit == 1
    }

    /// Whether `parameters` would be printed so.
    pub const fn agrees_with(self, parameters: u64) -> bool {
        // Either way of rounding a tie.
        (self.digits * self.unit).abs_diff(parameters) <= self.unit / 2
    }
}

impl FromStr for PublishedCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a parameter count");
        let (number, power) = match text.strip_suffix(['M', 'B']) {
            None => (text, 0),
            Some(number) => (number, if text.ends_with('M') { 6 } else { 9 }),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let places = u32::try_from(decimals.len()).ok().filter(|it| *it <= power).ok_or_else(bad)?;
        let digits = format!("{whole}{decimals}").parse().map_err(|_| bad())?;
        Ok(Self { digits, unit: 10_u64.pow(power - places) })
    }
}

/// The count was published by others; where only rounded digits could be
/// confirmed (OPT-13B, 30B and 66B), half a unit of the last one is all
/// they can say.
#[test]
fn built_in_models_have_as_many_parameters() {
    for model in MODELS.all() {
        let llm = &model.parameters;
        let printed = model.facts["parameters"].as_str().unwrap();
        let published: PublishedCount = printed.parse().unwrap();
        let extra = model.facts.get("extra_parameters").map_or(0, |it| it.as_u64().unwrap());
        let computed = llm.parameters() + extra;
        assert!(published.agrees_with(computed), "{}: {printed} but {computed}", model.name);
        let rounded = ["opt-13b", "opt-30b", "opt-66b"].contains(&model.name.as_str());
        assert_eq!(published.is_exact(), !rounded, "{}", model.name);
    }
}

#[test]
fn a_rounded_count_agrees_within_its_digits() {
    let count: PublishedCount = "6.7B".parse().unwrap();
    assert!(count.agrees_with(6_658_473_984) && !count.agrees_with(6_600_000_000));
    for bad in ["", "B", "6.7", "1.2.3B", "-1", "6.7GB"] {
        assert!(bad.parse::<PublishedCount>().is_err(), "{bad}");
    }
}
