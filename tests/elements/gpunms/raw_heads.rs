//! What gpunms makes of raw heads, whose anchors the sidecar tells.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{buffers, model, run};
use gstcudainfer::meta::object::objects;

/// Frames of twice the model's width of 64 pixels.
fn pipeline_of(name: &str, properties: &str) -> String {
    format!(
        "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc \
         ! trtinfer model={} batch-size=2 ! gpunms name=find {properties} ! fakesink name=out",
        model(name)
    )
}

#[test]
fn raw_heads_become_objects_with_the_sidecars_anchors() {
    // The middle of a cell and the size of its anchor, by both formulas: 48, 16 with 20 x 24, and 20, 28 with 16 x 32.
    let red = ("red".to_owned(), 1.0, Rect { x: 76.0, y: 4.0, w: 40.0, h: 24.0 });
    let blue = ("blue".to_owned(), 0.5, Rect { x: 24.0, y: 12.0, w: 32.0, h: 32.0 });
    for name in ["anchors-planes", "anchors-rows"] {
        for (properties, expected) in [
            ("", &[red.clone(), blue.clone()][..]),
            ("decoder=yolo-anchors multi-label=true", &[red.clone(), blue.clone()]),
            ("classes=blue", std::slice::from_ref(&blue)),
            ("confidence=0.6", std::slice::from_ref(&red)),
        ] {
            let frames = buffers(&pipeline_of(name, properties));
            assert_eq!(frames.len(), 3);
            for frame in frames {
                let found: Vec<_> = objects(&frame)
                    .iter()
                    .map(|object| {
                        let detection = object.detection.as_ref().unwrap();
                        (object.label.clone(), detection.confidence, detection.rect)
                    })
                    .collect();
                assert_eq!(found, expected, "{name} {properties}");
            }
        }
    }
}

#[test]
fn without_anchors_an_error_says_what_is_missing() {
    for properties in ["", "decoder=yolo-anchors"] {
        run(&pipeline_of("anchors-untold", properties)).fails_with(&[
            "find",
            "raw heads of a YOLOv3, v4, v5 or v7",
            "sizes and formula",
            "[anchors]",
        ]);
    }
}
