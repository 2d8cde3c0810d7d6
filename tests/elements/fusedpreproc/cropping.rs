//! Crop metadata, with which an element upstream leaves the cropping to the sink: our elements must not see frames that have it.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, push};
use gst::prelude::*;
use gst_video::VideoInfo;
use gstcudainfer::meta::object::{DetectionParam, Object};
use gstcudainfer::meta::tensor::TensorSet;

/// The bytes that reach the sink of a pipeline: the tensors' if there are any, else the frame's.
fn seen(pipeline: &str, offered: bool) -> Vec<Vec<u8>> {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=2 pattern=ball ! {pipeline} ! fakesink name=out"
    ));
    if offered {
        let sink = pipeline.element("out").static_pad("sink").unwrap();
        sink.add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, |_, info| {
            let query = info.query_mut().map(gst::QueryRef::view_mut);
            let Some(gst::QueryViewMut::Allocation(query)) = query else { return gst::PadProbeReturn::Ok };
            query.add_allocation_meta::<gst_video::VideoMeta>(None);
            query.add_allocation_meta::<gst_video::VideoCropMeta>(None);
            gst::PadProbeReturn::Handled
        });
    }
    let frames = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    let frames = std::mem::take(&mut *frames.lock().unwrap());
    let bytes = |frame: &gst::Buffer| match TensorSet::of(frame) {
        Some(sets) => sets[0].tensors[0].data.map_readable().unwrap().to_vec(),
        None => frame.map_readable().unwrap().to_vec(),
    };
    frames.iter().map(bytes).collect()
}

#[test]
fn who_crops_upstream_crops_pixels_whatever_the_sink_offers() {
    const CROP: &str = "video/x-raw,format=I420,width=128,height=96 ! videocrop left=32 top=24";
    assert_ne!(
        seen(&format!("{CROP} ! identity"), true),
        seen(&format!("{CROP} ! identity"), false),
        "the sink's offer has an effect"
    );
    for element in [
        "fusedpreproc width=32 height=32",
        "cudainferupload device=cpu",
        "cudainferdownload device=cpu",
        "tracker",
        "zonecount zones=all=polygon:0,0,64,0,64,64,0,64",
        "inferpublish location=/dev/null",
        "inferoverlay",
    ] {
        let pipeline = format!("{CROP} ! {element}");
        assert!(seen(&pipeline, true) == seen(&pipeline, false), "{element}");
    }
}

#[test]
fn a_frame_that_is_to_be_cropped_is_an_error_everywhere() {
    cudainfer_tests::init();
    let info = VideoInfo::builder(gst_video::VideoFormat::I420, 64, 48).build().unwrap();
    for element in [
        "fusedpreproc roi=objects width=32 height=32",
        "tracker",
        "zonecount zones=all=polygon:0,0,64,0,64,64,0,64",
        "inferpublish location=/dev/null",
        "inferoverlay blur=*",
        "inferoverlay",
    ] {
        for rect in [(0, 0, 64, 48), (32, 24, 64, 48)] {
            let caps = info.to_caps().unwrap();
            let pipeline = TestPipeline::new(&format!(
                "appsrc name=in format=time caps=\"{caps}\" ! {element} ! fakesink name=out async=false sync=false"
            ));
            let frames = pipeline.collect("out");
            let mut frame = gst::Buffer::from_mut_slice(vec![7; info.size()]);
            let writable = frame.get_mut().unwrap();
            gst_video::VideoCropMeta::add(writable, rect);
            let face = Rect { x: 4.0, y: 4.0, w: 16.0, h: 16.0 };
            let detection = Some(DetectionParam { rect: face, confidence: 0.5, label_id: 0 });
            Object { label: "face".into(), detection, ..Object::default() }.put(writable, &face);
            pipeline.play();
            push(&pipeline.element("in"), frame);
            cudainfer_tests::end(&pipeline.element("in"));
            let report = pipeline.wait();
            if rect.0 == 0 {
                report.succeeds();
            } else {
                report.fails_with(&["crop metadata", "64x48 pixels at 32,24"]);
                assert!(frames.lock().unwrap().is_empty(), "{element} passes it on");
            }
            pipeline.stop();
        }
    }
}
