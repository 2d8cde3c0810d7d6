//! The embedded kernels, loaded when an operation is first used in a context.

use std::{ffi::CString, io, io::Read as _, ptr, sync::Arc};

use cudarc::driver::sys;
use flate2::read::ZlibDecoder;

use super::{Context, DeviceError};

/// An operation's kernels (`cuda/<operation>.cu`), as build.rs compiled and compressed them.
pub(super) struct Images {
    operation: &'static str,
    /// By compute capability, 10 x major + minor.
    machine_code: &'static [(u32, &'static [u8])],
    ptx: &'static [u8],
}

mod built {
    use super::Images;
    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}

/// A kernel that can be launched in its context.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Keeps the operation's module loaded.
    context: Arc<Context>,
    /// The module, where it is no operation's.
    _module: Option<Arc<Module>>,
    raw: sys::CUfunction,
    may_overlap: bool,
}

// SAFETY: the driver's functions may be launched from every thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// The kernel `name` of `cuda/<operation>.cu`.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] where there is none of that name, [`DeviceError::Call`] where the driver refuses it.
    pub fn load(context: &Arc<Context>, operation: &'static str, name: &str) -> Result<Self, DeviceError> {
        let missing = || DeviceError::NoKernel { operation, name: name.to_owned() };
        let images = built::IMAGES.iter().find(|images| images.operation == operation).ok_or_else(missing)?;
        let capability = context.device().capability;
        let module = context.module(operation, || load(images, capability))?;
        let _entered = context.enter()?;
        let text = CString::new(name).map_err(|_| missing())?;
        let mut raw = ptr::null_mut();
        // SAFETY: the module is loaded, the text ends in 0.
        unsafe { sys::cuModuleGetFunction(&raw mut raw, module, text.as_ptr()) }
            .result()
            .map_err(|_| missing())?;
        let may_overlap = may_overlap(images.machine_code, capability);
        Ok(Self { context: Arc::clone(context), _module: None, raw, may_overlap })
    }

    /// Whether `wait_for_previous` of `cuda/prelude.cuh` waits in this kernel.
    pub(super) fn may_overlap(&self) -> bool {
        self.may_overlap
    }

    /// Lets blocks use up to `bytes` of shared memory (more than 48 KiB must be asked for).
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the device has less.
    pub fn allow_shared_memory(&self, bytes: u32) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function lives as long as its context.
        unsafe { sys::cuFuncSetAttribute(self.raw, attribute, i32::try_from(bytes).unwrap_or(i32::MAX)) }
            .result()
            .map_err(DeviceError::call("cuFuncSetAttribute"))
    }

    pub(super) fn raw(&self) -> sys::CUfunction {
        self.raw
    }
}

/// The major compute capability from which on launches overlap.
const OVERLAPPING: i32 = 9;

/// Machine code that was compiled for a context's device at run time.
#[derive(Debug)]
pub struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

