//! Maps on the GPU: `cuda/maps.cu`, two launches a frame, and one for video.

use super::place::{Axis, Place, Region};
use super::plan::MapPlan;
use super::summary::Summary;
use super::{MapError, MapParams};
use crate::device::{CudaStream, DevicePlane, DeviceTensor, Event, Kernel, Memory, Pinned};
use crate::preproc::ChannelOrder;
use crate::tensor::TensorDesc;

/// Threads of a block, and the most blocks that measure.
const THREADS: usize = 256;
const BLOCKS: usize = 256;
/// Threads of a block that paints, across and down.
const TILE: [usize; 2] = [32, 8];

/// The kernels' `Summary`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct Record {
    sum: f64,
    min: f32,
    max: f32,
    finite: u64,
    non_finite: u64,
    out_of_range: u64,
}

/// The kernels' `Axis`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct AxisArgument {
    step: i64,
    start: i64,
    first: u32,
    last: u32,
    cells: u32,
    unused: u32,
}

impl From<&Axis> for AxisArgument {
    fn from(axis: &Axis) -> Self {
        let [first, last, cells] = [axis.first, axis.last, axis.cells].map(number);
        Self { step: axis.step, start: axis.start, first, last, cells, unused: 0 }
    }
}

/// The kernels' `Params`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    values: u64,
    blocks: u64,
    all: u64,
    on_host: u64,
    out: u64,
    stride: u64,
    axes: [AxisArgument; 2],
    region: [u32; 4],
    size: [u32; 2],
    width: u32,
    channels: u32,
    cell_step: u32,
    channel_step: u32,
    fixed: u32,
    swapped: u32,
    count: u32,
    unused: u32,
    mean: [f32; 3],
    std: [f32; 3],
    min: f32,
    scale: f32,
    most: f32,
    last_unused: f32,
}

const _: () = assert!(
    size_of::<Record>() == 40 && size_of::<AxisArgument>() == 32 && size_of::<Arguments>() == 208,
    "cuda/maps.cu says the same"
);

/// Room for video in device memory.
#[derive(Clone, Copy, Debug)]
pub struct CudaPicture<'a> {
    /// Which cells its pixels show.
    pub place: &'a Place,
    /// 2 bytes a pixel of a map, 3 of a picture.
    pub out: DevicePlane<'a>,
}

/// [`super::MapReader`] on the GPU: the same samples and counts, to the bit; no video of vectors. One frame is in flight at a time.
#[derive(Debug)]
pub struct CudaMapReader {
    plan: MapPlan,
    measure: Kernel,
    finish: Kernel,
    paint: Kernel,
    /// One record a block, and one for all.
    records: Memory,
    on_host: Pinned,
    done: Event,
    started: bool,
}

impl CudaMapReader {
    /// As [`super::MapReader::new`].
    ///
    /// # Errors
    /// Those of that function, and [`MapError::Device`].
    pub fn new(output: &TensorDesc, params: MapParams, stream: &CudaStream) -> Result<Self, MapError> {
        let plan = MapPlan::new(output, params)?;
        let load = |name: &str| Kernel::load(stream.context(), "maps", name);
        Ok(Self {
            measure: load(&format!("measure_{}", output.ty))?,
            finish: load("finish")?,
            paint: load(&format!("paint_{}", output.ty))?,
            records: stream.allocate((BLOCKS + 1) * size_of::<Record>())?,
            on_host: stream.pin(size_of::<Record>())?,
            done: Event::new(stream.context())?,
            started: false,
            plan,
        })
    }

    /// Width and height in cells.
    pub fn size(&self) -> [usize; 2] {
        self.plan.size()
    }

