//! Providers that are libraries of their own: plugins of ONNX Runtime 1.23 and newer, as Python's packages `onnxruntime-ep-…` bring
//! them. A library is registered once a process, and says then which devices it has.
//!
//! `ort` is asked for the functions of 1.17, so that older libraries go on to serve. Those for plugins are looked up in the table of
//! functions that ONNX Runtime gives for the newer version.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

use cudainfer_files as files;
use libloading::os::unix::Library;
use ort::AsPointer;
use ort::environment::Environment;
use ort::session::builder::SessionBuilder;

use super::gpu_libraries::{missing, open_missing};
use super::{candidates, runtime_library};
use crate::inference::packages::beside;
use crate::inference::{Config, unwinder};
use crate::loader;
use crate::log::ENGINE as CAT;
use crate::sync::lock;

/// The version of ONNX Runtime that has all of these functions.
const SINCE: u32 = 23;

/// Where the functions are in the table, which only ever grows (onnxruntime_c_api.h, `struct OrtApi`).
mod index {
    pub const REGISTER_LIBRARY: usize = 301;
    pub const GET_DEVICES: usize = 303;
    pub const APPEND_PROVIDER: usize = 304;
    pub const DEVICE_PROVIDER: usize = 312;
}

/// ONNX Runtime's status: null where all went well.
type Status = *mut ort::sys::OrtStatus;
type RegisterLibrary = unsafe extern "C" fn(*mut ort::sys::OrtEnv, *const c_char, *const c_char) -> Status;
type GetDevices =
    unsafe extern "C" fn(*const ort::sys::OrtEnv, *mut *const *const c_void, *mut usize) -> Status;
type AppendProvider = unsafe extern "C" fn(
    *mut ort::sys::OrtSessionOptions,
    *mut ort::sys::OrtEnv,
    *const *const c_void,
    usize,
    *const *const c_char,
    *const *const c_char,
    usize,
) -> Status;
type DeviceProvider = unsafe extern "C" fn(*const c_void) -> *const c_char;

/// The functions for plugins.
#[derive(Clone, Copy)]
struct Functions {
    register: RegisterLibrary,
    devices: GetDevices,
    append: AppendProvider,
    provider: DeviceProvider,
}

/// A device as ONNX Runtime describes it for one provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Device(NonNull<c_void>);

// SAFETY: ONNX Runtime keeps the description, unchanged, until the provider's library is unregistered, which we never do.
unsafe impl Send for Device {}

/// A library that was registered: the provider's name and its devices here, or why it does not serve.
type Registered = Result<(String, Vec<Device>), String>;

/// The libraries that were registered, by their paths.
static REGISTERED: Mutex<Vec<(PathBuf, Registered)>> = Mutex::new(Vec::new());

/// Held while a session on a plugin is opened, and while one of [`turn`]'s runs or is dropped.
static TURN: Mutex<()> = Mutex::new(());

/// What sessions of this provider hold while they run: all those of WebGPU write the commands for their device into one list, unguarded.
fn turn(provider: &str) -> Option<&'static Mutex<()>> {
    (provider == "WebGpuExecutionProvider").then_some(&TURN)
}

/// Waits until no session on a plugin is opened.
pub(super) fn opening() -> MutexGuard<'static, ()> {
    lock(&TURN)
}

/// Has sessions of the builder run on the plugin that `config` names, or on the first that Python's packages have. Returns what
/// they hold while they run, if only one may.
///
/// # Errors
/// A phrase: what is missing, what the library is, or its own words.
pub(super) fn append(
    builder: &mut SessionBuilder,
    environment: &Environment,
    config: &Config,
) -> Result<Option<&'static Mutex<()>>, String> {
    let functions = functions()?;
    let library = match &config.plugin {
        Some(library) => library.clone(),
        None => found()?,
    };
    let (name, devices) = registered(functions, environment, &library)?;
    let text =
        |text: &str| CString::new(text).map_err(|_| format!("provider-options: '{text}' has a zero byte"));
    let keys = config.plugin_options.iter().map(|(key, _)| text(key)).collect::<Result<Vec<_>, _>>()?;
    let values = config.plugin_options.iter().map(|(_, value)| text(value)).collect::<Result<Vec<_>, _>>()?;
    let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
    let (keys, values) = (pointers(&keys), pointers(&values));
    // One device: a session of several is for providers that divide a model among them.
    let first = devices.first().map(|device| device.0.as_ptr().cast_const());
    let Some(first) = first else {
        return Err(format!(
            "'{}' is the provider {name}, which finds no device on this machine that it can use",
            library.display()
        ));
    };
    // SAFETY: the options and the environment are those of this ONNX Runtime, as is the device; the arrays have as many elements as is
    // said, and stay until the call returns.
    let status = unsafe {
        (functions.append)(
            builder.ptr_mut(),
            environment.ptr().cast_mut(),
            &raw const first,
            1,
            keys.as_ptr(),
            values.as_ptr(),
            keys.len(),
        )
    };
    check(status).map_err(|why| format!("{name} refuses: {why}"))?;
    Ok(turn(&name))
}

