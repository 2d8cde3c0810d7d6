//! cuDNN's graph API: convolutions with what follows them, as one kernel.
//!
//! Descriptors are made, given attributes and finalised (cuDNN's documentation of the backend API). What a graph of operations can be
//! run as, heuristics say, in the order of their guess; which of these is right and the fastest is found out by running them.

mod descriptor;
mod graph;

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use cudainfer_kernels::device::Context;
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Attribute, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind, cudnnHandle_t, cudnnStatus_t,
};
use cudarc::driver::sys::CUstream;
use libloading::os::unix::Library;

use super::GpuError;

pub(super) use self::graph::{ConvolutionGraph, Engine, Execution};

/// The functions of cuDNN that are used.
#[derive(Debug)]
pub(super) struct Cudnn {
    version: unsafe extern "C" fn() -> usize,
    error_string: unsafe extern "C" fn(cudnnStatus_t) -> *const c_char,
    create: unsafe extern "C" fn(*mut cudnnHandle_t) -> cudnnStatus_t,
    destroy: unsafe extern "C" fn(cudnnHandle_t) -> cudnnStatus_t,
    set_stream: unsafe extern "C" fn(cudnnHandle_t, CUstream) -> cudnnStatus_t,
    create_descriptor: unsafe extern "C" fn(Kind, *mut *mut c_void) -> cudnnStatus_t,
    destroy_descriptor: unsafe extern "C" fn(*mut c_void) -> cudnnStatus_t,
    finalize: unsafe extern "C" fn(*mut c_void) -> cudnnStatus_t,
    set_attribute: unsafe extern "C" fn(*mut c_void, Attribute, Type, i64, *const c_void) -> cudnnStatus_t,
    get_attribute:
        unsafe extern "C" fn(*mut c_void, Attribute, Type, i64, *mut i64, *mut c_void) -> cudnnStatus_t,
    execute: unsafe extern "C" fn(cudnnHandle_t, *mut c_void, *mut c_void) -> cudnnStatus_t,
    _library: Library,
}

impl Cudnn {
    pub fn of(library: Library) -> Result<Self, GpuError> {
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the fields' types are these functions' signatures in cudnn_graph.h of cuDNN 9.
                *unsafe { library.get($name) }
                    .map_err(|e| GpuError::Library(format!("cuDNN has not all functions: {e}")))?
            };
        }
        Ok(Self {
            version: function!(b"cudnnGetVersion"),
            error_string: function!(b"cudnnGetErrorString"),
            create: function!(b"cudnnCreate"),
            destroy: function!(b"cudnnDestroy"),
            set_stream: function!(b"cudnnSetStream"),
            create_descriptor: function!(b"cudnnBackendCreateDescriptor"),
            destroy_descriptor: function!(b"cudnnBackendDestroyDescriptor"),
            finalize: function!(b"cudnnBackendFinalize"),
            set_attribute: function!(b"cudnnBackendSetAttribute"),
            get_attribute: function!(b"cudnnBackendGetAttribute"),
            execute: function!(b"cudnnBackendExecute"),
            _library: library,
        })
    }

    pub fn version(&self) -> usize {
        // SAFETY: it takes nothing.
        unsafe { (self.version)() }
    }

    fn check(&self, status: cudnnStatus_t, what: &'static str) -> Result<(), GpuError> {
        if status == cudnnStatus_t::CUDNN_STATUS_SUCCESS {
            return Ok(());
        }
        // SAFETY: it returns a text of the library, for every number.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(GpuError::Cudnn { what, status: text.to_string_lossy().into_owned() })
    }
}

/// cuDNN in a context. It is used by one thread at a time.
#[derive(Debug)]
pub(super) struct Handle {
    cudnn: Arc<Cudnn>,
    context: Arc<Context>,
    raw: cudnnHandle_t,
}

// SAFETY: a handle may go from thread to thread; it is used through `&mut`, or for what cuDNN allows at the same time.
unsafe impl Send for Handle {}

impl Handle {
    /// In a context.
    pub fn new(cudnn: &Arc<Cudnn>, context: &Arc<Context>) -> Result<Self, GpuError> {
        let _entered = context.enter()?;
        // It allocates, and may wait for the device.
        let _unrecorded = context.unrecorded();
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is written to.
        cudnn.check(unsafe { (cudnn.create)(&raw mut raw) }, "a handle")?;
        Ok(Self { cudnn: Arc::clone(cudnn), context: Arc::clone(context), raw })
    }

    /// Enqueues a convolution in a stream.
    ///
    /// # Safety
    /// The addresses of the execution are those of tensors as large as its graph says, and stay until it is done.
    pub unsafe fn execute(&mut self, execution: &Execution, stream: CUstream) -> Result<(), GpuError> {
        let cudnn = &self.cudnn;
        // SAFETY: handle and stream live.
        cudnn.check(unsafe { (cudnn.set_stream)(self.raw, stream) }, "a stream")?;
        let (plan, pack) = execution.raw();
        // SAFETY: both are finalised; the rest is the caller's promise.
        cudnn.check(unsafe { (cudnn.execute)(self.raw, plan, pack) }, "to run a convolution")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        let _unrecorded = self.context.unrecorded();
        // SAFETY: created by us, destroyed once.
        let _ = unsafe { (self.cudnn.destroy)(self.raw) };
    }
}
