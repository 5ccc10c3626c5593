//! The one folder that a server reads from and writes to.

use std::path::{Component, Path, PathBuf};

use memscape::explore::{is_path, read_only_below};
use serde_json::Value;

use crate::failure::Failure;

/// A folder, and what is said of paths: they are names below it, written with `/`, and lead
/// through no links.
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// The folder at `path`.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let bad = |problem: &str| Failure::BadInput(format!("`{}`: {problem}", path.display()));
        let root = path.canonicalize().map_err(|it| bad(&it.to_string()))?;
        if !root.is_dir() {
            return Err(bad("it is no folder; give the one to serve"));
        }
        Ok(Self { root })
    }

    /// From now on this process reads descriptions nowhere else, whatever other descriptions name.
    pub fn confine(&self) -> Result<(), Failure> {
        read_only_below(&self.root).map_err(Failure::of)
    }

    /// A file that is there.
    pub fn existing(&self, given: &str) -> Result<PathBuf, Failure> {
        let path = self.below(given)?;
        let found = path.canonicalize().map_err(|it| match it.kind() {
            std::io::ErrorKind::NotFound => {
                Failure::BadInput(format!("`{given}`: there is no such file in the folder that is served"))
            }
            _ => Failure::BadInput(format!("`{given}`: {it}")),
        })?;
        if found == path { Ok(path) } else { Err(outside(given)) }
    }

    /// A file to write, in a folder that is there.
    pub fn writable(&self, given: &str) -> Result<PathBuf, Failure> {
        let path = self.below(given)?;
        let folder = path.parent().unwrap_or(&self.root);
        let found = folder.canonicalize().map_err(|_| {
            Failure::BadInput(format!("`{given}`: there is no such folder in the one that is served"))
        })?;
        // A link would be followed, or replaced.
        let is_link = path.symlink_metadata().is_ok_and(|it| it.is_symlink());
        if found != folder || is_link { Err(outside(given)) } else { Ok(path) }
    }

    /// Every text that names a file becomes its path; those that lead elsewhere are refused.
    pub fn anchor(&self, value: &mut Value) -> Result<(), Failure> {
        match value {
            Value::String(text) if is_path(text) || is_table(text) => {
                *text = self.existing(text)?.to_string_lossy().into_owned();
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|it| self.anchor(it)),
            Value::Object(table) => table.values_mut().try_for_each(|it| self.anchor(it)),
            _ => Ok(()),
        }
    }

    /// A path that is where its name says, if nothing on the way is a link.
    fn below(&self, given: &str) -> Result<PathBuf, Failure> {
        let mut below = PathBuf::new();
        for part in Path::new(given).components() {
            match part {
                Component::Normal(name) => below.push(name),
                Component::CurDir => {}
                _ => return Err(outside(given)),
            }
        }
        if below.as_os_str().is_empty() || given.contains('\\') {
            return Err(outside(given));
        }
        Ok(self.root.join(below))
    }

    /// What went wrong, in paths as they were given.
    pub fn relative(&self, failure: Failure) -> Failure {
        match failure {
            Failure::BadInput(text) => {
                Failure::BadInput(text.replace(&format!("{}/", self.root.display()), ""))
            }
            other => other,
        }
    }
}

fn outside(given: &str) -> Failure {
    Failure::BadInput(format!(
        "`{given}` is outside of the folder that is served; give a path below it, without `..` and links"
    ))
}

fn is_table(text: &str) -> bool {
    let ending = Path::new(text).extension();
    ending.is_some_and(|end| ["parquet", "csv"].iter().any(|it| end.eq_ignore_ascii_case(it)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().canonicalize().unwrap().join("served");
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(around.path().join("outside.toml"), "").unwrap();
        std::fs::write(root.join("inner/own.toml"), "").unwrap();
        let place = Place::new(&root).unwrap();
        assert_eq!(place.existing("inner/own.toml").unwrap(), root.join("inner/own.toml"));
        assert_eq!(place.existing("./inner/./own.toml").unwrap(), root.join("inner/own.toml"));
        assert_eq!(place.writable("inner/new.parquet").unwrap(), root.join("inner/new.parquet"));
        let absolute = root.join("inner/own.toml");
        let absolute = absolute.to_str().unwrap();
        for bad in ["../outside.toml", "inner/../../outside.toml", "", ".", "..", absolute, "inner\\own.toml"]
        {
            assert!(place.existing(bad).is_err(), "{bad}");
            assert!(place.writable(bad).is_err(), "{bad}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(around.path().join("outside.toml"), root.join("link.toml")).unwrap();
            symlink(around.path(), root.join("folder")).unwrap();
            for bad in ["link.toml", "folder/outside.toml", "folder/served/inner/own.toml"] {
                assert!(place.existing(bad).is_err() && place.writable(bad).is_err(), "{bad}");
            }
        }
        let mut given = json!({ "model": "inner/own.toml", "hardware": "lpddr5-6400", "list": [1, "a.b"] });
        place.anchor(&mut given).unwrap();
        assert_eq!(given["model"], json!(absolute));
        assert_eq!((&given["hardware"], &given["list"]), (&json!("lpddr5-6400"), &json!([1, "a.b"])));
        for bad in ["/etc/passwd.toml", "../outside.toml", "missing.gguf", "a/b"] {
            assert!(place.anchor(&mut json!({ "parameters": { "model": [bad] } })).is_err(), "{bad}");
        }
    }
}
