//! Frames that no model sees: those between two that one sees (fusedpreproc's `interval`), and those in which nothing moves (`motion`).
//!
//! fusedpreproc puts the custom meta `GstCudaInferIntervalMeta` on each frame of a stream that has such frames. It says whether the model
//! sees the frame, and, where that sees parts of it only, which. tracker carries objects on to the other frames; fusedpreproc asks whether
//! there is one downstream.

use cudainfer_kernels::geometry::Rect;
use gst::meta::CustomMeta;
use gst::prelude::*;

use crate::strings;

/// The meta's name, and its fields.
const META: &str = "GstCudaInferIntervalMeta";
const KIND: &str = "kind";
const REGIONS: &str = "regions";

/// The name of the query's structure.
const QUERY: &str = "cudainfer-carries";

/// What a frame is, in a stream of which a model does not see all frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IntervalFrame {
    /// Nothing moves, and no model sees it.
    Still,
    /// No model sees it.
    Between,
    /// A model sees it.
    Inferred,
}

/// All of them with the words of the meta.
const KINDS: [(IntervalFrame, &str); 3] = [
    (IntervalFrame::Still, "still"),
    (IntervalFrame::Between, "between"),
    (IntervalFrame::Inferred, "inferred"),
];

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    if !CustomMeta::is_registered(META) {
        CustomMeta::register_simple(META);
    }
}

impl IntervalFrame {
    /// Puts it on a frame. Where there are several models, the one that sees most decides.
    pub fn put(self, frame: &mut gst::BufferRef) {
        let before = Self::of(frame);
        if let Ok(meta) = CustomMeta::from_mut_buffer(frame, META) {
            let _ = meta.remove();
        }
        let now = before.map_or(self, |before| before.max(self));
        let word = KINDS.iter().find(|(kind, _)| *kind == now).map(|(_, word)| *word);
        if let Ok(mut meta) = CustomMeta::add(frame, META) {
            meta.mut_structure().set(KIND, word);
        }
    }

    /// What a frame is; `None` where a model sees all frames.
    pub fn of(frame: &gst::BufferRef) -> Option<Self> {
        let meta = CustomMeta::from_buffer(frame, META).ok()?;
        let word = strings::field(meta.structure(), KIND)?;
        KINDS.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }

    /// Whether no model sees it.
    pub fn is_unseen(self) -> bool {
        self != Self::Inferred
    }
}

/// Notes that a model sees these parts of a frame only, which has its [`IntervalFrame`].
pub(crate) fn put_regions(frame: &mut gst::BufferRef, regions: &[Rect]) {
    if let Ok(mut meta) = CustomMeta::from_mut_buffer(frame, META) {
        let numbers = regions.iter().flat_map(|rect| [rect.x, rect.y, rect.w, rect.h]);
        meta.mut_structure().set(REGIONS, gst::Array::new(numbers));
    }
}

/// The parts of a frame that a model sees, where it does not see all of it.
pub(crate) fn regions(frame: &gst::BufferRef) -> Option<Vec<Rect>> {
    let meta = CustomMeta::from_buffer(frame, META).ok()?;
    let numbers = meta.structure().get::<gst::Array>(REGIONS).ok()?;
    let numbers = numbers.iter().map(|number| number.get::<f32>().ok()).collect::<Option<Vec<_>>>()?;
    let rect = |part: &[f32]| match *part {
        [x, y, w, h] => Some(Rect { x, y, w, h }),
        _ => None,
    };
    numbers.chunks(4).map(rect).collect()
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
    fn of_several_models_the_one_that_sees_most_decides() {
        gst::init().unwrap();
        register();
        let mut frame = gst::Buffer::new();
        let frame = frame.get_mut().unwrap();
        assert_eq!(IntervalFrame::of(frame), None);
        for (put, wanted) in [
            (IntervalFrame::Still, IntervalFrame::Still),
            (IntervalFrame::Between, IntervalFrame::Between),
            (IntervalFrame::Still, IntervalFrame::Between),
            (IntervalFrame::Inferred, IntervalFrame::Inferred),
            (IntervalFrame::Between, IntervalFrame::Inferred),
        ] {
            put.put(frame);
            assert_eq!(IntervalFrame::of(frame), Some(wanted), "{put:?}");
        }
    }

    #[test]
    fn a_frame_says_which_parts_a_model_sees_until_another_sees_all_of_it() {
        gst::init().unwrap();
        register();
        let mut frame = gst::Buffer::new();
        let frame = frame.get_mut().unwrap();
        let parts = [Rect { x: 1.5, y: 2.0, w: 3.0, h: 4.0 }, Rect { x: 5.0, y: 6.0, w: 7.0, h: 8.0 }];
        IntervalFrame::Inferred.put(frame);
        assert_eq!(regions(frame), None);
        put_regions(frame, &parts);
        assert_eq!(regions(frame).unwrap(), parts);
        IntervalFrame::Inferred.put(frame);
        assert_eq!(regions(frame), None);
    }
}
