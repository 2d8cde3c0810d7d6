//! Frames to the GPU and back, and the order of work on them. Run it with `--ignored` on a machine that has a GPU, with
//! GStreamer's nvcodec plugin.
#![allow(clippy::unwrap_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod download;
mod lines;
mod order;
mod two_gpus;
mod upload;

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Context, CudaStream, Device, Download, Resolved};
use gst::prelude::*;
use gst_video::{VideoFormat, VideoFrameExt, VideoFrameRef, VideoInfo};
use gstcudainfer::memory::{MappedCudaFrame, plane_extent};

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

/// A stream with counters of its own.
fn stream() -> CudaStream {
    CudaStream::new(&Context::new(&device()).unwrap(), &Arc::default()).unwrap()
}

/// Bytes of device memory that nobody has.
fn free(context: &Context) -> usize {
    let _entered = context.enter().unwrap();
    cudarc::driver::result::mem_get_info().unwrap().0
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

fn launch(description: &str) -> gst::Pipeline {
    init();
    let pipeline = gst::parse::launch(description).unwrap_or_else(|error| panic!("{description}: {error}"));
    pipeline.downcast().unwrap()
}

/// Plays `description` to its end, which must come without an error or a warning. The pipeline is in NULL when it returns, and
/// its elements still have their counts.
fn play(description: &str) -> gst::Pipeline {
    let pipeline = launch(description);
    let bus = pipeline.bus().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error, gst::MessageType::Warning];
    let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(60), &kinds).unwrap();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{description}: {message:?}");
    pipeline.set_state(gst::State::Null).unwrap();
    pipeline
}

/// Whether GStreamer's CUDA memory is large enough for such frames. That of 1.26 is not for NV21 of odd heights: it has a row of
/// chroma too few, which the upload must refuse with a sentence.
fn holds(format: VideoFormat, size: (u32, u32)) -> bool {
    let description = format!(
        "{} ! cudainferupload device=cuda ! video/x-raw(memory:CUDAMemory) ! fakesink",
        source(format, size, 1)
    );
    let pipeline = launch(&description);
    let bus = pipeline.bus().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = bus.timed_pop_filtered(gst::ClockTime::from_seconds(60), &kinds).unwrap();
    pipeline.set_state(gst::State::Null).unwrap();
    let gst::MessageView::Error(error) = message.view() else { return true };
    let text = error.error().to_string();
    let (major, minor, ..) = gst::version();
    let known = (major, minor) > (1, 22) && format == VideoFormat::Nv21 && size.1 % 2 == 1;
    assert!(known && text.contains("this GStreamer's CUDA memory is too small for"), "{description}: {text}");
    false
}

/// Runs `path` after `source` with an appsink at its end, and hands over each frame beside the source's own, which
/// took no part in it. The pipeline is in NULL when it returns; nothing was said on its bus.
fn run(source: &str, path: &str, each: impl FnMut(&gst::Sample, &gst::Sample)) -> gst::Pipeline {
    let (pipeline, said) = run_and_hear(source, path, each);
    assert!(said.is_empty(), "{path}: {said:?}");
    pipeline
}

/// As [`run`], for pipelines that have warnings or errors, which are returned.
fn run_and_hear(
    source: &str,
    path: &str,
    mut each: impl FnMut(&gst::Sample, &gst::Sample),
) -> (gst::Pipeline, Vec<gst::Message>) {
    let sink = "appsink sync=false max-buffers=2";
    let description = format!("{source} ! {path} ! {sink} name=out  {source} ! {sink} name=original");
    let pipeline = launch(&description);
    let bus = pipeline.bus().unwrap();
    let [out, original] = ["out", "original"].map(|name| {
        let sink = pipeline.by_name(name).unwrap();
        move || sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[])
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    while let Some(sample) = out() {
        each(&sample, &original().unwrap());
    }
    let kinds = [gst::MessageType::Error, gst::MessageType::Warning];
    let said = std::iter::from_fn(|| bus.pop_filtered(&kinds)).collect();
    assert!(original().is_none(), "{description}: frames are missing: {said:?}");
    pipeline.set_state(gst::State::Null).unwrap();
    (pipeline, said)
}

/// A count of the element of that name.
fn count(pipeline: &gst::Pipeline, element: &str, name: &str) -> u64 {
    pipeline.by_name(element).unwrap().property::<gst::Structure>("stats").get(name).unwrap()
}

/// The bytes that carry pixels, plane by plane, of a frame in system memory.
fn pixels(buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<Vec<u8>> {
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let rows = |plane: u32| {
        let index = usize::try_from(plane).unwrap();
        let (row_bytes, rows) = plane_extent(info, index);
        let stride = usize::try_from(frame.plane_stride()[index]).unwrap();
        let data = frame.plane_data(plane).unwrap();
        let rows = (0..rows).flat_map(|row| data[row * stride..][..row_bytes].to_vec()).collect();
        without_padding(rows, row_bytes, info)
    };
    (0..info.n_planes()).map(rows).collect()
}

/// The same of a frame in CUDA memory, read back through the plugin's own map, not through GStreamer's download.
fn device_pixels(stream: &CudaStream, buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<Vec<u8>> {
    let frame = MappedCudaFrame::read(buffer, info, stream).unwrap();
    let download = |plane| {
        let (row_bytes, rows) = frame.extent(plane);
        let mut target = vec![0; row_bytes * rows];
        let source = frame.plane(plane).unwrap();
        let copy = Download { source, target: &mut target, target_stride: row_bytes, row_bytes, rows };
        // SAFETY: waited for before anything else happens to either.
        unsafe { stream.start_download_plane(copy).unwrap() };
        stream.synchronize().unwrap();
        without_padding(target, row_bytes, info)
    };
    (0..frame.planes()).map(download).collect()
}

/// Where two pixels share their chroma in one plane, the last pair of an odd row has luma that belongs to no pixel, which
/// a source leaves as it was. In a row of one pixel, videotestsrc leaves the chroma, too.
fn without_padding(mut rows: Vec<u8>, row_bytes: usize, info: &VideoInfo) -> Vec<u8> {
    let luma = match info.format() {
        VideoFormat::Yuy2 => 0,
        VideoFormat::Uyvy => 1,
        _ => return rows,
    };
    for row in rows.chunks_mut(row_bytes) {
        match info.width() {
            1 => row.copy_from_slice(&[0, 0, 0, row[luma]]),
            width if width % 2 == 1 => row[row_bytes - 2 + luma] = 0,
            _ => {}
        }
    }
    rows
}

fn info_of(sample: &gst::Sample) -> VideoInfo {
    VideoInfo::from_caps(sample.caps().unwrap()).unwrap()
}
