//! Elements in the wrong order, and caps that cannot meet.

use cudainfer_tests::{model, run};

const SOURCE: &str = "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48";

#[test]
fn an_element_after_the_wrong_one_reports_what_to_put_before_it() {
    let detector = model("detector");
    for (pipeline, parts) in [
        (
            format!("{SOURCE} ! gpunms ! fakesink"),
            ["without tensors", "Put fusedpreproc and trtinfer before"],
        ),
        (
            format!("{SOURCE} ! peakfind ! fakesink"),
            ["without tensors", "Put fusedpreproc and trtinfer before"],
        ),
        (
            format!("{SOURCE} ! classify ! fakesink"),
            ["without tensors", "Put fusedpreproc and trtinfer before"],
        ),
        (
            format!("{SOURCE} ! fusedpreproc ! trtinfer model={detector} ! classify ! fakesink"),
            ["'detections:float32:1x6x84' are no scores", "Set output to the one"],
        ),
        (
            format!("{SOURCE} ! fusedpreproc ! peakfind ! fakesink"),
            ["a network's input but not its outputs", "Put trtinfer before"],
        ),
        (
            format!("{SOURCE} ! fusedpreproc width=64 height=64 ! gpunms ! fakesink"),
            ["a network's input but not its outputs", "Put trtinfer before"],
        ),
        (
            format!("{SOURCE} ! trtinfer model={detector} ! fakesink"),
            ["without a tensor", "Put fusedpreproc before"],
        ),
        (
            format!(
                "{SOURCE} ! fusedpreproc ! trtinfer model={detector} ! gpunms ! video/x-raw ! gpunms ! fakesink"
            ),
            ["without tensors: 'gpunms", "has taken them"],
        ),
    ] {
        let report = run(&pipeline);
        report.fails_with(&parts);
        assert!(!report.eos, "{pipeline}");
    }
}

#[test]
fn properties_that_the_model_cannot_meet_are_named_by_what_is_wanted_and_offered() {
    let detector = model("detector");
    for (properties, offered) in [
        ("width=320", "come with 3x64x320 (channels x height x width) float32 nchw"),
        ("width=320 height=200", "come with 3x200x320 (channels x height x width) float32 nchw"),
        ("tensor-type=uint8", "come with 3x64x64 (channels x height x width) uint8 nchw"),
        ("width=320 layout=nhwc", "come with 64x320x3 (height x width x channels) float32 nhwc"),
        ("channels=gray", "come with 1x64x64 "),
    ] {
        run(&format!("{SOURCE} ! fusedpreproc {properties} ! trtinfer model={detector} ! gpunms ! fakesink"))
            .fails_with(&[
                "the model wants 3x64x64 (channels x height x width) float32 nchw in 'images'",
                offered,
                "Remove the properties of fusedpreproc that differ",
            ]);
    }
}

#[test]
fn tensors_between_two_models_do_not_fit_both() {
    let report = run(&format!(
        "{SOURCE} ! fusedpreproc ! trtinfer model={} ! trtinfer model={} ! fakesink",
        model("identity-f32-nchw"),
        model("detector")
    ));
    report.fails_with(&["the model wants 3x64x64"]);
}

#[test]
fn a_pixel_format_that_is_not_read_fails_when_the_pipeline_is_built_or_negotiated() {
    cudainfer_tests::init();
    for format in ["ARGB64", "VUYA", "GRAY16_LE"] {
        let pipeline =
            format!("videotestsrc num-buffers=1 ! video/x-raw,format={format} ! fusedpreproc ! fakesink");
        match gst::parse::launch(&pipeline) {
            Err(e) => assert!(e.to_string().contains("could not link"), "{e}"),
            Ok(_) => {
                run(&pipeline).fails_with(&[]);
            }
        }
    }
}

