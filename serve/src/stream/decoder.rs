//! Noticing that a decoder could not decode something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gst::prelude::*;

/// Has `failed` called for each failure of the decoders that a `decodebin` chooses.
///
/// GStreamer's decoders report a failure in the debug log alone, unless nothing can be decoded at all. But they mark the next
/// frame as discontinuous (`GstVideoDecoder`), though nothing was missing before the decoder. Failures without a frame between
/// them count as one.
pub(super) fn watch(decodebin: &gst::Element, failed: impl Fn(String) + Clone + Send + Sync + 'static) {
    let Some(bin) = decodebin.downcast_ref::<gst::Bin>() else { return };
    bin.connect_deep_element_added(move |_, _, element| {
        let kinds = gst::ElementFactoryType::DECODER | gst::ElementFactoryType::MEDIA_VIDEO;
        let Some(factory) = element.factory().filter(|factory| factory.has_type(kinds)) else { return };
        let (Some(sink), Some(src)) = (element.static_pad("sink"), element.static_pad("src")) else { return };
        // Whether the next frame may be discontinuous: the first one is.
        let begins = Arc::new(AtomicBool::new(true));
        let comes = Arc::clone(&begins);
        sink.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
            let new = match &info.data {
                Some(gst::PadProbeData::Buffer(frame)) => frame.flags().contains(gst::BufferFlags::DISCONT),
                Some(gst::PadProbeData::Event(event)) => event.type_() == gst::EventType::Caps,
                _ => false,
            };
            comes.fetch_or(new, Ordering::Relaxed);
            gst::PadProbeReturn::Ok
        });
        let (failed, name) = (failed.clone(), factory.name());
        src.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let Some(gst::PadProbeData::Buffer(frame)) = &info.data else { return gst::PadProbeReturn::Ok };
            if frame.flags().contains(gst::BufferFlags::DISCONT) && !begins.swap(false, Ordering::Relaxed) {
                failed(format!("{name} could not decode a part of the video"));
            }
            gst::PadProbeReturn::Ok
        });
    });
}
