//! The operation `peaks`: a search, up to the event after it. The maps are gaussians, 2 to 5 a channel, over noise below the
//! threshold; every call takes another map, and together they are larger than the cache. The bytes are the map's, read once.

use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::peaks::{CudaPeaks, Mode, PeakParams, Refinement};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;

use super::measure::{measure, row};

/// More than the H200's second-level cache of 60 MB.
pub(super) const BEYOND_CACHE: usize = 100 << 20;

pub fn run(stream: &CudaStream) {
    use {Layout::*, Mode::*, TensorType::*};
    for (name, mode, frames, dims, layout, ty, goal, noise) in [
        // The cost of a launch and an event, with nothing to read.
        ("local peaks + integral 1x1x1", Local, 1, [1, 1, 1], Nchw, Float32, None, 0.1),
        ("local peaks + integral 13x96x96", Local, 1, [13, 96, 96], Nchw, Float32, Some(6.0), 0.1),
        ("local peaks + integral 13x512x512", Local, 1, [13, 512, 512], Nchw, Float32, Some(10.0), 0.1),
        ("local peaks + integral 16x13x192x192", Local, 16, [13, 192, 192], Nchw, Float32, Some(15.0), 0.1),
        ("global peaks + integral 16x13x96x96", Global, 16, [13, 96, 96], Nchw, Float32, None, 0.1),
        ("local peaks + integral 13x512x512 float16", Local, 1, [13, 512, 512], Nchw, Float16, None, 0.1),
        ("local peaks + integral 96x96x13 float16", Local, 1, [13, 96, 96], Nhwc, Float16, None, 0.1),
        ("global peaks + integral 13x96x96", Global, 1, [13, 96, 96], Nchw, Float32, None, 0.1),
        ("global peaks + integral 96x96x13", Global, 1, [13, 96, 96], Nhwc, Float32, None, 0.1),
        // Some 12 000 peaks.
        ("local peaks + integral 13x96x96 noise", Local, 1, [13, 96, 96], Nchw, Float32, None, 1.0),
    ] {
        let [c, h, w] = dims;
        let shape = |frames| match layout {
            Nchw => [frames, c, h, w],
            Nhwc => [frames, h, w, c],
        };
        let bytes = frames * c * h * w * ty.size();
        let maps: Vec<Memory> = (0..BEYOND_CACHE.div_ceil(bytes).min(1000) as u64)
            .map(|seed| {
                let frame = |i| blobs(seed * frames as u64 + i, noise, dims, layout, ty);
                upload(stream, &(0..frames as u64).flat_map(frame).collect::<Vec<_>>())
            })
            .collect();
        let params = PeakParams {
            mode,
            refinement: Refinement::Integral,
            layout: Some(layout),
            ..PeakParams::default()
        };
        let desc = TensorDesc::fixed("maps", ty, &shape(1));
        let mut finder = CudaPeaks::new(&desc, [4 * w, 4 * h], params, stream).unwrap();
        let to_frame = vec![Affine::IDENTITY; frames];
        let times = measure(stream, |i| {
            let map = DeviceTensor::new("maps", ty, &shape(frames), maps[i % maps.len()].slice()).unwrap();
            finder.start(stream, &map, &to_frame).unwrap();
        });
        row(name, &times, bytes, 1.0, goal);
        let mut peaks = Vec::new();
        finder.finish(stream, &mut peaks).unwrap();
        let found = peaks.concat().len();
        assert!(found >= frames * c, "{name}: {found} peaks");
    }
}

pub(super) fn upload(stream: &CudaStream, data: &[u8]) -> Memory {
    let mut pinned = stream.pin(data.len()).unwrap();
    pinned.as_mut_slice().copy_from_slice(data);
    let memory = stream.allocate(data.len()).unwrap();
    stream.upload(&pinned, memory.slice()).unwrap();
    memory
}

pub(super) fn blobs(seed: u64, noise: f32, [c, h, w]: [usize; 3], layout: Layout, ty: TensorType) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let mut data: Vec<f32> = (0..c * h * w).map(|_| noise * random()).collect();
    for channel in 0..c {
        for _ in 0..2 + (random() * 4.0) as usize {
            let (px, py) = (random() * w as f32, random() * h as f32);
            let reach = |p: f32, size: usize| (p as usize).saturating_sub(8)..(p as usize + 9).min(size);
            for y in reach(py, h) {
                for x in reach(px, w) {
                    let far = (x as f32 - px).powi(2) + (y as f32 - py).powi(2);
                    let cell = match layout {
                        Layout::Nchw => (channel * h + y) * w + x,
                        Layout::Nhwc => (y * w + x) * c + channel,
                    };
                    data[cell] += 0.8 * (-far / 8.0).exp();
                }
            }
        }
    }
    match ty {
        TensorType::Float16 => data.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
        _ => bytemuck::cast_slice(&data).to_vec(),
    }
}
