//! Models that are described by their file's metadata or by files beside them.

use std::path::{Path, PathBuf};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, model, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{Object, objects};

/// The messages and results of a pipeline.
#[derive(Debug)]
struct Outcome {
    /// Each INFO message about how a model is read: the element, the sentence, and the sidecar that would have the same effect.
    readings: Vec<(String, String, String)>,
    warnings: Vec<String>,
    errors: Vec<String>,
    /// The objects of the last frame.
    objects: Vec<Object>,
    /// The property of trtinfer and of the element after it.
    properties: [Option<String>; 2],
}

impl Outcome {
    /// How `element` has read the model.
    #[track_caller]
    fn reading(&self, element: &str) -> &str {
        let mut found = self.readings.iter().filter(|(name, ..)| name == element);
        let (_, text, _) = found.next().unwrap_or_else(|| panic!("{element} said nothing: {self:?}"));
        assert!(found.next().is_none(), "{element} said it twice: {self:?}");
        text.strip_prefix(&format!("{element}: ")).unwrap()
    }

    fn labels(&self) -> Vec<&str> {
        self.objects.iter().map(|object| object.label.as_str()).collect()
    }
}

/// Runs three frames of red and blue through a model and `last`, which is called `decode`.
fn outcome(path: impl AsRef<Path>, last: &str) -> Outcome {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xffff00ff \
         ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc ! trtinfer name=infer model={} ! {last} name=decode \
         ! fakesink name=out",
        path.as_ref().display()
    ));
    let seen = pipeline.collect("out");
    let bus = pipeline.bus().unwrap();
    let _ = pipeline.set_state(gst::State::Playing);
    let mut outcome = Outcome {
        readings: vec![],
        warnings: vec![],
        errors: vec![],
        objects: vec![],
        properties: [None, None],
    };
    loop {
        let message = bus.timed_pop(cudainfer_tests::CLOCK_LIMIT).expect("the line hangs");
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Error(error) => {
                outcome.errors.push(error.error().message().to_owned());
                break;
            }
            gst::MessageView::Warning(warning) => outcome.warnings.push(warning.error().message().to_owned()),
            gst::MessageView::Info(info) => {
                if let Some(details) = info.details().filter(|details| details.name() == "cudainfer-reading")
                {
                    let name = message.src().unwrap().name().to_string();
                    let sidecar = details.get("sidecar").unwrap();
                    outcome.readings.push((name, info.error().message().to_owned(), sidecar));
                }
            }
            _ => (),
        }
    }
    outcome.properties = ["infer", "decode"].map(|name| pipeline.element(name).property("reading"));
    outcome.objects = seen.lock().unwrap().last().map(|frame| objects(frame)).unwrap_or_default();
    pipeline.stop();
    // A machine without a GPU adds a warning.
    outcome.warnings.retain(|warning| !warning.contains("no GPU is used"));
    outcome
}

