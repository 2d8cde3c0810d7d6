//! Objects that nobody must recognise: what the overlay hides and for how long, and that no frame passes whose objects it could
//! not hide.

use cudainfer_kernels::draw::blur::{BlurMode, blur};
use cudainfer_kernels::frame::FrameMut;
use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, end, model, push, run, until};
use gst::prelude::*;
use gst_video::VideoInfo;
use gstcudainfer::meta::object::{DetectionParam, Object, TrackingParam};
use gstcudainfer::video;

/// Nothing is drawn.
const BARE: &str = "boxes=false labels=false confidences=false ids=false trail-length=0";
const MODES: [(&str, BlurMode); 3] =
    [("pixelate", BlurMode::Pixelate), ("gaussian", BlurMode::Gaussian), ("fill", BlurMode::Fill)];

fn info(format: &str, width: u32, height: u32) -> VideoInfo {
    cudainfer_tests::init();
    let format = gst_video::VideoFormat::from_string(format);
    VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().unwrap()
}

/// The frame with these boxes hidden, by the operation itself.
fn hidden(frame: &gst::BufferRef, info: &VideoInfo, mode: BlurMode, cells: u32, boxes: &[Rect]) -> Vec<u8> {
    let mut bytes = frame.map_readable().unwrap().to_vec();
    let format = video::frame_format(&info.to_caps().unwrap(), info).unwrap();
    let (mut rest, mut at, mut planes) = (&mut bytes[..], 0, Vec::new());
    for plane in 0..format.pixels.planes() {
        let (start, stride) = (info.offset()[plane], usize::try_from(info.stride()[plane]).unwrap());
        let length = stride * format.pixels.rows(plane, format.height);
        let (data, after) = rest.split_at_mut(start - at).1.split_at_mut(length);
        planes.push((data, stride));
        (rest, at) = (after, start + length);
    }
    blur(&format, &mut FrameMut::new(&format, planes).unwrap(), mode, cells, boxes).unwrap();
    bytes
}

/// With a tenth of its sides around it.
fn with_margin(rect: Rect) -> Rect {
    let (x, y) = (rect.w * 0.1, rect.h * 0.1);
    Rect { x: rect.x - x, y: rect.y - y, w: rect.w + 2.0 * x, h: rect.h + 2.0 * y }
}

/// A frame of changing bytes.
fn noise(info: &VideoInfo, number: u64) -> gst::Buffer {
    let bytes: Vec<u8> =
        (0..info.size() as u64).map(|i| ((i + number).wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(40 * number));
    buffer
}

fn detected(label: &str, rect: Rect) -> Object {
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    Object { label: label.into(), detection, ..Object::default() }
}

/// What becomes of frames with these objects, each pushed when the one before is through.
fn overlaid(info: &VideoInfo, settings: &str, frames: &[Vec<Object>]) -> (Vec<gst::Buffer>, gst::Structure) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{}\" ! inferoverlay name=overlay {settings} ! fakesink name=out async=false sync=false",
        info.to_caps().unwrap()
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    for (number, objects) in frames.iter().enumerate() {
        let mut frame = noise(info, number as u64);
        let writable = frame.get_mut().unwrap();
        objects
            .iter()
            .for_each(|object| object.put(writable, &object.detected_outline().unwrap_or_default()));
        push(&pipeline.element("in"), frame);
        until("the frame", || seen.lock().unwrap().len() == number + 1);
    }
    let stats = pipeline.element("overlay").property("stats");
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    pipeline.stop();
    (std::mem::take(&mut *seen.lock().unwrap()), stats)
}

fn is(buffer: &gst::Buffer, bytes: &[u8]) -> bool {
    buffer.map_readable().unwrap().as_slice() == bytes
}

#[test]
fn every_format_and_mode_hides_the_objects_that_are_named_and_nothing_else() {
    let (face, car) =
        (Rect { x: 20.0, y: 9.0, w: 31.0, h: 40.0 }, Rect { x: 60.0, y: 30.0, w: 30.0, h: 30.0 });
    let objects = [vec![detected("car", car), detected("face", face)]];
    for format in ["NV12", "I420", "RGB", "BGR", "RGBA", "BGRA", "RGBx", "BGRx"] {
        for (width, height) in [(96, 64), (71, 45)] {
            let info = info(format, width, height);
            for (name, mode) in MODES {
                for (cells, blur, boxes) in
                    [(8, "face", vec![face]), (3, "plate,face", vec![face]), (16, "*", vec![car, face])]
                {
                    let settings = format!("{BARE} blur={blur} blur-mode={name} blur-cells={cells}");
                    let (seen, stats) = overlaid(&info, &settings, &objects);
                    let boxes: Vec<_> = boxes.into_iter().map(with_margin).collect();
                    let wanted = hidden(&noise(&info, 0), &info, mode, cells, &boxes);
                    assert!(is(&seen[0], &wanted), "{format} {width}x{height} {settings}");
                    let count = boxes.len() as u64;
                    assert_eq!((stats.get("blurred"), stats.get("blur-held")), (Ok(count), Ok(0_u64)));
                }
            }
        }
    }
}

#[test]
fn objects_are_hidden_before_anything_is_drawn() {
    let info = info("RGB", 96, 64);
    let face = Rect { x: 20.0, y: 9.0, w: 31.0, h: 40.0 };
    let objects = [vec![detected("face", face)]];
    let (both, _) = overlaid(&info, "blur=face", &objects);
    // Drawn by a second overlay on what the first has hidden.
    let (apart, _) = overlaid(&info, &format!("{BARE} blur=face ! inferoverlay"), &objects);
    assert!(is(&both[0], &apart[0].map_readable().unwrap()));
    let (bare, _) = overlaid(&info, &format!("{BARE} blur=face"), &objects);
    assert!(!is(&both[0], &bare[0].map_readable().unwrap()), "the box is drawn");
}

