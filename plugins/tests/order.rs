//! The promise to order work on frames by events, through elements of GStreamer's own. No GPU is needed.
#![allow(clippy::unwrap_used)] // clippy's own exception stops at functions without #[test]

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use gstcudainfer::memory::order::{promise, promised};

/// Whether a promise made after `description` arrives before it, for frames of `from` that become `to`.
fn arrives(description: &str, from: VideoFormat, to: VideoFormat) -> bool {
    gst::init().unwrap();
    let caps = |format| VideoInfo::builder(format, 64, 48).build().unwrap().to_caps().unwrap();
    let mut harness = gst_check::Harness::new_parse(description);
    harness.sinkpad().unwrap().add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, |_, info| {
        match info.query_mut().map(gst::QueryRef::view_mut) {
            Some(gst::QueryViewMut::Allocation(query)) => {
                promise(query);
                gst::PadProbeReturn::Handled
            }
            _ => gst::PadProbeReturn::Ok,
        }
    });
    harness.set_sink_caps(caps(to));
    harness.set_src_caps(caps(from));
    let size = VideoInfo::builder(from, 64, 48).build().unwrap().size();
    harness.push_and_pull(gst::Buffer::with_size(size).unwrap()).unwrap();
    let mut query = gst::query::Allocation::new(Some(&caps(from)), true);
    assert!(harness.srcpad().unwrap().peer_query(&mut query));
    promised(&query)
}

#[test]
fn elements_that_pass_the_memory_on_pass_the_promise_on() {
    for description in ["identity", "queue", "capsfilter", "videoconvert", "tee name=t ! queue"] {
        assert!(arrives(description, VideoFormat::Nv12, VideoFormat::Nv12), "{description}");
    }
}

#[test]
fn elements_that_put_frames_elsewhere_do_not_pass_on_what_they_do_not_keep() {
    // It lets every meta of a query through, as cudaconvert does.
    assert!(!arrives("videoconvert", VideoFormat::Nv12, VideoFormat::Rgba));
}
