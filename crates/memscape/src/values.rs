//! What a column's values are called in a figure.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use memscape_explore::{Column, Table};
use memscape_papers::Error;
use serde_json::Value;

use crate::presets::leaves;

/// What a column's values are called: numbers with no more digits than tell them apart.
pub fn told(table: &Table, column: &str) -> Result<Vec<Option<String>>, Error> {
    let texts = table.text(column)?;
    match table.column(column)? {
        Column::Float(values) => Ok(rounded(&values, texts)),
        _ => Ok(named(texts)),
    }
}

/// Numbers to as many decimals as tell them apart and are right to half a thousandth, where some are long:
/// thirds are.
fn rounded(values: &[Option<f64>], texts: Vec<Option<String>>) -> Vec<Option<String>> {
    /// Letters that have room under a bar.
    const ROOM: usize = 8;
    const MOST_DECIMALS: usize = 12;
    let longest = |texts: &[Option<String>]| texts.iter().flatten().map(String::len).max().unwrap_or(0);
    if longest(&texts) <= ROOM {
        return texts;
    }
    let apart = distinct(texts.iter().flatten().cloned()).len();
    for decimals in 0..=MOST_DECIMALS {
        let short = |value: f64| {
            let text = format!("{value:.decimals$}");
            let right = text.parse().is_ok_and(|it: f64| (it - value).abs() <= 5e-4 * value.abs());
            let bare = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            right.then(|| bare.to_owned())
        };
        let all: Option<Vec<_>> =
            values.iter().map(|it| it.map_or(Some(None), |it| short(it).map(Some))).collect();
        if let Some(all) = all.filter(|all| distinct(all.iter().flatten().cloned()).len() == apart) {
            return if longest(&all) < longest(&texts) { all } else { texts };
        }
    }
    texts
}

/// A column's texts with short names for descriptions of one's own, which stand in a table so that they are
/// found again: as an absolute path, or whole. Where two would be called alike, all stay as they are.
fn named(texts: Vec<Option<String>>) -> Vec<Option<String>> {
    let all: Vec<Described> =
        distinct(texts.iter().flatten().cloned()).iter().map(|it| Described::of(it)).collect();
    for name in [Described::briefly, Described::beside] {
        let short: HashMap<&str, String> = all.iter().map(|it| (it.text.as_str(), name(it, &all))).collect();
        if distinct(short.values().cloned()).len() == all.len() {
            return texts.iter().map(|it| it.as_deref().map(|it| short[it].clone())).collect();
        }
    }
    texts
}

/// A description as a table has it.
struct Described {
    text: String,
    /// What it begins from, or is called.
    name: String,
    /// What it changes of that.
    own: Vec<(String, Value)>,
    /// What it says, where that is all of it.
    whole: Vec<(String, Value)>,
}

impl Described {
    /// `gpu.toml` of a path to it; a name is itself.
    fn of(text: &str) -> Self {
        let table = if text.starts_with('{') { serde_json::from_str::<Value>(text).ok() } else { None };
        let said = |it: &str| Some(table.as_ref()?.get(it)?.as_str()?.to_owned());
        let named = |name: String| Self { text: text.to_owned(), name, own: Vec::new(), whole: Vec::new() };
        match (&table, said("base"), said("name").or_else(|| said("model_type"))) {
            (Some(table), Some(base), name) => {
                let base = name.unwrap_or_else(|| Self::of(&base).name);
                Self { own: changes(&table["parameters"]), ..named(base) }
            }
            (Some(table), None, Some(name)) => Self { whole: leaves(table), ..named(name) },
            _ if Path::new(text).is_absolute() => {
                let file = Path::new(text).file_name().map(|it| it.to_string_lossy().into_owned());
                named(file.unwrap_or_else(|| text.to_owned()))
            }
            _ => named(text.to_owned()),
        }
    }

    /// With what it changes, if that is not much: `rtx-4090, memory_gb = 48`.
    fn briefly(&self, _: &[Self]) -> String {
        /// More changes are no name.
        const MOST: usize = 2;
        match self.own.len() {
            0..=MOST => with(&self.name, self.own.iter()),
            _ => format!("{}, changed", self.name),
        }
    }

