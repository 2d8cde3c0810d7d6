//! Finding and opening OpenVINO's shared library, once a process.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use cudainfer_files as files;
use libloading::os::unix;
use openvino_sys::{ov_status_e, ov_version_t};

use super::candidates;
use crate::inference::packages::beside;
use crate::inference::{InferenceError, exit, unwinder};
use crate::loader;
use crate::log::ENGINE as CAT;
use crate::sync::lock;

const HELP: &str = "install it with 'pip install openvino' in a .venv above the working directory, or name its library \
                    libopenvino_c.so with the property openvino or the variable CUDAINFER_OPENVINO";

/// What names the library, if the property does not.
const VARIABLE: &str = "CUDAINFER_OPENVINO";

/// The first release that serves, year and number: before it the types of tensors had other numbers, with which the `openvino`
/// crate would read the wrong ones.
const OLDEST: [u32; 2] = [2025, 1];

/// The library in use.
#[derive(Debug)]
pub(super) struct Library {
    path: PathBuf,
    /// As it names its build: `2026.4.1-22982-e213a147257-releases/2026/4`.
    pub version: String,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// OpenVINO's library, which is searched for and opened at the first call, and stays.
///
/// # Errors
/// [`InferenceError::Library`]: nothing was found, or what was found cannot be opened or is too old.
pub(super) fn open(named: Option<&Path>) -> Result<&'static Library, InferenceError> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&OPENING);
    if let Some(library) = LIBRARY.get() {
        if let Some(other) = named.filter(|path| *path != library.path) {
            let (loaded, other) = (library.path.display(), other.display());
            gst::warning!(CAT, "a process has one OpenVINO: '{loaded}' stays, '{other}' is not opened");
        }
        return Ok(library);
    }
    let Found { path, version, opened } = find(named)?;
    // The crate gets the same library, as long as this one is open.
    openvino_sys::library::load_from(&path).map_err(|e| {
        InferenceError::Library(format!("'{}' does not serve as OpenVINO: {e}; {HELP}", path.display()))
    })?;
    std::mem::forget(opened);
    open_plugins(&path);
    gst::info!(CAT, "OpenVINO from '{}': {version}", path.display());
    exit::register();
    Ok(LIBRARY.get_or_init(|| Library { path, version }))
}

/// Opens what OpenVINO opens by itself later, so that exceptions in it can be caught, where that makes a difference.
fn open_plugins(library: &Path) {
    if !unwinder::differs() {
        return;
    }
    let folder = library.parent().unwrap_or(Path::new(""));
    for name in ["libopenvino_onnx_frontend.so", "libopenvino_intel_cpu_plugin.so"] {
        for path in beside(folder, name) {
            // SAFETY: OpenVINO's own library, which it would open itself.
            match unsafe { unwinder::open(&path) } {
                // OpenVINO uses it to the end of the process.
                Ok(plugin) => std::mem::forget(plugin),
                Err(e) => gst::debug!(CAT, "left to OpenVINO: {}", loader::reason(&e)),
            }
        }
    }
}

/// A library that serves, held open.
struct Found {
    path: PathBuf,
    version: String,
    opened: unix::Library,
}

/// Whether the property, whose value is given, or the variable names a library.
pub(super) fn is_named(by_property: Option<&Path>) -> bool {
    by_property.is_some() || by_variable().is_some()
}

fn by_variable() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The library to use. A library that is named must serve; the others are tried in turn.
fn find(named: Option<&Path>) -> Result<Found, InferenceError> {
    let named = named.map(|path| ("the property openvino", path.to_owned()));
    if let Some((by, path)) = named.or_else(|| Some((VARIABLE, by_variable()?))) {
        return check(&path).map_err(|why| {
            InferenceError::Library(format!(
                "{by} names '{}', which is not a usable OpenVINO: {why}; {HELP}",
                path.display()
            ))
        });
    }
    let mut refused = Vec::new();
    for path in candidates::candidates() {
        let checked = match candidates::check(&path) {
            // A file that does not exist (any more) is reported by the loader.
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{e}. Change that, or name the library with the property openvino or {VARIABLE}"))
            }
            _ => check(&path),
        };
        match checked {
            Ok(found) => return Ok(found),
            // A file that is there and does not serve is reported; a name that the loader does not know is not.
            Err(why) if path.is_absolute() => {
                refused.push(format!("'{}' does not serve: {why}", path.display()))
            }
            Err(why) => gst::trace!(CAT, "not '{}': {why}", path.display()),
        }
    }
    let seen = if refused.is_empty() { String::new() } else { format!(" ({})", refused.join("; ")) };
    Err(InferenceError::Library(format!("OpenVINO's library was not found{seen}; {HELP}")))
}

