//! What is drawn of a frame's objects: the list of shapes, and the trails that outlive a frame.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use cudainfer_kernels::draw::{self, MaskInk, Rgb, Shape, color_of, default_scale};

use crate::meta::mask::{Kind, Mask};
use crate::meta::object::Object;

/// What to draw, and how large.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub boxes: bool,
    pub labels: bool,
    pub confidences: bool,
    pub ids: bool,
    pub points: bool,
    pub masks: bool,
    /// How much of the frame a mask hides, 0..1.
    pub mask_opacity: f32,
    /// Draw only detections that belong to a track.
    pub tracked_only: bool,
    /// Frames that a trail shows; 0 draws none.
    pub trail_length: u32,
    /// Pixels; 0 chooses by the frame's height.
    pub thickness: u32,
    /// Multiple of the font's size; 0 chooses by the frame's height.
    pub text_scale: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            boxes: true,
            labels: true,
            confidences: true,
            ids: true,
            points: true,
            masks: true,
            mask_opacity: 0.5,
            tracked_only: false,
            trail_length: 30,
            thickness: 0,
            text_scale: 0,
        }
    }
}

/// The way of a track's foot point.
#[derive(Debug, Default)]
struct Trail {
    points: Vec<(f32, f32)>,
    seen: u64,
}

/// The trails of a stream.
#[derive(Debug, Default)]
pub(super) struct Trails {
    frame: u64,
    trails: HashMap<u64, Trail>,
}

impl Trails {
    /// Whether there is nothing to draw of them until a track comes.
    pub fn is_empty(&self) -> bool {
        self.trails.is_empty()
    }

    /// Takes in a frame's tracks and forgets those that have been gone for as long as a trail lasts.
    pub fn update(&mut self, objects: &[Object], length: u32) {
        let length = u64::from(length);
        self.frame += 1;
        for object in objects {
            let (Some(track), Some(detection)) = (&object.tracking, &object.detection) else { continue };
            let trail = self.trails.entry(track.id).or_default();
            trail.points.push((detection.rect.x + detection.rect.w / 2.0, detection.rect.bottom()));
            // More than one where the length was lowered meanwhile.
            let excess = trail.points.len().saturating_sub(usize::try_from(length).unwrap_or(usize::MAX));
            trail.points.drain(..excess);
            trail.seen = self.frame;
        }
        self.trails.retain(|_, trail| self.frame - trail.seen <= length && length > 0);
    }
}

/// The colour of an object: its track's, else its class's, else its place's.
fn color(object: &Object) -> Rgb {
    if let Some(track) = &object.tracking {
        return color_of(track.id);
    }
    let mut hasher = DefaultHasher::new();
    object.label.hash(&mut hasher);
    color_of(object.detection.as_ref().map_or_else(|| hasher.finish() % 360, |d| d.label_id.into()))
}

/// What is written on each object; empty where nothing is.
pub(super) fn captions(objects: &[Object], settings: &Settings) -> Vec<String> {
    objects.iter().map(|object| caption(object, settings)).collect()
}

fn caption(object: &Object, settings: &Settings) -> String {
    let mut words = Vec::new();
    if let Some(track) = object.tracking.as_ref().filter(|_| settings.ids) {
        words.push(format!("#{}", track.id));
    }
    if settings.labels && object.detection.is_some() {
        words.push(object.label.clone());
    }
    if let Some(detection) = object.detection.as_ref().filter(|_| settings.confidences) {
        words.push(format!("{:.0}%", detection.confidence * 100.0));
    }
    words.join(" ")
}

/// How a frame's masks are painted, in their order: classes and probabilities in colours of their own, those of objects in the
/// objects'.
pub(super) fn masks<'a>(
    masks: &'a [Mask],
    objects: &[Object],
    settings: &Settings,
) -> Vec<draw::Mask<&'a gst::Buffer>> {
    let opacity = (settings.mask_opacity * 255.0).round() as u8;
    let painted = masks.iter().filter(|_| settings.masks && opacity > 0).filter_map(|mask| {
        let ink = match &mask.kind {
            Kind::Classes { background, .. } => MaskInk::Classes { background: *background },
            // As the class of a mask with two.
            Kind::Alpha { .. } => MaskInk::Cover(color_of(1)),
            Kind::Instance { object } => {
                let object = objects.iter().find(|o| o.id == *object)?;
                if settings.tracked_only && object.tracking.is_none() {
                    return None;
                }
                MaskInk::Solid(color(object))
            }
        };
        let Mask { width, height, rect, ref data, .. } = *mask;
        Some(draw::Mask { data, width, height, rect, ink, opacity, into_alpha: false })
    });
    painted.collect()
}

/// The shapes of a frame `height` pixels high, in the order in which they are drawn.
pub(super) fn shapes<'a>(
    objects: &[Object],
    captions: &'a [String],
    trails: &'a Trails,
    settings: &Settings,
    height: usize,
) -> Vec<Shape<'a>> {
    let scale = if settings.text_scale > 0 { settings.text_scale } else { default_scale(height) };
    let thickness = if settings.thickness > 0 {
        settings.thickness
    } else {
        u32::try_from(height / 360).unwrap_or(1).clamp(1, 8)
    };
    let mut shapes = Vec::new();
    let mut ways: Vec<_> = trails.trails.iter().collect();
    ways.sort_unstable_by_key(|(id, _)| **id);
    for (id, trail) in ways {
        shapes.push(Shape::Polyline { points: &trail.points, thickness, color: color_of(*id) });
    }
    for (object, text) in objects.iter().zip(captions) {
        let color = color(object);
        let hidden = settings.tracked_only && object.tracking.is_none();
        if let Some(detection) = object.detection.as_ref().filter(|_| !hidden) {
            let rect = detection.rect;
            if settings.boxes {
                shapes.push(Shape::Rect { rect, thickness, color });
            }
            if !text.is_empty() {
                shapes.push(Shape::Label { x: rect.x, y: rect.y, text, color, scale });
            }
        }
        if let Some(points) = object.keypoints.as_ref().filter(|_| settings.points) {
            let radius = 1.5 * thickness as f32 + 1.5;
            for ((name, x), y) in points.names.iter().zip(&points.x).zip(&points.y) {
                let mut hasher = DefaultHasher::new();
                name.hash(&mut hasher);
                let color = color_of(hasher.finish() % 997);
                shapes.push(Shape::Disc { x: *x as f32, y: *y as f32, radius, color });
            }
        }
    }
    shapes
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{DetectionParam, TrackingParam};

    #[test]
    fn a_trail_is_as_long_as_the_length_says_also_when_that_is_lowered() {
        let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        let object = Object {
            detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 0 }),
            tracking: Some(TrackingParam { id: 7, age: 1, state: "tracked".into(), rect }),
            ..Object::default()
        };
        let mut trails = Trails::default();
        for (length, points) in [(10, 10), (3, 3), (5, 5)] {
            for _ in 0..20 {
                trails.update(std::slice::from_ref(&object), length);
            }
            assert_eq!(trails.trails[&7].points.len(), points);
        }
        trails.update(&[object], 0);
        assert!(trails.trails.is_empty());
    }
}