/// A copy of a test model in a folder of its own, with other files beside it.
fn copied(name: &str, beside: &[(&str, &str)]) -> PathBuf {
    let folder = scratch(name);
    std::fs::copy(model(name), folder.join("model.onnx")).unwrap();
    for (file, text) in beside {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder.join("model.onnx")
}

const ULTRALYTICS: &str = "the file's metadata (Ultralytics)";

/// The outputs of the model `masks`.
const MASKS: &str = "coloured:float32:1x10x84, prototypes:float32:1x4x16x16";

/// The boxes of the red and the blue object on frames of 64x64.
const BOXES: [Rect; 2] =
    [Rect { x: 8.0, y: 4.0, w: 16.0, h: 24.0 }, Rect { x: 44.0, y: 32.0, w: 8.0, h: 16.0 }];

#[test]
fn a_model_without_a_sidecar_is_read_by_its_metadata_and_that_is_said_once() {
    let outcome = outcome(model("says-names"), "gpunms");
    assert!(outcome.errors.is_empty() && outcome.warnings.is_empty(), "{outcome:?}");
    assert_eq!(outcome.labels(), ["red", "blue"]);
    let rects: Vec<_> = outcome.objects.iter().map(|o| o.detection.as_ref().unwrap().rect).collect();
    assert_eq!(rects, BOXES);
    let input = outcome.reading("infer").to_owned();
    assert_eq!(
        input,
        format!("64x64 rgb float32, scale 1/255, letterbox from {ULTRALYTICS}; 3 names from {ULTRALYTICS}")
    );
    let output = outcome.reading("decode").to_owned();
    assert_eq!(
        output,
        format!("decoder yolov8 from {ULTRALYTICS}, 3 classes, 3 names from {ULTRALYTICS}, 64x64")
    );
    assert_eq!(outcome.properties, [Some(input), Some(output)]);
}

#[test]
fn modules_in_the_graph_tell_torchvisions_background_and_rf_detrs_input() {
    let found = outcome(model("says-torchvision"), "gpunms");
    assert!(found.errors.is_empty() && found.warnings.is_empty(), "{found:?}");
    // Labels 3 and 1 of a list that counts from 1.
    assert_eq!(found.labels(), ["2", "0"]);
    let reading = found.reading("decode");
    assert!(
        reading.starts_with("decoder detections from the modules in its graph (torchvision)"),
        "{reading}"
    );

    let found = outcome(model("says-rfdetr"), "gpunms");
    assert!(found.errors.is_empty() && found.warnings.is_empty(), "{found:?}");
    assert_eq!(found.labels(), ["2", "0"]);
    let wanted = "scale 1/255, mean 0.485 0.456 0.406, std 0.229 0.224 0.225, stretch from the modules in its graph (RF-DETR)";
    assert!(found.reading("infer").contains(wanted), "{found:?}");

    let sidecar = "[output]\ndecoder = \"detections\"\nlabels = [\"none\", \"a\", \"b\", \"c\"]\n";
    let found = outcome(copied("says-torchvision", &[("model.toml", sidecar)]), "gpunms");
    assert_eq!(found.labels(), ["c", "a"], "the sidecar's decoding replaces the graph's");
}

#[test]
fn a_classifier_of_torchvision_is_normalised_and_reading_says_that_this_is_assumed() {
    let found = outcome(model("says-resnet"), "classify top-k=1 mode=classes");
    assert!(found.errors.is_empty() && found.warnings.is_empty(), "{found:?}");
    let reading = found.reading("infer");
    for wanted in [
        "mean 0.485 0.456 0.406, std 0.229 0.224 0.225, letterbox from the modules in its graph (torchvision)",
        "not exact: mean and std are assumed",
    ] {
        assert!(reading.contains(wanted), "{reading}");
    }
}

/// Places by tools/cudainfer_tools/reference/refinement.py ("11, 0.8, mirrored"), in cells.
#[test]
fn transformers_files_tell_vitposes_points_and_how_its_maps_are_blurred() {
    let configuration = r#"{"model_type": "vitpose", "architectures": ["VitPoseForPoseEstimation"],
        "id2label": {"0": "Nose", "1": "L_Eye"}, "edges": [[0, 1]]}"#;
    let processor = r#"{"image_processor_type": "VitPoseImageProcessor", "size": {"height": 256, "width": 192},
        "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}"#;
    let files = [("config.json", configuration), ("preprocessor_config.json", processor)];
    let found = outcome(copied("heat-maps-udp", &files), "peakfind");
    assert!(found.errors.is_empty() && found.warnings.is_empty(), "{found:?}");
    let wanted = "2 points from a file beside it (config.json, transformers) of confidence maps";
    assert!(found.reading("decode").starts_with(wanted), "{found:?}");
    let points = found.objects[0].keypoints.as_ref().unwrap();
    assert_eq!((&points.names[..], &points.edges[..]), (&["Nose".into(), "L_Eye".into()][..], &[[0, 1]][..]));
    for (i, [x, y]) in [[20.4327, 31.6368], [10.7914, 40.0242]].into_iter().enumerate() {
        // The frame of 64x64 is three times as large in the input, below bars of 32 pixels.
        let (x, y) = ((x / 47.0 * 191.0 + 0.5) / 3.0, (y / 63.0 * 255.0 + 0.5 - 32.0) / 3.0);
        let off = [points.x[i] - x, points.y[i] - y];
        assert!(off[0].abs() < 0.01 && off[1].abs() < 0.01, "{off:?}");
    }
}

