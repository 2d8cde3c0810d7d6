//! The models that clients may choose: those that the configuration names, those in use, and those below `[server] models`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cudainfer_model::{file_of, sidecar_path};
use gst::prelude::*;
use serde::Serialize;

use super::Fleet;
use crate::stream::{check_model, named_models, settings};
use crate::unpoisoned::lock;

/// Models that are listed, and files that are looked at for them: a folder may be a whole disk.
const MOST: usize = 1000;
const MOST_FILES: usize = 20_000;
/// Folders inside each other.
const DEEPEST: usize = 8;
/// The name of a model in a folder of its own, which is named by the folder.
const IN_FOLDER: &str = "model.onnx";

/// The models, as `/v1/models` shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Models {
    /// Each of them, by path.
    pub models: Vec<Model>,
    /// Whether there are more than are listed.
    pub more: bool,
}

/// A model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Model {
    /// What names it, as trtinfer's `model`: the path of its file, or of the folder with it.
    pub model: String,
    /// Bytes of its file; none if there is no such file.
    pub size: Option<u64>,
    /// Whether a sidecar says how it is read.
    pub sidecar: bool,
    /// Whether the configuration names it.
    pub named: bool,
    /// How it is read, and where that comes from: known once a stream plays it.
    pub reading: Option<String>,
    /// The streams that play it.
    pub streams: Vec<String>,
}

impl Fleet {
    /// The models that clients may choose.
    pub fn models(&self) -> Models {
        let config = self.config();
        let mut found = BTreeMap::<String, Model>::new();
        for model in named_models(&config) {
            found.entry(model).or_default().named = true;
        }
        let mut more = false;
        if let Some(folder) = &config.server.models {
            let below;
            (below, more) = files(folder);
            let same = |path: &Path| file_of(path).canonicalize().ok();
            let known: BTreeSet<PathBuf> = found.keys().filter_map(|model| same(Path::new(model))).collect();
            for path in below.iter().filter(|path| same(path).is_none_or(|file| !known.contains(&file))) {
                // Without the characters that no JSON has.
                if let Some(path) = path.to_str().filter(|path| check_model(&config, path).is_ok()) {
                    found.entry(path.to_owned()).or_default();
                }
            }
        }
        let streams: Vec<_> = lock(&self.0.streams).values().cloned().collect();
        for stream in streams {
            let Some(built) = stream.built() else { continue };
            let elements = settings(&built.description);
            for network in built.description.networks() {
                let Some(model) = network.property::<Option<String>>("model") else { continue };
                let name = network.name();
                let reading =
                    elements.iter().find(|each| each.name == *name).and_then(|each| each.reading.clone());
                let of = found.entry(model).or_default();
                of.reading = of.reading.take().or(reading);
                of.streams.push(stream.spec().name().to_owned());
            }
        }
        let mut models: Vec<Model> =
            found.into_iter().map(|(model, found)| described(model, found)).collect();
        more |= models.len() > MOST;
        models.truncate(MOST);
        Models { models, more }
    }
}

fn described(model: String, found: Model) -> Model {
    let file = file_of(Path::new(&model));
    let about = std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file);
    let mut streams = found.streams;
    streams.dedup();
    Model {
        size: about.map(|about| about.len()),
        sidecar: sidecar_path(&file).is_file(),
        model,
        streams,
        ..found
    }
}

/// The models below a folder, and whether there are more. Links to folders are not followed.
fn files(folder: &Path) -> (Vec<PathBuf>, bool) {
    let (mut found, mut seen, mut more) = (Vec::new(), 0, false);
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_FILES || found.len() > MOST {
                return (found, true);
            }
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                if depth < DEEPEST {
                    folders.push((path, depth + 1));
                } else {
                    more = true;
                }
            } else if path.file_name().is_some_and(|name| name == IN_FOLDER) && depth > 0 {
                found.push(folder.clone());
            } else if path.extension().is_some_and(|kind| kind == "onnx") {
                found.push(path);
            }
        }
    }
    (found, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_in_folders_of_their_own_and_not_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["a.onnx", "a.toml", "b.txt", "own/model.onnx", "deep/er/c.onnx"] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("again")).unwrap();
        let (mut found, more) = files(root);
        found.sort();
        assert_eq!(found, ["a.onnx", "deep/er/c.onnx", "own"].map(|name| root.join(name)));
        assert!(!more);
        let mut far = root.to_owned();
        far.extend(["x"; DEEPEST + 1]);
        std::fs::create_dir_all(&far).unwrap();
        std::fs::write(far.join("d.onnx"), "x").unwrap();
        assert_eq!(
            (files(root).0.len(), files(root).1),
            (3, true),
            "what is left out is not passed over in silence"
        );
        assert_eq!(files(&root.join("nowhere")), (vec![], false));
    }
}
