//! Whether a frame's results, or a message of the pipeline, begin a recording.

use gst_video::VideoRegionOfInterestMeta;

use crate::config::Trigger;

/// The time and the cause of a zone's event that is recorded.
pub fn in_message(triggers: &[Trigger], message: &gst::MessageRef) -> Option<(u64, String)> {
    let event = message.structure().filter(|structure| structure.name() == "zonecount-event")?;
    let zone = event.get::<&str>("zone").ok()?;
    let wanted = triggers.iter().any(|trigger| match trigger {
        Trigger::Zone(None) => true,
        Trigger::Zone(Some(name)) => name == zone,
        Trigger::Object(_) => false,
    });
    let at = event.get::<Option<gst::ClockTime>>("pts").ok()??.nseconds();
    wanted.then(|| (at, format!("zone {zone}")))
}

/// The class of an object on the frame that is recorded.
pub fn in_frame(triggers: &[Trigger], frame: &gst::BufferRef) -> Option<String> {
    let classes = triggers.iter().filter_map(|trigger| match trigger {
        Trigger::Object(class) => Some(class.as_str()),
        Trigger::Zone(_) => None,
    });
    for class in classes {
        if frame.iter_meta::<VideoRegionOfInterestMeta>().any(|region| region.roi_type() == class) {
            return Some(format!("object {class}"));
        }
    }
    None
}
