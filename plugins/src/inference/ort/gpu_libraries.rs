//! The shared libraries that ONNX Runtime's GPU providers need: cuDNN, cuBLAS, CUDA's runtime.
//!
//! The loader finds those on its path by itself, but not those in a CUDA toolkit or in Python packages. If ONNX Runtime
//! reports that a library is missing, it is searched for here and opened, so that the next attempt finds it.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Mutex;

use cudainfer_files as files;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::loader;
use crate::log::ENGINE as CAT;
use crate::sync::lock;

use super::{candidates, runtime_library};

/// Libraries that stay open: ONNX Runtime's providers use them to the end of the process.
static OPENED: Mutex<Option<HashMap<String, ManuallyDrop<Library>>>> = Mutex::new(None);

/// Opens the library that is missing according to `message`, which is ONNX Runtime's or the loader's. Returns whether another
/// attempt is worthwhile.
///
/// # Errors
/// A sentence that names the missing library and says where it was looked for.
pub(super) fn open_missing(message: &str) -> Result<bool, String> {
    let Some(name) = missing(message) else { return Ok(false) };
    let mut opened = lock(&OPENED);
    let opened = opened.get_or_insert_default();
    // The library is there: something else fails.
    if opened.contains_key(name) { Ok(false) } else { open(name, &places(), opened).map(|()| true) }
}

/// A folder that may have libraries.
#[derive(Debug)]
enum Folder {
    /// The user or the administrator has named it.
    Named(PathBuf),
    /// The folder was found by searching: what another user could have put there is not opened.
    Searched(PathBuf),
}

impl Folder {
    /// The library of this name, if the folder has it.
    ///
    /// # Errors
    /// Another user could have put the library there.
    fn library(&self, name: &str) -> Option<Result<PathBuf, String>> {
        let (Self::Named(folder) | Self::Searched(folder)) = self;
        let path = folder.join(name);
        if !path.exists() {
            return None;
        }
        match self {
            Self::Named(_) => Some(Ok(path)),
            Self::Searched(_) => Some(files::trusted(&path).map(|_| path).map_err(|e| e.to_string())),
        }
    }
}

/// The folders in which NVIDIA's libraries may lie that are not on the loader's path, as far as nobody else could have put them there.
pub(in crate::inference) fn folders() -> Vec<PathBuf> {
    let usable = |folder: Folder| match folder {
        Folder::Named(folder) => Some(folder),
        Folder::Searched(folder) => files::trusted(&folder).is_ok().then_some(folder),
    };
    places().into_iter().filter_map(usable).filter(|folder| folder.is_dir()).collect()
}

/// Opens a library, and before it those that it needs in turn.
fn open(
    name: &str,
    places: &[Folder],
    opened: &mut HashMap<String, ManuallyDrop<Library>>,
) -> Result<(), String> {
    let mut refused = None;
    let usable = places.iter().filter_map(|place| place.library(name)).find_map(|found| match found {
        Ok(path) => Some(path),
        Err(why) => {
            gst::warning!(CAT, "{name} is not opened, because another user could have put it there: {why}");
            refused.get_or_insert(why);
            None
        }
    });
    let Some(path) = usable else {
        if let Some(why) = refused {
            return Err(format!(
                "{name} is missing: the one that was found could be another user's ({why}). Change that, or put its folder on \
                 LD_LIBRARY_PATH"
            ));
        }
        let package = package(name)
            .map_or_else(String::new, |package| format!("pip install {package} in the .venv, or "));
        return Err(format!(
            "{name} is missing: it is neither on the loader's path nor in a CUDA toolkit (CUDA_HOME, /usr/local/cuda) nor \
             in a Python environment's nvidia packages; {package}put its folder on LD_LIBRARY_PATH"
        ));
    };
    loop {
        // SAFETY: a library of NVIDIA's, which ONNX Runtime would have opened itself had it been on the loader's path.
        match unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => {
                gst::info!(CAT, "opened '{}' for ONNX Runtime", path.display());
                opened.insert(name.to_owned(), ManuallyDrop::new(library));
                return Ok(());
            }
            Err(e) => {
                let message = loader::reason(&e);
                match missing(&message).filter(|other| *other != name && !opened.contains_key(*other)) {
                    Some(other) => open(other, places, opened)?,
                    None => return Err(format!("'{}' cannot be opened: {message}", path.display())),
                }
            }
        }
    }
}

/// The library that a message of the loader says is missing: `libcudnn.so.9: cannot open shared object file: …`.
pub(super) fn missing(message: &str) -> Option<&str> {
    let end = message.find(": cannot open shared object file")?;
    let name = message[..end].rsplit([' ', ':', '\'', '"', '/']).next()?;
    (name.starts_with("lib") && name.contains(".so")).then_some(name)
}

