//! A target in libFuzzer: its mutations are kept where they reach what nothing has reached before.
//!
//! The counters are those of the crate that has the target, which `scripts/fuzz` compiles with them.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

use super::case::Case;

type Read = Box<dyn FnMut(&[u8])>;

thread_local! {
    static READ: RefCell<Option<Read>> = const { RefCell::new(None) };
}

/// The options of libFuzzer, with spaces between them.
const OPTIONS: &str = "CUDAINFER_FUZZ_OPTIONS";

unsafe extern "C" {
    /// libFuzzer as a function (<https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library>).
    fn LLVMFuzzerRunDriver(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        user: unsafe extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;

    /// libfuzzer-sys calls the function below from it.
    fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int;
}

/// The name by which libfuzzer-sys finds the target, and the type that it declares.
#[allow(improper_ctypes_definitions)] // Rust calls it, on both sides
#[unsafe(no_mangle)]
extern "C" fn rust_fuzzer_test_input(bytes: &[u8]) -> i32 {
    READ.with_borrow_mut(|read| {
        if let Some(read) = read {
            read(bytes);
        }
    });
    0
}

/// Ends the process when libFuzzer has made as many cases as its options say, or has found something.
pub fn run<R: FnMut(&[u8]) + 'static>(mut case: Case<R>, _examples: &[Vec<u8>]) {
    // libfuzzer-sys must be linked for what it exports.
    let _ = libfuzzer_sys::rust_libfuzzer_debug_path;
    eprintln!("TARGET: {}", case.name());
    READ.set(Some(Box::new(move |bytes| case.run(bytes))));
    let options = std::env::var(OPTIONS).unwrap_or_default();
    let arguments = std::iter::once("fuzz").chain(options.split_whitespace());
    let arguments: Vec<CString> = arguments.filter_map(|argument| CString::new(argument).ok()).collect();
    let mut pointers: Vec<*mut c_char> =
        arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    let mut count = c_int::try_from(pointers.len()).unwrap_or_default();
    pointers.push(std::ptr::null_mut());
    let mut pointer = pointers.as_mut_ptr();
    // SAFETY: the arguments live until it returns, end with a null pointer as those of main do, and are not written; the function
    // that it calls has the type that it asks for.
    let status = unsafe { LLVMFuzzerRunDriver(&raw mut count, &raw mut pointer, LLVMFuzzerTestOneInput) };
    assert_eq!(status, 0, "libFuzzer has ended with {status}");
}
