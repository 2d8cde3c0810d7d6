//! The objects of a frame: the content of regions of interest ([`super::region`]) and analytics metadata ([`super::analytics`]),
//! and what elements add to them.

use std::ops::ControlFlow;

use cudainfer_kernels::geometry::Rect;
use gst::buffer::BufferMetaForeachAction;
use gst_video::video_meta::VideoRegionOfInterestMeta as Roi;

use super::analytics;
pub use super::params::{
    ClassificationParam, DetectionParam, EmbeddingParam, IdentityParam, KeypointsParam, TrackingParam,
    ValuesParam,
};
pub use super::region::Object;
use super::region::{is_ours, pixels, regions};
use super::world::WorldParam;
use super::zone::ZonesParam;

/// The result of a second model in an object's region.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Its points.
    Keypoints(KeypointsParam),
    /// Its classes.
    Classification(ClassificationParam),
    /// Its values.
    Values(ValuesParam),
    /// Its embedding.
    Embedding(EmbeddingParam),
    /// Which individual it is.
    Tracking(TrackingParam),
    /// Whom it was recognised as.
    Identity(IdentityParam),
}

/// The objects on a buffer: those that regions of interest with our parameters describe, in the order in which they were put there,
/// and those that only other elements' analytics metadata describe ([`super::analytics`]).
pub fn objects(buffer: &gst::BufferRef) -> Vec<Object> {
    analytics::objects(buffer, regions(buffer))
}

/// The ids of objects that are added to these, one after the other. Ids count from 0, but one of them may be gone.
pub fn next_ids(objects: &[Object]) -> impl Iterator<Item = i32> + use<> {
    let first = objects.iter().map(|object| object.id).max().map_or(0, |last| last.saturating_add(1));
    // Other elements may have given the last number there is.
    std::iter::successors(Some(first), |id| Some(id.saturating_add(1)))
}

/// Removes the objects with these ids.
pub fn remove(buffer: &mut gst::BufferRef, ids: &[i32]) {
    buffer.foreach_meta_mut(|mut meta| {
        let roi = meta.downcast_ref::<Roi>();
        let gone = roi.is_some_and(|meta| ids.contains(&meta.id()) && Object::of(meta).is_ours());
        ControlFlow::Continue(if gone {
            BufferMetaForeachAction::Remove
        } else {
            BufferMetaForeachAction::Keep
        })
    });
}

/// Puts a region of interest on a buffer for each object that has none yet, so that parameters can be added to it.
fn adopt(buffer: &mut gst::BufferRef) {
    if !analytics::any(buffer) {
        return;
    }
    let own = regions(buffer);
    let own_count = own.len();
    let all = analytics::objects(buffer, own);
    for object in all.iter().skip(own_count) {
        object.put(buffer, &object.detected_outline().unwrap_or_default());
    }
}

/// Adds a second model's result to the object of that number; false where there is none. Of an object's points those of the
/// last model that found some count; classifications, values and embeddings are added to existing ones.
pub fn attach(buffer: &mut gst::BufferRef, object: i32, what: &Finding) -> bool {
    if add_finding(buffer, object, what) {
        return true;
    }
    adopt(buffer);
    add_finding(buffer, object, what)
}

/// Adds it to the region of that number; false where there is none.
fn add_finding(buffer: &mut gst::BufferRef, object: i32, what: &Finding) -> bool {
    let metas = buffer.iter_meta_mut::<Roi>();
    let mut metas = metas.filter(|meta| meta.id() == object && Object::of(meta).is_ours());
    let Some(mut meta) = metas.next() else { return false };
    meta.add_param(match what {
        Finding::Keypoints(points) => points.to_structure(),
        Finding::Classification(classes) => classes.to_structure(),
        Finding::Values(values) => values.to_structure(),
        Finding::Embedding(embedding) => embedding.to_structure(),
        Finding::Tracking(tracking) => tracking.to_structure(),
        Finding::Identity(identity) => identity.to_structure(),
    });
    true
}

