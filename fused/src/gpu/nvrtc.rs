//! NVRTC: CUDA C++ as machine code.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use libloading::os::unix::Library;

use super::GpuError;

type Get = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;

/// The functions of NVRTC that are used.
#[derive(Debug)]
pub(super) struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int,
    log_size: Size,
    log: Get,
    cubin_size: Size,
    cubin: Get,
    destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
    _library: Library,
}

/// A program that is being compiled.
struct Program<'a>(&'a Nvrtc, *mut c_void);

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: created by us, destroyed once.
        unsafe { (self.0.destroy)(&raw mut self.1) };
    }
}

impl Nvrtc {
    pub fn of(library: Library) -> Result<Self, GpuError> {
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the fields' types are these functions' signatures in nvrtc.h of CUDA 12 and 13.
                *unsafe { library.get($name) }
                    .map_err(|e| GpuError::Library(format!("NVRTC has not all functions: {e}")))?
            };
        }
        Ok(Self {
            create: function!(b"nvrtcCreateProgram"),
            compile: function!(b"nvrtcCompileProgram"),
            log_size: function!(b"nvrtcGetProgramLogSize"),
            log: function!(b"nvrtcGetProgramLog"),
            cubin_size: function!(b"nvrtcGetCUBINSize"),
            cubin: function!(b"nvrtcGetCUBIN"),
            destroy: function!(b"nvrtcDestroyProgram"),
            _library: library,
        })
    }

    /// Machine code for devices of this compute capability.
    ///
    /// # Errors
    /// [`GpuError::Compile`], with what NVRTC printed.
    pub fn compile(&self, source: &str, (major, minor): (i32, i32)) -> Result<Vec<u8>, GpuError> {
        let source = CString::new(source).map_err(|e| GpuError::Compile(e.to_string()))?;
        // Warp groups multiply in code for this compute capability alone.
        let alone = if (major, minor) == (9, 0) { "a" } else { "" };
        let options = [
            format!("--gpu-architecture=sm_{major}{minor}{alone}"),
            "--std=c++17".into(),
            "--device-as-default-execution-space".into(),
            "--extra-device-vectorization".into(),
            SPLIT.into(),
        ];
        let options = options.map(|option| CString::new(option).unwrap_or_default());
        let options = options.each_ref().map(|option| option.as_ptr());
        match self.compile_with(&source, &options) {
            Err(Refusal::Option) => self.compile_with(&source, &options[..options.len() - 1]),
            made => made,
        }
        .map_err(GpuError::from)
    }

    /// The same with these options.
    pub fn compile_with(&self, source: &CStr, options: &[*const c_char]) -> Result<Vec<u8>, Refusal> {
        let mut raw = ptr::null_mut();
        // SAFETY: the texts end in 0 and live through the call; there are no headers.
        let created = unsafe {
            (self.create)(&raw mut raw, source.as_ptr(), c"plan.cu".as_ptr(), 0, ptr::null(), ptr::null())
        };
        if created != 0 {
            return Err(Refusal::Other(format!("NVRTC's error {created}")));
        }
        let program = Program(self, raw);
        // SAFETY: the program lives, and so do the options.
        let compiled = unsafe {
            (self.compile)(program.1, c_int::try_from(options.len()).unwrap_or(0), options.as_ptr())
        };
        match compiled {
            0 => program.get(self.cubin_size, self.cubin),
            INVALID_OPTION => Err(Refusal::Option),
            _ => {
                let log = program.get(self.log_size, self.log)?;
                let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
                Err(Refusal::Other(log.into_owned()))
            }
        }
    }
}

/// Two threads optimise a program's kernels: while NVRTC reads one program's source, others wait, and processors with them. NVRTC before 12.8
/// does not know it.
const SPLIT: &str = "--split-compile=2";

/// NVRTC's `NVRTC_ERROR_INVALID_OPTION`.
const INVALID_OPTION: c_int = 5;

/// Why nothing was compiled.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An option that this NVRTC does not know.
    Option,
    /// What NVRTC says.
    Other(String),
}

impl From<Refusal> for GpuError {
    fn from(refusal: Refusal) -> Self {
        Self::Compile(match refusal {
            Refusal::Option => "NVRTC does not know an option".into(),
            Refusal::Other(why) => why,
        })
    }
}

impl Program<'_> {
    fn get(&self, size: Size, get: Get) -> Result<Vec<u8>, Refusal> {
        let mut bytes = 0;
        // SAFETY: the program lives; the number is written to.
        let sized = unsafe { size(self.1, &raw mut bytes) };
        let mut got = vec![0_u8; bytes];
        // SAFETY: as many bytes as it says.
        let result = if sized == 0 { unsafe { get(self.1, got.as_mut_ptr().cast()) } } else { sized };
        if result == 0 { Ok(got) } else { Err(Refusal::Other(format!("NVRTC's error {result}"))) }
    }
}
