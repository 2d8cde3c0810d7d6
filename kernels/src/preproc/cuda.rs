//! The CUDA twin: a batch of frames becomes a tensor in one launch of a kernel of `cuda/preproc.cu`.
//!
//! There are no tables: the kernels find positions and weights from the integers in [`Axis`].

use super::color::Color;
use super::cpu::horizontal_first;
use super::plan::Plan;
use super::samples::{self, Columns};
use super::taps::Taps;
use super::{Interpolation, Layout, Params, PreprocError, placement};
use crate::device::{DeviceFrame, DeviceSlice, Kernel, Stream};
use crate::frame::{FrameFormat, PixelFormat};
use crate::geometry::Affine;
use crate::tensor::TensorType;

/// The most frames that [`CudaPreproc::run`] takes at once.
pub const MAX_BATCH: usize = 64;

/// Neighbouring pixels that a thread makes (`PIXELS` in the kernel).
const PIXELS: u32 = 4;
/// The most threads of a block.
const THREADS: u32 = 256;

/// A prepared conversion from one frame format to one tensor, or to a batch of them, on a GPU.
#[derive(Debug)]
pub struct CudaPreproc {
    plan: Plan,
    kernel: Kernel,
    /// Of a kernel that reads whole pixels, or samples of several bytes: what their addresses must be multiples of, and
    /// the kernel for addresses that are not.
    unaligned: Option<(u64, Kernel)>,
    /// Component by component, the plane it lies in.
    planes: [usize; 3],
    /// All but the addresses.
    parameters: Parameters,
}

impl CudaPreproc {
    /// Prepares the conversion for the GPU of `stream`.
    ///
    /// # Errors
    /// As [`super::Preproc::new`], and [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(source: FrameFormat, params: Params, stream: &Stream) -> Result<Self, PreprocError> {
        let plan = Plan::new(source, params)?;
        let (kernels, mode) = (Kernels::new(&plan), Mode::new(&plan));
        let load = |name| Kernel::load(stream.context(), "preproc", &format!("{name}_{}", mode.name));
        let (planes, parameters) = parameters(&plan, &mode);
        Ok(Self {
            kernel: load(kernels.name)?,
            unaligned: kernels
                .unaligned
                .map(|(unit, name)| Ok::<_, PreprocError>((unit, load(name)?)))
                .transpose()?,
            planes,
            parameters,
            plan,
        })
    }

    /// The dimensions of one frame's tensor, in its layout. A batch has as many as frames, one behind the other: the
    /// first dimension is then their number.
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
    /// their number. The stream must be of the context given to [`CudaPreproc::new`]. Any strides and addresses will
    /// do, also different ones from frame to frame; a tensor width and address that are multiples of 4 elements are
    /// stored fastest.
    ///
    /// # Errors
    /// A batch of none or of more than [`MAX_BATCH`] frames; a tensor of another length, or not aligned to its element
    /// type; a frame whose planes are too short for the format given to [`CudaPreproc::new`].
    pub fn run(
        &self,
        stream: &Stream,
        frames: &[DeviceFrame<'_>],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        let Plan { source, params, bytes, .. } = &self.plan;
        if frames.is_empty() || frames.len() > MAX_BATCH {
            return Err(PreprocError::Batch(frames.len()));
        }
        let wanted = bytes.saturating_mul(frames.len());
        if tensor.bytes() != wanted {
            return Err(PreprocError::Tensor { wanted, given: tensor.bytes() });
        }
        let (address, element) = (tensor.pointer(), params.ty.size() as u64);
        if !address.is_multiple_of(element) {
            return Err(PreprocError::Unaligned { address, ty: params.ty });
        }
        let mut parameters = self.parameters;
        let mut addresses = 0;
        for (frame, slot) in frames.iter().zip(&mut parameters.frames) {
            frame.check(source)?;
            let layout = frame.layout();
            for (c, plane) in self.planes.iter().enumerate() {
                let (address, stride) = layout[*plane];
                slot.plane[c] = address;
                slot.stride[c] = stride as u64;
                addresses |= address | stride as u64;
            }
        }
        let kernel = match &self.unaligned {
            Some((unit, kernel)) if !addresses.is_multiple_of(*unit) => kernel,
            _ => &self.kernel,
        };
        let vector = u64::from(PIXELS) * element;
        parameters.tensor = address;
        parameters.aligned =
            u32::from(parameters.width.is_multiple_of(PIXELS) && address.is_multiple_of(vector));
        let groups = parameters.width.div_ceil(PIXELS);
        let blocks = groups.div_ceil(THREADS);
        let threads = groups.div_ceil(blocks).next_multiple_of(32);
        let grid = [blocks, parameters.height, narrow(frames.len())];
        // SAFETY: `Parameters` mirrors the kernel's struct. The planes were checked to hold what the taps reach, which
        // is inside the frame; the tensor to hold as many images as there are frames.
        unsafe { stream.launch(kernel, grid, [threads, 1, 1], 0, &parameters) }?;
        Ok(())
    }
}