// SAFETY: the driver's modules may be used from every thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads machine code, a whole cubin.
    ///
    /// # Safety
    /// It is what a compiler has made: the driver does not check it.
    ///
    /// # Errors
    /// [`DeviceError::Call`]: it is for other devices, or there is no memory for it.
    pub unsafe fn load(context: &Arc<Context>, cubin: &[u8]) -> Result<Arc<Self>, DeviceError> {
        let _entered = context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the image is a whole cubin, as the caller promises; the context is current.
        unsafe { sys::cuModuleLoadData(&raw mut raw, cubin.as_ptr().cast()) }
            .result()
            .map_err(DeviceError::call("cuModuleLoadData"))?;
        Ok(Arc::new(Self { context: Arc::clone(context), raw }))
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`]: there is none.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Kernel, DeviceError> {
        self.find(name, false)
    }

    /// As [`Module::kernel`], one that waits for previous work by itself (`griddepcontrol.wait`), so that
    /// [`CudaStream::launch_overlapping`](super::CudaStream::launch_overlapping) lets it begin before that is over.
    ///
    /// # Errors
    /// As for [`Module::kernel`].
    pub fn overlapping_kernel(self: &Arc<Self>, name: &str) -> Result<Kernel, DeviceError> {
        self.find(name, self.context.device().capability.0 >= OVERLAPPING)
    }

    fn find(self: &Arc<Self>, name: &str, may_overlap: bool) -> Result<Kernel, DeviceError> {
        let missing = || DeviceError::NoKernel { operation: "compiled at run time", name: name.to_owned() };
        let text = CString::new(name).map_err(|_| missing())?;
        let _entered = self.context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the module is loaded, the text ends in 0.
        unsafe { sys::cuModuleGetFunction(&raw mut raw, self.raw, text.as_ptr()) }
            .result()
            .map_err(|_| missing())?;
        Ok(Kernel { context: Arc::clone(&self.context), _module: Some(Arc::clone(self)), raw, may_overlap })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: loaded by us, unloaded once: kernels hold the module, so that none is left.
        let _ = unsafe { sys::cuModuleUnload(self.raw) };
    }
}

/// Loads machine code for this GPU (of its major version, and not newer) if there is any, else PTX, which the driver compiles.
fn load(images: &Images, capability: (i32, i32)) -> Result<sys::CUmodule, DeviceError> {
    let image = best(images.machine_code, capability).unwrap_or(images.ptx);
    let missing = |_| DeviceError::NoKernel { operation: images.operation, name: "every kernel".into() };
    let image = decompressed(image).map_err(missing)?;
    let mut module = ptr::null_mut();
    // SAFETY: the image is a whole cubin, or PTX that ends in 0; the context is current, as `Context::module` says.
    unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) }
        .result()
        .map_err(DeviceError::call("cuModuleLoadData"))?;
    Ok(module)
}

fn decompressed(image: &[u8]) -> io::Result<Vec<u8>> {
    let mut whole = Vec::new();
    ZlibDecoder::new(image).read_to_end(&mut whole)?;
    Ok(whole)
}

fn best<'a>(machine_code: &[(u32, &'a [u8])], (major, minor): (i32, i32)) -> Option<&'a [u8]> {
    let (major, minor) = (major.unsigned_abs(), minor.unsigned_abs());
    let runs = machine_code.iter().filter(|(sm, _)| sm / 10 == major && sm % 10 <= minor);
    runs.max_by_key(|(sm, _)| *sm).map(|(_, image)| *image)
}

/// Whether a GPU supports overlapping launches, and there is machine code for it that was compiled with them. PTX is without.
fn may_overlap(machine_code: &[(u32, &[u8])], capability: (i32, i32)) -> bool {
    capability.0 >= OVERLAPPING && best(machine_code, capability).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_overlap_only_where_the_kernel_was_compiled_to_wait() {
        let images: [(u32, &[u8]); 2] = [(80, b"80"), (90, b"90")];
        assert!(may_overlap(&images, (9, 0)));
        assert!(!may_overlap(&images, (8, 9)));
        assert!(!may_overlap(&images[..1], (9, 0)), "PTX");
        assert!(!may_overlap(&images, (12, 0)), "PTX");
    }

    #[test]
    fn machine_code_runs_on_its_major_version_from_its_minor_on() {
        let images: [(u32, &[u8]); 4] = [(75, b"75"), (80, b"80"), (86, b"86"), (90, b"90")];
        assert_eq!(best(&images, (8, 7)), Some(&b"86"[..]));
        assert_eq!(best(&images, (8, 0)), Some(&b"80"[..]));
        assert_eq!(best(&images, (9, 0)), Some(&b"90"[..]));
        assert_eq!(best(&images, (12, 0)), None, "PTX");
    }

    #[test]
    fn every_operation_is_embedded_with_ptx_that_ends_in_zero_and_machine_code() {
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/cuda");
        let names = std::fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().file_name());
        let mut operations: Vec<String> =
            names.filter_map(|name| Some(name.to_str()?.strip_suffix(".cu")?.to_owned())).collect();
        operations.sort();
        assert!(!operations.is_empty());
        assert_eq!(built::IMAGES.iter().map(|images| images.operation).collect::<Vec<_>>(), operations);
        for images in built::IMAGES {
            let ptx = decompressed(images.ptx).unwrap();
            assert_eq!(ptx.last(), Some(&0), "{}", images.operation);
            let ptx = std::str::from_utf8(&ptx).unwrap();
            assert!(ptx.contains(".entry"), "{} has no kernel", images.operation);
            assert!(!images.machine_code.is_empty(), "{}", images.operation);
            for (sm, image) in images.machine_code {
                let image = decompressed(image).unwrap();
                assert!(image.starts_with(b"\x7fELF"), "{} for {sm}", images.operation);
            }
        }
    }
}
