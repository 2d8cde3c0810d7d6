//! Common parameters of the kernels of `cuda/preproc.cu`, `cuda/regions.cu` and `cuda/warp.cu`: how a frame is read and a tensor written.

use super::color::Color;
use super::params::integers;
use super::plan::PreprocPlan;
use super::{Layout, PreprocError, PreprocParams, samples};
use crate::device::{CudaStream, DeviceFrame, DeviceSlice, Kernel};
use crate::frame::PixelFormat;
use crate::tensor::TensorType;

/// Neighbouring pixels that a thread makes (`PIXELS` in the kernels).
pub(super) const PIXELS: u32 = 4;

/// An operation's kernel for one way to read frames, in two variants.
#[derive(Debug)]
pub(super) struct Kernels {
    kernel: Kernel,
    /// If the kernel reads whole pixels, or samples of several bytes: the alignment that their addresses need, and the kernel
    /// for others.
    unaligned: Option<(u64, Kernel)>,
}

impl Kernels {
    /// Loads the kernels of `operation` whose names end in `mode`; their names begin with the way to read a frame.
    ///
    /// # Errors
    /// [`PreprocError::Device`].
    pub fn load(
        stream: &CudaStream,
        operation: &'static str,
        plan: &PreprocPlan,
        mode: &str,
    ) -> Result<Self, PreprocError> {
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
        let load = |name| Kernel::load(stream.context(), operation, &format!("{name}_{mode}"));
        let unaligned = match unaligned {
            Some((unit, name)) => Some((unit, load(name)?)),
            None => None,
        };
        Ok(Self { kernel: load(name)?, unaligned })
    }

    /// The kernel for frames; `addresses` is the bitwise or of all addresses and strides.
    pub fn choose(&self, addresses: u64) -> &Kernel {
        match &self.unaligned {
            Some((unit, kernel)) if !addresses.is_multiple_of(*unit) => kernel,
            _ => &self.kernel,
        }
    }
}

/// Component by component, the plane it lies in.
pub(super) type Planes = [usize; 3];

/// Where one frame's components lie: the kernels' `Frame`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    plane: [u64; 3],
    stride: [u64; 3],
}

impl Source {
    /// Where `frame`'s components lie. Adds the bits of all addresses and strides to `addresses`.
    pub fn new(frame: &DeviceFrame<'_>, planes: &Planes, addresses: &mut u64) -> Self {
        let mut source = Self::default();
        let layout = frame.layout();
        for (c, plane) in planes.iter().enumerate() {
            let (address, stride) = layout[*plane];
            source.plane[c] = address;
            source.stride[c] = stride as u64;
            *addresses |= address | stride as u64;
        }
        source
    }
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

/// The kernels' `Conversion`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    tensor: u64,
    components: [Component; 3],
    color: [f32; 5],
    lower: [f32; 5],
    bias: [f32; 3],
    factor: [f32; 3],
    summand: [f32; 3],
    padding: [f32; 3],
    low: f32,
    high: f32,
    zero_point: i32,
    pub width: u32,
    pub height: u32,
    channels: u32,
    interleaved: u32,
    ty: u32,
    aligned: u32,
    swap: u32,
    to_luma: u32,
}

const _: () = assert!(size_of::<Conversion>() == 192, "cuda/preproc_frame.cuh says the same");

impl Conversion {
    /// All but the tensor's address, and the plane of each component.
    pub fn new(plan: &PreprocPlan) -> (Planes, Self) {
        let PreprocPlan { source, params, color, normalise, .. } = plan;
        let PreprocParams { width, height, layout, ty, zero_point, .. } = *params;
        let (mut planes, mut components) = (Planes::default(), [Component::default(); 3]);
        for (c, component) in samples::components(source.pixels).iter().take(color.components()).enumerate() {
            planes[c] = component.plane;
            components[c] = Component {
                group: narrow(component.group),
                offset: narrow(component.offset),
                half_columns: u32::from(component.half_columns),
                half_rows: u32::from(component.half_rows),
            };
        }
        // Channels are computed in units of 256, from samples of ten bits in units of 4.
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
        let (low, high) = integers(ty).unwrap_or_default();
        let conversion = Self {
            tensor: 0,
            components,
            color,
            lower: color.map(|factor| factor * -8_388_608.0),
            bias: bias.map(|summand| summand / 256.0),
            factor: [0, 1, 2].map(|c| channel(c).0),
            summand: [0, 1, 2].map(|c| channel(c).1),
            padding: plan.padding,
            low: (low - zero_point) as f32,
            high: (high - zero_point) as f32,
            zero_point,
            width: narrow(width),
            height: narrow(height),
            channels: narrow(normalise.len()),
            interleaved: u32::from(layout == Layout::Nhwc),
            ty: match ty {
                TensorType::Float32 => 0,
                TensorType::Float16 => 1,
                TensorType::Int32 => 4,
                _ => 2,
            },
            aligned: 0,
            swap: u32::from(*plan.order() == [2, 1, 0]),
            to_luma: u32::from(matches!(plan.color, Color::RgbToLuma(_))),
        };
        (planes, conversion)
    }

    /// Sets `tensor` as the place for `n` images of `plan`.
    ///
    /// # Errors
    /// A tensor of another length, or not aligned to its element type.
    pub fn set_tensor(
        &mut self,
        plan: &PreprocPlan,
        n: usize,
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        let wanted = plan.bytes.saturating_mul(n);
        if tensor.bytes() != wanted {
            return Err(PreprocError::Tensor { wanted, given: tensor.bytes() });
        }
        let (address, ty) = (tensor.pointer(), plan.params.ty);
        let element = ty.size() as u64;
        if !address.is_multiple_of(element) {
            return Err(PreprocError::Unaligned { address, ty });
        }
        let vector = u64::from(PIXELS) * element;
        self.tensor = address;
        self.aligned = u32::from(self.width.is_multiple_of(PIXELS) && address.is_multiple_of(vector));
        Ok(())
    }
}

/// Sizes and positions in a frame or a tensor, which are at most [`super::MAX_SIDE`] or a small multiple of it.
pub(super) fn narrow(n: impl TryInto<u32>) -> u32 {
    n.try_into().unwrap_or(u32::MAX)
}
