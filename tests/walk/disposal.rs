//! Elements whose last owner gives them up while they play. GStreamer forbids it, complains, and leaves the element's pads in memory;
//! but programs do so, and must neither crash nor keep threads for it.

use cudainfer_tests::dice::Dice;
use cudainfer_tests::{filled, model};
use gst::prelude::*;

use crate::stream::ZONES;

/// GStreamer's own words about it.
pub const COMPLAINT: &str = "Trying to dispose element";

/// The elements, with what they need to start.
fn elements() -> [(&'static str, Vec<(&'static str, String)>); 9] {
    [
        ("trtinfer", vec![("model", model("detector-batch")), ("workers", "2".into())]),
        ("trtinfer", vec![("model", model("detector-batch")), ("instance", "disposed".into())]),
        ("fusedpreproc", vec![("width", "64".into()), ("height", "64".into())]),
        ("gpunms", vec![]),
        ("tracker", vec![]),
        ("zonecount", vec![("zones", ZONES.into())]),
        ("inferoverlay", vec![("font", "built-in".into())]),
        ("inferpublish", vec![("location", "/dev/null".into())]),
        ("peakfind", vec![]),
    ]
}

/// Starts an element, pushes a few frames into it, and gives it up. Returns what was done.
pub fn dispose(dice: &mut Dice) -> String {
    let elements = elements();
    let (factory, properties) = dice.pick(&elements);
    let state = *dice.pick(&[gst::State::Ready, gst::State::Paused, gst::State::Playing]);
    let made = |factory: &str| gst::ElementFactory::make(factory).build().unwrap();
    let element = made(factory);
    for (property, value) in properties {
        element.set_property_from_str(property, value);
    }
    // A model gets its tensors from another element, which is given up with it.
    let before = (*factory == "trtinfer").then(|| made("fusedpreproc"));
    if let Some(before) = &before {
        before.link(&element).unwrap();
    }
    element.set_state(state).unwrap();
    let first = before.as_ref().unwrap_or(&element);
    first.set_state(state).unwrap();
    let sink = first.static_pad("sink").unwrap();
    let frames = dice.roll(4);
    let pad = gst::Pad::builder(gst::PadDirection::Src).build();
    pad.set_active(true).unwrap();
    pad.link(&sink).unwrap();
    pad.push_event(gst::event::StreamStart::new("disposed"));
    let caps = "video/x-raw,format=RGB,width=8,height=8,framerate=100/1";
    pad.push_event(gst::event::Caps::new(&caps.parse().unwrap()));
    pad.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    for frame in 0..frames {
        // What comes of it does not matter: nothing is downstream.
        let _ = pad.push(filled(8 * 8 * 3, 200, frame as u64));
    }
    pad.unlink(&sink).unwrap();
    drop((sink, before, element));
    format!("{factory} in {state:?} after {frames} frames")
}
