//! The CUDA implementation: a batch of frames becomes a tensor in one launch of a kernel of `cuda/preproc.cu`.
//!
//! There are no tables: the kernels compute positions and weights from the integers in [`Axis`]. Filters, whose weights do not
//! follow from a few integers, are the exception ([`super::tables`]).

use super::color::Color;
use super::conversion::{Conversion, Kernels, PIXELS, Planes, Source, narrow};
use super::cpu::horizontal_first;
use super::filters::Filter;
use super::limits::MAX_BATCH;
use super::plan::PreprocPlan;
use super::samples::Columns;
use super::tables::{TableKernels, table};
use super::taps::Taps;
use super::{Interpolation, PreprocError, PreprocParams, placement};
use crate::device::{CudaStream, DeviceFrame, DeviceSlice, Kernel, Memory};
use crate::frame::{FrameFormat, PixelFormat};
use crate::geometry::Affine;

/// The most threads of a block.
const THREADS: u32 = 256;

/// Bytes that the kernels of whole ratios read at once.
const WORD: u32 = 4;

/// A prepared conversion from one frame format to one tensor, or to a batch of them, on a GPU.
#[derive(Debug)]
pub struct CudaPreproc {
    plan: PreprocPlan,
    way: Way,
}

/// How the kernel finds where to sample.
#[derive(Debug)]
enum Way {
    /// It calculates positions.
    Axes(Box<AxisKernels>),
    /// It reads a table in device memory.
    Table(Box<TableKernels>, Memory),
}

/// The kernels that calculate positions.
#[derive(Debug)]
struct AxisKernels {
    kernels: Kernels,
    /// A faster kernel, if there is one, for frames whose addresses and strides are multiples of [`WORD`].
    by_words: Option<Kernel>,
    planes: Planes,
    /// All but the addresses.
    parameters: Parameters,
}

impl CudaPreproc {
    /// Prepares the conversion for the GPU of `stream`.
    ///
    /// # Errors
    /// As [`super::Preproc::new`], and [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(
        source: FrameFormat,
        params: PreprocParams,
        stream: &CudaStream,
    ) -> Result<Self, PreprocError> {
        let plan = PreprocPlan::new(source, params)?;
        let way = if Filter::of(plan.params.interpolation).is_some() {
            let words = table(std::iter::once(&plan));
            let memory = stream.allocate_with(bytemuck::cast_slice(&words))?;
            Way::Table(Box::new(TableKernels::load(stream, &plan)?), memory)
        } else {
            Way::Axes(Box::new(AxisKernels::load(stream, &plan)?))
        };
        Ok(Self { plan, way })
    }

    /// The dimensions of one frame's tensor, in its layout. A batch has one for each frame, one after the other: its
    /// first dimension is the number of frames.
    pub fn dims(&self) -> [usize; 4] {
        self.plan.dims()
    }

    /// The size in bytes of one frame's tensor.
    pub fn bytes(&self) -> usize {
        self.plan.bytes
    }

    /// Where tensor pixels lie in the frame. A letterbox's bars lie outside of it.
    pub fn affine(&self) -> Affine {
        self.plan.placement.affine()
    }

    /// Enqueues the filling of `tensor` (of [`CudaPreproc::bytes`] bytes a frame) from `frames`: one launch, whatever
    /// their number. The stream must be of the context given to [`CudaPreproc::new`]. Any strides and addresses are
    /// allowed, also different ones from frame to frame; tensors whose width and address are multiples of 4 elements are
    /// written fastest.
    ///
    /// # Errors
    /// A batch of none or of more than [`MAX_BATCH`] frames; a tensor of another length, or not aligned to its element
    /// type; a frame whose planes are too short for the format given to [`CudaPreproc::new`].
    pub fn run(
        &self,
        stream: &CudaStream,
        frames: &[DeviceFrame<'_>],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        if frames.is_empty() || frames.len() > MAX_BATCH {
            return Err(PreprocError::Batch(frames.len()));
        }
        match &self.way {
            Way::Axes(kernels) => kernels.launch(stream, &self.plan, frames, tensor),
            Way::Table(kernels, table) => {
                kernels.launch(stream, &self.plan, frames, (table.slice(), false), frames.len(), tensor)
            }
        }
    }
}

impl AxisKernels {
    fn load(stream: &CudaStream, plan: &PreprocPlan) -> Result<Self, PreprocError> {
        let mode = Mode::new(plan);
        let kernels = Kernels::load(stream, "preproc", plan, mode.name)?;
        let (planes, parameters) = Parameters::new(plan, &mode);
        let ratio = parameters.whole_ratio().filter(|_| {
            mode.interpolation == Interpolation::Area
                && plan.source.pixels == PixelFormat::Nv12
                && matches!(plan.color, Color::Matrix { .. })
        });
        let by_words = |ratio| Kernel::load(stream.context(), "preproc", &format!("nv12_area{ratio}"));
        Ok(Self { kernels, by_words: ratio.map(by_words).transpose()?, planes, parameters })
    }

