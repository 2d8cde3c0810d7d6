//! What `cudainferupload` does with a GPU. Run it with `--ignored` on a machine that has one, with GStreamer's nvcodec
//! plugin (for cudadownload).
#![allow(clippy::unwrap_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Context, Device, Resolved, Stream};
use gst::prelude::*;
use gst_video::{VideoFormat, VideoFrameExt, VideoFrameRef, VideoInfo};
use gstcudainfer::memory::{MappedFrame, caps, is_cuda_memory, plane_extent};

const SIZES: [(u32, u32); 5] = [(640, 480), (321, 241), (65, 17), (2, 2), (1, 1)];

fn init() {
    static INIT: std::sync::Once = std::sync::Once::new();
    INIT.call_once(|| {
        gst::init().unwrap();
        gstcudainfer::plugin_register_static().unwrap();
    });
}

fn device() -> Device {
    match Choice::Cuda(0).resolve().unwrap() {
        Resolved::Cuda(device) => device,
        Resolved::Cpu { .. } => panic!("asked for a GPU"),
    }
}

/// Moving, and no two neighbours alike.
fn source(format: VideoFormat, (width, height): (u32, u32), frames: u32) -> String {
    // videotestsrc divides by half the width of a zone plate
    let pattern = if width < 2 {
        "pattern=solid-color foreground-color=0xff336699"
    } else {
        "pattern=zone-plate kx2=20 ky2=20 kt=3"
    };
    format!(
        "videotestsrc num-buffers={frames} {pattern} ! \
         video/x-raw,format={format},width={width},height={height},framerate=30/1"
    )
}

