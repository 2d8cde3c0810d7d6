//! What is written is read from the library's own metadata. Where GStreamer has none (before 1.24), these tests print that and
//! end.

use cudainfer_kernels::geometry::Rect;

use super::library::{CONTAIN, IS_PART_OF, RELATE_TO};
use super::relations::{Entries, EntryKind, Location, Writer};
use super::*;
use crate::meta::mask::{Mask, MaskKind};
use crate::meta::object::{
    ClassificationParam, DetectionParam, Finding, KeypointsParam, TrackingParam, add_tracking, attach,
    objects,
};

/// The library, or why the rest of the test is left out.
fn library() -> Option<&'static Functions> {
    gst::init().unwrap();
    mask::register();
    let functions = library::open();
    if let Err(why) = &functions {
        eprintln!("left out, for this GStreamer has no analytics metadata: {why}");
    }
    functions.ok()
}

fn object(id: i32, label: &str, x: f32) -> Object {
    let rect = Rect { x, y: 20.0, w: 30.0, h: 40.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 3 });
    Object { id, label: label.into(), detection, ..Object::default() }
}

fn put(frame: &mut gst::BufferRef, objects: &[Object]) {
    objects.iter().for_each(|object| object.put(frame, &object.detected_outline().unwrap_or_default()));
}

fn kinds(functions: &'static Functions, frame: &gst::BufferRef) -> Vec<EntryKind> {
    let Some(entries) = RelationMeta::of(functions, frame) else { return vec![] };
    (0..).take(entries.len()).map(|id| entries.kind(id)).collect()
}

fn relation(functions: &'static Functions, frame: &gst::BufferRef, a: u32, b: u32) -> [std::ffi::c_int; 2] {
    let meta = functions.meta(frame).unwrap();
    // SAFETY: the meta is the frame's, and both entries exist.
    unsafe { [(functions.relation)(meta, a, b), (functions.relation)(meta, b, a)] }
}

#[test]
fn what_the_library_cannot_hold_is_refused_with_what_to_set() {
    gst::init().unwrap();
    assert!(Metadata::Roi.forms(Contents::Keypoints).is_ok());
    assert!(Metadata::Auto.forms(Contents::Keypoints).is_ok());
    let refused = Metadata::Analytics.forms(Contents::Keypoints).err();
    match library::open() {
        Ok(functions) => assert_eq!(refused.is_none(), functions.keypoints.is_some()),
        Err(_) => {
            let why = refused.unwrap();
            assert!(why.contains("1.24 or newer, but libgstanalytics-1.0.so.0: cannot open"), "{why}");
            assert!(why.contains("set metadata to auto or roi"), "{why}");
            assert!(Metadata::Both.forms(Contents::Objects).is_err());
        }
    }
}

#[test]
fn without_the_library_and_with_roi_only_regions_are_written() {
    gst::init().unwrap();
    mask::register();
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    Metadata::Roi
        .forms(Contents::Objects)
        .unwrap()
        .write(frame, |frame| put(frame, &[object(0, "car", 10.0)]));
    assert_eq!((frame.iter_meta::<Roi>().count(), any(frame)), (1, false));
}

