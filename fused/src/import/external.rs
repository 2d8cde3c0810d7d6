//! Elements of tensors in files beside the model's.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use cudainfer_files as files;
use cudainfer_model::onnx::proto::{Entry, Tensor};
use prost::Message;

use super::tensor::name;
use crate::graph::{Refusal, shape};

/// The bytes of a tensor whose elements are in a file in `folder`.
///
/// # Errors
/// It names no file, or one outside of the folder, or that cannot be read so far.
pub fn read(tensor: &Tensor, folder: &Path) -> Result<Vec<u8>, Refusal> {
    let wrong = |what: String| Refusal::invalid(format!("the external tensor '{}' {what}", name(tensor)));
    let (mut location, mut offset, mut length) = (None, 0, None);
    for bytes in &tensor.external_data {
        let entry = Entry::decode(&bytes[..]).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        let number = || entry.value.parse::<u64>().map_err(|e| wrong(format!("has no {}: {e}", entry.key)));
        match entry.key.as_str() {
            "location" => location = Some(entry.value.clone()),
            "offset" => offset = number()?,
            "length" => length = Some(number()?),
            _ => (),
        }
    }
    let location = location.ok_or_else(|| wrong("names no file".into()))?;
    let path = Path::new(&location);
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(wrong(format!("is in '{location}', which is outside of the model's folder")));
    }
    // A tensor of the most elements, of 8 bytes each.
    let most = u64::try_from(shape::MOST_ELEMENTS).unwrap_or(u64::MAX).saturating_mul(8);
    let mut bytes = Vec::new();
    let read = files::open(&folder.join(path)).and_then(|mut file| {
        file.seek(SeekFrom::Start(offset))?;
        file.take(length.unwrap_or(most).min(most)).read_to_end(&mut bytes)
    });
    read.map_err(|e| wrong(format!("cannot be read from '{location}': {e}")))?;
    Ok(bytes)
}
