//! What is written on an object, and where.

use cudainfer_kernels::ground::Motion;

use super::settings::Settings;
use crate::meta::object::Object;

/// Where an object's caption goes: its box's corner (of a rotated box, that of the upright one around it), else, where there is something to write, its highest point.
pub(super) fn caption_at(object: &Object) -> Option<(f32, f32)> {
    if let Some(outline) = object.detected_outline() {
        return Some((outline.x, outline.y));
    }
    let points = object.keypoints.as_ref()?;
    let count = u32::try_from(points.y.len()).ok()?;
    (0..count).filter_map(|i| points.place(i)).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The text on each object; empty where there is none.
pub(super) fn captions(objects: &[Object], settings: &Settings) -> Vec<String> {
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
}
