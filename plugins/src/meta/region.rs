//! Results on a video buffer: one `GstVideoRegionOfInterestMeta` for each object, readable from every language.
//!
//! `roi_type` is the label, `x`, `y`, `w`, `h` the box rounded to whole pixels (of a rotated box, the upright one around it,
//! clamped to the frame), `id` counts from 0 in each frame. The results are parameters of the meta, each a `GstStructure`:
//!
//! | parameter | fields |
//! |---|---|
//! | `detection` | `x`, `y`, `w`, `h`, `confidence` (double, frame pixels), `label-id` (uint); `angle` (double, radians clockwise on the screen) if the box is rotated: then `x`, `y`, `w`, `h` are those before it is rotated about its centre, not clamped |
//! | `tracking` | `id` (uint64), `age` (uint, frames), `hits` (uint, detections so far), `state` (string: `tracked`, or `lost` if it was not detected in this frame), `x`, `y`, `w`, `h` (double: the filter's box), `velocity-x`, `velocity-y` (double: of its centre, frame pixels per second), `first-seen`, `last-seen` (uint64, ns: running times of the first and the last frame in which it was detected) |
//! | `keypoints` | `names` (array of string), `x`, `y`, `score` (arrays of double, frame pixels), `edges` (array of int: pairs of indices into the others, the skeleton's edges) |
//! | `classification`, one for each classifier | `labels` (array of string), `label-ids` (array of uint), `confidence` (array of double), the best class first; `model`, `output` (string: whose scores they are of), `held` (boolean, only where it is true: found in an earlier frame) |
//! | `values`, one for each output that has some | `names` (array of string), `values` (array of double); `model`, `output` (string) |
//! | `embedding`, one for each model that makes embeddings | `data` (`GstBuffer`: float32, little-endian), `length` (uint: its numbers), `normalized` (boolean: the length of the vector is 1), `model`, `output` (string) |
//! | `identity` | `name` (string), `score` (double: cosine similarity), `unknown` (uint64, only of who is in no gallery: its number), `held` (boolean, only where it is true: of earlier frames) |
//! | `parent` | `id` (int: the `id` of the object in whose region this one was found; the meta's `parent_id` is the same) |
//! | `zones` | `names` (array of string), `dwell` (array of uint64, ns): see [`super::zone`] |
//! | `world` | `x`, `y` (double, metres), its speed and the nearest object: see [`super::world`] |

#![expect(deprecated, reason = "names by number are the only ones without a lock before GStreamer 1.26")]

use cudainfer_kernels::associate::Oriented;
use cudainfer_kernels::geometry::Rect;
use gst_video::{VideoRegionOfInterestMeta, video_meta::VideoRegionOfInterestMeta as Roi};

use super::label::Label;
use super::params::{
    ClassificationParam, DetectionParam, EmbeddingParam, IdentityParam, KeypointsParam, NAMES, TrackingParam,
    ValuesParam,
};
use super::world::WorldParam;
use super::zone::ZonesParam;

/// Everything that is known of one object of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// Counts from 0 in each frame.
    pub id: i32,
    /// The class's name.
    pub label: String,
    /// The `id` of the object in whose region it was found, by gpunms or peakfind downstream of fusedpreproc roi=objects.
    pub parent: Option<i32>,
    /// Set by gpunms.
    pub detection: Option<DetectionParam>,
    /// By how much the detection's box is rotated about its centre, in radians, clockwise.
    pub angle: f32,
    /// Set by tracker.
    pub tracking: Option<TrackingParam>,
    /// Set by peakfind and, for detectors that give points, by gpunms.
    pub keypoints: Option<KeypointsParam>,
    /// Set by classify, one by each in the pipeline.
    pub classifications: Vec<ClassificationParam>,
    /// Set by classify with mode=values, one by each in the pipeline.
    pub values: Vec<ValuesParam>,
    /// Set by embed, one by each in the pipeline.
    pub embeddings: Vec<EmbeddingParam>,
    /// Set by identify, the first one in the pipeline.
    pub identity: Option<IdentityParam>,
    /// Set by zonecount, of all that are in the pipeline.
    pub zones: Option<ZonesParam>,
    /// Set by zonecount where it knows the ground; that of the first in the pipeline counts.
    pub world: Option<WorldParam>,
}

