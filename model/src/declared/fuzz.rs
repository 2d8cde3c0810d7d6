//! What exporters and training tools wrote, and whatever else lies in its place.

use cudainfer_fuzzing::Target;
use serde_json::Value;

use super::*;
use crate::onnx::Metadata;

/// A value takes 32 bytes where the text has two, in a vector that grows by doubling.
const OF_VALUES: usize = 100;

fn target(name: &'static str) -> Target {
    Target::new(env!("CARGO_MANIFEST_DIR"), name)
}

#[test]
fn fuzz_declared_yaml() {
    target("declared_yaml").with_ratio(OF_VALUES).run_text(|text| {
        let _ = names_in_yaml(text);
        for read in [paddle::read, deeplabcut::read, lightning_pose::read] {
            let _ = read(text);
        }
    });
}

#[test]
fn fuzz_declared_json() {
    target("declared_json").with_ratio(OF_VALUES).run_text(|text| {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        timm::read(&value);
        transformers::read(Some(&value), Some(&value));
        roboflow::read(Some(&value), Some(text));
    });
}

/// Entries of a model's metadata are lines here, with a tab after the key. `\n` in a value is written as a vertical tab.
#[test]
fn fuzz_metadata() {
    target("metadata").with_ratio(OF_VALUES).run_text(|text| {
        let entry = |line: &str| {
            let (key, value) = line.split_once('\t')?;
            Some((key.to_owned(), value.replace('\u{b}', "\n")))
        };
        let entries = text.lines().filter_map(entry).collect();
        let metadata = Metadata { entries, ..Metadata::default() };
        for read in [ultralytics::read, libreyolo::read, sleap_nn::read, ppocr::read] {
            read(&metadata);
        }
    });
}

#[test]
fn fuzz_python() {
    target("python").with_ratio(OF_VALUES).run_text(|text| drop(python::literal(text)));
}
