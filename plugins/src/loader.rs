//! The dynamic loader's errors.

use std::error::Error as _;

/// Why a library could not be opened, in the loader's words, which name the missing file: `libloading` itself only tells which of
/// its functions failed.
pub fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_missing_file_is_named() {
        // SAFETY: there is no such library.
        let error = unsafe { libloading::Library::new("libnowhere.so.7") }.err().unwrap();
        let text = super::reason(&error);
        assert!(text.contains("libnowhere.so.7: cannot open shared object file"), "{text}");
    }
}
