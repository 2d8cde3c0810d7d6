//! Zones on a video buffer: the untagged custom meta `GstCudaInferZoneMeta`, and the parameter `zones` of objects.
//!
//! The meta's `GstStructure` can be read from any language (`gst_buffer_get_custom_meta`). It has two fields, each a
//! `GstValueArray` of structures:
//!
//! | `zones` | type | what it is |
//! |---|---|---|
//! | `name`, `kind` | string | the zone's name; `polygon` or `line` |
//! | `x`, `y` | arrays of double | the outline, or the line's ends, in pixels of the frame |
//! | `holes` | array of structure | of a polygon that has some: their outlines, each with `x` and `y` |
//! | `occupancy` | uint | of a polygon: objects that are in it |
//! | `entered`, `left` | uint64 | of a polygon: objects that came and went since the stream's start |
//! | `longest-dwell`, `mean-dwell` | uint64 | of a polygon from which objects have gone: how long they were in it, in ns |
//! | `in`, `out` | uint64 | of a line: crossings from its left to its right, and back |
//! | `classes` | array of structure | the same counts for each class, with its `label` |
//!
//! | `events` | type | what it is |
//! |---|---|---|
//! | `zone`, `kind` | string | the zone's name; `polygon` or `line` |
//! | `event` | string | `enter`, `leave`, `cross`, `dwell`, `loiter`, `speed` or `occupancy` |
//! | `object` | int | `id` of the region of interest in this frame, -1 if there is none |
//! | `track` | uint64 | the object's identity; not with `occupancy` |
//! | `label` | string | its class; not with `occupancy` |
//! | `cause` | string | of `enter`: `moved` or `appeared`; of `leave`: `moved` or `vanished`; of `occupancy`: `reached` or `fell` |
//! | `direction` | string | of `cross`: `in` or `out` |
//! | `dwell` | uint64 | of `leave` (where times are known), `dwell` and `loiter`: how long it was inside, in ns |
//! | `speed`, `speed-deviation`, `speed-direction` | double | of `speed`: see [`super::world`] |
//! | `occupancy` | uint | of a polygon: objects in it after the event |
//!
//! An object's `zones` has `names` (array of string), the polygons that it is in, and `dwell` (array of uint64), how long it has
//! been in each, in ns, or `GST_CLOCK_TIME_NONE`.

use cudainfer_kernels::ground::Motion;
use cudainfer_kernels::zones::{Counts, Direction, EventKind, Totals, ZoneKind};
use gst::prelude::*;

use super::list;
use super::world::{motion_of, set_motion};
use crate::strings;

/// The meta's name.
pub const NAME: &str = "GstCudaInferZoneMeta";

// Its fields.
const ZONES: &str = "zones";
const EVENTS: &str = "events";

/// Registers the meta; called once, when the plugin loads.
pub fn register() {
    list::register(NAME);
}

/// A zone, and what it has counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// The zone's name.
    pub name: String,
    /// The zone's kind.
    pub kind: ZoneKind,
    /// The outline, or the line's ends, in pixels of the frame.
    pub points: Vec<[f64; 2]>,
    /// The outlines of a polygon's holes, likewise.
    pub holes: Vec<Vec<[f64; 2]>>,
    /// The counts of all objects.
    pub counts: Counts,
    /// The counts by class.
    pub classes: Vec<(String, Counts)>,
    /// The longest visit that has ended, in ns.
    pub longest_dwell: Option<u64>,
    /// The mean of the ended visits, in ns.
    pub mean_dwell: Option<u64>,
}

/// What happened in a zone in this frame.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneEvent {
    /// The zone's name.
    pub zone: String,
    /// The zone's kind.
    pub kind: ZoneKind,
    /// The kind of event.
    pub what: EventKind,
    /// The object in this frame.
    pub object: Option<i32>,
    /// The object's identity.
    pub track: Option<u64>,
    /// The object's class.
    pub label: String,
    /// Objects in the polygon after the event.
    pub occupancy: u32,
}

/// The polygons that an object is in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZonesParam {
    /// Their names.
    pub names: Vec<String>,
    /// How long it has been in each, in ns.
    pub dwell: Vec<Option<u64>>,
}

/// The word for a kind.
pub fn kind_name(kind: ZoneKind) -> &'static str {
    match kind {
        ZoneKind::Polygon => "polygon",
        ZoneKind::Line => "line",
    }
}

