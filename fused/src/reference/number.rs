//! Elements in memory as float32, and back.

use cudainfer_kernels::tensor::TensorType;
use half::f16;

/// The element of this index as float32: integers beyond 2^24 are rounded.
pub fn read(bytes: &[u8], ty: TensorType, index: usize) -> f32 {
    match ty {
        TensorType::Float32 => f32::from_le_bytes(part(bytes, index)),
        TensorType::Float16 => f16::from_le_bytes(part(bytes, index)).to_f32(),
        TensorType::UInt8 => f32::from(u8::from_le_bytes(part(bytes, index))),
        TensorType::Int8 => f32::from(i8::from_le_bytes(part(bytes, index))),
        TensorType::Int32 => i32::from_le_bytes(part(bytes, index)) as f32,
        TensorType::Int64 => i64::from_le_bytes(part(bytes, index)) as f32,
        TensorType::Bool => f32::from(u8::from(bytes[index] != 0)),
    }
}

/// The same as float64: integers beyond 2^53 are rounded.
pub fn read_exactly(bytes: &[u8], ty: TensorType, index: usize) -> f64 {
    match ty {
        TensorType::Int32 => i32::from_le_bytes(part(bytes, index)).into(),
        TensorType::Int64 => i64::from_le_bytes(part(bytes, index)) as f64,
        _ => read(bytes, ty, index).into(),
    }
}

/// Writes the element of this index: float16 is rounded to the nearest, integers are cut off towards 0 and end at their type's bounds
/// (Rust's `as` does both), bool is 1 where the number is not 0.
pub fn write(bytes: &mut [u8], ty: TensorType, index: usize, number: f32) {
    let size = ty.size();
    let place = &mut bytes[index * size..(index + 1) * size];
    match ty {
        TensorType::Float32 => place.copy_from_slice(&number.to_le_bytes()),
        TensorType::Float16 => place.copy_from_slice(&f16::from_f32(number).to_le_bytes()),
        TensorType::UInt8 => place.copy_from_slice(&(number as u8).to_le_bytes()),
        TensorType::Int8 => place.copy_from_slice(&(number as i8).to_le_bytes()),
        TensorType::Int32 => place.copy_from_slice(&(number as i32).to_le_bytes()),
        TensorType::Int64 => place.copy_from_slice(&(number as i64).to_le_bytes()),
        TensorType::Bool => place.copy_from_slice(&[u8::from(number != 0.0)]),
    }
}

/// The bytes of the element of this index.
fn part<const SIZE: usize>(bytes: &[u8], index: usize) -> [u8; SIZE] {
    let mut part = [0; SIZE];
    part.copy_from_slice(&bytes[index * SIZE..(index + 1) * SIZE]);
    part
}