#[test]
fn objects_are_written_once_with_tracks_and_classes_whichever_elements_follow() {
    let Some(functions) = library() else { return };
    let forms = Metadata::Auto.forms(Contents::Objects).unwrap();
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    forms.write(frame, |frame| put(frame, &[object(0, "car", 10.4), object(1, "bus", 50.6)]));
    assert_eq!(kinds(functions, frame), [EntryKind::Detection; 2]);
    let track =
        TrackingParam { id: 7, state: "tracked".into(), seen: Some([100, 300]), ..TrackingParam::default() };
    let lost = TrackingParam { id: 9, state: "lost".into(), ..TrackingParam::default() };
    forms.write(frame, |frame| {
        add_tracking(frame, [None, Some(track)]);
        put(frame, &[Object { id: 2, label: "car".into(), tracking: Some(lost), ..Object::default() }]);
    });
    let classes = ClassificationParam {
        labels: vec!["red".into(), "blue".into()],
        label_ids: vec![0, 1],
        confidence: vec![0.75, 0.25],
        ..ClassificationParam::default()
    };
    forms.write(frame, |frame| attach(frame, 0, &Finding::Classification(classes)));
    // Writing again adds nothing.
    forms.write(frame, |_| ());
    let all = [
        EntryKind::Detection,
        EntryKind::Detection,
        EntryKind::Tracking,
        EntryKind::Tracking,
        EntryKind::Classification,
    ];
    assert_eq!(kinds(functions, frame), all);
    let entries = RelationMeta::of(functions, frame).unwrap();
    let label = crate::meta::label::Label::named("bus").quark();
    assert_eq!(
        entries.location(1),
        Some(Location { label, rect: [51, 20, 30, 40], angle: 0.0, confidence: 0.5 })
    );
    let [tracked, gone] = [2, 3].map(|id| entries.track(id).unwrap());
    assert_eq!((tracked.id, tracked.first_seen, tracked.last_seen, tracked.lost), (7, 100, 300, false));
    assert_eq!((gone.id, gone.lost), (9, true));
    assert_eq!(entries.classes(4, 9).iter().map(|(_, level)| *level).collect::<Vec<_>>(), [0.75, 0.25]);
    assert_eq!(relation(functions, frame, 1, 2), [RELATE_TO; 2]);
    assert_eq!(relation(functions, frame, 0, 4), [RELATE_TO; 2]);
    assert_eq!((relation(functions, frame, 0, 2), relation(functions, frame, 1, 3)), ([0; 2], [0; 2]));
    // A reader of both forms sees each object once, also in a copy.
    let copy = frame.copy();
    for frame in [&*frame, &*copy] {
        let found = objects(frame);
        assert_eq!(found.iter().map(|object| object.id).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(found[0].classifications.len(), 1);
    }
}

#[test]
fn analytics_alone_are_read_as_the_objects_they_were_made_of() {
    let Some(functions) = library() else { return };
    let forms = Metadata::Analytics.forms(Contents::Objects).unwrap();
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    Roi::add(frame, "face", (1, 2, 3, 4));
    let turned = Object { angle: 0.5, ..object(1, "ship", 50.0) };
    forms.write(frame, |frame| put(frame, &[object(0, "car", 10.0), turned.clone()]));
    let track = TrackingParam { id: 7, state: "tracked".into(), ..TrackingParam::default() };
    forms.write(frame, |frame| add_tracking(frame, [None, Some(track)]));
    let regions: Vec<_> = frame.iter_meta::<Roi>().map(|region| region.roi_type().to_owned()).collect();
    assert_eq!(regions, ["face"], "another element's region stays");
    let found = objects(frame);
    let [car, ship] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (car.label.as_str(), car.detection.as_ref().unwrap().rect),
        ("car", object(0, "", 10.0).detection.unwrap().rect)
    );
    assert_eq!(ship.tracking.as_ref().map(|track| track.id), Some(7));
    if functions.rotated.is_some() {
        assert_eq!(
            (ship.angle, ship.detection.as_ref().unwrap().rect),
            (0.5, turned.detection.unwrap().rect)
        );
    } else {
        let outline = ship.detection.as_ref().unwrap().rect;
        assert!(ship.angle == 0.0 && outline.w > 40.0, "the upright box around it: {outline:?}");
    }
}

