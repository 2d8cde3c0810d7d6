//! The operation `segment`: a frame's mask. The logits are noise with one class above the others in each tile of 64x64 cells;
//! every call takes other logits, and together they are larger than the cache. The bytes are the logits', read once, the
//! state's, read and written, and the mask's.

use cudainfer_kernels::device::{CudaStream, DevicePlane, DeviceTensor, Memory};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{
    Activation, CudaPrototypes, CudaResize, CudaSegmenter, Resize, SegmentParams,
};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;

use super::measure::{measure, row};
use super::peaks::upload;

/// More than the H200's second-level cache of 60 MB.
const BEYOND_CACHE: usize = 100 << 20;

pub fn run(stream: &CudaStream) {
    logits(stream);
    to_frame(stream);
    objects(stream);
}

fn logits(stream: &CudaStream) {
    use {Layout::*, TensorType::*};
    let argmax = SegmentParams::default();
    let smooth = SegmentParams { smoothing: 0.7, ..argmax };
    let clean = SegmentParams { opening: 1, closing: 1, min_area: 64, ..smooth };
    let alpha = SegmentParams { soft: true, activation: Activation::Softmax, channel: 1, ..smooth };
    for (name, dims, layout, ty, params, launches, goal) in [
        ("argmax 21x512x512 float16", [21, 512, 512], Nchw, Float16, argmax, 1.0, None),
        ("argmax + smoothing 21x512x512 float16", [21, 512, 512], Nchw, Float16, smooth, 1.0, Some(12.0)),
        ("argmax + smoothing 21x512x512 float32", [21, 512, 512], Nchw, Float32, smooth, 1.0, None),
        ("argmax + smoothing 21x513x513 float16", [21, 513, 513], Nchw, Float16, smooth, 1.0, None),
        ("argmax + smoothing 512x512x21 float16", [21, 512, 512], Nhwc, Float16, smooth, 1.0, None),
        ("argmax + smoothing + clean-up 21x512x512 float16", [21, 512, 512], Nchw, Float16, clean, 9.0, None),
        ("alpha + smoothing 2x256x256 float32", [2, 256, 256], Nchw, Float32, alpha, 1.0, None),
    ] {
        let [c, h, w] = dims;
        let shape = match layout {
            Nchw => [1, c, h, w],
            Nhwc => [1, h, w, c],
        };
        let bytes = c * h * w * ty.size();
        let frames: Vec<Memory> = (0..BEYOND_CACHE.div_ceil(bytes).min(200))
            .map(|seed| upload(stream, &scene(seed, dims, layout, ty)))
            .collect();
        let params = SegmentParams { layout: Some(layout), ..params };
        let desc = TensorDesc::fixed("logits", ty, &shape);
        let mut segmenter = CudaSegmenter::new(&desc, [w, h], params, stream).unwrap();
        let mask = stream.allocate(h * w).unwrap();
        let times = measure(stream, |i| {
            let frame = frames[i % frames.len()].slice();
            let logits = DeviceTensor::new("logits", ty, &shape, frame).unwrap();
            segmenter.run(stream, &logits, mask.slice()).unwrap();
        });
        let state = if params.smoothing > 0.0 { 2 * bytes } else { 0 };
        row(name, &times, bytes + state + h * w, launches, goal);
    }
}

fn to_frame(stream: &CudaStream) {
    let taker = CudaResize::new(stream).unwrap();
    let mask = upload(stream, &(0..512 * 512).map(|i| (i / 64 % 8 + i / 32_768) as u8).collect::<Vec<_>>());
    let out = stream.allocate(1920 * 1080).unwrap();
    let to_frame = Affine::upright([3.75, 3.75], [0.0, -420.0]);
    for (name, soft) in [("mask to 1080p", false), ("mask to 1080p bilinear", true)] {
        let resize = Resize { from: [512, 512], input: [512, 512], to_frame, frame: [1920, 1080], soft };
        let times = measure(stream, |_| {
            taker.run(stream, &resize, mask.slice(), DevicePlane::new(out.slice(), 1920)).unwrap();
        });
        row(name, &times, 1920 * 1080 + 512 * 288, 1.0, None);
    }
}

fn objects(stream: &CudaStream) {
    let dims = [1, 32, 160, 160];
    let desc = TensorDesc::fixed("protos", TensorType::Float16, &dims);
    let memory = upload(stream, &scene(7, [32, 160, 160], Layout::Nchw, TensorType::Float16));
    for objects in [20, 300] {
        let boxes: Vec<Rect> = (0..objects)
            .map(|i| Rect { x: (i * 37 % 500) as f32, y: (i * 61 % 450) as f32, w: 120.0, h: 180.0 })
            .collect();
        let coefficients: Vec<f32> =
            (0..objects * 32).map(|i| (i * 7919 % 201) as f32 / 100.0 - 1.0).collect();
        let mut prototypes = CudaPrototypes::new(&desc, [640, 640], None, stream).unwrap();
        let mut regions = Vec::new();
        let bytes = prototypes.plan().regions(&boxes, &mut regions);
        let masks = stream.allocate(bytes).unwrap();
        let tensor = DeviceTensor::new("protos", desc.ty, &dims, memory.slice()).unwrap();
        let times = measure(stream, |_| {
            prototypes.run(stream, &tensor, &coefficients, &regions, masks.slice()).unwrap();
        });
        // The prototypes are read once; the copy of the coefficients is on top of the launch.
        row(&format!("masks of {objects} objects 32x160x160"), &times, memory.bytes() + bytes, 1.0, None);
    }
}

fn scene(seed: usize, [c, h, w]: [usize; 3], layout: Layout, ty: TensorType) -> Vec<u8> {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let noise: Vec<f32> = (0..c * h * w).map(|_| 4.0 * random()).collect();
    let values = (0..c * h * w).map(|i| {
        let (class, cell) = match layout {
            Layout::Nchw => (i / (h * w), i % (h * w)),
            Layout::Nhwc => (i % c, i / c),
        };
        let of_tile = (cell % w / 64 + 3 * (cell / w / 64) + seed) % c;
        noise[i] + if class == of_tile { 3.5 } else { 0.0 }
    });
    match ty {
        TensorType::Float16 => values.flat_map(|v| f16::from_f32(v).to_ne_bytes()).collect(),
        _ => values.flat_map(f32::to_ne_bytes).collect(),
    }
}
