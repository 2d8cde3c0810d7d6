//! Which colour is whose.

use std::hash::{DefaultHasher, Hash, Hasher};

use cudainfer_kernels::draw::{Rgb, color_of};

use crate::meta::object::Object;

/// The colours of words are among this many first ones: those after them are dark.
const BRIGHT: u64 = 14;

/// The colour of an object: its track's, else its class's, else its label's.
pub(super) fn color(object: &Object) -> Rgb {
    match (&object.tracking, &object.detection) {
        (Some(track), _) => color_of(track.id),
        (None, Some(detection)) => color_of(detection.label_id.into()),
        (None, None) => color_of_name(&object.label),
    }
}

/// A colour for a word, always the same.
pub(super) fn color_of_name(name: &str) -> Rgb {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    color_of(hasher.finish() % BRIGHT)
}
