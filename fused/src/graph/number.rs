//! Numbers from one type to another: in one place, so that what each conversion loses is known.

use cudainfer_kernels::tensor::TensorType;
use half::f16;

/// The nearest float32.
pub fn float(value: f64) -> f32 {
    #[allow(clippy::cast_possible_truncation)] // rounds
    {
        value as f32
    }
}

/// The integer towards 0; of what int64 does not hold the nearest one, 0 of what is no number.
pub fn integer(value: f64) -> i64 {
    #[allow(clippy::cast_possible_truncation)] // saturates
    {
        value as i64
    }
}

/// An integer as a real number: exact up to 2^53.
pub fn real(value: i64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // rounds
    {
        value as f64
    }
}

/// A length or an index as a real number.
pub fn real_length(value: usize) -> f64 {
    real(signed(value))
}

/// A length or an index as ONNX's integer. Lengths of tensors are far from the end of int64.
pub fn signed(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as a tensor of that type of float holds it.
pub fn rounded(value: f64, ty: TensorType) -> f32 {
    if ty == TensorType::Float16 { f16::from_f64(value).to_f32() } else { float(value) }
}

/// An integer as a tensor of that type holds it: what is too large wraps around, as in C.
pub fn wrapped(value: i64, ty: TensorType) -> i64 {
    let kept = |bits: u32| value << (64 - bits);
    match ty {
        TensorType::Int32 => kept(32) >> 32,
        TensorType::Int8 => kept(8) >> 56,
        TensorType::UInt8 => value & 0xff,
        TensorType::Bool => i64::from(value != 0),
        TensorType::Int64 | TensorType::Float32 | TensorType::Float16 => value,
    }
}

/// Whether tensors of this type hold floats.
pub fn is_float(ty: TensorType) -> bool {
    matches!(ty, TensorType::Float32 | TensorType::Float16)
}

/// Whether tensors of this type hold integers of 8 bits.
pub fn is_byte(ty: TensorType) -> bool {
    matches!(ty, TensorType::Int8 | TensorType::UInt8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_around_as_in_c() {
        for (value, ty, wanted) in [
            (1 << 31, TensorType::Int32, -(1 << 31)),
            (-1, TensorType::UInt8, 255),
            (200, TensorType::Int8, -56),
            (256, TensorType::UInt8, 0),
            (-7, TensorType::Bool, 1),
            (i64::MIN, TensorType::Int64, i64::MIN),
        ] {
            assert_eq!(wrapped(value, ty), wanted, "{value} as {ty}");
        }
    }

    #[test]
    fn numbers_are_rounded_to_what_the_type_holds() {
        assert_eq!(rounded(0.1, TensorType::Float16), 0.099_975_586);
        assert_eq!(rounded(0.1, TensorType::Float32), 0.1);
        assert_eq!(rounded(1e6, TensorType::Float16), f32::INFINITY);
        assert_eq!((integer(-1.9), integer(f64::INFINITY), integer(f64::NAN)), (-1, i64::MAX, 0));
    }
}
