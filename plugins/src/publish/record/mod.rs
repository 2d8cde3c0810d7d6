//! The records, as docs/schema.md describes them. A change here is a new version of the schema.

use std::collections::HashMap;

use cudainfer_kernels::geometry::Rect;
use serde::Serialize;

mod head;
mod identity;
mod maps;
mod named;
mod rounding;
mod track;
mod world;
mod zones;

pub(crate) use head::Head;
use identity::IdentityRecord;
pub(crate) use maps::MapRecord;
pub(crate) use named::NamedRecord;
pub(crate) use rounding::score;
use rounding::{metres, number, pixels};
pub(crate) use track::TrackEndRecord;
use world::{NearestRecord, SpeedRecord};
use zones::{StayRecord, stays};
pub(crate) use zones::{ZoneEventRecord, ZoneRecords};

use super::changes::Change;
use crate::meta::object::{ClassificationParam, EmbeddingParam, KeypointsParam, Object, ValuesParam};

/// What is written of a frame.
#[derive(Serialize)]
pub(crate) struct FrameRecord<'a> {
    #[serde(flatten)]
    pub head: &'a Head<'a>,
    /// What has changed since the frame before, where only such frames are written.
    #[serde(skip_serializing_if = "<[Change]>::is_empty")]
    pub changes: &'a [Change],
    pub objects: &'a [ObjectRecord],
    #[serde(skip_serializing_if = "<[MapRecord]>::is_empty")]
    pub maps: &'a [MapRecord],
    #[serde(flatten)]
    pub zones: Option<&'a ZoneRecords>,
}

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

#[derive(Serialize)]
pub(crate) struct ObjectRecord {
    pub id: i32,
    pub label: String,
    /// The object in whose region it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<NamedRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub rect: Option<DetectedRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<TrackRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keypoints: Option<Vec<KeypointRecord>>,
    /// Pairs of places in `keypoints`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<[usize; 2]>,
    /// Of all keypoints together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<Vec<ClassRecord>>,
    /// All classifications, the first of which is `classification`, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classifications: Vec<ClassificationRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub embeddings: Vec<EmbeddingRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<StayRecord>>,
    /// Where it is, in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<SpeedRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<NearestRecord>,
}

/// A detector's box.
#[derive(Serialize)]
pub(crate) struct DetectedRecord {
    #[serde(flatten)]
    pub rect: BoxRecord,
    /// By how much it is rotated about its centre, in radians, clockwise; none where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub angle: Option<f64>,
}

#[derive(Clone, Copy, Serialize)]
pub(crate) struct BoxRecord {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

#[derive(Serialize)]
pub(crate) struct TrackRecord {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub age: u32,
    pub hits: u32,
    pub state: String,
    #[serde(rename = "box")]
    pub rect: BoxRecord,
    pub velocity: VelocityRecord,
}

#[derive(Serialize)]
pub(crate) struct VelocityRecord {
    pub x: f64,
    pub y: f64,
}

#[derive(Serialize)]
pub(crate) struct KeypointRecord {
    pub name: String,
    pub x: f64,
    pub y: f64,
    pub score: f64,
    /// Its depth, where the model gives three coordinates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct ClassificationRecord {
    pub model: String,
    pub output: String,
    pub classes: Vec<ClassRecord>,
}

#[derive(Serialize)]
pub(crate) struct ValueRecord {
    pub name: String,
    pub value: f64,
    pub model: String,
    pub output: String,
    /// Found in an earlier frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

#[derive(Serialize)]
pub(crate) struct EmbeddingRecord {
    pub model: String,
    pub output: String,
    pub normalized: bool,
    pub values: Vec<f32>,
}

#[derive(Clone, Serialize)]
pub(crate) struct ClassRecord {
    pub label: String,
    pub label_id: u32,
    pub confidence: f64,
    /// Found in an earlier frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl DetectedRecord {
    /// The upright box around it.
    pub fn outline(&self) -> BoxRecord {
        let BoxRecord { x, y, w, h } = self.rect;
        let (sin, cos) = self.angle.unwrap_or(0.0).sin_cos();
        let [wide, high] = [w * cos.abs() + h * sin.abs(), w * sin.abs() + h * cos.abs()];
        let [x, y] = [x + (w - wide) / 2.0, y + (h - high) / 2.0].map(pixels);
        BoxRecord { x, y, w: pixels(wide), h: pixels(high) }
    }

