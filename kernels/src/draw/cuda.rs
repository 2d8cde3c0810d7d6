//! Drawing on frames in CUDA memory.

use super::canvas::Layout;
use super::mask::{Mask, MaskData, Piece, palette};
use super::record::{MOST, Recorded, Recorder};
use super::{DrawError, Primitive, paint};
use crate::device::{CudaStream, DeviceError, DeviceFrame, DeviceSlice, Kernel, Uploads};
use crate::frame::FrameFormat;

/// Bytes for commands at first: twenty labelled boxes take a third of it.
const ROOM: usize = 32 << 10;
/// Pixels that a block draws.
const TILE: [i32; 2] = [64, 16];
/// Threads of a block, each of which draws two by two pixels.
pub(super) const THREADS: u32 = 256;

/// The kernels' `Params`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DrawKernelParams {
    planes: [u64; 3],
    strides: [u64; 3],
    /// Commands, or masks' pieces.
    list: u64,
    /// The commands' data, or the classes' colours.
    data: u64,
    size: [i32; 2],
    origin: [i32; 2],
    count: u32,
    samples: u32,
}
const _: () = assert!(size_of::<DrawKernelParams>() == 88);

/// Draws on frames in CUDA memory: [`super::draw`]'s and [`super::paint_masks`]'s counterpart, which makes the same pixels.
///
/// The host divides each primitive into rectangles, letters and [`super::capsule::Capsule`]s, by the same code, and uploads those
/// as a few KiB of commands; one kernel then finds the pixels of each, and writes them. Masks stay where they are on the device;
/// one more kernel paints all masks of a frame. Allocates only when a frame needs more room than every earlier one.
#[derive(Debug)]
pub struct CudaCanvas {
    draw: Kernel,
    masks: Kernel,
    recorded: Recorded,
    pieces: Vec<Piece>,
    uploads: Uploads,
}

