//! What the keys of a `config.json` hold, checked.

use super::error::HfConfigError;
use super::keys::{Keys, LAYER_TYPES, ROPE, TEXT_CONFIG, Value};
use crate::context::{self, Stretched, reached};
use crate::model::{Activation, MAX_WIDTH, Window};

/// The keys of one model.
pub(super) struct Config<'a> {
    pub(super) keys: &'a Keys,
    pub(super) model_type: &'a str,
}

impl Config<'_> {
    /// The language model of a multimodal one.
    pub(super) fn nested(&self) -> Result<Config<'_>, HfConfigError> {
        match self.keys.get(TEXT_CONFIG) {
            Some(Value::Nested(keys)) => {
                let nested = Config { keys, model_type: self.model_type };
                match keys.get("model_type") {
                    None => Ok(nested),
                    Some(Value::Text(name)) if name == "gemma3_text" => Ok(nested),
                    Some(_) => Err(nested.wrong("model_type", "gemma3_text in `text_config` of a gemma3")),
                }
            }
            None => Err(self.missing(TEXT_CONFIG)),
            Some(_) => Err(self.wrong(TEXT_CONFIG, "an object")),
        }
    }

    /// Tokens that positions reach: `max_position_embeddings`, and more where they are [`Stretched`].
    pub(super) fn context(&self) -> Result<Option<u64>, HfConfigError> {
        const WRITTEN: &str = "max_position_embeddings";
        let Some(written) = self.optional(WRITTEN, u32::MAX)? else { return Ok(None) };
        let scaling = ROPE.iter().find_map(|it| match self.keys.get(it) {
            Some(Value::Nested(keys)) => Some(Config { keys, model_type: self.model_type }),
            _ => None,
        });
        let Some(scaling) = scaling else { return Ok(Some(written.into())) };
        let kind = ["rope_type", "type"].iter().find_map(|it| match scaling.keys.get(it) {
            Some(Value::Text(name)) => Some(name.as_str()),
            _ => None,
        });
        let from = match Stretched::of(self.model_type, kind) {
            Stretched::FromWritten => written,
            Stretched::FromOriginal => {
                scaling.number_or("original_max_position_embeddings", written, u32::MAX)?
            }
            Stretched::Not => return Ok(Some(written.into())),
        };
        Ok(Some(reached(written, from, scaling.factor()?)))
    }

    /// By how much rotary positions are stretched; not at all unless given.
    pub(super) fn factor(&self) -> Result<f64, HfConfigError> {
        let factor = match self.keys.get("factor") {
            None | Some(Value::Null) => Some(1.0),
            Some(Value::Whole(number)) => u32::try_from(*number).ok().map(f64::from),
            Some(Value::Real(number)) => Some(*number),
            Some(_) => None,
        };
        context::factor(factor).map_err(|allowed| self.wrong("factor", allowed))
    }

    /// A number from 1 to `max`; null is as good as absent.
    pub(super) fn optional(&self, key: &'static str, max: u32) -> Result<Option<u32>, HfConfigError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Whole(number)) => match u32::try_from(*number) {
                Ok(number) if (1..=max).contains(&number) => Ok(Some(number)),
                _ => Err(self.wrong(key, whole(max))),
            },
            Some(_) => Err(self.wrong(key, whole(max))),
        }
    }

    pub(super) fn number(&self, key: &'static str, max: u32) -> Result<u32, HfConfigError> {
        self.required_unless(key, None, max)
    }

    pub(super) fn number_or(&self, key: &'static str, default: u32, max: u32) -> Result<u32, HfConfigError> {
        self.required_unless(key, Some(default), max)
    }

    pub(super) fn required_unless(
        &self,
        key: &'static str,
        default: Option<u32>,
        max: u32,
    ) -> Result<u32, HfConfigError> {
        self.optional(key, max)?.or(default).ok_or_else(|| self.missing(key))
    }

    pub(super) fn flag(&self, key: &'static str, default: bool) -> Result<bool, HfConfigError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Flag(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    pub(super) fn activation(
        &self,
        key: &'static str,
        default: Activation,
    ) -> Result<Activation, HfConfigError> {
        let name = match self.keys.get(key) {
            None | Some(Value::Null) => return Ok(default),
            Some(Value::Text(name)) => name.as_str(),
            Some(_) => "",
        };
        match name {
            "relu" => Ok(Activation::Relu),
            "silu" | "swish" => Ok(Activation::Silu),
            "gelu" | "gelu_new" | "gelu_pytorch_tanh" => Ok(Activation::Gelu),
            _ => Err(self.wrong(key, "relu, silu, swish, gelu, gelu_new or gelu_pytorch_tanh")),
        }
    }

    /// Key-value heads: null is as many as query heads, absence may be another
    /// number.
    pub(super) fn kv_heads(
        &self,
        key: &'static str,
        absent: Option<u32>,
        heads: u32,
    ) -> Result<u32, HfConfigError> {
        let default = if self.keys.get(key).is_some() { heads } else { absent.unwrap_or(heads) };
        let kv_heads = self.number_or(key, default, MAX_WIDTH)?;
        if heads.is_multiple_of(kv_heads) {
            Ok(kv_heads)
        } else {
            let allowed = format!("a divisor of `num_attention_heads`, which is {heads}");
            Err(self.wrong_or_default(key, kv_heads, allowed))
        }
    }

    /// The width of a head where heads split the hidden size.
    pub(super) fn split(&self, hidden_size: u32, heads: u32, or: &str) -> Result<u32, HfConfigError> {
        if hidden_size.is_multiple_of(heads) {
            Ok(hidden_size / heads)
        } else {
            let allowed = format!("a divisor of `hidden_size`, which is {hidden_size}{or}");
            Err(self.wrong_or_default("num_attention_heads", heads, allowed))
        }
    }

    /// Tokens of the sliding window, of which null means none.
    pub(super) fn window(&self, absent: Option<u32>) -> Result<Option<u32>, HfConfigError> {
        match self.keys.get("sliding_window") {
            None => Ok(absent),
            Some(_) => self.optional("sliding_window", u32::MAX),
        }
    }

    /// Which layers have the window, if the file lists them.
    pub(super) fn layer_types(&self, layers: u32) -> Result<Option<&[bool]>, HfConfigError> {
        match self.keys.get(LAYER_TYPES) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Layers(list)) => {
                if let Some(given) = &list.stray {
                    let allowed = "a list of full_attention and sliding_attention".to_owned();
                    let given = format!("a list with {given}");
                    return Err(HfConfigError::Value { key: LAYER_TYPES, given, allowed });
                }
                if list.length == u64::from(layers) {
                    return Ok(Some(&list.sliding));
                }
                let allowed = format!("one entry for each of the {layers} in `num_hidden_layers`");
                Err(self.wrong(LAYER_TYPES, allowed))
            }
            Some(_) => Err(self.wrong(LAYER_TYPES, "a list of full_attention and sliding_attention")),
        }
    }

    /// The window that a list of layers describes; `window` is the key to blame
    /// if it needs `tokens` and there are none.
    pub(super) fn pattern(
        &self,
        window: &'static str,
        tokens: Option<u32>,
        sliding: &[bool],
    ) -> Result<Option<Window>, HfConfigError> {
        if !sliding.contains(&true) {
            return Ok(None);
        }
        let Some(tokens) = tokens else {
            return Err(self.wrong(window, "set, since `layer_types` has sliding_attention"));
        };
        let leading = sliding.iter().take_while(|it| !**it).count();
        // None global but the first, or one every so many.
        for first in [0, leading] {
            for every in std::iter::once(0).chain(2..=sliding.len()) {
                let global = |layer| layer < first || every > 0 && (layer + 1) % every == 0;
                if sliding.iter().enumerate().all(|(layer, slides)| *slides != global(layer)) {
                    let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
                    let (global_every, global_first) = (count(every), count(first));
                    return Ok(Some(Window { tokens, global_every, global_first }));
                }
            }
        }
        let global: Vec<usize> = (1..).zip(sliding).filter(|it| !*it.1).map(|it| it.0).collect();
        let first: Vec<String> = global.iter().take(4).map(usize::to_string).collect();
        let more = if global.len() > first.len() { ", ..." } else { "" };
        Err(HfConfigError::Value {
            key: LAYER_TYPES,
            given: format!(
                "a list with full_attention in {} of {} layers: {}{more}",
                global.len(),
                sliding.len(),
                first.join(", ")
            ),
            allowed:
                "full_attention in the first layers, in layers n, 2n, 3n, ... counted from 1, or in both"
                    .to_owned(),
        })
    }

    pub(super) fn missing(&self, key: &'static str) -> HfConfigError {
        HfConfigError::Missing { key, model_type: self.model_type.to_owned() }
    }

    pub(super) fn wrong(&self, key: &'static str, allowed: impl Into<String>) -> HfConfigError {
        let given = self.keys.get(key).map_or("missing".to_owned(), Value::to_string);
        HfConfigError::Value { key, given, allowed: allowed.into() }
    }

    /// The same of a key that may be absent or null and stand for `default`.
    pub(super) fn wrong_or_default(&self, key: &'static str, default: u32, allowed: String) -> HfConfigError {
        match self.keys.get(key) {
            None | Some(Value::Null) => {
                let given = format!("missing, which transformers reads as {default}");
                HfConfigError::Value { key, given, allowed }
            }
            Some(_) => self.wrong(key, allowed),
        }
    }
}

pub(super) fn whole(max: u32) -> String {
    format!("a whole number from 1 to {max}")
}
