//! The device's primary context as a `GstCudaContext`, one object a device and process.
//!
//! The elements of GStreamer compare contexts by the object, so all of ours hand out the same.

use std::{
    ptr,
    sync::{Arc, LazyLock, Mutex},
};

use cudainfer_kernels::device::{Context, Device};
use gst::{
    glib::{self, translate::*},
    prelude::*,
};

use super::{
    CAT, MemoryError,
    library::{self, Functions},
};
use crate::sync::lock;

/// The type of GStreamer contexts that carry a `GstCudaContext`.
pub(super) const CONTEXT_TYPE: &str = "gst.cuda.context";

/// A `GstCudaContext` around a device's primary context.
#[derive(Clone, Debug)]
pub(super) struct CudaContext {
    object: gst::Object,
    primary: Arc<Context>,
}

/// The object of each device that is in use.
static SHARED: Mutex<Vec<(u32, glib::WeakRef<gst::Object>)>> = Mutex::new(Vec::new());

/// Under this name a `GstCudaContext` keeps the primary context that it wraps.
static PRIMARY: LazyLock<glib::Quark> = LazyLock::new(|| glib::Quark::from_str("cudainfer-primary-context"));

impl CudaContext {
    /// The context of `device`: the one in use, else the one `offered` to `element` if it wraps the primary context,
    /// else a new one.
    ///
    /// # Errors
    /// [`MemoryError`] says whether driver, GPU or libgstcuda is missing or refused.
    pub(super) fn of(
        device: &Device,
        element: &gst::Element,
        offered: Option<&gst::Context>,
    ) -> Result<Self, MemoryError> {
        let functions = library::open()?;
        let primary = Context::new(device)?;
        let mut shared = lock(&SHARED);
        shared.retain(|(_, object)| object.upgrade().is_some());
        let in_use = shared.iter().find(|(ordinal, _)| *ordinal == device.ordinal);
        if let Some(object) = in_use.and_then(|(_, object)| object.upgrade()) {
            return Ok(Self { object, primary });
        }
        let offered = offered.and_then(|context| unpack(functions, element, context));
        let object = match offered.filter(|object| wraps(functions, object, &primary)) {
            Some(object) => object,
            None => wrap(functions, &primary)?,
        };
        // SAFETY: nothing else uses this name; the value is only ever dropped, by the object's finalizer, after everything else
        // in the object has been released.
        unsafe { object.set_qdata(*PRIMARY, Arc::clone(&primary)) };
        shared.push((device.ordinal, object.downgrade()));
        Ok(Self { object, primary })
    }

    /// The primary context that it wraps.
    pub(super) fn primary(&self) -> &Arc<Context> {
        &self.primary
    }

    /// The pointer for C; valid as long as `self`.
    pub(super) fn as_ptr(&self) -> library::ContextPtr {
        self.object.as_ptr()
    }

    /// As a GStreamer context, for messages and queries.
    pub(super) fn to_gst(&self) -> Option<gst::Context> {
        let functions = library::opened()?;
        // SAFETY: our object is a GstCudaContext; the result is ours (transfer full).
        unsafe { from_glib_full((functions.context_new_cuda_context)(self.as_ptr())) }
    }

    /// Answers a context query with this context. Returns whether it asked for one like it.
    pub(super) fn answer(&self, element: &gst::Element, query: &mut gst::QueryRef) -> bool {
        let Some(functions) = library::opened() else { return false };
        // SAFETY: all three live through the call; the query is writable, as `&mut` says.
        let answered =
            unsafe { (functions.handle_context_query)(element.as_ptr(), query.as_mut_ptr(), self.as_ptr()) };
        answered != glib::ffi::GFALSE
    }
}

/// The `GstCudaContext` in `context`, if there is one.
fn unpack(functions: &Functions, element: &gst::Element, context: &gst::Context) -> Option<gst::Object> {
    let mut found = ptr::null_mut();
    // SAFETY: element and context live through the call; -1 takes any device, and `found` receives a reference.
    unsafe {
        (functions.handle_set_context)(element.as_ptr(), context.as_ptr().cast_mut(), -1, &raw mut found);
        from_glib_full(found)
    }
}

fn wraps(functions: &Functions, object: &gst::Object, primary: &Context) -> bool {
    // SAFETY: `unpack` returns nothing but GstCudaContext.
    let handle = unsafe { (functions.context_get_handle)(object.as_ptr()) };
    let ours = ptr::eq(handle, primary.handle().cast());
    if !ours {
        gst::info!(
            CAT,
            obj = object,
            "not taking a CUDA context that was offered: it is not the primary context of '{}', where inference works",
            primary.device().name
        );
    }
    ours
}

fn wrap(functions: &Functions, primary: &Context) -> Result<gst::Object, MemoryError> {
    // SAFETY: the handle is valid, and stays so as long as the object because the caller stores a reference in it.
    let object: Option<gst::Object> = unsafe {
        from_glib_full((functions.context_new_wrapped)(primary.handle().cast(), primary.device_handle()))
    };
    object.ok_or_else(|| MemoryError::NoContext { device: primary.device().name.clone() })
}
