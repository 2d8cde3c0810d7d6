//! The libraries that the dynamic loader has open, and its errors.

use std::error::Error as _;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LAZY};

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
    use std::path::Path;

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
