//! What is known of an object, as parameters of its meta: [`super::object`] has the table.

#![expect(deprecated, reason = "names by number are the only ones without a lock before GStreamer 1.26")]

use std::sync::LazyLock;

use cudainfer_kernels::geometry::Rect;
use gst::glib::Quark;

use crate::strings;

/// A detector's result for an object.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectionParam {
    /// Box in frame pixels; before its rotation about its centre, where [`Object::angle`] is set.
    pub rect: Rect,
    /// 0..1.
    pub confidence: f32,
    /// Index of the label among the model's.
    pub label_id: u32,
}

/// A tracker's result for an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackingParam {
    /// Identity, unique in the stream, from 1.
    pub id: u64,
    /// The individual's name, where the model tells individuals apart.
    pub name: Option<String>,
    /// Frames since the object was first seen.
    pub age: u32,
    /// Detections of the object so far.
    pub hits: u32,
    /// `tracked`, or `lost` where it is expected and was not detected.
    pub state: String,
    /// The filter's estimate of the box, in frame pixels.
    pub rect: Rect,
    /// Its centre's velocity to the right and down, in frame pixels per second.
    pub velocity: [f64; 2],
    /// The running times of the frames in which the identity was first and last given to a detection, in ns, where they are known.
    pub seen: Option<[u64; 2]>,
}

/// Named points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeypointsParam {
    /// One name for each point; channels without a name are called by their number.
    pub names: Vec<String>,
    /// Frame pixels.
    pub x: Vec<f64>,
    /// Frame pixels.
    pub y: Vec<f64>,
    /// 0..1 where the model's maps are probabilities.
    pub score: Vec<f64>,
    /// Depths in frame pixels, where the model gives three coordinates; what is 0 is the model's. Empty where it gives two.
    pub z: Vec<f64>,
    /// The skeleton's lines, as pairs of indices into the points.
    pub edges: Vec<[u32; 2]>,
    /// The score of all points together, where the model or the grouping of its points states one; its range is theirs.
    pub pose_score: Option<f64>,
}

/// A classifier's result for an object, the best class first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassificationParam {
    /// The model's name, and its output's, which keep several classifiers apart.
    pub model: String,
    /// The name of the output.
    pub output: String,
    /// The classes' names.
    pub labels: Vec<String>,
    /// Their indices among the model's labels.
    pub label_ids: Vec<u32>,
    /// 0..1 where the model's outputs are made probabilities.
    pub confidence: Vec<f64>,
    /// Whether it was found in an earlier frame, and the model has not looked at the object in this one.
    pub held: bool,
}

/// Numbers that a model gives for an object, such as an age or angles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValuesParam {
    /// The model's name.
    pub model: String,
    /// The name of the output.
    pub output: String,
    /// One name for each value.
    pub names: Vec<String>,
    /// Their units are those of the model and its sidecar.
    pub values: Vec<f64>,
    /// As of classifications.
    pub held: bool,
}

/// Whom an object was recognised as, by its embedding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdentityParam {
    /// The name in the gallery; `unknown-3` for the third who is in none.
    pub name: String,
    /// Cosine similarity, -1..1: to the most similar picture of that name, or the mean of what is known of the unknown.
    pub score: f64,
    /// Its number, if it is unknown.
    pub unknown: Option<u64>,
    /// Whether it is that of earlier frames of its track, and no embedding was made of the object in this one.
    pub held: bool,
}

/// A vector that describes an object: similar objects have similar ones.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingParam {
    /// The model's name.
    pub model: String,
    /// The name of the output.
    pub output: String,
    /// Whether the vector's length is 1.
    pub normalized: bool,
    /// The numbers: float32, little-endian. Shared by all readers.
    pub data: gst::Buffer,
}

/// The fields' names, and empty parameters to copy. GLib finds a name's number under a lock that all threads of the process
/// share: with hundreds of objects a frame, several streams would do little else.
pub(super) struct Names {
    pub x: Quark,
    pub y: Quark,
    pub w: Quark,
    pub h: Quark,
    pub confidence: Quark,
    pub label_id: Quark,
    pub id: Quark,
    pub name: Quark,
    pub age: Quark,
    pub hits: Quark,
    pub state: Quark,
    pub velocity: [Quark; 2],
    pub seen: [Quark; 2],
    pub detection: gst::Structure,
    pub tracking: gst::Structure,
    pub parent: gst::Structure,
    pub keypoints: Quark,
    pub classification: Quark,
    pub values: Quark,
    pub embedding: Quark,
    pub identity: Quark,
    pub zones: Quark,
    pub world: Quark,
    pub angle: Quark,
}