#[test]
fn outputs_that_no_decoder_reads_are_named_and_a_decoder_tells_what_it_needs() {
    let report_of = |properties: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc ! trtinfer model={} ! gpunms {properties} ! fakesink",
            model("unknown-shape")
        ))
    };
    report_of("").fails_with(&["no decoder fits", "out:float32:1x7x9x11", "640x640", "Set decoder="]);
    report_of("decoder=yolov8")
        .fails_with(&["yolov8 does not fit", "it needs one float output [1, 4 + C, N]"]);
}

#[test]
fn labels_that_are_not_as_many_as_the_classes_are_reported_with_both_numbers() {
    let labels = cudainfer_tests::scratch("labels").join("labels.txt");
    std::fs::write(&labels, (0..80).map(|i| format!("class{i}\n")).collect::<String>()).unwrap();
    let report = run(&format!(
        "{SOURCE} ! fusedpreproc ! trtinfer model={} labels={} ! gpunms ! fakesink",
        model("detector"),
        labels.display()
    ));
    report.fails_with(&["80 labels are given", "2 classes as yolov8", "trtinfer's property labels"]);
}

#[test]
fn tensors_that_are_missing_or_of_another_task_are_reported_with_who_has_taken_them_or_what_reads_them() {
    let (detector, colours) = (model("detector"), model("colours"));
    for (pipeline, parts) in [
        (
            format!("{SOURCE} ! fusedpreproc ! trtinfer model={colours} ! gpunms ! fakesink"),
            ["scores:float32:1x3, which look like a classifier's scores", "Put classify in place of gpunms"],
        ),
        (
            format!(
                "{SOURCE} ! fusedpreproc ! trtinfer model={detector} ! gpunms name=a ! video/x-raw ! classify ! fakesink"
            ),
            ["without tensors: 'a' has taken them", "Put this element next to 'a'"],
        ),
        (
            format!(
                "{SOURCE} ! fusedpreproc ! trtinfer model={detector} ! gpunms name=a ! video/x-raw ! segmask ! fakesink"
            ),
            ["without tensors: 'a' has taken them", "Put this element next to 'a'"],
        ),
        (
            format!(
                "{SOURCE} ! fusedpreproc ! trtinfer model={detector} ! gpunms ! tracker ! classify ! fakesink"
            ),
            ["'detections:float32:1x6x84' are no scores", "Set output to the one"],
        ),
        (
            format!("{SOURCE} ! fusedpreproc ! trtinfer model={detector} ! gpunms ! segmask ! fakesink"),
            ["look like a detector's boxes", "Put gpunms in place of segmask"],
        ),
        (
            format!(
                "{SOURCE} ! fusedpreproc ! trtinfer model={} ! peakfind layout=auto grid=corners ! fakesink",
                model("heat-maps")
            ),
            ["as grid=corners wants, of the 128x96 input", "nchw or nhwc, or correct the grid"],
        ),
    ] {
        let report = run(&pipeline);
        let text = report.fails_with(&parts);
        assert!(text.matches(". ").count() < 3, "{text}");
    }
}

#[test]
fn outputs_that_several_decoders_read_list_the_candidates_and_decoder_settles_it() {
    let report_of = |properties: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc ! trtinfer model={} ! gpunms {properties} ! fakesink",
            model("ambiguous")
        ))
    };
    report_of("").fails_with(&[
        "ambiguous",
        "out:float32:1x1000x85",
        "yolov5 (80 classes), yolov8 (81 classes), yolox (80 classes)",
        "[output] decoder = \"yolov5\"",
    ]);
    report_of("decoder=yolov5").succeeds();
    report_of("decoder=nanodet").fails_with(&["decoder nanodet does not fit", "it needs"]);
}

#[test]
fn classes_and_thresholds_that_the_model_does_not_have_are_refused() {
    let report_of = |properties: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc ! trtinfer model={} ! gpunms {properties} ! fakesink",
            model("detector")
        ))
    };
    report_of("classes=green").fails_with(&["classes: the model has no class 'green'", "it has red, blue"]);
    report_of("classes=red,2").fails_with(&["classes: the model has no class '2'", "it has red, blue"]);
    report_of("class-confidence=red")
        .fails_with(&["class-confidence: 'red' is not CLASS=THRESHOLD", "person=0.5"]);
    report_of("class-confidence=red=high").fails_with(&["class-confidence: 'high' is not a number"]);
    report_of("class-iou=blue=1.5").fails_with(&["class", "between 0 and 1"]);
    report_of("class-iou=blue=0.5,blue=0.6").fails_with(&["one value a class"]);
    report_of("classes=red,1 class-confidence=red=0.5").succeeds();
}

