//! Which of a frame's objects the next model gets, and what is cut out for them.

use std::collections::HashMap;

use cudainfer_kernels::geometry::Rect;

use super::crop::{Crop, Cutout, Extent};
use crate::meta::object::{KeypointsParam, Object};
use crate::streams::PerStream;

/// Regions of a frame at most. Objects beyond are left out, and counted.
pub(super) const MOST: usize = 1024;

/// Which objects, and how much around them.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Labels of the objects to take; empty takes all.
    pub classes: Vec<String>,
    /// Frame pixels that an object's box must be wide and high.
    pub min_size: f32,
    /// Frames that an object is not looked at between two that it is.
    pub interval: u64,
    pub extent: Extent,
}

/// When a stream's objects were last looked at.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Frames so far.
    count: u64,
    /// By identity, the frame.
    looked_at: HashMap<u64, u64>,
}

impl PerStream for Turns {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

impl Turns {
    /// Whether an object's turn has come: one with an identity when it is seen first and then as often as the rules say, others
    /// in the same frames.
    fn is_due(&mut self, object: &Object, interval: u64) -> bool {
        let now = self.count;
        let Some(track) = object.tracking.as_ref().filter(|_| interval > 0) else {
            return now.is_multiple_of(interval.saturating_add(1));
        };
        let due = self.looked_at.get(&track.id).is_none_or(|at| now - at > interval);
        if due {
            self.looked_at.insert(track.id, now);
        }
        due
    }
}

/// Chooses frame by frame.
#[derive(Debug)]
pub(super) struct Chooser {
    rules: Rules,
    crop: Crop,
}

impl Chooser {
    pub fn new(rules: Rules, crop: Crop) -> Self {
        Self { rules, crop }
    }

    /// The objects of the next frame to look at, by `id`, and what is cut out for them. Also how many others there are that
    /// should be looked at, but have no region in the frame, or no room.
    pub fn choose(&self, objects: &[Object], turns: &mut Turns) -> (Vec<(i32, Cutout)>, usize) {
        let Rules { classes, min_size, interval, extent } = &self.rules;
        let (mut regions, mut skipped) = (Vec::new(), 0);
        for object in objects {
            let Some(rect) = outline(object) else { continue };
            let wanted = classes.is_empty() || classes.contains(&object.label);
            if !wanted || rect.w < *min_size || rect.h < *min_size || !turns.is_due(object, *interval) {
                continue;
            }
            match self.crop.cut(rect, object.angle, *extent).filter(|_| regions.len() < MOST) {
                Some(region) => regions.push((object.id, region)),
                None => skipped += 1,
            }
        }
        // Those that are gone would be looked at again at once anyway.
        let now = turns.count;
        turns.looked_at.retain(|_, at| now - *at <= *interval);
        turns.count += 1;
        (regions, skipped)
    }
}

/// An object's box: its detector's, else the one around its points.
fn outline(object: &Object) -> Option<Rect> {
    object
        .detection
        .as_ref()
        .map(|d| d.rect)
        .or_else(|| object.keypoints.as_ref().and_then(KeypointsParam::outline))
}
