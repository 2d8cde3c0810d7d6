//! Frames of odd sizes, of no size, shorter than their caps, and caps that change on the way.

use cudainfer_tests::{TestPipeline, buffers, end, filled, model, push, run};
use gst::prelude::*;
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

#[test]
fn every_size_of_frame_goes_through_every_element() {
    for (width, height) in [(1, 1), (3, 5), (17, 33), (1, 300), (301, 1)] {
        for format in ["I420", "NV12", "YUY2", "P010_10LE", "RGB", "GRAY8"] {
            let size = format!("video/x-raw,format={format},width={width},height={height}");
            let frames = buffers(&format!(
                "videotestsrc num-buffers=2 pattern=red ! {size} ! fusedpreproc ! trtinfer model={} ! gpunms \
                 ! tracker ! inferpublish location=/dev/null ! fakesink name=out",
                model("detector")
            ));
            assert_eq!(frames.len(), 2, "{size}");
            // videotestsrc leaves the last chroma sample of odd YUY2 rows 0.
            if format != "GRAY8" && !(format == "YUY2" && width == 1) {
                let found = objects(&frames[1]);
                assert!(!found.is_empty() && found[0].label == "red", "{size}: {found:?}");
                let rect = found[0].detection.as_ref().unwrap().rect;
                assert!(
                    rect.x >= 0.0
                        && rect.y >= 0.0
                        && rect.right() <= width as f32
                        && rect.bottom() <= height as f32,
                    "{size}: {rect:?}"
                );
            }
            if !["YUY2", "P010_10LE", "GRAY8"].contains(&format) {
                run(&format!(
                    "videotestsrc num-buffers=2 pattern=red ! {size} ! fusedpreproc ! trtinfer model={} ! gpunms \
                     ! tracker ! inferoverlay ! fakesink",
                    model("detector")
                ))
                .succeeds();
            }
        }
    }
}

