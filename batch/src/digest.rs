//! What files and settings are, in 64 characters: SHA-256, as `sha256sum` prints it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Files that makers of models put beside them, and that elements read.
const BESIDE: [&str; 8] = [
    "class_names.txt",
    "config.json",
    "environment.json",
    "export_metadata.json",
    "infer_cfg.yml",
    "inference.yml",
    "labels.txt",
    "preprocessor_config.json",
];

/// The digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of a file.
///
/// # Errors
/// A sentence.
pub fn of_file(path: &Path) -> Result<String, String> {
    let read = || -> std::io::Result<String> {
        let mut file: File = cudainfer_files::open(path)?;
        let (mut digest, mut bytes) = (Sha256::new(), vec![0; 1 << 18]);
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(hex(&digest.finalize())),
                count => digest.update(&bytes[..count]),
            }
        }
    };
    read().map_err(|e| format!("'{}' cannot be read: {e}", path.display()))
}

/// The digests of what a value of a key names, by their names: nothing if it names no file; of a folder, its files; of a model,
/// also its sidecar, the files that this names, its weights, and what its maker put beside it.
///
/// # Errors
/// A sentence.
pub fn of_named(value: &str) -> Result<BTreeMap<String, String>, String> {
    let path = Path::new(value);
    let files = if path.is_dir() {
        entries(path)
    } else if path.is_file() {
        let mut files = BTreeSet::from([path.to_owned()]);
        if path.extension().is_some_and(|ending| ending == "onnx") {
            files.extend(companions(path));
        }
        files
    } else {
        return Ok(BTreeMap::new());
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.iter().map(|path| Ok((name(path), of_file(path)?))).collect()
}

fn entries(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

fn companions(model: &Path) -> BTreeSet<PathBuf> {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".";
    let named = sidecar_names(&model.with_extension("toml"));
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&stem) || BESIDE.contains(&name.as_ref()) || named.contains(name.as_ref())
    };
    entries(model.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")))
        .into_iter()
        .filter(is_one)
        .collect()
}

/// All texts in a sidecar, some of which name files.
fn sidecar_names(path: &Path) -> BTreeSet<String> {
    fn texts(value: &toml::Value, found: &mut BTreeSet<String>) {
        match value {
            toml::Value::String(text) => drop(found.insert(text.clone())),
            toml::Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
            toml::Value::Table(table) => table.values().for_each(|value| texts(value, found)),
            _ => (),
        }
    }
    let mut found = BTreeSet::new();
    // A sidecar that is wrong is reported where the model is loaded.
    if let Some(table) = cudainfer_files::text(path).ok().and_then(|text| text.parse::<toml::Table>().ok()) {
        texts(&toml::Value::Table(table), &mut found);
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of_bytes(b""), empty);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(of_file(file.path()).unwrap(), empty);
    }

    #[test]
    fn what_belongs_to_a_model_is_seen_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["m.onnx", "m.onnx.data", "names.txt", "config.json", "other.onnx", "README"] {
            std::fs::write(path(name), name).unwrap();
        }
        std::fs::write(path("m.toml"), "[output]\nlabels-file = 'names.txt'\n").unwrap();
        let named = |path: &Path| of_named(path.to_str().unwrap()).unwrap().into_keys().collect::<Vec<_>>();
        assert_eq!(named(&path("m.onnx")), ["config.json", "m.onnx", "m.onnx.data", "m.toml", "names.txt"]);
        assert_eq!(named(&path("README")), ["README"]);
        assert_eq!(named(folder.path()).len(), 7);
        assert_eq!(of_named("person,car").unwrap().len(), 0);
    }
}
