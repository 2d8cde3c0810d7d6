//! Models that are read in another way than they were made for: nothing fails, and the results cannot be right.

use cudainfer_tests::{TestPipeline, fetched, model, scratch};
use gst::prelude::*;

/// The messages of a pipeline.
struct Said {
    warnings: Vec<String>,
    infos: Vec<String>,
}

impl Said {
    /// The only warning besides the one that no GPU is used, which must contain all of `parts`.
    #[track_caller]
    fn once(&self, parts: &[&str]) -> &Self {
        let [warning] = &self.warnings[..] else { panic!("one warning was expected: {:?}", self.warnings) };
        for part in parts {
            assert!(warning.contains(part), "the warning does not say '{part}': {warning}");
        }
        let sentences = warning.matches(". ").count() + 1;
        assert!(sentences <= 3, "{sentences} sentences: {warning}");
        self
    }

    #[track_caller]
    fn nothing(&self) {
        assert_eq!(self.warnings, [""; 0]);
        assert_eq!(self.infos, [""; 0]);
    }
}

/// Runs a pipeline to its end. Of INFO messages, those that nothing was found are kept.
#[track_caller]
fn said(pipeline: &str) -> Said {
    let pipeline = TestPipeline::new(pipeline);
    pipeline.play();
    let mut said = Said { warnings: Vec::new(), infos: Vec::new() };
    pipeline.each_message(|message| match message.view() {
        gst::MessageView::Warning(warning) => said.warnings.push(warning.error().to_string()),
        gst::MessageView::Info(info) => said.infos.push(info.error().to_string()),
        _ => {}
    });
    pipeline.stop();
    said.warnings.retain(|text| !text.contains("no GPU is used"));
    said.infos.retain(|text| text.contains("nothing was found"));
    said
}

/// A copy of a model with another sidecar.
fn with_sidecar(name: &str, sidecar: &str) -> String {
    let path = scratch("suspicions").join(format!("{name}.onnx"));
    std::fs::copy(model(name), &path).unwrap();
    std::fs::write(path.with_extension("toml"), sidecar).unwrap();
    path.display().to_string()
}

/// Runs `frames` frames of a test picture through a model and an element.
#[track_caller]
fn run(frames: u32, pattern: &str, model: &str, element: &str) -> Said {
    said(&format!(
        "videotestsrc num-buffers={frames} pattern={pattern} ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
         ! trtinfer model={model} ! {element} ! fakesink"
    ))
}

const NAMES: &str = "labels = [\"red\", \"blue\"]\n";

#[test]
fn a_detector_that_gives_logits_without_activation_is_warned_about_once() {
    for frames in [1, 120] {
        run(frames, "red", &model("detector-logits"), "gpunms name=find").once(&[
            "find: the model's scores are -4.00 to 4.00, but probabilities of 0 to 1",
            "set activation = \"sigmoid\" in [output]",
        ]);
    }
    // Nothing is above the threshold, and all are negative.
    run(5, "black", &model("detector-logits"), "gpunms")
        .once(&["-4.00 to -4.00,", "activation = \"sigmoid\""]);
    let right = format!("[input]\nresize = \"stretch\"\n[output]\n{NAMES}activation = \"sigmoid\"\n");
    let right = with_sidecar("detector-logits", &right);
    for pattern in ["red", "black", "smpte"] {
        run(30, pattern, &right, "gpunms").nothing();
    }
}

#[test]
fn probabilities_with_a_sigmoid_are_warned_about_once() {
    let twice = with_sidecar(
        "detector",
        &format!("[input]\nresize = \"stretch\"\n[output]\n{NAMES}activation = \"sigmoid\"\n"),
    );
    run(120, "red", &twice, "gpunms").once(&[
        "probabilities already, and sigmoid is applied to them once more",
        "Set activation = \"none\" in [output]",
    ]);
}

