//! Results on a video buffer: one `GstVideoRegionOfInterestMeta` an object, readable from every language.
//!
//! `roi_type` is the label, `x`, `y`, `w`, `h` the box rounded to whole pixels, `id` counts from 0 in each frame.
//! What is known lies in the meta's parameters, each a `GstStructure`:
//!
//! | parameter | fields |
//! |---|---|
//! | `detection` | `x`, `y`, `w`, `h`, `confidence` (double, frame pixels), `label-id` (uint) |
//! | `tracking` | `id` (uint64), `age` (uint, frames), `state` (string), `x`, `y`, `w`, `h` (double: the filter's box) |
//! | `keypoints` | `names` (array of string), `x`, `y`, `score` (arrays of double, frame pixels) |

#![expect(deprecated, reason = "names by number are the only ones without a lock before GStreamer 1.26")]

use std::sync::LazyLock;

use cudainfer_kernels::geometry::Rect;
use gst::glib::Quark;
use gst_video::{VideoRegionOfInterestMeta, video_meta::VideoRegionOfInterestMeta as Roi};

/// What a detector says of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectionParam {
    /// Box in frame pixels.
    pub rect: Rect,
    /// 0..1.
    pub confidence: f32,
    /// Index of the label among the model's.
    pub label_id: u32,
}

/// What a tracker says of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackingParam {
    /// Identity, unique in the stream, from 1.
    pub id: u64,
    /// Frames since the object was first seen.
    pub age: u32,
    /// `tentative`, `tracked` or `lost`.
    pub state: String,
    /// The filter's estimate of the box, in frame pixels.
    pub rect: Rect,
}

/// Named points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeypointsParam {
    /// One name a point; channels without a name are called by their number.
    pub names: Vec<String>,
    /// Frame pixels.
    pub x: Vec<f64>,
    /// Frame pixels.
    pub y: Vec<f64>,
    /// 0..1 where the model's maps are probabilities.
    pub score: Vec<f64>,
}

/// Everything that is known of one object of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// Counts from 0 in each frame.
    pub id: i32,
    /// The class's name.
    pub label: String,
    /// Set by gpunms.
    pub detection: Option<DetectionParam>,
    /// Set by tracker.
    pub tracking: Option<TrackingParam>,
    /// Set by peakfind.
    pub keypoints: Option<KeypointsParam>,
}

/// The fields' names, and empty parameters to copy. GLib finds a name's number under a lock that all threads of the process
/// share: with hundreds of objects a frame, several streams would do little else.
struct Names {
    x: Quark,
    y: Quark,
    w: Quark,
    h: Quark,
    confidence: Quark,
    label_id: Quark,
    id: Quark,
    age: Quark,
    state: Quark,
    detection: gst::Structure,
    tracking: gst::Structure,
    keypoints: Quark,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| Names {
    x: Quark::from_str("x"),
    y: Quark::from_str("y"),
    w: Quark::from_str("w"),
    h: Quark::from_str("h"),
    confidence: Quark::from_str("confidence"),
    label_id: Quark::from_str("label-id"),
    id: Quark::from_str("id"),
    age: Quark::from_str("age"),
    state: Quark::from_str("state"),
    detection: gst::Structure::new_empty("detection"),
    tracking: gst::Structure::new_empty("tracking"),
    keypoints: Quark::from_str("keypoints"),
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
    fn to_structure(&self) -> gst::Structure {
        let mut s = NAMES.detection.clone();
        set_rect(&mut s, &NAMES, &self.rect);
        s.set_by_quark(NAMES.confidence, f64::from(self.confidence));
        s.set_by_quark(NAMES.label_id, self.label_id);
        s
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let confidence = s.get_by_quark::<f64>(NAMES.confidence).ok()? as f32;
        let label_id = s.get_by_quark(NAMES.label_id).unwrap_or(0);
        Some(Self { rect: rect_of(s, &NAMES)?, confidence, label_id })
    }
}

impl TrackingParam {
    fn to_structure(&self) -> gst::Structure {
        let mut s = NAMES.tracking.clone();
        set_rect(&mut s, &NAMES, &self.rect);
        s.set_by_quark(NAMES.id, self.id);
        s.set_by_quark(NAMES.age, self.age);
        s.set_by_quark(NAMES.state, self.state.as_str());
        s
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let (id, age) = (s.get_by_quark(NAMES.id).ok()?, s.get_by_quark(NAMES.age).ok()?);
        Some(Self { id, age, state: s.get_by_quark(NAMES.state).ok()?, rect: rect_of(s, &NAMES)? })
    }
}

impl KeypointsParam {
    fn to_structure(&self) -> gst::Structure {
        let doubles = |v: &[f64]| gst::Array::new(v.iter().copied());
        gst::Structure::builder("keypoints")
            .field("names", gst::Array::new(self.names.iter().map(String::as_str)))
            .field("x", doubles(&self.x))
            .field("y", doubles(&self.y))
            .field("score", doubles(&self.score))
            .build()
    }

