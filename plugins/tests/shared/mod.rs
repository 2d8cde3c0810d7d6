//! What the tests of the uploader and the downloader share.

use cudainfer_kernels::device::probe;
use gst::prelude::*;

pub fn init() {
    static INIT: std::sync::Once = std::sync::Once::new();
    INIT.call_once(|| {
        gst::init().unwrap();
        gstcudainfer::plugin_register_static().unwrap();
    });
}

pub fn gpu() -> bool {
    let found = probe().is_ok();
    if found {
        eprintln!("skipped: this machine has a GPU");
    }
    found
}

/// A pipeline of one element, because an element alone has no bus.
pub fn pipeline_of(element: &gst::Element) -> (gst::Pipeline, gst::Bus) {
    let pipeline = gst::Pipeline::new();
    pipeline.add(element).unwrap();
    let bus = pipeline.bus().unwrap();
    (pipeline, bus)
}

pub fn messages(bus: &gst::Bus, kind: gst::MessageType) -> Vec<String> {
    std::iter::from_fn(|| bus.pop_filtered(&[kind]))
        .map(|message| match message.view() {
            gst::MessageView::Warning(warning) => warning.error().to_string(),
            gst::MessageView::Error(error) => error.error().to_string(),
            other => format!("{other:?}"),
        })
        .collect()
}
