//! Parameters as a compact tree that deserialises fast, with errors for people.
//!
//! A sweep patches a leaf or two of a tree and deserialises it again for each
//! point, a million times. Structs therefore hand their values over in
//! declaration order, which serde's derived visitors accept as a sequence: no
//! key is compared, nothing is allocated.

use std::fmt;
use std::sync::Arc;

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::nearest::{Unknown, nearest};

/// One value, or a table of values.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Only what `Int` cannot hold.
    UInt(u64),
    /// Finite.
    Float(f64),
    /// A text.
    Text(Arc<str>),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name.
    Table(Box<Fields>),
}

/// The fields of a struct or map.
#[derive(Debug, Clone)]
pub struct Fields {
    names: Arc<Vec<Box<str>>>,
    values: Vec<Node>,
    /// The struct last found to declare exactly these names in this order.
    declared: Option<&'static [&'static str]>,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.values == other.values
    }
}

impl Fields {
    fn index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|it| **it == *name)
    }

    fn is_declared(&mut self, fields: &'static [&'static str]) -> bool {
        if self.declared.is_some_and(|it| std::ptr::eq(it, fields)) {
            return true;
        }
        let same = self.names.iter().map(|it| &**it).eq(fields.iter().copied());
        self.declared = same.then_some(fields);
        same
    }
}

/// What is at `path` of a tree that is JSON still, as [`Node::at`].
#[must_use]
pub fn value_at<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |it, name| it.get(name))
}

impl Node {
    /// The child of this name; an empty table is put in place of null, and a
    /// null child into a table that lacks it.
    pub fn child_mut(&mut self, name: &str) -> Option<&mut Node> {
        if *self == Node::Null {
            let fields = Fields { names: Arc::default(), values: Vec::new(), declared: None };
            *self = Node::Table(Box::new(fields));
        }
        let Node::Table(fields) = self else { return None };
        let index = fields.index(name).unwrap_or_else(|| {
            Arc::make_mut(&mut fields.names).push(name.into());
            fields.values.push(Node::Null);
            fields.values.len() - 1
        });
        fields.values.get_mut(index)
    }

    /// The child of this name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Node> {
        let Node::Table(fields) = self else { return None };
        fields.values.get(fields.index(name)?)
    }

    /// What is at `path`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, Self::child)
    }

    /// The number that it is, if it is one.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "as JSON reads a number")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Node::Int(it) => Some(*it as f64),
            Node::UInt(it) => Some(*it as f64),
            Node::Float(it) => Some(*it),
            _ => None,
        }
    }

    /// Which child to take at each level to get to `path`.
    #[must_use]
    pub fn route(&self, path: &str) -> Option<Vec<usize>> {
        let mut node = self;
        path.split('.')
            .map(|name| {
                let Node::Table(fields) = node else { return None };
                let index = fields.index(name)?;
                node = &fields.values[index];
                Some(index)
            })
            .collect()
    }

    /// What is at the end of a route.
    #[must_use]
    pub fn at_route(&self, route: &[usize]) -> Option<&Node> {
        route.iter().try_fold(self, |node, index| {
            let Node::Table(fields) = node else { return None };
            fields.values.get(*index)
        })
    }

    /// Puts `value` at the end of a route of this tree.
    pub fn patch(&mut self, route: &[usize], value: Node) {
        let mut node = self;
        for index in route {
            let Node::Table(fields) = node else { return };
            node = &mut fields.values[*index];
        }
        *node = value;
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Node::Null,
            Value::Bool(it) => Node::Bool(*it),
            Value::Number(it) => match (it.as_i64(), it.as_u64()) {
                (Some(it), _) => Node::Int(it),
                (None, Some(it)) => Node::UInt(it),
                (None, None) => it.as_f64().map_or(Node::Null, Node::Float),
            },
            Value::String(it) => Node::Text(it.as_str().into()),
            Value::Array(it) => Node::List(it.iter().map(Node::from).collect()),
            Value::Object(it) => Node::Table(Box::new(Fields {
                names: Arc::new(it.keys().map(|name| name.as_str().into()).collect()),
                values: it.values().map(Node::from).collect(),
                declared: None,
            })),
        }
    }
}

