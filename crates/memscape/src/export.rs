//! Styles and formats of figures, by name.

use std::path::Path;

use memscape_papers::Error;
use memscape_plot::{Format, Style};
use memscape_study::Unknown;

/// The style of this name: `paper`, `slides` or `dark`.
///
/// # Errors
/// [`Error::Unknown`] suggests the nearest.
pub fn style_named(name: &str) -> Result<Style, Error> {
    let unknown = || Unknown::new("style", name, Style::ALL.iter().map(|it| it.name()));
    Style::named(name).ok_or_else(|| unknown().into())
}

/// The format of this name: `svg`, `png` or `pdf`.
///
/// # Errors
/// [`Error::Unknown`] suggests the nearest.
pub fn format_named(name: &str) -> Result<Format, Error> {
    let unknown = || Unknown::new("format of figures", name, Format::ALL.iter().map(|it| it.name()));
    Format::named(name).ok_or_else(|| unknown().into())
}

/// The format that a file's name ends in.
///
/// # Errors
/// [`Error::BadChart`] if it ends otherwise.
pub fn format_of(path: &Path) -> Result<Format, Error> {
    let ends = || format!("{}: the name must end in .svg, .png or .pdf", path.display());
    Format::of(path).ok_or_else(|| Error::BadChart(ends()))
}

/// A style in a `Drawing`: its name.
pub(crate) mod style_name {
    use memscape_plot::Style;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub fn serialize<S: Serializer>(style: &Style, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(style.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Style, D::Error> {
        let name = String::deserialize(deserializer)?;
        super::style_named(&name).map_err(D::Error::custom)
    }
}
