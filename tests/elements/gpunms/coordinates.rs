//! Boxes and points in frame coordinates, calculated from what the test models are known to say.

use cudainfer_tests::{buffers, model};
use gstcudainfer::meta::object::objects;

/// Runs the detector (boxes for a 64x64 input) on red frames; x, y, w, h of the only object.
fn red_box(size: &str, preproc: &str) -> [f32; 4] {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=RGB,{size} ! fusedpreproc {preproc} \
         ! trtinfer model={} ! gpunms confidence=0.2 ! fakesink name=out",
        model("detector")
    ));
    let found = objects(&frames[0]);
    let red: Vec<_> = found.iter().filter(|o| o.label == "red").collect();
    assert_eq!(red.len(), 1, "{found:?}");
    let rect = red[0].detection.as_ref().unwrap().rect;
    [rect.x, rect.y, rect.w, rect.h]
}

#[track_caller]
fn close(got: [f32; 4], wanted: [f32; 4]) {
    // Two float32 roundings of coordinates below 1000.
    assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 2e-4), "{got:?} is not {wanted:?}");
}

#[test]
fn boxes_return_to_the_frame_through_every_way_of_resizing() {
    // The tensor's box is x 8..24, y 4..28 of 64x64.
    close(red_box("width=640,height=320", "resize=stretch"), [80.0, 20.0, 160.0, 120.0]);
    // Letterbox: 640x320 becomes 64x32 with bars of 16 above and below, ten frame pixels each; what lies in the bar
    // is clamped away.
    close(red_box("width=640,height=320", "resize=letterbox"), [80.0, 0.0, 160.0, 120.0]);
    // Centre crop: 640x320 becomes 128x64, of which 32 are cut on the left.
    close(red_box("width=640,height=320", "resize=center-crop"), [200.0, 20.0, 80.0, 120.0]);
    // Odd sizes: 333x77 becomes 64x15 with bars of 24; the frame's own ratios 333/64 and 77/15 hold.
    let (sx, sy) = (333.0 / 64.0, 77.0 / 15.0);
    close(red_box("width=333,height=77", "resize=letterbox"), [8.0 * sx, 0.0, 16.0 * sx, 4.0 * sy]);
}

#[test]
fn confidences_are_the_models_numbers() {
    for (pattern, label, confidence) in [("red", "red", 1.0), ("blue", "blue", 1.0), ("white", "red", 1.0)] {
        let frames = buffers(&format!(
            "videotestsrc num-buffers=1 pattern={pattern} ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
             ! trtinfer model={} ! gpunms ! fakesink name=out",
            model("detector")
        ));
        let found = objects(&frames[0]);
        assert_eq!(found[0].label, label);
        assert!((found[0].detection.as_ref().unwrap().confidence - confidence).abs() < 1e-6);
        assert_eq!(found.len(), if pattern == "white" { 2 } else { 1 });
    }
}

#[test]
fn suppression_filters_and_thresholds_do_what_their_properties_say() {
    // On red the candidates are two overlapping boxes of class red, 1.0 and 0.9 (IoU 15/17); on white a blue one too.
    for (pattern, properties, count) in [
        ("red", "", 1),
        ("red", "nms=none", 2),
        ("red", "iou=0.9", 2),
        ("red", "iou=0.88", 1),
        ("red", "nms=none confidence=0.95", 1),
        ("red", "nms=none class-confidence=red=0.95", 1),
        ("red", "nms=none top-k-after=1", 1),
        ("red", "class-iou=red=0.95", 2),
        ("red", "classes=blue", 0),
        ("red", "min-width=17", 0),
        ("red", "min-height=24", 1),
        ("white", "", 2),
        ("white", "classes=blue", 1),
        ("white", "classes=1,red nms=none", 3),
        ("white", "nms=class-agnostic", 2),
    ] {
        let frames = buffers(&format!(
            "videotestsrc num-buffers=1 pattern={pattern} ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
             ! trtinfer model={} ! gpunms {properties} ! fakesink name=out",
            model("detector")
        ));
        let found = objects(&frames[0]);
        assert_eq!(found.len(), count, "{pattern}, {properties}: {found:?}");
    }
}