#[test]
fn a_model_of_one_pixel_sees_the_pictures_mean() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=RGB,width=33,height=17 \
         ! fusedpreproc interpolation=area resize=stretch ! trtinfer model={} ! fakesink name=out",
        model("identity-1x1")
    ));
    let set = &TensorSet::of(&frames[0]).unwrap()[0];
    let map = set.tensors[0].map().unwrap();
    let values = map.view().unwrap().to_f32().into_owned();
    assert_eq!(set.input, [1, 1]);
    assert!(values.iter().zip([1.0, 0.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{values:?}");
}

/// A pipeline that starts with an appsrc of these caps.
fn from_app(caps: &str, rest: &str) -> TestPipeline {
    TestPipeline::new(&format!("appsrc name=in format=time caps=\"{caps}\" ! {rest}"))
}

const RGB8X4: &str = "video/x-raw,format=RGB,width=8,height=4,framerate=10/1";

#[test]
fn a_frame_that_is_shorter_than_its_caps_is_an_error_of_the_element_that_reads_it() {
    for (size, what) in [(8 * 4 * 3 - 1, "a byte short"), (0, "empty"), (7, "nearly empty")] {
        let pipeline =
            from_app(RGB8X4, &format!("fusedpreproc ! trtinfer model={} ! fakesink", model("detector")));
        pipeline.play();
        push(&pipeline.element("in"), filled(size, 1, 0));
        let report = pipeline.wait();
        let text = report.fails_with(&["smaller than its caps say"]);
        assert!(text.starts_with("fusedpreproc"), "{what}: {text}");
    }
}

#[test]
fn a_short_frame_is_an_error_of_the_overlay_too() {
    use gstcudainfer::meta::object::{DetectionParam, Object};
    let pipeline = from_app(RGB8X4, "inferoverlay ! fakesink");
    pipeline.play();
    let mut buffer = filled(20, 1, 0);
    let rect = cudainfer_kernels::geometry::Rect { x: 0.0, y: 0.0, w: 4.0, h: 3.0 };
    let object = Object {
        detection: Some(DetectionParam { rect, confidence: 1.0, label_id: 0 }),
        ..Object::default()
    };
    object.put(buffer.get_mut().unwrap(), &rect);
    push(&pipeline.element("in"), buffer);
    pipeline.wait().fails_with(&["smaller than its caps say"]);
}

/// Offset and stride in the meta of an RGBA frame of 64x48, which has 12288 bytes, and parts of the message about it.
const MISPLACED: [(usize, i32, &[&str]); 5] = [
    (
        0,
        1 << 20,
        &["plane 0 outside of the frame's memory", "48 rows, 1048576 bytes apart", "the memory has 12288"],
    ),
    (1, 256, &["plane 0 outside of the frame's memory", "from byte 1 on", "the memory has 12288"]),
    (1 << 40, 256, &["plane 0 outside of the frame's memory", "the memory has 12288"]),
    (12032, -256, &["a stride of -256 bytes", "takes 256"]),
    (0, 100, &["a stride of 100 bytes", "takes 256"]),
];

fn describe(buffer: &mut gst::BufferRef, format: gst_video::VideoFormat, offset: usize, stride: i32) {
    let none = gst_video::VideoFrameFlags::empty();
    // GStreamer itself refuses such a meta, so a valid one is changed.
    gst_video::VideoMeta::add(buffer, none, format, 64, 48).unwrap();
    // SAFETY: the buffer is borrowed mutably, and has this meta.
    unsafe {
        let meta = gst_video::ffi::gst_buffer_get_video_meta(buffer.as_mut_ptr());
        (*meta).offset[0] = offset;
        (*meta).stride[0] = stride;
    }
}

#[test]
fn planes_outside_of_the_memory_are_an_error_of_every_element_that_reads_or_writes_them() {
    use gst_video::VideoFormat;
    use gstcudainfer::meta::object::{DetectionParam, Object};
    let caps = "video/x-raw,format=RGBA,width=64,height=48,framerate=10/1";
    let tensors = format!("fusedpreproc ! trtinfer name=before model={}", model("mask-red"));
    for (rest, reader) in [
        (
            format!("identity name=before ! {tensors} ! fakesink").replacen("name=before model", "model", 1),
            "fusedpreproc",
        ),
        ("identity name=before ! inferoverlay ! fakesink".to_owned(), "inferoverlay"),
        ("identity name=before ! tracker appearance=histogram ! fakesink".to_owned(), "tracker"),
        (format!("{tensors} ! segmask output=alpha ! fakesink"), "segmask"),
    ] {
        let misplaced = MISPLACED.map(|(offset, stride, parts)| (VideoFormat::Rgba, offset, stride, parts));
        let other = (VideoFormat::Bgrx, 0, 256, &["describes 64x48 BGRx", "caps say 64x48 RGBA"][..]);
        for (format, offset, stride, parts) in misplaced.into_iter().chain([other]) {
            let pipeline = from_app(caps, &rest);
            let pad = pipeline.element("before").static_pad("src").unwrap();
            pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                let buffer = info.buffer_mut().unwrap().make_mut();
                describe(buffer, format, offset, stride);
                let rect = cudainfer_kernels::geometry::Rect { x: 4.0, y: 4.0, w: 40.0, h: 30.0 };
                let detection = Some(DetectionParam { rect, confidence: 1.0, label_id: 0 });
                Object { detection, ..Object::default() }.put(buffer, &rect);
                gst::PadProbeReturn::Ok
            });
            pipeline.play();
            push(&pipeline.element("in"), filled(64 * 48 * 4, 200, 0));
            end(&pipeline.element("in"));
            let report = pipeline.wait();
            let text = report.fails_with(parts);
            assert!(text.starts_with(reader), "{offset} {stride}: {text}");
        }
    }
}

#[test]
fn a_frame_of_no_size_is_refused_and_nothing_hangs() {
    for (width, height) in [(0, 4), (4, 0), (0, 0)] {
        let pipeline = from_app(
            &format!("video/x-raw,format=RGB,width={width},height={height},framerate=10/1"),
            &format!("fusedpreproc ! trtinfer model={} ! gpunms ! fakesink", model("detector")),
        );
        pipeline.play();
        push(&pipeline.element("in"), filled(0, 0, 0));
        end(&pipeline.element("in"));
        let report = pipeline.wait();
        assert!(!report.errors.is_empty(), "{width}x{height}: {report:?}");
    }
}

#[test]
fn a_tensor_that_somebody_took_off_the_frame_is_missed() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=3 ! fusedpreproc name=p ! trtinfer name=t model={} ! gpunms name=n ! fakesink",
        model("detector")
    ));
    let remove = |element: &str| {
        pipeline.element(element).static_pad("src").unwrap().add_probe(
            gst::PadProbeType::BUFFER,
            |_, info| {
                if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                    TensorSet::take(buffer.make_mut());
                }
                gst::PadProbeReturn::Ok
            },
        )
    };
    let probe = remove("p").unwrap();
    pipeline.play();
    pipeline.wait().fails_with(&["a frame came without a tensor"]);
    pipeline.stop();
    pipeline.element("p").static_pad("src").unwrap().remove_probe(probe);
    remove("t").unwrap();
    pipeline.play();
    pipeline.wait().fails_with(&["a frame came without its tensors"]);
}