/// Adds a model's result for the whole frame, or for a region that is the same in every frame, to the object that stands for it:
/// one with this outline in which nothing was detected or tracked. If there is none, it is put there with this label.
pub fn attach_to_region(buffer: &mut gst::BufferRef, outline: &Rect, label: &str, what: Finding) {
    let stands_for_it = |object: &Object| {
        object.detection.is_none()
            && object.tracking.is_none()
            && object.keypoints.is_none()
            && !(object.classifications.is_empty()
                && object.values.is_empty()
                && object.embeddings.is_empty())
    };
    let regions = buffer.iter_meta::<Roi>().filter(|meta| meta.rect() == pixels(outline));
    let known = regions.map(|meta| Object::of(&meta)).find(stands_for_it);
    if let Some(known) = known {
        attach(buffer, known.id, &what);
        return;
    }
    let id = next_ids(&objects(buffer)).next().unwrap_or_default();
    let mut object = Object { id, label: label.to_owned(), ..Object::default() };
    match what {
        Finding::Keypoints(points) => object.keypoints = Some(points),
        Finding::Classification(classes) => object.classifications.push(classes),
        Finding::Values(values) => object.values.push(values),
        Finding::Embedding(embedding) => object.embeddings.push(embedding),
        Finding::Tracking(tracking) => object.tracking = Some(tracking),
        Finding::Identity(identity) => object.identity = Some(identity),
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

/// Adds where the objects are in the world, one entry for each in the order of [`objects`].
pub fn add_world(buffer: &mut gst::BufferRef, places: impl IntoIterator<Item = Option<WorldParam>>) {
    add(buffer, places.into_iter().map(|place| Some(place?.to_structure())));
}

fn add(buffer: &mut gst::BufferRef, params: impl Iterator<Item = Option<gst::Structure>>) {
    adopt(buffer);
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
    fn new_ids_follow_the_highest_and_the_last_number_there_is_ends_nothing() {
        let of = |ids: &[i32]| -> Vec<i32> {
            let objects: Vec<_> = ids.iter().map(|id| Object { id: *id, ..Object::default() }).collect();
            next_ids(&objects).take(3).collect()
        };
        assert_eq!(of(&[]), [0, 1, 2]);
        assert_eq!(of(&[4, 2]), [5, 6, 7]);
        assert_eq!(of(&[i32::MAX - 2]), [i32::MAX - 1, i32::MAX, i32::MAX]);
        assert_eq!(of(&[i32::MAX]), [i32::MAX; 3]);
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
        // A region of another element, with a parameter of the same name and other fields.
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
        // A region of another element, with the number of one of ours.
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
            z: vec![-0.5, 0.5],
            edges: vec![[0, 1]],
            pose_score: Some(0.75),
        };
        let classes = ClassificationParam {
            held: false,
            model: "insects".into(),
            output: "kind".into(),
            labels: vec!["fly".into(), "bee".into()],
            label_ids: vec![4, 2],
            confidence: vec![0.75, 0.125],
        };
        let identity = IdentityParam { name: "unknown-3".into(), score: 0.75, unknown: Some(3), held: true };
        let sex = ClassificationParam { output: "sex".into(), ..classes.clone() };
        let embedding = EmbeddingParam::new("insects", "vector", true, &[0.5, -0.25]);
        assert!(attach(buffer, 1, &Finding::Keypoints(points.clone())));
        assert!(attach(buffer, 1, &Finding::Classification(classes.clone())));
        assert!(attach(buffer, 1, &Finding::Embedding(embedding.clone())));
        assert!(attach(buffer, 1, &Finding::Classification(sex.clone())));
        assert!(attach(buffer, 1, &Finding::Identity(identity.clone())));
        let other = IdentityParam { name: "Ann".into(), ..IdentityParam::default() };
        assert!(attach(buffer, 1, &Finding::Identity(other)), "it does not count");
        assert!(!attach(buffer, 2, &Finding::Keypoints(points.clone())));
        let [first, second] = &objects(buffer)[..] else { panic!("there are two objects") };
        assert_eq!((first.angle, second.angle), (0.0, 0.5));
        assert_eq!((&first.keypoints, &first.classifications, &first.embeddings), (&None, &vec![], &vec![]));
        assert_eq!((&second.keypoints, &second.classifications), (&Some(points), &vec![classes, sex]));
        assert_eq!((&second.embeddings[..], &second.identity), (&[embedding][..], &Some(identity)));
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
