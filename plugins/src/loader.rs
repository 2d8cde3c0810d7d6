//! The libraries that the dynamic loader has open, their functions, and its errors.

use std::error::Error as _;
use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LAZY};

/// Why a library or a function of it cannot be used: a phrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// The loader's reason.
    #[error("{0}")]
    NotOpened(String),
    /// The library, and the function that it has not.
    #[error("{0} has no function {symbol}", symbol = .1.to_string_lossy())]
    NoFunction(String, &'static CStr),
}

/// A library that stays open as long as the process, because others keep pointers into it.
#[derive(Debug)]
pub struct OpenLibrary {
    name: String,
    library: ManuallyDrop<Library>,
}

impl OpenLibrary {
    /// Opens one of GStreamer's libraries, which is initialised by now: the library's own initialisers do nothing else then than those
    /// of the libraries that are open.
    ///
    /// # Errors
    /// [`LibraryError::NotOpened`].
    pub fn of_gstreamer(name: &str) -> Result<Self, LibraryError> {
        // SAFETY: the initialisers are those of a GStreamer library.
        let library = unsafe { Library::open(Some(name), RTLD_LAZY) };
        let library = library.map_err(|error| LibraryError::NotOpened(reason(&error)))?;
        Ok(Self { name: name.to_owned(), library: ManuallyDrop::new(library) })
    }

    /// A function; callers use [`function!`].
    ///
    /// # Errors
    /// [`LibraryError::NoFunction`].
    ///
    /// # Safety
    /// `F` is a pointer to functions of the signature that the function has in every version of the library that has it.
    pub unsafe fn function<F: Copy>(&self, symbol: &'static CStr) -> Result<F, LibraryError> {
        // SAFETY: the caller's promise; the library is never closed.
        let found = unsafe { self.library.get(symbol.to_bytes_with_nul()) };
        found.map(|function| *function).map_err(|_| LibraryError::NoFunction(self.name.clone(), symbol))
    }
}

/// The function of an [`OpenLibrary`] with this name, as the type that is expected there.
macro_rules! function {
    ($library:expr, $symbol:literal) => {
        // SAFETY: the type that is expected is written beside the signatures of every version that has the function, with which it
        // was compared; the module's documentation names them.
        unsafe { $library.function($symbol) }
    };
}

pub(crate) use function;

/// Why a library could not be opened, in the loader's words, which name the missing file: `libloading` itself only names which of
/// its functions failed.
pub fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Whether a library is open in this process already.
pub fn has(path: &Path) -> bool {
    // SAFETY: with this flag nothing is loaded, so no initialiser runs.
    unsafe { Library::open(Some(path), RTLD_LAZY | libc::RTLD_NOLOAD) }.is_ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_char, c_int};
    use std::path::Path;

    use super::{LibraryError, OpenLibrary};

    #[test]
    fn functions_are_found_by_name_and_what_is_missing_is_named() {
        let error = OpenLibrary::of_gstreamer("libof-nowhere.so.0").err().unwrap();
        assert!(
            matches!(&error, LibraryError::NotOpened(_)) && error.to_string().contains("of-nowhere"),
            "{error}"
        );
        let library = OpenLibrary::of_gstreamer("libc.so.6").unwrap();
        let atoi: unsafe extern "C" fn(*const c_char) -> c_int = function!(library, c"atoi").unwrap();
        // SAFETY: the text ends with a zero.
        assert_eq!(unsafe { atoi(c"42".as_ptr()) }, 42);
        let missing: Result<unsafe extern "C" fn(), _> = function!(library, c"gst_nothing");
        assert_eq!(missing.unwrap_err().to_string(), "libc.so.6 has no function gst_nothing");
    }

    #[test]
    fn what_is_open_is_known_and_looking_opens_nothing() {
        assert!(super::has(Path::new("libc.so.6")));
        for _ in 0..2 {
            assert!(!super::has(Path::new("libBrokenLocale.so.1")));
        }
    }

    #[test]
    fn the_missing_file_is_named() {
        // SAFETY: there is no such library.
        let error = unsafe { libloading::Library::new("libnowhere.so.7") }.err().unwrap();
        let text = super::reason(&error);
        assert!(text.contains("libnowhere.so.7: cannot open shared object file"), "{text}");
    }
}