/// The functions of the ONNX Runtime in use.
///
/// # Errors
/// It is too old.
fn functions() -> Result<Functions, String> {
    let table = runtime_library::table(SINCE).ok_or_else(|| {
        format!(
            "plugins need ONNX Runtime 1.{SINCE} or newer, and the one in use is {}. Set onnxruntime to a newer one",
            runtime_library::version().split(" (").next().unwrap_or_default()
        )
    })?;
    // SAFETY: the table of this version has these functions there, with these types, in every release that offers it.
    unsafe {
        let at = |index: usize| table.add(index);
        Ok(Functions {
            register: at(index::REGISTER_LIBRARY).cast::<RegisterLibrary>().read(),
            devices: at(index::GET_DEVICES).cast::<GetDevices>().read(),
            append: at(index::APPEND_PROVIDER).cast::<AppendProvider>().read(),
            provider: at(index::DEVICE_PROVIDER).cast::<DeviceProvider>().read(),
        })
    }
}

/// The first plugin in Python's packages.
fn found() -> Result<PathBuf, String> {
    let packages = candidates::site_packages(runtime_library::path());
    let libraries = packages.iter().flat_map(|packages| plugins_in(packages));
    let mut untrusted = String::new();
    for library in libraries {
        match files::trusted(&library) {
            Ok(_) => return Ok(library),
            Err(e) => untrusted = format!(" ('{}' is not opened: {e})", library.display()),
        }
    }
    Err(format!(
        "no plugin was found in Python's packages{untrusted}. Install one, with 'pip install onnxruntime-ep-webgpu' for example, or \
         name its library with provider-library"
    ))
}

/// The plugins' libraries in a folder of Python packages: `onnxruntime_ep_NAME/libonnxruntime_providers_NAME….so`.
fn plugins_in(packages: &Path) -> Vec<PathBuf> {
    let folders = beside(packages, "onnxruntime_ep_").into_iter().filter(|folder| folder.is_dir());
    let libraries = folders.flat_map(|folder| beside(&folder, "libonnxruntime_providers_"));
    libraries.filter(|file| file.extension().is_some_and(|ending| ending == "so")).collect()
}

/// The provider of a library, which is registered at the first call.
fn registered(functions: Functions, environment: &Environment, library: &Path) -> Registered {
    let mut all = lock(&REGISTERED);
    if let Some((_, known)) = all.iter().find(|(path, _)| path == library) {
        return known.clone();
    }
    let registered = register(functions, environment, library)
        .map_err(|why| format!("the plugin '{}' does not serve: {why}", library.display()));
    all.push((library.to_owned(), registered.clone()));
    registered
}

fn register(functions: Functions, environment: &Environment, library: &Path) -> Registered {
    open(library)?;
    let before = devices(functions, environment)?;
    // Two plugins may have the same file name.
    let path =
        CString::new(library.as_os_str().as_bytes()).map_err(|_| "its name has a zero byte".to_owned())?;
    // SAFETY: the environment is this ONNX Runtime's, and both texts end with a zero byte.
    let status = unsafe { (functions.register)(environment.ptr().cast_mut(), path.as_ptr(), path.as_ptr()) };
    check(status)?;
    let all = devices(functions, environment)?;
    let own: Vec<Device> = all.into_iter().filter(|device| !before.contains(device)).collect();
    let name = own.first().map_or_else(
        || name_of(library),
        |device| {
            // SAFETY: the device is one of this ONNX Runtime's, whose descriptions have a name that stays as long as they do.
            let name =
                unsafe { (functions.provider)(device.0.as_ptr()).as_ref().map(|name| CStr::from_ptr(name)) };
            name.unwrap_or_default().to_string_lossy().into_owned()
        },
    );
    gst::info!(CAT, "the plugin {name} from '{}' has {} devices", library.display(), own.len());
    Ok((name, own))
}

/// What a library without a device is called: `webgpu` of `libonnxruntime_providers_webgpu.so`.
fn name_of(library: &Path) -> String {
    let stem = library.file_stem().unwrap_or_default().to_string_lossy();
    stem.trim_start_matches("libonnxruntime_providers_").to_owned()
}

