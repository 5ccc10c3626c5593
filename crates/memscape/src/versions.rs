//! What this build knows: the program's version, and that of the data in it.

use std::fmt::Write as _;

use memscape_explore::digest;
use memscape_papers::{PAPERS, predictions};
use memscape_study::Calibration;
use memscape_systems::registry;

/// One kind of data that is built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataVersion {
    /// What it is, such as `memory`, `calibration` or `claims`.
    pub kind: String,
    /// How many descriptions, or papers, there are.
    pub count: usize,
    /// Equal for equal content: 32 hexadecimal digits.
    pub id: String,
}

/// The version of each kind of built-in data: descriptions with their sources, free
/// parameters, claims and predictions. One changes when what it holds does, whatever the
/// program's version.
///
/// ```
/// let all = memscape::data_versions();
/// let models = all.iter().find(|it| it.kind == "model").unwrap();
/// assert!(models.count > 30 && models.id.len() == 32);
/// ```
#[must_use]
pub fn data_versions() -> Vec<DataVersion> {
    let catalogs = registry().catalog_names();
    let descriptions = catalogs.iter().map(|(kind, catalog)| {
        let told = catalog.presets().iter().map(|it| serde_json::json!(it).to_string());
        version(kind, &told.collect::<Vec<_>>())
    });
    let systems = registry().systems().iter().filter_map(|it| it.calibration);
    let fitted = systems.map(Calibration::parameters).map(|it| serde_json::json!(it).to_string());
    let claims = PAPERS.iter().map(|it| it.published.to_owned());
    let said = predictions::TEXTS.iter().map(|it| (*it).to_owned());
    let papers = [
        version("calibration", &fitted.collect::<Vec<_>>()),
        version("claims", &claims.collect::<Vec<_>>()),
        version("predictions", &said.collect::<Vec<_>>()),
    ];
    descriptions.chain(papers).collect()
}

fn version(kind: &str, content: &[String]) -> DataVersion {
    let told = serde_json::json!(content).to_string();
    DataVersion { kind: kind.to_owned(), count: content.len(), id: digest(told.as_bytes()) }
}

/// The program's version and, a line each, that of its data: what a report of a fault, or
/// a paper, should quote.
#[must_use]
pub fn versions() -> String {
    let all = data_versions();
    let width = all.iter().map(|it| it.kind.len()).max().unwrap_or_default();
    let mut text = format!("memscape {}\n", env!("CARGO_PKG_VERSION"));
    for DataVersion { kind, count, id } in all {
        // Text takes everything.
        let _ = writeln!(text, "  {kind:<width$}  {count:>3}  {}", &id[..12]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_version() {
        let of = |content: &[&str]| {
            let content: Vec<String> = content.iter().map(|it| (*it).to_owned()).collect();
            version("models", &content).id
        };
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        for other in [&["a", "c"][..], &["b", "a"], &["ab"], &["a", "b", ""]] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
    }
}
