//! Finding and opening ONNX Runtime's shared library, once a process.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock};

use cudainfer_files as files;
use libloading::os::unix::Library;
use ort::environment::Environment;

use super::candidates;
use super::error_codes;
use super::messages::{CAT, EnvironmentLogger};
use super::operators;
use crate::inference::{InferenceError, exit, unwinder};
use crate::loader;
use crate::sync::lock;

const HELP: &str = "install it with 'pip install onnxruntime' in a .venv above the working directory or, for the Debian \
                    package, with 'sudo cudainfer-setup-onnxruntime', or name its library with the property onnxruntime or \
                    the variable ORT_DYLIB_PATH";

/// The environment, the library that it is of, and that library's version.
static ENVIRONMENT: OnceLock<(Environment, PathBuf, String)> = OnceLock::new();

/// The path of the library in use, once it is opened.
pub(super) fn path() -> Option<&'static Path> {
    ENVIRONMENT.get().map(|(_, path, _)| path.as_path())
}

/// The version of the library in use, and what else identifies its build; empty before it is opened.
pub(super) fn version() -> String {
    ENVIRONMENT
        .get()
        .map_or_else(String::new, |(_, _, version)| format!("ONNX Runtime {version} ({})", ort::info()))
}

/// The table of functions that the library in use has for this version of the API, or nothing where it is older. A table has pointers
/// to functions alone.
pub(super) fn table(minor: u32) -> Option<NonNull<*const c_void>> {
    let (_, path, version) = ENVIRONMENT.get()?;
    // Asked for a version that it does not know, the library would complain on the standard error.
    if minor_of(version) < minor {
        return None;
    }
    // SAFETY: the library is open already, so that nothing is initialised, and the function has had this type in every release.
    unsafe {
        let library = unwinder::open(path).ok()?;
        let base =
            library.get::<unsafe extern "C" fn() -> *const ort::sys::OrtApiBase>(b"OrtGetApiBase").ok()?;
        let table = (base().as_ref()?.GetApi)(minor);
        std::mem::forget(library);
        NonNull::new(table.cast_mut().cast())
    }
}

/// 21 of "1.21.0".
fn minor_of(version: &str) -> u32 {
    version.split('.').nth(1).and_then(|part| part.parse().ok()).unwrap_or(0)
}

/// Which library is taken of those that are found and serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preferred {
    /// The first one.
    First,
    /// The newest one: plugins ask for one that is as new as they are.
    Newest,
}

/// ONNX Runtime's environment; the library is searched for and opened at the first call, and stays.
///
/// # Errors
/// [`InferenceError::Library`]: nothing was found, or what was found cannot be opened or is too old.
pub fn environment(
    library: Option<&Path>,
    preferred: Preferred,
) -> Result<&'static Environment, InferenceError> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&OPENING);
    if let Some((environment, loaded, _)) = ENVIRONMENT.get() {
        if let Some(other) = library.filter(|path| *path != loaded) {
            let (loaded, other) = (loaded.display(), other.display());
            gst::warning!(CAT, "a process has one ONNX Runtime: '{loaded}' stays, '{other}' is not opened");
        }
        return Ok(environment);
    }
    // `ort` gets the same library, as long as this one is open.
    let Found { path, version, opened, shared } = find(library, preferred)?;
    error_codes::confine(&opened);
    let logger = EnvironmentLogger::default();
    let environment = ort::init_from(&path)
        .map_err(|e| {
            InferenceError::Library(format!(
                "'{}' does not serve as ONNX Runtime: {e}; {HELP}",
                path.display()
            ))
        })?
        .with_name("cudainfer")
        .with_telemetry(false)
        .with_logger(logger.function())
        .build()
        .map_err(|e| {
            InferenceError::Library(format!("ONNX Runtime at '{}' does not start: {e}", path.display()))
        })?;
    logger.set_level(&environment, shared);
    operators::register(&environment);
    gst::info!(CAT, "ONNX Runtime from '{}': {}", path.display(), ort::info());
    std::mem::forget(opened);
    exit::register();
    Ok(&ENVIRONMENT.get_or_init(|| (environment, path, version)).0)
}

/// Opens the library of a GPU provider, `cuda` for example, with its own unwinder, where that makes a difference. ONNX Runtime must have
/// given the providers its own functions before: their initialisers call them.
///
/// # Errors
/// The loader's words.
pub(super) fn open_provider(name: &str) -> Result<(), String> {
    let folder = path().and_then(Path::parent);
    let path = folder.unwrap_or(Path::new("")).join(format!("libonnxruntime_providers_{name}.so"));
    // SAFETY: ONNX Runtime's own library, which it would open itself.
    let library = unsafe { unwinder::open(&path) }.map_err(|e| loader::reason(&e))?;
    // ONNX Runtime uses it to the end of the process.
    std::mem::forget(library);
    Ok(())
}

