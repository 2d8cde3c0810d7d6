//! A frame's line: what docs/schema.md describes. A change here is a new version of the schema.

use serde::Serialize;

use crate::meta::object::Object;
use cudainfer_kernels::geometry::Rect;

/// The schema's name and version.
pub(super) const SCHEMA: &str = "cudainfer.frame/1";

#[derive(Serialize)]
pub(super) struct Record {
    pub schema: &'static str,
    /// Counts from 0 since the stream's start.
    pub frame: u64,
    /// Presentation time in ns.
    pub pts: Option<u64>,
    pub width: u32,
    pub height: u32,
    pub objects: Vec<ObjectRecord>,
}

#[derive(Serialize)]
pub(super) struct ObjectRecord {
    pub id: i32,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub rect: Option<BoxRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<TrackRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keypoints: Option<Vec<KeypointRecord>>,
}

#[derive(Serialize)]
pub(super) struct BoxRecord {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

#[derive(Serialize)]
pub(super) struct TrackRecord {
    pub id: u64,
    pub age: u32,
    pub state: String,
    #[serde(rename = "box")]
    pub rect: BoxRecord,
}

#[derive(Serialize)]
pub(super) struct KeypointRecord {
    pub name: String,
    pub x: f64,
    pub y: f64,
    pub score: f64,
}

/// Pixels to a hundredth and probabilities to a ten-thousandth: more is noise, and the lines stay short.
fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

fn pixels(value: impl Into<f64>) -> f64 {
    round(value.into(), 100.0)
}

fn score(value: impl Into<f64>) -> f64 {
    round(value.into(), 10_000.0)
}

impl From<&Rect> for BoxRecord {
    fn from(rect: &Rect) -> Self {
        Self { x: pixels(rect.x), y: pixels(rect.y), w: pixels(rect.w), h: pixels(rect.h) }
    }
}

impl From<Object> for ObjectRecord {
    fn from(object: Object) -> Self {
        let detection = object.detection.as_ref();
        Self {
            id: object.id,
            label_id: detection.map(|d| d.label_id),
            confidence: detection.map(|d| score(d.confidence)),
            rect: detection.map(|d| (&d.rect).into()),
            track: object.tracking.map(|t| TrackRecord {
                id: t.id,
                age: t.age,
                rect: (&t.rect).into(),
                state: t.state,
            }),
            keypoints: object.keypoints.map(|k| {
                let points = k.names.into_iter().zip(k.x).zip(k.y).zip(k.score);
                points
                    .map(|(((name, x), y), s)| KeypointRecord {
                        name,
                        x: pixels(x),
                        y: pixels(y),
                        score: score(s),
                    })
                    .collect()
            }),
            label: object.label,
        }
    }
}
