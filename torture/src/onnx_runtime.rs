//! ONNX Runtime, whose functions are a table.

use std::ffi::{c_char, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use ort::sys::{
    ORT_API_VERSION, OrtApi, OrtApiBase, OrtEnv, OrtErrorCode, OrtIoBinding, OrtRunOptions, OrtSession,
    OrtSessionOptions, OrtStatusPtr, OrtValue,
};

use crate::fault::ORT_MESSAGE;
use crate::seam::{Answer, Seam, answer};

type GetApiBase = unsafe extern "system" fn() -> *const OrtApiBase;

/// The library's own function.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The library's own table.
static TABLE: OnceLock<OrtApi> = OnceLock::new();

/// Returns what the loader returns in the place of the library's `OrtGetApiBase`.
pub(crate) fn intercept(real: *mut c_void) -> *const c_void {
    REAL.store(real, SeqCst);
    get_api_base as *const c_void
}

fn real_base() -> Option<&'static OrtApiBase> {
    // SAFETY: the library's function of this name has this type, and a null pointer is none.
    let base = unsafe { transmute::<*mut c_void, Option<GetApiBase>>(REAL.load(SeqCst)) }?;
    // SAFETY: what it returns is the library's, which stays open.
    unsafe { base().as_ref() }
}

unsafe extern "system" fn get_api_base() -> *const OrtApiBase {
    static BASE: OrtApiBase = OrtApiBase { GetApi: get_api, GetVersionString: get_version };
    &raw const BASE
}

unsafe extern "system" fn get_version() -> *const c_char {
    // SAFETY: the library's function takes nothing.
    real_base().map_or(c"".as_ptr(), |base| unsafe { (base.GetVersionString)() })
}

/// A table of the version that the crate `ort` was built for is a copy with functions of ours; others are the library's.
unsafe extern "system" fn get_api(version: u32) -> *const OrtApi {
    static OURS: OnceLock<OrtApi> = OnceLock::new();
    let Some(base) = real_base() else { return std::ptr::null() };
    // SAFETY: the library's function takes a number.
    let table = unsafe { (base.GetApi)(version) };
    if version != ORT_API_VERSION {
        return table;
    }
    // SAFETY: the library's table of this version, which has the functions that the type has, or null.
    let Some(real) = (unsafe { table.as_ref() }) else { return table };
    let real = TABLE.get_or_init(|| real.clone());
    OURS.get_or_init(|| OrtApi {
        CreateSession: create_session,
        CreateSessionFromArray: create_session_from_array,
        Run: run,
        RunWithBinding: run_with_binding,
        ..real.clone()
    })
}

/// The status of a call that fails on purpose, or the library's table, by which it is made.
fn decide(seam: Seam, name: &str) -> Result<&'static OrtApi, OrtStatusPtr> {
    let Some(table) = TABLE.get() else { std::process::abort() };
    match answer(seam, || name.to_owned()) {
        Answer::Error(_) => {
            // SAFETY: the table is the library's; the text ends in 0, and is copied.
            Err(unsafe { (table.CreateStatus)(OrtErrorCode::ORT_FAIL, ORT_MESSAGE.as_ptr()) })
        }
        _ => Ok(table),
    }
}

unsafe extern "system" fn create_session(
    environment: *const OrtEnv,
    path: *const c_char,
    options: *const OrtSessionOptions,
    session: *mut *mut OrtSession,
) -> OrtStatusPtr {
    match decide(Seam::OrtOpen, "CreateSession") {
        // SAFETY: the caller's arguments.
        Ok(table) => unsafe { (table.CreateSession)(environment, path, options, session) },
        Err(status) => status,
    }
}

unsafe extern "system" fn create_session_from_array(
    environment: *const OrtEnv,
    bytes: *const c_void,
    length: usize,
    options: *const OrtSessionOptions,
    session: *mut *mut OrtSession,
) -> OrtStatusPtr {
    match decide(Seam::OrtOpen, "CreateSessionFromArray") {
        // SAFETY: the caller's arguments.
        Ok(table) => unsafe { (table.CreateSessionFromArray)(environment, bytes, length, options, session) },
        Err(status) => status,
    }
}

unsafe extern "system" fn run(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    inputs: *const *const c_char,
    given: *const *const OrtValue,
    input_count: usize,
    outputs: *const *const c_char,
    output_count: usize,
    made: *mut *mut OrtValue,
) -> OrtStatusPtr {
    match decide(Seam::OrtRun, "Run") {
        // SAFETY: the caller's arguments.
        Ok(table) => unsafe {
            (table.Run)(session, options, inputs, given, input_count, outputs, output_count, made)
        },
        Err(status) => status,
    }
}

unsafe extern "system" fn run_with_binding(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    binding: *const OrtIoBinding,
) -> OrtStatusPtr {
    match decide(Seam::OrtRun, "RunWithBinding") {
        // SAFETY: the caller's arguments.
        Ok(table) => unsafe { (table.RunWithBinding)(session, options, binding) },
        Err(status) => status,
    }
}
