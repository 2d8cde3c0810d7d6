//! Where ONNX Runtime's library is searched for, and what comes in the packages beside it.

use std::path::{Path, PathBuf};
use std::{io, iter};

use cudainfer_files as files;

use crate::inference::packages::{beside, own_packages, plugin_folder, virtual_environments};

/// The link that `cudainfer-setup-onnxruntime` of the Debian package makes, to the folder of the version in use, which is laid
/// out as Python's site-packages.
const INSTALLED: &str = "/usr/lib/cudainfer/onnxruntime/current";

/// The last minor version whose name is asked for on the loader's path.
const LAST_MINOR: u32 = 99;

/// The libraries to try in turn, where none is named: what came with the plugin, what was installed for it, what the loader
/// knows, what virtual environments have.
pub(super) fn candidates() -> Vec<PathBuf> {
    let plugin = plugin_folder();
    let mut found = plugin.as_deref().map(libraries_in).unwrap_or_default();
    let own = plugin.iter().flat_map(|folder| own_packages(folder));
    found.extend(own.chain(iter::once(INSTALLED.into())).flat_map(|packages| libraries_of(&packages)));
    found.extend(names());
    found.extend(virtual_environments().iter().flat_map(|packages| libraries_of(packages)));
    found
}

/// Where Python packages lie: those beside the ONNX Runtime in use, those beside the plugin, and those of virtual
/// environments.
pub(super) fn site_packages(loaded: Option<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = loaded.and_then(packages_around).into_iter().collect();
    found.extend(plugin_folder().iter().flat_map(|folder| own_packages(folder)));
    found.extend(virtual_environments());
    found
}

/// The names that the loader may know: of wheels and of Microsoft's archives, then those of Debian, whose libraries are
/// named after the minor version. Newest first.
fn names() -> impl Iterator<Item = PathBuf> {
    let debian = (ort::MINOR_VERSION..=LAST_MINOR).rev().map(|minor| format!("libonnxruntime.so.1.{minor}"));
    ["libonnxruntime.so.1", "libonnxruntime.so"]
        .map(String::from)
        .into_iter()
        .chain(debian)
        .map(PathBuf::from)
}

/// The folder of Python packages that the library of a wheel lies in.
fn packages_around(library: &Path) -> Option<PathBuf> {
    let capi = library.parent().filter(|folder| folder.ends_with("onnxruntime/capi"))?;
    capi.ancestors().nth(2).map(Path::to_owned)
}

/// Whether a library that was found may be opened: only the user and root can have put it there, and so what ONNX Runtime itself
/// opens from the same folder. A bare name is left to the loader.
///
/// # Errors
/// What another user could have put there.
pub(super) fn check(library: &Path) -> io::Result<()> {
    let Some(folder) = library.parent().filter(|_| library.is_absolute()) else { return Ok(()) };
    files::trusted(library)?;
    beside(folder, "libonnxruntime").iter().try_for_each(|path| files::trusted(path).map(drop))
}

/// The library of the package `onnxruntime` in a folder of Python packages.
fn libraries_of(packages: &Path) -> Vec<PathBuf> {
    libraries_in(&packages.join("onnxruntime/capi"))
}

/// `libonnxruntime.so*` of a folder; the providers' libraries have longer names.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    beside(folder, "libonnxruntime.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_a_wheels_library_is_found() {
        let around = |library| packages_around(Path::new(library));
        assert_eq!(
            around("/usr/lib/cudainfer/onnxruntime/current/onnxruntime/capi/libonnxruntime.so.1.31.1"),
            Some(INSTALLED.into())
        );
        assert_eq!(around("/usr/lib/x86_64-linux-gnu/libonnxruntime.so.1.23"), None);
    }

    #[test]
    fn the_loader_is_asked_for_the_names_of_wheels_and_then_of_debian_newest_first() {
        let names: Vec<_> = names().map(|name| name.display().to_string()).collect();
        let at = |name: &str| names.iter().position(|other| other == name).unwrap();
        assert_eq!(at("libonnxruntime.so.1"), 0);
        assert!(at("libonnxruntime.so.1.23") < at("libonnxruntime.so.1.21"));
        assert_eq!(names.last().unwrap(), &format!("libonnxruntime.so.1.{}", ort::MINOR_VERSION));
    }

    #[test]
    fn only_the_runtime_itself_is_taken_from_a_folder_of_packages() {
        let packages = tempfile::tempdir().unwrap();
        let capi = packages.path().join("onnxruntime/capi");
        std::fs::create_dir_all(&capi).unwrap();
        for name in ["libonnxruntime.so.1.31.1", "libonnxruntime_providers_cuda.so", "__init__.py"] {
            std::fs::write(capi.join(name), "").unwrap();
        }
        assert_eq!(libraries_of(packages.path()), [capi.join("libonnxruntime.so.1.31.1")]);
        assert!(libraries_of(&packages.path().join("elsewhere")).is_empty());
    }

    #[test]
    fn a_library_that_another_user_could_have_put_there_is_not_opened() {
        use std::os::unix::fs::{PermissionsExt, lchown, symlink};
        let packages = tempfile::tempdir().unwrap();
        let capi = packages.path().join("onnxruntime/capi");
        std::fs::create_dir_all(&capi).unwrap();
        let library = capi.join("libonnxruntime.so.1.31.1");
        std::fs::write(&library, "").unwrap();
        assert!(check(&library).is_ok() && check(Path::new("libonnxruntime.so.1")).is_ok());
        let open = |mode| {
            let folder = packages.path();
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        open(0o777);
        let refusal = check(&library).unwrap_err().to_string();
        assert!(
            refusal.contains(&format!("everybody can write in '{}'", packages.path().display())),
            "{refusal}"
        );
        open(0o755);
        if rustix::process::geteuid().is_root() {
            // The same for libraries that are loaded later, and for a link that leads to a file of root's today.
            let provider = capi.join("libonnxruntime_providers_cuda.so");
            symlink("/usr/lib/os-release", &provider).unwrap();
            lchown(&provider, Some(65_534), None).unwrap();
            std::fs::set_permissions(&capi, std::fs::Permissions::from_mode(0o1777)).unwrap();
            let refusal = check(&library).unwrap_err().to_string();
            assert!(
                refusal.contains(&format!("'{}' belongs to user 65534", provider.display())),
                "{refusal}"
            );
        }
    }
}
