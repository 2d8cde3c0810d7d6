//! Metadata as others see it: through GStreamer's own types, after tees and queues.

use cudainfer_tests::{TestPipeline, buffers, model};
use gst::prelude::*;
use gst_video::VideoRegionOfInterestMeta;
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

#[test]
fn tensors_can_be_read_by_their_structure_alone() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=RGB,width=64,height=32 \
         ! fusedpreproc ! trtinfer model={} ! fakesink name=out",
        model("detector")
    ));
    let meta = gst::meta::CustomMeta::from_buffer(&frames[0], "GstCudaInferTensorMeta").unwrap();
    let s = meta.structure();
    assert_eq!((s.get("input-width"), s.get("input-height")), (Ok(64), Ok(64)));
    // The detector's sidecar stretches 64x32 to 64x64.
    assert_eq!((s.get("scale-x"), s.get("scale-y")), (Ok(1.0), Ok(0.5)));
    assert_eq!((s.get("offset-x"), s.get("offset-y")), (Ok(0.0), Ok(0.0)));
    let tensors = s.get::<gst::ArrayRef>("tensors").unwrap();
    assert_eq!(tensors.len(), 1);
    let tensor = tensors[0].get::<gst::Structure>().unwrap();
    assert_eq!(tensor.get::<&str>("name"), Ok("detections"));
    assert_eq!(tensor.get::<&str>("type"), Ok("float32"));
    let dims: Vec<i32> =
        tensor.get::<gst::ArrayRef>("dims").unwrap().iter().map(|d| d.get().unwrap()).collect();
    assert_eq!(dims, [1, 6, 84]);
    let data = tensor.get::<gst::Buffer>("data").unwrap();
    assert_eq!(data.size(), 4 * 6 * 84);
}

#[test]
fn objects_can_be_read_as_regions_of_interest_with_parameters() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=64,height=64 \
         ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! fakesink name=out",
        model("detector")
    ));
    let meta = frames[1].meta::<VideoRegionOfInterestMeta>().unwrap();
    assert_eq!((meta.roi_type(), meta.id(), meta.rect()), ("red", 0, (8, 4, 16, 24)));
    let detection = meta.param("detection").unwrap();
    for (field, wanted) in [("x", 8.0), ("y", 4.0), ("w", 16.0), ("h", 24.0), ("confidence", 1.0)] {
        assert!((detection.get::<f64>(field).unwrap() - wanted).abs() < 1e-5, "{field}: {detection}");
    }
    assert_eq!(detection.get::<u32>("label-id"), Ok(0));
    let tracking = meta.param("tracking").unwrap();
    assert_eq!((tracking.get::<u64>("id"), tracking.get::<u32>("age")), (Ok(1), Ok(1)));
    assert_eq!(tracking.get::<&str>("state"), Ok("tracked"));
    let found = frames[1].iter_meta::<VideoRegionOfInterestMeta>().count();
    assert_eq!(found, 1, "the weaker box that overlaps it is suppressed");
    assert!(TensorSet::of(&frames[1]).is_none(), "gpunms puts the tensors away");
}

#[test]
fn regions_of_other_elements_are_left_alone() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 pattern=red ! identity name=stranger ! fusedpreproc ! trtinfer model={} \
         ! gpunms ! tracker ! inferoverlay ! fakesink name=out",
        model("detector")
    ));
    let pad = pipeline.element("stranger").static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
            VideoRegionOfInterestMeta::add(buffer.make_mut(), "face", (1, 2, 3, 4)).set_id(77);
        }
        gst::PadProbeReturn::Ok
    });
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let frames = seen.lock().unwrap();
    let regions: Vec<_> = frames[0]
        .iter_meta::<VideoRegionOfInterestMeta>()
        .map(|m| (m.roi_type().to_owned(), m.id(), m.params().count()))
        .collect();
    assert_eq!(regions, [("face".to_owned(), 77, 0), ("red".to_owned(), 0, 2)]);
}

#[test]
fn tensors_survive_a_tee_and_two_readers_agree() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=8 pattern=red ! fusedpreproc ! queue ! trtinfer model={} ! queue ! tee name=t \
         t. ! queue ! gpunms ! fakesink name=a   t. ! queue ! gpunms ! tracker ! fakesink name=b   \
         t. ! queue ! fakesink name=raw",
        model("detector")
    ));
    let [a, b, raw] = ["a", "b", "raw"].map(|name| pipeline.collect(name));
    pipeline.play();
    pipeline.wait().succeeds();
    let (a, b, raw) = (a.lock().unwrap(), b.lock().unwrap(), raw.lock().unwrap());
    assert_eq!((a.len(), b.len(), raw.len()), (8, 8, 8));
    for ((a, b), raw) in a.iter().zip(b.iter()).zip(raw.iter()) {
        let (a, b) = (objects(a), objects(b));
        assert_eq!(a.len(), 1);
        assert_eq!(a[0].detection, b[0].detection);
        assert!(a[0].tracking.is_none() && b[0].tracking.is_some(), "one branch sees the other's tracks");
        assert!(objects(raw).is_empty() && TensorSet::of(raw).is_some());
    }
}

#[test]
fn one_model_can_serve_boxes_and_another_points_on_the_same_frames() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms \
         ! fusedpreproc ! trtinfer model={} ! peakfind ! fakesink name=out",
        model("detector"),
        model("heat-maps")
    ));
    for frame in &frames {
        let found = objects(frame);
        assert_eq!(found.len(), 2);
        assert!(found[0].detection.is_some() && found[1].keypoints.is_some());
        assert_eq!((found[0].id, found[1].id), (0, 1), "ids count on");
    }
}
