//! Sidecars with mistakes in them.

use cudainfer_tests::{Report, model, run, scratch};

/// Runs the detector with another sidecar beside it.
fn with_sidecar(name: &str, text: &str) -> Report {
    let folder = scratch(name);
    std::fs::copy(model("detector"), folder.join("model.onnx")).unwrap();
    std::fs::write(folder.join("model.toml"), text).unwrap();
    let report = run(&format!(
        "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={} ! gpunms decoder=yolov8 ! fakesink",
        folder.join("model.onnx").display()
    ));
    std::fs::remove_dir_all(folder).unwrap();
    report
}

#[test]
fn what_is_wrong_in_a_sidecar_is_named_with_what_would_be_right() {
    for (name, text, parts) in [
        ("syntax", "[input\nscale = 1", &["model.toml", "line 1"][..]),
        ("field", "[input]\nmeans = [1.0]", &["there is no key 'means'", "'mean' is probably meant"]),
        ("table", "[outputs]\nlabels = []", &["there is no key 'outputs'", "'output' is probably meant"]),
        (
            "enum",
            "[input]\nresize = \"crop\"",
            &["'crop' is none of", "letterbox, letterbox-top-left, stretch, center-crop"],
        ),
        (
            "filter",
            "[input]\ninterpolation = \"bicubic\"",
            &["'bicubic' is none of", "pil-bilinear, pil-bicubic"],
        ),
        (
            "ratio",
            "[input]\nresize = \"center-crop\"\ncrop-ratio = 0.0",
            &["input.crop-ratio is 0", "between 0.1 and 1"],
        ),
        (
            "percent",
            "[input]\nresize = \"center-crop\"\ncrop-ratio = 87.5",
            &["input.crop-ratio is 87.5", "0.875 is 224 pixels of 256"],
        ),
        ("uncropped", "[input]\ncrop-ratio = 0.875", &["input.crop-ratio needs", "resize = \"center-crop\""]),
        (
            "cut",
            "[input]\nroi-crop = \"udp\"",
            &["'udp' is none of", "box, mmpose, mmpose-udp, pixels, sleap", "align, warp"],
        ),
        (
            "corners",
            "[input]\nroi-crop = \"warp\"\nalign = [[1, 2], [3, 4]]",
            &[
                "input.align has 2 points",
                "four corners",
                "top-left, top-right, bottom-right and bottom-left",
            ],
        ),
        (
            "mirrored",
            "[input]\nroi-crop = \"warp\"\nalign = [[0, 0], [0, 23], [93, 23], [93, 0]]",
            &["input.align has corners in anticlockwise order", "or drop align"],
        ),
        (
            "warp-size",
            "[input]\nroi-crop = \"warp\"\nroi-size = 64",
            &["input.roi-size has no effect", "drop it, or set roi-padding"],
        ),
        ("row-format", "[output]\nrow-format = \"paddle\"", &["'paddle' is none of", "class-score-box"]),
        ("decoder", "[output]\ndecoder = \"yolo\"", &["'yolo' is none of", "yolov5", "end-to-end"]),
        ("format", "[output]\nbox-format = \"xyxy\"", &["'xyxy' is none of", "corners"]),
        ("sizes", "[anchors]\nformula = \"yolov5\"", &["anchors.sizes is missing", "10, 13, 16, 30"]),
        (
            "formula",
            "[anchors]\nsizes = [[1, 2]]",
            &["anchors.formula is missing", "\"yolov3\" for YOLOv3 and v4"],
        ),
        (
            "other-formula",
            "[anchors]\nsizes = [[1, 2]]\nformula = \"v5\"",
            &["'v5' is none of", "yolov3, yolov5"],
        ),
        (
            "few",
            "[anchors]\nsizes = [[1, 2]]\nformula = \"yolov5\"",
            &["'anchors'", "sizes has 1, strides has 3"],
        ),
        (
            "other",
            "[anchors]\nsizes = [[1, 2], [3, 4], [5, 6]]\nformula = \"yolov5\"",
            &["'anchors' does not apply to decoder yolov8"],
        ),
        (
            "padding",
            "[input]\npadding = 256",
            &["line 2, input.padding", "a pixel value, 0 to 255, or \"mean\""],
        ),
        ("padding-word", "[input]\npadding = \"zero\"", &["line 2, input.padding", "or \"mean\""]),
        ("type", "[input]\nscale = \"1/255\"", &["line 2", "scale"]),
        ("mean", "[input]\nmean = [1.0, 2.0]", &["input.mean", "three channels"]),
        ("std", "[input]\nstd = []", &["input.std", "three channels"]),
        ("zero", "[input]\nstd = [0.0]", &["std", "finite"]),
        ("width", "[input]\nwidth = 0", &["input.width", "at least 1"]),
        ("confidence", "[output]\nconfidence = 40.0", &["output.confidence", "between 0 and 1"]),
        ("nan", "[output]\niou = nan", &["output.iou", "between 0 and 1"]),
        ("classes", "[classify]\ntop-k = -1", &["-1"]),
        ("head", "[classify.colour]\nlabel = [\"red\"]", &["in classify.colour", "there is no key 'label'"]),
        ("activation", "[classify]\nactivation = \"tanh\"", &["'tanh' is none of", "none, sigmoid, softmax"]),
        ("two", "[output]\nlabels = [\"a\"]\nlabels-file = \"b.txt\"", &["labels-file", "keep one"]),
        ("file", "[output]\nlabels-file = \"b.txt\"", &["labels file", "b.txt"]),
        ("strides", "[output]\nstrides = [0]", &["strides", "above 0"]),
        ("hint", "[output]\nbackground = \"first\"", &["background", "drop it or set another decoder"]),
        ("size", "[output]\nsize-unit = \"meters\"", &["'meters' is none of", "cells, pixels, log-cells"]),
        ("axes", "[output]\naxis-order = \"hw\"", &["'hw' is none of", "xy, yx"]),
        ("points", "[output]\nkeypoints = 17", &["'keypoints' does not apply to decoder yolov8"]),
        ("input", "[input]\nname = \"pixels\"", &["'pixels'", "images:float32:1x3x64x64"]),
        ("skeleton", "[skeleton]\nname = \"coco\"", &["no skeleton 'coco'", "coco-17", "points"]),
        (
            "edge",
            "[skeleton]\npoints = [\"a\", \"b\"]\nedges = [[\"a\", \"c\"]]",
            &["line 1: skeleton.edges: there is no point 'c'", "a, b"],
        ),
        ("number", "[skeleton]\npoints = [\"a\", \"b\"]\nedges = [[0, -1]]", &["its name or as its number"]),
        (
            "points",
            "[output]\nlabels = [\"a\"]\n[peaks]\nthreshold = 0.5\n[skeleton]\npoints = [\"a\", \"b\"]",
            &["model.toml", "there is 1 label for a skeleton of 2 points"],
        ),
        ("constant", "[constants]\nsize = \"image-size\"", &["input-height-width", "frame-height-width"]),
    ] {
        let report = with_sidecar(name, text);
        let error = report.fails_with(parts);
        assert!(!error.contains("untagged"), "{name}: {error}");
    }
}

#[test]
fn a_sidecar_that_says_nothing_is_as_good_as_none() {
    with_sidecar("nothing", "# nothing\n").succeeds();
}

#[test]
fn labels_of_another_number_than_the_models_classes_are_an_error_that_says_so() {
    with_sidecar("labels", "[output]\nlabels = [\"a\", \"b\", \"c\"]").fails_with(&[
        "3 labels are given",
        "detections:float32:1x6x84",
        "2 classes as yolov8",
    ]);
}
