//! The drawing of a frame's objects: the list of primitives.

use cudainfer_kernels::associate::Oriented;
use cudainfer_kernels::draw::{self, MaskInk, MaskOutline, Primitive, color_of};

use super::captions::box_of;
use super::colors::{color, color_of_name};
use super::settings::Settings;
use super::trails::Trails;
use super::widths::Widths;
use crate::meta::mask::{Mask, MaskKind};
use crate::meta::object::{KeypointsParam, Object};

/// The lines of an object's skeleton, each with the name of the point that it leads to.
pub(super) struct Limb {
    ends: [(f32, f32); 2],
    to: String,
}

/// The lines of each object's skeleton.
pub(super) fn limbs(objects: &[Object], settings: &Settings) -> Vec<Vec<Limb>> {
    let of = |points: &KeypointsParam| -> Vec<Limb> {
        let limb = |&[a, b]: &[u32; 2]| {
            let to = points.names.get(usize::try_from(b).ok()?)?.clone();
            Some(Limb { ends: [points.place(a)?, points.place(b)?], to })
        };
        points.edges.iter().filter_map(limb).collect()
    };
    let drawn = |object: &Object| object.keypoints.as_ref().filter(|_| settings.skeleton).map(of);
    objects.iter().map(|object| drawn(object).unwrap_or_default()).collect()
}

/// The outline of a rotated box as a closed line.
pub(super) type Ring = [(f32, f32); 5];

/// The outline of each object's box if it is rotated.
pub(super) fn rings(objects: &[Object], settings: &Settings) -> Vec<Option<Ring>> {
    let ring = |object: &Object| {
        let rect = object.detection.as_ref().filter(|_| settings.boxes && object.angle != 0.0)?.rect;
        let [a, b, c, d] = Oriented { rect, angle: object.angle }.outline_points();
        Some([a, b, c, d, a])
    };
    objects.iter().map(ring).collect()
}

/// How a frame's masks are painted, in their order, each with an outline: classes and probabilities in colours of their own, those
/// of objects in the objects'.
pub(super) fn masks<'a>(
    masks: &'a [Mask],
    objects: &[Object],
    settings: &Settings,
    widths: &Widths,
) -> Vec<draw::Mask<&'a gst::Buffer>> {
    let opacity = (settings.mask_opacity * 255.0).round() as u8;
    let outline = MaskOutline { width: widths.mask(), opacity: u8::MAX };
    let painted = masks.iter().filter(|_| settings.masks && opacity > 0).filter_map(|mask| {
        let ink = match &mask.kind {
            MaskKind::Classes { background, .. } => MaskInk::Classes { background: *background },
            // As the class of a mask with two.
            MaskKind::Alpha { .. } => MaskInk::Cover(color_of(1)),
            MaskKind::Instance { object } => {
                let object = objects.iter().find(|o| o.id == *object)?;
                MaskInk::Solid(color(object))
            }
        };
        let Mask { width, height, rect, ref data, .. } = *mask;
        Some(draw::Mask { data, width, height, rect, ink, opacity, outline, into_alpha: false })
    });
    painted.collect()
}

