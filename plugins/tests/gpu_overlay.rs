//! What `inferoverlay` does with frames in CUDA memory. Run it with `--ignored` on a machine with a GPU.
#![allow(clippy::unwrap_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Context, CudaStream, Download, Resolved};
use cudainfer_kernels::geometry::Rect;
use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo, VideoMeta};
use gstcudainfer::memory::{MappedCudaFrame, caps, is_cuda_memory, plane_extent};
use gstcudainfer::meta::mask::{self, Mask, MaskKind};
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, TrackingParam};
use gstcudainfer::{meta, video};

fn init() {
    static INIT: std::sync::Once = std::sync::Once::new();
    INIT.call_once(|| {
        gst::init().unwrap();
        gstcudainfer::plugin_register_static().unwrap();
    });
}

fn stream() -> CudaStream {
    let Ok(Resolved::Cuda(device)) = Choice::Cuda(0).resolve() else { panic!("needs a CUDA device") };
    CudaStream::new(&Context::new(&device).unwrap(), &Arc::default()).unwrap()
}

fn harness(element: &str, caps_in: &gst::Caps, caps_out: &gst::Caps) -> Harness {
    let element = gst::ElementFactory::make(element).build().unwrap();
    let mut harness = Harness::with_element(&element, Some("sink"), Some("src"));
    harness.set_src_caps(caps_in.clone());
    harness.set_sink_caps(caps_out.clone());
    harness
}

/// A mask of 13x7 samples in system memory.
fn a_mask(kind: MaskKind, most: u8, rect: Rect) -> Mask {
    let samples: Vec<u8> = (0..13 * 7u8).map(|i| i.wrapping_mul(29) % most).collect();
    Mask { kind, width: 13, height: 7, data: gst::Buffer::from_slice(samples), rect }
}

/// A frame of changing bytes with a tracked object, a detected one, keypoints, and masks of all kinds.
fn frame(info: &VideoInfo) -> gst::Buffer {
    let (width, height) = (info.width() as f32, info.height() as f32);
    let bytes: Vec<u8> = (0..info.size()).map(|i| (i * 31 + i / 77) as u8).collect();
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let rect = Rect { x: width * 0.3, y: height * 0.4, w: width * 0.5, h: height * 0.5 };
    let detection = |rect| Some(DetectionParam { rect, confidence: 0.75, label_id: 3 });
    let objects = [
        Object {
            label: "bicycle 自転車 व्यक्ति".into(),
            detection: detection(rect),
            tracking: Some(TrackingParam {
                id: 7,
                age: 1,
                state: "tracked".into(),
                rect,
                velocity: [90.0, -40.0],
                ..TrackingParam::default()
            }),
            ..Object::default()
        },
        Object {
            id: 1,
            label: "person".into(),
            detection: detection(Rect { x: -5.0, y: -5.0, ..rect }),
            keypoints: Some(KeypointsParam {
                names: vec!["nose".into(), "eye".into()],
                x: vec![10.0, f64::from(width)],
                y: vec![f64::from(height) / 2.0, 3.0],
                score: vec![0.5, 0.6],
                edges: vec![[0, 1]],
                ..KeypointsParam::default()
            }),
            ..Object::default()
        },
    ];
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::from_mseconds(40));
    objects.iter().for_each(|object| object.put(writable, &rect));
    let rotated = Object { id: 2, detection: detection(rect), angle: 0.6, ..Object::default() };
    rotated.put(writable, &rect);
    let whole = Rect { x: 0.0, y: -3.0, w: width, h: height + 6.0 };
    let classes = MaskKind::Classes { labels: vec!["a".into(), "b".into()], background: Some(0) };
    mask::put(
        writable,
        &[
            a_mask(classes, 3, whole),
            a_mask(MaskKind::Alpha { label: "b".into() }, 250, whole),
            a_mask(MaskKind::Instance { object: 1 }, 2, rect),
        ],
    );
    buffer
}

fn rows(info: &VideoInfo, mut plane_row: impl FnMut(usize, usize, usize, usize) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..info.n_planes() as usize)
        .map(|plane| {
            let (row_bytes, rows) = plane_extent(info, plane);
            plane_row(plane, usize::try_from(info.stride()[plane]).unwrap(), row_bytes, rows)
        })
        .collect()
}

