//! Tensors that another element wrote.

use std::collections::HashSet;
use std::ffi::{CStr, c_int};

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use gst::glib::translate::from_glib_none;

use super::library::{self, CAT, CONTIGUOUS, Meta, Tensor as Written};
use crate::meta::tensor::Tensor;

/// Tensors of a frame that are read, and dimensions of a tensor.
const MOST_TENSORS: usize = 256;
const MOST_DIMS: usize = 16;

/// The content of a frame's metas.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// Those that can be read, named by their identifiers.
    pub tensors: Vec<Tensor>,
    /// The errors of the others, a phrase each.
    pub ignored: Vec<String>,
}

/// The tensors of a frame's metas; `None` where it carries none.
pub(crate) fn foreign(frame: &gst::BufferRef) -> Option<Foreign> {
    let metas = library::open().ok()?.metas(frame);
    if metas.is_empty() {
        return None;
    }
    let mut found = Foreign::default();
    let mut names = HashSet::new();
    let all = metas.into_iter().flat_map(|meta| {
        // SAFETY: the meta lives as long as the frame that is borrowed, and its list has as many entries as it says.
        unsafe {
            let Meta { num_tensors, tensors, .. } = &*meta;
            let count = if tensors.is_null() { 0 } else { *num_tensors };
            (0..count).map(|index| *tensors.add(index)).collect::<Vec<_>>()
        }
    });
    for (index, written) in all.enumerate() {
        if index >= MOST_TENSORS {
            found.ignored.push(format!("there are more than {MOST_TENSORS} tensors"));
            break;
        }
        match read(index, written) {
            Ok(tensor) if names.insert(tensor.desc.name.clone()) => found.tensors.push(tensor),
            Ok(tensor) => found.ignored.push(format!("'{}' is there twice", tensor.desc.name)),
            Err(why) => found.ignored.push(why),
        }
    }
    for why in &found.ignored {
        gst::debug!(CAT, "a tensor is ignored: {why}");
    }
    Some(found)
}

/// The type of the elements, or what it is called.
fn element(data_type: c_int) -> Result<TensorType, String> {
    Ok(match data_type {
        1 => TensorType::Int8,
        3 => TensorType::Int32,
        4 => TensorType::Int64,
        6 => TensorType::UInt8,
        10 => TensorType::Float16,
        11 => TensorType::Float32,
        15 => TensorType::Bool,
        _ => {
            const NAMES: [&str; 22] = [
                "int4",
                "int8",
                "int16",
                "int32",
                "int64",
                "uint4",
                "uint8",
                "uint16",
                "uint32",
                "uint64",
                "float16",
                "float32",
                "float64",
                "bfloat16",
                "string",
                "bool",
                "complex64",
                "complex128",
                "float8e4m3fn",
                "float8e4m3fnuz",
                "float8e5m2",
                "float8e5m2fnuz",
            ];
            let name = usize::try_from(data_type).ok().and_then(|index| NAMES.get(index));
            return Err(name.map_or_else(|| format!("number {data_type}"), ToString::to_string));
        }
    })
}

/// A tensor as one of ours; its data are shared.
fn read(index: usize, written: *mut Written) -> Result<Tensor, String> {
    if written.is_null() {
        return Err(format!("tensor {index} is NULL"));
    }
    // SAFETY: the tensor is its meta's, which lives as long as the frame.
    let Written { id, layout, data_type, data, num_dims, .. } = unsafe { &*written };
    // SAFETY: returns NULL for numbers that were never given out; names live forever.
    let name = unsafe { gst::glib::ffi::g_quark_to_string(*id) };
    let name = if name.is_null() {
        format!("tensor-{index}")
    } else {
        // SAFETY: a string that ends, see above.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    };
    if *layout != CONTIGUOUS {
        return Err(format!("'{name}' has the layout {layout}, but only dense tensors (0) are read"));
    }
    let ty = element(*data_type).map_err(|found| {
        format!(
            "'{name}' is of type {found}, but only float32, float16, int8, uint8, int32, int64 and bool are read"
        )
    })?;
    if *num_dims > MOST_DIMS {
        return Err(format!("'{name}' has {num_dims} dimensions, but at most {MOST_DIMS} are read"));
    }
    // SAFETY: that many dimensions follow the structure.
    let dims: Vec<usize> = (0..*num_dims).map(|dim| unsafe { *Written::dims(written).add(dim) }).collect();
    let shape = || dims.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
    let size = dims.iter().try_fold(ty.size(), |size, dim| size.checked_mul(*dim));
    if data.is_null() {
        return Err(format!("'{name}' has no data"));
    }
    // SAFETY: a buffer that the tensor holds; the reference taken here is ours.
    let data: gst::Buffer = unsafe { from_glib_none(*data) };
    let size = size.filter(|size| *size <= data.size()).ok_or_else(|| {
        format!("'{name}' is {} {ty}, but its buffer has only {} bytes", shape(), data.size())
    })?;
    let data = if data.size() == size {
        data
    } else {
        data.copy_region(gst::BufferCopyFlags::MEMORY, ..size)
            .map_err(|error| format!("'{name}': {error}"))?
    };
    Ok(Tensor { desc: TensorDesc::fixed(name, ty, &dims), data })
}