/// The lines and points of a frame's objects, in the order in which they are drawn.
pub(super) fn primitives<'a>(
    objects: &[Object],
    limbs: &'a [Vec<Limb>],
    rings: &'a [Option<Ring>],
    trails: &'a Trails,
    settings: &Settings,
    widths: &Widths,
) -> Vec<Primitive<'a>> {
    let mut primitives = Vec::new();
    for (id, trail) in trails.in_order() {
        let (points, thickness) = (&trail.points, widths.line());
        primitives.push(Primitive::Polyline { points, thickness, color: color_of(id) });
    }
    // Where several objects have points, and no tracks, colours show which point belongs to which object.
    let several = objects.iter().filter(|object| object.keypoints.is_some()).count() > 1;
    for (place, ((object, limbs), ring)) in (0..).zip(objects.iter().zip(limbs).zip(rings)) {
        let color = color(object);
        let rect = object.detection.as_ref().filter(|_| settings.boxes).map(|detection| detection.rect);
        match (rect, ring) {
            (Some(rect), Some(points)) => {
                primitives.push(Primitive::Polyline { points, thickness: widths.outline(&rect), color });
            }
            (Some(rect), None) => {
                primitives.push(Primitive::Rect { rect, thickness: widths.border(&rect), color });
            }
            _ => {}
        }
        // On a small person, lines and points of the usual width would hide the pose.
        let size = box_of(object).map_or(0.0, |outline| outline.w.max(outline.h));
        let thickness = widths.limb(size);
        let own = match &object.tracking {
            Some(_) => Some(color),
            None => several.then(|| color_of(place)),
        };
        for limb in limbs {
            let color = own.unwrap_or_else(|| color_of_name(&limb.to));
            primitives.push(Primitive::Polyline { points: &limb.ends, thickness, color });
        }
        if let Some(points) = object.keypoints.as_ref().filter(|_| settings.points) {
            for ((name, x), y) in points.names.iter().zip(&points.x).zip(&points.y) {
                let (x, y) = (*x as f32, *y as f32);
                let color = own.unwrap_or_else(|| color_of_name(name));
                primitives.push(Primitive::Disc { x, y, radius: thickness, color });
            }
        }
    }
    primitives
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use cudainfer_kernels::draw::Rgb;

    use super::*;
    use crate::inferoverlay::captions::{labels, place};
    use crate::inferoverlay::lettering::Caption;
    use crate::inferoverlay::shown::shown;
    use crate::meta::object::{ClassificationParam, DetectionParam, TrackingParam, ValuesParam};

    fn fly(tracked: bool) -> Object {
        let rect = Rect { x: 0.0, y: 0.0, w: 40.0, h: 40.0 };
        Object {
            label: "keypoints".into(),
            tracking: tracked.then(|| TrackingParam {
                id: 7,
                age: 1,
                state: "tracked".into(),
                rect,
                ..TrackingParam::default()
            }),
            keypoints: Some(KeypointsParam {
                names: ["head", "thorax", "tail"].map(str::to_owned).to_vec(),
                x: vec![10.0, 20.0, f64::NAN],
                y: vec![30.0, 20.0, 10.0],
                score: vec![1.0; 3],
                edges: vec![[0, 1], [1, 2], [1, 9]],
                ..KeypointsParam::default()
            }),
            ..Object::default()
        }
    }

    /// The colours of the lines that are drawn between head and thorax, and the captions with their places.
    fn drawn(objects: &[Object], settings: &Settings) -> (Vec<Rgb>, Vec<(f32, f32, String)>) {
        let objects = &shown(objects, settings).unwrap()[..];
        let placed = place(objects, settings, [640, 480], &[], |text| Caption::built_in(text, 1));
        let (limbs, rings) = (limbs(objects, settings), rings(objects, settings));
        let (trails, widths) = (Trails::default(), Widths::new(settings, 1080));
        let (mut lines, mut written) = (Vec::new(), Vec::new());
        let primitives = primitives(objects, &limbs, &rings, &trails, settings, &widths);
        for primitive in primitives.into_iter().chain(labels(objects, &placed)) {
            match primitive {
                Primitive::Polyline { points, thickness, color } => {
                    assert_eq!(points, [(10.0, 30.0), (20.0, 20.0)]);
                    assert_eq!(thickness, 1.0, "boxes have 3");
                    lines.push(color);
                }
                Primitive::Disc { radius, .. } => assert_eq!(radius, 1.0, "on a body of 10 pixels"),
                Primitive::Label { x, y, text, .. } => written.push((x, y, text.to_owned())),
                _ => {}
            }
        }
        (lines, written)
    }

    #[test]
    fn a_skeleton_is_drawn_where_both_ends_are_there_in_the_tracks_colour_or_its_own() {
        let settings = Settings::default();
        let none = Vec::<(f32, f32, String)>::new();
        assert_eq!(drawn(&[fly(true)], &settings), (vec![color_of(7)], vec![(10.0, 20.0, "#7".into())]));
        assert_eq!(drawn(&[fly(false)], &settings), (vec![color_of_name("thorax")], none.clone()));
        assert_eq!(
            drawn(&[fly(false), fly(false)], &settings),
            (vec![color_of(0), color_of(1)], none.clone())
        );
        let off = Settings { skeleton: false, ids: false, ..settings.clone() };
        assert_eq!(drawn(&[fly(true)], &off), (vec![], none));
        let tracked = Settings { tracked_only: true, ..settings };
        assert_eq!(drawn(&[fly(false), fly(true)], &tracked).0, [color_of(7)]);
    }

    #[test]
    fn a_rotated_box_is_a_closed_line_through_its_corners() {
        let rect = Rect { x: 10.0, y: 30.0, w: 40.0, h: 20.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
        let angle = std::f32::consts::FRAC_PI_2;
        let objects = [Object { detection, angle, ..Object::default() }];
        let settings = Settings { thickness: 3, ..Settings::default() };
        let rings = rings(&objects, &settings);
        let (limbs, trails) = ([vec![]], Trails::default());
        let widths = Widths::new(&settings, 480);
        let drawn = primitives(&objects, &limbs, &rings, &trails, &settings, &widths);
        let [Primitive::Polyline { points, thickness, color }] = drawn[..] else { panic!("{drawn:?}") };
        assert_eq!((thickness, color), (3.0, color_of(0)));
        // A quarter turn about 30, 40: the first corner, top left, comes to the top right.
        let wanted = [(40.0, 20.0), (40.0, 60.0), (20.0, 60.0), (20.0, 20.0), (40.0, 20.0)];
        for (point, wanted) in points.iter().zip(wanted) {
            assert!((point.0 - wanted.0).abs() + (point.1 - wanted.1).abs() < 1e-4, "{points:?}");
        }
        assert_eq!(points.len(), 5);
        assert!(rings_of(&objects, &Settings { boxes: false, ..settings }).is_none());
    }

    fn rings_of(objects: &[Object], settings: &Settings) -> Option<Ring> {
        rings(objects, settings)[0]
    }

    #[test]
    fn what_a_classifier_says_comes_last() {
        let rect = Rect { x: 3.0, y: 4.0, w: 3.0, h: 4.0 };
        let car = Object {
            label: "car".into(),
            detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 0 }),
            classifications: vec![
                ClassificationParam {
                    labels: vec!["taxi".into(), "van".into()],
                    label_ids: vec![4, 5],
                    confidence: vec![0.8, 0.1],
                    ..ClassificationParam::default()
                },
                ClassificationParam { labels: vec!["red".into()], ..ClassificationParam::default() },
            ],
            ..Object::default()
        };
        let values = ValuesParam {
            names: vec!["doors".into(), "rust".into()],
            values: vec![4.25, 0.0625],
            ..ValuesParam::default()
        };
        let valued = Object { values: vec![values], ..car.clone() };
        let written = |settings: &Settings| drawn(std::slice::from_ref(&car), settings).1;
        assert_eq!(written(&Settings::default()), [(3.0, 24.0, "car 50% taxi red".into())]);
        let (_, captions) = drawn(&[valued], &Settings::default());
        assert_eq!(captions, [(3.0, 24.0, "car 50% taxi red doors 4.2 rust 0.062".into())]);
        assert_eq!(written(&Settings { labels: false, ..Settings::default() }), [(3.0, 24.0, "50%".into())]);
    }
}
