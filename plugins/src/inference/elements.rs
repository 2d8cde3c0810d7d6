//! Numbers as the elements of a tensor, and room for them.

use cudainfer_kernels::tensor::TensorType;
use half::f16;

use super::InferenceError;

/// The bytes of these numbers as elements of a type. An integer beyond the type's range is the nearest that it has.
pub fn elements(numbers: impl IntoIterator<Item = f64>, ty: TensorType) -> Vec<u8> {
    let mut bytes = Vec::new();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates.
    for n in numbers {
        match ty {
            TensorType::Float32 => bytes.extend((n as f32).to_ne_bytes()),
            TensorType::Float16 => bytes.extend(f16::from_f64(n).to_ne_bytes()),
            TensorType::UInt8 => bytes.push(n as u8),
            TensorType::Int8 => bytes.extend((n as i8).to_ne_bytes()),
            TensorType::Int32 => bytes.extend((n as i32).to_ne_bytes()),
            TensorType::Int64 => bytes.extend((n as i64).to_ne_bytes()),
            TensorType::Bool => bytes.push(u8::from(n != 0.0)),
        }
    }
    bytes
}

/// A vector with room for this many bytes.
///
/// # Errors
/// [`InferenceError::Memory`].
pub(super) fn reserved(bytes: usize) -> Result<Vec<u8>, InferenceError> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes)
        .map_err(|_| InferenceError::Memory(format!("{bytes} bytes for an input are not available")))?;
    Ok(room)
}

/// This many elements of a type, all of which are this number.
///
/// # Errors
/// [`InferenceError::Memory`].
pub fn filled(number: f64, count: usize, ty: TensorType) -> Result<Vec<u8>, InferenceError> {
    let element = elements([number], ty);
    let bytes = count.saturating_mul(element.len());
    let mut all = reserved(bytes)?;
    if element.iter().all(|byte| *byte == 0) {
        all.resize(bytes, 0);
    } else {
        (0..count).for_each(|_| all.extend_from_slice(&element));
    }
    Ok(all)
}
