//! The keys of a `config.json` that say something on shapes.
//!
//! The text is somebody else's, so nothing is kept that is not asked for: other
//! keys are passed over without being built, a list is counted rather than
//! stored, and a text is cut short.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::MAX_LAYERS;

/// Every key that some architecture reads.
const KNOWN: &[&str] = &[
    "_remove_final_layer_norm",
    "_sliding_window_pattern",
    "activation",
    "activation_function",
    "alibi",
    "attention_bias",
    "bias",
    "decoder_sparse_step",
    "do_layer_norm_before",
    "enable_bias",
    "factor",
    "ffn_dim",
    "ffn_hidden_size",
    "head_dim",
    "hidden_act",
    "hidden_activation",
    "hidden_size",
    "intermediate_size",
    LAYER_TYPES,
    "layer_norm_elementwise_affine",
    "max_position_embeddings",
    "max_window_layers",
    "mlp_bias",
    "mlp_only_layers",
    "model_type",
    "moe_intermediate_size",
    "multi_query",
    "new_decoder_architecture",
    "n_routed_experts",
    "num_attention_heads",
    "num_experts",
    "num_experts_per_tok",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_kv_heads",
    "num_ln_in_parallel_attn",
    "num_local_experts",
    "original_max_position_embeddings",
    "parallel_attn",
    ROPE[0],
    ROPE[1],
    "rope_type",
    "sliding_window",
    "sliding_window_pattern",
    TEXT_CONFIG,
    "tie_word_embeddings",
    "type",
    "use_sliding_window",
    "vocab_size",
    "word_embed_proj_dim",
];

/// The key that holds a list of names.
pub(super) const LAYER_TYPES: &str = "layer_types";
/// The key under which a multimodal model nests its language model.
pub(super) const TEXT_CONFIG: &str = "text_config";

/// The keys under which rotary positions are scaled: that of transformers since 5, and before.
pub(super) const ROPE: [&str; 2] = ["rope_parameters", "rope_scaling"];

/// Characters of a text that a message may quote.
const MAX_QUOTE: usize = 40;

/// What a known key holds.
#[derive(Debug)]
pub(super) enum Value {
    Null,
    Flag(bool),
    Whole(u64),
    /// With a fraction, or beyond whole numbers.
    Real(f64),
    Text(String),
    /// `layer_types`.
    Layers(LayerTypes),
    /// Another list, of so many.
    List(u64),
    /// `text_config`, or how rotary positions are scaled.
    Nested(Keys),
    /// Anything that no key holds, as a message shows it.
    Other(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) => write!(f, "{number:?}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Layers(LayerTypes { length, .. }) | Self::List(length) => write!(f, "a list of {length}"),
            Self::Nested(_) => f.write_str("an object"),
            Self::Other(shown) => f.write_str(shown),
        }
    }
}

/// The list of what each layer attends to.
#[derive(Debug)]
pub(super) struct LayerTypes {
    /// Whether each of the first [`MAX_LAYERS`] layers has a sliding window.
    pub sliding: Vec<bool>,
    /// Entries of the list, however many.
    pub length: u64,
    /// The first entry that is neither name.
    pub stray: Option<String>,
}

/// The known keys of one object.
#[derive(Debug, Default)]
pub(super) struct Keys {
    entries: Vec<(&'static str, Value)>,
    /// A known key that came twice.
    repeated: Option<&'static str>,
}

impl Keys {
    /// Reads the text of a `config.json`.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        // Some editors begin a file with a byte-order mark.
        let mut json = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
        let keys = json.deserialize_map(KeysVisitor { depth: 0 })?;
        json.end()?;
        Ok(keys)
    }

    /// What `key` holds, which may be null; `None` if it is absent.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|it| it.0 == key).map(|it| &it.1)
    }

    /// A known key that came twice, here or in what is nested.
    pub fn repeated(&self) -> Option<&'static str> {
        self.repeated.or_else(|| {
            self.entries.iter().find_map(|it| match &it.1 {
                Value::Nested(keys) => keys.repeated(),
                _ => None,
            })
        })
    }
}

/// The text, or its beginning if it is long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

struct KeysVisitor {
    /// Objects around this one: a language model in a multimodal one, positions in either.
    depth: u8,
}

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, as the config.json of a model is one")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Keys::default();
        while let Some(key) = map.next_key_seed(KnownKey)? {
            let Some(key) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if keys.get(key).is_some() {
                keys.repeated = Some(key);
                map.next_value::<IgnoredAny>()?;
            } else {
                let deepest = if ROPE.contains(&key) { 2 } else { u8::from(key == TEXT_CONFIG) };
                let nests = (self.depth < deepest).then_some(self.depth + 1);
                let value = map.next_value_seed(ValueOf { lists: key == LAYER_TYPES, nests })?;
                keys.entries.push((key, value));
            }
        }
        Ok(keys)
    }
}

/// A key, if it is a known one.
struct KnownKey;

impl<'de> DeserializeSeed<'de> for KnownKey {
    type Value = Option<&'static str>;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for KnownKey {
    type Value = Option<&'static str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(KNOWN.iter().find(|it| **it == key).copied())
    }
}

/// What a known key holds.
struct ValueOf {
    /// Whether a list is one of layer types.
    lists: bool,
    /// Whether an object is read as one of known keys, and how deep that lies.
    nests: Option<u8>,
}

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueOf {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(u64::try_from(number).map_or_else(|_| Value::Other(number.to_string()), Value::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Real(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(shortened(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut layers = LayerTypes { sliding: Vec::new(), length: 0, stray: None };
        if self.lists {
            while layers.stray.is_none() && layers.sliding.len() < MAX_LAYERS as usize {
                let Some(kind) = list.next_element_seed(Self { lists: false, nests: None })? else { break };
                layers.length += 1;
                match kind {
                    Value::Text(name) if name == "sliding_attention" => layers.sliding.push(true),
                    Value::Text(name) if name == "full_attention" => layers.sliding.push(false),
                    other => layers.stray = Some(other.to_string()),
                }
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            layers.length += 1;
        }
        Ok(if self.lists { Value::Layers(layers) } else { Value::List(layers.length) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        if let Some(depth) = self.nests {
            return KeysVisitor { depth }.visit_map(map).map(Value::Nested);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other("an object".to_owned()))
    }
}
