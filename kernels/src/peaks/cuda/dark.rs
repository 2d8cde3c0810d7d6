//! The second kernel, for [`Refinement::Dark`] and [`Refinement::DarkUdp`]: `cuda/dark.cu`.

use super::Records;
use super::arguments::Arguments;
use super::record::number;
use crate::device::{CudaStream, DeviceError, DeviceTensor, Kernel};
use crate::peaks::dark::Blur;
use crate::peaks::grid::MapShape;
use crate::peaks::{Border, PeakParams, Refinement};

/// Warps of a block, each of which takes a record at a time.
const WARPS: usize = 4;
/// Warps that keep a large GPU busy: with more records, they take several each.
const MANY: usize = 4096;

/// The kernel's `Parameters`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Parameters {
    map: u64,
    /// The records in device memory.
    records: Records,
    /// The same on the host.
    near: u64,
    weights: [f64; 16],
    height: u32,
    radius: u32,
    udp: u32,
    reflect: u32,
}
const _: () = assert!(size_of::<Parameters>() == 216, "cuda/dark.cu says the same");

/// Refines what a search has found.
#[derive(Debug)]
pub(super) struct Dark {
    kernel: Kernel,
    blur: Blur,
    udp: bool,
}

impl Dark {
    /// None for another refinement.
    pub fn new(stream: &CudaStream, params: &PeakParams, kernel: &str) -> Result<Option<Self>, DeviceError> {
        if !matches!(params.refinement, Refinement::Dark | Refinement::DarkUdp) {
            return Ok(None);
        }
        Ok(Some(Self {
            kernel: Kernel::load(stream.context(), "dark", kernel)?,
            blur: Blur::new(params),
            udp: params.refinement == Refinement::DarkUdp,
        }))
    }

    /// Enqueues the refinement of the records, at most `most`, of the search that was enqueued just before. The records stay
    /// in device memory, too.
    pub fn launch(
        &self,
        stream: &CudaStream,
        map: &DeviceTensor<'_>,
        shape: &MapShape,
        search: &Arguments,
        most: usize,
    ) -> Result<(), DeviceError> {
        let parameters = Parameters {
            map: map.pointer(),
            records: search.records(shape),
            near: search.near(),
            weights: self.blur.weights,
            height: number(shape.height),
            radius: number(self.blur.radius),
            udp: u32::from(self.udp),
            reflect: u32::from(self.blur.border == Border::Reflect),
        };
        let blocks = number(most.min(MANY).div_ceil(WARPS).max(1));
        // SAFETY: `Parameters` mirrors the kernel's struct. Map and records are those of the search, and stay as long as for it.
        unsafe { stream.launch(&self.kernel, [blocks, 1, 1], [number(32 * WARPS), 1, 1], 0, &parameters) }
    }
}
