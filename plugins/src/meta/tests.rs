//! Metadata of other programs, whose strings may be any bytes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use cudainfer_kernels::zones::{Counts, EventKind, ZoneKind};
use gst::glib::{self, SendValue, types::Type};
use gst::meta::CustomMeta;
use gst::prelude::*;
use gst_video::video_meta::VideoRegionOfInterestMeta as Roi;
use proptest::prelude::*;

use super::map::Map;
use super::mask::{self, Mask};
use super::object::{
    ClassificationParam, DetectionParam, EmbeddingParam, KeypointsParam, Object, TrackingParam, ValuesParam,
    objects,
};
use super::tensor::{self, Tensor, TensorSet};
use super::zone::{self, Zone, ZoneEvent, ZonesParam};
use super::{list, map, region};

/// A frame with all metadata that this plugin reads, as it writes them.
fn frame() -> gst::Buffer {
    gst::init().unwrap();
    for register in [mask::register, zone::register, map::register, tensor::register] {
        register();
    }
    let mut frame = gst::Buffer::new();
    let buffer = frame.get_mut().unwrap();
    let (rect, data) = (Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 }, gst::Buffer::from_slice([0u8; 4]));
    let names = vec!["a".to_owned(), "b".to_owned()];
    let points = vec![1.0, 2.0];
    let object = Object {
        label: "car".into(),
        detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 0 }),
        tracking: Some(TrackingParam { id: 1, state: "tracked".into(), rect, ..TrackingParam::default() }),
        keypoints: Some(KeypointsParam {
            names: names.clone(),
            x: points.clone(),
            y: points.clone(),
            score: points.clone(),
            z: points.clone(),
            edges: vec![[0, 1]],
            pose_score: Some(0.75),
        }),
        classifications: vec![ClassificationParam {
            held: true,
            model: "model".into(),
            output: "output".into(),
            labels: names.clone(),
            label_ids: vec![0, 1],
            confidence: points,
        }],
        values: vec![ValuesParam {
            held: true,
            model: "model".into(),
            output: "output".into(),
            names: vec!["age".into()],
            values: vec![31.5],
        }],
        embeddings: vec![EmbeddingParam::new("model", "output", true, &[1.0])],
        zones: Some(ZonesParam { names: vec!["yard".into()], dwell: vec![Some(1)] }),
        ..Object::default()
    };
    object.put(buffer, &rect);
    let kinds = [
        mask::MaskKind::Classes { labels: names, background: None },
        mask::MaskKind::Alpha { label: "person".into() },
        mask::MaskKind::Instance { object: 0 },
    ];
    mask::put(buffer, &kinds.map(|kind| Mask { kind, width: 2, height: 2, data: data.clone(), rect }));
    let yard = Zone {
        name: "yard".into(),
        kind: ZoneKind::Polygon,
        points: vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]],
        holes: vec![],
        counts: Counts::default(),
        classes: vec![("car".into(), Counts::default())],
        longest_dwell: None,
        mean_dwell: None,
    };
    let event = ZoneEvent {
        zone: "yard".into(),
        kind: ZoneKind::Polygon,
        what: EventKind::Enter { appeared: true },
        object: Some(0),
        track: Some(1),
        label: "car".into(),
        occupancy: 1,
    };
    zone::put(buffer, &[yard], &[event]);
    let depth = Map {
        name: "depth".into(),
        ty: TensorType::UInt8,
        width: 2,
        height: 2,
        channels: 2,
        layout: Layout::Nchw,
        data: data.clone(),
        rect,
        min_mean_max: None,
        sum: None,
        counts: Some("people".into()),
        non_finite: 0,
        score: None,
        range: None,
    };
    map::put(buffer, &depth);
    let set = TensorSet {
        tensors: vec![Tensor { desc: TensorDesc::fixed("image", TensorType::UInt8, &[1, 4]), data }],
        input: [2, 2],
        to_frame: Affine::IDENTITY,
        batch: None,
        object: None,
        region: None,
        held: false,
    };
    TensorSet::put(&[set], buffer);
    frame
}

/// The value with these bytes in place of string number `at`; strings in it are counted down from there.
fn spoil(value: &SendValue, at: &mut Option<usize>, bytes: &[u8]) -> SendValue {
    if value.type_() == Type::STRING {
        let spoiled = *at == Some(0);
        *at = at.and_then(|at| at.checked_sub(1));
        return if spoiled {
            PathBuf::from(OsString::from_vec(bytes.to_vec())).to_send_value()
        } else {
            value.clone()
        };
    }
    if let Ok(array) = value.get::<gst::Array>() {
        let values: Vec<_> = array.iter().map(|value| spoil(value, at, bytes)).collect();
        return gst::Array::from_values(values).to_send_value();
    }
    match value.get::<gst::Structure>() {
        Ok(mut structure) => {
            spoil_fields(&mut structure, at, bytes);
            structure.to_send_value()
        }
        Err(_) => value.clone(),
    }
}