/// What happened, in words: the event, its cause and its direction.
pub fn words(what: &EventKind) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    match what {
        EventKind::Enter { appeared } => ("enter", Some(if *appeared { "appeared" } else { "moved" }), None),
        EventKind::Leave { vanished, .. } => {
            ("leave", Some(if *vanished { "vanished" } else { "moved" }), None)
        }
        EventKind::Cross(Direction::In) => ("cross", None, Some("in")),
        EventKind::Cross(Direction::Out) => ("cross", None, Some("out")),
        EventKind::Dwell { .. } => ("dwell", None, None),
        EventKind::Loiter { .. } => ("loiter", None, None),
        EventKind::Speed(_) => ("speed", None, None),
        EventKind::Occupancy { reached } => {
            ("occupancy", Some(if *reached { "reached" } else { "fell" }), None)
        }
    }
}

/// How long the object was inside, in ns, if the event has it.
pub fn dwell_of(what: &EventKind) -> Option<u64> {
    match what {
        EventKind::Leave { dwell, .. } => *dwell,
        EventKind::Dwell { dwell } | EventKind::Loiter { dwell } => Some(*dwell),
        _ => None,
    }
}

/// How the object moved, if the event has it.
pub fn motion_in(what: &EventKind) -> Option<Motion> {
    match what {
        EventKind::Speed(motion) => Some(*motion),
        _ => None,
    }
}

/// The counts of a zone of this kind, as fields.
pub fn set_counts(s: &mut gst::StructureRef, kind: ZoneKind, counts: &Counts) {
    match kind {
        ZoneKind::Polygon => {
            s.set("occupancy", counts.occupancy);
            s.set("entered", counts.entered);
            s.set("left", counts.left);
        }
        ZoneKind::Line => {
            s.set("in", counts.crossed_in);
            s.set("out", counts.crossed_out);
        }
    }
}

fn counts_of(s: &gst::StructureRef) -> Counts {
    let number = |name| s.get::<u64>(name).unwrap_or(0);
    Counts {
        occupancy: s.get::<u32>("occupancy").unwrap_or(0),
        entered: number("entered"),
        left: number("left"),
        crossed_in: number("in"),
        crossed_out: number("out"),
    }
}

impl Zone {
    /// A zone without holes, with what has been counted.
    pub fn new(name: &str, kind: ZoneKind, points: &[[f64; 2]], totals: &Totals) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            points: points.to_vec(),
            holes: Vec::new(),
            counts: totals.all,
            classes: totals.classes.iter().map(|(label, counts)| (label.to_string(), *counts)).collect(),
            longest_dwell: totals.longest_dwell,
            mean_dwell: totals.mean_dwell(),
        }
    }

    /// As the meta and the property `counts` show it.
    pub fn to_structure(&self) -> gst::Structure {
        let axis = |points: &[[f64; 2]], i: usize| gst::Array::new(points.iter().map(|p| p[i]));
        let hole = |points: &Vec<[f64; 2]>| {
            let s = gst::Structure::builder("hole").field("x", axis(points, 0)).field("y", axis(points, 1));
            s.build().to_send_value()
        };
        let class = |(label, counts): &(String, Counts)| {
            let mut s = gst::Structure::builder("class").field("label", label.as_str()).build();
            set_counts(&mut s, self.kind, counts);
            s.to_send_value()
        };
        let mut s = gst::Structure::builder("zone")
            .field("name", self.name.as_str())
            .field("kind", kind_name(self.kind))
            .field("x", axis(&self.points, 0))
            .field("y", axis(&self.points, 1))
            .field_if("holes", gst::Array::from_values(self.holes.iter().map(hole)), !self.holes.is_empty())
            .field_if_some("longest-dwell", self.longest_dwell)
            .field_if_some("mean-dwell", self.mean_dwell)
            .field("classes", gst::Array::from_values(self.classes.iter().map(class)))
            .build();
        set_counts(&mut s, self.kind, &self.counts);
        s
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let points = |s: &gst::StructureRef| -> Option<Vec<[f64; 2]>> {
            let axis = |name| -> Option<Vec<f64>> {
                s.get::<gst::ArrayRef>(name).ok()?.iter().map(|v| v.get::<f64>().ok()).collect()
            };
            Some(axis("x")?.into_iter().zip(axis("y")?).map(|(x, y)| [x, y]).collect())
        };
        let class = |s: &gst::StructureRef| Some((strings::field(s, "label")?, counts_of(s)));
        let classes = s.get::<gst::ArrayRef>("classes");
        let holes = s.get::<gst::ArrayRef>("holes");
        Some(Self {
            name: strings::field(s, "name")?,
            kind: match &*strings::field(s, "kind")? {
                "polygon" => ZoneKind::Polygon,
                "line" => ZoneKind::Line,
                _ => return None,
            },
            points: points(s)?,
            holes: holes.map_or_else(|_| Vec::new(), |all| structures(&all).filter_map(points).collect()),
            counts: counts_of(s),
            classes: classes.map_or_else(|_| Vec::new(), |all| structures(&all).filter_map(class).collect()),
            longest_dwell: s.get::<u64>("longest-dwell").ok(),
            mean_dwell: s.get::<u64>("mean-dwell").ok(),
        })
    }
}

