//! Results on a video buffer: one `GstVideoRegionOfInterestMeta` for each object, readable from every language.
//!
//! `roi_type` is the label, `x`, `y`, `w`, `h` the box rounded to whole pixels (of a rotated box, the upright one around it,
//! clamped to the frame), `id` counts from 0 in each frame. The results are parameters of the meta, each a `GstStructure`:
//!
//! | parameter | fields |
//! |---|---|
//! | `detection` | `x`, `y`, `w`, `h`, `confidence` (double, frame pixels), `label-id` (uint); `angle` (double, radians clockwise on the screen) if the box is rotated: then `x`, `y`, `w`, `h` are those before it is rotated about its centre, not clamped |
//! | `tracking` | `id` (uint64), `age` (uint, frames), `hits` (uint, detections so far), `state` (string: `tracked`, or `lost` if it was not detected in this frame), `x`, `y`, `w`, `h` (double: the filter's box), `velocity-x`, `velocity-y` (double: of its centre, frame pixels per second) |
//! | `keypoints` | `names` (array of string), `x`, `y`, `score` (arrays of double, frame pixels), `edges` (array of int: pairs of indices into the others, the skeleton's edges) |
//! | `classification`, one for each classifier | `labels` (array of string), `label-ids` (array of uint), `confidence` (array of double), the best class first; `model`, `output` (string: whose scores they are of) |
//! | `embedding`, one for each model that makes embeddings | `data` (`GstBuffer`: float32, little-endian), `length` (uint: its numbers), `normalized` (boolean: the length of the vector is 1), `model`, `output` (string) |
//! | `zones` | `names` (array of string), `dwell` (array of uint64, ns): see [`super::zone`] |

#![expect(deprecated, reason = "names by number are the only ones without a lock before GStreamer 1.26")]

use cudainfer_kernels::associate::Oriented;
use cudainfer_kernels::geometry::Rect;
use gst_video::{VideoRegionOfInterestMeta, video_meta::VideoRegionOfInterestMeta as Roi};

use super::label::Label;
use super::params::NAMES;
pub use super::params::{ClassificationParam, DetectionParam, EmbeddingParam, KeypointsParam, TrackingParam};
use super::zone::ZonesParam;

/// What a second model finds in an object's region.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Its points.
    Keypoints(KeypointsParam),
    /// Its classes.
    Classification(ClassificationParam),
    /// Its embedding.
    Embedding(EmbeddingParam),
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
    /// By how much the detection's box is rotated about its centre, in radians, clockwise.
    pub angle: f32,
    /// Set by tracker.
    pub tracking: Option<TrackingParam>,
    /// Set by peakfind and, for detectors that give points, by gpunms.
    pub keypoints: Option<KeypointsParam>,
    /// Set by classify, one by each in the pipeline.
    pub classifications: Vec<ClassificationParam>,
    /// Set by embed, one by each in the pipeline.
    pub embeddings: Vec<EmbeddingParam>,
    /// Set by zonecount, of all that are in the pipeline.
    pub zones: Option<ZonesParam>,
}

/// A frame coordinate as the meta's unsigned integer.
fn pixel(v: f32) -> u32 {
    // Saturating: negative and NaN become 0.
    v.round() as u32
}

/// The meta's x, y, width and height.
fn pixels(rect: &Rect) -> (u32, u32, u32, u32) {
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
        let mut meta = Roi::add(buffer, &self.label, pixels(rect));
        meta.set_id(self.id);
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
            self.zones.as_ref().map(ZonesParam::to_structure),
        ];
        let classifications = self.classifications.iter().map(ClassificationParam::to_structure);
        let embeddings = self.embeddings.iter().map(EmbeddingParam::to_structure);
        let params = params.into_iter().flatten().chain(classifications).chain(embeddings);
        params.for_each(|param| meta.add_param(param));
    }

    fn of(meta: &VideoRegionOfInterestMeta) -> Self {
        let mut object =
            Self { id: meta.id(), label: Label::of(meta).text().into_owned(), ..Self::default() };
        for param in meta.params() {
            object.take(param);
        }
        object
    }

    /// Takes in a parameter, unless there is one of its name already; there may be several classifications, embeddings and
    /// zones. False if it is none of ours.
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
        } else if name == NAMES.tracking.name_quark() {
            fill(&mut self.tracking, || TrackingParam::from_structure(param))
        } else if name == NAMES.keypoints {
            fill(&mut self.keypoints, || KeypointsParam::from_structure(param))
        } else if name == NAMES.classification {
            let read = ClassificationParam::from_structure(param);
            let known = read.is_some();
            self.classifications.extend(read);
            known
        } else if name == NAMES.embedding {
            let read = EmbeddingParam::from_structure(param);
            let known = read.is_some();
            self.embeddings.extend(read);
            known
        } else if name == NAMES.zones {
            let Some(zones) = ZonesParam::from_structure(param) else { return false };
            self.zones.get_or_insert_default().append(zones);
            true
        } else {
            false
        }
    }

    fn is_ours(&self) -> bool {
        self.detection.is_some()
            || self.tracking.is_some()
            || self.keypoints.is_some()
            || !self.classifications.is_empty()
            || !self.embeddings.is_empty()
            || self.zones.is_some()
    }
}

