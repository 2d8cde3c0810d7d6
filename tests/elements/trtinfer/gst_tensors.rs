//! GStreamer's own tensors (`GstTensorMeta`, 1.26) in whole pipelines, with GStreamer's elements before and after ours if it
//! has them.

use std::path::PathBuf;

use cudainfer_tests::{TestPipeline, buffers, model, run, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

/// Frames of the size of all models here.
const SOURCE: &str = "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format=RGB,width=64,height=64";

/// Whether GStreamer has these elements and is at least 1.`minor`; if not, it prints that a test is left out.
fn has(minor: u32, elements: &[&str]) -> bool {
    cudainfer_tests::init();
    let (_, running, ..) = gst::version();
    let missing = elements.iter().find(|element| gst::ElementFactory::find(element).is_none());
    if running < minor {
        eprintln!("left out: this is GStreamer 1.{running}, and 1.{minor} is needed");
    } else if let Some(element) = missing {
        eprintln!("left out: this GStreamer has no {element}");
    }
    running >= minor && missing.is_none()
}

/// Label, box in whole pixels, and confidence of each object.
fn found(frame: &gst::Buffer) -> Vec<(String, [f32; 4], f32)> {
    let summary = |object: Object| {
        let detection = object.detection.unwrap();
        let rect = detection.rect;
        let rect = [rect.x, rect.y, rect.w, rect.h].map(f32::round);
        (object.label, rect, detection.confidence)
    };
    objects(frame).into_iter().map(summary).collect()
}

/// The results of a pipeline that ends in a fakesink called `out`.
fn results(pipeline: &str) -> Vec<Vec<(String, [f32; 4], f32)>> {
    buffers(&format!("{pipeline} ! fakesink name=out")).iter().map(found).collect()
}

/// The caps of an element's source pad, once the pipeline has run.
fn caps_after(pipeline: &str, element: &str) -> gst::Caps {
    let pipeline = TestPipeline::new(&format!("{pipeline} ! fakesink"));
    pipeline.play();
    let report = pipeline.wait();
    assert!(report.errors.is_empty(), "{report:?}");
    pipeline.element(element).static_pad("src").unwrap().current_caps().unwrap()
}

/// A copy of a test model with a `.modelinfo` beside it.
fn with_modelinfo(name: &str, info: &str) -> PathBuf {
    let path = scratch("tensors").join(format!("{name}.onnx"));
    std::fs::copy(model(name), &path).unwrap();
    std::fs::write(path.with_file_name(format!("{name}.onnx.modelinfo")), info).unwrap();
    path
}

/// The metadata say how boxes are read: YOLOv8's rows, one column a box.
fn yolo() -> String {
    format!("{SOURCE} ! fusedpreproc ! trtinfer name=infer model={}", model("says-names"))
}

const SSD_BOX: ([f32; 4], f32) = ([8.0, 16.0, 24.0, 32.0], 0.875);

#[test]
fn what_gstreamer_cannot_hold_is_an_error_and_by_default_nothing_changes() {
    cudainfer_tests::init();
    let (_, minor, ..) = gst::version();
    for form in ["gst", "both"] {
        let report = run(&format!("{} tensors={form} ! fakesink", yolo()));
        if minor >= 26 {
            report.succeeds();
        } else {
            report.fails_with(&[
                "infer: tensors=gst and tensors=both need libgstanalytics",
                "set tensors to auto or ours",
            ]);
        }
    }
    for form in ["", "tensors=ours"] {
        let frames = buffers(&format!("{} {form} ! fakesink name=out", yolo()));
        assert!(frames.iter().all(|frame| TensorSet::of(frame).is_some()));
        let caps = caps_after(&format!("{} {form}", yolo()), "infer");
        assert!(caps.features(0).unwrap().contains("meta:CudaInferTensor"), "{caps}");
    }
}

#[test]
fn our_decoder_finds_the_same_in_all_forms_and_takes_the_tensors_off() {
    let expected = results(&format!("{} ! gpunms", yolo()));
    assert_eq!(expected[0].len(), 1);
    if !has(26, &[]) {
        return;
    }
    for form in ["ours", "both", "gst"] {
        assert_eq!(results(&format!("{} tensors={form} ! gpunms", yolo())), expected, "{form}");
    }
    // If one branch wants frames without this plugin's tensors, neither branch gets them.
    let tee = format!(
        "{} tensors=both ! tee name=t t. ! queue ! videoconvert ! video/x-raw,format=RGB ! fakesink async=false t. ! queue",
        yolo()
    );
    assert_eq!(results(&format!("{tee} ! gpunms")), expected);
}

/// What is on frames besides objects: how many masks and maps.
fn others(frame: &gst::Buffer) -> [usize; 2] {
    [gstcudainfer::meta::mask::masks(frame).len(), gstcudainfer::meta::map::maps(frame).len()]
}

#[test]
fn all_our_decoders_read_gstreamers_tensors_as_ours() {
    if !has(26, &[]) {
        return;
    }
    for (name, size, decoder) in [
        ("colours", [64, 64], "classify"),
        ("heat-maps", [128, 96], "peakfind"),
        ("masks", [64, 64], "gpunms"),
        ("class-map-uint8", [24, 16], "segmask"),
        ("class-map-int64", [24, 16], "segmask output=gray"),
        ("map-depth", [24, 16], "tensormap"),
        ("colours", [64, 64], "embed"),
    ] {
        let pipeline_of = |form: &str| {
            let [width, height] = size;
            let source = format!(
                "videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width={width},height={height}"
            );
            let model = model(name);
            let frames = buffers(&format!(
                "{source} ! fusedpreproc resize=stretch ! trtinfer model={model} tensors={form} ! {decoder} ! fakesink name=out"
            ));
            let facts = |frame: &gst::Buffer| {
                let objects: Vec<_> = objects(frame)
                    .into_iter()
                    .map(|o| (o.label, o.detection, o.keypoints, o.classifications, o.embeddings))
                    .collect();
                (objects, others(frame), frame.size())
            };
            frames.iter().map(facts).collect::<Vec<_>>()
        };
        let ours = pipeline_of("ours");
        assert!(
            ours.iter().any(|(objects, others, _)| !objects.is_empty() || *others != [0; 2])
                || decoder.contains("gray"),
            "{name}: {ours:?}"
        );
        assert_eq!(pipeline_of("gst"), ours, "{name} ! {decoder}");
    }
}

#[test]
fn frames_of_our_decoder_carry_no_tensors_of_either_form() {
    if !has(26, &[]) {
        return;
    }
    let api = |frame: &gst::Buffer| -> Vec<String> {
        frame.iter_meta::<gst::Meta>().map(|meta| meta.api().name().to_owned()).collect()
    };
    let frames = buffers(&format!("{} tensors=both ! gpunms ! fakesink name=out", yolo()));
    assert!(
        !frames.iter().any(|frame| api(frame).iter().any(|name| name.contains("Tensor"))),
        "{:?}",
        api(&frames[0])
    );
    let frames = buffers(&format!("{} tensors=gst ! fakesink name=out", yolo()));
    assert!(
        frames.iter().all(|frame| api(frame).iter().any(|name| name == "GstTensorMetaAPI")
            && TensorSet::of(frame).is_none())
    );
}

#[test]
fn ours_reads_what_onnxinference_wrote() {
    if !has(26, &["onnxinference"]) {
        return;
    }
    let pipeline = format!("{SOURCE} ! onnxinference model-file={}", model("ssd-mobilenet"));
    for found in results(&format!("{pipeline} ! gpunms")) {
        let [(_, rect, confidence)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((*rect, *confidence), SSD_BOX);
    }
    // Without labels for classes, by the names of the tensors alone; the tracker works on what was found.
    let frames = buffers(&format!("{pipeline} ! gpunms ! tracker ! fakesink name=out"));
    assert_eq!(objects(&frames[2])[0].tracking.as_ref().map(|track| track.id), Some(1));
}

#[test]
fn our_decoders_refuse_what_onnxinference_wrote_and_name_what_they_found_and_what_they_need() {
    if !has(26, &["onnxinference"]) {
        return;
    }
    let outputs =
        "detection_boxes:float32:1x1x4, detection_classes:float32:1x1, detection_scores:float32:1x1";
    for (decoder, wanted) in [
        ("gpunms decoder=yolov8", "it needs one float output [1, 4 + C, N] or [1, N, 4 + C]"),
        ("peakfind", "look like a detector's boxes. Put gpunms in place of peakfind"),
        ("classify", "Set output to the one with the class scores"),
        ("segmask", "Set tensor to the one with the masks"),
        ("embed", "set output to the one with the embeddings"),
    ] {
        let pipeline = format!("{SOURCE} ! onnxinference model-file={}", model("ssd-mobilenet"));
        run(&format!("{pipeline} ! {decoder} name=decode ! fakesink"))
            .fails_with(&["decode: ", outputs, wanted]);
    }
}

/// The beginning of `GstTensor`.
#[repr(C)]
struct TensorHead {
    id: u32,
    layout: i32,
    data_type: i32,
}

/// `GstTensorMeta`.
#[repr(C)]
struct TensorMeta {
    meta: gst::ffi::GstMeta,
    count: usize,
    tensors: *mut *mut TensorHead,
}

#[test]
fn a_tensor_that_is_not_read_is_reported_once_and_counted_and_the_next_frames_are_decoded() {
    if !has(26, &[]) {
        return;
    }
    type Spoil = fn(&mut TensorHead);
    let cases: [(Spoil, &str); 2] = [
        (|tensor| tensor.data_type = 12, "is of type float64, but only float32"),
        (|tensor| tensor.layout = 1, "has the layout 1, but only dense tensors (0) are read"),
    ];
    for (spoil, phrase) in cases {
        let pipeline = TestPipeline::new(&format!(
            "{} tensors=gst ! gpunms name=nms ! fakesink name=out sync=false",
            yolo()
        ));
        let mut frames = 0;
        pipeline.watch("nms", move |frame, _| {
            frames += 1;
            let metas = frame.iter_meta::<gst::Meta>();
            let found = metas.into_iter().find(|meta| meta.api().name() == "GstTensorMetaAPI").unwrap();
            if frames > 2 {
                return;
            }
            // SAFETY: the meta is of this type, has at least one tensor, and nobody else reads it now.
            unsafe {
                let meta = found.as_ptr().cast::<TensorMeta>();
                assert!((*meta).count > 0);
                spoil(&mut **(*meta).tensors);
            }
        });
        let out = pipeline.collect("out");
        pipeline.play();
        let warnings = pipeline.wait().succeeds().warnings;
        let reported: Vec<_> =
            warnings.iter().filter(|text| text.contains("a tensor of a frame is not read")).collect();
        assert!(
            matches!(&reported[..], [text] if text.starts_with("nms: ") && text.contains(phrase)),
            "{warnings:?}"
        );
        let stats = pipeline.element("nms").property::<gst::Structure>("stats");
        assert_eq!(stats.get::<u64>("ignored-metadata"), Ok(2), "{stats}");
        assert_eq!(
            out.lock().unwrap().iter().map(|frame| objects(frame).len()).collect::<Vec<_>>(),
            [0, 0, 1]
        );
    }
}

#[test]
fn ours_reads_yolo_of_onnxinference_as_that_of_trtinfer() {
    if !has(28, &["onnxinference"]) {
        return;
    }
    let info = "[modelinfo]\nversion=1.0\ngroup-id=yolo-v8-out\n\n[images]\ndims=-1,3,64,64\ndir=input\ntype=float32\nranges=0.0,1.0\n\n\
                [output0]\nid=yolo-v8-out\ndims=-1,7,84\ndir=output\ntype=float32\ndims-order=col-major\n";
    let path = with_modelinfo("says-names", info);
    let theirs =
        results(&format!("{SOURCE} ! onnxinference model-file={} ! gpunms decoder=yolov8", path.display()));
    let ours = results(&format!("{} ! gpunms", yolo()));
    let boxes = |results: &[Vec<(String, [f32; 4], f32)>]| -> Vec<_> {
        results
            .iter()
            .map(|found| found.iter().map(|(_, rect, confidence)| (*rect, *confidence)).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(boxes(&theirs), boxes(&ours));
}

#[test]
fn ssdobjectdetector_and_ssdtensordec_link_after_trtinfer_and_find_the_same() {
    let pipeline = format!(
        "{SOURCE} ! fusedpreproc resize=stretch ! trtinfer name=infer model={}",
        model("ssd-mobilenet")
    );
    for decoder in ["ssdobjectdetector", "ssdtensordec"] {
        if !has(28, &[decoder]) {
            continue;
        }
        for form in ["", "tensors=gst", "tensors=both"] {
            for found in results(&format!("{pipeline} {form} ! {decoder}")) {
                let [(_, rect, confidence)] = &found[..] else { panic!("{decoder} {form}: {found:?}") };
                assert_eq!((*rect, *confidence), SSD_BOX, "{decoder} {form}");
            }
        }
        let refused = gst::parse::launch(&format!("{pipeline} tensors=ours ! {decoder} ! fakesink"));
        assert!(refused.unwrap_err().to_string().contains("could not link"));
    }
    // Before 1.28, caps have nothing about tensors.
    if has(26, &["ssdobjectdetector"]) && !gstreamer_announces() {
        for found in results(&format!("{pipeline} tensors=gst ! ssdobjectdetector")) {
            let [(_, rect, confidence)] = &found[..] else { panic!("{found:?}") };
            assert_eq!((*rect, *confidence), SSD_BOX);
        }
    }
}

fn gstreamer_announces() -> bool {
    gst::version().1 >= 28
}

#[test]
fn yolov8tensordec_links_after_trtinfer_and_finds_the_same() {
    if !has(28, &["yolov8tensordec"]) {
        return;
    }
    let boxes = |pipeline: &str| -> Vec<[f32; 4]> {
        let mut boxes: Vec<_> = results(pipeline)[0].iter().map(|(_, rect, _)| *rect).collect();
        boxes.sort_by(|a, b| a.partial_cmp(b).unwrap());
        boxes
    };
    let theirs = boxes(&format!("{} ! yolov8tensordec", yolo()));
    let ours = boxes(&format!("{} ! gpunms", yolo()));
    assert_eq!(theirs.len(), 1);
    // GStreamer's element rounds by adding a half to the size.
    for (a, b) in theirs.iter().flatten().zip(ours.iter().flatten()) {
        assert!((a - b).abs() <= 1.0, "{theirs:?} {ours:?}");
    }
}

#[test]
fn a_decoder_that_asks_for_other_tensors_gets_a_sentence() {
    if !has(28, &["yolov8tensordec", "ssdobjectdetector"]) {
        return;
    }
    let other = run(&format!("{} ! ssdobjectdetector ! fakesink", yolo()));
    other.fails_with(&["infer: the element downstream asks for other tensors than the model's, which are group 'yolo-v8-out'"]);
    let unknown = run(&format!(
        "{SOURCE} ! fusedpreproc ! trtinfer name=infer model={} ! yolov8tensordec ! fakesink",
        model("colours")
    ));
    unknown.fails_with(&["infer: the element downstream asks for tensors by their identifiers", "[tensors]"]);
}

#[test]
fn bars_of_a_letterbox_and_other_sizes_are_reported_where_readers_do_not_know_of_them() {
    if !has(26, &[]) {
        return;
    }
    let reported = |warnings: &[String]| {
        warnings.iter().any(|text| {
            text.contains("fill its 64x64 pixels by letterbox")
                && text.contains("resize=stretch on fusedpreproc")
        })
    };
    let wide = "videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=RGB,width=96,height=64";
    let model = model("says-names");
    let report =
        run(&format!("{wide} ! fusedpreproc ! trtinfer name=infer model={model} tensors=gst ! fakesink"))
            .succeeds();
    assert!(reported(&report.warnings), "{report:?}");
    let report = run(&format!(
        "{wide} ! fusedpreproc resize=stretch ! trtinfer name=infer model={model} tensors=gst ! fakesink"
    ))
    .succeeds();
    assert!(!reported(&report.warnings), "{report:?}");
    let report =
        run(&format!("{wide} ! fusedpreproc ! trtinfer name=infer model={model} tensors=both ! fakesink"))
            .succeeds();
    assert!(!reported(&report.warnings), "{report:?}");
}

#[test]
fn regions_have_no_place_in_gstreamers_tensors() {
    if !has(26, &[]) {
        return;
    }
    let tiles = format!(
        "{SOURCE} ! fusedpreproc roi=tiles tile-size=48 ! trtinfer name=infer model={}",
        model("says-names")
    );
    run(&format!("{tiles} tensors=gst ! fakesink"))
        .fails_with(&["infer: GStreamer's tensors are those of a whole frame"]);
    run(&format!("{tiles} tensors=both ! gpunms ! fakesink")).succeeds();
}

#[test]
fn frames_without_tensors_are_refused_with_the_same_sentence_in_every_version() {
    for element in ["gpunms", "classify", "peakfind", "segmask"] {
        let report = run(&format!("{SOURCE} ! {element} name=decode ! fakesink"));
        report.fails_with(&[
            "decode: frames arrive without tensors. Put fusedpreproc and trtinfer before this element",
        ]);
    }
    let taken = run(&format!("{} ! gpunms ! video/x-raw ! gpunms name=second ! fakesink", yolo()));
    taken.fails_with(&["second: ", "has taken them"]);
}