impl ZoneEvent {
    /// The event's name in the meta and in the element's messages.
    pub fn to_structure(&self, name: &str) -> gst::Structure {
        let (event, cause, direction) = words(&self.what);
        let of_object = self.track.map(|_| self.label.as_str());
        let mut s = gst::Structure::builder(name)
            .field("zone", self.zone.as_str())
            .field("kind", kind_name(self.kind))
            .field("event", event)
            .field("object", self.object.unwrap_or(-1))
            .field_if_some("track", self.track)
            .field_if_some("label", of_object)
            .field_if_some("cause", cause)
            .field_if_some("direction", direction)
            .field_if_some("dwell", dwell_of(&self.what))
            .field_if_some("occupancy", (self.kind == ZoneKind::Polygon).then_some(self.occupancy))
            .build();
        if let Some(motion) = motion_in(&self.what) {
            set_motion(&mut s, &motion);
        }
        s
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let is = |field, word| strings::field(s, field).is_some_and(|found| found == word);
        let dwell = s.get::<u64>("dwell").ok();
        let what = match &*strings::field(s, "event")? {
            "enter" => EventKind::Enter { appeared: is("cause", "appeared") },
            "leave" => EventKind::Leave { vanished: is("cause", "vanished"), dwell },
            "cross" => EventKind::Cross(if is("direction", "in") { Direction::In } else { Direction::Out }),
            "dwell" => EventKind::Dwell { dwell: dwell? },
            "loiter" => EventKind::Loiter { dwell: dwell? },
            "speed" => EventKind::Speed(motion_of(s)?),
            "occupancy" => EventKind::Occupancy { reached: is("cause", "reached") },
            _ => return None,
        };
        Some(Self {
            zone: strings::field(s, "zone")?,
            kind: if is("kind", "line") { ZoneKind::Line } else { ZoneKind::Polygon },
            what,
            object: s.get::<i32>("object").ok().filter(|id| *id >= 0),
            track: s.get::<u64>("track").ok(),
            label: strings::field(s, "label").unwrap_or_default(),
            occupancy: s.get::<u32>("occupancy").unwrap_or(0),
        })
    }
}

impl ZonesParam {
    pub(super) fn append(&mut self, mut other: Self) {
        self.names.append(&mut other.names);
        self.dwell.append(&mut other.dwell);
    }

    pub(super) fn to_structure(&self) -> gst::Structure {
        gst::Structure::builder("zones")
            .field("names", gst::Array::new(self.names.iter().map(String::as_str)))
            .field("dwell", gst::Array::new(self.dwell.iter().map(|dwell| dwell.unwrap_or(u64::MAX))))
            .build()
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let names = strings::list(s, "names")?;
        let dwell = s.get::<gst::ArrayRef>("dwell").ok()?;
        let dwell = dwell.iter().map(|v| v.get::<u64>().ok().filter(|dwell| *dwell != u64::MAX));
        Some(Self { names, dwell: dwell.collect() })
    }
}

fn structures<'a>(array: &'a gst::ArrayRef<'_>) -> impl Iterator<Item = &'a gst::StructureRef> {
    array.iter().filter_map(|v| v.get::<&gst::StructureRef>().ok())
}

/// Adds zones and events to those that a buffer carries.
pub fn put(buffer: &mut gst::BufferRef, zones: &[Zone], events: &[ZoneEvent]) {
    list::extend(buffer, NAME, ZONES, zones.iter().map(Zone::to_structure));
    list::extend(buffer, NAME, EVENTS, events.iter().map(|event| event.to_structure("event")));
}

/// Whether a buffer carries zones.
pub fn any(buffer: &gst::BufferRef) -> bool {
    list::is_there(buffer, NAME)
}

