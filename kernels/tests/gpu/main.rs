//! Every operation on the GPU against its CPU twin and a reference in f64: `scripts/test --gpu`.

#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

mod appearance;
mod associate;
mod blur;
mod camera;
mod channels_last;
mod classify;
mod convert;
mod copies;
mod detect;
mod draw;
mod group;
mod keypoints;
mod maps;
mod masks;
mod matte;
mod memory;
mod parts;
mod peaks;
mod preproc;
mod race;
mod regions;
mod segment;
mod text;
mod warp;

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Context, CudaStream, DeviceSlice, Memory, Resolved};

/// A stream of the first GPU.
fn stream() -> CudaStream {
    let Ok(Resolved::Cuda(device)) = Choice::Cuda(0).resolve() else { panic!("needs a CUDA device") };
    CudaStream::new(&Context::new(&device).unwrap(), &Arc::default()).unwrap()
}

/// Device memory that holds `data`.
fn upload(stream: &CudaStream, data: &[u8]) -> Memory {
    let mut pinned = stream.pin(data.len()).unwrap();
    pinned.as_mut_slice().copy_from_slice(data);
    let memory = stream.allocate(data.len()).unwrap();
    stream.upload(&pinned, memory.slice()).unwrap();
    memory
}

/// What device memory holds, once the stream's work is done.
fn download(stream: &CudaStream, memory: DeviceSlice<'_>) -> Vec<u8> {
    let mut pinned = stream.pin(memory.bytes()).unwrap();
    stream.download(memory, &mut pinned).unwrap();
    pinned.as_slice().to_vec()
}

/// Reproducible numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// 0..1
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// `from..to`
    fn range(&mut self, from: f32, to: f32) -> f32 {
        from + self.unit() * (to - from)
    }

    /// `0..n`
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
