//! `provider=plugin` with the Python package onnxruntime-ep-webgpu, on Mesa's Vulkan for the CPU. scripts/test installs both where Mesa is new
//! enough.

use std::path::Path;

use cudainfer_tests::{TestPipeline, fetched, scratch, test_in_own_process, webgpu_library};
use serde_json::Value;

/// Where the child's records go.
const RECORDS: &str = "CUDAINFER_TEST_WEBGPU_RECORDS";
/// What the child sets of trtinfer.
const PROPERTIES: &str = "CUDAINFER_TEST_WEBGPU_PROPERTIES";

/// Runs the child with these properties, and returns the objects of both of its streams.
fn objects(folder: &Path, properties: &str) -> Vec<Value> {
    let mut child = test_in_own_process(module_path!(), "child");
    child.env(RECORDS, folder).env(PROPERTIES, properties);
    // Without it, the plugin offers no device where there is no card.
    let output = child.env("ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER", "1").output().unwrap();
    assert!(output.status.success(), "{properties}: {output:?}");
    let records = |stream| std::fs::read_to_string(folder.join(format!("{stream}.jsonl"))).unwrap();
    let of_line = |line: &str| serde_json::from_str::<Value>(line).unwrap()["objects"].take();
    [0, 1].into_iter().flat_map(|stream| records(stream).lines().map(of_line).collect::<Vec<_>>()).collect()
}

#[test]
fn webgpu_finds_what_the_cpu_finds_with_several_elements_and_workers() {
    let Some(library) = webgpu_library() else { return };
    let folder = scratch("webgpu");
    let expected = objects(&folder, "provider=cpu");
    let count: usize = expected.iter().map(|frame| frame.as_array().unwrap().len()).sum();
    assert!(expected.len() == 6 && count > 60, "{expected:?}");
    let found =
        objects(&folder, &format!("provider=plugin provider-library={} workers=2", library.display()));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let (found, expected) = (found.as_array().unwrap(), expected.as_array().unwrap());
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found["label"], expected["label"]);
            for key in ["x", "y", "w", "h"] {
                let [found, expected] = [found, expected].map(|object| object["box"][key].as_f64().unwrap());
                assert!((found - expected).abs() < 0.05, "{key}: {found}, not {expected}");
            }
        }
    }
}

#[test]
#[ignore = "run in processes of its own by the test above"]
fn child() {
    let (Ok(folder), Ok(properties)) = (std::env::var(RECORDS), std::env::var(PROPERTIES)) else { return };
    let video = fetched("video/vtest.avi");
    let line = |stream: usize| {
        format!(
            "filesrc location={video} ! decodebin ! videoconvert ! identity eos-after=4 ! fusedpreproc \
             ! trtinfer model={} engine-cache=none {properties} ! gpunms \
             ! inferpublish location={folder}/{stream}.jsonl ! fakesink",
            fetched("models/nanodet.onnx")
        )
    };
    let pipeline = TestPipeline::new(&format!("{} {}", line(0), line(1)));
    pipeline.play();
    pipeline.wait().succeeds();
}
