//! Masks taken to the frame on the GPU: `cuda/segment_resize.cu`.

use super::super::plan::number;
use super::super::{Resize, SegmentError};
use crate::device::{CudaStream, DevicePlane, DeviceSlice, Kernel};

/// Threads of a block, across and down, and the pixels that one of them makes.
const THREADS: [usize; 2] = [32, 8];
const EACH: usize = 4;

/// `Params` of the kernel, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    mask: u64,
    out: u64,
    stride: u64,
    u: [i64; 3],
    v: [i64; 3],
    from: [u32; 2],
    frame: [u32; 2],
    soft: u32,
    words: u32,
}
const _: () = assert!(size_of::<Arguments>() == 96);

/// [`Resize`] on the GPU: the same masks, to the bit.
#[derive(Clone, Debug)]
pub struct CudaResize {
    kernel: Kernel,
}

impl CudaResize {
    /// In the context of `stream`.
    ///
    /// # Errors
    /// [`SegmentError::Device`].
    pub fn new(stream: &CudaStream) -> Result<Self, SegmentError> {
        Ok(Self { kernel: Kernel::load(stream.context(), "segment_resize", "resize")? })
    }

    /// Enqueues `resize` and returns at once: one launch.
    ///
    /// # Errors
    /// As [`Resize::run`], and [`SegmentError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        resize: &Resize,
        mask: DeviceSlice<'_>,
        out: DevicePlane<'_>,
    ) -> Result<(), SegmentError> {
        let map = resize.map(mask.bytes(), out.bytes(), out.stride())?;
        let stride = out.stride() as u64;
        let arguments = Arguments {
            mask: mask.pointer(),
            out: out.pointer(),
            stride,
            u: map.u,
            v: map.v,
            from: resize.from.map(number),
            frame: resize.frame.map(number),
            soft: u32::from(resize.soft),
            words: u32::from((out.pointer() | stride).is_multiple_of(EACH as u64)),
        };
        let [width, height] = resize.frame;
        let grid = [width.div_ceil(EACH * THREADS[0]), height.div_ceil(THREADS[1]), 1].map(number);
        let block = [THREADS[0], THREADS[1], 1].map(number);
        // SAFETY: `Arguments` mirrors the kernel's struct; both masks have been checked to be as large as it says, and
        // stay as their makers promised.
        Ok(unsafe { stream.launch(&self.kernel, grid, block, 0, &arguments) }?)
    }
}
