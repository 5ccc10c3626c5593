//! Columns' names as axes and legends say them.

use memscape_explore::name_and_unit;

/// Units of one quantity, each with how many of the last it is.
const SIZES: [&[(&str, f64)]; 2] = [
    &[("ps", 1e-12), ("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)],
    &[("pJ", 1e-12), ("nJ", 1e-9), ("µJ", 1e-6), ("mJ", 1e-3), ("J", 1.0)],
];

/// In which unit columns are drawn, if not in their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefix {
    /// What a value is multiplied with.
    pub factor: f64,
    unit: Option<&'static str>,
}

impl Default for Prefix {
    fn default() -> Self {
        Self { factor: 1.0, unit: None }
    }
}

impl Prefix {
    /// A column's name as an axis in this unit says it.
    pub fn label(self, column: &str) -> String {
        match self.unit {
            Some(unit) => format!("{} ({unit})", sentence(&split(column).0)),
            None => label(column),
        }
    }

    /// What a number is of a column, in this unit: `Swing of token (ms)`.
    pub fn label_of(self, what: &str, column: &str) -> String {
        let (name, own) = split(column);
        let unit = self.unit.map_or(own, str::to_owned);
        let unit = if unit.is_empty() { unit } else { format!(" ({unit})") };
        format!("{} of {name}{unit}", label(what))
    }

    /// What several columns are, in this unit: of one that they share.
    pub fn common_label(self, columns: &[String]) -> String {
        let mut units: Vec<String> = columns.iter().map(|it| split(it).1).collect();
        units.dedup();
        let [own] = &units[..] else { return String::new() };
        let unit = self.unit.unwrap_or(own);
        match (quantity(own), unit) {
            (_, "") => String::new(),
            ("", unit) => unit.to_owned(),
            (quantity, unit) => format!("{quantity} ({unit})"),
        }
    }
}

/// The unit in which the greatest of some values has one to three digits before the point: of columns of
/// times, or of energies.
pub fn prefix(columns: &[String], values: impl Iterator<Item = f64>) -> Prefix {
    let mut units = columns.iter().map(|it| split(it).1);
    let own = units.next().filter(|first| units.all(|it| it == *first)).unwrap_or_default();
    let sizes = SIZES.iter().find(|it| it.iter().any(|size| size.0 == own));
    let Some(sizes) = sizes else { return Prefix::default() };
    let greatest = values.map(f64::abs).fold(0.0, f64::max);
    let Some(size) = sizes.iter().find(|it| it.0 == own).map(|it| it.1) else { return Prefix::default() };
    let suits = sizes.iter().rev().find(|it| it.1 <= greatest * size * (1.0 + 1e-9));
    match suits {
        Some((unit, its)) if *unit != own => Prefix { factor: size / its, unit: Some(unit) },
        _ => Prefix::default(),
    }
}

/// A column's name as an axis says it: `memory.trcd_ns` is `tRCD (ns)`, `gpu.memory_gb` `GPU memory (GB)`.
fn label(column: &str) -> String {
    let (name, unit) = split(column);
    if name == column && name.contains([' ', '*', '/', '+', '(', '<', '>', '=']) {
        return name;
    }
    let name = sentence(&name);
    if unit.is_empty() { name } else { format!("{name} ({unit})") }
}

/// With a capital letter, unless it begins with a name that has its own.
fn sentence(name: &str) -> String {
    let first = name.split(' ').next().unwrap_or_default();
    if first.contains(char::is_uppercase) {
        return name.to_owned();
    }
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |it| it.to_uppercase().collect::<String>() + letters.as_str())
}

/// A number of a column, with what it counts: `6400 MT/s`, `banks per channel 16`.
pub fn counted_label(column: &str, number: &str) -> String {
    let number = number.strip_suffix(".0").unwrap_or(number);
    match split(column) {
        (name, unit) if unit.is_empty() => format!("{name} {number}"),
        (_, unit) => format!("{number} {unit}"),
    }
}

/// The unit that a column's name ends with; empty if none.
pub fn unit(column: &str) -> String {
    split(column).1
}

/// The same without the unit.
pub fn short_label(column: &str) -> String {
    split(column).0
}