impl CudaCanvas {
    /// For frames in the context of `stream`, which counts the allocations.
    ///
    /// # Errors
    /// [`DeviceError`] if the GPU has no memory left or refuses the kernel.
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        let kernel = |name| Kernel::load(stream.context(), name, name);
        Ok(Self {
            draw: kernel("draw")?,
            masks: kernel("masks")?,
            recorded: Recorded::default(),
            pieces: Vec::new(),
            uploads: Uploads::new(stream, ROOM)?,
        })
    }

    /// Enqueues the drawing of `primitives`, in order, on `frame`, which is of `format`; see [`super::draw`]. The host waits
    /// only where the frame four frames earlier is not drawn yet, and the wait is counted.
    ///
    /// # Errors
    /// [`DrawError`]. Nothing is drawn then.
    pub fn draw(
        &mut self,
        stream: &CudaStream,
        format: &FrameFormat,
        frame: &DeviceFrame<'_>,
        primitives: &[Primitive<'_>],
    ) -> Result<(), DrawError> {
        let layout = checked(format, frame)?;
        paint(&mut Recorder::new(layout, &mut self.recorded), primitives);
        let bounds = self.recorded.commands.iter().map(|c| [c.left, c.top, c.right, c.bottom]);
        let Some((origin, grid)) = tiles(bounds) else { return Ok(()) };
        let list: &[u8] = bytemuck::cast_slice(&self.recorded.commands);
        let data: &[u8] = bytemuck::cast_slice(&self.recorded.data);
        let slot = self.uploads.start(stream, list.len() + data.len(), |bytes, _| {
            let (first, second) = bytes.split_at_mut(list.len());
            first.copy_from_slice(list);
            second.copy_from_slice(data);
        })?;
        let params = DrawKernelParams::new(
            &layout,
            frame,
            origin,
            [slot.slice(), slot.slice().after(list.len())],
            self.recorded.commands.len(),
        );
        // SAFETY: `DrawKernelParams` mirrors the kernel's struct. The kernel writes pixels of the frame, whose planes were checked and
        // live by the frame's own promise, and reads the commands, which stay until the slot is used again, and their data,
        // whose places `Recorder` has filled; it waits for earlier work first.
        unsafe { stream.launch_overlapping(&self.draw, grid, [THREADS, 1, 1], 0, &params) }?;
        slot.done(stream)?;
        Ok(())
    }

    /// Enqueues the painting of `masks`, in order, on `frame`, which is of `format`; see [`super::paint_masks`]. The host
    /// waits as in [`CudaCanvas::draw`].
    ///
    /// # Errors
    /// [`DrawError`]. Nothing is painted then.
    pub fn paint_masks(
        &mut self,
        stream: &CudaStream,
        format: &FrameFormat,
        frame: &DeviceFrame<'_>,
        masks: &[Mask<MaskData<'_>>],
    ) -> Result<(), DrawError> {
        let layout = checked(format, frame)?;
        let palette = palette(&layout);
        let colors: &[u8] = bytemuck::cast_slice(&palette);
        // Masks on the host lie after the pieces and the colours.
        let mut end = masks.len() * size_of::<Piece>() + colors.len();
        let mut on_host = Vec::new();
        self.pieces.clear();
        for mask in masks {
            let Some(mut piece) = Piece::new(&layout, mask, mask.data.bytes())? else { continue };
            match mask.data {
                MaskData::Device(slice) => piece.data = slice.pointer(),
                MaskData::Host(data) => {
                    on_host.push((self.pieces.len(), end, data));
                    end += data.len();
                }
            }
            self.pieces.push(piece);
        }
        let pieces = &mut self.pieces;
        let bounds = pieces.iter().map(|p| [p.left, p.top, p.right, p.bottom]);
        let Some((origin, grid)) = tiles(bounds) else { return Ok(()) };
        let slot = self.uploads.start(stream, end, |bytes, address| {
            for (number, at, data) in on_host {
                pieces[number].data = address + at as u64;
                bytes[at..at + data.len()].copy_from_slice(data);
            }
            let (first, rest) = bytes.split_at_mut(size_of_val(pieces.as_slice()));
            first.copy_from_slice(bytemuck::cast_slice(pieces));
            rest[..colors.len()].copy_from_slice(colors);
        })?;
        let colors = slot.slice().after(size_of_val(pieces.as_slice()));
        let params = DrawKernelParams::new(&layout, frame, origin, [slot.slice(), colors], pieces.len());
        // SAFETY: `DrawKernelParams` mirrors the kernel's struct. The kernel reads and writes pixels of the frame, as above, and reads
        // the pieces, which stay until the slot is used again, the 256 colours after them, and the masks: as many samples as
        // `Piece::new` has checked, which live by the slices' own promise or in the slot; it waits for earlier work first.
        unsafe { stream.launch_overlapping(&self.masks, grid, [THREADS, 1, 1], 0, &params) }?;
        slot.done(stream)?;
        Ok(())
    }
}

/// The frame's layout for drawing.
pub(super) fn checked(format: &FrameFormat, frame: &DeviceFrame<'_>) -> Result<Layout, DrawError> {
    let layout = Layout::new(format)?;
    frame.check(format)?;
    let FrameFormat { width, height, .. } = *format;
    if width.max(height) > MOST {
        return Err(DrawError::TooLarge { width, height, most: MOST });
    }
    Ok(layout)
}

impl DrawKernelParams {
    fn new(
        layout: &Layout,
        frame: &DeviceFrame<'_>,
        origin: [i32; 2],
        [list, data]: [DeviceSlice<'_>; 2],
        count: usize,
    ) -> Self {
        let planes = frame.layout();
        let side = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
        Self {
            planes: planes.map(|(pointer, _)| pointer),
            strides: planes.map(|(_, stride)| stride as u64),
            list: list.pointer(),
            data: data.pointer(),
            size: [side(layout.format.width), side(layout.format.height)],
            origin,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            samples: layout.samples.number(),
        }
    }
}

/// Where the first tile that the rectangles (left, top, right, bottom) meet begins, and how many there are on each axis;
/// `None` without rectangles.
pub(super) fn tiles(bounds: impl Iterator<Item = [i32; 4]>) -> Option<([i32; 2], [u32; 3])> {
    let [left, top, right, bottom] =
        bounds.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])?;
    let [x, y] = [left / TILE[0] * TILE[0], top / TILE[1] * TILE[1]];
    let count = |length: i32, tile: i32| u32::try_from((length + tile - 1) / tile).unwrap_or(0);
    Some(([x, y], [count(right - x, TILE[0]), count(bottom - y, TILE[1]), 1]))
}
