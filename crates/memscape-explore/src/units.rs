//! Units, which the names of parameters and columns end with.

/// A unit by the end of a name.
type Ending = (&'static str, &'static str);

/// Rates whose unit is not written as their name is.
const RATES: &[Ending] = &[("gb_per_s", "GB/s"), ("pj_per_bit", "pJ/bit"), ("nj_per_gbit", "nJ/Gbit")];

/// Longest first where one ends in another.
const UNITS: &[Ending] = &[
    ("gb_s", "GB/s"),
    ("mt_s", "MT/s"),
    ("gt_s", "GT/s"),
    ("ps", "ps"),
    ("ns", "ns"),
    ("us", "µs"),
    ("ms", "ms"),
    ("s", "s"),
    ("bytes", "B"),
    ("kib", "KiB"),
    ("mib", "MiB"),
    ("gib", "GiB"),
    ("mb", "MB"),
    ("gb", "GB"),
    ("bits", "bit"),
    ("mhz", "MHz"),
    ("ghz", "GHz"),
    ("gflops", "GFLOPS"),
    ("gops", "GOPS"),
    ("tops", "TOPS"),
    ("tokens", "tokens"),
    ("cycles", "cycles"),
    ("pj", "pJ"),
    ("nj", "nJ"),
    ("mj", "mJ"),
    ("j", "J"),
    ("mw", "mW"),
    ("w", "W"),
    ("usd", "USD"),
    ("percent", "%"),
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
    if let Some((rest, unit)) = ending(name, RATES) {
        return (rest, Some(unit.to_owned()));
    }
    if let Some((counted, per)) = name.rsplit_once("_per_")
        && let Some((_, unit)) = UNITS.iter().find(|it| it.0 == per)
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
    match ending(name, UNITS) {
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

/// How a quantity changes with the clock of the world: with the power of time that its unit has, 1 for nanoseconds,
/// -1 for rates and powers. Energy is energy, however long it takes to spend.
pub(crate) fn power_of_time(unit: &str) -> i32 {
    const TIMES: [&str; 5] = ["ps", "ns", "µs", "ms", "s"];
    const RATES: [&str; 8] = ["MHz", "GHz", "GFLOPS", "GOPS", "TOPS", "TFLOPS", "mW", "W"];
    let mut parts = unit.split(" per ").flat_map(|it| it.split('/'));
    let counted = parts.next().unwrap_or_default();
    let of_counted = if TIMES.contains(&counted) { 1 } else { -i32::from(RATES.contains(&counted)) };
    parts.fold(of_counted, |power, per| power - i32::from(TIMES.contains(&per)))
}

fn ending<'a>(name: &'a str, units: &[Ending]) -> Option<(&'a str, &'static str)> {
    units.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?.strip_suffix('_')?, *unit)))
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
