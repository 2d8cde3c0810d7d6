//! Frames of a stream for another pipeline, which encodes them: the stream never waits for it.

use std::sync::Mutex;

use gst_app::AppSrc;

use crate::unpoisoned::lock;

/// The `appsrc` that such a pipeline begins with. Frames that it has no time for are dropped, so encoding that is too slow lowers
/// the frame rate; time stamps are those of arrival, since the stream's own begin anew whenever it is restarted.
pub const SOURCE: &str = "appsrc name=frames is-live=true do-timestamp=true format=time max-buffers=3 max-bytes=0 leaky-type=downstream";

/// Draws results on frames of any memory and format. Formats that inferoverlay takes pass videoconvert as they are, with their
/// results; frames of other formats have no results that a conversion could drop, because no network takes them.
pub const DRAW: &str = "cudainferdownload ! videoconvert ! inferoverlay";

/// The elements between [`SOURCE`] and the encoder: they download frames, draw results unless the stream's pipeline has done it,
/// and make sizes even.
pub fn before_encoder(drawn: bool) -> String {
    let frames = if drawn { "cudainferdownload" } else { DRAW };
    format!(
        "! {frames} ! videoconvertscale ! video/x-raw,format=I420,width=[2,8192,2],height=[2,8192,2],pixel-aspect-ratio=1/1"
    )
}

/// The sources of the pipelines that want frames.
#[derive(Debug, Default)]
pub struct Feed(Mutex<Vec<AppSrc>>);

impl Feed {
    /// Pushes frames into `source` from now on, until its pipeline stops.
    pub fn add(&self, source: AppSrc) {
        lock(&self.0).push(source);
    }

    /// Pushes no more frames into `source`.
    pub fn remove(&self, source: &AppSrc) {
        lock(&self.0).retain(|each| each != source);
    }

    /// How many sources get frames.
    pub fn watchers(&self) -> usize {
        lock(&self.0).len()
    }

    /// Pushes a frame with its results, which comes from the end of the stream's pipeline.
    pub fn push(&self, frame: &gst::Buffer, caps: &gst::Caps) {
        let mut sources = lock(&self.0);
        sources.retain(|source| {
            // A source is flushing while its pipeline starts, and returns EOS when it has ended.
            !matches!(push_into(source, frame, caps), Err(gst::FlowError::Eos))
        });
    }
}

/// Pushes a frame of these caps into a source of another pipeline, where it gets the time of its arrival.
pub fn push_into(
    source: &AppSrc,
    frame: &gst::Buffer,
    caps: &gst::Caps,
) -> Result<gst::FlowSuccess, gst::FlowError> {
    let mut frame = frame.clone();
    {
        let frame = frame.make_mut();
        frame.set_pts(gst::ClockTime::NONE);
        frame.set_dts(gst::ClockTime::NONE);
    }
    if source.caps().as_ref() != Some(caps) {
        source.set_caps(Some(caps));
    }
    source.push_buffer(frame)
}
