//! Masks of single objects on the GPU: `cuda/segment_prototypes.cu`.

use super::super::plan::{TensorShape, number};
use super::super::{Prototypes, Region, SegmentError};
use crate::device::{CudaStream, DeviceError, DeviceSlice, DeviceTensor, Event, Kernel, Memory, Pinned};
use crate::preproc::Layout;
use crate::tensor::TensorDesc;

/// Threads of a block.
const THREADS: usize = 256;
/// Frames whose uploads may be in flight before the host waits for the first of them.
const SLOTS: usize = 4;
/// Objects that there is room for at first.
const OBJECTS: usize = 320;

/// `Params` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    prototypes: u64,
    regions: u64,
    coefficients: u64,
    masks: u64,
    bytes: u32,
    objects: u32,
    count: u32,
    width: u32,
    cell_step: u32,
    prototype_step: u32,
}
const _: () = assert!(size_of::<Arguments>() == 56 && size_of::<Region>() == 20);

/// A frame's regions, followed by its coefficients.
#[derive(Debug)]
struct Slot {
    host: Pinned,
    device: Memory,
    /// Recorded after the copy.
    copied: Event,
}

impl Slot {
    fn new(stream: &CudaStream, bytes: usize) -> Result<Self, DeviceError> {
        let copied = Event::new(stream.context())?;
        Ok(Self { host: stream.pin(bytes)?, device: stream.allocate(bytes)?, copied })
    }
}

/// [`Prototypes`] on the GPU: the same masks, to the bit. All frames in one stream, or in streams that wait for each other.
#[derive(Debug)]
pub struct CudaPrototypes {
    plan: Prototypes,
    kernel: Kernel,
    slots: Vec<Slot>,
    next: usize,
}

impl CudaPrototypes {
    /// As [`Prototypes::new`].
    ///
    /// # Errors
    /// As there, and [`SegmentError::Device`].
    pub fn new(
        prototypes: &TensorDesc,
        input: [usize; 2],
        layout: Option<Layout>,
        stream: &CudaStream,
    ) -> Result<Self, SegmentError> {
        Self::of(Prototypes::new(prototypes, input, layout)?, stream)
    }

    /// For the prototypes that `plan` describes.
    ///
    /// # Errors
    /// [`SegmentError::Device`].
    pub fn of(plan: Prototypes, stream: &CudaStream) -> Result<Self, SegmentError> {
        let kernel = format!("combine_{}", plan.announced.tensor.ty);
        let kernel = Kernel::load(stream.context(), "segment_prototypes", &kernel)?;
        let room = OBJECTS * (size_of::<Region>() + size_of::<f32>() * plan.coefficients());
        let slots = (0..SLOTS).map(|_| Slot::new(stream, room)).collect::<Result<_, _>>()?;
        Ok(Self { plan, kernel, slots, next: 0 })
    }

    /// The description of the prototypes: their size, the coefficients, the regions of boxes.
    pub fn plan(&self) -> &Prototypes {
        &self.plan
    }

    /// Enqueues the masks of all objects, one copy and one launch, and returns at once. `coefficients` and `regions` are
    /// free afterwards. `masks` has as many bytes as [`Prototypes::regions`] returned.
    ///
    /// # Errors
    /// As [`Prototypes::run`], and [`SegmentError::Device`].
    pub fn run(
        &mut self,
        stream: &CudaStream,
        prototypes: &DeviceTensor<'_>,
        coefficients: &[f32],
        regions: &[Region],
        masks: DeviceSlice<'_>,
    ) -> Result<(), SegmentError> {
        self.plan.announced.check(prototypes.name, prototypes.ty, &prototypes.dims)?;
        self.plan.check(coefficients.len(), regions, masks.bytes())?;
        if masks.bytes() == 0 {
            return Ok(());
        }
        let [regions_bytes, bytes] = [0, size_of_val(coefficients)].map(|more| size_of_val(regions) + more);
        self.next = (self.next + 1) % self.slots.len();
        let slot = &mut self.slots[self.next];
        if !slot.copied.done()? {
            stream.wait_on_host(&slot.copied)?;
        }
        if slot.host.bytes() < bytes {
            *slot = Slot::new(stream, bytes.next_power_of_two())?;
        }
        let (head, tail) = slot.host.as_mut_slice()[..bytes].split_at_mut(regions_bytes);
        head.copy_from_slice(bytemuck::cast_slice(regions));
        tail.copy_from_slice(bytemuck::cast_slice(coefficients));
        // SAFETY: the slot is written again only when `copied`, recorded just below, is reached.
        unsafe { stream.start_upload(&slot.host, slot.device.slice().first(bytes))? };
        stream.record(&slot.copied)?;
        let TensorShape { layout, channels, width, .. } = self.plan.announced.shape;
        let cells = self.plan.announced.shape.cells();
        let [cell_step, prototype_step] = match layout {
            Layout::Nchw => [1, cells],
            Layout::Nhwc => [channels, 1],
        }
        .map(number);
        let arguments = Arguments {
            prototypes: prototypes.pointer(),
            regions: slot.device.pointer(),
            coefficients: slot.device.pointer() + regions_bytes as u64,
            masks: masks.pointer(),
            bytes: number(masks.bytes()),
            objects: number(regions.len()),
            count: number(channels),
            width: number(width),
            cell_step,
            prototype_step,
        };
        let [blocks, threads] = [masks.bytes().div_ceil(THREADS), THREADS].map(number);
        // SAFETY: `Arguments` mirrors the kernels' struct. The regions lie within prototypes and masks, which has been
        // checked, and there are as many coefficients as they want. All memory stays: `self` waits for the device when
        // dropped, and the makers of the slices promised it.
        Ok(unsafe { stream.launch(&self.kernel, [blocks, 1, 1], [threads, 1, 1], 0, &arguments) }?)
    }
}
