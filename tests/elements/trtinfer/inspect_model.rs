//! cudainfer-inspect, with the plugin that was built with this test.

use std::process::Output;

use cudainfer_tests::{fetched, model, scratch};

use crate::plugin::processes::{text, tool};

fn inspect(arguments: &[&str]) -> Output {
    // The test lies in deps, which is beside the program.
    let program = std::env::current_exe().unwrap().with_file_name("../cudainfer-inspect");
    assert!(program.is_file(), "{} is missing: cargo build -p gst-plugin-cudainfer", program.display());
    tool(&[&[program.to_str().unwrap()], arguments].concat(), &[])
}

/// What the program prints before the sidecar, and the sidecar.
fn parts(output: &Output) -> (String, String) {
    let said = text(&output.stdout);
    let (before, sidecar) =
        said.split_once("\n# model.toml").unwrap_or_else(|| panic!("no sidecar: {output:?}"));
    (before.to_owned(), sidecar.split_once('\n').unwrap().1.to_owned())
}

#[test]
fn inspect_prints_a_sidecar_that_says_the_same_when_it_is_pasted() {
    for (name, wanted) in [
        ("says-names", "decoder yolov8 from the file's metadata (Ultralytics), 3 classes"),
        ("says-colours", "3 classes, 3 names from the file's metadata (Ultralytics)"),
        ("masks", "decoder yolo-seg, assumed from coloured:float32:1x10x84"),
        ("sleap-bottom-up", "3 points from the file's metadata (sleap-nn) of candidates"),
    ] {
        let path = scratch("inspect").join("model.onnx");
        std::fs::copy(model(name), &path).unwrap();
        let first = inspect(&[path.to_str().unwrap()]);
        assert!(first.status.success(), "{first:?}");
        let (before, sidecar) = parts(&first);
        assert!(before.contains(wanted), "{before}");
        std::fs::write(path.with_extension("toml"), &sidecar).unwrap();
        let second = inspect(&[path.to_str().unwrap()]);
        assert!(second.status.success(), "{second:?}");
        assert_eq!(parts(&second).1, sidecar, "{name}");
    }
}

#[test]
fn inspect_reads_maps_and_pictures_where_the_sidecar_has_their_section() {
    for (name, wanted) in [
        ("map-depth", "outputs  map 'depth' of 24x16 float32, 24x16 (tensormap)"),
        (
            "picture-twice",
            "outputs  picture 'picture' of 48x32 float32, range -1 to 1 from the sidecar, 24x16 (tensormap)",
        ),
    ] {
        let output = inspect(&[&model(name)]);
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stdout);
        assert!(said.contains(wanted) && said.contains("[map]") && said.contains("range-max"), "{said}");
    }
}

#[test]
fn inspect_says_which_part_of_the_picture_a_network_of_lanes_sees() {
    let path = scratch("inspect-lanes").join("model.onnx");
    std::fs::copy(model("lanes-anchors"), &path).unwrap();
    std::fs::write(path.with_extension("toml"), "[peaks]\nencoding = \"lanes\"").unwrap();
    let output = inspect(&[path.to_str().unwrap()]);
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("lanes in the lower 0.8 of the picture"), "{output:?}");
    assert!(said.contains("roi=list regions=0,0.2,1,0.8") && said.contains("encoding = \"lanes\""), "{said}");
}

#[test]
fn inspect_says_what_it_cannot_read() {
    let posenet = fetched("models/posenet.onnx");
    let depth = model("says-depth");
    for (arguments, part) in [
        (&["/nowhere/a.onnx"][..], "the model file '/nowhere/a.onnx' cannot be read"),
        (&[&posenet, "--element", "gpunms"], "gpunms cannot read them"),
        (&[&depth], "task 'depth' for them, which no decoder reads"),
        (&[&model("says-names"), "--decoder", "nanodet"], "decoder nanodet"),
    ] {
        let output = inspect(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

#[test]
fn inspect_tells_where_a_promptable_decoder_stands() {
    let output = inspect(&[&model("prompt-decoder-named")]);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    for part in [
        "input    promptable: a run for each object, which is asked for by its box in 'point_coords' and 'point_labels'",
        "on image_embeddings:float32:1x3x16x16 of the model upstream",
        "trtinfer model=ENCODER.onnx ! trtinfer model=DECODER.onnx ! segmask",
        "[prompts]",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
