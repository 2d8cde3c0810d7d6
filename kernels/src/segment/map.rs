//! Masks from class numbers, which a model that ends in an argmax gives instead of logits: each number becomes its cell's byte.

use crate::tensor::{TensorType, TensorView};

/// Whether numbers of this type are class numbers.
pub(super) fn is_class_map(ty: TensorType) -> bool {
    !matches!(ty, TensorType::Float32 | TensorType::Float16)
}

/// Writes the mask, before clean-up; returns how many numbers a byte cannot hold, whose cells become 0. The sizes have been
/// checked.
pub(super) fn run(numbers: &TensorView<'_>, mask: &mut [u8]) -> usize {
    fn each<const N: usize>(bytes: &[u8], mask: &mut [u8], number: impl Fn([u8; N]) -> i64) -> usize {
        let (numbers, _) = bytes.as_chunks::<N>();
        let mut outside = 0;
        for (cell, bytes) in mask.iter_mut().zip(numbers) {
            let class = u8::try_from(number(*bytes));
            outside += usize::from(class.is_err());
            *cell = class.unwrap_or(0);
        }
        outside
    }
    let bytes = numbers.bytes();
    match numbers.ty {
        TensorType::Int64 => each(bytes, mask, i64::from_ne_bytes),
        TensorType::Int32 => each(bytes, mask, |bytes| i32::from_ne_bytes(bytes).into()),
        TensorType::Int8 => each(bytes, mask, |bytes| i8::from_ne_bytes(bytes).into()),
        TensorType::UInt8 | TensorType::Bool | TensorType::Float32 | TensorType::Float16 => {
            each(bytes, mask, |[byte]| byte.into())
        }
    }
}
