//! Where the files lie that say something about a model: beside it, or, as in repositories for transformers.js, one folder up
//! from a folder `onnx`.

use std::path::{Path, PathBuf};

/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 1000;

/// The folders in which files about this model may lie, the nearest first. None where several models lie together: such a file
/// would be about one of them, and nothing says which.
pub(super) fn folders(model: &Path) -> Vec<PathBuf> {
    let folder = match model.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    if !is_alone(model, &folder) {
        return Vec::new();
    }
    let above = folder
        .file_name()
        .filter(|name| *name == "onnx" || *name == "exports_onnx")
        .and_then(|_| folder.parent());
    let above =
        above.map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above }.to_owned());
    [folder].into_iter().chain(above).collect()
}

/// Whether the folder has no other model than this one, in whatever precisions: `model.onnx` beside `model_fp16.onnx`.
fn is_alone(model: &Path, folder: &Path) -> bool {
    let stem = |path: &Path| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        stem.split_once('_').map_or(stem.clone(), |(first, _)| first.to_owned())
    };
    let own = stem(model);
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let others = entries.flatten().map(|entry| entry.path());
    let mut models = 0;
    for other in others {
        models += 1;
        if models > MOST_ENTRIES {
            return false;
        }
        let is_model = other.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"));
        if is_model && stem(&other) != own {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_a_model_count_only_if_they_can_be_about_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("onnx")).unwrap();
        for name in ["onnx/model.onnx", "onnx/model_fp16.onnx", "detr.onnx"] {
            std::fs::write(at(name), "").unwrap();
        }
        assert_eq!(folders(&at("onnx/model_fp16.onnx")), [at("onnx"), folder.path().to_owned()]);
        assert_eq!(folders(&at("detr.onnx")), [folder.path().to_owned()]);
        std::fs::write(at("yolo.onnx"), "").unwrap();
        assert!(folders(&at("detr.onnx")).is_empty());
        assert!(folders(Path::new("/nonexistent/model.onnx")).is_empty());
    }
}
