//! Galleries as files: what scripts/gallery makes, and NumPy writes.
//!
//! - A `.npz` has an array for each name, `[N,D]` or `[D]` in float32 or float16: N embeddings of D numbers.
//! - A folder has for each name a `NAME.npy` of that form, or a folder `NAME` with such files. Names that begin with a dot are no names.
//!
//! An array of bytes called `__model__` has the name of the model in UTF-8.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cudainfer_kernels::identify::Gallery;

use crate::model::Array;

/// The array with the model's name.
pub(super) const MODEL: &str = "__model__";
/// Bytes that all embeddings of a gallery may have: a million of 512 numbers.
const LARGEST: u64 = 1 << 31;

/// A gallery that was read.
#[derive(Debug)]
pub(super) struct GalleryFile {
    pub path: PathBuf,
    pub gallery: Gallery,
    /// The name of the model that has made the embeddings, where the gallery says it.
    pub model: Option<String>,
}

/// A name's embeddings: their length, and the numbers of all.
type Rows = (usize, Vec<f32>);

impl GalleryFile {
    /// Reads it. No lock may be held that frames wait for.
    ///
    /// # Errors
    /// A sentence that names the file: it cannot be read, or is no gallery.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |why: String| format!("the gallery '{}' cannot be used: {why}", path.display());
        let is_folder = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.is_dir();
        let arrays =
            if is_folder { in_folder(path) } else { Array::read_all(path, LARGEST) }.map_err(wrong)?;
        let mut model = None;
        let mut names: BTreeMap<String, Rows> = BTreeMap::new();
        for (name, array) in arrays {
            if name == MODEL {
                model = array.text().map(str::to_owned);
                continue;
            }
            let (length, values) = rows(&name, &array).map_err(wrong)?;
            match names.get_mut(&name) {
                // In a folder: a file and a folder of the same name, or several files.
                Some((before, all)) if *before == length => all.extend(values),
                Some((before, _)) => {
                    return Err(wrong(format!(
                        "the embeddings of '{name}' have {before} and {length} numbers. Build all of it with one model"
                    )));
                }
                None => {
                    names.insert(name, (length, values));
                }
            }
        }
        let entries = names.into_iter().map(|(name, (length, values))| (name, length, values));
        let gallery = Gallery::new(entries).map_err(|e| wrong(e.to_string()))?;
        Ok(Self { path: path.to_owned(), gallery, model })
    }
}

/// The embeddings of an array.
pub(super) fn rows(name: &str, array: &Array) -> Result<Rows, String> {
    let wrong = || {
        format!(
            "its array '{name}' is {array}, and embeddings are [N,D] or [D] in float32 or float16. Build it with scripts/gallery"
        )
    };
    let length = match array.dims.as_slice() {
        [length] | [_, length] => *length,
        _ => return Err(wrong()),
    };
    Ok((length, array.floats().ok_or_else(wrong)?))
}

/// The arrays of a folder: each with its name, and one without numbers for a name's folder that is empty.
fn in_folder(path: &Path) -> Result<Vec<(String, Array)>, String> {
    let mut arrays = Vec::new();
    let (mut bytes, mut others) = (0, 0_usize);
    for entry in entries(path)? {
        let name = text(entry.file_name());
        if entry.is_dir() {
            let before = arrays.len();
            for file in entries(&entry)? {
                others += usize::from(!one(&file, &name, &mut arrays, &mut bytes)?);
            }
            if arrays.len() == before {
                arrays.push((name, Array::of_floats(vec![0], &[])));
            }
        } else {
            let stem = text(entry.file_stem());
            others += usize::from(!one(&entry, &stem, &mut arrays, &mut bytes)?);
        }
    }
    if arrays.iter().all(|(_, array)| array.data.is_empty()) && others > 0 {
        return Err(format!(
            "it is a folder with {others} files, none of which is a .npy. If they are pictures, scripts/gallery makes a gallery of them"
        ));
    }
    Ok(arrays)
}

/// Reads a file of the folder; false if it is no `.npy`.
fn one(path: &Path, name: &str, arrays: &mut Vec<(String, Array)>, bytes: &mut u64) -> Result<bool, String> {
    if path.extension().is_none_or(|extension| extension != "npy") {
        return Ok(false);
    }
    let wrong = |why: String| format!("its file '{}': {why}", path.display());
    let size = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.len();
    *bytes = bytes.saturating_add(size);
    if *bytes > LARGEST {
        return Err(format!("its files have more than {LARGEST} bytes together. Use a smaller one"));
    }
    arrays.push((name.to_owned(), Array::read(path, name).map_err(wrong)?));
    Ok(true)
}

/// What is in a folder and does not begin with a dot, in the order of the names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |e: std::io::Error| format!("its folder '{}' cannot be read: {e}", folder.display());
    let found = std::fs::read_dir(folder).map_err(wrong)?;
    let mut paths = found.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    paths.retain(|path| !text(path.file_name()).starts_with('.'));
    paths.sort();
    Ok(paths)
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
