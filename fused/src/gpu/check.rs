//! Noise, and comparisons on the device (check.cu).

use std::sync::Arc;

use cudainfer_kernels::device::{Context, CudaStream, DeviceSlice, Kernel, Memory, Module, Pinned};
use cudainfer_kernels::tensor::TensorType;

use super::GpuError;
use super::compiled::image;
use super::nvrtc::Nvrtc;
use super::store::Store;

/// Threads of a block.
const BLOCK: usize = 256;

/// The kernels of check.cu.
#[derive(Debug)]
pub(super) struct Check {
    fill: Kernel,
    measure: Kernel,
    compare: Kernel,
    /// The sum of squares and their number (float64), how many are wrong (uint32), and the largest difference (float32).
    result: Memory,
    read: std::sync::Mutex<Pinned>,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Fill {
    at: u64,
    count: u64,
    seed: u32,
    kind: i32,
    size: f32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Compare {
    expected: u64,
    found: u64,
    count: u64,
    kind: i32,
    share: f32,
    squares: u64,
    wrong: u64,
    far: u64,
}

/// Bytes of [`Check::result`].
const RESULT: usize = 24;

impl Check {
    pub fn new(
        context: &Arc<Context>,
        nvrtc: &Nvrtc,
        stream: &CudaStream,
        store: &dyn Store,
    ) -> Result<Self, GpuError> {
        let cubin = image(nvrtc, include_str!("check.cu"), context.device().capability, store)?;
        // SAFETY: NVRTC has just made it.
        let module = unsafe { Module::load(context, &cubin) }?;
        Ok(Self {
            fill: module.kernel("fill")?,
            measure: module.kernel("measure")?,
            compare: module.kernel("compare")?,
            result: stream.allocate(RESULT)?,
            read: std::sync::Mutex::new(stream.pin(RESULT)?),
        })
    }

    /// Fills memory with noise.
    pub fn fill(
        &self,
        stream: &CudaStream,
        at: DeviceSlice<'_>,
        ty: TensorType,
        seed: usize,
    ) -> Result<(), GpuError> {
        let count = at.bytes() / ty.size();
        let seed = u32::try_from(seed).unwrap_or(0);
        let fill = Fill { at: at.pointer(), count: count as u64, seed, kind: kind(ty), size: 1.0 };
        let blocks = u32::try_from(count.div_ceil(BLOCK)).unwrap_or(u32::MAX);
        // SAFETY: `Fill` is the kernel's parameter; the memory is as large as it says, and work in one stream is in order.
        Ok(unsafe { stream.launch(&self.fill, [blocks.max(1), 1, 1], [BLOCK as u32, 1, 1], 0, &fill) }?)
    }

    /// How far the numbers are apart at most, as a share of the larger of the expected one and the root of the mean square; and whether
    /// that is at most `share` everywhere.
    pub fn compare(
        &self,
        stream: &CudaStream,
        expected: DeviceSlice<'_>,
        found: DeviceSlice<'_>,
        ty: TensorType,
        share: f32,
    ) -> Result<(f32, bool), GpuError> {
        stream.fill(self.result.slice(), 0)?;
        let result = self.result.pointer();
        let compare = Compare {
            expected: expected.pointer(),
            found: found.pointer(),
            count: (expected.bytes().min(found.bytes()) / ty.size()) as u64,
            kind: kind(ty),
            share,
            squares: result,
            wrong: result + 16,
            far: result + 20,
        };
        let (grid, block) = ([528, 1, 1], [BLOCK as u32, 1, 1]);
        // SAFETY: `Compare` is the kernels' parameter; the memory is as large as it says.
        unsafe {
            stream.launch(&self.measure, grid, block, 0, &compare)?;
            stream.launch(&self.compare, grid, block, 0, &compare)?;
        }
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        stream.download(self.result.slice(), &mut read)?;
        let bytes = read.as_slice();
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        Ok((f32::from_ne_bytes(word(20)), u32::from_ne_bytes(word(16)) == 0))
    }
}

/// The type's constant in check.cu.
fn kind(ty: TensorType) -> i32 {
    match ty {
        TensorType::Float16 => 1,
        TensorType::Int8 => 2,
        TensorType::UInt8 => 3,
        _ => 0,
    }
}
