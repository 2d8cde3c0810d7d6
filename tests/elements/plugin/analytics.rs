//! GStreamer's analytics metadata in whole pipelines, with GStreamer's own elements before and after ours if it has them.

use cudainfer_tests::{TestPipeline, buffers, model, run, scratch};
use gst_video::VideoRegionOfInterestMeta;
use gstcudainfer::meta::analytics::{Contents, Metadata};
use gstcudainfer::meta::object::{Object, objects};

/// Frames in which the detector finds a red box of 16x24 pixels at 8, 4.
fn detector(frames: u32, metadata: &str) -> String {
    format!(
        "videotestsrc num-buffers={frames} pattern=red ! video/x-raw,format=RGB,width=64,height=64 \
         ! fusedpreproc ! trtinfer model={} ! gpunms name=nms {metadata}",
        model("detector")
    )
}

/// Whether GStreamer has analytics metadata; if not, it prints that the rest of a test is left out.
fn has_analytics() -> bool {
    cudainfer_tests::init();
    let missing = Metadata::Both.forms(Contents::Objects).err();
    if let Some(why) = &missing {
        eprintln!("left out: {why}");
    }
    missing.is_none()
}

/// Whether GStreamer has this element.
fn has(element: &str) -> bool {
    let found = has_analytics() && gst::ElementFactory::find(element).is_some();
    if !found {
        eprintln!("left out: this GStreamer has no {element}");
    }
    found
}

fn regions(frame: &gst::Buffer) -> usize {
    frame.iter_meta::<VideoRegionOfInterestMeta>().count()
}

/// Label, box and identity.
fn summary(object: &Object) -> (&str, [f32; 4], Option<u64>) {
    let rect = object.detection.as_ref().unwrap().rect;
    (&object.label, [rect.x, rect.y, rect.w, rect.h], object.tracking.as_ref().map(|track| track.id))
}

const FOUND: (&str, [f32; 4], Option<u64>) = ("red", [8.0, 4.0, 16.0, 24.0], Some(1));

#[test]
fn what_gstreamer_cannot_hold_is_an_error_and_automatic_metadata_are_what_it_can() {
    for property in ["metadata=both", "metadata=analytics"] {
        let report = run(&format!("{} ! fakesink", detector(1, property)));
        if has_analytics() {
            report.succeeds();
        } else {
            report.fails_with(&["nms: metadata=", "GStreamer 1.24 or newer", "set metadata to auto or roi"]);
        }
    }
    let tracker = run(&format!("{} ! tracker name=t metadata=both ! fakesink", detector(1, "")));
    assert_eq!(tracker.eos, has_analytics(), "{tracker:?}");
    for property in ["", "metadata=roi"] {
        let frames = buffers(&format!("{} ! fakesink name=out", detector(1, property)));
        assert_eq!((regions(&frames[0]), objects(&frames[0]).len()), (1, 1));
    }
}

/// What all our readers make of the detector's box: the frames at the end, those after the detector, and the records.
fn read_by_all(metadata: &str) -> (Vec<gst::Buffer>, Vec<gst::Buffer>, String) {
    let records = scratch("analytics").join("records.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "{} ! identity name=detected ! tracker ! zonecount zones=all=polygon:0,0,64,0,64,64,0,64 \
         ! fusedpreproc roi=objects ! trtinfer model={} ! classify ! inferpublish location={} ! inferoverlay \
         ! fakesink name=out",
        detector(3, metadata),
        model("colours"),
        records.display()
    ));
    let (detected, out) = (pipeline.collect("detected"), pipeline.collect("out"));
    pipeline.play();
    pipeline.wait().succeeds();
    let (detected, out) = (detected.lock().unwrap().clone(), out.lock().unwrap().clone());
    (out, detected, std::fs::read_to_string(records).unwrap())
}

