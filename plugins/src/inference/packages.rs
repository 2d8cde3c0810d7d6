//! Where Python packages lie, of which wheels bring the libraries that run models.

use std::path::{Path, PathBuf};

/// The folder of the plugin's own file.
pub(super) fn plugin_folder() -> Option<PathBuf> {
    let plugin = gst::Registry::get().find_plugin("cudainfer").and_then(|p| p.filename())?;
    plugin.parent().map(Path::to_owned)
}

/// The folder of Python packages that the plugin itself was installed into, by pip.
pub(super) fn own_packages(plugin_folder: &Path) -> Option<PathBuf> {
    let packages = |folder: &&Path| folder.ends_with("site-packages") || folder.ends_with("dist-packages");
    plugin_folder.ancestors().find(packages).map(Path::to_owned)
}

/// The folders of Python packages of VIRTUAL_ENV and of a `.venv` in or above the working directory or the plugin's.
pub(super) fn virtual_environments() -> Vec<PathBuf> {
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

/// The files of a folder whose names begin like that, in order.
pub(super) fn beside(folder: &Path, begin: &str) -> Vec<PathBuf> {
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
}
