//! Compiles kernels with NVRTC, for the oldest and a newer compute capability.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, ptr};

use libloading::Library;

use crate::emit::{Kernel, prelude};

const NAME: &str = "libnvrtc.so.12";

static NVRTC: LazyLock<Library> = LazyLock::new(|| {
    let found = folders().into_iter().map(|folder| folder.join(NAME)).find(|path| path.exists());
    // SAFETY: NVRTC's initialisers only set it up.
    unsafe { Library::new(found.unwrap_or_else(|| NAME.into())) }.unwrap()
});

/// Where NVRTC is looked for, as kernels/build.rs does.
pub(crate) fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .iter()
        .filter_map(env::var_os)
        .map(|home| PathBuf::from(home).join("lib64"))
        .collect();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let environments = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let environments = environments.into_iter().chain(here.ancestors().map(|folder| folder.join(".venv")));
    for python in
        environments.flat_map(|environment| fs::read_dir(environment.join("lib"))).flatten().flatten()
    {
        folders.push(python.path().join("site-packages/nvidia/cuda_nvrtc/lib"));
    }
    folders.push("/usr/local/cuda/lib64".into());
    folders
}

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

/// Compiles kernels in one program to machine code for both architectures. Warnings are failures, too, and arrays that do not stay in registers.
pub(super) fn compile(kernels: &[Kernel]) -> Vec<Vec<u8>> {
    let mut source = prelude().to_owned();
    let sources: BTreeMap<&str, &str> =
        kernels.iter().map(|kernel| (&kernel.name[..], &kernel.source[..])).collect();
    assert!(kernels.iter().all(|kernel| sources[&kernel.name[..]] == kernel.source), "one name, one source");
    sources.values().for_each(|kernel| source.push_str(kernel));
    ["sm_75", "sm_90a"].iter().map(|architecture| cubin(&source, architecture)).collect()
}

/// The most bytes of registers that a thread may spill: the compiler's choice of registers in a kernel's head and end, but no array.
const MOST_SPILLED: usize = 64;

/// How much a line of the log says that a kernel spills.
fn spilled(line: &str) -> Option<usize> {
    let (before, _) = line.split_once(" bytes spill stores")?;
    before.rsplit(' ').next()?.parse().ok()
}

fn cubin(source: &str, architecture: &str) -> Vec<u8> {
    let text = CString::new(source).unwrap();
    let options =
        ["--std=c++17".to_owned(), "--ptxas-options=-v".into(), format!("--gpu-architecture={architecture}")];
    let options: Vec<CString> = options.into_iter().map(|option| CString::new(option).unwrap()).collect();
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = ptr::null_mut();
    // SAFETY: the types are the functions' signatures in nvrtc.h of CUDA 12; all pointers point to live values, and the texts end in 0.
    unsafe {
        let create = NVRTC.get::<Create>("nvrtcCreateProgram").unwrap();
        let compile = NVRTC.get::<Compile>("nvrtcCompileProgram").unwrap();
        let destroy = NVRTC.get::<Destroy>("nvrtcDestroyProgram").unwrap();
        let name = c"kernels.cu".as_ptr();
        assert_eq!(create(&raw mut program, text.as_ptr(), name, 0, ptr::null(), ptr::null()), 0);
        let code = compile(program, c_int::try_from(options.len()).unwrap(), options.as_ptr());
        let log = take(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
        let log = CStr::from_bytes_until_nul(&log).unwrap().to_string_lossy();
        assert!(code == 0 && !log.contains("warning"), "{architecture}: {log}\n{source}");
        let worst = log.lines().filter_map(spilled).max().unwrap_or(0);
        assert!(worst <= MOST_SPILLED, "{architecture}: {log}");
        let image = take(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
        destroy(&raw mut program);
        image
    }
}

/// # Safety
/// The program is live, and the functions are NVRTC's of this kind.
unsafe fn take(program: *mut c_void, size: &str, get: &str) -> Vec<u8> {
    // SAFETY: the caller's promise; the buffer is as long as NVRTC requires.
    unsafe {
        let (size, get) = (NVRTC.get::<Size>(size).unwrap(), NVRTC.get::<Get>(get).unwrap());
        let mut bytes = 0;
        assert_eq!(size(program, &raw mut bytes), 0);
        let mut data = vec![0u8; bytes];
        assert_eq!(get(program, data.as_mut_ptr().cast()), 0);
        data
    }
}