    /// Enqueues the summary of the numbers of `region`, which [`CudaMapReader::finish`] returns, and video of them if `picture`
    /// has room for it.
    ///
    /// # Errors
    /// As [`super::MapReader::run`], and [`MapError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        tensor: &DeviceTensor<'_>,
        region: &Region,
        picture: Option<CudaPicture<'_>>,
    ) -> Result<(), MapError> {
        self.started = false;
        self.plan.check(tensor.name, tensor.ty, &tensor.dims, region)?;
        if let Some(CudaPicture { place, out }) = &picture {
            if self.plan.shape.channels == 2 {
                return Err(MapError::Vectors(self.plan.tensor.to_string()));
            }
            self.plan.check_room(place, out.bytes(), out.stride())?;
        }
        let [width, height] = region.size;
        let blocks = (width * height).div_ceil(THREADS).min(BLOCKS);
        let arguments = self.arguments(tensor, region, picture.as_ref(), blocks);
        let threads = [number(THREADS), 1, 1];
        // SAFETY: `Arguments` mirrors the kernels' struct. The tensor is as large as its dimensions, which have been checked,
        // as the region has; there are as many records as blocks and one more. All memory stays: `self` waits for the device
        // when dropped, and the makers of the slices promised it.
        unsafe {
            stream.launch(&self.measure, [number(blocks), 1, 1], threads, 0, &arguments)?;
            stream.launch(&self.finish, [1, 1, 1], threads, 0, &arguments)?;
        }
        // Recorded before the video, for which the host need not wait.
        stream.record(&self.done)?;
        if let Some(CudaPicture { place, .. }) = picture {
            let [width, height] = place.size;
            let grid = [width.div_ceil(TILE[0]), height.div_ceil(TILE[1]), 1].map(number);
            // SAFETY: as above; the video's room has been checked.
            unsafe { stream.launch(&self.paint, grid, [TILE[0], TILE[1], 1].map(number), 0, &arguments) }?;
        }
        self.started = true;
        Ok(())
    }

    /// Waits for the frame that was started last, and returns the summary of its numbers; [`Summary::NONE`] if none was started.
    ///
    /// # Errors
    /// [`MapError::Device`], also for faults of earlier work.
    pub fn finish(&mut self, stream: &CudaStream) -> Result<Summary, MapError> {
        if !std::mem::take(&mut self.started) {
            return Ok(Summary::NONE);
        }
        stream.wait_on_host(&self.done)?;
        let record: Record = bytemuck::pod_read_unaligned(&self.on_host.as_slice()[..size_of::<Record>()]);
        stream.counters().device_to_host.add_size(size_of::<Record>());
        let Record { sum, min, max, finite, non_finite, out_of_range } = record;
        Ok(Summary { min, max, sum, finite, non_finite, out_of_range })
    }

    fn arguments(
        &self,
        tensor: &DeviceTensor<'_>,
        region: &Region,
        picture: Option<&CudaPicture<'_>>,
        blocks: usize,
    ) -> Arguments {
        let MapPlan { shape, params, .. } = &self.plan;
        let [cell_step, channel_step] = shape.steps().map(number);
        let fixed = self.plan.fixed();
        let records = self.records.pointer();
        Arguments {
            values: tensor.pointer(),
            blocks: records,
            all: records + (BLOCKS * size_of::<Record>()) as u64,
            on_host: self.on_host.pointer(),
            out: picture.map_or(0, |picture| picture.out.pointer()),
            stride: picture.map_or(0, |picture| picture.out.stride() as u64),
            axes: picture.map_or_else(Default::default, |picture| {
                picture.place.axes.each_ref().map(AxisArgument::from)
            }),
            region: [region.first[0], region.first[1], region.size[0], region.size[1]].map(number),
            size: picture.map_or([0, 0], |picture| picture.place.size.map(number)),
            width: number(shape.width),
            channels: number(shape.channels),
            cell_step,
            channel_step,
            fixed: u32::from(fixed.is_some()),
            swapped: u32::from(shape.channels == 3 && params.order == ChannelOrder::Bgr),
            count: number(blocks),
            unused: 0,
            mean: params.mean,
            std: params.std,
            min: fixed.map_or(0.0, |levels| levels.min),
            scale: fixed.map_or(0.0, |levels| levels.scale),
            most: self.plan.most(),
            last_unused: 0.0,
        }
    }
}

/// For numbers of at most 2^31, which the announced tensor has been checked for.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