#[test]
fn boxes_in_fractions_that_are_read_as_pixels_are_warned_about_once() {
    run(120, "red", &model("detector-fractions"), "gpunms").once(&[
        "read as pixels",
        "than 0.81",
        "set normalized = true in [output]",
    ]);
    let right = format!("[input]\nresize = \"stretch\"\n[output]\n{NAMES}normalized = true\n");
    run(30, "red", &with_sidecar("detector-fractions", &right), "gpunms").nothing();
}

#[test]
fn boxes_in_pixels_that_are_read_as_fractions_are_warned_about_once() {
    let wrong = format!("[input]\nresize = \"stretch\"\n[output]\n{NAMES}normalized = true\n");
    let wrong = with_sidecar("detector", &wrong);
    run(120, "red", &wrong, "gpunms").once(&[
        "nearly all boxes lie far outside",
        "up to pixel 3328",
        "if they are pixels, set normalized = false in [output]",
    ]);
}

#[test]
fn points_in_pixels_that_are_read_as_fractions_are_warned_about_once() {
    let wrong = with_sidecar("regressed", "[input]\nresize = \"stretch\"\n");
    for frames in [1, 120] {
        run(frames, "red", &wrong, "peakfind name=points").once(&[
            "points lie outside of the model's input by more than its size, up to pixel 3072",
            "if they are pixels, set normalized = false in [peaks]",
        ]);
    }
    run(30, "red", &model("regressed"), "peakfind").nothing();
}

#[test]
fn a_third_number_that_is_no_score_is_warned_about_once() {
    for frames in [1, 120] {
        run(frames, "red", &model("hand-rows"), "peakfind name=points").once(&[
            "points: the model's scores are -20.0 to 0, but probabilities of 0 to 1",
            "set point-format there, such as point-format = \"xyz\"",
        ]);
    }
    run(30, "red", &model("hand"), "peakfind").nothing();
}

#[test]
fn points_of_minus_1_to_1_that_are_read_as_fractions_are_warned_about_once() {
    let stretch = "[input]\nresize = \"stretch\"\n";
    let wrong = with_sidecar("landmarks", &format!("{stretch}[peaks]\npoint-format = \"xy\"\n"));
    for frames in [1, 120] {
        run(frames, "red", &wrong, "peakfind name=points").once(&[
            "points: 10 of 16 points lie to the left of the model's input or above it",
            "if they are -1 to 1, set coordinate-range = [-1, 1] in [peaks]",
        ]);
    }
    run(30, "red", &model("landmarks"), "peakfind").nothing();
}

#[test]
fn keypoints_of_boxes_that_lie_far_outside_are_warned_about_once() {
    for frames in [1, 120] {
        run(frames, "red", &model("pose-far"), "gpunms name=find").once(&[
            "find: 3 of 3 points lie outside of the model's input by more than its size, up to pixel 4480",
            "Set the right keypoints or decoder in [output]",
        ]);
    }
    run(30, "red", &model("pose"), "gpunms").nothing();
}

#[test]
fn rows_for_each_anchor_are_suppressed_and_warned_about_unless_nms_is_set() {
    run(30, "red", &model("rows-anchors"), "gpunms name=find").once(&[
        "find: the model gives a box for each of its anchors at 64x64, so it has suppressed nothing",
        "Set nms=class-wise if that is right, nms=none if not",
    ]);
    for nms in ["class-wise", "none"] {
        run(30, "red", &model("rows-anchors"), &format!("gpunms nms={nms}")).nothing();
    }
    for (model_name, nms, objects) in
        [("rows-anchors", "auto", 2), ("rows-anchors", "none", 12), ("rows-repeated", "auto", 12)]
    {
        let pipeline = TestPipeline::start(&format!(
            "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc ! trtinfer model={} ! gpunms \
             name=find nms={nms} ! fakesink",
            model(model_name)
        ));
        pipeline.wait().succeeds();
        let stats = pipeline.element("find").property::<gst::Structure>("stats");
        assert_eq!(stats.get::<u64>("objects"), Ok(3 * objects), "{model_name} {nms}");
    }
}

