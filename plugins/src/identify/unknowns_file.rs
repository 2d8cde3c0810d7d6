//! The file of unknowns: a gallery whose names are `unknown-N`, so that a user who names them has what a gallery needs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cudainfer_files::{Folder, Lock, Readers};
use cudainfer_kernels::identify::Unknowns;

use super::gallery_file::{MODEL, rows};
use crate::model::Array;

/// What the names begin with; the number follows.
const PREFIX: &str = "unknown-";
/// Bytes that it may have.
const LARGEST: u64 = 1 << 32;
/// How long to wait for one that is about to give the file up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of an unknown.
pub(super) fn name(number: u64) -> String {
    format!("{PREFIX}{number}")
}

/// The file, which nobody else writes until this is dropped.
#[derive(Debug)]
pub(super) struct UnknownsFile {
    pub path: PathBuf,
    folder: Folder,
    name: String,
    /// Taken when it is dropped.
    lock: Option<Lock>,
}

impl UnknownsFile {
    /// Opens it, and takes over the unknowns that it has; there need not be one yet.
    ///
    /// # Errors
    /// A sentence that names the file: it cannot be written to, is in use, or holds something else.
    pub fn open(path: &Path, unknowns: &mut Unknowns) -> Result<Self, String> {
        let wrong = |why: String| format!("the file of unknowns '{}' cannot be used: {why}", path.display());
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            wrong("its name is no text in UTF-8. Set unknowns to the name of a file".into())
        })?;
        if path.extension().is_none_or(|extension| extension != "npz") {
            return Err(wrong(
                "its name does not end in .npz, which it will be. Set unknowns to such a name".into(),
            ));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = Folder::open(folder.unwrap_or(Path::new(".")), Readers::Umask);
        let folder = folder.map_err(|e| wrong(format!("its folder cannot be opened: {e}")))?;
        let lock = folder.lock_file(&lock_name(name), PATIENCE).map_err(|e| wrong(e.to_string()))?;
        let file = Self { path: path.to_owned(), folder, name: name.to_owned(), lock: Some(lock) };
        if std::fs::symlink_metadata(path).is_ok() {
            file.restore(unknowns).map_err(wrong)?;
        }
        Ok(file)
    }

    fn restore(&self, unknowns: &mut Unknowns) -> Result<(), String> {
        for (name, array) in Array::read_all(&self.path, LARGEST)? {
            if name == MODEL {
                continue;
            }
            let number = name.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
            let number = number.filter(|number| *number > 0).ok_or_else(|| {
                format!(
                    "it has the name '{name}', and a file of unknowns has only {PREFIX}1, {PREFIX}2 and so on. Set unknowns to another file, \
                     and use gallery for this one"
                )
            })?;
            let (length, values) = rows(&name, &array)?;
            unknowns.restore(number, length, &values).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Writes what is collected, as a whole.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn write(&self, arrays: &[(String, Array)]) -> Result<(), String> {
        let named = arrays.iter().map(|(name, array)| (name.as_str(), array));
        let written = Array::archive(named)
            .and_then(|bytes| self.folder.write(&self.name, &bytes).map_err(|e| e.to_string()));
        written
            .map_err(|why| format!("the file of unknowns '{}' cannot be written: {why}", self.path.display()))
    }
}

impl Drop for UnknownsFile {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // A file that stays says nothing, once nobody has locked it.
            let _ = self.folder.unlock_file(&lock_name(&self.name), lock);
        }
    }
}

fn lock_name(name: &str) -> String {
    format!(".{name}.lock")
}

/// What the file holds of these unknowns.
pub(super) fn arrays(unknowns: &Unknowns, model: &str) -> Vec<(String, Array)> {
    let length = unknowns.length().unwrap_or(1);
    let of = |(number, rows): (u64, &[f32])| {
        (name(number), Array::of_floats(vec![rows.len() / length, length], rows))
    };
    let model = (MODEL.to_owned(), Array::of_text(model));
    std::iter::once(model).chain(unknowns.collected().map(of)).collect()
}