impl From<&Node> for Value {
    fn from(node: &Node) -> Self {
        match node {
            Node::Null => Value::Null,
            Node::Bool(it) => (*it).into(),
            Node::Int(it) => (*it).into(),
            Node::UInt(it) => (*it).into(),
            Node::Float(it) => (*it).into(),
            Node::Text(it) => (&**it).into(),
            Node::List(items) => items.iter().map(Value::from).collect(),
            Node::Table(fields) => {
                let names = fields.names.iter().map(ToString::to_string);
                Value::Object(names.zip(fields.values.iter().map(Value::from)).collect())
            }
        }
    }
}

/// As in JSON.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Null => f.write_str("null"),
            Node::Bool(it) => it.fmt(f),
            Node::Int(it) => it.fmt(f),
            Node::UInt(it) => it.fmt(f),
            Node::Float(it) => write!(f, "{it:?}"),
            Node::Text(it) => write!(f, "{it:?}"),
            Node::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Node::Table(fields) => {
                f.write_str("{")?;
                for (i, (name, value)) in fields.names.iter().zip(&fields.values).enumerate() {
                    write!(f, "{}{name:?}: {value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Why a tree is not the struct it was to be. One pointer, so that the common
/// case, no fault, stays small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<FaultParts>);

/// What a [`Fault`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultParts {
    /// Names from the outermost inwards, once the fault is complete.
    path: Vec<String>,
    /// The value as given; empty if there is none to show.
    pub given: String,
    /// What is wrong, or what is allowed.
    pub problem: String,
    /// Whether what is allowed is all that a type of numbers can hold.
    is_of_number: bool,
    /// What may have gone wrong before it was given.
    hint: &'static str,
}

impl Fault {
    fn new(problem: String) -> Self {
        let (path, given) = (Vec::new(), String::new());
        Self(Box::new(FaultParts { path, given, problem, is_of_number: false, hint: "" }))
    }

    fn expecting(expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        let (words, is_of_number) = match number(&expected) {
            Some(words) => (words, true),
            None => (plain(&expected), false),
        };
        let mut fault = Self::new(format!("expected {words}"));
        fault.0.is_of_number = is_of_number;
        fault
    }

    #[cold]
    fn within(mut self, name: impl fmt::Display, value: &Node) -> Self {
        if self.0.path.is_empty() {
            self.0.given = shown(value);
            if *value == Node::Null {
                self.0.hint = " (what is None, NaN or infinite arrives as null)";
            }
        }
        // Found from the inside out.
        self.0.path.insert(0, name.to_string());
        self
    }

    /// Of a number that its type does not hold, says what is allowed more closely than the type does, if
    /// `allowed` knows of the path. It is told the number, too, if the type has words of its own for it.
    #[must_use]
    pub fn narrowed(mut self, allowed: impl FnOnce(&str, Option<f64>) -> Option<String>) -> Self {
        let given = self.0.given.parse().ok().filter(|_| !self.0.is_of_number);
        if (self.0.is_of_number || given.is_some())
            && let Some(words) = allowed(&self.0.path.join("."), given)
        {
            self.0.problem = format!("expected {words}");
        }
        self
    }

    /// Dotted path, value and problem.
    #[must_use]
    pub fn into_parts(self) -> (String, String, String) {
        let FaultParts { path, given, problem, hint, .. } = *self.0;
        (path.join("."), given, problem + hint)
    }
}

/// A value as given; of a long table, most of which its base may have given, that it is one.
fn shown(value: &Node) -> String {
    /// Who wrote it sees at a glance what is meant.
    const MOST: usize = 80;
    let text = value.to_string();
    if matches!(value, Node::Table(_)) && text.len() > MOST { "{ .. }".to_owned() } else { text }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.problem, self.0.hint)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(problem.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expecting(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expecting(expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!(
            "expected {}{}",
            one_of(expected),
            nearest(variant, expected.iter().copied())
                .map_or_else(String::new, |it| format!("; did you mean `{it}`?"))
        ))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("`{field}` is missing"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = Unknown::new("key", field, expected.iter().copied()).hint();
        Self::new(format!("there is no `{field}` in it{hint}"))
    }
}

fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|it| format!("\"{it}\"")).collect();
    format!("{}{}", if names.len() > 1 { "one of " } else { "" }, quoted.join(", "))
}

/// What the name of a type of numbers means to someone who does not write Rust.
fn number(expected: &str) -> Option<String> {
    let whole = |low: &str, high: &str| format!("a whole number from {low} to {high}");
    Some(match expected {
        "u8" => whole("0", "255"),
        "u16" => whole("0", "65535"),
        "u32" => whole("0", "4294967295"),
        "u64" | "usize" | "u128" => "a whole number, at least 0".to_owned(),
        "i8" => whole("-128", "127"),
        "i16" => whole("-32768", "32767"),
        "i32" => whole("-2147483648", "2147483647"),
        "i64" | "isize" | "i128" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        _ => match expected.strip_prefix("a nonzero ")? {
            "u8" => whole("1", "255"),
            "u16" => whole("1", "65535"),
            "u32" => whole("1", "4294967295"),
            "u64" | "usize" => "a whole number, at least 1".to_owned(),
            _ => "a whole number other than 0".to_owned(),
        },
    })
}

/// The same of other types.
fn plain(expected: &str) -> String {
    match expected {
        "a boolean" => "true or false".to_owned(),
        "a string" | "str" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ if expected.starts_with("struct ") => "a table".to_owned(),
        _ => expected.to_owned(),
    }
}

/// 8.0 where a whole number is wanted is 8: Python and JSON do not always keep
/// the two apart.
macro_rules! whole_numbers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self {
                Node::Int(it) => visitor.visit_i64(*it),
                #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
                Node::Float(it) if it.fract() == 0.0 && it.abs() < 9.0e18 => visitor.visit_i64(*it as i64),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Node::Null => visitor.visit_unit(),
            Node::Bool(it) => visitor.visit_bool(*it),
            Node::Int(it) => visitor.visit_i64(*it),
            Node::UInt(it) => visitor.visit_u64(*it),
            Node::Float(it) => visitor.visit_f64(*it),
            Node::Text(it) => visitor.visit_str(it),
            Node::List(it) => visitor.visit_seq(Items { index: 0, items: it }),
            Node::Table(it) => visitor.visit_map(Entries { index: 0, fields: it }),
        }
    }

    whole_numbers! {
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Node::Float(it) => visitor.visit_f64(*it),
            _ => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self {
            Node::Table(it) => {
                if it.is_declared(fields) {
                    visitor.visit_seq(Declared { index: 0, names: &it.names, values: &mut it.values })
                } else {
                    visitor.visit_map(Entries { index: 0, fields: it })
                }
            }
            // A list would be taken as the fields in order; nobody means that.
            Node::List(_) => Err(serde::de::Error::invalid_type(Unexpected::Seq, &"a table")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self {
            Node::Text(it) => {
                let variant: StrDeserializer<'_, Fault> = (**it).into_deserializer();
                visitor.visit_enum(variant)
            }
            Node::Table(it) if it.values.len() == 1 => {
                visitor.visit_enum(Variant { name: &it.names[0], value: &mut it.values[0] })
            }
            _ if !variants.is_empty() => Err(Fault::new(format!("expected {}", one_of(variants)))),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool f32 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier
        ignored_any
    }
}

/// A struct's values in declaration order.
struct Declared<'a> {
    index: usize,
    names: &'a [Box<str>],
    values: &'a mut [Node],
}

impl<'de> SeqAccess<'de> for Declared<'_> {
    type Error = Fault;

    #[inline]
    fn next_element_seed<T: serde::de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.values.get_mut(self.index) else { return Ok(None) };
        match seed.deserialize(&mut *value) {
            Ok(it) => {
                self.index += 1;
                Ok(Some(it))
            }
            Err(fault) => Err(fault.within(&self.names[self.index], value)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len() - self.index)
    }
}

