//! The elements of a source: from a URI to decoded frames.

use cudainfer_launch::{elements, properties};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gst::prelude::*;

use super::StreamSpec;
use super::file::SourceFile;
use crate::config::{Scalar, SourceKind, TestSource};
use crate::unpoisoned::lock;

/// The elements of a source that are needed while it runs.
#[derive(Default)]
pub(super) struct Added {
    /// The tee with the encoded video, where there is one.
    pub encoded: Option<gst::Element>,
    /// The `decodebin`, where there is one.
    pub decoder: Option<gst::Element>,
}

/// Puts the source into the pipeline; its frames go to `target`.
pub(super) fn add(
    spec: &StreamSpec,
    file: Option<SourceFile>,
    pipeline: &gst::Pipeline,
    target: &gst::Element,
) -> Result<Added, String> {
    match &spec.kind {
        SourceKind::Test(test) => test_source(spec, test, pipeline, target).map(|()| Added::default()),
        SourceKind::V4l2 { device } => {
            let source = elements::make("v4l2src", "source")?;
            source.set_property("device", device);
            set_all(&source, &spec.source.properties)?;
            let decoder = elements::make("decodebin", "decode")?;
            pipeline.add_many([&source, &decoder]).and_then(|()| source.link(&decoder)).map_err(unlinked)?;
            link_first_video(&decoder, target);
            Ok(Added { encoded: None, decoder: Some(decoder) })
        }
        SourceKind::Rtsp | SourceKind::File | SourceKind::Http => {
            encoded_source(spec, file, pipeline, target)
        }
    }
}

fn unlinked(error: gst::glib::BoolError) -> String {
    format!("the source cannot be put together: {}", error.message)
}

fn set_all(element: &gst::Element, keys: &BTreeMap<String, Scalar>) -> Result<(), String> {
    keys.iter().try_for_each(|(name, value)| properties::set(element, name, value))
}

fn test_source(
    spec: &StreamSpec,
    test: &TestSource,
    pipeline: &gst::Pipeline,
    target: &gst::Element,
) -> Result<(), String> {
    let source = elements::make("videotestsrc", "source")?;
    source.set_property("is-live", spec.source.live.unwrap_or(true));
    properties::set(&source, "pattern", &Scalar::Text(test.pattern.clone()))?;
    if let Some(frames) = test.frames {
        source.set_property("num-buffers", frames);
    }
    set_all(&source, &spec.source.properties)?;
    let caps = gst::Caps::builder("video/x-raw")
        .field("width", test.width)
        .field("height", test.height)
        .field("framerate", gst::Fraction::new(test.rate, 1))
        .build();
    let filter = elements::make("capsfilter", "source-caps")?;
    filter.set_property("caps", caps);
    pipeline.add_many([&source, &filter]).map_err(unlinked)?;
    gst::Element::link_many([&source, &filter, target]).map_err(unlinked)
}

/// urisourcebin ! parsebin ! tee ! decodebin: the tee has the camera's own encoding.
fn encoded_source(
    spec: &StreamSpec,
    file: Option<SourceFile>,
    pipeline: &gst::Pipeline,
    target: &gst::Element,
) -> Result<Added, String> {
    let source = elements::make("urisourcebin", "source")?;
    source.set_property("uri", spec.source.uri.whole());
    let keys = spec.source.properties.clone();
    // A client's file is read by the descriptor that was checked, which the closure holds, because another file may have got its
    // name since. The configuration's file is read by its name, because the name's ending may be all that shows the format.
    let file = file.filter(|_| spec.files.is_some());
    source.connect("source-setup", false, move |values| {
        let element = values.get(1)?.get::<gst::Element>().ok()?;
        // Records have the time at which a frame was taken, by the camera's reports.
        if elements::is(&element, "rtspsrc") {
            element.set_property("add-reference-timestamp-meta", true);
        }
        // The keys were checked with an element for the same URI.
        if let Err(sentence) = set_all(&element, &keys) {
            gst::element_error!(element, gst::ResourceError::Settings, ("{sentence}"));
        }
        if let Some(file) = file.as_ref().filter(|_| elements::is(&element, "filesrc")) {
            element.set_property("location", file.location());
        }
        if elements::is(&element, "rtspsrc") {
            only_video(&element);
        }
        None
    });
    if gst::version() < (1, 24, 0, 0) {
        warn_of_hls(&source);
    }
    let tee = elements::make("tee", "encoded")?;
    tee.set_property("allow-not-linked", true);
    if let (SourceKind::Http, Some(pad)) = (&spec.kind, tee.static_pad("sink")) {
        stamp_pictures(&pad);
    }
    let decoder = elements::make("decodebin", "decode")?;
    pipeline.add_many([&source, &tee, &decoder]).and_then(|()| tee.link(&decoder)).map_err(unlinked)?;
    link_first_video(&decoder, target);
    let (within, encoded) = (pipeline.downgrade(), tee.downgrade());
    source.connect_pad_added(move |source, pad| {
        let (Some(pipeline), Some(tee)) = (within.upgrade(), encoded.upgrade()) else { return };
        if !is_video(pad, true) {
            if let Some(kind) = page(pad) {
                gst::element_error!(source, gst::StreamError::WrongType, ("it is {kind}"));
            }
            return;
        }
        if let Err(sentence) = parse(&pipeline, pad, &tee) {
            gst::element_error!(source, gst::CoreError::Failed, ("{sentence}"));
        }
    });
    Ok(Added { encoded: Some(tee), decoder: Some(decoder) })
}

