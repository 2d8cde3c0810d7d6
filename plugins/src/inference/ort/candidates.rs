//! Where ONNX Runtime's library is searched for, and what comes in the packages beside it.

use std::path::{Path, PathBuf};
use std::{io, iter};

use cudainfer_files as files;

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

fn plugin_folder() -> Option<PathBuf> {
    let plugin = gst::Registry::get().find_plugin("cudainfer").and_then(|p| p.filename())?;
    plugin.parent().map(Path::to_owned)
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

/// The folder of Python packages that the plugin itself was installed into, by pip.
fn own_packages(plugin_folder: &Path) -> Option<PathBuf> {
    let packages = |folder: &&Path| folder.ends_with("site-packages") || folder.ends_with("dist-packages");
    plugin_folder.ancestors().find(packages).map(Path::to_owned)
}

/// The folders of Python packages of VIRTUAL_ENV and of a `.venv` in or above the working directory or the plugin's.
fn virtual_environments() -> Vec<PathBuf> {
    let starts = [std::env::current_dir().ok(), plugin_folder()];
    let above = starts.iter().flatten().flat_map(|start| start.ancestors()).map(|above| above.join(".venv"));
    let mut found = Vec::new();
    for environment in std::env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter().chain(above) {
        let Ok(pythons) = std::fs::read_dir(environment.join("lib")) else { continue };
        let mut pythons: Vec<_> = pythons.flatten().map(|entry| entry.path().join("site-packages")).collect();
        pythons.sort();
        found.extend(pythons);
    }
    found
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

/// The files of a folder whose names begin like that, in order.
fn beside(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(begin)))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_pip_installed_knows_the_packages_beside_it() {
        let own = |folder| own_packages(Path::new(folder));
        assert_eq!(
            own("/home/a/env/lib/python3.13/site-packages/cudainfer/plugin"),
            Some("/home/a/env/lib/python3.13/site-packages".into())
        );
        assert_eq!(
            own("/usr/local/lib/python3.11/dist-packages/cudainfer/plugin"),
            Some("/usr/local/lib/python3.11/dist-packages".into())
        );
        assert_eq!(own("/usr/lib/x86_64-linux-gnu/gstreamer-1.0"), None);
    }

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
