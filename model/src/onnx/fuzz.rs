//! Files that are ONNX, nearly or not at all.

use cudainfer_fuzzing::{CaseFile, Target};

use super::*;

#[test]
fn fuzz_onnx() {
    let file = CaseFile::new("model.onnx");
    Target::new(env!("CARGO_MANIFEST_DIR"), "onnx").run(move |bytes| {
        let path = file.with(bytes);
        metadata(path);
        scopes(path);
        output_endings(path);
        let _ = external_files(path);
        has_float16_weights(path);
        fixed_batch(path);
        is_quantised(path);
        sized_by_data(path);
    });
}

/// An empty node has two bytes in the file and 300 as a struct, and is in the graph that is read and in the one that is written.
const OF_MESSAGES: usize = 1000;

#[test]
fn fuzz_onnx_forms() {
    Target::new(env!("CARGO_MANIFEST_DIR"), "onnx_forms").with_ratio(OF_MESSAGES).run(|bytes| {
        let _ = float16_form(bytes);
        let _ = channels_last_form(bytes);
    });
}