    /// With what others of the same name do not say, or say otherwise.
    fn beside(&self, all: &[Self]) -> String {
        let lacks = |it: &Self, said| !it.says().any(|its| its == said);
        let alike: Vec<&Self> =
            all.iter().filter(|it| it.name == self.name && it.says().next().is_some()).collect();
        with(&self.name, self.says().filter(|said| alike.iter().any(|it| lacks(it, *said))))
    }

    fn says(&self) -> impl Iterator<Item = &(String, Value)> {
        self.own.iter().chain(&self.whole)
    }
}

fn with<'a>(name: &str, said: impl Iterator<Item = &'a (String, Value)>) -> String {
    said.fold(name.to_owned(), |name, (path, value)| format!("{name}, {path} = {value}"))
}

/// What a description changes, descriptions within it too: `memory.parameters.channels` is of `memory.channels`.
fn changes(parameters: &Value) -> Vec<(String, Value)> {
    let path = |it: String| it.replace(".parameters.", ".");
    let plain = |it: String| it.strip_suffix(".base").map_or_else(|| it.clone(), str::to_owned);
    leaves(parameters).into_iter().map(|it| (plain(path(it.0)), it.1)).collect()
}

/// Each once, in the order in which they come.
pub fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    all.filter(|it| seen.insert(it.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::{named, rounded};

    #[test]
    fn long_numbers_have_the_digits_that_tell_them_apart() {
        let told = |values: &[f64]| -> Vec<String> {
            let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            let texts = values.iter().map(|it| it.map(|it| it.to_string())).collect();
            rounded(&values, texts).into_iter().flatten().collect()
        };
        assert_eq!(told(&[10.0, 10.0 + 1.0 / 3.0, 10.0 + 2.0 / 3.0]), ["10", "10.33", "10.67"]);
        assert_eq!(told(&[14.0, 14.100_000_000_000_001]), ["14", "14.1"]);
        assert_eq!(told(&[0.5, 0.25]), ["0.5", "0.25"], "short ones stay as they are");
        assert_eq!(told(&[1.000_000_01, 1.000_000_02]), ["1.00000001", "1.00000002"]);
        assert_eq!(told(&[1e-9, 1.0 / 3.0]), ["0.000000001", "0.333333333"]);
    }

    #[test]
    fn descriptions_of_one_s_own_have_short_names_if_these_tell_them_apart() {
        let short = |all: &[&str]| -> Vec<String> {
            named(all.iter().map(|it| Some((*it).to_owned())).collect()).into_iter().flatten().collect()
        };
        let own = r#"{"base":"rtx-4090","parameters":{"memory_gb":48}}"#;
        let file = std::env::temp_dir().join("gpu.toml").to_string_lossy().into_owned();
        assert_eq!(short(&["rtx-4090", own, &file]), ["rtx-4090", "rtx-4090, memory_gb = 48", "gpu.toml"]);
        // Two that change much are told apart by all that they change.
        let much = |layers: u32| {
            let parameters = format!(r#"{{"layers":{layers},"heads":8,"ffn_size":64}}"#);
            format!(r#"{{"base":"llama-3.2-1b","parameters":{parameters}}}"#)
        };
        assert_eq!(short(&[&much(1), "opt-125m"]), ["llama-3.2-1b, changed", "opt-125m"]);
        assert_eq!(short(&[&much(1), &much(2)]), ["llama-3.2-1b, layers = 1", "llama-3.2-1b, layers = 2"]);
        let machine = |channels: u32| {
            let memory =
                format!(r#"{{"base":"lpddr5x-7500","parameters":{{"channels":{channels},"ranks":1}}}}"#);
            format!(r#"{{"base":"lpddr5x-7500-pim","parameters":{{"memory":{memory}}}}}"#)
        };
        let told = "lpddr5x-7500-pim, memory.channels = 4";
        assert_eq!(short(&[&machine(4), &machine(8), "lpddr5x-7500-pim"])[0], told);
        let config = |layers: u32| {
            format!(
                r#"{{"model_type":"llama","hidden_size":2048,"num_hidden_layers":{layers},"vocab_size":9}}"#
            )
        };
        assert_eq!(short(&[&config(7), &config(8)])[1], "llama, num_hidden_layers = 8");
        assert_eq!(short(&[&config(7), r#"{"name":"ours","model_type":"llama"}"#]), ["llama", "ours"]);
        let other = std::env::temp_dir().join("other").join("gpu.toml").to_string_lossy().into_owned();
        assert_eq!(short(&[&file, &other]), [file.as_str(), &other]);
    }
}