#[test]
fn an_object_that_a_detector_misses_stays_hidden_and_so_does_a_lost_track() {
    let info = info("NV12", 96, 64);
    let rect = Rect { x: 20.0, y: 9.0, w: 30.0, h: 40.0 };
    let tracking = |state: &str| {
        Some(TrackingParam { id: 7, age: 1, state: state.into(), rect, ..TrackingParam::default() })
    };
    let lost = Object { label: "face".into(), tracking: tracking("lost"), ..Object::default() };
    let tracked = Object { tracking: tracking("tracked"), ..detected("face", rect) };
    for (first, next) in [(detected("face", rect), None), (tracked, Some(lost))] {
        let frames = [vec![first], vec![], next.into_iter().collect(), vec![], vec![], vec![], vec![]];
        let expected = if frames[2].is_empty() { 3 } else { 5 };
        let (seen, stats) = overlaid(&info, &format!("{BARE} blur=face blur-hold=2"), &frames);
        for (number, frame) in seen.iter().enumerate() {
            let plain = noise(&info, number as u64);
            let wanted = hidden(&plain, &info, BlurMode::Pixelate, 8, &[with_margin(rect)]);
            let shown = is(frame, &plain.map_readable().unwrap());
            assert_eq!(is(frame, &wanted), number < expected, "frame {number}");
            assert_eq!(shown, number >= expected, "frame {number}");
        }
        let held: u64 = stats.get("blur-held").unwrap();
        assert_eq!((stats.get("blurred"), held), (Ok(expected as u64), if expected == 3 { 2 } else { 3 }));
    }
}

#[test]
fn behind_a_funnel_each_stream_holds_its_own() {
    let info = info("RGB", 32, 32);
    let caps = info.to_caps().unwrap();
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps=\"{caps}\" ! funnel name=f ! inferoverlay {BARE} blur=* blur-mode=fill \
         ! fakesink name=out async=false sync=false appsrc name=b format=time caps=\"{caps}\" ! f."
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    let rect = |n: u64| Rect { x: 4.0 + 12.0 * n as f32, y: 4.0, w: 10.0, h: 10.0 };
    for n in 0..6 {
        let mut frame = noise(&info, n);
        if n < 2 {
            detected("face", rect(n)).put(frame.get_mut().unwrap(), &rect(n));
        }
        push(&pipeline.element(["a", "b"][(n % 2) as usize]), frame);
        until("the frame", || seen.lock().unwrap().len() as u64 == n + 1);
    }
    pipeline.stop();
    for (n, frame) in (0..).zip(seen.lock().unwrap().iter()) {
        let wanted = hidden(&noise(&info, n), &info, BlurMode::Fill, 8, &[with_margin(rect(n % 2))]);
        assert!(is(frame, &wanted), "frame {n}");
    }
}

#[test]
fn a_detectors_boxes_are_hidden_in_a_whole_pipeline_and_the_other_branch_keeps_its_picture() {
    let plain = buffers(
        "videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=RGB,width=64,height=64 ! fakesink name=out",
    );
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
         ! trtinfer model={} ! gpunms ! tee name=t t. ! queue ! fakesink name=plain \
         t. ! queue ! inferoverlay {BARE} blur=red blur-margin=0 ! fakesink name=out",
        model("detector")
    ));
    let [other, seen] = ["plain", "out"].map(|name| pipeline.collect(name));
    pipeline.play();
    assert_eq!(
        pipeline.wait().succeeds().warnings.iter().filter(|warning| warning.contains("blur")).count(),
        0
    );
    pipeline.stop();
    let red = Rect { x: 8.0, y: 4.0, w: 16.0, h: 24.0 };
    let wanted = hidden(&plain[0], &info("RGB", 64, 64), BlurMode::Pixelate, 8, &[red]);
    assert!(is(&seen.lock().unwrap()[0], &wanted));
    assert!(is(&other.lock().unwrap()[0], &plain[0].map_readable().unwrap()));
}

#[test]
fn a_label_that_no_model_has_is_warned_about_with_those_there_are() {
    let pipeline_of = |blur: &str| {
        let report = run(&format!(
            "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
             ! trtinfer model={} ! gpunms ! tracker ! inferoverlay name=view blur={blur} ! fakesink",
            model("detector")
        ));
        report.succeeds().warnings.into_iter().filter(|warning| warning.contains("blur")).collect::<Vec<_>>()
    };
    let warnings = pipeline_of("fase,red");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["view: blur:", "'fase'", "red, blue"] {
        assert!(warnings[0].contains(part), "'{part}' is not in: {}", warnings[0]);
    }
    assert!(pipeline_of("red,blue,1").is_empty() && pipeline_of("*").is_empty());
}

#[test]
fn a_frame_that_cannot_be_hidden_does_not_pass() {
    let info = info("RGB", 8, 4);
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{}\" ! inferoverlay name=view blur=face ! fakesink name=out async=false",
        info.to_caps().unwrap()
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    let mut frame = cudainfer_tests::filled(20, 1, 0);
    let rect = Rect { x: 0.0, y: 0.0, w: 4.0, h: 3.0 };
    detected("face", rect).put(frame.get_mut().unwrap(), &rect);
    push(&pipeline.element("in"), frame);
    pipeline.wait().fails_with(&[
        "view: ",
        "cannot be hidden, so the frame is not passed on",
        "smaller than its caps say",
    ]);
    assert!(seen.lock().unwrap().is_empty());
}