#[test]
fn means_that_are_neither_one_nor_one_a_channel_are_refused() {
    let report_of = |properties: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc {properties} ! trtinfer model={} ! fakesink",
            model("detector")
        ))
    };
    report_of("mean=\"<0.5,0.25>\"").fails_with(&["mean", "three channels"]);
    report_of("std=\"<0.5,0.25,0.5,0.5>\"").fails_with(&["std", "three channels"]);
    report_of("std=\"<0.5,0.0,0.5>\"").fails_with(&["std", "finite"]);
    report_of("mean=\"<0.5,0.25,0.125>\" std=\"<2.0>\"").succeeds();
}

#[test]
fn an_output_that_peakfind_cannot_read_is_named() {
    let report_of = |model: &str, properties: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc ! trtinfer model={} ! peakfind {properties} ! fakesink",
            cudainfer_tests::model(model)
        ))
    };
    report_of("heat-maps", "output=hot").fails_with(&["no output 'hot'", "heat:float32:1x2x24x32"]);
    report_of("two-inputs", "").fails_with(&["several outputs", "Set output to the one"]);
    report_of("two-inputs", "output=mean")
        .fails_with(&["'mean:float32:1x3'", "nothing says how many points"]);
    report_of("two-inputs", "output=size_again").fails_with(&["size_again", "float16 or float32"]);
    report_of("lanes-few", "encoding=lanes").fails_with(&[
        "'lanes:float32:1x11x3x2' has 3 rows",
        "set lane-rows in the sidecar's [peaks] to 3 numbers",
    ]);
    report_of("heat-maps", "encoding=lanes").fails_with(&["do not hold lanes", "another encoding"]);
    report_of("superpoint", "encoding=lanes").fails_with(&["several outputs", "the one with the lanes"]);
    report_of("lanes-cells", "grouping=each").fails_with(&["grouping=each does not go with encoding=lanes"]);
}

#[test]
fn a_property_out_of_range_is_refused_where_the_pipeline_is_built() {
    cudainfer_tests::init();
    for element in [
        "gpunms confidence=1.5",
        "gpunms top-k-before=0",
        "gpunms decoder=yolo",
        "gpunms iou=nan",
        "fusedpreproc width=20000",
        "fusedpreproc padding=256",
        "fusedpreproc scale=0",
        "trtinfer workers=5000",
        "trtinfer provider=gpu",
        "tracker min-confidence=-1",
        "peakfind max-peaks=0",
        "inferoverlay thickness=1000",
        "inferoverlay mask-opacity=2",
        "inferoverlay blur-cells=0",
        "inferoverlay blur-cells=17",
        "inferoverlay blur-hold=-1",
        "inferoverlay blur-margin=-0.5",
        "segmask smoothing=1",
        "segmask opening=33",
        "tensormap range-min=1e31",
        "inferpublish min-confidence=1.5",
        "inferpublish send=frames+pictures",
    ] {
        // GStreamer's parser either refuses a value or sets the nearest that is allowed; neither may pass unnoticed
        // as the value itself.
        let (factory, setting) = element.split_once(' ').unwrap();
        let (property, value) = setting.split_once('=').unwrap();
        if let Ok(made) = gst::parse::launch(element) {
            use gst::prelude::*;
            let text =
                made.property_value(property).transform::<String>().map(|v| v.get::<String>().unwrap());
            assert_ne!(text.unwrap_or_default(), value, "{factory} {property}");
        }
    }
}