#[test]
fn size_and_format_may_change_in_the_middle_and_every_frame_is_read_as_what_it_is() {
    for workers in [1, 4] {
        let frames = buffers(&format!(
            "concat name=c ! fusedpreproc ! trtinfer workers={workers} model={} ! gpunms ! tracker ! inferoverlay \
             ! inferpublish location=/dev/null ! fakesink name=out \
             videotestsrc num-buffers=5 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! c. \
             videotestsrc num-buffers=5 pattern=blue ! video/x-raw,format=NV12,width=640,height=320 ! c. \
             videotestsrc num-buffers=5 pattern=red ! video/x-raw,format=I420,width=33,height=17 ! c.",
            model("detector")
        ));
        assert_eq!(frames.len(), 15);
        for (i, frame) in frames.iter().enumerate() {
            let found = objects(frame);
            assert_eq!(found.len(), 1, "frame {i}: {found:?}");
            let (label, width, height) =
                [("red", 64.0, 64.0), ("blue", 640.0, 320.0), ("red", 33.0, 17.0)][i / 5];
            let (x, y, w, h) = if label == "red" { (8.0, 4.0, 16.0, 24.0) } else { (44.0, 32.0, 8.0, 16.0) };
            let rect = found[0].detection.as_ref().unwrap().rect;
            let wanted = [x * width / 64.0, y * height / 64.0, w * width / 64.0, h * height / 64.0];
            assert_eq!(found[0].label, label, "frame {i}");
            for (got, wanted) in [rect.x, rect.y, rect.w, rect.h].into_iter().zip(wanted) {
                assert!((got - wanted).abs() < 1e-3, "frame {i}: {rect:?} {wanted}");
            }
        }
    }
}

#[test]
fn a_model_that_leaves_its_size_open_follows_frames_that_change_theirs() {
    let frames = buffers(&format!(
        "concat name=c ! fusedpreproc ! trtinfer model={} ! fakesink name=out \
         videotestsrc num-buffers=2 ! video/x-raw,width=64,height=64 ! c. \
         videotestsrc num-buffers=2 ! video/x-raw,width=100,height=50 ! c. \
         videotestsrc num-buffers=2 ! video/x-raw,width=1,height=1 ! c.",
        model("identity-dynamic")
    ));
    let sizes: Vec<_> = frames.iter().map(|b| TensorSet::of(b).unwrap()[0].input).collect();
    // The frame's size, rounded up to a multiple of 32.
    assert_eq!(sizes, [[64, 64], [64, 64], [128, 64], [128, 64], [32, 32], [32, 32]]);
    for frame in &frames {
        let set = &TensorSet::of(frame).unwrap()[0];
        let dims: Vec<_> = set.tensors[0].desc.dims.iter().map(|d| d.unwrap()).collect();
        assert_eq!(dims, [1, 3, set.input[1], set.input[0]]);
    }
}

#[test]
fn caps_that_change_to_ones_that_do_not_fit_stop_the_pipeline() {
    let pipeline =
        from_app(RGB8X4, &format!("fusedpreproc ! trtinfer model={} ! gpunms ! fakesink", model("detector")));
    let source = pipeline.element("in");
    pipeline.play();
    push(&source, filled(8 * 4 * 3, 1, 0));
    source.set_property("caps", "video/x-raw,format=ARGB64,width=8,height=4".parse::<gst::Caps>().unwrap());
    push(&source, filled(8 * 4 * 8, 1, 1));
    let report = pipeline.wait();
    // The source, which posts the error, also ends its stream, so an EOS may follow.
    assert!(!report.errors.is_empty(), "{report:?}");
}

#[test]
fn an_end_before_the_first_frame_is_an_end() {
    let whole = format!(
        "fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! inferoverlay ! inferpublish location=/dev/null ! fakesink",
        model("detector")
    );
    for pipeline in [from_app(RGB8X4, &whole), TestPipeline::new(&format!("appsrc name=in ! {whole}"))] {
        pipeline.play();
        end(&pipeline.element("in"));
        pipeline.wait().succeeds();
    }
}

#[test]
fn one_frame_alone_comes_through() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer workers=4 model={} ! gpunms ! fakesink name=out",
        model("detector")
    ));
    assert_eq!(frames.len(), 1);
}