/// What is told in a unit, if that is one thing.
fn quantity(unit: &str) -> &'static str {
    match unit {
        "ps" | "ns" | "µs" | "ms" | "s" => "Time",
        "pJ" | "nJ" | "µJ" | "mJ" | "J" => "Energy",
        "B" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" => "Data",
        "mW" | "W" | "kW" => "Power",
        "USD" => "Cost",
        "GFLOPS" | "GOPS" | "TOPS" => "Rate",
        _ if unit.ends_with("/s") => "Rate",
        _ => "",
    }
}

fn split(column: &str) -> (String, String) {
    // A formula is what it is.
    if !column.chars().all(|it| it.is_alphanumeric() || "._".contains(it)) {
        return (column.to_owned(), String::new());
    }
    let (name, unit) = name_and_unit(column);
    // What is called as its unit, such as `tokens`, says it once.
    let unit = unit.filter(|_| !column.ends_with(name));
    let mut words: Vec<String> = name.split('_').map(spelled).collect();
    // `memory` and `bandwidth` are of several things: one word says whose it is, too.
    if let [word] = &words[..]
        && word == name
        && let Some(whose) = column.rsplit('.').filter(|it| *it != "value").nth(1)
    {
        words.splice(0..0, whose.split('_').map(spelled));
    }
    (words.join(" "), unit.unwrap_or_default())
}

/// Words that have a spelling of their own.
const SPELLED: [&str; 37] = [
    "CPU", "DIMM", "DMA", "DRAM", "FFN", "GEMM", "GEMV", "GPU", "KV", "L1", "L2", "LM", "NDP", "NPU", "NUMA",
    "PCIe", "PIM", "SLC", "TOPS", "TTFT", "tCCD", "tCK", "tFAW", "tRAS", "tRC", "tRCD", "tREFI", "tRFCab",
    "tRP", "tRPab", "tRRD", "tRTP", "tRTRS", "tRTW", "tWL", "tWR", "tWTR",
];

/// A word of a name as it is written, one or several of what it names.
fn spelled(word: &str) -> String {
    let own = |it: &str| SPELLED.iter().find(|own| own.eq_ignore_ascii_case(it));
    match (own(word), word.strip_suffix('s').and_then(own)) {
        (Some(own), _) => (*own).to_owned(),
        (None, Some(own)) => format!("{own}s"),
        (None, None) => word.to_owned(),
    }
}

/// Whether a column says how far an answer moves, not what it is.
pub fn is_change(column: &str) -> bool {
    ["swing", "mean_effect", "mean_absolute_effect", "deviation"].contains(&column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_become_labels_with_units() {
        for (column, expected) in [
            ("memory.trcd_ns", "tRCD (ns)"),
            ("ttft_s", "TTFT (s)"),
            ("kv_bits", "KV (bit)"),
            ("pim.input_registers", "Input registers"),
            ("dimms", "DIMMs"),
            ("prompt_on_pim_s", "Prompt on PIM (s)"),
            ("generation_tokens_per_s", "Generation tokens (tokens/s)"),
            ("tokens_per_s", "Tokens (tokens/s)"),
            ("device.dram.read_gb_s", "DRAM read (GB/s)"),
            ("gpu.memory_gb", "GPU memory (GB)"),
            ("memory_bytes", "Memory (B)"),
            ("speedup", "Speedup"),
            ("banks_per_channel", "Banks per channel"),
            ("device.dram.energy.access_pj_per_bit.value", "Energy access (pJ/bit)"),
            ("package_w", "Package (W)"),
            ("prompt.tokens", "Prompt tokens"),
            ("pim.registers * 2", "pim.registers * 2"),
        ] {
            assert_eq!(label(column), expected);
        }
        assert_eq!(counted_label("memory.data_rate_mt_s", "6400.0"), "6400 MT/s");
        for (columns, expected) in [
            (["memory_bytes", "memory_limit_bytes"], "Data (B)"),
            (["prompt_tokens_per_s", "generation_tokens_per_s"], "Rate (tokens/s)"),
            (["kv_bits", "weight_bits"], "bit"),
            (["token_ns", "ttft_s"], ""),
            (["speedup", "share"], ""),
        ] {
            assert_eq!(Prefix::default().common_label(&columns.map(str::to_owned)), expected);
        }
        assert_eq!(counted_label("memory.banks_per_channel", "16"), "banks per channel 16");
    }

    #[test]
    fn the_explorer_spells_words_as_figures_do() {
        let explorer = include_str!("../../../memscape-page/assets/draw.js");
        let missing = SPELLED.iter().filter(|it| !explorer.contains(&format!("\"{it}\"")));
        assert_eq!(missing.count(), 0);
    }
}
