//! Codes of ONNX Runtime's errors that are not among those of its interface.
//!
//! If the system refuses to open or read a file, the code is the system's own: 24 where the process has no file descriptor left
//! (`ReportSystemError` in ONNX Runtime's core/platform/posix/env.cc). The crate `ort` takes each code for a value of an enum, which ended
//! the process with a jump to nowhere.

use std::ffi::c_int;
use std::mem::transmute;
use std::sync::OnceLock;

use libloading::os::unix::Library;
use ort::sys::{ORT_API_VERSION, OrtApiBase, OrtErrorCode, OrtStatus};

type GetErrorCode = unsafe extern "system" fn(*const OrtStatus) -> c_int;

/// The library's own function, of which any number may come.
static REAL: OnceLock<GetErrorCode> = OnceLock::new();

/// The codes of the interface, each in the place of its number.
const CODES: [OrtErrorCode; 16] = [
    OrtErrorCode::ORT_OK,
    OrtErrorCode::ORT_FAIL,
    OrtErrorCode::ORT_INVALID_ARGUMENT,
    OrtErrorCode::ORT_NO_SUCHFILE,
    OrtErrorCode::ORT_NO_MODEL,
    OrtErrorCode::ORT_ENGINE_ERROR,
    OrtErrorCode::ORT_RUNTIME_EXCEPTION,
    OrtErrorCode::ORT_INVALID_PROTOBUF,
    OrtErrorCode::ORT_MODEL_LOADED,
    OrtErrorCode::ORT_NOT_IMPLEMENTED,
    OrtErrorCode::ORT_INVALID_GRAPH,
    OrtErrorCode::ORT_EP_FAIL,
    OrtErrorCode::ORT_MODEL_LOAD_CANCELED,
    OrtErrorCode::ORT_MODEL_REQUIRES_COMPILATION,
    OrtErrorCode::ORT_NOT_FOUND,
    OrtErrorCode::ORT_DEVICE_RESET,
];

/// Has `ort` see codes of the interface alone: before it uses the library for the first time.
pub(super) fn confine(library: &Library) {
    // SAFETY: the function has had this type in every release, and its tables are the library's, which stays open.
    let table = unsafe {
        let base = library.get::<unsafe extern "C" fn() -> *const OrtApiBase>(b"OrtGetApiBase");
        base.ok().and_then(|base| base().as_ref()).and_then(|base| (base.GetApi)(ORT_API_VERSION).as_ref())
    };
    // Without one, `ort` reports what is wrong.
    let Some(table) = table else { return };
    // SAFETY: an enum with the representation of an i32 is returned as that.
    let real = unsafe {
        transmute::<unsafe extern "system" fn(*const OrtStatus) -> OrtErrorCode, GetErrorCode>(
            table.GetErrorCode,
        )
    };
    REAL.get_or_init(|| real);
    let mut confined = table.clone();
    confined.GetErrorCode = confined_code;
    ort::set_api(confined);
}

unsafe extern "system" fn confined_code(status: *const OrtStatus) -> OrtErrorCode {
    // SAFETY: the caller's status is one of the library's.
    REAL.get().map_or(OrtErrorCode::ORT_FAIL, |real| code(unsafe { real(status) }))
}

/// The code of this number; a general failure where it is none of the interface.
fn code(number: c_int) -> OrtErrorCode {
    let place = usize::try_from(number).ok();
    place.and_then(|place| CODES.get(place)).copied().unwrap_or(OrtErrorCode::ORT_FAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_system_are_a_general_failure() {
        assert!((0..).zip(CODES).all(|(number, known)| known as c_int == number && code(number) == known));
        for number in [-1, 16, libc::EMFILE, libc::ENFILE, c_int::MAX] {
            assert_eq!(code(number), OrtErrorCode::ORT_FAIL, "{number}");
        }
    }
}
