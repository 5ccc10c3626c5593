//! What a slot's value stands for: a built-in name, the path of a file, or a
//! table. The only place that reads a description's files.

use std::fs;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

use memscape_study::{AnyCatalog, CatalogError, File, Folder, Form, Opened, Preset, Takes, Unknown, list};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::given::{open_plain, read_bytes};

/// A description whose base has a base that has a base ...: no more than this.
const NESTING: usize = 8;

/// The description that a value stands for: a built-in name, a path seen from `folder`,
/// or a table. `parameter` is what an error calls it.
///
/// # Errors
/// [`Error::BadDescription`] suggests the nearest name, or says what is wrong with the
/// file or the table.
pub fn described(
    catalog: &dyn AnyCatalog,
    parameter: &str,
    given: &Value,
    folder: &Path,
) -> Result<Preset<Value>, Error> {
    let found = match given {
        Value::String(text) => find(catalog, text, folder),
        Value::Object(table) => {
            inline(catalog, table, folder).unwrap_or_else(|| whole(catalog, table, folder))
        }
        _ => Err(CatalogError::File("expected a name, a path or a table".to_owned())),
    };
    found.map_err(|error| Error::BadDescription {
        parameter: parameter.to_owned(),
        given: match given {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
        error: Box::new(error),
    })
}

/// The description that `text` names, seen from `folder` if it is a path.
pub(crate) fn find(
    catalog: &dyn AnyCatalog,
    text: &str,
    folder: &Path,
) -> Result<Preset<Value>, CatalogError> {
    find_below(catalog, text, folder, 0)
}

/// The description that a table is, if it is more than some parameters.
pub(crate) fn inline(
    catalog: &dyn AnyCatalog,
    table: &Map<String, Value>,
    folder: &Path,
) -> Option<Result<Preset<Value>, CatalogError>> {
    let form = catalog.inline(table)?;
    Some(form.and_then(|form| complete(catalog, form, folder, 0)))
}

/// The description whose parameters a table gives, all of them.
pub(crate) fn whole(
    catalog: &dyn AnyCatalog,
    table: &Map<String, Value>,
    folder: &Path,
) -> Result<Preset<Value>, CatalogError> {
    let form = Form { parameters: table.clone(), ..Form::from_value(Map::new())? };
    complete_in(catalog, form, folder)
}

/// Completes a form whose names and paths are seen from `folder`.
pub(crate) fn complete_in(
    catalog: &dyn AnyCatalog,
    form: Form,
    folder: &Path,
) -> Result<Preset<Value>, CatalogError> {
    complete(catalog, form, folder, 0)
}

/// How much a file is like this catalog's descriptions: as nothing else if it says what differs of one, or else by the
/// names that it has in common with them.
pub(crate) fn likeness(catalog: &dyn AnyCatalog, path: &Path) -> usize {
    let form = read_files(path, &catalog.takes()).ok().and_then(|it| catalog.read(&it).ok());
    let Some(form) = form else { return 0 };
    let beside = path.parent().unwrap_or(Path::new(""));
    match form.base {
        Some(base) if find_below(catalog, &base, beside, 1).is_ok() => usize::MAX,
        _ => {
            let known = catalog.presets().first().map(|it| &it.parameters);
            form.parameters.keys().filter(|it| known.is_some_and(|known| known.get(it).is_some())).count()
        }
    }
}

/// Whether a text is a path, whatever catalog it is for: no name of a description has a separator, or ends as
/// their files do.
#[must_use]
pub fn is_path(text: &str) -> bool {
    const ENDINGS: [&str; 4] = ["toml", "json", "gguf", "npz"];
    let ending = Path::new(text).extension();
    text.contains(['/', '\\'])
        || ending.is_some_and(|end| ENDINGS.iter().any(|it| end.eq_ignore_ascii_case(it)))
}

/// A path rather than a name, were it not the name of something built in.
pub(crate) fn looks_like_path(catalog: &dyn AnyCatalog, text: &str) -> bool {
    let ends = |it: &&str| Path::new(text).extension().is_some_and(|end| end.eq_ignore_ascii_case(it));
    catalog.find_plain(text).is_err()
        && (text.contains(['/', '\\']) || catalog.takes().extensions.iter().any(ends))
}

fn find_below(
    catalog: &dyn AnyCatalog,
    text: &str,
    folder: &Path,
    depth: usize,
) -> Result<Preset<Value>, CatalogError> {
    if let Ok(found) = catalog.find_plain(text) {
        return Ok(found.clone());
    }
    if !looks_like_path(catalog, text) {
        let file = folder.join(text);
        if file.extension().is_some() && file.is_file() {
            let (kind, ends) = (catalog.kind(), endings(&catalog.takes()));
            return Err(CatalogError::File(format!("a {kind} is {ends}; rename this one if it is such")));
        }
        let known = catalog.presets().iter().map(|it| it.name.as_str());
        return Err(Unknown::new(catalog.kind(), text, known).into());
    }
    let path = folder.join(text);
    // A hub's name of what is built in.
    if let Some((_, name)) = text.rsplit_once('/').filter(|_| !path.exists())
        && let Ok(found) = catalog.find_plain(name)
    {
        return Err(CatalogError::File(format!("there is no such file; did you mean `{}`?", found.name)));
    }
    // The outermost one is named by who asks.
    let named = |problem: String| match depth {
        0 => CatalogError::File(problem),
        // One that is its own base is named once.
        _ if problem.starts_with(&format!("{}: ", path.display())) => CatalogError::File(problem),
        _ => CatalogError::File(format!("{}: {problem}", path.display())),
    };
    let form = match read_beginning(catalog, &path) {
        Some(form) => form,
        None => {
            read_files(&path, &catalog.takes()).map_err(CatalogError::File).and_then(|it| catalog.read(&it))
        }
    };
    let form = form.map_err(|it| named(it.to_string()))?;
    if depth >= NESTING {
        return Err(named(format!("more than {NESTING} descriptions name each other; is one its own base?")));
    }
    let beside = path.parent().unwrap_or(Path::new("")).to_owned();
    complete(catalog, form, &beside, depth + 1).map_err(|it| named(it.to_string()))
}

fn complete(
    catalog: &dyn AnyCatalog,
    mut form: Form,
    folder: &Path,
    depth: usize,
) -> Result<Preset<Value>, CatalogError> {
    catalog.anchor(&mut form.parameters, folder);
    catalog.complete(form, &|other, name| find_below(other, name, folder, depth))
}

/// What the file at `path` begins with, if that is all that matters of files that end so.
fn read_beginning(catalog: &dyn AnyCatalog, path: &Path) -> Option<Result<Form, CatalogError>> {
    // A folder is none, whatever it is called.
    let name = path.file_name().filter(|_| !path.is_dir())?;
    catalog.read_beginning(&name.to_string_lossy(), &Beside(path.parent().unwrap_or(Path::new(""))))
}

/// The folder of a file that was named, in which others of it are.
struct Beside<'a>(&'a Path);