pub(super) static NAMES: LazyLock<Names> = LazyLock::new(|| Names {
    x: Quark::from_str("x"),
    y: Quark::from_str("y"),
    w: Quark::from_str("w"),
    h: Quark::from_str("h"),
    confidence: Quark::from_str("confidence"),
    label_id: Quark::from_str("label-id"),
    id: Quark::from_str("id"),
    name: Quark::from_str("name"),
    age: Quark::from_str("age"),
    hits: Quark::from_str("hits"),
    velocity: [Quark::from_str("velocity-x"), Quark::from_str("velocity-y")],
    seen: [Quark::from_str("first-seen"), Quark::from_str("last-seen")],
    state: Quark::from_str("state"),
    detection: gst::Structure::new_empty("detection"),
    tracking: gst::Structure::new_empty("tracking"),
    parent: gst::Structure::new_empty("parent"),
    keypoints: Quark::from_str("keypoints"),
    classification: Quark::from_str("classification"),
    values: Quark::from_str("values"),
    embedding: Quark::from_str("embedding"),
    identity: Quark::from_str("identity"),
    zones: Quark::from_str("zones"),
    world: Quark::from_str("world"),
    angle: Quark::from_str("angle"),
});

fn set_rect(s: &mut gst::Structure, names: &Names, rect: &Rect) {
    let Rect { x, y, w, h } = *rect;
    for (name, value) in [(names.x, x), (names.y, y), (names.w, w), (names.h, h)] {
        s.set_by_quark(name, f64::from(value));
    }
}

fn rect_of(s: &gst::StructureRef, names: &Names) -> Option<Rect> {
    let get = |name| s.get_by_quark::<f64>(name).ok().map(|v| v as f32);
    Some(Rect { x: get(names.x)?, y: get(names.y)?, w: get(names.w)?, h: get(names.h)? })
}

impl DetectionParam {
    pub(super) fn to_structure(&self) -> gst::Structure {
        let mut s = NAMES.detection.clone();
        set_rect(&mut s, &NAMES, &self.rect);
        s.set_by_quark(NAMES.confidence, f64::from(self.confidence));
        s.set_by_quark(NAMES.label_id, self.label_id);
        s
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let confidence = s.get_by_quark::<f64>(NAMES.confidence).ok()? as f32;
        let label_id = s.get_by_quark(NAMES.label_id).unwrap_or(0);
        Some(Self { rect: rect_of(s, &NAMES)?, confidence, label_id })
    }
}

impl TrackingParam {
    pub(super) fn to_structure(&self) -> gst::Structure {
        let mut s = NAMES.tracking.clone();
        set_rect(&mut s, &NAMES, &self.rect);
        s.set_by_quark(NAMES.id, self.id);
        if let Some(name) = &self.name {
            s.set_by_quark(NAMES.name, name.as_str());
        }
        s.set_by_quark(NAMES.age, self.age);
        s.set_by_quark(NAMES.hits, self.hits);
        for (name, velocity) in NAMES.velocity.into_iter().zip(self.velocity) {
            s.set_by_quark(name, velocity);
        }
        for (name, time) in NAMES.seen.into_iter().zip(self.seen.into_iter().flatten()) {
            s.set_by_quark(name, time);
        }
        s.set_by_quark(NAMES.state, self.state.as_str());
        s
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let (id, age) = (s.get_by_quark(NAMES.id).ok()?, s.get_by_quark(NAMES.age).ok()?);
        let velocity = NAMES.velocity.map(|name| s.get_by_quark(name).unwrap_or_default());
        let state = strings::text(s.value_by_quark(NAMES.state).ok()?)?;
        let rect = rect_of(s, &NAMES)?;
        let [first, last] = NAMES.seen.map(|name| s.get_by_quark(name).ok());
        let (hits, seen) = (s.get_by_quark(NAMES.hits).unwrap_or_default(), first.zip(last).map(Into::into));
        let name = s.value_by_quark(NAMES.name).ok().and_then(|name| strings::text(name));
        Some(Self { id, name, age, hits, state, rect, velocity, seen })
    }
}

/// An array of values that are all of one type.
fn array<T: for<'a> glib::value::FromValue<'a>>(s: &gst::StructureRef, name: &str) -> Option<Vec<T>> {
    s.get::<gst::ArrayRef>(name).ok()?.as_slice().iter().map(|v| v.get::<T>().ok()).collect()
}

fn doubles(values: &[f64]) -> gst::Array {
    gst::Array::new(values.iter().copied())
}

impl KeypointsParam {
    /// Where a point lies, in frame pixels; `None` if there is no such point, or it is not finite.
    pub fn place(&self, index: u32) -> Option<(f32, f32)> {
        let index = usize::try_from(index).ok()?;
        let (x, y) = (*self.x.get(index)? as f32, *self.y.get(index)? as f32);
        (x.is_finite() && y.is_finite()).then_some((x, y))
    }

    /// The box around the points; those that are not finite do not count. `None` where there are none.
    pub fn outline(&self) -> Option<Rect> {
        let points = self.x.iter().zip(&self.y).filter(|(x, y)| x.is_finite() && y.is_finite());
        let points = points.map(|(x, y)| Rect { x: *x as f32, y: *y as f32, w: 0.0, h: 0.0 });
        points.reduce(|a, b| {
            Rect::from_corners(
                a.x.min(b.x),
                a.y.min(b.y),
                a.right().max(b.right()),
                a.bottom().max(b.bottom()),
            )
        })
    }

