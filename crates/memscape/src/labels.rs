//! Columns' names as axes and legends say them.

/// Units by the end of a column's name.
const UNITS: [(&str, &str); 22] = [
    ("_gb_s", "GB/s"),
    ("_mt_s", "MT/s"),
    ("_gt_s", "GT/s"),
    ("_bytes", "B"),
    ("_bits", "bit"),
    ("_tokens", "tokens"),
    ("_gflops", "GFLOPS"),
    ("_tops", "TOPS"),
    ("_mhz", "MHz"),
    ("_ghz", "GHz"),
    ("_usd", "USD"),
    ("_gib", "GiB"),
    ("_mib", "MiB"),
    ("_kib", "KiB"),
    ("_gb", "GB"),
    ("_mb", "MB"),
    ("_ns", "ns"),
    ("_us", "µs"),
    ("_ms", "ms"),
    ("_ps", "ps"),
    ("_s", "s"),
    ("_j", "J"),
];

/// A column's name as an axis says it: `memory.trcd_ns` is `Trcd (ns)`.
pub fn label(column: &str) -> String {
    let (name, unit) = split(column);
    if name == column && name.contains(' ') {
        return name;
    }
    let mut letters = name.chars();
    let name = letters
        .next()
        .map_or_else(String::new, |it| it.to_uppercase().collect::<String>() + letters.as_str());
    if unit.is_empty() { name } else { format!("{name} ({unit})") }
}

/// A number of a column, with what it counts: `6400 MT/s`, `banks per channel 16`.
pub fn counted_label(column: &str, number: &str) -> String {
    let number = number.strip_suffix(".0").unwrap_or(number);
    match split(column) {
        (name, unit) if unit.is_empty() => format!("{name} {number}"),
        (_, unit) => format!("{number} {unit}"),
    }
}

/// The same without the unit.
pub fn short_label(column: &str) -> String {
    split(column).0
}

/// What several columns are: their unit, if they share one.
pub fn common_label(columns: &[String]) -> String {
    let mut units: Vec<String> = columns.iter().map(|it| split(it).1).collect();
    units.dedup();
    match &units[..] {
        [unit] => {
            let quantity = match unit.as_str() {
                "ns" | "us" | "ms" | "s" => "Time ",
                "J" | "pJ" => "Energy ",
                "" => return String::new(),
                _ => "",
            };
            format!("{quantity}({unit})")
        }
        _ => String::new(),
    }
}

fn split(column: &str) -> (String, String) {
    // A formula is what it is.
    if !column.chars().all(|it| it.is_alphanumeric() || "._".contains(it)) {
        return (column.to_owned(), String::new());
    }
    let leaf = column.rsplit('.').next().unwrap_or(column);
    let rate = leaf.rsplit_once("_per_").and_then(|(what, per)| {
        let unit = UNITS.iter().find(|it| it.0[1..] == *per)?;
        Some((what, unit.1))
    });
    if let Some((what, per)) = rate {
        let of = |it: &str| it.replace('_', " ");
        return match what.rsplit_once('_') {
            Some((what, counted)) => (format!("{} {counted}", of(what)), format!("{counted}/{per}")),
            None => (of(what), format!("{what}/{per}")),
        };
    }
    let unit = UNITS.iter().find(|it| leaf.ends_with(it.0) && leaf.len() > it.0.len());
    match unit {
        Some((end, unit)) => (leaf[..leaf.len() - end.len()].replace('_', " "), (*unit).to_owned()),
        None => (leaf.replace('_', " "), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_become_labels_with_units() {
        for (column, expected) in [
            ("memory.trcd_ns", "Trcd (ns)"),
            ("generation_tokens_per_s", "Generation tokens (tokens/s)"),
            ("tokens_per_s", "Tokens (tokens/s)"),
            ("device.dram.read_gb_s", "Read (GB/s)"),
            ("memory_bytes", "Memory (B)"),
            ("speedup", "Speedup"),
            ("banks_per_channel", "Banks per channel"),
            ("pim.registers * 2", "pim.registers * 2"),
        ] {
            assert_eq!(label(column), expected);
        }
        assert_eq!(counted_label("memory.data_rate_mt_s", "6400.0"), "6400 MT/s");
        assert_eq!(counted_label("memory.banks_per_channel", "16"), "banks per channel 16");
    }
}