/// Opens an OpenVINO and asks for its version. The `openvino` crate would panic at a library without its functions, so this looks
/// before the library is handed over.
fn check(path: &Path) -> Result<Found, String> {
    // A bare name is looked up by the loader, which reports a missing file itself; but it would wait forever at a FIFO.
    if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty())
        && let Err(e) = files::open(path)
        && e.kind() == std::io::ErrorKind::InvalidInput
    {
        return Err(e.to_string());
    }
    // SAFETY: opening a library runs its initialisers; this is the library that the user named or installed as OpenVINO, whose
    // initialisers are meant for this.
    let opened = unsafe { unwinder::open(path) }.map_err(|e| loader::reason(&e))?;
    let version = version(&opened)?;
    if release(&version).is_none_or(|release| release < OLDEST) {
        let [year, number] = OLDEST;
        return Err(format!("it is version '{version}', and at least {year}.{number} is needed"));
    }
    Ok(Found { path: path.to_owned(), version, opened })
}

fn version(library: &unix::Library) -> Result<String, String> {
    type Get = unsafe extern "C" fn(*mut ov_version_t) -> ov_status_e;
    type Free = unsafe extern "C" fn(*mut ov_version_t);
    let missing = |name: &str| format!("it does not export {name}");
    // SAFETY: the types are those that every release with a C API 2.0 exports under these names.
    let (get, free) =
        unsafe { (library.get::<Get>(b"ov_get_openvino_version"), library.get::<Free>(b"ov_version_free")) };
    let get = get.map_err(|_| missing("ov_get_openvino_version"))?;
    let free = free.map_err(|_| missing("ov_version_free"))?;
    let mut version =
        ov_version_t { buildNumber: std::ptr::null::<c_char>(), description: std::ptr::null::<c_char>() };
    // SAFETY: the function fills the struct, and leaves it alone where it fails.
    let status = unsafe { get(&raw mut version) };
    if status != ov_status_e::OK || version.buildNumber.is_null() {
        return Err("it does not tell its version".to_owned());
    }
    // SAFETY: the function has set it to a C string, which stays until it is freed.
    let text = unsafe { CStr::from_ptr(version.buildNumber) }.to_string_lossy().into_owned();
    // SAFETY: it was filled by the same library, and is not used any more.
    unsafe { free(&raw mut version) };
    Ok(text)
}

/// Year and number of a release.
fn release(version: &str) -> Option<[u32; 2]> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_by_its_year_and_number() {
        assert_eq!(release("2026.4.1-22982-e213a147257-releases/2026/4"), Some([2026, 4]));
        assert!(release("2025.0.0-17942").unwrap() < OLDEST && release("2025.1.0-18503").unwrap() >= OLDEST);
        for wrong in ["", "custom", "2026"] {
            assert_eq!(release(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_library_that_is_none_is_refused_with_what_it_lacks() {
        let refusal = |path: &str| check(Path::new(path)).err().unwrap();
        assert_eq!(refusal("libc.so.6"), "it does not export ov_get_openvino_version");
        assert!(refusal("/usr/lib/os-release").contains("ELF"), "{}", refusal("/usr/lib/os-release"));
        let named = find(Some(Path::new("libc.so.6"))).err().unwrap().to_string();
        assert!(
            named.starts_with("the property openvino names 'libc.so.6', which is not a usable OpenVINO"),
            "{named}"
        );
        assert!(named.contains("pip install openvino"), "{named}");
    }
}
