//! What a model says about itself: the metadata that exporters write into the ONNX file, the files that they put beside it, and
//! the modules that its graph's names show.
//! One file a source; each turns the source's words into those of the sidecar.
//!
//! Nothing here is an error: what is wrong in a file that is meant for us or for GStreamer is a warning, words that make no sense
//! are left out, and words that contradict the model's shapes lose against them where the shapes are known (`resolve.rs` and the
//! elements downstream of trtinfer).

mod claim;
mod deeplabcut;
#[cfg(test)]
mod fuzz;
mod huggingface;
mod key_file;
mod libreyolo;
mod lightning_pose;
mod modelinfo;
mod modules;
mod paddle;
mod ppocr;
mod python;
mod roboflow;
mod sleap_nn;
mod statements;
mod timm;
mod torchvision;
mod transformers;
mod ultralytics;
mod values;
mod vitpose;
mod yaml;

use std::path::Path;

use cudainfer_files as files;
use serde_json::Value;

pub use claim::Claim;
pub use statements::Declared;

use super::onnx;

/// The names of the classes in a YAML file of a training tool, below `names`; `None` if there are none.
///
/// # Errors
/// A sentence: the text is no YAML that can be read.
pub(super) fn names_in_yaml(text: &str) -> Result<Option<Vec<String>>, String> {
    Ok(yaml::read(text)?.get("names").and_then(values::names))
}

/// The content of the model's file and the files beside it, the most trustworthy first, and notes about what could not be read.
pub(super) fn read(model: &Path) -> (Vec<Declared>, Vec<String>) {
    let mut notes = Vec::new();
    let metadata = onnx::metadata(model);
    if metadata.incomplete && !metadata.entries.is_empty() {
        notes.push("some of the file's metadata is damaged or too long, and was left out".into());
    }
    // Written for this model by its user.
    let mut found: Vec<Declared> = modelinfo::read(model).into_iter().collect();
    let of_metadata = [ultralytics::read, libreyolo::read, sleap_nn::read, ppocr::read]
        .into_iter()
        .filter_map(|read| read(&metadata));
    found.extend(of_metadata);
    for folder in huggingface::folders(model) {
        let configuration = json(&folder.join("config.json"), &mut notes);
        let processor = json(&folder.join("preprocessor_config.json"), &mut notes);
        found.extend(configuration.as_ref().and_then(timm::read));
        found.extend(transformers::read(configuration.as_ref(), processor.as_ref()));
        let paddle = text(&folder.join("infer_cfg.yml"), &mut notes);
        found.extend(
            paddle.and_then(|text| noted(paddle::read(&text), "infer_cfg.yml", &mut notes)).flatten(),
        );
        for (name, read) in [
            (deeplabcut::FILE, deeplabcut::read as fn(&str) -> _),
            (lightning_pose::FILE, lightning_pose::read),
        ] {
            let text = text(&folder.join(name), &mut notes);
            found.extend(text.and_then(|text| noted(read(&text), name, &mut notes)).flatten());
        }
        let environment = json(&folder.join("environment.json"), &mut notes);
        let names = text(&folder.join("class_names.txt"), &mut notes);
        found.extend(roboflow::read(environment.as_ref(), names.as_deref()));
    }
    found.extend(modules::read(&onnx::scopes(model)));
    found.retain(|declared| !declared.is_silent());
    (found, notes)
}

/// A text beside the model; a missing file is no error.
fn text(path: &Path, notes: &mut Vec<String>) -> Option<String> {
    match files::text(path) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => {
            notes.push(format!("'{}' was not read: {e}", path.display()));
            None
        }
    }
}

fn json(path: &Path, notes: &mut Vec<String>) -> Option<Value> {
    let text = text(path, notes)?;
    noted(serde_json::from_str(&text), &path.display().to_string(), notes)
}

fn noted<T, E: std::fmt::Display>(read: Result<T, E>, file: &str, notes: &mut Vec<String>) -> Option<T> {
    read.map_err(|e| notes.push(format!("'{file}' was not read: {e}"))).ok()
}
