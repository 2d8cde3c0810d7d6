//! One failure is one error of ours, of at most three sentences and one line, which says what is really wrong and what to do.

use cudainfer_tests::{Report, TestPipeline, end, filled, model, push, run, scratch};
use gst::prelude::*;

const SOURCE: &str = "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48";

/// The only error that our elements posted. A source adds GStreamer's own when a frame of it was not taken.
#[track_caller]
fn only_error(report: &Report) -> &str {
    let ours: Vec<_> = report.errors.iter().filter(|text| *text != "Internal data stream error.").collect();
    let [error] = ours[..] else { panic!("not one error, but {ours:#?}") };
    let sentences = error.replace("e.g. ", "").matches(". ").count() + 1;
    assert!(sentences <= 3, "{sentences} sentences: {error}");
    assert!(!error.contains('\n'), "{error}");
    error
}

#[track_caller]
fn fails_once_with(report: &Report, parts: &[&str]) {
    let error = only_error(report);
    for part in parts {
        assert!(error.contains(part), "the error does not say '{part}': {error}");
    }
}

/// Pushes frames of a format, 64x48, from an application, through these elements.
fn from_application(format: &str, bytes: usize, elements: &str) -> Report {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format={format},width=64,height=48,framerate=10/1 ! {elements}"
    ));
    let _ = pipeline.set_state(gst::State::Playing);
    for frame in 0..3 {
        push(&pipeline.element("in"), filled(bytes, 100, frame));
    }
    end(&pipeline.element("in"));
    let report = pipeline.wait();
    pipeline.stop();
    report
}

#[test]
fn an_open_end_is_named() {
    for (elements, name) in
        [("", "trtinfer"), ("! gpunms", "gpunms"), ("! gpunms ! identity name=last", "last")]
    {
        let report = from_application(
            "RGB",
            64 * 48 * 3,
            &format!("fusedpreproc ! trtinfer model={} {elements}", model("detector")),
        );
        fails_once_with(
            &report,
            &["the source pad of '", name, "is not linked. Link it to a sink", "format RGB"],
        );
    }
}

#[test]
fn a_format_that_elements_downstream_do_not_accept_is_one_error_with_the_formats_that_they_do() {
    for (format, bytes, elements, wanted) in [
        ("GRAY8", 64 * 48, format!("trtinfer model={} ! gpunms ! inferoverlay", model("detector")), "RGBA"),
        (
            "GRAY8",
            64 * 48,
            format!("trtinfer model={} ! segmask output=alpha", model("mask-red")),
            "BGRA, RGBA",
        ),
        (
            "I420",
            64 * 72,
            format!("trtinfer model={} ! segmask output=alpha", model("mask-red")),
            "BGRA, RGBA",
        ),
    ] {
        let report = from_application(format, bytes, &format!("fusedpreproc ! {elements} ! fakesink"));
        fails_once_with(
            &report,
            &[
                "fusedpreproc",
                &format!("format {format}, but"),
                "accept only",
                wanted,
                "Put videoconvert before",
            ],
        );
    }
}

#[test]
fn frames_that_fail_are_one_error_and_no_other_says_that_the_stream_ended() {
    let report = run(&format!(
        "videotestsrc num-buffers=5 pattern=white ! fusedpreproc ! trtinfer model={} ! fakesink",
        model("fails-on-bright")
    ));
    fails_once_with(
        &report,
        &[
            "ONNX Runtime failed to run the model: node 'row' (Gather) says 'indices element out of data bounds",
            "Check the input's width and height",
        ],
    );
    assert_eq!(report.warnings.iter().filter(|text| text.contains("ended early")).count(), 0, "{report:?}");
}

#[test]
fn onnx_runtimes_words_are_short_and_name_no_source_file() {
    let report =
        run(&format!("{SOURCE} ! fusedpreproc ! trtinfer model={} ! fakesink", model("fails-at-size")));
    fails_once_with(
        &report,
        &["node 'copy' (Reshape) says 'The input tensor cannot be reshaped", "export the model again"],
    );
    assert!(!only_error(&report).contains("onnxruntime/core"), "{report:?}");
}