impl Folder for Beside<'_> {
    fn open(&self, name: &str) -> Result<Opened<'_>, String> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(format!("`{name}` is not the name of a file beside it"));
        }
        let file = open_plain(&self.0.join(name))?;
        let length = file.metadata().map_err(|it| it.to_string())?.len();
        Ok(Opened { length, bytes: Box::new(BufReader::new(file)) })
    }
}

/// The file at `path`, or all files of a folder that the catalog reads.
fn read_files(path: &Path, takes: &Takes) -> Result<Vec<File>, String> {
    let about = metadata(path)?;
    let wanted = |path: &Path| {
        takes.extensions.iter().any(|it| path.extension().is_some_and(|end| end.eq_ignore_ascii_case(it)))
    };
    if about.is_dir() {
        if !takes.folders {
            let inside = fs::read_dir(path).map_err(|it| it.to_string())?.flatten().map(|it| it.path());
            let first = inside.filter(|it| wanted(it)).min();
            let such_as = first.map_or(String::new(), |it| format!(", such as {}", it.display()));
            return Err(format!("it is a folder; give {}{such_as}", endings(takes)));
        }
        let entries = fs::read_dir(path).map_err(|it| it.to_string())?;
        let paths = entries.map(|it| it.map(|it| it.path())).collect::<Result<Vec<_>, _>>();
        let mut paths: Vec<PathBuf> = paths.map_err(|it| it.to_string())?;
        paths.retain(|it| wanted(it));
        paths.sort();
        if paths.is_empty() {
            return Err(format!("there is no file in this folder that ends in {}", endings(takes)));
        }
        return paths.iter().map(|it| read_file(it, takes)).collect();
    }
    if !wanted(path) {
        return Err(format!("expected {}", endings(takes)));
    }
    Ok(vec![read_file(path, takes)?])
}

fn metadata(path: &Path) -> Result<fs::Metadata, String> {
    fs::metadata(path).map_err(|it| match it.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => it.to_string(),
    })
}

fn read_file(path: &Path, takes: &Takes) -> Result<File, String> {
    let bytes = read_bytes(path, takes.max_bytes)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(File { name, bytes })
}

fn endings(takes: &Takes) -> String {
    let endings: Vec<String> = takes.extensions.iter().map(|it| format!(".{it}")).collect();
    format!("a file that ends in {}", list(&endings))
}