/// The points of one frame through the heat-map model (128x96 input, 32x24 cells).
fn points(size: &str, preproc: &str, peakfind: &str) -> Vec<(f64, f64, f64)> {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 ! video/x-raw,format=I420,{size} ! fusedpreproc {preproc} \
         ! trtinfer model={} ! peakfind {peakfind} ! fakesink name=out",
        model("heat-maps")
    ));
    let found = objects(&frames[0]);
    let points = found[0].keypoints.clone().unwrap();
    assert_eq!(points.names, ["nose", "tail"]);
    (0..2).map(|i| (points.x[i], points.y[i], points.score[i])).collect()
}

#[test]
fn peaks_are_found_between_the_cells_in_frame_pixels() {
    // From tools/cudainfer_tools/test_models: the peaks in cells, of parabolas that quadratic refinement finds exactly.
    let peaks = [(7.25, 11.5), (20.0, 4.75)];
    // A cell's centre is at (cell + 0.5) * 4 tensor pixels.
    let tensor = peaks.map(|(x, y)| ((x + 0.5) * 4.0, (y + 0.5) * 4.0));
    type Map = fn((f64, f64)) -> (f64, f64);
    let cases: [(&str, &str, Map); 4] = [
        ("width=256,height=144", "resize=stretch", |(x, y)| (2.0 * x, 1.5 * y)),
        // 256x144 becomes 128x72, with bars of 12 above and below.
        ("width=256,height=144", "resize=letterbox", |(x, y)| (2.0 * x, 2.0 * (y - 12.0))),
        // 256x144 becomes 171x96 (170.67 rounded, as timm does for tensors that are not square), of which 22 (21.5, to even) are
        // cut on the left.
        ("width=256,height=144", "resize=center-crop", |(x, y)| ((x + 22.0) * 256.0 / 171.0, 1.5 * y)),
        ("width=64,height=48", "", |(x, y)| (0.5 * x, 0.5 * y)),
    ];
    for (size, preproc, to_frame) in cases {
        for mode in ["local", "global"] {
            let found = points(size, preproc, &format!("mode={mode}"));
            for ((x, y, _), wanted) in found.iter().zip(tensor.map(to_frame)) {
                // float32 maps: the refinement's quotient is exact to about a thousandth of a cell.
                assert!(
                    (x - wanted.0).abs() < 0.02 && (y - wanted.1).abs() < 0.02,
                    "{preproc}: {x},{y} {wanted:?}"
                );
            }
        }
    }
    // Without refinement it is the cell's own centre.
    let found = points("width=128,height=96", "", "refinement=none");
    assert_eq!((found[0].0, found[1].0), (7.5 * 4.0, 20.5 * 4.0));
    assert!((found[0].2 - (0.9 - 0.02 * 0.0625 - 0.03 * 0.25)).abs() < 1e-6, "{found:?}");
}

#[test]
fn labels_come_from_the_property_else_from_the_sidecar_and_its_file() {
    let folder = cudainfer_tests::scratch("labels");
    std::fs::copy(model("detector"), folder.join("m.onnx")).unwrap();
    std::fs::write(folder.join("beside.txt"), "rouge\r\nbleu\r\n\n").unwrap();
    std::fs::write(folder.join("other.txt"), "rot\nblau\n").unwrap();
    let labelled = |sidecar: &str, property: &str| {
        std::fs::write(folder.join("m.toml"), format!("[output]\ndecoder = \"yolov8\"\n{sidecar}")).unwrap();
        let frames = buffers(&format!(
            "videotestsrc num-buffers=1 pattern=white ! fusedpreproc ! trtinfer model={} {property} ! gpunms \
             ! fakesink name=out",
            folder.join("m.onnx").display()
        ));
        let mut labels: Vec<_> = objects(&frames[0]).into_iter().map(|o| o.label).collect();
        labels.sort();
        labels.join(" ")
    };
    assert_eq!(labelled("", ""), "0 1", "without names there are numbers");
    assert_eq!(labelled("labels = [\"a\", \"b\"]", ""), "a b");
    assert_eq!(labelled("labels-file = \"beside.txt\"", ""), "bleu rouge");
    let property = format!("labels={}", folder.join("other.txt").display());
    assert_eq!(labelled("labels-file = \"beside.txt\"", &property), "blau rot");
}