/// The zones on a buffer and this frame's events, in the order in which they were put there; none where no zonecount
/// was in the pipeline.
pub fn zones(buffer: &gst::BufferRef) -> Option<(Vec<Zone>, Vec<ZoneEvent>)> {
    let zones = list::read(buffer, NAME, ZONES, Zone::from_structure)?;
    let events = list::read(buffer, NAME, EVENTS, ZoneEvent::from_structure);
    Some((zones, events.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{Object, TrackingParam, add_zones, objects};

    #[test]
    fn zones_and_events_come_back_as_they_were_put_also_from_a_copy_and_from_two_elements() {
        gst::init().unwrap();
        register();
        let counts = Counts { occupancy: 1, entered: 3, left: 2, ..Counts::default() };
        let yard = Zone {
            name: "yard".into(),
            kind: ZoneKind::Polygon,
            points: vec![[0.5, 1.0], [9.0, 1.0], [9.0, 8.0]],
            holes: vec![vec![[5.0, 2.0], [6.0, 2.0], [6.0, 3.0]], vec![[7.0, 2.0], [8.0, 2.0], [8.0, 3.0]]],
            counts,
            classes: vec![("person".into(), counts)],
            longest_dwell: Some(7),
            mean_dwell: Some(5),
        };
        let counts = Counts { crossed_in: 4, crossed_out: 1, ..Counts::default() };
        let door = Zone {
            name: "door".into(),
            kind: ZoneKind::Line,
            points: vec![[0.0, 1.0], [2.0, 3.0]],
            holes: vec![],
            counts,
            classes: vec![],
            longest_dwell: None,
            mean_dwell: None,
        };
        let event = |kind, what, object, track| ZoneEvent {
            zone: "yard".into(),
            kind,
            what,
            object,
            track,
            label: if track.is_some() { "person".into() } else { String::new() },
            occupancy: u32::from(kind == ZoneKind::Polygon),
        };
        let fast = Motion { speed: 12.5, deviation: 0.5, direction: Some(45.0) };
        let events = [
            event(ZoneKind::Polygon, EventKind::Enter { appeared: true }, Some(0), Some(1)),
            event(ZoneKind::Polygon, EventKind::Enter { appeared: false }, Some(0), Some(1)),
            event(ZoneKind::Polygon, EventKind::Leave { vanished: true, dwell: None }, None, Some(u64::MAX)),
            event(ZoneKind::Polygon, EventKind::Leave { vanished: false, dwell: Some(8) }, Some(2), Some(3)),
            event(ZoneKind::Polygon, EventKind::Dwell { dwell: 9 }, Some(2), Some(3)),
            event(ZoneKind::Polygon, EventKind::Loiter { dwell: 10 }, Some(2), Some(3)),
            event(ZoneKind::Polygon, EventKind::Speed(fast), Some(2), Some(3)),
            event(ZoneKind::Polygon, EventKind::Occupancy { reached: true }, None, None),
            event(ZoneKind::Polygon, EventKind::Occupancy { reached: false }, None, None),
        ];
        let crossings = [Direction::In, Direction::Out]
            .map(|d| event(ZoneKind::Line, EventKind::Cross(d), Some(0), Some(1)));
        let mut buffer = gst::Buffer::new();
        assert_eq!(zones(&buffer), None);
        put(buffer.get_mut().unwrap(), std::slice::from_ref(&yard), &events);
        let copy = buffer.copy();
        put(buffer.get_mut().unwrap(), std::slice::from_ref(&door), &crossings);
        let all: Vec<_> = events.iter().chain(&crossings).cloned().collect();
        assert_eq!(zones(&buffer), Some((vec![yard.clone(), door], all)));
        assert_eq!(zones(&copy), Some((vec![yard], events.to_vec())), "the copy has its own");
    }

    #[test]
    fn an_object_is_in_the_zones_of_all_elements_in_the_line() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let rect = cudainfer_kernels::geometry::Rect::default();
        let tracking =
            Some(TrackingParam { id: 1, state: "tracked".into(), rect, ..TrackingParam::default() });
        for _ in 0..2 {
            Object { tracking: tracking.clone(), ..Object::default() }.put(buffer, &rect);
        }
        let param = |name: &str, dwell| ZonesParam { names: vec![name.into()], dwell: vec![dwell] };
        add_zones(buffer, [None, Some(param("a", Some(5)))]);
        add_zones(buffer, [None, Some(param("b", None))]);
        let found: Vec<_> = objects(buffer).into_iter().map(|o| o.zones).collect();
        let both = ZonesParam { names: vec!["a".into(), "b".into()], dwell: vec![Some(5), None] };
        assert_eq!(found, [None, Some(both)]);
    }
}
