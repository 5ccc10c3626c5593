//! What a GGUF file says beside the model's shapes.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::file::Gguf;
use super::header::{Tensor, Value as Held};
use crate::ggml::GgmlType;
use crate::model::Llm;

/// How many tensors, weights and bytes a GGUF file has, type by type and matrix by matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    name: String,
    title: String,
    facts: Map<String, Value>,
}

impl Summary {
    /// `context` is what positions reach, `beside` the bytes of what is no parameter.
    pub(super) fn new(file: &Gguf, llm: &Llm, context: Option<u64>, beside: u64) -> Self {
        let bytes = file.tensor_bytes();
        let parameters = llm.parameters();
        #[expect(clippy::cast_precision_loss, reason = "for a person")]
        let bits = (bytes - beside) as f64 * 8.0 / parameters as f64;
        let architecture = file.architecture().unwrap_or_default();
        let title = match file.key("general.name") {
            Some(Held::Text(name)) if !name.is_empty() => name.clone(),
            _ => architecture.to_owned(),
        };
        let mut facts = Map::new();
        let mut fact = |name: &str, value: Value| facts.insert(name.to_owned(), value);
        fact("name", title.clone().into());
        fact("architecture", architecture.into());
        if let Some(tokens) = context {
            fact("context_tokens", tokens.into());
        }
        fact("gguf_version", file.version.into());
        fact("files", file.files.into());
        fact("tensors", file.tensors.len().into());
        fact("parameters", parameters.into());
        fact("header_bytes", file.header_bytes.into());
        fact("tensor_bytes", bytes.into());
        fact("bits_per_weight", json!((bits * 1e4).round() / 1e4));
        fact("types", types(file));
        fact("layers", layers(file));
        let stored = llm.stored.map_or(GgmlType::F32, |it| it.main);
        let files = if file.files > 1 { format!("{} GGUF files", file.files) } else { "GGUF".to_owned() };
        let title = format!("{title}, mostly {stored}: {bits:.2} bits a weight, read from {files}");
        Self { name: file.name.clone(), title, facts }
    }

    /// The file's name, without its ending and the number of a part.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Everything, for a table of facts.
    #[must_use]
    pub fn facts(self) -> Map<String, Value> {
        self.facts
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)
    }
}

/// Tensors, weights and bytes of each type.
fn types(file: &Gguf) -> Value {
    let mut all: BTreeMap<GgmlType, (u64, u64, u64)> = BTreeMap::new();
    for it in &file.tensors {
        let (tensors, weights, bytes) = all.entry(it.kind).or_default();
        *tensors += 1;
        *weights = weights.saturating_add(it.elements());
        *bytes = bytes.saturating_add(it.bytes());
    }
    let row = |(kind, (tensors, weights, bytes)): (GgmlType, (u64, u64, u64))| {
        (kind.name().to_owned(), json!({ "tensors": tensors, "weights": weights, "bytes": bytes }))
    };
    Value::Object(all.into_iter().map(row).collect())
}

/// The types of each matrix of the layers, and which layers have them: `q6_k: 0-3, 31; q4_k: 4-30`.
fn layers(file: &Gguf) -> Value {
    let mut all: BTreeMap<&str, Vec<(GgmlType, u64)>> = BTreeMap::new();
    for (layer, matrix, kind) in file.tensors.iter().filter_map(matrix_of_layer) {
        all.entry(matrix).or_default().push((kind, layer));
    }
    let row = |(matrix, mut found): (&str, Vec<(GgmlType, u64)>)| {
        found.sort_unstable();
        let kinds: Vec<&[(GgmlType, u64)]> = found.chunk_by(|a, b| a.0 == b.0).collect();
        let shown = if let [one] = kinds[..] {
            one[0].0.to_string()
        } else {
            let each = kinds.iter().map(|it| format!("{}: {}", it[0].0, ranges(it)));
            each.collect::<Vec<_>>().join("; ")
        };
        (matrix.to_owned(), shown.into())
    };
    Value::Object(all.into_iter().map(row).collect())
}

/// `blk.7.attn_v.weight` of more than one row: the layer, `attn_v` and its type.
fn matrix_of_layer(tensor: &Tensor) -> Option<(u64, &str, GgmlType)> {
    let (layer, rest) = tensor.name.strip_prefix("blk.")?.split_once('.')?;
    let matrix = rest.strip_suffix(".weight").filter(|_| tensor.shape[1] > 1)?;
    Some((layer.parse().ok()?, matrix, tensor.kind))
}

/// Layers in order, as ranges.
fn ranges(layers: &[(GgmlType, u64)]) -> String {
    let runs = layers.chunk_by(|a, b| a.1 + 1 == b.1);
    let shown = runs.map(|run| match run {
        [(_, one)] => one.to_string(),
        [(_, first), .., (_, last)] => format!("{first}-{last}"),
        [] => String::new(),
    });
    shown.collect::<Vec<_>>().join(", ")
}