#[test]
fn boxes_of_a_class_that_lie_on_each_other_are_warned_about_once() {
    for frames in [1, 120] {
        run(frames, "red", &model("rows-repeated"), "gpunms name=find").once(&[
            "find: 10 of 12 boxes lie on a stronger one of their class",
            "Set nms=class-wise, or nms = \"class-wise\" in [output]",
        ]);
    }
    run(30, "red", &model("rows-repeated"), "gpunms nms=none").nothing();
    run(30, "red", &model("rows-unique"), "gpunms").nothing();
}

#[test]
fn scores_that_are_all_nan_are_warned_about_once() {
    run(120, "red", &model("detector-nan"), "gpunms")
        .once(&["all scores of a frame, 84, are NaN", "scale, mean and std in [input]"]);
}

#[test]
fn a_class_without_a_name_is_warned_about_once() {
    let one = with_sidecar("open-output", "[output]\ndecoder = \"end-to-end\"\nlabels = [\"a\"]\n");
    run(30, "white", &one, "gpunms").once(&["class 1 was found", "is that of class 0", "labels in [output]"]);
}

#[test]
fn an_empty_scene_says_nothing_about_the_model_but_that_nothing_was_found() {
    run(99, "black", &model("detector"), "gpunms").nothing();
    let said = run(130, "black", &model("detector"), "gpunms");
    assert_eq!(said.warnings, [""; 0]);
    let [info] = &said.infos[..] else { panic!("{:?}", said.infos) };
    assert!(info.contains("in 100 frames") && info.contains("was 0, below confidence=0.400"), "{info}");
    // With one object in one frame, no message is posted.
    run(130, "red", &model("detector"), "gpunms").nothing();
}

#[test]
fn a_classifiers_probabilities_and_logits_are_distinguished() {
    // Red, green and blue of a mean picture, which are 0..1 and add up to 1 in a picture that is all red.
    let sidecar = "[input]\nresize = \"stretch\"\n[output]\nlabels = [\"red\", \"green\", \"blue\"]\n";
    // The outputs are probabilities already, so an activation is wrong.
    let colours = with_sidecar("says-colours", &format!("{sidecar}[classify]\nactivation = \"softmax\"\n"));
    run(130, "red", &colours, "classify").once(&[
        "softmax is applied to them once more",
        "Set activation=none, or activation = \"none\" in [classify]",
    ]);
    run(130, "red", &colours, "classify activation=none").nothing();
    // Ten times as much.
    run(30, "red", &model("colours"), "classify").nothing();
    run(30, "red", &model("colours"), "classify activation=none")
        .once(&["0 to 10.0, but probabilities", "set activation=softmax"]);
    run(30, "red", &model("colours"), "classify activation=none threshold=3").nothing();
}

#[test]
fn a_masks_and_a_maps_logits_and_probabilities_are_distinguished() {
    let logits = "[input]\nresize = \"stretch\"\nmean = [0.5]\nstd = [0.05]\n";
    let red = with_sidecar("mask-red", logits);
    run(30, "smpte", &red, "segmask")
        .once(&["but probabilities", "set activation=sigmoid, or activation = \"sigmoid\" in [segment]"]);
    run(30, "smpte", &red, "segmask activation=sigmoid").nothing();
    run(30, "smpte", &model("mask-red"), "segmask").nothing();
    run(30, "smpte", &model("mask-red"), "segmask activation=sigmoid")
        .once(&["probabilities already", "Set activation=none, or activation = \"none\" in [segment]"]);
    run(30, "smpte", &model("masks-colours"), "segmask").nothing();

    run(30, "smpte", &model("heat-maps"), "peakfind").nothing();
    run(30, "smpte", &model("heat-maps"), "peakfind activation=sigmoid")
        .once(&["probabilities already", "Set activation=none, or activation = \"none\" in [peaks]"]);
    run(30, "smpte", &model("displacements"), "peakfind").nothing();
    run(30, "smpte", &model("displacements"), "peakfind activation=none")
        .once(&["-4.00 to 3.00", "activation = \"sigmoid\" in [peaks]"]);
}