/// A library that serves. It stays open: Debian's would register its operators a second time if it were opened again, and fill
/// the standard error with complaints.
struct Found {
    path: PathBuf,
    version: String,
    opened: Library,
    /// Whether others in the process had opened it before.
    shared: bool,
}

/// The library to use. A library that is named must serve; the others are tried in turn.
fn find(library: Option<&Path>, preferred: Preferred) -> Result<Found, InferenceError> {
    let named = library.map(|p| ("the property onnxruntime", p.to_owned())).or_else(|| {
        let path = std::env::var_os("ORT_DYLIB_PATH").filter(|p| !p.is_empty())?;
        Some(("ORT_DYLIB_PATH", path.into()))
    });
    if let Some((by, path)) = named {
        return check(path).map_err(|(path, why)| {
            InferenceError::Library(format!(
                "{by} names '{}', which is not a usable ONNX Runtime: {why}; {HELP}",
                path.display()
            ))
        });
    }
    let (mut refused, mut newest): (_, Option<Found>) = (Vec::new(), None);
    for path in candidates::candidates() {
        let checked = match candidates::check(&path) {
            Ok(()) => check(path),
            // A file that does not exist (any more) is reported by the loader.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => check(path),
            Err(e) => {
                gst::warning!(
                    CAT,
                    "'{}' is not opened, because another user could have put it there: {e}",
                    path.display()
                );
                Err((
                    path,
                    format!(
                        "{e}. Change that, or name the library with the property onnxruntime or ORT_DYLIB_PATH"
                    ),
                ))
            }
        };
        match checked {
            Ok(found) if preferred == Preferred::First => return Ok(found),
            Ok(found) => {
                if newest.as_ref().is_none_or(|known| minor_of(&known.version) < minor_of(&found.version)) {
                    newest = Some(found);
                }
            }
            Err((path, why)) => {
                gst::debug!(CAT, "not '{}': {why}", path.display());
                // A file that is there and does not serve is reported; a name that the loader does not know is not.
                if path.is_absolute() {
                    refused.push(format!("'{}' does not serve: {why}", path.display()));
                }
            }
        }
    }
    if let Some(found) = newest {
        return Ok(found);
    }
    let seen = if refused.is_empty() { String::new() } else { format!(" ({})", refused.join("; ")) };
    Err(InferenceError::Library(format!("ONNX Runtime's library was not found{seen}; {HELP}")))
}

/// This ONNX Runtime, if it is one and new enough; otherwise the path again, and why not.
fn check(path: PathBuf) -> Result<Found, (PathBuf, String)> {
    open(&path).map_err(|why| (path, why))
}

/// Opens an ONNX Runtime and asks for its version. The `ort` crate would panic at a library whose entry point returns null, so
/// this looks before the library is handed over.
fn open(path: &Path) -> Result<Found, String> {
    // A bare name is looked up by the loader, which reports a missing file itself; but it would wait forever at a FIFO.
    if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty())
        && let Err(e) = files::open(path)
        && e.kind() == std::io::ErrorKind::InvalidInput
    {
        return Err(e.to_string());
    }
    let shared = loader::has(path);
    // SAFETY: opening a library runs its initialisers; this is the library that the user named or installed as
    // ONNX Runtime, whose initialisers are meant for this.
    let opened = unsafe { unwinder::open(path) }.map_err(|e| loader::reason(&e))?;
    // SAFETY: the type is the one that every release of ONNX Runtime exports under this name.
    let base =
        unsafe { opened.get::<unsafe extern "C" fn() -> *const ort::sys::OrtApiBase>(b"OrtGetApiBase") };
    let base = base.map_err(|_| "it does not export OrtGetApiBase".to_owned())?;
    // SAFETY: the function takes nothing and returns a pointer to a static table, or null.
    let base = unsafe { base().as_ref() }.ok_or("its OrtGetApiBase returns nothing")?;
    // SAFETY: both functions are in the table since ONNX Runtime 1.0; the version is a static C string.
    let (version, api) = unsafe {
        let version = std::ffi::CStr::from_ptr((base.GetVersionString)()).to_string_lossy().into_owned();
        (version, (base.GetApi)(ort::MINOR_VERSION))
    };
    if api.is_null() {
        return Err(format!("it is version {version}, and at least 1.{} is needed", ort::MINOR_VERSION));
    }
    Ok(Found { path: path.to_owned(), version, opened, shared })
}
