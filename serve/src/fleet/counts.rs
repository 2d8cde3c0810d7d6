//! What the zones of all streams have counted.

use std::collections::BTreeMap;

use gst::prelude::*;
use serde::{Deserialize, Serialize};

use super::Fleet;
use crate::unpoisoned::lock;

/// The counts of a zone since its stream was started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ZoneCounts {
    /// The zone's name.
    pub zone: String,
    /// `polygon` or `line`.
    pub kind: String,
    /// Objects that are in a polygon now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<u64>,
    /// Objects that have come into a polygon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entered: Option<u64>,
    /// Objects that have left it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// Objects that have crossed a line in the direction of its arrow.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub inwards: Option<u64>,
    /// And in the other one.
    #[serde(rename = "out", skip_serializing_if = "Option::is_none")]
    pub outwards: Option<u64>,
}

impl Fleet {
    /// The counts of all zones, by stream; streams without a zonecount have none.
    pub fn counts(&self) -> BTreeMap<String, Vec<ZoneCounts>> {
        let streams: Vec<_> = lock(&self.0.streams).values().cloned().collect();
        let counts = streams.into_iter().filter_map(|stream| {
            let counters = stream.built()?.description.counters();
            let counts: Vec<_> = counters.iter().flat_map(zones).filter_map(|zone| read(&zone)).collect();
            (!counters.is_empty()).then(|| (stream.spec().name().to_owned(), counts))
        });
        counts.collect()
    }
}

/// The zones of a zonecount with their counts. It has none before its first frame.
pub(super) fn zones(counter: &gst::Element) -> Vec<gst::Structure> {
    let counts = counter.property::<Option<gst::Structure>>("counts");
    counts.map_or_else(Vec::new, |counts| structures(&counts, "zones"))
}

/// The structures in an array.
pub(super) fn structures(of: &gst::StructureRef, field: &str) -> Vec<gst::Structure> {
    let array = of.get::<gst::ArrayRef<'_>>(field);
    array.map_or_else(|_| Vec::new(), |array| array.iter().filter_map(|value| value.get().ok()).collect())
}

fn read(zone: &gst::Structure) -> Option<ZoneCounts> {
    let number = |name| {
        let narrow = || zone.get::<u32>(name).ok().map(u64::from);
        zone.get::<u64>(name).ok().or_else(narrow)
    };
    Some(ZoneCounts {
        zone: zone.get("name").ok()?,
        kind: zone.get("kind").ok()?,
        occupancy: number("occupancy"),
        entered: number("entered"),
        left: number("left"),
        inwards: number("in"),
        outwards: number("out"),
    })
}
