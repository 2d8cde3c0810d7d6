//! ONNX's types of elements.

use cudainfer_kernels::tensor::TensorType;

/// The type of a tensor that a run computes with; none for types that the engine does not compute with.
pub fn tensor_type(onnx: i32) -> Option<TensorType> {
    Some(match onnx {
        1 => TensorType::Float32,
        2 => TensorType::UInt8,
        3 => TensorType::Int8,
        6 => TensorType::Int32,
        7 => TensorType::Int64,
        9 => TensorType::Bool,
        10 => TensorType::Float16,
        _ => return None,
    })
}

/// The type in which a constant is kept; none for texts, complex numbers and floats of 8 bits. Doubles and bfloat16 are kept as float32,
/// short and unsigned integers as int64.
pub fn constant_type(onnx: i32) -> Option<TensorType> {
    Some(match onnx {
        11 | 16 => TensorType::Float32,
        4 | 5 | 12 | 13 => TensorType::Int64,
        other => return tensor_type(other),
    })
}

/// A type's name for messages.
pub fn name(onnx: i32) -> String {
    const NAMES: [&str; 17] = [
        "undefined",
        "float32",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "double",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
    ];
    let known = usize::try_from(onnx).ok().and_then(|at| NAMES.get(at));
    known.map_or_else(|| format!("type {onnx} of ONNX"), |name| (*name).to_owned())
}