fn spoil_fields(structure: &mut gst::StructureRef, at: &mut Option<usize>, bytes: &[u8]) {
    let fields: Vec<(glib::GString, SendValue)> =
        structure.iter().map(|(name, value)| (name.as_str().into(), value.clone())).collect();
    for (name, value) in fields {
        structure.set_value(&name, spoil(&value, at, bytes));
    }
}

/// The frame with one of all its strings replaced; `None` where it has fewer.
fn spoiled(frame: &gst::Buffer, at: usize, bytes: &[u8]) -> Option<gst::Buffer> {
    let mut frame = frame.copy();
    let buffer = frame.get_mut().unwrap();
    let mut at = Some(at);
    let params: Vec<gst::Structure> = buffer.meta::<Roi>().unwrap().params().map(ToOwned::to_owned).collect();
    buffer.foreach_meta_mut(|mut meta| {
        let remove = meta.downcast_ref::<Roi>().is_some();
        std::ops::ControlFlow::Continue(if remove {
            gst::buffer::BufferMetaForeachAction::Remove
        } else {
            gst::buffer::BufferMetaForeachAction::Keep
        })
    });
    let mut region = Roi::add(buffer, "car", (1, 2, 3, 4));
    for mut param in params {
        spoil_fields(&mut param, &mut at, bytes);
        region.add_param(param);
    }
    for name in [mask::NAME, zone::NAME, map::NAME, tensor::NAME] {
        let mut meta = CustomMeta::from_mut_buffer(buffer, name).unwrap();
        spoil_fields(meta.mut_structure(), &mut at, bytes);
    }
    at.is_none().then_some(frame)
}

/// How much of a frame's metadata is read.
fn read(frame: &gst::BufferRef) -> [usize; 5] {
    let objects = objects(frame);
    let known = objects.iter().map(|object| {
        usize::from(object.tracking.is_some())
            + usize::from(object.keypoints.is_some())
            + usize::from(object.zones.is_some())
            + object.classifications.len()
            + object.embeddings.len()
    });
    let zones = zone::zones(frame).map_or(0, |(zones, events)| zones.len() + events.len());
    let tensors = TensorSet::of(frame).map_or(0, |sets| sets.len());
    [known.sum(), mask::masks(frame).len(), zones, map::maps(frame).len(), tensors]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_bytes_in_any_string_of_metadata_end_the_process(bytes in proptest::collection::vec(1u8.., 0..12)) {
        let frame = frame();
        assert_eq!(read(&frame), [5, 3, 2, 1, 1]);
        let mut at = 0;
        while let Some(frame) = spoiled(&frame, at, &bytes) {
            // Words that this plugin knows, as kinds and types, make what they are in unreadable; names do not.
            let all: usize = read(&frame).iter().sum();
            prop_assert!(all >= 11, "{at} {:?}", read(&frame));
            prop_assert!(region::regions(&frame).len() == 1);
            at += 1;
        }
        prop_assert!(at > 25, "only {at} strings");
    }
}

/// Parameters of a region as other elements could write them, one a line in GStreamer's own form.
#[test]
fn fuzz_params() {
    gst::init().unwrap();
    cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "params")
        .with_ratio(100) // a name of two bytes is a text
        .run_text(|text| {
            let mut frame = gst::Buffer::new();
            let buffer = frame.get_mut().unwrap();
            let mut meta = gst_video::VideoRegionOfInterestMeta::add(buffer, "car", (1, 2, 3, 4));
            for param in text.replace('\0', "").lines().filter_map(|line| line.parse::<gst::Structure>().ok())
            {
                meta.add_param(param);
            }
            for object in objects(buffer) {
                if let Some(points) = &object.keypoints {
                    points.outline();
                    points.place(u32::MAX);
                }
            }
        });
}

/// Each line is a structure of the list that its name says.
#[test]
fn fuzz_metas() {
    gst::init().unwrap();
    for register in [mask::register, zone::register, map::register] {
        register();
    }
    cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "metas").with_ratio(100).run_text(|text| {
        let mut frame = gst::Buffer::new();
        let buffer = frame.get_mut().unwrap();
        for structure in text.replace('\0', "").lines().filter_map(|line| line.parse::<gst::Structure>().ok())
        {
            let (meta, field) = match structure.name().as_str() {
                "zone" => (zone::NAME, "zones"),
                "event" => (zone::NAME, "events"),
                "map" => (map::NAME, "maps"),
                "mask" => (mask::NAME, "masks"),
                _ => continue,
            };
            list::extend(buffer, meta, field, std::iter::once(structure));
        }
        // That the pixels are as many as the sides say is checked where they are read.
        zone::zones(buffer);
        map::maps(buffer);
        mask::masks(buffer);
    });
}
