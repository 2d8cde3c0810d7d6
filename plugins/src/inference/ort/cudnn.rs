//! cuDNN's version: which variant of a session is the fastest depends on its kernels.

use std::fs;

use libloading::os::unix::{Library, RTLD_NOW};

/// Returns cuDNN's version number (`91200` is 9.12.0) as text, once ONNX Runtime has loaded cuDNN.
pub(super) fn version() -> String {
    number("libcudnn.so", b"cudnnGetVersion").map_or_else(String::new, |version| format!("cuDNN {version}"))
}

/// What `function` of the loaded library whose file's name begins so returns; nothing where none is loaded.
fn number(library: &str, function: &[u8]) -> Option<usize> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| format!("/{path}")));
    let path = paths.find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(library)))?;
    // SAFETY: the library is loaded already, so that nothing is initialised.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | libc::RTLD_NOLOAD) }.ok()?;
    // SAFETY: cuDNN declares `size_t cudnnGetVersion(void)` in all its versions.
    let function = unsafe { library.get::<unsafe extern "C" fn() -> usize>(function) }.ok()?;
    // SAFETY: as above.
    Some(unsafe { function() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_is_asked_and_what_is_not_has_no_version() {
        // The processor time that was used, as a `long`.
        assert!(number("libc.so", b"clock").is_some_and(|used| used > 0));
        assert_eq!(number("libc.so", b"cudnnGetVersion"), None);
        assert_eq!(number("libcudnn_is_not_there.so", b"cudnnGetVersion"), None);
    }
}