    pub(super) fn to_structure(&self) -> gst::Structure {
        let edges = self.edges.iter().flatten().map(|index| i32::try_from(*index).unwrap_or(i32::MAX));
        gst::Structure::builder("keypoints")
            .field("names", gst::Array::new(self.names.iter().map(String::as_str)))
            .field("x", doubles(&self.x))
            .field("y", doubles(&self.y))
            .field("score", doubles(&self.score))
            .field_if("z", doubles(&self.z), !self.z.is_empty())
            .field("edges", gst::Array::new(edges))
            .field_if_some("pose-score", self.pose_score)
            .build()
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        // Other elements may leave them out.
        let edges: Vec<i32> = array(s, "edges").unwrap_or_default();
        let pairs = edges
            .chunks_exact(2)
            .map(|pair| Some([u32::try_from(pair[0]).ok()?, u32::try_from(pair[1]).ok()?]));
        Some(Self {
            names: strings::list(s, "names")?,
            x: array(s, "x")?,
            y: array(s, "y")?,
            score: array(s, "score")?,
            z: array(s, "z").unwrap_or_default(),
            edges: pairs.collect::<Option<_>>()?,
            pose_score: s.get::<f64>("pose-score").ok(),
        })
    }
}

impl ClassificationParam {
    pub(super) fn to_structure(&self) -> gst::Structure {
        gst::Structure::builder("classification")
            .field("labels", gst::Array::new(self.labels.iter().map(String::as_str)))
            .field("label-ids", gst::Array::new(self.label_ids.iter().copied()))
            .field("confidence", doubles(&self.confidence))
            .field("model", self.model.as_str())
            .field("output", self.output.as_str())
            .field_if("held", true, self.held)
            .build()
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        Some(Self {
            // Other elements may leave them out.
            model: strings::field(s, "model").unwrap_or_default(),
            output: strings::field(s, "output").unwrap_or_default(),
            labels: strings::list(s, "labels")?,
            label_ids: array(s, "label-ids")?,
            confidence: array(s, "confidence")?,
            held: s.get::<bool>("held").unwrap_or(false),
        })
    }
}

impl ValuesParam {
    pub(super) fn to_structure(&self) -> gst::Structure {
        gst::Structure::builder("values")
            .field("names", gst::Array::new(self.names.iter().map(String::as_str)))
            .field("values", doubles(&self.values))
            .field("model", self.model.as_str())
            .field("output", self.output.as_str())
            .field_if("held", true, self.held)
            .build()
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        Some(Self {
            model: strings::field(s, "model").unwrap_or_default(),
            output: strings::field(s, "output").unwrap_or_default(),
            names: strings::list(s, "names")?,
            values: array(s, "values")?,
            held: s.get::<bool>("held").unwrap_or(false),
        })
    }
}

impl IdentityParam {
    pub(super) fn to_structure(&self) -> gst::Structure {
        gst::Structure::builder("identity")
            .field("name", self.name.as_str())
            .field("score", self.score)
            .field_if_some("unknown", self.unknown)
            .field_if("held", true, self.held)
            .build()
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        Some(Self {
            name: strings::field(s, "name")?,
            score: s.get::<f64>("score").ok()?,
            unknown: s.get::<u64>("unknown").ok(),
            held: s.get::<bool>("held").unwrap_or(false),
        })
    }
}

impl EmbeddingParam {
    /// Of these numbers.
    pub fn new(model: &str, output: &str, normalized: bool, values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (model, output) = (model.to_owned(), output.to_owned());
        Self { model, output, normalized, data: gst::Buffer::from_slice(bytes) }
    }

    /// How many numbers there are.
    pub fn length(&self) -> usize {
        self.data.size() / size_of::<f32>()
    }

    /// Appends the numbers to `values`.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn read(&self, values: &mut Vec<f32>) -> Result<(), glib::BoolError> {
        let bytes = self.data.map_readable()?;
        let (numbers, _) = bytes.as_chunks::<4>();
        values.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
        Ok(())
    }

    pub(super) fn to_structure(&self) -> gst::Structure {
        gst::Structure::builder("embedding")
            .field("data", &self.data)
            .field("length", u32::try_from(self.length()).unwrap_or(u32::MAX))
            .field("normalized", self.normalized)
            .field("model", self.model.as_str())
            .field("output", self.output.as_str())
            .build()
    }

    pub(super) fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        Some(Self {
            model: strings::field(s, "model").unwrap_or_default(),
            output: strings::field(s, "output").unwrap_or_default(),
            normalized: s.get::<bool>("normalized").unwrap_or(false),
            data: s.get::<gst::Buffer>("data").ok()?,
        })
    }
}
