//! Compiles `cuda/*.cu` with NVRTC 12: machine code for each architecture below, and PTX that newer GPUs' drivers
//! compile, all compressed by zlib. That takes the one library libnvrtc.so.12, and neither a GPU, a driver nor nvcc.
//!
//! `CUDAINFER_CUDA_ARCHS=90` (or `86,90`) builds for these compute capabilities only, which is faster.

#![allow(clippy::expect_used, clippy::panic, missing_docs)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, fs::File, ptr, thread};

use flate2::{Compression, write::ZlibEncoder};
use libloading::Library;

const ARCHITECTURES: &str = "75,80,86,89,90";

/// Without contraction of `a * b + c`, so that the kernels round as the CPU does; they say `fmaf` where they want it.
const OPTIONS: [&str; 3] = ["--std=c++17", "--fmad=false", "--device-as-default-execution-space"];

/// Machine code or PTX, which a kernel is compiled to.
#[derive(Clone, Copy)]
enum Target {
    MachineCode(u32),
    Ptx,
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let sources = here.join("cuda");
    println!("cargo::rerun-if-changed=cuda");
    for variable in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CUDAINFER_CUDA_ARCHS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let mut operations: Vec<String> = fs::read_dir(&sources)
        .expect("kernels/cuda can be read")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".cu").map(str::to_owned))
        .collect();
    operations.sort();
    let wanted = env::var("CUDAINFER_CUDA_ARCHS").unwrap_or_else(|_| ARCHITECTURES.into());
    let architectures: Vec<u32> = wanted
        .split([',', ';', ' '])
        .filter(|text| !text.is_empty())
        .map(|text| {
            text.parse().unwrap_or_else(|_| panic!("CUDAINFER_CUDA_ARCHS: '{text}' is no number like 90"))
        })
        .collect();

    let nvrtc = Nvrtc::open(&here);
    let targets = || architectures.iter().copied().map(Target::MachineCode).chain([Target::Ptx]);
    let jobs: Vec<(&str, Target)> = operations
        .iter()
        .flat_map(|operation| targets().map(move |target| (operation.as_str(), target)))
        .collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((operation, target)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let image = nvrtc.compile(&sources, operation, *target);
                    let file = File::create(out.join(file(operation, *target)));
                    let mut encoder =
                        ZlibEncoder::new(file.expect("OUT_DIR can be written"), Compression::default());
                    encoder.write_all(&image).expect("OUT_DIR can be written");
                    encoder.finish().expect("OUT_DIR can be written");
                }
            });
        }
    });

    let mut table = String::from("pub(super) static IMAGES: &[Images] = &[\n");
    for operation in &operations {
        let include =
            |target| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{}\"))", file(operation, target));
        let _ = writeln!(table, "    Images {{ operation: {operation:?}, machine_code: &[");
        for architecture in &architectures {
            let _ =
                writeln!(table, "        ({architecture}, {}),", include(Target::MachineCode(*architecture)));
        }
        let _ = writeln!(table, "    ], ptx: {} }},", include(Target::Ptx));
    }
    table.push_str("];\n");
    fs::write(out.join("images.rs"), table).expect("OUT_DIR can be written");
}

fn file(operation: &str, target: Target) -> String {
    match target {
        Target::MachineCode(architecture) => format!("{operation}.sm_{architecture}.cubin.zz"),
        Target::Ptx => format!("{operation}.ptx.zz"),
    }
}

/// The functions of NVRTC that are used.
struct Nvrtc {
    create: unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int,
    log_size: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
    log: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    ptx_size: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
    ptx: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
    _library: Library,
}

