//! The same on a GPU: `cuda/matte.cu`.

use super::corners::Corners;
use super::feather::Feather;
use super::guided::Guided;
use super::{MatteError, check_bytes};
use crate::device::{CudaStream, DeviceSlice, Kernel, Memory};
use crate::segment::{CudaSpread, Pick};

/// Threads of a block, and of most blocks' rows.
const THREADS: usize = 256;
const COLUMNS: usize = 32;
const ROWS: usize = 8;
const BLOCK: [u32; 3] = [COLUMNS as u32, ROWS as u32, 1];
/// Pixels of a block of `soften_rows` along a row, and of `soften_columns` along a column.
const ROW_TILE: usize = 128;
const COLUMN_TILE: usize = 64;
/// Pixels of a row that are read at once, and rows that a thread of the filter takes.
const WORD: usize = 4;
const EACH: usize = 4;
/// Rows of a block of cells.
const TILE: usize = 16;
/// Numbers in double precision that are kept of a cell.
const OF_CELL: usize = 4;

/// `Guide` of the kernels, whose fields are explained there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Guide {
    luma: u64,
    mask: u64,
    to: u64,
    means: u64,
    lines: u64,
    filters: u64,
    epsilon: f64,
    width: u32,
    height: u32,
    cell: u32,
    lanes: u32,
    across: u32,
    down: u32,
    radius: u32,
    least: u32,
    unit: u32,
    unused: u32,
}
const _: () = assert!(size_of::<Guide>() == 96);

/// `Soften` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Soften {
    from: u64,
    to: u64,
    width: u32,
    height: u32,
    radius: u32,
    least: u32,
}
const _: () = assert!(size_of::<Soften>() == 32);

/// `Floor` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Floor {
    from: u64,
    to: u64,
    bytes: u64,
    least: u32,
    padding: u32,
}
const _: () = assert!(size_of::<Floor>() == 32);

/// `Corners` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Lay {
    mask: u64,
    strips: [u64; 2],
    circle: u64,
    width: u32,
    height: u32,
    w: u32,
    h: u32,
}
const _: () = assert!(size_of::<Lay>() == 48);

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A grid of as many blocks as cover this width and height.
fn grid([width, height]: [usize; 2], [columns, rows]: [usize; 2]) -> [u32; 3] {
    [number(width.div_ceil(columns)), number(height.div_ceil(rows)), 1]
}

/// [`Guided`] on a GPU, in four launches.
#[derive(Debug)]
pub struct CudaGuided {
    guided: Guided,
    means: Kernel,
    /// Those of cells, in the order of their launches.
    cells: [Kernel; 2],
    filter: Kernel,
    memory: Memory,
}

impl CudaGuided {
    /// The filter on the GPU of `stream`.
    ///
    /// # Errors
    /// [`MatteError::Device`], also where there is no memory: 32 bytes a cell.
    pub fn new(guided: Guided, stream: &CudaStream) -> Result<Self, MatteError> {
        let load = |name| Kernel::load(stream.context(), "matte", name);
        let [across, down] = guided.cells;
        Ok(Self {
            means: load("cell_means")?,
            cells: [load("lines")?, load("line_means")?],
            filter: load(if guided.cell < WORD { "filter_small" } else { "filter_large" })?,
            memory: stream.allocate(across * down * OF_CELL * size_of::<f64>())?,
            guided,
        })
    }

    /// Enqueues the filtering of `mask` to `to`, which may be the same, by the frame's luma; all dense, and from multiples of 4 bytes on. Values
    /// below `least` become 0.
    ///
    /// # Errors
    /// [`MatteError::Room`], [`MatteError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        luma: DeviceSlice<'_>,
        mask: DeviceSlice<'_>,
        to: DeviceSlice<'_>,
        least: u8,
    ) -> Result<(), MatteError> {
        let Guided { frame, cell, cells, radius, epsilon, .. } = self.guided;
        check_bytes(frame[0] * frame[1], [luma, mask, to].iter().map(DeviceSlice::bytes))?;
        if frame.contains(&0) {
            return Ok(());
        }
        let count = cells[0] * cells[1];
        let plane = |index: usize| self.memory.pointer() + (index * count * size_of::<f64>()) as u64;
        let unit = if frame[0].is_multiple_of(WORD) && cell.is_multiple_of(WORD) { WORD } else { 1 };
        let lanes = (cell / unit).next_power_of_two().min(32);
        let arguments = Guide {
            luma: luma.pointer(),
            mask: mask.pointer(),
            to: to.pointer(),
            means: plane(0),
            lines: plane(2),
            // In place of the means, which nothing reads any more then.
            filters: plane(0),
            epsilon: f64::from(epsilon),
            width: number(frame[0]),
            height: number(frame[1]),
            cell: number(cell),
            lanes: number(lanes),
            across: number(cells[0]),
            down: number(cells[1]),
            // No window is larger than the frame, and none of the kernels' sums may be too large for a number.
            radius: number(radius.min(cells[0].max(cells[1]))),
            least: u32::from(least),
            unit: number(unit),
            unused: 0,
        };
        let blocks = [number((count * lanes).div_ceil(THREADS)), 1, 1];
        // SAFETY: `Guide` mirrors the kernels' struct; the planes hold the frame, and the memory what is kept of each cell. All stay as
        // their makers promised.
        unsafe {
            stream.launch(&self.means, blocks, [number(THREADS), 1, 1], 0, &arguments)?;
            for kernel in &self.cells {
                stream.launch(kernel, grid(cells, [COLUMNS, TILE]), BLOCK, 0, &arguments)?;
            }
            stream.launch(&self.filter, grid(frame, [WORD * COLUMNS, EACH * ROWS]), BLOCK, 0, &arguments)?;
        }
        Ok(())
    }
}

