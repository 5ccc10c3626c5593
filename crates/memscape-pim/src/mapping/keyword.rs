//! Parameters that are a keyword or a count, such as `cr_degree = "auto"` or `4`.

use std::num::NonZeroU32;

/// Defines an enum of unit variants plus `Fixed(NonZeroU32)` that is written as
/// a keyword or a whole number.
macro_rules! keyword_or_count {
    (
        $(#[$doc:meta])*
        $name:ident, $fixed:literal, { $($(#[$variant_doc:meta])* $variant:ident = $keyword:literal),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
            #[doc = $fixed]
            Fixed(std::num::NonZeroU32),
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant => serializer.serialize_str($keyword),)+
                    Self::Fixed(count) => serializer.serialize_u32(count.get()),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!($("`", $keyword, "`, ",)+ "or a whole number of at least 1"))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        match text {
                            $($keyword => Ok($name::$variant),)+
                            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                        }
                    }
                    fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<$name, E> {
                        $crate::mapping::keyword::count(count)
                            .map($name::Fixed)
                            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(count), &self))
                    }
                    fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<$name, E> {
                        u64::try_from(count)
                            .ok()
                            .and_then($crate::mapping::keyword::count)
                            .map($name::Fixed)
                            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(count), &self))
                    }
                    // As counts are elsewhere: 8.0 is 8.
                    fn visit_f64<E: serde::de::Error>(self, count: f64) -> Result<$name, E> {
                        $crate::mapping::keyword::whole(count)
                            .map($name::Fixed)
                            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Float(count), &self))
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "oneOf": [
                        { "enum": [$($keyword),+] },
                        { "type": "integer", "minimum": 1 },
                    ]
                })
            }
        }
    };
}
pub(super) use keyword_or_count;

pub(super) fn count(value: u64) -> Option<NonZeroU32> {
    u32::try_from(value).ok().and_then(NonZeroU32::new)
}

pub(super) fn whole(value: f64) -> Option<NonZeroU32> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be one")]
    let it = value as u32;
    #[expect(clippy::float_cmp, reason = "whole numbers are exact")]
    let is_one = f64::from(it) == value;
    NonZeroU32::new(it).filter(|_| is_one)
}
