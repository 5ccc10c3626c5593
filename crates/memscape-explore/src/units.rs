//! Units, which the names of parameters and columns end with.

/// Rates whose unit is not written as their name is.
const RATES: &[(&str, &str)] = &[("gb_per_s", "GB/s"), ("pj_per_bit", "pJ/bit"), ("nj_per_gbit", "nJ/Gbit")];

/// With the power of time in each, 1 for nanoseconds, -1 for rates and powers. Longest first where one ends in another.
const UNITS: &[(&str, &str, i32)] = &[
    ("gb_s", "GB/s", -1),
    ("mt_s", "MT/s", -1),
    ("gt_s", "GT/s", -1),
    ("ps", "ps", 1),
    ("ns", "ns", 1),
    ("us", "µs", 1),
    ("ms", "ms", 1),
    ("s", "s", 1),
    ("bytes", "B", 0),
    ("kib", "KiB", 0),
    ("mib", "MiB", 0),
    ("gib", "GiB", 0),
    ("mb", "MB", 0),
    ("gb", "GB", 0),
    ("bits", "bit", 0),
    ("mhz", "MHz", -1),
    ("ghz", "GHz", -1),
    ("gflops", "GFLOPS", -1),
    ("gops", "GOPS", -1),
    ("tops", "TOPS", -1),
    ("tokens", "tokens", 0),
    ("cycles", "cycles", 0),
    ("pj", "pJ", 0),
    ("nj", "nJ", 0),
    ("mj", "mJ", 0),
    ("j", "J", 0),
    ("mw", "mW", -1),
    ("w", "W", -1),
    ("usd", "USD", 0),
    ("percent", "%", 0),
];

/// What a parameter or column is called without its unit, and the unit that the end of its name says.
///
/// ```
/// use memscape_explore::name_and_unit;
/// assert_eq!(name_and_unit("memory.trcd_ns"), ("trcd", Some("ns".to_owned())));
/// assert_eq!(name_and_unit("generation_tokens_per_s"), ("generation_tokens", Some("tokens/s".to_owned())));
/// assert_eq!(name_and_unit("dram.energy.read_pj_per_bit.value"), ("read", Some("pJ/bit".to_owned())));
/// assert_eq!(name_and_unit("cache.slc_gb_s_per_node"), ("slc", Some("GB/s per node".to_owned())));
/// assert_eq!(name_and_unit("split_k"), ("split_k", None));
/// ```
#[must_use]
pub fn name_and_unit(name: &str) -> (&str, Option<String>) {
    // A number that is known within a factor is named by its table.
    let name = name.rsplit('.').find(|it| *it != "value").unwrap_or(name);
    let rate = RATES.iter().find_map(|it| Some((before(name, it.0)?, it.1)));
    if let Some((rest, unit)) = rate {
        return (rest, Some(unit.to_owned()));
    }
    if let Some((counted, per)) = name.rsplit_once("_per_")
        && let Some((_, unit, _)) = UNITS.iter().find(|it| it.0 == per)
    {
        let what = counted.rsplit_once('_').map_or(counted, |it| it.1);
        return (counted, Some(format!("{what}/{unit}")));
    }
    // So much for each of something that is no unit itself: bytes of a cycle, a rate of each node.
    if let Some((counted, per)) = name.rsplit_once("_per_")
        && let (rest, Some(unit)) = name_and_unit(counted)
    {
        let by = if unit.contains('/') { " per " } else { "/" };
        return (rest, Some(format!("{unit}{by}{per}")));
    }
    let found = UNITS.iter().find_map(|it| Some((before(name, it.0)?, it.1)));
    match found {
        Some((rest, unit)) => (rest, Some(unit.to_owned())),
        // A whole name such as `bits` is a unit, but `s` or `w` is a symbol.
        None => (name, UNITS.iter().find(|it| it.0 == name && name.len() > 2).map(|it| it.1.to_owned())),
    }
}

/// The unit that the end of a parameter's or column's name says, for example of `time_ns`.
///
/// ```
/// assert_eq!(memscape_explore::unit_of("memory.trcd_ns").as_deref(), Some("ns"));
/// assert_eq!(memscape_explore::unit_of("split_k"), None);
/// ```
#[must_use]
pub fn unit_of(name: &str) -> Option<String> {
    name_and_unit(name).1
}

/// How a quantity changes with the clock of the world: with the power of time that its unit has. Energy is energy,
/// however long it takes to spend.
pub(crate) fn power_of_time(unit: &str) -> i32 {
    if let Some((_, _, power)) = UNITS.iter().find(|it| it.1 == unit) {
        return *power;
    }
    match unit.rsplit_once(" per ").or_else(|| unit.rsplit_once('/')) {
        Some((counted, per)) => power_of_time(counted) - power_of_time(per),
        None => 0,
    }
}

/// What stands before the end of a name.
fn before<'a>(name: &'a str, end: &str) -> Option<&'a str> {
    name.strip_suffix(end)?.strip_suffix('_')
}

#[cfg(test)]
mod tests {
    use super::power_of_time;

    #[test]
    fn units_have_a_power_of_time() {
        assert_eq!(["ns", "s", "µs"].map(power_of_time), [1, 1, 1]);
        let rates = ["GB/s", "GB/s per node", "MT/s", "tokens/s", "TOPS", "MHz", "mW", "tokens/s/kusd"];
        assert_eq!(rates.map(power_of_time), [-1; 8]);
        assert_eq!(["B", "pJ/bit", "cycles", "B/cycle", "J", "tokens/J", "x"].map(power_of_time), [0; 7]);
    }
}