/// All devices of all providers.
fn devices(functions: Functions, environment: &Environment) -> Result<Vec<Device>, String> {
    let (mut first, mut count) = (std::ptr::null::<*const c_void>(), 0);
    // SAFETY: the environment is this ONNX Runtime's, which writes an array and its length.
    check(unsafe { (functions.devices)(environment.ptr(), &raw mut first, &raw mut count) })?;
    if first.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the array has that many elements, and stays until another library is registered, for which a lock is held.
    let all = unsafe { std::slice::from_raw_parts(first, count) };
    Ok(all.iter().filter_map(|device| NonNull::new(device.cast_mut()).map(Device)).collect())
}

/// Opens a plugin before ONNX Runtime does, so that exceptions in it can be caught, and looks whether it is one. What it needs is
/// looked for beside it: wheels bring `libcudart.so.12.9.79`, which nobody would find as `libcudart.so.12`.
fn open(library: &Path) -> Result<(), String> {
    if let Err(e) = files::open(library)
        && e.kind() == std::io::ErrorKind::InvalidInput
    {
        return Err(e.to_string());
    }
    let opened = open_with_needed(library, &mut Vec::new())?;
    // SAFETY: the function is only looked up.
    let entry = unsafe { opened.get::<unsafe extern "C" fn()>(b"CreateEpFactories") };
    if entry.is_err() {
        return Err("it does not export CreateEpFactories, so it is no plugin of ONNX Runtime".to_owned());
    }
    // ONNX Runtime uses it to the end of the process.
    std::mem::forget(opened);
    Ok(())
}

/// Opens a library after those that it needs and the loader does not find: `tried` are the ones beside it that were opened.
fn open_with_needed(library: &Path, tried: &mut Vec<PathBuf>) -> Result<Library, String> {
    loop {
        // SAFETY: the user names or has installed the library as a plugin of ONNX Runtime, or it lies beside one, put there by the same
        // maker; its initialisers are meant for this.
        let why = match unsafe { unwinder::open(library) } {
            Ok(opened) => return Ok(opened),
            Err(e) => loader::reason(&e),
        };
        let folder = library.parent().unwrap_or(Path::new(""));
        let needed = missing(&why).and_then(|name| beside(folder, name).pop());
        match needed.filter(|needed| !tried.contains(needed)) {
            Some(needed) => {
                files::trusted(&needed).map_err(|e| format!("'{}' is not opened: {e}", needed.display()))?;
                tried.push(needed.clone());
                // It stays open for the one that needs it.
                std::mem::forget(open_with_needed(&needed, tried)?);
            }
            None if open_missing(&why)? => (),
            None => return Err(why),
        }
    }
}

/// ONNX Runtime's words where a status is one of failure.
fn check(status: Status) -> Result<(), String> {
    if status.is_null() {
        return Ok(());
    }
    let api = ort::api();
    // SAFETY: the status is one of failure, whose words stay until it is released; it is not used afterwards.
    let words = unsafe {
        let words = CStr::from_ptr((api.GetErrorMessage)(status)).to_string_lossy().into_owned();
        (api.ReleaseStatus)(status);
        words
    };
    gst::warning!(CAT, "a plugin: {words}");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(words.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_lie_where_the_versions_before_have_left_off() {
        // As of 1.17 there were 276 functions; 4 came with 1.18, 5 with 1.20, and 16 of 1.22 are before the first of these.
        let since_17 = size_of::<ort::sys::OrtApi>() / size_of::<*const c_void>();
        assert_eq!(since_17 + 4 + 5 + 16, index::REGISTER_LIBRARY);
        assert_eq!(std::mem::offset_of!(ort::sys::OrtApi, ReleaseStatus), 93 * size_of::<*const c_void>());
    }

    #[test]
    fn plugins_are_found_in_packages_of_their_own_and_nothing_else_is() {
        let packages = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = packages.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            folder
        };
        let (plugin, runtime) = (folder("onnxruntime_ep_webgpu"), folder("onnxruntime/capi"));
        for file in
            ["libonnxruntime_providers_webgpu.so", "libonnxruntime_providers_webgpu.so.1", "libwebgpu.so"]
        {
            std::fs::write(plugin.join(file), "").unwrap();
        }
        std::fs::write(runtime.join("libonnxruntime_providers_cuda.so"), "").unwrap();
        assert_eq!(plugins_in(packages.path()), [plugin.join("libonnxruntime_providers_webgpu.so")]);
        assert_eq!(name_of(&plugins_in(packages.path())[0]), "webgpu");
    }
}