#[test]
fn all_our_elements_read_objects_that_only_analytics_metadata_describe() {
    if !has_analytics() {
        return;
    }
    let (out, detected, records) = read_by_all("metadata=analytics");
    let (of_regions, ..) = read_by_all("metadata=roi");
    assert!(detected.iter().all(|frame| regions(frame) == 0));
    let results = |frames: &[gst::Buffer]| -> Vec<_> {
        let found = frames.iter().map(|frame| objects(frame));
        found
            .map(|found| {
                found.into_iter().map(|o| (o.tracking, o.classifications, o.zones)).collect::<Vec<_>>()
            })
            .collect()
    };
    assert_eq!(results(&out), results(&of_regions));
    for frame in &out {
        let found = objects(frame);
        assert_eq!(found.iter().map(summary).collect::<Vec<_>>(), [FOUND]);
        assert_eq!(found[0].classifications.len(), 1);
    }
    assert!(objects(&out[2])[0].zones.is_some());
    // The overlay has drawn the same.
    let bytes = |frame: &gst::Buffer| frame.map_readable().unwrap().to_vec();
    assert_ne!(bytes(&out[2]), bytes(&detected[2]));
    assert_eq!(bytes(&out[2]), bytes(&of_regions[2]));
    assert_eq!(records.lines().filter(|line| line.contains("\"red\"")).count(), 3, "{records}");
}

#[test]
fn what_we_wrote_is_read_as_one_object_after_a_tee_and_after_elements_that_copy_frames() {
    if !has_analytics() {
        return;
    }
    let frames = buffers(&format!(
        "{} ! tee name=t ! queue ! tracker ! fakesink name=out t. ! queue ! tracker ! fakesink async=false",
        detector(2, "metadata=both")
    ));
    for frame in &frames {
        assert_eq!(objects(frame).iter().map(summary).collect::<Vec<_>>(), [FOUND]);
        assert_eq!(regions(frame), 1);
    }
}

#[test]
fn boxes_of_onnxinference_and_ssdobjectdetector_are_tracked_counted_and_drawn_by_ours() {
    if !(has("onnxinference") && has("ssdobjectdetector")) {
        return;
    }
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=4 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! onnxinference model-file={} \
         ! ssdobjectdetector ! identity name=found ! tracker ! zonecount zones=all=polygon:0,0,64,0,64,64,0,64 ! inferoverlay \
         ! fakesink name=out",
        model("ssd-mobilenet")
    ));
    let (detected, out) = (pipeline.collect("found"), pipeline.collect("out"));
    pipeline.play();
    pipeline.wait().succeeds();
    let (detected, out) = (detected.lock().unwrap().clone(), out.lock().unwrap().clone());
    assert!(detected.iter().all(|frame| regions(frame) == 0));
    for frame in &out {
        let found = objects(frame);
        let [object] = &found[..] else { panic!("{found:?}") };
        let (_, rect, track) = summary(object);
        assert_eq!((rect, track), ([8.0, 16.0, 24.0, 32.0], Some(1)));
        assert_eq!(object.detection.as_ref().unwrap().confidence, 0.875);
    }
    assert!(objects(&out[3])[0].zones.is_some());
    let bytes = |frame: &gst::Buffer| frame.map_readable().unwrap().to_vec();
    assert_ne!(bytes(&out[3]), bytes(&detected[3]));
}

/// The plugin is `rsanalytics` of gst-plugins-rs.
#[test]
fn relationmeta2onvifmeta_makes_onvifs_xml_of_our_objects() {
    if !has("relationmeta2onvifmeta") {
        return;
    }
    let frames =
        buffers(&format!("{} ! tracker ! relationmeta2onvifmeta ! fakesink name=out", detector(2, "")));
    let meta = gst::meta::CustomMeta::from_buffer(&frames[1], "OnvifXMLFrameMeta").unwrap();
    let xml = meta.structure().get::<gst::BufferList>("frames").unwrap();
    let xml = String::from_utf8(xml.get(0).unwrap().map_readable().unwrap().to_vec()).unwrap();
    for part in ["left=\"8\"", "top=\"4\"", "right=\"24\"", "bottom=\"28\"", "Likelihood=\"1\"", ">red<"] {
        assert!(xml.contains(part), "{part} is not in {xml}");
    }
    assert_eq!(xml.matches("<tt:Object ").count(), 1, "{xml}");
}

