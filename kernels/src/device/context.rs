//! A device's primary context: the one that the CUDA runtime, ONNX Runtime and our elements share.

use std::{
    collections::HashMap,
    marker::PhantomData,
    ptr,
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, Weak},
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaContext, result, sys};

use super::{Device, DeviceError, lock};

/// A device's primary context, retained as long as this lives.
///
/// There is one of these a device and process, shared by all who hold it.
///
/// # On thread safety
/// It can be used from every thread. CUDA's calls work on the calling thread's *current* context, and elements run on
/// threads that belong to others, so nothing here leaves a changed context: [`Context::enter`] makes it current until
/// the guard is dropped.
#[derive(Debug)]
pub struct Context {
    device: Device,
    /// `None` only while being dropped.
    inner: Option<Arc<CudaContext>>,
    /// The operations' kernels that were used so far.
    modules: Mutex<HashMap<&'static str, Module>>,
    /// The contexts that [`CudaStream`](super::CudaStream) has tried to link this one with.
    neighbours: Mutex<Neighbours>,
    /// Held by those that record a graph alone, and by those that must not meet a recording together.
    recording: RwLock<()>,
}

/// While this lives, nothing of its context is recorded by [`Graph::record`](super::Graph::record).
#[derive(Debug)]
#[must_use = "nothing is recorded only as long as this guard lives"]
pub struct Unrecorded<'a> {
    _guard: RwLockReadGuard<'a, ()>,
}

/// How often one that wants to record looks whether it may.
const LOOK: Duration = Duration::from_millis(1);

/// Loaded kernels; only ever handed to the driver.
#[derive(Clone, Copy, Debug)]
struct Module(sys::CUmodule);

// SAFETY: the driver's modules may be used from every thread.
unsafe impl Send for Module {}

/// While this lives, its context is the calling thread's current one. It cannot go to another thread.
#[derive(Debug)]
#[must_use = "the context is current only as long as this guard lives"]
pub struct Entered<'a> {
    context: PhantomData<(&'a Context, *const ())>,
}

impl Context {
    /// The primary context of `device`: the one that is in use in this process, with the kernels that it has loaded, or
    /// else a new one, which retains it. The first in a process creates it, which takes some 100 ms and some 100 MB on the
    /// device.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver cannot, for example because the device has no memory left.
    pub fn new(device: &Device) -> Result<Arc<Self>, DeviceError> {
        static IN_USE: InUse<Context> = InUse(Mutex::new(Vec::new()));
        IN_USE.of(device.ordinal, || {
            let ordinal = usize::try_from(device.ordinal)
                .map_err(|_| DeviceError::NoSuchDevice { wanted: device.ordinal, count: 0 })?;
            let _previous = Previous::save()?;
            let inner = CudaContext::new(ordinal).map_err(DeviceError::call("cuDevicePrimaryCtxRetain"))?;
            Ok(Self {
                device: device.clone(),
                inner: Some(inner),
                modules: Mutex::default(),
                neighbours: Mutex::default(),
                recording: RwLock::default(),
            })
        })
    }

    /// The device this is the primary context of.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's handle of this context (`CUcontext`), for libraries that want one. It is valid as long as `self`.
    pub fn handle(&self) -> sys::CUcontext {
        self.inner.as_ref().map_or(ptr::null_mut(), |inner| inner.cu_ctx())
    }

    /// The driver's handle of the device (`CUdevice`).
    pub fn device_handle(&self) -> sys::CUdevice {
        self.inner.as_ref().map_or(-1, |inner| inner.cu_device())
    }

    /// Whether this is the first call for the context `other`.
    ///
    /// # Safety
    /// `other` must be a context that lives.
    pub(super) unsafe fn is_new_neighbour(&self, other: sys::CUcontext) -> bool {
        let mut number = 0;
        // SAFETY: the caller's promise; the pointer points to a live number.
        let numbered = unsafe { sys::cuCtxGetId(other, &raw mut number) }.result();
        let mut neighbours = lock(&self.neighbours);
        neighbours.is_new(other.addr(), numbered.ok().map(|()| number))
    }

    /// The kernels of `operation`, which `load` loads the first time, with this context current.
    pub(super) fn module(
        &self,
        operation: &'static str,
        load: impl FnOnce() -> Result<sys::CUmodule, DeviceError>,
    ) -> Result<sys::CUmodule, DeviceError> {
        let mut modules = lock(&self.modules);
        if let Some(module) = modules.get(operation) {
            return Ok(module.0);
        }
        let _entered = self.enter()?;
        let module = load()?;
        modules.insert(operation, Module(module));
        Ok(module)
    }

