//! Blurring frames in CUDA memory.

use super::BlurMode;
use super::area::areas;
use crate::device::{CudaStream, DeviceError, DeviceFrame, Kernel, Memory, Uploads};
use crate::draw::cuda::{THREADS, checked, tiles};
use crate::draw::{DrawError, Rgb};
use crate::frame::FrameFormat;
use crate::geometry::Rect;

/// Bytes for areas at first: a hundred of them.
const ROOM: usize = 4 << 10;

/// The kernels' `Params`.
#[repr(C)]
#[derive(Clone, Copy)]
struct BlurKernelParams {
    planes: [u64; 3],
    strides: [u64; 3],
    areas: u64,
    /// A colour for each cell.
    means: u64,
    /// The same, smoothed.
    smoothed: u64,
    size: [i32; 2],
    origin: [i32; 2],
    count: u32,
    samples: u32,
    mode: u32,
    ink: u32,
}
const _: () = assert!(size_of::<BlurKernelParams>() == 104);

/// Makes parts of frames in CUDA memory unrecognisable: [`super::blur`]'s counterpart, which makes the same bytes.
#[derive(Debug)]
pub struct CudaBlur {
    means: Kernel,
    smooth: Kernel,
    blur: Kernel,
    uploads: Uploads,
    /// The cells' colours. The memory grows when a frame has more cells than every earlier one.
    cells: Memory,
}

impl CudaBlur {
    /// For frames in the context of `stream`, which counts the allocations.
    ///
    /// # Errors
    /// [`DeviceError`] if the GPU has no memory left or refuses the kernels.
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        let kernel = |name| Kernel::load(stream.context(), "blur", name);
        Ok(Self {
            means: kernel("means")?,
            smooth: kernel("smooth")?,
            blur: kernel("blur")?,
            uploads: Uploads::new(stream, ROOM)?,
            cells: stream.allocate(16 * ROOM)?,
        })
    }

    /// Enqueues what [`super::blur`] does. The host waits only where the frame four frames earlier is not done yet, and the wait
    /// is counted.
    ///
    /// # Errors
    /// [`DrawError`]. Where the GPU failed, the frame may be changed in part.
    pub fn blur(
        &mut self,
        stream: &CudaStream,
        format: &FrameFormat,
        frame: &DeviceFrame<'_>,
        mode: BlurMode,
        cells: u32,
        boxes: &[Rect],
    ) -> Result<usize, DrawError> {
        let layout = checked(format, frame)?;
        let (areas, total) = areas(&layout, boxes, cells)?;
        let bounds = areas.iter().map(|a| [a.from[0], a.from[1], a.to[0], a.to[1]]);
        let Some((origin, grid)) = tiles(bounds) else { return Ok(0) };
        let half = size_of::<u32>() * total as usize;
        if self.cells.bytes() < 2 * half {
            self.cells = stream.allocate((2 * half).next_power_of_two())?;
        }
        let list: &[u8] = bytemuck::cast_slice(&areas);
        let slot = self.uploads.start(stream, list.len(), |bytes, _| bytes.copy_from_slice(list))?;
        let planes = frame.layout();
        let side = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
        let count = u32::try_from(areas.len()).unwrap_or(u32::MAX);
        let params = BlurKernelParams {
            planes: planes.map(|(pointer, _)| pointer),
            strides: planes.map(|(_, stride)| stride as u64),
            areas: slot.slice().pointer(),
            means: self.cells.pointer(),
            smoothed: self.cells.pointer() + half as u64,
            size: [side(format.width), side(format.height)],
            origin,
            count,
            samples: layout.samples.number(),
            mode: match mode {
                BlurMode::Pixelate => 0,
                BlurMode::Gaussian => 1,
                BlurMode::Fill => 2,
            },
            ink: u32::from_le_bytes(layout.ink(Rgb::BLACK).0),
        };
        let most = areas.iter().map(super::area::Area::cells).max().unwrap_or(0);
        // SAFETY: `BlurKernelParams` mirrors the struct of all three kernels. They read and write pixels of the frame, whose planes were
        // checked and live by the frame's own promise, within the areas, which `areas` cuts to the frame; they read the areas,
        // which stay until the slot is used again, and write a colour for each cell, twice, for which there is room.
        unsafe {
            if mode != BlurMode::Fill {
                stream.launch(&self.means, [count, most, 1], [THREADS, 1, 1], 0, &params)?;
            }
            if mode == BlurMode::Gaussian {
                stream.launch(&self.smooth, [count, 1, 1], [THREADS, 1, 1], 0, &params)?;
            }
            stream.launch(&self.blur, grid, [THREADS, 1, 1], 0, &params)?;
        }
        slot.done(stream)?;
        Ok(areas.len())
    }
}