#[test]
fn the_maps_of_objects_are_distinguished_as_well() {
    run(30, "smpte", &model("queries-masks"), "gpunms ! segmask activation=none")
        .once(&["but probabilities", "set activation=sigmoid, or activation = \"sigmoid\" in [segment]"]);
    run(30, "smpte", &model("lists-masks"), "gpunms ! segmask activation=sigmoid")
        .once(&["probabilities already", "Set activation=none, or activation = \"none\" in [segment]"]);
}

#[test]
fn a_warning_comes_again_with_another_start_only() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=3 ! fusedpreproc ! trtinfer model={} ! gpunms ! fakesink",
        model("detector-nan")
    ));
    for _ in 0..2 {
        pipeline.play();
        let report = pipeline.wait().succeeds();
        let count = report.warnings.iter().filter(|text| text.contains("are NaN")).count();
        assert_eq!(count, 1, "{report:?}");
        pipeline.reach(gst::State::Ready);
    }
}

#[test]
fn models_that_are_right_are_not_suspected() {
    for (name, element) in [
        ("detector", "gpunms"),
        ("pose", "gpunms"),
        ("rotated", "gpunms"),
        ("rotated-suppressed", "gpunms"),
        ("masks", "gpunms ! segmask"),
        ("centers", "gpunms"),
        ("many-candidates", "gpunms"),
        ("open-output", "gpunms"),
        ("bottom-up", "peakfind"),
        ("heat-maps-batch", "peakfind"),
        ("says-names", "gpunms"),
        ("says-colours", "classify"),
        ("two-labels", "gpunms"),
        ("queries-softmax", "gpunms"),
        ("queries-sigmoid", "gpunms"),
        ("queries-rfdetr", "gpunms"),
        ("queries-ultralytics", "gpunms"),
        ("queries-ranked", "gpunms"),
        ("queries-masks", "gpunms ! segmask"),
        ("lists-masks", "gpunms ! segmask"),
        ("lists-torchvision", "gpunms"),
        ("lists-rtdetr", "gpunms"),
        ("lists-mmdeploy", "gpunms"),
        ("lists-tensorflow", "gpunms"),
        ("lists-efficient", "gpunms"),
        ("lists-paddle", "gpunms"),
        ("lists-yolov7", "gpunms"),
        ("scrfd", "gpunms"),
        ("yunet", "gpunms"),
        ("retinaface", "gpunms"),
        ("palms", "gpunms"),
        ("ssd", "gpunms"),
        ("text-map", "gpunms"),
        ("reader", "classify"),
        ("attributes", "embed ! classify output=colour ! classify output=traits"),
        ("class-map-int64", "segmask"),
        ("simcc", "peakfind"),
        ("movenet", "peakfind"),
        ("movenet-people", "peakfind"),
        ("regressed", "peakfind"),
        ("heat-maps-udp", "peakfind"),
    ] {
        for pattern in ["smpte", "black", "white"] {
            let mut said = run(6, pattern, &model(name), element);
            // That a limit leaves boxes out is reported, but is no suspicion.
            said.warnings.retain(|warning| !(name == "many-candidates" && warning.contains("left out")));
            assert_eq!(said.warnings, [""; 0], "{name} {pattern}");
        }
    }
    for (name, element) in [("nanodet", "gpunms"), ("posenet", "peakfind"), ("selfie", "segmask")] {
        let model = fetched(&format!("models/{name}.onnx"));
        for source in [
            "videotestsrc num-buffers=5 ! video/x-raw,width=320,height=240".to_owned(),
            "videotestsrc num-buffers=5 pattern=black ! video/x-raw,width=320,height=240".to_owned(),
            format!(
                "filesrc location={} ! decodebin ! identity eos-after=6 ! videoconvert",
                fetched("video/vtest.avi")
            ),
        ] {
            let said =
                said(&format!("{source} ! fusedpreproc ! trtinfer model={model} ! {element} ! fakesink"));
            assert_eq!(said.warnings, [""; 0], "{name} {source}");
        }
    }
}
