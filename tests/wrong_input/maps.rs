//! Tensors, ranges and neighbours that tensormap cannot work with.

use cudainfer_tests::{Report, model, run, scratch};

const SOURCE: &str = "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=24,height=16 ! fusedpreproc";

fn with(name: &str, properties: &str) -> Report {
    run(&format!("{SOURCE} ! trtinfer model={} ! tensormap {properties} ! fakesink", model(name)))
}

#[test]
fn elements_that_are_missing_before_it_are_named() {
    for output in ["meta", "gray16", "rgb"] {
        run(&format!("videotestsrc num-buffers=3 ! tensormap output={output} ! fakesink"))
            .fails_with(&["without tensors", "Put fusedpreproc and trtinfer before"]);
        run(&format!("{SOURCE} ! tensormap output={output} ! fakesink"))
            .fails_with(&["a network's input but not its outputs", "Put trtinfer before"]);
    }
    run(&format!(
        "{SOURCE} ! trtinfer model={} ! gpunms name=a ! video/x-raw ! tensormap ! fakesink",
        model("detector")
    ))
    .fails_with(&["without tensors: 'a' has taken them"]);
    run(&format!(
        "{SOURCE} ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} ! tensormap ! fakesink",
        model("detector"),
        model("map-depth")
    ))
    .fails_with(&["not of regions", "leave out fusedpreproc's roi"]);
    run(&format!(
        "{SOURCE} roi=list regions=\"4,4,16,8\" ! trtinfer model={} ! tensormap ! fakesink",
        model("map-depth")
    ))
    .fails_with(&["not of regions", "leave out fusedpreproc's roi"]);
}

#[test]
fn a_tensor_that_is_no_map_or_picture_is_named() {
    with("two-inputs", "output=gray16").fails_with(&[
        "none of the model's outputs",
        "is a map",
        "Set tensor",
    ]);
    with("two-inputs", "tensor=mean").fails_with(&["'mean:float32:1x3' must have the dimensions 1xHxW"]);
    with("two-inputs", "tensor=size_again").fails_with(&["must be float32, float16 or uint8"]);
    with("two-inputs", "tensor=depth").fails_with(&["no output 'depth'", "Set tensor to one of them"]);
    with("identity-f32-nchw", "output=gray16").fails_with(&[
        "1x1xHxW",
        "the map",
        "make video with output=rgb",
    ]);
    with("map-depth", "output=rgb").fails_with(&["1x3xHxW", "the picture", "make video with output=gray16"]);
    with("identity-f32-nchw", "output=rgb layout=nhwc range-min=0 range-max=1").fails_with(&["1xHxWx3"]);
    with("masks-colours", "tensor=logits output=gray16").fails_with(&["logits:float32:1x3x16x24"]);
    with("map-flow", "output=gray16").fails_with(&["1x1xHxW", "the map"]);
    with("map-flow", "output=rgb range-max=-1").fails_with(&["a range from 0 to -1 has no values"]);
}

#[test]
fn a_range_that_is_not_known_or_not_possible_is_named() {
    with("map-bare", "output=gray16").fails_with(&[
        "nobody says which values 'depth:float32:1x1x16x24' has",
        "Set range-min and range-max",
        "65535, or range=frame",
    ]);
    with("identity-f32-nchw", "output=rgb").fails_with(&["nobody says which values", "255, as 0 and 1"]);
    with("map-bare", "output=gray16 range=fixed range-min=1")
        .fails_with(&["only one of range-min and range-max"]);
    with("map-depth", "output=gray16 range-min=10").fails_with(&["a range from 10 to 10 has no values"]);
    with("map-depth", "output=gray16 range-min=11").fails_with(&["set range-min to less than range-max"]);
    with("identity-f32-nchw", "output=rgb range=frame").fails_with(&["range=frame is for maps"]);
    with("picture-bright", "output=rgb std=<1.0,0.0,1.0>").fails_with(&["std not 0"]);
    with("picture-bright", "output=rgb mean=<1.0,2.0>")
        .fails_with(&["mean has 2 values: set one, or one for each"]);
    // Without video, the range is not needed.
    with("map-bare", "").succeeds();
}

#[test]
fn a_score_that_is_none_is_named() {
    with("map-anomaly", "score=anomaly_map").fails_with(&["anomaly_map", "is no score", "leave it out"]);
    with("map-anomaly", "score=pred_label").fails_with(&["pred_label:bool", "is no score"]);
    with("map-anomaly", "score=other").fails_with(&["no output 'other'", "Set score"]);
}

#[test]
fn elements_downstream_that_want_another_size_or_format_are_named() {
    with("picture-twice", "output=rgb ! video/x-raw,width=100,height=100").fails_with(&[
        "48x32",
        "100x100",
        "Put videoscale after this element, or set size=frame",
    ]);
    cudainfer_tests::init();
    for (output, format) in [("gray16", "RGB"), ("rgb", "GRAY16_LE"), ("gray16", "GRAY8")] {
        let description = format!(
            "{SOURCE} ! trtinfer model={} ! tensormap output={output} ! video/x-raw,format={format} ! fakesink",
            model("map-depth")
        );
        let error = gst::parse::launch(&description).expect_err(&description);
        assert!(error.message().contains("tensormap"), "{output} {format}: {error}");
    }
}

#[test]
fn a_sidecar_that_contradicts_itself_is_refused() {
    let folder = scratch("map");
    std::fs::copy(model("map-depth"), folder.join("model.onnx")).unwrap();
    for (text, parts) in [
        ("range-min = 1.0\nrange-max = 1.0", &["map.range-min must be less than map.range-max"][..]),
        ("range-min = nan\nrange-max = 1.0", &["map.range-min must be less"]),
        ("range-max = 1.0", &["belong together", "set both"]),
        ("range = \"whole\"", &["'whole' is none of", "fixed, frame"]),
        ("std = [1.0, 2.0]", &["map.std must have one value"]),
        ("channels = \"gray\"", &["map.channels", "rgb or bgr"]),
        ("unit = \"m\"", &["model.toml", "unit"]),
    ] {
        std::fs::write(folder.join("model.toml"), format!("[map]\n{text}\n")).unwrap();
        run(&format!(
            "{SOURCE} ! trtinfer model={} ! tensormap ! fakesink",
            folder.join("model.onnx").display()
        ))
        .fails_with(parts);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
