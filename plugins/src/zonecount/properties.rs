//! The properties, as gst-inspect shows them. All can be set while frames flow.

use std::sync::LazyLock;

use gst::glib;
use gst::prelude::*;

use super::settings::Settings;
use crate::property::{Property, Table, property};
use crate::stats;

/// How long `patience` may be: an hour. The memory that it needs grows with it.
const MOST_PATIENCE: u64 = 3_600_000_000_000;

/// The property that names a file.
pub(super) const FILE: &str = "zones-file";

/// All properties. Those that are read-only are answered by the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new(
        [
            property!(
                Settings,
                zones,
                (),
                "Zones",
                "Zones as NAME=line:X1,Y1,X2,Y2 or NAME=polygon:X1,Y1,X2,Y2,X3,Y3..., separated by semicolons. Options follow \
                 the points, separated by colons: classes=person,car, anchor=center, inertia=FRAMES, hole=X1,Y1,X2,Y2,X3,Y3..., and \
                 dwell=SECONDS, loitering=SECONDS, occupancy=NUMBER, min-speed=M/S and max-speed=M/S, at which there is an event. Speeds need \
                 ground=plane:X1,Y1,X2,Y2,X3,Y3,X4,Y4:metres=WIDTH,LENGTH, the corners of a rectangle on the ground. \
                 Example: door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570. none counts nothing until zones are set",
            ),
            property!(
                Settings,
                zones_file,
                (),
                "Zones file",
                "Path of a TOML file with the zones and, in [ground], where the ground is, from which speeds are measured; set either \
                 this or zones",
            ),
            property!(
                Settings,
                units,
                (),
                "Units",
                "Units of the zones' coordinates, if the file does not specify them",
            ),
            property!(
                Settings,
                anchor,
                (),
                "Anchor",
                "Point of an object's box that counts, if its zone does not specify one",
            ),
            property!(
                Settings,
                min_frames,
                1..=1000,
                "Minimum frames",
                "Consecutive frames on the other side of a line or outline after which an object has crossed it, if its zone's inertia \
                 does not say otherwise",
            ),
            property!(
                Settings,
                margin,
                0.0..=1.0,
                "Margin",
                "Distance beyond a line, or outside a polygon, that an object must reach to have crossed or left, as a \
                 fraction of the longer side of its box",
            ),
            property!(
                Settings,
                patience,
                0..=MOST_PATIENCE,
                "Patience",
                "Time in nanoseconds for which an object that is not seen keeps its place; after that, it leaves its zones",
            ),
            property!(
                Settings,
                untracked,
                (),
                "Count untracked",
                "Include objects without an identity in the occupancy of polygons, frame by frame",
            ),
            property!(
                Settings,
                messages,
                (),
                "Post messages",
                "Post an element message zonecount-event for each event",
            ),
            property!(
                Settings,
                max_messages,
                0..=u32::MAX,
                "Maximum messages",
                "Maximum number of messages per second; 0 is unlimited. The field dropped of the next message counts those \
                 left out; metadata always has all events",
            ),
        ]
        .map(Property::playing),
    )
    .with([
        glib::ParamSpecBoxed::builder::<gst::Structure>("counts")
            .nick("Counts")
            .blurb(
                "Counts of the zones since the start of the current stream: an array zones of structures, as in the \
                 metadata. Can still be read in READY",
            )
            .read_only()
            .build(),
        stats::param_spec(
            "; objects, untracked (objects without an identity), events, dropped-messages (events not posted because of \
             max-messages), forgotten-streams (times a stream began anew because more than 256 take turns)",
        ),
    ])
});