/// [`Feather`] on a GPU, in two launches or three; and the floor of masks.
#[derive(Debug)]
pub struct CudaFeather {
    size: [usize; 2],
    inwards: u32,
    outwards: u32,
    spread: CudaSpread,
    rows: Kernel,
    columns: Kernel,
    floor: Kernel,
    spare: Memory,
}

impl CudaFeather {
    /// For masks of this width and height on the GPU of `stream`; both in pixels, as for [`Feather::new`].
    ///
    /// # Errors
    /// [`MatteError::Device`], also where there is no memory for another mask.
    pub fn new(
        size: [usize; 2],
        inwards: u32,
        outwards: u32,
        stream: &CudaStream,
    ) -> Result<Self, MatteError> {
        let load = |name| Kernel::load(stream.context(), "matte", name);
        let [inwards, outwards] = Feather::limited(inwards, outwards);
        Ok(Self {
            size,
            inwards,
            outwards,
            spread: CudaSpread::new(stream)?,
            rows: load("soften_rows")?,
            columns: load("soften_columns")?,
            floor: load("floor_values")?,
            spare: stream.allocate(if inwards + outwards > 0 { size[0] * size[1] } else { 0 })?,
        })
    }

    /// Enqueues the softening of the edges of `mask` to `to`, both dense, which do not overlap. Values below `least` become 0 then.
    ///
    /// # Errors
    /// [`MatteError::Room`], [`MatteError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        mask: DeviceSlice<'_>,
        to: DeviceSlice<'_>,
        least: u8,
    ) -> Result<(), MatteError> {
        let [width, height] = self.size.map(number);
        check_bytes(self.size[0] * self.size[1], [mask, to].iter().map(DeviceSlice::bytes))?;
        if self.size.contains(&0) {
            return Ok(());
        }
        let (radius, grown) = Feather::steps(self.inwards, self.outwards);
        let least = u32::from(least);
        if radius == 0 {
            let bytes = mask.bytes();
            let arguments =
                Floor { from: mask.pointer(), to: to.pointer(), bytes: bytes as u64, least, padding: 0 };
            let blocks = [number(bytes.div_ceil(THREADS)), 1, 1];
            // SAFETY: `Floor` mirrors the kernel's struct; both have this many bytes, which stay as their makers promised.
            unsafe { stream.launch(&self.floor, blocks, [number(THREADS), 1, 1], 0, &arguments)? };
            return Ok(());
        }
        let spare = self.spare.pointer();
        let mut from = mask;
        if grown != 0 {
            let pick = if grown > 0 { Pick::Greatest } else { Pick::Least };
            let by = u32::try_from(grown.unsigned_abs()).unwrap_or(0);
            self.spread.start(stream, pick, [mask, to], self.size, by)?;
            from = to;
        }
        let rows = Soften { from: from.pointer(), to: spare, width, height, radius, least: 0 };
        let columns = Soften { from: spare, to: to.pointer(), width, height, radius, least };
        // SAFETY: `Soften` mirrors the kernels' struct; all three masks have a byte for each pixel.
        unsafe {
            stream.launch(&self.rows, grid(self.size, [ROW_TILE, ROWS]), BLOCK, 0, &rows)?;
            stream.launch(&self.columns, grid(self.size, [COLUMNS, COLUMN_TILE]), BLOCK, 0, &columns)?;
        }
        Ok(())
    }
}

/// [`Corners`] on a GPU, in one launch.
#[derive(Debug)]
pub struct CudaCorners {
    corners: Corners,
    kernel: Kernel,
    circle: Memory,
}

impl CudaCorners {
    /// The same corners on the GPU of `stream`.
    ///
    /// # Errors
    /// [`MatteError::Device`].
    pub fn new(corners: &Corners, stream: &CudaStream) -> Result<Self, MatteError> {
        let circle: Vec<u32> =
            corners.circle.iter().flat_map(|row| [number(row.start), number(row.end)]).collect();
        Ok(Self {
            corners: corners.clone(),
            kernel: Kernel::load(stream.context(), "matte", "corners")?,
            circle: stream.allocate_with(bytemuck::cast_slice(&circle))?,
        })
    }

    /// Enqueues the making of both strips of the frame's mask; all dense.
    ///
    /// # Errors
    /// [`MatteError::Room`], [`MatteError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        mask: DeviceSlice<'_>,
        upper: DeviceSlice<'_>,
        lower: DeviceSlice<'_>,
    ) -> Result<(), MatteError> {
        let Corners { frame: [width, height], size: [w, h], .. } = self.corners;
        let rows = self.corners.rows();
        check_bytes(width * height, std::iter::once(mask.bytes()))?;
        check_bytes(width * rows, [upper, lower].iter().map(DeviceSlice::bytes))?;
        let arguments = Lay {
            mask: mask.pointer(),
            strips: [upper.pointer(), lower.pointer()],
            circle: self.circle.pointer(),
            width: number(width),
            height: number(height),
            w: number(w),
            h: number(h),
        };
        let [across, down, _] = grid([width, rows], [COLUMNS, ROWS]);
        // SAFETY: `Lay` mirrors the kernel's struct; mask and strips have the sizes that it says, and stay as their makers promised.
        unsafe { stream.launch(&self.kernel, [across, down, 2], BLOCK, 0, &arguments)? };
        Ok(())
    }
}
