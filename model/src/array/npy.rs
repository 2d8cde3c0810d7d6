//! An array in NumPy's own format (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use std::io::Read;

use cudainfer_kernels::tensor::TensorType;

use super::dense::Array;
use super::part::bytes;

/// Bytes that an array may have at most: 8 GiB, as a tensor of a run.
const LARGEST: u64 = 1 << 33;

/// Bytes before the length of the header: the magic number, and the version.
const BEFORE: u64 = 8;
/// Bytes that a header may have. Those of arrays of numbers have about a hundred.
const LONGEST_HEADER: u64 = 1 << 16;

/// Reads the array that comes next, which has `length` bytes with its header.
pub(super) fn read(from: &mut impl Read, length: u64) -> Result<Array, String> {
    let broken = || "its header is no NumPy array's. Write it again, with numpy.save".to_owned();
    if length < BEFORE + 4 {
        return Err(broken());
    }
    let mut head = bytes(from, BEFORE + 2)?;
    let (Some(&version), true) = (head.get(6), head.starts_with(b"\x93NUMPY")) else { return Err(broken()) };
    match version {
        1 => head.extend([0; 2]),
        2 | 3 => head.extend(bytes(from, 2)?),
        _ => return Err(broken()),
    }
    let before = if version == 1 { BEFORE + 2 } else { BEFORE + 4 };
    let header = head.get(8..).and_then(|four| Some(u64::from(u32::from_le_bytes(four.try_into().ok()?))));
    let header = header.filter(|header| *header <= LONGEST_HEADER && before + header <= length);
    let header = header.ok_or_else(broken)?;
    let text = bytes(from, header)?;
    let text = str::from_utf8(&text).map_err(|_| broken())?;
    let ty = element_type(value(text, "descr").ok_or_else(broken)?)?;
    match value(text, "fortran_order") {
        Some(order) if order.starts_with("False") => (),
        Some(order) if order.starts_with("True") => {
            return Err(
                "its elements lie in Fortran's order, and must lie row after row. Save numpy.ascontiguousarray of it"
                    .into(),
            );
        }
        _ => return Err(broken()),
    }
    let shape = value(text, "shape").and_then(|shape| shape.strip_prefix('(')?.split(')').next());
    let dims = shape.ok_or_else(broken)?.split(',').map(str::trim).filter(|dim| !dim.is_empty());
    let dims = dims.map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| broken())?;
    let size = dims.iter().try_fold(ty.size(), |size, dim| size.checked_mul(*dim));
    let size = size.and_then(|size| u64::try_from(size).ok()).filter(|size| *size <= LARGEST);
    let there = length - before - header;
    if size != Some(there) {
        let claims: Vec<String> = dims.iter().map(ToString::to_string).collect();
        return Err(format!(
            "its header says {} {ty}, but {there} bytes follow. It was cut off or changed: write it again",
            claims.join("x")
        ));
    }
    let data = bytes(from, there)?;
    Ok(Array { ty, dims, data: data.into() })
}

/// What comes after this key of the header, which is a dictionary of Python.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, after) = header.split_once(&format!("'{key}'"))?;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

fn element_type(text: &str) -> Result<TensorType, String> {
    let name = text.strip_prefix('\'').and_then(|text| text.split('\'').next()).unwrap_or("a structure");
    let big = name.starts_with('>') || cfg!(target_endian = "big") && name.starts_with('<');
    match name.trim_start_matches(['<', '|', '=', '>']) {
        "f4" if !big => Ok(TensorType::Float32),
        "f2" if !big => Ok(TensorType::Float16),
        "i4" if !big => Ok(TensorType::Int32),
        "i8" if !big => Ok(TensorType::Int64),
        "u1" => Ok(TensorType::UInt8),
        "i1" => Ok(TensorType::Int8),
        "b1" => Ok(TensorType::Bool),
        _ => Err(format!(
            "its elements are of NumPy's type {name}, and may be float32, float16, uint8, int8, int32, int64 or bool, in this machine's order \
             of bytes. Save it as the input's type, with astype"
        )),
    }
}
