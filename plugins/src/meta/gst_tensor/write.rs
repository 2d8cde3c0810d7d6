//! Our tensors as a `GstTensorMeta`.

use std::ffi::{c_int, c_uint};

use cudainfer_kernels::tensor::TensorType;
use gst::glib::ffi::GQuark;

use super::library::{self, CONTIGUOUS, Functions, Meta, Tensor as Written};
use crate::meta::tensor::Tensor;

/// A tensor, with what identifies it for its readers.
pub(crate) struct Labelled<'a> {
    pub tensor: &'a Tensor,
    pub id: GQuark,
    /// Whether its readers look for it among the column-major ones. The data are the same (see `docs/design.md`).
    pub col_major: bool,
}

/// `GstTensorDataType`. Truth values are bytes: their own type is of 1.28, where a function that is asked for its size aborts.
fn data_type(ty: TensorType) -> c_int {
    match ty {
        TensorType::Int8 => 1,
        TensorType::Int32 => 3,
        TensorType::Int64 => 4,
        TensorType::UInt8 | TensorType::Bool => 6,
        TensorType::Float16 => 10,
        TensorType::Float32 => 11,
    }
}

/// Puts tensors on a frame as one more meta. Their data are shared, not copied.
pub(crate) fn put(functions: &Functions, frame: &mut gst::BufferRef, tensors: &[Labelled<'_>]) {
    let Ok(count) = c_uint::try_from(tensors.len()) else { return };
    // SAFETY: the frame is writable as long as it is borrowed, and the meta needs no parameters.
    let meta: *mut Meta =
        unsafe { gst::ffi::gst_buffer_add_meta(frame.as_mut_ptr(), functions.info, std::ptr::null_mut()) }
            .cast();
    if meta.is_null() {
        return;
    }
    // SAFETY: GLib ends the process where there is no memory.
    let list: *mut *mut Written =
        unsafe { gst::glib::ffi::g_malloc0_n(tensors.len(), size_of::<*mut Written>()) }.cast();
    for (index, labelled) in tensors.iter().enumerate() {
        // SAFETY: the list has room for all of them.
        unsafe { list.add(index).write(written(functions, labelled)) };
    }
    // SAFETY: the meta is the frame's; the list and its tensors come from GLib's allocator, and the meta owns them from here on.
    unsafe { (functions.set)(meta, count, list) };
}

fn written(functions: &Functions, labelled: &Labelled<'_>) -> *mut Written {
    use gst::glib::translate::ToGlibPtr;
    let Labelled { tensor, id, col_major } = labelled;
    let dims: Vec<usize> = tensor.desc.dims.iter().map(|dim| dim.unwrap_or(0)).collect();
    // A single number has one dimension: readers want at least one.
    let dims = if dims.is_empty() { vec![1] } else { dims };
    // SAFETY: allocates the structure with this many dimensions, or ends the process.
    let written = unsafe { (functions.alloc)(dims.len()) };
    // SAFETY: the structure is new, and has room for this many dimensions; the buffer's reference becomes its own.
    unsafe {
        (*written).id = *id;
        (*written).layout = CONTIGUOUS;
        (*written).data_type = data_type(tensor.desc.ty);
        (*written).data = tensor.data.to_glib_full();
        (*written).dims_order = c_int::from(*col_major);
        std::ptr::copy_nonoverlapping(dims.as_ptr(), Written::dims(written), dims.len());
    }
    written
}

/// Removes all such metas from a frame.
pub(crate) fn remove(frame: &mut gst::BufferRef) {
    let Ok(functions) = library::open() else { return };
    for meta in functions.metas(frame) {
        // SAFETY: the frame is writable, and the meta is one of its own: each is removed once.
        unsafe { gst::ffi::gst_buffer_remove_meta(frame.as_mut_ptr(), meta.cast()) };
    }
}