#[test]
fn keypoints_of_the_metadata_tell_a_pose_from_classes() {
    let outcome = outcome(model("says-pose"), "gpunms");
    assert!(outcome.errors.is_empty() && outcome.warnings.is_empty(), "{outcome:?}");
    assert_eq!(outcome.labels(), ["red", "blue"]);
    let points = outcome.objects[0].keypoints.as_ref().unwrap();
    assert_eq!((&points.x[..], &points.y[..]), (&[12.0, 20.0, 16.0][..], &[8.0, 8.0, 70.0][..]));
    assert!(
        outcome
            .reading("decode")
            .starts_with(&format!("decoder yolo-pose from {ULTRALYTICS}, 2 classes, 3 keypoints"))
    );
}

#[test]
fn a_size_that_the_model_leaves_open_is_the_metadatas() {
    let outcome = outcome(model("says-size"), "gpunms");
    assert!(outcome.errors.is_empty() && outcome.warnings.is_empty(), "{outcome:?}");
    assert!(outcome.reading("infer").starts_with("64x64 rgb"), "{outcome:?}");
    assert_eq!(outcome.labels(), ["red", "blue"]);
}

#[test]
fn a_classifier_that_ends_with_probabilities_is_not_given_another_softmax() {
    let outcome = outcome(model("says-colours"), "classify top-k=2");
    assert!(outcome.errors.is_empty() && outcome.warnings.is_empty(), "{outcome:?}");
    let classes = outcome.objects[0].classifications.first().unwrap();
    assert_eq!(classes.labels, ["red", "blue"]);
    assert!(classes.confidence.iter().all(|confidence| (confidence - 1.0).abs() < 1e-6), "{classes:?}");
    assert!(
        outcome.reading("decode").starts_with("3 classes, 3 names from the file's metadata"),
        "{outcome:?}"
    );
    assert!(!outcome.reading("infer").contains("not exact"), "{outcome:?}");
}

#[test]
fn the_sidecar_overrides_the_metadata_and_a_property_both() {
    let sidecar = "[input]\nresize = \"stretch\"\n[output]\nlabels = [\"a\", \"b\", \"c\"]\n";
    let path = copied("says-names", &[("model.toml", sidecar), ("names.txt", "x\ny\nz\n")]);
    let by_sidecar = outcome(&path, "gpunms");
    assert_eq!(by_sidecar.labels(), ["a", "b"]);
    assert_eq!(
        by_sidecar.reading("infer"),
        format!(
            "64x64 rgb float32, scale 1/255, stretch from {ULTRALYTICS} and the sidecar; 3 names from the sidecar"
        )
    );
    let names = path.with_file_name("names.txt");
    let pipeline = format!("{} labels={}", path.display(), names.display());
    let by_property = outcome(pipeline, "gpunms decoder=yolov8");
    assert_eq!(by_property.labels(), ["x", "y"]);
    assert_eq!(
        by_property.reading("decode"),
        "decoder yolov8 from a property, 3 classes, 3 names from a property, 64x64"
    );
}

#[test]
fn what_nobody_says_is_said_to_be_assumed() {
    let outcome = outcome(copied("masks", &[]), "gpunms");
    assert_eq!(outcome.labels(), ["0", "1"]);
    assert_eq!(outcome.reading("infer"), "64x64 rgb float32, scale 1/255, letterbox, assumed; no names");
    let wanted = format!("decoder yolo-seg, assumed from {MASKS}, 2 classes, no names, 64x64");
    assert_eq!(outcome.reading("decode"), wanted);
}

