//! Files at whose end nobody says that nothing was found.
//!
//! While decodebin tries out an element, it keeps that one's errors for itself (gst_decode_bin_handle_message in gstdecodebin2.c,
//! the list `filtered`). A demuxer reads the file in a thread of its own as soon as it is in PAUSED. If it has found the end of a
//! file that was cut off before decodebin is through with it, its error is lost, and the pipeline waits forever: of 200 such files,
//! one in three with GStreamer 1.22, and some with 1.26.

use gst::prelude::*;

/// How many times in a row the demuxer must be seen so while no message comes, which leaves an error time to come as it should.
const TIMES: u32 = 20;

/// Watches for a demuxer that has ended without a stream.
#[derive(Debug, Default)]
pub struct SilentEnd {
    seen: u32,
}

impl SilentEnd {
    /// Whether a demuxer has stopped reading, has no stream, and nothing was heard of it for long enough.
    pub fn check(&mut self, pipeline: &gst::Pipeline) -> bool {
        let ended = pipeline.iterate_recurse().into_iter().flatten().any(|element| has_ended(&element));
        self.seen = if ended { self.seen + 1 } else { 0 };
        self.seen >= TIMES
    }
}

fn has_ended(element: &gst::Element) -> bool {
    let is_demuxer = |element: &gst::Element| {
        let class = element.factory().and_then(|factory| factory.metadata("klass").map(str::to_owned));
        class.is_some_and(|class| class.split('/').any(|word| word == "Demuxer"))
    };
    // A task is paused at its end, and stopped before its begin.
    let paused = |pad: &gst::Pad| pad.task_state() == gst::TaskState::Paused;
    element.src_pads().is_empty() && element.sink_pads().iter().any(paused) && is_demuxer(element)
}