    fn launch(
        &self,
        stream: &CudaStream,
        plan: &PreprocPlan,
        frames: &[DeviceFrame<'_>],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        let mut parameters = self.parameters;
        parameters.conversion.set_tensor(plan, frames.len(), tensor)?;
        let mut addresses = 0;
        for (frame, slot) in frames.iter().zip(&mut parameters.frames) {
            frame.check(&plan.source)?;
            *slot = Source::new(frame, &self.planes, &mut addresses);
        }
        let by_words = self.by_words.as_ref().filter(|_| addresses.is_multiple_of(WORD.into()));
        let kernel = by_words.unwrap_or_else(|| self.kernels.choose(addresses));
        let Conversion { width, height, .. } = parameters.conversion;
        let groups = width.div_ceil(PIXELS);
        let blocks = groups.div_ceil(THREADS);
        let threads = groups.div_ceil(blocks).next_multiple_of(32);
        let grid = [blocks, height, narrow(frames.len())];
        // SAFETY: `Parameters` mirrors the kernel's struct. The planes were checked to hold the frame, inside which the taps
        // lie; the tensor to hold as many images as there are frames. The kernel waits for earlier work first.
        unsafe { stream.launch_overlapping(kernel, grid, [threads, 1, 1], 0, &parameters) }?;
        Ok(())
    }
}

/// The kind of taps; the kernels' names end with it.
struct Mode {
    name: &'static str,
    interpolation: Interpolation,
    horizontal_first: bool,
}

impl Mode {
    fn new(plan: &PreprocPlan) -> Self {
        let PreprocPlan { placement, params, .. } = plan;
        let [x, y] = [&placement.x, &placement.y].map(|axis| Taps::new(axis, params.interpolation));
        let horizontal_first = horizontal_first(&x, &y, &Columns::new(x.sources()));
        // Bilinear taps that never lie between pixels, as when a frame shrinks to a third, are the nearest pixels.
        let single = x.total() == x.len() && y.total() == y.len();
        let (name, interpolation) = match params.interpolation {
            Interpolation::Bilinear if !single => ("bilinear", Interpolation::Bilinear),
            Interpolation::Area => ("area", Interpolation::Area),
            _ => ("point", Interpolation::Nearest),
        };
        Self { name, interpolation, horizontal_first }
    }
}

/// One axis, as the kernel's `Axis` says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Axis {
    pad: u32,
    length: u32,
    start: u32,
    rest: u32,
    step: u32,
    unit: u32,
    multiplier: u32,
    shift: u32,
    last: u32,
    divisor: f32,
    inverse: f32,
    middle: f32,
}

impl Axis {
    fn new(axis: &placement::Axis, interpolation: Interpolation) -> Self {
        let [frame, resized, crop] = [axis.frame, axis.resized, axis.crop].map(|n| n as u64);
        let (step, unit) = (2 * frame, 2 * resized);
        let first = match interpolation {
            Interpolation::Nearest => step * crop + frame,
            // The first neighbour is that of the position less a half; 1 is added.
            Interpolation::Bilinear => step * crop + frame + resized,
            // Filters have tables.
            Interpolation::Area | Interpolation::PilBilinear | Interpolation::PilBicubic => step * crop,
        };
        let (multiplier, shift) = reciprocal(narrow(unit));
        // The divisor of weights: of the distance between two neighbours, or of the area that a tensor pixel covers.
        let divisor = if interpolation == Interpolation::Area { step } else { unit } as f32;
        Self {
            pad: narrow(axis.pad),
            length: narrow(axis.len),
            start: narrow(first / unit),
            rest: narrow(first % unit),
            step: narrow(step),
            unit: narrow(unit),
            multiplier,
            shift,
            last: narrow(axis.frame - 1),
            divisor,
            inverse: 1.0 / divisor,
            middle: (resized as f64 / frame as f64) as f32,
        }
    }
}

/// `(multiplier, shift)` such that `n / divisor == n * multiplier >> 32 >> shift` for all `n < 2^31` (Granlund and
/// Montgomery, "Division by Invariant Integers using Multiplication", theorem 4.2); `divisor` is 2 to 2^31.
pub(crate) fn reciprocal(divisor: u32) -> (u32, u32) {
    let bits = (divisor - 1).ilog2() + 1;
    (narrow((1u64 << (31 + bits)).div_ceil(u64::from(divisor))), bits - 1)
}

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    conversion: Conversion,
    frames: [Source; MAX_BATCH],
    x: Axis,
    y: Axis,
    horizontal_first: u32,
}