#[test]
fn an_object_that_only_others_wrote_gets_a_region_when_something_is_found_out_about_it() {
    let Some(functions) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    {
        let mut writer = Writer::new(functions, frame, 2).unwrap();
        // A detector without labels, as ssdobjectdetector without a file of them, and a box that begins left of the frame.
        let location = Location { label: 0, rect: [-4, 5, 20, 30], angle: 0.0, confidence: 0.25 };
        writer.detection(location).unwrap();
        writer.detection(Location { rect: [60, 5, 20, 30], ..location }).unwrap();
    }
    let ids: Vec<_> = objects(frame).iter().map(|object| object.id).collect();
    assert_eq!(ids, [0, 1]);
    let track = |id| Some(TrackingParam { id, state: "tracked".into(), ..TrackingParam::default() });
    Metadata::Both
        .forms(Contents::Objects)
        .unwrap()
        .write(frame, |frame| add_tracking(frame, [track(4), track(5)]));
    let found = objects(frame);
    let read: Vec<_> = found.iter().map(|object| (object.id, object.tracking.as_ref().unwrap().id)).collect();
    assert_eq!(read, [(0, 4), (1, 5)], "none is there twice");
    assert_eq!(found[0].detection.as_ref().unwrap().rect.x, -4.0);
    let regions: Vec<_> = frame.iter_meta::<Roi>().map(|region| region.rect()).collect();
    assert_eq!(regions, [(0, 5, 16, 30), (60, 5, 20, 30)]);
    let all = [EntryKind::Detection, EntryKind::Detection, EntryKind::Tracking, EntryKind::Tracking];
    assert_eq!(kinds(functions, frame), all);
    assert_eq!(relation(functions, frame, 1, 3), [RELATE_TO; 2]);
}

#[test]
fn masks_are_written_with_their_place_and_related_to_their_object_or_their_classes() {
    let Some(functions) = library() else { return };
    if functions.segmentation.is_none() {
        assert!(Metadata::Analytics.forms(Contents::Masks).is_err_and(|why| why.contains("1.26")));
        return;
    }
    for metadata in [Metadata::Both, Metadata::Analytics] {
        let forms = metadata.forms(Contents::Masks).unwrap();
        let mut frame = gst::Buffer::new();
        let frame = frame.get_mut().unwrap();
        Metadata::Analytics.forms(Contents::Objects).unwrap().write(frame, |frame| {
            put(frame, &[object(0, "car", 10.0), object(1, "bus", 50.0)]);
        });
        let rect = Rect { x: -2.0, y: 3.0, w: 31.0, h: 8.0 };
        let mask = |kind| Mask { kind, width: 31, height: 2, data: gst::Buffer::from_slice([1u8; 62]), rect };
        let masks = [
            mask(MaskKind::Instance { object: 1 }),
            mask(MaskKind::Alpha { label: "person".into() }),
            mask(MaskKind::Classes { labels: vec!["road".into(), "sky".into()], background: None }),
        ];
        forms.write(frame, |frame| mask::put(frame, &masks));
        assert_eq!(mask::masks(frame).len(), if metadata == Metadata::Both { 3 } else { 1 });
        let all = [
            EntryKind::Detection,
            EntryKind::Detection,
            EntryKind::Other,
            EntryKind::Other,
            EntryKind::Classification,
        ];
        assert_eq!(kinds(functions, frame), all);
        assert_eq!(relation(functions, frame, 1, 2), [RELATE_TO; 2]);
        assert_eq!(relation(functions, frame, 3, 4), [RELATE_TO; 2]);
        assert_eq!(objects(frame).len(), 2);
    }
}

#[test]
fn points_and_their_group_are_written_where_the_library_has_them_and_their_box_everywhere() {
    let Some(functions) = library() else { return };
    let points = KeypointsParam {
        names: vec!["head".into(), "tail".into()],
        x: vec![1.0, 5.4],
        y: vec![2.0, 9.6],
        score: vec![0.5, 1.0],
        edges: vec![[0, 1], [1, 7]],
        ..KeypointsParam::default()
    };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    let around = points.outline().unwrap();
    let pose = Object { label: "pose".into(), keypoints: Some(points), ..Object::default() };
    Metadata::Both.forms(Contents::Keypoints).unwrap().write(frame, |frame| pose.put(frame, &around));
    let entries = RelationMeta::of(functions, frame).unwrap();
    assert_eq!(
        entries.location(0).map(|location| (location.rect, location.confidence)),
        Some(([1, 2, 4, 8], 0.75))
    );
    let group = kinds(functions, frame).iter().position(|kind| *kind == EntryKind::Group);
    assert_eq!(group.is_some(), functions.keypoints.is_some());
    if let Some(group) = group {
        assert_eq!(relation(functions, frame, 0, u32::try_from(group).unwrap()), [CONTAIN, IS_PART_OF]);
    }
}

