//! Thresholds that are set while frames flow: they hold from the next frame on.

use std::sync::{Arc, Mutex};

use cudainfer_tests::{TestPipeline, end, filled, model, push, until};
use gst::prelude::*;
use gstcudainfer::meta::object::objects;

/// The detector on grey frames: red twice, at 0.5 and 0.45 in boxes of 16x24 that overlap, and blue at 0.5 in one of 8x16.
struct Frames {
    pipeline: TestPipeline,
    seen: Arc<Mutex<Vec<gst::Buffer>>>,
}

impl Frames {
    fn start() -> Self {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=RGB,width=64,height=64,framerate=100/1 ! fusedpreproc \
             ! trtinfer model={} ! gpunms name=nms ! fakesink name=out sync=false async=false",
            model("detector")
        ));
        let seen = pipeline.collect("out");
        pipeline.reach(gst::State::Playing);
        Self { pipeline, seen }
    }

    /// The labels of one frame's objects, in the order of the alphabet.
    #[track_caller]
    fn next(&self) -> Vec<String> {
        let count = self.seen.lock().unwrap().len();
        push(&self.pipeline.element("in"), filled(64 * 64 * 3, 128, count as u64));
        until("the frame comes", || self.seen.lock().unwrap().len() > count);
        let found = objects(&self.seen.lock().unwrap()[count]);
        let mut labels: Vec<_> = found.into_iter().map(|object| object.label).collect();
        labels.sort();
        labels
    }

    /// The next warning's text.
    #[track_caller]
    fn warning(&self) -> String {
        let bus = self.pipeline.bus().unwrap();
        loop {
            let message =
                bus.timed_pop_filtered(cudainfer_tests::CLOCK_LIMIT, &[gst::MessageType::Warning]).unwrap();
            let gst::MessageView::Warning(warning) = message.view() else { continue };
            let text = warning.error().to_string();
            if text.starts_with("nms: ") {
                return text;
            }
        }
    }
}

#[test]
fn thresholds_hold_from_the_next_frame_on() {
    let frames = Frames::start();
    let nms = frames.pipeline.element("nms");
    assert_eq!(frames.next(), ["blue", "red"]);
    for (property, value, labels) in [
        ("confidence", "0.6", &[][..]),
        ("confidence", "0.2", &["blue", "red"]),
        ("class-confidence", "red=0.6", &["blue"]),
        ("class-confidence", "", &["blue", "red"]),
        ("iou", "0.95", &["blue", "red", "red"]),
        ("class-iou", "red=0.5", &["blue", "red"]),
        ("class-iou", "", &["blue", "red", "red"]),
        ("top-k-after", "1", &["red"]),
        ("top-k-after", "300", &["blue", "red", "red"]),
        ("classes", "red", &["red", "red"]),
        ("classes", "", &["blue", "red", "red"]),
        ("min-width", "10", &["red", "red"]),
        ("min-height", "30", &[]),
        ("min-height", "0", &["red", "red"]),
    ] {
        nms.set_property_from_str(property, value);
        assert_eq!(frames.next(), labels, "{property}={value}");
    }
    // A class that the model does not have: the earlier classes stay, with a warning.
    nms.set_property_from_str("classes", "green");
    assert_eq!(frames.next(), ["red", "red"]);
    let warning = frames.warning();
    assert!(warning.contains("the model has no class 'green'"), "{warning}");
    assert!(warning.ends_with("Frames are decoded as before"), "{warning}");
    nms.set_property_from_str("classes", "");
    nms.set_property("confidence", 0.48_f32);
    assert_eq!(frames.next(), ["red"], "0.45 is below, and blue's box is narrow");
    // A property that cannot change while frames flow.
    nms.set_property_from_str("nms", "none");
    let warning = frames.warning();
    assert!(warning.contains("nms cannot be set in PLAYING"), "{warning}");
    end(&frames.pipeline.element("in"));
    let report = frames.pipeline.wait();
    assert!(report.eos && report.errors.is_empty(), "{report:?}");
    let stats = nms.property::<gst::Structure>("stats");
    let count = frames.seen.lock().unwrap().len() as u64;
    assert_eq!(stats.get::<u64>("frames"), Ok(count), "counts go on");
}