/// The bytes that carry pixels of a frame in system memory.
fn pixels(buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<Vec<u8>> {
    let map = buffer.map_readable().unwrap();
    rows(info, |plane, stride, row_bytes, rows| {
        (0..rows).flat_map(|row| map[info.offset()[plane] + row * stride..][..row_bytes].to_vec()).collect()
    })
}

/// The same of a frame in CUDA memory.
fn device_pixels(stream: &CudaStream, buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<Vec<u8>> {
    let frame = MappedCudaFrame::read(buffer, info, stream).unwrap();
    rows(info, |plane, _, row_bytes, rows| {
        let mut bytes = vec![0; row_bytes * rows];
        let source = frame.plane(plane).unwrap();
        let copy = Download { source, target: &mut bytes, target_stride: row_bytes, row_bytes, rows };
        // SAFETY: the bytes are not touched before the stream has been waited for.
        unsafe { stream.start_download_plane(copy).unwrap() };
        stream.synchronize().unwrap();
        bytes
    })
}

fn count(harness: &Harness, name: &str) -> u64 {
    harness.element().unwrap().property::<gst::Structure>("stats").get(name).unwrap()
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_in_cuda_memory_get_the_pixels_that_frames_in_system_memory_get() {
    init();
    let stream = stream();
    for format in video::DRAWABLE {
        for (width, height) in [(640, 480), (321, 241), (33, 17), (2, 2)] {
            let info =
                VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().unwrap();
            let system = info.to_caps().unwrap();
            let cuda = caps::to_cuda(&system);
            let mut on_cpu = harness("inferoverlay", &system, &system);
            let mut upload = harness("cudainferupload", &system, &cuda);
            let mut on_gpu = harness("inferoverlay", &cuda, &cuda);
            for overlay in [&on_cpu, &on_gpu] {
                let element = overlay.element().unwrap();
                element.set_property("heatmap", true);
                element.set_property("arrows", true);
            }
            for shared in [false, true, false] {
                let wanted = on_cpu.push_and_pull(frame(&info)).unwrap();
                let up = upload.push_and_pull(frame(&info)).unwrap();
                let kept = shared.then(|| (up.clone(), device_pixels(&stream, &up, &info)));
                let before = count(&on_gpu, "device-to-device-bytes");
                let got = on_gpu.push_and_pull(up).unwrap();
                let what = format!("{format} {width}x{height}, shared: {shared}");
                assert!(is_cuda_memory(got.peek_memory(0)), "{what}");
                assert!(device_pixels(&stream, &got, &info) == pixels(&wanted, &info), "{what}");
                assert_eq!(count(&on_gpu, "device-to-device-bytes") > before, shared, "{what}");
                assert_eq!(meta::object::objects(&got), meta::object::objects(&wanted), "{what}");
                assert_eq!((got.pts(), got.iter_meta::<VideoMeta>().count()), (wanted.pts(), 1), "{what}");
                if let Some((other, pixels)) = kept {
                    assert!(
                        device_pixels(&stream, &other, &info) == pixels,
                        "the other holder's frame changed"
                    );
                }
            }
            assert_eq!((count(&on_gpu, "frames"), count(&on_gpu, "device-to-host-bytes")), (3, 0));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn objects_are_hidden_on_the_gpu_as_on_the_cpu_also_while_they_are_missing_and_in_shared_frames() {
    init();
    let stream = stream();
    for format in video::DRAWABLE {
        for (width, height) in [(640, 480), (321, 241), (2, 2)] {
            let info =
                VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().unwrap();
            let system = info.to_caps().unwrap();
            let cuda = caps::to_cuda(&system);
            for mode in ["pixelate", "gaussian", "fill"] {
                let mut on_cpu = harness("inferoverlay", &system, &system);
                let mut upload = harness("cudainferupload", &system, &cuda);
                let mut on_gpu = harness("inferoverlay", &cuda, &cuda);
                for overlay in [&on_cpu, &on_gpu] {
                    let element = overlay.element().unwrap();
                    element.set_property("blur", "bicycle,person");
                    element.set_property_from_str("blur-mode", mode);
                    element.set_property("blur-hold", 1_u32);
                    element.set_property("trail-length", 0_u32);
                }
                // With objects, then without for as long as they stay hidden, and a frame longer.
                for (number, shared) in [(0, true), (1, true), (2, false)] {
                    let mut frame = frame(&info);
                    if number > 0 {
                        let bytes = frame.map_readable().unwrap().to_vec();
                        frame = gst::Buffer::from_mut_slice(bytes);
                    }
                    let up = upload.push_and_pull(frame.copy()).unwrap();
                    let kept = shared.then(|| (up.clone(), device_pixels(&stream, &up, &info)));
                    let wanted = on_cpu.push_and_pull(frame.copy()).unwrap();
                    let got = on_gpu.push_and_pull(up).unwrap();
                    let what = format!("{format} {width}x{height} {mode}, frame {number}");
                    assert!(device_pixels(&stream, &got, &info) == pixels(&wanted, &info), "{what}");
                    assert_eq!(pixels(&wanted, &info) == pixels(&frame, &info), number == 2, "{what}");
                    if let Some((other, before)) = kept {
                        assert!(
                            device_pixels(&stream, &other, &info) == before,
                            "{what}: the other holder's frame"
                        );
                    }
                }
                for name in ["blurred", "blur-held"] {
                    assert_eq!(count(&on_gpu, name), count(&on_cpu, name), "{name}");
                }
                assert!(count(&on_gpu, "blurred") > 0);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_frame_without_objects_is_passed_on_as_it_is() {
    init();
    let info = VideoInfo::builder(VideoFormat::Nv12, 64, 48).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let system = info.to_caps().unwrap();
    let cuda = caps::to_cuda(&system);
    let mut upload = harness("cudainferupload", &system, &cuda);
    let mut overlay = harness("inferoverlay", &cuda, &cuda);
    let up = upload.push_and_pull(gst::Buffer::with_size(info.size()).unwrap()).unwrap();
    let kept = up.clone();
    let got = overlay.push_and_pull(up).unwrap();
    assert_eq!(got.peek_memory(0).as_ptr(), kept.peek_memory(0).as_ptr());
    assert_eq!((count(&overlay, "launches"), count(&overlay, "device-to-device-bytes")), (0, 0));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_context_query_is_answered_with_the_context_that_uploads_use() {
    init();
    let ask = |name: &str| {
        let element = gst::ElementFactory::make(name).build().unwrap();
        let mut query = gst::query::Context::new("gst.cuda.context");
        assert!(element.static_pad("sink").unwrap().query(&mut query));
        (query.context().unwrap().structure().get::<gst::Object>("gst.cuda.context").unwrap(), element)
    };
    assert_eq!(ask("inferoverlay").0, ask("cudainferupload").0);
}