#[test]
fn relations_to_entries_that_do_not_exist_and_entries_of_other_types_are_read_past() {
    let Some(functions) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    {
        let mut writer = Writer::new(functions, frame, 8).unwrap();
        let location = Location { label: 0, rect: [4, 5, 20, 30], angle: 0.0, confidence: 0.25 };
        let detection = writer.detection(location).unwrap();
        for (a, b) in [(detection, detection), (detection, 5), (6, detection), (7, 6), (u32::MAX, 0)] {
            writer.relate(a, b, [RELATE_TO; 2]);
        }
    }
    assert_eq!(objects(frame).len(), 1);
    let track = TrackingParam { id: 7, state: "tracked".into(), ..TrackingParam::default() };
    Metadata::Both.forms(Contents::Objects).unwrap().write(frame, |frame| add_tracking(frame, [Some(track)]));
    assert_eq!(
        objects(frame).iter().filter_map(|object| Some(object.tracking.as_ref()?.id)).collect::<Vec<_>>(),
        [7]
    );
}

#[test]
fn what_is_a_part_of_another_object_is_it_still_where_only_entries_say_so() {
    let Some(_) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    let plate = Object { parent: Some(1), ..object(2, "plate", 60.0) };
    let all = [object(0, "car", 10.0), object(1, "car", 50.0), plate];
    Metadata::Analytics.forms(Contents::Objects).unwrap().write(frame, |frame| put(frame, &all));
    assert_eq!(frame.iter_meta::<Roi>().count(), 0);
    let parents: Vec<_> = objects(frame).iter().map(|object| (object.id, object.parent)).collect();
    assert_eq!(parents, [(0, None), (1, None), (2, Some(1))]);
}

#[test]
fn what_is_found_later_within_an_object_that_only_entries_describe_names_it() {
    let Some(_) = library() else { return };
    for metadata in [Metadata::Analytics, Metadata::Both, Metadata::Roi] {
        let mut frame = gst::Buffer::new();
        let frame = frame.get_mut().unwrap();
        let cars = [object(0, "car", 10.0), object(1, "car", 50.0)];
        Metadata::Analytics.forms(Contents::Objects).unwrap().write(frame, |frame| put(frame, &cars));
        let plate = Object { parent: Some(1), ..object(2, "plate", 60.0) };
        metadata.forms(Contents::Objects).unwrap().write(frame, |frame| put(frame, &[plate]));
        let all = objects(frame);
        let found = |label: &str, x: f32| {
            let of =
                |object: &&Object| object.label == label && object.detection.as_ref().unwrap().rect.x == x;
            all.iter().find(of).map(|object| (object.id, object.parent)).unwrap()
        };
        assert_eq!(all.len(), 3, "{metadata:?}");
        let ids = [found("car", 10.0), found("car", 50.0), found("plate", 60.0)];
        assert_eq!(ids, [(0, None), (1, None), (2, Some(1))], "{metadata:?}");
    }
}

#[test]
fn what_an_entry_of_another_kind_is_asked_is_nothing() {
    let Some(functions) = library() else { return };
    let mut frame = gst::Buffer::new();
    let frame = frame.get_mut().unwrap();
    let track = TrackingParam { id: 7, state: "tracked".into(), ..TrackingParam::default() };
    let car = Object { tracking: Some(track), ..object(0, "car", 10.0) };
    Metadata::Analytics.forms(Contents::Objects).unwrap().write(frame, |frame| put(frame, &[car]));
    let entries = RelationMeta::of(functions, frame).unwrap();
    for id in (0..u32::try_from(entries.len()).unwrap()).chain([99, u32::MAX]) {
        let kind = entries.kind(id);
        assert_eq!(entries.location(id).is_some(), kind == EntryKind::Detection, "{id}");
        assert_eq!(entries.track(id).is_some(), kind == EntryKind::Tracking, "{id}");
        assert!(entries.classes(id, 9).is_empty(), "{id}");
        assert!([0, 1, 99, u32::MAX].iter().all(|whole| !entries.is_part_of(id, *whole)), "{id}");
    }
}
