//! The operation `preproc`, on frames of a gradient under noise. Calls read and write memory in turn: about 256 MB of frames
//! and as much of tensors, several times the cache.
//!
//! 1080p is three times 640 pixels wide, so that a bilinear sample is one pixel; 720p is twice, so that it is four.

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, Memory};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::preproc::{CudaPreproc, Interpolation, PreprocParams};
use cudainfer_kernels::tensor::TensorType;

use crate::measure::{Times, measure, row};

/// Bytes of frames, and of tensors, that calls use in turn.
const ROTATION: usize = 256 << 20;

/// The planes of a frame, rows at multiples of 256 bytes as decoders lay them.
pub fn planes(stream: &CudaStream, format: &FrameFormat, state: &mut u32) -> Vec<(Memory, usize)> {
    (0..format.pixels.planes())
        .map(|plane| {
            let stride = format.pixels.row_bytes(plane, format.width).next_multiple_of(256);
            let rows = format.pixels.rows(plane, format.height);
            let mut host = stream.pin(stride * rows).unwrap();
            for (i, byte) in host.as_mut_slice().iter_mut().enumerate() {
                *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (i % stride * 128 / stride + i / stride * 64 / rows) as u8 + (*state >> 26) as u8;
            }
            let memory = stream.allocate(host.bytes()).unwrap();
            stream.upload(&host, memory.slice()).unwrap();
            (memory, stride)
        })
        .collect()
}

/// The frame that these planes are of.
pub fn frame<'a>(format: &FrameFormat, planes: &'a [(Memory, usize)]) -> DeviceFrame<'a> {
    let planes: Vec<_> =
        planes.iter().map(|(memory, stride)| DevicePlane::new(memory.slice(), *stride)).collect();
    DeviceFrame::new(format, &planes).unwrap()
}

struct Case {
    name: &'static str,
    pixels: PixelFormat,
    size: (usize, usize),
    params: PreprocParams,
    /// The share of the frame's rows that samples lie in.
    share: f64,
    /// Frames a call.
    batch: usize,
    /// Microseconds a frame.
    goal: Option<f64>,
}

fn bench(stream: &CudaStream, case: Case) {
    let Case { name, pixels, size: (width, height), params, share, batch, goal } = case;
    let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
    let frame_bytes: usize =
        (0..pixels.planes()).map(|p| pixels.row_bytes(p, width) * pixels.rows(p, height)).sum();
    let preproc = CudaPreproc::new(format, params, stream).unwrap();
    let calls = (ROTATION / (batch * frame_bytes)).max(ROTATION / (batch * preproc.bytes())).max(2);
    let mut state = 0x2545_f491;
    let memories: Vec<_> = (0..calls * batch).map(|_| planes(stream, &format, &mut state)).collect();
    let frames: Vec<_> = memories.iter().map(|planes| frame(&format, planes)).collect();
    let tensors: Vec<_> = (0..calls).map(|_| stream.allocate(batch * preproc.bytes()).unwrap()).collect();
    let Times { median, p95 } = measure(stream, |i| {
        let call = i % calls;
        preproc.run(stream, &frames[call * batch..][..batch], tensors[call].slice()).unwrap();
    });
    let times = Times { median: median / batch as f64, p95: p95 / batch as f64 };
    row(name, &times, (frame_bytes as f64 * share) as usize + preproc.bytes(), 1.0 / batch as f64, goal);
}

pub fn run(stream: &CudaStream) {
    let nv12 = |name, size, params, share, batch, goal| Case {
        name,
        pixels: PixelFormat::Nv12,
        size,
        params,
        share,
        batch,
        goal,
    };
    let (hd, small) = ((1920, 1080), (1280, 720));
    let f16 =
        || PreprocParams { width: 640, height: 640, ty: TensorType::Float16, ..PreprocParams::default() };
    // Every third row of luma, and another row of chroma for each of them.
    let third = (360.0 + 360.0) / (1080.0 + 540.0);
    let name = "preproc NV12 1080p to 640x640 letterbox RGB float16";
    bench(stream, nv12(name, hd, f16(), third, 1, Some(5.0)));
    let name = "preproc NV12 1080p to 640x640 letterbox RGB float16, batch of 16 (a frame)";
    bench(stream, nv12(name, hd, f16(), third, 16, Some(2.0)));
    let name = "preproc NV12 1080p to 640x640 letterbox RGB float32";
    let f32 = PreprocParams { ty: TensorType::Float32, ..f16() };
    bench(stream, nv12(name, hd, f32, third, 1, None));
    let name = "preproc NV12 720p to 640x640 letterbox RGB float16";
    bench(stream, nv12(name, small, f16(), 1.0, 1, None));
    let name = "preproc NV12 720p to 640x640 letterbox RGB float16, batch of 16 (a frame)";
    bench(stream, nv12(name, small, f16(), 1.0, 16, None));
    let name = "preproc BGRA 1080p to 640x640 letterbox RGB float16";
    let bgra = Case { pixels: PixelFormat::Bgra, ..nv12(name, hd, f16(), 1.0 / 3.0, 1, None) };
    bench(stream, bgra);
    let area = || PreprocParams { interpolation: Interpolation::Area, ..f16() };
    let name = "preproc NV12 1080p to 640x640 letterbox RGB float16, area";
    bench(stream, nv12(name, hd, area(), 1.0, 1, Some(6.0)));
    let name = "preproc NV12 1080p to 640x640 letterbox RGB float16, area, batch of 16 (a frame)";
    bench(stream, nv12(name, hd, area(), 1.0, 16, None));
}
