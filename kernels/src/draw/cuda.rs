//! Drawing on frames in CUDA memory.

use super::canvas::{Layout, Samples};
use super::record::{Command, MOST, Recorded, Recorder};
use super::{DrawError, Shape, paint};
use crate::device::{DeviceError, DeviceFrame, Event, Kernel, Memory, Pinned, Stream};
use crate::frame::FrameFormat;

/// Frames whose commands may be under way at the same time.
const IN_FLIGHT: usize = 4;
/// What room for commands begins with, in bytes: twenty labelled boxes take a third of it.
const ROOM: usize = 32 << 10;
/// Pixels that a block draws.
const TILE: [i32; 2] = [64, 16];
/// Threads of a block, each of which draws two by two pixels.
const THREADS: u32 = 256;

/// The kernel's `Params`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Params {
    planes: [u64; 3],
    strides: [u64; 3],
    commands: u64,
    data: u64,
    size: [i32; 2],
    origin: [i32; 2],
    count: u32,
    samples: u32,
}
const _: () = assert!(size_of::<Params>() == 88);

/// Draws on frames in CUDA memory: [`super::draw`]'s counterpart, which makes the same pixels.
///
/// The host decides what each shape covers, by the same code, and uploads that as a few KiB of commands; one kernel then
/// writes the pixels. It allocates only when a frame needs more room than every frame before it.
#[derive(Debug)]
pub struct CudaCanvas {
    kernel: Kernel,
    recorded: Recorded,
    slots: Vec<Slot>,
    next: usize,
}

/// Room for the commands of one frame.
#[derive(Debug)]
struct Slot {
    host: Pinned,
    device: Memory,
    /// Reached when the kernel has read them.
    drawn: Event,
}

impl Slot {
    fn new(stream: &Stream, bytes: usize) -> Result<Self, DeviceError> {
        let (host, device) = (stream.pin(bytes)?, stream.allocate(bytes)?);
        Ok(Self { host, device, drawn: Event::new(stream.context())? })
    }
}

impl CudaCanvas {
    /// For frames in the context of `stream`, which counts the allocations.
    ///
    /// # Errors
    /// [`DeviceError`] if the GPU has no memory left or refuses the kernel.
    pub fn new(stream: &Stream) -> Result<Self, DeviceError> {
        let slots = (0..IN_FLIGHT).map(|_| Slot::new(stream, ROOM)).collect::<Result<_, _>>()?;
        let kernel = Kernel::load(stream.context(), "draw", "draw")?;
        Ok(Self { kernel, recorded: Recorded::default(), slots, next: 0 })
    }

    /// Enqueues the drawing of `shapes`, in order, on `frame`, which is of `format`; see [`super::draw`]. The host only
    /// waits, which is counted, where the fourth frame before this one is not drawn yet.
    ///
    /// # Errors
    /// [`DrawError`]. Nothing is drawn then.
    pub fn draw(
        &mut self,
        stream: &Stream,
        format: &FrameFormat,
        frame: &DeviceFrame<'_>,
        shapes: &[Shape<'_>],
    ) -> Result<(), DrawError> {
        let layout = Layout::new(format)?;
        frame.check(format)?;
        let FrameFormat { width, height, .. } = *format;
        if width.max(height) > MOST {
            return Err(DrawError::TooLarge { width, height, most: MOST });
        }
        paint(&mut Recorder::new(layout, &mut self.recorded), shapes);
        let Some((origin, grid)) = tiles(&self.recorded.commands) else { return Ok(()) };

        let commands: &[u8] = bytemuck::cast_slice(&self.recorded.commands);
        let data: &[u8] = bytemuck::cast_slice(&self.recorded.data);
        let bytes = commands.len() + data.len();
        let slot = &mut self.slots[self.next];
        self.next = (self.next + 1) % IN_FLIGHT;
        if !slot.drawn.done()? {
            stream.wait_on_host(&slot.drawn)?;
        }
        if slot.host.bytes() < bytes {
            *slot = Slot::new(stream, bytes.next_power_of_two())?;
        }
        let (to_commands, rest) = slot.host.as_mut_slice().split_at_mut(commands.len());
        to_commands.copy_from_slice(commands);
        rest[..data.len()].copy_from_slice(data);
        stream.start_upload(&slot.host, slot.device.slice().first(bytes))?;

        let planes = frame.layout();
        let side = |v: usize| i32::try_from(v).unwrap_or(i32::MAX);
        let params = Params {
            planes: planes.map(|(pointer, _)| pointer),
            strides: planes.map(|(_, stride)| stride as u64),
            commands: slot.device.pointer(),
            data: slot.device.pointer() + commands.len() as u64,
            size: [side(width), side(height)],
            origin,
            count: u32::try_from(self.recorded.commands.len()).unwrap_or(u32::MAX),
            samples: match layout.samples {
                Samples::Packed3 => 0,
                Samples::Packed4 => 1,
                Samples::Nv12 => 2,
                Samples::I420 => 3,
            },
        };
        // SAFETY: `Params` is the kernel's. It writes pixels of the frame, whose planes were checked and are there by
        // the frame's own promise, and reads the commands, which stay until `drawn` is reached, and their data, whose
        // places `Recorder` has filled.
        unsafe { stream.launch(&self.kernel, grid, [THREADS, 1, 1], 0, &params) }?;
        stream.record(&slot.drawn)?;
        Ok(())
    }
}

/// Where the first tile that the commands meet begins, and how many there are on each axis; `None` without commands.
fn tiles(commands: &[Command]) -> Option<([i32; 2], [u32; 3])> {
    let bounds = commands.iter().map(|c| [c.left, c.top, c.right, c.bottom]);
    let [left, top, right, bottom] =
        bounds.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])?;
    let [x, y] = [left / TILE[0] * TILE[0], top / TILE[1] * TILE[1]];
    let count = |length: i32, tile: i32| u32::try_from((length + tile - 1) / tile).unwrap_or(0);
    Some(([x, y], [count(right - x, TILE[0]), count(bottom - y, TILE[1]), 1]))
}
