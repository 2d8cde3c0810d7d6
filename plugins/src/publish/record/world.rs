//! The part of an object's record that says where it is in the world.

use std::collections::HashMap;

use cudainfer_kernels::ground::Motion;
use serde::Serialize;

use super::named::NamedRecord;
use super::rounding::{degrees, metres};
use crate::meta::world::NearestParam;

/// A speed, in m/s.
#[derive(Serialize)]
pub(crate) struct SpeedRecord {
    value: f64,
    /// Its standard deviation.
    deviation: f64,
    /// Degrees from the x axis towards the y axis; none where the object may as well stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<f64>,
}

/// The nearest other object.
#[derive(Serialize)]
pub(crate) struct NearestRecord {
    #[serde(flatten)]
    object: NamedRecord,
    /// Metres.
    distance: f64,
}

impl From<Motion> for SpeedRecord {
    fn from(motion: Motion) -> Self {
        Self {
            value: metres(motion.speed),
            deviation: metres(motion.deviation),
            direction: motion.direction.map(degrees),
        }
    }
}

impl NearestRecord {
    /// Among the frame's `named` objects.
    pub fn of(nearest: NearestParam, named: &HashMap<i32, NamedRecord>) -> Option<Self> {
        let object = named.get(&nearest.object)?.clone();
        Some(Self { object, distance: metres(nearest.distance) })
    }
}
