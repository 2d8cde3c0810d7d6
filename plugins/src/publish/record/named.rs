//! Objects that the records of others name.

use serde::Serialize;

use crate::meta::object::Object;

/// An object that another's record names: in whose region that was found, or which is the nearest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct NamedRecord {
    id: i32,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    track: Option<u64>,
}

impl From<&Object> for NamedRecord {
    fn from(object: &Object) -> Self {
        let track = object.tracking.as_ref().map(|tracking| tracking.id);
        Self { id: object.id, label: object.label.clone(), track }
    }
}