/// The kind of a page or a text, which no stream of a video is: without an error, such a source would be silent.
fn page(pad: &gst::Pad) -> Option<String> {
    let caps = pad.current_caps().unwrap_or_else(|| pad.query_caps(None));
    let name = caps.structure(0).filter(|_| !caps.is_any())?.name().to_string();
    ["text/html", "text/plain", "application/xml"].contains(&name.as_str()).then_some(name)
}

/// Gives pictures without a timestamp the time at which they come to this pad: a camera that sends JPEG pictures by HTTP
/// (multipart/x-mixed-replace) sends no times. Without one, they could neither be tracked by time nor recorded. Other encodings stay as they are: their parsers and decoders know the time.
fn stamp_pictures(pad: &gst::Pad) {
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

/// Warns that hlsdemux2 may crash. In 1.22.0, when connections break, it completes downloads that have been freed; urisourcebin
/// takes no other element for HLS.
fn warn_of_hls(source: &gst::Element) {
    source.connect("deep-element-added", false, |values| {
        let source = values.first()?.get::<gst::Element>().ok()?;
        let added = values.get(2)?.get::<gst::Element>().ok()?;
        if elements::is(&added, "hlsdemux2") {
            gst::element_warning!(
                source,
                gst::LibraryError::Failed,
                (
                    "{} reads HLS with an element that may crash this process when connections break. Use GStreamer 1.24 or \
                     newer, or run such sources in a service of their own",
                    gst::version_string()
                )
            );
        }
        None
    });
}

/// Has a camera send its video alone.
fn only_video(rtsp: &gst::Element) {
    rtsp.connect("select-stream", false, |values| {
        let caps = values.get(2).and_then(|value| value.get::<gst::Caps>().ok());
        let media = caps.as_ref().and_then(|caps| caps.structure(0)?.get::<String>("media").ok());
        Some(media.is_none_or(|media| media == "video").to_value())
    });
}

/// Links a pad of the source to a parsebin, which finds the video and cuts it into frames.
fn parse(pipeline: &gst::Pipeline, pad: &gst::Pad, tee: &gst::Element) -> Result<(), String> {
    let parser = gst::ElementFactory::make("parsebin").build();
    let parser = parser.map_err(|_| "GStreamer has no element parsebin: install its base plugins")?;
    link_first_video(&parser, tee);
    pipeline.add(&parser).map_err(unlinked)?;
    let sink = parser.static_pad("sink").ok_or("parsebin has no sink pad")?;
    pad.link(&sink).map_err(|e| format!("the source cannot be linked: {e}"))?;
    parser.sync_state_with_parent().map_err(unlinked)
}

/// Links the first pad with video that an element gets; the others stay unlinked. If that pad is removed, as for another program
/// or another bit rate, the next one takes its place.
fn link_first_video(element: &gst::Element, target: &gst::Element) {
    let (target, taken) = (target.downgrade(), Arc::new(Mutex::new(None::<gst::Pad>)));
    let linked = Arc::clone(&taken);
    element.connect_pad_added(move |element, pad| {
        let Some(sink) = target.upgrade().and_then(|target| target.static_pad("sink")) else { return };
        let mut taken = lock(&linked);
        if taken.is_some() || !is_video(pad, false) {
            return;
        }
        match pad.link(&sink) {
            Ok(_) => *taken = Some(pad.clone()),
            Err(e) => {
                gst::element_error!(element, gst::CoreError::Negotiation, ("the video cannot be linked: {e}"))
            }
        }
    });
    element.connect_pad_removed(move |_, pad| {
        let mut taken = lock(&taken);
        if taken.as_ref() == Some(pad) {
            *taken = None;
        }
    });
}

/// Whether a pad has video, encoded or not; `unknown` if its caps do not show that yet.
fn is_video(pad: &gst::Pad, unknown: bool) -> bool {
    let caps = pad.current_caps().unwrap_or_else(|| pad.query_caps(None));
    let Some(structure) = caps.structure(0).filter(|_| !caps.is_any()) else { return unknown };
    let name = structure.name();
    if name == "application/x-rtp" {
        return structure.get::<&str>("media").map_or(unknown, |media| media == "video");
    }
    let other = name.starts_with("audio/") || name.starts_with("text/") || name.starts_with("subpicture/");
    name.starts_with("video/") || name.starts_with("image/") || (unknown && !other)
}
