//! cuDNN's and NVRTC's libraries, opened at run time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::GpuError;
use super::cudnn::Cudnn;
use super::nvrtc::Nvrtc;

/// The libraries that plans need on a GPU.
#[derive(Clone, Debug)]
pub struct Libraries {
    pub(super) cudnn: Arc<Cudnn>,
    pub(super) nvrtc: Arc<Nvrtc>,
}

impl Libraries {
    /// Opens them from where the loader finds them, or from these folders, in turn. What is open already is taken.
    ///
    /// # Errors
    /// [`GpuError::Library`]: one that is missing, or of another major version.
    pub fn open(folders: &[PathBuf]) -> Result<Self, GpuError> {
        let nvrtc = nvrtc(folders)?;
        let cudnn = open(&["libcudnn.so.9"], folders).map_err(|e| missing("cuDNN 9", &e))?;
        Ok(Self { cudnn: Arc::new(Cudnn::of(cudnn)?), nvrtc: Arc::new(nvrtc) })
    }

    /// cuDNN's version: 91900 is 9.19.0.
    pub fn cudnn_version(&self) -> usize {
        self.cudnn.version()
    }
}

/// Machine code of a source for devices of this compute capability, for measurements: no GPU is needed. NVRTC is opened as by
/// [`Libraries::open`].
///
/// # Errors
/// [`GpuError::Library`], and [`GpuError::Compile`] with what NVRTC printed.
pub fn compile(source: &str, capability: (i32, i32), folders: &[PathBuf]) -> Result<Vec<u8>, GpuError> {
    nvrtc(folders)?.compile(source, capability)
}

fn nvrtc(folders: &[PathBuf]) -> Result<Nvrtc, GpuError> {
    let names = ["libnvrtc.so.13", "libnvrtc.so.12"];
    Nvrtc::of(open(&names, folders).map_err(|e| missing("NVRTC", &e))?)
}

fn missing(library: &str, why: &str) -> GpuError {
    GpuError::Library(format!("{library} cannot be opened: {why}"))
}

/// The first of these that is there.
fn open(names: &[&str], folders: &[PathBuf]) -> Result<Library, String> {
    let mut first = None;
    let known = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    for path in names.iter().map(PathBuf::from).chain(known.filter(|path| path.exists())) {
        // SAFETY: a library of NVIDIA's, whose initialisers only set it up.
        match unsafe { Library::open(Some::<&Path>(&path), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => return Ok(library),
            Err(e) => first = first.or_else(|| Some(e.to_string())),
        }
    }
    Err(first.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::nvrtc::Refusal;
    use crate::emit::tests::nvrtc::folders;

    #[test]
    fn an_option_that_is_not_known_is_told_from_a_source_that_is_wrong() {
        let nvrtc = super::nvrtc(&folders()).unwrap();
        let options = [c"--gpu-architecture=sm_90".as_ptr(), c"--no-such-option=2".as_ptr()];
        let source = c"extern \"C\" __global__ void nothing() {}";
        assert!(matches!(nvrtc.compile_with(source, &options), Err(Refusal::Option)));
        assert!(nvrtc.compile_with(source, &options[..1]).is_ok_and(|made| made.starts_with(b"\x7fELF")));
        let wrong = nvrtc.compile("int what is this", (9, 0)).unwrap_err().to_string();
        assert!(wrong.contains("plan.cu(1)"), "{wrong}");
    }
}
