//! The whole pipeline of a stream.

use cudainfer_launch::elements;
use gst::prelude::*;

use super::file::SourceFile;
use super::publish::publishers;
use super::{Description, StreamSpec, live, source};

/// A stream's pipeline, in NULL.
///
/// ```text
/// source ! parsebin ! tee name=encoded ! decodebin ! videoconvert ! clocksync ! queue leaky=downstream
///   ! DESCRIPTION ! inferpublish … ! tee name=frames ! fakesink name=sink
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
    /// The queue with the newest frames, before the description; none where nothing is dropped.
    pub(super) newest: Option<gst::Element>,
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
        sink.set_property("sync", false);
        sink.set_property("async", false);
        let mut chain = vec![convert.clone()];
        chain.extend(live::before_the_line(spec, &pipeline)?);
        let newest = chain.iter().find(|element| elements::is(element, "queue")).cloned();
        chain.push(description.bin.clone().upcast());
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
        Ok(Self { pipeline, description, encoded, decoder, newest, frames, sink })
    }

    /// Stops it, which may take long or hang.
    pub(super) fn stop(&self) {
        // The sinks first, each by itself: a thread that still sends the EOS event holds the state locks of the pipeline and the
        // source until a sink releases the frame that waits in it. The elements' states are locked, because the pipeline would take
        // them back to PAUSED on its own way to NULL.
        for element in self.pipeline.iterate_sorted().into_iter().flatten() {
            element.set_locked_state(true);
            let _ = element.set_state(gst::State::Null);
        }
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}