/// Whether one of our readers understands the parameter; a region that has such a one is an object.
fn is_ours(param: &gst::StructureRef) -> bool {
    Object::default().take(param)
}

/// The objects on a buffer that carry one of our parameters, in the order in which they were put there.
/// Regions of other elements (face detectors of OpenCV, for example) are left alone.
pub fn objects(buffer: &gst::BufferRef) -> Vec<Object> {
    buffer.iter_meta::<Roi>().map(|meta| Object::of(&meta)).filter(Object::is_ours).collect()
}

/// Adds what a second model found to the object of that number; false where there is none. An object's points are those of
/// the first model that found some; classifications and embeddings are kept beside those that are there.
pub fn attach(buffer: &mut gst::BufferRef, object: i32, what: &Finding) -> bool {
    let metas = buffer.iter_meta_mut::<Roi>();
    let mut metas = metas.filter(|meta| meta.id() == object && Object::of(meta).is_ours());
    let Some(mut meta) = metas.next() else { return false };
    meta.add_param(match what {
        Finding::Keypoints(points) => points.to_structure(),
        Finding::Classification(classes) => classes.to_structure(),
        Finding::Embedding(embedding) => embedding.to_structure(),
    });
    true
}

/// Adds what a model found in the whole frame, or in a region that is the same in every frame, to the object that stands for it:
/// one with this outline that nothing was detected or tracked in. If there is none, it is put there with this label.
pub fn attach_to_region(buffer: &mut gst::BufferRef, outline: &Rect, label: &str, what: Finding) {
    let stands_for_it = |object: &Object| {
        object.detection.is_none()
            && object.tracking.is_none()
            && object.keypoints.is_none()
            && !(object.classifications.is_empty() && object.embeddings.is_empty())
    };
    let regions = buffer.iter_meta::<Roi>().filter(|meta| meta.rect() == pixels(outline));
    let known = regions.map(|meta| Object::of(&meta)).find(stands_for_it);
    if let Some(known) = known {
        attach(buffer, known.id, &what);
        return;
    }
    let id = i32::try_from(objects(buffer).len()).unwrap_or(i32::MAX);
    let mut object = Object { id, label: label.to_owned(), ..Object::default() };
    match what {
        Finding::Keypoints(points) => object.keypoints = Some(points),
        Finding::Classification(classes) => object.classifications.push(classes),
        Finding::Embedding(embedding) => object.embeddings.push(embedding),
    }
    object.put(buffer, outline);
}

/// Adds a tracker's results to the objects, one entry for each in the order of [`objects`].
pub fn add_tracking(buffer: &mut gst::BufferRef, tracks: impl IntoIterator<Item = Option<TrackingParam>>) {
    add(buffer, tracks.into_iter().map(|track| Some(track?.to_structure())));
}

/// Adds the zones that the objects are in, one entry for each in the order of [`objects`].
pub fn add_zones(buffer: &mut gst::BufferRef, zones: impl IntoIterator<Item = Option<ZonesParam>>) {
    add(buffer, zones.into_iter().map(|zones| Some(zones?.to_structure())));
}