/// A list's items.
struct Items<'a> {
    index: usize,
    items: &'a mut [Node],
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: serde::de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.get_mut(self.index) else { return Ok(None) };
        self.index += 1;
        seed.deserialize(&mut *item).map(Some).map_err(|fault| fault.within(self.index - 1, item))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.index)
    }
}

/// A table's entries, for maps and for structs whose names came from a user.
struct Entries<'a> {
    index: usize,
    fields: &'a mut Fields,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: serde::de::DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some(name) = self.fields.names.get(self.index) else { return Ok(None) };
        let name: StrDeserializer<'_, Fault> = (**name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: serde::de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let name = &self.fields.names[self.index];
        let value = &mut self.fields.values[self.index];
        self.index += 1;
        seed.deserialize(&mut *value).map_err(|fault| fault.within(name, value))
    }
}

/// `{ variant = content }`.
struct Variant<'a> {
    name: &'a str,
    value: &'a mut Node,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = Fault;
    type Variant = Content<'a>;

    fn variant_seed<V: serde::de::DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'a>), Fault> {
        let name: StrDeserializer<'_, Fault> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Content(self.value)))
    }
}

/// What stands behind a variant's name.
struct Content<'a>(&'a mut Node);

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        serde::Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: serde::de::DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.0.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.0.deserialize_struct("", fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::Node;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Policy {
        Max,
        Fixed(u32),
        Range { low: u32, high: u32 },
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Split {
        Count(u32),
        Name(String),
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        banks: std::num::NonZeroU32,
        trcd_ns: f64,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        inner: Inner,
        policy: Policy,
        split: Split,
        maybe: Option<f64>,
        list: Vec<u8>,
        pair: (u8, bool),
        signed: i64,
    }

    fn base() -> Value {
        json!({
            "inner": { "banks": 16, "trcd_ns": 18.5 }, "policy": "max", "split": 2, "maybe": null,
            "list": [1, 2], "pair": [1, true], "signed": -3
        })
    }

    fn read(value: &Value) -> Result<Outer, String> {
        Outer::deserialize(&mut Node::from(value)).map_err(|it| {
            let (path, given, problem) = it.into_parts();
            format!("`{path}` = {given}: {problem}")
        })
    }

    fn with(pointer: &str, value: Value) -> Result<Outer, String> {
        let mut base = base();
        *base.pointer_mut(pointer).unwrap() = value;
        read(&base)
    }

    #[test]
    fn a_tree_reads_as_the_same_json_does() {
        let changes = [
            ("/inner/trcd_ns", json!(18)),
            ("/policy", json!({ "fixed": 4 })),
            ("/policy", json!({ "range": { "low": 1, "high": 2 } })),
            ("/split", json!("auto")),
            ("/maybe", json!(0.5)),
            ("/list", json!([])),
            // Names in another order than declared.
            ("/inner", json!({ "trcd_ns": 1.0, "banks": 2 })),
        ];
        for (pointer, value) in changes {
            let mut json = base();
            *json.pointer_mut(pointer).unwrap() = value.clone();
            assert_eq!(read(&json), Ok(serde_json::from_value(json).unwrap()), "{pointer} = {value}");
        }
        assert_eq!(with("/inner/banks", json!(8.0)).unwrap().inner.banks.get(), 8);
    }

    #[test]
    fn a_bad_value_is_named_with_its_path_and_what_is_allowed() {
        let error = |pointer, value| with(pointer, value).unwrap_err();
        assert_eq!(
            error("/inner/banks", json!(0)),
            "`inner.banks` = 0: expected a whole number from 1 to 4294967295"
        );
        assert_eq!(
            error("/inner/banks", json!(8.5)),
            "`inner.banks` = 8.5: expected a whole number from 1 to 4294967295"
        );
        assert_eq!(error("/inner/trcd_ns", json!("fast")), "`inner.trcd_ns` = \"fast\": expected a number");
        assert_eq!(
            error("/inner/trcd_ns", Value::Null),
            "`inner.trcd_ns` = null: expected a number (what is None, NaN or infinite arrives as null)"
        );
        assert_eq!(
            error("/policy", json!("maxx")),
            "`policy` = \"maxx\": expected one of \"max\", \"fixed\", \"range\"; did you mean `max`?"
        );
        assert_eq!(error("/list/1", json!(256)), "`list.1` = 256: expected a whole number from 0 to 255");
        assert_eq!(error("/inner", json!([16, 18.5])), "`inner` = [16, 18.5]: expected a table");
        assert_eq!(
            error("/inner", json!({ "bank": 16, "trcd_ns": 1 })),
            "`inner` = {\"bank\": 16, \"trcd_ns\": 1}: there is no `bank` in it; did you mean `banks`?"
        );
    }

    #[test]
    fn a_patched_leaf_is_read_again() {
        let mut node = Node::from(&base());
        let route = node.route("inner.banks").unwrap();
        for banks in [1, 7] {
            node.patch(&route, Node::Int(banks));
            let outer = Outer::deserialize(&mut node).unwrap();
            assert_eq!(i64::from(outer.inner.banks.get()), banks);
        }
        assert_eq!(node.route("inner.rows"), None);
    }
}
