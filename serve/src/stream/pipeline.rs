//! The whole pipeline of a stream.

use cudainfer_launch::elements;
use gst::prelude::*;

use super::file::SourceFile;
use super::publish::publishers;
use super::{Description, StreamSpec, source};
use crate::config::SourceKind;

/// A stream's pipeline, in NULL.
///
/// ```text
/// source ! parsebin ! tee name=encoded ! decodebin ! videoconvert ! DESCRIPTION ! inferpublish …
///   ! tee name=frames ! fakesink name=sink
/// ```
#[derive(Clone, Debug)]
pub struct Built {
    /// The whole pipeline, which has the stream's name.
    pub pipeline: gst::Pipeline,
    /// The elements of the configuration's pipeline.
    pub description: Description,
    /// What the camera sends, encoded; none where the source is raw. Branches need a queue.
    pub encoded: Option<gst::Element>,
    /// The `decodebin`; none where the source is a test picture.
    pub(super) decoder: Option<gst::Element>,
    /// The tee with the frames and their results. Branches need a queue.
    pub frames: gst::Element,
    /// The sink, which keeps the last frame.
    pub sink: gst::Element,
}

impl Built {
    /// Builds the pipeline.
    ///
    /// # Errors
    /// A sentence; the configuration is wrong, or a plugin is missing.
    pub(super) fn new(spec: &StreamSpec, file: Option<SourceFile>) -> Result<Self, String> {
        let pipeline = gst::Pipeline::with_name(spec.name());
        let description = Description::new(spec).map_err(|(_, sentence)| sentence)?;
        let convert = elements::make("videoconvert", "convert")?;
        let frames = elements::make("tee", "frames")?;
        let sink = elements::make("fakesink", "sink")?;
        sink.set_property("enable-last-sample", true);
        // Frames of a live source come when they are due; a file would be read as fast as possible.
        let paced =
            matches!(spec.kind, SourceKind::File | SourceKind::Http) && spec.source.live.unwrap_or(true);
        sink.set_property("sync", paced);
        // With `async`, the sink holds the first frame until the pipeline plays, and the time begins with that frame. Frames of
        // other sources pass at once.
        sink.set_property("async", paced);
        let mut chain = vec![convert.clone(), description.bin.clone().upcast()];
        chain.extend(publishers(spec)?);
        chain.extend([frames.clone(), sink.clone()]);
        let failed = |e: gst::glib::BoolError| format!("the pipeline cannot be put together: {}", e.message);
        pipeline.add_many(&chain).map_err(failed)?;
        gst::Element::link_many(&chain).map_err(|e| {
            format!(
                "the line of pipeline '{}' does not take or does not give video: {}",
                spec.source.pipeline, e.message
            )
        })?;
        let source::Added { encoded, decoder } = source::add(spec, file, &pipeline, &convert)?;
        Ok(Self { pipeline, description, encoded, decoder, frames, sink })
    }
}