    fn from_structure(s: &gst::StructureRef) -> Option<Self> {
        let doubles = |name| -> Option<Vec<f64>> {
            s.get::<gst::ArrayRef>(name).ok()?.iter().map(|v| v.get().ok()).collect()
        };
        let names =
            s.get::<gst::ArrayRef>("names").ok()?.iter().map(|v| v.get().ok()).collect::<Option<_>>()?;
        Some(Self { names, x: doubles("x")?, y: doubles("y")?, score: doubles("score")? })
    }
}

/// A frame coordinate as the meta's unsigned integer.
fn pixel(v: f32) -> u32 {
    // Saturating: negative and NaN become 0.
    v.round() as u32
}

impl Object {
    /// Puts the object on a buffer; `outline` is the region's box where no detector gave one.
    pub fn put(&self, buffer: &mut gst::BufferRef, outline: &Rect) {
        let rect = self.detection.as_ref().map_or(outline, |d| &d.rect);
        let corner = (pixel(rect.x), pixel(rect.y));
        let size =
            (pixel(rect.right()).saturating_sub(corner.0), pixel(rect.bottom()).saturating_sub(corner.1));
        let mut meta = Roi::add(buffer, &self.label, (corner.0, corner.1, size.0, size.1));
        meta.set_id(self.id);
        let params = [
            self.detection.as_ref().map(DetectionParam::to_structure),
            self.tracking.as_ref().map(TrackingParam::to_structure),
            self.keypoints.as_ref().map(KeypointsParam::to_structure),
        ];
        params.into_iter().flatten().for_each(|param| meta.add_param(param));
    }

    fn of(meta: &VideoRegionOfInterestMeta) -> Self {
        let mut object = Self { id: meta.id(), label: meta.roi_type().to_owned(), ..Self::default() };
        for param in meta.params() {
            let name = param.name_quark();
            if name == NAMES.detection.name_quark() {
                object.detection = DetectionParam::from_structure(param);
            } else if name == NAMES.tracking.name_quark() {
                object.tracking = TrackingParam::from_structure(param);
            } else if name == NAMES.keypoints {
                object.keypoints = KeypointsParam::from_structure(param);
            }
        }
        object
    }
}

/// The objects on a buffer that carry one of our parameters, in the order in which they were put there.
/// Regions of other elements (face detectors of OpenCV, say) are left alone.
pub fn objects(buffer: &gst::BufferRef) -> Vec<Object> {
    buffer
        .iter_meta::<Roi>()
        .map(|meta| Object::of(&meta))
        .filter(|o| o.detection.is_some() || o.tracking.is_some() || o.keypoints.is_some())
        .collect()
}

/// Adds what a tracker says to the objects that have a detection, one entry for each in the order of [`objects`].
pub fn add_tracking(buffer: &mut gst::BufferRef, tracks: impl IntoIterator<Item = Option<TrackingParam>>) {
    let mut tracks = tracks.into_iter();
    for mut meta in buffer.iter_meta_mut::<Roi>() {
        if meta.param("detection").and_then(DetectionParam::from_structure).is_none() {
            continue;
        }
        if let Some(track) = tracks.next().flatten() {
            meta.add_param(track.to_structure());
        }
    }
}