/// A frame coordinate as the meta's unsigned integer.
fn pixel(v: f32) -> u32 {
    // Saturating: negative and NaN become 0.
    v.round() as u32
}

/// The meta's x, y, width and height.
pub(super) fn pixels(rect: &Rect) -> (u32, u32, u32, u32) {
    let (x, y) = (pixel(rect.x), pixel(rect.y));
    (x, y, pixel(rect.right()).saturating_sub(x), pixel(rect.bottom()).saturating_sub(y))
}

impl Object {
    /// The upright box around the detector's.
    pub fn detected_outline(&self) -> Option<Rect> {
        let rect = self.detection.as_ref()?.rect;
        Some(Oriented { rect, angle: self.angle }.outline())
    }

    /// Puts the object on a buffer; `outline` is the region's box where no detector gave one, or where the detector's is
    /// rotated.
    pub fn put(&self, buffer: &mut gst::BufferRef, outline: &Rect) {
        let upright = self.detection.as_ref().filter(|_| self.angle == 0.0);
        let rect = upright.map_or(outline, |d| &d.rect);
        let mut meta = Label::named(&self.label).put_region(buffer, pixels(rect));
        meta.set_id(self.id);
        if let Some(parent) = self.parent {
            meta.set_parent_id(parent);
            // A parent_id of 0 means both no parent and the first object.
            let mut s = NAMES.parent.clone();
            s.set_by_quark(NAMES.id, parent);
            meta.add_param(s);
        }
        let params = [
            self.detection.as_ref().map(|detection| {
                let mut s = detection.to_structure();
                if self.angle != 0.0 {
                    s.set_by_quark(NAMES.angle, f64::from(self.angle));
                }
                s
            }),
            self.tracking.as_ref().map(TrackingParam::to_structure),
            self.keypoints.as_ref().map(KeypointsParam::to_structure),
            self.identity.as_ref().map(IdentityParam::to_structure),
            self.zones.as_ref().map(ZonesParam::to_structure),
            self.world.as_ref().map(WorldParam::to_structure),
        ];
        let classifications = self.classifications.iter().map(ClassificationParam::to_structure);
        let values = self.values.iter().map(ValuesParam::to_structure);
        let embeddings = self.embeddings.iter().map(EmbeddingParam::to_structure);
        let params = params.into_iter().flatten().chain(classifications).chain(values).chain(embeddings);
        params.for_each(|param| meta.add_param(param));
    }

    pub(super) fn of(meta: &VideoRegionOfInterestMeta) -> Self {
        let mut object =
            Self { id: meta.id(), label: Label::of(meta).text().into_owned(), ..Self::default() };
        for param in meta.params() {
            object.take(param);
        }
        object
    }

