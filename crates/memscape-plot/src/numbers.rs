//! Numbers as a reader wants them: few digits, a true minus sign, no zeros for
//! show.

/// The factor to divide numbers of this size by, and what to write after them:
/// nothing from 0.001 up to 9999, else thousands (k, M, G, T) or `e−9`.
pub(crate) fn unit_of(largest: f64) -> (f64, String) {
    const PLAIN: std::ops::Range<f64> = 1e-3..1e4;
    if largest == 0.0 || PLAIN.contains(&largest) {
        return (1.0, String::new());
    }
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    if let Some((unit, prefix)) = prefixes.iter().find(|it| (it.0..1e4 * it.0).contains(&largest)) {
        return (*unit, (*prefix).to_owned());
    }
    let exponent = (largest.log10() / 3.0).floor() * 3.0;
    (10_f64.powf(exponent), format!("e{}", signed(exponent, 0)))
}

/// How many decimals tell multiples of this step apart.
pub(crate) fn decimals_of(step: f64) -> usize {
    let mut scaled = step;
    (0..13)
        .find(|_| {
            // Of what is far below 1, the nearest whole number is 0, which tells nothing apart.
            let whole = (scaled - scaled.round()).abs() < 1e-6 && (scaled.abs() > 0.5 || step == 0.0);
            scaled *= 10.0;
            whole
        })
        .unwrap_or(9)
}

/// How many decimals show two significant digits of a number, at most two.
pub(crate) fn decimals_for(largest: f64) -> usize {
    match largest {
        it if 10.0 <= it => 0,
        it if 1.0 <= it => 1,
        _ => 2,
    }
}

/// How many decimals suit bars beside each other, whose heights say the rest.
pub(crate) fn decimals_beside(values: impl Iterator<Item = f64>) -> usize {
    match values.map(f64::abs).fold(0.0, f64::max) {
        it if 100.0 <= it => 0,
        it if 1.0 <= it => 1,
        it if 0.1 <= it => 2,
        _ => 3,
    }
}

/// A number beside others of so many decimals, with more of its own where these would leave it
/// fewer than two significant digits, unless they say all of it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 4")]
pub(crate) fn beside(value: f64, decimals: usize) -> String {
    let two = match value.abs() {
        small if (1e-3..10.0).contains(&small) => (1.0 - small.log10().floor()) as usize,
        _ => 0,
    };
    compact(value, decimals.max(two.min(decimals_of(value))))
}

/// A number with a true minus sign, and no sign on a zero.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    match plain.strip_prefix('-') {
        Some(digits) if digits.contains(|it: char| ('1'..='9').contains(&it)) => format!("\u{2212}{digits}"),
        Some(digits) => digits.to_owned(),
        None => plain,
    }
}

/// A number with at most three decimals, and a suffix if it is very large or small.
pub(crate) fn short(value: f64) -> String {
    let (unit, suffix) = unit_of(value.abs());
    let fixed = signed(value / unit, 3);
    let trimmed =
        if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.') } else { &fixed };
    format!("{trimmed}{suffix}")
}

/// A number with so many decimals, or three digits and a suffix if it is very
/// large or small.
pub(crate) fn compact(value: f64, decimals: usize) -> String {
    let (unit, suffix) = unit_of(value.abs());
    if suffix.is_empty() {
        return signed(value, decimals);
    }
    let scaled = value / unit;
    let decimals = decimals_for(scaled.abs() / 10.0);
    format!("{}{suffix}", signed(scaled, decimals))
}

/// A number alone, with three digits that say something.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 3 to 5")]
pub(crate) fn three(value: f64) -> String {
    match value.abs() {
        small if (1e-3..1.0).contains(&small) => signed(value, (2.0 - small.log10().floor()) as usize),
        other => compact(value, decimals_for(other / 10.0)),
    }
}

/// A number on an axis that doubles, whose readers know its digits: `16384`.
pub(crate) fn doubled(value: f64) -> String {
    if (1.0..1e6).contains(&value) && value.fract() == 0.0 { signed(value, 0) } else { short(value) }
}

/// What numbers with names go from and to, as a sentence has it.
pub(crate) fn from_to(values: impl Iterator<Item = (String, f64)>) -> String {
    let all: Vec<(String, f64)> = values.collect();
    let least = all.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = all.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match (least, most) {
        (Some(least), Some(most)) if all.len() > 1 => {
            format!("from {} ({}) to {} ({})", three(least.1), least.0, three(most.1), most.0)
        }
        (Some(only), _) => format!("{} ({})", three(only.1), only.0),
        _ => "no value".to_owned(),
    }
}
