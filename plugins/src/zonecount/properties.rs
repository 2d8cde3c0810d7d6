//! The properties, as gst-inspect shows them.

use gst::glib;
use gst::prelude::*;

use super::settings::Settings;
use super::{Anchor, Units};
use crate::stats;

/// How long `patience` may be: an hour. What is remembered grows with it.
const MOST_PATIENCE: u64 = 3_600_000_000_000;

/// The property that names a file.
pub(super) const FILE: &str = "zones-file";

pub(super) fn list() -> Vec<glib::ParamSpec> {
    let defaults = Settings::default();
    let text = |name: &str, nick: &str, blurb: &str| {
        glib::ParamSpecString::builder(name).nick(nick).blurb(blurb).mutable_playing().build()
    };
    let flag = |name: &str, nick: &str, blurb: &str, default: bool| {
        let spec = glib::ParamSpecBoolean::builder(name).nick(nick).blurb(blurb).default_value(default);
        spec.mutable_playing().build()
    };
    vec![
        text(
            "zones",
            "Zones and lines",
            "Zones as NAME=KIND:POINTS, separated by semicolons, as in \
             door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570. Options follow the points, separated by colons: \
             classes=person,car, anchor=center, and dwell=SECONDS and occupancy=NUMBER, at which there is an event",
        ),
        text(FILE, "Zones file", "TOML file with the zones, instead of the property zones"),
        glib::ParamSpecEnum::builder::<Units>("units")
            .nick("Units of the points")
            .blurb("Units of the points' coordinates, unless the zones file sets them")
            .mutable_playing()
            .build(),
        glib::ParamSpecEnum::builder::<Anchor>("anchor")
            .nick("Anchor point")
            .blurb("Point of an object's box that must be in a zone or cross a line, unless the zone sets another")
            .mutable_playing()
            .build(),
        glib::ParamSpecUInt::builder("min-frames")
            .nick("Minimum frames")
            .blurb("Number of consecutive frames that an object must be on the other side of a line or an outline to have crossed it")
            .minimum(1)
            .maximum(1000)
            .default_value(defaults.min_frames)
            .mutable_playing()
            .build(),
        glib::ParamSpecDouble::builder("margin")
            .nick("Jitter margin")
            .blurb(
                "Minimum distance beyond a line, or outside a polygon, at which an object has crossed or left it, as a \
                 fraction of the longer side of its box",
            )
            .minimum(0.0)
            .maximum(1.0)
            .default_value(defaults.margin)
            .mutable_playing()
            .build(),
        glib::ParamSpecUInt64::builder("patience")
            .nick("Patience")
            .blurb("Time in nanoseconds that an object which is not detected is kept where it was last, before it leaves its zones")
            .maximum(MOST_PATIENCE)
            .default_value(defaults.patience)
            .mutable_playing()
            .build(),
        flag(
            "untracked",
            "Count untracked objects",
            "Also count objects without an identity in the occupancy of polygons, in each frame by itself",
            defaults.untracked,
        ),
        flag(
            "messages",
            "Post messages",
            "Post each event as an element message called zonecount-event",
            defaults.messages,
        ),
        glib::ParamSpecUInt::builder("max-messages")
            .nick("Maximum messages")
            .blurb(
                "Maximum number of messages per second, 0 for no limit. The field dropped of the next message has the number \
                 of those that were not posted. Metadata has all events",
            )
            .default_value(defaults.max_messages)
            .mutable_playing()
            .build(),
        glib::ParamSpecBoxed::builder::<gst::Structure>("counts")
            .nick("Counts of the zones")
            .blurb(
                "Counts of all zones since the start of the current stream: an array zones of structures, as in the metadata. \
                 In READY those of the last run",
            )
            .read_only()
            .build(),
        stats::param_spec(
            ", objects that were examined, untracked: objects without an identity, events, and dropped-messages: events that \
             were not posted because of max-messages",
        ),
    ]
}

/// Sets the property `name`; [`FILE`] is set where it is read.
pub(super) fn set(settings: &mut Settings, name: &str, value: &glib::Value) {
    let text = || value.get::<Option<String>>().ok().flatten().filter(|text| !text.is_empty());
    match name {
        "zones" => settings.zones = text(),
        "units" => settings.units = value.get().unwrap_or_default(),
        "anchor" => settings.anchor = value.get().unwrap_or_default(),
        "min-frames" => settings.min_frames = value.get().unwrap_or(settings.min_frames),
        "margin" => settings.margin = value.get().unwrap_or(settings.margin),
        "patience" => settings.patience = value.get().unwrap_or(settings.patience),
        "untracked" => settings.untracked = value.get().unwrap_or_default(),
        "messages" => settings.messages = value.get().unwrap_or_default(),
        "max-messages" => settings.max_messages = value.get().unwrap_or(settings.max_messages),
        _ => (),
    }
}

/// The property `name`, if it is one of the settings.
pub(super) fn get(settings: &Settings, name: &str) -> Option<glib::Value> {
    Some(match name {
        "zones" => settings.zones.to_value(),
        FILE => settings.zones_file.as_ref().map(|file| file.path.clone()).to_value(),
        "units" => settings.units.to_value(),
        "anchor" => settings.anchor.to_value(),
        "min-frames" => settings.min_frames.to_value(),
        "margin" => settings.margin.to_value(),
        "patience" => settings.patience.to_value(),
        "untracked" => settings.untracked.to_value(),
        "messages" => settings.messages.to_value(),
        "max-messages" => settings.max_messages.to_value(),
        _ => return None,
    })
}
