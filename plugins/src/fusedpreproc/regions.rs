//! Which of a frame's objects the next model gets, and where their regions are.

use std::collections::HashMap;

use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::{Fit, Part, Resize, as_mmpose, part, region};

use crate::meta::object::{KeypointsParam, Object};
use crate::model::enums::tensor::RoiCrop;
use crate::streams::PerStream;

/// Regions of a frame at most. Objects beyond are left out, and counted.
const MOST: usize = 1024;

/// Which objects, and how much around them.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Labels of the objects to take; empty takes all.
    pub classes: Vec<String>,
    /// Frame pixels that an object's box must be wide and high.
    pub min_size: f32,
    /// Frames that an object is not looked at between two that it is.
    pub interval: u64,
    /// Factor on the box's width and height.
    pub padding: f32,
    /// Frame pixels of the tensor's longer side, whatever the object's size; 0 goes by its box.
    pub size: u32,
    pub resize: Resize,
    /// Of [`Resize::CenterCrop`]: how much of the box's middle is shown, from 0 to 1.
    pub crop_ratio: f32,
    pub crop: RoiCrop,
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
    /// Width and height of the tensor.
    tensor: [usize; 2],
    /// Width and height of the frame.
    frame: [usize; 2],
}

impl Chooser {
    pub fn new(rules: Rules, tensor: [usize; 2], frame: [usize; 2]) -> Self {
        Self { rules, tensor, frame }
    }

    /// The objects of the next frame to look at, by `id`, and where the tensor's pixels lie in the frame. Also how many others
    /// there are that should be looked at, but have no region in the frame, or no room.
    pub fn choose(&self, objects: &[Object], turns: &mut Turns) -> (Vec<(i32, Affine)>, usize) {
        self.choose_by(objects, turns, |rect, angle| self.region(rect, angle))
    }

    /// The same, and the parts of the frame that are cut out, in whole pixels.
    pub fn choose_parts(&self, objects: &[Object], turns: &mut Turns) -> (Vec<(i32, Part)>, usize) {
        self.choose_by(objects, turns, |rect, angle| self.part(rect, angle))
    }

    fn choose_by<T>(
        &self,
        objects: &[Object],
        turns: &mut Turns,
        place: impl Fn(Rect, f32) -> Option<T>,
    ) -> (Vec<(i32, T)>, usize) {
        let interval = self.rules.interval;
        let (mut regions, mut skipped) = (Vec::new(), 0);
        for object in objects {
            let Some(rect) = outline(object) else { continue };
            let Rules { classes, min_size, .. } = &self.rules;
            let wanted = classes.is_empty() || classes.contains(&object.label);
            if !wanted || rect.w < *min_size || rect.h < *min_size || !turns.is_due(object, interval) {
                continue;
            }
            match place(rect, object.angle).filter(|_| regions.len() < MOST) {
                Some(region) => regions.push((object.id, region)),
                None => skipped += 1,
            }
        }
        // Those that are gone would be looked at again at once anyway.
        let now = turns.count;
        turns.looked_at.retain(|_, at| now - *at <= interval);
        turns.count += 1;
        (regions, skipped)
    }

    fn region(&self, rect: Rect, angle: f32) -> Option<Affine> {
        let Rules { padding, size, resize, .. } = self.rules;
        let (rect, fit) = match resize {
            _ if size > 0 => (rect, Fit::Fixed(size as f32)),
            Resize::Letterbox => (rect, Fit::Letterbox),
            Resize::LetterboxTopLeft => (rect, Fit::LetterboxTopLeft),
            Resize::Stretch => (rect, Fit::Stretch),
            Resize::CenterCrop => (self.middle(rect), Fit::Letterbox),
        };
        let map = region(rect, angle, padding, fit, self.tensor, self.frame)?;
        Some(match self.rules.crop {
            RoiCrop::Mmpose => as_mmpose(&map, false, self.tensor),
            RoiCrop::MmposeUdp => as_mmpose(&map, true, self.tensor),
            RoiCrop::Auto | RoiCrop::Box | RoiCrop::Pixels => map,
        })
    }

    /// The upright box around a turned one, in whole pixels.
    fn part(&self, Rect { x, y, w, h }: Rect, angle: f32) -> Option<Part> {
        let Rules { padding, size, .. } = self.rules;
        let (sin, cos) = (angle.sin().abs(), angle.cos().abs());
        let (wide, high) = if size > 0 {
            let [width, height] = self.tensor.map(|side| side as f32);
            let scale = size as f32 / width.max(height);
            (width * scale, height * scale)
        } else if angle == 0.0 {
            (w * padding, h * padding)
        } else {
            ((cos * w + sin * h) * padding, (sin * w + cos * h) * padding)
        };
        let around = Rect { x: x + (w - wide) / 2.0, y: y + (h - high) / 2.0, w: wide, h: high };
        part(around, 1.0, self.frame)
    }

    /// The largest part of a box, around its centre, that has the tensor's aspect ratio.
    fn middle(&self, Rect { x, y, w, h }: Rect) -> Rect {
        let [width, height] = self.tensor.map(|side| side as f32);
        let scale = (w / width).min(h / height);
        let scale = scale * self.rules.crop_ratio;
        let (inner_w, inner_h) = (width * scale, height * scale);
        Rect { x: x + (w - inner_w) / 2.0, y: y + (h - inner_h) / 2.0, w: inner_w, h: inner_h }
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
