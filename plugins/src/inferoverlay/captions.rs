//! What is written on objects, and where.

use cudainfer_kernels::draw::Primitive;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::ground::Motion;

use super::colors::color;
use super::lettering::Caption;
use super::placement::{Place, Wish, arrange};
use super::settings::Settings;
use crate::meta::object::Object;

/// The box that an object's caption is placed at: the detector's (of a rotated box, the upright one around it), else the one
/// around its points.
pub(super) fn box_of(object: &Object) -> Option<Rect> {
    object.detected_outline().or_else(|| object.keypoints.as_ref()?.outline())
}

/// A caption at its place on a frame.
#[derive(Debug)]
pub(super) struct Placed {
    caption: Caption,
    corner: (f32, f32),
    object: usize,
}

/// The captions of the objects at their places on a frame of this size, so that they leave each other and the labels that are
/// `fixed` alone: where there is no room, as "person +2". The oldest track chooses first, so that labels stay where they are.
pub(super) fn place(
    objects: &[Object],
    settings: &Settings,
    frame: [usize; 2],
    fixed: &[Rect],
    mut write: impl FnMut(String) -> Caption,
) -> Vec<Placed> {
    let texts = captions(objects, settings);
    let mut written: Vec<_> = texts.iter().map(|text| write(text.clone())).collect();
    let wishes: Vec<_> = objects
        .iter()
        .zip(&written)
        .map(|(object, caption)| Wish {
            at: box_of(object),
            size: caption.size(),
            rank: object.tracking.as_ref().map_or(u64::MAX, |track| track.id),
        })
        .collect();
    let places = arrange(&wishes, fixed, frame, |label, joined| {
        let Some(text) = texts.get(label) else { return [0, 0] };
        let caption = write(format!("{text} +{joined}"));
        let size = caption.size();
        if let Some(written) = written.get_mut(label) {
            *written = caption;
        }
        size
    });
    let placed = (0..).zip(places).zip(written);
    placed
        .filter_map(|((object, place), caption)| {
            let Place { corner, .. } = place?;
            Some(Placed { caption, corner, object })
        })
        .collect()
}

/// The labels of captions on these objects, in the objects' colours.
pub(super) fn labels<'a>(objects: &'a [Object], placed: &'a [Placed]) -> impl Iterator<Item = Primitive<'a>> {
    placed
        .iter()
        .filter_map(|Placed { caption, corner, object }| caption.label(*corner, color(objects.get(*object)?)))
}

/// The text on each object; empty where there is none.
fn captions(objects: &[Object], settings: &Settings) -> Vec<String> {
    objects.iter().map(|object| caption(object, settings)).collect()
}

fn caption(object: &Object, settings: &Settings) -> String {
    let mut words = Vec::new();
    if let Some(track) = object.tracking.as_ref().filter(|_| settings.ids) {
        words.push(format!("#{}", track.id));
    }
    if let Some(identity) = object.identity.as_ref().filter(|_| settings.labels) {
        words.push(identity.name.clone());
        if settings.confidences {
            words.push(format!("{:.2}", identity.score));
        }
    }
    if settings.labels && object.detection.is_some() {
        words.push(object.label.clone());
    }
    if let Some(detection) = object.detection.as_ref().filter(|_| settings.confidences) {
        let carried = object.tracking.as_ref().is_some_and(|track| track.state == "carried");
        // An estimate, where no model has looked.
        let about = if carried { "~" } else { "" };
        words.push(format!("{about}{:.0}%", detection.confidence * 100.0));
    }
    // A speed that is not sure yet would jump about.
    let motion = object.world.as_ref().and_then(|world| world.motion).filter(Motion::is_sure);
    words.extend(motion.and_then(|motion| settings.speed_unit.text(motion.speed)));
    if settings.labels {
        words.extend(object.classifications.iter().filter_map(|classes| classes.labels.first().cloned()));
    }
    if settings.labels {
        let values = object.values.iter().flat_map(|values| values.names.iter().zip(&values.values));
        words.extend(values.map(|(name, value)| format!("{name} {}", short(*value))));
    }
    words.join(" ")
}

/// With a tenth, or three digits below 1.
fn short(value: f64) -> String {
    if value.abs() < 1.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;
    use cudainfer_kernels::ground::SpeedUnit;

    use super::*;
    use crate::meta::object::{DetectionParam, TrackingParam};
    use crate::meta::world::WorldParam;

    #[test]
    fn a_speed_is_written_in_its_unit_when_it_is_sure() {
        let rect = Rect { x: 0.0, y: 0.0, w: 9.0, h: 9.0 };
        let car = |deviation| {
            let motion = Some(Motion { speed: 13.9, deviation, direction: None });
            Object {
                label: "car".into(),
                detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 2 }),
                tracking: Some(TrackingParam { id: 7, ..TrackingParam::default() }),
                world: Some(WorldParam { at: [0.0; 2], motion, nearest: None }),
                ..Object::default()
            }
        };
        let text = |speed_unit, deviation| {
            let settings = Settings { speed_unit, ..Settings::default() };
            captions(&[car(deviation)], &settings).remove(0)
        };
        assert_eq!(text(SpeedUnit::KilometresPerHour, 0.3), "#7 car 50% 50 km/h");
        assert_eq!(text(SpeedUnit::MetresPerSecond, 0.3), "#7 car 50% 13.9 m/s");
        assert_eq!(text(SpeedUnit::MilesPerHour, 0.3), "#7 car 50% 31 mph");
        assert_eq!(text(SpeedUnit::None, 0.3), "#7 car 50%");
        assert_eq!(text(SpeedUnit::KilometresPerHour, 5.0), "#7 car 50%");
    }

    #[test]
    fn captions_of_a_crowd_are_counted_on_one_of_it() {
        let rect = Rect { x: 100.0, y: 100.0, w: 40.0, h: 60.0 };
        let person = |id| Object {
            label: "person".into(),
            detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 0 }),
            tracking: Some(TrackingParam { id, ..TrackingParam::default() }),
            ..Object::default()
        };
        let crowd: Vec<_> = (0..20).rev().map(person).collect();
        let settings = Settings { confidences: false, ..Settings::default() };
        let write = |text| Caption::built_in(text, 1);
        let placed = place(&crowd, &settings, [640, 480], &[], write);
        let texts: Vec<_> = labels(&crowd, &placed)
            .map(|label| match label {
                Primitive::Label { text, .. } => text.to_owned(),
                _ => panic!("{label:?}"),
            })
            .collect();
        let counted: usize =
            texts.iter().filter_map(|text| text.split_once('+')?.1.parse::<usize>().ok()).sum();
        assert_eq!(texts.len() + counted, 20, "{texts:?}");
        assert!(texts.iter().any(|text| text.starts_with("#0 person +")), "the oldest track: {texts:?}");
    }
}
