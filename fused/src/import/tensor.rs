//! Tensors in the file as constants.

use std::borrow::Cow;
use std::path::Path;

use cudainfer_kernels::tensor::TensorType;
use cudainfer_model::onnx::proto::Tensor;
use half::{bf16, f16};

use super::{external, types};
use crate::graph::{Elements, Refusal, shape};

/// A tensor's type, dimensions and elements.
pub struct Constant {
    /// The type in which it is kept.
    pub ty: TensorType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// As many as the dimensions promise.
    pub elements: Elements,
}

/// Reads a tensor; its elements may be in a file in `folder`.
///
/// # Errors
/// Its type is not known, its file cannot be read, or it has not as many elements as its dimensions promise.
pub fn read(tensor: &Tensor, folder: &Path) -> Result<Constant, Refusal> {
    let onnx = tensor.data_type.unwrap_or_default();
    let ty = types::constant_type(onnx)
        .ok_or_else(|| Refusal::unsupported(format!("a constant is of {}", types::name(onnx))))?;
    let dims: Vec<usize> = tensor.dims.iter().map(|dim| shape::dimension(*dim)).collect::<Result<_, _>>()?;
    let count = shape::elements(&dims)?;
    let elements = if tensor.is_external() {
        raw(&external::read(tensor, folder)?, onnx)
    } else if let Some(bytes) = &tensor.raw_data {
        raw(bytes, onnx)
    } else {
        typed(tensor, onnx)
    };
    if elements.len() != count {
        let (has, dims) = (elements.len(), shape::text(&dims));
        return Err(Refusal::invalid(format!("a constant of {dims} has {has} elements")));
    }
    Ok(Constant { ty, dims, elements })
}

/// The elements of little-endian bytes; what is left over at the end is not counted.
fn raw(bytes: &[u8], onnx: i32) -> Elements {
    fn each<const N: usize, T>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks().0.iter().map(|bytes| of(*bytes)).collect()
    }
    match onnx {
        1 => Elements::Floats(each(bytes, f32::from_le_bytes)),
        10 => Elements::Floats(each(bytes, |bytes| f16::from_le_bytes(bytes).to_f32())),
        11 => Elements::Floats(each(bytes, |bytes| crate::graph::number::float(f64::from_le_bytes(bytes)))),
        16 => Elements::Floats(each(bytes, |bytes| bf16::from_le_bytes(bytes).to_f32())),
        3 => Elements::Integers(each(bytes, |bytes| i8::from_le_bytes(bytes).into())),
        4 => Elements::Integers(each(bytes, |bytes| u16::from_le_bytes(bytes).into())),
        5 => Elements::Integers(each(bytes, |bytes| i16::from_le_bytes(bytes).into())),
        6 => Elements::Integers(each(bytes, |bytes| i32::from_le_bytes(bytes).into())),
        7 | 13 => Elements::Integers(each(bytes, i64::from_le_bytes)),
        9 => Elements::Integers(each(bytes, |[byte]| i64::from(byte != 0))),
        12 => Elements::Integers(each(bytes, |bytes| u32::from_le_bytes(bytes).into())),
        _ => Elements::Integers(each(bytes, |[byte]| byte.into())),
    }
}

/// The elements of the field of the type. Floats of 16 bits are in the one of int32, as bits.
fn typed(tensor: &Tensor, onnx: i32) -> Elements {
    let small = || tensor.int32_data.iter().map(|value| i64::from(*value));
    let bits = || small().map(|value| u16::try_from(value & 0xffff).unwrap_or(0));
    match onnx {
        1 => Elements::Floats(tensor.float_data.clone()),
        10 => Elements::Floats(bits().map(|bits| f16::from_bits(bits).to_f32()).collect()),
        11 => Elements::Floats(
            tensor.double_data.iter().map(|value| crate::graph::number::float(*value)).collect(),
        ),
        16 => Elements::Floats(bits().map(|bits| bf16::from_bits(bits).to_f32()).collect()),
        7 => Elements::Integers(tensor.int64_data.clone()),
        12 | 13 => Elements::Integers(tensor.uint64_data.iter().map(|value| value.cast_signed()).collect()),
        9 => Elements::Integers(small().map(|value| i64::from(value != 0)).collect()),
        _ => Elements::Integers(small().collect()),
    }
}

/// A name for messages.
pub fn name(tensor: &Tensor) -> Cow<'_, str> {
    tensor.name.as_deref().unwrap_or("?").into()
}