/// The plugin is `rsanalytics` of gst-plugins-rs.
#[test]
fn our_elements_work_before_analyticscombiner_and_after_analyticssplitter() {
    if !(has("analyticscombiner") && has("analyticssplitter")) {
        return;
    }
    let frames = buffers(&format!(
        "analyticscombiner name=all batch-duration=40000000 ! analyticssplitter name=each {} ! all.sink_0 {} ! all.sink_1 \
         each.src_0_0 ! queue ! tracker ! fakesink name=out each.src_0_1 ! queue ! fakesink",
        detector(4, ""),
        detector(4, "").replace("=nms", "=other")
    ));
    assert_eq!(frames.len(), 4);
    for frame in &frames {
        assert_eq!(objects(frame).iter().map(summary).collect::<Vec<_>>(), [FOUND]);
    }
}

#[test]
fn a_batch_of_several_streams_cannot_be_linked_to_our_elements() {
    cudainfer_tests::init();
    let caps = "multistream/x-analytics-batch(meta:GstAnalyticsBatchMeta)";
    for element in ["fusedpreproc", "tracker", "zonecount", "inferoverlay", "inferpublish", "cudainferupload"]
    {
        let refused =
            gst::parse::launch(&format!("appsrc ! capsfilter caps={caps} ! {element} name=ours ! fakesink"));
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("could not link") && why.contains("ours"), "{why}");
    }
}

#[test]
fn objectdetectionoverlay_draws_our_boxes() {
    if !has("objectdetectionoverlay") {
        return;
    }
    let drawn = |metadata: &str| {
        let elements = "videoconvert ! video/x-raw,format=RGBA ! objectdetectionoverlay draw-labels=false";
        let frames = buffers(&format!("{} ! {elements} ! fakesink name=out", detector(1, metadata)));
        frames[0].map_readable().unwrap().to_vec()
    };
    let (plain, boxes) = (drawn("metadata=roi"), drawn(""));
    let changed: Vec<_> =
        (0..64 * 64).filter(|i| plain[4 * i..4 * i + 4] != boxes[4 * i..4 * i + 4]).collect();
    assert!(!changed.is_empty(), "nothing is drawn");
    // On the box's edges, give or take a line's width.
    let near = |at: usize, edges: [usize; 2]| edges.iter().any(|edge| at.abs_diff(*edge) <= 3);
    for pixel in changed {
        let (x, y) = (pixel % 64, pixel / 64);
        assert!(near(x, [8, 24]) || near(y, [4, 28]), "{x}, {y} is drawn");
    }
}

#[test]
fn ioutracker_tracks_our_boxes_and_we_read_its_tracks() {
    if !has("ioutracker") {
        return;
    }
    for metadata in ["metadata=both", "metadata=analytics"] {
        let frames = buffers(&format!("{} ! ioutracker ! fakesink name=out", detector(4, metadata)));
        let tracks: Vec<_> = frames
            .iter()
            .map(|frame| {
                let found = objects(frame);
                assert_eq!(found.len(), 1, "{found:?}");
                let tracking = found[0].tracking.clone().unwrap();
                (tracking.id, tracking.seen.unwrap(), tracking.state)
            })
            .collect();
        assert!(
            tracks
                .iter()
                .all(|(id, [first, _], state)| (*id, *first, state.as_str()) == (tracks[0].0, 0, "tracked"))
        );
        assert!(tracks.windows(2).all(|pair| pair[0].1[1] < pair[1].1[1]), "{tracks:?}");
    }
}