/// Where NVIDIA's libraries lie that are not on the loader's path.
fn places() -> Vec<Folder> {
    let mut places = Vec::new();
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    for home in homes.chain(["/usr/local/cuda".into()]) {
        places.push(Folder::Named(home.join("lib64")));
        places.push(Folder::Named(home.join("targets/x86_64-linux/lib")));
    }
    for packages in candidates::site_packages(runtime_library::path()) {
        // A library from an untrusted folder that is in use all the same was named by the user, and so was what came with it.
        let named = runtime_library::path()
            .is_some_and(|library| library.starts_with(&packages) && files::trusted(library).is_err());
        let folder = if named { Folder::Named } else { Folder::Searched };
        for package in std::fs::read_dir(packages.join("nvidia")).into_iter().flatten().flatten() {
            places.push(folder(package.path().join("lib")));
        }
        places.push(folder(packages.join("tensorrt_libs")));
    }
    places
}

/// The Python package that contains the library.
fn package(library: &str) -> Option<String> {
    let (stem, version) = library.strip_prefix("lib")?.split_once(".so.")?;
    let major = version.split('.').next()?;
    // The packages carry CUDA's major version; these libraries' own is that, or not (cuDNN, cuFFT, cuRAND, TensorRT).
    let package = match stem {
        "cudart" => "nvidia-cuda-runtime",
        "cublas" | "cublasLt" => "nvidia-cublas",
        "nvrtc" => "nvidia-cuda-nvrtc",
        "cudnn" => return Some("nvidia-cudnn-cu13 (or -cu12, as ONNX Runtime was built)".into()),
        "cufft" => return Some("nvidia-cufft".into()),
        "curand" => return Some("nvidia-curand".into()),
        "nvinfer" | "nvinfer_plugin" | "nvonnxparser" => return Some(format!("tensorrt=={major}.*")),
        _ => return None,
    };
    Some(if major == "12" { format!("{package}-cu12") } else { package.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_missing_library_is_read_off_onnx_runtimes_message() {
        let message = "Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot \
                       open shared object file: No such file or directory";
        assert_eq!(missing(message), Some("libcublasLt.so.12"));
        assert_eq!(missing("'libnvinfer.so.10: cannot open shared object file'"), Some("libnvinfer.so.10"));
        assert_eq!(missing("out of memory"), None);
    }

    #[test]
    fn what_is_nowhere_is_named_with_its_package() {
        let error = open("libcudart.so.12", &[], &mut HashMap::new()).unwrap_err();
        assert!(error.starts_with("libcudart.so.12 is missing"), "{error}");
        assert!(error.contains("pip install nvidia-cuda-runtime-cu12"), "{error}");
        let error = open("libother.so.1", &[], &mut HashMap::new()).unwrap_err();
        assert!(error.contains("LD_LIBRARY_PATH") && !error.contains("pip install"), "{error}");
        assert_eq!(package("libcudart.so.13").as_deref(), Some("nvidia-cuda-runtime"));
        assert_eq!(package("libnvinfer.so.10").as_deref(), Some("tensorrt==10.*"));
    }

    #[test]
    fn what_is_in_one_of_the_places_is_opened_and_what_cannot_be_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("libraries");
        let places = [Folder::Named(root.path().to_owned()), Folder::Searched(folder.clone())];
        std::fs::create_dir(&folder).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let library = maps
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .find(|path| path.contains("libc.so"));
        std::os::unix::fs::symlink(library.unwrap(), folder.join("libcudart.so.12")).unwrap();
        std::fs::write(folder.join("libcublas.so.12"), "no library").unwrap();
        let mut opened = HashMap::new();
        let found = open("libcudart.so.12", &places, &mut opened);
        let broken = open("libcublas.so.12", &places, &mut opened);
        assert_eq!(found, Ok(()));
        let broken = broken.unwrap_err();
        assert!(
            broken.contains("libcublas.so.12' cannot be opened") && broken.contains("file too short"),
            "{broken}"
        );
        assert_eq!(opened.keys().collect::<Vec<_>>(), ["libcudart.so.12"]);
        // Anybody could have put it there, unless the user names the folder.
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let exposed = open("libcudart.so.12", &places, &mut HashMap::new()).unwrap_err();
        assert!(
            exposed.contains("everybody can write in") && exposed.contains("LD_LIBRARY_PATH"),
            "{exposed}"
        );
        assert_eq!(open("libcudart.so.12", &[Folder::Named(folder)], &mut HashMap::new()), Ok(()));
    }
}