#[test]
fn caps_that_are_sent_again_with_each_frame_are_refused_once() {
    for (elements, part) in [
        (format!("trtinfer model={}", model("detector")), "Put fusedpreproc before"),
        ("gpunms".to_owned(), "Put fusedpreproc and trtinfer before"),
        (
            format!("fusedpreproc ! trtinfer model={} ! classify", model("detector")),
            "put gpunms, peakfind or segmask in place of classify",
        ),
    ] {
        for frames in [1, 20] {
            let report = run(&format!("videotestsrc num-buffers={frames} ! {elements} ! fakesink"));
            fails_once_with(&report, &[part]);
        }
    }
}

#[test]
fn what_was_refused_once_is_posted_again_by_the_next_run() {
    let pipeline = TestPipeline::new(&format!("{SOURCE} ! trtinfer model={} ! fakesink", model("detector")));
    for _ in 0..2 {
        let _ = pipeline.set_state(gst::State::Playing);
        fails_once_with(&pipeline.wait(), &["Put fusedpreproc before"]);
        pipeline.stop();
    }
}

#[test]
fn outputs_for_another_element_are_reported_with_its_name() {
    for (name, element, part) in [
        ("mask-red", "gpunms", "Put segmask in place of gpunms"),
        ("heat-maps", "gpunms", "peakfind for the points of confidence maps"),
        ("colours", "gpunms", "Put classify in place of gpunms"),
        ("detector", "peakfind", "look like a detector's boxes. Put gpunms in place of peakfind"),
    ] {
        let report =
            run(&format!("{SOURCE} ! fusedpreproc ! trtinfer model={} ! {element} ! fakesink", model(name)));
        fails_once_with(&report, &[part]);
    }
}

#[test]
fn files_that_cannot_be_used_are_reported_with_what_to_do() {
    for (properties, part) in [
        ("model=/nowhere/yolo.onnx".to_owned(), "Set model to an ONNX file"),
        (format!("model={}", model("truncated")), "Download or export it again, or correct model"),
        (format!("model={}", model("double")), "Export the model with such an input"),
        (format!("model={}", model("channels5")), "Export the model with an image input"),
        (format!("model={} labels=/nowhere/labels", model("detector")), "Set labels"),
    ] {
        let report = run(&format!("{SOURCE} ! fusedpreproc ! trtinfer {properties} ! fakesink"));
        fails_once_with(&report, &[part]);
    }
}

#[test]
fn a_wrong_sidecar_is_reported_in_one_line_and_empty_files_are_warned_of() {
    let folder = scratch("messages");
    let path = folder.join("model.onnx");
    std::fs::copy(model("detector"), &path).unwrap();
    let report_of = |properties: &str| {
        run(&format!("{SOURCE} ! fusedpreproc ! trtinfer model={} {properties} ! fakesink", path.display()))
    };
    std::fs::write(folder.join("model.toml"), "[input]\nscale = 1.0\nwidth = \"a\"\n").unwrap();
    fails_once_with(&report_of(""), &["model.toml' cannot be used: line 3, input.width: found string"]);

    std::fs::write(folder.join("model.toml"), " \n").unwrap();
    std::fs::write(folder.join("labels.txt"), "\n\n").unwrap();
    let report = report_of(&format!("labels={}", folder.join("labels.txt").display())).succeeds();
    for (part, cure) in
        [("the sidecar '", "or remove it"), ("the labels file '", "Write one name per line into it")]
    {
        let found = report.warnings.iter().filter(|text| text.contains(part) && text.contains("is empty"));
        let found: Vec<_> = found.collect();
        assert!(found.len() == 1 && found[0].contains(cure), "{report:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_an_info_message_says_is_in_its_debug_string_which_is_all_that_gst_launch_prints() {
    let pipeline = TestPipeline::start(&format!(
        "{SOURCE} ! fusedpreproc ! trtinfer model={} ! gpunms ! fakesink",
        model("detector")
    ));
    let mut posted = Vec::new();
    pipeline.each_message(|message| {
        if let gst::MessageView::Info(info) = message.view() {
            let (text, debug) = (info.error().to_string(), info.debug().unwrap_or_default());
            assert!(debug.contains(&text), "{debug} does not say '{text}'");
            posted.push(text);
        }
    });
    pipeline.stop();
    assert!(posted.iter().any(|text| text.contains("decoder yolov8")), "how the model is read: {posted:?}");
}