#[test]
fn sigmas_that_are_none_are_named_with_how_they_are_written() {
    run(&format!("{SOURCE} ! tracker similarity=oks sigmas=nose:0.1 ! fakesink"))
        .fails_with(&["sigmas: 'nose:0.1'", "POINT=NUMBER"]);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    run(&format!("{SOURCE} ! inferpublish location=/nowhere/out.jsonl ! fakesink"))
        .fails_with(&["/nowhere/out.jsonl", "cannot be written"]);
    run(&format!("{SOURCE} ! inferpublish location=/tmp ! fakesink")).fails_with(&[
        "'/tmp'",
        "cannot be written",
        "Set location",
    ]);
    // The path's parent is no folder.
    run(&format!("{SOURCE} ! inferpublish location=/dev/null/out ! fakesink")).fails_with(&[
        "'/dev/null/out'",
        "cannot be written",
        "Set location",
    ]);
    // The disk is full while the pipeline runs.
    run(&format!("{SOURCE} ! inferpublish disk-full=stop location=/dev/full ! fakesink")).fails_with(&[
        "/dev/full",
        "cannot be written",
        "No space left",
    ]);
}

#[test]
fn an_element_that_leads_nowhere_ends_with_an_error() {
    // With one frame only, no later frame carries the failure upstream.
    for frames in [1, 3, 50] {
        let report = run(&format!(
            "videotestsrc num-buffers={frames} ! fusedpreproc ! trtinfer model={}",
            model("detector")
        ));
        if frames == 1 {
            report.fails_with(&["the source pad of 'trtinfer", "is not linked", "Link it to a sink"]);
        } else {
            report.fails_with(&[]);
        }
    }
}

#[test]
fn a_crop_ratio_without_a_crop_and_a_filter_for_turned_regions_are_refused() {
    let report_of = |properties: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc {properties} ! trtinfer model={} ! fakesink",
            model("detector")
        ))
    };
    report_of("crop-ratio=0.875 resize=letterbox").fails_with(&[
        "fusedpreproc",
        "the property crop-ratio is 0.875, but resize is letterbox",
        "set resize=center-crop",
    ]);
    // The resize is the sidecar's.
    report_of("crop-ratio=0.875").fails_with(&["resize is stretch", "or do not set crop-ratio"]);
    let regions = |properties: &str| {
        run(&format!("{SOURCE} ! fusedpreproc roi=objects width=32 height=32 {properties} ! fakesink"))
    };
    regions("interpolation=pil-bilinear roi-crop=box").fails_with(&["may be turned", "roi-crop=pixels"]);
    regions("interpolation=pil-bilinear").succeeds();
}

#[test]
fn a_warp_of_what_has_no_corners_and_of_a_set_size_is_refused() {
    let report_of = |properties: &str| {
        run(&format!("{SOURCE} ! fusedpreproc width=32 height=32 roi-crop=warp {properties} ! fakesink"))
    };
    report_of("roi=objects").succeeds();
    report_of("roi=objects roi-padding=1.2").succeeds();
    report_of("roi=tiles")
        .fails_with(&["roi-crop=warp cuts regions by the points of objects", "Set roi=objects"]);
    report_of("roi=list regions=\"0,0,8,8\"").fails_with(&["other regions have none", "another roi-crop"]);
    report_of("roi=objects roi-size=64").fails_with(&[
        "the property roi-size is set, but has no effect with roi-crop=warp",
        "Set roi-padding for a margin",
    ]);
    report_of("roi=objects interpolation=pil-bilinear").fails_with(&["Pillow's filters", "choose bilinear"]);
}

#[test]
fn a_refusal_after_the_last_frame_is_not_lost() {
    use cudainfer_tests::TestPipeline;
    use gst::prelude::*;
    // The element downstream refuses the caps and posts nothing itself; the frame is the only one, so no later one brings the
    // refusal upstream.
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer name=t model={} ! fakesink",
        model("detector")
    ));
    let pad = pipeline.element("t").static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
        info.flow_res = Err(gst::FlowError::NotNegotiated);
        info.data = None;
        gst::PadProbeReturn::Handled
    });
    pipeline.play();
    pipeline.wait().fails_with(&["an element downstream refused the frames' caps"]);
}
