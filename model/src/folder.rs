//! Models that are named by their folder, as exporters write them.

use std::path::{Path, PathBuf};

/// What exporters call the model in a folder of its own.
const IN_FOLDER: &str = "model.onnx";

/// The file of a model that is named by this path: of a folder the model in it, if there is one, else the path itself.
pub fn file_of(model: &Path) -> PathBuf {
    let inside = model.join(IN_FOLDER);
    if inside.is_file() { inside } else { model.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_the_model_in_it_and_a_file_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(file_of(folder), folder, "there is no model in it");
        let file = folder.join("model.onnx");
        std::fs::write(&file, "").unwrap();
        assert_eq!((file_of(folder), file_of(&file)), (file.clone(), file));
        assert_eq!(file_of(Path::new("/nowhere/a.onnx")), Path::new("/nowhere/a.onnx"));
    }
}
