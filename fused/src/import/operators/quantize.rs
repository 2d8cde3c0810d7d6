//! Integers that stand for floats.

use super::super::call::{Call, Made};
use super::super::types;
use crate::graph::number::{float, integer, is_byte};
use crate::graph::{Binary, Quantization, Refusal, Steps, Unary, ValueId, shape};
use cudainfer_kernels::tensor::TensorType;

/// DequantizeLinear: `(x - zero point) * scale`. What becomes of a constant remembers its scales: convolutions find its integers again.
pub fn dequantize(call: &mut Call<'_>) -> Made {
    let parts = Parts::of(call)?;
    let ty = call.builder.ty(parts.x);
    let of_scale = call.builder.ty(parts.scale);
    let stated = i32::try_from(call.int("output_dtype", 0)).unwrap_or_default();
    if stated != 0 && types::tensor_type(stated) != Some(of_scale) {
        return Err(Refusal::unsupported("its output has another type than its scale"));
    }
    let made = match parts.quantization(call, ty) {
        Some(by) => {
            let numbers = call.builder.unary(Unary::Dequantize(by), parts.x)?;
            call.builder.cast(numbers, of_scale)?
        }
        None => parts.by_axis(call)?,
    };
    if let (Some(_), Some(scales)) = (call.builder.elements(made), call.numbers(1)?) {
        let scales = scales.into_iter().map(float).collect();
        call.builder.graph.values[made.0].steps = Some(Steps { axis: parts.axis, scales });
    }
    Ok(vec![made])
}

/// QuantizeLinear: the nearest integer to `x / scale + zero point` that the type holds: that of the zero point, without one that of the
/// attribute, without both uint8.
pub fn quantize(call: &mut Call<'_>) -> Made {
    let parts = Parts::of(call)?;
    if !matches!(call.int("precision", 0), 0 | 1) {
        return Err(Refusal::unsupported("its precision is not float32"));
    }
    let stated = i32::try_from(call.int("output_dtype", 0)).unwrap_or_default();
    let ty = match parts.zero {
        Some(zero) => Some(call.builder.ty(zero)),
        None if stated == 0 => Some(TensorType::UInt8),
        None => types::tensor_type(stated),
    };
    let ty = ty.filter(|ty| is_byte(*ty));
    let ty = ty.ok_or_else(|| Refusal::unsupported("its output has not 8 bits"))?;
    let made = match parts.quantization(call, ty) {
        Some(by) => call.builder.unary(Unary::Quantize(by), parts.x)?,
        None => parts.nearest_by_axis(call, ty)?,
    };
    Ok(vec![made])
}

/// The inputs of either.
struct Parts {
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
    /// Along which axis of the tensor scales and zero points lie that are several.
    axis: usize,
}

impl Parts {
    fn of(call: &Call<'_>) -> Result<Self, Refusal> {
        let (x, scale, zero) = (call.input(0)?, call.input(1)?, call.optional(2));
        if [Some(scale), zero].iter().flatten().any(|id| call.builder.elements(*id).is_none()) {
            return Err(Refusal::unsupported("its scale and zero point are no constants"));
        }
        if call.int("block_size", 0) != 0 {
            return Err(Refusal::unsupported("block_size is set"));
        }
        let rank = call.builder.rank(x);
        let axis = if rank == 0 { 0 } else { shape::axis(call.int("axis", 1), rank).unwrap_or(0) };
        Ok(Self { x, scale, zero, axis })
    }

    /// How integers of this type stand for numbers, if they do so alike in the whole tensor.
    fn quantization(&self, call: &Call<'_>, ty: TensorType) -> Option<Quantization> {
        let one = |id: ValueId| call.builder.elements(id).filter(|elements| elements.len() == 1);
        let scale = float(one(self.scale)?.number(0));
        let zero = match self.zero {
            Some(zero) => integer(one(zero)?.number(0)),
            None => 0,
        };
        let is_signed = ty == TensorType::Int8;
        let by = Quantization { scale, zero: i16::try_from(zero).ok()?, is_signed };
        let [low, high] = by.bounds();
        let is_byte = by.ty() == ty && (low..=high).contains(&by.zero);
        (is_byte && scale.is_finite() && scale > 0.0).then_some(by)
    }

    /// The scale and the zero point as they are broadcast along the tensor.
    fn spread(&self, call: &mut Call<'_>) -> Result<(ValueId, Option<ValueId>), Refusal> {
        let rank = call.builder.rank(self.x);
        let mut spread = |id: ValueId| match *call.builder.dims(id) {
            [] => Ok(id),
            [length] => {
                let mut dims = vec![1; rank - self.axis];
                if let Some(first) = dims.first_mut() {
                    *first = length;
                }
                call.builder.reshape(id, &dims)
            }
            _ => Err(Refusal::unsupported("its scale has several dimensions")),
        };
        Ok((spread(self.scale)?, self.zero.map(spread).transpose()?))
    }

    /// `(x - zero point) * scale`, as a model without these operators would say it.
    fn by_axis(&self, call: &mut Call<'_>) -> Result<ValueId, Refusal> {
        let (scale, zero) = self.spread(call)?;
        let builder = &mut *call.builder;
        let mut numbers = builder.cast(self.x, TensorType::Float32)?;
        if let Some(zero) = zero {
            let zero = builder.cast(zero, TensorType::Float32)?;
            numbers = builder.binary(Binary::Subtract, numbers, zero)?;
        }
        let numbers = builder.cast(numbers, builder.ty(scale))?;
        builder.binary(Binary::Multiply, numbers, scale)
    }

    /// `x / scale + zero point` in this type, as a model without these operators would say it.
    fn nearest_by_axis(&self, call: &mut Call<'_>, ty: TensorType) -> Result<ValueId, Refusal> {
        let (scale, zero) = self.spread(call)?;
        let builder = &mut *call.builder;
        let quotient = builder.binary(Binary::Divide, self.x, scale)?;
        let mut whole = builder.unary(Unary::Round, quotient)?;
        if let Some(zero) = zero {
            let zero = builder.cast(zero, builder.ty(whole))?;
            whole = builder.binary(Binary::Add, whole, zero)?;
        }
        let held_by = Quantization { scale: 1.0, zero: 0, is_signed: ty == TensorType::Int8 };
        let [low, high] = held_by.bounds().map(f32::from);
        let held = builder.unary(Unary::Clip { low, high }, whole)?;
        builder.cast(held, ty)
    }
}