/// The kernels' names begin with how they read a frame.
struct Kernels {
    name: &'static str,
    unaligned: Option<(u64, &'static str)>,
}

impl Kernels {
    fn new(plan: &Plan) -> Self {
        use PixelFormat as P;
        let (name, unaligned) = match (plan.source.pixels, plan.color) {
            (P::P010Le, Color::Luma(..)) => ("luma16", Some((2, "luma16_unaligned"))),
            (P::P010Le, _) => ("yuv16", Some((2, "yuv16_unaligned"))),
            (_, Color::Luma(..)) => ("luma8", None),
            (P::Nv12, _) => ("nv12", Some((2, "yuv8"))),
            (_, Color::Matrix { .. }) => ("yuv8", None),
            (P::Rgba | P::Bgra | P::Rgbx | P::Bgrx, _) => ("rgb32", Some((4, "rgb8"))),
            _ => ("rgb8", None),
        };
        Self { name, unaligned }
    }
}

/// Which taps there are; the kernels' names end with it.
struct Mode {
    name: &'static str,
    interpolation: Interpolation,
    horizontal_first: bool,
}

impl Mode {
    fn new(plan: &Plan) -> Self {
        let Plan { placement, params, .. } = plan;
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

/// The kernel's parameters but for addresses, and the plane of each component.
fn parameters(plan: &Plan, mode: &Mode) -> ([usize; 3], Parameters) {
    let Plan { source, params, placement, color, normalise, .. } = plan;
    let Params { width, height, layout, ty, zero_point, padding, .. } = *params;
    let (mut planes, mut components) = ([0; 3], [Component::default(); 3]);
    for (c, component) in samples::components(source.pixels).iter().take(color.components()).enumerate() {
        planes[c] = component.plane;
        components[c] = Component {
            group: narrow(component.group),
            offset: narrow(component.offset),
            half_columns: u32::from(component.half_columns),
            half_rows: u32::from(component.half_rows),
        };
    }
    // Channels are worked out in units of 256, from samples of ten bits in units of 4.
    let unit = if source.pixels == PixelFormat::P010Le { 1.0 / 1024.0 } else { 1.0 / 256.0 };
    let (color, bias) = match *color {
        Color::Rgb => ([0.0; 5], [0.0; 3]),
        Color::RgbToLuma([red, green, blue]) => ([red, green, blue, 0.0, 0.0], [0.0; 3]),
        Color::Luma(factor, summand) => ([factor * unit, 0.0, 0.0, 0.0, 0.0], [summand, 0.0, 0.0]),
        Color::Matrix { luma, red, green, blue, bias } => {
            ([luma, red, green[0], green[1], blue].map(|factor| factor * unit), bias)
        }
    };
    let channel = |c: usize| normalise.get(c).copied().unwrap_or_default();
    let (low, high) = if ty == TensorType::UInt8 { (0.0, 255.0) } else { (-128.0, 127.0) };
    let parameters = Parameters {
        frames: [Source::default(); MAX_BATCH],
        tensor: 0,
        components,
        x: Axis::new(&placement.x, mode.interpolation),
        y: Axis::new(&placement.y, mode.interpolation),
        color,
        lower: color.map(|factor| factor * -8_388_608.0),
        bias: bias.map(|summand| summand / 256.0),
        factor: [0, 1, 2].map(|c| channel(c).0),
        summand: [0, 1, 2].map(|c| channel(c).1),
        padding: f32::from(padding),
        low: low - zero_point as f32,
        high: high - zero_point as f32,
        zero_point,
        width: narrow(width),
        height: narrow(height),
        channels: narrow(normalise.len()),
        interleaved: u32::from(layout == Layout::Nhwc),
        ty: match ty {
            TensorType::Float32 => 0,
            TensorType::Float16 => 1,
            _ => 2,
        },
        aligned: 0,
        swap: u32::from(*plan.order() == [2, 1, 0]),
        to_luma: u32::from(matches!(plan.color, Color::RgbToLuma(_))),
        horizontal_first: u32::from(mode.horizontal_first),
    };
    (planes, parameters)
}

/// Sizes and positions in a frame or a tensor, which are at most [`super::MAX_SIDE`] or a small multiple of it.
fn narrow(n: impl TryInto<u32>) -> u32 {
    n.try_into().unwrap_or(u32::MAX)
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
            // Its first neighbour is that of the position less a half; a whole is added.
            Interpolation::Bilinear => step * crop + frame + resized,
            Interpolation::Area => step * crop,
        };
        let (multiplier, shift) = reciprocal(narrow(unit));
        // What weights are counted in: pixels between two neighbours, or of what a tensor pixel covers.
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
fn reciprocal(divisor: u32) -> (u32, u32) {
    let bits = (divisor - 1).ilog2() + 1;
    (narrow((1u64 << (31 + bits)).div_ceil(u64::from(divisor))), bits - 1)
}

/// Where one frame's components lie.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    plane: [u64; 3],
    stride: [u64; 3],
}

/// How a component's samples lie in its plane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Component {
    group: u32,
    offset: u32,
    half_columns: u32,
    half_rows: u32,
}

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    frames: [Source; MAX_BATCH],
    tensor: u64,
    components: [Component; 3],
    x: Axis,
    y: Axis,
    color: [f32; 5],
    lower: [f32; 5],
    bias: [f32; 3],
    factor: [f32; 3],
    summand: [f32; 3],
    padding: f32,
    low: f32,
    high: f32,
    zero_point: i32,
    width: u32,
    height: u32,
    channels: u32,
    interleaved: u32,
    ty: u32,
    aligned: u32,
    swap: u32,
    to_luma: u32,
    horizontal_first: u32,
}

const _: () = assert!(size_of::<Parameters>() == 3352, "cuda/preproc.cu says the same");

#[cfg(test)]
mod tests {
    use super::*;

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
