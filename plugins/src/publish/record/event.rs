//! The record of one event of zonecount.

use serde::Serialize;

use super::{Head, ObjectRecord, ZoneEventRecord};

/// An event, and the object that it is of.
#[derive(Serialize)]
pub(crate) struct EventRecord<'a> {
    #[serde(flatten)]
    pub head: &'a Head<'a>,
    pub event: &'a ZoneEventRecord,
    /// Where it is in this frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<&'a ObjectRecord>,
}
