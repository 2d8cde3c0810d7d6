//! Threads, and functions of libraries that are opened at run time: `pthread_create` and `dlsym` are defined here once more, and come
//! before the C library's in a program that is linked with this crate.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::{transmute, zeroed};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use crate::onnx_runtime;
use crate::seam::{Answer, Seam, answer};

/// The versions of the C library that a `dlsym` can be of: since 2.34, and before on x86-64 and on ARM.
const VERSIONS: [&CStr; 3] = [c"GLIBC_2.34", c"GLIBC_2.2.5", c"GLIBC_2.17"];

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type PthreadCreate =
    unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;

/// The C library's own.
fn real_dlsym() -> Option<Dlsym> {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut found = REAL.load(SeqCst);
    for version in VERSIONS {
        if found.is_null() {
            // SAFETY: both texts end in 0.
            found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        }
    }
    REAL.store(found, SeqCst);
    // SAFETY: the C library's function of this name has this type, and a null pointer is none.
    unsafe { transmute::<*mut c_void, Option<Dlsym>>(found) }
}

/// Whether a function is of the program itself, and not of a library.
fn is_ours(function: *const c_void) -> bool {
    let base = |address: *const c_void| {
        // SAFETY: pointers and numbers, which the call fills in.
        let mut found: libc::Dl_info = unsafe { zeroed() };
        // SAFETY: the call looks the address up, and does not read there.
        (unsafe { libc::dladdr(address, &raw mut found) } != 0).then_some(found.dli_fbase)
    };
    base(function).is_some_and(|found| base(is_ours as *const c_void) == Some(found))
}

/// Starts a thread, as the C library's function does.
///
/// # Safety
/// As that one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    if is_ours(start as *const c_void)
        && let Answer::Error(error) = answer(Seam::Thread, || "pthread_create".to_owned())
    {
        return error;
    }
    let mut real = REAL.load(SeqCst);
    if let (true, Some(dlsym)) = (real.is_null(), real_dlsym()) {
        // SAFETY: the text ends in 0.
        real = unsafe { dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
        REAL.store(real, SeqCst);
    }
    // SAFETY: the C library's function of this name has this type, and a null pointer is none.
    let Some(real) = (unsafe { transmute::<*mut c_void, Option<PthreadCreate>>(real) }) else {
        return libc::ENOSYS;
    };
    // SAFETY: the caller's promise.
    unsafe { real(thread, attributes, start, argument) }
}

/// Looks a function up, as the C library's function does; those that can fail on purpose are ours.
///
/// # Safety
/// As that one. A handle that stands for the libraries after the caller's stands for those after the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    let Some(real) = real_dlsym() else { return null_mut() };
    // SAFETY: the caller's promise.
    let found = unsafe { real(library, name) };
    if found.is_null() || name.is_null() || library == libc::RTLD_NEXT {
        return found;
    }
    // SAFETY: the caller's promise: it is a text.
    let name = unsafe { CStr::from_ptr(name) };
    if name == c"OrtGetApiBase" {
        return onnx_runtime::intercept(found).cast_mut();
    }
    let Some(place) = FUNCTIONS.iter().position(|(function, ..)| *function == name) else { return found };
    let (Some(real), Some(ours)) = (REAL.get(place), OURS.get(place)) else { return found };
    // One library of each kind is opened in a process.
    real.store(found, SeqCst);
    (*ours as *const c_void).cast_mut()
}

/// Functions that return an error's number, or 0. They take whole numbers and pointers, at most twelve.
const FUNCTIONS: [(&CStr, Seam); 30] = [
    (c"cuMemAlloc_v2", Seam::DeviceMemory),
    (c"cuMemHostAlloc", Seam::PinnedMemory),
    (c"cuLaunchKernel", Seam::Launch),
    (c"cuLaunchKernelEx", Seam::Launch),
    (c"cuGraphLaunch", Seam::Launch),
    (c"cuEventCreate", Seam::DriverCall),
    (c"cuEventRecord", Seam::DriverCall),
    (c"cuEventQuery", Seam::DriverCall),
    (c"cuEventElapsedTime", Seam::DriverCall),
    (c"cuStreamCreateWithPriority", Seam::DriverCall),
    (c"cuStreamWaitEvent", Seam::DriverCall),
    (c"cuStreamSynchronize", Seam::DriverCall),
    (c"cuStreamBeginCapture_v2", Seam::DriverCall),
    (c"cuStreamEndCapture", Seam::DriverCall),
    (c"cuGraphInstantiateWithFlags", Seam::DriverCall),
    (c"cuMemcpyHtoDAsync_v2", Seam::DriverCall),
    (c"cuMemcpyDtoHAsync_v2", Seam::DriverCall),
    (c"cuMemcpyDtoDAsync_v2", Seam::DriverCall),
    (c"cuMemcpy2DAsync_v2", Seam::DriverCall),
    (c"cuMemsetD8Async", Seam::DriverCall),
    (c"cuModuleLoadData", Seam::DriverCall),
    (c"cuFuncSetAttribute", Seam::DriverCall),
    (c"cuCtxPushCurrent_v2", Seam::DriverCall),
    (c"cuPointerGetAttribute", Seam::DriverCall),
    (c"nvrtcCompileProgram", Seam::Compile),
    (c"cudnnBackendFinalize", Seam::Compile),
    (c"cudnnBackendExecute", Seam::Launch),
    (c"ov_core_read_model", Seam::OpenVinoOpen),
    (c"ov_core_compile_model", Seam::OpenVinoOpen),
    (c"ov_infer_request_start_async", Seam::OpenVinoRun),
];

/// The libraries' own functions, as [`FUNCTIONS`].
static REAL: [AtomicPtr<c_void>; 30] = [const { AtomicPtr::new(null_mut()) }; 30];

type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

macro_rules! ours {
    ($($place:literal)*) => {
        /// What is called in their place.
        static OURS: [Function; 30] = [$(call::<$place>,)*];
    };
}

ours!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29);

/// Calls the function of this place, or returns an error. Where it has fewer arguments, those after them are whatever lies there, and
/// it does not look at them.
#[allow(clippy::too_many_arguments)] // as many as any of these functions has
unsafe extern "C" fn call<const PLACE: usize>(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    g: usize,
    h: usize,
    i: usize,
    j: usize,
    k: usize,
    l: usize,
) -> c_int {
    let (name, seam) = FUNCTIONS[PLACE];
    if let Answer::Error(error) = answer(seam, || name.to_string_lossy().into_owned()) {
        return error;
    }
    let real = REAL[PLACE].load(SeqCst).cast_const();
    debug_assert_ne!(real, null());
    // SAFETY: `dlsym` has stored a function of this name before anybody could call this; its type is the caller's business.
    unsafe {
        let real = transmute::<*const c_void, Function>(real);
        real(a, b, c, d, e, f, g, h, i, j, k, l)
    }
}
