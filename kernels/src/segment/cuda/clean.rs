//! Clean-up of a mask on the GPU: `cuda/segment_clean.cu`.

use super::super::SegmentParams;
use super::super::plan::number;
use crate::device::{CudaStream, DeviceError, DeviceSlice, Kernel, Memory};

/// Cells of a block: of spreading, and of the kernels that join areas.
const TILE: usize = 32;
const ROWS: usize = 8;

/// `Spread` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Spread {
    from: u64,
    own: u64,
    to: u64,
    width: u32,
    height: u32,
    radius: u32,
    end: u32,
}
const _: () = assert!(size_of::<Spread>() == 40);

/// `End` of the kernels.
const NEITHER: u32 = 0;
const OPENING: u32 = 1;
const CLOSING: u32 = 2;

/// `Areas` of the kernels.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Areas {
    mask: u64,
    labels: u64,
    areas: u64,
    width: u32,
    height: u32,
    least: u32,
    soft: u32,
}
const _: () = assert!(size_of::<Areas>() == 40);

/// The value of the square around a cell that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    Least,
    Greatest,
}

/// [`spread`](super::super::clean::spread) on the GPU: one launch.
#[derive(Debug)]
pub(crate) struct CudaSpread {
    least: Kernel,
    greatest: Kernel,
}

impl CudaSpread {
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        let load = |name| Kernel::load(stream.context(), "segment_clean", name);
        Ok(Self { least: load("spread_least")?, greatest: load("spread_greatest")? })
    }

    /// Enqueues it from one mask of this size to another.
    pub fn start(
        &self,
        stream: &CudaStream,
        pick: Pick,
        [from, to]: [DeviceSlice<'_>; 2],
        size: [usize; 2],
        radius: u32,
    ) -> Result<(), DeviceError> {
        self.launch(stream, pick, [from, from, to], size, radius, NEITHER)
    }

    /// As [`CudaSpread::start`], and completes what `end` says with the original mask, the second one, which may be the one that is written.
    fn launch(
        &self,
        stream: &CudaStream,
        pick: Pick,
        [from, own, to]: [DeviceSlice<'_>; 3],
        size: [usize; 2],
        radius: u32,
        end: u32,
    ) -> Result<(), DeviceError> {
        let kernel = match pick {
            Pick::Least => &self.least,
            Pick::Greatest => &self.greatest,
        };
        let ([width, height], [from, own, to]) = (size.map(number), [from, own, to].map(|m| m.pointer()));
        let arguments = Spread { from, own, to, width, height, radius, end };
        // SAFETY: `Spread` mirrors the kernels' struct; the masks have a byte for each cell. Of the mask that it writes, a thread reads only
        // its own cell.
        unsafe { stream.launch(kernel, grid(size, TILE), BLOCK, 0, &arguments) }
    }
}

/// [`super::super::clean::Cleaner`] on the GPU: two launches each for opening and closing, four for areas.
#[derive(Debug)]
pub(super) struct CudaCleaner {
    size: [usize; 2],
    params: SegmentParams,
    spread: CudaSpread,
    /// The kernels for areas, in the order of their launches.
    areas: [Kernel; 4],
    /// A mask, and two words a cell; empty where they are not used.
    spare: Memory,
    labels: Memory,
}

impl CudaCleaner {
    /// None where there is nothing to clean.
    pub fn new(
        size: [usize; 2],
        params: &SegmentParams,
        stream: &CudaStream,
    ) -> Result<Option<Self>, DeviceError> {
        let (spreads, measures) = (params.opening > 0 || params.closing > 0, params.min_area > 1);
        if !spreads && !measures {
            return Ok(None);
        }
        let load = |name| Kernel::load(stream.context(), "segment_clean", name);
        let cells = size[0] * size[1];
        Ok(Some(Self {
            size,
            params: *params,
            spread: CudaSpread::new(stream)?,
            areas: [load("begin")?, load("join")?, load("measure")?, load("remove_small")?],
            spare: stream.allocate(if spreads { cells } else { 0 })?,
            labels: stream.allocate(if measures { 2 * size_of::<u32>() * cells } else { 0 })?,
        }))
    }

    /// Enqueues the clean-up of `mask`, which has `size`.
    pub fn run(&self, stream: &CudaStream, mask: DeviceSlice<'_>) -> Result<(), DeviceError> {
        let SegmentParams { opening, closing, min_area, soft, .. } = self.params;
        if opening > 0 {
            let end = if soft { NEITHER } else { OPENING };
            self.spread(stream, [Pick::Least, Pick::Greatest], mask, opening, end)?;
        }
        if closing > 0 {
            let end = if soft { NEITHER } else { CLOSING };
            self.spread(stream, [Pick::Greatest, Pick::Least], mask, closing, end)?;
        }
        if min_area > 1 {
            let [width, height] = self.size;
            let arguments = Areas {
                mask: mask.pointer(),
                labels: self.labels.pointer(),
                areas: self.labels.pointer() + (size_of::<u32>() * width * height) as u64,
                width: number(width),
                height: number(height),
                least: min_area,
                soft: u32::from(soft),
            };
            for kernel in &self.areas {
                // SAFETY: `Areas` mirrors the kernels' struct; mask, labels and areas have a place for each cell.
                unsafe { stream.launch(kernel, grid(self.size, ROWS), BLOCK, 0, &arguments) }?;
            }
        }
        Ok(())
    }

    /// Enqueues both, the second of which writes the mask.
    fn spread(
        &self,
        stream: &CudaStream,
        [first, second]: [Pick; 2],
        mask: DeviceSlice<'_>,
        radius: u32,
        end: u32,
    ) -> Result<(), DeviceError> {
        let spare = self.spare.slice();
        self.spread.launch(stream, first, [mask, mask, spare], self.size, radius, NEITHER)?;
        self.spread.launch(stream, second, [spare, mask, mask], self.size, radius, end)
    }
}

/// As many blocks as cover this width and height, with this many rows of cells each.
fn grid([width, height]: [usize; 2], rows: usize) -> [u32; 3] {
    [number(width.div_ceil(TILE)), number(height.div_ceil(rows)), 1]
}

const BLOCK: [u32; 3] = [32, 8, 1];