    fn new(rect: &Rect, angle: f32) -> Self {
        // None where it is not a number, which JSON has no word for.
        let angle = Some(score(angle)).filter(|angle| *angle != 0.0 && angle.is_finite());
        Self { rect: rect.into(), angle }
    }
}

impl From<&Rect> for BoxRecord {
    fn from(rect: &Rect) -> Self {
        Self { x: pixels(rect.x), y: pixels(rect.y), w: pixels(rect.w), h: pixels(rect.h) }
    }
}

/// The points that are numbers, and the edges between them.
fn points(from: KeypointsParam) -> (Vec<KeypointRecord>, Vec<[usize; 2]>) {
    let mut places = Vec::with_capacity(from.names.len());
    let mut listed = Vec::with_capacity(from.names.len());
    let points = from.names.into_iter().zip(from.x).zip(from.y).zip(from.score);
    for (i, (((name, x), y), s)) in points.enumerate() {
        let known = x.is_finite() && y.is_finite() && s.is_finite();
        places.push(known.then_some(listed.len()));
        if known {
            let z = from.z.get(i).copied().filter(|z| z.is_finite()).map(pixels);
            listed.push(KeypointRecord { name, x: pixels(x), y: pixels(y), score: score(s), z });
        }
    }
    let place = |index: u32| places.get(usize::try_from(index).ok()?).copied().flatten();
    let edges = from.edges.into_iter().filter_map(|[a, b]| Some([place(a)?, place(b)?])).collect();
    (listed, edges)
}

fn classes(from: ClassificationParam) -> Vec<ClassRecord> {
    let held = from.held;
    let classes = from.labels.into_iter().zip(from.label_ids).zip(from.confidence);
    let classes = classes.filter(|(_, confidence)| confidence.is_finite());
    classes
        .map(|((label, label_id), c)| ClassRecord { label, label_id, confidence: score(c), held })
        .collect()
}

/// The values that are finite, which JSON can write.
fn values(from: ValuesParam) -> impl Iterator<Item = ValueRecord> {
    let ValuesParam { model, output, names, values, held } = from;
    let finite = names.into_iter().zip(values).filter(|(_, value)| value.is_finite());
    finite.map(move |(name, value)| {
        let (model, output) = (model.clone(), output.clone());
        ValueRecord { name, value: number(value), model, output, held }
    })
}

/// None of which the memory cannot be read or a number is not finite, which JSON cannot write.
fn embedding(from: EmbeddingParam) -> Option<EmbeddingRecord> {
    let mut values = Vec::with_capacity(from.length());
    from.read(&mut values).ok()?;
    let EmbeddingParam { model, output, normalized, .. } = from;
    values.iter().all(|v| v.is_finite()).then_some(EmbeddingRecord { model, output, normalized, values })
}

impl ObjectRecord {
    /// Of an object, with its embeddings if they should be written, among those of the frame that records name.
    pub fn of(mut object: Object, embeddings: bool, named: &HashMap<i32, NamedRecord>) -> Self {
        let vectors = std::mem::take(&mut object.embeddings);
        let parent = object.parent.and_then(|id| named.get(&id).cloned());
        let nearest = object.world.as_ref().and_then(|world| NearestRecord::of(world.nearest?, named));
        let mut record = Self { parent, nearest, ..Self::from(object) };
        if embeddings {
            record.embeddings = vectors.into_iter().filter_map(embedding).collect();
        }
        record
    }
}

impl From<Object> for ObjectRecord {
    /// Without embeddings, parent and nearest object.
    fn from(object: Object) -> Self {
        let several = object.classifications.len() > 1;
        let classifications = object.classifications.into_iter().map(|from| {
            let (model, output) = (from.model.clone(), from.output.clone());
            ClassificationRecord { model, output, classes: classes(from) }
        });
        let mut classifications: Vec<_> = classifications.collect();
        let classification = if several {
            classifications.first().map(|first| first.classes.clone())
        } else {
            classifications.pop().map(|only| only.classes)
        };
        let detection = object.detection.as_ref();
        let pose_score =
            object.keypoints.as_ref().and_then(|points| points.pose_score).filter(|s| s.is_finite());
        let (keypoints, edges) = object.keypoints.map(points).unzip();
        // JSON has no word for what is not finite.
        let world = object.world.filter(|world| world.at.iter().all(|v| v.is_finite()));
        Self {
            id: object.id,
            parent: None,
            label_id: detection.map(|d| d.label_id),
            confidence: detection.map(|d| score(d.confidence)),
            rect: detection.map(|d| DetectedRecord::new(&d.rect, object.angle)),
            track: object.tracking.map(|t| TrackRecord {
                id: t.id,
                name: t.name,
                age: t.age,
                hits: t.hits,
                rect: (&t.rect).into(),
                velocity: VelocityRecord { x: pixels(t.velocity[0]), y: pixels(t.velocity[1]) },
                state: t.state,
            }),
            keypoints,
            edges: edges.unwrap_or_default(),
            pose_score: pose_score.map(score),
            classification,
            classifications,
            values: object.values.into_iter().flat_map(values).collect(),
            embeddings: Vec::new(),
            identity: object.identity.as_ref().and_then(IdentityRecord::of),
            zones: object.zones.map(stays),
            world: world.as_ref().map(|world| world.at.map(metres)),
            speed: world.and_then(|world| world.motion).map(SpeedRecord::from),
            nearest: None,
            label: object.label,
        }
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::ground::Motion;

    use super::*;
    use crate::meta::object::DetectionParam;
    use crate::meta::world::{NearestParam, WorldParam};

    #[test]
    fn a_box_has_an_angle_if_it_is_rotated() {
        let rect = Rect { x: 1.0, y: -2.5, w: 3.0, h: 4.0 };
        for (angle, wanted) in [
            (0.25, serde_json::json!({ "x": 1.0, "y": -2.5, "w": 3.0, "h": 4.0, "angle": 0.25 })),
            (0.0, serde_json::json!({ "x": 1.0, "y": -2.5, "w": 3.0, "h": 4.0 })),
            (f32::NAN, serde_json::json!({ "x": 1.0, "y": -2.5, "w": 3.0, "h": 4.0 })),
        ] {
            let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
            let object = Object { detection, angle, ..Object::default() };
            assert_eq!(serde_json::to_value(ObjectRecord::from(object)).unwrap()["box"], wanted);
        }
    }

    #[test]
    fn a_plate_names_the_car_that_it_was_found_in_with_its_track() {
        let tracking = Some(crate::meta::object::TrackingParam { id: 17, ..Default::default() });
        let car = Object { id: 3, label: "car".into(), tracking, ..Object::default() };
        let plate =
            |parent| Object { id: 5, label: "plate".into(), parent: Some(parent), ..Object::default() };
        let parents = HashMap::from([(3, NamedRecord::from(&car))]);
        let json = |parent| serde_json::to_value(ObjectRecord::of(plate(parent), false, &parents)).unwrap();
        assert_eq!(json(3)["parent"], serde_json::json!({ "id": 3, "label": "car", "track": 17 }));
        assert_eq!(json(4).get("parent"), None, "it is not on the frame");
    }

    #[test]
    fn an_object_has_its_place_its_speed_and_the_nearest_one_with_its_track() {
        let tracking = Some(crate::meta::object::TrackingParam { id: 17, ..Default::default() });
        let car = Object { id: 3, label: "car".into(), tracking, ..Object::default() };
        let motion = Motion { speed: 13.888, deviation: 0.254, direction: Some(359.97) };
        let nearest = Some(NearestParam { object: 3, distance: 2.345 });
        let world = WorldParam { at: [1.2345, -20.0], motion: Some(motion), nearest };
        let person =
            Object { id: 5, label: "person".into(), world: Some(world.clone()), ..Object::default() };
        let named = HashMap::from([(3, NamedRecord::from(&car))]);
        let json = |object| serde_json::to_value(ObjectRecord::of(object, false, &named)).unwrap();
        let wanted = serde_json::json!({
            "id": 5,
            "label": "person",
            "world": [1.23, -20.0],
            "speed": { "value": 13.89, "deviation": 0.25, "direction": 0.0 },
            "nearest": { "id": 3, "label": "car", "track": 17, "distance": 2.35 },
        });
        assert_eq!(json(person.clone()), wanted);
        let nowhere = Some(WorldParam { at: [f64::NAN, 0.0], nearest: None, ..world });
        assert_eq!(
            json(Object { world: nowhere, ..person }),
            serde_json::json!({ "id": 5, "label": "person" })
        );
    }

    #[test]
    fn edges_count_the_points_that_are_listed() {
        let object = Object {
            keypoints: Some(KeypointsParam {
                names: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
                x: vec![f64::NAN, 1.0, 2.0, 3.0],
                y: vec![0.0, 1.0, 2.0, f64::INFINITY],
                score: vec![0.5; 4],
                z: vec![9.0, -1.5, f64::NAN],
                edges: vec![[0, 1], [2, 1], [2, 3], [1, 4]],
                pose_score: Some(0.75),
            }),
            classifications: vec![ClassificationParam {
                labels: vec!["taxi".into(), "van".into()],
                label_ids: vec![4, 2],
                confidence: vec![0.75, f64::NAN],
                ..ClassificationParam::default()
            }],
            ..Object::default()
        };
        let json = serde_json::to_value(ObjectRecord::from(object)).unwrap();
        let wanted = serde_json::json!({
            "id": 0,
            "label": "",
            "keypoints": [
                { "name": "b", "x": 1.0, "y": 1.0, "score": 0.5, "z": -1.5 },
                { "name": "c", "x": 2.0, "y": 2.0, "score": 0.5 },
            ],
            "edges": [[1, 0]],
            "pose_score": 0.75,
            "classification": [{ "label": "taxi", "label_id": 4, "confidence": 0.75 }],
        });
        assert_eq!(json, wanted);
    }

    #[test]
    fn several_classifications_are_listed_by_output_and_embeddings_only_if_they_are_asked_for() {
        gst::init().unwrap();
        let classes = |output: &str, label: &str| ClassificationParam {
            held: false,
            model: "car".into(),
            output: output.into(),
            labels: vec![label.into()],
            label_ids: vec![1],
            confidence: vec![0.5],
        };
        let object = Object {
            classifications: vec![classes("colour", "red"), classes("kind", "van")],
            embeddings: vec![
                EmbeddingParam::new("reid", "vector", true, &[0.5, -0.25]),
                EmbeddingParam::new("bad", "vector", true, &[f32::NAN]),
            ],
            ..Object::default()
        };
        let json = |embeddings| {
            serde_json::to_value(ObjectRecord::of(object.clone(), embeddings, &HashMap::new())).unwrap()
        };
        let red = serde_json::json!([{ "label": "red", "label_id": 1, "confidence": 0.5 }]);
        let van = serde_json::json!([{ "label": "van", "label_id": 1, "confidence": 0.5 }]);
        let mut wanted = serde_json::json!({
            "id": 0,
            "label": "",
            "classification": red,
            "classifications": [
                { "model": "car", "output": "colour", "classes": red },
                { "model": "car", "output": "kind", "classes": van },
            ],
        });
        assert_eq!(json(false), wanted);
        wanted["embeddings"] = serde_json::json!([
            { "model": "reid", "output": "vector", "normalized": true, "values": [0.5, -0.25] },
        ]);
        assert_eq!(json(true), wanted);
    }
}