fn add(buffer: &mut gst::BufferRef, params: impl Iterator<Item = Option<gst::Structure>>) {
    let metas = buffer.iter_meta_mut::<Roi>().filter(|meta| meta.params().any(is_ours));
    for (mut meta, param) in metas.zip(params) {
        if let Some(param) = param {
            meta.add_param(param);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(objects(buffer), [object]);
    }

    #[test]
    fn tracks_go_to_the_objects_they_are_of_whatever_lies_between() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        let track =
            |id| Some(TrackingParam { id, state: "tracked".into(), rect, ..TrackingParam::default() });
        let points =
            KeypointsParam { names: vec!["head".into()], x: vec![1.0], y: vec![1.0], ..Default::default() };
        let points = KeypointsParam { score: vec![1.0], ..points };
        // Of another element, with a parameter of the same name and other fields.
        Roi::add(buffer, "face", (0, 0, 1, 1)).add_param(gst::Structure::new_empty("detection"));
        Object { keypoints: Some(points.clone()), ..Object::default() }.put(buffer, &rect);
        Roi::add(buffer, "face", (0, 0, 1, 1));
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
        Object { detection, ..Object::default() }.put(buffer, &rect);
        Object { keypoints: Some(points), ..Object::default() }.put(buffer, &rect);
        add_tracking(buffer, [track(7), None, track(8)]);
        add_tracking(buffer, [track(9), None, None]);
        let ids: Vec<_> = objects(buffer).iter().map(|o| o.tracking.as_ref().map(|t| t.id)).collect();
        assert_eq!(ids, [Some(7), None, Some(8)], "the first of two trackers counts");
    }

    #[test]
    fn what_a_second_model_finds_is_read_back_from_the_object_it_was_attached_to() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        // Of another element, with the number of one of ours.
        Roi::add(buffer, "face", (0, 0, 1, 1)).set_id(1);
        let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        for id in 0..2 {
            let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
            Object { id, detection, angle: 0.5 * id as f32, ..Object::default() }.put(buffer, &rect);
        }
        let points = KeypointsParam {
            names: vec!["head".into(), "tail".into()],
            x: vec![0.5, 1.25],
            y: vec![2.0, 3.0],
            score: vec![0.25, 1.0],
            edges: vec![[0, 1]],
        };
        let classes = ClassificationParam {
            model: "insects".into(),
            output: "kind".into(),
            labels: vec!["fly".into(), "bee".into()],
            label_ids: vec![4, 2],
            confidence: vec![0.75, 0.125],
        };
        let sex = ClassificationParam { output: "sex".into(), ..classes.clone() };
        let embedding = EmbeddingParam::new("insects", "vector", true, &[0.5, -0.25]);
        assert!(attach(buffer, 1, &Finding::Keypoints(points.clone())));
        assert!(attach(buffer, 1, &Finding::Classification(classes.clone())));
        assert!(attach(buffer, 1, &Finding::Embedding(embedding.clone())));
        assert!(attach(buffer, 1, &Finding::Classification(sex.clone())));
        assert!(!attach(buffer, 2, &Finding::Keypoints(points.clone())));
        let [first, second] = &objects(buffer)[..] else { panic!("there are two objects") };
        assert_eq!((first.angle, second.angle), (0.0, 0.5));
        assert_eq!((&first.keypoints, &first.classifications, &first.embeddings), (&None, &vec![], &vec![]));
        assert_eq!((&second.keypoints, &second.classifications), (&Some(points), &vec![classes, sex]));
        assert_eq!(second.embeddings, [embedding]);
        let mut values = Vec::new();
        second.embeddings[0].read(&mut values).unwrap();
        assert_eq!((values.as_slice(), second.embeddings[0].length()), (&[0.5, -0.25][..], 2));
    }

    #[test]
    fn what_is_found_in_the_whole_frame_or_a_fixed_region_goes_to_one_object_that_was_not_detected_there() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let frame = Rect { x: 0.0, y: 0.0, w: 8.0, h: 6.0 };
        let detection = Some(DetectionParam { rect: frame, confidence: 0.5, label_id: 0 });
        Object { detection, ..Object::default() }.put(buffer, &frame);
        let classes = |output: &str| ClassificationParam { output: output.into(), ..Default::default() };
        attach_to_region(buffer, &frame, "indoors", Finding::Classification(classes("scene")));
        attach_to_region(buffer, &frame, "noon", Finding::Classification(classes("time")));
        let embedding = EmbeddingParam::new("", "vector", false, &[1.0]);
        attach_to_region(buffer, &frame, "frame", Finding::Embedding(embedding.clone()));
        let region = Rect { x: 2.0, y: 1.0, w: 4.0, h: 5.0 };
        attach_to_region(buffer, &region, "full", Finding::Classification(classes("car-park")));
        attach_to_region(buffer, &region, "region", Finding::Embedding(embedding.clone()));
        let rects: Vec<_> = buffer.iter_meta::<Roi>().map(|meta| meta.rect()).collect();
        assert_eq!(rects, [(0, 0, 8, 6), (0, 0, 8, 6), (2, 1, 4, 5)]);
        let [detected, frame, region] = &objects(buffer)[..] else { panic!("there are three objects") };
        assert!(detected.classifications.is_empty() && detected.embeddings.is_empty());
        assert_eq!((frame.id, frame.label.as_str()), (1, "indoors"));
        assert_eq!(frame.classifications, [classes("scene"), classes("time")]);
        assert_eq!(frame.embeddings[..], region.embeddings[..]);
        assert_eq!(
            (region.label.as_str(), &region.classifications[..]),
            ("full", &[classes("car-park")][..])
        );
        assert_eq!(region.embeddings, [embedding]);
    }
}
