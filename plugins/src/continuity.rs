//! Whether the frames of a stream go on from those before: for elements whose results depend on the frame before.

use gst::ClockTime;

/// How far the begin of a segment may be from the end of the last frame before it, if it continues what came before.
const TOLERANCE: ClockTime = ClockTime::from_mseconds(100);

/// What a stream had so far.
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    caps: Option<gst::Caps>,
    segment: Option<gst::Segment>,
    /// The stream time at which its last frame ended.
    end: Option<ClockTime>,
}

impl Continuity {
    /// Takes an event in. Returns why what follows does not continue what came before: the caps are others, or a segment begins somewhere
    /// else. A funnel repeats a stream's events at each of its turns, which changes nothing.
    pub fn see(&mut self, event: &gst::EventRef) -> Option<&'static str> {
        match event.view() {
            gst::EventView::Caps(caps) => {
                let last = self.caps.replace(caps.caps_owned());
                let ends = last.is_some() && last != self.caps;
                ends.then_some("its caps have changed")
            }
            gst::EventView::Segment(event) => {
                let next = event.segment();
                let ends = self.segment.as_ref().is_some_and(|last| !continues(last, self.end, next));
                self.segment = Some(next.clone());
                ends.then_some("a segment does not continue where its last frame ended")
            }
            _ => None,
        }
    }

    /// Takes a frame in.
    pub fn see_frame(&mut self, frame: &gst::BufferRef) {
        let segment = self.segment.as_ref().and_then(|segment| segment.downcast_ref::<ClockTime>());
        let end = frame.pts().map(|pts| pts.saturating_add(frame.duration().unwrap_or_default()));
        self.end = segment.and_then(|segment| segment.to_stream_time(end));
    }

    /// The stream was flushed, or another one begins.
    pub fn forget(&mut self) {
        // After a flush, the caps are not sent again, unless they are others.
        *self = Self { caps: self.caps.take(), ..Self::default() };
    }
}

/// Whether a segment is the last one again, or begins in stream time where the last frame ended.
fn continues(last: &gst::Segment, end: Option<ClockTime>, next: &gst::Segment) -> bool {
    let [last, next] = [last, next].map(|segment| segment.downcast_ref::<ClockTime>());
    let Some((last, next)) = last.zip(next) else { return false };
    let begin = |segment: &gst::FormattedSegment<ClockTime>| {
        (segment.rate(), segment.start(), segment.time(), segment.base())
    };
    if begin(last) == begin(next) {
        return true;
    }
    let forward = last.rate() > 0.0 && next.rate() > 0.0;
    let at = next.to_stream_time(next.start()).zip(end);
    forward && at.is_some_and(|(begin, end)| begin.max(end) - begin.min(end) <= TOLERANCE)
}
