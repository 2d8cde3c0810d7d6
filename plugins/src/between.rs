//! Frames between two that a model sees, where fusedpreproc's `interval` leaves them out.
//!
//! While an interval is set, fusedpreproc puts the custom meta `GstCudaInferIntervalMeta` on each frame, which says whether the model
//! sees it. tracker carries objects on to the frames between; fusedpreproc asks whether there is one downstream.

use gst::meta::CustomMeta;
use gst::prelude::*;

/// The meta's name, and its field.
const META: &str = "GstCudaInferIntervalMeta";
const BETWEEN: &str = "between";

/// The name of the query's structure.
const QUERY: &str = "cudainfer-carries";

/// What a frame is where an interval is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntervalFrame {
    /// A model sees it.
    Inferred,
    /// No model sees it.
    Between,
}

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    if !CustomMeta::is_registered(META) {
        CustomMeta::register_simple(META);
    }
}

impl IntervalFrame {
    /// Puts it on a frame. A frame that one of several models sees is no frame between.
    pub fn put(self, frame: &mut gst::BufferRef) {
        let before = Self::of(frame);
        if let Ok(meta) = CustomMeta::from_mut_buffer(frame, META) {
            let _ = meta.remove();
        }
        let between = self == Self::Between && before != Some(Self::Inferred);
        if let Ok(mut meta) = CustomMeta::add(frame, META) {
            meta.mut_structure().set(BETWEEN, between);
        }
    }

    /// What a frame is; `None` without an interval.
    pub fn of(frame: &gst::BufferRef) -> Option<Self> {
        let meta = CustomMeta::from_buffer(frame, META).ok()?;
        let between = meta.structure().get::<bool>(BETWEEN).ok()?;
        Some(if between { Self::Between } else { Self::Inferred })
    }
}

/// Whether an element downstream of `src` carries objects on.
pub(crate) fn are_carried(src: &gst::Pad) -> bool {
    src.peer_query(&mut gst::query::Custom::new(gst::Structure::new_empty(QUERY)))
}

/// Whether this query is that of [`are_carried`].
pub(crate) fn is_asked(query: &gst::QueryRef) -> bool {
    query.structure().is_some_and(|structure| structure.name() == QUERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_one_of_two_models_sees_is_none_between() {
        gst::init().unwrap();
        register();
        let mut frame = gst::Buffer::new();
        let frame = frame.get_mut().unwrap();
        assert_eq!(IntervalFrame::of(frame), None);
        IntervalFrame::Between.put(frame);
        assert_eq!(IntervalFrame::of(frame), Some(IntervalFrame::Between));
        IntervalFrame::Inferred.put(frame);
        assert_eq!(IntervalFrame::of(frame), Some(IntervalFrame::Inferred));
        IntervalFrame::Between.put(frame);
        assert_eq!(IntervalFrame::of(frame), Some(IntervalFrame::Inferred));
    }
}