/// Runs `path` behind `source` with an appsink at its end, and hands over each frame beside the source's own, which
/// took no part in it: what a source leaves in bytes that belong to no pixel changes from run to run. The pipeline is
/// in NULL when it returns.
fn run(source: &str, path: &str, mut each: impl FnMut(&gst::Sample, &gst::Sample)) -> gst::Pipeline {
    init();
    let sink = "appsink sync=false max-buffers=2";
    let line =
        format!("{source} ! tee name=t ! queue ! {path} ! {sink} name=out t. ! queue ! {sink} name=original");
    let pipeline = gst::parse::launch(&line)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
        .downcast::<gst::Pipeline>()
        .unwrap();
    let bus = pipeline.bus().unwrap();
    let [out, original] = ["out", "original"].map(|name| {
        let sink = pipeline.by_name(name).unwrap();
        move || sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[])
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    while let Some(sample) = out() {
        each(&sample, &original().unwrap());
    }
    if let Some(message) = bus.pop_filtered(&[gst::MessageType::Error, gst::MessageType::Warning]) {
        panic!("{line}: {message:?}");
    }
    assert!(original().is_none(), "{line}: frames are missing");
    pipeline.set_state(gst::State::Null).unwrap();
    pipeline
}

/// How many frames the element called "upload" says it has copied.
fn uploaded(pipeline: &gst::Pipeline) -> u64 {
    let stats = pipeline.by_name("upload").unwrap().property::<gst::Structure>("stats");
    stats.get("frames").unwrap()
}

/// The bytes that carry pixels, plane by plane, of a frame in system memory.
fn pixels(buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<Vec<u8>> {
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let rows = |plane: u32| {
        let index = usize::try_from(plane).unwrap();
        let (row_bytes, rows) = plane_extent(info, index);
        let stride = usize::try_from(frame.plane_stride()[index]).unwrap();
        let data = frame.plane_data(plane).unwrap();
        (0..rows).flat_map(|row| data[row * stride..][..row_bytes].to_vec()).collect()
    };
    (0..info.n_planes()).map(rows).collect()
}

/// The same of a frame in CUDA memory, read back through the plugin's own map, not through GStreamer's download.
fn device_pixels(stream: &Stream, buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<Vec<u8>> {
    let frame = MappedFrame::read(buffer, info, stream).unwrap();
    let download = |plane| {
        let (row_bytes, rows) = frame.extent(plane);
        let mut bytes = vec![0; row_bytes * rows];
        stream.download_plane(frame.plane(plane).unwrap(), &mut bytes, row_bytes, row_bytes, rows).unwrap();
        bytes
    };
    (0..frame.planes()).map(download).collect()
}

fn info_of(sample: &gst::Sample) -> VideoInfo {
    VideoInfo::from_caps(sample.caps().unwrap()).unwrap()
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_goes_up_comes_down_through_cudadownload() {
    for format in [VideoFormat::Nv12, VideoFormat::I420, VideoFormat::Rgba, VideoFormat::P01010le] {
        for size in SIZES {
            let path = "cudainferupload device=cuda name=upload ! cudadownload ! video/x-raw";
            let mut frames = 0;
            let pipeline = run(&source(format, size, 30), path, |sample, original| {
                assert!(!caps::in_cuda(sample.caps().unwrap()));
                let [got, wanted] = [sample, original].map(|s| pixels(s.buffer().unwrap(), &info_of(s)));
                assert!(got == wanted, "{format} {size:?} frame {frames}");
                frames += 1;
            });
            assert_eq!((frames, uploaded(&pipeline)), (30, 30));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_lies_in_cuda_memory_with_every_byte_in_place() {
    init();
    let stream = Stream::new(&Context::new(&device()).unwrap(), &Arc::default()).unwrap();
    for format in caps::CUDA_FORMATS {
        for size in SIZES {
            let path = "cudainferupload device=cuda name=upload ! video/x-raw(memory:CUDAMemory)";
            let pipeline = run(&source(format, size, 4), path, |sample, original| {
                let [buffer, wanted] = [sample, original].map(|s| s.buffer().unwrap());
                assert_eq!(buffer.n_memory(), 1);
                assert!(is_cuda_memory(buffer.peek_memory(0)));
                assert_eq!(buffer.peek_memory(0).allocator().unwrap().memory_type(), "gst.cuda.memory");
                assert!(buffer.meta::<gst_video::VideoMeta>().is_some());
                assert_eq!((buffer.pts(), buffer.duration()), (wanted.pts(), wanted.duration()));
                let got = device_pixels(&stream, buffer, &info_of(sample));
                assert!(got == pixels(wanted, &info_of(original)), "{format} {size:?} {:?}", buffer.pts());
            });
            assert_eq!(uploaded(&pipeline), 4);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn metadata_stays_and_padded_rows_go_up_without_their_padding() {
    init();
    let stream = Stream::new(&Context::new(&device()).unwrap(), &Arc::default()).unwrap();
    let element = gst::ElementFactory::make("cudainferupload").property("device", "cuda").build().unwrap();
    let mut harness = gst_check::Harness::with_element(&element, Some("sink"), Some("src"));
    let info = VideoInfo::builder(VideoFormat::Nv12, 5, 3).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let cuda = caps::to_cuda(&info.to_caps().unwrap());
    harness.set_sink_caps(cuda);
    harness.set_src_caps(info.to_caps().unwrap());

    let (stride, offset) = (37usize, 37 * 4);
    let mut buffer = gst::Buffer::from_slice(
        (0..offset + 2 * stride).map(|i| u8::try_from(i).unwrap()).collect::<Vec<_>>(),
    );
    {
        let buffer = buffer.get_mut().unwrap();
        buffer.set_pts(gst::ClockTime::from_mseconds(40));
        buffer.set_duration(gst::ClockTime::from_mseconds(40));
        buffer.set_flags(gst::BufferFlags::MARKER);
        let mut roi = gst_video::VideoRegionOfInterestMeta::add(buffer, "person", (1, 0, 3, 2));
        roi.add_param(gst::Structure::builder("detection").field("confidence", 0.5f64).build());
        let strides = [i32::try_from(stride).unwrap(); 2];
        let none = gst_video::VideoFrameFlags::empty();
        gst_video::VideoMeta::add_full(buffer, none, VideoFormat::Nv12, 5, 3, &[0, offset], &strides)
            .unwrap();
    }
    let wanted = pixels(&buffer, &info);
    let out = harness.push_and_pull(buffer).unwrap();

    assert!(is_cuda_memory(out.peek_memory(0)));
    assert_eq!(device_pixels(&stream, &out, &info), wanted);
    assert_eq!(out.pts(), Some(gst::ClockTime::from_mseconds(40)));
    assert_eq!(out.duration(), Some(gst::ClockTime::from_mseconds(40)));
    assert!(out.flags().contains(gst::BufferFlags::MARKER));
    assert_eq!(out.iter_meta::<gst_video::VideoMeta>().count(), 1, "the source's strides must not stay");
    let roi = out.meta::<gst_video::VideoRegionOfInterestMeta>().unwrap();
    assert_eq!((roi.roi_type(), roi.rect()), ("person", (1, 0, 3, 2)));
    assert_eq!(roi.param("detection").unwrap().get::<f64>("confidence"), Ok(0.5));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_context_query_is_answered_in_null_and_always_with_the_same_context() {
    init();
    let ask = |element: &gst::Element, pad: &str| {
        let mut query = gst::query::Context::new("gst.cuda.context");
        assert!(element.static_pad(pad).unwrap().query(&mut query), "not answered on {pad}");
        query.context().unwrap().structure().get::<gst::Object>("gst.cuda.context").unwrap()
    };
    let [one, two] = [0, 1].map(|_| gst::ElementFactory::make("cudainferupload").build().unwrap());
    let context = ask(&one, "src");
    assert_eq!(context.type_().name(), "GstCudaContext");
    assert_eq!(ask(&one, "sink"), context);
    assert_eq!(ask(&two, "src"), context);
    one.set_state(gst::State::Ready).unwrap();
    assert_eq!(ask(&one, "src"), context);
    one.set_state(gst::State::Null).unwrap();

    let cpu = gst::ElementFactory::make("cudainferupload").property("device", "cpu").build().unwrap();
    let mut query = gst::query::Context::new("gst.cuda.context");
    assert!(!cpu.static_pad("src").unwrap().query(&mut query));
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_context_is_announced_on_the_bus() {
    init();
    let pipeline = gst::Pipeline::new();
    let element = gst::ElementFactory::make("cudainferupload").build().unwrap();
    pipeline.add(&element).unwrap();
    pipeline.set_state(gst::State::Ready).unwrap();
    let bus = pipeline.bus().unwrap();
    let message = bus.pop_filtered(&[gst::MessageType::HaveContext]).unwrap();
    let gst::MessageView::HaveContext(have) = message.view() else { panic!() };
    let context = have.context();
    assert_eq!(context.context_type(), "gst.cuda.context");
    assert!(context.structure().get::<gst::Object>("gst.cuda.context").is_ok());
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_cuda_memory_cannot_hold_or_nobody_wants_there_stays_in_system_memory() {
    for (format, filter) in [(VideoFormat::Gray8, "video/x-raw(ANY)"), (VideoFormat::Nv12, "video/x-raw")] {
        let path = format!("cudainferupload device=cuda name=upload ! {filter}");
        let pipeline = run(&source(format, (64, 48), 3), &path, |sample, _| {
            assert!(!caps::in_cuda(sample.caps().unwrap()), "{path}");
            assert!(!is_cuda_memory(sample.buffer().unwrap().peek_memory(0)));
        });
        assert_eq!(uploaded(&pipeline), 0);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_that_lie_in_cuda_memory_go_through_untouched() {
    let path = "cudainferupload ! cudainferupload name=upload ! video/x-raw(memory:CUDAMemory)";
    let pipeline = run(&source(VideoFormat::Nv12, (64, 48), 5), path, |sample, _| {
        assert!(is_cuda_memory(sample.buffer().unwrap().peek_memory(0)));
    });
    assert_eq!(uploaded(&pipeline), 0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_that_is_not_there_is_an_error() {
    init();
    let pipeline = gst::Pipeline::new();
    let element = gst::ElementFactory::make("cudainferupload").property("device", "cuda:99").build().unwrap();
    pipeline.add(&element).unwrap();
    assert!(pipeline.set_state(gst::State::Ready).is_err());
    let message = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Error]).unwrap();
    let gst::MessageView::Error(error) = message.view() else { panic!() };
    let text = error.error().to_string();
    assert!(text.contains("there is no CUDA device 99: this machine has "), "{text}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn two_hundred_state_cycles_neither_fail_nor_leak_device_memory() {
    init();
    let free = |context: &Context| {
        let _entered = context.enter().unwrap();
        cudarc::driver::result::mem_get_info().unwrap().0
    };
    // held here, so that the primary context itself does not come and go
    let context = Context::new(&device()).unwrap();
    let cycle = |frames: u32| {
        let source = source(VideoFormat::Nv12, (1280, 720), frames);
        run(&source, "cudainferupload device=cuda", |sample, _| {
            assert!(caps::in_cuda(sample.caps().unwrap()))
        });
    };
    (0..10).for_each(|_| cycle(2));
    let before = free(&context);
    (0..200).for_each(|_| cycle(2));
    let lost = before.saturating_sub(free(&context));
    // 200 leaked frames would be 280 MB; the driver's own pools move by a few MB
    assert!(lost < 32 << 20, "{lost} bytes of device memory are gone");
}
