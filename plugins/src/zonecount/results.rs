//! What the counter has found, as metadata has it: with names and ids instead of indices.

use cudainfer_kernels::zones::{Counter, GroundPosition};
use gst::prelude::*;

use crate::meta::object::Object;
use crate::meta::world::{NearestParam, WorldParam};
use crate::meta::zone::{Zone, ZoneEvent, ZonesParam};

/// All zones with what they have counted.
pub(super) fn zones(counter: &Counter) -> Vec<Zone> {
    let zones = counter.params().zones.iter().enumerate();
    let zone = |(i, zone): (usize, &cudainfer_kernels::zones::Zone)| {
        let holes = counter.holes(i).to_vec();
        Some(Zone { holes, ..Zone::new(&zone.name, zone.kind, counter.points(i), counter.totals(i)?) })
    };
    zones.filter_map(zone).collect()
}

pub(super) fn counts(counter: &Counter) -> gst::Structure {
    let zones = zones(counter).into_iter().map(|zone| zone.to_structure().to_send_value());
    gst::Structure::builder("counts").field("zones", gst::Array::from_values(zones)).build()
}

/// The events and the objects' zones with names instead of numbers.
pub(super) fn named(counter: &Counter, objects: &[Object]) -> (Vec<ZoneEvent>, Vec<Option<ZonesParam>>) {
    let (zone, report) = (|i: usize| &counter.params().zones[i], counter.report());
    let event = |event: &cudainfer_kernels::zones::Event| ZoneEvent {
        zone: zone(event.zone).name.clone(),
        kind: zone(event.zone).kind,
        what: event.what,
        object: event.object.and_then(|i| objects.get(i)).map(|object| object.id),
        track: event.id,
        label: event.label.to_string(),
        occupancy: event.occupancy,
    };
    let stays = report.stays.iter().map(|stays| {
        (!stays.is_empty()).then(|| ZonesParam {
            names: stays.iter().map(|stay| zone(stay.zone).name.clone()).collect(),
            dwell: stays.iter().map(|stay| stay.dwell).collect(),
        })
    });
    (report.events.iter().map(event).collect(), stays.collect())
}

/// Where the objects are in the world, with ids instead of indices.
pub(super) fn places(counter: &Counter, objects: &[Object]) -> Vec<Option<WorldParam>> {
    let place = |position: GroundPosition| WorldParam {
        at: position.at,
        motion: position.motion,
        nearest: position.nearest.and_then(|nearest| {
            Some(NearestParam { object: objects.get(nearest.object)?.id, distance: nearest.distance })
        }),
    };
    counter.report().positions.iter().map(|position| position.map(place)).collect()
}
