//! From rows of pixel values to the tensor's elements: normalisation, quantisation, channel order and layout.

use half::f16;
use half::slice::HalfFloatSliceExt;
use multiversion::multiversion;

use super::Layout;
use super::params::integers;
use super::plan::PreprocPlan;
use crate::tensor::TensorType;

/// Adding this to a float of less than 2^22 rounds that to an integer, half to even, and leaves the integer in the low bits.
/// Unlike `round_ties_even`, it needs no SSE4.1.
const ROUND: f32 = 12_582_912.0;

/// Writes rows of a tensor.
#[derive(Debug)]
pub(super) struct Writer {
    height: usize,
    layout: Layout,
    ty: TensorType,
    /// The row's channel for each channel of the tensor.
    order: &'static [usize],
    /// Factor and summand of each channel of the tensor, normalisation and quantisation together.
    normalise: Vec<(f32, f32)>,
    /// Added to the rounded integer.
    zero_point: i32,
    /// Elements of one run of memory, before the conversion to their type.
    line: Vec<f32>,
    /// The same as float16.
    halves: Vec<f16>,
}

impl Writer {
    /// A writer of rows for `plan`.
    pub fn new(plan: &PreprocPlan) -> Self {
        let PreprocPlan { params, normalise, .. } = plan;
        let run = match params.layout {
            Layout::Nchw => params.width,
            Layout::Nhwc => params.width * normalise.len(),
        };
        Self {
            height: params.height,
            layout: params.layout,
            ty: params.ty,
            order: plan.order(),
            normalise: normalise.clone(),
            zero_point: params.zero_point,
            line: vec![0.0; run],
            halves: if params.ty == TensorType::Float16 { vec![f16::ZERO; run] } else { Vec::new() },
        }
    }

    /// Writes row `y` of the tensor from its pixel values, 0..255, one slice of the tensor's width a channel.
    pub fn write(&mut self, y: usize, row: &[Vec<f32>; 3], tensor: &mut [u8]) {
        let bytes = self.line.len() * self.ty.size();
        match self.layout {
            Layout::Nchw => {
                for c in 0..self.order.len() {
                    let start = (c * self.height + y) * bytes;
                    let (out, pixels) = (&mut tensor[start..start + bytes], &row[self.order[c]]);
                    let (factor, summand) = self.normalise[c];
                    // The usual case skips the copy in `line`.
                    if self.ty == TensorType::Float32 {
                        to_float_bytes(pixels, factor, summand, out);
                    } else {
                        to_floats(pixels, factor, summand, &mut self.line);
                        self.store(out);
                    }
                }
            }
            Layout::Nhwc => {
                if let ([r, g, b], [rn, gn, bn]) = (self.order, self.normalise.as_slice()) {
                    let (pixels, _) = self.line.as_chunks_mut::<3>();
                    let channels = row[*r].iter().zip(&row[*g]).zip(&row[*b]);
                    for (pixel, ((r, g), b)) in pixels.iter_mut().zip(channels) {
                        *pixel = [r * rn.0 + rn.1, g * gn.0 + gn.1, b * bn.0 + bn.1];
                    }
                } else {
                    let (factor, summand) = self.normalise[0];
                    to_floats(&row[0], factor, summand, &mut self.line);
                }
                self.store(&mut tensor[y * bytes..(y + 1) * bytes]);
            }
        }
    }

    /// The tensor's height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Converts `line` to the element type. Tensor memory need not be aligned.
    fn store(&mut self, out: &mut [u8]) {
        match self.ty {
            TensorType::Float16 => {
                self.halves.convert_from_f32_slice(&self.line);
                out.copy_from_slice(bytemuck::cast_slice(&self.halves));
            }
            TensorType::UInt8 => to_integers(&self.line, (0.0, 255.0), self.zero_point, out),
            TensorType::Int8 => to_integers(&self.line, (-128.0, 127.0), self.zero_point, out),
            TensorType::Int32 => {
                let (low, high) = integers(self.ty).unwrap_or_default();
                to_int32s(&self.line, (low as f32, high as f32), self.zero_point, out);
            }
            // The other types were refused, so this is float32.
            _ => out.copy_from_slice(bytemuck::cast_slice(&self.line)),
        }
    }
}

/// Floats of any alignment.
#[multiversion(targets("x86_64+avx2"))]
fn to_float_bytes(pixels: &[f32], factor: f32, summand: f32, out: &mut [u8]) {
    for (element, v) in out.as_chunks_mut().0.iter_mut().zip(pixels) {
        *element = (v * factor + summand).to_ne_bytes();
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn to_floats(pixels: &[f32], factor: f32, summand: f32, out: &mut [f32]) {
    for (element, v) in out.iter_mut().zip(pixels) {
        *element = v * factor + summand;
    }
}

/// As [`to_integers`], of four bytes and of any alignment.
#[multiversion(targets("x86_64+avx2"))]
fn to_int32s(values: &[f32], (low, high): (f32, f32), zero_point: i32, out: &mut [u8]) {
    let zero = zero_point as f32;
    for (element, v) in out.as_chunks_mut().0.iter_mut().zip(values) {
        let rounded = v.clamp(low - zero, high - zero) + ROUND;
        let integer = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
        *element = integer.wrapping_add(zero_point).to_ne_bytes();
    }
}

/// Saturates before rounding, which gives the same and keeps every value within the reach of [`ROUND`].
#[multiversion(targets("x86_64+avx2"))]
fn to_integers(values: &[f32], (low, high): (f32, f32), zero_point: i32, out: &mut [u8]) {
    let zero = zero_point as f32;
    for (byte, v) in out.iter_mut().zip(values) {
        let rounded = v.clamp(low - zero, high - zero) + ROUND;
        // The low 8 bits are the integer in two's complement, for both types.
        *byte = (rounded.to_bits() as i32).wrapping_add(zero_point) as u8;
    }
}
