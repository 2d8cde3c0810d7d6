//! The part of a record that comes from zonecount: `zones` and `events`, and an object's `zones`.

use cudainfer_kernels::zones::{Counts, ZoneKind};
use serde::Serialize;

use super::rounding::pixels;
use super::world::SpeedRecord;
use crate::meta::zone::{Zone, ZoneEvent, ZonesParam, dwell_of, kind_name, motion_in, words};

#[derive(Serialize)]
pub(crate) struct ZoneRecords {
    zones: Vec<ZoneRecord>,
    pub events: Vec<ZoneEventRecord>,
}

#[derive(Serialize)]
struct ZoneRecord {
    name: String,
    kind: &'static str,
    points: Vec<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holes: Vec<Vec<[f64; 2]>>,
    #[serde(flatten)]
    counts: CountsRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_dwell: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_dwell: Option<u64>,
    classes: Vec<ClassCounts>,
}

#[derive(Serialize)]
struct ClassCounts {
    label: String,
    #[serde(flatten)]
    counts: CountsRecord,
}

#[derive(Serialize)]
#[serde(untagged)]
enum CountsRecord {
    Polygon {
        occupancy: u32,
        entered: u64,
        left: u64,
    },
    Line {
        #[serde(rename = "in")]
        inwards: u64,
        #[serde(rename = "out")]
        outwards: u64,
    },
}

#[derive(Serialize)]
pub(crate) struct ZoneEventRecord {
    zone: String,
    event: &'static str,
    /// The `id` that the object's record has in this frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    track: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    /// Ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    dwell: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<SpeedRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occupancy: Option<u32>,
}

#[derive(Serialize)]
pub(crate) struct StayRecord {
    name: String,
    /// Ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    dwell: Option<u64>,
}

fn counts(kind: ZoneKind, counts: &Counts) -> CountsRecord {
    let Counts { occupancy, entered, left, crossed_in, crossed_out } = *counts;
    match kind {
        ZoneKind::Polygon => CountsRecord::Polygon { occupancy, entered, left },
        ZoneKind::Line => CountsRecord::Line { inwards: crossed_in, outwards: crossed_out },
    }
}

impl From<(Vec<Zone>, Vec<ZoneEvent>)> for ZoneRecords {
    fn from((zones, events): (Vec<Zone>, Vec<ZoneEvent>)) -> Self {
        let zone = |zone: Zone| ZoneRecord {
            counts: counts(zone.kind, &zone.counts),
            kind: kind_name(zone.kind),
            points: zone.points.iter().map(|point| point.map(pixels)).collect(),
            holes: zone
                .holes
                .iter()
                .map(|hole| hole.iter().map(|point| point.map(pixels)).collect())
                .collect(),
            longest_dwell: zone.longest_dwell,
            mean_dwell: zone.mean_dwell,
            classes: zone
                .classes
                .into_iter()
                .map(|(label, of_class)| ClassCounts { label, counts: counts(zone.kind, &of_class) })
                .collect(),
            name: zone.name,
        };
        let event = |event: ZoneEvent| {
            let (name, cause, direction) = words(&event.what);
            ZoneEventRecord {
                event: name,
                object: event.object,
                track: event.track,
                label: event.track.map(|_| event.label),
                cause,
                direction,
                dwell: dwell_of(&event.what),
                speed: motion_in(&event.what).map(SpeedRecord::from),
                occupancy: (event.kind == ZoneKind::Polygon).then_some(event.occupancy),
                zone: event.zone,
            }
        };
        Self { zones: zones.into_iter().map(zone).collect(), events: events.into_iter().map(event).collect() }
    }
}

/// The zones that an object is in.
pub(super) fn stays(zones: ZonesParam) -> Vec<StayRecord> {
    zones.names.into_iter().zip(zones.dwell).map(|(name, dwell)| StayRecord { name, dwell }).collect()
}
