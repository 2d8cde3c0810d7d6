//! Timestamps for pictures that have none: a camera that sends JPEG pictures by HTTP (multipart/x-mixed-replace) sends no times.

use gst::prelude::*;

/// Gives pictures without a timestamp the time at which they come to this pad. Without one, they could neither be tracked by
/// time nor recorded. Other encodings stay as they are: their parsers and decoders know the time.
pub(super) fn stamp(pad: &gst::Pad) {
    pad.add_probe(gst::PadProbeType::BUFFER, |pad, info| {
        let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data else { return gst::PadProbeReturn::Ok };
        if buffer.pts().is_none() && buffer.dts().is_none() && is_jpeg(pad) {
            let now = pad.parent_element().and_then(|element| element.current_running_time());
            buffer.make_mut().set_pts(now.unwrap_or(gst::ClockTime::ZERO));
        }
        gst::PadProbeReturn::Ok
    });
}

fn is_jpeg(pad: &gst::Pad) -> bool {
    let caps = pad.current_caps();
    caps.as_ref().and_then(|caps| caps.structure(0)).is_some_and(|structure| structure.name() == "image/jpeg")
}