#[test]
fn the_sidecar_that_is_offered_says_the_same() {
    for (name, element) in
        [("says-names", "gpunms"), ("says-pose", "gpunms"), ("masks", "gpunms"), ("says-colours", "classify")]
    {
        let before = outcome(copied(name, &[]), element);
        let (.., sidecar) = before.readings.iter().find(|(element, ..)| element == "decode").unwrap();
        let path = copied(name, &[("model.toml", sidecar)]);
        let after = outcome(&path, element);
        assert_eq!(after.objects, before.objects, "{name}");
        for element in ["infer", "decode"] {
            let by_sidecar = before
                .reading(element)
                .split("; not exact")
                .next()
                .unwrap()
                .replace(ULTRALYTICS, "the sidecar")
                .replace(&format!(", assumed from {MASKS}"), " from the sidecar");
            assert_eq!(after.reading(element), by_sidecar, "{name}: {sidecar}");
        }
        let (.., again) = after.readings.iter().find(|(element, ..)| element == "decode").unwrap();
        assert_eq!(again, sidecar, "{name}");
    }
}

#[test]
fn files_beside_a_model_are_read_unless_another_model_lies_there() {
    let timm = r#"{"architecture": "tiny", "label_names": ["red", "green", "blue"],
        "pretrained_cfg": {"input_size": [3, 16, 16], "mean": [0, 0, 0], "std": [1, 1, 1], "crop_pct": 1.0}}"#;
    let path = copied("colours", &[("config.json", timm)]);
    let alone = outcome(&path, "classify");
    assert!(alone.errors.is_empty() && alone.warnings.is_empty(), "{alone:?}");
    assert!(
        alone.reading("decode").contains("3 names from a file beside it (config.json, timm)"),
        "{alone:?}"
    );
    std::fs::copy(&path, path.with_file_name("other.onnx")).unwrap();
    assert!(outcome(&path, "classify mode=classes").reading("decode").contains("no names"));
}

#[test]
fn the_range_of_a_model_of_depth_is_read_from_the_file_beside_it() {
    let of = |more: &str| {
        let json = format!(
            r#"{{"model_type": "depth_anything", "architectures": ["DepthAnythingForDepthEstimation"]{more}}}"#
        );
        let outcome = outcome(copied("map-bare", &[("config.json", &json)]), "tensormap output=gray16");
        assert!(outcome.errors.is_empty() && outcome.warnings.is_empty(), "{outcome:?}");
        outcome.reading("decode").to_owned()
    };
    let origin = "from a file beside it (config.json, transformers)";
    let metric = of(r#", "depth_estimation_type": "metric", "max_depth": 20"#);
    assert_eq!(metric, format!("map 'depth' of 24x16 float32, range 0 to 20 {origin}, 24x16"));
    assert!(of("").contains(&format!("range that of each frame {origin}")));
}

#[test]
fn shapes_win_over_what_the_model_says_with_one_warning() {
    for (name, element, part, labels) in [
        ("lies-size", "infer", "has 640x320 pixels, but it has 64x64", ["red", "blue"]),
        ("lies-names", "decode", "names 5 classes, which does not fit the outputs", ["0", "1"]),
        ("lies-pose", "decode", "objects have 4 keypoints, which does not fit the outputs", ["red", "blue"]),
        ("lies-task", "decode", "the decoder is yolo-seg, which does not fit the outputs", ["red", "blue"]),
    ] {
        let outcome = outcome(model(name), "gpunms");
        assert!(outcome.errors.is_empty(), "{name}: {outcome:?}");
        let [warning] = &outcome.warnings[..] else { panic!("{name}: {outcome:?}") };
        assert!(warning.starts_with(&format!("{element}: ")) && warning.contains(part), "{name}: {warning}");
        assert!(warning.contains(ULTRALYTICS), "{warning}");
        assert_eq!(outcome.labels(), labels, "{name}");
    }
}

#[test]
fn a_layout_that_no_decoder_reads_is_named_where_nothing_fits() {
    let outcome = outcome(model("says-depth"), "gpunms");
    assert!(outcome.reading("infer").contains("outputs: task 'depth' by the file's metadata"), "{outcome:?}");
    let error = outcome.errors.first().expect("the shapes do not fit two classes");
    assert!(error.contains("names task 'depth' for them, which no decoder reads"), "{error}");
}
