//! Masks of single objects, interpolated on the GPU: `cuda/segment_instances.cu`.

use super::super::instances::Source;
use super::super::plan::{TensorShape, number};
use super::super::{InstanceMasks, SegmentError, Window};
use crate::device::{CudaStream, DeviceSlice, DeviceTensor, Kernel, Uploads};
use crate::preproc::Layout;

/// Threads of a block.
const THREADS: usize = 256;
/// Objects that there is room for at first.
const OBJECTS: usize = 320;

/// `Params` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    values: u64,
    windows: u64,
    coefficients: u64,
    masks: u64,
    row_step: u64,
    bytes: u32,
    objects: u32,
    count: u32,
    width: u32,
    height: u32,
    cell_step: u32,
    value_step: u32,
    border: u32,
    gate: f32,
    padding: u32,
}
const _: () = assert!(size_of::<Arguments>() == 80 && size_of::<Window>() == 72);

/// [`InstanceMasks`] on the GPU: the same masks, to the bit. All frames in one stream, or in streams that wait for each other.
#[derive(Debug)]
pub struct CudaInstanceMasks {
    plan: InstanceMasks,
    kernel: Kernel,
    uploads: Uploads,
}

impl CudaInstanceMasks {
    /// For the values that `plan` describes.
    ///
    /// # Errors
    /// [`SegmentError::Device`].
    pub fn new(plan: InstanceMasks, stream: &CudaStream) -> Result<Self, SegmentError> {
        let ty = match &plan.source {
            Source::Prototypes(prototypes) => prototypes.announced.tensor.ty,
            Source::Maps { tensor, .. } => tensor.ty,
        };
        let kernel = Kernel::load(stream.context(), "segment_instances", &format!("instances_{ty}"))?;
        let each = size_of::<Window>() + size_of::<f32>() * plan.coefficients().max(1);
        Ok(Self { kernel, uploads: Uploads::new(stream, OBJECTS * each)?, plan })
    }

    /// The description of the values.
    pub fn plan(&self) -> &InstanceMasks {
        &self.plan
    }

    /// Enqueues the masks of all objects, one copy and one launch, and returns at once. `coefficients` and `windows` are
    /// free afterwards. `masks` has as many bytes as [`InstanceMasks::pixels`] or [`InstanceMasks::cells`] returned.
    ///
    /// # Errors
    /// As [`InstanceMasks::run`], and [`SegmentError::Device`].
    pub fn run(
        &mut self,
        stream: &CudaStream,
        values: &DeviceTensor<'_>,
        coefficients: &[f32],
        windows: &[Window],
        masks: DeviceSlice<'_>,
    ) -> Result<(), SegmentError> {
        let Self { plan, kernel, uploads } = self;
        plan.check(values.name, values.ty, &values.dims, coefficients.len(), windows, masks.bytes())?;
        if masks.bytes() == 0 {
            return Ok(());
        }
        let [width, height] = plan.size();
        let cells = width * height;
        let [count, cell_step, value_step] = match &plan.source {
            Source::Prototypes(prototypes) => {
                let TensorShape { layout, channels, .. } = prototypes.announced.shape;
                match layout {
                    Layout::Nchw => [channels, 1, cells],
                    Layout::Nhwc => [channels, channels, 1],
                }
            }
            // A map counts as the sum of a single value, and each object has its own.
            Source::Maps { .. } => [1, 1, 0],
        };
        let is_map = matches!(plan.source, Source::Maps { .. });
        let factors = if is_map { &vec![1.0; windows.len()][..] } else { coefficients };
        let windows_bytes = size_of_val(windows);
        let slot = uploads.start(stream, windows_bytes + size_of_val(factors), |bytes, _| {
            let (head, tail) = bytes.split_at_mut(windows_bytes);
            head.copy_from_slice(bytemuck::cast_slice(windows));
            tail.copy_from_slice(bytemuck::cast_slice(factors));
        })?;
        let arguments = Arguments {
            values: values.pointer(),
            windows: slot.slice().pointer(),
            coefficients: slot.slice().pointer() + windows_bytes as u64,
            masks: masks.pointer(),
            row_step: if is_map { cells as u64 } else { 0 },
            bytes: number(masks.bytes()),
            objects: number(windows.len()),
            count: number(count),
            width: number(width),
            height: number(height),
            cell_step: number(cell_step),
            value_step: number(value_step),
            border: u32::from(plan.has_border()),
            gate: plan.gate,
            padding: 0,
        };
        let [blocks, threads] = [masks.bytes().div_ceil(THREADS), THREADS].map(number);
        // SAFETY: `Arguments` mirrors the kernels' struct. The windows' rows are among the values' and their bytes among the
        // masks', which has been checked, and there are as many coefficients as they want. All memory stays: the slot until
        // `done`, the rest as the makers of the slices promised.
        unsafe { stream.launch(kernel, [blocks, 1, 1], [threads, 1, 1], 0, &arguments) }?;
        Ok(slot.done(stream)?)
    }
}
