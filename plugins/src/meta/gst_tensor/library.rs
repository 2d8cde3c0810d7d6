//! What this plugin uses of libgstanalytics' tensors, opened at run time, because GStreamer before 1.26 has none.
//!
//! Checked against GStreamer's sources of 1.26.0, 1.26.2, 1.28.0, 1.28.6 and of its main branch of August 2026 (1.30): these functions and
//! structures are the same in all of them. Not called are `gst_tensor_new_simple`, which refuses what has no dimensions, and
//! `gst_buffer_add_tensor_meta`, which returns the meta of another element in 1.26.

use std::ffi::{c_int, c_uint};
use std::sync::OnceLock;

use gst::glib::ffi::{GQuark, GType};

use crate::loader::{LibraryError, OpenLibrary, function};
pub(super) use crate::log::TENSORS as CAT;

/// The same in all versions.
const NAME: &str = "libgstanalytics-1.0.so.0";

/// `GstTensor`; its dimensions follow it, `num_dims` of them.
#[repr(C)]
pub(super) struct Tensor {
    pub id: GQuark,
    pub layout: c_int,
    pub data_type: c_int,
    pub data: *mut gst::ffi::GstBuffer,
    pub dims_order: c_int,
    pub num_dims: usize,
    dims: [usize; 0],
}

impl Tensor {
    /// Where its dimensions are.
    pub fn dims(this: *mut Self) -> *mut usize {
        this.wrapping_add(1).cast()
    }
}

// A C compiler puts the dimensions directly after the other fields.
const _: () = assert!(std::mem::offset_of!(Tensor, dims) == size_of::<Tensor>());

/// `GstTensorMeta`.
#[repr(C)]
pub(super) struct Meta {
    pub meta: gst::ffi::GstMeta,
    pub num_tensors: usize,
    pub tensors: *mut *mut Tensor,
}

/// `GST_TENSOR_LAYOUT_CONTIGUOUS`.
pub(super) const CONTIGUOUS: c_int = 0;

/// The functions. They work on a meta that nothing else writes to meanwhile, as on any meta of a buffer.
pub(crate) struct Functions {
    pub(super) api: GType,
    pub(super) info: *const gst::ffi::GstMetaInfo,
    /// A tensor of this many dimensions, all zero.
    pub(super) alloc: unsafe extern "C" fn(usize) -> *mut Tensor,
    /// Takes the list and its tensors.
    pub(super) set: unsafe extern "C" fn(*mut Meta, c_uint, *mut *mut Tensor),
}

// SAFETY: the description of the meta is registered once, is never changed and never freed.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// The library's functions, opened by the first call and never closed: GStreamer keeps pointers to its types.
///
/// # Errors
/// What was found instead of the library.
pub(crate) fn open() -> Result<&'static Functions, LibraryError> {
    static OPENED: OnceLock<Result<Functions, LibraryError>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| {
        let opened = load(NAME);
        match &opened {
            Ok(_) => gst::info!(CAT, "opened {NAME} for tensors"),
            Err(why) => gst::info!(CAT, "tensors are those of this plugin only: {why}"),
        }
        opened
    });
    opened.as_ref().map_err(Clone::clone)
}

fn load(name: &str) -> Result<Functions, LibraryError> {
    let library = OpenLibrary::of_gstreamer(name)?;
    let api: unsafe extern "C" fn() -> GType = function!(library, c"gst_tensor_meta_api_get_type")?;
    let info: unsafe extern "C" fn() -> *const gst::ffi::GstMetaInfo =
        function!(library, c"gst_tensor_meta_get_info")?;
    Ok(Functions {
        // SAFETY: these take nothing and register or give the type; they may be called from any thread.
        api: unsafe { api() },
        // SAFETY: as above.
        info: unsafe { info() },
        alloc: function!(library, c"gst_tensor_alloc")?,
        set: function!(library, c"gst_tensor_meta_set")?,
    })
}

impl Functions {
    /// A buffer's metas, in the order in which they were added.
    pub(super) fn metas(&self, buffer: &gst::BufferRef) -> Vec<*mut Meta> {
        let mut metas = Vec::new();
        let mut state = std::ptr::null_mut();
        loop {
            // SAFETY: the buffer is readable as long as the reference lives; looking for metas changes nothing of it.
            let meta = unsafe {
                gst::ffi::gst_buffer_iterate_meta_filtered(buffer.as_mut_ptr(), &raw mut state, self.api)
            };
            if meta.is_null() {
                return metas;
            }
            metas.push(meta.cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_or_another_is_named() {
        gst::init().unwrap();
        let why = load("libgstanalytics-of-nowhere.so.0").err().unwrap().to_string();
        assert!(why.contains("of-nowhere"), "{why}");
        let why = load("libc.so.6").err().unwrap().to_string();
        assert_eq!(why, "libc.so.6 has no function gst_tensor_meta_api_get_type");
    }
}
