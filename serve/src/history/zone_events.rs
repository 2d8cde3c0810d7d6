//! The events of zones that zonecount puts on frames.

use gst::meta::CustomMeta;
use gst_video::VideoRegionOfInterestMeta;

use super::ZoneEvent;
use crate::output::Rect;

/// zonecount's metadata, which has all events; its messages are limited in their number and can be switched off.
const META: &str = "GstCudaInferZoneMeta";

/// The events of a frame.
pub(super) fn of(frame: &gst::BufferRef) -> Vec<ZoneEvent> {
    let Ok(meta) = CustomMeta::from_buffer(frame, META) else { return Vec::new() };
    let Ok(events) = meta.structure().get::<gst::Array>("events") else { return Vec::new() };
    let event = |value: &gst::glib::SendValue| {
        let event = value.get::<gst::Structure>().ok()?;
        let text = |field: &str| event.get::<String>(field).ok();
        let happened = text("event")?;
        // `in` or `out` for a line.
        let kind = text("direction").filter(|_| happened == "cross").unwrap_or(happened);
        let region = event.get::<i32>("object").ok().and_then(|object| region(frame, object));
        let detection = region.as_ref().and_then(detection);
        Some(ZoneEvent {
            zone: text("zone")?,
            kind,
            class: text("label"),
            track: event.get("track").ok(),
            confidence: detection.and_then(confidence),
            place: detection.and_then(Rect::of),
        })
    };
    events.iter().filter_map(event).collect()
}

type Region<'a> = gst::MetaRef<'a, VideoRegionOfInterestMeta>;

fn region(frame: &gst::BufferRef, object: i32) -> Option<Region<'_>> {
    frame.iter_meta::<VideoRegionOfInterestMeta>().find(|region| region.id() == object)
}

fn detection<'a>(region: &'a Region<'_>) -> Option<&'a gst::StructureRef> {
    region.params().find(|param| param.name() == "detection")
}

fn confidence(detection: &gst::StructureRef) -> Option<f64> {
    detection.get::<f64>("confidence").ok().filter(|confidence| confidence.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_zonecount_writes_is_read_and_what_is_incomplete_is_left_out() {
        gst::init().unwrap();
        if !CustomMeta::is_registered(META) {
            CustomMeta::register_simple(META);
        }
        let mut frame = gst::Buffer::new();
        let buffer = frame.get_mut().unwrap();
        let mut region = VideoRegionOfInterestMeta::add(buffer, "person", (0, 0, 8, 8));
        let detection = gst::Structure::builder("detection").field("confidence", 0.5_f64);
        let detection = detection.field("x", 1.0).field("y", 2.0).field("w", 3.0).field("h", 4.0);
        region.add_param(detection.build());
        region.set_id(7);
        let of_object = |event: &str| {
            gst::Structure::builder("event")
                .field("zone", "gate")
                .field("event", event)
                .field("object", 7)
                .field("track", 3_u64)
                .field("label", "person")
        };
        let events = gst::Array::new([
            of_object("cross").field("direction", "out").build(),
            of_object("enter").field("object", -1).build(),
            gst::Structure::builder("event").field("zone", "yard").field("event", "occupancy").build(),
            gst::Structure::builder("event").field("zone", "yard").build(),
        ]);
        CustomMeta::add(buffer, META).unwrap().mut_structure().set("events", events);
        let event = |zone: &str, kind: &str, confidence| ZoneEvent {
            zone: zone.into(),
            kind: kind.into(),
            class: Some("person".into()),
            track: Some(3),
            confidence,
            place: confidence.map(|_| Rect { x: 1.0, y: 2.0, width: 3.0, height: 4.0 }),
        };
        let occupancy = ZoneEvent { class: None, track: None, ..event("yard", "occupancy", None) };
        assert_eq!(of(&frame), [event("gate", "out", Some(0.5)), event("gate", "enter", None), occupancy]);
        assert_eq!(of(&gst::Buffer::new()), []);
    }
}