impl Nvrtc {
    /// From CUDA's toolkit, else from the Python package nvidia-cuda-nvrtc-cu12, else by the loader's path.
    fn open(here: &Path) -> Self {
        const NAME: &str = "libnvrtc.so.12";
        let mut places = Vec::new();
        for variable in ["CUDA_HOME", "CUDA_PATH"] {
            places.extend(env::var_os(variable).map(|home| PathBuf::from(home).join("lib64")));
        }
        let environments = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
        let environments =
            environments.into_iter().chain(here.ancestors().map(|folder| folder.join(".venv")));
        for python in
            environments.flat_map(|environment| fs::read_dir(environment.join("lib"))).flatten().flatten()
        {
            places.push(python.path().join("site-packages/nvidia/cuda_nvrtc/lib"));
        }
        places.push("/usr/local/cuda/lib64".into());
        let found = places.into_iter().map(|place| place.join(NAME)).find(|path| path.exists());
        let path = found.unwrap_or_else(|| NAME.into());
        // SAFETY: NVRTC's initialisers only set it up.
        let library = unsafe { Library::new(&path) }.unwrap_or_else(|error| {
            panic!(
                "{NAME}, which compiles the CUDA kernels, cannot be opened ({error}). scripts/setup installs it into \
                 .venv (pip install nvidia-cuda-nvrtc-cu12); or set CUDA_HOME to a CUDA 12 toolkit."
            )
        });
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the fields' types are these functions' signatures in nvrtc.h of CUDA 12.
                *unsafe { library.get($name) }.expect("NVRTC 12 has it")
            };
        }
        Self {
            create: function!("nvrtcCreateProgram"),
            compile: function!("nvrtcCompileProgram"),
            log_size: function!("nvrtcGetProgramLogSize"),
            log: function!("nvrtcGetProgramLog"),
            cubin_size: function!("nvrtcGetCUBINSize"),
            cubin: function!("nvrtcGetCUBIN"),
            ptx_size: function!("nvrtcGetPTXSize"),
            ptx: function!("nvrtcGetPTX"),
            destroy: function!("nvrtcDestroyProgram"),
            _library: library,
        }
    }

    fn compile(&self, sources: &Path, operation: &str, target: Target) -> Vec<u8> {
        let name = format!("{operation}.cu");
        let source = fs::read(sources.join(&name)).expect("the kernel's source can be read");
        let text = |text: String| CString::new(text).expect("no zero bytes");
        let (source, name) = (CString::new(source).expect("no zero bytes"), text(name));
        let architecture = match target {
            Target::MachineCode(architecture) => format!("sm_{architecture}"),
            Target::Ptx => "compute_75".into(),
        };
        let options: Vec<CString> = OPTIONS
            .iter()
            .map(|option| text((*option).into()))
            .chain([
                text(format!("--gpu-architecture={architecture}")),
                text(format!("--include-path={}", sources.display())),
            ])
            // Profilers need this; it makes the kernels four times as large.
            .chain((env::var("DEBUG").as_deref() == Ok("true")).then(|| text("--generate-line-info".into())))
            .collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).expect("a few");
        let mut program = ptr::null_mut();
        // SAFETY: all pointers point to live values, and the texts end in 0.
        unsafe {
            let made =
                (self.create)(&raw mut program, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null());
            assert_eq!(made, 0, "nvrtcCreateProgram failed");
            let compiled = (self.compile)(program, count, options.as_ptr());
            let log = Self::take(program, self.log_size, self.log);
            let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
            assert_eq!(compiled, 0, "{operation}.cu for {architecture}:\n{log}");
            for line in log.lines().filter(|line| !line.trim().is_empty()) {
                println!("cargo::warning={line}");
            }
            let mut image = match target {
                Target::MachineCode(_) => Self::take(program, self.cubin_size, self.cubin),
                Target::Ptx => Self::take(program, self.ptx_size, self.ptx),
            };
            // The driver reads PTX up to its zero byte.
            if matches!(target, Target::Ptx) && image.last() != Some(&0) {
                image.push(0);
            }
            (self.destroy)(&raw mut program);
            image
        }
    }

    /// # Safety
    /// The program is live, and the functions belong together.
    unsafe fn take(
        program: *mut c_void,
        size: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
        get: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    ) -> Vec<u8> {
        let mut bytes = 0;
        // SAFETY: the caller's promise; the buffer is as long as NVRTC requires.
        unsafe {
            assert_eq!(size(program, &raw mut bytes), 0, "NVRTC gives no size");
            let mut data = vec![0u8; bytes];
            assert_eq!(get(program, data.as_mut_ptr().cast()), 0, "NVRTC gives no result");
            data
        }
    }
}