    /// Bytes of device memory that are free, and bytes in total.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn memory(&self) -> Result<(usize, usize), DeviceError> {
        let _entered = self.enter()?;
        result::mem_get_info().map_err(DeviceError::call("cuMemGetInfo"))
    }

    /// For work of libraries that may wait for the whole device: it waits for a recording to end, and holds others up. The driver
    /// refuses to wait for a device of which any stream is being recorded, in whatever thread (CUDA C++ Programming Guide, 'Prohibited
    /// and Unhandled Operations' of stream capture).
    pub fn unrecorded(&self) -> Unrecorded<'_> {
        Unrecorded { _guard: self.recording.read().unwrap_or_else(PoisonError::into_inner) }
    }

    /// The right to record, `None` where others are [unrecorded](Self::unrecorded) for longer than `patience`. It does not queue:
    /// those that come later would wait with it for those that take long.
    pub(super) fn recording(&self, patience: Duration) -> Option<RwLockWriteGuard<'_, ()>> {
        let begun = Instant::now();
        loop {
            match self.recording.try_write() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
                Err(TryLockError::WouldBlock) if begun.elapsed() >= patience => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            }
        }
    }

    /// Makes this the calling thread's current context until the guard is dropped.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver refuses, for example after a fault on the device.
    pub fn enter(&self) -> Result<Entered<'_>, DeviceError> {
        // SAFETY: the handle is valid: `self` retains it.
        unsafe { sys::cuCtxPushCurrent_v2(self.handle()) }
            .result()
            .map_err(DeviceError::call("cuCtxPushCurrent"))?;
        Ok(Entered { context: PhantomData })
    }
}

/// Contexts, by address, and the number that the driver gave each: a new context may get the address of a destroyed one, but no
/// number is given twice in a process.
#[derive(Debug, Default)]
struct Neighbours(HashMap<usize, u64>);

impl Neighbours {
    /// Whether the context was not known before. From now on it is known, unless it has no number.
    fn is_new(&mut self, address: usize, number: Option<u64>) -> bool {
        match number {
            Some(number) => self.0.insert(address, number) != Some(number),
            None => true,
        }
    }
}

/// Objects of which each device has one, by ordinal, as long as anybody holds it.
struct InUse<T>(Mutex<Vec<(u32, Weak<T>)>>);

impl<T> InUse<T> {
    /// The one in use, or what `make` makes.
    fn of(&self, ordinal: u32, make: impl FnOnce() -> Result<T, DeviceError>) -> Result<Arc<T>, DeviceError> {
        let mut all = lock(&self.0);
        all.retain(|(_, one)| one.strong_count() > 0);
        if let Some(one) = all.iter().find(|(of, _)| *of == ordinal).and_then(|(_, one)| one.upgrade()) {
            return Ok(one);
        }
        let one = Arc::new(make()?);
        all.push((ordinal, Arc::downgrade(&one)));
        Ok(one)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let modules = std::mem::take(&mut *lock(&self.modules));
        if let (false, Ok(_entered)) = (modules.is_empty(), self.enter()) {
            for Module(module) in modules.into_values() {
                // SAFETY: the module was loaded by us and is unloaded once; kernels hold the context, so none is left.
                let _ = unsafe { sys::cuModuleUnload(module) };
            }
        }
        // cudarc makes the context current before it releases it; the thread's own context must be current afterwards.
        let _previous = Previous::save();
        drop(self.inner.take());
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: the pointer points to a live handle. Guards are dropped on the thread that made them and in the reverse
        // order, so the context on top is ours.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
    }
}

/// Restores the thread's current context when dropped.
struct Previous(sys::CUcontext);

impl Previous {
    fn save() -> Result<Self, DeviceError> {
        let current = result::ctx::get_current().map_err(DeviceError::call("cuCtxGetCurrent"))?;
        Ok(Self(current.unwrap_or(ptr::null_mut())))
    }
}

impl Drop for Previous {
    fn drop(&mut self) {
        // SAFETY: it was current on this thread when saved; null (no context) is allowed.
        let _ = unsafe { result::ctx::set_current(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_a_device_as_long_as_anybody_holds_it() {
        let in_use = InUse(Mutex::default());
        let made = std::cell::Cell::new(0);
        let of = |ordinal| {
            in_use.of(ordinal, || {
                made.set(made.get() + 1);
                Ok(made.get())
            })
        };
        let (first, second, other) = (of(0).unwrap(), of(0).unwrap(), of(1).unwrap());
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!((*first, *other, made.get()), (1, 2, 2));
        drop((first, second));
        assert_eq!(*of(0).unwrap(), 3, "released with its last holder");
        let failed = in_use.of(7, || Err(DeviceError::NoSuchDevice { wanted: 7, count: 1 }));
        assert!(failed.is_err());
        assert!(in_use.of(7, || Ok(9)).is_ok(), "a failure is not kept");
    }

    #[test]
    fn a_context_that_was_made_anew_is_new_though_it_has_the_address_of_one_that_is_gone() {
        let mut known = Neighbours::default();
        let mut is_new = |address, number| known.is_new(address, number);
        assert!(is_new(0x10, Some(7)) && is_new(0x20, Some(8)));
        assert!(!is_new(0x10, Some(7)) && !is_new(0x20, Some(8)));
        assert!(is_new(0x10, Some(9)), "made anew");
        assert!(!is_new(0x10, Some(9)));
        assert!(is_new(0x30, None) && is_new(0x30, None), "nobody knows");
    }
}
