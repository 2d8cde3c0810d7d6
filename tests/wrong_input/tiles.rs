//! Regions that cannot be cut out of the frames, and elements that cannot use them.

use cudainfer_tests::{TestPipeline, init, model, run, scratch};
use gst::prelude::*;

const SOURCE: &str = "videotestsrc num-buffers=2 ! video/x-raw,format=RGB,width=256,height=128";

fn pipeline_of(pre: &str, after: &str) -> String {
    format!(
        "{SOURCE} ! fusedpreproc name=pre {pre} ! trtinfer model={} ! {after} ! fakesink",
        model("extents")
    )
}

#[test]
fn regions_that_are_wrong_are_named_with_what_to_set() {
    for (properties, parts) in [
        ("roi=list", ["roi=list needs regions", "Set regions="]),
        ("roi=list regions=\"0,0,64\"", ["'0,0,64' does not have four numbers", "X,Y,WIDTH,HEIGHT"]),
        (
            "roi=list regions=\"0,0,64,64;a,0,64,64\"",
            ["'a,0,64,64' has a part that is not a number", "X,Y,WIDTH"],
        ),
        (
            "roi=list regions=\"200,0,64,64\"",
            ["'200,0,64,64' reaches beyond the frame of 256x128", "within the frame"],
        ),
        ("roi=tiles tile-size=4", ["into 2048 tiles of 4x4", "Set a larger tile-size"]),
        ("roi=tiles tile-size=96 resize=center-crop whole=true", ["", ""]),
    ] {
        let report = run(&pipeline_of(properties, "gpunms"));
        if parts[0].is_empty() {
            // Square tiles in a square tensor: nothing is left out.
            report.succeeds();
            continue;
        }
        let error = report.fails_with(&parts);
        assert!(error.starts_with("pre: "), "{error}");
    }
    let cropped = format!(
        "{SOURCE} ! fusedpreproc roi=tiles tile-size=64 width=64 height=32 resize=center-crop ! fakesink"
    );
    run(&cropped)
        .fails_with(&["resize=center-crop leaves out a part of each tile of 64x64", "Set resize=letterbox"]);
    run(&pipeline_of("roi=tiles tile-size=96 resize=center-crop crop-ratio=0.5", "gpunms"))
        .fails_with(&["leaves out a part of each tile of 96x96", "because crop-ratio is 0.5"]);
    run(&pipeline_of("roi=tiles tile-size=96 interpolation=pil-bilinear roi-crop=box", "gpunms"))
        .fails_with(&["may be turned", "roi-crop=pixels"]);
}

#[test]
fn a_tile_that_is_larger_than_the_frame_is_the_frame_and_a_message_says_so() {
    let pipeline = TestPipeline::start(&pipeline_of("roi=tiles tile-size=640", "gpunms"));
    let bus = pipeline.bus().unwrap();
    let mut said = Vec::new();
    loop {
        let message = bus.timed_pop(gst::ClockTime::from_seconds(20)).expect("the line hangs");
        match message.view() {
            gst::MessageView::Info(info) => said.push(info.error().to_string()),
            gst::MessageView::Error(error) => panic!("{error:?}"),
            gst::MessageView::Eos(_) => break,
            _ => (),
        }
    }
    let words = "pre: one tile holds the whole frame of 256x128";
    assert_eq!(said.iter().filter(|text| text.starts_with(words)).count(), 1, "{said:?}");
    let stats = pipeline.element("pre").property::<gst::Structure>("stats");
    assert_eq!((stats.get("frames"), stats.get("tensors")), (Ok(2u64), Ok(2u64)));
    pipeline.stop();
}

#[test]
fn an_overlap_of_1_cannot_be_set() {
    init();
    let pre = gst::ElementFactory::make("fusedpreproc").build().unwrap();
    let spec = pre.find_property("overlap").unwrap().downcast::<glib::ParamSpecDouble>().unwrap();
    assert_eq!((spec.minimum(), spec.maximum(), spec.default_value()), (0.0, 0.9, 0.2));
    assert_eq!(pre.property::<f64>("overlap"), 0.2);
}

#[test]
fn elements_that_cannot_use_the_regions_say_so() {
    let tiles = "fusedpreproc roi=tiles tile-size=64";
    run(&format!("{SOURCE} ! {tiles} ! trtinfer model={} ! peakfind ! fakesink", model("heat-maps-64")))
        .fails_with(&["points of tiles are not merged", "roi=list"]);
    // The outputs are no embeddings of objects, and the tracker must not take them for such.
    run(&format!(
        "{SOURCE} ! {tiles} ! trtinfer model={} ! tracker embedding-output=detections ! fakesink",
        model("extents")
    ))
    .fails_with(&["the frames carry no embeddings"]);
    run(&format!("{SOURCE} ! {tiles} ! trtinfer model={} ! gpunms merge=union ! fakesink", model("rotated")))
        .fails_with(&["merge is union", "suppress or none for rotated boxes"]);
}

#[test]
fn what_does_not_go_with_regions_that_follow_points_is_said_in_a_sentence() {
    let report = |pre: &str, after: &str| {
        run(&format!(
            "{SOURCE} ! fusedpreproc name=pre roi-from=track {pre} ! trtinfer model={} ! {after} ! fakesink",
            model("dots")
        ))
    };
    for (pre, after, parts) in [
        ("roi=frame", "peakfind mode=global", ["but roi is frame", "Set roi=objects"]),
        ("roi=tiles", "peakfind mode=global", ["but roi is tiles", "Set roi=objects"]),
        ("roi=objects interval=2", "peakfind mode=global", ["but interval is 2", "Set interval=0"]),
        (
            "roi=objects roi-crop=warp",
            "peakfind mode=global",
            ["but roi-crop=warp needs", "Set another roi-crop"],
        ),
        ("roi=objects", "identity", ["but there is none", "Put peakfind after the trtinfer"]),
        ("roi=objects", "queue", ["but there is none", "Put peakfind after the trtinfer"]),
    ] {
        let report = report(pre, after);
        let error = report.fails_with(&parts);
        assert!(error.starts_with("pre: roi-from=track "), "{error}");
    }
    // The peakfind of another model is none of this one's.
    run(&format!(
        "{SOURCE} ! fusedpreproc name=pre roi-from=track roi=objects ! trtinfer model={} ! gpunms ! fusedpreproc ! trtinfer model={} \
         ! peakfind mode=global ! fakesink",
        model("lists-torchvision"),
        model("dots")
    ))
    .fails_with(&["pre: roi-from=track ", "but there is none", "Put peakfind after the trtinfer"]);
    let folder = scratch("follow");
    std::fs::copy(model("dots"), folder.join("model.onnx")).unwrap();
    std::fs::write(
        folder.join("model.toml"),
        "[skeleton]\npoints = [\"nose\"]\n[track]\npoints = [\"ear\"]\n",
    )
    .unwrap();
    let path = folder.join("model.onnx");
    run(&format!(
        "{SOURCE} ! fusedpreproc roi=objects ! trtinfer model={} ! peakfind ! fakesink",
        path.display()
    ))
    .fails_with(&["'ear' that [skeleton] does not have", "write one of nose"]);
}
