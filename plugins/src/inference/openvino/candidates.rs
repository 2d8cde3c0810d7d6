//! Where OpenVINO's library is searched for.

use std::path::{Path, PathBuf};
use std::{io, iter};

use cudainfer_files as files;

use crate::inference::packages::{beside, own_packages, plugin_folder, virtual_environments};

/// The years whose releases are asked for on the loader's path, newest first: the first that serves, and some to come.
const YEARS: std::ops::RangeInclusive<u32> = 25..=29;
/// Releases of a year, and corrections of a release, from 0.
const RELEASES: std::ops::RangeInclusive<u32> = 0..=5;
const CORRECTIONS: std::ops::RangeInclusive<u32> = 0..=2;

/// The libraries to try in turn, where none is named: what came with the plugin, what pip has installed beside it, what the loader
/// knows, what virtual environments have.
pub(super) fn candidates() -> Vec<PathBuf> {
    let plugin = plugin_folder();
    let mut found = plugin.as_deref().map(libraries_in).unwrap_or_default();
    let own = plugin.iter().flat_map(|folder| own_packages(folder));
    found.extend(own.flat_map(|packages| libraries_of(&packages)));
    found.extend(names());
    found.extend(virtual_environments().iter().flat_map(|packages| libraries_of(packages)));
    found
}

/// The names that the loader may know: of development packages and of Intel's archives, then those of a release alone, 2541 for
/// 2025.4.1.
fn names() -> impl Iterator<Item = PathBuf> {
    let releases = YEARS.rev().flat_map(|year| {
        RELEASES.rev().flat_map(move |release| {
            CORRECTIONS.rev().map(move |correction| format!("libopenvino_c.so.{year}{release}{correction}"))
        })
    });
    iter::once("libopenvino_c.so".to_owned()).chain(releases).map(PathBuf::from)
}

/// Whether a library that was found may be opened: only the user and root can have put it there, and so what OpenVINO itself opens
/// from the same folder. A bare name is left to the loader.
///
/// # Errors
/// What another user could have put there.
pub(super) fn check(library: &Path) -> io::Result<()> {
    let Some(folder) = library.parent().filter(|_| library.is_absolute()) else { return Ok(()) };
    files::trusted(library)?;
    beside(folder, "lib").iter().try_for_each(|path| files::trusted(path).map(drop))
}

/// The library of the package `openvino` in a folder of Python packages.
fn libraries_of(packages: &Path) -> Vec<PathBuf> {
    libraries_in(&packages.join("openvino/libs"))
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    beside(folder, "libopenvino_c.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_asked_for_the_plain_name_and_then_for_releases_newest_first() {
        let names: Vec<_> = names().map(|name| name.display().to_string()).collect();
        let at = |name: &str| names.iter().position(|other| other == name).unwrap();
        assert_eq!(at("libopenvino_c.so"), 0);
        assert!(at("libopenvino_c.so.2641") < at("libopenvino_c.so.2640"));
        assert!(at("libopenvino_c.so.2600") < at("libopenvino_c.so.2541"));
        assert!(names.len() < 100, "each name that is not there costs a search of the loader");
    }

    #[test]
    fn only_the_c_library_is_taken_from_a_wheels_folder() {
        let packages = tempfile::tempdir().unwrap();
        let libraries = packages.path().join("openvino/libs");
        std::fs::create_dir_all(&libraries).unwrap();
        for name in ["libopenvino_c.so.2641", "libopenvino.so.2641", "libopenvino_intel_cpu_plugin.so"] {
            std::fs::write(libraries.join(name), "").unwrap();
        }
        assert_eq!(libraries_of(packages.path()), [libraries.join("libopenvino_c.so.2641")]);
        assert!(libraries_of(&packages.path().join("elsewhere")).is_empty());
    }

    #[test]
    fn a_library_whose_plugins_another_user_could_have_put_there_is_not_opened() {
        use std::os::unix::fs::{PermissionsExt, lchown};
        let packages = tempfile::tempdir().unwrap();
        let libraries = packages.path().join("openvino/libs");
        std::fs::create_dir_all(&libraries).unwrap();
        let library = libraries.join("libopenvino_c.so.2641");
        let plugin = libraries.join("libopenvino_intel_cpu_plugin.so");
        [&library, &plugin].iter().for_each(|path| std::fs::write(path, "").unwrap());
        assert!(check(&library).is_ok() && check(Path::new("libopenvino_c.so")).is_ok());
        if rustix::process::geteuid().is_root() {
            lchown(&plugin, Some(65_534), None).unwrap();
            let refusal = check(&library).unwrap_err().to_string();
            assert!(refusal.contains(&format!("'{}' belongs to user 65534", plugin.display())), "{refusal}");
            lchown(&plugin, Some(0), None).unwrap();
        }
        std::fs::set_permissions(packages.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let refusal = check(&library).unwrap_err().to_string();
        assert!(refusal.contains("everybody can write in"), "{refusal}");
    }
}