const _: () = assert!(size_of::<Parameters>() == 3368, "cuda/preproc.cu says the same");

impl Parameters {
    /// All but the addresses, and the plane of each component.
    fn new(plan: &PreprocPlan, mode: &Mode) -> (Planes, Self) {
        let (planes, conversion) = Conversion::new(plan);
        let parameters = Self {
            conversion,
            frames: [Source::default(); MAX_BATCH],
            x: Axis::new(&plan.placement.x, mode.interpolation),
            y: Axis::new(&plan.placement.y, mode.interpolation),
            horizontal_first: u32::from(mode.horizontal_first),
        };
        (planes, parameters)
    }

    /// How many source pixels make a tensor pixel on each axis, if there is a kernel that reads areas of that size by words: the
    /// pixels of a thread are filled together or not at all, and their source pixels are whole words.
    fn whole_ratio(&self) -> Option<u32> {
        let Self { x, y, horizontal_first, .. } = self;
        let ratio = x.step / x.unit;
        let whole = |axis: &Axis| axis.rest == 0 && axis.step == ratio * axis.unit;
        let in_words = [x.pad, x.length].iter().all(|pixels| pixels.is_multiple_of(PIXELS))
            && x.start.is_multiple_of(WORD);
        ((2..=4).contains(&ratio) && whole(x) && whole(y) && in_words && *horizontal_first == 0)
            .then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Matrix, Range};
    use crate::preproc::Resize;

    #[test]
    fn a_product_and_a_shift_divide_exactly() {
        let mut random = 1u64;
        for i in 0..1_000_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let divisor = if i < 40_000 { 2 + i } else { (random >> 33) as u32 % (1 << 29) + 2 };
            let (multiplier, shift) = reciprocal(divisor);
            let whole = ((random & 0x7fff_ffff) as u32) / divisor * divisor;
            for n in [0, divisor - 1, divisor, whole, whole.saturating_sub(1), (1 << 31) - 1] {
                let quotient = (u64::from(n) * u64::from(multiplier)) >> 32 >> shift;
                assert_eq!(quotient, u64::from(n / divisor), "{n} / {divisor}");
            }
        }
    }

    /// That ratio for a frame and a tensor of these sides.
    fn ratio(frame: (usize, usize), (width, height): (usize, usize), resize: Resize) -> Option<u32> {
        let (pixels, matrix, range) = (PixelFormat::Nv12, Matrix::Bt709, Range::Limited);
        let format = FrameFormat { pixels, width: frame.0, height: frame.1, matrix, range };
        let params = PreprocParams {
            width,
            height,
            resize,
            interpolation: Interpolation::Area,
            ..PreprocParams::default()
        };
        let plan = PreprocPlan::new(format, params).unwrap();
        Parameters::new(&plan, &Mode::new(&plan)).1.whole_ratio()
    }

    #[test]
    fn only_areas_that_shrink_by_one_whole_number_and_lie_in_words_go_by_words() {
        let full = (1920, 1080);
        assert_eq!(ratio(full, (640, 640), Resize::Letterbox), Some(3));
        assert_eq!(ratio((1280, 720), (640, 640), Resize::Letterbox), Some(2));
        assert_eq!(ratio((2560, 1440), (640, 360), Resize::Stretch), Some(4));
        // The crop is as high as the frame; the filled part begins at column 420.
        assert_eq!(ratio(full, (360, 360), Resize::CenterCrop), Some(3));
        for (frame, tensor, resize, why) in [
            (full, (416, 416), Resize::Letterbox, "no whole number"),
            (full, (640, 540), Resize::Stretch, "another for the rows"),
            (full, (320, 180), Resize::Stretch, "6 has no kernel"),
            (full, (1920, 1080), Resize::Stretch, "nothing shrinks"),
            ((96, 192), (68, 64), Resize::Letterbox, "bars of 18 pixels"),
            ((126, 60), (42, 20), Resize::Stretch, "42 pixels a row"),
            ((132, 64), (32, 32), Resize::CenterCrop, "begins at column 34"),
        ] {
            assert_eq!(ratio(frame, tensor, resize), None, "{why}");
        }
    }

    #[test]
    fn weights_are_divided_as_by_ieee() {
        // All numerators of some denominators; all 2^29 pairs were tried once.
        for divisor in (1..=64).chain((65..32_768).step_by(997)).chain([16_384, 32_767, 32_768]) {
            let b = divisor as f32;
            let inverse = 1.0 / b;
            for a in (0..=divisor).map(|a| a as f32) {
                let q = a * inverse;
                let refined = (-q).mul_add(b, a).mul_add(inverse, q);
                assert_eq!(refined.to_bits(), (a / b).to_bits(), "{a} / {b}");
            }
        }
    }
}