    /// Takes in a parameter, unless there is already one with its name; there may be several classifications, values,
    /// embeddings and zones, and of several keypoints the last count: those of a model that looked at the object by itself
    /// follow those of its detector. False if it is none of ours.
    fn take(&mut self, param: &gst::StructureRef) -> bool {
        fn fill<T>(slot: &mut Option<T>, read: impl FnOnce() -> Option<T>) -> bool {
            if slot.is_none() {
                *slot = read();
            }
            slot.is_some()
        }
        let name = param.name_quark();
        if name == NAMES.detection.name_quark() {
            if self.detection.is_none() {
                self.angle = param.get_by_quark::<f64>(NAMES.angle).map_or(0.0, |angle| angle as f32);
            }
            fill(&mut self.detection, || DetectionParam::from_structure(param))
        } else if name == NAMES.parent.name_quark() {
            self.parent = self.parent.or(param.get_by_quark(NAMES.id).ok());
            // That alone makes no object.
            false
        } else if name == NAMES.tracking.name_quark() {
            fill(&mut self.tracking, || TrackingParam::from_structure(param))
        } else if name == NAMES.keypoints {
            let Some(points) = KeypointsParam::from_structure(param) else { return false };
            self.keypoints = Some(points);
            true
        } else if name == NAMES.classification {
            let read = ClassificationParam::from_structure(param);
            let known = read.is_some();
            self.classifications.extend(read);
            known
        } else if name == NAMES.values {
            let read = ValuesParam::from_structure(param);
            let known = read.is_some();
            self.values.extend(read);
            known
        } else if name == NAMES.embedding {
            let read = EmbeddingParam::from_structure(param);
            let known = read.is_some();
            self.embeddings.extend(read);
            known
        } else if name == NAMES.identity {
            fill(&mut self.identity, || IdentityParam::from_structure(param))
        } else if name == NAMES.zones {
            let Some(zones) = ZonesParam::from_structure(param) else { return false };
            self.zones.get_or_insert_default().append(zones);
            true
        } else if name == NAMES.world {
            fill(&mut self.world, || WorldParam::from_structure(param))
        } else {
            false
        }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.detection.is_some()
            || self.tracking.is_some()
            || self.keypoints.is_some()
            || !self.classifications.is_empty()
            || !self.values.is_empty()
            || !self.embeddings.is_empty()
            || self.identity.is_some()
            || self.zones.is_some()
            || self.world.is_some()
    }
}

/// Whether one of our readers understands the parameter; a region with such a parameter is an object.
pub(super) fn is_ours(param: &gst::StructureRef) -> bool {
    Object::default().take(param)
}

/// A region of interest that is an object.
pub(super) struct Region {
    pub label: Label,
    /// Left, top, width, height.
    pub rect: (u32, u32, u32, u32),
    pub object: Object,
}

/// The regions on a buffer that carry one of our parameters, in the order in which they were put there.
/// Regions of other elements (face detectors of OpenCV, for example) are left alone.
pub(super) fn regions(buffer: &gst::BufferRef) -> Vec<Region> {
    let region = |meta: gst::MetaRef<'_, Roi>| {
        let object = Object::of(&meta);
        object.is_ours().then(|| Region { label: Label::of(&meta), rect: meta.rect(), object })
    };
    buffer.iter_meta::<Roi>().filter_map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_models_points_count_and_the_first_models_box_does() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let named = |name: &str| KeypointsParam {
            names: vec![name.to_owned()],
            x: vec![1.0],
            y: vec![2.0],
            score: vec![1.0],
            ..KeypointsParam::default()
        };
        let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        let detection = |confidence| DetectionParam { rect, confidence, label_id: 0 };
        let palm =
            Object { detection: Some(detection(0.5)), keypoints: Some(named("wrist")), ..Object::default() };
        palm.put(buffer, &rect);
        let mut meta = buffer.meta_mut::<Roi>().unwrap();
        meta.add_param(named("thumb").to_structure());
        // Nothing of ours, although it is called so.
        meta.add_param(gst::Structure::new_empty("keypoints"));
        meta.add_param(detection(0.9).to_structure());
        let read = regions(buffer).remove(0).object;
        assert_eq!(read, Object { keypoints: Some(named("thumb")), ..palm });
    }

    #[test]
    fn the_region_of_a_rotated_box_is_the_one_around_it_and_its_own_is_read_back() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let rect = Rect { x: 10.0, y: 30.0, w: 40.0, h: 20.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
        let object = Object { detection, angle: std::f32::consts::FRAC_PI_4, ..Object::default() };
        // Half of (40 + 20) / sqrt 2 from the centre, 30, 40.
        let outline = object.detected_outline().unwrap();
        for (edge, wanted) in
            [(outline.x, 8.787), (outline.y, 18.787), (outline.w, 42.426), (outline.h, 42.426)]
        {
            assert!((edge - wanted).abs() < 1e-3, "{outline:?}");
        }
        object.put(buffer, &outline);
        let region = buffer.meta::<Roi>().unwrap().rect();
        assert_eq!(region, (9, 19, 42, 42));
        assert_eq!(regions(buffer).remove(0).object, object);
    }
}
