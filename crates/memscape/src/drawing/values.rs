//! What a column's values are called in a figure.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use memscape_explore::{Column, Table};
use memscape_papers::Error;
use serde_json::Value;

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
    let brief: Vec<String> = all.iter().map(Described::briefly).collect();
    let is_one = |name: &String| brief.iter().filter(|it| *it == name).count() == 1;
    let short = all.iter().zip(&brief).map(|(it, brief)| {
        let name = if is_one(brief) { brief.clone() } else { it.beside(&all) };
        (it.text.as_str(), name)
    });
    let short: HashMap<&str, String> = short.collect();
    if distinct(short.values().cloned()).len() < all.len() {
        return texts;
    }
    texts.iter().map(|it| it.as_deref().map(|it| short[it].clone())).collect()
}

/// A description as a table has it.
struct Described {
    text: String,
    /// What it is called, or begins from.
    name: String,
    /// What it says, or changes of what it begins from.
    says: Vec<(String, Value)>,
    /// Whether the name is of what it begins from.
    changes: bool,
}

impl Described {
    /// `gpu.toml` of a path to it; a name is itself.
    fn of(text: &str) -> Self {
        let table = if text.starts_with('{') { serde_json::from_str::<Value>(text).ok() } else { None };
        let said = |it: &str| Some(table.as_ref()?.get(it)?.as_str()?.to_owned()).filter(|it| !it.is_empty());
        let (name, says, changes) = match (&table, said("name"), said("base"), said("model_type")) {
            (Some(table), Some(name), base, _) => {
                let base = base.map(|it| ("base".to_owned(), Value::String(it)));
                (name, base.into_iter().chain(changes(&table["parameters"])).collect(), false)
            }
            (Some(table), None, Some(base), _) => (Self::of(&base).name, changes(&table["parameters"]), true),
            (Some(table), None, None, Some(kind)) => (kind, sizes(table), false),
            _ if Path::new(text).is_absolute() => {
                let file = Path::new(text).file_name().map(|it| it.to_string_lossy().into_owned());
                (file.unwrap_or_else(|| text.to_owned()), Vec::new(), false)
            }
            _ => (text.to_owned(), Vec::new(), false),
        };
        Self { text: text.to_owned(), name, says, changes }
    }

    /// With what it changes, if that is not much: `rtx-4090, memory_gb = 48`.
    fn briefly(&self) -> String {
        /// More changes are no name.
        const MOST: usize = 2;
        match (self.changes, self.says.len()) {
            (false, _) => self.name.clone(),
            (true, 0..=MOST) => with(&self.name, self.says.iter()),
            (true, _) => format!("{}, changed", self.name),
        }
    }

    /// With what others of the same name do not say, or say otherwise.
    fn beside(&self, all: &[Self]) -> String {
        /// As much as fits into a legend.
        const MOST: usize = 3;
        let alike: Vec<&Self> = all.iter().filter(|it| it.name == self.name && !it.says.is_empty()).collect();
        let differs = |said: &&(String, Value)| alike.iter().any(|it| !it.says.contains(said));
        let own: Vec<_> = self.says.iter().filter(differs).collect();
        let name = with(&self.name, own.iter().take(MOST).copied());
        // Beside what it begins from, or by its name alone, it would pass for that.
        let passes =
            own.is_empty() || own.len() < self.says.len() && all.iter().any(|it| it.text == self.name);
        if own.len() > MOST {
            name + ", ..."
        } else if self.changes && passes {
            name + ", changed"
        } else {
            name
        }
    }
}

fn with<'a>(name: &str, said: impl Iterator<Item = &'a (String, Value)>) -> String {
    said.fold(name.to_owned(), |name, (path, value)| format!("{name}, {path} = {value}"))
}

/// What a description changes. Of a description within it, `memory.parameters.channels` is called
/// `memory.channels`, and what it begins from `memory`.
fn changes(parameters: &Value) -> Vec<(String, Value)> {
    fn collect(found: &mut Vec<(String, Value)>, path: &str, value: &Value) {
        let Value::Object(entries) = value else {
            found.push((path.to_owned(), value.clone()));
            return;
        };
        for (key, value) in entries {
            let of = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            match key.as_str() {
                "base" | "parameters" if !path.is_empty() => collect(found, path, value),
                key => collect(found, &of(key), value),
            }
        }
    }
    let mut found = Vec::new();
    if parameters.is_object() {
        collect(&mut found, "", parameters);
    }
    found
}

/// The numbers of a `config.json` that say how large a model is.
fn sizes(config: &Value) -> Vec<(String, Value)> {
    let numbers = changes(config).into_iter().filter(|it| it.1.is_number());
    numbers.filter(|it| !it.0.ends_with("token_id")).collect()
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
        // Two that change much are told apart by what one changes and the other does not.
        let much = |layers: u32| {
            let parameters = format!(r#"{{"layers":{layers},"heads":8,"ffn_size":64}}"#);
            format!(r#"{{"base":"llama-3.2-1b","parameters":{parameters}}}"#)
        };
        assert_eq!(short(&[&much(1), "opt-125m"]), ["llama-3.2-1b, changed", "opt-125m"]);
        assert_eq!(
            short(&[&much(1), &much(2), own])[1..],
            ["llama-3.2-1b, layers = 2", "rtx-4090, memory_gb = 48"]
        );
        // Beside what they begin from, these are not all that they change.
        let told = ["llama-3.2-1b, layers = 1, changed", "llama-3.2-1b, layers = 2, changed", "llama-3.2-1b"];
        assert_eq!(short(&[&much(1), &much(2), "llama-3.2-1b"]), told);
        let more = much(1).replace("64", r#"64,"window":null"#);
        assert_eq!(short(&[&much(1), &more]), ["llama-3.2-1b, changed", "llama-3.2-1b, window = null"]);
        let without = r#"{"base":"llama-3.2-1b","parameters":{"window":null}}"#;
        assert_eq!(short(&[without, "llama-3.2-1b"]), ["llama-3.2-1b, window = null", "llama-3.2-1b"]);
        let machine = |channels: u32| {
            let memory =
                format!(r#"{{"base":"lpddr5x-7500","parameters":{{"channels":{channels},"ranks":1}}}}"#);
            format!(r#"{{"base":"lpddr5x-7500-pim","parameters":{{"memory":{memory}}}}}"#)
        };
        assert_eq!(short(&[&machine(4), &machine(8)])[0], "lpddr5x-7500-pim, memory.channels = 4");
        let config = |layers: u32| {
            let ids = r#""bos_token_id":1,"torch_dtype":"bf16""#;
            format!(r#"{{"model_type":"llama","hidden_size":2048,"num_hidden_layers":{layers},{ids}}}"#)
        };
        assert_eq!(short(&[&config(7), &config(8)])[1], "llama, num_hidden_layers = 8");
        let ours = |base: &str| format!(r#"{{"name":"ours","base":"{base}","parameters":{{"heads":8}}}}"#);
        assert_eq!(short(&[&config(7), &ours("a")]), ["llama", "ours"]);
        assert_eq!(short(&[&ours("a"), &ours("b")])[1], r#"ours, base = "b""#);
        let nameless = r#"{"name":"","base":"opt-125m","parameters":{}}"#;
        assert_eq!(short(&[nameless]), ["opt-125m"]);
        let other = std::env::temp_dir().join("other").join("gpu.toml").to_string_lossy().into_owned();
        assert_eq!(short(&[&file, &other]), [file.as_str(), &other]);
    }
}
